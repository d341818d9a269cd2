# SPDX-License-Identifier: MIT
"""What a scenario is made of: one server, drivers, and what was found."""

import contextlib
import os
import shutil
import tempfile
import time
from dataclasses import dataclass, field

from runner import judge
from runner.process import Broken, Driver, Ring, Server


@dataclass
class Result:
    """One line of the table."""

    name: str
    versions: str
    seconds: float = 0
    grants: dict = field(default_factory=dict)  # side: how many
    gaps: dict = field(default_factory=dict)  # side: longest s without one
    wakeups: dict = field(default_factory=dict)  # "a>b": median ms
    checks: int = 0
    violations: int = 0
    leftovers: list = field(default_factory=list)
    commands_per_grant: float = 0  # 0: there were several servers
    failures: list = field(default_factory=list)
    notes: list = field(default_factory=list)  # measured, not judged
    not_run: str = ""

    @property
    def verdict(self):
        if self.not_run:
            return "not run"
        return "FAILED" if self.failures or self.violations else "passed"


class Run:
    """A scenario that runs. Ends all its processes at the end."""

    def __init__(self, result, c, peers):
        self.result = result
        self.c = c
        self.peers = peers
        self.seconds = 5
        self.judges_shares = True
        self.server = Server()
        self.servers = [self.server]
        self.drivers = []
        self.folder = tempfile.mkdtemp(prefix="latchkey-interop-")

    # ---- processes ----

    @property
    def other(self):
        """The library beside which Latchkey runs."""
        return next(iter(self.peers.values()))

    def more_servers(self, count):
        """Drivers that start from now on use these as well."""
        self.servers += [Server() for _ in range(count)]

    def cluster(self):
        """Drivers that start from now on use a cluster instead."""
        self.server.stop()
        self.server = Ring()
        self.servers = [self.server]

    def start(self, peer, mode, *settings, database=0, **env):
        tail = f"/{database}" if database else ""
        urls = ",".join(server.url + tail for server in self.servers)
        driver = Driver(peer, mode, urls, *settings, env=env)
        self.drivers.append(driver)
        return driver

    def repl(self, peer, database=0, **env):
        return self.start(peer, "repl", database=database, **env)

    def end(self):
        for driver in self.drivers:
            driver.stop()
        with contextlib.suppress(Broken, OSError):  # a server that is gone
            self.result.leftovers = self.server.leftovers()
        for key in self.result.leftovers:
            if key.startswith("latchkey:"):
                self.fail(f"{key} has no end")
        for server in self.servers:
            server.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    # ---- what is found ----

    def expect(self, actual, wanted, what):
        """A check of a scripted step; wanted may end with '*'."""
        self.result.checks += 1
        good = actual.startswith(wanted[:-1]) if wanted.endswith("*") \
            else actual == wanted
        if not good:
            self.fail(f"{what}: {actual!r} instead of {wanted!r}")

    def expect_true(self, is_true, what):
        self.result.checks += 1
        if not is_true:
            self.fail(what)

    def fail(self, text):
        self.result.failures.append(text)

    def note(self, text):
        self.result.notes.append(text)

    def until(self, condition, seconds, what):
        """Waits for a condition; returns how long that took, in s."""
        begin = time.monotonic()
        while not condition():
            if time.monotonic() - begin > seconds:
                raise Broken(f"not within {seconds} s: {what}")
            time.sleep(0.002)
        return time.monotonic() - begin

    # ---- threads that contend ----

    def loops(self, loops, seconds, at_start=None, **settings):
        """Runs loops, [(peer, threads, kind), ...]; returns their grants, and
        how often each side's witness met somebody. at_start is called when
        all drivers are connected."""
        witness = os.path.join(self.folder, "witness")
        os.makedirs(witness)
        logs = []
        drivers = []
        for number, (peer, threads, kind) in enumerate(loops):
            log = os.path.join(self.folder, f"{number}.log")
            logs.append((peer.side, log))
            drivers.append(self.start(
                peer, "loop", f"kind={kind}", f"threads={threads}",
                f"log={log}", f"witness={witness}", f"seconds={seconds}",
                *(f"{key}={value}" for key, value in settings.items())))
        if at_start is not None:
            at_start()
        for driver in drivers:
            driver.begin()
        witnessed = {driver.side: 0 for driver in drivers}
        for driver in drivers:
            witnessed[driver.side] += driver.result(seconds + 90)[1]
        return [g for side, log in logs for g in judge.read_log(side, log)], \
            witnessed

    def contend(self, loops, seconds, permits=1, floors=None, gap_s=None,
                at_start=None, lease_ms=0, **settings):
        """Runs loops, and judges them twice.

        permits=None: shared grants are readers. floors: side -> the least
        share of all grants. gap_s: the longest time a side may go without.
        lease_ms: holds may outlive this lease; the witness knows no leases
        and is not heard.
        """
        marks = []

        def begin():
            if at_start is not None:
                at_start()
            marks.extend((time.monotonic_ns(), self.server.calls()))

        grants, witnessed = self.loops(loops, seconds, begin,
                                       permits=permits or 1,
                                       lease_ms=lease_ms, **settings)
        if lease_ms == 0:
            self._hear_witness(witnessed)
        self._judge(judge.until_lease(grants, lease_ms) if lease_ms
                    else grants, permits)
        self._count(grants, marks[0], marks[0] + int(seconds * 1e9))
        if permits is None:
            self._note_modes(grants)
        if len(self.servers) == 1:
            self.result.commands_per_grant = \
                (self.server.calls() - marks[1]) / max(len(grants), 1)
        self._floors(floors or {}, gap_s)
        return grants

    def _judge(self, grants, permits):
        found = judge.overlaps(grants, permits)
        self.result.violations += len(found)
        for one, other in found[:3]:
            self.fail(f"two at once: {one} {other}")

    def _hear_witness(self, witnessed):
        self.result.violations += sum(witnessed.values())
        if any(witnessed.values()):
            self.fail(f"the witness met somebody: {witnessed}")

    def _count(self, grants, begin, end):
        for side in sorted({d.side for d in self.drivers}):
            self.result.grants[side] = sum(g.side == side for g in grants)
            self.result.gaps[side] = judge.longest_gap_s(grants, side, begin,
                                                         end)
        for (before, after), times in judge.wakeups_ms(grants).items():
            times.sort()
            self.result.wakeups[f"{before}>{after}"] = times[len(times) // 2]

    def _note_modes(self, grants):
        """How much of its own each side got to read and to write, and for
        which part of the time somebody of it was inside."""
        for side in sorted(self.result.grants):
            own = [g for g in grants if g.side == side]
            writes = [g for g in own if g.mode == "exclusive"]
            inside = judge.inside_s(own)
            self.note(f"{side}: {len(own) - len(writes)} reads, "
                      f"{len(writes)} writes, inside for {inside:.2f} s")

    def _floors(self, floors, gap_s):
        total = sum(self.result.grants.values())
        if not self.judges_shares:
            return
        for side, floor in floors.items():
            share = self.result.grants.get(side, 0) / max(total, 1)
            if share < floor:
                self.fail(f"{side} got {100 * share:.1f} % of the grants, "
                          f"less than {100 * floor:.0f} %")
        for side, gap in self.result.gaps.items():
            if gap_s is not None and gap > gap_s:
                self.fail(f"{side} got nothing for {gap:.1f} s")


@dataclass
class Scenario:
    name: str
    function: object
    needs: tuple  # sides of peers
    in_slice: bool
    c_options: str


scenarios = []


def scenario(name, needs=("java",), in_slice=False, interop="auto"):
    """Registers a function of a Run as a scenario."""

    def register(function):
        scenarios.append(Scenario(name, function, tuple(needs), in_slice,
                                  interop))
        return function

    return register
