"""Counters of a memory: a fold over its Events, never stored. Folding in pieces gives the same. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

REINFORCED: Final = "reinforced"
"""A session showed it again. Body: `receipts`, a list of ids; `proof`, a class of evidence."""
INJECTED: Final = "injected"
"""It was given to an agent."""
OPENED: Final = "opened"
"""Somebody asked for it by its id. Being given unasked is no access: else what is given would be given for ever."""
OUTCOME: Final = "outcome"
"""How a task ended that it was given to. Body: `result`, `positive` or `negative`."""
REVIEWED: Final = "reviewed"
"""A person or a reviewer decided. Body: `do`, and `by`."""
VERIFIED: Final = "verified"
DISPROVEN: Final = "disproven"
MOST_RECEIPTS: Final = 200
"""Receipts that are remembered of one memory."""


@dataclass(frozen=True, slots=True)
class Happened:
    """One Event, as it is folded."""

    name: str
    at: str
    """ISO 8601."""
    session: str = ""
    body: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Tally:
    """What the Events of one memory add up to."""

    sessions: frozenset[str] = frozenset()
    receipts: tuple[tuple[str, str], ...] = ()
    """Receipt and class of evidence, in the order seen, each once."""
    reinforced_at: str = ""
    """The newest time that a session showed it; ISO 8601, empty: never."""
    reviewed_at: str = ""
    """The newest time that somebody decided about it."""
    opened_at: str = ""
    opened: int = 0
    injected: int = 0
    positive: int = 0
    negative: int = 0
    verifiers: frozenset[str] = frozenset()
    """Who verified it since it was last disproven: one person's second word adds nothing."""
    disproven: int = 0
    """Since it was last verified."""

    @property
    def reinforcement(self) -> int:
        """How many sessions showed it."""
        return len(self.sessions)

    @property
    def verified(self) -> int:
        """How many verified it since it was last disproven."""
        return len(self.verifiers)

    @property
    def rated(self) -> int:
        """How many tasks it was given to ended with a word on it."""
        return self.positive + self.negative

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes of evidence, each once."""
        return tuple(dict.fromkeys(proof for _, proof in self.receipts if proof))


def fold(events: Iterable[Happened], start: Tally | None = None) -> Tally:
    """What the Events add up to, after those of `start`."""
    tally = start or Tally()
    for one in events:
        tally = _with(tally, one)
    return tally


def _with(tally: Tally, one: Happened) -> Tally:
    if one.name == REINFORCED:
        return _reinforced(tally, one)
    if one.name == INJECTED:
        return replace(tally, injected=tally.injected + 1)
    if one.name == OPENED:
        return replace(tally, opened_at=max(tally.opened_at, one.at), opened=tally.opened + 1)
    if one.name == REVIEWED:
        return replace(tally, reviewed_at=max(tally.reviewed_at, one.at))
    if one.name == VERIFIED:
        return replace(tally, verifiers=tally.verifiers | {one.session}, disproven=0)
    if one.name == DISPROVEN:
        return replace(tally, disproven=tally.disproven + 1, verifiers=frozenset())
    if one.name == OUTCOME and one.body.get("result") in ("positive", "negative"):
        good = one.body["result"] == "positive"
        return replace(tally, positive=tally.positive + good, negative=tally.negative + (not good))
    return tally


def _reinforced(tally: Tally, one: Happened) -> Tally:
    told = one.body.get("receipts")
    proof = str(one.body.get("proof") or "")
    known = {receipt for receipt, _ in tally.receipts}
    new = tuple((str(r), proof) for r in (told if isinstance(told, list | tuple) else ()) if str(r) not in known)
    return replace(
        tally,
        sessions=tally.sessions | {one.session},
        receipts=(tally.receipts + tuple(dict.fromkeys(new)))[:MOST_RECEIPTS],
        reinforced_at=max(tally.reinforced_at, str(one.body.get("seen") or one.at)),
    )
