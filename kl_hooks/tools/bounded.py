"""Answers that fit: long texts are cut, long lists end early, and what was left out is said. Pure."""

from __future__ import annotations

import json
from typing import Any, Final

MOST: Final = 24_000
"""Characters of an answer as JSON (about 6,000 tokens)."""
LONGEST: Final = 6_000
"""Characters of one text in it."""


def bounded(result: Any, most: int = MOST) -> Any:
    """The same plain value, at most so many characters as JSON. A dict whose lists were cut says so in `left_out`."""
    result = _cut(result, LONGEST)
    if _size(result) <= most:
        return result
    if isinstance(result, dict):
        return _shorter(result, most)
    if isinstance(result, list):
        return _first(result, most)
    return _cut(result, max(most - 20, 0))


def _shorter(result: dict[str, Any], most: int) -> dict[str, Any]:
    """The longest list gives way first, then the longest text."""
    made, left = dict(result), dict[str, int]()
    while _size({**made, "left_out": left}) > most:
        name = max(made, key=lambda key: _size(made[key]), default="")
        spare = most - (_size({**made, "left_out": left}) - _size(made[name])) - 80
        value = made[name]
        if _size(value) <= 40:  # nothing here is long: there is too much of it
            few = _few(made, max(most - 200, 2))
            return {**few, "left_out": {**left, "…": len(made) - len(few)}}
        if isinstance(value, list) and value:
            kept = _first(value, max(spare, 2))
            left[name] = left.get(name, 0) + len(value) - len(kept)
            made[name] = kept
        elif isinstance(value, dict) and value and spare > 200:
            made[name] = _shorter(value, spare) if _size(value) > spare else {}
        else:
            made[name] = _cut(value, max(spare - 20, 0)) if isinstance(value, str) and spare > 40 else None
    return {**made, "left_out": left} if left else made


def _first(items: list[Any], most: int) -> list[Any]:
    """As many of the first items as fit."""
    kept, used = [], 2
    for one in items:
        used += _size(one) + 2
        if used > most:
            break
        kept.append(one)
    return kept


def _few(items: dict[str, Any], most: int) -> dict[str, Any]:
    """As many of the first entries as fit."""
    kept, used = {}, 2
    for name, value in items.items():
        used += _size(name) + _size(value) + 4
        if used > most:
            break
        kept[name] = value
    return kept


def _cut(value: Any, longest: int) -> Any:
    if isinstance(value, str) and len(value) > longest:
        return f"{value[:longest]} … ({len(value) - longest} more characters)"
    if isinstance(value, dict):
        return {key: _cut(item, longest) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_cut(item, longest) for item in value]
    return value


def _size(value: Any) -> int:
    return len(json.dumps(value, sort_keys=True))
