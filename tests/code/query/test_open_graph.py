"""Every question is put to the graph as the files are now; an edit costs one file."""

from __future__ import annotations

from pathlib import Path

import pytest

from kl_hooks.code.query.references import callers
from kl_hooks.code.query.session import open_graph
from kl_hooks.git import run
from tests.code.making import repository
from tests.code.query.conftest import SHOP
from tests.git.repos import write


def test_an_edit_is_seen_by_the_next_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ws = repository(tmp_path / "repo", SHOP)
    with open_graph(ws) as graph:
        assert (graph.scan.parsed, callers(graph, "alone").answer.verdict) == (4, "no")
    before = ws.state.graph.read_bytes()
    with open_graph(ws) as graph:
        assert callers(graph, "alone").answer.verdict == "no"
    assert ws.state.graph.read_bytes() == before, "a question about nothing new writes nothing"
    web = SHOP["src/shop/web.py"].replace(
        "def vanish() -> None:\n    pass", "def vanish() -> None:\n    core.alone()"
    )
    write(tmp_path / "repo", {"src/shop/web.py": web})
    started: list[str] = []
    found = run.executable
    monkeypatch.setattr(run, "executable", lambda: started.append("git") or found())
    with open_graph(ws) as graph:
        (call,) = callers(graph, "alone").links
        assert (call.source, call.path, call.line) == (
            "function:shop.web.vanish",
            "src/shop/web.py",
            17,
        )
        assert (graph.scan.parsed, graph.scan.removed) == (1, 0)
    assert len(started) <= 5
    started.clear()
    with open_graph(ws) as graph:
        assert graph.scan.parsed == 0
    assert len(started) <= 4


@pytest.mark.requirement("A29")
def test_an_edit_replaces_the_rows_of_one_file_only(tmp_path: Path) -> None:
    ws = repository(tmp_path / "repo", SHOP)
    with open_graph(ws) as graph:
        before = dict(graph.db.rows("SELECT path, number FROM files"))
    write(tmp_path / "repo", {"src/shop/web.py": SHOP["src/shop/web.py"] + "\n\nEXTRA = 1\n"})
    with open_graph(ws) as graph:
        after = dict(graph.db.rows("SELECT path, number FROM files"))
    assert {path for path in after if after[path] != before[path]} == {"src/shop/web.py"}


def test_a_repository_without_any_source(tmp_path: Path) -> None:
    with open_graph(repository(tmp_path / "repo", {"README": "none\n"})) as graph:
        assert graph.db.rows("SELECT COUNT(*) FROM symbol_rows") == [(0,)]
