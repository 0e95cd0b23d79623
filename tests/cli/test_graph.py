"""`kl graph` as people and programs see it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from kl_hooks.cli.graph import KINDS
from kl_hooks.cli.main import run
from kl_hooks.code import ask
from tests.code.making import repository
from tests.git.repos import write

Kl = Callable[..., tuple[int, str, str]]


@pytest.fixture
def kl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Kl:
    """Runs `kl ARGS…` in the repository and gives exit code, stdout and stderr."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("KL_STATE", raising=False)
    repository(tmp_path / "repo")
    (tmp_path / "repo" / ".kl").mkdir()
    monkeypatch.chdir(tmp_path / "repo")

    def call(*args: str) -> tuple[int, str, str]:
        code = run(args)
        out, err = capsys.readouterr()
        return code, out, err

    return call


def test_build_counts(kl: Kl) -> None:
    assert kl("graph", "build") == (0, "4 files (4 newly read, 0 gone), 10 symbols, 3 links, 0 problems\n", "")
    assert kl("graph", "build")[1].startswith("4 files (0 newly read, 0 gone)")


def test_build_names_what_does_not_parse_and_goes_on(kl: Kl) -> None:
    write(Path.cwd(), {"bad.py": "x = = 1\n"})
    code, out, err = kl("graph", "build")
    assert (code, out) == (0, "5 files (5 newly read, 0 gone), 10 symbols, 3 links, 1 problem\n")
    assert err == "kl: bad.py:1:5: invalid syntax. It is not in the graph.\n"
    answer = json.loads(kl("graph", "build", "--format", "json")[1])
    assert answer["schema"] == "kl.graph.build/1"
    counts = [answer[name] for name in ("files", "parsed", "removed", "symbols", "links")]
    assert counts == [5, 0, 0, 10, 3]
    assert answer["problems"] == [{"path": "bad.py", "line": 1, "column": 5, "message": "invalid syntax."}]


def test_search_gives_id_place_and_signature(kl: Kl) -> None:
    code, out, err = kl("graph", "search", "add", "line")
    assert (code, err) == (0, "")
    assert out.splitlines()[:2] == [
        "method:shop.core.Basket.add_line",
        "    src/shop/core.py:8 def add_line(self, item: str) -> None",
    ]


def test_search_as_json_with_kind_and_limit(kl: Kl) -> None:
    answer = json.loads(kl("graph", "search", "basket", "--kind", "type", "--format", "json")[1])
    (hit,) = answer["hits"]
    assert (hit["id"], hit["path"], hit["line"], hit["signature"]) == (
        "type:shop.core.Basket", "src/shop/core.py", 5, "class Basket",
    )  # fmt: skip
    assert answer["schema"] == "kl.graph.search/1"
    assert len(json.loads(kl("graph", "search", "shop", "--limit", "2", "--format", "json")[1])["hits"]) == 2


@pytest.mark.parametrize("words", [["zebra"], ['"'], ["AND", "("], ["*"]])
def test_nothing_found_is_said(kl: Kl, words: list[str]) -> None:
    code, out, err = kl("graph", "search", *words)
    assert (code, out) == (0, "")
    assert err == f"kl: no symbol bears any of: {' '.join(words)}\n"


def test_wrong_use_is_exit_2(kl: Kl) -> None:
    assert kl("graph", "search")[0] == 2
    assert kl("graph", "search", "x", "--kind", "nothing")[0] == 2
    assert kl("graph", "search", "x", "--limit", "0")[0] == 2


def test_the_kinds_offered_are_those_there_are() -> None:
    assert KINDS == ask.KINDS


def test_without_git_is_exit_3(kl: Kl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "plain").mkdir()
    monkeypatch.chdir(tmp_path / "plain")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    code, out, err = kl("graph", "build")
    assert (code, out) == (3, "")
    assert "not a git repository" in err


def test_a_repository_that_does_not_use_kl_gets_no_state(kl: Kl, tmp_path: Path) -> None:
    (tmp_path / "repo" / ".kl").rmdir()
    for words in (("build",), ("search", "basket")):
        code, out, err = kl("graph", *words)
        assert (code, out) == (3, "")
        assert "kl init" in err
    assert not (tmp_path / "repo" / ".git" / "kl").exists()
