"""Tool: one question or action of an agent, with the JSON schema of its arguments and the check against it.

Of JSON schema it knows what our tools use: string, integer, boolean, arrays and maps of strings, enums and bounds.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.errors import UsageProblem
from kl_hooks.model.canonical import replace_surrogates
from kl_hooks.model.text import one_line, suggest_spelling

if TYPE_CHECKING:
    from kl_hooks.workspace import Workspace


Arguments = Mapping[str, Any]
"""What was given, checked against the schema; with defaults for what was omitted."""
SCHEMA: Final = "kl.tool/2"


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool."""

    name: str
    text: str
    """What it does, for whoever chooses among tools: one or two sentences."""
    takes: Mapping[str, Mapping[str, Any]]
    """Argument → its JSON schema, of the sorts that `arguments` knows."""
    call: Callable[[Workspace, Arguments], Any]
    """(workspace, arguments) → a plain value. Raises KlError."""
    needs: tuple[str, ...] = ()
    """Arguments that must be given."""
    writes: bool = False
    also: Mapping[str, str] = field(default_factory=dict)
    """Other names of arguments that are read → the argument."""

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of what it takes."""
        return {
            "type": "object", "properties": {name: dict(one) for name, one in self.takes.items()},
            "required": list(self.needs), "additionalProperties": False,
        }  # fmt: skip

    def plain(self) -> dict[str, Any]:
        """As it is listed."""
        return {"name": self.name, "description": self.text, "writes": self.writes, "input_schema": self.schema}


LARGEST_INPUT: Final = 1_000_000
"""Bytes of what is given to a tool."""
_LONGEST_TEXT: Final = 100_000
"""Characters of a text."""
_MOST_ITEMS: Final = 500
"""Items of an array or a map."""


def line(text: str, **more: Any) -> dict[str, Any]:
    """A text."""
    return {"type": "string", "description": text, **more}


def number(text: str, default: int, least: int, most: int) -> dict[str, Any]:
    """A whole number with a default."""
    return {"type": "integer", "description": text, "minimum": least, "maximum": most, "default": default}


def flag(text: str) -> dict[str, Any]:
    """True or false; false by default."""
    return {"type": "boolean", "description": text, "default": False}


def several(text: str) -> dict[str, Any]:
    """A list of texts; a single text is a list of one."""
    return {"type": "array", "items": {"type": "string"}, "description": text}


def read_arguments(text: bytes) -> dict[str, Any]:
    """The JSON object in `text`; nothing at all is an empty one. UsageProblem for anything else."""
    if len(text) > LARGEST_INPUT:
        raise UsageProblem(f"is {len(text)} bytes long; at most {LARGEST_INPUT} are read.", place="arguments")
    if not text.strip():
        return {}
    try:
        # json.loads() reads NaN and Infinity, which JSON does not have (RFC 8259, section 6)
        plain = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError) as problem:
        why = one_line(str(problem), 100) if isinstance(problem, ValueError) else "nested too deeply"
        raise UsageProblem(f"is no JSON: {why}.", place="arguments", hint='Such as: {"id": "ADR-0001"}') from None
    if not isinstance(plain, dict):
        raise UsageProblem("must be an object.", place="arguments", hint='Such as: {"id": "ADR-0001"}')
    return plain


def _refuse(word: str) -> Any:
    raise ValueError(f"{word} is no number of JSON")


def checked_arguments(tool: Tool, given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments, with defaults. UsageProblem with everything that is wrong."""
    values: dict[str, Any] = {}
    wrong: list[str] = []
    for given_name, value in given.items():
        name = given_name if given_name in tool.takes else tool.also.get(given_name, given_name)
        if name not in tool.takes:
            wrong.append(
                f'"{one_line(given_name, 60)}" is no argument. {suggest_spelling(given_name, tool.takes)}'.strip()
            )
        elif value is not None:
            values[name], problem = _value(tool.takes[name], value)
            wrong += [f'"{name}" {problem}'] if problem else []
    wrong += [
        f'"{name}" is missing.' for name in tool.needs if name not in values and not _was_given(tool, given, name)
    ]
    if wrong:
        names = ", ".join(tool.takes) or "none"
        raise UsageProblem(" ".join(wrong[:20]), place=tool.name, hint=f"It takes: {names}.")
    return {name: one["default"] for name, one in tool.takes.items() if "default" in one} | values


def _was_given(tool: Tool, given: Mapping[str, Any], name: str) -> bool:
    """True where it was given under some name: then what is wrong with it was reported."""
    return any(
        given.get(given_name) is not None for given_name in (name, *(k for k, v in tool.also.items() if v == name))
    )


def _value(schema: Mapping[str, Any], value: Any) -> tuple[Any, str]:
    """The value as its schema has it, and what is wrong with it."""
    value = replace_surrogates(value)
    kind = schema["type"]
    if kind == "string" and isinstance(value, int) and not isinstance(value, bool):
        value = str(value)  # models give numbers where a text of digits is wanted, such as a budget
    problem = next(_PROBLEMS[kind](schema, value), "")
    if not problem and kind == "array" and isinstance(value, str):
        return [value], ""
    return value, problem


def _string(schema: Mapping[str, Any], value: Any) -> Iterator[str]:
    if not isinstance(value, str):
        yield "must be text."
    elif "enum" in schema and value not in schema["enum"]:
        yield f"must be one of: {', '.join(schema['enum'])}."
    elif len(value) > _LONGEST_TEXT:
        yield f"is {len(value)} characters long; at most {_LONGEST_TEXT} are read."


def _integer(schema: Mapping[str, Any], value: Any) -> Iterator[str]:
    least, most = schema.get("minimum", -(10**9)), schema.get("maximum", 10**9)
    # bool is a subclass of int: JSON's `true` would pass as 1
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        yield f"must be a whole number from {least} to {most}."


def _boolean(schema: Mapping[str, Any], value: Any) -> Iterator[str]:
    if not isinstance(value, bool):
        yield "must be true or false."


def _array(schema: Mapping[str, Any], value: Any) -> Iterator[str]:
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, list) or not all(isinstance(one, str) and len(one) <= _LONGEST_TEXT for one in items):
        yield "must be a list of texts."
    elif len(items) > _MOST_ITEMS:
        yield f"has {len(items)} items; at most {_MOST_ITEMS} are read."


def _object(schema: Mapping[str, Any], value: Any) -> Iterator[str]:
    if not isinstance(value, dict) or not all(
        isinstance(one, str) and len(one) <= _LONGEST_TEXT for one in value.values()
    ):
        yield "must be an object of texts."
    elif len(value) > _MOST_ITEMS:
        yield f"has {len(value)} entries; at most {_MOST_ITEMS} are read."


_PROBLEMS: Final = {"string": _string, "integer": _integer, "boolean": _boolean, "array": _array, "object": _object}
