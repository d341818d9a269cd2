#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The pictures of the pages, as SVG on standard output.

usage: picture.py session PAGE    the consoles of a page, each as a terminal
       picture.py plot TABLES     the figures of the lock's benchmark, from
                                  its tables: docs/measurements.md has them,
                                  and what lock_bench writes
"""

import os
import re
import sys
from html import escape

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "tests",
                                "pages"))
sys.dont_write_bytecode = True
from fences import blocks_of  # noqa: E402

HEAD = ('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0} {1}" '
        'width="{0}" height="{1}" role="img" aria-label="{2}">\n')


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


# ---- a session --------------------------------------------------------------

WIDTH, LINE, LEFT, COLUMNS = 820, 19, 14, 94


def folded(line):
    """A line as a terminal of COLUMNS shows it."""
    return [line[at:at + COLUMNS] for at in range(0, max(len(line), 1),
                                                  COLUMNS)]


def terminal(lines, top):
    """One window with its lines, and where it ends."""
    rows = [row for line in lines for row in folded(line)]
    height = LINE * len(rows) + 44
    out = [f'<rect x="1" y="{top}" width="{WIDTH - 2}" height="{height}" '
           'rx="8" fill="#1e2229"/>']
    out += [f'<circle cx="{18 + 18 * dot}" cy="{top + 15}" r="5" '
            'fill="#3b4150"/>' for dot in range(3)]
    for number, row in enumerate(rows):
        colour = "#8fd18f" if row.startswith("$ ") else "#d8dce4"
        out.append(f'<text x="{LEFT}" y="{top + 46 + LINE * number}" '
                   f'fill="{colour}" xml:space="preserve">{escape(row)}</text>')
    return out, top + height


def session(page):
    windows = [block.lines for block in blocks_of(page, read(page))
               if block.kind == "console"]
    body, top = [], 1
    for lines in windows:
        drawn, end = terminal(lines, top)
        body += drawn
        top = end + 10
    return (HEAD.format(WIDTH, top - 8, "terminals") +
            '<g font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" '
            'font-size="14">\n' + "\n".join(body) + "\n</g>\n</svg>\n")


# ---- a plot -----------------------------------------------------------------

# A row as lock_bench writes it; behind it the pages have bars.
RATES = re.compile(r"(same|cross|free) +(\d+) +(\d+) +(\d+\.\d+) ")
HANDOVER = re.compile(r" *(\d+ ms) +(\d+) +(\d+) ")
LETTER = re.compile(r"^\(([a-e])\) ")
BARE, OURS, INK = "#b8bec9", "#2f6fb3", "#30343c"


def cells_of(line):
    """Those of a row; nothing if it is none."""
    if line.startswith("|"):
        return [cell.strip() for cell in line.strip("|").split("|")]
    row = RATES.match(line) or HANDOVER.match(line)
    return row.groups() if row else ()


def rows_of(text):
    """The rows of each table: {letter: [[cell, ...], ...]}."""
    tables, letter = {}, None
    for line in text.split("\n"):
        title = LETTER.match(line)
        if title:
            letter = title.group(1)
        elif line.startswith("#"):
            letter = None
        elif letter and cells_of(line):
            tables.setdefault(letter, []).append(cells_of(line))
    return tables


def number(cell):
    return float(cell.replace(",", ""))


def beside(tables):
    """(title, the baseline, the lock, their ratio) of the rows of (a), (b),
    (d) that are free. The ratio has a median of its own."""
    titles = {"a": "1 thread", "b": "64, own names", "d": "64, one name"}
    return [(titles[letter], number(row[1]), number(row[2]), row[3])
            for letter in "abd" for row in tables.get(letter, [])
            if row[0] == "free"]


def handovers(tables):
    """(processes, hand-overs a second) where a hold lasts 0 ms."""
    found, hold = [], ""
    for row in tables.get("c", []):
        hold = row[0] or hold
        if hold == "0 ms" and row[1].isdigit():
            found.append((int(row[1]), number(row[2])))
    return found


def text(x, y, words, anchor="middle", weight="normal"):
    return (f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}" '
            f'font-weight="{weight}">{escape(words)}</text>')


def bar(x, value, most, width, colour):
    """One bar with its value over it; 220 is the ground."""
    height = 150 * value / most
    return [f'<rect x="{x:.0f}" y="{220 - height:.0f}" width="{width}" '
            f'height="{height:.0f}" fill="{colour}"/>',
            text(x + width / 2, 214 - height, f"{value / 1000:.0f}k")]


def plot(path):
    tables = rows_of(read(path))
    pairs, rates = beside(tables), handovers(tables)
    body = [text(210, 22, "acquire and release, pairs a second, by threads", "middle",
                 "bold"),
            text(630, 22, "hand-overs a second, by processes on one name",
                 "middle", "bold")]
    for place, (title, bare, ours, ratio) in enumerate(pairs):
        most = max(bare, ours)
        x = 30 + 130 * place
        body += bar(x, bare, most, 44, BARE) + bar(x + 48, ours, most, 44, OURS)
        body += [text(x + 46, 238, title),
                 text(x + 46, 254, ratio)]
    most = max((rate for _, rate in rates), default=0)
    for place, (processes, rate) in enumerate(rates):
        x = 470 + 85 * place
        body += bar(x, rate, most, 60, OURS) + [text(x + 30, 238,
                                                     str(processes))]
    for x, colour, words in ((30, BARE, "the baseline"),
                             (230, OURS, "Latchkey")):
        body += [f'<rect x="{x}" y="268" width="12" height="12" '
                 f'fill="{colour}"/>', text(x + 18, 279, words, "start")]
    body.append(text(470, 279, "two processors; each pair has a scale of its own", "start"))
    return (HEAD.format(840, 290, "pairs and hand-overs a second") +
            '<rect width="840" height="290" rx="8" fill="#ffffff"/>\n'
            f'<g font-family="DejaVu Sans, Arial, sans-serif" font-size="12" '
            f'fill="{INK}">\n' + "\n".join(body) + "\n</g>\n</svg>\n")


def main():
    what = {"session": session, "plot": plot}
    if len(sys.argv) != 3 or sys.argv[1] not in what:
        sys.exit(__doc__)
    sys.stdout.write(what[sys.argv[1]](sys.argv[2]))


if __name__ == "__main__":
    main()
