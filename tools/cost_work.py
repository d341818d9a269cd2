# SPDX-License-Identifier: MIT
"""What the rows of script-cost.py have in common: a server that is asked."""

import re
import socket
import sys
import time


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


class Work:
    """Asks a server for something again and again."""

    def __init__(self, path):
        self.server = Connection(path)

    def end(self):
        """Ends the server. Returns how many commands scripts ran for holds."""
        text = self.server.ask("INFO", "commandstats")
        calls = {name: int(number) for name, number in
                 re.findall(r"cmdstat_(\S+?):calls=(\d+)", text)}
        try:
            self.server.ask("SHUTDOWN", "NOSAVE")
        except SystemExit:
            pass
        besides = ("evalsha", "script|load", "subscribe", "info")
        return sum(calls.values()) - sum(calls.get(one, 0) for one in besides)
