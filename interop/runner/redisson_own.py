# SPDX-License-Identifier: MIT
"""What Redisson's own tests demand of its locks, with Latchkey on one side."""

import time

from runner.redisson_ways import (BRIEF_MS, LONG_MS, WATCHDOG_MS, each_way,
                                  until_waits, wait_for,
                                  waiting_in)
from runner.scenario import scenario

RENEWED_MS = 3000
TIMEOUT_KEY = "{%s}:*:rwlock_timeout:*"


@scenario("a partial unlock of Redisson's begins its lease again",
          in_slice=True)
def partial_unlock(run):
    lease_ms = 60000
    c, java = run.repl(run.c), run.repl(run.peers["java"])
    for kind in ("lock", "fenced", "fair", "write"):
        for _ in range(3):
            run.expect(java.ask("a", "lock", kind, kind, 0, lease_ms), "ok*",
                       kind)
        time.sleep(0.3)
        run.expect(java.ask("a", "unlock", kind, kind), "ok", kind)
        begin = time.monotonic()
        run.expect(java.ask("a", "unlock", kind, kind), "ok", kind)
        left_ms = run.server.command("PTTL", kind)
        least_ms = lease_ms - 1000 * (time.monotonic() - begin) - 2
        run.expect_true(least_ms <= left_ms <= lease_ms,
                        f"{kind}: {left_ms} of {lease_ms} ms")
        run.expect(c.ask("b", "lock", kind, kind, 0, 0), "no", kind)


@scenario("a shorter lease of a writer's re-entry shortens nothing",
          in_slice=True)
def shorter_lease(run):
    for taker, other, name in each_way(run):
        run.expect(taker.ask("a", "lock", "write", name, 0, 60000), "ok*",
                   name)
        run.expect(taker.ask("a", "lock", "write", name, 0, 1000), "ok*",
                   name)
        for kind in ("write", "read"):
            run.expect(other.ask("b", "lock", kind, name, 1500, 0), "no",
                       f"{name}: {kind}")


@scenario("a writer that reads as well", in_slice=True)
def writer_reads(run):
    for taker, other, way in each_way(run, LOCK_WATCHDOG_MS=WATCHDOG_MS):
        for first, left in (("write", "read"), ("read", "write")):
            name = f"{way}-{left}"
            for kind in ("write", "read"):
                run.expect(taker.ask("a", "lock", kind, name, 0, 0), "ok*",
                           name)
            run.expect(other.ask("b", "lock", "read", name, 0, 0), "no",
                       name)
            run.expect(taker.ask("a", "unlock", first, name), "ok", name)
            run.expect(other.ask("b", "lock", "write", name, 0, 0), "no",
                       f"{name}: held to {left}")
            if left == "read":
                run.expect(other.ask("b", "lock", "read", name, LONG_MS, 0),
                           "ok*", f"{name}: both read")
                run.expect(other.ask("b", "unlock", "read", name), "ok", name)
            else:
                run.expect(other.ask("b", "lock", "read", name, 0, 0), "no",
                           f"{name}: held to {left}")
            run.expect(taker.ask("a", "unlock", left, name), "ok", name)
            run.expect(other.ask("b", "lock", "write", name, LONG_MS, 0),
                       "ok*", f"{name}: free")


@scenario("twenty readers come in when a writer leaves", in_slice=True)
def many_readers(run):
    readers = [f"r{i}" for i in range(20)]
    for taker, other, name in each_way(run, LOCK_WATCHDOG_MS=WATCHDOG_MS):
        run.expect(taker.ask("a", "lock", "write", name, 0, 0), "ok*", name)
        for reader in readers:
            other.send(reader, "lock", "read", name, 2 * LONG_MS, 0)
        until_waits(run, other, "read", name)
        run.expect(taker.ask("a", "unlock", "write", name), "ok", name)
        for reader in readers:
            run.expect(other.take(reader), "ok*", f"{name}: {reader}")
        run.expect(taker.ask("a", "lock", "write", name, 0, 0), "no", name)
        for reader in readers:
            run.expect(other.ask(reader, "unlock", "read", name), "ok", name)
        run.expect(taker.ask("a", "lock", "write", name, LONG_MS, 0), "ok*",
                   name)


@scenario("a reader that comes and goes ends nobody else's lease",
          in_slice=True)
def reader_passes(run):
    lease_ms = 3000
    for taker, other, name in each_way(run):
        begin = time.monotonic()
        run.expect(taker.ask("a", "lock", "read", name, 0, lease_ms), "ok*",
                   name)
        run.expect(other.ask("b", "lock", "read", name, 0, 0), "ok*", name)
        run.expect(other.ask("b", "unlock", "read", name), "ok", name)
        run.expect(other.ask("w", "lock", "write", name, LONG_MS, 0), "ok*",
                   name)
        waited = time.monotonic() - begin
        run.expect_true(waited >= lease_ms / 1000,
                        f"{name}: a writer came after {waited:.2f} s")


@scenario("a dead reader, and one of the other side that reads on")
def dead_reader(run):
    """What is left of the dead one's lease two leases later."""
    java_side = run.peers["java"]
    for dead_of in (run.c, java_side):
        for live_of in (run.c, java_side):
            dead = run.repl(dead_of, LOCK_WATCHDOG_MS=RENEWED_MS)
            live = run.repl(live_of, LOCK_WATCHDOG_MS=RENEWED_MS)
            name = f"{dead_of.side}-{live_of.side}"
            run.expect(dead.ask("a", "lock", "read", name, 0, 0), "ok*", name)
            run.expect(live.ask("b", "lock", "read", name, 0, 0), "ok*", name)
            dead.kill()
            time.sleep(2.5 * RENEWED_MS / 1000)
            kept = len(run.server.command("KEYS", TIMEOUT_KEY % name))
            renews_all = live_of is java_side and java_side.version < "4.4"
            run.expect_true(kept == (2 if renews_all else 1),
                            f"{name}: {kept} readers have a lease")
            run.expect(live.ask("b", "unlock", "read", name), "ok", name)
            begin = time.monotonic()
            run.expect(live.ask("b", "lock", "write", name, LONG_MS, 0),
                       "ok*", name)
            run.note(f"{dead_of.side} dead, {live_of.side} read on: a writer "
                     f"comes in {time.monotonic() - begin:.1f} s after that")
            live.stop()


@scenario("read twice by Redisson, renewed for three periods")
def read_twice(run):
    """3.52 fails to renew it: see docs/rwlock.md."""
    java_side = run.peers["java"]
    c = run.repl(run.c)
    java = run.repl(java_side, LOCK_WATCHDOG_MS=RENEWED_MS)
    for _ in range(2):
        run.expect(java.ask("a", "lock", "read", "r", 0, 0), "ok*", "read")
    begin = time.monotonic()
    answer = c.ask("b", "lock", "write", "r", 3 * RENEWED_MS, 0)
    run.note(f"a writer of ours was {'let in' if answer != 'no' else 'kept out'}"
             f" after {time.monotonic() - begin:.1f} s; isHeldByCurrentThread(): "
             + java.ask("a", "check", "read", "r"))
    if java_side.version >= "4.4":
        run.expect(answer, "no", "it reads")


@scenario("expire() by Redisson ends a hold of either side", in_slice=True)
def expired(run):
    c = run.repl(run.c, LOCK_WATCHDOG_MS=RENEWED_MS)
    java = run.repl(run.peers["java"])
    for kind in ("lock", "fair", "write"):
        run.expect(java.ask("a", "lock", kind, f"{kind}1", 0, 0), "ok*", kind)
        wait_for(run, c, "b", kind, f"{kind}1")
        run.expect(java.ask("a", "expire", kind, f"{kind}1", 300), "ok", kind)
        run.expect(c.take("b"), "ok*", f"{kind}: theirs has ended")

        run.expect(c.ask("a", "lock", kind, f"{kind}2", 0, 60000), "ok*",
                   kind)
        run.expect(java.ask("b", "expire", kind, f"{kind}2", 300), "ok", kind)
        run.expect(java.ask("b", "lock", kind, f"{kind}2", LONG_MS, 0), "ok*",
                   f"{kind}: ours has ended")


@scenario("the server lost its data: nobody goes on holding")
def data_lost(run):
    for taker, other, way in each_way(run, LOCK_WATCHDOG_MS=RENEWED_MS):
        kinds = ("lock", "fair", "write", "read")
        for kind in kinds:
            run.expect(taker.ask(kind, "lock", kind, f"{way}-{kind}", 0, 0),
                       "ok*", kind)
        run.server.command("FLUSHALL")
        for kind in kinds:
            name = f"{way}-{kind}"
            run.until(lambda k=kind, n=name:
                      taker.ask(k, "check", k, n) == "ok 0", 60,
                      f"{name}: the holder finds out")
            if (taker.side, kind) != ("java", "fair"):  # it says so never
                run.expect(taker.ask(kind, "unlock", kind, name), "error*",
                           name)
            run.expect(taker.ask(kind, "lock", kind, name, LONG_MS, 0), "ok*",
                       name)
        end = time.monotonic() + 2 * RENEWED_MS / 1000
        while time.monotonic() < end:
            for kind in kinds:
                run.expect(other.ask("b", "lock", "write" if kind == "read"
                                     else kind, f"{way}-{kind}", BRIEF_MS, 0),
                           "no", f"{way}: {kind} is renewed again")


@scenario("without the server, nobody is told that a lock is busy")
def server_gone(run):
    c, java = run.repl(run.c), run.repl(run.peers["java"])
    for driver in (c, java):
        run.expect(driver.ask("a", "lock", "lock", "before", 0, 0),
                   "ok*" if driver is c else "no", "while it is there")
    run.server.kill()
    for driver in (c, java):
        run.expect(driver.ask("b", "lock", "lock", "after", 0, 0), "error*",
                   driver.side)


@scenario("a fair lock's waiters come in the order of their side",
          in_slice=True)
def fair_order(run):
    c, java = run.repl(run.c), run.repl(run.peers["java"])
    run.expect(c.ask("first", "lock", "fair", "f", 0, 0), "ok*", "first")
    waiting = []
    for turn in range(4):
        for driver, count in (
                (c, lambda: waiting_in(run.server, "f")),
                (java, lambda: run.server.command(
                    "ZCARD", "redisson_lock_timeout:{f}"))):
            driver.send(f"w{turn}", "lock", "fair", "f", 3 * LONG_MS, 0)
            run.until(lambda k=count, t=turn: k() == t + 1, 60,
                      f"{driver.side} stands in line")
            waiting.append((driver, f"w{turn}"))
    run.expect(c.ask("first", "unlock", "fair", "f"), "ok", "first")
    came = {c: [], java: []}
    while waiting:
        run.until(lambda: any(d.has_answered(a) for d, a in waiting), 60,
                  "somebody has it")
        inside = [(d, a) for d, a in waiting if d.has_answered(a)]
        run.expect_true(len(inside) == 1, f"{len(inside)} at once")
        driver, actor = inside[0]
        run.expect(driver.take(actor), "ok*", actor)
        came[driver].append(actor)
        waiting.remove(inside[0])
        run.expect(driver.ask(actor, "unlock", "fair", "f"), "ok", actor)
    for driver, actors in came.items():
        run.expect_true(actors == sorted(actors), f"{driver.side}: {actors}")


@scenario("a thread that gives up leaves nothing in a fair lock's line", in_slice=True)
def fair_given_up(run):
    for taker, other, name in each_way(run):
        run.expect(taker.ask("a", "lock", "fair", name, 0, 0), "ok*", name)
        for wait_ms in (0, BRIEF_MS):
            run.expect(other.ask("b", "lock", "fair", name, wait_ms, 0), "no",
                       name)
            run.until(lambda n=name: not waiting_in(run.server, n) and not any(
                run.server.command("EXISTS", key % n) for key in
                ("redisson_lock_queue:{%s}", "redisson_lock_timeout:{%s}")), 60,
                f"{name}: nobody stands in line")
        run.expect(taker.ask("a", "unlock", "fair", name), "ok", name)
        run.expect(other.ask("b", "lock", "fair", name, 0, 0), "ok*", name)


@scenario("of ten who try a multilock at once, one has it", in_slice=True)
def multi_once(run):
    c, java = run.repl(run.c), run.repl(run.peers["java"])
    tries = [(d, f"t{i}") for i in range(5) for d in (c, java)]
    for driver, actor in tries:
        driver.send(actor, "lock", "multi", "m1,m2,m3", 0, 0)
    got = sum(d.take(a).startswith("ok") for d, a in tries)
    # All may fail: Redisson holds the first while it tries the others.
    run.expect_true(got <= 1, f"{got} have it")


@scenario("databases are told apart", in_slice=True)
def databases(run):
    c0, java1 = run.repl(run.c), run.repl(run.peers["java"], database=1)
    for kind in ("lock", "fair", "write"):
        run.expect(c0.ask("a", "lock", kind, kind, 0, 0), "ok*", kind)
        run.expect(java1.ask("a", "lock", kind, kind, 0, 0), "ok*",
                   f"{kind}: another database's")
        java1.send("w", "lock", kind, kind, LONG_MS, 0)
        until_waits(run, java1, kind, kind, database=1)
        run.expect(c0.ask("a", "unlock", kind, kind), "ok", kind)
        for _ in range(3):
            run.expect(c0.ask("a", "lock", kind, kind, LONG_MS, 0), "ok*",
                       f"{kind}: who waits in database 1 waits for that one")
            run.expect(c0.ask("a", "unlock", kind, kind), "ok", kind)
        run.expect_true(not java1.has_answered("w"), f"{kind}: still waits")
        run.expect(java1.ask("a", "unlock", kind, kind), "ok", kind)
        run.expect(java1.take("w"), "ok*", kind)
