"""Past commits: words of messages to files by their names of today, asked of git once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kl_hooks.git.commits import ancestors, touched_files
from kl_hooks.git.repository import find_repository
from kl_hooks.index.history import (
    Change,
    MemoryHistory,
    PastCommit,
    StoredHistory,
    message_terms,
    store_history,
    stored_head,
    unknown_commits,
)
from kl_hooks.index.plugin import kl_schema
from kl_hooks.store.sqlite import SqliteDatabase, open_sqlite
from kl_hooks.store.store import migrate
from tests.git.repos import commit, sh, write


@pytest.fixture
def db(tmp_path: Path) -> Iterator[SqliteDatabase]:
    database = open_sqlite(tmp_path / "graph.db", write=True)
    migrate(database, kl_schema(), tmp_path / "graph.db", None)
    yield database
    database.close()


def past(sha: str, message: str, *changes: Change) -> PastCommit:
    return PastCommit(sha, 1_000_000, message_terms(message), changes)


def test_renames_are_followed_to_the_name_of_today() -> None:
    history = MemoryHistory(
        [
            past("c3", "newest", Change("c.py")),
            past("c2", "moved again", Change("c.py", "b.py")),
            past("c1", "moved", Change("b.py", "a.py"), Change("other.py")),
            past("c0", "oldest", Change("a.py")),
        ]
    )
    assert history.files == [("c.py",), ("c.py",), ("c.py", "other.py"), ("c.py",)]


def test_a_name_that_was_used_again_is_another_file() -> None:
    history = MemoryHistory(
        [
            past("c2", "a new one", Change("a.py")),
            past("c1", "moved", Change("b.py", "a.py")),
            past("c0", "the old one", Change("a.py")),
        ]
    )
    assert history.files == [("a.py",), ("b.py",), ("b.py",)]


def test_trailers_and_addresses_are_no_words_of_a_message() -> None:
    terms = message_terms(
        "Round totals\n\nSee https://example.org/x\nCo-authored-by: Ada <a@example.org>\n"
    )
    assert terms == {"round": 1, "total": 1, "see": 1}


def test_what_is_stored_is_the_history(db: SqliteDatabase) -> None:
    commits = [
        past("c1", "Round totals totals", Change("a.py")),
        past("c0", "Round carts", Change("b.py")),
    ]
    assert stored_head(db, ".py") == ""
    assert unknown_commits(db, ".py", ["c1", "c0"]) == ["c1", "c0"]
    with db.transaction():
        store_history(db, "c1", ".py", ["c1", "c0"], commits)
    stored, memory = StoredHistory(db), MemoryHistory(commits)
    assert stored_head(db, ".py") == "c1"
    assert not unknown_commits(db, ".py", ["c1", "c0"])
    assert (
        stored.find(["round", "total"])
        == memory.find(["round", "total"])
        == {
            "round": [(0, 1), (1, 1)],
            "total": [(0, 2)],
        }
    )
    assert [tuple(some) for some in stored.files] == memory.files
    with db.transaction():  # another branch: what is recorded of its commits is not asked again
        store_history(db, "c0", ".py", ["c0"], [])
    assert StoredHistory(db).find(["round"]) == {"round": [(0, 1)]}


def test_git_is_asked_for_source_and_renames(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": "x = 1\n" * 20, "note.txt": "1\n"})
    sh(tmp_path, "init", "-q")
    commit(tmp_path, "First")
    sh(tmp_path, "mv", "a.py", "b c.py")
    commit(tmp_path, "Move it\n\nbecause")
    repo = find_repository(tmp_path)
    assert repo is not None
    shas = ancestors(repo, 10)
    assert ancestors(repo, 1) == shas[:1]
    found = touched_files(repo, shas, (".py",))
    assert [(one.message.strip(), one.changes) for one in found] == [
        ("Move it\n\nbecause", (("b c.py", "a.py"),)),
        ("First", (("a.py", ""),)),
    ]


def test_no_commit_no_history(tmp_path: Path) -> None:
    sh(tmp_path, "init", "-q")
    repo = find_repository(tmp_path)
    assert repo is not None
    assert ancestors(repo, 10) == []
    assert touched_files(repo, [], (".py",)) == []
