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
_MOST_EVIDENCE: Final = 50
"""Lines of evidence that are written into a file."""
_MOST_BYTES: Final = 10_000_000
"""Of `rejected.txt`: a hundred thousand rejections."""
_HEAD: Final = "# Memories that people rejected: ID, reason. They are not proposed again in any clone.\n"
_LINE: Final = re.compile(rf"({KIND.prefix}-[0-9a-f]{{8}})(?:\s+(.*))?")


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision about one memory."""

    id: str
    do: str
    """`approve`, `reject` or `skip`."""
    text: str = ""
    """The new text; empty: as it is."""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Review:
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
        return "" if self.ended or len(self.made) >= len(self.ids) else self.ids[len(self.made)]

    @property
    def decided(self) -> tuple[Decision, ...]:
        """The decisions that change something: a skip does only with an edited text."""
        return tuple(one for one in self.made if one.do != "skip" or one.text)


def next_state(review: Review, word: str, argument: str = "") -> Review:
    """Return the review after one answer; `argument` is the new text of `edit`, or the reason of `reject`.

    An unknown answer changes nothing. `undo` shows the memory before again, as it was before its decision.
    """
    do = KEYS.get(word.strip().lower(), word.strip().lower())
    if do == "quit":
        return replace(review, ended=True)
    if do == "undo":
        return replace(review, made=review.made[:-1], text="", ended=False)
    if not review.at or do not in ACTIONS:
        return review
    if do == "edit":
        return replace(review, text=argument.strip() or review.text)
    reason = argument.strip() if do == "reject" else ""
    return replace(review, made=(*review.made, Decision(review.at, do, review.text, reason)), text="")


def parse_answers(value: Any, place: str) -> tuple[list[Decision], list[Problem]]:
    """Return the decisions in `{"answers": [{"id", "do", "text", "reason"}]}` (or the list alone), and all problems."""
    answers = value.get("answers") if isinstance(value, Mapping) else value
    if not isinstance(answers, Sequence) or isinstance(answers, str | bytes):
        hint = 'Write {"answers": [{"id": "MEM-…", "do": "approve"}]}.'
        return [], [Problem(place, 0, 0, "holds no list of answers.", hint)]
    made: list[Decision] = []
    problems: list[Problem] = []
    for number, one in enumerate(answers, 1):
        if wrong := _answer_problem(one, {decision.id.lower() for decision in made}):
            problems.append(Problem(place, 0, 0, f"answer {number}: {wrong}"))
        else:
            identifier, do = one["id"].strip(), "skip" if one["do"] == "edit" else one["do"]
            identifier = identifier[:4].upper() + identifier[4:].lower()
            made.append(Decision(identifier, do, one.get("text") or "", one.get("reason") or ""))
    return made, problems


def _answer_problem(one: Any, answered: set[str]) -> str:
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
    return f"{one['id']} is answered twice." if one["id"].strip().lower() in answered else ""


@dataclass(frozen=True, slots=True)
class Reviewer:
    """Somebody who may approve and reject."""

    name: str
    person: bool


def current_reviewer(ws: Workspace, place: str) -> Reviewer:
    """Return who runs this. UsageProblem for an agent that is no reviewer. A name is no proof: see SECURITY.md."""
    name = agent(ws.environ)
    if name is None:
        return Reviewer(producer(ws.environ), True)
    if name in ws.settings.reviewers:
        return Reviewer(f"agent:{name}", False)
    hint = f"Ask a person, or let it: git config kl.reviewers '{' '.join((*ws.settings.reviewers, name))}'"
    raise UsageProblem(f"reviewing is for people and for named reviewers, and this is {name}.", place=place, hint=hint)


@dataclass(frozen=True, slots=True)
class ReviewItem:
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
        return self.record.status == KIND.statuses[0] and is_ready(self.importance * PERCENT, self.tally)

    def to_dict(self) -> dict[str, Any]:
        """Return the memory as in `--format json`."""
        record, tally = self.record, self.tally
        return {
            "id": record.id, "status": record.status, "title": record.title, "pattern": record.text("pattern"),
            "category": record.text("category") or "pattern", "authority": record.authority,
            "source": record.text("source"), "date": record.text("date"), "expires": record.text("expires"),
            "reinforcement": tally.reinforcement, "reinforced_at": tally.reinforced_at,
            "tier": self.support.tier.word, "evidence": list(self.support.lines), "held_back": list(self.quarantine),
            "importance": self.importance, "opened": tally.opened, "ready": self.ready,
            "path": record.path, "injected": tally.injected, "positive": tally.positive, "negative": tally.negative,
        }  # fmt: skip


def review_queue(ws: Workspace, limit: int, *, everything: bool = False) -> tuple[list[Record], int]:
    """Return (candidates, those that most sessions saw first; how many there are). `everything`: then all others."""
    sync(ws, (KIND.name,))
    sync_rejections(ws)
    order, total = rank_by_sessions(ws, KIND.name, "candidate", REINFORCED, limit)
    found = get_records(ws, [identifier for identifier, _ in order])
    place = {identifier: number for number, (identifier, _) in enumerate(order)}
    found = sorted((one for one in found if one.id in place), key=lambda one: place[one.id])
    if everything:
        others = list_records(ws, RecordFilter((KIND.name,), ("approved", "rejected"), expired=True))
        known = tallies(ws, [one.id for one in others])
        others.sort(key=lambda one: (one.status, -known[one.id].reinforcement, one.id))
        found, total = [*found, *others][:limit], total + len(others)
    return found, total


def review_items(ws: Workspace, records: Sequence[Record]) -> list[ReviewItem]:
    """Return these records with their evidence."""
    known = tallies(ws, [one.id for one in records])
    support = support_of(ws, known, {one.id for one in records if one.status == "approved"})
    return [
        ReviewItem(
            one, known[one.id], support[one.id], quarantine_reasons(ws, one),
            importance_today(ws, one, known[one.id]) // PERCENT,
        )
        for one in records
    ]  # fmt: skip


def apply_decisions(ws: Workspace, decisions: Sequence[Decision], who: Reviewer) -> list[Record]:
    """Apply all decisions, or raise Problems with every reason why one can't be applied and change nothing."""
    found: list[tuple[Record, Decision]] = []
    problems: list[Problem] = []
    for one in decisions:
        try:
            record = get_record(ws, one.id, KIND.name)
        except UsageProblem as problem:
            problems.append(Problem(one.id, 0, 0, problem.reason, problem.hint))
            continue
        found.append((record, one))
        if why := _refusal(ws, record, one, who):
            problems.append(Problem(record.id, 0, 0, why))
    if problems:
        raise Problems(problems)
    return [apply_decision(ws, record, one, who) for record, one in found]


def _refusal(ws: Workspace, record: Record, one: Decision, who: Reviewer) -> str:
    if record.broken:
        return f"its file can't be read today: {record.broken}"
    reasons = quarantine_reasons(ws, record)
    if one.do == "approve" and reasons and not who.person:
        return f"only a person may approve it: {'; '.join(reasons)}."
    return ""


def apply_decision(ws: Workspace, record: Record, one: Decision, who: Reviewer) -> Record:
    """Apply one decision. Approving an approved memory confirms it: upkeep counts its age from today."""
    if why := _refusal(ws, record, one, who):
        raise UsageProblem(why, place=record.id, hint=f"See: kl memory show {record.id}")
    values: dict[str, Any] = {}
    if one.text and one.text.strip() != record.text("pattern").strip():
        values |= {"pattern": one.text, "title": title_of(one.text)}
    if one.do == "approve" and (record.status != "approved" or (who.person and record.authority != "human")):
        values |= _approved_values(ws, record, who)
    elif one.do == "reject" and record.status != "rejected":
        values |= {"status": "rejected", "reason": one.reason or None}
    if one.do == "reject":  # the shared file first: a process killed in between leaves the rejection for every clone
        write_rejections(ws, {record.id: one.reason or record.text("reason")})
    made = record
    if values:
        made = change_record(ws, record, values, how=one.do if one.do != "skip" else "edit", by=who.name)
    if one.do == "approve" and record.id in read_rejections(ws):  # last: what could not be approved stays rejected
        write_rejections(ws, {record.id: None})
    if values or one.do == "approve":
        append_events(ws, [Event(REVIEWED, record.id, who.name, {"do": one.do, "person": who.person})])
    return made


def _approved_values(ws: Workspace, record: Record, who: Reviewer) -> dict[str, Any]:
    """Return the fields of an approval. Only a person's gives a person's authority, without an expiry."""
    seen = support_of(ws, tallies(ws, [record.id]), {record.id})[record.id]
    values: dict[str, Any] = {"status": "approved", "evidence": list(seen.lines[-_MOST_EVIDENCE:]), "reason": None}
    return values | ({"authority": "human", "expires": None, "quarantine": None} if who.person else {})


def mark_verified(ws: Workspace, record: Record, who: Reviewer) -> Record:
    """Record that a memory was checked and is true."""
    made = change_record(ws, record, {"standing": "verified", "reason": None}, how="verify", by=who.name)
    append_events(ws, [Event(VERIFIED, record.id, who.name)])
    return made


def mark_disproven(ws: Workspace, record: Record, reason: str, who: Reviewer) -> Record:
    """Record that a memory was checked and is not true, and why."""
    made = change_record(ws, record, {"standing": "disproven", "reason": reason}, how="disprove", by=who.name)
    append_events(ws, [Event(DISPROVEN, record.id, who.name, {"reason": made.text("reason")})])
    return made


def record_outcome(ws: Workspace, record: Record, result: str) -> tuple[Tally, int]:
    """Record how a task ended that had a memory; return its counters then, and its importance today in percent."""
    append_events(ws, [Event(OUTCOME, record.id, "", {"result": result})])
    tally = tallies(ws, [record.id])[record.id]
    return tally, importance_today(ws, record, tally) // PERCENT


def read_rejections(ws: Workspace) -> dict[str, str]:
    """Return ID → reason of every memory in `rejected.txt`. Other lines (conflict markers of git) are skipped."""
    data = read_small(ws.root / REJECTED, within=ws.root, most=_MOST_BYTES) or b""
    lines = data.decode("utf-8", "replace").splitlines()
    return {found[1]: found[2] or "" for line in lines if (found := _LINE.fullmatch(line.strip()))}


def write_rejections(ws: Workspace, changes: Mapping[str, str | None]) -> None:
    """Add these IDs with their reasons to `rejected.txt`; None removes one."""
    with ws.store.writing(what="noting a rejection"), FileChanges(ws) as files:
        before = read_rejections(ws)
        after = {one: why for one, why in before.items() if one not in changes}
        after |= {one: one_line(redact(why), 200) for one, why in changes.items() if why is not None}
        if after != before:
            lines = "".join(f"{one}  {after[one]}".rstrip() + "\n" for one in sorted(after))
            files.write(REJECTED, (_HEAD + lines).encode("utf-8", "replace") if after else None)


def sync_rejections(ws: Workspace) -> None:
    """Reject the candidates of this clone that `rejected.txt` names. A memory that is approved here stays approved.

    Where the store can't be written they stay candidates for now, which nobody is shown either.
    """
    reasons = read_rejections(ws)
    for row in (stored_records(ws, list(reasons)) if reasons else {}).values():
        if row.rests == "state" and row.record.status == KIND.statuses[0]:
            values = {"status": "rejected", "reason": reasons[row.record.id] or None}
            with suppress(EnvironmentProblem, UsageProblem):
                change_record(ws, row.record, values, how="reject", by="rejected.txt")
