"""What is known about one thing: a test, a folder of tests, a file. Newest first, each with its receipt."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from kl_hooks.evidence.assertions import asserted
from kl_hooks.evidence.commits import Logged, commit_log
from kl_hooks.evidence.ledger import Entry, recent
from kl_hooks.model.claim import Claim
from kl_hooks.model.receipt import Evidence
from kl_hooks.model.symbol import split_id
from kl_hooks.store.database import Database

LOOK_BACK: Final = 50
"""Runs that are looked at."""
COMMITS: Final = 2000
"""Commits that are looked at."""


@dataclass(frozen=True, slots=True)
class Seen:
    """The newest observation of one subject, and the receipt it stands in."""

    entry: Entry
    evidence: Evidence


@dataclass(frozen=True, slots=True)
class Known:
    """What is known."""

    tests: tuple[Seen, ...]
    """In the order of their subjects."""
    commits: tuple[Logged, ...]
    """Those that touched the file, newest first."""
    claims: tuple[Claim, ...]
    """That somebody asserted about it."""

    def __bool__(self) -> bool:
        return bool(self.tests or self.commits or self.claims)


def known_about(db: Database, name: str, now: int) -> Known:
    """What is known about a test (`tests/test_a.py::test_b`, `test:…`), a file or a folder (`src/`, `file:…`).

    Tests that bear the name, lie in it, or failed in it. `now` in microseconds tells which assertions have expired.
    """
    prefix, bare = split_id(name)
    bare = bare.removeprefix("./").rstrip("/")
    runs = sorted([*recent(db, LOOK_BACK, "pytest"), *recent(db, LOOK_BACK, "junit")], key=lambda e: -e.seq)
    tests = _newest(runs[:LOOK_BACK], bare) if prefix in ("", "test", "file") else {}
    commits = [c for c in commit_log(db, COMMITS) if any(_inside(path, bare) for path in c.files)]
    about = {name, f"{prefix or 'file'}:{bare}", f"test:{bare}"}
    claims = [c for c in asserted(db, now) if c.about in about]
    return Known(tuple(tests[key] for key in sorted(tests)), tuple(commits), tuple(claims))


def _newest(runs: Sequence[Entry], name: str) -> dict[str, Seen]:
    found: dict[str, Seen] = {}
    for entry in runs:
        for evidence in entry.receipt.evidence:
            if evidence.subject not in found and _speaks_of(evidence, name):
                found[evidence.subject] = Seen(entry, evidence)
    return found


def _speaks_of(evidence: Evidence, name: str) -> bool:
    nodeid = evidence.subject.removeprefix("test:")
    return any(_inside(place, name) for place in _places(nodeid)) or evidence.detail.get("path") == name


def _places(nodeid: str) -> Iterator[str]:
    """The id, and what it is a case or a part of."""
    yield nodeid
    test, bracket, _ = nodeid.partition("[")
    if bracket:
        yield test
    while "::" in test:
        test = test.rpartition("::")[0]
        yield test


def _inside(path: str, name: str) -> bool:
    return path == name or path.startswith(f"{name}/")
