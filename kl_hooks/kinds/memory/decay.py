"""Decay: importance · (1 − rate)^days, as a function of the value at an event, that time, and now. Nothing is stored.

So decay can't compound, however often it is asked for, and looking at a value does not change it. Integers only. Pure.
"""

from __future__ import annotations

from typing import Final

DAY: Final = 86_400_000_000
"""Microseconds."""
RATE: Final = 3_000
"""Of a learning, a day: 0.003, in millionths."""
FLOOR: Final = 50_000
"""Importance that is never gone below, in millionths."""
FADED: Final = 100_000
"""Below this, and older than `OLD` days, it is deprecated."""
OLD: Final = 30
REFRESH: Final = 50_000
"""What is added for one that was opened within the last day."""
_ONE: Final = 1_000_000
_FINE: Final = 10**18


def decayed(value: int, at: int, now: int, *, opened: int | None = None, rate: int = RATE) -> int:
    """Importance today, in millionths. `value`: at the event; `at`, `now`, `opened` in microseconds.

    Whole days count. A time in the future is now.
    """
    days = max(0, now - at) // DAY
    left = value * _power(_ONE - rate, days) // _FINE
    fresh = opened is not None and 0 <= now - opened < DAY
    return min(_ONE, max(left, min(value, FLOOR)) + (REFRESH if fresh else 0))


def faded(value: int, at: int, now: int, *, opened: int | None = None, rate: int = RATE) -> bool:
    """True where it should be deprecated."""
    return now - at > OLD * DAY and decayed(value, at, now, opened=opened, rate=rate) < FADED


def _power(millionths: int, days: int) -> int:
    """(millionths / 1 000 000) ** days as parts of `_FINE`, by squaring, rounded down at every step."""
    result, base = _FINE, millionths * (_FINE // _ONE)
    while days and result:
        if days & 1:
            result = result * base // _FINE
        base, days = base * base // _FINE, days >> 1
    return result
