"""Review: what supports a memory, how much it matters today, and the decisions about it.

Counters are a fold over Events, and decay is a function of the value at the last Event, of its time
and of now: nothing is stored, so nothing compounds. Integers only, in millionths, so that every
machine gets the same numbers.

A review is a plain state (`Review`); nothing is done until it ends. `rejected.txt` holds the ID of
each rejected memory and the reason, so that every clone knows what was refused. The ID follows from
the words, which are not in the file; one sorted line per memory lets git merge it line by line.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.clock import DAY, age_in_days, micros
from kl_hooks.errors import EnvironmentProblem, ForPeople, UsageProblem
from kl_hooks.evidence.ledger import receipt_headers
from kl_hooks.evidence.provenance import agent, producer
from kl_hooks.evidence.trust import observation
from kl_hooks.hookspecs import CommonEvent
from kl_hooks.kinds.catalog import MEMORY, REJECTED_MEMORIES
from kl_hooks.kinds.memory.patterns import IMPORTANCE, Sighting, title_of
from kl_hooks.model.canonical import digest
from kl_hooks.model.claim import Observation, Tier, tier
from kl_hooks.model.definitions import NamedTuple, lazy_pattern
from kl_hooks.model.problem import Problem, Problems
from kl_hooks.model.receipt import Evidence, Receipt
from kl_hooks.model.record import Record
from kl_hooks.model.text import counted, one_line
from kl_hooks.records.events import (
    BASIS,
    Event,
    append_events,
    events_by_record,
    list_events,
    rank_by_sessions,
    stored_records,
)
from kl_hooks.records.liveness import ENDED_VERIFICATIONS, quarantine_reasons
from kl_hooks.records.permissions import VERIFICATION_COMMANDS
from kl_hooks.records.query import RecordFilter, get_record, get_records, list_records
from kl_hooks.records.repository import FileChanges
from kl_hooks.records.sync import sync
from kl_hooks.records.write import change_record
from kl_hooks.sharing.common_events import common_events
from kl_hooks.store.files import read_small
from kl_hooks.store.redaction import redact

if TYPE_CHECKING:
    from kl_hooks.workspace import Workspace


REINFORCED: Final = "reinforced"
"""A session showed it again. Body: `receipts`, a list of IDs; `proof`, a class of evidence; `seen`,
ISO 8601.
"""
INJECTED: Final = "injected"
"""It was shown to an agent unasked."""
OPENED: Final = "opened"
"""Somebody asked for it by its ID. Injection is no access: else what is injected once would be
injected for ever.
"""
OUTCOME: Final = "outcome"
"""How a task ended that had it. Body: `result`, `positive` or `negative`."""
REVIEWED: Final = "reviewed"
"""A person or a reviewer decided. Body: `do`, and `person`."""
VERIFIED: Final = "verified"
DISPROVEN: Final = "disproven"
_FOLDED: Final = (REINFORCED, INJECTED, OPENED, OUTCOME, REVIEWED, VERIFIED, DISPROVEN)
_CHECKED: Final = (VERIFIED, DISPROVEN)
_SHARED: Final = (REINFORCED, OUTCOME, *_CHECKED)
"""Of those that other clones should know. That something was shown, or opened, is of one clone."""
_MOST_RECEIPTS: Final = 200
_MOST_WEIGHED: Final = 20
"""The newest receipts of a memory, which decide its tier."""
_NEWEST_RECEIPTS: Final = 20
"""Receipts in one Event."""

_PERCENT: Final = 10_000
_FADED_BELOW = 100_000
_FADED_AFTER = 30 * DAY
_MINUTE: Final = 60
_READY_IMPORTANCE, _READY_OPENED = 70, 2
"""Percent, and how often somebody asked for it: then a candidate should become a file of the
project.
"""


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
    failed: int = 0
    """Calls of agents that failed for want of it, in all sessions that showed it."""
    seconds: int = 0
    """From the first failure to the pass, in all of them."""

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
    """Return ID → the counters of its Events, those of other clones included."""
    own = events_by_record(ws, ids, _FOLDED)
    with ws.store.reading() as db:
        shared = common_events(ws, db, _SHARED)
    for one in shared:
        if one.record in own:
            own[one.record].append(Event(one.name, one.record, one.author, one.body, one.at))
    changed = {one.record for one in shared}
    return {
        one: tally_of(_in_order(found) if one in changed else found) for one, found in own.items()
    }


def _in_order(events: Sequence[Event]) -> list[Event]:
    """The Events of several clones as they happened; what an agent checked counts for nothing where
    a person did.
    """
    person = any(
        event.name in _CHECKED and not event.session.startswith("agent:") for event in events
    )
    sound = (
        event
        for event in events
        if not (person and event.name in _CHECKED and event.session.startswith("agent:"))
    )
    return sorted(sound, key=lambda event: event.at)


def reviews_to_share(ws: Workspace) -> list[CommonEvent]:
    """What this clone knows for and against memories: sessions that showed them, outcomes, checks,
    reviews.
    """
    events = [one for name in (*_SHARED, REVIEWED) for one in list_events(ws, name=name)]
    reasons = _read_rejections(ws)
    common = []
    for event in events:
        body = {**event.body, "number": event.seq}
        author = event.session
        if event.name == REINFORCED:  # sessions count, and their names are nobody else's business
            body.pop("receipts", None)  # of this store
            author = f"session:{digest('session/1', event.session)[:16]}"
        elif event.name == REVIEWED and event.body.get("do") == "reject":
            body["reason"] = reasons.get(event.record, "")
        common.append(CommonEvent(event.name, event.record, author, event.at, body))
    return common


def _common_rejections(ws: Workspace) -> dict[str, str]:
    """ID → reason of each memory that its last review in another clone rejected; a person's before
    an agent's.
    """
    with ws.store.reading() as db:
        reviews = common_events(ws, db, (REVIEWED,))
    last: dict[str, CommonEvent] = {}
    for review in reviews:
        if review.record not in last or review.by_person >= last[review.record].by_person:
            last[review.record] = review
    return {
        name: one_line(str(review.body.get("reason") or f"rejected by {review.author}"), 200)
        for name, review in last.items()
        if review.body.get("do") == "reject"
    }


def tally_of(events: Iterable[Event], start: Tally | None = None) -> Tally:
    """Return the counters after these Events, added to those of `start`: folding in pieces gives
    the same.
    """
    tally = start or Tally()
    for event in events:
        tally = _plus(tally, event)
    return tally


def _plus(tally: Tally, event: Event) -> Tally:
    if event.name == REINFORCED:
        return _reinforced(tally, event)
    if event.name == INJECTED:
        return replace(tally, injected=tally.injected + 1)
    if event.name == OPENED:
        return replace(tally, opened_at=max(tally.opened_at, event.at), opened=tally.opened + 1)
    if event.name == REVIEWED:
        return replace(tally, reviewed_at=max(tally.reviewed_at, event.at))
    if event.name == VERIFIED:
        return replace(tally, verifiers=tally.verifiers | {event.session}, disproven=0)
    if event.name == DISPROVEN:
        return replace(tally, disproven=tally.disproven + 1, verifiers=frozenset())
    if event.name == OUTCOME and event.body.get("result") in ("positive", "negative"):
        good = event.body["result"] == "positive"
        return replace(tally, positive=tally.positive + good, negative=tally.negative + (not good))
    return tally


def _reinforced(tally: Tally, event: Event) -> Tally:
    stated_receipts = event.body.get("receipts")
    proof = str(event.body.get("proof") or "")
    counted_receipts = {receipt for receipt, _ in tally.receipts}
    new = tuple(
        (str(r), proof)
        for r in (stated_receipts if isinstance(stated_receipts, list | tuple) else ())
        if str(r) not in counted_receipts
    )
    return replace(
        tally,
        sessions=tally.sessions | {event.session},
        # the newest, since these decide the tier
        receipts=(tally.receipts + tuple(dict.fromkeys(new)))[-_MOST_RECEIPTS:],
        reinforced_at=max(tally.reinforced_at, str(event.body.get("seen") or event.at)),
        failed=tally.failed + _number(event.body.get("failed")),
        seconds=tally.seconds + _number(event.body.get("seconds")),
    )


def _number(value: object) -> int:
    # an event of another clone, or of an older version, may hold anything
    if type(value) is int and value > 0:
        return value
    return 0


def reinforce(ws: Workspace, sightings: Mapping[str, Sequence[Sighting]]) -> list[str]:
    """Record which sessions saw these memories, by ID; return the IDs that a new one saw: a session
    reinforces once.
    """
    events = []
    for memory_id, earlier_events in events_by_record(ws, list(sightings), (REINFORCED,)).items():
        by_session: dict[str, list[Sighting]] = {}
        for sighting in sightings[memory_id]:
            by_session.setdefault(sighting.session, []).append(sighting)
        past = {event.session for event in earlier_events}
        for session, new_sightings in by_session.items():
            if session in past:
                continue
            receipts = list(dict.fromkeys(sighting.receipt for sighting in new_sightings))[
                -_NEWEST_RECEIPTS:
            ]
            body: dict[str, Any] = {
                "receipts": receipts,
                "proof": new_sightings[0].proof,
                "seen": max(sighting.at for sighting in new_sightings),
            }
            failed = sum(sighting.failed for sighting in new_sightings)
            if failed:
                seconds = sum(sighting.seconds for sighting in new_sightings)
                body |= {"failed": failed, "seconds": seconds}
            events.append(Event(REINFORCED, memory_id, session, body))
    append_events(ws, events)
    return list(dict.fromkeys(event.record for event in events))


def importance_of(percent: int, tally: Tally) -> int:
    """Return the importance of a record that was written with `percent`, in millionths, after what
    happened to it.
    """
    # here, as below: a review of nothing computes no score
    from kl_hooks.model.decay import checked_importance, rated_importance

    # Injections without a rating do not count: silence is no outcome (requirement D49).
    checked = checked_importance(percent * _PERCENT, tally.verified, tally.disproven)
    return rated_importance(checked, tally.rated, tally.positive)


def importance_today(ws: Workspace, record: Record, tally: Tally) -> int:
    """Return the importance of a memory, decayed since something last happened to it."""
    from kl_hooks.model.decay import memory_importance

    if tally.opened_at:
        opened = micros(tally.opened_at)
    else:
        opened = None
    value = importance_of(record.number("importance", IMPORTANCE), tally)
    return memory_importance(value, _last_moment(ws, record, tally), ws.clock.now(), opened)


def has_faded(ws: Workspace, record: Record, tally: Tally) -> bool:
    """Return True where nothing happened to a memory for long and next to nothing of its importance
    is left. A person's memory without an end does not fade.
    """
    if record.authority == "human" and not record.text("expires"):
        return False  # a person's is permanent
    idle = ws.clock.now() - _last_moment(ws, record, tally)
    return idle > _FADED_AFTER and importance_today(ws, record, tally) < _FADED_BELOW


def _last_moment(ws: Workspace, record: Record, tally: Tally) -> int:
    moments = [
        tally.reinforced_at,
        tally.reviewed_at,
        tally.opened_at,
        record.text("updated"),
        record.text("date"),
    ]
    return max((micros(one) for one in moments if one), default=ws.clock.now())


class Support(NamedTuple):
    """The tier of a memory and the evidence behind it."""

    tier: Tier
    lines: tuple[str, ...]
    """`ExitCode  receipt 3f9a1c2b5d6e of 2026-11-21, seen by kl run`, one for each receipt."""


def support_of(
    ws: Workspace, tallies_by_id: Mapping[str, Tally], approved: set[str]
) -> dict[str, Support]:
    """Return ID → its support. The approval of an approved memory is evidence of class
    RepositoryMemory.
    """
    wanted = {
        receipt
        for tally in tallies_by_id.values()
        for receipt, _ in tally.receipts[-_MOST_WEIGHED:]
    }
    with ws.store.reading() as db:
        if db is not None:
            receipts = receipt_headers(db, sorted(wanted))
        else:
            receipts = {}
    rule = ws.settings.verified_requires
    support_by_id: dict[str, Support] = {}
    for memory_id, tally in tallies_by_id.items():
        observed = [
            _observed(receipt, proof, receipts)
            for receipt, proof in tally.receipts[-_MOST_WEIGHED:]
        ]
        if memory_id in approved:
            own = [Observation(MEMORY.proof, "records", "", "", hard=False)]
        else:
            own = []
        support_by_id[memory_id] = Support(
            tier([*own, *(o for o, _ in observed)], rule), tuple(line for _, line in observed)
        )
    return support_by_id


def _observed(
    receipt: str, proof: str, receipts: Mapping[str, tuple[Receipt, str]]
) -> tuple[Observation, str]:
    """Return a receipt as an observation and as a line. One that is not in this store is an
    assertion.
    """
    if receipt not in receipts:
        # `transcript:…` and `told:…` are sightings without a receipt
        if ":" in receipt:
            here = ""
        else:
            here = ", which is not in this store"
        if ":" in receipt:
            name = receipt
        else:
            name = f"receipt {receipt[:12]}"
        return (
            Observation("AgentAssertion", receipt, "", receipt, hard=False),
            f"{proof}  {name}{here}",
        )
    header, origin = receipts[receipt]
    line = f"{proof}  receipt {receipt[:12]} of {header.ended[:10]}, seen by {header.observer}"
    return observation(header, Evidence(proof, "", "passed"), origin), line


ACTIONS: Final = ("approve", "reject", "skip", "edit")
_KEYS: Final[Mapping[str, str]] = {
    "a": "approve",
    "r": "reject",
    "s": "skip",
    "": "skip",
    "e": "edit",
    "u": "undo",
    "q": "quit",
    "?": "help",
}
"""Key → what it does; the whole word does too."""
_MOST_EVIDENCE: Final = 50
"""Lines of evidence that are written into a file."""
_MOST_BYTES: Final = 10_000_000
"""Of `rejected.txt`: a hundred thousand rejections."""
_HEAD: Final = (
    "# Memories that people rejected: ID, reason. They are not proposed again in any clone.\n"
)
_LINE: Final = lazy_pattern(rf"({MEMORY.prefix}-[0-9a-f]{{8}})(?:\s+(.*))?")


class Decision(NamedTuple):
    """A decision about one memory."""

    id: str
    do: str
    """`approve`, `reject` or `skip`."""
    text: str = ""
    """The new text; empty: as it is."""
    reason: str = ""
    is_checked: bool = False
    """Whether the memory was checked, and is right after all, also where it was disproven."""

    @classmethod
    def read_all(cls, value: Any, place: str) -> tuple[list[Decision], list[Problem]]:
        """Return those in `{"answers": [{"id", "do", "text", "reason"}]}` (or the list alone), and
        all problems.
        """
        if isinstance(value, Mapping):
            answers = value.get("answers")
        else:
            answers = value
        if not isinstance(answers, Sequence) or isinstance(answers, str | bytes):
            hint = 'Write {"answers": [{"id": "MEM-…", "do": "approve"}]}.'
            return [], [Problem(place, 0, 0, "holds no list of answers.", hint)]
        decisions: list[Decision] = []
        problems: list[Problem] = []
        for number, answer in enumerate(answers, 1):
            if wrong := _answer_problem(answer, {decision.id.lower() for decision in decisions}):
                problems.append(Problem(place, 0, 0, f"answer {number}: {wrong}"))
            else:
                identifier = answer["id"].strip()
                do = "skip" if answer["do"] == "edit" else answer["do"]
                # as IDs are written: the prefix in capitals, the digits of a hash in small letters
                identifier = identifier[:4].upper() + identifier[4:].lower()
                decisions.append(
                    cls(identifier, do, answer.get("text") or "", answer.get("reason") or "")
                )
        return decisions, problems


class Review(NamedTuple):
    """How far a review has come."""

    ids: tuple[str, ...]
    made: tuple[Decision, ...] = ()
    """One for each memory that was shown, in their order."""
    text: str = ""
    """The new text of the memory that is shown, where it was edited."""
    ended: bool = False

    @property
    def at(self) -> str:
        """The ID that is shown; empty: the review is over."""
        if self.ended or len(self.made) >= len(self.ids):
            return ""
        return self.ids[len(self.made)]

    @property
    def decided(self) -> tuple[Decision, ...]:
        """The decisions that change something: a skip does only with an edited text."""
        return tuple(one for one in self.made if one.do != "skip" or one.text)

    def action(self, word: str) -> str:
        """Return what a word or a key does now: one of `ACTIONS`, `undo`, `quit` or `help`; empty:
        nothing.
        """
        do = _KEYS.get(word.strip().lower(), word.strip().lower())
        if do in (_KEYS.values() if self.at else ("undo", "quit", "help")):
            return do
        return ""

    def after(self, word: str, argument: str = "") -> Review:
        """Return the review after one answer; `argument` is the new text of `edit`, or the reason
        of `reject`.

        An unknown answer changes nothing. `undo` shows the memory before again, as it was before
        its decision.
        """
        do = self.action(word)
        if do == "quit":
            return self._replace(ended=True)
        if do == "undo":
            return self._replace(made=self.made[:-1], text="", ended=False)
        if do == "edit":
            return self._replace(text=argument.strip() or self.text)
        if do not in ACTIONS:
            return self
        reason = argument.strip() if do == "reject" else ""
        return self._replace(made=(*self.made, Decision(self.at, do, self.text, reason)), text="")


def _answer_problem(answer: Any, answered: set[str]) -> str:
    if not isinstance(answer, Mapping):
        return "must be an object with id and do."
    for key in ("id", "do"):
        if not isinstance(answer.get(key), str) or not answer[key].strip():
            return f'"{key}" is missing.'
    if answer["do"] not in ACTIONS:
        return f'"do" must be one of: {", ".join(ACTIONS)}.'
    for key in ("text", "reason"):
        if not isinstance(answer.get(key) or "", str):
            return f'"{key}" must be text.'
    if answer["do"] == "edit" and not (answer.get("text") or "").strip():
        return '"edit" needs "text".'
    if strange := [key for key in answer if key not in ("id", "do", "text", "reason")]:
        return f'"{strange[0]}" is not known. Known: id, do, text, reason.'
    if answer["id"].strip().lower() not in answered:
        return ""
    return f"{answer['id']} is answered twice."


class Reviewer(NamedTuple):
    """Somebody who may approve and reject."""

    name: str
    person: bool

    @classmethod
    def current(cls, ws: Workspace, place: str) -> Reviewer:
        """Return who runs this. UsageProblem for an agent that is no reviewer. A name is no proof:
        see SECURITY.md.
        """
        name = agent(ws.environ)
        if name is None:
            return cls(producer(ws.environ), True)
        if name in ws.settings.reviewers:
            return cls(f"agent:{name}", False)
        reason = f"reviewing is for people and for named reviewers, and this is {name}."
        hint = (
            "Ask a person, or let it: git config kl.reviewers"
            f" '{' '.join((*ws.settings.reviewers, name))}'"
        )
        raise ForPeople(reason, place=place, hint=hint)

    def apply(self, ws: Workspace, decisions: Sequence[Decision]) -> list[Record]:
        """Apply all decisions, or raise Problems with every reason why one can't be applied and
        change nothing.
        """
        records_and_decisions: list[tuple[Record, Decision]] = []
        problems: list[Problem] = []
        for decision in decisions:
            try:
                record = get_record(ws, decision.id, MEMORY.name)
            except UsageProblem as problem:
                problems.append(Problem(decision.id, 0, 0, problem.reason, problem.hint))
                continue
            records_and_decisions.append((record, decision))
            if why := _refusal(ws, record, decision, self):
                problems.append(Problem(record.id, 0, 0, why))
        if problems:
            raise Problems(problems)
        return [
            apply_decision(ws, record, decision, self) for record, decision in records_and_decisions
        ]

    def record_check(self, ws: Workspace, record: Record, verdict: str, reason: str = "") -> Record:
        """Record that a memory was checked: it is `verified` or `disproven`, and why."""
        verb = VERIFICATION_COMMANDS[verdict]
        checked = change_record(
            ws, record, {"standing": verdict, "reason": reason or None}, how=verb, by=self.name
        )
        if reason:
            body = {"reason": checked.text("reason")}
        else:
            body = {}
        append_events(ws, [Event(verdict, record.id, self.name, body)])
        if verdict == VERIFIED:
            record_basis(ws, checked, self.name)
        return checked


class ReviewItem(NamedTuple):
    """A memory as a review shows it."""

    record: Record
    tally: Tally
    support: Support
    quarantine: tuple[str, ...]
    """Why its text is quarantined; empty: it is not."""
    importance: int = 0
    """Today, in percent."""

    @property
    def ready(self) -> bool:
        """True for a candidate that should become a file of the project."""
        asked = self.tally.opened >= _READY_OPENED and not self.tally.disproven
        return (
            self.record.status == MEMORY.statuses[0]
            and asked
            and self.importance >= _READY_IMPORTANCE
        )

    @property
    def cost(self) -> str:
        """What not knowing it cost the sessions that showed it, as their transcripts have it;
        empty: nothing that they show.
        """
        tally = self.tally
        if not tally.failed:
            return ""
        text = (
            f"seen in {counted(tally.reinforcement, 'session')}:"
            f" {counted(tally.failed, 'failed command')}"
        )
        if not tally.seconds:
            return text
        if tally.seconds < _MINUTE:
            return f"{text}, {counted(tally.seconds, 'second')} until it passed"
        return f"{text}, {counted(round(tally.seconds / _MINUTE), 'minute')} until it passed"

    def quality(self, now: int) -> float:
        """Return its quality at `now`, 0 to 1: computed, never stored."""
        from kl_hooks.model.decay import quality

        record = self.record
        tally = self.tally
        filled = sum(
            bool(record.values.get(name))
            for name in ("title", "pattern", "category", "tags", "about")
        )
        if tally.rated:
            rating = 1 + 4 * tally.positive / tally.rated
        else:
            rating = None
        changed = record.text("updated") or record.text("date")
        if changed:
            days = age_in_days(now, micros(changed))
        else:
            days = 0.0
        return quality(filled / 5, tally.injected + tally.opened, rating, days)

    def to_dict(self) -> dict[str, Any]:
        """Return the memory as in `--format json`."""
        record = self.record
        tally = self.tally
        return {
            "id": record.id,
            "status": record.status,
            "title": record.title,
            "pattern": record.text("pattern"),
            "category": record.text("category") or "pattern",
            "authority": record.authority,
            "source": record.text("source"),
            "date": record.text("date"),
            "expires": record.text("expires"),
            "reinforcement": tally.reinforcement,
            "reinforced_at": tally.reinforced_at,
            "tier": self.support.tier.word,
            "evidence": list(self.support.lines),
            "quarantined": list(self.quarantine),
            "importance": self.importance,
            "opened": tally.opened,
            "ready": self.ready,
            "path": record.path,
            "injected": tally.injected,
            "positive": tally.positive,
            "negative": tally.negative,
        }

    def cost_to_dict(self) -> dict[str, int]:
        """Return what `cost` is made of."""
        return {"failed_commands": self.tally.failed, "failed_seconds": self.tally.seconds}


def review_queue(
    ws: Workspace, limit: int, *, everything: bool = False
) -> tuple[list[Record], int]:
    """Return (candidates, those that most sessions saw first; how many there are). `everything`:
    then all others.
    """
    sync(ws, (MEMORY.name,))
    sync_rejections(ws)
    order, total = rank_by_sessions(ws, MEMORY.name, "candidate", REINFORCED, limit)
    candidates = get_records(ws, [identifier for identifier, _ in order])
    place = {identifier: number for number, (identifier, _) in enumerate(order)}
    candidates = sorted(
        (record for record in candidates if record.id in place), key=lambda record: place[record.id]
    )
    if everything:
        others = list_records(
            ws, RecordFilter((MEMORY.name,), ("approved", "rejected"), expired=True)
        )
        tallies_by_id = tallies(ws, [record.id for record in others])
        others.sort(
            key=lambda record: (record.status, -tallies_by_id[record.id].reinforcement, record.id)
        )
        candidates, total = [*candidates, *others][:limit], total + len(others)
    return candidates, total


def review_items(ws: Workspace, records: Sequence[Record]) -> list[ReviewItem]:
    """Return these records with their evidence."""
    tallies_by_id = tallies(ws, [record.id for record in records])
    support = support_of(
        ws, tallies_by_id, {record.id for record in records if record.status == "approved"}
    )
    return [
        ReviewItem(
            record,
            tallies_by_id[record.id],
            support[record.id],
            quarantine_reasons(ws, record),
            importance_today(ws, record, tallies_by_id[record.id]) // _PERCENT,
        )
        for record in records
    ]


def _refusal(ws: Workspace, record: Record, decision: Decision, reviewer: Reviewer) -> str:
    if record.broken:
        return f"its file can't be read today: {record.broken}"
    reasons = quarantine_reasons(ws, record)
    if decision.do == "approve" and reasons and not reviewer.person:
        return f"only a person may approve it: {'; '.join(reasons)}."
    verification = record.text("standing")
    is_approved_unchecked = decision.do == "approve" and not decision.is_checked
    if is_approved_unchecked and verification in ENDED_VERIFICATIONS:
        # approving is no answer to the reason why
        if record.text("reason"):
            why = f" ({record.text('reason')})"
        else:
            why = ""
        check = f"If it is so after all: kl memory approve {record.id} --checked"
        return f"it is {verification}{why}. {check}"
    return ""


def apply_decision(ws: Workspace, record: Record, decision: Decision, reviewer: Reviewer) -> Record:
    """Apply one decision. Approving an approved memory confirms it: upkeep counts its age from
    today.
    """
    if why := _refusal(ws, record, decision, reviewer):
        raise UsageProblem(why, place=record.id, hint=f"See: kl memory show {record.id}")
    values: dict[str, Any] = {}
    if decision.text and decision.text.strip() != record.text("pattern").strip():
        values |= {"pattern": decision.text, "title": title_of(decision.text)}
    if decision.do == "approve" and (
        record.status != "approved" or (reviewer.person and record.authority != "human")
    ):
        support = support_of(ws, tallies(ws, [record.id]), {record.id})[record.id]
        values |= {
            "status": "approved",
            "evidence": list(support.lines[-_MOST_EVIDENCE:]),
            "reason": None,
        }
        # only a person's approval gives a person's authority, without an expiry
        if reviewer.person:
            values |= {"authority": "human", "expires": None, "quarantine": None}
    elif decision.do == "reject" and record.status != "rejected":
        values |= {"status": "rejected", "reason": decision.reason or None}
    if (
        decision.do == "reject"
    ):  # the shared file first: a process killed in between leaves the rejection for every clone
        _write_rejections(ws, {record.id: decision.reason or record.text("reason")})
    reviewed = record
    if values:
        reviewed = change_record(
            ws,
            record,
            values,
            how=decision.do if decision.do != "skip" else "edit",
            by=reviewer.name,
        )
    if decision.do == "approve" and record.id in _read_rejections(
        ws
    ):  # last: what could not be approved stays rejected
        _write_rejections(ws, {record.id: None})
    if values or decision.do == "approve":
        append_events(
            ws,
            [
                Event(
                    REVIEWED,
                    record.id,
                    reviewer.name,
                    {"do": decision.do, "person": reviewer.person},
                )
            ],
        )
    if decision.do == "approve":
        record_basis(ws, reviewed, reviewer.name)
    return reviewed


def record_basis(ws: Workspace, record: Record, author: str) -> None:
    """Record what an approved memory rests on as the files are now: it ages by that, as a claim."""
    answers = ws.plugins.hook.kl_basis(
        workspace=ws, about=record.many("about"), text=record.text("pattern")
    )
    body = {key: value for answer in answers for key, value in answer.items()}
    if any(body.get(key) for key in ("rests_on", "tests")) or events_by_record(
        ws, [record.id], (BASIS,)
    ).get(record.id):
        append_events(ws, [Event(BASIS, record.id, author, body)])


def record_use(ws: Workspace, record: Record, result: str = "") -> None:
    """Record that somebody asked for a memory by its ID, or how a task ended that had it:
    `positive` or `negative`.
    """
    append_events(
        ws,
        [Event(OUTCOME, record.id, "", {"result": result}) if result else Event(OPENED, record.id)],
    )


def _read_rejections(ws: Workspace) -> dict[str, str]:
    """Return ID → reason of every memory in `rejected.txt`. Other lines (conflict markers of git)
    are skipped.
    """
    data = read_small(ws.root / REJECTED_MEMORIES, within=ws.root, most=_MOST_BYTES) or b""
    lines = data.decode("utf-8", "replace").splitlines()
    return {match[1]: match[2] or "" for line in lines if (match := _LINE.fullmatch(line.strip()))}


def _write_rejections(ws: Workspace, changes: Mapping[str, str | None]) -> None:
    """Add these IDs with their reasons to `rejected.txt`; None removes one."""
    with ws.store.writing(what="noting a rejection"), FileChanges(ws) as files:
        before = _read_rejections(ws)
        after = {one: why for one, why in before.items() if one not in changes}
        after |= {
            one: one_line(redact(why), 200) for one, why in changes.items() if why is not None
        }
        if after != before:
            lines = "".join(f"{one}  {after[one]}".rstrip() + "\n" for one in sorted(after))
            files.write(
                REJECTED_MEMORIES, (_HEAD + lines).encode("utf-8", "replace") if after else None
            )


def sync_rejections(ws: Workspace) -> dict[str, str]:
    """Reject the candidates of this clone that `rejected.txt` or another clone does; return the
    reasons by ID.

    A memory that is approved here stays approved.

    Where the store can't be written they stay candidates for now, which nobody is shown either.
    """
    written = _read_rejections(ws)
    reasons = _common_rejections(ws) | written
    for row in (stored_records(ws, list(reasons)) if reasons else {}).values():
        if row.rests == "state" and row.record.status == MEMORY.statuses[0]:
            values = {"status": "rejected", "reason": reasons[row.record.id] or None}
            with suppress(EnvironmentProblem, UsageProblem):
                change_record(
                    ws,
                    row.record,
                    values,
                    how="reject",
                    by="rejected.txt" if row.record.id in written else "another clone",
                )
    return reasons
