"""Past commits as an index from words of messages to the files they touched, under the names these
have today.

What a commit touched never changes, so git is asked about each commit once (ADR-0028). What follows
from all of them together, the names of today and the postings of the words, is made again when HEAD
is another commit.
"""

from __future__ import annotations

import json
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Protocol

from kl_hooks.index.postings import text_terms
from kl_hooks.model.definitions import NamedTuple, lazy_pattern
from kl_hooks.store.database import Rows, chunks, placeholders

MOST: Final = 3000
"""Commits that count, the newest: what is older is about other code."""
LISTED: Final = 2 * MOST
"""Commits that are looked at to find so many: others touch no source, or too much of it."""
MOST_FILES: Final = 12
"""A commit that touches more files (a mass rename, a new formatter) is no sign of any one."""
_TRAILER: Final = lazy_pattern(
    r"(?m)^[A-Z][A-Za-z-]+(?:-by|-Id|-id): .*$|^\(cherry picked from .*$|https?://\S+"
)


class Change(NamedTuple):
    """What a commit did to a file."""

    path: str
    """After the commit."""
    old: str = ""
    """Before it, where it was renamed."""


class PastCommit(NamedTuple):
    """A commit, its message as words."""

    sha: str
    time: int
    """Author's, seconds since 1970."""
    terms: Mapping[str, int]
    """Term of the message → how often."""
    changes: tuple[Change, ...]


def message_terms(message: str) -> dict[str, int]:
    """The terms of a commit message, without trailers and addresses."""
    return dict(Counter(text_terms(_TRAILER.sub("", message)[:20_000])))


class History(Protocol):
    """Past commits, newest first, numbered from 0."""

    @property
    def times(self) -> Sequence[int]: ...

    @property
    def lengths(self) -> Sequence[tuple[int, int]]:
        """Terms of each message: all, distinct."""
        ...

    @property
    def files(self) -> Sequence[Sequence[str]]:
        """The files that each touched, under their names of today; some may not exist any more."""
        ...

    def find(self, terms: Iterable[str]) -> dict[str, list[tuple[int, int]]]:
        """Term → (commit, how often), of those that are in any message."""
        ...


class MemoryHistory:
    """The history that some commits, newest first, are."""

    def __init__(self, commits: Sequence[PastCommit], most: int = MOST) -> None:
        self.times: list[int] = []
        self.lengths: list[tuple[int, int]] = []
        self.files: list[tuple[str, ...]] = []
        self.postings: dict[str, list[tuple[int, int]]] = {}
        today: dict[str, str] = {}
        for commit in commits:
            files = tuple(
                dict.fromkeys(today.get(change.path, change.path) for change in commit.changes)
            )
            for change in commit.changes:
                if change.old:
                    # newest first: older commits than this one know the file by its old name
                    today[change.old] = today.get(change.path, change.path)
            if not files or len(files) > MOST_FILES * 4:
                continue
            if len(self.times) == most:
                break
            for term in sorted(commit.terms):
                self.postings.setdefault(term, []).append((len(self.times), commit.terms[term]))
            self.times.append(commit.time)
            self.lengths.append((sum(commit.terms.values()), len(commit.terms)))
            self.files.append(files)

    def find(self, terms: Iterable[str]) -> dict[str, list[tuple[int, int]]]:
        """As `History.find`."""
        return {term: self.postings[term] for term in terms if term in self.postings}


class StoredHistory:
    """The history in the database: of all commits what is small, and the postings of the terms that
    are asked for.
    """

    def __init__(self, db: Rows) -> None:
        self._db = db
        rows = db.rows("SELECT packed FROM source_history")
        self.times, self.lengths, self.files = _unpacked(rows[0][0]) if rows else ([], [], [])

    def find(self, terms: Iterable[str]) -> dict[str, list[tuple[int, int]]]:
        """As `History.find`."""
        commits_by_term: dict[str, list[tuple[int, int]]] = {}
        for batch in chunks(sorted(set(terms))):
            marks = placeholders(batch)
            sql = f"SELECT term, commits FROM source_history_terms WHERE term IN ({marks})"
            for term, commits in self._db.rows(sql, batch):
                numbers = [*map(int, commits.split())]
                commits_by_term[term] = list(zip(numbers[::2], numbers[1::2], strict=True))
        return commits_by_term


def stored_head(db: Rows, ends: str) -> str:
    """The commit that the stored history is of; empty: there is none in which files of these names
    count as source.

    `ends`: the ends of the names, between spaces.
    """
    rows = db.rows("SELECT head FROM source_history WHERE ends = ?", (ends,))
    if not rows:
        return ""
    return str(rows[0][0])


def unknown_commits(db: Rows, ends: str, shas: Sequence[str]) -> list[str]:
    """Those of these commits that git has not been asked about, in their order. `ends`: as in
    `stored_head`.
    """
    stored = {sha for (sha,) in db.rows("SELECT sha FROM source_commits WHERE ends = ?", (ends,))}
    return [sha for sha in shas if sha not in stored]


def store_history(
    db: Rows, head: str, ends: str, shas: Sequence[str], new: Iterable[PastCommit]
) -> None:
    """Store what new commits touched, and the history of `shas`, newest first. Inside one
    transaction. `ends`: as in `stored_head`.
    """
    rows = (
        (
            one.sha,
            one.time,
            json.dumps(one.terms, ensure_ascii=False),
            json.dumps(one.changes),
            ends,
        )
        for one in new
    )
    db.many(
        "INSERT OR REPLACE INTO source_commits (sha, time, terms, changes, ends)"
        " VALUES (?, ?, ?, ?, ?)",
        rows,
    )
    stored = {
        row[0]: row
        for row in db.rows(
            "SELECT sha, time, terms, changes FROM source_commits WHERE ends = ?", (ends,)
        )
    }
    history = MemoryHistory([_commit(stored[sha]) for sha in shas if sha in stored])
    db.execute("DELETE FROM source_history")
    db.execute("DELETE FROM source_history_terms")
    texts = (
        (term, " ".join(f"{a} {b}" for a, b in history.postings[term]))
        for term in sorted(history.postings)
    )
    db.many("INSERT INTO source_history_terms (term, commits) VALUES (?, ?)", texts)
    db.execute(
        "INSERT INTO source_history (head, ends, packed) VALUES (?, ?, ?)",
        (head, ends, _packed(history)),
    )
    if len(stored) > 3 * LISTED:  # commits of other branches stay until there are many of them
        wanted = set(shas)
        db.many(
            "DELETE FROM source_commits WHERE sha = ?",
            [(sha,) for sha in stored if sha not in wanted],
        )


def _commit(row: tuple[Any, ...]) -> PastCommit:
    sha, time, terms, changes = row
    return PastCommit(
        sha, time, json.loads(terms), tuple(Change(*one) for one in json.loads(changes))
    )


def _packed(history: History) -> bytes:
    paths = sorted({path for files in history.files for path in files})
    numbers = {path: number for number, path in enumerate(paths)}
    files = [[numbers[path] for path in some] for some in history.files]
    whole = [list(history.times), list(history.lengths), paths, files]
    return zlib.compress(json.dumps(whole, separators=(",", ":")).encode())


def _unpacked(packed: bytes) -> tuple[list[int], list[tuple[int, int]], list[list[str]]]:
    times, lengths, paths, files = json.loads(zlib.decompress(packed))
    return times, lengths, [[paths[number] for number in some] for some in files]
