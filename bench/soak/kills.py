"""SIGKILL of every writer: before a random call of the file system, or at a random moment."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import defaultdict
from functools import partial
from typing import Final

from bench.soak.checking import check, next_command
from bench.soak.preload import CHANGES, Action
from bench.soak.stage import Child, Outcome, Stage, Subject
from bench.soak.writers import (
    WRITERS,
    Answer,
    Writer,
    by_name,
    make_old_repository,
    make_repository,
    state_folders,
)

KILLS: Final = 24
"""Kills in one copy of the repository."""
_LONGEST: Final = 0.25
"""Seconds until the latest kill by the clock; most acts take less."""
_CALLS: Final = 160
"""More than the calls of most acts: some kills come too late, which is a case, too."""


def play(stage: Stage, dice: random.Random, number: int) -> Outcome:
    """Kill writers one after the other in one repository; the last ones of pytest-xdist."""
    if number % 8 == 7:
        return _kill_migrations(stage, dice)
    outcome = Outcome()
    stage.reset(stage.template("repository", partial(make_repository, stage)))
    ran = stage.folder / "ran"
    ran.unlink(missing_ok=True)
    os.environ["SOAK_RAN"] = str(ran)
    acknowledged: dict[str, set[str]] = defaultdict(set)
    attempted: dict[str, set[str]] = defaultdict(set)
    for kill in stage.cases(KILLS):
        writer, key = dice.choice(WRITERS), f"k{number}n{kill}"
        child = _killed(stage, dice, writer, key)
        outcome.done += child.killed
        attempted[writer.name].add(key)
        if child.answer:
            outcome.problems += child.answer.problems
            if child.answer.acknowledged and writer.stored:
                acknowledged[writer.name].add(key)
        if kill % 3 == 0:
            outcome.problems += stage.child(partial(next_command, stage, number + kill)).answer
    if number % 4 == 0:
        outcome.done += _kill_xdist(stage, dice, f"x{number}")
        attempted["pytest"].add(f"x{number}")
    outcome.problems += stage.child(partial(check, stage, acknowledged, attempted, ran)).answer
    return outcome


def _killed(stage: Stage, dice: random.Random, writer: Writer, key: str) -> Child:
    """One act that is killed; where it was faster, its answer."""
    if dice.random() < 0.3:
        return stage.child(
            partial(writer.act, stage, key), kill_after=dice.uniform(0, _LONGEST) ** 1.2
        )
    at, torn = dice.randrange(1, _CALLS), dice.random() < 0.3

    def act() -> Answer:
        stage.faults.watch(*state_folders(stage.repo))
        stage.faults.arm(CHANGES, at, 0, Action.KILL_TORN if torn else Action.KILL)
        answer = writer.act(stage, key)
        stage.faults.disarm()
        return answer

    return stage.child(act)


def _kill_xdist(stage: Stage, dice: random.Random, key: str) -> int:
    """Kill a run of pytest-xdist with its workers at a random moment; how many were killed."""
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "-p", "xdist"]
    command += ["-p", "pytest_kl.plugin", "-p", "no:cacheprovider"]
    variables = {"SOAK_KEY": key, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    process = subprocess.Popen(
        command,
        cwd=stage.repo,
        env={**os.environ, **variables},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    time.sleep(dice.uniform(0.5, 2.5))
    os.killpg(process.pid, signal.SIGKILL)
    return process.wait() == -signal.SIGKILL


def _kill_migrations(stage: Stage, dice: random.Random) -> Outcome:
    """Kill what brings a store of an early kl up to date; the next one ends it."""
    outcome = Outcome()
    template = stage.template("old", partial(make_old_repository, stage))
    for _ in stage.cases(KILLS):
        stage.reset(template)
        child = _killed(stage, dice, by_name("ingest"), "")
        outcome.done += child.killed
        keys = {"run": {"waiting"}}
        outcome.problems += stage.child(partial(check, stage, keys, {})).answer
    return outcome


SUBJECT: Final = Subject(
    "kills",
    "SIGKILL of every writer before a random call, or at a random moment",
    "kills",
    10_000,
    play,
)
