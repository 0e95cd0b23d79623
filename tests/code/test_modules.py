"""How files are named: layouts met in the wild, and what is true for any set of paths.

Files that come or go: their names, and that no other file is called otherwise, as if all had been
looked at.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.code import file_facts, name_index
from kl_hooks.code import update as tried
from kl_hooks.code.modules import (
    RULES,
    explain,
    imported_names,
    is_marker,
    module_names,
    plain_name,
)
from kl_hooks.code.scanner.python import scan_python
from kl_hooks.code.update import decide_stored_names, names_of_added, still_valid
from tests.code.test_name_index import Rows


@pytest.mark.parametrize(
    ("paths", "imported", "names"),
    [
        # flat
        (["shop/__init__.py", "shop/a.py", "setup.py"], [], ["shop", "shop.a", "setup"]),
        (
            ["shop/__init__.py", "shop/core/__init__.py", "shop/core/o.py"],
            [],
            ["shop", "shop.core", "shop.core.o"],
        ),
        (["alone.py"], [], ["alone"]),
        # src, with and without __init__.py
        (["src/shop/__init__.py", "src/shop/a.py"], [], ["shop", "shop.a"]),
        (
            ["src/ns/shop/__init__.py", "src/ns/tool.py", "src/single.py"],
            [],
            ["ns.shop", "ns.tool", "single"],
        ),
        # several source roots
        (["packages/a/src/aa/__init__.py", "packages/b/src/bb/__init__.py"], [], ["aa", "bb"]),
        (["backend/app/__init__.py", "backend/app/m.py"], [], ["app", "app.m"]),
        (["backend/app/__init__.py", "backend/app/m.py"], ["app", "app.m"], ["app", "app.m"]),
        # PEP 420 without src: decided by what is imported
        (
            ["google/cloud/run/__init__.py"],
            ["google", "google.cloud", "google.cloud.run"],
            ["google.cloud.run"],
        ),
        (["ns/shop/__init__.py", "ns/shop/a.py"], ["ns.shop", "ns"], ["ns.shop", "ns.shop.a"]),
        (["ns/logging/__init__.py"], ["logging"], ["ns.logging"]),
        (["plugins/one.py", "plugins/two.py"], ["plugins.one"], ["plugins.one", "plugins.two"]),
        # scripts and tests in no package
        (["scripts/make.py"], [], ["scripts.make"]),
        (["tests/test_a.py", "tests/helpers.py"], ["helpers"], ["tests.test_a", "helpers"]),
        (
            ["tests/test_a.py", "tests/helpers.py"],
            ["tests.helpers"],
            ["tests.test_a", "tests.helpers"],
        ),
        (["tools/json.py"], ["json"], ["tools.json"]),
        (["my-tool/run it.py"], [], ["my-tool.run it"]),
        # projects inside a repository
        (["a/setup.py", "a/tests/test_x.py"], [], ["setup", "tests.test_x"]),
        (["a/pyproject.toml", "a/tests/test_x.py"], [], ["tests.test_x"]),
        # one name, several files
        (["a/setup.py", "b/setup.py"], [], ["setup@a/setup.py", "setup@b/setup.py"]),
        (["pkg.py", "pkg/__init__.py"], [], ["pkg@pkg.py", "pkg"]),
        (
            ["a/p/__init__.py", "b/p/__init__.py", "b/p/m.py"],
            [],
            ["p@a/p/__init__.py", "p@b/p/__init__.py", "p.m"],
        ),
        (["notes.txt", "a.pyi"], [], []),
    ],
)
def test_layouts(paths: list[str], imported: list[str], names: list[str]) -> None:
    assert list(module_names(paths, imported).values()) == names


FOLDERS = st.sampled_from(["src", "a", "b", "ns", "json", "tests"])
PATHS = st.builds(
    lambda folders, name: "/".join([*folders, name]),
    st.lists(FOLDERS, max_size=3),
    st.sampled_from(["__init__.py", "m.py", "json.py", "setup.py", "pyproject.toml", "note.txt"]),
)
NAMES = st.sets(st.lists(FOLDERS, min_size=1, max_size=3).map(".".join), max_size=3)


@given(st.sets(PATHS, max_size=12), NAMES, st.randoms())
def test_every_file_has_one_name_and_no_two_the_same(
    paths: set[str], imported: set[str], chance: object
) -> None:
    ordered = sorted(paths)
    names = module_names(ordered, imported)
    assert set(names) == {path for path in paths if path.endswith(".py")}
    assert len(set(names.values())) == len(names)
    assert all(plain_name(name) and not name.startswith(".") for name in names.values())
    chance.shuffle(ordered)  # type: ignore[attr-defined]
    assert module_names(ordered, imported) == names


@given(st.sets(PATHS, max_size=12))
def test_a_name_is_an_end_of_its_path(paths: set[str]) -> None:
    for path, name in module_names(sorted(paths)).items():
        dotted = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        assert f".{dotted}".endswith(f".{plain_name(name)}")


def test_what_is_imported_counts_with_its_parents_and_relative_names_do_not() -> None:
    facts = {
        "a.py": {
            "imports": [
                ["x.y", "z", 0, 1, "import", ""],
                ["p", "*", 0, 2, "star import", ""],
                ["q", "r", 1, 3, "import", ""],
            ]
        }
    }
    assert imported_names(facts.values()) == {"x", "x.y", "x.y.z", "p"}


@given(st.sets(PATHS, max_size=12), NAMES)
def test_what_is_explained_is_what_is_named(paths: set[str], imported: set[str]) -> None:
    ordered = sorted(paths)
    names = module_names(ordered, imported)
    for path, name in names.items():
        found = explain(ordered, imported, path)
        assert found is not None and found.module == name and found.rule in RULES
        below = path.removeprefix(found.root + "/" if found.root else "")
        assert below.removesuffix(".py").removesuffix("/__init__").replace("/", ".") == plain_name(
            name
        )
        assert ("@" in name) <= bool(found.same) and all(
            plain_name(names[one]) == plain_name(name) for one in found.same
        )
    assert explain(ordered, imported, "note.txt") is None


@pytest.mark.parametrize(
    ("paths", "imported", "module", "root", "rule"),
    [
        (
            ["shop/core/o.py", "shop/__init__.py", "shop/core/__init__.py"],
            [],
            "shop.core.o",
            "",
            "package",
        ),
        (["src/shop/a.py", "src/shop/__init__.py"], [], "shop.a", "src", "package"),
        (["src/ns/tool.py"], [], "ns.tool", "src", "src"),
        (["src/ns/shop/__init__.py"], [], "ns.shop", "src", "src"),
        (
            ["google/cloud/run/__init__.py"],
            ["google.cloud.run"],
            "google.cloud.run",
            "",
            "imported",
        ),
        (["ns/logging/__init__.py"], [], "ns.logging", "", "python's own"),
        # a workspace of uv, and one of setuptools: members are projects of their own
        (
            ["packages/a/src/aa/__init__.py", "packages/a/pyproject.toml"],
            [],
            "aa",
            "packages/a/src",
            "package",
        ),
        (["libs/b/bb/__init__.py", "libs/b/setup.py"], [], "bb", "libs/b", "package"),
        (["libs/b/tests/test_b.py", "libs/b/setup.cfg"], [], "tests.test_b", "libs/b", "script"),
        (["scripts/make.py"], [], "scripts.make", "", "script"),
        (["tests/helpers.py"], ["helpers"], "helpers", "tests", "script imported"),
        (
            ["tests/a/conftest.py", "tests/b/conftest.py"],
            ["conftest"],
            "conftest@tests/a/conftest.py",
            "tests/a",
            "script imported",
        ),
    ],
)
def test_how_a_file_was_named(
    paths: list[str], imported: list[str], module: str, root: str, rule: str
) -> None:
    found = explain(paths, imported, paths[0])
    assert found is not None
    assert (found.module, found.root, found.rule) == (module, root, rule)


FOLDERS_WITH_FILES = ["", "a/", "a/b/", "src/", "src/a/", "t/", "t/a/", "json/", "x-y/", "@z/"]
FILES = st.sampled_from(
    [
        f"{folder}{name}"
        for folder in FOLDERS_WITH_FILES
        for name in (
            "__init__.py",
            "a.py",
            "b.py",
            "m-n.py",
            "json.py",
            "setup.py",
            "pyproject.toml",
            "more.js",
        )
    ]
)
IMPORTS = st.sampled_from(
    [
        "",
        "import a",
        "import a.b",
        "from a import b",
        "import t.a.b",
        "import t.a, src",
        "from b import a",
        "import json",
        "__import__('t', fromlist=['m-n'])",
        "from . import a",
        "import x.y",
    ]
)
TREES = st.dictionaries(FILES, IMPORTS, max_size=9)


def facts(text: str) -> dict[str, Any]:
    return scan_python(text.encode(), "m.py", "_")


def imports(texts: list[str]) -> set[str]:
    return imported_names(map(facts, texts))


def source(tree: dict[str, str]) -> dict[str, str]:
    return {path: text for path, text in tree.items() if not is_marker(path)}


def written(db: Rows, tree: dict[str, str]) -> dict[str, str]:
    """Makes the tables describe a tree; path → module."""
    known = source(tree)
    file_facts.save_facts(db, {(text, "s"): facts(text) for text in known.values()})
    modules = decide_stored_names(
        db, {path: (text, "s") for path, text in known.items()}, sorted(tree.keys() - known.keys())
    )
    rows = [(path, text, "s", modules.get(path, path), "") for path, text in known.items()]
    db.many("INSERT INTO files (path, blob, scanner, module, error) VALUES (?, ?, ?, ?, ?)", rows)
    name_index.replace_files(db, (), {path: facts(text)["names"] for path, text in known.items()})
    return {row[0]: row[3] for row in rows}


@given(
    TREES,
    st.dictionaries(FILES, IMPORTS, max_size=3),
    st.sets(FILES, max_size=3),
    st.sampled_from([0, 300]),
)
def test_where_they_are_decided_alone_all_are_called_as_if_all_had_been_looked_at(
    tree: dict[str, str], more: dict[str, str], fewer: set[str], most: int
) -> None:
    after = {path: text for path, text in {**tree, **more}.items() if path not in fewer}
    if tree.keys() - source(tree) != after.keys() - source(after):
        return  # whoever asks has made sure of that
    was, now = source(tree), source(after)
    with (
        pytest.MonkeyPatch.context() as patched,
        closing(sqlite3.connect(":memory:")) as connection,
    ):
        patched.setattr(tried, "_MENTIONING", most)
        db = Rows(connection)
        before = written(db, tree)
        changed = {path for path, text in now.items() if was.get(path) != text}
        moved = {path: before[path] for path in was.keys() - now.keys()}
        old = imports([was[path] for path in (changed & was.keys()) | moved.keys()])
        new = imports([now[path] for path in changed])
        if not still_valid(db, old, new):
            return
        found = names_of_added(db, now.keys() - was.keys(), moved, changed, new)
        if found is not None:
            wanted = module_names(list(after), imports(list(now.values())))
            locked = {path: before.get(path) or found[path] for path in now}
            assert locked == {path: wanted.get(path, path) for path in now}
            answers = dict(db.rows("SELECT name, asked_for FROM naming"))
            every = imports(list(now.values()))
            assert {name: name in every for name in answers} == answers


def test_a_script_and_a_module_of_a_package_are_decided_alone() -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        db = Rows(connection)
        written(
            db, {"a/__init__.py": "", "a/x.py": "import t.s", "pyproject.toml": "", "t/r.py": ""}
        )
        added = names_of_added(db, {"a/y.py", "t/s.py"}, {}, {"a/y.py", "t/s.py"}, set())
        assert added == {"a/y.py": "a.y", "t/s.py": "t.s"}
        assert names_of_added(db, {"t/__init__.py"}, {}, {"t/__init__.py"}, set()) is None
        assert names_of_added(db, {"b/a/x.py"}, {}, {"b/a/x.py"}, set()) == {"b/a/x.py": "b.a.x"}
        assert names_of_added(db, {"src/t/r.py"}, {}, {"src/t/r.py"}, set()) is None, (
            "there is a t.r already"
        )
        assert names_of_added(db, set(), {"t/r.py": "t.r"}, set(), set()) == {}


def test_what_else_there_is_decides() -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        db = Rows(connection)
        tree = {
            "lib/pyproject.toml": "",
            "lib/s.py": "import zz",
            "t/a.py": "",
            "src/t/a.py": "",
            "src/t/b.py": "",
        }
        modules = written(db, tree)
        assert names_of_added(db, {"lib/r.py"}, {}, {"lib/r.py"}, set()) == {"lib/r.py": "r"}, (
            "the project starts there"
        )
        assert names_of_added(db, {"t/zz.py"}, {}, {"t/zz.py"}, set()) == {"t/zz.py": "zz"}, (
            "lib/s.py asks for it so"
        )
        assert (
            names_of_added(db, set(), {"src/t/a.py": modules["src/t/a.py"]}, set(), set()) is None
        ), "another is t.a then"
    with closing(sqlite3.connect(":memory:")) as connection:
        db = Rows(connection)
        written(db, tree)
        assert names_of_added(db, {"t/zz.py"}, {}, {"t/zz.py", "lib/s.py"}, set()) == {
            "t/zz.py": "t.zz"
        }, "it did"
