"""The survey that is kept ready says what one from nothing says, whatever happened in between."""

from __future__ import annotations

import random
from dataclasses import asdict
from pathlib import Path

import pytest

from kl_hooks.arch import ready, survey
from kl_hooks.arch.source import content
from kl_hooks.code.facts import facts_of
from kl_hooks.code.imports_read import scanners_of
from kl_hooks.code.modules import plain_name
from kl_hooks.model.ids import split
from kl_hooks.workspace.open import Workspace
from tests.code.making import repository
from tests.code.test_catch_up import CONTENTS, PATHS, step
from tests.git.repos import write


def seen(ws: Workspace) -> tuple[object, ...]:
    found = survey.survey(ws, content(ws))
    return dict(found.modules), found.links, found.unread


def anew(ws: Workspace) -> ready.Ready:
    here = content(ws)
    python = [entry for entry in here.entries if entry.path.endswith(".py")]
    return ready.made(here.entries, facts_of(None, python, here.read, scanners_of(ws.plugins), symbols=False))


@pytest.fixture
def ws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    monkeypatch.setattr(survey, "FEW", 0)
    opened = repository(tmp_path / "repo", {path: CONTENTS[n] for n, path in enumerate(PATHS[:6])})
    write(tmp_path / "repo", {".kl/config.yaml": "version: 1\n"})
    return opened


def test_who_imports_some_modules(ws: Workspace, tmp_path: Path) -> None:
    write(tmp_path / "repo", {"both.py": "import a\nimport p.m\nfrom p import q\n", "one.py": "import a\n"})
    found = survey.survey(ws, content(ws))
    imported = {plain_name(split(link.target)[1]) for link in found.links}
    assert {plain_name(split(link.target)[1]) for link in found.links if link.path == "both.py"} == {"a", "p.m", "p.q"}
    for names in [imported, set[str](), {"nothing"}, *({name} for name in imported)]:
        expected = {link for link in found.links if plain_name(split(link.target)[1]) in names}
        assert set(found.ready.into(names)) == expected, names


@pytest.mark.parametrize("few", [0, 2])
@pytest.mark.parametrize("seed", range(8))
def test_kept_or_not_it_is_the_same(
    ws: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, few: int
) -> None:
    monkeypatch.setattr(survey, "FEW", few)
    chance, story, used = random.Random(seed), [], 0
    for _ in range(12):
        story.append(step(tmp_path / "repo", chance))
        write(tmp_path / "repo", {".kl/config.yaml": "version: 1\n"})
        assert ws.initialised
        expected = anew(ws)
        kept = ready.load(ws.state.cache, ready.key_of(ws.root, [s.version for s in scanners_of(ws.plugins)]))
        used += kept is not None
        found = survey.survey(ws, content(ws))
        assert dict(found.modules) == expected.modules, story
        plain = {path: flat for path, flat in found.ready.links.items() if flat}
        assert plain == {path: flat for path, flat in expected.links.items() if flat}, story
        assert found.ready.errors == expected.errors
        assert {n for n, c in found.ready.asked.items() if c} == {n for n, c in expected.asked.items() if c}
    assert used > 5, "nothing was ever kept"


def test_only_what_changed_is_read(ws: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen(ws)
    monkeypatch.setattr(survey, "FEW", 8)
    read: list[str] = []
    real = survey.imports_of
    monkeypatch.setattr(survey, "imports_of", lambda some, *a: read.extend(x.path for x in some) or real(some, *a))
    monkeypatch.setattr("kl_hooks.code.facts.facts_of", None)
    seen(ws)
    assert read == []
    write(tmp_path / "repo", {"a.py": "import p.m\n"})
    assert [link.target for link in survey.survey(ws, content(ws)).links if link.path == "a.py"] != []
    assert read == ["a.py"]
    seen(ws)
    assert read == ["a.py"], "a content is read once, not at every check"


def kept_key(ws: Workspace) -> str:
    return ready.key_of(ws.root, [s.version for s in scanners_of(ws.plugins)])


BROKEN = [
    lambda r: r.links.update({"a.py": ["p", 1, "import"]}),
    lambda r: r.links.update({"a.py": ["p", "1", "import", 100]}),
    lambda r: r.links.update({"a.py": {"p": 1}}),
    lambda r: r.links.pop("a.py"),
    lambda r: r.modules.update({"a.py": 3}),
    lambda r: r.modules.pop("a.py"),
    lambda r: r.asked.update({"x": -1}),
    lambda r: r.asks.update({"a.py": ["never"]}),
    lambda r: r.errors.update({"a.py": None}),
    lambda r: r.errors.update({"other.py": ""}),
    lambda r: r.blobs.update({"a": 1}),
    lambda r: r.asks.update({"a.py": [[]]}),
]


@pytest.mark.parametrize("number", range(len(BROKEN)))
def test_what_is_not_whole_is_made_anew(ws: Workspace, number: int) -> None:
    before = seen(ws)
    kept = ready.load(ws.state.cache, kept_key(ws))
    assert kept is not None
    BROKEN[number](kept)
    ready.save(ws.state.cache, kept_key(ws), kept)
    assert ready.load(ws.state.cache, kept_key(ws)) is None
    assert seen(ws) == before


@pytest.mark.parametrize("odd", [[], [1, 2, 3], {"a": 1}, "text", [{}, {}, {}, {}, {}, 1]])
def test_what_is_odd_is_as_good_as_nothing(ws: Workspace, odd: object, monkeypatch: pytest.MonkeyPatch) -> None:
    from kl_hooks.config.compiled import keep

    before = seen(ws)
    key = ready.key_of(ws.root, [s.version for s in scanners_of(ws.plugins)])
    keep(ws.state.cache, "survey-1", key, odd)
    assert seen(ws) == before
    assert asdict(anew(ws))["modules"] == before[0]
