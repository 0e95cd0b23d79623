"""Modules as the table holds them answer as those in memory do."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.code.imports import Known
from kl_hooks.code.modules import module_names
from kl_hooks.code.stored_names import Stored
from tests.code.test_said import Rows

FOLDERS = ["", "a/", "a/b/", "src/a/", "other/", "other/a/", "@x/", "a/@b.c/", "a-b/"]
PATHS = st.sets(st.sampled_from([f"{folder}{name}.py" for folder in FOLDERS for name in ("__init__", "a", "b", "c@d")]))
NAMES = ["a", "a.b", "b", "a.a", "a.b.c", "src", "other", "other.a", "@x", "a@src", "c", "c@d", "zz", "a.", "__init__"]


@given(PATHS, st.sets(st.sampled_from(NAMES)))
def test_it_answers_as_the_modules_in_memory_do(paths: set[str], imported: set[str]) -> None:
    modules = module_names(sorted(paths), imported)
    known = Known(modules)
    with closing(sqlite3.connect(":memory:")) as connection:
        db = Rows(connection)
        db.many("INSERT INTO files VALUES (?, 'b', 's', ?, '')", modules.items())
        stored = Stored(db)
        for _ in range(2):  # the second time from what it remembers
            for path, module in modules.items():
                assert stored.module_of(path) == module
                assert stored.path_of(module) == known.path_of(module) == path
            for name in [*NAMES, *modules.values()]:
                assert stored.inside(name) == known.inside(name), name
                for importer in ("a/b/x.py", "other/y.py", "z.py"):
                    assert stored.find(name, importer) == known.find(name, importer), name
        assert stored.path_of("nowhere") == ""
        with pytest.raises(KeyError):
            stored.module_of("nowhere.py")
