# SPDX-License-Identifier: MIT
"""A server, commands that hold and wait on it, and `latchkey serve`."""

import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "pages"))
from running import Server, wait_for  # noqa: E402


class Stage:
    """Use it as a context: what was begun ends with it."""

    def __init__(self, tool, server):
        self._temporary = tempfile.TemporaryDirectory(prefix="lk-stage-")
        self.directory = self._temporary.name
        self._tool = tool
        self._program = server
        self._begun = []
        self.server = Server(server, self.directory)
        self._env = {"PATH": os.environ["PATH"], "HOME": self.directory,
                     "LC_ALL": "C.UTF-8",
                     "LATCHKEY_URL": "unix:" + self.server.socket}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self._begun:
            process.kill()
            process.wait()
            for stream in process.stdin, process.stdout:
                if stream:
                    stream.close()
        self.server.stop()
        self._temporary.cleanup()

    def begin(self, *words, before=(), **streams):
        """The tool with such a command line; before: what runs it."""
        process = subprocess.Popen(
            [*before, self._tool, *words], env=self._env,
            stdin=subprocess.PIPE, stderr=subprocess.DEVNULL,
            **{"stdout": subprocess.DEVNULL, **streams})
        self._begun.append(process)
        return process

    def run(self, *words):
        """The tool with such a command line, to its end, which is 0."""
        subprocess.run([self._tool, *words], env=self._env, check=True,
                       stdin=subprocess.DEVNULL, capture_output=True)

    def hold(self, *words, command=("cat",), before=()):
        """Holds, or waits, until end() is called with what it returns."""
        return self.begin(*words, "--", *command, before=before)

    @staticmethod
    def end(process):
        process.stdin.close()
        process.wait()

    def serve(self, port=0):
        """Returns the process, and where it serves."""
        process = self.begin("serve", "--every", "200ms", "--listen",
                             str(port), stdout=subprocess.PIPE)
        return process, process.stdout.readline().decode().strip()

    def wait_count(self, name, holders, waiters):
        """Waits until so many hold a name and wait for it."""
        def is_so():
            told = subprocess.run([self._tool, "who", "--json", name],
                                  env=self._env, capture_output=True,
                                  check=False).stdout
            seen = json.loads(told) if told else {"holders": [],
                                                  "waiter_count": 0}
            return (len(seen["holders"]), seen["waiter_count"]) == \
                (holders, waiters)
        wait_for(f"{holders} that hold {name}, and {waiters} that wait", is_so)

    def begin_server_anew(self):
        self.server = Server(self._program, self.directory)
