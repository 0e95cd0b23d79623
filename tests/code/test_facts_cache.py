"""Facts folded into bytes state the same as before, part by part, and go into the database as they
are.
"""

from __future__ import annotations

import errno
import tempfile
from io import FileIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.code import file_facts
from kl_hooks.code.file_facts import (
    PARTS,
    FilesFacts,
    PackedFacts,
    TempBlobFile,
    columns_of,
    facts_under,
    pack_facts,
    unpacked_facts,
)
from kl_hooks.code.scanner.parser import Facts, unavailable_facts, unreadable_facts
from kl_hooks.code.scanner.python import scan_python

SOURCES = (
    b"",
    (
        b"import os\nclass TestA(B):\n    x: int = 1\n    @d\n    def test_f(self): return"
        b" os.sep('\\0', self.x)\n"
    ),
    "def é(ü='ß'): 'Größe \\ud800 \\x00'\n".encode(),
    b"def f(:\n",
)


def facts(content: bytes) -> Facts:
    return scan_python(content, "m.py", "_")


@given(st.sampled_from(SOURCES) | st.binary(max_size=60), st.permutations(PARTS))
def test_every_part_is_what_it_was_whichever_is_asked_first(
    content: bytes, order: list[str]
) -> None:
    one = PackedFacts([(("b", "s"), pack_facts(facts(content)))])["b", "s"]
    assert {part: one[part] for part in order} == facts(content)


def test_many_contents_stay_apart() -> None:
    made = {(str(number), "s"): facts(source) for number, source in enumerate(SOURCES)}
    made["e", "s"] = unreadable_facts("1:2: an error with \0 in it")
    stored = PackedFacts((key, pack_facts(one)) for key, one in made.items())
    assert unpacked_facts(stored) == made and len(stored) == len(made)
    assert ("x", "s") not in stored and stored.get(("x", "s")) is None
    assert {key: stored.columns(key) for key in stored} == {
        key: columns_of(one) for key, one in made.items()
    }
    assert unpacked_facts(made) is made


def test_without_a_place_for_a_file_they_are_stored_in_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuses(buffering: int) -> Any:
        raise OSError("No usable temporary directory found")

    monkeypatch.setattr(tempfile, "TemporaryFile", refuses)
    assert unpacked_facts(PackedFacts([(("b", "s"), pack_facts(facts(SOURCES[1])))])) == {
        ("b", "s"): facts(SOURCES[1])
    }


class Full(FileIO):
    """A file on a disk that has space for one piece and a half."""

    def write(self, piece: Any) -> int:
        if self.tell():
            super().write(piece[: len(piece) // 2])
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().write(piece)


@pytest.mark.fault(
    "full disk",
    promised="facts are stored in memory",
    injected="writing fails with ENOSPC",
)
def test_what_a_full_disk_does_not_take_is_stored_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda buffering: Full(tmp_path / "file", "w+"))
    pieces = [b"one", b"two two", b"", b"three"]
    pile = TempBlobFile(iter(pieces))
    assert list(pile) == pieces and pile.at(1) == b"two two"


class Written:
    """A database that remembers what it was asked to write."""

    def __init__(self) -> None:
        self.written: list[Any] = []

    def rows(self, sql: str, params: Any = ()) -> list[Any]:
        raise AssertionError("nothing is read")

    def execute(self, sql: str, params: Any = ()) -> None:
        raise AssertionError("nothing is written one by one")

    def many(self, sql: str, rows: Any) -> None:
        self.written += rows


def test_what_is_folded_is_written_as_what_is_not() -> None:
    made = {(str(number), "s"): facts(source) for number, source in enumerate(SOURCES)}
    plain, other = Written(), Written()
    file_facts.save_facts(plain, made)
    file_facts.save_facts(other, PackedFacts((key, pack_facts(one)) for key, one in made.items()))
    file_facts.save_facts(plain, {})
    assert other.written == plain.written and len(plain.written) == len(SOURCES)


@pytest.mark.parametrize("path", ["m.py", "tests/test_m.py"])
@pytest.mark.parametrize("content", SOURCES)
def test_named_facts_are_those_under_a_module(content: bytes, path: str) -> None:
    key = ("b", "s")
    named = FilesFacts(
        PackedFacts([(key, pack_facts(facts(content)))]),
        {path: (key, "pkg.m"), "gone.py": (("x", "s"), "gone")},
    )
    expected = facts_under(facts(content), "pkg.m", path)
    for order in (list(expected), sorted(expected), sorted(expected, reverse=True)):
        one = named[path]
        assert {part: one[part] for part in order} == expected
    assert named["gone.py"]["error"] == unavailable_facts()["error"] and list(named) == [
        path,
        "gone.py",
    ]
