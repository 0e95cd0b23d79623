"""Damaged files: a bit of the store is flipped, the database is rolled back, a journal is cut."""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from bench.soak.checking import next_command
from bench.soak.stage import Outcome, Stage, Subject, complaints
from bench.soak.writers import by_name, import_all, make_failing_repository
from kl_hooks.errors import KlError
from kl_hooks.evidence.commits import COLUMNS
from kl_hooks.evidence.ledger import recent
from kl_hooks.store.sqlite import SqliteDatabase, open_sqlite

FLIPS: Final = 12
"""Bits of one round, each in a repository of its own."""
_HEADER: Final = 100
"""Bytes of a database's header, whose change counters nobody reads."""


def play(stage: Stage, dice: random.Random, number: int) -> Outcome:
    """Flip bits; each fourth round rolls back or cuts instead."""
    template = stage.template("failing", partial(make_failing_repository, stage))
    if number % 4 == 3:
        return _lose_tail(stage, dice, template, number)
    outcome = Outcome()
    for flip in stage.cases(FLIPS):
        stage.reset(template)
        path = _target(stage, dice)
        content = bytearray(path.read_bytes())
        is_database = path.name == "kl.db"
        at = dice.randrange(_HEADER if is_database else 0, len(content))
        bit = 1 << dice.randrange(8)
        before = stage.child(partial(facts, stage)).answer
        content[at] ^= bit
        path.write_bytes(content)
        outcome.done += 1
        place = f"{path.name}, byte {at}, bit {bit}: "
        problems = stage.child(partial(_check, stage, before, flip)).answer
        outcome.problems += [place + problem for problem in problems]
    return outcome


def _target(stage: Stage, dice: random.Random) -> Path:
    """The database; now and then another file of the state."""
    state = stage.repo / ".git" / "kl"
    if dice.random() < 0.85:
        return state / "kl.db"
    others = [path for path in state.rglob("*") if path.is_file() and path.stat().st_size > 0]
    return dice.choice(sorted(others))


def facts(stage: Stage) -> Any:
    """All of the evidence that a later answer may rest on; None where it can't be read."""
    try:
        with closing(open_sqlite(stage.repo / ".git" / "kl" / "kl.db", write=False)) as db:
            return _facts(db)
    except (KlError, sqlite3.Error, ArithmeticError, AssertionError, AttributeError):
        return None
    except (LookupError, TypeError, ValueError):
        return None
    except Exception as problem:
        if type(problem).__module__ != "zlib":
            raise
        return None


def _facts(db: SqliteDatabase) -> Any:
    receipts = [
        (entry.seq, entry.origin, entry.id, entry.receipt.to_dict()) for entry in recent(db, 1000)
    ]
    commits = db.rows(f"SELECT {COLUMNS} FROM commit_log ORDER BY sha")
    subjects = db.rows("SELECT receipt, position, subject FROM evidence ORDER BY receipt, position")
    runs = db.rows("SELECT seq, run, parent, source, tree, ended FROM receipt ORDER BY seq")
    return repr((receipts, commits, subjects, runs))


def _check(stage: Stage, before: Any, number: int) -> list[str]:
    """What is wrong after the damage, in this child: an edit that is not found, a false proof."""
    is_changed = facts(stage) != before
    verified = stage.kl("evidence", "verify")
    problems = complaints(verified, ("evidence", "verify"))
    if is_changed and verified.returncode == 0:
        problems.append("evidence was changed, and evidence verify finds it intact")
    gate = stage.kl("verify")
    problems += complaints(gate, ("verify",))
    if gate.returncode == 0:
        problems.append(f"false proven: {gate.stdout}")
    # damage may be reported by any command, but as a message
    problems += [text for text in next_command(stage, number) if "after it" not in text]
    return problems


def _lose_tail(stage: Stage, dice: random.Random, template: Path, number: int) -> Outcome:
    """The newest receipts are lost: an older copy, or a journal that is cut."""
    outcome = Outcome()
    for turn in stage.cases(FLIPS // 2):
        stage.reset(template)
        way: Callable[[], bool] = dice.choice(
            [partial(_roll_back, stage, dice), partial(_cut_log, stage, dice)]
        )
        is_lost = stage.child(way).answer
        outcome.done += 1
        verified = stage.child(partial(stage.kl, "evidence", "verify")).answer
        problems = complaints(verified, ("evidence", "verify"))
        if is_lost and verified.returncode == 0:
            problems.append("receipts were lost, and evidence verify finds none missing")
        gate = stage.child(partial(stage.kl, "verify")).answer
        problems += complaints(gate, ("verify",))
        if gate.returncode == 0:
            problems.append(f"false proven: {gate.stdout}")
        words = f"{getattr(way, 'func').__name__} {turn} of round {number}: "  # noqa: B009
        outcome.problems += [words + problem for problem in problems]
    return outcome


def _roll_back(stage: Stage, dice: random.Random) -> bool:
    """Record more, then put the older database back."""
    database = stage.repo / ".git" / "kl" / "kl.db"
    older = stage.folder / "older.db"
    shutil.copy(database, older)
    for turn in range(dice.randint(1, 3)):
        by_name("run").act(stage, f"tail{turn}")
        import_all(stage)
    shutil.copy(older, database)
    return True


def _cut_log(stage: Stage, dice: random.Random) -> bool:
    """Record in a write-ahead log, then cut it at random; whether receipts are lost."""
    database = stage.repo / ".git" / "kl" / "kl.db"
    log = database.with_name("kl.db-wal")
    with closing(sqlite3.connect(database, isolation_level=None)) as holder:
        holder.execute("PRAGMA journal_mode = WAL")
        holder.execute("PRAGMA wal_autocheckpoint = 0")
        count = holder.execute("SELECT COUNT(*) FROM receipt").fetchone()[0]
        # an open reader: nobody checkpoints and deletes the log
        with _with_log():
            for turn in range(dice.randint(1, 3)):
                by_name("run").act(stage, f"tail{turn}")
                import_all(stage)
        whole = holder.execute("SELECT COUNT(*) FROM receipt").fetchone()[0]
        content, pages = log.read_bytes(), database.read_bytes()
    database.write_bytes(pages)
    log.write_bytes(content[: dice.randrange(len(content) + 1)])
    database.with_name("kl.db-shm").unlink(missing_ok=True)
    with closing(sqlite3.connect(f"file:{database}?mode=rw", uri=True)) as raw:
        left = raw.execute("SELECT COUNT(*) FROM receipt").fetchone()[0]
    return bool(count <= left < whole)


@contextmanager
def _with_log() -> Iterator[None]:
    """Let kl write with a log, as it does on newer versions of SQLite."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kl_hooks.store.sqlite._wal_is_safe", lambda _: True)
        yield


SUBJECT: Final = Subject(
    "damage",
    "bits flipped, the database rolled back, its log cut",
    "damages",
    1_000,
    play,
)
