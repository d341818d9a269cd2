# SPDX-License-Identifier: MIT
"""The fenced blocks of a page: what their info strings say, and what they hold.

The first word of a fence says what the block is:

  c        compiles; a fragment stands in a function, see compiling.py
  sh       runs, as one script, and exits with 0
  console  lines that begin with "$ " run; what stands behind them is what they
           write, but for times, process ids and the like
  redis    a command, over several lines, that the server takes
  python   compiles
  cron     the commands of a crontab, and
  ini      those of a unit's ExecStart=, and
  yaml     that of a container's command:, run
  NOT_RUN  one of these words: shown, and not run

Behind sh and console more words may say how:

  exit=N     it exits with N
  copies=N   N of them run at once
  meanwhile  it goes on beside the blocks that follow, and has ended well when
             the page is over
  stays      the same, and it is ended when the page is over
  elsewhere  it needs what a test cannot give it, and is not run: packages to
             install, minutes of time. What it says of ./dev is checked
"""

import re

RUN = ("c", "sh", "console", "redis", "python", "cron", "ini", "yaml")
NOT_RUN = ("text", "cmake", "java", "sql")
HOW = re.compile(r"exit=\d+|copies=\d+|meanwhile|stays|elsewhere")


class Fault(Exception):
    """A page is not so."""


class Block:
    """One fenced block: kind is its first word, how a dict of the others."""

    def __init__(self, page, line, info):
        words = info.split()
        self.place = f"{page}:{line}"
        self.lines = []
        self.kind = words[0] if words else ""
        self.how = {}
        for word in words[1:]:
            name, _, value = word.partition("=")
            self.how[name] = int(value) if value.isdigit() else True
        self._check(info, words)

    def _check(self, info, words):
        if self.kind not in RUN + NOT_RUN:
            raise Fault(f"{self.place}: a block is marked '{info}', which is "
                        f"none of {', '.join(RUN + NOT_RUN)}")
        can_say_how = self.kind in ("sh", "console")
        for word in words[1:]:
            if not can_say_how or not HOW.fullmatch(word):
                raise Fault(f"{self.place}: '{info}' says {word}, which is "
                            "not understood")

    @property
    def text(self):
        return "\n".join(self.lines) + "\n"

    @property
    def is_run(self):
        return self.kind in RUN and "elsewhere" not in self.how


def check_indented(page, lines):
    """lines: (number, line) of all that stands in no fence. Fault: a block that
    is made by blanks before its lines alone. In a list these go on with it."""
    before = ""
    in_list = False
    for number, line in lines:
        if re.match(r"(-|\*|\d+\.) ", line):
            in_list = True
        elif line and not line.startswith(" "):
            in_list = False
        if line.startswith("    ") and not before and not in_list:
            raise Fault(f"{page}:{number}: a block without a fence")
        before = line.strip()


def blocks_of(page, text):
    """All blocks of a page, in order. Fault: one is not marked as it should
    be."""
    found, outside = [], []
    block = None
    for number, line in enumerate(text.split("\n"), 1):
        bare = line.strip()
        if not bare.startswith("```"):
            if block:
                block.lines.append(line)
            else:
                outside.append((number, line))
        elif not block:
            block = Block(page, number, bare[3:])
        elif bare == "```":
            found.append(block)
            block = None
        else:
            raise Fault(f"{page}:{number}: a block begins within another")
    if block:
        raise Fault(f"{block.place}: a block has no end")
    check_indented(page, outside)
    return found
