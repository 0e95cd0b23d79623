"""Many files to a row: where they differ from what was noted is found, and nothing else is looked
into.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.code import file_index
from kl_hooks.code.scanner.parser import VERSION
from kl_hooks.code.scanner.python import scan_python
from kl_hooks.git.files import FileEntry
from kl_hooks.hookspecs import Scanner
from tests.code.test_name_index import Rows

SCANNERS = [Scanner("python", (".py",), VERSION, scan_python)]
NAMES = st.sampled_from(
    [f"{folder}{name}.py" for folder in ("", "a/", "a-b/", "é/") for name in "klmn"]
)
TREES = st.dictionaries(NAMES, st.sampled_from(["1", "2", "3"]), max_size=16)


def entries(tree: dict[str, str]) -> list[FileEntry]:
    return [FileEntry(path, blob, "100644") for path, blob in sorted(tree.items())]


@given(st.lists(TREES, min_size=1, max_size=5), st.integers(1, 4), st.integers(1, 6))
def test_all_that_differs_is_in_the_part_and_all_else_is_as_it_was(
    trees: list[dict[str, str]], at_once: int, large: int
) -> None:
    locked: dict[str, str] = {}
    with (
        pytest.MonkeyPatch.context() as patched,
        closing(sqlite3.connect(":memory:")) as connection,
    ):
        patched.setattr(file_index, "_AT_ONCE", at_once)
        patched.setattr(file_index, "_LARGE", large)
        db = Rows(connection)
        for tree in trees:
            part = file_index.differing_part(db, entries(tree), SCANNERS)
            now = {entry.path: entry.blob for some in part.entries for entry in some}
            inside = {
                path
                for path in locked.keys() | tree.keys()
                if any(within(one, path) for one in part.ranges)
            }
            assert now == {path: blob for path, blob in tree.items() if path in inside}
            assert {path: blob for path, blob in tree.items() if path not in inside} == {
                path: blob for path, blob in locked.items() if path not in inside
            }
            assert part.rest == len(tree) - len(now)
            file_index.store_part(db, part, SCANNERS, now, ())
            locked = tree
            assert not file_index.differing_part(db, entries(tree), SCANNERS).ranges


def within(one: file_index.Range, path: str) -> bool:
    return one[0] <= path and (one[1] is None or path < one[1])


def test_other_scanners_or_a_lost_content_are_never_the_same() -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        db, some = Rows(connection), entries({"a.py": "1", "b.py": "2"})
        file_index.store_part(db, file_index.Part.whole(some), SCANNERS, {"a.py", "b.py"}, ())
        newer = [Scanner("python", (".py",), "another", scan_python)]
        assert file_index.differing_part(db, some, newer).ranges == (file_index.ALL,)
        file_index.store_part(db, file_index.Part.whole(some), SCANNERS, {"a.py", "b.py"}, {"b.py"})
        assert file_index.differing_part(db, some, SCANNERS).ranges == (file_index.ALL,)


def test_a_part_holds_until_somebody_writes() -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        db, some = Rows(connection), entries({"a.py": "1"})
        assert not file_index.Part.whole(some).is_current(db)
        file_index.store_part(db, file_index.Part.whole(some), SCANNERS, {"a.py"}, ())
        part = file_index.differing_part(db, some, SCANNERS)
        assert part.is_current(db)
        file_index.store_part(db, file_index.Part.whole(some), SCANNERS, {"a.py"}, ())
        assert not part.is_current(db)
