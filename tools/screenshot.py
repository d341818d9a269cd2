#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Has chromium draw the page of `latchkey serve` while commands hold and wait.

usage: screenshot.py TOOL SERVER PICTURE

Hosts and the user are in namespaces of their own, as for record.py. It needs
unshare(1), and the right to use it.
"""

import os
import sys

from record import run_inside

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "tests",
                                "browser"))
from chromium import Page  # noqa: E402
from stage import Stage  # noqa: E402

WIDTH, HEIGHT = 1080, 905

# Stand-ins for commands: the page shows the names of programs.
COMMANDS = "make", "rsync", "migrate", "ffmpeg", "backup"

# Host, command, and how it is run: each waits until the one before has its
# place. Then: how many hold that name and wait for it.
# The backup's lock is revoked in the end. It goes on nevertheless, so the page
# keeps showing that.
SCENE = (
    (3, "make", ["lock", "--why", "deploy 4.2", "deploy"], (1, 0)),
    (4, "make", ["lock", "--why", "deploy 4.3", "deploy"], (1, 1)),
    (5, "make", ["lock", "--why", "deploy 4.4", "deploy"], (1, 2)),
    (3, "ffmpeg", ["semaphore", "-p", "2", "encoders"], (1, 0)),
    (4, "ffmpeg", ["semaphore", "-p", "2", "encoders"], (2, 0)),
    (5, "ffmpeg", ["semaphore", "-p", "2", "encoders"], (2, 1)),
    (6, "migrate", ["lock", "--why", "index of orders", "db:schema"], (1, 0)),
    (6, "backup", ["lock", "--on-lost", "warn", "--why", "nightly", "backup"],
     (1, 0)),
    (7, "backup", ["lock", "--why", "by hand", "backup"], (1, 1)),
)


def programs_make(directory):
    """Returns a folder of programs that do nothing, until their input ends."""
    folder = os.path.join(directory, "programs")
    os.mkdir(folder)
    for name in COMMANDS:
        os.symlink("/bin/cat", os.path.join(folder, name))
    return folder


def on_host(number):
    return ["unshare", "--uts", "sh", "-c",
            f'hostname web-{number}; exec "$@"', "sh"]


def draw(tool, server, picture):
    with Stage(tool, server) as stage:
        folder = programs_make(stage.directory)

        def hold(host, command, words, counts):
            process = stage.hold(*words, before=on_host(host),
                                 command=[os.path.join(folder, command)])
            stage.wait_count(words[-1], *counts)
            return process

        _, url = stage.serve()
        with Page(url, WIDTH, HEIGHT) as page:
            for turn, one in enumerate(SCENE):
                hold(*one)
                short = hold(3 + turn % 3, "rsync", ["lock", "mirror"], (1, 0))
                page.wait(f"last?.names.some(n => n.name === {one[2][-1]!r})")
                if turn < len(SCENE) - 1:
                    stage.end(short)
            stage.begin("break", "--yes", "backup")
            page.wait("last.names.length === 5")
            page.wait("document.querySelector('#rows').textContent"
                      ".includes('revoked; ')")
            page.picture(picture)


def main():
    if len(sys.argv) == 4:
        run_inside([*sys.argv, "inside"])
    elif len(sys.argv) == 5 and sys.argv[4] == "inside":
        draw(*(os.path.abspath(path) for path in sys.argv[1:4]))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
