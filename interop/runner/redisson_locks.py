# SPDX-License-Identifier: MIT
"""Latchkey and Redisson on one name, step by step, each way round."""

import time

from runner.redisson_ways import (BRIEF_MS, LONG_MS, PAIRS, WATCHDOG_MS,
                                  each_way, name_of, until_waits, wait_for,
                                  wanted_against)
from runner.scenario import scenario

LEASE_MS = 1500
RENEWED_MS = 3000
KINDS = ("lock", "fenced", "spin", "fair", "read", "write", "multi")


@scenario("taken there, refused here, released, granted", in_slice=True)
def refused_and_granted(run):
    for taker, other, way in each_way(run):
        for held, wanted in PAIRS:
            what = f"{way}-{held}-{wanted}"
            mine, theirs = name_of(held, what), name_of(wanted, what)
            run.expect(taker.ask("a", "lock", held, mine, 0, 0), "ok*", what)
            run.expect(other.ask("b", "lock", wanted, theirs, 0, 0), "no",
                       what)
            run.expect(other.ask("b", "lock", wanted, theirs, BRIEF_MS, 0),
                       "no", what)
            if held != "multi":
                run.expect(other.ask("b", "locked", held, mine), "ok 1", what)
            run.expect(other.ask("b", "unlock", wanted, theirs), "error*",
                       what)
            run.expect(taker.ask("a", "check", held, mine), "ok 1", what)
            run.expect(taker.ask("a", "unlock", held, mine), "ok", what)
            run.expect(other.ask("b", "lock", wanted, theirs, LONG_MS, 0),
                       "ok*", what)
            run.expect(taker.ask("a", "lock", held, mine, 0, 0), "no", what)
            run.expect(other.ask("b", "unlock", wanted, theirs), "ok", what)


@scenario("a waiter gets what the other side releases", in_slice=True)
def released_to_a_waiter(run):
    for taker, other, way in each_way(run, LOCK_WATCHDOG_MS=WATCHDOG_MS):
        for held, wanted in PAIRS:
            what = f"{way}-{held}-{wanted}"
            mine, theirs = name_of(held, what), name_of(wanted, what)
            run.expect(taker.ask("a", "lock", held, mine, 0, 0), "ok*", what)
            wait_for(run, other, "b", wanted, theirs)
            run.expect(taker.ask("a", "unlock", held, mine), "ok", what)
            run.expect(other.take("b"), "ok*", what)
            run.expect(other.ask("b", "unlock", wanted, theirs), "ok", what)
    run.until(lambda: not run.server.command("PUBSUB", "CHANNELS",
                                             "redisson_*"), 60,
              "nobody listens on Redisson's channels any more")


@scenario("readers of both sides share", in_slice=True)
def readers_share(run):
    for taker, other, name in each_way(run):
        run.expect(taker.ask("a", "lock", "read", name, 0, 0), "ok*", name)
        run.expect(other.ask("b", "lock", "read", name, 0, 0), "ok*", name)
        run.expect(taker.ask("w", "lock", "write", name, 0, 0), "no", name)
        run.expect(taker.ask("a", "unlock", "read", name), "ok", name)
        run.expect(taker.ask("w", "lock", "write", name, 0, 0), "no", name)
        run.expect(other.ask("b", "unlock", "read", name), "ok", name)
        run.expect(taker.ask("w", "lock", "write", name, LONG_MS, 0), "ok*",
                   name)
        run.expect(other.ask("b", "lock", "read", name, 0, 0), "no", name)
        run.expect(taker.ask("w", "unlock", "write", name), "ok", name)


@scenario("a downgrade lets the other side read", in_slice=True)
def downgrade(run):
    for taker, other, name in each_way(run, LOCK_WATCHDOG_MS=WATCHDOG_MS):
        run.expect(taker.ask("a", "lock", "write", name, 0, 0), "ok*", name)
        wait_for(run, other, "b", "read", name)
        run.expect(taker.ask("a", "downgrade", name), "ok", name)
        run.expect(other.take("b"), "ok*", name)
        run.expect(other.ask("w", "lock", "write", name, 0, 0), "no", name)
        run.expect(taker.ask("a", "unlock", "read", name), "ok", name)
        run.expect(other.ask("w", "lock", "write", name, 0, 0), "no", name)
        run.expect(other.ask("b", "unlock", "read", name), "ok", name)
        run.expect(taker.ask("a", "lock", "write", name, LONG_MS, 0), "ok*",
                   name)


@scenario("re-entered, a name is free after the last unlock", in_slice=True)
def re_entry(run):
    for taker, other, way in each_way(run):
        for kind in KINDS:
            what = f"{way}-{kind}"
            name, wanted = name_of(kind, what), wanted_against(kind)
            for _ in range(3):
                run.expect(taker.ask("a", "lock", kind, name, 0, 0), "ok*",
                           what)
            for _ in range(2):
                run.expect(taker.ask("a", "unlock", kind, name), "ok", what)
                run.expect(other.ask("b", "lock", wanted, name, 0, 0), "no",
                           what)
            run.expect(taker.ask("a", "unlock", kind, name), "ok", what)
            run.expect(other.ask("b", "lock", wanted, name, LONG_MS, 0),
                       "ok*", what)


@scenario("a lease ends, and the other side has the name", in_slice=True)
def lease_ends(run):
    for taker, other, way in each_way(run):
        begin = {}
        for held, wanted in PAIRS:
            what = f"{way}-{held}-{wanted}"
            begin[what] = time.monotonic()
            run.expect(taker.ask(what, "lock", held, name_of(held, what), 0,
                                 LEASE_MS), "ok*", what)
            other.send(what, "lock", wanted, name_of(wanted, what), LONG_MS,
                       0)
        for held, wanted in PAIRS:
            what = f"{way}-{held}-{wanted}"
            mine, theirs = name_of(held, what), name_of(wanted, what)
            run.expect(other.take(what), "ok*", what)
            waited = time.monotonic() - begin[what]
            run.expect_true(waited >= LEASE_MS / 1000,
                            f"{what}: after {waited:.2f} s of the lease")
            run.expect(taker.ask(what, "check", held, mine), "ok 0", what)
            run.expect(taker.ask(what, "unlock", held, mine), "error*",
                       f"{what}: too late")
            run.expect(other.ask(what, "check", wanted, theirs), "ok 1", what)
            run.expect(other.ask(what, "unlock", wanted, theirs), "ok", what)


@scenario("watchdogs keep a name for three periods")
def watchdog(run):
    for taker, other, way in each_way(run, LOCK_WATCHDOG_MS=RENEWED_MS):
        for kind in KINDS:
            name = name_of(kind, f"{way}-{kind}")
            for verb in ("lock", "lock", "unlock", "unlock", "lock"):
                words = (0, 0) if verb == "lock" else ()
                run.expect(taker.ask(kind, verb, kind, name, *words), "ok*",
                           f"{name}: {verb}")
        end = time.monotonic() + 3.2 * RENEWED_MS / 1000
        while time.monotonic() < end:
            for kind in KINDS:
                name = name_of(kind, f"{way}-{kind}")
                run.expect(other.ask("b", "lock", wanted_against(kind), name,
                                     BRIEF_MS, 0), "no", name)
        for kind in KINDS:
            name = name_of(kind, f"{way}-{kind}")
            run.expect(taker.ask(kind, "check", kind, name), "ok 1", name)
            run.expect(taker.ask(kind, "unlock", kind, name), "ok", name)


@scenario("force unlock by the other side", in_slice=True)
def force(run):
    for taker, other, way in each_way(run, LOCK_WATCHDOG_MS=WATCHDOG_MS):
        for kind in KINDS[:-1]:
            name = f"{way}-{kind}"
            run.expect(other.ask("b", "force", kind, name), "no", name)
            run.expect(taker.ask("a", "lock", kind, name, 0, 0), "ok*", name)
            run.expect(other.ask("b", "force", kind, name), "ok", name)
            run.expect(other.ask("b", "lock", wanted_against(kind), name,
                                 LONG_MS, 0), "ok*", name)
        for kind in KINDS[:-1]:
            name = f"{way}-{kind}"
            run.until(lambda k=kind, n=name:
                      taker.ask("a", "check", k, n) == "ok 0", 60,
                      f"{name}: the holder finds out")
            run.expect(taker.ask("a", "unlock", kind, name), "error*", name)
            run.expect(other.ask("b", "unlock", wanted_against(kind), name),
                       "ok", name)


# Only with this option does ours count grants of a name that it takes first.
@scenario("fences grow over alternating grants", in_slice=True,
          interop="redisson")
def fences(run):
    c, java = run.repl(run.c), run.repl(run.peers["java"])
    last = 0
    for turn in range(40):
        driver = c if turn % 2 == 0 else java
        answer = driver.ask("a", "lock", "fenced", "f", LONG_MS, 0)
        run.expect(answer, "ok*", f"grant {turn}")
        fence = int(answer.split()[1])
        run.expect_true(fence > last, f"fence {fence} after {last}")
        last = fence
        run.expect(driver.ask("a", "unlock", "fenced", "f"), "ok", "unlock")


@scenario("killed while it holds, the other side has it after the lease",
          in_slice=True)
def killed_holder(run):
    sides = (run.c, run.peers["java"])
    for holder_of, other_of in (sides, sides[::-1]):
        holder = run.repl(holder_of, LOCK_WATCHDOG_MS=5000)
        other, way = run.repl(other_of), holder_of.side
        for kind in KINDS:
            name, wanted = name_of(kind, f"{way}-{kind}"), wanted_against(kind)
            run.expect(holder.ask(kind, "lock", kind, name, 0, 0), "ok*",
                       name)
            other.send(kind, "lock", wanted, name, LONG_MS, 0)
        for kind in KINDS:
            run.expect_true(not other.has_answered(kind), f"{kind}: waits")
        holder.kill()
        for kind in KINDS:
            run.expect(other.take(kind), "ok*", f"{way} killed: {kind}")


def _kinds_after(victim, other):
    """Redisson's own waiters stand behind a dead one of its fair lock for
    minutes, see docs/redisson.md."""
    both = victim.side == other.side == "java"
    return [kind for kind in KINDS if not (both and kind == "fair")]


@scenario("killed while it waits, it costs nobody the name", in_slice=True)
def killed_waiter(run):
    java = run.peers["java"]
    others = [run.repl(run.c), run.repl(java)]
    for victim_of, holder in ((run.c, others[1]), (java, others[0])):
        for other in others:
            victim = run.repl(victim_of)
            kinds = _kinds_after(victim, other)
            what = f"{victim.side}-{other.side}"
            for kind in kinds:
                name = name_of(kind, f"{what}-{kind}")
                run.expect(holder.ask(kind, "lock", kind, name, 0, 0), "ok*",
                           name)
                victim.send(kind, "lock", wanted_against(kind), name, -1, 0)
                until_waits(run, victim, wanted_against(kind), name)
            victim.kill()
            for kind in kinds:
                name = name_of(kind, f"{what}-{kind}")
                wanted = wanted_against(kind)
                run.expect(holder.ask(kind, "unlock", kind, name), "ok", name)
                run.expect(other.ask(f"{kind}2", "lock", wanted, name,
                                     LONG_MS, 0), "ok*", f"{name}: killed")
                run.expect(other.ask(f"{kind}2", "unlock", wanted, name),
                           "ok", name)


@scenario("two processes of ours and two threads of Redisson's outlive their "
          "leases")
def outlived(run):
    run.contend([(run.c, 1, "lock")] * 2 + [(run.peers["java"], 2, "lock")],
                run.seconds, lease_ms=100, hold_us=130000, name="outlived")
    for side in (run.c.side, "java"):
        run.expect_true(run.result.grants[side] > 0, f"{side} got nothing")
