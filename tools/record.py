#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the consoles of a page, those "elsewhere" too, and puts what they write
into the page.

usage: record.py write PAGE TOOL SERVER   the page is written again
       record.py check PAGE TOOL SERVER   fails if the page shows something else

What is checked is the words: where a line breaks, and where a text is cut,
depends on how many digits a process id has. Exit code 77 of a check: this
machine gives no namespaces, and nothing was run.

The host is web-3 and the user ci, in namespaces of their own, so that columns
are as wide as the page shows them. It needs unshare(1), and the right to use
it. Of README.md afterwards:
tools/picture.py session README.md >docs/img/session.svg
"""

import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "tests",
                                "pages"))
sys.dont_write_bytecode = True
from fences import blocks_of  # noqa: E402
from running import Reader, same_each_time, wait_for  # noqa: E402

INSIDE = """
set -e
hostname web-3
passwd=$(mktemp)
trap 'rm -f "$passwd"' EXIT
sed -E 's/^[^:]*:([^:]*):0:/ci:\\1:0:/' /etc/passwd >"$passwd"
mount --bind "$passwd" /etc/passwd
"$@"
"""


class Recorder(Reader):
    """Keeps what each console writes instead of comparing it."""

    def record(self, block):
        self._ran = []
        self.run(block)
        lines = []
        for command in self._ran:
            lines += ("$ " + command.line).split("\n")
            if command.written().strip("\n"):
                lines += command.written().rstrip("\n").split("\n")
        return lines

    def _end(self, block, command, expected):
        super()._end(block, command, None)
        if expected != [""]:
            wait_for("something to show", command.written)
        self._ran.append(command)


def recorded(page, text, tool, server):
    """The text of a page, with what its consoles write now."""
    lines = text.split("\n")
    blocks = blocks_of(page, text)
    with tempfile.TemporaryDirectory(prefix="lk-record-") as directory:
        recorder = Recorder(directory, tool, server)
        try:
            written = [(block, recorder.record(block)) for block in blocks
                       if block.kind == "console"]
        finally:
            recorder.close()
    for block, new in reversed(written):
        first = int(block.place.rsplit(":", 1)[1])
        lines[first:first + len(block.lines)] = new
    return "\n".join(lines)


def words_of(text):
    """The words of a page without what varies, each console's commands first."""
    text = re.sub(r"(?<=  )\S((?!  ).)*…((?!  ).)*$", "CUT", text, flags=re.M)
    return " ".join(same_each_time(text, False)).split()


def check(page, old, new):
    """Fails at the first word that differs."""
    before, after = words_of(old), words_of(new)
    for at, (one, other) in enumerate(zip(before + [""], after + [""])):
        if one != other:
            begin = max(at - 12, 0)
            sys.exit(f"{page} shows something else; ./dev screens writes it "
                     f"again. The page:\n  {' '.join(before[begin:at + 6])}\n"
                     f"now:\n  {' '.join(after[begin:at + 6])}")
    print(f"{page}: {len(after)} words are so")


def run(how, page, tool, server):
    with open(page, encoding="utf-8") as file:
        old = file.read()
    new = recorded(page, old, tool, server)
    if how == "check":
        check(page, old, new)
        return
    with open(page, "w", encoding="utf-8") as file:
        file.write(new)


UNSHARE = "unshare", "--map-root-user", "--uts", "--mount"


def can_run_inside():
    return subprocess.run([*UNSHARE, "sh", "-c", INSIDE, "sh", "true"],
                          check=False, capture_output=True).returncode == 0


def run_inside(words):
    """This program again, as the user ci on web-3, with such arguments."""
    os.execvp("unshare", [*UNSHARE, "sh", "-c", INSIDE, "sh", sys.executable,
                          *words])


def main():
    words = sys.argv[1:]
    if len(words) == 4 and words[0] in ("write", "check"):
        if words[0] == "check" and not can_run_inside():
            print("not run: there are no namespaces")
            sys.exit(77)
        run_inside([*sys.argv, "inside"])
    elif len(words) == 5 and words[4] == "inside":
        run(words[0], *(os.path.abspath(path) for path in words[1:4]))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
