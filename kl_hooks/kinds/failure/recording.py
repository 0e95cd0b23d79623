"""Recording a failure: the first time it becomes a record, every time after that it is counted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kl_hooks.kinds.failure.kind import KIND
from kl_hooks.kinds.failure.occurring import OCCURRED, Occurrences, occurrences, times
from kl_hooks.model.package import Candidate
from kl_hooks.model.record import Record
from kl_hooks.model.text import one_line
from kl_hooks.records.ask import by_ids
from kl_hooks.records.catch_up import catch_up
from kl_hooks.records.events import Event, events, note
from kl_hooks.records.numbers import identity
from kl_hooks.records.retrieve import candidate
from kl_hooks.records.verbs import apply
from kl_hooks.records.write import change, create

if TYPE_CHECKING:
    from kl_hooks.workspace.open import Workspace


def record_failure(ws: Workspace, raw: Mapping[str, Any], by: str = "") -> tuple[Record, Occurrences]:
    """The record of this approach, made or found, and how often it happened with this time.

    What `raw` says beyond the approach is filled in; a mitigated failure that comes back is open again.
    """
    known = _known(ws, str(raw.get("approach", "")))
    if known is None:
        record = create(ws, KIND, {"title": _title(str(raw.get("approach", ""))), **raw}, by=by)
    else:
        record = known
        news = {name: value for name, value in raw.items() if name not in ("approach", "title", "authority")}
        if any(record.values.get(name) != _kept(value) for name, value in news.items()):
            record = change(ws, record, news, by=by)
        if record.status == "mitigated":
            record = apply(ws, record.id, "reopen", by=by)
    note(ws, [Event(OCCURRED, record.id, by, {"task": str(raw.get("task_id") or "")})])
    return record, occurred(ws, record)


def occurred(ws: Workspace, record: Record) -> Occurrences:
    """How often it happened, as far as this clone knows."""
    return occurrences((event.at for event in events(ws, record.id, OCCURRED)), record.text("date"))


def failure_candidate(ws: Workspace, record: Record) -> Candidate:
    """A failure as it may be in a package: with the warning, and how often it happened."""
    plain, how_often = candidate(ws, record), occurred(ws, record)
    warning = f"DO NOT REPEAT: this failed {times(how_often.count)}, last on {how_often.last[:10]}."
    instead = f" Instead: {one_line(record.text('prevention'), 160)}" if record.text("prevention") else ""
    return replace(plain, text=f"{plain.text}\n{warning}{instead}", summary=f"{record.title}. {warning}{instead}")


def _known(ws: Workspace, approach: str) -> Record | None:
    from kl_hooks.records.write import cleaned

    catch_up(ws)
    values = cleaned({"approach": approach})
    return next(iter(by_ids(ws, [f"{KIND.prefix}-{identity(KIND, values)}"])), None)


def _title(approach: str) -> str:
    line = " ".join(approach.split())
    return line if len(line) <= 120 else line[:119] + "…"


def _kept(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
