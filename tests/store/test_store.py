"""The store as the packages use it: what looking and writing do where all is well, and where it is
not.
"""

from __future__ import annotations

import random
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from kl_hooks.errors import EnvironmentProblem, StoreBusy, StoreDamaged, StoreNewer
from kl_hooks.hookspecs import Schema
from kl_hooks.store.files import store_lock
from kl_hooks.store.sqlite import FORMAT, SqliteDatabase, open_sqlite
from kl_hooks.store.state import State, locate_state
from kl_hooks.store.store import _WAIT, Store
from tests.support import sql

from .contract import ONE, TWO, schema

REPO = Path(__file__).parents[2]
DERIVED = "CREATE TABLE link (source TEXT, target TEXT);"


@pytest.fixture
def state(tmp_path: Path) -> State:
    common = tmp_path / "repo" / ".git"
    common.mkdir(parents=True)
    return locate_state(tmp_path / "repo", common, common, None, {"HOME": str(tmp_path / "home")})


def _store(
    state: State, *steps: str, graph: tuple[str, ...] = (DERIVED,), wait: str = "0.3"
) -> Store:
    schemas: list[Schema] = [
        schema(*(steps or (ONE,))),
        schema(*graph, owner="code", database="graph"),
    ]
    return Store(state, lambda: schemas, {"KL_LOCK_WAIT": wait})


@pytest.fixture
def store(state: State) -> Store:
    """With a row in each database."""
    made = _store(state)
    with made.writing() as db:
        db.execute("INSERT INTO thing (id, n) VALUES ('a', 1)")
    with made.writing("graph") as db:
        db.execute("INSERT INTO link VALUES ('x', 'y')")
    return made


def _ids(store: Store) -> list[str] | None:
    with store.reading() as db:
        return None if db is None else [i for (i,) in db.rows("SELECT id FROM thing ORDER BY id")]


def _links(store: Store) -> int | None:
    with store.reading("graph") as db:
        return None if db is None else len(db.rows("SELECT * FROM link"))


def test_looking_creates_nothing(state: State) -> None:
    store = _store(state)
    assert _ids(store) is None
    assert _links(store) is None
    assert store.problem() is None
    assert not state.directory.exists()


def test_writing_makes_what_is_needed(store: Store, state: State) -> None:
    assert _ids(store) == ["a"]
    assert _links(store) == 1
    names = {path.name for path in state.directory.iterdir()}
    assert names == {"README", ".gitignore", "spool", "spool.key", "graph", "kl.db", "store.lock"}


def test_importing_it_imports_no_database(tmp_path: Path) -> None:
    code = (
        "import sys, kl_hooks.store.store; print('sqlite3' in sys.modules, 'diskcache' in"
        " sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=REPO, capture_output=True, text=True, check=True
    )
    assert done.stdout == "False False\n"


def test_an_empty_file_is_as_none(store: Store, state: State) -> None:
    state.database.write_bytes(b"")
    assert _ids(store) is None
    with store.writing() as db:
        assert db.rows("SELECT * FROM thing") == []


def test_a_busy_lock_is_reported_and_does_not_stop_readers(store: Store, state: State) -> None:
    with store_lock(state.lock, wait=0, what="kl sync"):
        started = time.monotonic()
        with pytest.raises(StoreBusy, match="kl sync"), store.writing():
            pass
        assert time.monotonic() - started < 10
        assert _ids(store) == ["a"]
        with store.writing("graph") as db:
            assert len(db.rows("SELECT * FROM link")) == 1, "what is derived has a lock of its own"
    with store.writing() as db, store.writing("graph"):
        db.execute("INSERT INTO thing (id) VALUES ('b')")


def test_a_locked_file_is_waited_for_once(
    store: Store, state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[int] = []

    def noted(path: Path, *, write: bool, busy_ms: int = 0) -> SqliteDatabase:
        waits.append(busy_ms)
        return open_sqlite(path, write=write, busy_ms=busy_ms)

    monkeypatch.setattr("kl_hooks.store.sqlite.open_sqlite", noted)
    with closing(sqlite3.connect(state.database, isolation_level=None)) as holder:
        # with a write-ahead log this alone keeps readers out
        # (sqlite.org/pragma.html#pragma_locking_mode)
        holder.execute("PRAGMA locking_mode = EXCLUSIVE")
        holder.execute("BEGIN EXCLUSIVE")
        for _ in range(3):
            with pytest.raises(StoreBusy, match="another process is using it"), store.reading():
                pass
        assert waits == [300, 0, 0]
        holder.execute("ROLLBACK")
    assert _ids(store) == ["a"]
    assert _ids(store) == ["a"]
    assert waits[-1] == 300


def test_a_thread_that_asks_often_opens_a_database_once_and_sees_what_others_write(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []

    def noted(path: Path, *, write: bool, busy_ms: int = 0) -> SqliteDatabase:
        opened.append("write" if write else "read")
        return open_sqlite(path, write=write, busy_ms=busy_ms)

    monkeypatch.setattr("kl_hooks.store.sqlite.open_sqlite", noted)
    other = Store(store.state, store.schemas, {})
    with store.reusing():
        assert [_ids(store) for _ in range(3)] == [["a"]] * 3
        with store.reusing(), store.reading() as first, store.reading() as second:
            assert first is not second
        with other.writing() as db:
            db.execute("INSERT INTO thing (id) VALUES ('b')")
        assert _ids(store) == ["a", "b"]
        assert opened == ["read", "read", "write"]
        # SQLite refuses a connection of another thread
        thread = threading.Thread(target=lambda: _ids(store))
        thread.start()
        thread.join()
        assert opened[3:] == ["read"]
        with store.writing() as db:
            db.execute("INSERT INTO thing (id) VALUES ('c')")
        assert _ids(store) == ["a", "b", "c"]
        assert opened[4:] == ["write", "read"], "what is written may make the file anew"
    assert _ids(store) == ["a", "b", "c"]
    assert opened[6:] == ["read"]


def test_who_reads_the_tables_of_one_package_asks_for_those_of_no_other(
    store: Store, state: State
) -> None:
    def ask() -> list[Schema]:
        raise AssertionError("all plugins would be imported")

    code = schema(DERIVED, owner="code", database="graph")
    alone = Store(state, ask, {})
    with alone.reading("graph", (code,)) as db:
        assert db is not None
        assert db.rows("SELECT * FROM link") == [("x", "y")]
    other = schema(DERIVED, "CREATE TABLE more (x TEXT);", owner="code", database="graph")
    newer = Store(state, lambda: [other], {})
    with newer.reading("graph", (other,)) as db:
        assert db is not None, "it was brought up to date"
        assert db.rows("SELECT * FROM more") == []
    with Store(state, lambda: [code], {}).reading("graph", (code,)) as db:
        assert db is None, "a newer kl made it"


def test_a_database_of_which_a_part_was_looked_at_is_looked_at_again_for_all(
    store: Store, state: State
) -> None:
    code = schema(DERIVED, owner="code", database="graph")
    records = schema("CREATE TABLE authored (x TEXT);", owner="records", database="graph")
    all_of_it = Store(state, lambda: [code, records], {})
    with all_of_it.reusing():
        with all_of_it.reading("graph", (code,)) as db:
            assert db is not None
            assert db.rows("SELECT * FROM link") == [("x", "y")]
        with all_of_it.reading("graph") as db:
            assert db is not None
            assert db.rows("SELECT * FROM authored") == []
        with all_of_it.reading("graph", (code,)) as idle:
            pass
        with all_of_it.writing("graph"), pytest.raises(sqlite3.ProgrammingError, match="closed"):
            assert idle is not None
            idle.rows("SELECT * FROM link")


def test_a_busy_lock_is_waited_for_once(store: Store, state: State) -> None:
    with store_lock(state.lock, wait=0, what="kl sync"):
        for most in (5.0, 0.2):
            started = time.monotonic()
            with pytest.raises(StoreBusy, match=r"Waited 0\.3 s"), store.writing():
                pass
            assert time.monotonic() - started < most
    with store.writing():
        pass


def test_an_error_inside_releases_the_lock_and_is_passed_on_as_it_is(store: Store) -> None:
    for fault in (OSError(5, "mine"), KeyError("mine"), StoreDamaged("mine")):
        with pytest.raises(type(fault), match="mine"), store.writing() as db, db.transaction():
            db.execute("INSERT INTO thing (id) VALUES ('lost')")
            raise fault
    assert _ids(store) == ["a"]


def _garbage(path: Path) -> None:
    path.write_bytes(b"this is no database" * 300)


def _torn(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(100)
        file.write(b"\x77" * 3000)


def _link(path: Path) -> None:
    path.rename(path.with_name("moved"))
    path.symlink_to(path.with_name("moved"))


@pytest.mark.parametrize("harm", [_garbage, _torn, _link])
@pytest.mark.fault(
    "damaged file",
    promised="evidence that is damaged is named and left as it is",
    injected="bytes of the database are overwritten",
)
def test_damaged_evidence_is_reported_and_stays(
    store: Store, state: State, harm: Callable[[Path], None]
) -> None:
    harm(state.database)
    before = state.database.read_bytes()
    for use in (store.writing, store.reading):
        with (
            pytest.raises(
                StoreDamaged, match=r"Captures wait in the spool.*mv kl.db kl.db.damaged"
            ),
            use(),
        ):
            pass
    assert isinstance(store.problem(), StoreDamaged)
    assert state.database.read_bytes() == before
    assert not list(state.directory.glob("kl.db.*"))
    assert _links(store) == 1


@pytest.mark.parametrize("harm", [_garbage, _torn, _link])
@pytest.mark.fault(
    "damaged file",
    promised="what can be derived is built again",
    injected="bytes of the graph are overwritten",
)
def test_damaged_derived_data_is_built_anew(
    store: Store, state: State, harm: Callable[[Path], None]
) -> None:
    harm(state.graph)
    assert _links(store) is None
    with store.writing("graph") as db:
        assert db.rows("SELECT * FROM link") == []
    assert _links(store) == 0
    assert _ids(store) == ["a"]


def _newer_format(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {FORMAT + 1}")


def _newer_step(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("INSERT INTO schema_step SELECT room, 7 FROM schema_step")


@pytest.mark.parametrize("harm", [_newer_format, _newer_step])
@pytest.mark.fault(
    "newer format",
    promised="it is read and not written",
    injected="a higher number in the store",
)
def test_newer_evidence_is_read_and_not_written(
    store: Store, state: State, harm: Callable[[Path], None]
) -> None:
    harm(state.database)
    before = state.database.read_bytes()
    with pytest.raises(StoreNewer, match=r"made by a newer kl .*Upgrade.*spool"), store.writing():
        pass
    assert _ids(store) == ["a"]
    assert isinstance(store.problem(), StoreNewer)
    assert state.database.read_bytes() == before


@pytest.mark.parametrize("harm", [_newer_format, _newer_step])
def test_newer_derived_data_is_built_anew_by_who_writes(
    store: Store, state: State, harm: Callable[[Path], None]
) -> None:
    harm(state.graph)
    assert _links(store) is None
    with store.writing("graph") as db:
        assert db.rows("SELECT * FROM link") == []


def test_an_older_one_is_brought_up_to_date_by_looking(store: Store, state: State) -> None:
    newer = _store(state, ONE, TWO)
    assert _ids(newer) == ["a", "of step 2"]
    assert [path.name for path in (state.directory / "backup").iterdir()] == ["kl-0001.db"]
    with closing(open_sqlite(state.directory / "backup" / "kl-0001.db", write=False)) as db:
        assert db.rows("SELECT id FROM thing") == [("a",)]


def test_an_older_one_that_can_not_be_brought_up_to_date_is_read_as_it_is(
    store: Store, state: State
) -> None:
    newer = _store(state, ONE, TWO, graph=(DERIVED, "CREATE TABLE more (x TEXT);"))
    with (
        store_lock(state.lock, wait=0, what="x"),
        store_lock(state.graph.with_suffix(".lock"), wait=0, what="x"),
    ):
        assert _ids(newer) == ["a"]
        assert _links(newer) is None
    assert _links(newer) == 1


def test_a_foreign_table_is_refused(store: Store, state: State) -> None:
    with closing(sqlite3.connect(state.database)) as connection:
        connection.execute("CREATE TABLE planted (x)")
    with pytest.raises(StoreDamaged, match="planted"), store.writing():
        pass
    assert isinstance(store.problem(), StoreDamaged)


def _without_a_table(path: Path) -> None:
    sql(path, "DROP TABLE thing")


def _without_a_word(path: Path) -> None:
    sql(path, "DELETE FROM schema_step")


def test_what_changes_between_two_readings_is_seen(store: Store, state: State) -> None:
    assert (_ids(store), _links(store)) == (["a"], 1)
    _newer_format(state.graph)
    assert _links(store) is None
    _without_a_table(state.database)
    with pytest.raises(StoreDamaged, match="has lost the table thing"), store.reading():
        pass


@pytest.mark.parametrize(
    ("harm", "reason"),
    [
        (_without_a_table, "has lost the table thing."),
        (_without_a_word, "has the table thing, but no record that kl made it"),
    ],
)
def test_tables_that_do_not_fit_what_is_reported_of_them_are_damage(
    store: Store, state: State, harm: Callable[[Path], None], reason: str
) -> None:
    harm(state.database)
    before = state.database.read_bytes()
    with pytest.raises(StoreDamaged, match=reason), store.reading():
        pass
    with pytest.raises(StoreDamaged, match=reason), store.writing():
        pass
    assert isinstance(problem := store.problem(), StoreDamaged)
    assert reason in problem.reason
    assert state.database.read_bytes() == before


def test_tables_that_a_step_drops_or_renames_are_not_missed(state: State) -> None:
    steps = (
        ONE,
        "-- Away.\nALTER TABLE thing RENAME TO kept;\nCREATE TABLE b (n INTEGER);",
        "DROP TABLE IF EXISTS b;",
    )
    for count in (2, 3):
        made = _store(state, *steps[:count])
        with made.writing():
            pass
        assert made.problem() is None
        sql(state.database, f"CREATE TABLE odd{count} (n)", f"DROP TABLE odd{count}")
        with made.reading() as db:
            assert db is not None


@pytest.mark.parametrize("look", [_ids, Store.problem])
@pytest.mark.fault(
    "killed process",
    promised="a reader undoes what a killed writer left",
    injected="a journal is left beside the database",
)
def test_a_write_that_was_stopped_in_the_middle_is_undone_by_looking(
    store: Store, state: State, look: Callable[[Store], object]
) -> None:
    code = f"""
import os, sqlite3
connection = sqlite3.connect({str(state.database)!r}, isolation_level=None)
connection.execute("PRAGMA cache_size = 5")
connection.execute("BEGIN IMMEDIATE")
connection.executemany("INSERT INTO thing (id) VALUES (?)", [(f"{{n:0200}}",) for n in range(3000)])
os.kill(os.getpid(), 9)
"""
    subprocess.run([sys.executable, "-c", code], check=False)
    assert state.database.with_name("kl.db-journal").stat().st_size > 512
    assert look(store) in (["a"], None)
    assert _ids(store) == ["a"]
    assert not state.database.with_name("kl.db-journal").exists()


def test_a_place_that_can_not_be_made_is_an_environment_problem(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    state = locate_state(
        tmp_path, None, None, str(tmp_path / "file" / "kl"), {"HOME": str(tmp_path)}
    )
    with pytest.raises(EnvironmentProblem, match="KL_STATE"), _store(state).writing():
        pass
    assert _ids(_store(state)) is None


def test_there_are_two_databases(store: Store) -> None:
    with pytest.raises(EnvironmentProblem, match="'other'"), store.writing("other"):
        pass


@pytest.mark.parametrize(
    ("text", "seconds"), [("", _WAIT), ("soon", _WAIT), ("2.5", 2.5), ("-1", 0.0), ("1e9", 600.0)]
)
def test_how_long_to_wait(state: State, text: str, seconds: float) -> None:
    assert _store(state, wait=text).wait == seconds


WRITER = """
import os, sys
sys.path.insert(0, {repo!r})
from pathlib import Path
from kl_hooks.hookspecs import Schema
from kl_hooks.store.state import locate_state
from kl_hooks.store.store import Store
common = Path({common!r})
schemas = [Schema("room", "kl", ("CREATE TABLE thing (id TEXT PRIMARY KEY, n BIGINT);",))]
state = locate_state(common.parent, common, common, None, {{"HOME": "/nowhere"}})
store = Store(state, lambda: schemas, {{"KL_LOCK_WAIT": "60"}})
def write(start, count):
    rows = [(f"{{start}}-{{n}}", n) for n in range(count)] + [(f"shared-{{n}}", n) for n in range(count)]
    with store.writing() as db, db.transaction():
        db.many("INSERT INTO thing (id, n) VALUES (?, ?) ON CONFLICT DO NOTHING", rows)
"""


@pytest.fixture
def writer(state: State) -> Iterator[str]:
    yield WRITER.format(repo=str(REPO), common=str(state.directory.parent))


@pytest.mark.fault(
    "many writers",
    promised="every row is there once",
    injected="8 processes at once",
)
def test_eight_processes_at_once_lose_and_double_nothing(state: State, writer: str) -> None:
    code = writer + "for turn in range(6):\n    write(f'{sys.argv[1]}-{turn}', 5)\n"
    processes = [subprocess.Popen([sys.executable, "-c", code, str(n)]) for n in range(8)]
    assert [process.wait(timeout=120) for process in processes] == [0] * 8
    own = [f"{p}-{turn}-{n}" for p in range(8) for turn in range(6) for n in range(5)]
    assert _ids(_store(state, "CREATE TABLE thing (id TEXT PRIMARY KEY, n BIGINT);")) == sorted(
        own + [f"shared-{n}" for n in range(5)]
    )


@pytest.mark.slow
@pytest.mark.fault(
    "killed process",
    promised="a transaction is there whole or not at all",
    injected="SIGKILL of a writer of the database at 60 random moments",
)
def test_killed_at_60_moments_it_loses_nothing_acknowledged(state: State, writer: str) -> None:
    """Each writer is killed at a random moment after a random number of acknowledged writes."""
    code = (
        writer
        + """
import random, signal, time
r = random.Random(3)
for kill in range(60):
    out, into = os.pipe()
    child = os.fork()
    if child == 0:
        turn = 0
        while True:
            write(f"{kill}-{turn}", 4)
            os.write(into, f"{kill}-{turn}\\n".encode())
            turn += 1
    os.close(into)
    with os.fdopen(out) as pipe:
        told = [pipe.readline() for _ in range(r.randrange(4))]
        time.sleep(r.uniform(0, 0.03))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        print("".join(told + pipe.readlines()), end="")
"""
    )
    done = subprocess.run(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True, timeout=300
    )
    acknowledged = done.stdout.split()
    ids = _ids(_store(state, "CREATE TABLE thing (id TEXT PRIMARY KEY, n BIGINT);"))
    assert ids is not None
    assert len(acknowledged) >= 60
    assert {f"{turn}-{n}" for turn in acknowledged for n in range(4)} <= set(ids)
    turns: dict[str, int] = {}
    for one in ids:
        turns[one.rpartition("-")[0]] = turns.get(one.rpartition("-")[0], 0) + 1
    assert set(turns.values()) == {4}, "a transaction is there whole or not at all"
    with closing(open_sqlite(state.database, write=True)) as db:
        assert db.rows("PRAGMA integrity_check") == [("ok",)]


@pytest.mark.slow
@pytest.mark.fault(
    "many writers",
    promised="who loses a race is asked to try again; nothing is called damaged",
    injected="writers, readers and killed writers at once",
)
def test_losing_the_race_is_never_taken_for_damage(state: State, writer: str) -> None:
    """Writers, killed ones among them, while others read without a pause: only `busy` may be
    reported.
    """
    write = (
        writer + "turn = 0\nwhile True:\n    write(f'{os.getpid()}-{turn}', 30)\n    turn += 1\n"
    )
    processes = [subprocess.Popen([sys.executable, "-c", write]) for _ in range(3)]
    store = _store(state, "CREATE TABLE thing (id TEXT PRIMARY KEY, n BIGINT);", wait="20")
    r, seen = random.Random(1), [0]
    try:
        for _ in range(4):
            more = len(set(seen)) + r.randint(1, 2)
            while (
                len(set(seen)) < more
            ):  # as long as it takes: a busy machine gives a writer little time
                seen.append(len(_ids(store) or ()))
                assert [process.poll() for process in processes] == [None] * 3, "a writer ended"
            for _ in range(r.randrange(20)):
                seen.append(len(_ids(store) or ()))
            victim = processes.pop(0)
            victim.kill()
            victim.wait()
            processes.append(subprocess.Popen([sys.executable, "-c", write]))
    finally:
        for process in processes:
            process.kill()
            process.wait()
    assert seen == sorted(seen), "what was committed once is always there"
    assert store.problem() is None
    assert not list(state.directory.glob("kl.db.*"))


def test_what_is_read_in_a_snapshot_is_of_one_moment(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    writer = open_sqlite(path, write=True)
    writer.execute("CREATE TABLE t (n)")
    writer.execute("INSERT INTO t VALUES (1)")
    reader = open_sqlite(path, write=False, busy_ms=0)
    other = open_sqlite(path, write=True, busy_ms=0)
    with reader.snapshot(), reader.snapshot():
        before = reader.rows("SELECT n FROM t")
        with suppress(StoreBusy):  # where the journal is no WAL the writer has to wait
            other.execute("INSERT INTO t VALUES (2)")
        assert reader.rows("SELECT n FROM t") == before == [(1,)]
    for one in (writer, reader, other):
        one.close()
