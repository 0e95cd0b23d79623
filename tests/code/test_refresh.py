"""Updates: the graph always describes the working tree, however it was changed.

A graph made by an earlier kl goes on being one.
"""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from kl_hooks.code import file_index, name_index
from kl_hooks.code.query.search import find_all
from kl_hooks.code.query.session import open_graph, refresh_graph
from kl_hooks.errors import EnvironmentProblem, StoreBusy
from kl_hooks.graph import links
from kl_hooks.store.sqlite import SqliteDatabase
from kl_hooks.workspace import Workspace
from tests.code.making import FILES, graph_of, repository, workspace
from tests.git.repos import commit, sh, write


@pytest.fixture
def ws(tmp_path: Path) -> Workspace:
    return repository(tmp_path / "repo")


def incoming(ws: Workspace, identifier: str) -> list[tuple[str, int]]:
    with ws.store.reading("graph") as db:
        assert db is not None
        return [(link.path, link.line) for link in links.incoming(db, identifier, "imports")]


def test_the_first_time_and_the_second(ws: Workspace) -> None:
    first = refresh_graph(ws)
    assert (first.files, first.parsed, first.removed, first.problems) == (4, 4, 0, [])
    before = ws.state.graph.read_bytes()
    second = refresh_graph(ws)
    assert (second.files, second.parsed, second.removed) == (4, 0, 0)
    assert ws.state.graph.read_bytes() == before, "nothing changed, so nothing may be written"
    assert incoming(ws, "namespace:shop.core") == [
        ("src/shop/web.py", 1),
        ("src/shop/web.py", 2),
        ("tests/test_core.py", 1),
    ]


def test_edited_and_untracked_files_count_and_ignored_ones_do_not(
    ws: Workspace, tmp_path: Path
) -> None:
    refresh_graph(ws)
    write(
        tmp_path / "repo",
        {
            "src/shop/core.py": "def fresh(): pass\n",
            "new.py": "def brand_new(): pass\n",
            ".gitignore": "out.py\n",
            "out.py": "def hidden(): pass\n",
        },
    )
    assert refresh_graph(ws).parsed == 2
    ids = {row[0] for row in graph_of(ws)["symbols"]}
    assert {"function:shop.core.fresh", "function:new.brand_new"} <= ids
    assert not ids & {"function:out.hidden", "type:shop.core.Basket"}


@pytest.mark.requirement("A29")
def test_a_file_that_vanished_goes_and_links_of_others_stay(ws: Workspace, tmp_path: Path) -> None:
    refresh_graph(ws)
    (tmp_path / "repo/src/shop/core.py").unlink()
    scan = refresh_graph(ws)
    assert (scan.files, scan.parsed, scan.removed) == (3, 0, 1)
    assert "src/shop/core.py" not in {row[0] for row in graph_of(ws)["files"]}
    assert incoming(ws, "namespace:shop") == [
        ("src/shop/web.py", 1),
        ("src/shop/web.py", 2),
        ("tests/test_core.py", 1),
    ]
    with open_graph(ws) as graph:
        assert {hit.path for hit in find_all(graph, ["Basket"], (), "", 5)[0]} == {
            "src/shop/web.py",
            "tests/test_core.py",
        }
    sh(tmp_path / "repo", "checkout", "-q", ".")
    assert refresh_graph(ws).parsed == 0
    assert len(incoming(ws, "namespace:shop.core")) == 3


def test_a_file_that_does_not_parse_is_reported_and_loses_its_symbols(
    ws: Workspace, tmp_path: Path
) -> None:
    refresh_graph(ws)
    write(tmp_path / "repo", {"src/shop/web.py": "def show_page(:\n"})
    for _ in range(2):  # the second time from what is remembered
        scan = refresh_graph(ws)
        (problem,) = scan.problems
        assert (problem.path, problem.line, problem.column) == ("src/shop/web.py", 1, 15)
        assert problem.message and problem.hint
    graph = graph_of(ws)
    assert [row[4] for row in graph["files"] if row[0] == "src/shop/web.py"] == [
        f"1:15: {problem.message.rstrip('.')}"
    ]
    assert not [
        row for table in ("symbols", "terms") for row in graph[table] if "src/shop/web.py" in row
    ]
    assert len(graph["symbols"]) > 5


def test_names_that_are_not_utf_8_are_reported(ws: Workspace, tmp_path: Path) -> None:
    (tmp_path / "repo").joinpath("caf\udce9.py").write_text("X = 1\n")
    scan = refresh_graph(ws)
    assert [problem.path for problem in scan.problems] == ["caf\\udce9.py"]
    assert scan.files == 4


def test_odd_names_and_contents_are_imported(tmp_path: Path) -> None:
    odd = {
        "a b.py": "X = 1\n",
        "new\nline.py": "Y = 2\n",
        "quote'\".py": "Z = 3\n",
        "é.py": "É = 4\n",
        "empty.py": "",
    }
    ws = repository(tmp_path / "repo", odd)
    write(tmp_path / "repo", {"surrogate.py": "def f():\n    '\\ud800'\n\n\nx = '\\0'\n"})
    (tmp_path / "repo/link.py").symlink_to("empty.py")
    scan = refresh_graph(ws)
    assert (scan.files, scan.problems) == (6, [])


def test_without_git_it_states_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "plain/.kl").mkdir(parents=True)
    with pytest.raises(EnvironmentProblem, match="git init"):
        refresh_graph(workspace(tmp_path / "plain"))


def test_a_damaged_graph_is_built_anew(ws: Workspace) -> None:
    refresh_graph(ws)
    whole = graph_of(ws)
    ws.state.graph.write_bytes(b"SQLite format 3\0 and nothing more")
    assert refresh_graph(ws).parsed == 4
    assert graph_of(ws) == whole


def test_somebody_elses_turn_is_reported_and_nothing_half_done(
    ws: Workspace, tmp_path: Path
) -> None:
    refresh_graph(ws)
    before = graph_of(ws)
    write(tmp_path / "repo", {"new.py": "X = 1\n"})
    with ws.store.writing("graph"), pytest.raises(StoreBusy):
        refresh_graph(ws)
    assert graph_of(ws) == before


CONTENTS = [
    "",
    "X = 1\n",
    "import a\na.f(a.X)\n",
    "from p import m\nm.f()\nm.C().x\n",
    "from .m import f\nf()\n",
    "def f(): pass\n",
    "class C:\n    x = 1\n    def f(self): return self.g()\n",
    "from a import *\nimport p.m, ext\nf()\nC.x\np.m.f\n",
    "def broken(:\n",
    "from . import m, q\nm.C.f\nq.D().f()\n",
    "import ns.p\nimport helpers\nhelpers.f()\nns.p.C()\n",
    "from a import C as B\nclass D(B):\n    def g(self): return self.f()\n",
    "from p.q import D\nd = D()\nd.f()\nd.x\n",
    "from p import D\ndef g(d: D): d.f(); d.g(); d.c.f()\n",
    "from p.q import *\nfrom .m import C as E\n__all__ = ['D', 'f']\n",
    "from .q import D, E\nclass C(E):\n    c: D\n",
    (
        "class D:\n    def __init__(self): self.c = C()\n    def f(self): self.c.f()\nclass C:\n   "
        " def f(self): pass\n"
    ),
    "import unknown.f\nunknown.f.C().f()\n",
    "from . import m\nfrom .m import made\nmade().f()\nm.B.f\n",
    (
        "from .q import C\nclass D:\n    def f(self) -> Self: return self\ndef made() -> C: return"
        " C()\nB = D\n"
    ),
    (
        "from p import m, made\ndef g():\n    x = made()\n    x.f()\n    y = m.B().f()\n"
        "    y.f()\n    with made() as z: z.g()\n"
    ),
    (
        "from p.m import B\nclass C(B):\n    def __enter__(self) -> B: pass\n    def g(self):"
        " return self.f().g()\n"
    ),
    "class C:\n    x = 1\n    @property\n    def f(self) -> 'D': return self.g()\n",
    "class C:\n    x: 'D' = 1\n    @staticmethod\n    def f(self): 'Says something.'\n",
    (
        "from typing import overload\n@overload\ndef f() -> C: ...\n@overload\ndef f(x): ...\ndef"
        " f(x=1): return x\n"
    ),
    "def f(): 'Says something.'\n__all__ = ['f']\n",
    "from .m import f as f\nfrom .q import *\n__all__ = ('C',)\n",
    "class C:\n    def __init__(self): pass\n    def f(self): C()\n",
    "class C: pass\n",
    "from p.m import C\nC()\n",
    "from p.m import made as f\nf().x\nf().g()\n",
    "import src.a as a\na.f()\nfrom tests import helpers\nhelpers.C.f\n",
    "__all__ = ['m', 'q']\n",
    "__all__ = ['q', 'f']\nfrom .m import f\n",
    "from . import *\nm.f()\nq.f()\n",
    "from p import *\nm.f()\nq.C().f()\nq.D.f\n",
    "from p import *\nfrom p.q import *\nm.f()\nf()\n",
    "from p import m, q\n",
    "import hub\nhub.m.f()\nhub.q.C().f()\n",
    "from hub import *\n",
    "from hub import m, D\nm.f()\nm.C().f()\nD().f()\n",
    "from hub import *\ndef g() -> D: return f()\n",
    "from hub import C\nclass E(C):\n    m: D\n",
    "from .zz import q\nfrom . import q, t\nq.f()\nt.f()\n",
    "from .q import f, D\nf()\nfrom .. import *\n",
    "X = 1\n__all__ = ['m']\n",
    "X = 1\n__all__ = []\n",
    "import k.t, k\nk.t.f()\nk.f()\nk.t.q.f()\n",
    "def हिन्दी(): pass\n",
    "from hub import हिन्दी\nहिन्दी()\n",
]
PATHS = [
    "a.py",
    "p/__init__.py",
    "p/m.py",
    "p/q.py",
    "ns/p/__init__.py",
    "ns/p/m.py",
    "src/a.py",
    "tests/helpers.py",
    "hub.py",
    "k.py",
    "k/t.py",
    "k/s/t.py",
]


def small(monkeypatch: pytest.MonkeyPatch, chance: random.Random) -> None:
    """As if a handful of files were thousands: few to a row, many names to a class, or one way of
    looking for all.
    """
    monkeypatch.setattr(file_index, "_AT_ONCE", chance.choice([1, 2, 256]))
    monkeypatch.setattr(file_index, "_LARGE", chance.choice([1, 3]))
    monkeypatch.setattr(name_index, "_BUCKETS", chance.choice([1, 3, 16_381]))
    monkeypatch.setattr(name_index, "_SHARE", chance.choice([0, 0, 8]))
    monkeypatch.setattr("kl_hooks.code.update.FEW", chance.choice([0, 1, 100]))


def step(root: Path, chance: random.Random) -> str:
    """Does something that people do to a working tree; returns what."""
    there = [path for path in PATHS if (root / path).exists()]
    what = chance.choice(
        [
            "write",
            "write",
            "write",
            "delete",
            "rename",
            "commit",
            "branch",
            "switch",
            "stash",
            "reset",
        ]
    )
    if what == "write":
        write(root, {chance.choice(PATHS): chance.choice(CONTENTS)})
    elif what == "delete" and there:
        (root / chance.choice(there)).unlink()
    elif what == "rename" and there:
        target = root / chance.choice(PATHS)
        target.parent.mkdir(parents=True, exist_ok=True)
        (root / chance.choice(there)).replace(target)
    elif what == "commit":
        commit(root, "more")
    elif what == "branch":
        commit(root, "before")
        sh(root, "checkout", "-q", "-B", chance.choice(["one", "two"]))
    elif what == "switch":
        sh(root, "checkout", "-q", "-f", "main")
    elif what == "stash":
        sh(root, "stash", "-q", "-u", ok=False)
    else:
        sh(root, "reset", "-q", "--hard")
    return what


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(14))
@pytest.mark.requirement("A28", "C16")
@pytest.mark.share(3)
def test_however_it_was_made_the_graph_equals_one_built_from_nothing(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(seed)
    small(monkeypatch, chance)
    root = tmp_path / "repo"
    grown = repository(root, {path: chance.choice(CONTENTS) for path in PATHS[:5]})
    story = []
    for number in range(8):
        for _ in range(chance.randint(1, 3)):
            story.append(step(root, chance))
        scan = refresh_graph(grown)
        fresh = workspace(root, f"state{number}")
        assert refresh_graph(fresh).problems == scan.problems
        assert graph_of(grown) == graph_of(fresh), story
        with open_graph(grown) as one, open_graph(fresh) as other:
            for words in (["f"], ["C", "p"], ["module", "x"]):
                assert find_all(one, words, (), "", 50) == find_all(other, words, (), "", 50)


def test_files_are_those_of_this_worktree(ws: Workspace, tmp_path: Path) -> None:
    refresh_graph(ws)
    sh(tmp_path / "repo", "worktree", "add", "-q", str(tmp_path / "beside"))
    write(tmp_path / "beside", {"only_here.py": "def here(): pass\n"})
    beside = workspace(tmp_path / "beside")
    assert refresh_graph(beside).files == len(FILES)
    assert refresh_graph(ws).files == len(FILES) - 1


def test_a_file_that_marks_a_project_counts_as_soon_as_it_is_there(tmp_path: Path) -> None:
    ws = repository(tmp_path / "repo", {"libs/one/script.py": "X = 1\n"})
    refresh_graph(ws)
    assert [row[3] for row in graph_of(ws)["files"]] == ["libs.one.script"]
    write(tmp_path / "repo", {"libs/one/pyproject.toml": "[project]\nname = 'one'\n"})
    assert refresh_graph(ws).parsed == 0
    assert [row[3] for row in graph_of(ws)["files"]] == ["script"]
    before = ws.state.graph.read_bytes()
    refresh_graph(ws)
    assert ws.state.graph.read_bytes() == before
    (tmp_path / "repo/libs/one/pyproject.toml").unlink()
    refresh_graph(ws)
    assert [row[3] for row in graph_of(ws)["files"]] == ["libs.one.script"]


@pytest.mark.slow
@pytest.mark.parametrize("others", [600, 900])
@pytest.mark.share(2)
def test_after_one_change_the_rows_of_few_files_are_read(
    tmp_path: Path, others: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What one change costs does not grow with the number of files: a row holds 256 of them."""
    many = {f"p/m{number}.py": f"def f{number}(): pass\n" for number in range(others)}
    ws = repository(tmp_path / "repo", {"p/__init__.py": "", **many})
    refresh_graph(ws)
    assert not refresh_graph(ws).parsed
    write(tmp_path / "repo", {"p/m7.py": "from p.m8 import f8\ndef another(): f8()\n"})
    rows: list[tuple[str, int]] = []

    def counted(
        self: SqliteDatabase, sql: str, params: Any = (), true: Any = SqliteDatabase.rows
    ) -> Any:
        found = true(self, sql, params)
        rows.append((sql, len(found)))
        return found

    monkeypatch.setattr(SqliteDatabase, "rows", counted)
    assert refresh_graph(ws).parsed == 1
    assert sum(number for _, number in rows) < 400, rows
    for change in ({"p/new.py": "from p.m9 import f9\ndef another(): f9()\n"}, {"p/new.py": None}):
        rows.clear()
        for path, text in change.items():
            (
                (tmp_path / "repo" / path).write_text(text)
                if text
                else (tmp_path / "repo" / path).unlink()
            )
        refresh_graph(ws)
        assert sum(number for _, number in rows) < 400, (
            "a file that came or went is no more than one that changed"
        )
    fresh = workspace(tmp_path / "repo", "fresh")
    refresh_graph(fresh)
    assert graph_of(ws) == graph_of(fresh)


@pytest.mark.parametrize("base", ["", "class D(C): pass\n"])
def test_who_calls_a_class_learns_of_its_new_constructor(tmp_path: Path, base: str) -> None:
    """It mentions the name of the class, and never `__init__`."""
    files = {
        "m.py": "class C: pass\n",
        "d.py": f"from m import C\n{base}",
        "b.py": "import d\nd.C()\nd.D()\n",
    }
    ws = repository(tmp_path / "repo", files)
    for text in ("class C:\n    def __init__(self): pass\n", "class C: pass\n"):
        refresh_graph(ws)
        write(tmp_path / "repo", {"m.py": text})
        refresh_graph(ws)
        fresh = workspace(tmp_path / "repo", f"fresh{len(text)}")
        refresh_graph(fresh)
        assert graph_of(ws) == graph_of(fresh)


def test_a_module_called_like_a_file_that_marks_a_project(tmp_path: Path) -> None:
    files = {
        "pyproject.toml": "",
        "pyproject/toml.py": "X = 1\n",
        "main.py": "import pyproject.toml\n",
    }
    ws = repository(tmp_path / "repo", files)
    assert refresh_graph(ws).files == 2
    assert [row[3] for row in graph_of(ws)["files"]] == ["main", "pyproject.toml"]


def test_a_graph_that_an_older_kl_wrote_is_built_anew(ws: Workspace, tmp_path: Path) -> None:
    refresh_graph(ws)
    fresh = graph_of(ws)
    with closing(sqlite3.connect(ws.state.graph)) as db:
        # as it was when the words were in an FTS5 table: other columns, and steps that there are no
        # more
        db.executescript("""
            DROP TABLE documents; CREATE TABLE documents (seq INTEGER PRIMARY KEY, owner TEXT, body TEXT);
            CREATE TABLE index_state (full_text TEXT);
            DELETE FROM schema_step WHERE room = 'index'; INSERT INTO schema_step VALUES ('index', 4), ('index', 5);
        """)
    assert refresh_graph(ws).parsed == 4
    assert graph_of(ws) == fresh
    with closing(sqlite3.connect(ws.state.graph)) as db:
        assert not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'index_state'").fetchall()
