# SPDX-License-Identifier: MIT
"""Latchkey and Redisson on one name, step by step, each way round."""

import time

from runner.scenario import scenario

LEASE_MS = 1500
SOON_S = 5

# Kinds that exclude each other, as (taken there, refused here).
PAIRS = [("lock", "lock"), ("fenced", "fenced"), ("spin", "spin"),
         ("fair", "fair"), ("lock", "fair"), ("write", "write"),
         ("write", "read"), ("read", "write"), ("multi", "multi")]


def name_of(kind, tail):
    return f"{tail}1,{tail}2" if kind == "multi" else tail


def _each_way(run):
    """(taker, other, words) for both directions."""
    c, java = run.repl(run.c), run.repl(run.peers["java"])
    yield c, java, "c then java"
    yield java, c, "java then c"


@scenario("taken there, refused here, released, granted", in_slice=True)
def refused_and_granted(run):
    for number, (taker, other, way) in enumerate(_each_way(run)):
        for held, wanted in PAIRS:
            what = f"{way}: {held} and {wanted}"
            name = f"{held}-{wanted}-{number}"
            mine, theirs = name_of(held, name), name_of(wanted, name)
            run.expect(taker.ask("a", "lock", held, mine, 0, 0), "ok*", what)
            run.expect(other.ask("b", "lock", wanted, theirs, 0, 0), "no",
                       what)
            run.expect(other.ask("b", "lock", wanted, theirs, 200, 0), "no",
                       what)
            run.expect(taker.ask("a", "unlock", held, mine), "ok", what)
            run.expect(other.ask("b", "lock", wanted, theirs, 3000, 0),
                       "ok*", what)
            run.expect(other.ask("b", "unlock", wanted, theirs), "ok", what)


@scenario("a waiter gets what the other side releases", in_slice=True)
def released_to_a_waiter(run):
    for number, (taker, other, way) in enumerate(_each_way(run)):
        for held, wanted in PAIRS:
            what = f"{way}: {held} and {wanted}"
            name = f"{held}-{wanted}-{number}"
            mine, theirs = name_of(held, name), name_of(wanted, name)
            run.expect(taker.ask("a", "lock", held, mine, 0, 0), "ok*", what)
            other.send("b", "lock", wanted, theirs, 10000, 0)
            time.sleep(0.1)
            run.expect_true(not other.has_answered("b"), f"{what}: waits")
            run.expect(taker.ask("a", "unlock", held, mine), "ok", what)
            run.expect(other.take("b"), "ok*", what)
            run.expect(other.ask("b", "unlock", wanted, theirs), "ok", what)


@scenario("readers of both sides share", in_slice=True)
def readers_share(run):
    for number, (taker, other, way) in enumerate(_each_way(run)):
        name = f"rw{number}"
        run.expect(taker.ask("a", "lock", "read", name, 0, 0), "ok*", way)
        run.expect(other.ask("b", "lock", "read", name, 0, 0), "ok*", way)
        run.expect(taker.ask("w", "lock", "write", name, 0, 0), "no", way)
        run.expect(taker.ask("a", "unlock", "read", name), "ok", way)
        run.expect(taker.ask("w", "lock", "write", name, 0, 0), "no", way)
        run.expect(other.ask("b", "unlock", "read", name), "ok", way)
        run.expect(taker.ask("w", "lock", "write", name, 3000, 0), "ok*", way)
        run.expect(other.ask("b", "lock", "read", name, 0, 0), "no", way)
        run.expect(taker.ask("w", "unlock", "write", name), "ok", way)


@scenario("a downgrade lets the other side read", in_slice=True)
def downgrade(run):
    for number, (taker, other, way) in enumerate(_each_way(run)):
        name = f"rw{number}"
        run.expect(taker.ask("a", "lock", "write", name, 0, 0), "ok*", way)
        run.expect(other.ask("b", "lock", "read", name, 0, 0), "no", way)
        run.expect(taker.ask("a", "downgrade", name), "ok", way)
        run.expect(other.ask("b", "lock", "read", name, 3000, 0), "ok*", way)
        run.expect(other.ask("w", "lock", "write", name, 0, 0), "no", way)
        run.expect(taker.ask("a", "unlock", "read", name), "ok", way)
        run.expect(other.ask("b", "unlock", "read", name), "ok", way)
        run.expect(taker.ask("a", "lock", "write", name, 3000, 0), "ok*", way)


@scenario("re-entered, a name is free after the last unlock", in_slice=True)
def re_entry(run):
    for number, (taker, other, way) in enumerate(_each_way(run)):
        for kind in ("lock", "fair", "write", "read"):
            what = f"{way}: {kind}"
            name = f"{kind}{number}"
            wanted = "write" if kind in ("write", "read") else kind
            for _ in range(3):
                run.expect(taker.ask("a", "lock", kind, name, 0, 0), "ok*",
                           what)
            for _ in range(2):
                run.expect(taker.ask("a", "unlock", kind, name), "ok", what)
                run.expect(other.ask("b", "lock", wanted, name, 0, 0), "no",
                           what)
            run.expect(taker.ask("a", "unlock", kind, name), "ok", what)
            run.expect(other.ask("b", "lock", wanted, name, 3000, 0), "ok*",
                       what)


@scenario("a lease ends, and the other side has the name", in_slice=True)
def lease_ends(run):
    for number, (taker, other, way) in enumerate(_each_way(run)):
        for kind in ("lock", "fair", "write", "read"):
            what = f"{way}: {kind}"
            name = f"{kind}{number}"
            wanted = "write" if kind in ("write", "read") else kind
            begin = time.monotonic()
            run.expect(taker.ask("a", "lock", kind, name, 0, LEASE_MS),
                       "ok*", what)
            run.expect(other.ask("b", "lock", wanted, name, 10000, 0), "ok*",
                       what)
            waited = time.monotonic() - begin
            run.expect_true(waited >= LEASE_MS / 1000,
                            f"{what}: after {waited:.2f} s of the lease")
            run.expect(taker.ask("a", "check", kind, name), "ok 0", what)
            other.ask("b", "unlock", wanted, name)


@scenario("watchdogs keep a name for three periods")
def watchdog(run):
    c = run.repl(run.c)
    java = run.repl(run.peers["java"], LOCK_WATCHDOG_MS="3000")
    for taker, other, way in ((java, c, "java"), (c, java, "c")):
        for kind in ("lock", "fair", "write", "read"):
            run.expect(taker.ask(kind, "lock", kind, f"{way}-{kind}", 0, 0),
                       "ok*", f"{way}: {kind}")
        end = time.monotonic() + 9.5
        while time.monotonic() < end:
            for kind in ("lock", "fair", "write", "read"):
                wanted = "write" if kind == "read" else kind
                run.expect(other.ask("b", "lock", wanted, f"{way}-{kind}",
                                     300, 0), "no", f"{way}: {kind}")


@scenario("force unlock by the other side", in_slice=True)
def force(run):
    for number, (taker, other, way) in enumerate(_each_way(run)):
        for kind in ("lock", "fair", "write"):
            what = f"{way}: {kind}"
            name = f"{kind}{number}"
            run.expect(taker.ask("a", "lock", kind, name, 0, 0), "ok*", what)
            run.expect(other.ask("b", "force", kind, name), "ok", what)
            run.expect(other.ask("b", "lock", kind, name, 3000, 0), "ok*",
                       what)
            other.ask("b", "unlock", kind, name)


# Only with this option does ours count grants of a name that it takes first.
@scenario("fences grow over alternating grants", in_slice=True,
          interop="redisson")
def fences(run):
    c, java = run.repl(run.c), run.repl(run.peers["java"])
    last = 0
    for turn in range(40):
        driver = c if turn % 2 == 0 else java
        answer = driver.ask("a", "lock", "fenced", "f", 5000, 0)
        run.expect(answer, "ok*", f"grant {turn}")
        fence = int(answer.split()[1])
        run.expect_true(fence > last, f"fence {fence} after {last}")
        last = fence
        run.expect(driver.ask("a", "unlock", "fenced", "f"), "ok", "unlock")


@scenario("killed while it holds, the other side has it after the lease",
          in_slice=True)
def killed_holder(run):
    for side in ("c", "java"):
        holder = run.repl(run.c if side == "c" else run.peers["java"],
                          LOCK_WATCHDOG_MS="3000")
        other = run.repl(run.peers["java"] if side == "c" else run.c)
        for kind in ("lock", "fair", "write"):
            run.expect(holder.ask(kind, "lock", kind, f"{side}-{kind}", 0,
                                  2000), "ok*", kind)
            other.send(kind, "lock", kind, f"{side}-{kind}", 20000, 0)
        holder.kill()
        for kind in ("lock", "fair", "write"):
            run.expect(other.take(kind), "ok*", f"{side} killed: {kind}")


@scenario("killed while it waits, it costs nobody the name", in_slice=True)
def killed_waiter(run):
    for side in ("c", "java"):
        mine = run.c if side == "c" else run.peers["java"]
        holder = run.repl(run.peers["java"] if side == "c" else run.c)
        waiter = run.repl(mine)
        other = run.repl(run.c)
        for kind in ("lock", "fair", "write"):
            name = f"{side}-{kind}"
            run.expect(holder.ask(kind, "lock", kind, name, 0, 0), "ok*",
                       kind)
            waiter.send(kind, "lock", kind, name, -1, 0)
        time.sleep(0.3)
        waiter.kill()
        for kind in ("lock", "fair", "write"):
            name = f"{side}-{kind}"
            run.expect(holder.ask(kind, "unlock", kind, name), "ok", kind)
            run.expect(other.ask(kind, "lock", kind, name, 12000, 0), "ok*",
                       f"{side} killed: {kind}")
            run.expect(other.ask(kind, "unlock", kind, name), "ok", kind)
