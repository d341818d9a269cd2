# SPDX-License-Identifier: MIT
"""Latchkey and Redisson's own mode for a cluster, in one of three masters."""

import statistics
import time

from runner.redisson_ways import (LONG_MS, each_way, until_waits, wait_for,
                                  wanted_against)
from runner.scenario import scenario

# Redisson misses a release now and then, as on one server, and looks again when
# the lease that it saw would have ended.
WATCHDOG_MS = 3000

# As (taken there, wanted here).
PAIRS = [("lock", "lock"), ("fair", "fair"), ("write", "read")]
MASTERS = 3


def _names(run, begin):
    """A name at each master."""
    found = {}
    number = 0
    while len(found) < MASTERS:
        name = f"{begin}-{number}"
        found.setdefault(run.server.place(name), name)
        number += 1
    return found.values()


def _pass_on(run, taker, other, pair, name):
    """Returns how long the other one waited after the release, in ms."""
    held, wanted = pair
    what = f"{name} {held} {wanted}"
    run.expect(taker.ask("a", "lock", held, name, 0, 0), "ok*", what)
    run.expect(other.ask("b", "lock", wanted, name, 0, 0), "no", what)
    wait_for(run, other, "b", wanted, name)
    begin = time.monotonic()
    run.expect(taker.ask("a", "unlock", held, name), "ok", what)
    run.expect(other.take("b"), "ok*", what)
    waited = (time.monotonic() - begin) * 1000
    run.expect(taker.ask("a", "lock", wanted_against(wanted), name, 0, 0),
               "no", what)
    run.expect(other.ask("b", "unlock", wanted, name), "ok", what)
    return waited


def _give(run, taker, other, name):
    run.expect(taker.ask("a", "set", "semaphore", name, 1), "ok", name)
    run.expect(taker.ask("a", "take", "semaphore", name, 1, 0, 0), "ok*", name)
    run.expect(other.ask("b", "take", "semaphore", name, 1, 0, 0), "no", name)
    other.send("b", "take", "semaphore", name, 1, LONG_MS, 0)
    until_waits(run, other, "semaphore", name)
    run.expect(taker.ask("a", "give", "semaphore", name, 1), "ok", name)
    run.expect(other.take("b"), "ok*", name)


def _open(run, taker, other, name):
    run.expect(taker.ask("a", "set", "latch", name, 1), "ok", name)
    other.send("b", "await", name, LONG_MS)
    until_waits(run, other, "latch", name)
    run.expect(taker.ask("a", "down", name), "ok", name)
    run.expect(other.take("b"), "ok", name)


@scenario("a cluster of three masters is shared", in_slice=True)
def shared(run):
    run.cluster()
    for taker, other, way in each_way(run, LOCK_WATCHDOG_MS=WATCHDOG_MS):
        waited = [_pass_on(run, taker, other, pair, name) for pair in PAIRS
                  for name in _names(run, f"{way}-{'-'.join(pair)}")]
        run.note(f"{other.side} has a lock {statistics.median(waited):.1f} ms "
                 f"after its release, {max(waited):.0f} at most")
        for name in _names(run, f"{way}-semaphore"):
            _give(run, taker, other, name)
        for name in _names(run, f"{way}-latch"):
            _open(run, taker, other, name)
    run.expect_true(run.server.published() == 0,
                    f"{run.server.published()} messages went to all nodes")
