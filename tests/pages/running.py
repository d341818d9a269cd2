# SPDX-License-Identifier: MIT
"""Commands of a page, run as its reader would, on a server of the page's own.

A page has a fresh directory and a server with nothing in it. LATCHKEY_URL says
where that is, so a page may say something else of its own. Programs that a page
takes from its reader's world are there, and do nothing, well (STAND_INS); so is
each ./program that it runs.

What is written is compared but for what differs from run to run (VARYING), and
for how many blanks are between two words. On a page the user is called ci, and
the host web-3; what a reader does at different hosts is seen by this one.
"""

import json
import os
import pwd
import re
import shlex
import signal
import socket
import subprocess
import time

from fences import Fault

LIMIT_S = 60 * int(os.environ.get("LK_TEST_SLOW", "1"))

# make works for as long as it is let.
STAND_INS = ("exec sleep 600", ["make"]), ("exit 0", [
    "curl", "ffmpeg", "pg_dump", "rsync", "systemctl"])

READER = {"CI_PIPELINE_URL": "https://ci.example/17", "VERSION": "4.2"}

# How quick the machine is and how its clocks go, in the words of doctor.
JUDGED = r"^(ok|note|warn|fail) +(latency|clock|clock-step) .*(\n +do: .*)?"

VARYING = [(re.compile(pattern, re.M), word) for pattern, word in (
    (JUDGED, r"judged \2"),
    (r"\b[0-9a-f]{32}:\d{16}\b", "OWNER"),
    (r"\bfence \d{15,}", "fence FENCE"),
    (r"\bpid \d+", "pid PID"),
    (r"\b\d+:\d\d(:\d\d)?\b|[+-]?\b\d+(\.\d+)? m?s\b", "TIME"),
    (r"(?<=[\w-]):\d+ ", ":PID "),
    (r"\b\d{4}-\d\d-\d\d\b", "DATE"),
    (r"\b\d+ connections?\b", "CONNECTIONS"),
    (r"\b\d+ MB\b", "SIZE"),
    (r"\bRedis \d+\.\d+\.\d+\b", "Redis VERSION"),
    (r"[ \t]+", " "))]


def same_each_time(text, is_page):
    """The lines of a text without what varies."""
    if is_page:
        text = re.sub(r"\bweb-3\b", socket.gethostname(), text)
        text = re.sub(r"\bci\b", pwd.getpwuid(os.getuid()).pw_name, text)
    for pattern, word in VARYING:
        text = pattern.sub(word, text)
    return [line.rstrip() for line in text.rstrip("\n").split("\n")]


def wait_for(what, condition):
    """Waits until condition() is true. Fault: it never is."""
    end = time.monotonic() + LIMIT_S
    while not condition():
        if time.monotonic() > end:
            raise Fault(f"{what}: not so within {LIMIT_S} s")
        time.sleep(0.01)


class Server:
    """A redis-server on a socket in the directory, and its commands."""

    def __init__(self, program, directory):
        self.socket = os.path.join(directory, "redis.sock")
        self._process = subprocess.Popen(
            [program, "--port", "0", "--unixsocket", self.socket, "--save", "",
             "--appendonly", "no"], cwd=directory, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL)
        wait_for("a server that answers", self._answers)

    def _answers(self):
        if self._process.poll() is not None:
            raise Fault("the server has ended")
        try:
            return self.command("PING") == b"+PONG"
        except OSError:
            return False

    def command(self, *words):
        """The first line of its answer."""
        parts = [word.encode() for word in words]
        with socket.socket(socket.AF_UNIX) as link:
            link.settimeout(LIMIT_S)
            link.connect(self.socket)
            link.sendall(b"*%d\r\n" % len(parts) + b"".join(
                b"$%d\r\n%s\r\n" % (len(part), part) for part in parts))
            with link.makefile("rb") as answer:
                return answer.readline().rstrip()

    def stop(self):
        self._process.kill()
        self._process.wait()


class Command:
    """A shell with a command line, in a process group of its own."""

    def __init__(self, place, line, where, host="web-3"):
        self.place = place
        self.line = line
        path = os.path.join(where.outputs, str(where.count()))
        self._paths = [path + ".out", path + ".err"]
        with open(self._paths[0], "wb") as output, \
                open(self._paths[1], "wb") as error:
            self.process = subprocess.Popen(
                ["bash", "-e", "-c", line], cwd=where.directory,
                env={**where.env, "HOSTNAME": host}, stdin=subprocess.DEVNULL,
                stdout=output, stderr=error, start_new_session=True)

    def written(self):
        """Standard output, and behind it standard error: on files they come
        in another order than on a terminal."""
        text = ""
        for path in self._paths:
            with open(path, encoding="utf-8") as file:
                text += file.read()
        return text

    def end_with(self, code):
        """Waits for its end. Fault: another exit code."""
        try:
            self.process.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            self.stop()
            raise Fault(f"{self.place}: '{self.line}' does not end:\n"
                        f"{self.written()}") from None
        if self.process.returncode != code:
            raise Fault(f"{self.place}: '{self.line}' exits with "
                        f"{self.process.returncode} and not {code}:\n"
                        f"{self.written()}")

    def stop(self):
        """Ends it as ^C would, and waits until it is gone."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGTERM)
            try:
                self.process.wait(LIMIT_S)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()

    def check_written(self, expected):
        """Fault: it has not written the lines that the page shows."""
        actual = same_each_time(self.written(), False)
        if actual != expected:
            raise Fault("\n".join(
                [f"{self.place}: '{self.line}' writes something else; page:"] +
                ["  " + line for line in expected] + ["it wrote:"] +
                ["  " + line for line in actual]))


class Reader:
    """Follows one page. run() for each block in order, then finish()."""

    def __init__(self, directory, tool, server):
        self.directory = os.path.join(directory, "here")
        self.outputs = os.path.join(directory, "outputs")
        programs = os.path.join(directory, "programs")
        for path in (self.directory, self.outputs, programs):
            os.mkdir(path)
        os.symlink(tool, os.path.join(programs, "latchkey"))
        for what, names in STAND_INS:
            for name in names:
                self._program(os.path.join(programs, name), what)
        self._server = Server(server, directory)
        self.env = {"PATH": programs + ":" + os.environ["PATH"],
                    "HOME": self.directory, "LC_ALL": "C.UTF-8",
                    "LATCHKEY_URL": "unix:" + self._server.socket,
                    "LATCHKEY_SERVER_DIRECTORY": os.path.join(directory,
                                                              "private"),
                    **READER}
        self._commands = 0
        self._beside = []  # (command, how it ends)

    @staticmethod
    def _program(path, what):
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\n{what}\n")
        os.chmod(path, 0o755)

    def _make_programs(self, text):
        for name in re.findall(r"(?<![\w.])\./([\w-]+)", text):
            self._program(os.path.join(self.directory, name), "exit 0")

    def count(self):
        self._commands += 1
        return self._commands

    def run(self, block):
        self._make_programs(block.text)
        getattr(self, "_" + block.kind)(block)

    def _python(self, block):
        try:
            compile(block.text, block.place, "exec")
        except SyntaxError as error:
            raise Fault(f"{block.place}: is no Python: {error}") from None

    def _redis(self, block):
        answer = self._server.command(*block.text.split())
        if answer.startswith(b"-"):
            raise Fault(f"{block.place}: the server says {answer.decode()}")

    def _unattended(self, block, line):
        """Runs a command that something else starts than a shell, and ends it
        as that does once it holds what --at-least keeps. Its paths are those of
        another machine."""
        line = re.sub(r"/(usr/local/bin|app)/(latchkey\b)?",
                      lambda found: found[2] or "./", line)
        self._make_programs(line)
        others = self._users()
        command = Command(block.place, line, self)
        if "--at-least" in line:
            wait_for(f"{block.place}: it holds",
                     lambda: self._users() > others)
            command.stop()
        else:
            command.end_with(0)

    def _cron(self, block):
        """Five fields of times, the user, the command; or NAME=value."""
        lines = [line.split(None, 6) for line in block.lines
                 if not re.match(r"\w+=", line)]
        for fields in lines:
            if len(fields) != 7 or fields[5] != "root":
                raise Fault(f"{block.place}: is no line of /etc/cron.d: "
                            f"{' '.join(fields)}")
            self._unattended(block, fields[6])

    def _ini(self, block):
        for line in re.findall(r"^ExecStart=(.*)", block.text, re.M):
            self._unattended(block, line)

    def _yaml(self, block):
        for words in re.findall(r"^command: (.*)", block.text, re.M):
            self._unattended(block, shlex.join(json.loads(words)))

    def _sh(self, block):
        commands = [Command(block.place, block.text, self, f"web-{number}")
                    for number in range(block.how.get("copies", 1))]
        for command in commands:
            self._end(block, command, None)

    def _console(self, block):
        parts = re.split(r"^\$ ", block.text, flags=re.M)
        if parts[0] or len(parts) == 1:
            raise Fault(f"{block.place}: a console begins with '$ '")
        for part in parts[1:]:
            line, rest = (part + "\n").split("\n", 1)
            while line.endswith("\\"):
                more, rest = rest.split("\n", 1)
                line += "\n" + more
            self._end(block, Command(block.place, line, self),
                      same_each_time(rest, True))

    def _end(self, block, command, expected):
        beside = [way for way in ("stays", "meanwhile") if way in block.how]
        if beside:
            self._beside.append((command, beside[0]))
            self._wait_in_use(command, expected)
        else:
            command.end_with(block.how.get("exit", 0))
        if expected is not None:
            command.check_written(expected)

    def _wait_in_use(self, command, expected):
        """Waits until a command that goes on has written what the page shows;
        or holds something, or waits for it, if the page shows nothing."""
        def is_so():
            if command.process.poll():
                command.end_with(0)
            if expected and expected != [""]:
                return same_each_time(command.written(), False) == expected
            return self._users() >= len(self._beside)

        try:
            wait_for(f"{command.place}: it holds or waits", is_so)
        except Fault:
            if expected:
                command.check_written(expected)
            raise

    def _users(self):
        """How many hold or wait, over all names."""
        done = subprocess.run(["latchkey", "ls", "--json"], env=self.env,
                              text=True, capture_output=True, check=False)
        return sum(name["holder_count"] + name["waiter_count"]
                   for name in json.loads(done.stdout)["names"])

    def finish(self):
        """Fault: something that runs beside has not ended well."""
        try:
            for command, way in self._beside:
                if way == "meanwhile":
                    command.end_with(0)
        finally:
            self.close()

    def close(self):
        for command, _ in reversed(self._beside):
            command.stop()
        self._beside = []
        if os.path.exists(self.env["LATCHKEY_SERVER_DIRECTORY"]):
            subprocess.run(["latchkey", "server", "stop"], env=self.env,
                           capture_output=True, check=False)
        self._server.stop()
