#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the consoles of a page, those "elsewhere" too, and puts what they write
into the page.

usage: record.py PAGE TOOL SERVER

The host is web-3 and the user ci, in namespaces of their own, so that columns
are as wide as the page shows them. It needs unshare(1), and the right to use
it. Of README.md afterwards:
tools/picture.py session README.md >docs/img/session.svg
"""

import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "tests",
                                "pages"))
sys.dont_write_bytecode = True
from fences import blocks_of  # noqa: E402
from running import Reader, wait_for  # noqa: E402

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


def record(page, tool, server):
    with open(page, encoding="utf-8") as file:
        lines = file.read().split("\n")
    blocks = blocks_of(page, "\n".join(lines))
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
    with open(page, "w", encoding="utf-8") as file:
        file.write("\n".join(lines))


def run_inside(words):
    """This program again, as the user ci on web-3, with such arguments."""
    os.execvp("unshare", ["unshare", "--map-root-user", "--uts", "--mount",
                          "sh", "-c", INSIDE, "sh", sys.executable, *words])


def main():
    if len(sys.argv) == 4:
        run_inside([*sys.argv, "inside"])
    elif len(sys.argv) == 5 and sys.argv[4] == "inside":
        record(*(os.path.abspath(path) for path in sys.argv[1:4]))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
