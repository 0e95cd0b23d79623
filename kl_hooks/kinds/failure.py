"""Failures recorded and counted: the first time makes the record, every later one is an Event.

The file holds a base count, written when the record is made, reviewed or tidied; what happened since is counted from
Events. So an occurrence leaves the working tree as it is, and a clone that only has the file knows the base.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.kinds.catalog import FAILURE
from kl_hooks.model.package import Candidate
from kl_hooks.model.record import Record
from kl_hooks.model.text import one_line
from kl_hooks.records.events import Event, OccurrenceCount, append_events, occurrence_counts
from kl_hooks.records.query import get_records
from kl_hooks.records.repository import identity_digest
from kl_hooks.records.retrieval import record_candidate
from kl_hooks.records.sync import sync
from kl_hooks.records.write import IdTaken, apply_verb, change_record, create_record, redact_values

if TYPE_CHECKING:
    from kl_hooks.workspace import Workspace


_TRIES: Final = 5
_KNOWN_BY: Final = ("approach", "title", "authority")
_FIRST: Final = ("feature_id", "context")
"""Fields that describe one occurrence: the first one's are kept, lest every later one change the file."""


def record_failure(ws: Workspace, raw: Mapping[str, Any], by: str = "") -> tuple[Record, OccurrenceCount]:
    """The record of this approach, made or found, and how often it happened with this time.

    What `raw` says beyond the approach is filled in; a mitigated failure that comes back is open again. Several
    processes may record the same failure for the first time at once: one makes the record, the others are counted.
    """
    approach = str(raw.get("approach", ""))
    for left in reversed(range(_TRIES)):
        known = _known(ws, approach)
        if known is not None:
            record = _again(ws, known, raw, by)
            break
        try:
            record = create_record(ws, FAILURE, {"title": _title(approach), **raw}, by=by)
            break
        except IdTaken:  # another process was faster: it is there now
            if not left:
                raise
    return record, occurrences(ws, record)


def _again(ws: Workspace, record: Record, raw: Mapping[str, Any], by: str) -> Record:
    news = {
        name: value
        for name, value in raw.items()
        if name not in (*_KNOWN_BY, "task_id") and not (name in _FIRST and record.values.get(name))
    }
    if any(record.values.get(name) != _kept(value) for name, value in news.items()):
        record = change_record(ws, record, news, by=by)
    if record.status == "mitigated":
        record = apply_verb(ws, record.id, "reopen", by=by)
    append_events(ws, [Event(FAILURE.counted, record.id, by, {"task": str(raw.get("task_id") or "")})])
    return record


def occurrences(ws: Workspace, record: Record) -> OccurrenceCount:
    """How often it happened: the count in its file, and the Events of this clone since."""
    return occurrence_counts(ws, FAILURE, [record])[record.id]


def times_phrase(count: int) -> str:
    """`once`, `twice`, `3 times`."""
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


def failure_candidate(ws: Workspace, record: Record) -> Candidate:
    """A failure as it may be in a package: with the warning, and how often it happened."""
    plain, how_often = record_candidate(ws, record), occurrences(ws, record)
    warning = f"DO NOT REPEAT: this failed {times_phrase(how_often.total)}, last on {how_often.last[:10]}."
    instead = f" Instead: {one_line(record.text('prevention'), 160)}" if record.text("prevention") else ""
    return replace(plain, text=f"{plain.text}\n{warning}{instead}", summary=f"{record.title}. {warning}{instead}")


def _known(ws: Workspace, approach: str) -> Record | None:
    sync(ws)
    values = redact_values({"approach": approach})
    return next(iter(get_records(ws, [f"{FAILURE.prefix}-{identity_digest(FAILURE, values)}"])), None)


def _title(approach: str) -> str:
    line = " ".join(approach.split())
    return line if len(line) <= 120 else line[:119] + "…"


def _kept(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
