"""Harmless text."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.model.text import counted, one_line, safe_text


@given(st.text() | st.text("a1⚠👩💻\u200d\ufe0e\ufe0f\ufe03"))
def test_no_control_character_is_left_and_it_is_stable(text: str) -> None:
    safe = safe_text(text)
    assert not [c for c in safe if unicodedata.category(c) in ("Cc", "Cs") and c not in "\n\t"]
    assert safe_text(safe) == safe


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("\x1b]52;c;aGk=\x07", "\\x1b]52;c;aGk=\\x07"),
        ("over\rwritten", "over\\x0dwritten"),
        ("a\u202eb\u200bc", "a\\u202eb\\u200bc"),
        ("tag \U000e0041", "tag \\U000e0041"),
        ("byte \udcff", "byte \\udcff"),
        ("kept\n\täöü 漢字 🙂", "kept\n\täöü 漢字 🙂"),
        (
            "⚠\ufe0f 1\ufe0f\u20e3 👩\u200d💻 ❤\ufe0f\u200d🔥",
            "⚠\ufe0f 1\ufe0f\u20e3 👩\u200d💻 ❤\ufe0f\u200d🔥",
        ),
        ("⚠\ufe0f\ufe0e\ufe03", "⚠\ufe0f\\ufe0e\\ufe03"),
        ("a\ufe0f\u200d💻 👩\u200db", "a\\ufe0f\\u200d💻 👩\\u200db"),
    ],
)
def test_examples(text: str, safe: str) -> None:
    assert safe_text(text) == safe


@given(st.text(), st.integers(2, 80))
def test_one_line_is_one_line_of_that_length(text: str, limit: int) -> None:
    line = one_line(text, limit)
    assert len(line) <= limit
    assert "\n" not in line


def test_one_is_singular() -> None:
    words = ("receipt", "memory", "day", "class", "more commit", "receipt")
    assert [
        counted(number, word) for number, word in zip((1, 2, 3, 0, 1, 2), words, strict=True)
    ] == [
        "1 receipt",
        "2 memories",
        "3 days",
        "0 classes",
        "1 more commit",
        "2 receipts",
    ]
