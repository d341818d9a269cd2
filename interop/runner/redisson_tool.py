# SPDX-License-Identifier: MIT
"""What the command-line tool says of names that Redisson holds."""

import json
import os
import subprocess

from runner.peers import TOP
from runner.process import ANSWER_S
from runner.redisson_ways import LONG_MS, until_waits
from runner.scenario import scenario

TOOL = os.path.join(TOP, "build", "strict", "latchkey")
KINDS = {"lock": "lock", "fair": "lock", "write": "rwlock", "read": "rwlock"}


def start(run, *words):
    return subprocess.Popen([TOOL, "-u", run.server.url, *words], text=True,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE)


def ended(process):
    """Its exit code, what it wrote, and what it said."""
    try:
        out, said = process.communicate(timeout=ANSWER_S)
    except subprocess.TimeoutExpired:
        process.kill()
        out, said = process.communicate()
    return process.returncode, out, said


def _document(run, *words):
    code, out, said = ended(start(run, *words, "--json"))
    run.expect_true(code == 0, f"{words}: {code} {said}")
    return json.loads(out or "{}")


def _owner(run, kind):
    """The holder as the server has it."""
    fields = run.server.command("HKEYS", kind)
    return [field.removesuffix(":write") for field in fields
            if field != "mode"][0]


def _hold_all(run, java):
    for kind in KINDS:
        run.expect(java.ask("a", "lock", kind, kind, 0, 0), "ok*", kind)
    run.expect(java.ask("a", "lock", "lock", "lock", 0, 0), "ok*", "again")
    run.expect(java.ask("a", "set", "permits", "permits", 2), "ok", "permits")
    answer = java.ask("a", "take", "permits", "permits", 1, 0, 0)
    run.expect(answer, "ok*", "permits")
    return answer.split()[-1]


def _expect_holder(run, what, holder, owner, count, mode):
    told = {key: holder.get(key) for key in
            ("library", "owner", "count", "mode", "held_ms", "fence")}
    run.expect_true(told == {"library": "redisson", "owner": owner,
                             "count": count, "mode": mode, "held_ms": None,
                             "fence": None}, f"{what}: {told}")
    run.expect_true(0 < (holder.get("lease_ms") or 0) <= 30000,
                    f"{what}: a lease of {holder.get('lease_ms')} ms")


@scenario("`latchkey who` and `ls` tell of Redisson's holders",
          in_slice=True)
def told(run):
    c, java = run.repl(run.c), run.repl(run.peers["java"])
    permit = _hold_all(run, java)
    listed = {name["name"]: name for name in _document(run, "ls")["names"]}
    run.expect_true(sorted(listed) == sorted([*KINDS, "permits"]),
                    f"ls: {sorted(listed)}")
    for name, kind in {**KINDS, "permits": "semaphore"}.items():
        owner = permit if name == "permits" else _owner(run, name)
        holds = (owner, 2 if name == "lock" else 1,
                 name if kind == "rwlock" else None)
        who, row = _document(run, "who", name), listed.get(name, {})
        run.expect_true(who["kind"] == row.get("kind") == kind
                        and row.get("ours") is False, f"{name}: {row}")
        run.expect_true(len(who["holders"]) == row.get("holder_count") == 1,
                        f"{name}: one holds it")
        _expect_holder(run, f"who {name}", who["holders"][0], *holds)
        if name != "permits":
            _expect_holder(run, f"ls {name}", row["holder"], *holds)

    java.send("w", "lock", "fair", "fair", LONG_MS, 0)
    until_waits(run, java, "fair", "fair")
    c.send("w", "lock", "fair", "fair", LONG_MS, 0)
    until_waits(run, c, "fair", "fair")
    libraries = [w["library"] for w in _document(run, "who", "fair")["waiters"]]
    run.expect_true(libraries == ["latchkey", "redisson"],
                    f"who waits: {libraries}")


@scenario("a command that waits says that Redisson holds the name",
          in_slice=True)
def waiting_line(run):
    java = run.repl(run.peers["java"])
    _hold_all(run, java)
    waiting = {kind: start(run, "lock", *option, "-w", "6s", kind, "--",
                           "true")
               for kind, option in (("lock", ()), ("fair", ("--fair",)),
                                    ("write", ("--exclusive",)),
                                    ("read", ("--exclusive",)))}
    for kind, process in waiting.items():
        code, _, said = ended(process)
        holder = f"held by Redisson's {_owner(run, kind)}, lease "
        lines = said.splitlines()
        run.expect_true(code == 75 and len(lines) == 2
                        and all(holder in line for line in lines),
                        f"{kind}: {code} {said}")
        run.expect_true("waiting for" in said and " for 0" not in said,
                        f"{kind}: {said}")
    for _ in range(2):
        run.expect(java.ask("a", "unlock", "lock", "lock"), "ok", "lock")
    code, _, said = ended(start(run, "lock", "-w", "30s", "lock", "--",
                                "true"))
    run.expect_true(code == 0, f"granted: {code} {said}")
