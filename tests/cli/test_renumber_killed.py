"""A renumbering that is killed, at any of its steps, is finished by running it again.

Most steps change nothing on the disk. What a kill leaves is finished once for each different state.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import re
import shutil
import signal
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from types import FrameType
from typing import Any, Final

import pytest

from tests.cli.test_decision import made
from tests.shares import by_steps
from tests.support import Checkout

STEPS: Final = frozenset({"renumber", "renumber_links", "write", "_put"})
"""Functions that are killed before each of their lines."""
FILES: Final = ("kinds/decision/renumber.py", "records/write.py", "records/repository.py")
MOMENT: Final = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+(?:Z|\+00:00)?|\b\d{16,19}\b")
"""A time in a row: all that differs between two runs that were killed at the same step."""
UNREAD: Final = (".db-wal", ".db-shm", ".lock")
"""Of a database, whose rows are read with it; the number of the process that was killed."""
AGENT: Final = {"KL_AGENT": "bot"}


class Killer:
    """Kills this process before the nth line of the steps."""

    def __init__(self, number: int) -> None:
        self._left = number

    def __call__(self, frame: FrameType, event: str, argument: Any) -> Any:
        code = frame.f_code
        if code.co_name in STEPS and code.co_filename.endswith(FILES):
            return self._line
        return None

    def _line(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            self._left -= 1
            if self._left < 0:
                os.kill(os.getpid(), signal.SIGKILL)
        return self._line


def is_killed(repo: Checkout, number: int) -> bool:
    """Renumber the decision in another process, killed before its nth line; return whether it
    was.
    """
    child = os.fork()
    if child == 0:
        sys.settrace(Killer(number))
        repo.kl("decision", "renumber", "ADR-0001")
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


@pytest.fixture
def named(repo: Checkout) -> Checkout:
    """A decision that files, records of the database and a proposed change name."""
    made(repo, "One")
    made(repo, "Two", "--rationale", "as ADR-0001 says")
    repo.write("docs/page.md", "# Page\n\nSee [[ADR-0001]].\n")
    rules = "version: 1\nlayers:\n  - {name: a, paths: [docs/], decision: ADR-0001}\n"
    repo.write(".kl/architecture.yaml", rules)
    for words in (
        ("finding", "new", "Slow", "--entity", "a", "--finding", "slow", "--about", "ADR-0001"),
        ("finding", "new", "Fast", "--entity", "b", "--finding", "fast", "--about", "ADR-0001"),
        ("decision", "edit", "ADR-0001", "--rationale", "faster"),
    ):
        assert repo.kl(*words, env=AGENT).returncode == 0
    repo.commit()
    return repo


def references(repo: Checkout) -> dict[str, Any]:
    """Return what names the decision. AssertionError where anything names the former ID."""
    files = {
        path.relative_to(repo.root).as_posix(): path.read_text("utf-8")
        for path in sorted(repo.root.rglob("*"))
        if path.suffix in (".md", ".yaml")
    }
    assert not [name for name, text in files.items() if "ADR-0001" in name + text]
    found = repo.kl("finding", "list", "--about", "ADR-0003", "--format", "json")
    proposals = repo.kl("knowledge", "proposals", "--format", "json")
    assert repo.kl("knowledge", "check").returncode == 0
    return {
        "files": files,
        "findings": sorted(record["title"] for record in json.loads(found.stdout)["records"]),
        "proposals": [change["record"] for change in json.loads(proposals.stdout)["changes"]],
    }


def state_of(repo: Checkout) -> str:
    """Return a digest of what a kill left: the files by name and content, of databases the rows
    without times. Equal states are finished in the same way.
    """
    digest = hashlib.sha256()
    for path in sorted(path for path in repo.root.rglob("*") if path.is_file()):
        if path.name.endswith(UNREAD):
            continue
        content = path.read_bytes()
        if content.startswith(b"SQLite format 3"):
            with closing(sqlite3.connect(path)) as database:
                content = MOMENT.sub("", "\n".join(database.iterdump())).encode()
        digest.update(f"{path.relative_to(repo.root)}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()


def copied(repo: Checkout, folder: Path) -> Checkout:
    shutil.copytree(repo.root, folder, symlinks=True)
    return Checkout(folder)


@pytest.mark.slow
@pytest.mark.fault(
    "killed process",
    promised="the next run finishes it",
    injected="SIGKILL before each line of a renumbering",
)
@by_steps(4)
def test_a_renumbering_that_is_killed_at_any_step_is_finished_by_the_next(
    named: Checkout, tmp_path: Path, step: int
) -> None:
    whole = copied(named, tmp_path / "whole")
    assert whole.kl("decision", "renumber", "ADR-0001").returncode == 0
    expected = references(whole)
    assert expected["findings"] == ["Fast", "Slow"]
    assert expected["proposals"] == ["ADR-0003"]
    finished = set[str]()
    for number in itertools.count(0, step):
        repo = copied(named, tmp_path / str(number))
        if not is_killed(repo, number):
            break
        state = state_of(repo)
        if state in finished:
            shutil.rmtree(repo.root)
            continue
        finished.add(state)
        if list((repo.root / ".kl/knowledge/decisions").glob("ADR-0001*")):
            done = repo.kl("decision", "renumber", "ADR-0001")
            assert done.returncode == 0, (number, done.stderr)
        assert references(repo) == expected, number
        shutil.rmtree(repo.root)
    print(f"{number} steps, {len(finished)} states")
    assert number > len(STEPS) * 5
    assert len(finished) > len(STEPS)
