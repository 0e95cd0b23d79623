"""Review of memories: the candidates with their evidence, the decisions about them, and rejections.

A review is a plain state (`Review`); nothing is done until it ends. `rejected.txt` holds the ID of each rejected
memory and the reason, so that every clone knows what was refused. The ID follows from the words, which are not in
the file; one sorted line per memory lets git merge it line by line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.errors import EnvironmentProblem, UsageProblem
from kl_hooks.evidence.provenance import agent, producer
from kl_hooks.kinds.memory.kind import KIND, REJECTED
from kl_hooks.kinds.memory.patterns import title_of
from kl_hooks.kinds.memory.score import (
    DISPROVEN,
    OUTCOME,
    PERCENT,
    REINFORCED,
    REVIEWED,
    VERIFIED,
    Support,
    Tally,
    importance_today,
    is_ready,
    support_of,
    tallies,
)
from kl_hooks.model.problem import Problem, Problems
from kl_hooks.model.record import Record
from kl_hooks.model.text import one_line
from kl_hooks.records.events import Event, append_events, rank_by_sessions, stored_records
from kl_hooks.records.liveness import quarantine_reasons
from kl_hooks.records.query import RecordFilter, get_record, get_records, list_records
from kl_hooks.records.repository import FileChanges
from kl_hooks.records.sync import sync
from kl_hooks.records.write import change_record
from kl_hooks.store.files import read_small
from kl_hooks.store.redaction import redact

if TYPE_CHECKING:
    from kl_hooks.workspace import Workspace


ACTIONS: Final = ("approve", "reject", "skip", "edit")
KEYS: Final[Mapping[str, str]] = {
    "a": "approve", "r": "reject", "s": "skip", "": "skip", "e": "edit", "u": "undo", "q": "quit", "?": "help",
}  # fmt: skip
"""Key → what it does; the whole word does too."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What is to be done with one memory."""

    id: str
    do: str
    """`approve`, `reject` or `skip`."""
    text: str = ""
    """What it shall say from now on; empty: what it says."""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Review:
    """How far a review has come."""

    ids: tuple[str, ...]
    made: tuple[Decision, ...] = ()
    """One for each that was shown, in their order."""
    text: str = ""
    """What the one that is shown shall say, where it was edited."""
    ended: bool = False

    @property
    def at(self) -> str:
        """The id that is shown; empty: the review is over."""
        return "" if self.ended or len(self.made) >= len(self.ids) else self.ids[len(self.made)]

    @property
    def decided(self) -> tuple[Decision, ...]:
        """What is to be done: skips are nothing, but an edited text is kept."""
        return tuple(one for one in self.made if one.do != "skip" or one.text)


def next_state(review: Review, word: str, said: str = "") -> Review:
    """The review after one answer; `said` is the new text of `edit`, or the reason of `reject`.

    An answer that is none changes nothing. `undo` shows the one before again, as it was before it was decided.
    """
    do = KEYS.get(word.strip().lower(), word.strip().lower())
    if do == "quit":
        return replace(review, ended=True)
    if do == "undo":
        return replace(review, made=review.made[:-1], text="", ended=False)
    if not review.at or do not in ACTIONS:
        return review
    if do == "edit":
        return replace(review, text=said.strip() or review.text)
    reason = said.strip() if do == "reject" else ""
    return replace(review, made=(*review.made, Decision(review.at, do, review.text, reason)), text="")


def parse_answers(plain: Any, place: str) -> tuple[list[Decision], list[Problem]]:
    """The decisions in `{"answers": [{"id", "do", "text", "reason"}]}` (or the list alone), and all that is wrong."""
    given = plain.get("answers") if isinstance(plain, Mapping) else plain
    if not isinstance(given, Sequence) or isinstance(given, str | bytes):
        hint = 'Write {"answers": [{"id": "MEM-…", "do": "approve"}]}.'
        return [], [Problem(place, 0, 0, "holds no list of answers.", hint)]
    made: list[Decision] = []
    problems: list[Problem] = []
    for number, one in enumerate(given, 1):
        wrong = _answer_problem(one, {decision.id for decision in made})
        if wrong:
            problems.append(Problem(place, 0, 0, f"answer {number}: {wrong}"))
        else:
            made.append(_decision(one))
    return made, problems


def _decision(one: Mapping[str, Any]) -> Decision:
    do = "skip" if one["do"] == "edit" else one["do"]
    return Decision(
        one["id"].strip().upper()[:4] + one["id"].strip()[4:].lower(),
        do,
        one.get("text") or "",
        one.get("reason") or "",
    )


def _answer_problem(one: Any, seen: set[str]) -> str:
    if not isinstance(one, Mapping):
        return "must be an object with id and do."
    for key in ("id", "do"):
        if not isinstance(one.get(key), str) or not one[key].strip():
            return f'"{key}" is missing.'
    if one["do"] not in ACTIONS:
        return f'"do" must be one of: {", ".join(ACTIONS)}.'
    for key in ("text", "reason"):
        if not isinstance(one.get(key) or "", str):
            return f'"{key}" must be text.'
    if one["do"] == "edit" and not (one.get("text") or "").strip():
        return '"edit" needs "text".'
    if strange := [key for key in one if key not in ("id", "do", "text", "reason")]:
        return f'"{strange[0]}" is not known. Known: id, do, text, reason.'
    return f"{one['id']} is answered twice." if one["id"].strip().lower() in {i.lower() for i in seen} else ""


@dataclass(frozen=True, slots=True)
class Reviewer:
    """Somebody who may approve and reject."""

    name: str
    person: bool


def current_reviewer(ws: Workspace, place: str) -> Reviewer:
    """Who runs this. UsageProblem for an agent that is no reviewer. A name is a word, not a proof: see SECURITY.md."""
    name = agent(ws.environ)
    if name is None:
        return Reviewer(producer(ws.environ), True)
    if name in ws.settings.reviewers:
        return Reviewer(f"agent:{name}", False)
    hint = f"Ask a person, or let it: git config kl.reviewers '{' '.join((*ws.settings.reviewers, name))}'"
    raise UsageProblem(f"reviewing is for people and for named reviewers, and this is {name}.", place=place, hint=hint)


REJECTED_FILE: Final = REJECTED
_HEAD: Final = "# Memories that people rejected: ID, reason. They are not proposed again in any clone.\n"
_LINE: Final = re.compile(rf"({KIND.prefix}-[0-9a-f]{{8}})(?:\s+(.*))?")
_MOST_BYTES: Final = 10_000_000
"""Bytes: a hundred thousand rejections."""


def read_rejections(ws: Workspace) -> dict[str, str]:
    """ID → reason of every memory that the file names. What is no such line (a merge left half done) is passed over."""
    data = read_small(ws.root / REJECTED_FILE, within=ws.root, most=_MOST_BYTES) or b""
    lines = data.decode("utf-8", "replace").splitlines()
    return {found[1]: found[2] or "" for line in lines if (found := _LINE.fullmatch(line.strip()))}


def write_rejections(ws: Workspace, changes: Mapping[str, str | None]) -> None:
    """Adds these IDs with their reasons; None takes one out. A file that says so already stays as it is."""
    with ws.store.writing(what="noting a rejection"), FileChanges(ws) as kept:
        before = read_rejections(ws)
        after = before | {one: one_line(redact(why), 200) for one, why in changes.items() if why is not None}
        for one in (one for one, why in changes.items() if why is None):
            after.pop(one, None)
        if after != before:
            lines = "".join(f"{one}  {after[one]}".rstrip() + "\n" for one in sorted(after))
            kept.write(REJECTED_FILE, (_HEAD + lines).encode("utf-8", "replace") if after else None)


def sync_rejections(ws: Workspace) -> list[str]:
    """Rejects the candidates of this clone that the file names; the IDs. One that is approved here is left alone.

    Where the store can't be written they stay candidates for now, which nobody is shown either.
    """
    told = read_rejections(ws)
    waiting = [
        one.record
        for one in (stored_records(ws, list(told)) if told else {}).values()
        if one.rests == "state" and one.record.status == KIND.statuses[0]
    ]
    for record in waiting:
        values = {"status": "rejected", "reason": told[record.id] or None}
        with suppress(EnvironmentProblem, UsageProblem):
            change_record(ws, record, values, how="reject", by="rejected.txt")
    return [one.id for one in waiting]


_MOST_EVIDENCE: Final = 50
"""Lines of evidence that are written into a file."""


@dataclass(frozen=True, slots=True)
class ReviewItem:
    """A memory as a review shows it."""

    record: Record
    tally: Tally
    support: Support
    held: tuple[str, ...]
    """Why its text is held back; empty: nothing was found."""
    importance: int = 0
    """Today, in percent."""

    @property
    def ready(self) -> bool:
        """True for a candidate that people ask for, and that weighs enough to be a file of the project."""
        return self.record.status == KIND.statuses[0] and is_ready(self.importance * PERCENT, self.tally)

    def plain(self) -> dict[str, Any]:
        """As in `--format json`."""
        record, tally = self.record, self.tally
        return {
            "id": record.id, "status": record.status, "title": record.title, "pattern": record.text("pattern"),
            "category": record.text("category") or "pattern", "authority": record.authority,
            "source": record.text("source"), "date": record.text("date"), "expires": record.text("expires"),
            "reinforcement": tally.reinforcement, "reinforced_at": tally.reinforced_at,
            "tier": self.support.tier.word, "evidence": list(self.support.lines), "held_back": list(self.held),
            "importance": self.importance, "opened": tally.opened, "ready": self.ready,
            "path": record.path, "injected": tally.injected, "positive": tally.positive, "negative": tally.negative,
        }  # fmt: skip


def review_queue(ws: Workspace, limit: int, *, everything: bool = False) -> tuple[list[Record], int]:
    """(candidates, those that most sessions saw first; how many there are). `everything`: then all others too."""
    sync(ws, (KIND.name,))
    sync_rejections(ws)
    order, total = rank_by_sessions(ws, KIND.name, "candidate", REINFORCED, limit)
    known = {one.id: one for one in get_records(ws, [i for i, _ in order])}
    found = [known[i] for i, _ in order if i in known]
    if everything:
        wanted = RecordFilter((KIND.name,), ("approved", "rejected"), expired=True)
        others = list_records(ws, wanted)
        weight = tallies(ws, [one.id for one in others])
        others.sort(key=lambda one: (one.status, -weight[one.id].reinforcement, one.id))
        found, total = [*found, *others][:limit], total + len(others)
    return found, total


def review_items(ws: Workspace, records: Sequence[Record]) -> list[ReviewItem]:
    """These records with their evidence."""
    weight = tallies(ws, [one.id for one in records])
    behind = support_of(ws, weight, {one.id for one in records if one.status == "approved"})
    return [
        ReviewItem(
            one, weight[one.id], behind[one.id], quarantine_reasons(ws, one),
            importance_today(ws, one, weight[one.id]) // PERCENT,
        )
        for one in records
    ]  # fmt: skip


def apply_decisions(ws: Workspace, decisions: Sequence[Decision], who: Reviewer) -> list[Record]:
    """Does what was decided; Problems with everything that stands in the way, and then nothing is done."""
    records = [_find(ws, one) for one in decisions]
    problems = [p for record in records if isinstance(p := record, Problem)]
    for one, record in zip(decisions, records, strict=True):
        if isinstance(record, Record) and (why := _refusal(ws, record, one, who)):
            problems.append(Problem(record.id, 0, 0, why))
    if problems:
        raise Problems(problems)
    pairs = [(one, record) for one, record in zip(decisions, records, strict=True) if isinstance(record, Record)]
    return [apply_decision(ws, record, one, who) for one, record in pairs]


def _find(ws: Workspace, one: Decision) -> Record | Problem:
    try:
        return get_record(ws, one.id, KIND.name)
    except UsageProblem as problem:
        return Problem(one.id, 0, 0, problem.reason, problem.hint)


def _refusal(ws: Workspace, record: Record, one: Decision, who: Reviewer) -> str:
    if record.broken:
        return f"its file can't be read today: {record.broken}"
    held = quarantine_reasons(ws, record)
    if one.do == "approve" and held and not who.person:
        return f"only a person may approve it: {'; '.join(held)}."
    return ""


def apply_decision(ws: Workspace, record: Record, one: Decision, who: Reviewer) -> Record:
    """Does one decision. Approving what is approved confirms it: it counts as looked at today.

    A rejection, and what takes one back, is written to the file that travels first: a clone that was stopped in
    between finds it there.
    """
    if why := _refusal(ws, record, one, who):
        raise UsageProblem(why, place=record.id, hint=f"See: kl memory show {record.id}")
    values: dict[str, Any] = {}
    if one.text and one.text.strip() != record.text("pattern").strip():
        values |= {"pattern": one.text, "title": title_of(one.text)}
    if one.do == "approve" and (record.status != "approved" or (who.person and record.authority != "human")):
        values |= _approved_values(ws, record, who)
    elif one.do == "reject" and record.status != "rejected":
        values |= {"status": "rejected", "reason": one.reason or None}
    if one.do == "reject":
        write_rejections(ws, {record.id: one.reason or record.text("reason")})
    if not values:
        _remove_rejection(ws, record, one)
        if one.do == "approve":
            append_events(ws, [Event(REVIEWED, record.id, who.name, {"do": one.do, "person": who.person})])
        return record
    made = change_record(ws, record, values, how=one.do if one.do != "skip" else "edit", by=who.name)
    _remove_rejection(ws, record, one)
    append_events(ws, [Event(REVIEWED, record.id, who.name, {"do": one.do, "person": who.person})])
    return made


def _remove_rejection(ws: Workspace, record: Record, one: Decision) -> None:
    """An approval ends the rejection that other clones read: last, so that what could not be approved keeps it."""
    if one.do == "approve" and record.id in read_rejections(ws):
        write_rejections(ws, {record.id: None})


def _approved_values(ws: Workspace, record: Record, who: Reviewer) -> dict[str, Any]:
    """A person stands behind what a person approves, without an end; a reviewer's approval leaves both as they are."""
    seen = support_of(ws, tallies(ws, [record.id]), {record.id})[record.id]
    values: dict[str, Any] = {"status": "approved", "evidence": list(seen.lines[-_MOST_EVIDENCE:]), "reason": None}
    return values | ({"authority": "human", "expires": None, "quarantine": None} if who.person else {})


def mark_verified(ws: Workspace, record: Record, who: Reviewer) -> Record:
    """Notes that it was checked and holds."""
    made = change_record(ws, record, {"standing": "verified", "reason": None}, how="verify", by=who.name)
    append_events(ws, [Event(VERIFIED, record.id, who.name)])
    return made


def mark_disproven(ws: Workspace, record: Record, reason: str, who: Reviewer) -> Record:
    """Notes that it was checked and does not hold, and why."""
    made = change_record(ws, record, {"standing": "disproven", "reason": reason}, how="disprove", by=who.name)
    append_events(ws, [Event(DISPROVEN, record.id, who.name, {"reason": made.text("reason")})])
    return made


def record_outcome(ws: Workspace, record: Record, result: str) -> tuple[Tally, int]:
    """Notes how a task ended that it was given to; its counters then, and its importance today in percent."""
    append_events(ws, [Event(OUTCOME, record.id, "", {"result": result})])
    tally = tallies(ws, [record.id])[record.id]
    return tally, importance_today(ws, record, tally) // PERCENT
