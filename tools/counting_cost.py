# SPDX-License-Identifier: MIT
"""Rows of script-cost.py: scripts of lua/layout3 that count or that read."""

import os

from cost_work import Connection, Work

LUA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lua/layout3/")
NAME = "orders:1"
CHANNEL = "redisson_sc:{" + NAME + "}"
INBOX = "latchkey:in:0:0:0123456789abcdef:"


def ours(letters):
    return ["latchkey:{" + NAME + "}:" + letter for letter in letters]


class Counting(Work):
    """Asks the scripts of a family, each of which it loads when it is first used."""

    def __init__(self, family, path):
        super().__init__(path)
        self._family, self._loaded = family, {}

    def run(self, what, keys, *arguments):
        if what not in self._loaded:
            with open(LUA + self._family + "/" + what + ".lua") as script:
                self._loaded[what] = self.server.ask("SCRIPT", "LOAD", script.read())
        return self.server.ask("EVALSHA", self._loaded[what], len(keys), *keys,
                               *arguments)


class Permits(Counting):
    """Eight permits; without waiters taken and given back, or clients in a ring."""

    KEYS = dict(zip("NZqrx", [NAME, "{" + NAME + "}:timeout", *ours("qrx")]))

    def __init__(self, clients, _tables, path):
        super().__init__("semaphore", path)
        self._inbox, self._clients, self._holders = Connection(path), clients, []
        self._ask("resize", "NZx", 8, "x", 0, CHANNEL)
        self._acquire(0, 0, "lift")
        self._close(0, 0)
        for client in range(clients):
            self._inbox.ask("SUBSCRIBE", INBOX + "%032x" % client)
            if self._acquire(client, 1) > 0:
                self._holders.append((client, 1))

    def _ask(self, what, keys, *arguments):
        return self.run(what, [self.KEYS[key] for key in keys], *arguments)

    def _acquire(self, client, number, *lift):
        claim = "%032x:%016x" % (client, number)
        return self._ask("acquire", "NZqr", claim, 3000,
                         claim + " 0123456789abcdef 0001", *lift)

    def _close(self, client, number):
        self._ask("close", "NZqrx", INBOX, CHANNEL, 3000,
                  "%032x:%016x" % (client, number))

    def once(self, number):
        if not self._clients:
            self._acquire(0, 1000 + number)
            self._close(0, 1000 + number)
            return
        client, last = self._holders.pop(0)
        self._close(client, last)
        member = self._inbox.read()[2][1:].split(" ")[0]
        self._holders.append((int(member[:32], 16), int(member[33:], 16)))
        self._acquire(client, last + 1)


class Counts(Counting):
    """A count-down that leaves a latch armed, or, of as many latches, one that opens it."""

    CHANNEL = "redisson_countdownlatch__channel__"

    def __init__(self, latches, _tables, path):
        super().__init__("latch", path)
        self._latches = latches
        for number in range(latches):
            self.run("arm", self._keys(number)[:3], 1000 + number,
                     1 if latches > 1 else 1000000, "r", "0123456789abcdef", 0,
                     self.CHANNEL)

    def _keys(self, number):
        name = "jobs:%d" % (number % self._latches)
        return [name, name + ":x", name + ":a", name + ":m"]

    def once(self, number):
        claim = "%032x:%016x"
        self.run("down", self._keys(number), claim % (0, 1000 + number), 1,
                 claim % (0, 999 + number), 3600000, self.CHANNEL, "latchkey:{jobs}:n",
                 "o 0 ")


class Reads(Counting):
    """A name read, or written, and given back; beside: that so many others read."""

    KEYS = dict(zip("Nwrfx", [NAME, *ours(["qw", "qr", "r", "x"])]))
    CHANNEL = "redisson_rwlock:{" + NAME + "}"

    def __init__(self, writes, beside, _tables, path):
        super().__init__("rwlock", path)
        self._writes = writes
        self.server.ask("SET", self.KEYS["f"], "1764385200000000", "PX", 4500000)
        for number in range(beside):
            self._acquire("%032x:%016x" % (2, number))

    def _keys(self, letters, claim):
        timeout = "{" + NAME + "}:" + claim + ":rwlock_timeout:1"
        return [self.KEYS.get(letter, timeout) for letter in letters]

    def _acquire(self, claim):
        what, letters = ("write", "Nwrf") if self._writes else ("read", "NwrfT")
        self.run("acquire_" + what, self._keys(letters, claim), claim, 3000,
                 claim + " 0123456789abcdef", "")

    def once(self, number):
        claim = "%032x:%016x" % (0, 1000 + number)
        self._acquire(claim)
        if self._writes:
            self.run("close_write", self._keys("Nwrfx", claim), claim, INBOX,
                     self.CHANNEL, "{" + NAME + "}:")
        else:
            self.run("close_read", self._keys("NwrfxT", claim), claim, INBOX,
                     self.CHANNEL)


ROWS = {
    "layout3-permit-alone": (Permits, 0),
    "layout3-8-of-64": (Permits, 64),
    "layout3-count-down": (Counts, 1),
    "layout3-opening": (Counts, 300),
    "layout3-read-alone": (Reads, False, 0),
    "layout3-read-beside-8": (Reads, False, 8),
    "layout3-write-alone": (Reads, True, 0),
}
