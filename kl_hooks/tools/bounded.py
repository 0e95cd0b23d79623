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
    return _fitting(result, most) if isinstance(result, str) else None


def _shorter(result: dict[str, Any], most: int) -> dict[str, Any]:
    """The longest list gives way first, then the longest text."""
    made, left, mark = dict(result), dict[str, int](), "left_out"
    while mark in made:
        mark += "_"
    while _size({**made, mark: left}) > most:
        name = max(made, key=lambda key: _size(made[key]), default="")
        spare = most - (_size({**made, mark: left}) - _size(made[name])) - 80
        value = made[name]
        if _size(value) <= 40:  # nothing here is long: there is too much of it
            said = left if _size(left) < most // 2 else {}
            few = _few(made, max(most - _size({mark: {**said, "…": len(made)}}), 2))
            return {**few, mark: {**said, "…": len(made) - len(few)}}
        if isinstance(value, list) and value:
            kept = _first(value, max(spare, 2))
            left[name] = left.get(name, 0) + len(value) - len(kept)
            made[name] = kept
        elif isinstance(value, dict) and value and spare > 200:
            made[name] = _shorter(value, spare) if _size(value) > spare else {}
        else:
            made[name] = _fitting(value, spare) if isinstance(value, str) and spare > 60 else None
    return {**made, mark: left} if left else made


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


def _fitting(text: str, most: int) -> str:
    """The beginning of a text, and how much is left out, in so many characters as JSON: a sign takes up to twelve."""
    room = most - _size(_rest(len(text)))
    for number, sign in enumerate(text):
        room -= _size(sign) - 2
        if room < 0:
            return text[:number] + _rest(len(text) - number)
    return text


def _rest(number: int) -> str:
    return f" … ({number} more characters)"


def _cut(value: Any, longest: int) -> Any:
    if isinstance(value, str) and len(value) > longest:
        return value[:longest] + _rest(len(value) - longest)
    if isinstance(value, dict):
        return {key: _cut(item, longest) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_cut(item, longest) for item in value]
    return value


def _size(value: Any) -> int:
    return len(json.dumps(value, sort_keys=True))
