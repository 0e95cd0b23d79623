"""`kl store`: two clones with one PostgreSQL database, and the server away."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from kl_hooks.store import migration
from kl_hooks.store.postgres import PostgresDatabase
from tests.evidence.making import leave_run
from tests.support import Checkout, checkout
from tests.team_server import NOBODY, TeamServer, team_server

PASSED = "def test_one():\n    pass\n"


@pytest.fixture
def clones(tmp_path: Path, home: Path, team: TeamServer) -> tuple[Checkout, Checkout]:
    """Two clones of one repository that use the same database."""
    first = checkout(tmp_path / "first", {"test_one.py": PASSED})
    first.git("clone", "-q", str(first.root), str(tmp_path / "second"))
    second = Checkout(tmp_path / "second")
    done = first.kl("store", "use", team.url("team"), "--repository", "shop", "--create")
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    assert second.kl("store", "use", team.url("team"), "--repository", "shop").returncode == 0
    return first, second


def test_two_clones_share_evidence_records_pools_and_claims(
    clones: tuple[Checkout, Checkout], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = clones
    assert first.pytest("-q").returncode == 0
    assert second.kl("verify").returncode == 1  # the run waits in the spool of the first clone
    assert "proven" in first.kl("verify").stdout
    done = second.kl("verify")
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert not (second.state / "kl.db").exists()
    made = json.loads(
        first.kl("task", "new", "--title", "Postgres for everybody", "--format", "json").stdout
    )
    assert made["id"] in second.kl("task", "list").stdout
    # each clone has an index of its own
    assert made["id"] in second.kl("search", "postgres").stdout
    assert first.kl("claim", "add", "The test is quick.", "--about", "test_one.py").returncode == 0
    assert "The test is quick." in second.kl("claim", "list").stdout
    assert first.kl("pool", "create", "notes").returncode == 0
    assert first.kl("pool", "write", "notes", "colour", "green").returncode == 0
    assert "green" in second.kl("pool", "read", "notes", "colour").stdout
    # short-term memory and contexts are nobody else's, whoever is called `human` there
    assert first.kl("remember", "secret", "mine").returncode == 0
    assert "mine" in first.kl("recall", "secret").stdout
    assert "mine" not in second.kl("recall", "secret").stdout
    for one in clones:
        assert one.kl("evidence", "verify").returncode == 0
        assert one.kl("doctor").returncode == 0
        assert "receipts" in one.kl("status").stdout
    asked, run = [], PostgresDatabase._run
    monkeypatch.setattr(
        PostgresDatabase, "_run", lambda db, sql, params: asked.append(sql) or run(db, sql, params)
    )
    assert first.kl("context", "test_one").returncode == 0
    # each question crosses the network: that the tables are there is not asked for each of the 50
    # sources
    assert sum("FROM schema_step" in one for one in asked) < 15, Counter(asked).most_common(5)


FILL = (
    ("task", "new", "--title", "Round the total of a cart once"),
    ("task", "new", "--title", "Größe der Überschrift im Warenkorb"),
    (
        "finding",
        "new",
        "--title",
        "Cart totals",
        "--entity",
        "test_one.py",
        "--finding",
        "rounds half to even",
    ),
    ("claim", "add", "The total of a cart is exact.", "--about", "test_one.py"),
    ("pool", "write", "default", "cart", "the cart rounds at the end"),
    ("document", "add", "docs/cart.md"),
)
ASK = (
    "search cart rounding",
    "search WARENKORB größe",
    "search ROUNDING",
    "knowledge search cart",
    "task search total",
    "task search überschrift",
    "finding search half even",
    "claim search exact total",
    "recall cart",
    "document list",
)


@pytest.mark.sweep
def test_what_one_clone_stored_another_finds_as_in_a_store_of_its_own(
    clones: tuple[Checkout, Checkout], tmp_path: Path
) -> None:
    local = checkout(tmp_path / "local", {"test_one.py": PASSED})
    for one in (local, clones[0]):
        one.write("docs/cart.md", "# Cart\n\nThe total of the cart is rounded at the end.\n")
        for command in FILL:
            assert one.kl(*command).returncode == 0, command
    clones[1].write("docs/cart.md", (local.root / "docs/cart.md").read_text())
    for command in ASK:
        done = [one.kl(*command.split(" "), "--format", "json") for one in (local, *clones)]
        printed = [re.sub(r"\b[0-9a-f]{8,}\b|\d\d:\d\d:\d\d\.\d+Z", "", one.stdout) for one in done]
        assert done[0].returncode == 0 and printed[0] == printed[1] == printed[2], command
        assert re.search("(?i)cart|korb", printed[0]), command


def test_status_grants_and_upgrades(
    clones: tuple[Checkout, Checkout], team: TeamServer, tmp_path: Path
) -> None:
    first, second = clones
    team.sql("DO $$ BEGIN CREATE ROLE ann LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$")
    url = team.url("team", "ann")
    refused = second.kl("store", "use", url)
    assert refused.returncode == 3 and "you have no access to a repository 'shop'" in refused.stderr
    assert first.kl("store", "grant", "ann", "reader").returncode == 0
    for nobody in ("nobody2", "", "none", 'x"; DROP'):
        refused = first.kl("store", "grant", nobody, "reader")
        assert refused.returncode == 2 and "role" in refused.stderr, refused.stderr
    assert second.kl("store", "use", url).returncode == 0
    assert "you are: reader" in second.kl("store", "status").stdout
    assert second.kl("task", "new", "--title", "No").returncode == 3
    assert second.kl("store", "grant", "ann", "admin").returncode == 3
    first.kl("store", "grant", "ann", "writer")
    assert second.kl("task", "new", "--title", "Yes").returncode == 0
    status = json.loads(second.kl("store", "status", "--format", "json").stdout)
    assert (status["schema"], status["access"], status["members"]) == (
        "kl.store.status/1",
        "writer",
        {"ann": "writer", "postgres": "admin"},
    )
    assert first.kl("store", "upgrade").stdout == "the tables are up to date.\n"
    # a table that only a newer kl knows, then one that an older one has not made yet
    team.sql("INSERT INTO kl.schema_step VALUES ('records', 99)", database="team")
    newer = second.kl("task", "new", "--title", "Late")
    assert newer.returncode == 3 and "was made by a newer kl (records step 99" in newer.stderr
    assert "Yes" in second.kl("task", "list").stdout
    team.sql("DELETE FROM kl.schema_step WHERE room = 'records'", database="team")
    assert "kl store upgrade" in second.kl("task", "new", "--title", "Early").stderr


def test_the_server_being_away_costs_no_run_and_no_commit(
    clones: tuple[Checkout, Checkout], team: TeamServer
) -> None:
    first, second = clones
    assert first.kl("hooks", "install").returncode == 0
    team.stop()
    try:
        done = first.pytest("-q")
        assert done.returncode == 0 and "1 passed" in done.stdout
        first.write("more.py", "x = 1\n")
        first.commit("while it is away")
        for command in (
            ["verify"],
            ["context", "test_one"],
            ["status"],
            ["task", "list"],
            ["store", "status"],
            ["doctor"],
        ):
            done = first.kl(*command)
            assert done.returncode in (0, 1, 3) and "Traceback" not in done.stderr, (
                command,
                done.stderr,
            )
            assert "can't be used" in done.stdout + done.stderr, (command, done.stdout, done.stderr)
    finally:
        team.start()
    first.git("checkout", "-q", "HEAD~1")
    assert first.kl("verify").returncode == 0
    assert second.kl("verify").returncode == 0


def test_addresses(repo: Checkout, team: TeamServer) -> None:
    done = repo.kl(
        "store", "use", "postgresql://ada:s3cretword@db.example.org/team", "--repository", "x"
    )
    assert done.returncode == 2 and "holds a password" in done.stderr
    assert "s3cretword" not in done.stderr + (repo.root / ".git" / "config").read_text()
    assert repo.kl("store", "use", "mysql://x/y", "--repository", "x").returncode == 2
    assert "--repository" in repo.kl("store", "use", team.url("team")).stderr
    done = repo.kl("store", "use", team.url("team"), "--repository", "x")
    assert done.returncode == 3 and "not set up in this database" in done.stderr
    repo.git("remote", "add", "origin", "git@example.org:team/shop.git")
    done = repo.kl("store", "use", team.url("team"), "--create", "--format", "json")
    assert json.loads(done.stdout)["repository"] == "example.org/team/shop"
    repo.git("config", "kl.store", "postgresql://ada:s3cretword@db.example.org/team")
    done = repo.kl("evidence", "list")
    assert done.returncode == 3 or done.returncode == 2
    assert "s3cretword" not in done.stderr + done.stdout + repo.kl("status").stderr
    assert repo.kl("store", "use", "--local").returncode == 0
    assert "kl.db" in repo.kl("store", "status").stdout


@pytest.mark.slow
def test_tls_is_verified_and_a_refusal_has_a_hint(repo: Checkout, tmp_path: Path) -> None:
    def certify(folder: Path, name: str) -> str:
        options = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-addext")
        made = [
            *options,
            f"subjectAltName=DNS:{name}",
            "-subj",
            f"/CN={name}",
            "-keyout",
            f"{name}.key",
        ]
        subprocess.run(
            ["openssl", "req", "-x509", *made, "-out", f"{name}.crt"], cwd=folder, check=True
        )
        if os.geteuid() == 0:
            os.chown(folder / f"{name}.key", NOBODY, NOBODY)
        return str(folder / f"{name}.crt")

    with team_server(tls=True) as server:
        if server is None or not shutil.which("openssl"):
            pytest.skip("no PostgreSQL with TLS (Debian: apt-get install postgresql openssl)")
        mine, other = (certify(server.folder, name) for name in ("localhost", "elsewhere"))
        with socket.create_server(("127.0.0.1", 0)) as free:
            server.port = free.getsockname()[1]
        server.stop()
        tls = "ssl=on", f"ssl_cert_file={mine}", f"ssl_key_file={server.folder}/localhost.key"
        server.start("listen_addresses=127.0.0.1", *tls)

        def use(host: str, query: str) -> str:
            url = f"postgresql://postgres@{host}:{server.port}/postgres?{query}"
            done = repo.kl("store", "use", url, "--repository", "x", "--create")
            return f"{done.returncode} {done.stderr or done.stdout}"

        whole = f"sslmode=verify-full&sslrootcert={mine}"
        assert use("localhost", whole).startswith("0 evidence and records are stored in")
        for host, query, printed in (
            ("127.0.0.1", whole, "Use the host that the certificate names"),
            (
                "localhost",
                "sslmode=verify-full&sslrootcert=/none.crt",
                "?sslrootcert=FILE, or =system",
            ),
            (
                "localhost",
                f"sslmode=verify-full&sslrootcert={other}",
                "authority that signed the server's certificate",
            ),
        ):
            done = use(host, query)
            assert done.startswith("3 ") and printed in done, done
        assert use("localhost", "sslmode=perhaps").startswith(
            "2 kl: kl.store: is no address (invalid sslmode value"
        )
        assert "2 kl: kl.store: is no address (definition of service" in use(
            "localhost", "service=nowhere"
        )
        server.stop()
        server.start("listen_addresses=127.0.0.1")
        assert "Turn TLS on at the server" in use("localhost", "sslmode=require")


@pytest.mark.fault(
    "full disk",
    promised="reported; nothing is lost",
    injected="the disk of the PostgreSQL server is full",
)
def test_a_full_disk_of_the_server_is_reported_and_nothing_is_lost(
    repo: Checkout, tmp_path: Path, team: TeamServer
) -> None:
    small = team.folder / "small"
    small.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=16m,mode=777", "tmpfs", str(small)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("this user may not mount a file system")
    try:
        (small / "table").mkdir(mode=0o700)
        os.chown(small / "table", NOBODY, NOBODY)
        team.sql(
            f"CREATE TABLESPACE small LOCATION '{small}/table'",
            "CREATE DATABASE full_disk TABLESPACE small",
        )
        assert (
            repo.kl(
                "store", "use", team.url("full_disk"), "--repository", "x", "--create"
            ).returncode
            == 0
        )
        assert repo.kl("task", "new", "--title", "Before").returncode == 0
        # without a buffer: what is left in one is written when the file is closed, and fails again
        with (
            (small / "ballast").open("wb", buffering=0) as file,
            pytest.raises(OSError, match="No space"),
        ):
            while True:
                file.write(b"x" * 4096)
        ws = repo.workspace()
        run = leave_run(ws, [(f"test_{n}.py::test_{n}", "passed", n) for n in range(2000)])
        done = repo.kl("evidence", "list")
        assert (
            "the disk of the server is full" in done.stderr
            and "Captures wait in the spool" in done.stderr
        )
        assert "Before" in repo.kl("task", "list").stdout
        (small / "ballast").unlink()
        assert run[:8] in repo.kl("evidence", "list").stdout
        assert repo.kl("evidence", "verify").returncode == 0
    finally:
        team.sql(
            "DROP DATABASE IF EXISTS full_disk WITH (FORCE)", "DROP TABLESPACE IF EXISTS small"
        )
        subprocess.run(["umount", small], check=True)


@pytest.mark.fault(
    "killed process",
    promised="the next one goes on where it was",
    injected="SIGKILL of a move to a server",
)
def test_a_killed_migration_goes_on_and_both_ways_give_the_same(
    repo: Checkout, tmp_path: Path, team: TeamServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.write("test_one.py", PASSED)
    repo.commit()
    assert repo.pytest("-q").returncode == 0
    assert repo.kl("verify").returncode == 0
    for number in range(8):
        repo.kl("task", "new", "--title", f"Task {number}")
    repo.kl("pool", "create", "notes")
    before = repo.kl("evidence", "list").stdout + repo.kl("task", "list").stdout
    monkeypatch.setattr(migration, "_BATCH", 3)
    calls, many = [0], PostgresDatabase.many

    def killed(db: PostgresDatabase, sql: str, rows: Iterable[Sequence[object]]) -> None:
        many(db, sql, rows)
        calls[0] += 1
        if calls[0] == 7:
            raise KeyboardInterrupt

    monkeypatch.setattr(PostgresDatabase, "many", killed)
    to = (
        "store",
        "migrate",
        "--to",
        team.url("team"),
        "--repository",
        "shop",
        "--create",
        "--format",
        "json",
    )
    assert repo.kl(*to).returncode == 130
    assert "kl.db" in repo.kl("store", "status").stdout  # nothing was switched
    assert any(rows for (rows,) in team.sql("SELECT count(*) FROM kl.commit_log", database="team"))
    # what changed since is not what was copied
    repo.kl("task", "edit", repo.kl("task", "list").stdout.split()[0], "--title", "Renamed since")
    before = repo.kl("evidence", "list").stdout + repo.kl("task", "list").stdout
    calls[0] = 100
    moved = json.loads(repo.kl(*to).stdout)
    assert moved["rows"]["record"] == 8 and moved["place"].startswith("postgresql://")
    assert repo.kl("evidence", "list").stdout + repo.kl("task", "list").stdout == before
    assert repo.kl("evidence", "verify").returncode == 0
    repo.kl("task", "new", "--title", "Numbered after those that were copied")
    # a repository that holds rows is not mixed with another clone's
    other = checkout(tmp_path / "other")
    other.kl("task", "new", "--title", "Elsewhere")
    done = other.kl(*to)
    assert done.returncode == 2 and "holds rows already" in done.stderr
    back = json.loads(
        other.kl(
            "store",
            "migrate",
            "--from",
            team.url("team"),
            "--repository",
            "shop",
            "--format",
            "json",
        ).stdout
    )
    assert back["rows"]["record"] == 9
    assert len(list((other.state / "backup").glob("kl-before-migration-*.db"))) == 1
    assert "Numbered after" in other.kl("task", "list").stdout
    assert other.kl("evidence", "verify").returncode == 0
    assert repo.kl("store", "use", "--local").returncode == 0
    assert repo.kl("evidence", "list").stdout + repo.kl("task", "list").stdout == before
