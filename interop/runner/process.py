# SPDX-License-Identifier: MIT
"""The processes of a run: a private server, and drivers."""

import os
import queue
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

READY_S = 60


class Broken(Exception):
    """A process does not do what a driver or a server has to."""


def _dies_with_us():
    """In the child: ends when the runner ends, however that ends."""
    import ctypes
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


class Server:
    """A redis-server on a port of 127.0.0.1, with a directory of its own."""

    def __init__(self, *arguments):
        self.home = tempfile.mkdtemp(prefix="latchkey-interop-")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.url = f"redis://127.0.0.1:{self.port}"
        self.process = subprocess.Popen(
            ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1",
             "--save", "", "--dir", self.home, "--maxmemory-policy",
             "noeviction", *arguments],
            stdout=subprocess.DEVNULL, preexec_fn=_dies_with_us)
        self._connect()

    def _connect(self):
        until = time.monotonic() + READY_S
        while True:
            try:
                self.stream = socket.create_connection(
                    ("127.0.0.1", self.port), 5)
                self.lines = self.stream.makefile("rb")
                break
            except OSError:
                if time.monotonic() > until or self.process.poll() is not None:
                    raise Broken("the server does not start") from None
                time.sleep(0.05)

    def command(self, *words):
        """One command; an error is raised, a list is a list."""
        out = b"*%d\r\n" % len(words)
        for word in words:
            word = str(word).encode()
            out += b"$%d\r\n%s\r\n" % (len(word), word)
        self.stream.sendall(out)
        return self._answer()

    def _answer(self):
        line = self.lines.readline()
        kind, rest = line[:1], line[1:-2]
        if kind == b"-":
            raise Broken(rest.decode())
        if kind == b":":
            return int(rest)
        if kind == b"$":
            size = int(rest)
            return None if size < 0 else \
                self.lines.read(size + 2)[:-2].decode("utf-8", "replace")
        if kind == b"*":
            return [self._answer() for _ in range(int(rest))]
        return rest.decode()

    def calls(self):
        """How many commands it has run so far, those of scripts included."""
        total = 0
        for line in self.command("INFO", "commandstats").splitlines():
            if line.startswith("cmdstat_"):
                total += int(line.split("calls=")[1].split(",")[0])
        return total

    def leftovers(self):
        """Keys without a time to live."""
        return [key for key in self.command("KEYS", "*")
                if self.command("PTTL", key) == -1]

    def kill(self):
        self.process.kill()
        self.process.wait()

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)

    def stop(self):
        self.kill()
        shutil.rmtree(self.home, ignore_errors=True)


class Driver:
    """A driver as a process: see PROTOCOL.md."""

    def __init__(self, peer, mode, url, *settings, env=None):
        self.side = peer.side
        self.answers = queue.Queue()
        self.kept = {}
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            [*peer.command, mode, url, *settings], text=True, bufsize=1,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors,
            env={**os.environ, **peer.env, **(env or {})},
            preexec_fn=_dies_with_us)
        threading.Thread(target=self._read, daemon=True).start()
        if self._line(READY_S) != "ready":
            raise Broken(f"{self.side}: not ready: {self.said()}")

    def _read(self):
        for line in self.process.stdout:
            self.answers.put(line.rstrip("\n"))
        self.answers.put(None)

    def _line(self, seconds):
        try:
            line = self.answers.get(timeout=seconds)
        except queue.Empty:
            raise Broken(f"{self.side}: no answer in {seconds} s: "
                         f"{self.said()}") from None
        if line is None:
            raise Broken(f"{self.side}: ended: {self.said()}")
        return line

    def said(self):
        """The end of what it wrote on standard error."""
        self.errors.seek(0)
        return self.errors.read()[-2000:]

    def send(self, actor, *words):
        """A request whose answer is taken later."""
        self.process.stdin.write(" ".join(map(str, (actor, *words))) + "\n")

    def take(self, actor, seconds=30):
        """The next answer of this actor."""
        until = time.monotonic() + seconds
        while not self.kept.get(actor):
            name, _, text = self._line(
                max(until - time.monotonic(), 0)).partition(" ")
            self.kept.setdefault(name, []).append(text)
        return self.kept[actor].pop(0)

    def has_answered(self, actor):
        """Whether an answer of this actor has come, without a wait."""
        while not self.answers.empty():
            name, _, text = self._line(0).partition(" ")
            self.kept.setdefault(name, []).append(text)
        return bool(self.kept.get(actor))

    def ask(self, actor, *words, seconds=30):
        self.send(actor, *words)
        return self.take(actor, seconds)

    def begin(self):
        """Has the threads of a loop begin."""
        self.process.stdin.write("begin\n")

    def result(self, seconds):
        """What a loop says at its end: grants, violations, refused."""
        words = self._line(seconds).split()
        if words[:1] != ["done"]:
            raise Broken(f"{self.side}: {' '.join(words)}")
        return tuple(map(int, words[1:]))

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)

    def go_on(self):
        self.process.send_signal(signal.SIGCONT)

    def stop(self):
        if self.process.poll() is None:
            self.kill()
        self.errors.close()
