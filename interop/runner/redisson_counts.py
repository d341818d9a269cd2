# SPDX-License-Identifier: MIT
"""Semaphores and latches shared with Redisson, step by step."""

import time

from runner.redisson_ways import BRIEF_MS, LONG_MS, each_way, until_waits
from runner.scenario import scenario

LEASE_MS = 4000


@scenario("a plain semaphore is one counter", in_slice=True)
def plain(run):
    for taker, other, name in each_way(run):

        def ask(driver, verb, *words, is_wanted="ok", n=name):
            run.expect(driver.ask("a", verb, "semaphore", n, *words),
                       is_wanted, f"{n}: {verb} {words}")

        ask(taker, "set", 3)
        ask(other, "set", 5, is_wanted="no")
        ask(taker, "take", 2, 0, 0)
        ask(other, "count", is_wanted="ok 1")
        ask(other, "take", 2, 0, 0, is_wanted="no")
        ask(other, "take", 2, BRIEF_MS, 0, is_wanted="no")
        other.send("b", "take", "semaphore", name, 2, LONG_MS, 0)
        until_waits(run, other, "semaphore", name)
        run.expect_true(not other.has_answered("b"), f"{name}: waits")
        ask(taker, "give", 2)
        run.expect(other.take("b"), "ok", name)
        ask(other, "give", 2)
        ask(taker, "count", is_wanted="ok 3")


@scenario("what one side adds, drains or deletes is so for the other",
          in_slice=True)
def changed(run):
    for taker, other, name in each_way(run):

        def ask(driver, verb, *words, is_wanted="ok", n=name):
            run.expect(driver.ask("a", verb, "semaphore", n, *words),
                       is_wanted, f"{n}: {verb} {words}")

        ask(taker, "set", 1)
        other.send("b", "take", "semaphore", name, 3, LONG_MS, 0)
        until_waits(run, other, "semaphore", name)
        ask(taker, "add", 1)
        ask(other, "count", is_wanted="ok 2")
        run.expect_true(not other.has_answered("b"), f"{name}: 2 are too few")
        ask(taker, "add", 1)
        run.expect(other.take("b"), "ok", f"{name}: 3 are enough")
        ask(other, "add", -2)
        ask(taker, "count", is_wanted="ok -2")
        ask(taker, "give", 5)
        ask(other, "drain", is_wanted="ok 3")
        ask(taker, "take", 1, 0, 0, is_wanted="no")
        ask(other, "delete")
        ask(taker, "set", 7)
        ask(other, "count", is_wanted="ok 7")


@scenario("leased permits exclude, come back and expire", in_slice=True)
def permits(run):
    for taker, other, name in each_way(run):
        run.expect(taker.ask("a", "set", "permits", name, 2), "ok", name)
        first = taker.ask("a", "take", "permits", name, 1, 0, 0)
        run.expect(first, "ok*", name)
        begin = time.monotonic()
        run.expect(other.ask("b", "take", "permits", name, 1, 0, LEASE_MS),
                   "ok*", name)
        run.expect(taker.ask("x", "take", "permits", name, 1, 0, 0), "no",
                   name)
        # Latchkey leaves an expired permit of another library 10 s more.
        run.expect(taker.ask("x", "take", "permits", name, 1, 2 * LONG_MS, 0),
                   "ok*", f"{name}: what expired")
        waited = time.monotonic() - begin
        run.expect_true(waited >= LEASE_MS / 1000,
                        f"{name}: after {waited:.2f} s of the lease")
        run.expect(taker.ask("a", "give", "permits", name,
                             first.removeprefix("ok").strip() or 1), "ok",
                   name)
        run.expect(other.ask("c", "take", "permits", name, 1, LONG_MS, 0),
                   "ok*", name)


def _ids(run, name):
    """The permits that are out, as Redisson writes their ids."""
    return run.server.command(
        "EVAL", "local all = redis.call('ZRANGE', KEYS[1], 0, -1) "
        "for i, raw in ipairs(all) do all[i] = raw:gsub('.', function(c) "
        "return ('%02x'):format(c:byte()) end) end return all", 1,
        "{%s}:timeout" % name)


@scenario("a permit is given back by its id from the other side",
          in_slice=True)
def permit_ids(run):
    for taker, other, name in each_way(run):

        def ask(driver, *words, is_wanted="ok", n=name):
            run.expect(driver.ask("a", words[0], "permits", n, *words[1:]),
                       is_wanted, f"{n}: {words}")

        ask(taker, "set", 10)
        ask(taker, "take", 6, 0, 0, is_wanted="ok*")
        ask(other, "count", is_wanted="ok 4")
        ids = _ids(run, name)
        run.expect_true(len(ids) == 6, f"{name}: {len(ids)} ids")
        run.expect(other.ask("a", "give", "permits", name, "00" * 16),
                   "error*" if other.side == "java" else "no",
                   f"{name}: a permit that nobody has")
        for gone, permit in enumerate(ids, 1):
            ask(other, "give", permit)
            ask(taker, "count", is_wanted=f"ok {4 + gone}")
        ask(other, "take", 10, LONG_MS, 0, is_wanted="ok*")


@scenario("Redisson lengthens the lease of a permit of ours", in_slice=True)
def permit_lease(run):
    c, java = run.repl(run.c), run.repl(run.peers["java"])
    run.expect(c.ask("a", "set", "permits", "p", 1), "ok", "set")
    run.expect(c.ask("a", "take", "permits", "p", 1, 0, LEASE_MS), "ok*",
               "ours")
    permit = _ids(run, "p")[0]
    run.expect(java.ask("b", "lease", "p", permit, 600000), "ok", "theirs")
    run.until(lambda: c.ask("a", "check", "permits", "p") == "ok 0", 60,
              "ours believes its own lease")
    run.expect(java.ask("b", "take", "permits", "p", 1, BRIEF_MS, 0), "no",
               "it is still out")
    run.expect(c.ask("b", "take", "permits", "p", 1, BRIEF_MS, 0), "no",
               "it is still out")
    run.expect(java.ask("b", "give", "permits", "p", permit), "ok", "back")
    run.expect(c.ask("b", "take", "permits", "p", 1, LONG_MS, 0), "ok*",
               "free")


@scenario("killed while it holds permits, they come back", in_slice=True)
def killed(run):
    sides = (run.c, run.peers["java"])
    for holder_of, other_of in (sides, sides[::-1]):
        holder, waiter, other = (run.repl(peer) for peer in
                                 (holder_of, holder_of, other_of))
        name = holder_of.side
        run.expect(other.ask("a", "set", "permits", name, 2), "ok", name)
        run.expect(holder.ask("a", "take", "permits", name, 2, 0, 2000),
                   "ok*", name)
        waiter.send("a", "take", "permits", name, 2, -1, 2000)
        until_waits(run, waiter, "permits", name)
        holder.kill()
        waiter.kill()
        begin = time.monotonic()
        run.expect(other.ask("a", "take", "permits", name, 2, 2 * LONG_MS, 0),
                   "ok*", f"{name} killed")
        run.note(f"{name} killed: the other side has the permits "
                 f"{time.monotonic() - begin:.1f} s later")


@scenario("a latch counts down from both sides", in_slice=True)
def latch(run):
    for taker, other, name in each_way(run):
        run.expect(taker.ask("a", "set", "latch", name, 2), "ok", name)
        run.expect(other.ask("b", "set", "latch", name, 2), "no", name)
        for driver in (taker, other):
            driver.send("w", "await", name, LONG_MS)
            until_waits(run, driver, "latch", name)
        run.expect(taker.ask("a", "down", name), "ok", name)
        run.expect(other.ask("b", "count", "latch", name), "ok 1", name)
        run.expect_true(not taker.has_answered("w"), f"{name}: one is left")
        run.expect_true(not other.has_answered("w"), f"{name}: one is left")
        run.expect(other.ask("b", "down", name), "ok", name)
        run.expect(taker.take("w"), "ok", name)
        run.expect(other.take("w"), "ok", name)


@scenario("a latch is deleted: who of Redisson's waits with a limit passes",
          in_slice=True)
def latch_deleted(run):
    limit_ms = 3000
    c, java = run.repl(run.c), run.repl(run.peers["java"])
    run.expect(c.ask("a", "set", "latch", "ours", 2), "ok", "ours")
    begin = time.monotonic()
    looks = run.server.calls("get")
    java.send("w", "await", "ours", limit_ms)
    until_waits(run, java, "latch", "ours")
    run.until(lambda: run.server.calls("get") >= looks + 2, 60,
              "it has looked before and after it subscribed")
    run.expect(c.ask("a", "delete", "latch", "ours"), "ok", "deleted")
    run.expect(java.take("w"), "ok", "await() is true at its limit")
    waited = time.monotonic() - begin
    run.expect_true(waited >= limit_ms / 1000, f"but after {waited:.2f} s")

    run.expect(java.ask("a", "set", "latch", "theirs", 2), "ok", "theirs")
    c.send("w", "await", "theirs", LONG_MS)
    until_waits(run, c, "latch", "theirs")
    run.expect(java.ask("a", "delete", "latch", "theirs"), "ok", "deleted")
    run.expect(c.take("w"), "ok", "what is armed and gone is open")
