"""Deliver: builds a package, keeps it for half an hour under its id, and records that it was given."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kl_hooks.clock import micros
from kl_hooks.context import package_log
from kl_hooks.context.build import build
from kl_hooks.context.document import SCHEMA, document, envelope
from kl_hooks.context.estimator import read_budget
from kl_hooks.context.weights import TTL_SECONDS
from kl_hooks.errors import KlError, UsageProblem
from kl_hooks.model.text import one_line

if TYPE_CHECKING:
    from kl_hooks.model.package import Package
    from kl_hooks.workspace import Workspace

RECORDED_TASK = 4_000
"""Characters of a task that its record holds; a longer one can't be asked again from there."""


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked."""

    task: str
    budget: str
    """As `read_budget` reads it."""
    style: str = "text"
    trace_id: str = ""


@dataclass(frozen=True, slots=True)
class Delivered:
    """A package as it was given out."""

    document: Mapping[str, Any]
    """`kl.package/1`."""
    text: str
    """The rendered package."""
    remark: str = ""
    """What the receiver should know of this delivery, for stderr."""


def deliver(ws: Workspace, request: Request) -> Delivered:
    """Builds, keeps and records the package of a request. Raises what `build` and `read_budget` raise."""
    from kl_hooks.store.redaction import redact

    began, now = time.perf_counter(), ws.clock.now()
    package = build(ws, request.task, read_budget(request.budget), style=request.style)
    about = envelope(request.task, request.budget, request.style, request.trace_id, now)
    made = Delivered(document(package, about), package.text)
    took = round((time.perf_counter() - began) * 1000)
    remark = package_log.append_event(ws.state, _event(request, made, took)) or _record_injections(ws, package)
    kept = {"document": {**made.document, "task": redact(request.task)}, "text": made.text}
    ws.cache.set(_key(package.id), json.dumps(kept).encode(), ttl=TTL_SECONDS)
    return Delivered(made.document, made.text, remark)


def _record_injections(ws: Workspace, package: Package) -> str:
    """Notes an Event for each record that was given. Returns why it could not, or nothing: an observer costs nobody."""
    from kl_hooks.records.events import Event, append_events

    given = [item.candidate.id for item in package.items if item.candidate.kind in ws.kinds]
    try:
        append_events(ws, [Event("injected", one, body={"package": package.id}) for one in given])
    except (KlError, OSError) as problem:
        return f"not noted what was given: {problem}"
    return ""


def _key(package_id: str) -> str:
    return f"package/{package_id}"


def _event(request: Request, made: Delivered, took: int) -> dict[str, Any]:
    shown = made.document
    whole = len(request.task) <= RECORDED_TASK
    return {
        "event": "context_assembly",
        **{key: shown[key] for key in ("package_id", "request_id", "trace_id", "created_at", "coverage")},
        "task": request.task if whole else one_line(request.task, RECORDED_TASK),
        "task_cut": not whole,
        "budget": request.budget,
        "style": request.style,
        "knowledge_retrieved": len(shown["items"]) + len(shown["excluded"]),
        "knowledge_included": len(shown["items"]),
        "context_chars": len(made.text),
        "context_chars_breakdown": shown["shares"],
        "assembly_ms": took,
    }


def find_package(ws: Workspace, package_id: str) -> Delivered:
    """The package of an id (or of its beginning): as kept, or built again from its recorded request once that is over.

    Raises UsageProblem where no such package is known.
    """
    kept = _cached(ws, package_id)
    if kept is not None:
        return kept
    record = _logged_request(ws, package_id)
    full_id = record["package_id"]
    kept = _cached(ws, full_id) if full_id != package_id else None
    if kept is not None:
        return kept
    if record.get("task_cut"):
        raise UsageProblem("its task was too long to be recorded whole.", place=full_id, hint="Ask again: kl context …")
    request = Request(record["task"], record["budget"], record["style"], record.get("trace_id", ""))
    again = deliver(ws, request)
    now_id = again.document["package_id"]
    same = "the same" if now_id == full_id else f"now {now_id}: what is known has changed since"
    return Delivered(again.document, again.text, f"{full_id} is no longer kept; built again from its request, {same}.")


def _cached(ws: Workspace, package_id: str) -> Delivered | None:
    value = ws.cache.get(_key(package_id)) if ws.state.cache.is_dir() else None
    if value is None:
        return None
    try:
        read = json.loads(value)
        shown, text = read["document"], read["text"]
        over = micros(shown["created_at"]) + shown["ttl_seconds"] * 1_000_000
        known = shown["schema"] == SCHEMA and shown["package_id"] == package_id and isinstance(text, str)
    except (ValueError, KeyError, TypeError):
        return None
    return Delivered(shown, text) if known and ws.clock.now() < over else None


def _logged_request(ws: Workspace, package_id: str) -> dict[str, Any]:
    wanted = ("package_id", "task", "budget", "style")
    for event in package_log.events_newest_first(ws.state):
        if event.get("event") != "context_assembly" or not all(isinstance(event.get(k), str) for k in wanted):
            continue
        if event["package_id"].startswith(package_id):
            return event
    raise UsageProblem(
        "no package of this id was made here.", place=package_id, hint='A task is asked for like this: kl context "…"'
    )
