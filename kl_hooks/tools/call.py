"""Calling a tool: arguments in, an envelope out. An error is a part of the answer, with the exit
code it has.

Answers fit a budget: long texts are cut, long lists end early, and what was omitted is stated.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.context.access import access
from kl_hooks.errors import CLEAN, KlError, UsageProblem
from kl_hooks.model.actors import trace_id
from kl_hooks.model.canonical import replace_surrogates
from kl_hooks.model.problem import Problems
from kl_hooks.model.text import (
    counted,
    one_line,
    suggest_spelling,
    without_role_markup,
)
from kl_hooks.operations import (
    arch_check,
    claims,
    context,
    documents,
    graph,
    knowledge,
    memory,
    outcomes,
    pages,
    persistent_contexts,
    pools,
    proof,
    proposals,
    search,
    skills,
    tasks,
    tiers,
    verify,
    work,
)
from kl_hooks.tools.kind_tools import tools_of
from kl_hooks.tools.tool import LARGEST_INPUT, SCHEMA, Tool, author, operation_tool

if TYPE_CHECKING:
    from kl_hooks.tools.tool import Tool
    from kl_hooks.workspace import Workspace

_LONGEST_TEXT: Final = 100_000
"""Characters of a text."""
_MOST_ITEMS: Final = 500
"""Items of an array or a map."""


MOST_CHARACTERS: Final = 24_000
"""Characters of an answer as JSON (about 6,000 tokens)."""
LONGEST_TEXT: Final = 6_000
"""Characters of one text in it."""


def bounded(result: Any, most: int = MOST_CHARACTERS) -> Any:
    """Return the same value, at most `most` characters as JSON. What was cut from lists is counted
    in `omitted`.
    """
    result = _cut(result, LONGEST_TEXT)
    if _size(result) <= most:
        return result
    if isinstance(result, dict):
        return _shorten(result, most)
    if isinstance(result, list):
        return _first_items(result, most)
    if not isinstance(result, str):
        return None
    return _fitting(result, most)


def _shorten(result: dict[str, Any], most: int) -> dict[str, Any]:
    """The longest list gives way first, then the longest text; each keeps an equal share at least,
    so that of two long lists the first one is not empty.
    """
    share = most // (len(result) + 2)
    made = dict(result)
    left = dict[str, int]()
    mark = "omitted"
    # a result may have a key of this name already
    while mark in made:
        mark += "_"
    while _size({**made, mark: left}) > most:
        name = max(made, key=lambda key: _size(made[key]), default="")
        value = made[name]
        spare = most - (_size({**made, mark: left}) - _size(value)) - 80
        if _size(value) > share:
            spare = max(spare, share)
        if _size(value) <= 40:  # nothing here is long: there is too much of it
            counts = left if _size(left) < most // 2 else {}
            few = _first_entries(made, max(most - _size({mark: {**counts, "…": len(made)}}), 2))
            return {**few, mark: {**counts, "…": len(made) - len(few)}}
        if isinstance(value, list) and value:
            fitting = _first_items(value, max(spare, 2))
            left[name] = left.get(name, 0) + len(value) - len(fitting)
            made[name] = fitting
        elif isinstance(value, dict) and value and spare > 200:
            made[name] = _shorten(value, spare) if _size(value) > spare else {}
        else:
            made[name] = _fitting(value, spare) if isinstance(value, str) and spare > 60 else None
    if not left:
        return made
    return {**made, mark: left}


def _first_items(items: list[Any], most: int) -> list[Any]:
    """As many of the first items as fit."""
    fitting = []
    used = 2
    for one in items:
        used += _size(one) + 2
        if used > most:
            break
        fitting.append(one)
    return fitting


def _first_entries(items: dict[str, Any], most: int) -> dict[str, Any]:
    """As many of the first entries as fit."""
    fitting = {}
    used = 2
    for name, value in items.items():
        used += _size(name) + _size(value) + 4
        if used > most:
            break
        fitting[name] = value
    return fitting


def _fitting(text: str, most: int) -> str:
    """Return the beginning of a text, and how much is omitted. A character takes up to twelve as
    JSON.
    """
    space = most - _size(_rest(len(text)))
    for number, sign in enumerate(text):
        # without the two quotes, which every size has
        space -= _size(sign) - 2
        if space < 0:
            return text[:number] + _rest(len(text) - number)
    return text


def _rest(number: int) -> str:
    return f" … ({counted(number, 'more character')})"


def _cut(value: Any, longest: int) -> Any:
    if isinstance(value, str) and len(value) > longest:
        return value[:longest] + _rest(len(value) - longest)
    if isinstance(value, dict):
        return {key: _cut(item, longest) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_cut(item, longest) for item in value]
    return value


def _size(value: Any) -> int:
    # as JSON with its escapes: counted in characters, a text of many-byte signs was never short
    # enough
    return len(json.dumps(value, sort_keys=True))


_OPERATIONS: Final = (
    arch_check,
    claims,
    context,
    documents,
    graph,
    knowledge,
    memory,
    outcomes,
    pages,
    persistent_contexts,
    pools,
    proof,
    proposals,
    search,
    skills,
    tasks,
    tiers,
    work,
    verify,
)
"""Modules of operations that agents have as tools."""


def catalogue(ws: Workspace) -> dict[str, Tool]:
    """Name → tool, by name. One with a name of its own takes the place of one that follows from a
    kind.
    """
    derived = {tool.name: tool for kind in ws.kinds.values() for tool in tools_of(kind)}
    own = {
        operation.tool_name: operation_tool(operation)
        for module in _OPERATIONS
        for operation in module.OPERATIONS
        if operation.is_tool
    }
    return dict(sorted((derived | own).items()))


_LONGEST_REASON = 2_000
"""Characters of a reason or a hint."""


def call(
    ws: Workspace, name: str, given: bytes, *, allow_write: bool
) -> tuple[dict[str, Any], int]:
    """The answer of a tool (`kl.tool/2`) and the exit code. Raises nothing that is expected."""
    try:
        tool = tool_of(ws, name)
        arguments = checked_arguments(tool, read_arguments(given))
        if tool.writes and not allow_write:
            hint = "Whoever started this has to allow it: --allow-write"
            raise UsageProblem("it writes, and writing was not allowed.", place=name, hint=hint)
        # one call reads 20 times; `kl mcp` and `kl serve` open a workspace for each
        with ws.store.reusing(), access(ws, f"tool {name}", author(ws)) as seen:
            result = seen.plain(tool.call(ws, arguments, seen))
        # lone surrogates: what a JSON parser does with them is not predictable (RFC 8259, section
        # 8.2)
        result = bounded(without_role_markup(replace_surrogates(result)))
    except KlError as problem:
        trace = trace_id(ws.environ)
        return failed(name, problem) | ({"trace_id": trace} if trace else {}), problem.exit_code
    return {"schema": SCHEMA, "ok": True, "tool": name, "result": result}, CLEAN


def tool_of(ws: Workspace, name: str) -> Tool:
    """The tool of this name. UsageProblem, with the nearest name, where there is none."""
    known = catalogue(ws)
    if name not in known:
        hint = f"{suggest_spelling(name, known)} See: kl tool --list".strip()
        raise UsageProblem("there is no tool of this name.", place=one_line(name, 80), hint=hint)
    return known[name]


def failed(name: str, problem: KlError) -> dict[str, Any]:
    """Return the answer for an error."""
    reason = problem.reason
    place = problem.place
    hint = problem.hint
    if isinstance(problem, Problems):
        reason = " ".join(f"{one.message} {one.hint}".strip() for one in problem.problems)
        place = place or (problem.problems[0].path if problem.problems else "")
    error = {
        "place": one_line(place, 300),
        "reason": one_line(reason, _LONGEST_REASON),
        "hint": one_line(hint, _LONGEST_REASON),
    }
    return {"schema": SCHEMA, "ok": False, "tool": one_line(name, 80), "error": error}


def checked_arguments(tool: Tool, given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments, with defaults. UsageProblem with everything that is wrong."""
    values: dict[str, Any] = {}
    wrong: list[str] = []
    for given_name, value in given.items():
        if given_name in tool.takes:
            name = given_name
        else:
            name = tool.also.get(given_name, given_name)
        if name not in tool.takes:
            wrong.append(
                f'"{one_line(given_name, 60)}" is no argument.'
                f" {suggest_spelling(given_name, tool.takes)}".strip()
            )
        elif value is not None:
            values[name], problem = _value(tool.takes[name], value)
            if problem:
                wrong += [f'"{name}" {problem}']
    wrong += [
        f'"{name}" is missing.'
        for name in tool.needs
        if name not in values and not _was_given(tool, given, name)
    ]
    if wrong:
        names = ", ".join(tool.takes) or "none"
        raise UsageProblem(" ".join(wrong[:20]), place=tool.name, hint=f"It takes: {names}.")
    return {name: one["default"] for name, one in tool.takes.items() if "default" in one} | values


def _was_given(tool: Tool, given: Mapping[str, Any], name: str) -> bool:
    """True where it was given under some name: then what is wrong with it was reported."""
    return any(
        given.get(given_name) is not None
        for given_name in (name, *(k for k, v in tool.also.items() if v == name))
    )


def _value(schema: Mapping[str, Any], value: Any) -> tuple[Any, str]:
    """The value as its schema has it, and what is wrong with it."""
    value = replace_surrogates(value)
    kind = schema["type"]
    if isinstance(kind, list):  # any JSON: an operation reads its text
        value, kind = value if isinstance(value, str) else json.dumps(value), "string"
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
    least = schema.get("minimum", -(10**9))
    most = schema.get("maximum", 10**9)
    # bool is a subclass of int: JSON's `true` would pass as 1
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        yield f"must be a whole number from {least} to {most}."


def _boolean(schema: Mapping[str, Any], value: Any) -> Iterator[str]:
    if not isinstance(value, bool):
        yield "must be true or false."


def _array(schema: Mapping[str, Any], value: Any) -> Iterator[str]:
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, list) or not all(
        isinstance(one, str) and len(one) <= _LONGEST_TEXT for one in items
    ):
        yield "must be a list of texts."
    elif len(items) > _MOST_ITEMS:
        yield f"has {len(items)} items; at most {_MOST_ITEMS} are read."
    elif "enum" in schema["items"]:
        yield from (problem for item in items for problem in _string(schema["items"], item))


def _object(schema: Mapping[str, Any], value: Any) -> Iterator[str]:
    if not isinstance(value, dict) or not all(
        isinstance(one, str) and len(one) <= _LONGEST_TEXT for one in value.values()
    ):
        yield "must be an object of texts."
    elif len(value) > _MOST_ITEMS:
        yield f"has {len(value)} entries; at most {_MOST_ITEMS} are read."


def read_arguments(text: bytes) -> dict[str, Any]:
    """The JSON object in `text`; nothing at all is an empty one. UsageProblem for anything else."""
    if len(text) > LARGEST_INPUT:
        raise UsageProblem(
            f"is {len(text)} bytes long; at most {LARGEST_INPUT} are read.", place="arguments"
        )
    if not text.strip():
        return {}
    try:
        # json.loads() reads NaN and Infinity, which JSON does not have (RFC 8259, section 6)
        plain = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError) as problem:
        if isinstance(problem, ValueError):
            why = one_line(str(problem), 100)
        else:
            why = "nested too deeply"
        raise UsageProblem(
            f"is no JSON: {why}.", place="arguments", hint='Such as: {"id": "ADR-0001"}'
        ) from None
    if not isinstance(plain, dict):
        raise UsageProblem(
            "must be an object.", place="arguments", hint='Such as: {"id": "ADR-0001"}'
        )
    return plain


def _refuse(word: str) -> Any:
    raise ValueError(f"{word} is no number of JSON")


_PROBLEMS: Final = {
    "string": _string,
    "integer": _integer,
    "boolean": _boolean,
    "array": _array,
    "object": _object,
}
