# SPDX-License-Identifier: MIT
"""The processes of a run: a private server, and drivers."""

import binascii
import contextlib
import ctypes
import os
import queue
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

READY_S = 120
ANSWER_S = 120  # of a driver, beyond the wait that it was asked for


_libc = ctypes.CDLL(None)


class Broken(Exception):
    """A process does not do what a driver or a server has to."""


def _dies_with_us():
    """In the child: ends when the runner ends, however that ends."""
    _libc.prctl(1, signal.SIGKILL)


class Line:
    """A connection to a server of this machine."""

    def __init__(self, port):
        self.stream = socket.create_connection(("127.0.0.1", port), 5)
        self.stream.settimeout(READY_S)
        self.lines = self.stream.makefile("rb")

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
        if not line.endswith(b"\n"):
            raise Broken("the server has closed the connection")
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

    def close(self):
        self.lines.close()
        self.stream.close()


class Server:
    """A redis-server on a port of 127.0.0.1, with a directory of its own."""

    def __init__(self, *arguments):
        self.home = tempfile.mkdtemp(prefix="latchkey-interop-")
        until = time.monotonic() + READY_S
        while not self._start(arguments, until):
            if time.monotonic() > until:
                raise Broken("the server does not start")
        self.url = f"redis://127.0.0.1:{self.port}"

    def _start(self, arguments, until):
        """Returns False where somebody else took the port first."""
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.process = subprocess.Popen(
            ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1",
             "--save", "", "--dir", self.home, "--maxmemory-policy",
             "noeviction", *arguments],
            stdout=subprocess.DEVNULL, preexec_fn=_dies_with_us)
        while self.process.poll() is None and time.monotonic() < until:
            try:
                self.line = Line(self.port)
                return self.command("CONFIG", "GET", "dir")[1] == self.home
            except (OSError, Broken):
                time.sleep(0.05)
        return False

    def command(self, *words):
        return self.line.command(*words)

    def another(self):
        """A connection of its own, for another thread."""
        return Line(self.port)

    def calls(self, name=""):
        """How many commands it has run so far, those of scripts included and
        this question not; or how many of one name."""
        total = 0
        for line in self.command("INFO", "commandstats").splitlines():
            if line.startswith(f"cmdstat_{name}:" if name else "cmdstat_") \
                    and not line.startswith("cmdstat_info:"):
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
        self.line.close()
        shutil.rmtree(self.home, ignore_errors=True)


class Ring:
    """A cluster of three masters. It looks like one server: a command goes to
    the master of its key, and who listens is asked of all of them."""

    SLOTS = 16384

    def __init__(self):
        self.nodes = []
        try:
            self._start()
        except (Broken, OSError):
            self.stop()
            raise
        self.url = f"redis+cluster://127.0.0.1:{self.nodes[0].port}"

    def _start(self):
        for _ in range(3):
            self.nodes.append(Server("--cluster-enabled", "yes"))
        for i, node in enumerate(self.nodes):
            node.command("CLUSTER", "SET-CONFIG-EPOCH", i + 1)
            node.command("CLUSTER", "ADDSLOTSRANGE", self.SLOTS * i // 3,
                         self.SLOTS * (i + 1) // 3 - 1)
            node.command("CLUSTER", "MEET", "127.0.0.1", self.nodes[0].port)
        until = time.monotonic() + READY_S
        while not all(self._is_whole(node) for node in self.nodes):
            if time.monotonic() > until:
                raise Broken("the cluster does not come together")
            time.sleep(0.05)

    @staticmethod
    def _is_whole(node):
        told = node.command("CLUSTER", "INFO")
        return "cluster_state:ok" in told and "cluster_size:3" in told

    def place(self, key):
        """The number of the master that has this key."""
        tag = re.search(r"\{([^}]+)\}", key)
        slot = binascii.crc_hqx((tag.group(1) if tag else key).encode(), 0) \
            % self.SLOTS
        return next(i for i in range(3) if slot < self.SLOTS * (i + 1) // 3)

    def command(self, *words):
        if words[0] == "SELECT":  # there is one database
            return "OK"
        if words[:2] == ("PUBSUB", "NUMSUB"):
            counts = [node.command("PUBSUB", what, words[2])[1]
                      for node in self.nodes
                      for what in ("NUMSUB", "SHARDNUMSUB")]
            return [words[2], sum(counts)]
        return self.nodes[self.place(words[1])].command(*words)

    def published(self):
        """How many messages the masters have sent each other for PUBLISH."""
        told = [node.command("CLUSTER", "INFO") for node in self.nodes]
        return sum(int(number) for number in re.findall(
            r"cluster_stats_messages_publish_sent:(\d+)", "".join(told)))

    def calls(self, name=""):
        return sum(node.calls(name) for node in self.nodes)

    def leftovers(self):
        return [key for node in self.nodes for key in node.leftovers()]

    def stop(self):
        for node in self.nodes:
            node.stop()


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
            env={**os.environ, **peer.env,
                 **{key: str(value) for key, value in (env or {}).items()}},
            preexec_fn=_dies_with_us)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        try:
            if self._line(READY_S) != "ready":
                raise Broken(f"{self.side}: not ready: {self.said()}")
        except Broken:
            self.stop()
            raise

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
        self._write(" ".join(map(str, (actor, *words))))

    def _write(self, line):
        try:
            self.process.stdin.write(line + "\n")
        except OSError:
            raise Broken(f"{self.side}: ended: {self.said()}") from None

    def take(self, actor, seconds=ANSWER_S):
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

    def ask(self, actor, *words, seconds=ANSWER_S):
        self.send(actor, *words)
        return self.take(actor, seconds)

    def begin(self):
        """Has the threads of a loop begin."""
        self._write("begin")

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
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        self.reader.join()
        self.process.stdout.close()
        self.errors.close()
