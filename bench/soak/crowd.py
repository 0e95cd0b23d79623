"""64 writers at once: each process writes under keys of its own, and reports what was
acknowledged.
"""

from __future__ import annotations

import os
import random
from functools import partial
from typing import Final

from bench.soak.checking import check
from bench.soak.stage import Outcome, Stage, Subject
from bench.soak.writers import WRITERS, make_repository

PROCESSES: Final = 64
_ACTS: Final = 2
"""Of each process. Of two upkeeps at once the second is refused, which is no problem."""


def play(stage: Stage, dice: random.Random, number: int) -> Outcome:
    """64 processes that write twice each."""
    outcome = Outcome()
    stage.reset(stage.template("repository", partial(make_repository, stage)))
    plans = [[dice.randrange(len(WRITERS)) for _ in range(_ACTS)] for _ in range(PROCESSES)]
    # written by one process, a line each: what is shorter than PIPE_BUF is not mixed
    log = stage.folder / "crowd"
    log.write_text("", "utf-8")
    children = [
        _forked(partial(_act, stage, f"w{number}p{process}", plan, str(log)))
        for process, plan in enumerate(plans)
    ]
    for child in children:
        _, status = os.waitpid(child, 0)
        outcome.expect(status == 0, f"a writer ended with {status}")
    acknowledged = {writer.name: [f"base{writer.name}"] for writer in WRITERS if writer.stored}
    for line in log.read_text("utf-8").splitlines():
        name, key, problem = line.split(" ", 2)
        outcome.done += 1
        if problem:
            outcome.problems.append(f"{name} {key}: {problem}")
        elif name in acknowledged:
            acknowledged[name].append(key)
    outcome.problems += stage.child(partial(check, stage, acknowledged, acknowledged)).answer
    return outcome


def _act(stage: Stage, key: str, plan: list[int], log: str) -> None:
    for turn, index in enumerate(plan):
        writer = WRITERS[index]
        name = f"{key}t{turn}"
        os.environ.pop("SOAK_RAN", None)
        answer = writer.act(stage, name)
        is_refused = not answer.acknowledged and writer.name != "maintain"
        words = f"refused: {answer.text[-500:]}" if is_refused else ""
        problem = "; ".join([*answer.problems, words]).strip("; ").replace("\n", " | ")
        with open(log, "a", encoding="utf-8") as file:  # noqa: PTH123
            file.write(f"{writer.name} {name} {problem}\n")


def _forked(body: partial[None]) -> int:
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        body()
        code = 0
    finally:
        os._exit(code)


SUBJECT: Final = Subject("crowd", "64 processes write at once", "writes", 6_400, play)
