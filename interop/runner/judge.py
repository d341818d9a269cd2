# SPDX-License-Identifier: MIT
"""The first judge: the intervals of the logs may not overlap.

A grant is inside from `got` to `gave`, both read while its owner has it, so
that what overlaps here was held by two at once.
"""

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Grant:
    """One line of a driver's log; times are ns of CLOCK_MONOTONIC."""

    side: str
    mode: str  # "exclusive" or "shared"
    asked: int
    got: int
    gave: int
    fence: int
    thread: str


def read_log(side, path):
    """All grants of one driver. A last line that was cut is left out."""
    grants = []
    with open(path, encoding="ascii") as log:
        for line in log:
            words = line.split()
            if len(words) != 6 or not line.endswith("\n"):
                continue
            mode, asked, got, gave, fence, thread = words
            grants.append(Grant(side, mode, int(asked), int(got), int(gave),
                                int(fence), thread))
    return grants


def until_lease(grants, lease_ms):
    """The grants as far as their leases surely went. A lease begins at the
    server after it was asked for, so what overlaps until then is no late
    release."""
    return [replace(g, gave=min(g.gave, g.asked + int(lease_ms * 1e6)))
            for g in grants if g.asked + int(lease_ms * 1e6) > g.got]


def overlaps(grants, permits=1):
    """Pairs or crowds that were inside together and must not have been.

    An exclusive grant is alone; of shared ones of a semaphore no more than
    `permits` are inside; permits=None: any number, as with readers.
    """
    found = []
    inside = []  # that may still be in when the next one comes
    for grant in sorted(grants, key=lambda g: g.got):
        inside = [g for g in inside if g.gave > grant.got]
        bad = [g for g in inside
               if "exclusive" in (g.mode, grant.mode)]
        if bad:
            found.append((bad[0], grant))
        elif permits is not None and grant.mode == "shared" \
                and len(inside) >= permits:
            found.append((inside[0], grant))
        inside.append(grant)
    return found


def fences_back(grants):
    """Pairs of exclusive grants in the order of time whose fence did not
    grow. Grants without a fence are left out."""
    found = []
    last = None
    for grant in sorted(grants, key=lambda g: g.got):
        if grant.fence == 0 or grant.mode != "exclusive":
            continue
        if last is not None and grant.fence <= last.fence:
            found.append((last, grant))
        last = grant
    return found


def inside_s(grants):
    """For how long one of these at least was inside."""
    total, end = 0, 0
    for grant in sorted(grants, key=lambda g: g.got):
        total += max(grant.gave - max(grant.got, end), 0)
        end = max(end, grant.gave)
    return total / 1e9


def longest_gap_s(grants, side, begin, end):
    """The longest time in which this side got nothing."""
    times = sorted(g.got for g in grants if g.side == side)
    marks = [begin] + times + [end]
    return max(b - a for a, b in zip(marks, marks[1:])) / 1e9


def wakeups_ms(grants, permits=1):
    """For grants that were asked for before the one before them was given
    back: how long after that they were got, by (side before, side after)."""
    found = {}
    ordered = sorted(grants, key=lambda g: g.got)
    for before, after in zip(ordered, ordered[1:]):
        if permits == 1 and after.asked < before.gave <= after.got:
            found.setdefault((before.side, after.side), []).append(
                (after.got - before.gave) / 1e6)
    return found
