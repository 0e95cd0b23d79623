"""Failures recorded and counted: the first time makes the record, every later one is an Event.

The file holds a base count, written when the record is made, reviewed or tidied; what happened
since is counted from Events. So an occurrence leaves the working tree as it is, and a clone that
only has the file knows the base.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.hookspecs import CommonEvent
from kl_hooks.kinds.catalog import FAILURE
from kl_hooks.model.package import Candidate
from kl_hooks.model.record import Record
from kl_hooks.model.text import one_line
from kl_hooks.records.events import (
    OCCURRED,
    Event,
    OccurrenceCount,
    append_events,
    list_events,
    occurrence_counts,
)
from kl_hooks.records.query import get_records
from kl_hooks.records.repository import IdTaken, identity_digest
from kl_hooks.records.retrieval import record_candidate
from kl_hooks.records.sync import sync
from kl_hooks.sharing.common_events import common_events

if TYPE_CHECKING:
    from kl_hooks.workspace import Workspace

_TRIES: Final = 5
# an occurrence is no edit: its task goes into the Event, the others name the failure
_NO_NEWS: Final = ("approach", "title", "authority", "task_id")
_FIRST_ONLY: Final = ("feature_id", "context")
"""Fields that describe one occurrence: the first one's stay, so that a later one does not change
the file.
"""


def record_failure(
    ws: Workspace, raw: Mapping[str, Any], author: str = ""
) -> tuple[Record, OccurrenceCount]:
    """Record an occurrence of a failed approach; return its record, made or found, and the count
    with this time.

    What `raw` adds to the approach is filled in; a mitigated failure that occurs again is open
    again. Several processes may record the same failure for the first time at once: one makes the
    record, the others are counted.
    """
    # here: who only reads failures writes nothing
    from kl_hooks.records.write import create_record, redact_values

    approach = str(raw.get("approach", ""))
    identifier = (
        f"{FAILURE.prefix}-{identity_digest(FAILURE, redact_values({'approach': approach}))}"
    )
    for left in reversed(range(_TRIES)):
        # in each try: the record that a faster process has made must be found now
        sync(ws)
        if recorded := get_records(ws, [identifier]):
            record = _record_again(ws, recorded[0], raw, author)
            break
        try:
            record = create_record(
                ws, FAILURE, {"title": one_line(approach, 120), **raw}, by=author
            )
            break
        except IdTaken:  # another process was faster: the record exists now
            if not left:
                raise
    return record, occurrences(ws, record)


def _record_again(ws: Workspace, record: Record, raw: Mapping[str, Any], author: str) -> Record:
    from kl_hooks.records.write import apply_verb, change_record

    news = {
        name: value
        for name, value in raw.items()
        if name not in _NO_NEWS and not (name in _FIRST_ONLY and record.values.get(name))
    }
    # written only where it adds something: else every failed attempt would leave the working tree
    # dirty (ADR-0019)
    if any(
        record.values.get(name) != (tuple(v) if isinstance(v, list) else v)
        for name, v in news.items()
    ):
        record = change_record(ws, record, news, by=author)
    if record.status == "mitigated":
        record = apply_verb(ws, record.id, "reopen", by=author)
    append_events(ws, [Event(OCCURRED, record.id, author, {"task": str(raw.get("task_id") or "")})])
    return record


def occurrences(ws: Workspace, record: Record) -> OccurrenceCount:
    """Return how often it happened: the count in its file, and the Events of this clone since."""
    return occurrence_counts(ws, FAILURE, [record], _elsewhere(ws))[record.id]


def failures_to_share(ws: Workspace) -> list[CommonEvent]:
    """The recorded failures of this clone: one event for each time."""
    # the name that the counts in files have for this clone (`records.events`); none was written yet
    # where it has none
    clone = next((str(one.body.get("id")) for one in list_events(ws, name="clone")), "")
    return [
        CommonEvent(one.name, one.record, one.session, one.at, {"clone": clone, "number": one.seq})
        for one in list_events(ws, name=OCCURRED)
    ]


def _elsewhere(ws: Workspace) -> dict[str, dict[str, list[str]]]:
    """ID → other clone → when it failed there."""
    moments_by_clone: dict[str, dict[str, list[str]]] = {}
    with ws.store.reading() as db:
        for event in common_events(ws, db, (OCCURRED,)):
            moments_by_clone.setdefault(event.record, {}).setdefault(
                str(event.body.get("clone") or ""), []
            ).append(event.at)
    return moments_by_clone


def times_phrase(count: int) -> str:
    """Return `once`, `twice`, `3 times`."""
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


def failure_candidate(ws: Workspace, record: Record) -> Candidate:
    """Return a failure as a candidate for a context package: with the warning, and how often it
    happened.
    """
    candidate = record_candidate(ws, record)
    count = occurrences(ws, record)
    warning = f"DO NOT REPEAT: this failed {times_phrase(count.total)}, last on {count.last[:10]}."
    if record.text("prevention"):
        instead = f" Instead: {one_line(record.text('prevention'), 160)}"
    else:
        instead = ""
    return candidate._replace(
        text=f"{candidate.text}\n{warning}{instead}",
        summary=f"{record.title}. {warning}{instead}",
    )
