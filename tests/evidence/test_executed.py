"""Executed symbols: through the file and the store they come back as they were, unchanged ones for
nothing.
"""

from __future__ import annotations

import gc
import json
import os
import random
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import networkx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.evidence import executed as subject
from kl_hooks.evidence.executed import (
    Executed,
    Execution,
    StoredValues,
    bits,
    executed_of_run,
    forget_runs,
    mask_of,
    read_executed,
    runs_with_symbols,
    write_executed,
)
from kl_hooks.evidence.ingestion import sync_evidence
from kl_hooks.evidence.plugin import EXECUTED
from kl_hooks.evidence.reads import Read, Reads
from kl_hooks.evidence.snapshot import snapshot
from kl_hooks.git.run import one_moment
from kl_hooks.model.canonical import canonical
from kl_hooks.store.database import Database
from kl_hooks.store.sqlite import SqliteDatabase, open_sqlite
from kl_hooks.store.store import _split_statements
from tests.support import NOW, Checkout, sql

from .making import executed_sets, leave_run

CORE = {
    one: path
    for path, symbols in {
        "app/__init__.py": "namespace:app",
        "app/core.py": "namespace:app.core function:app.core.add function:app.core.sub",
        "app/names.py": "namespace:app.names",
        "tests/conftest.py": "namespace:tests.conftest function:tests.conftest.client",
        "tests/test_a.py": (
            "namespace:tests.test_a function:tests.test_a.test_add function:tests.test_a.test_sub"
        ),
    }.items()
    for one in symbols.split()
}
ONE = executed_sets(
    {
        "tests/test_a.py::test_add": {
            "function:tests.test_a.test_add": "call",
            "function:app.core.add": "call",
        },
        "tests/test_a.py::test_sub": {
            "function:tests.conftest.client": "setup",
            "function:tests.test_a.test_sub": "call",
            "function:app.core.sub": "teardown",
        },
    },
    CORE,
    modules={
        "app/core.py": ["namespace:app.core"],
        "app/__init__.py": ["namespace:app"],
        "app/names.py": ["namespace:app.names"],
        "tests/test_a.py": ["namespace:tests.test_a"],
        "tests/conftest.py": ["namespace:tests.conftest"],
    },
    imports={
        "app/core.py": ("app/__init__.py", "app/names.py"),
        "app/names.py": ("app/core.py",),
        "tests/test_a.py": ("app/core.py",),
    },
)
TESTS = [("tests/test_a.py::test_add", "passed", 5), ("tests/test_a.py::test_sub", "passed", 7)]
PATHS = st.sampled_from(["a.py", "t/test_a.py", "t/test_b.py", "t/conftest.py", "t/x.yaml"])
SYMBOLS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)


@st.composite
def anything(draw: st.DrawFn) -> Executed:
    places = draw(st.dictionaries(SYMBOLS, PATHS, max_size=12))
    known = st.sampled_from(sorted(places)) if places else st.nothing()
    names = st.tuples(PATHS, SYMBOLS).map("::".join)
    sets = st.dictionaries(names, st.dictionaries(known, st.sampled_from(subject.PHASES)))
    modules = draw(st.dictionaries(PATHS, st.lists(known, min_size=1))) if places else {}
    found = executed_sets(
        draw(sets),
        places,
        modules=modules,
        imports=draw(st.dictionaries(PATHS, st.lists(PATHS, min_size=1).map(tuple))),
        unknown=draw(st.dictionaries(PATHS, SYMBOLS)),
        files=draw(st.dictionaries(SYMBOLS, SYMBOLS)),
        incomplete=draw(st.dictionaries(SYMBOLS, SYMBOLS)),
    )
    at = st.sampled_from(range(len(found.symbols))) if found.symbols else st.nothing()
    by = st.dictionaries(PATHS, st.frozensets(st.builds(Read, PATHS, SYMBOLS), min_size=1))
    reads = st.none() | st.builds(Reads, by, by, by)
    return replace(
        found,
        runtime=draw(st.dictionaries(PATHS, st.lists(PATHS, min_size=1).map(tuple))),
        values=draw(st.dictionaries(at, st.frozensets(at, min_size=1))) if found.symbols else {},
        reads=draw(reads),
    )


def plain(one: Executed) -> object:
    return (
        one.run,
        one.recorder,
        one.symbols,
        {name: dict(one.tests[name]) for name in one.tests},
        dict(one.modules),
        dict(one.imports),
        dict(one.places),
        dict(one.unknown),
        dict(one.files),
        dict(one.incomplete),
        dict(one.runtime),
        dict(one.values),
        one.reads,
    )


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqliteDatabase]:
    db = open_sqlite(tmp_path_factory.mktemp("executed") / "kl.db", write=True)
    for statement in _split_statements(EXECUTED.steps[0]):
        db.execute(statement)
    db.execute("CREATE TABLE schema_step (room TEXT, step INTEGER)")
    db.execute("INSERT INTO schema_step VALUES ('executed', 1)")
    yield db
    db.close()


@given(anything())
def test_file_and_store_give_back_what_was_recorded(
    tables: SqliteDatabase, tmp_path_factory: pytest.TempPathFactory, one: Executed
) -> None:
    folder = tmp_path_factory.getbasetemp()
    digest = write_executed(folder, one)
    assert plain(read_executed(folder / f"{one.run}.executed", digest)) == plain(one)
    with tables.transaction():
        tables.execute("DELETE FROM executed_run")
        subject.store_executed(tables, one)
    found = executed_of_run(tables, one.run)
    assert found is not None
    assert plain(found) == plain(one)
    for name in one.tests:
        assert found.dependencies(name) == one.dependencies(name) >= set(one.tests[name])


def test_a_result_rests_on_what_ran_and_on_what_its_files_run_when_they_are_imported() -> None:
    found = {ONE.symbols[at].symbol for at in ONE.dependencies("tests/test_a.py::test_add")}
    assert found == CORE.keys() - {
        "function:app.core.sub",
        "function:tests.test_a.test_sub",
        "function:tests.conftest.client",
    }, "app.names by the import of app.core, the conftest because it is above the test"
    assert ONE.closure("tests/test_a.py::test_add") == {
        "app/core.py",
        "app/__init__.py",
        "app/names.py",
        "tests/test_a.py",
        "tests/conftest.py",
    }
    assert sorted(ONE.tests["tests/test_a.py::test_sub"].values()) == ["call", "setup", "teardown"]
    with pytest.raises(KeyError):
        ONE.dependencies("tests/test_a.py::test_gone")


def test_a_run_is_imported_with_its_receipt_and_found_by_symbol(repo: Checkout) -> None:
    first = leave_run(repo.workspace(), TESTS, executed=ONE)
    changed = replace(ONE, symbols=tuple(s._replace(content_hash="f" * 16) for s in ONE.symbols))
    only = replace(
        changed,
        tests=subject.TestSets(
            {"tests/test_a.py": subject.TestFile.of({TESTS[0][0]: dict(ONE.tests[TESTS[0][0]])})}
        ),
    )
    second = leave_run(repo.workspace(), TESTS[:1], executed=only)
    assert sync_evidence(repo.workspace()).aside == ()
    assert not list((repo.state / "spool").glob("*.executed"))
    with repo.workspace().store.reading() as db:
        assert db is not None
        assert runs_with_symbols(db, 5) == [second, first]
        assert runs_with_symbols(db, 1) == [second]
        (found,) = (executed_of_run(db, run) for run in [first])
        assert found is not None
        assert plain(found) == plain(replace(ONE, run=first))
        index = {one.symbol: one.content_hash for one in ONE.symbols}
        assert subject.tests_of_symbols(
            db, ["function:app.core.add", "function:app.core.sub", "function:none"]
        ) == {
            "function:app.core.add": {
                TESTS[0][0]: Execution(second, "f" * 16, 2, "sys.monitoring")
            },
            "function:app.core.sub": {
                TESTS[1][0]: Execution(first, index["function:app.core.sub"], 1, "sys.monitoring")
            },
        }
        assert subject.altered_parts(db) == []
    with repo.workspace().store.writing() as db, db.transaction():
        ((part,),) = db.rows("SELECT MIN(id) FROM executed_part")
        db.execute("UPDATE executed_part SET digest = ? WHERE id = ?", (b"\0", part))
        assert subject.altered_parts(db) == [f"part {part} of the executed symbols was edited"]
        db.execute("UPDATE receipt SET folded = 'now' WHERE run = ?", (first,))
        forget_runs(db)
        assert runs_with_symbols(db, 5) == [second]
        assert not subject.tests_of_symbols(db, ["function:app.core.sub"])
        # the run itself, and what was read by others than tests
        assert db.row(
            "SELECT COUNT(*) FROM executed_part WHERE id NOT IN (SELECT part FROM executed_in)"
        ) == (2,)


def test_a_run_that_read_the_same_shares_all_parts_but_none_of_another_test_file(
    repo: Checkout,
) -> None:
    def run_reading(path: str) -> int:
        reads = Reads(
            tests={TESTS[0][0]: frozenset({Read(path), Read("data", "*")})},
            modules={"app.py": frozenset({Read("app.toml")})},
            values={ONE.symbols[0].symbol: frozenset({Read("data/a.json")})},
        )
        run = leave_run(repo.workspace(), TESTS, executed=replace(ONE, reads=reads))
        assert sync_evidence(repo.workspace()).aside == ()
        with repo.workspace().store.reading() as db:
            assert db is not None
            stored = executed_of_run(db, run)
            assert stored is not None and stored.reads == reads
            row = db.row("SELECT COUNT(*) FROM executed_part")
        assert row is not None
        return int(row[0])

    first = run_reading("data/a.json")
    assert run_reading("data/a.json") == first
    # the part of the test file, and the list of parts
    assert run_reading("data/b.json") == first + 2


@pytest.mark.local_database
@pytest.mark.sweep
def test_two_unchanged_runs_of_20000_tests_grow_the_store_by_4_bytes_a_test(repo: Checkout) -> None:
    dice = random.Random(7)
    names = [f"tests/test_{at // 50}.py::test_{at}" for at in range(20_000)]
    places = {f"function:app.m{at // 40}.f{at}": f"app/m{at // 40}.py" for at in range(2_000)}
    symbols = sorted(places)
    sets = {name: dict.fromkeys(dice.sample(symbols, 12), "call") for name in names}
    one = executed_sets(sets, places)
    ws, sizes = repo.workspace(), []
    for _ in range(2):
        leave_run(
            ws,
            [(name, "passed", int(dice.lognormvariate(6.5, 1.2))) for name in names],
            executed=one,
        )
        assert sync_evidence(ws).receipts
        sql(repo.state / "kl.db", "VACUUM")
        sizes.append((repo.state / "kl.db").stat().st_size)
    assert sizes[1] - sizes[0] <= 4 * 20_000, sizes


HOSTILE: dict[str, Callable[[Path, bytes], object]] = {
    "truncated": lambda path, data: path.write_bytes(data[: len(data) // 2]),
    "not compressed": lambda path, data: path.write_bytes(b"{}"),
    "empty": lambda path, data: path.write_bytes(b""),
    "altered": lambda path, data: path.write_bytes(
        zlib.compress(zlib.decompress(data).replace(b"add", b"sum"))
    ),
    "link": lambda path, data: (
        path.rename(path.with_name("x")),
        path.symlink_to(path.with_name("x")),
    ),
    "pipe": lambda path, data: (path.unlink(), os.mkfifo(path)),
    "of another run": lambda path, data: path.write_bytes(
        zlib.compress(zlib.decompress(data).replace(path.stem.encode(), b"f" * 32))
    ),
    "bomb": lambda path, data: path.write_bytes(zlib.compress(b" " * (subject._MAX_TEXT + 1), 1)),
}


@pytest.mark.parametrize("how", HOSTILE)
def test_a_file_that_the_receipt_does_not_vouch_for_is_quarantined(
    repo: Checkout, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.setattr(subject, "_MAX_TEXT", 1_000_000)
    run = leave_run(repo.workspace(), TESTS, executed=ONE)
    path = repo.state / "spool" / f"{run}.executed"
    HOSTILE[how](path, path.read_bytes())
    assert sync_evidence(repo.workspace()).aside == (f"{path}.aside",)
    with repo.workspace().store.reading() as db:
        assert db is not None
        assert runs_with_symbols(db, 5) == []
    assert repo.entries()[0].receipt.result["verdict"] == "passed", "the run itself is recorded"
    if how == "altered":
        assert f"{path}.aside" in repo.kl("knowledge", "gc").stdout


WRONG: list[object] = [
    [],
    {},
    7,
    None,
    {"schema": "kl.executed/9"},
    {"symbols": [["a", "b"]]},
    {"symbols": [["a", "b", 3]]},
    {"symbols": 7},
    {"symbols": [[[], "b", "c"]]},
    {"files": {"a.py": [[0], [], ""]}},
    {"files": {"a.py": [[True], [], ""]}},
    {"files": {"a.py": [[], [7], ""]}},
    {"files": {"a.py": [[], []]}},
    {"files": []},
    {"tests": {"a.py": [[0], []]}},
    {"tests": {"a.py": [[], [["a.py::b", "1", "0", "0"]]]}},
    {"tests": {"a.py": [[], [["b.py::b", "0", "0", "0"]]]}},
    {"tests": {"a.py": [[], [["a.py::b", "0", "0"]]]}},
    {"tests": {"a.py": [[], [["a.py::b", "-1", "0", "0"]]]}},
    {"tests": {"a.py": [[], [["a.py::b", "x", "0", "0"]]]}},
    {"tests": {"a.py": [[], [["a.py::b", 1, "0", "0"]]]}},
    {"opened": {"a": 7}},
    {"opened": [1]},
    {"incomplete": {"a": 1}},
    {"recorder": 7},
    {"run": None},
]


@pytest.mark.parametrize("change", WRONG, ids=str)
def test_content_of_a_wrong_form_is_refused(tmp_path: Path, change: object) -> None:
    good = {
        "schema": "kl.executed/1",
        "run": "r",
        "recorder": "x",
        "symbols": [],
        "files": {},
        "tests": {},
        "opened": {},
    }
    text = canonical({**good, **change} if isinstance(change, dict) and change else change)
    path = tmp_path / "r.executed"
    path.write_bytes(zlib.compress(text))
    with pytest.raises(ValueError):
        read_executed(path, sha256(text).hexdigest())
    path.write_bytes(zlib.compress(deep := b"[" * 100_000))
    with pytest.raises(ValueError):
        read_executed(path, sha256(deep).hexdigest())


def test_a_file_waits_for_its_receipt_and_an_orphan_is_removed_after_a_week(repo: Checkout) -> None:
    ws = repo.workspace()
    run = leave_run(ws, TESTS, executed=ONE)
    spool = repo.state / "spool"
    capture = (spool / f"{run}.jsonl").rename(spool / "elsewhere")
    day = 24 * 3600
    for age, there in ((6 * day, True), (8 * day, False)):
        os.utime(spool / f"{run}.executed", (NOW / 1e6 - age,) * 2)
        sync_evidence(ws)
        assert (spool / f"{run}.executed").exists() is there
    write_executed(spool, replace(ONE, run=run))
    os.utime(spool / f"{run}.executed", (NOW / 1e6 - 8 * day,) * 2)
    capture.rename(spool / f"{run}.jsonl")
    sync_evidence(ws)
    with ws.store.reading() as db:
        assert db is not None
        assert runs_with_symbols(db, 5) == [run], (
            "an older kl has imported the capture alone, or it came late"
        )


@pytest.mark.local_database
def test_where_the_store_can_not_be_written_the_file_is_read_from_the_spool(repo: Checkout) -> None:
    sync_evidence(repo.workspace())
    run = leave_run(repo.workspace(), TESTS, executed=ONE)
    sql(repo.state / "kl.db", "INSERT INTO schema_step (room, step) VALUES ('evidence', 99)")
    with snapshot(repo.workspace()) as known:
        (entry,) = known.waiting
        found = known.executed(entry)
        assert found is not None
        assert plain(found) == plain(replace(ONE, run=run))
        (repo.state / "spool" / f"{run}.executed").unlink()
        assert known.executed(entry) is found, "a snapshot is of one moment: a run is read once"
    with snapshot(repo.workspace()) as later:
        assert later.executed(entry) is None


def test_a_store_of_an_older_kl_has_no_executed_symbols(tmp_path: Path) -> None:
    with closing(open_sqlite(tmp_path / "old.db", write=True)) as db:
        assert (
            runs_with_symbols(db, 5),
            executed_of_run(db, "r"),
            subject.tests_of_symbols(db, ["a"]),
        ) == (
            [],
            None,
            {},
        )
        forget_runs(db)


def test_only_recorders_in_the_process_of_the_tests_know_what_was_opened() -> None:
    def of(recorder: str) -> bool:
        return replace(executed_sets({}, {}), recorder=recorder).knows_opened

    assert of("sys.monitoring") and of("sys.setprofile")
    # a recorder of a later version, which nobody here knows
    assert not of("coverage") and not of("sys.remote_exec")


@given(st.frozensets(st.integers(0, 900)))
def test_a_mask_has_the_bits_of_its_places(places: frozenset[int]) -> None:
    mask = mask_of(places)
    assert mask == sum(1 << place for place in places)
    assert list(bits(mask)) == sorted(places)


_PLACES = st.integers(0, 11)


@given(
    values=st.dictionaries(_PLACES, st.frozensets(_PLACES, max_size=4)),
    executed=st.frozensets(_PLACES),
)
def test_behind_a_test_is_what_values_lead_to_as_networkx_sees_it(
    values: dict[int, frozenset[int]], executed: frozenset[int]
) -> None:
    """A reader gets what was executed for its values, and what the readers in it got."""
    links = networkx.DiGraph(
        (reader, index) for reader, indexes in values.items() for index in indexes
    )
    expected = set[int]()
    for reader in executed & values.keys() & set(links):
        # a reader that its own values lead back to was executed for them, too
        expected |= {index for _, index in networkx.edge_bfs(links, reader)}
    behind = StoredValues(values, tuple(f"{place}.py" for place in range(12))).behind(executed)
    assert behind.symbols == expected
    assert behind.mask == mask_of(expected)
    assert behind.files == {f"{index}.py" for index in expected}


def test_runs_that_are_in_use_or_were_asked_last_are_read_once(
    tables: SqliteDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = [f"run{number}" for number in range(subject._MOST_CACHED + 2)]
    with tables.transaction():
        for run in runs:
            subject.store_executed(tables, replace(ONE, run=run))
    read: list[str] = []

    def counting(db: Database, run: str) -> Executed | None:
        read.append(run)
        return executed_of_run(db, run)

    monkeypatch.setattr(subject, "executed_of_run", counting)
    cache = subject.CachedExecuted()
    in_use = cache.of_run(tables, runs[0])
    for run in runs:
        cache.of_run(tables, run)
    gc.collect()
    assert cache.of_run(tables, runs[0]) is in_use
    assert cache.of_run(tables, runs[-1]) is cache.of_run(tables, runs[-1])
    # to be asked for again pushes out no other one
    for _ in runs:
        cache.of_run(tables, runs[-1])
    gc.collect()
    cache.of_run(tables, runs[-2])
    assert read == runs
    cache.of_run(tables, runs[1])
    assert read == [*runs, runs[1]], "it is not in use, and others were asked for since"
    assert cache.of_run(tables, "none") is None
    with one_moment():
        assert subject.cached_executed() is subject.cached_executed()


def test_tests_that_executed_and_read_the_same_share_it(tables: SqliteDatabase) -> None:
    first, second = (nodeid for nodeid, *_ in TESTS)
    read = frozenset({Read("data.json")})
    file = ONE.tests.files["tests/test_a.py"]
    masks = dict.fromkeys((first, second), file.masks[first])
    same = replace(
        ONE,
        run="same",
        tests=subject.TestSets({"tests/test_a.py": file._replace(masks=masks)}),
        reads=Reads(tests={first: read, second: frozenset({*read})}),
    )
    with tables.transaction():
        subject.store_executed(tables, same)
    executed = executed_of_run(tables, same.run)
    assert executed is not None and executed.reads is not None
    assert executed.tests.files["tests/test_a.py"].masks == masks
    assert (
        executed.tests.files["tests/test_a.py"].masks[first]
        is (executed.tests.files["tests/test_a.py"].masks[second])
    )
    assert executed.reads.tests[first] == read
    assert executed.reads.tests[first] is executed.reads.tests[second]


def test_imports_that_read_the_same_share_it_in_all_runs() -> None:
    plain = {
        "tests": {},
        "modules": {"a.py": [["data", "*"]], "b.py": [["data", "*"], ["x.json", ""]]},
        "values": {},
    }
    runs = [Reads.from_dict(json.loads(json.dumps(plain))) for _ in range(2)]
    assert runs[0].modules == {
        "a.py": {Read("data", "*")},
        "b.py": {Read("data", "*"), Read("x.json")},
    }
    for path in runs[0].modules:
        assert runs[0].modules[path] is runs[1].modules[path]
    (shared,) = runs[0].modules["a.py"]
    assert any(read is shared for read in runs[0].modules["b.py"])
