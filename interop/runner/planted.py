# SPDX-License-Identifier: MIT
"""A judge that finds nothing proves nothing: somebody deletes the lock all
the time, and both judges have to see what comes of it."""

import threading

from runner import judge
from runner.scenario import scenario

EVERY_S = 0.005
SECONDS = 3  # python-redis-lock counts in whole ones


def _delete_always(line, keys, done):
    while not done.wait(EVERY_S):
        for key in keys:
            line.command("DEL", key)
    line.close()


def _plant(run, kind, name, *keys):
    """Both sides contend for a lock that is no lock."""
    done = threading.Event()
    deleter = threading.Thread(target=_delete_always,
                               args=(run.server.another(), keys, done))
    grants, witnessed = run.loops(
        [(run.c, 1, kind)] * 2 + [(run.other, 2, kind)], SECONDS,
        at_start=deleter.start, name=name, wait_ms=100,
        hold_us=20000, pause_us=2000)
    done.set()
    deleter.join()
    run.expect_true(judge.overlaps(grants), "the logs show nothing")
    for side in (run.c.side, run.other.side):
        run.expect_true(witnessed[side] > 0, f"{side}'s witness saw nothing")


@scenario("both judges see it when a lock of Redisson's is none")
def redisson(run):
    _plant(run, "lock", "planted", "planted")


@scenario("both judges see it when a lock is none",
          needs=("redis-py", "python-redis-lock", "redsync", "redislock",
                 "rueidislock", "node-redlock", "redis-semaphore"))
def others(run):
    name = run.other.prefix + "planted"
    _plant(run, run.other.kind, name, name, f"lock:{name}")
