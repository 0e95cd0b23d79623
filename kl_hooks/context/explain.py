"""Explain: why an item stands where it stands, or why something was left out. Pure, from the JSON of a package."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kl_hooks.model.claim import standing
from kl_hooks.model.text import one_line


def explain(shown: Mapping[str, Any]) -> list[str]:
    """A line for every item of a package, best first, with its score's parts; and its reasons under it."""
    items = sorted(shown["items"], key=lambda item: (-item["score"]["total"], item["id"]))
    return [line for item in items for line in _why_in(item)]


def why(shown: Mapping[str, Any], wanted: str) -> list[str]:
    """Lines that say what became of the candidate `wanted` (an id) in a package."""
    package = shown["package_id"]
    for place, item in enumerate(sorted(shown["items"], key=lambda i: (-i["score"]["total"], i["id"])), 1):
        if item["id"] == wanted:
            return [f"in {package}, {place} of {len(shown['items'])} by score:", *_why_in(item)]
    for left in shown["excluded"]:
        if left["id"] == wanted:
            return [f"left out of {package}: {left['reason']}"]
    asked = ", ".join(f"{name} ({how})" for name, how in shown["coverage"].items()) or "none"
    return [f"not in {package}: no retriever brought {one_line(wanted)}. Asked: {asked}"]


def _why_in(item: Mapping[str, Any]) -> list[str]:
    parts = "  ".join(f"{name} {_million(value)}" for name, value in item["score"]["parts"].items())
    tier = standing(item["tier"], item.get("freshness", ""))[0]
    line = f"{_million(item['score']['total'])}  {one_line(item['id'])}  [{tier}, {item['form']}]  {parts}"
    return [line, *(f"          {one_line(reason)}" for reason in item["reasons"])]


def _million(value: int) -> str:
    return f"{value // 1_000_000}.{value % 1_000_000:06d}"
