"""The wall clock jumps between any two commands, by seconds or by decades, in both directions."""

from __future__ import annotations

import random
from functools import partial
from typing import Any, Final

from bench.soak.checking import check, next_command
from bench.soak.stage import Outcome, Stage, Subject, complaints
from bench.soak.writers import MODULE, WRITERS, Answer, Writer, make_repository, run_tests
from tests.support import Done

JUMPS: Final = 10
"""Commands in one repository, each at another time."""
_SECOND: Final = 1_000_000
_SPANS: Final = (1, 3600, 86_400, 86_400 * 400, 86_400 * 365 * 40)
"""Seconds of the furthest jump, of which one is drawn."""


def play(stage: Stage, dice: random.Random, number: int) -> Outcome:
    """Writers at random times; then a red run, which must count, and a green one."""
    outcome = Outcome()
    stage.reset(stage.template("repository", partial(make_repository, stage)))
    acknowledged = {writer.name: [f"base{writer.name}"] for writer in WRITERS if writer.stored}
    writers = [
        writer for writer in WRITERS if writer.name in ("run", "pytest", "decision", "junit")
    ]
    for jump in stage.cases(JUMPS):
        writer, key = dice.choice(writers), f"t{number}n{jump}"
        answer = stage.child(partial(_at, stage, _moment(dice), partial(_act, stage, writer, key)))
        outcome.done += 1
        outcome.problems += answer.answer.problems
        if answer.answer.acknowledged:
            acknowledged[writer.name].append(key)
    outcome.problems += _judge(stage, dice, "red", "    return -1\n", 1)
    outcome.problems += _judge(stage, dice, "green", MODULE.partition("\n")[2], 0)
    outcome.done += 4
    # what has an end of its own may be past it: only evidence and files are checked
    durable = {name: acknowledged[name] for name in ("run", "pytest", "decision", "junit")}
    outcome.problems += stage.child(partial(check, stage, durable, durable)).answer
    outcome.problems += stage.child(
        partial(_at, stage, _moment(dice), partial(next_command, stage, number))
    ).answer
    return outcome


def _moment(dice: random.Random) -> int:
    """Microseconds by which the clock is moved."""
    span = dice.choice(_SPANS)
    return dice.randint(-span, span) * _SECOND


def _at(stage: Stage, moment: int, act: partial[Any]) -> Any:
    stage.faults.move_clock(moment)
    try:
        return act()
    finally:
        stage.faults.move_clock(0)


def _act(stage: Stage, writer: Writer, key: str) -> Answer:
    return writer.act(stage, key)


def _judge(stage: Stage, dice: random.Random, key: str, body: str, code: int) -> list[str]:
    """Change the module, run its tests at one time, ask for a verdict at another."""
    (stage.repo / "shop.py").write_text(f"def total(prices):\n{body}# {key}\n", "utf-8")
    # run_tests forks: the library's clock is inherited
    stage.faults.move_clock(_moment(dice))
    answer = run_tests(stage, key, code)
    stage.faults.move_clock(0)
    problems = list(answer.problems)
    moment = _moment(dice)
    done: Done = stage.child(partial(_at, stage, moment, partial(stage.kl, "verify"))).answer
    problems += complaints(done, ("verify",))
    if code and done.returncode == 0:
        problems.append(f"false proven after a red run: {done.stdout}")
    if not code and done.returncode != 0:
        problems.append(f"a green run does not count at {moment}: {done.stdout}")
    return problems


SUBJECT: Final = Subject("clock", "the wall clock jumps between commands", "jumps", 1_000, play)
