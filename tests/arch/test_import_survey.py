"""The statement behind each import, and what it costs to find those of one file.

The survey that is cached states what one from nothing states, whatever happened in between.

What is stored of changed files is that of their content, and nothing odd is taken for it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from kl_hooks.arch import import_survey
from kl_hooks.arch.content import load_content
from kl_hooks.arch.import_survey import cached_imports
from kl_hooks.code import modules
from kl_hooks.code.file_facts import facts_of
from kl_hooks.code.languages import scanners_of
from kl_hooks.code.modules import plain_name
from kl_hooks.config.compile_cache import write_entry
from kl_hooks.git.files import FileEntry
from kl_hooks.model.symbol import split_id
from kl_hooks.workspace import Workspace
from tests.arch.shop import ORDER, opened, shop
from tests.code.making import repository
from tests.code.test_refresh import CONTENTS, PATHS, step
from tests.git.repos import write

PAGES = [f"shop.web.p{number}" for number in range(7)]
ONE_LINE, MANY_LINES = (
    f"import {', '.join(PAGES)}\n",
    "".join(f"import {page} as x\n" for page in PAGES),
)


class Counted(list[Any]):
    """A list that knows how often somebody iterated over it."""

    times = 0

    def __iter__(self) -> Iterator[Any]:
        Counted.times += 1
        return super().__iter__()


@pytest.mark.parametrize("text", [ONE_LINE, MANY_LINES])
def test_the_statements_of_a_file_are_found_in_one_walk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    """Whoever asks for each of them: a file of thousands of violations costs no square of that."""
    files = {page.replace("shop.", "src/shop/").replace(".p", "/p") + ".py": "" for page in PAGES}
    ws = opened(shop(tmp_path / "repo", {ORDER: text, **files}))
    found = import_survey.survey_imports(ws, load_content(ws))
    links = [link for link in found.links if link.path == ORDER]
    rows = Counted(found.facts[ORDER]["imports"])
    counted, asked = replace(found, facts={ORDER: {"imports": rows}}, _memory={}), list[int]()
    true = modules.file_links
    monkeypatch.setattr(
        import_survey,
        "file_links",
        lambda path, some, known: asked.append(len(some)) or true(path, some, known),
    )
    monkeypatch.setattr(Counted, "times", 0)
    printed = [counted.statement(link) for link in links]
    targets = [link.target.partition(":")[2] for link in links]
    assert sorted(targets) == sorted(PAGES)
    assert all(
        target in one.replace(",", " ").split()
        for target, one in zip(targets, printed, strict=True)
    )
    assert Counted.times == 1
    assert sum(asked) <= len(PAGES)


def seen(ws: Workspace) -> tuple[object, ...]:
    found = import_survey.survey_imports(ws, load_content(ws))
    return dict(found.modules), found.links, found.unread


def anew(ws: Workspace) -> import_survey.ImportIndex:
    here = load_content(ws)
    python = [entry for entry in here.entries if entry.path.endswith(".py")]
    return import_survey.build_index(
        here.entries, facts_of(None, python, here.read, scanners_of(ws), symbols=False)
    )


@pytest.fixture
def ws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    monkeypatch.setattr(import_survey, "MAX_REREAD", 0)
    opened = repository(tmp_path / "repo", {path: CONTENTS[n] for n, path in enumerate(PATHS[:6])})
    write(tmp_path / "repo", {".kl/config.yaml": "version: 1\n"})
    return opened


def test_who_imports_some_modules(ws: Workspace, tmp_path: Path) -> None:
    write(
        tmp_path / "repo",
        {"both.py": "import a\nimport p.m\nfrom p import q\n", "one.py": "import a\n"},
    )
    found = import_survey.survey_imports(ws, load_content(ws))
    imported = {plain_name(split_id(link.target)[1]) for link in found.links}
    assert {
        plain_name(split_id(link.target)[1]) for link in found.links if link.path == "both.py"
    } == {
        "a",
        "p.m",
        "p.q",
    }
    for names in [imported, set[str](), {"nothing"}, *({name} for name in imported)]:
        expected = {link for link in found.links if plain_name(split_id(link.target)[1]) in names}
        assert set(found.index.into(names)) == expected, names


@pytest.mark.slow
@pytest.mark.parametrize("few", [0, 2])
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.share(4)
def test_cached_or_not_it_is_the_same(
    ws: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, few: int
) -> None:
    monkeypatch.setattr(import_survey, "MAX_REREAD", few)
    chance, story, used = random.Random(seed), [], 0
    for _ in range(12):
        story.append(step(tmp_path / "repo", chance))
        write(tmp_path / "repo", {".kl/config.yaml": "version: 1\n"})
        assert ws.initialized
        expected = anew(ws)
        stored = import_survey.load_index(
            ws.state.cache, import_survey.cache_key(ws.root, [s.version for s in scanners_of(ws)])
        )
        used += stored is not None
        found = import_survey.survey_imports(ws, load_content(ws))
        assert dict(found.modules) == expected.modules, story
        plain = {path: flat for path, flat in found.index.links.items() if flat}
        assert plain == {path: flat for path, flat in expected.links.items() if flat}, story
        assert found.index.errors == expected.errors
        assert {n for n, c in found.index.asked.items() if c} == {
            n for n, c in expected.asked.items() if c
        }
    assert used > 5, "nothing was ever kept"


def test_only_what_changed_is_read(
    ws: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen(ws)
    monkeypatch.setattr(import_survey, "MAX_REREAD", 8)
    read: list[str] = []
    real = import_survey.read_imports
    monkeypatch.setattr(
        import_survey,
        "read_imports",
        lambda some, *a: read.extend(x.path for x in some) or real(some, *a),
    )
    monkeypatch.setattr("kl_hooks.code.file_facts.facts_of", None)
    seen(ws)
    assert read == []
    write(tmp_path / "repo", {"a.py": "import p.m\n"})
    assert [
        link.target
        for link in import_survey.survey_imports(ws, load_content(ws)).links
        if link.path == "a.py"
    ] != []
    assert read == ["a.py"]
    seen(ws)
    assert read == ["a.py"], "a content is read once, not at every check"


def stored_key(ws: Workspace) -> str:
    return import_survey.cache_key(ws.root, [s.version for s in scanners_of(ws)])


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
    lambda r: r.settings.update({"tsconfig.json": {}}),
    lambda r: r.settings.update({"a.py": {"paths": 1}}),
    lambda r: r.nowhere.update({"never.ts": []}),
    lambda r: r.nowhere.update({"a.py": ["@/"]}),
]


@pytest.mark.parametrize("number", range(len(BROKEN)))
def test_what_is_not_whole_is_made_anew(ws: Workspace, number: int) -> None:
    before = seen(ws)
    stored = import_survey.load_index(ws.state.cache, stored_key(ws))
    assert stored is not None
    BROKEN[number](stored)
    import_survey.save_index(ws.state.cache, stored_key(ws), stored)
    assert import_survey.load_index(ws.state.cache, stored_key(ws)) is None
    assert seen(ws) == before


@pytest.mark.parametrize(
    "odd", [[], [1, 2, 3], {"a": 1}, "text", [{}, {}, {}, {}, {}, {}, {}, 1], [{}] * 6]
)
def test_what_is_odd_is_as_good_as_nothing(
    ws: Workspace, odd: object, monkeypatch: pytest.MonkeyPatch
) -> None:

    before = seen(ws)
    key = import_survey.cache_key(ws.root, [s.version for s in scanners_of(ws)])
    write_entry(ws.state.cache, import_survey._INDEX_KIND, key, odd)
    assert seen(ws) == before
    assert asdict(anew(ws))["modules"] == before[0]


ROW = ["os", "", 0, 1, "import", "import os"]
FACTS = {"error": "", "imports": [ROW]}
KEY = "a" * 64


class Reader:
    """Gives the same facts for every file, and remembers what it was asked for; `gone` can't be
    had.
    """

    def __init__(self, *removed: str) -> None:
        self.asked: list[list[str]] = []
        self.gone = removed

    def __call__(self, entries: Sequence[FileEntry]) -> Mapping[str, Any]:
        self.asked.append([entry.path for entry in entries])
        return {entry.path: FACTS for entry in entries if entry.path not in self.gone}


def entry(path: str, blob: str = "1" * 40) -> FileEntry:
    return FileEntry(path, blob, "100644")


def test_a_content_is_read_once(tmp_path: Path) -> None:
    read, two = Reader(), [entry("a.py"), entry("b.py")]
    assert cached_imports(tmp_path, KEY, two, read) == {"a.py": FACTS, "b.py": FACTS}
    assert cached_imports(tmp_path, KEY, two, read) == {"a.py": FACTS, "b.py": FACTS}
    cached_imports(tmp_path, KEY, [entry("a.py", "2" * 40), entry("b.py")], read)
    cached_imports(tmp_path, "b" * 64, two, read)
    cached_imports(None, KEY, two, read)
    assert read.asked == [["a.py", "b.py"], ["a.py"], ["a.py", "b.py"], ["a.py", "b.py"]]


def test_what_could_not_be_had_is_tried_again(tmp_path: Path) -> None:
    read = Reader("a.py")
    assert [cached_imports(tmp_path, KEY, [entry("a.py")], read) for _ in range(2)] == [{}, {}]
    assert len(read.asked) == 2


def test_nothing_new_writes_nothing(tmp_path: Path) -> None:
    read = Reader()
    cached_imports(tmp_path, KEY, [entry("a.py")], read)
    before = {path: path.stat().st_ino for path in tmp_path.rglob("*")}
    cached_imports(tmp_path, KEY, [entry("a.py")], read)
    cached_imports(tmp_path, KEY, [], read)
    assert {path: path.stat().st_ino for path in tmp_path.rglob("*")} == before


@pytest.mark.parametrize(
    "odd",
    [
        [],
        "text",
        {"a.py": None},
        {"a.py": []},
        {"a.py": ["1" * 40, "", [ROW], 1]},
        {"a.py": ["1" * 40, 0, [ROW]]},
        {"a.py": ["1" * 40, "", {}]},
        {"a.py": ["1" * 40, "", [ROW[:5]]]},
        {"a.py": ["1" * 40, "", [[*ROW[:3], "1", *ROW[4:]]]]},
        {"a.py": ["1" * 40, "", [None]]},
    ],
)
def test_what_is_odd_is_read_again(tmp_path: Path, odd: object) -> None:
    read = Reader()
    write_entry(tmp_path, "imports-1", KEY, odd)
    assert cached_imports(tmp_path, KEY, [entry("a.py")], read) == {"a.py": FACTS}
    assert read.asked == [["a.py"]]
