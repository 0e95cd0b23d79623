"""Deliver: build a package, cache it for half an hour under its ID, and record that it was shown.

As JSON (`kl.package/1`) what differs between two runs that found the same is in the envelope, outside the ID.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.clock import iso, micros
from kl_hooks.context import package_log
from kl_hooks.context.build import build
from kl_hooks.context.estimator import read_budget
from kl_hooks.errors import KlError, UsageProblem
from kl_hooks.model.canonical import digest, replace_surrogates
from kl_hooks.model.claim import tier_words
from kl_hooks.model.package import Item, Package
from kl_hooks.model.text import one_line, safe_text

if TYPE_CHECKING:
    from kl_hooks.workspace import Workspace


SCHEMA: Final = "kl.package/1"
TTL_SECONDS: Final = 1_800
_SPELLED: Final = {"<": "\\u003c", ">": "\\u003e", "`": "\\u0060"}

_TRACEPARENT: Final = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}")


@dataclass(frozen=True, slots=True)
class Envelope:
    """When and for whom a package was made."""

    request_id: str
    trace_id: str
    created_at: int
    """Microseconds since 1970."""


def envelope(task: str, budget: str, style: str, trace_id: str, now: int) -> Envelope:
    """The envelope of a request; its id follows from what was asked and when."""
    return Envelope("rq-" + digest("request/1", [task, budget, style, now])[:12], trace_id, now)


def trace_id(environ: Mapping[str, str]) -> str:
    """The caller's trace id (W3C `TRACEPARENT`), if there is one."""
    match = _TRACEPARENT.fullmatch(environ.get("TRACEPARENT", ""))
    return match[1] if match else ""


def document(package: Package, about: Envelope) -> dict[str, Any]:
    """`kl.package/1`. Every text is made safe; `budget.used` is the size of the rendered package."""
    return {
        "schema": SCHEMA,
        "package_id": package.id,
        "request_id": about.request_id,
        "task": safe_text(package.task),
        "trace_id": about.trace_id,
        "created_at": iso(about.created_at),
        "ttl_seconds": TTL_SECONDS,
        "budget": asdict(package.budget),
        "items": [_item_to_dict(item) for item in package.items],
        "excluded": [{"id": safe_text(left.id), "reason": safe_text(left.reason)} for left in package.omissions],
        "coverage": dict(package.coverage),
        "policy_decision_id": None,
        "shares": dict(package.shares),
    }


def _item_to_dict(item: Item) -> dict[str, Any]:
    found = item.candidate
    return {
        "id": safe_text(found.id),
        "kind": found.kind,
        "title": safe_text(found.title),
        "form": item.form,
        "text": safe_text(item.text),
        "tokens": item.tokens,
        "tier": found.tier.word,
        "freshness": found.freshness,
        "authority": found.authority,
        "path": safe_text(found.path),
        "line": found.line,
        "score": {"total": item.score, "parts": dict(item.parts)},
        "reasons": [safe_text(reason) for reason in found.reasons],
        "pinned": False,
    }


def as_json(value: Mapping[str, Any]) -> str:
    """Indented ASCII JSON, keys sorted; `<`, `>` and backticks are written as escapes: no text in it can be markup."""
    text = json.dumps(replace_surrogates(dict(value)), indent=2, sort_keys=True)
    return "".join(_SPELLED.get(character, character) for character in text)


def explain_items(shown: Mapping[str, Any]) -> list[str]:
    """A line for every item of a package, best first, with its score's parts; and its reasons under it."""
    items = sorted(shown["items"], key=lambda item: (-item["score"]["total"], item["id"]))
    return [line for item in items for line in _item_lines(item)]


def explain_one(shown: Mapping[str, Any], wanted: str) -> list[str]:
    """Lines that say what became of the candidate `wanted` (an id) in a package."""
    package = shown["package_id"]
    for place, item in enumerate(sorted(shown["items"], key=lambda i: (-i["score"]["total"], i["id"])), 1):
        if item["id"] == wanted:
            return [f"in {package}, {place} of {len(shown['items'])} by score:", *_item_lines(item)]
    for left in shown["excluded"]:
        if left["id"] == wanted:
            return [f"left out of {package}: {left['reason']}"]
    asked = ", ".join(f"{name} ({how})" for name, how in shown["coverage"].items()) or "none"
    return [f"not in {package}: no retriever brought {one_line(wanted)}. Asked: {asked}"]


def _item_lines(item: Mapping[str, Any]) -> list[str]:
    parts = "  ".join(f"{name} {_decimal(value)}" for name, value in item["score"]["parts"].items())
    tier = tier_words(item["tier"], item.get("freshness", ""))[0]
    line = f"{_decimal(item['score']['total'])}  {one_line(item['id'])}  [{tier}, {item['form']}]  {parts}"
    return [line, *(f"          {one_line(reason)}" for reason in item["reasons"])]


def _decimal(value: int) -> str:
    return f"{value // 1_000_000}.{value % 1_000_000:06d}"


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
