#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Counts how many instructions a hold costs the server, under Valgrind.

usage: script-cost.py TABLES SERVER [ROW...]   TABLES: where a build leaves the
                                               scripts, generated/tables

A row is a family and what becomes of its holds: taken and given back alone; or
taken, queued for by another, handed over and given back, which are two holds. Without
a name all are counted. A figure does not depend on what else the machine does, but two of
the same differ by 5 % at times: the server collects Lua's garbage when it is due.
The commands are those that the scripts of a hold run.
"""

import os
import re
import socket
import subprocess
import sys
import tempfile
import time

NAME = "orders:1"
UUIDS = ("0123456789abcdef0123456789abcdef", "fedcba9876543210fedcba9876543210")
FEW, MANY = 20, 80
OURS = "latchkey:{" + NAME + "}:"


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
ROWS = {
    "lock-alone": (LOCK, False),
    "lock-handover": (LOCK, True),
    "read-alone": (read_write("r"), False),
    "write-alone": (read_write("w"), False),
    "write-handover": (read_write("w"), True),
    "semaphore-alone": (SEMAPHORE, False),
    "semaphore-handover": (SEMAPHORE, True),
}


class Connection:
    def __init__(self, path):
        for _ in range(300):
            try:
                self._socket = socket.socket(socket.AF_UNIX)
                self._socket.connect(path)
                break
            except OSError:
                self._socket.close()
                time.sleep(0.2)
        else:
            raise SystemExit("script-cost.py: the server does not start")
        self._file = self._socket.makefile("rb")

    def ask(self, *words):
        texts = [str(word).encode() for word in words]
        self._socket.sendall(b"*%d\r\n" % len(texts) + b"".join(
            b"$%d\r\n%s\r\n" % (len(text), text) for text in texts))
        return self.read()

    def read(self):
        line = self._file.readline()
        kind, value = line[:1], line[1:-2].decode()
        if kind == b"-" or not line:
            sys.exit("the server says " + (value or "nothing more"))
        if kind == b":":
            return int(value)
        if kind == b"$":
            size = int(value)
            return None if size < 0 else self._file.read(size + 2)[:-2].decode()
        if kind == b"*":
            return [self.read() for _ in range(int(value))]
        return value


class Holds:
    """Takes holds and gives them back, over a server's own connection."""

    def __init__(self, family, tables, path):
        self._family, self._server = family, Connection(path)
        self._inbox = Connection(path)
        self._inbox.ask("SUBSCRIBE", "latchkey:in::" + UUIDS[1])
        self._scripts = {}
        for what in ("acquire", "close"):
            with open(f"{tables}/{family.name}_{what}.lua") as script:
                self._scripts[what] = self._server.ask("SCRIPT", "LOAD",
                                                       script.read())

    def _run(self, what, asked, answers):
        keys, arguments = asked
        answer = self._server.ask("EVALSHA", self._scripts[what], len(keys),
                                  *keys, *arguments)
        if answer[0] != answers:
            sys.exit(f"{self._family.name}_{what} answers {answer}")
        return answer[1]

    def take(self, number, waits):
        claim = f"{UUIDS[0]}:{number}"
        fence = self._run("acquire", self._family.acquire(claim), 1)
        if waits:
            self._run("acquire", self._family.acquire(f"{UUIDS[1]}:{number}"), 2)
        self._run("close", self._family.close(claim, fence), 1)
        if waits:
            grant = self._inbox.read()[2].split(" ")
            self._run("close", self._family.close(grant[3], grant[6]), 1)

    def end(self):
        """Ends the server. Returns how many commands scripts ran for holds."""
        text = self._server.ask("INFO", "commandstats")
        calls = {name: int(number) for name, number in
                 re.findall(r"cmdstat_(\S+?):calls=(\d+)", text)}
        try:
            self._server.ask("SHUTDOWN", "NOSAVE")
        except SystemExit:
            pass
        besides = ("evalsha", "script|load", "subscribe", "info")
        return sum(calls.values()) - sum(calls.get(one, 0) for one in besides)


def instructions_of(tables, program, family, waits, number):
    """Instructions and commands of so many holds, the server's start included."""
    with tempfile.TemporaryDirectory() as place:
        path, counts = place + "/socket", place + "/counts"
        server = subprocess.Popen(
            ["valgrind", "--tool=callgrind", "--callgrind-out-file=" + counts,
             program, "--port", "0", "--unixsocket", path, "--save", "",
             "--dir", place],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            holds = Holds(family, tables, path)
            for i in range(number):
                holds.take(1000 + i, waits)
            commands = holds.end()
            server.wait()
        finally:
            server.kill()
        with open(counts) as text:
            found = re.search(r"^(?:totals|summary): (\d+)", text.read(), re.M)
        return int(found.group(1)), commands


def cost_of(tables, program, row):
    family, waits = ROWS[row]
    few = instructions_of(tables, program, family, waits, FEW)
    many = instructions_of(tables, program, family, waits, MANY)
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
