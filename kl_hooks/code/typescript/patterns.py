"""Patterns with one star, as `paths` of tsconfig.json and `exports` of package.json have them.

There may be thousands, and as many texts to compare with them: they are found by what is before
the star, the longest first, and by what is after it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Match(NamedTuple):
    """A pattern that fits a text."""

    pattern: str
    rest: str
    """What is in place of the star; empty for a pattern without one."""


class Patterns:
    """Patterns, in the order in which they are stated."""

    def __init__(self, patterns: Iterable[str]) -> None:
        self._patterns = list(dict.fromkeys(patterns))
        self._exact = frozenset(self._patterns)
        # before the star → after it → number of the pattern
        self._numbers: dict[str, dict[str, int]] = {}
        for number, pattern in enumerate(self._patterns):
            before, star, after = pattern.partition("*")
            if star:
                self._numbers.setdefault(before, {})[after] = number
        self._lengths = sorted({len(before) for before in self._numbers}, reverse=True)
        self._end_lengths = {
            before: sorted({len(after) for after in numbers})
            for before, numbers in self._numbers.items()
        }

    def best(self, text: str) -> Match | None:
        """The pattern that fits: the text itself, else the longest before the star; of equally
        long ones the first.
        """
        if text in self._exact:
            return Match(text, "")
        for length in self._lengths:
            before = text[:length]
            if len(before) == length and before in self._numbers:
                match = self._first(text, before)
                if match is not None:
                    return match
        return None

    def _first(self, text: str, before: str) -> Match | None:
        numbers, length = self._numbers[before], len(text)
        fitting = []
        for end_length in self._end_lengths[before]:
            if len(before) + end_length > length:
                break
            number = numbers.get(text[length - end_length :])
            if number is not None:
                fitting.append((number, text[len(before) : length - end_length]))
        if not fitting:
            return None
        number, rest = min(fitting)
        return Match(self._patterns[number], rest)
