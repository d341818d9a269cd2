# SPDX-License-Identifier: MIT
"""What a run found, as tables for people."""

import subprocess

TOOLS = (("redis-server", "--version"), ("python3", "--version"),
         ("go", "version"), ("node", "--version"), ("javac", "-version"))


def _said(command):
    try:
        done = subprocess.run(command, capture_output=True, text=True,
                              check=False)
    except OSError:
        return f"{command[0]}: missing"
    words = (done.stdout or done.stderr).split("\n")[0]
    return words if command[0].split("-")[0] in words.lower() \
        else f"{command[0]} {words}"


def versions():
    """The tools that a run uses."""
    return "\n".join(_said(tool) for tool in TOOLS)


def sides(values, form):
    return " ".join(f"{side} {value:{form}}"
                    for side, value in sorted(values.items()))


def shares(grants):
    """Grants of each side, and how much of all that is."""
    total = max(sum(grants.values()), 1)
    return "<br>".join(f"{side} {count}, {100 * count / total:.0f} %"
                       for side, count in sorted(grants.items()))


def _table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |"
                     for line in lines) + "\n"


def _libraries(results):
    """A row for each library: how many scenarios ended how."""
    rows = []
    for library in dict.fromkeys(r.versions for r in results):
        mine = [r for r in results if r.versions == library]
        ends = [sum(r.verdict == verdict for r in mine)
                for verdict in ("passed", "FAILED", "not run")]
        rows.append([library, *ends, sum(r.checks for r in mine)])
    return _table(["library", "passed", "failed", "not run", "checks"], rows)


def _contended(results):
    """A row for each scenario in which threads contended."""
    rows = [[r.versions, r.name, shares(r.grants), sides(r.gaps, ".2f"),
             "<br>".join(f"{pair} {ms:.1f}"
                         for pair, ms in sorted(r.wakeups.items())),
             r.violations] for r in results if r.grants]
    return _table(["library", "threads contend", "grants",
                   "longest without, s", "median wake-up, ms", "violations"],
                  rows)


def _notes(results):
    return "".join(f"- {r.versions}, {r.name}: {note}\n"
                   for r in results for note in r.notes)


def document(results, tools):
    """What was used, how each library fared, the figures, and the rest."""
    lines = "".join(f"    {line}\n" for line in tools.split("\n"))
    return "\n".join((lines, _libraries(results), _contended(results),
                      _notes(results)))
