#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Counts how many instructions a hold costs the server, under Valgrind.

usage: script-cost.py TABLES SERVER [ROW...]   TABLES: where a build leaves the
                                               scripts, generated/tables

A row is a family and what becomes of its holds: taken and given back alone; or
taken, queued for by another, handed over and given back, which are two holds. Those of
layout 3 are the scripts of lua/layout3 as they are: a hold alone; one in a ring of
clients that queue again and hand over, of which 1 or 64 wait; the renewal of 32 holds in
one call; a whole keep that notes the hold. Without a name all are counted. A figure does
not depend on what else the machine does, but two of the same differ by 3 % at times: the
server collects Lua's garbage when it is due. The commands are those that the scripts of a
hold run.
"""

import os
import re
import subprocess
import sys
import tempfile

import counting_cost
from cost_work import Connection, Work

NAME = "orders:1"
UUIDS = ("0123456789abcdef0123456789abcdef", "fedcba9876543210fedcba9876543210")
FEW, MANY = 50, 300
OURS = "latchkey:{" + NAME + "}:"
LAYOUT3 = os.path.join(os.path.dirname(__file__), "..", "lua", "layout3", "lock")


class Family:
    """What the scripts of a family are asked."""

    def __init__(self, name, mode, keys, channel, more, of_acquire):
        self.name, self.mode, self.keys = name, mode, keys
        self.channel, self.more, self.of_acquire = channel, more, of_acquire

    def keys_of(self, claim):
        return [key.replace("<claim>", claim) for key in self.keys]

    def acquire(self, claim):
        keys = self.keys_of(claim)[:self.of_acquire]
        own = f"{claim} 0123456789abcdef {self.mode} 1 30000 - p because"
        return keys, [claim, 30000, "q", 0, 3600000, *self.more, own]

    def close(self, claim, fence):
        return self.keys_of(claim), ["r", claim, fence, 0, self.channel, 0,
                                     3600000]


def ours(letters):
    return [OURS + letter for letter in letters]


def read_write(mode):
    channel = "redisson_rwlock:{" + NAME + "}"
    return Family("rwlock", mode, [NAME, *ours("rqhs"), "{" + NAME +
                                   "}:<claim>:rwlock_timeout:1"],
                  channel, [0, "", channel], 6)


LOCK = Family("lock", "l", [NAME, *ours("rq"),
                            "redisson_lock_token:{" + NAME + "}",
                            "redisson_lock_queue:{" + NAME + "}", *ours("s")],
              "redisson_lock__channel:{" + NAME + "}", [], 4)
PERMITS = "redisson_sc:{" + NAME + "}"
SEMAPHORE = Family("semaphore", "p", [NAME, "{" + NAME + "}:timeout",
                                      *ours("rqh")],
                   PERMITS, [1, "s", 0, PERMITS], 5)


class Holds(Work):
    """Takes holds and gives them back, over a server's own connection."""

    def __init__(self, family, waits, tables, path):
        super().__init__(path)
        self._family, self._waits = family, waits
        self._inbox = Connection(path)
        self._inbox.ask("SUBSCRIBE", "latchkey:in::" + UUIDS[1])
        self._scripts = {}
        for what in ("acquire", "close"):
            with open(f"{tables}/{family.name}_{what}.lua") as script:
                self._scripts[what] = self.server.ask("SCRIPT", "LOAD",
                                                       script.read())

    def _run(self, what, asked, answers):
        keys, arguments = asked
        answer = self.server.ask("EVALSHA", self._scripts[what], len(keys),
                                  *keys, *arguments)
        if answer[0] != answers:
            sys.exit(f"{self._family.name}_{what} answers {answer}")
        return answer[1]

    def once(self, number):
        claim, other = (f"{uuid}:{1000 + number}" for uuid in UUIDS)
        fence = self._run("acquire", self._family.acquire(claim), 1)
        if self._waits:
            self._run("acquire", self._family.acquire(other), 2)
        self._run("close", self._family.close(claim, fence), 1)
        if self._waits:
            grant = self._inbox.read()[2].split(" ")
            self._run("close", self._family.close(grant[3], grant[6]), 1)


class Line(Work):
    """What clients of layout 3 do with a lock. Waiters are there from the beginning."""

    INBOX = "latchkey:in::0:0123456789abcdef:"

    def __init__(self, what, clients, _tables, path):
        super().__init__(path)
        self._inboxes, self._scripts, self._clients = [], {}, clients
        self.once = getattr(self, what)
        for name in ("acquire", "close", "keep", "renew"):
            with open(f"{LAYOUT3}/{name}.lua") as script:
                self._scripts[name] = self.server.ask("SCRIPT", "LOAD",
                                                       script.read())
        self._acquire(0, "first")
        if what == "alone":
            self._close(0)
        for client in range(clients if what == "ring" else 0):
            self._inboxes.append(Connection(path))
            self._inboxes[-1].ask("SUBSCRIBE", self.INBOX + "%032x" % client)
        for client in range(1, len(self._inboxes)):
            self._acquire(client)
        for name in range(clients if what == "renew" else 0):
            self.server.ask("HSET", self._name(name), self._claim(name), 1)

    def _claim(self, number):
        return "%032x:%016x" % (number % self._clients, number)

    @staticmethod
    def _name(number):
        return "orders:%d" % (1000 + number)

    def _run(self, name, keys, *arguments):
        return self.server.ask("EVALSHA", self._scripts[name], len(keys), *keys,
                                *arguments)

    def _acquire(self, number, *first):
        member = self._claim(number) + " 0123456789abcdef"
        return self._run("acquire", [NAME, *ours("qr")], member, 3000, *first)

    def _close(self, number):
        return self._run("close", [NAME, *ours("qrx")], self._claim(number),
                         self.INBOX, LOCK.channel)

    def alone(self, number):
        if self._acquire(number) < 0 or self._close(number) != 1:
            sys.exit("a free name of layout 3 is not free")

    def ring(self, number):
        """Hold number is handed on, and its client queues again."""
        if self._close(number) != 2 or self._acquire(number + self._clients) > 0:
            sys.exit("a hold of layout 3 is not handed over")
        self._inboxes[(number + 1) % self._clients].read()

    def keep(self, number):
        info, lease = "1764385200000016 1764385200000 30000 because", 30000
        lease += 100 * number  # so that each lengthens it, whatever time it takes
        if self._run("keep", [NAME, *ours("x")], self._claim(0), lease, info) < 1:
            sys.exit("a hold of layout 3 is not kept")

    def renew(self, _number):
        names = range(self._clients)
        if self._run("renew", [self._name(one) for one in names], 30000, "GT",
                     *[self._claim(one) for one in names]) != 0:
            sys.exit("a hold of layout 3 is lost")


ROWS = {
    **counting_cost.ROWS,
    "lock-alone": (Holds, LOCK, False),
    "lock-handover": (Holds, LOCK, True),
    "read-alone": (Holds, read_write("r"), False),
    "write-alone": (Holds, read_write("w"), False),
    "write-handover": (Holds, read_write("w"), True),
    "semaphore-alone": (Holds, SEMAPHORE, False),
    "semaphore-handover": (Holds, SEMAPHORE, True),
    "layout3-alone": (Line, "alone", 1),
    "layout3-1-waits": (Line, "ring", 2),
    "layout3-64-wait": (Line, "ring", 65),
    "layout3-renew-32": (Line, "renew", 32),
    "layout3-keep": (Line, "keep", 1),
}


def instructions_of(tables, program, row, number):
    """Instructions and commands of so many holds, the server's start included."""
    with tempfile.TemporaryDirectory() as place:
        path, counts = place + "/socket", place + "/counts"
        server = subprocess.Popen(
            ["valgrind", "--tool=callgrind", "--callgrind-out-file=" + counts,
             program, "--port", "0", "--hz", "1", "--unixsocket", path, "--save", "",
             "--dir", place],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            kind, *how = ROWS[row]
            work = kind(*how, tables, path)
            for i in range(number):
                work.once(i)
            commands = work.end()
            server.wait()
        finally:
            server.kill()
        with open(counts) as text:
            found = re.search(r"^(?:totals|summary): (\d+)", text.read(), re.M)
        return int(found.group(1)), commands


def cost_of(tables, program, row):
    few = instructions_of(tables, program, row, FEW)
    many = instructions_of(tables, program, row, MANY)
    return [(b - a) / (MANY - FEW) for a, b in zip(few, many)]


def main():
    if len(sys.argv) < 3 or set(sys.argv[3:]) - set(ROWS):
        sys.exit(__doc__ + "\nrows: " + " ".join(ROWS))
    tables, program = sys.argv[1:3]
    print(f"{'a hold':<22}{'thousands of instructions':>26}{'commands':>10}")
    for row in sys.argv[3:] or ROWS:
        count, commands = cost_of(tables, os.path.abspath(program), row)
        print(f"{row:<22}{count / 1000:>26.0f}{commands:>10.0f}", flush=True)


main()
