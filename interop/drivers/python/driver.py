# SPDX-License-Identifier: MIT
"""driver LIBRARY repl|loop URL [KEY=VALUE...]: see interop/PROTOCOL.md.

The libraries are redis-py's own Lock, of kind `token`, and python-redis-lock,
of kind `siglock`. Without LOCK_WATCHDOG_MS a lease of 0 is one of 30 s.
"""

import os
import queue
import random
import sys
import threading
import time

import redis
import redis_lock

LEASE_MS = int(os.environ.get("LOCK_WATCHDOG_MS", "30000"))


CLUSTER = "redis+cluster"


def connect(url):
    """To a server, or to the cluster of a node."""
    if url.startswith(CLUSTER):
        return redis.RedisCluster.from_url("redis" + url[len(CLUSTER):],
                                           socket_timeout=None)
    return redis.Redis.from_url(url, socket_timeout=None)


class Token:
    """redis-py's Lock; it has no watchdog."""

    kind = "token"

    def __init__(self, server, name):
        self.server, self.name, self.lock = server, name, None

    def take(self, wait_ms, lease_ms):
        self.lock = self.server.lock(
            self.name, timeout=(lease_ms or LEASE_MS) / 1000,
            thread_local=False)
        return self.lock.acquire(
            blocking=wait_ms != 0,
            blocking_timeout=wait_ms / 1000 if wait_ms > 0 else None)

    def give(self):
        self.lock.release()


class Signal:
    """python-redis-lock. It counts in whole seconds: parts are rounded up."""

    kind = "siglock"

    def __init__(self, server, name):
        self.server, self.name, self.lock = server, name, None

    def take(self, wait_ms, lease_ms):
        self.lock = redis_lock.Lock(
            self.server, self.name, expire=-(-(lease_ms or LEASE_MS) // 1000),
            auto_renewal=lease_ms == 0,
            strict=isinstance(self.server, redis.Redis))
        if wait_ms == 0:
            return self.lock.acquire(blocking=False)
        return self.lock.acquire(
            timeout=-(-wait_ms // 1000) if wait_ms > 0 else None)

    def give(self):
        self.lock.release()

    def force(self):
        redis_lock.Lock(self.server, self.name).reset()

    def locked(self):
        return redis_lock.Lock(self.server, self.name).locked()


LIBRARIES = {"redis-py": Token, "python-redis-lock": Signal}


def say(*words):
    """A line at once, whole."""
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


# ---- repl ----

class Actor:
    """A thread that does its requests in order."""

    def __init__(self, library, server, name):
        self.library, self.server, self.name = library, server, name
        self.locks = {}
        self.lines = queue.Queue()
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            words = self.lines.get()
            try:
                say(self.name, self.do(*words))
            except Exception as error:  # whatever a library raises
                say(self.name, "error", type(error).__name__,
                    str(error).replace("\n", " "))

    def do(self, verb, kind, name, *more):
        if kind != self.library.kind:
            return "error unsupported"
        lock = self.locks.setdefault(name, self.library(self.server, name))
        if verb == "lock":
            return "ok 0" if lock.take(*map(int, more)) else "no"
        if verb == "unlock":
            lock.give()
            return "ok"
        if verb == "force" and hasattr(lock, "force"):
            lock.force()
            return "ok"
        if verb == "locked" and hasattr(lock, "locked"):
            return f"ok {int(lock.locked())}"
        return "error unsupported"


def repl(library, server):
    actors = {}
    for line in sys.stdin:
        name, *words = line.split()
        if name not in actors:
            actors[name] = Actor(library, server, name)
        actors[name].lines.put(words)
    os._exit(0)  # those who wait go on waiting


# ---- loop ----

class Loop:
    """Threads that contend."""

    def __init__(self, library, server, settings):
        self.library, self.server = library, server
        self.how = dict(word.split("=", 1) for word in settings)
        self.mutex = threading.Lock()
        self.counts = {"grants": 0, "violations": 0, "refused": 0}
        self.log = open(self.how["log"], "w", encoding="ascii")
        self.mark = os.path.join(self.how["witness"], "w")

    def number(self, key, otherwise):
        return int(self.how.get(key, otherwise))

    def count(self, what):
        with self.mutex:
            self.counts[what] += 1

    def enter(self):
        """Whether nobody else is inside. All grants are exclusive."""
        try:
            os.close(os.open(self.mark, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        except FileExistsError:
            return False
        return True

    def turn(self, lock, index):
        asked = time.monotonic_ns()
        if not lock.take(self.number("wait_ms", -1),
                         self.number("lease_ms", 0)):
            self.count("refused")
            return
        got = time.monotonic_ns()
        if not self.enter():
            self.count("violations")
        time.sleep(self.number("hold_us", 0) / 1e6)
        if os.path.exists(self.mark):
            os.unlink(self.mark)
        gave = time.monotonic_ns()
        with self.mutex:
            self.log.write(f"exclusive {asked} {got} {gave} 0 {index}\n")
        self.count("grants")
        lock.give()

    def contend(self, index, end):
        lock = self.library(self.server, self.how["name"])
        while time.monotonic_ns() < end:
            try:
                self.turn(lock, index)
            except (redis.RedisError, redis_lock.NotAcquired):
                self.count("refused")
            time.sleep(random.random() * self.number("pause_us", 0) / 1e6)

    def run(self):
        if not sys.stdin.readline():
            return 2
        end = time.monotonic_ns() + self.number("seconds", 5) * 10 ** 9
        threads = [threading.Thread(target=self.contend, args=(i, end))
                   for i in range(self.number("threads", 1))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.log.close()
        say("done", *self.counts.values())
        return 0


def main():
    name, mode, url, *settings = sys.argv[1:]
    library = LIBRARIES[name]
    server = connect(url)
    server.ping()
    say("ready")
    if mode == "repl":
        return repl(library, server)
    return Loop(library, server, settings).run()


if __name__ == "__main__":
    sys.exit(main())
