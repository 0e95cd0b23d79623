"""Facts by content: read once, remembered, the same with and without a store, without secrets.

Several processes give what one would; what kills one of them costs that one content and no other.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from kl_hooks.code import file_facts as facts_module
from kl_hooks.code.file_facts import facts_of, modules_of, scan_in_processes
from kl_hooks.code.languages import scanners_of
from kl_hooks.code.query.session import refresh_graph
from kl_hooks.git import files
from kl_hooks.store.store import Store
from kl_hooks.workspace import Workspace
from tests.code.making import FILES, Counting, graph_of, repository, workspace
from tests.git.repos import commit, sh, write

SECRET = "ghp_" + "Zk3vQ9xW7mN2bL5cR8tY1uJ4hG6fD0sAqE9p"


def facts(
    ws: Workspace,
    counting: Counting,
    store: Store | None,
    printed: list[str] | None = None,
    **more: Any,
) -> Any:
    assert ws.repo is not None
    repo = ws.repo
    entries = files.worktree_files(repo, (".py",))
    warn = (printed if printed is not None else []).append
    return facts_of(
        store,
        entries,
        lambda some: files.read_files(repo, some),
        [counting.scanner()],
        warn=warn,
        **more,
    )


@pytest.fixture
def ws(tmp_path: Path) -> Workspace:
    return repository(tmp_path / "repo")


def test_the_same_with_a_store_without_one_and_the_second_time(ws: Workspace) -> None:
    counting = Counting()
    plain = facts(ws, counting, None)
    assert set(plain) == {name for name in FILES if name.endswith(".py")}
    assert [row[0] for row in plain["src/shop/web.py"]["symbols"]] == [
        "namespace:shop.web",
        "function:shop.web.show_page",
    ]
    assert counting.asked() == sorted(plain)
    assert facts(ws, counting, ws.store) == plain
    assert counting.asked() == sorted(plain)
    assert facts(ws, counting, ws.store) == plain
    assert counting.asked() == []


def test_without_symbols_the_imports_are_there(ws: Workspace) -> None:
    whole = facts(ws, Counting(), ws.store)
    light = facts(ws, Counting(), ws.store, symbols=False)
    assert {path: one["imports"] for path, one in light.items()} == {
        p: one["imports"] for p, one in whole.items()
    }


def test_only_unseen_contents_are_read(ws: Workspace, tmp_path: Path) -> None:
    counting, root = Counting(), tmp_path / "repo"
    facts(ws, counting, ws.store)
    counting.asked()
    write(root, {"src/shop/core.py": "X = 1\n"})
    facts(ws, counting, ws.store)
    assert counting.asked() == ["src/shop/core.py"]
    commit(root, "second")
    sh(root, "checkout", "-q", "HEAD~1")
    facts(ws, counting, ws.store)
    sh(root, "checkout", "-q", "main")
    sh(root, "mv", "src/shop/web.py", "src/shop/site.py")
    moved = facts(ws, counting, ws.store)
    assert counting.asked() == []
    assert [row[:1] + row[3:4] for row in moved["src/shop/site.py"]["symbols"]] == [
        ["namespace:shop.site", "module shop.site"],
        ["function:shop.site.show_page", "def show_page(basket: Basket) -> str"],
    ]


def test_equal_contents_are_read_once_and_named_apart(tmp_path: Path) -> None:
    ws = repository(tmp_path / "repo", {"a.py": "def f(): pass\n", "b.py": "def f(): pass\n"})
    counting = Counting()
    found = facts(ws, counting, None)
    assert len(counting.asked()) == 1
    assert [found[path]["symbols"][1][0] for path in ("a.py", "b.py")] == [
        "function:a.f",
        "function:b.f",
    ]


def test_another_scanner_reads_anew(ws: Workspace) -> None:
    facts(ws, Counting(), ws.store)
    newer = Counting(version="python-ast/next")
    facts(ws, newer, ws.store)
    assert len(newer.asked()) == 4


def test_a_bad_file_is_reported_and_the_others_are_read(tmp_path: Path) -> None:
    many = {f"m{n}.py": f"def f{n}(): pass\n" for n in range(60)}
    ws = repository(
        tmp_path / "repo", {**many, "bad.py": "def f(:\n", "worse.py": "x = '\\N{nothing}'\n"}
    )
    found = facts(ws, Counting(), ws.store)
    assert {path for path, one in found.items() if one["error"]} == {"bad.py", "worse.py"}
    assert found["bad.py"]["error"].startswith("1:7: ")
    assert all(len(found[path]["symbols"]) == 2 for path in many)


def test_a_damaged_database_is_built_anew(ws: Workspace) -> None:
    plain = facts(ws, Counting(), ws.store)
    ws.state.graph.write_bytes(b"no database at all" * 100)
    counting = Counting()
    assert facts(ws, counting, ws.store) == plain
    assert len(counting.asked()) == 4
    assert facts(ws, counting, ws.store) == plain
    assert counting.asked() == []


def test_a_locked_store_costs_a_warning_only(ws: Workspace) -> None:
    plain = facts(ws, Counting(), None)
    printed: list[str] = []
    with ws.store.writing("graph"):
        assert facts(ws, Counting(), ws.store, printed) == plain
    assert len(printed) == 1 and "\n" not in printed[0]


def test_a_newer_or_odd_store_costs_a_warning_only(ws: Workspace) -> None:
    plain = facts(ws, Counting(), ws.store)
    with ws.store.writing("graph") as db:
        db.execute("DROP TABLE facts")
    printed: list[str] = []
    assert facts(ws, Counting(), ws.store, printed) == plain
    assert len(printed) == 1


def test_a_row_that_was_tampered_with_is_read_again(ws: Workspace) -> None:
    plain = facts(ws, Counting(), ws.store)
    with ws.store.writing("graph") as db:
        db.execute("UPDATE facts SET symbols = '{'")
    counting = Counting()
    assert facts(ws, counting, ws.store) == plain
    assert len(counting.asked()) == 4


def test_no_secret_of_the_source_reaches_the_store(tmp_path: Path) -> None:
    source = (
        f"API_TOKEN = '{SECRET}'\n\n\ndef connect(token='{SECRET}'):\n    '''Uses {SECRET} to"
        " connect.'''\n\n\nclass TestMultiGraphISOVF2pp(Base):\n    pass\n"
    )
    ws = repository(tmp_path / "repo", {"a.py": source})
    found = facts(ws, Counting(), ws.store)
    assert found["a.py"]["symbols"][3][0:4:3] == [
        "type:a.TestMultiGraphISOVF2pp",
        "class TestMultiGraphISOVF2pp(Base)",
    ]
    assert "connect(token=" in found["a.py"]["symbols"][2][3]
    stored = b"".join(path.read_bytes() for path in ws.state.graph.parent.iterdir())
    with ws.store.reading("graph") as db:
        assert db is not None
        rows = db.rows("SELECT imports, symbols, uses, outline, names FROM facts")
    unpacked = b"".join(zlib.decompress(column) for row in rows for column in row)
    assert b"connect" in unpacked and SECRET.encode() not in stored + unpacked


def test_modules_are_those_of_the_facts(ws: Workspace) -> None:
    assert modules_of(facts(ws, Counting(), None))["src/shop/core.py"] == "shop.core"
    assert scanners_of(ws)[0].language == "python"


pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


def squares(items: Sequence[int]) -> list[tuple[int, int]]:
    for item in items:
        if item in (41, 170):
            os.kill(os.getpid(), signal.SIGSEGV)
    return [(item, item * item) for item in items if item != 7]


def test_every_result_and_a_word_for_what_killed_its_process() -> None:
    found = dict(scan_in_processes(list(range(200)), squares, lambda item: (item, -1), count=2))
    assert found == {n: -1 if n in (41, 170) else n * n for n in range(200) if n != 7}


def test_an_error_of_the_scan_is_raised() -> None:
    def fails(items: Sequence[int]) -> list[int]:
        raise LookupError(items[0])

    with pytest.raises(LookupError):
        list(scan_in_processes([1, 2], fails, lambda item: item, count=2))


def test_a_graph_by_processes_equals_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {
        f"p/m{n}.py": f"from p.m{n - 1} import f as g\ndef f(x): return g(x) + {n}\n"
        for n in range(60)
    }
    ws = repository(tmp_path / "repo", {"p/__init__.py": "", **files})
    refresh_graph(ws)
    plain = graph_of(ws)
    monkeypatch.setattr(facts_module, "MANY", 10)
    monkeypatch.setattr("kl_hooks.code.file_facts.processes", lambda: 2)
    other = workspace(tmp_path / "repo", "elsewhere")
    assert refresh_graph(other).parsed == 61
    assert graph_of(other) == plain


def running(repo: Path) -> set[int]:
    """The processes of a build of `repo`; one that has ended reports nothing of itself any more."""
    found = set()
    for printed in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # it has ended meanwhile
            text = printed.read_bytes()
            if text.endswith(f"\0{repo}\0".encode()) and b"refresh_graph" in text:
                found.add(int(printed.parent.name))
    return found


BUILD = """
import sys
from pathlib import Path
from kl_hooks.code import file_facts
from kl_hooks.code.query.session import refresh_graph
from tests.code.making import workspace
file_facts.MANY = 1
file_facts.processes = lambda: 2
refresh_graph(workspace(Path(sys.argv[1])))
"""


@pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="only there are several processes used"
)
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
@pytest.mark.fault(
    "killed process",
    promised="no process is left behind",
    injected="SIGKILL and SIGTERM of a build of the graph",
)
def test_no_process_outlives_a_build_that_is_killed(tmp_path: Path, how: signal.Signals) -> None:
    functions = "".join(f"def f{n}(x): return f{n - 1}(x) + {n}\n" for n in range(400))
    repo = tmp_path / "repo"
    repository(repo, {f"m{n}.py": f"N = {n}\n{functions}" for n in range(120)})
    with subprocess.Popen(
        [sys.executable, "-c", BUILD, str(repo)], stderr=subprocess.DEVNULL
    ) as build:
        assert wait_for(lambda: len(running(repo)) == 3), "the build and two that it forked"
        build.send_signal(how)
        build.wait()
    ended = wait_for(lambda: not running(repo))
    for process in running(repo):
        os.kill(process, signal.SIGKILL)
    assert ended


def wait_for(what: Callable[[], bool], seconds: int = 60) -> bool:
    """True as soon as it is so; False if it never was."""
    end = time.monotonic() + seconds
    while not what():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True
