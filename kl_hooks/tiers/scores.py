"""Ages and words of stored entries, as the scores of several modules use them. Pure functions."""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

DAY: Final = 86_400_000_000
"""Microseconds."""
_WORD: Final = re.compile(r"\w+")


def age_in_days(now: int, at: int) -> float:
    """Return the days since a moment; 0 for one in the future, which a clock that was set back leaves behind."""
    return max(now - at, 0) / DAY


def words(text: str) -> Counter[str]:
    """Return how often each word is in a text, whatever its case."""
    return Counter(_WORD.findall(text.casefold()))
