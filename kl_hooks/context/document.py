"""The package as JSON, schema `kl.package/1`, and explanations from it. Pure.

What differs between two runs that found the same is in the envelope, outside the package's ID.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from kl_hooks.clock import iso
from kl_hooks.context.weights import TTL_SECONDS
from kl_hooks.model.canonical import digest, replace_surrogates
from kl_hooks.model.claim import tier_words
from kl_hooks.model.package import Item, Package
from kl_hooks.model.text import one_line, safe_text

SCHEMA: Final = "kl.package/1"
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
        "items": [_item(item) for item in package.items],
        "excluded": [{"id": safe_text(left.id), "reason": safe_text(left.reason)} for left in package.omissions],
        "coverage": dict(package.coverage),
        "policy_decision_id": None,
        "shares": dict(package.shares),
    }


def _item(item: Item) -> dict[str, Any]:
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
