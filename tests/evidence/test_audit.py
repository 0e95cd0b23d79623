"""The chain: any edit of what was recorded shows, and so does a store that was set back."""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from kl_hooks.errors import KlError
from kl_hooks.evidence.assertions import add_claim, asserted_claims
from kl_hooks.evidence.commits import COLUMNS
from kl_hooks.evidence.high_water import Marks, read_high_water, write_high_water
from kl_hooks.evidence.ingestion import sync_evidence
from kl_hooks.evidence.integrity import audit
from kl_hooks.evidence.ledger import append, recent
from kl_hooks.evidence.sources.receipts import to_lines
from kl_hooks.sharing.file_import import import_file
from kl_hooks.store.sqlite import SqliteDatabase, open_sqlite
from tests.support import NOW, Checkout, checkout, isolate

from .making import leave_run, tried
from .test_claims import run

WITHIN = "SELECT COUNT(*) FROM {}"


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory, server_url: str) -> Iterator[Checkout]:
    """A store with something of everything in it: 8 receipts. Nobody changes it."""
    patch = pytest.MonkeyPatch()
    folder = tmp_path_factory.mktemp("full")
    isolate(patch, folder / "home", server_url)
    made = checkout(folder / "repo", {"a.py": "A = 1\n"})
    fill(made)
    yield made
    patch.undo()


def fill(repo: Checkout) -> None:
    ws = repo.workspace()
    tests = [(f"tests/test_a.py::test_{n}", "passed", 40 + n) for n in range(30)]
    leave_run(ws, tests)
    sync_evidence(ws)
    bad = ("tests/test_a.py::test_3", "failed", 44)
    leave_run(ws, [*tests, bad], details={bad[0]: {"message": "assert 1 == 2", "path": "a.py"}})
    leave_run(ws, tests[:9], end=False)
    repo.write("b.py", "B = 1\n")
    repo.commit("Second: adds b\n\nBecause of c.\n\nRefs: #12")
    assert repo.kl("run", "--", "sh", "-c", "echo went wrong; exit 3").returncode == 3
    sync_evidence(ws)
    add_claim(ws, "parses UTF-8", "file:a.py", None)
    add_claim(ws, "is quick", "file:b.py", NOW + 10**12)
    line = next(iter(to_lines([run("e7").receipt])))
    assert import_file(ws, "receipts", "r.jsonl", line.encode(), None).new == 1


def facts(db: SqliteDatabase) -> Any:
    """Everything that a later answer may rest on."""
    receipts = [(e.seq, e.origin, e.id, e.receipt.to_dict()) for e in recent(db, 1000)]
    log = db.rows(f"SELECT {COLUMNS} FROM commit_log ORDER BY sha")
    filed = db.rows("SELECT receipt, position, subject FROM evidence ORDER BY receipt, position")
    found = db.rows(
        "SELECT seq, run, parent, source, tree, tree_all, ended FROM receipt ORDER BY seq"
    )
    return (
        receipts,
        log,
        filed,
        found,
        [(*c.reasons, c.text, c.about, c.author) for c in asserted_claims(db, NOW)],
    )


def facts_or_none(db: SqliteDatabase) -> Any:
    try:
        return facts(db)
    except (
        KlError,
        sqlite3.Error,
        ArithmeticError,
        AssertionError,
        AttributeError,
        LookupError,
        TypeError,
        ValueError,
    ):
        return None  # what can't be read is surely changed
    except Exception as problem:
        assert type(problem).__module__ == "zlib", problem
        return None


def problems(repo: Checkout) -> tuple[str, ...]:
    state = repo.workspace().state
    with repo.workspace().store.reading() as db:
        return audit(db, Marks(read_high_water(state.high_water), None)).problems


def the_problems(repo: Checkout) -> str:
    return "\n".join(problems(repo))


def test_an_honest_store_is_intact(full: Checkout) -> None:
    with full.workspace().store.reading() as db:
        assert db is not None
        done = audit(db, Marks(read_high_water(full.workspace().state.high_water), None))
        assert done.problems == ()
        assert (done.receipts, done.head) == db.row(
            "SELECT seq, chain FROM receipt ORDER BY seq DESC LIMIT 1"
        )
        assert {row[0] for row in db.rows("SELECT source FROM receipt")} == {
            "pytest",
            "commits",
            "command",
            "claim",
        }
    assert "checked at receipt" in done.anchors[0]


EDITS = {
    "a header": (
        "UPDATE receipt SET header = replace(header, 'passed', 'failed') WHERE seq = 1",
        "header was edited",
    ),
    "a removed receipt": ("DELETE FROM receipt WHERE seq = 2", "receipts 2 to 2 are missing"),
    "two receipts in another order": (
        "UPDATE receipt SET seq = CASE seq WHEN 2 THEN 301 ELSE 300 END WHERE seq IN (2, 3)",
        "are missing",
    ),
    "an origin": (
        "UPDATE receipt SET origin = 'local' WHERE origin LIKE 'imported%'",
        "chain is broken",
    ),
    "a piece of evidence": (
        "UPDATE evidence SET body = replace(body, '== 2', '== 1')",
        "evidence was edited",
    ),
    "the subject of evidence": ("UPDATE evidence SET subject = 'test:other'", "another subject"),
    "removed evidence": (
        "DELETE FROM evidence WHERE subject LIKE 'command:%'",
        "evidence was edited",
    ),
    "added evidence": (
        "INSERT INTO evidence SELECT receipt, 99, subject, body FROM evidence LIMIT 1",
        "a piece of its evidence is missing",
    ),
    "evidence of no receipt": (
        "INSERT INTO evidence SELECT 99, 0, subject, body FROM evidence LIMIT 1",
        "not there",
    ),
    "other outcomes": (
        "UPDATE receipt SET outcomes = (SELECT outcomes FROM receipt WHERE seq = 3) WHERE seq = 1",
        "receipt 1",
    ),
    "no outcomes": (
        "UPDATE receipt SET outcomes = NULL WHERE seq = 1",
        "receipt 1: its evidence was edited",
    ),
    "the name of a test": (
        "UPDATE test SET nodeid = 'tests/test_z.py::test_z' WHERE id = 3",
        "evidence was edited",
    ),
    "a list of tests": (
        "UPDATE test_list SET tests = (SELECT tests FROM test_list WHERE id = 2) WHERE id = 1",
        "receipt 1",
    ),
    "what a list is known by": (
        "UPDATE test_list SET digest = 'x' WHERE id = 1",
        "list of tests 1 was edited",
    ),
    "a test that is gone": ("DELETE FROM test WHERE id = 3", "can't be read"),
    "a column for searching": ("UPDATE receipt SET tree = 'x' WHERE seq = 2", "a column differs"),
    "a parent": ("UPDATE receipt SET parent = 'x' WHERE seq = 2", "a column differs"),
    "a value of the chain": ("UPDATE receipt SET chain = 'x' WHERE seq = 2", "chain is broken"),
    "a commit's message": (
        "UPDATE commit_log SET body = 'Trust me.' WHERE body <> ''",
        "its commits were edited in the log",
    ),
    "a commit that is gone": (
        "DELETE FROM commit_log WHERE body <> ''",
        "commits were edited in the log",
    ),
    "a commit that never was": (
        (
            "INSERT INTO commit_log SELECT 'f00', tree, '', at, author, subject, body, files, '',"
            " 'x' FROM commit_log"
        ),
        "no receipt names it",
    ),
    "a claim": ("UPDATE claim SET expires = NULL", "not what was asserted"),
    "a claim that is gone": (
        "DELETE FROM claim WHERE about = 'file:a.py'",
        "is not there any more",
    ),
    "a claim that nobody made": (
        (
            "INSERT INTO claim SELECT 'x', 'is perfect', about, author, made_at, expires FROM claim"
            " LIMIT 1"
        ),
        "not what was asserted",
    ),
}


@pytest.mark.parametrize("name", EDITS)
@pytest.mark.fault(
    "damaged file",
    promised="the first changed receipt is named",
    injected="rows are edited behind kl's back",
)
def test_every_edit_is_found_and_named(full: Checkout, name: str) -> None:
    statement, printed = EDITS[name]
    mark = read_high_water(full.workspace().state.high_water)
    with full.workspace().store.writing() as db, tried(db):  # type: ignore[arg-type]
        before = db.row(WITHIN.format("receipt"))
        limit = " LIMIT 1" if name == "a commit that never was" else ""
        db.execute(statement + limit)
        assert printed in "\n".join(audit(db, Marks(mark, None)).problems)
        assert before is not None


def test_an_edit_with_the_chain_made_anew_shows_at_the_mark(full: Checkout) -> None:
    mark = read_high_water(full.workspace().state.high_water)
    with full.workspace().store.writing() as db, tried(db):  # type: ignore[arg-type]
        entries = recent(db, 1000)[::-1]
        for table in ("receipt", "evidence", "commit_log", "claim"):
            db.execute(f"DELETE FROM {table}")
        for entry in entries:
            append(db, [entry.receipt], "local")
        found = audit(db, Marks(mark, None)).problems
    assert any("history was rewritten" in one for one in found)


TABLES = ("receipt", "evidence", "test", "test_list", "commit_log", "claim")


@pytest.mark.local_database
@pytest.mark.slow
def test_a_change_of_any_value_that_matters_is_found(full: Checkout) -> None:
    dice = random.Random(20260)
    mark = read_high_water(full.workspace().state.high_water)
    counted = 0
    with full.workspace().store.writing() as db:
        before = facts(db)
        for _ in range(300):
            table = dice.choice(TABLES)
            columns = [row[1] for row in db.rows(f"PRAGMA table_info({table})")]
            column = dice.choice(columns)
            key, value = dice.choice(db.rows(f"SELECT rowid, {column} FROM {table}"))
            other = altered(dice, value)
            with tried(db):  # type: ignore[arg-type]
                try:
                    db.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (other, key))
                except sqlite3.IntegrityError:
                    continue
                matters = facts_or_none(db) != before
                counted += matters
                assert audit(db, Marks(mark, None)).problems or not matters, (
                    table,
                    column,
                    key,
                    value,
                    other,
                )
    assert counted > 150


def altered(dice: random.Random, value: Any) -> Any:
    if value is None:
        return dice.choice(["x", 1])
    if isinstance(value, int):
        return dice.choice([value + 1, value - 1, None, value + 1000])
    if not value:
        return b"x" if isinstance(value, bytes) else "x"
    at = dice.randrange(len(value))
    if isinstance(value, bytes):
        return dice.choice(
            [value[:at] + bytes([value[at] ^ 1 << dice.randrange(8)]) + value[at + 1 :], value[:at]]
        )
    other = chr(ord(value[at]) ^ 1 << dice.randrange(5))
    return dice.choice(
        [value[:at] + other + value[at + 1 :], value[:at], value[:at] + value[at + 1 :]]
    )


@pytest.mark.local_database
@pytest.mark.slow
@pytest.mark.fault(
    "damaged file",
    promised="what changes a receipt is found",
    injected="random bits of the database are flipped",
)
@pytest.mark.sweep
def test_a_flipped_bit_in_the_file_is_found_where_it_matters(
    full: Checkout, tmp_path: Path
) -> None:
    dice = random.Random(20261)
    mark = read_high_water(full.workspace().state.high_water)
    content = (full.state / "kl.db").read_bytes()
    with open_closing(full.state / "kl.db") as db:
        before = facts(db)
    counted = 0
    for number in range(450):  # much of the file is empty pages
        at = dice.randrange(100, len(content))
        path = tmp_path / f"{number}.db"
        path.write_bytes(
            content[:at] + bytes([content[at] ^ 1 << dice.randrange(8)]) + content[at + 1 :]
        )
        try:
            with open_closing(path) as db:
                matters = facts_or_none(db) != before
                counted += matters
                assert audit(db, Marks(mark, None)).problems or not matters, (number, at)
        except KlError:
            counted += 1  # it states that it is damaged: found
        path.unlink()
    assert counted > 25


def open_closing(path: Path) -> Any:
    return closing(open_sqlite(path, write=False))


@pytest.mark.local_database
@pytest.mark.fault(
    "lost tail",
    promised="the loss is reported",
    injected="the database is removed or emptied",
)
def test_a_store_that_was_removed_or_empty_is_no_empty_store(repo: Checkout) -> None:
    fill(repo)
    had = problems(repo)
    assert had == ()
    number = len(repo.entries())
    (repo.state / "kl.db").rename(repo.state / "elsewhere")
    assert f"this store had {number} receipts on 2027-01-15, now 0" in the_problems(repo)
    (repo.state / "kl.db").touch()
    assert f"this store had {number} receipts on 2027-01-15, now 0" in the_problems(repo)
    done = repo.kl("evidence", "verify")
    assert done.returncode == 1
    assert f"this store had {number} receipts on 2027-01-15, now 1" in done.stdout


@pytest.mark.local_database
@pytest.mark.fault(
    "lost tail",
    promised="the loss is reported until a person accepts it",
    injected="the database is replaced by an older copy",
)
def test_an_older_copy_shows_and_goes_on_to_show_when_more_is_recorded(repo: Checkout) -> None:
    fill(repo)
    older = repo.root.parent / "older.db"
    shutil.copy(repo.state / "kl.db", older)
    number = len(repo.entries())
    leave_run(repo.workspace(), [("a.py::one", "passed", 1)])
    sync_evidence(repo.workspace())
    shutil.copy(older, repo.state / "kl.db")
    assert f"this store had {number + 1} receipts on 2027-01-15, now {number}" in the_problems(repo)
    for n in range(3):
        leave_run(repo.workspace(), [(f"a.py::more{n}", "passed", 1)])
        sync_evidence(repo.workspace())
    found = problems(repo)
    assert len(found) == 1, "the new receipts are in order; that one is lost stays said, once"
    lost = (
        f"this store had {number + 1} receipts on 2027-01-15; not all of them are among its"
        f" {number + 3} now"
    )
    assert lost in found[0]
    done = repo.kl("evidence", "verify")
    assert (done.returncode, lost in done.stdout) == (1, True)
    assert repo.kl("evidence", "accept", "--reason", "an older copy, on purpose").returncode == 0
    assert problems(repo) == ()
    leave_run(repo.workspace(), [("a.py::last", "passed", 1)])
    sync_evidence(repo.workspace())
    assert problems(repo) == ()


@pytest.mark.fault(
    "lost tail",
    promised="the loss is reported",
    injected="the newest rows are deleted",
)
def test_a_cut_tail_shows_although_the_commits_come_back(repo: Checkout) -> None:
    repo.commit("second")
    sync_evidence(repo.workspace())
    repo.edit(
        "DELETE FROM receipt",
        "DELETE FROM evidence",
        "DELETE FROM commit_log",
        "DELETE FROM evidence_cursor",
    )
    done = repo.kl("evidence", "verify")
    assert done.returncode == 1
    assert "this store had 1 receipt on" in done.stdout


@pytest.mark.local_database  # a new clone has no mark of the server
def test_a_missing_mark_shows(repo: Checkout) -> None:
    fill(repo)
    (repo.state / "high-water").unlink()
    assert problems(repo) == ("the high-water mark is missing, although there are receipts",)
    (repo.state / "high-water").write_text("nonsense")
    assert "mark is missing" in the_problems(repo)


@pytest.mark.local_database
@pytest.mark.fault(
    "lost tail",
    promised="the loss is reported, where SQLite itself finds none",
    injected="the log is deleted, or cut at 30 random places",
)
def test_a_cut_or_deleted_write_ahead_log_shows(repo: Checkout, tmp_path: Path) -> None:
    fill(repo)
    number = len(repo.entries())
    path = repo.state / "kl.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as raw:
        assert raw.execute("PRAGMA journal_mode = WAL").fetchone() == ("wal",)
        raw.execute("PRAGMA wal_autocheckpoint = 0")
        db = SqliteDatabase(raw, path, False)
        for n in range(4):
            with db.transaction():
                append(db, [run(f"{n}a").receipt])
        mark = dict(
            zip(
                ("seq", "chain"),
                db.row("SELECT seq, chain FROM receipt ORDER BY seq DESC LIMIT 1") or (),
                strict=True,
            )
        )
        wal = Path(f"{path}-wal").read_bytes()
        whole = path.read_bytes()
    dice = random.Random(7)
    lost = 0
    for name, log in [
        ("all", wal),
        ("none", b""),
        *((f"cut{n}", wal[: dice.randrange(len(wal))]) for n in range(30)),
    ]:
        copy = tmp_path / f"{name}.db"
        copy.write_bytes(whole)
        if log:
            Path(f"{copy}-wal").write_bytes(log)
        with closing(sqlite3.connect(copy, isolation_level=None)) as raw:
            assert raw.execute("PRAGMA integrity_check").fetchone() == ("ok",), (
                "SQLite itself notices nothing"
            )
            found = audit(SqliteDatabase(raw, copy, True), Marks(mark, None)).problems
            have = raw.execute("SELECT COUNT(*) FROM receipt").fetchone()[0]
        assert bool(found) == (have < number + 4), (name, have)
        lost += bool(found)
    assert 15 < lost < 32


def test_what_it_proves_is_reported(full: Checkout) -> None:
    done = full.kl("evidence", "verify")
    assert done.returncode == 0, done.stdout
    assert "chain intact" in done.stdout
    assert "It does not prove that" in done.stdout
    for anchor in ("high-water mark", "commit trailers: none", "CI attestation: none"):
        assert anchor in done.stdout


def test_commits_of_another_clone_are_no_edit(tmp_path: Path, repo: Checkout) -> None:
    fill(full := checkout(tmp_path / "full", {"a.py": "A = 1\n"}))
    lines = "\n".join(to_lines(e.receipt for e in full.entries()[::-1])).encode()
    done = import_file(repo.workspace(), "receipts", "receipts.jsonl", lines, None)
    assert (len(full.entries()), done.problems) == (done.new, ())
    assert problems(repo) == ()
    sync_evidence(repo.workspace())
    foreign = next(
        e
        for e in repo.entries()
        if e.receipt.source == "commits" and e.origin.startswith("imported")
    )
    repo.edit(f"UPDATE commit_log SET receipt = '{foreign.id}'")
    assert "its commits were edited in the log" in the_problems(repo)


def test_the_high_water_mark_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "high-water"
    assert read_high_water(path) is None
    write_high_water(path, {"seq": 900, "chain": "ab"})
    assert read_high_water(path) == {"seq": 900, "chain": "ab"}
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "bytes_", [b"", b"{", b"[]", b'{"seq":"1","chain":"a"}', b'{"seq":1}', b"\xff", b"[" * 100_000]
)
def test_a_broken_mark_is_none(tmp_path: Path, bytes_: bytes) -> None:
    path = tmp_path / "high-water"
    path.write_bytes(bytes_)
    assert read_high_water(path) is None
