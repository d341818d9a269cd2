# SPDX-License-Identifier: MIT
"""What the scripted scenarios beside Redisson have in common."""

# A wait that is over as soon as its cause is there; or, where Redisson misses a
# writer's release since it is just about to sleep, when the lease that it saw
# would have ended: 30 s, or WATCHDOG_MS where a scenario names it.
LONG_MS = 45000
WATCHDOG_MS = 9000
BRIEF_MS = 200  # a wait that is in vain

# Kinds that exclude each other, as (taken there, refused here).
PAIRS = [("lock", "lock"), ("fenced", "fenced"), ("spin", "spin"),
         ("fair", "fair"), ("lock", "fair"), ("fenced", "lock"),
         ("lock", "spin"), ("write", "write"), ("write", "read"),
         ("read", "write"), ("multi", "multi")]

# How it is seen at the server that somebody waits, by side and kind. Who spins
# in Java is not seen.
MARKS = {"c": {"spin": "latchkey:{%s}:s", "read": "latchkey:{%s}:q",
               "write": "latchkey:{%s}:q", "latch": "latchkey:{%s}:q",
               "semaphore": "latchkey:{%s}:q",
               "permits": "latchkey:{%s}:q"},
         "java": {"fair": "redisson_lock_queue:{%s}", "spin": ""}}
CHANNELS = {"read": "redisson_rwlock:{%s}", "write": "redisson_rwlock:{%s}",
            "semaphore": "redisson_sc:{%s}", "permits": "redisson_sc:{%s}",
            "latch": "redisson_countdownlatch__channel__{%s}"}


def name_of(kind, tail):
    return f"{tail}1,{tail}2" if kind == "multi" else tail


def wanted_against(kind):
    """A kind that a hold of this one keeps out."""
    return "write" if kind == "read" else kind


def each_way(run, **env):
    """(taker, other, words) for both directions, each with names of its own:
    the words begin them."""
    c, java = run.repl(run.c, **env), run.repl(run.peers["java"], **env)
    yield c, java, "c-java"
    yield java, c, "java-c"


def waiting_in(server, name):
    """How many of ours wait for a lock, and are not parked."""
    return server.command("ZCOUNT", f"latchkey:{{{name}}}:q", "0",
                          f"({8 * 2 ** 48}")


def _is_waited(server, side, kind, name):
    mark = MARKS["java" if side == "java" else "c"].get(kind)
    if mark == "":
        return True
    if mark is None and side == "java":
        channel = CHANNELS.get(kind, "redisson_lock__channel:{%s}") % name
        return server.command("PUBSUB", "NUMSUB", channel)[1] > 0
    if mark is None:
        return waiting_in(server, name) > 0
    return server.command("EXISTS", mark % name) > 0


def until_waits(run, driver, kind, name, database=0):
    """Until somebody of this driver's side waits for the name."""
    first = name.split(",", maxsplit=1)[0]
    run.server.command("SELECT", database)
    run.until(lambda: _is_waited(run.server, driver.side, kind, first), 60,
              f"{driver.side} waits for {kind} {name}")
    run.server.command("SELECT", 0)


def wait_for(run, driver, actor, kind, name):
    """Sends a request for a lock, and returns when it waits."""
    driver.send(actor, "lock", kind, name, LONG_MS, 0)
    until_waits(run, driver, kind, name)
    run.expect_true(not driver.has_answered(actor),
                    f"{driver.side}: {kind} {name}: waits")
