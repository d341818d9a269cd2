# SPDX-License-Identifier: MIT
"""The libraries beside which Latchkey runs: how each is installed from its
package registry, and how its driver is started."""

import hashlib
import os
import re
import shutil
import signal
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TOP = os.path.dirname(HERE)
BUILD = os.path.join(TOP, "build", "interop")

INSTALL_S = 120  # a registry that does not answer is not waited for longer


@dataclass
class Peer:
    """One library in one version. side is its name in logs and tables."""

    side: str
    version: str = ""
    command: list = field(default_factory=list)
    env: dict = field(default_factory=dict)
    missing: str = ""  # why it cannot run; empty: it can
    kind: str = ""  # of its locks, if it has one kind only
    prefix: str = ""  # what it puts before a name to have the key


def _run(*command, cwd=None, limit_s=INSTALL_S, **env):
    """Runs a command; an error tells why it failed, or took too long."""
    with subprocess.Popen(command, cwd=cwd, text=True, start_new_session=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT,
                          env={**os.environ, **env}) as process:
        try:
            said, _ = process.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise RuntimeError(f"{command[0]}: not done in {limit_s} s") \
                from None
    if process.returncode != 0:
        raise RuntimeError(f"{command[0]}: {said.strip()[-400:]}")


def _once(folder, inputs, install):
    """Installs into folder, unless that was done with the same inputs."""
    mark = os.path.join(folder, "installed")
    digest = hashlib.sha256()
    for path in inputs:
        with open(path, "rb") as file:
            digest.update(file.read())
    if os.path.exists(mark):
        with open(mark, encoding="ascii") as file:
            if file.read() == digest.hexdigest():
                return
        os.unlink(mark)
    os.makedirs(folder, exist_ok=True)
    install()
    with open(mark, "w", encoding="ascii") as file:
        file.write(digest.hexdigest())


def _sources(folder, *names):
    return [os.path.join(HERE, "drivers", folder, name) for name in names]


def _pinned(path, package):
    """The version that a driver's own list has of a package."""
    with open(path, encoding="ascii") as file:
        return re.search(rf"(?<![\w-]){re.escape(package)}\W+v?(\d[\w.-]*)",
                         file.read()).group(1)


def latchkey(interop="auto"):
    """The library itself; interop is the client option of that name."""
    program = os.path.join(TOP, "build", "strict", "interop",
                           "interop_driver")
    return Peer("c" if interop == "auto" else "c-redisson", "this tree",
                [program], {"LATCHKEY_INTEROP": interop})


POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
<modelVersion>4.0.0</modelVersion>
<groupId>interop</groupId><artifactId>interop</artifactId><version>1</version>
<dependencies><dependency><groupId>org.redisson</groupId>
<artifactId>redisson</artifactId><version>{}</version></dependency>
</dependencies></project>
"""


_failed = {}  # folder: why nothing could be installed there
_busy = {}  # tool: one of each installs at a time


def _installed(peer, folder, sources, install):
    """Says in peer.missing if that does not succeed."""
    with _busy.setdefault(os.path.basename(folder).split("-")[0],
                          threading.Lock()):
        try:
            if folder not in _failed:
                _once(folder, sources, install)
        except (OSError, RuntimeError) as error:
            _failed[folder] = str(error)
    peer.missing = _failed.get(folder, "")
    return peer


def redisson(version):
    folder = os.path.join(BUILD, f"redisson-{version}")
    jars = os.path.join(folder, "lib", "*")
    sources = _sources("redisson", "Driver.java", "Locks.java", "Loop.java",
                       "Repl.java")
    peer = Peer("java", version)

    def install():
        pom = os.path.join(folder, "pom.xml")
        with open(pom, "w", encoding="ascii") as file:
            file.write(POM.format(version))
        _run("mvn", "-q", "-B", "-f", pom, "dependency:copy-dependencies",
             "-DoutputDirectory=lib", cwd=folder)
        _run("javac", "-nowarn", "-d", folder, "-cp", jars, *sources)

    # One compiler and collector are enough, and leave the cores to the rest.
    peer.command = ["java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
                    "-cp", f"{folder}:{jars}", "Driver"]
    return _installed(peer, folder, sources, install)


def python(side, package, kind):
    folder = os.path.join(BUILD, "python")
    program = os.path.join(folder, "bin", "python3")
    packages, driver = _sources("python", "requirements.txt", "driver.py")
    peer = Peer(side, _pinned(packages, package), [program, driver, side],
                kind=kind)

    def install():
        _run("python3", "-m", "venv", "--clear", folder)
        _run(program, "-m", "pip", "install", "-q", "-r", packages)

    return _installed(peer, folder, [packages], install)


def go(side, package, prefix=""):
    folder = os.path.join(BUILD, "go")
    program = os.path.join(folder, "driver")
    home = os.path.join(HERE, "drivers", "go")
    sources = _sources("go", *sorted(os.listdir(home)))
    peer = Peer(side, _pinned(os.path.join(home, "go.mod"), package),
                [program, side], kind="token", prefix=prefix)

    def install():
        _run("go", "build", "-o", program, ".", cwd=home, GOTOOLCHAIN="local")

    return _installed(peer, folder, sources, install)


def node(side, package, prefix=""):
    """The driver is copied to where its packages are: node looks there."""
    folder = os.path.join(BUILD, "node")
    sources = _sources("node", "package.json", "package-lock.json",
                       "driver.js")
    peer = Peer(side, _pinned(sources[0], package),
                ["node", os.path.join(folder, "driver.js"), side],
                kind="token", prefix=prefix)

    def install():
        for source in sources:
            shutil.copy(source, folder)
        _run("npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts",
             cwd=folder)
        _run("node", "--check", "driver.js", cwd=folder)

    return _installed(peer, folder, sources, install)


# How each is made. The first word of a name is the side.
PEERS = {
    "java 4.7.0": lambda: redisson("4.7.0"),
    "java 3.52.0": lambda: redisson("3.52.0"),
    "redis-py": lambda: python("redis-py", "redis", "token"),
    "python-redis-lock": lambda: python("python-redis-lock",
                                        "python-redis-lock", "siglock"),
    "redsync": lambda: go("redsync", "redsync/v4"),
    "redislock": lambda: go("redislock", "bsm/redislock"),
    "rueidislock": lambda: go("rueidislock", "redis/rueidis",
                              "rueidislock:0:"),
    "node-redlock": lambda: node("node-redlock", "redlock"),
    "redis-semaphore": lambda: node("redis-semaphore", "redis-semaphore",
                                    "mutex:"),
}


def install(names):
    """Peers by their names, installed side by side."""
    with ThreadPoolExecutor(max(len(names), 1)) as pool:
        return dict(zip(names, pool.map(lambda name: PEERS[name](), names)))
