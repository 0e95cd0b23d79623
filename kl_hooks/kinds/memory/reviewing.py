"""Review: candidates with what supports them, and what is decided about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.config.problems import Problems
from kl_hooks.errors import UsageProblem
from kl_hooks.kinds.memory.deciding import Decision
from kl_hooks.kinds.memory.events import tallies
from kl_hooks.kinds.memory.giving import importance_today
from kl_hooks.kinds.memory.kind import KIND
from kl_hooks.kinds.memory.known import title_of
from kl_hooks.kinds.memory.rejections import rejections, sync_rejections, write_rejections
from kl_hooks.kinds.memory.support import Supported, supported
from kl_hooks.kinds.memory.tally import REINFORCED, REVIEWED, Tally
from kl_hooks.kinds.memory.utility import PERCENT, ready
from kl_hooks.kinds.memory.who import Reviewer
from kl_hooks.model.problem import Problem
from kl_hooks.model.record import Record
from kl_hooks.records.events import Event, append_events, rank_by_sessions
from kl_hooks.records.liveness import quarantine_reasons
from kl_hooks.records.query import RecordFilter, get_record, get_records, list_records
from kl_hooks.records.sync import sync
from kl_hooks.records.write import change_record

if TYPE_CHECKING:
    from kl_hooks.workspace.open import Workspace

MOST_EVIDENCE: Final = 50
"""Lines of evidence that are written into a file."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A memory as a review shows it."""

    record: Record
    tally: Tally
    support: Supported
    held: tuple[str, ...]
    """Why its text is held back; empty: nothing was found."""
    importance: int = 0
    """Today, in percent."""

    @property
    def ready(self) -> bool:
        """True for a candidate that people ask for, and that weighs enough to be a file of the project."""
        return self.record.status == KIND.statuses[0] and ready(self.importance * PERCENT, self.tally)

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


def to_review(ws: Workspace, limit: int, *, everything: bool = False) -> tuple[list[Record], int]:
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


def shown(ws: Workspace, records: Sequence[Record]) -> list[Shown]:
    """These records with their evidence."""
    weight = tallies(ws, [one.id for one in records])
    behind = supported(ws, weight, {one.id for one in records if one.status == "approved"})
    return [
        Shown(
            one, weight[one.id], behind[one.id], quarantine_reasons(ws, one),
            importance_today(ws, one, weight[one.id]) // PERCENT,
        )
        for one in records
    ]  # fmt: skip


def carry_out(ws: Workspace, decisions: Sequence[Decision], who: Reviewer) -> list[Record]:
    """Does what was decided; Problems with everything that stands in the way, and then nothing is done."""
    records = [_found(ws, one) for one in decisions]
    problems = [p for record in records if isinstance(p := record, Problem)]
    for one, record in zip(decisions, records, strict=True):
        if isinstance(record, Record) and (why := _hindrance(ws, record, one, who)):
            problems.append(Problem(record.id, 0, 0, why))
    if problems:
        raise Problems(problems)
    pairs = [(one, record) for one, record in zip(decisions, records, strict=True) if isinstance(record, Record)]
    return [decide(ws, record, one, who) for one, record in pairs]


def _found(ws: Workspace, one: Decision) -> Record | Problem:
    try:
        return get_record(ws, one.id, KIND.name)
    except UsageProblem as problem:
        return Problem(one.id, 0, 0, problem.reason, problem.hint)


def _hindrance(ws: Workspace, record: Record, one: Decision, who: Reviewer) -> str:
    if record.broken:
        return f"its file can't be read today: {record.broken}"
    held = quarantine_reasons(ws, record)
    if one.do == "approve" and held and not who.person:
        return f"only a person may approve it: {'; '.join(held)}."
    return ""


def decide(ws: Workspace, record: Record, one: Decision, who: Reviewer) -> Record:
    """Does one decision. Approving what is approved confirms it: it counts as looked at today.

    A rejection, and what takes one back, is written to the file that travels first: a clone that was stopped in
    between finds it there.
    """
    if why := _hindrance(ws, record, one, who):
        raise UsageProblem(why, place=record.id, hint=f"See: kl memory show {record.id}")
    values: dict[str, Any] = {}
    if one.text and one.text.strip() != record.text("pattern").strip():
        values |= {"pattern": one.text, "title": title_of(one.text)}
    if one.do == "approve" and (record.status != "approved" or (who.person and record.authority != "human")):
        values |= _approved(ws, record, who)
    elif one.do == "reject" and record.status != "rejected":
        values |= {"status": "rejected", "reason": one.reason or None}
    if one.do == "reject":
        write_rejections(ws, {record.id: one.reason or record.text("reason")})
    if not values:
        _take_back(ws, record, one)
        if one.do == "approve":
            append_events(ws, [Event(REVIEWED, record.id, who.name, {"do": one.do, "person": who.person})])
        return record
    made = change_record(ws, record, values, how=one.do if one.do != "skip" else "edit", by=who.name)
    _take_back(ws, record, one)
    append_events(ws, [Event(REVIEWED, record.id, who.name, {"do": one.do, "person": who.person})])
    return made


def _take_back(ws: Workspace, record: Record, one: Decision) -> None:
    """An approval ends the rejection that other clones read: last, so that what could not be approved keeps it."""
    if one.do == "approve" and record.id in rejections(ws):
        write_rejections(ws, {record.id: None})


def _approved(ws: Workspace, record: Record, who: Reviewer) -> dict[str, Any]:
    """A person stands behind what a person approves, without an end; a reviewer's approval leaves both as they are."""
    seen = supported(ws, tallies(ws, [record.id]), {record.id})[record.id]
    values: dict[str, Any] = {"status": "approved", "evidence": list(seen.lines[-MOST_EVIDENCE:]), "reason": None}
    return values | ({"authority": "human", "expires": None, "quarantine": None} if who.person else {})
