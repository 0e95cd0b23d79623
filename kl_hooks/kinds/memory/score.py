"""What supports a memory and how much it matters today: counters, importance, decay, evidence.

Nothing here is stored. Counters are a fold over Events, and decay is a function of the value at the last Event, of
its time and of now: it cannot compound, however often it is asked for. Integers only, in millionths, so that nothing is
rounded twice and every machine gets the same numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

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
"""A session showed it again. Body: `receipts`, a list of IDs; `proof`, a class of evidence; `seen`, ISO 8601."""
INJECTED: Final = "injected"
"""It was shown to an agent unasked."""
OPENED: Final = "opened"
"""Somebody asked for it by its ID. Injection is no access: else what is injected once would be injected for ever."""
OUTCOME: Final = "outcome"
"""How a task ended that had it. Body: `result`, `positive` or `negative`."""
REVIEWED: Final = "reviewed"
"""A person or a reviewer decided. Body: `do`, and `person`."""
VERIFIED: Final = "verified"
DISPROVEN: Final = "disproven"
_FOLDED: Final = (REINFORCED, INJECTED, OPENED, OUTCOME, REVIEWED, VERIFIED, DISPROVEN)
_MOST_RECEIPTS: Final = 200
_MOST_WEIGHED: Final = 20
"""The newest receipts of a memory, which decide its tier."""
_NEWEST_RECEIPTS: Final = 20
"""Receipts in one Event."""

PERCENT: Final = 10_000
_MILLION: Final = 1_000_000
_DAY: Final = 86_400_000_000
_SCALE: Final = 10**18
"""Of powers, so that rounding down at every step of a squaring costs less than a millionth."""
# Importance and decay follow agor, whose daily job compounded both (requirements D48 and D49).
RATE: Final = 3_000
"""Decay a day: 0.3 %."""
LEAST_IMPORTANCE: Final = 50_000
OPENED_BONUS: Final = 50_000
"""For a memory that was opened within the last day."""
_FADED_BELOW, _FADED_AFTER_DAYS = 100_000, 30
_FEW_RATINGS: Final = 5
"""Below this many ratings the outcomes are too few to correct an importance."""
_READY_IMPORTANCE, _READY_OPENED = 700_000, 2
_VERIFY_GAIN: Final = 150_000
_DISPROVEN_IMPORTANCE: Final = 50_000


@dataclass(frozen=True, slots=True)
class Tally:
    """The counters of one memory."""

    sessions: frozenset[str] = frozenset()
    receipts: tuple[tuple[str, str], ...] = ()
    """Receipt and class of evidence, in the order seen, each once."""
    reinforced_at: str = ""
    """The newest time that a session showed it; ISO 8601, empty: never."""
    reviewed_at: str = ""
    opened_at: str = ""
    opened: int = 0
    injected: int = 0
    positive: int = 0
    negative: int = 0
    verifiers: frozenset[str] = frozenset()
    """Who verified it since it was last disproven: verifying it twice adds nothing."""
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
        """How many tasks that had it ended with a rating."""
        return self.positive + self.negative


def tallies(ws: Workspace, ids: Sequence[str]) -> dict[str, Tally]:
    """Return ID → the counters of its Events."""
    return {one: tally_of(found) for one, found in events_by_record(ws, ids, _FOLDED).items()}


def tally_of(events: Iterable[Event], start: Tally | None = None) -> Tally:
    """Return the counters after these Events, added to those of `start`: folding in pieces gives the same."""
    tally = start or Tally()
    for one in events:
        tally = _plus(tally, one)
    return tally


def _plus(tally: Tally, one: Event) -> Tally:
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


def _reinforced(tally: Tally, one: Event) -> Tally:
    given = one.body.get("receipts")
    proof = str(one.body.get("proof") or "")
    known = {receipt for receipt, _ in tally.receipts}
    new = tuple((str(r), proof) for r in (given if isinstance(given, list | tuple) else ()) if str(r) not in known)
    return replace(
        tally,
        sessions=tally.sessions | {one.session},
        receipts=(tally.receipts + tuple(dict.fromkeys(new)))[:_MOST_RECEIPTS],
        reinforced_at=max(tally.reinforced_at, str(one.body.get("seen") or one.at)),
    )


def reinforcements(identifier: str, sightings: Iterable[Sighting], known: Iterable[str] = ()) -> list[Event]:
    """Return an Event for each session that saw a memory, without the `known` ones: a session reinforces once."""
    by_session: dict[str, list[Sighting]] = {}
    for one in sightings:
        by_session.setdefault(one.session, []).append(one)
    found, past = [], set(known)
    for session, seen in by_session.items():
        if session in past:
            continue
        receipts = list(dict.fromkeys(one.receipt for one in seen))[-_NEWEST_RECEIPTS:]
        body = {"receipts": receipts, "proof": seen[0].proof, "seen": max(one.at for one in seen)}
        found.append(Event(REINFORCED, identifier, session, body))
    return found


def importance_of(percent: int, tally: Tally) -> int:
    """Return the importance of a record that was written with `percent`, after what happened to it."""
    start = _DISPROVEN_IMPORTANCE if tally.disproven else percent * PERCENT
    # Injections without a rating do not count: silence is no outcome.
    return effective_importance(min(_MILLION, start + tally.verified * _VERIFY_GAIN), tally.rated, tally.positive)


def effective_importance(importance: int, rated: int, positive: int) -> int:
    """Return `importance` below five ratings, else 0.3 · importance + 0.7 · (positive + 2) / (rated + 4)."""
    if rated < _FEW_RATINGS:
        return importance
    return (3 * importance + 7 * min(_MILLION, (positive + 2) * _MILLION // (rated + 4))) // 10


def is_ready(importance: int, tally: Tally) -> bool:
    """Return True for a candidate that should become a file of the project: people ask for it, and it matters."""
    return importance >= _READY_IMPORTANCE and tally.opened >= _READY_OPENED and not tally.disproven


def importance_today(ws: Workspace, record: Record, tally: Tally) -> int:
    """Return the importance of a memory, decayed since something last happened to it."""
    value, last, opened = _last_importance(ws, record, tally)
    return decay(value, last, ws.clock.now(), opened=opened)


def has_faded(ws: Workspace, record: Record, tally: Tally) -> bool:
    """Return True where nothing happened to a memory for long and next to nothing of its importance is left."""
    value, last, opened = _last_importance(ws, record, tally)
    return has_decayed(value, last, ws.clock.now(), opened=opened)


def _last_importance(ws: Workspace, record: Record, tally: Tally) -> tuple[int, int, int | None]:
    """Return the importance when something last happened, when that was, and when the memory was last opened."""
    moments = [tally.reinforced_at, tally.reviewed_at, tally.opened_at, record.text("updated"), record.text("date")]
    last = max((micros(one) for one in moments if one), default=ws.clock.now())
    value = importance_of(record.number("importance", IMPORTANCE), tally)
    return value, last, micros(tally.opened_at) if tally.opened_at else None


def decay(value: int, at: int, now: int, *, opened: int | None = None, rate: int = RATE) -> int:
    """Return value · (1 - rate)^days. `value` is the importance at the moment `at`; moments are microseconds.

    Whole days count. A moment in the future is now.
    """
    days = max(0, now - at) // _DAY
    left = value * _power(_MILLION - rate, days) // _SCALE
    bonus = OPENED_BONUS if opened is not None and 0 <= now - opened < _DAY else 0
    return min(_MILLION, max(left, min(value, LEAST_IMPORTANCE)) + bonus)


def has_decayed(value: int, at: int, now: int, *, opened: int | None = None, rate: int = RATE) -> bool:
    """Return True where `decay` has left next to nothing, and not only since yesterday."""
    return now - at > _FADED_AFTER_DAYS * _DAY and decay(value, at, now, opened=opened, rate=rate) < _FADED_BELOW


def _power(millionths: int, days: int) -> int:
    """Return (millionths / 1 000 000) ** days as parts of `_SCALE`, by squaring, rounded down at every step."""
    result, base = _SCALE, millionths * (_SCALE // _MILLION)
    while days and result:
        if days & 1:
            result = result * base // _SCALE
        base, days = base * base // _SCALE, days >> 1
    return result


@dataclass(frozen=True, slots=True)
class Support:
    """The tier of a memory and the evidence behind it."""

    tier: Tier
    lines: tuple[str, ...]
    """`ExitCode  receipt 3f9a1c2b5d6e of 2026-11-21, seen by kl run`, one for each receipt."""


def support_of(ws: Workspace, known: Mapping[str, Tally], approved: set[str]) -> dict[str, Support]:
    """Return ID → its support. The approval of an approved memory is evidence of class RepositoryMemory."""
    wanted = {receipt for tally in known.values() for receipt, _ in tally.receipts[-_MOST_WEIGHED:]}
    with ws.store.reading() as db:
        receipts = receipt_headers(db, sorted(wanted)) if db is not None else {}
    rule = ws.settings.verified_requires
    found: dict[str, Support] = {}
    for one, tally in known.items():
        seen = [_observed(receipt, proof, receipts) for receipt, proof in tally.receipts[-_MOST_WEIGHED:]]
        own = [Observation(KIND.proof, "records", "", "", hard=False)] if one in approved else []
        found[one] = Support(tier([*own, *(o for o, _ in seen)], rule), tuple(line for _, line in seen))
    return found


def _observed(receipt: str, proof: str, known: Mapping[str, tuple[Receipt, str]]) -> tuple[Observation, str]:
    """Return a receipt as the tier rule takes it, and as a line. One that is not in this store is an assertion."""
    if receipt not in known:
        here = "" if ":" in receipt else ", which is not in this store"
        name = receipt if ":" in receipt else f"receipt {receipt[:12]}"
        return Observation("AgentAssertion", receipt, "", receipt, hard=False), f"{proof}  {name}{here}"
    header, origin = known[receipt]
    line = f"{proof}  receipt {receipt[:12]} of {header.ended[:10]}, seen by {header.observer}"
    return observation(header, Evidence(proof, "", "passed"), origin), line
