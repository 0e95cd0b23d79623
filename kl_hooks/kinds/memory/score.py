"""What supports a memory and how much it matters today: counters, decay, evidence.

Nothing here is stored. Counters are a fold over Events, and decay is a function of the value at the last Event, of
its time and of now: it cannot compound, however often it is asked for. Integers only, so that every machine gets
the same numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.clock import micros
from kl_hooks.evidence.ledger import receipt_headers
from kl_hooks.evidence.trust import observation
from kl_hooks.kinds.memory.kind import KIND
from kl_hooks.kinds.memory.patterns import IMPORTANCE, Sighting
from kl_hooks.model.claim import Observation, Tier, tier
from kl_hooks.model.receipt import Evidence, Receipt
from kl_hooks.model.record import Record
from kl_hooks.records.events import Event, events_by_record

if TYPE_CHECKING:
    from kl_hooks.workspace import Workspace


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
        tally = _plus(tally, one)
    return tally


def _plus(tally: Tally, one: Happened) -> Tally:
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


_DAY: Final = 86_400_000_000
"""Microseconds."""
RATE: Final = 3_000
"""Of a learning, a day: 0.003, in millionths."""
LEAST_IMPORTANCE: Final = 50_000
"""Importance that is never gone below, in millionths."""
_DEPRECATED_BELOW: Final = 100_000
"""Below this, and older than `_DEPRECATED_AFTER_DAYS` days, it is deprecated."""
_DEPRECATED_AFTER_DAYS: Final = 30
OPENED_BONUS: Final = 50_000
"""What is added for one that was opened within the last day."""
_SCALE: Final = 10**18


def decay(value: int, at: int, now: int, *, opened: int | None = None, rate: int = RATE) -> int:
    """Importance today, in millionths. `value`: at the event; `at`, `now`, `opened` in microseconds.

    Whole days count. A time in the future is now.
    """
    days = max(0, now - at) // _DAY
    left = value * _power(_MILLION - rate, days) // _SCALE
    fresh = opened is not None and 0 <= now - opened < _DAY
    return min(_MILLION, max(left, min(value, LEAST_IMPORTANCE)) + (OPENED_BONUS if fresh else 0))


def has_decayed(value: int, at: int, now: int, *, opened: int | None = None, rate: int = RATE) -> bool:
    """True where it should be deprecated."""
    return (
        now - at > _DEPRECATED_AFTER_DAYS * _DAY and decay(value, at, now, opened=opened, rate=rate) < _DEPRECATED_BELOW
    )


def _power(millionths: int, days: int) -> int:
    """(millionths / 1 000 000) ** days as parts of `_SCALE`, by squaring, rounded down at every step."""
    result, base = _SCALE, millionths * (_SCALE // _MILLION)
    while days and result:
        if days & 1:
            result = result * base // _SCALE
        base, days = base * base // _SCALE, days >> 1
    return result


_MILLION: Final = 1_000_000
PERCENT: Final = 10_000
_FEW_RATINGS: Final = 5
"""Below this many rated injections outcomes say too little."""
_READY_IMPORTANCE, READY_OPENED = 700_000, 2
"""A candidate that weighs so much and was asked for so often is ready for the project."""
_VERIFY_GAIN, VERIFY_CONFIDENCE = 150_000, 100_000
_DISPROVEN_IMPORTANCE, DISPROVEN_CONFIDENCE = 50_000, 100_000


def is_ready(importance: int, tally: Tally) -> bool:
    """True for a candidate that should become a file of the project: people ask for it, and it matters."""
    return importance >= _READY_IMPORTANCE and tally.opened >= READY_OPENED and not tally.disproven


def effective_importance(importance: int, injected: int, positive: int) -> int:
    """Effective importance in millionths; `importance` in millionths too. `injected`: those that were rated.

    Importance itself below five, else 0.3 · importance + 0.7 · (positive + 2) / (injected + 4).
    """
    if injected < _FEW_RATINGS:
        return importance
    helped = min(_MILLION, (positive + 2) * _MILLION // (injected + 4))
    return (3 * importance + 7 * helped) // 10


def importance_of(percent: int, tally: Tally) -> int:
    """The importance of a record after what happened to it, in millionths: as written, verified, disproven, used."""
    start = _DISPROVEN_IMPORTANCE if tally.disproven else percent * PERCENT
    verified = min(_MILLION, start + tally.verified * _VERIFY_GAIN)
    return effective_importance(verified, tally.rated, tally.positive)  # being given without a word on it says nothing


def confidence(tier_percent: int, tally: Tally) -> int:
    """Confidence in percent, where a number is asked for: from the tier, a little more for each verification."""
    start = DISPROVEN_CONFIDENCE if tally.disproven else tier_percent * PERCENT
    return min(_MILLION, start + tally.verified * VERIFY_CONFIDENCE) // PERCENT


_FOLDED: Final = (
    REINFORCED, INJECTED, OPENED, OUTCOME, REVIEWED, VERIFIED, DISPROVEN,
)  # fmt: skip


def tallies(ws: Workspace, ids: Sequence[str]) -> dict[str, Tally]:
    """Id → what its Events add up to."""
    return {one: tally_of(found) for one, found in events_by_record(ws, ids, _FOLDED).items()}


def tally_of(events: Iterable[Event]) -> Tally:
    """The fold of these Events."""
    return fold(Happened(one.name, one.at, one.session, one.body) for one in events)


def reinforcements(identifier: str, sightings: Iterable[Sighting], known: Iterable[str] = ()) -> list[Event]:
    """An Event for each session that saw it, but those that are known: a session reinforces once."""
    by_session: dict[str, list[Sighting]] = {}
    for one in sightings:
        by_session.setdefault(one.session, []).append(one)
    return [
        Event(REINFORCED, identifier, session, _reinforcement_body(seen))
        for session, seen in by_session.items()
        if session not in set(known)
    ]


def _reinforcement_body(seen: Sequence[Sighting]) -> dict[str, object]:
    """The newest receipts; an older time of the same session says nothing more."""
    receipts = list(dict.fromkeys(one.receipt for one in seen))
    return {"receipts": receipts[-20:], "proof": seen[0].proof, "seen": max(one.at for one in seen)}


def importance_today(ws: Workspace, record: Record, tally: Tally) -> int:
    """Effective importance in millionths, decayed since something last happened to it."""
    value, last, opened = _weight(ws, record, tally)
    return decay(value, last, ws.clock.now(), opened=opened)


def has_faded(ws: Workspace, record: Record, tally: Tally) -> bool:
    """True for one that nothing has happened to for long, and that weighs next to nothing."""
    value, last, opened = _weight(ws, record, tally)
    return has_decayed(value, last, ws.clock.now(), opened=opened)


def _weight(ws: Workspace, record: Record, tally: Tally) -> tuple[int, int, int | None]:
    """Importance when something last happened to it, when that was, and when it was last asked for."""
    moments = [tally.reinforced_at, tally.reviewed_at, tally.opened_at, record.text("updated"), record.text("date")]
    last = max((micros(one) for one in moments if one), default=ws.clock.now())
    value = importance_of(record.number("importance", IMPORTANCE), tally)
    return value, last, micros(tally.opened_at) if tally.opened_at else None


_MOST_OBSERVED: Final = 20
"""Receipts of one memory that are weighed: the newest."""


@dataclass(frozen=True, slots=True)
class Support:
    """One memory's tier and what is behind it."""

    tier: Tier
    lines: tuple[str, ...]
    """`ExitCode  receipt 3f9a1c2b5d6e of 2026-11-21, seen by kl run`, one for each receipt."""


def support_of(ws: Workspace, weight: Mapping[str, Tally], approved: frozenset[str] | set[str]) -> dict[str, Support]:
    """Id → what stands behind it. One that was approved counts as RepositoryMemory besides."""
    wanted = {receipt for tally in weight.values() for receipt, _ in tally.receipts[-_MOST_OBSERVED:]}
    with ws.store.reading() as db:
        known = receipt_headers(db, sorted(wanted)) if db is not None else {}
    rule = ws.settings.verified_requires
    found: dict[str, Support] = {}
    for one, tally in weight.items():
        seen = [_observed(receipt, proof, known) for receipt, proof in tally.receipts[-_MOST_OBSERVED:]]
        own = [Observation(KIND.proof, "records", "", "", hard=False)] if one in approved else []
        found[one] = Support(tier([*own, *(o for o, _ in seen)], rule), tuple(line for _, line in seen))
    return found


def _observed(receipt: str, proof: str, known: Mapping[str, tuple[Receipt, str]]) -> tuple[Observation, str]:
    """A receipt as the tier rule sees it, and as a line. One that is not here is somebody's word."""
    if receipt not in known:
        here = "" if ":" in receipt else ", which is not in this store"
        name = receipt if ":" in receipt else f"receipt {receipt[:12]}"
        return Observation("AgentAssertion", receipt, "", receipt, hard=False), f"{proof}  {name}{here}"
    header, origin = known[receipt]
    line = f"{proof}  receipt {receipt[:12]} of {header.ended[:10]}, seen by {header.observer}"
    return observation(header, Evidence(proof, "", "passed"), origin), line
