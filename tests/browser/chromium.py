# SPDX-License-Identifier: MIT
"""Debian's chromium without a screen, led over a pipe as its DevTools are."""

import base64
import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time

LIMIT_S = 60 * int(os.environ.get("LK_TEST_SLOW", "1"))

TEXT = "(document.body?.innerText ?? '')"


class Fault(Exception):
    """What is not so."""


def is_there():
    return shutil.which("chromium") is not None


def _pipe():
    """Descriptors that are in nobody's way."""
    ends = []
    for end in os.pipe():
        ends.append(fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 20))
        os.close(end)
    return ends


class Page:
    """One page in a browser of its own. Use it as a context."""

    def __init__(self, url, width=1200, height=900, dark=False):
        self._directory = tempfile.TemporaryDirectory(prefix="lk-chromium-")
        self._answers = b""
        self._count = 0
        self.told = []  # what the page complained about
        self._start()
        try:
            target = self._call("Target.createTarget", url="about:blank")
            self._session = self._call("Target.attachToTarget", flatten=True,
                                       targetId=target["targetId"])["sessionId"]
            for domain in "Page", "Runtime", "Log":
                self.call(domain + ".enable")
            self.call("Emulation.setEmulatedMedia", features=[
                {"name": "prefers-color-scheme",
                 "value": "dark" if dark else "light"}])
            self.size(width, height)
            self.call("Page.navigate", url=url)
        except BaseException:
            self.close()
            raise

    def _start(self):
        """Descriptor 3 is what it reads, 4 what it writes."""
        read, self._to = _pipe()
        self._from, write = _pipe()
        options = ["--headless", "--remote-debugging-pipe", "--disable-gpu",
                   "--no-first-run", "--disable-dev-shm-usage",
                   "--disable-background-networking", "--hide-scrollbars",
                   "--user-data-dir=" + self._directory.name]
        # What it shows is the project's own, and where tests run there is often
        # no right to make a sandbox.
        options.append("--no-sandbox")
        self._errors = tempfile.TemporaryFile()
        self._process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{read} 4>&{write}', "bash",
             shutil.which("chromium"), *options], pass_fds=(read, write),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=self._errors, start_new_session=True)
        self._session = None
        os.close(read)
        os.close(write)

    def close(self):
        try:
            self._call("Browser.close")
            self._process.wait(LIMIT_S)
        except (Fault, OSError, subprocess.TimeoutExpired):
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        os.close(self._to)
        os.close(self._from)
        self._errors.close()
        try:
            self._directory.cleanup()
        except OSError:
            pass  # a child of it may write yet

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _said(self):
        """The end of what it wrote."""
        self._errors.seek(0)
        return self._errors.read()[-2000:].decode(errors="replace")

    def _message(self, end):
        while b"\0" not in self._answers:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self._from], [], [], left)[0]:
                raise Fault(f"the browser says nothing for {LIMIT_S} s")
            more = os.read(self._from, 1 << 20)
            if not more:
                raise Fault(f"the browser has ended:\n{self._said()}")
            self._answers += more
        text, _, self._answers = self._answers.partition(b"\0")
        return json.loads(text)

    def _call(self, method, session=None, **parameters):
        self._count += 1
        wish = {"id": self._count, "method": method, "params": parameters}
        if session:
            wish["sessionId"] = session
        os.write(self._to, json.dumps(wish).encode() + b"\0")
        end = time.monotonic() + LIMIT_S
        while True:
            message = self._message(end)
            self._note(message)
            if message.get("id") != self._count:
                continue
            if "error" in message:
                raise Fault(f"{method}: {message['error']['message']}")
            return message["result"]

    def _note(self, message):
        """Keeps what went wrong in the page: exceptions, and what its policy
        has stopped."""
        parameters = message.get("params", {})
        if message.get("method") == "Runtime.exceptionThrown":
            self.told.append(parameters["exceptionDetails"]["text"])
        elif message.get("method") == "Log.entryAdded" and \
                parameters["entry"]["source"] in ("security", "violation"):
            self.told.append(parameters["entry"]["text"])

    def call(self, method, **parameters):
        """A DevTools command for the page; returns its result."""
        return self._call(method, self._session, **parameters)

    def size(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width,
                  height=height, deviceScaleFactor=1, mobile=False)

    def value(self, expression):
        """What an expression of JavaScript is in the page."""
        found = self.call("Runtime.evaluate", expression=expression,
                          returnByValue=True)
        if "exceptionDetails" in found:
            raise Fault(f"{expression}: {found['result'].get('description')}")
        return found["result"].get("value")

    def text(self):
        """What a reader of the page sees."""
        return self.value(TEXT)

    def wait(self, expression):
        """Waits until an expression is true in the page."""
        end = time.monotonic() + LIMIT_S
        while not self.value(expression):
            if time.monotonic() > end:
                raise Fault(f"never so: {expression}; the page:\n{self.text()}")
            time.sleep(0.02)

    def wait_text(self, *parts):
        for part in parts:
            self.wait(f"{TEXT}.includes({json.dumps(part)})")

    def press(self, key, code=None):
        for kind in "keyDown", "keyUp":
            self.call("Input.dispatchKeyEvent", type=kind, key=key,
                      code=code or key, windowsVirtualKeyCode={
                          "Tab": 9, "Enter": 13}.get(key, 0),
                      text="\r" if key == "Enter" and kind == "keyDown" else "")

    def picture(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(
                self.call("Page.captureScreenshot", format="png")["data"]))
