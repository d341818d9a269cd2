# SPDX-License-Identifier: MIT
"""Latchkey's redlock and siglock beside the libraries whose keys they use.

A lock of kind `token` is a key that holds a random value; one of kind
`siglock` is python-redis-lock's.
"""

import time

from runner.scenario import scenario

ONE_SERVER = ("redis-py", "redsync", "redislock", "rueidislock",
              "node-redlock", "redis-semaphore")
SIGNAL = ("python-redis-lock",)
MANY_SERVERS = ("redsync", "node-redlock")

LEASE_MS = 1000  # python-redis-lock counts in whole seconds
LONG_MS = 20000  # a wait that is over as soon as its cause is there


def _name(run, tail):
    """The key, which is what Latchkey's token lock calls its name."""
    return run.other.prefix + tail


def _each_way(run, **env):
    """(taker, the one who asks, words) for both directions."""
    c, other = run.repl(run.c, **env), run.repl(run.other, **env)
    yield c, other, "c then other"
    yield other, c, "other then c"


def _renews(peer):
    return peer.side not in ("redis-py", "redsync", "redislock",
                             "node-redlock")


def _key(run, name):
    """The value of the lock's key; None: it is free."""
    return run.server.command(
        "GET", f"lock:{name}" if run.other.kind == "siglock" else name)


def _wait_for(run, driver, actor, name, wait_ms):
    """Sends a request, and returns when it has been refused once."""
    calls = run.server.calls()
    driver.send(actor, "lock", run.other.kind, name, wait_ms, 0)
    run.until(lambda: run.server.calls() > calls, 60,
              f"{driver.side} asks for {name}")
    run.expect_true(not driver.has_answered(actor), f"{driver.side}: waits")


@scenario("taken there, refused here; released there, granted here",
          needs=ONE_SERVER + SIGNAL, in_slice=True)
def refused_and_granted(run):
    kind = run.other.kind
    for number, (taker, asker, way) in enumerate(_each_way(run)):
        name = _name(run, f"refused{number}")
        run.expect(taker.ask("a", "lock", kind, name, 0, 0), "ok*", way)
        run.expect(asker.ask("b", "lock", kind, name, 0, 0), "no", way)
        run.expect(asker.ask("b", "lock", kind, name, 1000, 0), "no", way)
        run.expect(taker.ask("a", "unlock", kind, name), "ok", way)
        run.expect(asker.ask("b", "lock", kind, name, LONG_MS, 0), "ok*", way)
        run.expect(taker.ask("a", "lock", kind, name, 0, 0), "no", way)
        run.expect(asker.ask("b", "unlock", kind, name), "ok", way)
        run.expect_true(_key(run, name) is None, f"{way}: free at last")


@scenario("a waiter gets what the other side releases",
          needs=ONE_SERVER + SIGNAL)
def released_to_a_waiter(run):
    kind = run.other.kind
    for number, (taker, asker, way) in enumerate(_each_way(run)):
        name = _name(run, f"waiter{number}")
        run.expect(taker.ask("a", "lock", kind, name, 0, 0), "ok*", way)
        _wait_for(run, asker, "b", name, LONG_MS)
        run.expect(taker.ask("a", "unlock", kind, name), "ok", way)
        run.expect(asker.take("b"), "ok*", way)
        run.expect(asker.ask("b", "unlock", kind, name), "ok", way)


@scenario("a cluster of three masters is shared", needs=SIGNAL)
def clustered(run):
    """The keys of a name are in one slot where it has a tag."""
    run.cluster()
    for taker, asker, way in _each_way(run):
        for number in range(12):
            name = f"{{{way.split()[0]}{number}}}"
            run.expect(taker.ask("a", "lock", "siglock", name, 0, 0), "ok*",
                       way)
            run.expect(asker.ask("b", "lock", "siglock", name, 0, 0), "no",
                       way)
            _wait_for(run, asker, "b", name, LONG_MS)
            run.expect(taker.ask("a", "unlock", "siglock", name), "ok", way)
            run.expect(asker.take("b"), "ok*", way)
            run.expect(taker.ask("a", "lock", "siglock", name, 0, 0), "no",
                       way)
            run.expect(asker.ask("b", "unlock", "siglock", name), "ok", way)


@scenario("a lease ends; a late release removes nothing of the next holder's",
          needs=ONE_SERVER + SIGNAL)
def lease_ends(run):
    kind = run.other.kind
    for number, (taker, asker, way) in enumerate(_each_way(run)):
        name = _name(run, f"lease{number}")
        run.expect(taker.ask("a", "lock", kind, name, 0, LEASE_MS), "ok*",
                   way)
        left = run.server.command(
            "PTTL", f"lock:{name}" if kind == "siglock" else name)
        run.expect_true(0 < left <= LEASE_MS, f"{way}: a lease of {left} ms")
        run.expect(asker.ask("b", "lock", kind, name, LONG_MS, 0), "ok*", way)
        value = _key(run, name)
        taker.ask("a", "unlock", kind, name)  # not all say that it is late
        run.expect_true(value is not None and _key(run, name) == value,
                        f"{way}: the next holder's key is still there")
        run.expect(asker.ask("b", "unlock", kind, name), "ok", way)


@scenario("killed while it holds and while it waits",
          needs=ONE_SERVER + SIGNAL)
def killed(run):
    kind = run.other.kind
    for mine, theirs in ((run.c, run.other), (run.other, run.c)):
        doomed, waiter, other = (run.repl(peer, LOCK_WATCHDOG_MS=4000)
                                 for peer in (mine, mine, theirs))
        name = _name(run, f"killed-{mine.side}")
        what = f"{mine.side} killed"
        run.expect(doomed.ask("a", "lock", kind, name, 0, 0), "ok*", what)
        _wait_for(run, other, "b", name, LONG_MS)
        doomed.kill()
        run.expect(other.take("b"), "ok*", f"{what} while it holds")
        if not _renews(theirs):  # it has to last
            other.ask("b", "unlock", kind, name)
            run.expect(other.ask("b", "lock", kind, name, LONG_MS, 600000),
                       "ok*", what)
        _wait_for(run, waiter, "a", name, -1)
        waiter.kill()
        run.expect(other.ask("b", "unlock", kind, name), "ok", what)
        run.expect(other.ask("b", "lock", kind, name, LONG_MS, 0), "ok*",
                   f"{what} while it waits")
        run.expect(other.ask("b", "unlock", kind, name), "ok", what)


def _contend(run, seconds, **more):
    """Two processes of Latchkey and two threads of the other library."""
    kind = run.other.kind
    run.contend([(run.c, 1, kind)] * 2 + [(run.other, 2, kind)], seconds,
                name=_name(run, "contended"), hold_us=3000, pause_us=20000,
                **more)
    for side in (run.c.side, run.other.side):
        run.expect_true(run.result.grants[side] > 0, f"{side} got nothing")


@scenario("two of ours and two of theirs contend, 3 ms",
          needs=ONE_SERVER + SIGNAL)
def contention(run):
    _contend(run, run.seconds)


# ---- what only python-redis-lock has ----

FIRST_LOOK_S = 0.75  # a waiter of ours looks by itself no sooner
ROUNDS = 5


def _is_waited(run):
    """Whether somebody waits in BLPOP."""
    return "blocked_clients:0" not in run.server.command("INFO", "clients")


@scenario("a release wakes who waits, by the signal", needs=SIGNAL)
def signal(run):
    for number, (taker, asker, way) in enumerate(_each_way(run)):
        shortest = FIRST_LOOK_S
        for step in range(ROUNDS):
            name = f"signal{number}-{step}"
            run.expect(taker.ask("a", "lock", "siglock", name, 0, 0), "ok*",
                       way)
            asked = time.monotonic()
            asker.send("b", "lock", "siglock", name, LONG_MS, 0)
            run.until(lambda: _is_waited(run), 10, f"{way}: it waits")
            run.expect(taker.ask("a", "unlock", "siglock", name), "ok", way)
            run.expect(asker.take("b"), "ok*", way)
            shortest = min(shortest, time.monotonic() - asked)
            run.expect(asker.ask("b", "unlock", "siglock", name), "ok", way)
            run.until(lambda: not _is_waited(run), 20, f"{way}: all is over")
        run.expect_true(shortest < FIRST_LOOK_S,
                        f"{way}: never before it looks by itself")


@scenario("renewed for three leases, nobody else gets it", needs=SIGNAL)
def renewed(run):
    lease_s = 2
    for number, (taker, asker, way) in enumerate(
            _each_way(run, LOCK_WATCHDOG_MS=1000 * lease_s)):
        name = f"renewed{number}"
        run.expect(taker.ask("a", "lock", "siglock", name, 0, 0), "ok*", way)
        value, end = _key(run, name), time.monotonic() + 3 * lease_s
        while time.monotonic() < end:
            run.expect(asker.ask("b", "lock", "siglock", name, 1000, 0), "no",
                       way)
        run.expect_true(_key(run, name) == value, f"{way}: the same holder")
        run.expect(taker.ask("a", "unlock", "siglock", name), "ok", way)
        run.expect(asker.ask("b", "lock", "siglock", name, LONG_MS, 0), "ok*",
                   way)
        run.expect(asker.ask("b", "unlock", "siglock", name), "ok", way)


@scenario("reset by the other side", needs=SIGNAL)
def reset(run):
    for number, (taker, asker, way) in enumerate(_each_way(run)):
        name = f"reset{number}"
        run.expect(taker.ask("a", "lock", "siglock", name, 0, 0), "ok*", way)
        run.expect(asker.ask("b", "locked", "siglock", name), "ok 1", way)
        run.expect(asker.ask("b", "force", "siglock", name), "ok", way)
        run.expect(asker.ask("b", "locked", "siglock", name), "ok 0", way)
        run.expect(taker.ask("a", "unlock", "siglock", name), "error*", way)


# ---- over three servers ----

def _fate_of(server, fate):
    if fate == "killed":
        server.kill()
    elif fate == "stopped":
        server.pause()


for fate in ("well", "killed", "stopped"):

    @scenario(f"over three servers, one of them {fate}, taken there, "
              "refused here", needs=MANY_SERVERS, in_slice=fate == "killed")
    def three_refuse(run, fate=fate):
        run.more_servers(2)
        sides = list(_each_way(run))
        _fate_of(run.servers[-1], fate)
        for number, (taker, asker, way) in enumerate(sides):
            name = _name(run, f"three{number}")
            run.expect(taker.ask("a", "lock", "token", name, LONG_MS, 0),
                       "ok*", way)
            answer = asker.ask("b", "lock", "token", name, 0, 0)
            run.expect_true(not answer.startswith("ok"), f"{way}: {answer}")
            run.expect(taker.ask("a", "unlock", "token", name), "ok", way)
            run.expect(asker.ask("b", "lock", "token", name, LONG_MS, 0),
                       "ok*", way)
            answer = taker.ask("a", "lock", "token", name, 0, 0)
            run.expect_true(not answer.startswith("ok"), f"{way}: {answer}")
            run.expect(asker.ask("b", "unlock", "token", name), "ok", way)


for fate in ("killed", "stopped"):

    @scenario(f"over three servers, one of them {fate}, two and two contend",
              needs=MANY_SERVERS)
    def three_servers(run, fate=fate):
        run.more_servers(2)
        _contend(run, run.seconds,
                 at_start=lambda: _fate_of(run.servers[-1], fate))
