"""Where time comes from: one small interface, so that nothing that must be repeatable asks the
machine.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Final, Protocol


class Clock(Protocol):
    """A source of the time."""

    def now(self) -> int:
        """Microseconds since 1970-01-01 UTC."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> int:
        return time.time_ns() // 1000


class FixedClock:
    """A clock that does not move (tests, `--now`)."""

    def __init__(self, now: int) -> None:
        self._now = now

    def now(self) -> int:
        return self._now


DAY: Final = 86_400_000_000
"""Microseconds."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST = -62135596800_000000
_LAST = 253402300799_999999


def iso(microseconds: int) -> str:
    """`2026-11-21T22:58:26.123456Z`; times outside the years 1–9999 are clamped to the nearest one
    that has a name.
    """
    when = _EPOCH + timedelta(microseconds=min(max(microseconds, _FIRST), _LAST))
    return when.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def micros(text: str) -> int:
    """The way back: microseconds of an ISO 8601 text (a date, or a time with or without zone; UTC
    if it has none).
    """
    when = datetime.fromisoformat(text.strip())
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    delta = when - _EPOCH
    return (delta.days * 86400 + delta.seconds) * 1_000_000 + delta.microseconds


def age_in_days(now: int, moment: int) -> float:
    """Return the days since a moment; 0 for one in the future, which a clock that was set back
    leaves behind.
    """
    return max(now - moment, 0) / DAY


def is_older(now: int, moment: int, days: int) -> bool:
    """Return whether a moment lies more than so many days before `now`."""
    return now - moment > days * DAY
