"""Decay: how age and idleness lower importance, relevance and quality, and raise staleness. Pure.

Nothing here is stored. A score is computed from stored values and the moment of the question, so
that asking twice never counts twice. Moments are microseconds since 1970.
"""

from __future__ import annotations

import math
from typing import Final

from kl_hooks.clock import DAY, age_in_days
from kl_hooks.model.definitions import NamedTuple

ENTRY_LOSS: Final = 0.01
"""Share of its importance that an entry of a context loses in a day: half in 69 days."""
_MEMORY_LOSS: Final = 0.003
"""The same for a memory: half in 231 days."""
_LEAST: Final = 0.05
"""Decay leaves at least so much of an importance."""
_MILLION: Final = 1_000_000
"""The importance of a memory is counted in millionths."""
_VERIFIED_GAIN: Final = 150_000
_DISPROVEN_IMPORTANCE: Final = 50_000
LEAST_IMPORTANCE: Final = round(_LEAST * _MILLION)
_OPENED_BONUS: Final = 50_000
"""For a memory that was opened within the last day."""
_FEW_RATINGS: Final = 5
"""Below this many ratings the outcomes are too few to correct an importance."""
_IDLE_PERIOD: Final = 30 * DAY
_IDLE_STEP: Final = 0.05
_LEAST_SCORE: Final = 0.2


def half_life(days: float, half: float) -> float:
    """Return what is left of 1 after `days`, of which every `half` take half."""
    return float(0.5 ** (days / half))


def _fading(days: float) -> float:
    """Return what is left of 1 after `days`, at 1 % less for each."""
    return math.exp(-0.01 * days)


def remaining(importance: float, days: float, daily_loss: float, least: float = _LEAST) -> float:
    """Return what `days` leave of an importance; at least `least`, and never more than it was."""
    return max(importance * math.pow(1 - daily_loss, days), min(least, importance))


def memory_importance(value: int, moment: int, now: int, opened: int | None = None) -> int:
    """Return what is left of the importance `value` that a memory had at `moment`, in millionths.

    Whole days count. `opened`: when somebody last asked for it.
    """
    days = max(0, now - moment) // DAY
    # 1e-6: a product that is a whole number may be a little less than it as a float
    left = int(remaining(value, days, _MEMORY_LOSS, LEAST_IMPORTANCE) + 1e-6)
    # 0 <=: a clock that was set back would give it for longer than a day
    if opened is not None and 0 <= now - opened < DAY:
        bonus = _OPENED_BONUS
    else:
        bonus = 0
    return min(_MILLION, left + bonus)


def checked_importance(importance: int, verified: int, disproven: int) -> int:
    """Return an importance after checks: `verified` and `disproven` people, since the last check to
    the contrary.
    """
    if disproven:
        start = _DISPROVEN_IMPORTANCE
    else:
        start = importance
    return min(_MILLION, start + verified * _VERIFIED_GAIN)


def rated_importance(importance: int, rated: int, positive: int) -> int:
    """Return `importance` below five ratings, else its mix with the share of positive ones.

    In millionths: 0.3 · importance + 0.7 · (positive + 2) / (rated + 4).
    """
    if rated < _FEW_RATINGS:
        return importance
    return (3 * importance + 7 * min(_MILLION, (positive + 2) * _MILLION // (rated + 4))) // 10


def relevance(importance: float, confidence: float, accessed: int, now: int) -> float:
    """Return importance × confidence, less with each day since the last access (0: never accessed,
    no decay).
    """
    if accessed:
        left = _fading(age_in_days(now, accessed))
    else:
        left = 1.0
    return importance * confidence * left


class Staleness(NamedTuple):
    """How stale an entry of a context is, and why."""

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


def staleness(importance: float, created: int, accessed: int, now: int) -> Staleness:
    """Return the staleness of an entry whose importance is `importance` now. `accessed`: 0 where it
    never was.

    With an importance that does not decay no entry of medium importance would ever be archived:
    0.85 is the most.
    """
    # 0.8 for what was never read: the model's constant, between 48 and 60 days of idleness
    if accessed:
        idle = min(age_in_days(now, accessed) / 60, 1.0)
    else:
        idle = 0.8
    age = 1 - half_life(age_in_days(now, created), 30)
    return Staleness(0.4 * age, 0.3 * idle, 0.3 * (1 - importance))


def quality(structure: float, uses: int, rating: float | None, days: float) -> float:
    """Return the quality of shared knowledge: structure, uses, mean rating (1 to 5; None: none yet)
    and age.
    """
    used = min(math.log10(uses + 1) / 3, 1.0)
    if rating is None:
        rated = 0.0
    else:
        rated = (min(max(rating, 1.0), 5.0) - 1) / 4
    recent = max(_fading(max(days, 0.0)), 0.2)
    return 0.30 * structure + 0.25 * used + 0.25 * rated + 0.20 * recent


def idle_periods(last: int, now: int) -> int:
    """Return the whole periods of 30 days since something was used last; 0 where it never was."""
    if not last:
        return 0
    return max(now - last, 0) // _IDLE_PERIOD


def idle_score(score: float, periods: int) -> float:
    """Return a score less 0.05 for each idle period, as long as it is over 0.2."""
    return max(score - _IDLE_STEP * periods, min(score, _LEAST_SCORE))
