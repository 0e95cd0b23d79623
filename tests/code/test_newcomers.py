"""Files that come or go: their names, and that no other file is called otherwise, as if all had been looked at."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.code import newcomers as tried
from kl_hooks.code import remembered, said
from kl_hooks.code.marks import is_marker
from kl_hooks.code.modules import imported_names, module_names
from kl_hooks.code.naming import decide, still_holds
from kl_hooks.code.newcomers import newcomers
from kl_hooks.code.scan import scan_python
from tests.code.test_said import Rows

FOLDERS = ["", "a/", "a/b/", "src/", "src/a/", "t/", "t/a/", "json/", "x-y/", "@z/"]
FILES = st.sampled_from([
    f"{folder}{name}" for folder in FOLDERS
    for name in ("__init__.py", "a.py", "b.py", "m-n.py", "json.py", "setup.py", "pyproject.toml", "more.js")
])  # fmt: skip
IMPORTS = st.sampled_from([
    "", "import a", "import a.b", "from a import b", "import t.a.b", "import t.a, src", "from b import a",
    "import json",
    "__import__('t', fromlist=['m-n'])", "from . import a", "import x.y",
])  # fmt: skip
TREES = st.dictionaries(FILES, IMPORTS, max_size=9)


def facts(text: str) -> dict[str, Any]:
    return scan_python(text.encode(), "m.py", "_")


def imports(texts: list[str]) -> set[str]:
    return imported_names({str(place): facts(text) for place, text in enumerate(texts)})


def source(tree: dict[str, str]) -> dict[str, str]:
    return {path: text for path, text in tree.items() if not is_marker(path)}


def written(db: Rows, tree: dict[str, str]) -> dict[str, str]:
    """Makes the tables say what a tree holds; path → module."""
    known = source(tree)
    remembered.save(db, {(text, "s"): facts(text) for text in known.values()})
    modules = decide(db, {path: (text, "s") for path, text in known.items()}, sorted(tree.keys() - known.keys()))
    rows = [(path, text, "s", modules.get(path, path), "") for path, text in known.items()]
    db.many("INSERT INTO files VALUES (?, ?, ?, ?, ?)", rows)
    said.replace(db, (), {path: facts(text)["names"] for path, text in known.items()})
    return {row[0]: row[3] for row in rows}


@given(TREES, st.dictionaries(FILES, IMPORTS, max_size=3), st.sets(FILES, max_size=3), st.sampled_from([0, 300]))
def test_where_they_are_decided_alone_all_are_called_as_if_all_had_been_looked_at(
    tree: dict[str, str], more: dict[str, str], fewer: set[str], most: int
) -> None:
    after = {path: text for path, text in {**tree, **more}.items() if path not in fewer}
    if tree.keys() - source(tree) != after.keys() - source(after):
        return  # whoever asks has made sure of that
    was, now = source(tree), source(after)
    with pytest.MonkeyPatch.context() as patched, closing(sqlite3.connect(":memory:")) as connection:
        patched.setattr(tried, "_SAYING", most)
        db = Rows(connection)
        before = written(db, tree)
        changed = {path for path, text in now.items() if was.get(path) != text}
        went = {path: before[path] for path in was.keys() - now.keys()}
        old = imports([was[path] for path in (changed & was.keys()) | went.keys()])
        new = imports([now[path] for path in changed])
        if not still_holds(db, old, new):
            return
        found = newcomers(db, now.keys() - was.keys(), went, changed, new)
        if found is not None:
            wanted = module_names(list(after), imports(list(now.values())))
            held = {path: before.get(path) or found[path] for path in now}
            assert held == {path: wanted.get(path, path) for path in now}
            answers = dict(db.rows("SELECT name, asked_for FROM naming"))
            every = imports(list(now.values()))
            assert {name: name in every for name in answers} == answers


def test_a_script_and_a_module_of_a_package_are_decided_alone() -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        db = Rows(connection)
        written(db, {"a/__init__.py": "", "a/x.py": "import t.s", "pyproject.toml": "", "t/r.py": ""})
        added = newcomers(db, {"a/y.py", "t/s.py"}, {}, {"a/y.py", "t/s.py"}, set())
        assert added == {"a/y.py": "a.y", "t/s.py": "t.s"}
        assert newcomers(db, {"t/__init__.py"}, {}, {"t/__init__.py"}, set()) is None
        assert newcomers(db, {"b/a/x.py"}, {}, {"b/a/x.py"}, set()) == {"b/a/x.py": "b.a.x"}
        assert newcomers(db, {"src/t/r.py"}, {}, {"src/t/r.py"}, set()) is None, "there is a t.r already"
        assert newcomers(db, set(), {"t/r.py": "t.r"}, set(), set()) == {}


def test_what_else_there_is_decides() -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        db = Rows(connection)
        tree = {"lib/pyproject.toml": "", "lib/s.py": "import zz", "t/a.py": "", "src/t/a.py": "", "src/t/b.py": ""}
        modules = written(db, tree)
        assert newcomers(db, {"lib/r.py"}, {}, {"lib/r.py"}, set()) == {"lib/r.py": "r"}, "the project starts there"
        assert newcomers(db, {"t/zz.py"}, {}, {"t/zz.py"}, set()) == {"t/zz.py": "zz"}, "lib/s.py asks for it so"
        assert newcomers(db, set(), {"src/t/a.py": modules["src/t/a.py"]}, set(), set()) is None, "another is t.a then"
    with closing(sqlite3.connect(":memory:")) as connection:
        db = Rows(connection)
        written(db, tree)
        assert newcomers(db, {"t/zz.py"}, {}, {"t/zz.py", "lib/s.py"}, set()) == {"t/zz.py": "t.zz"}, "it did"
