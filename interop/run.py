#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Latchkey beside the real libraries of other languages.

Prints a line for each scenario and version; the exit code is 0 only if none
failed. A library that could not be installed is reported as not run.
"""

import argparse
import json
import os
import re
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

# pylint: disable=wrong-import-position,unused-import
from runner import (markdown, peers, redisson_counts,  # noqa
                    redisson_locks, sharing, tokens)
from runner.process import Broken
from runner.scenario import Result, Run, scenarios


def options():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--slice", action="store_true",
                        help="what the build machine runs")
    parser.add_argument("--only", default="", metavar="REGEX",
                        help="scenarios whose name has this in it")
    parser.add_argument("--library", default="", metavar="REGEX",
                        help="libraries whose name has this in it: "
                             + ", ".join(peers.PEERS))
    parser.add_argument("--seconds", type=int, default=5,
                        help="for each scenario in which threads contend")
    parser.add_argument("--no-floors", action="store_true",
                        help="judge exclusion alone, not shares or cost: for "
                             "a machine that others use")
    parser.add_argument("--json", metavar="FILE",
                        help="where to write the results")
    parser.add_argument("--markdown", metavar="FILE",
                        help="where to write them as tables")
    return parser.parse_args()


def run_one(scenario, peer, how):
    """One scenario against one version of the other library."""
    result = Result(scenario.name, f"{peer.side} {peer.version}")
    if peer.missing:
        result.not_run = peer.missing
        return result
    begin = time.monotonic()
    run = Run(result, peers.latchkey(scenario.c_options), {peer.side: peer})
    run.seconds = how.seconds
    run.judges_shares = not how.no_floors
    try:
        scenario.function(run)
    except Broken as error:
        run.fail(str(error))
    finally:
        run.end()
    result.seconds = time.monotonic() - begin
    return result


def show(result):
    print(f"{result.verdict:8} {result.versions:23} {result.name}: "
          f"{result.seconds:.1f} s", end="")
    if result.checks:
        print(f", {result.checks} checks", end="")
    if result.grants:
        print(f", grants {markdown.sides(result.grants, 'd')}, longest without "
              f"{markdown.sides(result.gaps, '.2f')} s, wake-ups "
              f"{markdown.sides(result.wakeups, '.2f')} ms", end="")
    if result.commands_per_grant:
        print(f", {result.commands_per_grant:.1f} commands a grant", end="")
    print(f", {result.violations} violations, "
          f"{len(result.leftovers)} keys without end"
          + (f" {result.leftovers}" if result.leftovers else ""))
    for failure in result.failures[:8]:
        print(f"         {failure}")
    if result.not_run:
        print(f"         not run: {result.not_run}")
    sys.stdout.flush()


def chosen(how):
    """(library's name, its scenarios), for those that have any."""
    for name in peers.PEERS:
        wanted = [s for s in scenarios if name.split()[0] in s.needs
                  and (not how.slice or s.in_slice)
                  and re.search(how.only, s.name)]
        if wanted and re.search(how.library, name):
            yield name, wanted


def run_all(how):
    found = []
    for name, wanted in chosen(how):
        peer = peers.PEERS[name]()
        for scenario in wanted:
            found.append(run_one(scenario, peer, how))
            show(found[-1])
    return found


def main():
    how = options()
    versions = markdown.versions()
    print(versions)
    found = run_all(how)
    if how.json:
        with open(how.json, "w", encoding="utf-8") as file:
            json.dump([vars(result) for result in found], file, indent=1)
    if how.markdown:
        with open(how.markdown, "w", encoding="utf-8") as file:
            file.write(markdown.document(found, versions))
    failed = sum(r.verdict == "FAILED" for r in found)
    missing = sum(r.verdict == "not run" for r in found)
    print(f"{len(found) - failed - missing} passed, {failed} failed, "
          f"{missing} not run")
    return 1 if failed or not found else 0


if __name__ == "__main__":
    sys.exit(main())
