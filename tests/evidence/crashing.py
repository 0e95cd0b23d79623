"""Run in a process of its own: it forks children that capture and import, kills them, and shows
what was acknowledged.

`python -m tests.evidence.crashing kill 40 SEED` and `… together 8 25`, in the repository to work
on. Prints JSON.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from kl_hooks.cli.main import run as kl
from kl_hooks.evidence.capture import close_capture, new_run_id, open_capture
from kl_hooks.evidence.ingestion import sync_evidence
from kl_hooks.evidence.sources.command import run_command
from kl_hooks.git.worktree import WorktreeState
from kl_hooks.model.receipt import Evidence
from kl_hooks.workspace import Workspace, open_workspace

from .making import leave_run

RESULT = {
    "exit": 0,
    "complete": True,
    "how": "finished",
    "verdict": "passed",
    "reasons": [],
    "counts": {"passed": 1},
}
HERE = WorktreeState("1" * 40, "1" * 40)
TESTS = [(f"tests/test_a.py::test_{n}", "passed", n) for n in range(50)]


def capture(ws: Workspace) -> str:
    """One capture of a single fact; its run once it is durable."""
    run = new_run_id()
    fact = Evidence("ExitCode", "command:true", "passed")
    close_capture(
        ws, open_capture(ws, "command", "kl run", HERE, run=run), [fact], RESULT, HERE, HERE
    )
    return run


def tests(ws: Workspace) -> str:
    """One run of tests."""
    return leave_run(ws, TESTS, place=HERE)


def command(ws: Workspace) -> str:
    """One command, as `kl run` runs it."""
    ran = run_command(ws, ["true"])
    assert ran.trouble is None, ran.trouble
    return ran.run


def work(ws: Workspace, acknowledge: int, seed: int) -> NoReturn:
    """Captures and imports until it is killed; each run that is durable is reported through the
    pipe.
    """
    dice = random.Random(seed)
    while True:
        made = dice.choice((capture, capture, tests, command, None, None))
        if made:
            os.write(acknowledge, f"{made(ws)}\n".encode())
        elif dice.random() < 0.3:
            kl(["evidence", "list"])
        else:
            sync_evidence(ws)


def forked(body: Callable[[], object]) -> int:
    """The pid of a child that does this and ends."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        body()
        code = 0
    finally:
        os._exit(code)


def kill_many(folder: Path, count: int, seed: int) -> dict[str, object]:
    """Kills `count` children at random moments; after each kill the next command must work."""
    dice = random.Random(seed)
    reported, acknowledge = os.pipe()
    trouble = []
    for number in range(count):
        ws = open_workspace(folder)
        pid = forked(lambda ws=ws, number=number: work(ws, acknowledge, seed * 1000 + number))
        time.sleep(dice.uniform(0, 0.12) ** 1.3)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        if number % 4 == 0 and (printed := sync_evidence(open_workspace(folder)).trouble):
            trouble.append(printed)
    os.close(acknowledge)
    return {"acknowledged": read_all(reported), "trouble": trouble}


def all_together(folder: Path, writers: int, each: int) -> dict[str, object]:
    """Writers that capture `each` runs, and three that import meanwhile."""
    reported, acknowledge = os.pipe()

    def write() -> None:
        ws = open_workspace(folder)
        for _ in range(each):
            os.write(acknowledge, f"{capture(ws)}\n".encode())

    def ingest() -> None:
        ws = open_workspace(folder)
        for _ in range(each):
            sync_evidence(ws)

    children = [forked(write) for _ in range(writers)] + [forked(ingest) for _ in range(3)]
    codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children]
    os.close(acknowledge)
    return {"acknowledged": read_all(reported), "codes": codes}


def read_all(handle: int) -> list[str]:
    """The lines of a pipe that nobody writes to any more."""
    with os.fdopen(handle) as file:
        return file.read().split()


if __name__ == "__main__":
    what, first, second = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    print(json.dumps((kill_many if what == "kill" else all_together)(Path.cwd(), first, second)))
