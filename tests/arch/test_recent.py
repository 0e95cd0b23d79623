"""What is kept of changed files is that of their content, and nothing odd is taken for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from kl_hooks.arch.recent import recent
from kl_hooks.config.compiled import keep
from kl_hooks.git.files import Entry

ROW = ["os", "", 0, 1, "import", "import os"]
FACTS = {"error": "", "imports": [ROW]}
KEY = "a" * 64


class Reader:
    """Gives the same facts for every file, and remembers what it was asked for; `gone` can't be had."""

    def __init__(self, *gone: str) -> None:
        self.asked: list[list[str]] = []
        self.gone = gone

    def __call__(self, entries: Sequence[Entry]) -> Mapping[str, Any]:
        self.asked.append([entry.path for entry in entries])
        return {entry.path: FACTS for entry in entries if entry.path not in self.gone}


def entry(path: str, blob: str = "1" * 40) -> Entry:
    return Entry(path, blob, "100644")


def test_a_content_is_read_once(tmp_path: Path) -> None:
    read, two = Reader(), [entry("a.py"), entry("b.py")]
    assert recent(tmp_path, KEY, two, read) == {"a.py": FACTS, "b.py": FACTS}
    assert recent(tmp_path, KEY, two, read) == {"a.py": FACTS, "b.py": FACTS}
    recent(tmp_path, KEY, [entry("a.py", "2" * 40), entry("b.py")], read)
    recent(tmp_path, "b" * 64, two, read)
    recent(None, KEY, two, read)
    assert read.asked == [["a.py", "b.py"], ["a.py"], ["a.py", "b.py"], ["a.py", "b.py"]]


def test_what_could_not_be_had_is_tried_again(tmp_path: Path) -> None:
    read = Reader("a.py")
    assert [recent(tmp_path, KEY, [entry("a.py")], read) for _ in range(2)] == [{}, {}]
    assert len(read.asked) == 2


def test_nothing_new_writes_nothing(tmp_path: Path) -> None:
    read = Reader()
    recent(tmp_path, KEY, [entry("a.py")], read)
    before = {path: path.stat().st_ino for path in tmp_path.rglob("*")}
    recent(tmp_path, KEY, [entry("a.py")], read)
    recent(tmp_path, KEY, [], read)
    assert {path: path.stat().st_ino for path in tmp_path.rglob("*")} == before


@pytest.mark.parametrize(
    "odd",
    [
        [], "text", {"a.py": None}, {"a.py": []}, {"a.py": ["1" * 40, "", [ROW], 1]}, {"a.py": ["1" * 40, 0, [ROW]]},
        {"a.py": ["1" * 40, "", {}]}, {"a.py": ["1" * 40, "", [ROW[:5]]]},
        {"a.py": ["1" * 40, "", [[*ROW[:3], "1", *ROW[4:]]]]},
        {"a.py": ["1" * 40, "", [None]]},
    ],
)  # fmt: skip
def test_what_is_odd_is_read_again(tmp_path: Path, odd: object) -> None:
    read = Reader()
    keep(tmp_path, "imports-1", KEY, odd)
    assert recent(tmp_path, KEY, [entry("a.py")], read) == {"a.py": FACTS}
    assert read.asked == [["a.py"]]
