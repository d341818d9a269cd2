#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the pages show is so.

usage: pages.py blocks SOURCE TOOL SERVER CC   what their blocks hold, runs
       pages.py names SOURCE                   what they name, is there
       pages.py pictures SOURCE                pictures are drawn from them

README.md and docs/*.md, each by itself. Every fenced block is marked, see
fences.py; one that is not fails. The last line says how many were run.
"""

import collections
import glob
import os
import re
import subprocess
import sys
import tempfile

from compiling import Compiler
from fences import Fault, blocks_of
from running import Reader


def pages_of(source):
    """Each page's path below source, and its text."""
    paths = [os.path.join(source, "README.md")]
    paths += sorted(glob.glob(os.path.join(source, "docs", "*.md")))
    for path in paths:
        with open(path, encoding="utf-8") as file:
            yield os.path.relpath(path, source), file.read()


# ---- blocks -----------------------------------------------------------------

def dev_commands(source):
    with open(os.path.join(source, "dev"), encoding="utf-8") as file:
        return set(re.findall(r"^cmd_([\w-]+)\(\)", file.read(), re.M))


def check_elsewhere(block, commands):
    """Fault: ./dev has no such command."""
    for name in re.findall(r"\./dev (?:-y )?([a-z][\w-]*)", block.text):
        if name not in commands:
            raise Fault(f"{block.place}: there is no ./dev {name}")


def run_page(blocks, source, tool, server, cc):
    """Runs what can be. Fault: the first thing that is not so."""
    commands = dev_commands(source)
    with tempfile.TemporaryDirectory(prefix="lk-page-") as directory:
        compiler = Compiler(cc, os.path.join(source, "include"), directory)
        reader = None
        try:
            for block in blocks:
                check_elsewhere(block, commands)
                if not block.is_run:
                    continue
                if block.kind == "c":
                    compiler.run(block)
                    continue
                reader = reader or Reader(directory, tool, server)
                reader.run(block)
            if reader:
                reader.finish()
        finally:
            if reader:
                reader.close()


def check_blocks(source, *programs):
    ran = collections.Counter()
    passed_over = collections.Counter()
    faults = []
    for page, text in pages_of(source):
        try:
            blocks = blocks_of(page, text)
            run_page(blocks, source, *programs)
        except Fault as fault:
            faults.append(str(fault))
            continue
        ran.update(block.kind for block in blocks if block.is_run)
        passed_over.update(block.kind for block in blocks if not block.is_run)
    for title, counts in ("ran", ran), ("not run", passed_over):
        print(f"{title}: {sum(counts.values())} (" + ", ".join(
            f"{kind} {count}" for kind, count in sorted(counts.items())) + ")")
    return faults


# ---- names ------------------------------------------------------------------

def headers_of(source):
    text = ""
    for path in glob.glob(os.path.join(source, "include/latchkey/*.h")):
        with open(path, encoding="utf-8") as file:
            text += file.read()
    statuses = re.findall(r"\bX\((E[A-Z]+),", text)
    return set(re.findall(r"\b(?:lk|LK)_\w+", text) +
               ["LK_" + name for name in statuses])


def anchor_of(title):
    """As the pages are shown: links of a heading go by its words."""
    title = re.sub(r"[^\w\- ]", "", title.strip().lower())
    return title.replace(" ", "-")


def anchors_of(text):
    return {anchor_of(title)
            for title in re.findall(r"^#+ +(.*)$", text, re.M)}


def check_names(source):
    """Functions and constants that a page names are in a header; links lead
    somewhere, within a page as well."""
    texts = dict(pages_of(source))
    headers = headers_of(source)
    faults = []
    for page, text in texts.items():
        for name in sorted(set(re.findall(r"\blk_[a-z]\w*(?=\(\))|\bLK_E[A-Z]+\b",
                                          text)) - headers):
            faults.append(f"{page}: no header has {name}")
        for link in re.findall(r"\]\(([^)\s]+)\)", text):
            if re.match(r"[a-z]+:", link):
                continue
            path, _, anchor = link.partition("#")
            there = os.path.normpath(os.path.join(os.path.dirname(page), path)) \
                if path else page
            if not os.path.exists(os.path.join(source, there)):
                faults.append(f"{page}: nothing is at {link}")
            elif anchor and there in texts and \
                    anchor not in anchors_of(texts[there]):
                faults.append(f"{page}: {there} has no heading for {link}")
    print(f"looked at {len(texts)} pages")
    return faults


# ---- pictures ---------------------------------------------------------------

PICTURES = {"session": ("session", "README.md"),
            "cost": ("plot", "docs/measurements.md")}


def check_pictures(source):
    """Each is what tools/picture.py draws of its page."""
    faults = []
    for name, (kind, page) in PICTURES.items():
        command = ["tools/picture.py", kind, page]
        drawn = subprocess.run([sys.executable] + command, cwd=source,
                               capture_output=True, check=True).stdout
        path = f"docs/img/{name}.svg"
        with open(os.path.join(source, path), "rb") as file:
            if file.read() != drawn:
                faults.append(f"{path}: {page} says something else; "
                              f"{' '.join(command)} >{path}")
    print(f"looked at {len(PICTURES)} pictures")
    return faults


def main():
    what = {"blocks": check_blocks, "names": check_names,
            "pictures": check_pictures}
    if len(sys.argv) < 3 or sys.argv[1] not in what:
        sys.exit(__doc__)
    faults = what[sys.argv[1]](*sys.argv[2:])
    for fault in faults:
        print(fault)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
