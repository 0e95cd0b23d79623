"""Questions about a revision are answered as in a fresh checkout of it; nothing of the working tree
is touched.
"""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kl_hooks.code.query import session
from kl_hooks.code.query.lookup import SYMBOLS
from kl_hooks.code.query.references import callers
from kl_hooks.code.query.search import find_all
from kl_hooks.code.query.session import GRAPHS_RETAINED, graph_at, open_graph, refresh_graph
from kl_hooks.errors import UsageProblem
from kl_hooks.graph import links
from kl_hooks.index import index
from kl_hooks.store.database import Database
from kl_hooks.workspace import Workspace
from tests.code.making import graph_of, repository, terms_of, workspace
from tests.code.test_refresh import CONTENTS, PATHS
from tests.git.repos import commit, sh, write


def reported(db: Database) -> dict[str, Any]:
    """All that a graph contains about its files."""
    columns = "id, name, path, line, end_line, signature, decorators, doc, content_hash"
    found = {
        name: sorted(db.rows(sql))
        for name, sql in {
            "symbols": f"SELECT {columns} FROM {SYMBOLS}",
            "files": "SELECT path, blob, scanner, module, error FROM files",
        }.items()
    }
    return {**found, "links": links.every(db), "terms": terms_of(db)}


def worktree_graph(ws: Workspace) -> dict[str, Any]:
    with ws.store.reading("graph") as db:
        assert db is not None
        return reported(db)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.share(3)
def test_any_commit_equals_a_fresh_checkout_of_it(tmp_path: Path, seed: int) -> None:
    chance, root = random.Random(seed), tmp_path / "repo"
    ws = repository(root, {path: chance.choice(CONTENTS) for path in PATHS[:5]})
    refresh_graph(ws)
    for number in range(3):
        for path in chance.sample(PATHS, 3):
            write(root, {path: chance.choice(CONTENTS)})
        (root / chance.choice([path for path in PATHS if (root / path).exists()])).unlink()
        commit(root, f"change {number}")
    write(root, {"dirty.py": "import p.m\n"})
    refresh_graph(ws)
    before = worktree_graph(ws)
    for number, rev in enumerate(["HEAD", "HEAD~1", "HEAD~2", "HEAD~3"]):
        place = tmp_path / f"fresh{number}"
        sh(root, "worktree", "add", "-q", "--detach", str(place), rev)
        fresh = workspace(place, f"state{number}")
        refresh_graph(fresh)
        with graph_at(ws, rev) as (db, _):
            assert reported(db) == worktree_graph(fresh), rev
    assert worktree_graph(ws) == before


FIRST = {"m.py": "def f(): pass\ndef g(): f()\n", "n.py": "import m\nm.f()\n"}


def test_only_contents_never_seen_are_parsed_and_only_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ws = repository(tmp_path / "repo", FIRST)
    write(tmp_path / "repo", {"m.py": "def f(): pass\n"})
    commit(tmp_path / "repo", "second")
    refresh_graph(ws)
    read: list[str] = []
    from kl_hooks.git import files

    asked = files.read_files

    def counted(repo: Any, entries: Any, source: str = "worktree") -> Any:
        read.extend(entry.path for entry in entries)
        return asked(repo, entries, source)

    monkeypatch.setattr(files, "read_files", counted)
    with open_graph(ws, "HEAD~1") as graph:
        assert [k.source for k in callers(graph, "f").links] == ["function:m.g", "namespace:n"]
    assert read == ["m.py"]
    with open_graph(ws, "HEAD~1") as graph:
        assert graph.scan.parsed == 0
    for path in (ws.state.cache / session.FOLDER).glob("*.db"):
        path.unlink()
    with open_graph(ws, "HEAD~1") as graph:
        assert len(callers(graph, "f").links) == 2
    assert read == ["m.py"], "facts are remembered, so nothing is read again"
    with open_graph(ws) as graph:
        assert [k.source for k in callers(graph, "f").links] == ["namespace:n"]


def test_the_working_tree_is_left_alone(tmp_path: Path) -> None:
    ws = repository(tmp_path / "repo", FIRST)
    write(tmp_path / "repo", {"m.py": "def f(): pass\n"})
    refresh_graph(ws)
    before, status = graph_of(ws), sh(tmp_path / "repo", "status", "--porcelain")
    with open_graph(ws, "HEAD") as graph:
        assert len(callers(graph, "f").links) == 2
    assert graph_of(ws) == before
    assert sh(tmp_path / "repo", "status", "--porcelain") == status
    assert (tmp_path / "repo/m.py").read_text() == "def f(): pass\n"


def test_before_the_working_tree_was_ever_read(tmp_path: Path) -> None:
    ws = repository(tmp_path / "repo", FIRST)
    with open_graph(ws, "HEAD") as graph:
        assert graph.scan.files == 2
        assert len(callers(graph, "f").links) == 2


def test_few_are_retained(tmp_path: Path) -> None:
    ws = repository(tmp_path / "repo", FIRST)
    for number in range(GRAPHS_RETAINED + 2):
        write(tmp_path / "repo", {"m.py": f"def f{number}(): pass\n"})
        commit(tmp_path / "repo", str(number))
        with open_graph(ws, "HEAD") as graph:
            assert callers(graph, f"f{number}").answer.verdict == "no"
    folder = ws.state.cache / session.FOLDER
    assert len(list(folder.glob("*.db"))) == GRAPHS_RETAINED
    assert folder.stat().st_mode & 0o077 == 0
    assert {path.suffix for path in folder.iterdir()} <= {".db", ".lock"}


def test_a_damaged_one_is_built_again_and_an_unwritable_cache_is_done_without(
    tmp_path: Path,
) -> None:
    ws = repository(tmp_path / "repo", FIRST)
    with open_graph(ws, "HEAD"):
        pass
    (stored,) = (ws.state.cache / session.FOLDER).glob("*.db")
    stored.write_bytes(b"no database at all" * 100)
    with open_graph(ws, "HEAD") as graph:
        assert len(callers(graph, "f").links) == 2
    (tmp_path / "file").write_text("")
    elsewhere = replace(ws, state=ws.state._replace(cache=tmp_path / "file"))
    with open_graph(elsewhere, "HEAD") as graph:
        assert len(callers(graph, "f").links) == 2


@pytest.mark.parametrize("rev", ["nope", "-x", "", "HEAD:m.py"])
def test_what_is_no_revision(tmp_path: Path, rev: str) -> None:
    ws = repository(tmp_path / "repo", FIRST)
    with pytest.raises(UsageProblem, match="is not a revision"), graph_at(ws, rev):
        pass


def test_files_that_could_not_be_read_are_those_of_the_revision(tmp_path: Path) -> None:
    ws = repository(tmp_path / "repo", {"bad.py": "x = = 1\n", "m.py": "def f(): pass\n"})
    write(tmp_path / "repo", {"bad.py": "x = 1\n"})
    with open_graph(ws, "HEAD") as graph:
        assert callers(graph, "f").answer.not_assessed == ("bad.py",)
    with open_graph(ws) as graph:
        assert callers(graph, "f").answer.verdict == "no"


def test_violations_of_the_working_tree_are_not_those_of_a_revision(tmp_path: Path) -> None:
    ws = repository(tmp_path / "repo", FIRST)
    refresh_graph(ws)
    with ws.store.writing("graph") as db, db.transaction():
        index.replace(
            db,
            "arch:violations",
            [index.Document("violation:1", "violation", "m.py", 1, "m imports n")],
        )
    with open_graph(ws) as graph:
        assert len(find_all(graph, ["imports"], ["violation"], "", 5)[0]) == 1
    with open_graph(ws, "HEAD") as graph:
        assert find_all(graph, ["imports"], ["violation"], "", 5) == ([], False)
