"""A team's database in trouble: many machines at once, cut connections, a killed server, secrets,
other people.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kl_hooks.evidence.commits import read_cursor, write_cursor
from kl_hooks.evidence.compaction import compact
from kl_hooks.evidence.executed import store_executed
from kl_hooks.evidence.high_water import read_marks
from kl_hooks.evidence.integrity import audit
from kl_hooks.evidence.ledger import (
    append,
)
from kl_hooks.model.receipt import Evidence, Receipt
from kl_hooks.plugins import manager
from kl_hooks.records.events import Event, insert_events, stored_events
from kl_hooks.store.database import Database
from kl_hooks.store.sqlite import open_sqlite
from kl_hooks.store.store import migrate
from kl_hooks.tiers.entries import Caller, TierEvent, access_counts, tier_events
from kl_hooks.tiers.entries import insert_events as insert_tier_events
from kl_hooks.workspace import _flat
from tests.evidence.making import RECEIPTS, TEXT, tried
from tests.evidence.test_executed import anything
from tests.store.secrets import SHAPES
from tests.support import Checkout, checkout, run
from tests.team_server import TeamServer, opened_repository

from .random_operations import difference, evidence_questions, two_sides

MACHINES, WRITERS, RUNS = 4, 8, 2


def used_by(
    folder: Path, team: TeamServer, *more: str, files: dict[str, str] | None = None
) -> Checkout:
    """A clone that uses the server."""
    made = checkout(folder, files or {"a.py": "x = 1\n"})
    done = made.kl("store", "use", team.url("team"), "--repository", "shop", *more)
    assert done.returncode == 0, done.stderr
    return made


@pytest.mark.slow
@pytest.mark.sweep
def test_32_writers_on_4_machines_lose_double_and_reorder_nothing(
    tmp_path: Path, home: Path, team: TeamServer
) -> None:
    """Connections are cut and the server is killed meanwhile; each machine has its own spool."""
    machines = [
        used_by(tmp_path / f"m{n}", team, *(["--create"] if not n else [])) for n in range(MACHINES)
    ]
    command = [sys.executable, "-m", "tests.store.team_worker", str(WRITERS), str(RUNS)]
    workers = [
        subprocess.Popen(
            command, cwd=one.root, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for one in machines
    ]
    for number in range(6):
        time.sleep(0.4)
        if number == 3:
            team.stop()
            time.sleep(0.3)
            team.start()
        team.sql(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE"
            " 'kl: %'"
        )
    ended = [one.communicate(timeout=100) for one in workers]
    assert [one.returncode for one in workers] == [0] * MACHINES, [err[-2000:] for _, err in ended]
    reports = [json.loads(line) for out, _ in ended for line in out.splitlines()]
    assert len(reports) == MACHINES * WRITERS
    with (ws := machines[0].workspace()).store.reading() as db:
        assert db is not None
        stored = [
            name
            for (name,) in db.rows("SELECT run FROM receipt WHERE source = 'pytest' ORDER BY seq")
        ]
        events = db.rows(
            "SELECT session, body FROM record_event WHERE name = 'counted' ORDER BY seq"
        )
        found = audit(db, read_marks(ws))
    assert sorted(stored) == sorted(name for one in reports for name in one["runs"])
    assert found.problems == ()
    for one in reports:
        numbers = [json.loads(body)["n"] for session, body in events if session == one["writer"]]
        # of one whose answer was lost nobody knows whether it was stored; it is not sent twice
        assert numbers == sorted(set(numbers)) and set(one["stored"]) <= set(numbers)
        places = [stored.index(name) for name in one["runs"]]
        assert places == sorted(places)
    left = [path.name for one in machines for path in (one.state / "spool").iterdir()]
    assert left == []


def test_no_secret_is_in_rows_or_logs_of_the_server(
    tmp_path: Path, home: Path, team: TeamServer
) -> None:
    dice = random.Random(11)
    made = [
        SHAPES[name](dice) for name in ("github", "aws secret", "url password", "jwt", "python")
    ]
    clone = used_by(tmp_path / "one", team, "--create")
    for text, _ in made:
        clone.kl("task", "new", "--title", f"Look at {text}")
        clone.kl("claim", "add", f"It is {text}", "--about", "a.py")
        clone.kl("remember", "note", text)
        clone.kl("run", "--", "echo", text)
        clone.commit(f"With {text}")
    clone.kl("pool", "create", "notes")
    clone.kl("pool", "write", "notes", "all", " ".join(text for text, _ in made))
    assert clone.kl("evidence", "list").returncode == 0
    tables = [
        name
        for (name,) in team.sql(
            "SELECT tablename FROM pg_tables WHERE schemaname = 'kl'", database="team"
        )
    ]
    rows = repr([team.sql(f"SELECT * FROM kl.{name}", database="team") for name in tables])
    assert "Look at" in rows and "Look at" in team.log  # the log has every statement
    for text, secret in made:
        assert secret not in rows and secret not in team.log, text


def test_row_level_security_holds_against_plain_sql(
    tmp_path: Path, home: Path, team: TeamServer
) -> None:
    import psycopg

    clone = used_by(tmp_path / "one", team, "--create", files={"test_a.py": "def test_a(): pass\n"})
    assert clone.kl("run", "--", "true").returncode == 0
    clone.kl("evidence", "list")
    for name in ("mallory", "wendy", "rita"):
        team.sql(
            f"DO $$ BEGIN CREATE ROLE {name} LOGIN; EXCEPTION WHEN duplicate_object THEN NULL;"
            " END $$"
        )
    clone.kl("store", "grant", "wendy", "writer")
    clone.kl("store", "grant", "rita", "reader")
    # mallory is a writer of another repository in the same tables
    other = checkout(tmp_path / "other")
    assert (
        other.kl("store", "use", team.url("team"), "--repository", "other", "--create").returncode
        == 0
    )
    assert other.kl("store", "grant", "mallory", "writer").returncode == 0
    ((shop,),) = team.sql("SELECT id FROM kl.repositories WHERE name = 'shop'", database="team")
    insert = (
        "INSERT INTO kl.claim (id, text, about, author, made_at, repository{}) VALUES ('x', '', '',"
        " '', '', {}{})"
    )

    def attempt(user: str, *statements: str) -> object:
        with psycopg.connect(team.url("team", user), autocommit=True) as connection:
            connection.execute(f"SET kl.repository = '{shop}'")
            connection.execute("SET kl.clone = ''")
            try:
                for one in statements:
                    done = connection.execute(one.encode())
                return done.fetchall() if done.description else done.rowcount
            except psycopg.Error as error:
                return type(error).__name__

    denied = "InsufficientPrivilege"
    assert attempt("mallory", "SELECT * FROM kl.receipt") == []
    assert attempt("mallory", insert.format("", shop, "")) == denied
    assert attempt("mallory", "SELECT kl.set_access('mallory', 3)") == denied
    assert attempt("rita", "SELECT count(*) FROM kl.receipt") != [(0,)]
    assert attempt("rita", insert.format("", shop, "")) == denied
    assert attempt("wendy", insert.format(", written_by", shop, ", 'somebody else'")) == denied
    assert attempt("wendy", insert.format("", shop, "")) == 1
    changed = "UPDATE kl.claim SET written_by = 'somebody else' RETURNING written_by"
    assert attempt("wendy", changed) == [("wendy",)]
    # of a table that an earlier version made, after an upgrade
    team.sql("DROP TRIGGER written_by ON kl.claim", database="team")
    assert clone.kl("store", "upgrade").returncode == 0
    assert attempt("wendy", changed) == [("wendy",)]
    for statement in (
        "UPDATE kl.receipt SET header = ''",
        "DELETE FROM kl.evidence",
        "DROP TABLE kl.receipt",
        "INSERT INTO kl.access VALUES (1, 'wendy', 3)",
        "SELECT kl.set_access('wendy', 3)",
    ):
        assert attempt("wendy", statement) == denied, statement
    # what an admin of one repository may do is nothing in another one
    assert other.kl("store", "grant", "mallory", "admin").returncode == 0
    assert attempt("mallory", "UPDATE kl.receipt SET header = ''") == 0
    assert attempt("mallory", "SELECT kl.add_repository('third')") == denied
    ((own,),) = team.sql("SELECT id FROM kl.repositories WHERE name = 'other'", database="team")
    here = f"SET kl.repository = '{own}'"
    for role in ("pg_monitor", "kl_reader", "postgres"):
        assert attempt("mallory", here, f"SELECT kl.set_access('{role}', 3)") == denied, role
    member = "SELECT pg_has_role('mallory', 'kl_admin', 'MEMBER')"
    assert team.sql(member) == [(True,)]
    assert other.kl("store", "grant", "mallory", "reader").returncode == 0
    assert team.sql(member) == [(False,)]
    assert run(["git", "config", "kl.store", team.url("team", "wendy")], clone.root).returncode == 0
    assert "you may not do this" in clone.kl("store", "grant", "rita", "none").stderr


@pytest.mark.slow
def test_a_random_history_gives_equal_answers(
    tmp_path: Path, home: Path, one_database: str
) -> None:
    """80 steps of another history each day; `python -m tests.store.random_operations` takes
    10,000.
    """
    with two_sides(tmp_path, one_database, f"random {tmp_path.name}") as sides:
        assert difference(sides, 80, int(time.time()) // 86_400) == ""


SMALL = st.integers(0, 3)
OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.lists(RECEIPTS, max_size=2, unique_by=lambda one: one.run)),
        st.tuples(
            st.just("run"),
            st.lists(st.tuples(TEXT, st.sampled_from(["passed", "failed"])), max_size=4),
        ),
        st.tuples(st.just("compact"), SMALL),
        st.tuples(st.just("cursor"), TEXT),
        st.tuples(
            st.just("events"),
            st.lists(st.builds(Event, TEXT, TEXT, TEXT, st.dictionaries(TEXT, TEXT, max_size=2))),
        ),
        st.tuples(
            st.just("tiers"), st.lists(st.tuples(st.sampled_from(["read", "written"]), SMALL))
        ),
        st.tuples(st.just("executed"), anything()),
    ),
    max_size=12,
)


@pytest.fixture(scope="module")
def both(
    tmp_path_factory: pytest.TempPathFactory, one_database: str
) -> Iterator[tuple[Database, Database]]:
    """An empty store of either sort."""
    path = tmp_path_factory.mktemp("both") / "kl.db"
    schemas = [one for one in _flat(manager(()).hook.kl_schema()) if one.database == "kl"]
    with (
        closing(open_sqlite(path, write=True)) as local,
        opened_repository(one_database, "both") as shared,
    ):
        migrate(local, schemas, path, None)
        yield local, shared


def apply(db: Database, number: int, name: str, given: Any) -> None:
    """One operation of those above, through the functions that commands call."""
    if name == "append":
        append(db, given)
    elif name == "run":
        ran = [
            Evidence("TestResult", f"test:{one}", what, number) for one, what in dict(given).items()
        ]
        append(
            db,
            [
                Receipt(
                    f"{number:032x}",
                    "pytest",
                    "pytest",
                    "x",
                    tuple(ran),
                    "2027-01-01",
                    "2027-01-01",
                )
            ],
        )
    elif name == "compact":
        compact(
            db,
            [one for (one,) in db.rows("SELECT id FROM receipt ORDER BY seq LIMIT ?", (given,))],
            10**15,
        )
    elif name == "cursor":
        write_cursor(db, given, str(number))
    elif name == "events":
        insert_events(db, given, "2027-01-01T00:00:00Z")
    elif name == "tiers":
        insert_tier_events(
            db,
            number,
            [TierEvent(what, "shared", f"pool{n}", Caller("human", "s")) for what, n in given],
        )
    else:
        store_executed(db, given)


def answers(db: Database, words: list[str]) -> list[Any]:
    """What commands ask; numbers of rows are the database's own business."""
    pools = [f"pool{n}" for n in range(4)]
    trees = [
        one
        for (one,) in db.rows(
            "SELECT DISTINCT tree FROM receipt WHERE tree IS NOT NULL ORDER BY tree DESC"
        )
    ]
    return [
        *(ask(db) for ask in evidence_questions(words, trees)),
        [read_cursor(db, word) for word in words],
        [(e.name, e.record, e.session, e.body) for e in stored_events(db, "1 = 1", ())],
        [tier_events(db, "shared", pool) for pool in pools],
        access_counts(db, "shared", pools),
        sorted(db.rows("SELECT nodeid FROM test")),
        _without_nul(db, "SELECT nodeid FROM test ORDER BY nodeid"),
        _without_nul(db, "SELECT nodeid FROM test WHERE nodeid LIKE 'A_%' ORDER BY 1"),
    ]


def _without_nul(db: Database, question: str) -> list[str]:
    """Rows of one text each, but for texts with a NUL, which PostgreSQL can't store as such.

    Where these sort, and whether LIKE looks behind a NUL, is each database's own business.
    """
    return [text for (text,) in db.rows(question) if "\0" not in text]


@pytest.mark.slow
@given(OPERATIONS)
@example([("run", [(text, "passed") for text in ("", "0", "\0", "A", "A0", "A\0", "a\ufdd0")])])
def test_random_operations_give_equal_answers(
    both: tuple[Database, Database], operations: list[tuple[str, Any]]
) -> None:
    """25 examples here; --hypothesis-profile=thorough makes 400, some thousand operations."""
    local, shared = both
    words = [given for name, given in operations if name == "cursor"]
    words += [one for name, given in operations if name == "run" for one, _ in given]
    with tried(local), tried(shared):
        for number, (name, given) in enumerate(operations):
            apply(local, number, name, given)
            apply(shared, number, name, given)
        assert answers(local, words) == answers(shared, words)
