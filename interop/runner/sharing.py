# SPDX-License-Identifier: MIT
"""Threads of both sides that contend for one name: exclusion and shares.

The floors of the shares are promises for a machine that does nothing else;
run.py --no-floors leaves them out where others use it. Where Redisson beside
itself gives a side less, that is the floor: a control, in which a second
process of Redisson's has the part of ours, goes before such a scenario.
"""

from dataclasses import replace

from runner.scenario import scenario

QUARTER, TENTH = 0.25, 0.1
GAP_S = 2

_alone = {}  # (versions, what): what a control gave, (shares, longest gaps)


def _contend(run, what, loops, floor, seconds=0, gap_s=GAP_S, **settings):
    """Loops of both sides; what names the control that counts, if any."""
    control, ours = _alone.get((run.result.versions, what)), run.c.side
    floors = {ours: floor, "java": floor}
    if control is not None:
        shares, gaps = control
        floors = {ours: min(floor, shares["java-2"]),
                  "java": min(floor, shares["java"])}
        gap_s = max(gap_s, *gaps.values())
    run.contend(loops, max(run.seconds, seconds), floors=floors, gap_s=gap_s,
                **settings)


def _control(what, loops, **settings):
    """Registers a scenario of Redisson alone: loops are of (side, threads,
    kind), and the side that has the part of ours is java-2."""

    @scenario(f"Redisson alone, {what}")
    def alone(run):
        java = run.peers["java"]
        sides = [(replace(java, side=side), threads, kind)
                 for side, threads, kind in loops]
        run.contend(sides, run.seconds, hold_us=1000, **settings)
        grants = run.result.grants
        total = max(sum(grants.values()), 1)
        _alone[(run.result.versions, what)] = (
            {side: count / total for side, count in grants.items()},
            dict(run.result.gaps))


def _four_and_four(run, kind, hold_us, floor, theirs=None, **settings):
    loops = [(run.c, 1, kind)] * 4
    loops.append((run.peers["java"], 4, theirs or kind))
    _contend(run, "", loops, floor, hold_us=hold_us, name=kind, **settings)


# A client that spins is met by chance, after two or three seconds in the mean.
MET = {"seconds": 15, "gap_s": 12}
WRITER, WRITERS, MULTI = ("a writer of four", "writers beside 4 readers",
                          "RMultiLock")
FOUR = "write,read,read,read"
_control("RLock and RSpinLock", [("java-2", 4, "lock"), ("java", 4, "spin")], name="lock")
_control(WRITER, [("java-2", 4, FOUR), ("java", 4, FOUR)], permits=None,
         name="rw")
_control(WRITERS, [("java-2", 4, "read"), ("java", 4, "write")], permits=None,
         name="rw")
_control(MULTI, [("java-2", 2, "multi"), ("java", 2, "multi")], name="m1,m2")


for option in ("auto", "redisson"):
    for ms in (0, 1, 10):

        @scenario(f"lock, 4 C processes and 4 Java threads, {ms} ms, {option}",
                  interop=option, in_slice=ms == 1)
        def locks(run, ms=ms):
            _four_and_four(run, "lock", 1000 * ms,
                           QUARTER if ms else TENTH)

    @scenario(f"lock, one C thread and 4 Java threads, 1 ms, {option}",
              interop=option)
    def one_to_four(run):
        _contend(run, "", [(run.c, 1, "lock"), (run.peers["java"], 4, "lock")],
                 TENTH, hold_us=1000)

    @scenario(f"lock, 4 C processes and one Java thread, 1 ms, {option}",
              interop=option)
    def four_to_one(run):
        _contend(run, "", [(run.c, 1, "lock")] * 4
                 + [(run.peers["java"], 1, "lock")], TENTH, hold_us=1000)

    @scenario(f"RSpinLock and ours, 1 ms, {option}", interop=option)
    def spin(run):
        met = {} if run.c.side == "c-redisson" else MET
        _four_and_four(run, "lock", 1000, TENTH, "spin", **met)

    @scenario(f"RFairLock and our fair lock, 1 ms, {option}", interop=option,
              in_slice=option == "auto")
    def fair(run):
        _four_and_four(run, "fair", 1000, QUARTER)

    @scenario(f"a writer of four on each side, 1 ms, {option}",
              interop=option, in_slice=option == "auto")
    def writers(run):
        loops = [(run.c, 1, "write"), (run.c, 3, "read"),
                 (run.peers["java"], 4, FOUR)]
        _contend(run, WRITER, loops, TENTH, permits=None, hold_us=1000,
                 name="rw")

    @scenario(f"Java writers beside a C process of 4 readers, {option}",
              interop=option)
    def java_writers(run):
        loops = [(run.c, 4, "read"), (run.peers["java"], 4, "write")]
        _contend(run, WRITERS, loops, TENTH, permits=None, hold_us=1000,
                 name="rw")

    @scenario(f"RSemaphore of one permit, 1 ms, {option}", interop=option)
    def semaphore(run):
        run.server.command("SET", "semaphore", 1)
        _four_and_four(run, "semaphore", 1000, QUARTER)


@scenario("three expirable permits, 1 ms", in_slice=True)
def permits(run):
    c = run.repl(run.c)
    run.expect(c.ask("a", "set", "permits", "permits", 3), "ok", "set")
    run.contend([(run.c, 1, "permits")] * 4
                + [(run.peers["java"], 4, "permits")],
                run.seconds, permits=3, hold_us=1000, name="permits")


@scenario("multilock of two names, 1 ms", in_slice=True)
def multilock(run):
    _contend(run, MULTI, [(run.c, 1, "multi")] * 2
             + [(run.peers["java"], 2, "multi")], QUARTER, hold_us=1000,
             name="m1,m2")


# docs/redisson.md says what they are.
for hold_ms, most in ((100, 38), (1000, 55)):

    @scenario(f"a C waiter behind a Java holder of {hold_ms} ms")
    def waiting_cost(run, hold_ms=hold_ms, most=most):
        run.contend([(run.c, 1, "lock"), (run.peers["java"], 1, "lock")],
                    max(run.seconds, 10), hold_us=1000 * hold_ms,
                    pause_us=1000)
        cost = run.result.commands_per_grant
        run.note(f"{cost:.1f} commands of the server per grant")
        run.expect_true(cost <= most or not run.judges_shares,
                        f"more than {most} commands per grant")
