"""Arguments: what an agent gave, held against the schema of a tool. Everything wrong is said at once. Pure.

Of JSON schema it knows what our tools use: string, integer, boolean, arrays and maps of strings, enums and bounds.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from kl_hooks.config.typed import nearest
from kl_hooks.errors import UsageProblem
from kl_hooks.model.canonical import replace_surrogates
from kl_hooks.model.text import one_line
from kl_hooks.tools.tool import Tool

LARGEST: Final = 1_000_000
"""Bytes of what is given to a tool."""
LONGEST: Final = 100_000
"""Characters of a text."""
MOST: Final = 500
"""Items of an array or a map."""


def line(says: str, **more: Any) -> dict[str, Any]:
    """A text."""
    return {"type": "string", "description": says, **more}


def number(says: str, default: int, least: int, most: int) -> dict[str, Any]:
    """A whole number with a default."""
    return {"type": "integer", "description": says, "minimum": least, "maximum": most, "default": default}


def flag(says: str) -> dict[str, Any]:
    """True or false; false by default."""
    return {"type": "boolean", "description": says, "default": False}


def several(says: str) -> dict[str, Any]:
    """A list of texts; a single text is a list of one."""
    return {"type": "array", "items": {"type": "string"}, "description": says}


def read(text: bytes) -> dict[str, Any]:
    """The JSON object in `text`; nothing at all is an empty one. UsageProblem for anything else."""
    if len(text) > LARGEST:
        raise UsageProblem(f"is {len(text)} bytes long; at most {LARGEST} are read.", place="arguments")
    if not text.strip():
        return {}
    try:
        plain = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError) as problem:
        why = one_line(str(problem), 100) if isinstance(problem, ValueError) else "nested too deeply"
        raise UsageProblem(f"is no JSON: {why}.", place="arguments", hint='Such as: {"id": "ADR-0001"}') from None
    if not isinstance(plain, dict):
        raise UsageProblem("must be an object.", place="arguments", hint='Such as: {"id": "ADR-0001"}')
    return plain


def _refuse(word: str) -> Any:
    raise ValueError(f"{word} is no number of JSON")


def checked(tool: Tool, given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments, with defaults. UsageProblem with everything that is wrong."""
    values: dict[str, Any] = {}
    wrong: list[str] = []
    for told, value in given.items():
        name = told if told in tool.takes else tool.also.get(told, told)
        if name not in tool.takes:
            wrong.append(f'"{one_line(told, 60)}" is no argument. {nearest(told, tool.takes)}'.strip())
        elif value is not None:
            values[name], problem = _value(tool.takes[name], value)
            wrong += [f'"{name}" {problem}'] if problem else []
    wrong += [f'"{name}" is missing.' for name in tool.needs if name not in values and not _tried(tool, given, name)]
    if wrong:
        names = ", ".join(tool.takes) or "none"
        raise UsageProblem(" ".join(wrong[:20]), place=tool.name, hint=f"It takes: {names}.")
    return {name: one["default"] for name, one in tool.takes.items() if "default" in one} | values


def _tried(tool: Tool, given: Mapping[str, Any], name: str) -> bool:
    """True where it was given in some way: then what is wrong with it was said."""
    return any(given.get(told) is not None for told in (name, *(k for k, v in tool.also.items() if v == name)))


def _value(schema: Mapping[str, Any], value: Any) -> tuple[Any, str]:
    """The value as its schema has it, and what is wrong with it."""
    value = replace_surrogates(value)
    kind = schema["type"]
    problem = next(_PROBLEMS[kind](schema, value), "")
    if not problem and kind == "array" and isinstance(value, str):
        return [value], ""
    return value, problem


def _string(schema: Mapping[str, Any], value: Any) -> Iterator[str]:
    if not isinstance(value, str):
        yield "must be text."
    elif "enum" in schema and value not in schema["enum"]:
        yield f"must be one of: {', '.join(schema['enum'])}."
    elif len(value) > LONGEST:
        yield f"is {len(value)} characters long; at most {LONGEST} are read."


def _integer(schema: Mapping[str, Any], value: Any) -> Iterator[str]:
    least, most = schema.get("minimum", -(10**9)), schema.get("maximum", 10**9)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        yield f"must be a whole number from {least} to {most}."


def _boolean(schema: Mapping[str, Any], value: Any) -> Iterator[str]:
    if not isinstance(value, bool):
        yield "must be true or false."


def _array(schema: Mapping[str, Any], value: Any) -> Iterator[str]:
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, list) or not all(isinstance(one, str) and len(one) <= LONGEST for one in items):
        yield "must be a list of texts."
    elif len(items) > MOST:
        yield f"has {len(items)} items; at most {MOST} are read."


def _object(schema: Mapping[str, Any], value: Any) -> Iterator[str]:
    if not isinstance(value, dict) or not all(isinstance(one, str) and len(one) <= LONGEST for one in value.values()):
        yield "must be an object of texts."
    elif len(value) > MOST:
        yield f"has {len(value)} entries; at most {MOST} are read."


_PROBLEMS: Final = {"string": _string, "integer": _integer, "boolean": _boolean, "array": _array, "object": _object}
