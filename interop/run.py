#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Latchkey beside the real libraries of other languages.

Prints a line for each scenario and version; the exit code is 0 only if none
failed. A library that could not be installed is reported as not run.
"""

import argparse
import importlib
import json
import os
import re
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

# pylint: disable=wrong-import-position
from runner import markdown, peers
from runner.process import Broken
from runner.scenario import Result, Run, scenarios

# Each registers its scenarios.
for part in ("planted", "redisson_cluster", "redisson_counts",
             "redisson_locks", "redisson_own", "redisson_tool", "sharing", "tokens"):
    importlib.import_module(f"runner.{part}")

SLICE_S = 2  # for threads that contend, in the slice
SLICE_AT_ONCE = 2  # libraries


def options():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--slice", action="store_true",
                        help="what the build machine runs: fewer and shorter "
                             "scenarios, two libraries at a time; exclusion "
                             "is judged, shares are not")
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
    how = parser.parse_args()
    if how.slice:
        how.seconds, how.no_floors = SLICE_S, True
    return how


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
    except (Broken, OSError) as error:
        run.fail(str(error))
    finally:
        run.end()
    result.seconds = time.monotonic() - begin
    return result


def figures(result):
    """Those of threads that contended."""
    if not result.grants:
        return ""
    text = (f", grants {markdown.sides(result.grants, 'd')}, longest without "
            f"{markdown.sides(result.gaps, '.2f')} s, wake-ups "
            f"{markdown.sides(result.wakeups, '.2f')} ms")
    if result.commands_per_grant:
        text += f", {result.commands_per_grant:.1f} commands a grant"
    return text


shown = threading.Lock()


def show(result):
    lines = [f"{result.verdict:8} {result.versions:23} {result.name}: "
             f"{result.seconds:.1f} s, {result.checks} checks"
             f"{figures(result)}, {result.violations} violations, "
             f"{len(result.leftovers)} keys without end "
             f"{' '.join(result.leftovers)}".rstrip()]
    if result.not_run:
        lines = [f"{result.verdict:8} {result.versions:23} {result.name}"]
    lines += [f"         {line}" for line in
              result.failures[:8] + result.notes]
    with shown:
        print("\n".join(lines), flush=True)


def chosen(how):
    """(library's name, its scenarios), for those that have any."""
    for name in peers.PEERS:
        wanted = [s for s in scenarios if name.split()[0] in s.needs
                  and (not how.slice or s.in_slice)
                  and re.search(how.only, s.name)]
        if wanted and re.search(how.library, name):
            yield name, wanted


def run_library(peer, wanted, how):
    if peer.missing:
        with shown:
            print(f"not run  {peer.side} {peer.version}: {peer.missing}",
                  flush=True)
    results = []
    for scenario in wanted:
        results.append(run_one(scenario, peer, how))
        show(results[-1])
    return results


def run_all(how):
    """Results, in the order of the libraries."""
    wanted = dict(chosen(how))
    found = peers.install(list(wanted))
    with ThreadPoolExecutor(SLICE_AT_ONCE if how.slice else 1) as pool:
        parts = pool.map(lambda name: run_library(found[name], wanted[name],
                                                  how), wanted)
        return [result for part in parts for result in part]


def summary(results):
    """One line: how many passed and failed, and which were not run."""
    counts = {verdict: sum(r.verdict == verdict for r in results)
              for verdict in ("passed", "FAILED", "not run")}
    missing = dict.fromkeys(r.versions for r in results if r.not_run)
    return (f"{counts['passed']} passed, {counts['FAILED']} failed, "
            f"{counts['not run']} not run"
            + (": " + ", ".join(missing) if missing else ""))


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def main():
    how = options()
    versions = markdown.versions()
    print(versions, flush=True)
    found = run_all(how)
    if how.json:
        write(how.json, json.dumps([vars(r) for r in found], indent=1))
    if how.markdown:
        write(how.markdown, markdown.document(found, versions))
    write(os.path.join(peers.BUILD, "summary"), summary(found) + "\n")
    print(summary(found))
    failed = any(r.verdict == "FAILED" for r in found)
    return 1 if failed or not found else 0


if __name__ == "__main__":
    sys.exit(main())
