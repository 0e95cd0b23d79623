"""Where arguments are in a text: found without a look at more of it than can be paid."""

from __future__ import annotations

import pytest

from kl_hooks.arch import suggestions
from kl_hooks.arch.suggestions import signatures


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"def f(a): ...\ndef g(b): ...\n", [(3, 8), (17, 22)]),
        (b"def f(a='\\x61'): ...\nx\n", [(3, 23)]),
        (b"def f(a='x' 'y'): ...\nx\n", [(3, 24)]),
        (b"definitely(a)\nundef (a)\n", []),
        (b"def f(a", [(3, 7)]),
    ],
)
def test_from_the_name_to_the_closing_bracket(content: bytes, found: list[tuple[int, int]]) -> None:
    assert list(signatures(content)) == found


def test_one_that_is_too_long_goes_on_to_the_end() -> None:
    content = b"def f(" + b"1," * suggestions._LONGEST + b")\nx\n"
    assert list(signatures(content)) == [(3, len(content))]


def test_of_many_in_each_other_most_are_not_followed() -> None:
    content = (b"def " * 1_000 + b"()\n") * 20
    found = list(signatures(content))
    assert found[-1][1] == len(content)
    assert sum(end - start for start, end in found) < 7 * len(content)
