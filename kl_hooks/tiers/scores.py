"""Scores of stored entries: relevance, staleness, quality, similarity of texts. Pure functions of their arguments.

Nothing here is stored: a score is computed from the values at the last event and from now, so computing it twice, or
every day, changes nothing (ADR-0036). Times are microseconds, shares are 0 to 1.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import Final, NamedTuple

DAY: Final = 86_400_000_000
"""Microseconds."""
ENTRY_DECAY: Final = 0.01
"""Of a context entry, per day: half is left after 69 days without access."""
SAME: Final = 0.92
"""Similarity from which two texts are one."""
REVIEW, ARCHIVE = 0.7, 0.9
"""Staleness from which an entry is to be looked at, and from which it is archived."""
_FLOOR: Final = 0.05
_WORD: Final = re.compile(r"\w+")


def age_in_days(now: int, at: int) -> float:
    """Return the days since a moment; 0 for one in the future, which a clock that was set back leaves behind."""
    return max(now - at, 0) / DAY


def relevance(importance: float, confidence: float, accessed: int, now: int, rate: float = ENTRY_DECAY) -> float:
    """Return importance × confidence, less with each day since the last access (0: never accessed, no decay)."""
    fading = math.exp(-rate * age_in_days(now, accessed)) if accessed else 1.0
    return importance * confidence * fading


def decayed(importance: float, at: int, now: int, rate: float = ENTRY_DECAY) -> float:
    """Return what is left now of an importance at a moment; at least 0.05, and never more than it was."""
    return max(importance * math.pow(1 - rate, age_in_days(now, at)), min(_FLOOR, importance))


class Staleness(NamedTuple):
    """How stale an entry is, and why."""

    age: float
    """The part of its age, at most 0.4."""
    access: float
    """The part of the time since its last access, at most 0.3."""
    unimportance: float
    """The part of what it lacks in importance, at most 0.3."""

    @property
    def score(self) -> float:
        """0 to 1."""
        return self.age + self.access + self.unimportance


def staleness(importance: float, made: int, accessed: int, now: int) -> Staleness:
    """Return the staleness of an entry whose importance is `importance` now. `accessed`: 0 where it never was.

    With an importance that does not decay no entry of medium importance would ever reach `ARCHIVE`: 0.85 is the most.
    """
    idle = min(age_in_days(now, accessed) / 60, 1.0) if accessed else 0.8
    return Staleness(0.4 * (1 - 0.5 ** (age_in_days(now, made) / 30)), 0.3 * idle, 0.3 * (1 - importance))


def quality(structure: float, uses: int, rating: float | None, days: float) -> float:
    """Return the quality of shared knowledge: structure, uses, mean rating (1 to 5; None: none yet) and age."""
    used = min(math.log10(uses + 1) / 3, 1.0)
    rated = 0.0 if rating is None else (min(max(rating, 1.0), 5.0) - 1) / 4
    return 0.30 * structure + 0.25 * used + 0.25 * rated + 0.20 * max(math.exp(-0.01 * max(days, 0.0)), 0.2)


def words(text: str) -> Counter[str]:
    """Return how often each word is in a text, whatever its case."""
    return Counter(_WORD.findall(text.casefold()))


def similarity(one: Counter[str], other: Counter[str]) -> float:
    """Return the cosine of two texts by their words: 1 for the same words, 0 for none in common (or no words)."""
    if one == other:
        return 1.0 if one else 0.0
    if len(other) < len(one):
        one, other = other, one
    common = sum(count * other[word] for word, count in one.items())
    sizes = sum(n * n for n in one.values()) * sum(n * n for n in other.values())
    return common / math.sqrt(sizes) if common else 0.0


def share_of_words(wanted: Counter[str], text: Counter[str]) -> float:
    """Return which share of the words that are asked for a text has."""
    return sum(1 for word in wanted if word in text) / len(wanted) if wanted else 0.0
