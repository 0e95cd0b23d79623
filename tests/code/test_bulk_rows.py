"""A graph that is laid out at once is the one that would be written file by file, whatever else is
or was there.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kl_hooks.code import file_facts
from kl_hooks.code import file_facts as facts_module
from kl_hooks.code import update as module
from kl_hooks.code.file_facts import facts_under
from kl_hooks.code.query.lookup import select_symbols
from kl_hooks.code.query.session import refresh_graph
from kl_hooks.code.scanner.python import scan_python
from kl_hooks.graph import links
from kl_hooks.index import postings
from kl_hooks.workspace import Workspace
from tests.code.making import FILES, graph_of, repository, terms_of, workspace

MORE = {
    **FILES,
    "src/shop/__main__.py": (
        "from .web import *\nfrom .core import Basket as B\nclass C(B):\n    def total(self):\n"
        "        return super().total() + unknown(self.add_line('x'), __init__)\n"
    ),
    "src/shop/broken.py": "def f(:\n",
    "src/shop/empty.py": "",
    "scripts/web.py": "import shop.web\nshop.web.show_page(shop.core.Basket())\n",
    "setup.cfg": "",
}


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many files were laid out and written, each time; from two contents on it is done."""
    seen: list[int] = []
    write = module.write_bulk_rows

    def counted(db: Any, made: module.BulkRows, files: Any) -> None:
        seen.append(len(files))
        write(db, made, files)

    monkeypatch.setattr(facts_module, "MANY", 2)
    monkeypatch.setattr(module, "write_bulk_rows", counted)
    return seen


def tables_of(ws: Workspace) -> dict[str, list[tuple[Any, ...]]]:
    """The graph, and how it is updated."""
    with ws.store.reading("graph") as db:
        assert db is not None
        more = {"consulted": "path, keys", "said": "path, names", "naming": "name, asked_for"}
        return graph_of(ws) | {
            name: sorted(db.rows(f"SELECT {columns} FROM {name}")) for name, columns in more.items()
        }


def by_file(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> dict[str, list[tuple[Any, ...]]]:
    """The graph that is written file by file."""
    other = workspace(ws.root, "one-by-one")
    with monkeypatch.context() as patch:
        patch.setattr(facts_module, "MANY", 1000)
        refresh_graph(other)
    return tables_of(other)


@pytest.mark.parametrize("processes", [0, 2])
def test_it_is_what_would_be_written_file_by_file(
    tmp_path: Path, written: list[int], monkeypatch: pytest.MonkeyPatch, processes: int
) -> None:
    monkeypatch.setattr("kl_hooks.code.file_facts.processes", lambda: processes)
    ws = repository(tmp_path / "repo", MORE)
    scan = refresh_graph(ws)
    assert written == [scan.files] and len(scan.problems) == 1
    assert tables_of(ws) == by_file(ws, monkeypatch)
    assert written == [scan.files]
    assert refresh_graph(ws).parsed == 0


def test_afterwards_a_changed_file_is_replaced_alone(
    tmp_path: Path, written: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    ws = repository(tmp_path / "repo", MORE)
    refresh_graph(ws)
    for name in ("core", "web"):
        path = ws.root / f"src/shop/{name}.py"
        path.write_text(path.read_text() + "\ndef unknown(*args): return LIMIT\n")
    refresh_graph(ws)
    assert len(written) == 1
    assert tables_of(ws) == by_file(ws, monkeypatch)


def test_what_an_older_graph_left_of_a_file_goes(
    tmp_path: Path, written: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    ws = repository(tmp_path / "repo", MORE)
    path = "src/shop/core.py"
    with ws.store.writing("graph") as db, db.transaction():
        postings.add_files(db, {path: postings.file_terms(path, [[0, "", "", "leftover"]])})
        row = ("function:old", "calls", "function:gone", 1, "import", 100)
        links.replace_columns(db, {path: links.columns_of_rows([row])})
    refresh_graph(ws)
    assert len(written) == 1
    assert tables_of(ws) == by_file(ws, monkeypatch)
    with ws.store.reading("graph") as found:
        assert found is not None and "leftov" not in {row[0] for row in terms_of(found)}


def test_who_was_slower_than_another_process_writes_nothing_twice(
    tmp_path: Path, written: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    ws = repository(tmp_path / "repo", MORE)

    def meanwhile(made: Iterator[Any], number: int) -> Iterator[Any]:
        yield from made
        refresh_graph(workspace(ws.root))

    refresh_graph(ws, meanwhile)
    assert len(written) == 1
    assert tables_of(ws) == by_file(ws, monkeypatch)


def test_what_could_not_be_had_is_asked_for_again(
    tmp_path: Path, written: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    ws = repository(tmp_path / "repo", MORE)
    missing = "src/shop/core.py"

    def without(made: Iterator[Any], number: int) -> Iterator[Any]:
        for entry in made:
            symbols = str(file_facts.PackedFacts([entry])[entry[0]]["symbols"])
            if "Basket" not in symbols or "class C" in symbols:
                yield entry

    refresh_graph(ws, without)
    assert len(written) == 1
    with ws.store.reading("graph") as db:
        assert db is not None
        assert db.rows("SELECT substr(blob, 1, 1) FROM files WHERE path = ?", (missing,)) == [
            ("?",)
        ]
    refresh_graph(ws)
    assert tables_of(ws) == by_file(ws, monkeypatch)


SPELLINGS = """\
class defer: defer = "defer"
async def async_(self): return [x async for x in self]
def def_(def__, class_=1): pass
class class_(defer, metaclass=type):
    a, (b, *c) = 1, (2, 3)
    d: "int" = 4
    @property
    def class_(self): ...
    @class_.setter
    def class_(self, é): ...
    def test_def(self):
        class test: test = 1
        return test
def test_async(): pass
async   def  far( a ): pass
if a:
    def test_async(): "Again."
"""


def test_what_is_stored_is_what_the_scanner_returns(tmp_path: Path) -> None:
    contents = {
        "src/def/class.py": SPELLINGS,
        "tests/test_a.py": SPELLINGS,
        "src/def/__init__.py": "",
    }
    ws = repository(tmp_path / "repo", contents)
    refresh_graph(ws)
    with ws.store.reading("graph") as db:
        assert db is not None
        modules = dict(db.rows("SELECT path, module FROM files"))
        scanned = {
            path: facts_under(scan_python(text.encode(), path, "_"), modules[path], path)
            for path, text in contents.items()
        }
        stored = {path: select_symbols(db, "path = ?", (path,)) for path in contents}
    for path, facts in scanned.items():
        rows = [tuple(row[:6]) for row in (*facts["symbols"], *facts["tests"])]
        found = [
            (one.id, one.line, one.end_line, one.signature, one.doc, one.content_hash)
            for one in stored[path]
        ]
        assert sorted(found) == sorted(rows)
    assert sum(len(symbols) for symbols in stored.values()) >= 30
