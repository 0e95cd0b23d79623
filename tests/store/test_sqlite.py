"""SQLite: the contract, and what it does with files that are damaged, foreign, newer, in use or not
to be written.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from kl_hooks.errors import EnvironmentProblem, StoreBusy, StoreDamaged, StoreNewer
from kl_hooks.store.sqlite import (
    _APPLICATION_ID,
    FORMAT,
    SqliteDatabase,
    _journal_mode,
    _wal_is_safe,
    is_local,
    open_sqlite,
)
from kl_hooks.store.store import _refuse_unexpected, migrate, steps_taken

from .contract import ONE, TWO, DatabaseContract, Opener, schema

REPO = Path(__file__).parents[2]


class TestSqlite(DatabaseContract):
    @pytest.fixture
    def place(self, tmp_path: Path) -> Path:
        return tmp_path / "kl.db"

    @pytest.fixture
    def opener(self, place: Path) -> Opener:
        return lambda write: open_sqlite(place, write=write)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A database with a table and a row."""
    return _made(tmp_path)


@pytest.fixture
def public() -> Iterator[Path]:
    """The same where another user may come; pytest closes its own folder to others whenever it
    starts.
    """
    folder = Path(tempfile.mkdtemp(prefix="kl-test-"))
    folder.chmod(0o755)
    yield _made(folder)
    folder.chmod(0o755)
    shutil.rmtree(folder)


def _made(folder: Path) -> Path:
    made = folder / "kl.db"
    with closing(open_sqlite(made, write=True)) as db:
        migrate(db, [schema(ONE)], made, None)
        db.execute("INSERT INTO thing (id, n) VALUES ('a', 1)")
    return made


def _raw(path: Path, script: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(script)


def _pragma(db: SqliteDatabase, name: str) -> object:
    row = db.row(f"PRAGMA {name}")
    return row and row[0]


def test_settings(path: Path) -> None:
    with closing(open_sqlite(path, write=True)) as db:
        found = {
            n: _pragma(db, n)
            for n in ("trusted_schema", "cell_size_check", "mmap_size", "busy_timeout")
        }
        assert found == {
            "trusted_schema": 0,
            "cell_size_check": 1,
            "mmap_size": 0,
            "busy_timeout": 60_000,
        }
        assert _pragma(db, "synchronous") in (2, 3), "FULL, or EXTRA, which is more"
        mode = _journal_mode(sqlite3.sqlite_version_info, path.parent)
        assert str(_pragma(db, "journal_mode")).upper() == mode
        assert (_pragma(db, "synchronous") == 3) == (mode == "DELETE")
        assert (_pragma(db, "application_id"), _pragma(db, "user_version")) == (
            _APPLICATION_ID,
            FORMAT,
        )
        assert db._connection.isolation_level is None
        if sys.version_info >= (3, 12):
            assert db._connection.getconfig(sqlite3.SQLITE_DBCONFIG_DEFENSIVE)
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(path.parent.iterdir()) == [path]


def test_wal_only_where_it_is_safe(tmp_path: Path) -> None:
    safe = [(3, 51, 3), (3, 52, 0), (3, 50, 7), (3, 50, 9), (3, 44, 6), (4, 0, 0)]
    unsafe = [
        (3, 40, 1),
        (3, 51, 2),
        (3, 51, 0),
        (3, 50, 6),
        (3, 44, 5),
        (3, 45, 0),
        (3, 49, 2),
        (3, 7, 0),
    ]
    assert [_wal_is_safe(v) for v in safe + unsafe] == [True] * 6 + [False] * 8
    mounts = tmp_path / "mounts"
    lines = [
        "/dev/a / ext4 rw",
        "server:/x /net nfs4 rw",
        "x /net/tmp tmpfs rw",
        "x /with\\040blank fuse.sshfs rw",
        "y /Entwürfe nfs4 rw",
    ]
    mounts.write_text("".join(f"{line} 0 0\n" for line in lines), encoding="utf-8")
    answers = {
        "/": True,
        "/net/repo": False,
        "/net/tmp/x": True,
        "/with blank/x": False,
        "/network": True,
        "/Entwürfe/x": False,
    }
    assert {place: is_local(Path(place), mounts) for place in answers} == answers
    assert not is_local(Path("/"), tmp_path / "no such list")
    assert _journal_mode((3, 40, 1), tmp_path) == "DELETE"


def _text(path: Path) -> None:
    path.write_text("version: 1\nfoo: bar\n" * 50)


def _one_byte(path: Path) -> None:
    path.write_bytes(b"S")


def _other_application(path: Path) -> None:
    path.unlink()
    _raw(path, "CREATE TABLE notes (text); PRAGMA application_id = 7;")


def _trigger(path: Path) -> None:
    _raw(path, "CREATE TRIGGER t AFTER INSERT ON thing BEGIN DELETE FROM thing; END;")


def _view(path: Path) -> None:
    _raw(path, "CREATE VIEW v AS SELECT * FROM thing;")


def _link(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


def _journal_link(path: Path) -> None:
    path.with_name("victim").write_bytes(b"precious")
    path.with_name("kl.db-journal").symlink_to("victim")


def _super_journal(path: Path) -> None:
    """What makes an old SQLite delete `victim` when the database is opened."""
    victim = path.with_name("victim")
    victim.write_bytes(b"precious")
    name = str(victim).encode()
    checksum = sum(name).to_bytes(4, "big")
    end = name + len(name).to_bytes(4, "big") + checksum + b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"
    header = b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" + bytes(4 * 5)
    path.with_name("kl.db-journal").write_bytes(header.ljust(512, b"\0") + end)


def _journal_of_nothing(path: Path) -> None:
    _super_journal(path)
    path.write_bytes(b"")


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _zeroed(path: Path) -> None:
    """Everything but the header page."""
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * (size - 4096))


def _bad_schema(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(100)
        file.write(b"\x77" * 100)


HARMS = {
    _text: "is not a database (first bytes",
    _one_byte: "is not a database",
    _other_application: "not one of kl's",
    _trigger: "holds what kl never makes: trigger t",
    _view: "view v",
    _link: "is a link",
    _journal_link: "is a link",
    _super_journal: "names another journal",
    _journal_of_nothing: "left unfinished",
    _folder: "no file at all",
    _bad_schema: "can't be read",
}


@pytest.mark.parametrize("write", [True, False])
@pytest.mark.parametrize("harm", HARMS)
@pytest.mark.fault(
    "crafted file",
    promised="refused before it is opened; no byte changes",
    injected="links, foreign databases, triggers, views, crafted journals",
)
def test_what_is_not_ours_is_refused_and_left_as_it_is(
    path: Path, harm: Callable[[Path], None], write: bool
) -> None:
    harm(path)
    before = {p.name: None if p.is_dir() else p.read_bytes() for p in path.parent.iterdir()}
    with pytest.raises(StoreDamaged) as reported:
        open_sqlite(path, write=write).close()
    assert HARMS[harm] in str(reported.value)
    assert str(path.parent) in reported.value.place
    assert "mv " in reported.value.hint
    assert "kl doctor" in reported.value.hint
    assert {p.name: None if p.is_dir() else p.read_bytes() for p in path.parent.iterdir()} == before


def test_damage_within_is_reported_when_it_is_met(path: Path) -> None:
    with closing(open_sqlite(path, write=True)) as db, db.transaction():
        db.many("INSERT INTO thing (id, n) VALUES (?, 1)", [(f"{n:0100}",) for n in range(2000)])
    _zeroed(path)
    with (
        closing(open_sqlite(path, write=False)) as db,
        pytest.raises(StoreDamaged, match="malformed"),
    ):
        db.rows("SELECT * FROM thing")


def test_damage_in_the_name_of_a_table_is_damage(path: Path) -> None:
    """SQLite quotes the name in its message, which Python then can't decode."""
    with closing(open_sqlite(path, write=True)) as db, db.transaction():
        db.execute("CREATE TABLE second (n INTEGER)")
    path.write_bytes(path.read_bytes().replace(b"tablesecondsecond", b"tables\xa0condsecond"))
    with (
        pytest.raises(StoreDamaged, match="can't be read"),
        closing(open_sqlite(path, write=False)) as db,
    ):
        db.rows("SELECT * FROM second")


def test_after_an_unclean_stop_damage_is_looked_for(path: Path) -> None:
    with closing(open_sqlite(path, write=True)) as db, db.transaction():
        db.many("INSERT INTO thing (id, n) VALUES (?, 1)", [(f"{n:0100}",) for n in range(2000)])
    _zeroed(path)
    open_sqlite(path, write=True).close()
    path.with_name("kl.db-journal").write_bytes(b"\0" * 512)  # left over, and not to be played back
    with pytest.raises(StoreDamaged, match="is malformed"):
        open_sqlite(path, write=True)


def test_somebody_elses_database_is_refused(public: Path) -> None:
    """As root we become `nobody` and look at root's file; else root's own files serve."""
    if os.geteuid() != 0:
        with pytest.raises(StoreDamaged, match="belongs to somebody else"):
            open_sqlite(Path("/etc/passwd"), write=False)
        return
    public.chmod(0o644)
    assert "belongs to somebody else" in _as_nobody(public, "open_sqlite(path, write=False)")


def _as_nobody(path: Path, code: str) -> str:
    """Runs `code` as a user without rights (as ourselves where we are no root), and gives what it
    printed.
    """
    whole = f"""
import os, sys
sys.path.insert(0, {str(REPO)!r})
from contextlib import closing
from pathlib import Path
import shutil, tempfile  # while it may still read them
import kl_hooks.store.disk, kl_hooks.store.sqlite
from kl_hooks.errors import KlError
from kl_hooks.store.sqlite import open_sqlite
path = Path({str(path)!r})
if os.geteuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
try:
    {code}
except KlError as error:
    print(type(error).__name__, error)
"""
    done = subprocess.run(
        [sys.executable, "-c", whole], capture_output=True, text=True, check=True, cwd="/"
    )
    return done.stdout


def _give_away(path: Path, mode: int) -> None:
    for name in path.parent.iterdir():
        if os.geteuid() == 0:
            os.chown(name, 65534, 65534)
    if os.geteuid() == 0:
        os.chown(path.parent, 65534, 65534)
    path.parent.chmod(mode)


@pytest.mark.fault(
    "read-only place",
    promised="it is read",
    injected="a folder of another user",
)
def test_in_a_folder_that_can_not_be_written_it_is_read(public: Path) -> None:
    _give_away(public, 0o555)
    out = _as_nobody(
        public,
        "with closing(open_sqlite(path, write=False)) as db: print(db.rows('SELECT id FROM"
        " thing'))",
    )
    assert out == "[('a',)]\n"
    out = _as_nobody(
        public,
        "with closing(open_sqlite(path, write=True)) as db, db.transaction(): db.execute('DELETE"
        " FROM thing')",
    )
    public.parent.chmod(0o755)
    assert out.startswith(("EnvironmentProblem", "StoreBusy"))
    with closing(sqlite3.connect(public)) as connection:
        assert connection.execute("SELECT id FROM thing").fetchall() == [("a",)]


def _stop_in_the_middle(path: Path, commit_first: str = "") -> None:
    """Leaves a hot journal: a process is killed after its changes reached the file and before the
    commit.
    """
    code = f"""
import os, sqlite3
connection = sqlite3.connect({str(path)!r}, isolation_level=None)
connection.execute("PRAGMA cache_size = 5")
connection.execute("PRAGMA cache_spill = 1")
connection.execute("BEGIN IMMEDIATE")
connection.execute("UPDATE thing SET n = 99")
connection.executemany("INSERT INTO thing (id) VALUES (?)", [(f"{{n:0200}}",) for n in range(3000)])
os.kill(os.getpid(), 9)
"""
    subprocess.run([sys.executable, "-c", code], check=False)
    assert path.with_name("kl.db-journal").stat().st_size > 512


def test_a_stopped_write_is_undone_by_the_next_writer(path: Path) -> None:
    _stop_in_the_middle(path)
    with pytest.raises(StoreBusy), closing(open_sqlite(path, write=False)) as db:
        db.rows("SELECT * FROM thing")
    with closing(open_sqlite(path, write=True)) as db:
        assert db.rows("SELECT * FROM thing") == [("a", 1)]


def test_a_reader_looks_again_at_a_journal_that_seems_to_be_left_over(path: Path) -> None:
    undo = f"""
from pathlib import Path
from kl_hooks.store.sqlite import open_sqlite
open_sqlite(Path({str(path)!r}), write=True).close()
"""
    looks: list[str] = []

    def undo_at_the_second_look(sql: str) -> None:
        looks.append(sql)
        if len(looks) == 2:
            subprocess.run([sys.executable, "-c", undo], check=True, cwd=REPO)

    with closing(open_sqlite(path, write=False)) as db:
        _stop_in_the_middle(path)
        db._connection.set_trace_callback(undo_at_the_second_look)
        assert db.rows("SELECT * FROM thing") == [("a", 1)]
    assert len(looks) == 2


@pytest.mark.fault(
    "read-only place",
    promised="it is undone in a copy, and read",
    injected="a journal beside a database of another user",
)
def test_a_stopped_write_that_nobody_can_undo_is_undone_in_a_copy(public: Path) -> None:
    _stop_in_the_middle(public)
    before = {p.name: p.read_bytes() for p in public.parent.iterdir()}
    _give_away(public, 0o555)
    code = (
        "with closing(open_sqlite(path, write=False)) as db: print(db.rows('SELECT * FROM thing'),"
        " db._copy.exists())"
    )
    out = _as_nobody(public, f"{code}\n    print(db._copy.exists())")
    assert out == "[('a', 1)] True\nFalse\n"
    assert {p.name: p.read_bytes() for p in public.parent.iterdir()} == before


def test_a_folder_that_may_not_be_entered_is_not_taken_for_an_empty_one(public: Path) -> None:
    _give_away(public, 0o000)
    out = _as_nobody(public, "open_sqlite(path, write=False)")
    assert out == f"EnvironmentProblem {public}: may not be read by you. See: kl doctor\n"


def test_a_file_without_rights_is_reported_as_that(public: Path) -> None:
    _give_away(public, 0o755)
    public.chmod(0)
    out = _as_nobody(public, "open_sqlite(path, write=False)")
    assert out == f"EnvironmentProblem {public}: may not be read by you. See: kl doctor\n"


def test_somebody_who_holds_it_makes_us_wait_and_then_report_it(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as holder:
        holder.execute("BEGIN EXCLUSIVE")
        for write in (True, False):
            started = time.monotonic()
            with pytest.raises(StoreBusy, match="another process is using it") as reported:
                open_sqlite(path, write=write, busy_ms=200)
            assert 0.1 < time.monotonic() - started < 20
            assert not isinstance(reported.value, StoreDamaged)
        holder.execute("ROLLBACK")
    open_sqlite(path, write=True).close()


@pytest.mark.fault(
    "newer format",
    promised="it is read and not written",
    injected="a higher user_version",
)
def test_a_newer_format_is_read_and_not_written(path: Path) -> None:
    _raw(path, f"PRAGMA user_version = {FORMAT + 1}")
    before = path.read_bytes()
    with pytest.raises(
        StoreNewer, match=rf"format {FORMAT + 1}; this one knows format {FORMAT}.*Upgrade"
    ):
        open_sqlite(path, write=True)
    with closing(open_sqlite(path, write=False)) as db:
        assert db.rows("SELECT id FROM thing") == [("a",)]
    assert path.read_bytes() == before


def test_a_table_that_no_step_made_is_refused(path: Path) -> None:
    with closing(open_sqlite(path, write=True)) as db:
        _refuse_unexpected(db, [schema(ONE)], path)
        db.execute("CREATE TABLE planted (x)")
        with pytest.raises(StoreDamaged, match="table that kl never made: planted"):
            _refuse_unexpected(db, [schema(ONE)], path)
        _refuse_unexpected(db, [], path)  # the package that may have made it is not known today


@pytest.mark.parametrize("moved", ["deleted", "replaced"])
@pytest.mark.fault(
    "moved file",
    promised="nothing is acknowledged",
    injected="the database is deleted or replaced within a transaction",
)
def test_nothing_is_acknowledged_into_a_file_that_was_removed(path: Path, moved: str) -> None:
    shutil.copy(path, path.with_name("copy"))
    with closing(open_sqlite(path, write=True)) as db:

        def write() -> None:
            with db.transaction():
                db.execute("INSERT INTO thing (id) VALUES ('b')")
                if moved == "deleted":
                    path.unlink()
                else:
                    path.with_name("copy").replace(path)

        with pytest.raises(EnvironmentProblem):
            write()


@pytest.mark.fault(
    "full disk",
    promised="reported; the transaction is undone",
    injected="RLIMIT_FSIZE of 40,000 bytes",
)
def test_a_full_disk_is_reported_and_leaves_the_database_whole(path: Path) -> None:
    code = f"""
import resource, signal, sys
from contextlib import closing
from pathlib import Path
from kl_hooks.errors import KlError
from kl_hooks.store.sqlite import open_sqlite
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))
with closing(open_sqlite(Path({str(path)!r}), write=True)) as db:
    try:
        with db.transaction():
            db.many("INSERT INTO thing (id) VALUES (?)", [(f"{{n:0200}}",) for n in range(3000)])
    except KlError as error:
        print(type(error).__name__)
    print(db.rows("SELECT COUNT(*) FROM thing"))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=REPO, capture_output=True, text=True, check=True
    )
    assert done.stdout == "EnvironmentProblem\n[(1,)]\n"
    with closing(open_sqlite(path, write=True)) as db:
        assert db.rows("PRAGMA integrity_check") == [("ok",)]


def test_paths_with_signs_of_an_address_are_paths(tmp_path: Path) -> None:
    folder = tmp_path / "a?b#c%41 d"
    folder.mkdir()
    with closing(open_sqlite(folder / "kl.db", write=True)) as db:
        db.execute("CREATE TABLE t (x)")
    with closing(open_sqlite(folder / "kl.db", write=False)) as db:
        assert db.rows("SELECT * FROM t") == []
    assert [p.name for p in tmp_path.iterdir()] == ["a?b#c%41 d"]


def test_a_backup_is_made_before_the_first_step_and_two_are_retained(path: Path) -> None:
    backup = path.parent / "backup"
    steps = [ONE, TWO]
    with closing(open_sqlite(path, write=True)) as db:
        for number in range(4):
            migrate(db, [schema(*steps)], path, backup)
            migrate(db, [schema(*steps)], path, backup)
            steps.append(f"CREATE TABLE more{number} (x);")
    assert sorted(p.name for p in backup.iterdir()) == ["kl-0003.db", "kl-0004.db"]
    assert (backup / "kl-0004.db").stat().st_mode & 0o777 == 0o600
    with closing(open_sqlite(backup / "kl-0004.db", write=False)) as db:
        assert steps_taken(db) == {"room": 4}
        assert db.rows("SELECT id FROM thing ORDER BY id") == [("a",), ("of step 2",)]


@pytest.mark.fault(
    "failing call",
    promised="no step is taken without its backup",
    injected="a file is in the way of the folder",
)
def test_without_space_for_a_backup_nothing_is_changed(path: Path) -> None:
    (path.parent / "backup").write_text("in the way")
    with closing(open_sqlite(path, write=True)) as db:
        with pytest.raises(OSError):
            migrate(db, [schema(ONE, TWO)], path, path.parent / "backup")
        assert steps_taken(db) == {"room": 1}


def test_a_new_database_needs_no_backup(tmp_path: Path) -> None:
    with closing(open_sqlite(tmp_path / "kl.db", write=True)) as db:
        migrate(db, [schema(ONE, TWO)], tmp_path / "kl.db", tmp_path / "backup")
    assert not (tmp_path / "backup").exists()


@pytest.mark.slow
@pytest.mark.fault(
    "killed process",
    promised="the tables are old or new, never between",
    injected="SIGKILL of two migrations at once at 60 random moments",
)
def test_migrations_killed_at_60_moments_are_old_or_new_and_never_between(tmp_path: Path) -> None:
    """Two processes race to migrate; both are killed at a random moment. Every step is there whole,
    or not at all.
    """
    code = f"""
import os, random, shutil, signal, sys, time
sys.path.insert(0, {str(REPO)!r})
from contextlib import closing
from pathlib import Path
import kl_hooks.store.disk, kl_hooks.store.sqlite
from kl_hooks.errors import KlError
from kl_hooks.hookspecs import Schema
from kl_hooks.store.files import store_lock
from kl_hooks.store.store import migrate, steps_taken
from kl_hooks.store.sqlite import open_sqlite

folder = Path({str(tmp_path)!r})
old, path = folder / "old.db", folder / "kl.db"
first = "CREATE TABLE thing (id INTEGER PRIMARY KEY, n INTEGER);"
step2 = "ALTER TABLE thing ADD COLUMN two TEXT;\\nUPDATE thing SET two = id;\\nCREATE INDEX i2 ON thing (two);"
step3 = "CREATE TABLE next (id INTEGER PRIMARY KEY, n INTEGER, two TEXT);\\nINSERT INTO next SELECT * FROM thing;\\n" \\
        "DROP TABLE thing;\\nALTER TABLE next RENAME TO thing;"
def rooms(*steps):
    return [Schema("room", "kl", steps)]
with closing(open_sqlite(old, write=True)) as db:
    migrate(db, rooms(first), old, None)
    with db.transaction():
        db.many("INSERT INTO thing VALUES (?, ?)", [(n, n) for n in range(3000)])
def migrator():
    with store_lock(folder / "lock", wait=60, what="migrating"), closing(open_sqlite(path, write=True)) as db:
        migrate(db, rooms(first, step2, step3), path, folder / "backup")
def count(db):
    return db.rows("SELECT COUNT(*) FROM thing")[0][0]
r = random.Random(11)
ends = []
for kill in range(60):
    for leftover in folder.glob("kl.db*"):
        leftover.unlink()
    shutil.copy(old, path)
    children = []
    for _ in range(2):
        child = os.fork()
        if child == 0:
            try:
                migrator()
            finally:
                os._exit(0)
        children.append(child)
    time.sleep(r.uniform(0, 0.12))
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    with closing(open_sqlite(path, write=True)) as db:
        step = steps_taken(db)["room"]
        columns = [row[1] for row in db.rows("PRAGMA table_info(thing)")]
        tables = sorted(n for (n,) in db.rows("SELECT name FROM sqlite_master WHERE type = 'table'"))
        assert columns == ["id", "n", "two"][: 2 if step == 1 else 3], (step, columns)
        assert tables == ["schema_step", "thing"], tables
        assert count(db) == 3000
        assert db.rows("PRAGMA integrity_check") == [("ok",)]
        if step > 1:
            assert db.rows("SELECT COUNT(*) FROM thing WHERE two = CAST(id AS TEXT)") == [(3000,)]
        ends.append(step)
        migrate(db, rooms(first, step2, step3), path, None)
        assert steps_taken(db) == {{"room": 3}} and count(db) == 3000
print(len(ends), ends.count(1) > 0, ends.count(3) > 0)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.stderr == ""
    assert done.stdout == "60 True True\n"
