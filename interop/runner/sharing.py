# SPDX-License-Identifier: MIT
"""Threads of both sides that contend for one name: exclusion and shares.

The floors of the shares are promises for a machine that does nothing else;
run.py --no-floors leaves them out where others use it.
"""

from runner.scenario import scenario

QUARTER, TENTH = 0.25, 0.1


def _four_and_four(run, kind, hold_us, floor, theirs=None, **settings):
    loops = [(run.c, 1, kind)] * 4
    loops.append((run.peers["java"], 4, theirs or kind))
    run.contend(loops, run.seconds, hold_us=hold_us, name=kind,
                floors={run.c.side: floor, "java": floor}, gap_s=2,
                **settings)


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
        run.contend([(run.c, 1, "lock"), (run.peers["java"], 4, "lock")],
                    run.seconds, hold_us=1000,
                    floors={run.c.side: TENTH, "java": TENTH}, gap_s=2)

    @scenario(f"lock, 4 C processes and one Java thread, 1 ms, {option}",
              interop=option)
    def four_to_one(run):
        run.contend([(run.c, 1, "lock")] * 4
                    + [(run.peers["java"], 1, "lock")],
                    run.seconds, hold_us=1000,
                    floors={run.c.side: TENTH, "java": TENTH}, gap_s=2)

    @scenario(f"RSpinLock and ours, 1 ms, {option}", interop=option)
    def spin(run):
        _four_and_four(run, "lock", 1000, TENTH, "spin")

    @scenario(f"RFairLock and our fair lock, 1 ms, {option}", interop=option,
              in_slice=option == "auto")
    def fair(run):
        _four_and_four(run, "fair", 1000, QUARTER)

    @scenario(f"a writer of four on each side, 1 ms, {option}",
              interop=option, in_slice=option == "auto")
    def writers(run):
        loops = [(run.c, 1, "write"), (run.c, 3, "read"),
                 (run.peers["java"], 4, "write,read,read,read")]
        run.contend(loops, run.seconds, permits=None, hold_us=1000,
                    name="rw", gap_s=2)

    @scenario(f"Java writers beside a C process of 4 readers, {option}",
              interop=option)
    def java_writers(run):
        loops = [(run.c, 4, "read"), (run.peers["java"], 4, "write")]
        run.contend(loops, run.seconds, permits=None, hold_us=1000,
                    name="rw", floors={"java": TENTH}, gap_s=2)

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
    run.contend([(run.c, 1, "multi")] * 2 + [(run.peers["java"], 2, "multi")],
                run.seconds, hold_us=1000, name="m1,m2")


for hold_ms, most in ((100, 15), (1000, 20)):

    @scenario(f"a C waiter behind a Java holder of {hold_ms} ms")
    def waiting_cost(run, hold_ms=hold_ms, most=most):
        run.contend([(run.c, 1, "lock"), (run.peers["java"], 1, "lock")],
                    max(run.seconds, 10), hold_us=1000 * hold_ms,
                    pause_us=1000)
        cost = run.result.commands_per_grant
        run.expect_true(cost <= most, f"{cost:.1f} commands of the server "
                                      f"per grant, more than {most}")
