# SPDX-License-Identifier: MIT
"""Semaphores and latches shared with Redisson, step by step."""

import time

from runner.scenario import scenario


def _ways(run):
    c, java = run.repl(run.c), run.repl(run.peers["java"])
    yield c, java, "c", "java"
    yield java, c, "java", "c"


@scenario("a plain semaphore is one counter", in_slice=True)
def plain(run):
    for number, (taker, other, mine, _) in enumerate(_ways(run)):
        name = f"s{number}"
        run.expect(taker.ask("a", "set", "semaphore", name, 3), "ok", mine)
        run.expect(other.ask("b", "set", "semaphore", name, 5), "no", mine)
        run.expect(taker.ask("a", "take", "semaphore", name, 2, 0, 0), "ok*",
                   mine)
        run.expect(other.ask("b", "count", "semaphore", name), "ok 1", mine)
        run.expect(other.ask("b", "take", "semaphore", name, 2, 0, 0), "no",
                   mine)
        other.send("b", "take", "semaphore", name, 2, 10000, 0)
        time.sleep(0.1)
        run.expect_true(not other.has_answered("b"), f"{mine}: waits")
        run.expect(taker.ask("a", "give", "semaphore", name, 2), "ok", mine)
        run.expect(other.take("b"), "ok*", mine)
        run.expect(other.ask("b", "give", "semaphore", name, 2), "ok", mine)
        run.expect(taker.ask("a", "count", "semaphore", name), "ok 3", mine)


@scenario("leased permits exclude, come back and expire", in_slice=True)
def permits(run):
    for number, (taker, other, mine, _) in enumerate(_ways(run)):
        name = f"p{number}"
        run.expect(taker.ask("a", "set", "permits", name, 2), "ok", mine)
        first = taker.ask("a", "take", "permits", name, 1, 0, 0)
        run.expect(first, "ok*", mine)
        run.expect(other.ask("b", "take", "permits", name, 1, 0, 1500), "ok*",
                   mine)
        run.expect(taker.ask("x", "take", "permits", name, 1, 0, 0), "no",
                   mine)
        begin = time.monotonic()
        run.expect(taker.ask("x", "take", "permits", name, 1, 15000, 0),
                   "ok*", f"{mine}: what expired")
        # Latchkey leaves an expired permit of another library 10 s more.
        run.expect_true(1.0 < time.monotonic() - begin < 14,
                        f"{mine}: at the end of the lease")
        run.expect(taker.ask("a", "give", "permits", name,
                             first.removeprefix("ok").strip() or 1), "ok",
                   mine)
        run.expect(other.ask("c", "take", "permits", name, 1, 3000, 0),
                   "ok*", mine)


@scenario("a latch counts down from both sides", in_slice=True)
def latch(run):
    for number, (taker, other, mine, _) in enumerate(_ways(run)):
        name = f"l{number}"
        run.expect(taker.ask("a", "set", "latch", name, 2), "ok", mine)
        run.expect(other.ask("b", "set", "latch", name, 2), "no", mine)
        taker.send("w", "await", name, 20000)
        other.send("w", "await", name, 20000)
        run.expect(taker.ask("a", "down", name), "ok", mine)
        run.expect(other.ask("b", "count", "latch", name), "ok 1", mine)
        run.expect_true(not taker.has_answered("w"), f"{mine}: one is left")
        run.expect_true(not other.has_answered("w"), f"{mine}: one is left")
        run.expect(other.ask("b", "down", name), "ok", mine)
        run.expect(taker.take("w"), "ok", mine)
        run.expect(other.take("w"), "ok", mine)
