"""A team's database in trouble: many machines at once, cut connections, a killed server, secrets, other people."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kl_hooks.evidence.integrity import audit, read_marks
from tests.store.secrets import SHAPES
from tests.support import Checkout, checkout, run
from tests.team_server import TeamServer

MACHINES, WRITERS, RUNS = 4, 8, 2


def used_by(folder: Path, team: TeamServer, *more: str, files: dict[str, str] | None = None) -> Checkout:
    """A clone that uses the server."""
    made = checkout(folder, files or {"a.py": "x = 1\n"})
    done = made.kl("store", "use", team.url("team"), "--repository", "shop", *more)
    assert done.returncode == 0, done.stderr
    return made


@pytest.mark.slow
def test_32_writers_on_4_machines_lose_double_and_reorder_nothing(tmp_path: Path, home: Path, team: TeamServer) -> None:
    """Connections are cut and the server is killed meanwhile; each machine has its own spool."""
    machines = [used_by(tmp_path / f"m{n}", team, *(["--create"] if not n else [])) for n in range(MACHINES)]
    command = [sys.executable, "-m", "tests.store.team_worker", str(WRITERS), str(RUNS)]
    workers = [
        subprocess.Popen(command, cwd=one.root, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for one in machines
    ]
    for number in range(6):
        time.sleep(0.4)
        if number == 3:
            team.stop()
            time.sleep(0.3)
            team.start()
        team.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'kl: %'")
    ended = [one.communicate(timeout=100) for one in workers]
    assert [one.returncode for one in workers] == [0] * MACHINES, [err[-2000:] for _, err in ended]
    reports = [json.loads(line) for out, _ in ended for line in out.splitlines()]
    assert len(reports) == MACHINES * WRITERS
    with (ws := machines[0].workspace()).store.reading() as db:
        assert db is not None
        stored = [name for (name,) in db.rows("SELECT run FROM receipt WHERE source = 'pytest' ORDER BY seq")]
        events = db.rows("SELECT session, body FROM record_event WHERE name = 'counted' ORDER BY seq")
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


def test_no_secret_is_in_rows_or_logs_of_the_server(tmp_path: Path, home: Path, team: TeamServer) -> None:
    dice = random.Random(11)
    made = [SHAPES[name](dice) for name in ("github", "aws secret", "url password", "jwt", "python")]
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
    tables = [name for (name,) in team.sql("SELECT tablename FROM pg_tables WHERE schemaname = 'kl'", database="team")]
    rows = repr([team.sql(f"SELECT * FROM kl.{name}", database="team") for name in tables])
    assert "Look at" in rows and "Look at" in team.log  # the log has every statement
    for text, secret in made:
        assert secret not in rows and secret not in team.log, text


def test_row_level_security_holds_against_plain_sql(tmp_path: Path, home: Path, team: TeamServer) -> None:
    import psycopg

    clone = used_by(tmp_path / "one", team, "--create", files={"test_a.py": "def test_a(): pass\n"})
    assert clone.kl("run", "--", "true").returncode == 0
    clone.kl("evidence", "list")
    for name in ("mallory", "wendy", "rita"):
        team.sql(f"DO $$ BEGIN CREATE ROLE {name} LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$")
    clone.kl("store", "grant", "wendy", "writer")
    clone.kl("store", "grant", "rita", "reader")
    # mallory is a writer of another repository in the same tables
    other = checkout(tmp_path / "other")
    assert other.kl("store", "use", team.url("team"), "--repository", "other", "--create").returncode == 0
    assert other.kl("store", "grant", "mallory", "writer").returncode == 0
    ((shop,),) = team.sql("SELECT id FROM kl.repositories WHERE name = 'shop'", database="team")
    insert = "INSERT INTO kl.claim (id, text, about, author, made_at, repository{}) VALUES ('x', '', '', '', '', {}{})"

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
    for statement in ("UPDATE kl.receipt SET header = ''", "DELETE FROM kl.evidence", "DROP TABLE kl.receipt",
                      "INSERT INTO kl.access VALUES (1, 'wendy', 3)", "SELECT kl.set_access('wendy', 3)"):  # fmt: skip
        assert attempt("wendy", statement) == denied, statement
    # what an admin of one repository may do is nothing in another one
    assert other.kl("store", "grant", "mallory", "admin").returncode == 0
    assert attempt("mallory", "UPDATE kl.receipt SET header = ''") == 0
    assert run(["git", "config", "kl.store", team.url("team", "wendy")], clone.root).returncode == 0
    assert "you may not do this" in clone.kl("store", "grant", "rita", "none").stderr
