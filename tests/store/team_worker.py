"""One machine of a team, in a process of its own: threads that each record runs and events, and
import them.

`python -m tests.store.team_worker WRITERS RUNS`, in a clone. Prints what each thread knows to be
stored, as JSON.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from pathlib import Path

from kl_hooks.errors import EnvironmentProblem
from kl_hooks.evidence.ingestion import sync_evidence
from kl_hooks.git.worktree import WorktreeState
from kl_hooks.records.events import Event, append_events
from kl_hooks.workspace import open_workspace
from tests.evidence.making import leave_run

HERE = WorktreeState("1" * 40, "1" * 40)


def write(writer: str, runs: int) -> None:
    base = open_workspace(Path.cwd())
    known: dict[str, list[object]] = {"runs": [], "stored": []}
    for number in range(runs):
        name = leave_run(
            base, [(f"test_{writer}.py::test_{n}", "passed", n) for n in range(20)], place=HERE
        )
        known["runs"].append(name)
        end = time.monotonic() + 60
        while (base.state.spool / f"{name}.jsonl").exists() or any(
            base.state.spool.glob(f"*{name}*")
        ):
            ws = open_workspace(
                Path.cwd(), environ={"KL_LOCK_WAIT": "20", "HOME": str(Path.home())}
            )
            sync_evidence(ws)
            ws.store.server.close()
            assert time.monotonic() < end, "the server did not come back"
        ws = open_workspace(Path.cwd())
        try:
            append_events(ws, [Event("counted", "x", writer, {"n": number})])
            known["stored"].append(number)
        except EnvironmentProblem:
            pass
        ws.store.server.close()
    print(json.dumps({"writer": writer, **known}), flush=True)


def main() -> None:
    writers, runs = map(int, sys.argv[1:])
    threads = [
        threading.Thread(target=write, args=(f"{Path.cwd().name}-{n}", runs))
        for n in range(writers)
    ]
    for one in threads:
        one.start()
    for one in threads:
        one.join()


if __name__ == "__main__":
    main()
