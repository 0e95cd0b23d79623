"""The n-th call of a kind fails: every n for writers, sampled ones for commands that read."""

from __future__ import annotations

import random
from errno import EDQUOT, EIO, EMFILE, ENOLCK, ENOSPC, EROFS, errorcode
from functools import partial
from typing import Any, Final, NamedTuple

from bench.soak.checking import COMMANDS, check, next_command
from bench.soak.preload import Action, Call
from bench.soak.stage import Outcome, Stage, Subject, complaints
from bench.soak.writers import WRITERS, Answer, Writer, make_repository, state_folders

ERRORS: Final = {
    Call.OPEN: (EIO, ENOSPC, EROFS, EMFILE, EDQUOT),
    Call.WRITE: (EIO, ENOSPC, EROFS, EDQUOT),
    Call.SYNC: (EIO, ENOSPC, EDQUOT),
    Call.RENAME: (EIO, ENOSPC, EROFS, EDQUOT),
    Call.UNLINK: (EIO, EROFS),
    Call.MKDIR: (EIO, ENOSPC, EROFS, EDQUOT),
    Call.TRUNCATE: (EIO, EROFS),
    Call.LOCK: (ENOLCK, EIO),
    Call.READ: (EIO,),
}
"""Kind of call → how it may fail."""
_SAMPLES: Final = 12
"""Failing calls of a command that reads, in one round."""
_MOST: Final = 400
"""A writer of which more calls of a kind were counted would never end: a loop."""


class Failure(NamedTuple):
    """What one act did whose call failed."""

    answer: Answer
    counted: int
    fired: int


def play(stage: Stage, dice: random.Random, number: int) -> Outcome:
    """A kind of call of one writer, each n; or samples of a command that reads."""
    kinds = list(ERRORS)
    kind = kinds[number % len(kinds)]
    place = number // len(kinds) % (len(WRITERS) + len(COMMANDS))
    if place >= len(WRITERS):
        return _play_reader(stage, dice, kind, place - len(WRITERS))
    return _play_writer(stage, dice, kind, WRITERS[place])


def _play_writer(stage: Stage, dice: random.Random, kind: Call, writer: Writer) -> Outcome:
    outcome = Outcome()
    template = stage.template("repository", partial(make_repository, stage))
    for at in range(1, _MOST, stage.share):
        errno, always = dice.choice(ERRORS[kind]), dice.random() < 0.5
        is_short = kind is Call.WRITE and dice.random() < 0.3
        action = Action.FAIL_SHORT if is_short else Action.FAIL
        stage.reset(template)
        key = f"c{at}"
        failure = _failing(stage, partial(writer.act, stage, key), kind, at, errno, action, always)
        if failure.fired == 0:
            break
        outcome.done += 1
        acknowledged = {writer.name: [f"base{writer.name}"] for writer in WRITERS if writer.stored}
        if failure.answer.acknowledged and writer.stored:
            acknowledged[writer.name].append(key)
        problems = [*failure.answer.problems]
        problems += stage.child(partial(next_command, stage, at)).answer
        problems += stage.child(partial(check, stage, acknowledged, {writer.name: [key]})).answer
        words = f"{writer.name}, {kind.name} {at} {errorcode[errno]}, {action.name}, {always}: "
        outcome.problems += [words + problem for problem in problems]
    return outcome


def _play_reader(stage: Stage, dice: random.Random, kind: Call, place: int) -> Outcome:
    outcome = Outcome()
    command = COMMANDS[place]
    stage.reset(stage.template("repository", partial(make_repository, stage)))

    def read() -> Answer:
        return Answer(False, complaints(stage.kl(*command), command), "")

    count = max(1, _failing(stage, read, kind, 0, EIO, Action.FAIL, False).counted)
    for _ in stage.cases(_SAMPLES):
        errno, at = dice.choice(ERRORS[kind]), dice.randint(1, count)
        failure = _failing(stage, read, kind, at, errno, Action.FAIL, dice.random() < 0.5)
        outcome.done += failure.fired > 0
        words = f"{' '.join(command)}, {kind.name} {at} {errorcode[errno]}: "
        outcome.problems += [words + problem for problem in failure.answer.problems]
    acknowledged = {writer.name: [f"base{writer.name}"] for writer in WRITERS if writer.stored}
    outcome.problems += stage.child(partial(check, stage, acknowledged, {})).answer
    return outcome


def _failing(
    stage: Stage, act: Any, kind: Call, at: int, errno: int, action: Action, always: bool
) -> Failure:
    def body() -> Failure:
        stage.faults.watch(*state_folders(stage.repo))
        stage.faults.arm(kind, at, errno, action, always)
        answer = act()
        failure = Failure(answer, stage.faults.counted, stage.faults.fired)
        stage.faults.disarm()
        return failure

    failure: Failure = stage.child(body).answer
    return failure


SUBJECT: Final = Subject(
    "calls",
    "the n-th write, fsync, open, rename, unlink, mkdir, truncate, lock or read fails",
    "failures",
    5_000,
    play,
)
