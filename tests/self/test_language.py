"""The words that people read are the field's: nothing of the glossary's left column
(tools/glossary.py).
"""

from __future__ import annotations

import runpy
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
GLOSSARY: dict[str, Any] = runpy.run_path(str(ROOT / "tools/glossary.py"))


def test_no_word_that_the_glossary_replaces() -> None:
    found = GLOSSARY["found_in"](
        [ROOT / one for one in (*GLOSSARY["CODE"], *GLOSSARY["TESTS"], *GLOSSARY["PAGES"])]
    )
    files = Counter(one.path.relative_to(ROOT).as_posix() for one in found)
    assert not found, "python tools/glossary.py lists them: " + str(files.most_common(10))


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ('"""What stands here."""\n', ["stands"]),
        ("def files_told(kept: int) -> int:\n    return kept\n", ["told", "kept"]),
        ("MendedFile = 1  # gone\n", ["Mended", "gone"]),
        ("print(f'{1} things are left out')\n", ["things", "left out"]),
        ("# a file below the root, which does not hold.\n", ["below the root", "not hold"]),
        ("# its rows go, and it goes to the archive\n", ["rows go"]),
        ("# a list that holds files; the default holds\n", []),
        ("KEY = 'standing'\nQUERY = 'SELECT told FROM x'\n", []),
        ('"""The key `told`, and standards, and understanding."""\n', []),
    ],
)
def test_what_is_found_in_code(source: str, words: list[str]) -> None:
    assert [one.word for one in GLOSSARY["of_python"](Path("a.py"), source)] == words


def test_code_in_pages_is_not_looked_at() -> None:
    page = "It says `told`.\n```\nkl: gone\n```\nAs we said.\n"
    assert [(one.line, one.word) for one in GLOSSARY["of_page"](Path("a.md"), page)] == [
        (1, "says"),
        (5, "said"),
    ]
