"""Reads YAML strictly: places for everything, all problems at once, and no bytes that bring it down.

The pure-Python parser is used on purpose: the one in C dies of deep nesting.
"""

from __future__ import annotations

import re
from typing import Any, Final

from kl_hooks.config.builder import Builder
from kl_hooks.config.files import MAX_BYTES
from kl_hooks.config.nodes import Node
from kl_hooks.model.problem import Problem

_MAX_PROBLEMS: Final = 100

_UNPRINTABLE: Final = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
_BREAK: Final = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
_DASH: Final = "this `-` is not indented like the list it belongs to."
_SAID: Final = {
    "mapping values are not allowed here": "a `:` that does not fit here; look at the line above and the indentation.",
    "could not find expected ':'": "a key without its `:`.",
    "expected <block end>, but found '-'": _DASH,
    "expected <block end>, but found '<block sequence start>'": _DASH,
    "expected <block end>, but found '<block mapping start>'": "this line is indented deeper than others.",
    "expected <block end>, but found '<scalar>'": "this text does not belong here; are quotes or a `:` missing?",
    "while scanning a quoted scalar": "a quote that is never closed.",
}


def load(path_name: str, text: bytes) -> tuple[Node | None, list[Problem]]:
    """The document in `text` and everything wrong with it, in the order of the file.

    `path_name` is what the problems call the file. No document (an empty file, only comments, or a file
    that can't be read at all) is None. Raises nothing, whatever the bytes.
    """
    problems: list[Problem] = []
    decoded = _decode(path_name, text, problems)
    if decoded is None:
        return None, problems
    builder = Builder(path_name, problems)
    import yaml

    try:
        for event in yaml.parse(decoded, Loader=yaml.SafeLoader):
            if not builder.take(event):
                break
    except yaml.MarkedYAMLError as error:
        builder.root = None
        problems.append(_from_parser(path_name, error))
    except (yaml.YAMLError, ValueError, OverflowError, IndexError, RecursionError) as error:
        # Beyond its own errors the parser raises these for escapes and numbers out of range (found by mutation).
        builder.root = None
        problems.append(Problem(path_name, *builder.last, f"can't be read as YAML after this place: {error}."))
    return builder.root, sorted(set(problems))[:_MAX_PROBLEMS]


def _decode(path_name: str, text: bytes, problems: list[Problem]) -> str | None:
    """The text, or None with the reason added to `problems`."""
    if len(text) > MAX_BYTES:
        problems.append(Problem(path_name, 0, 0, f"{len(text)} bytes are too many; at most {MAX_BYTES} are read."))
        return None
    try:
        decoded = text.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line, column = _place(text[: error.start].decode("utf-8-sig", "replace"))
        problems.append(Problem(path_name, line, column, "this byte is not UTF-8.", "Save the file as UTF-8."))
        return None
    bad = _UNPRINTABLE.search(decoded)
    if bad:
        line, column = _place(decoded[: bad.start()])
        problems.append(Problem(path_name, line, column, f"the character U+{ord(bad[0]):04X} can't stand in YAML."))
        return None
    return decoded


def _place(before: str) -> tuple[int, int]:
    """Line and column (from 1) of what follows the text `before`."""
    lines = _BREAK.split(before)
    return len(lines), len(lines[-1]) + 1


def _from_parser(path_name: str, error: Any) -> Problem:
    """The parser's own complaint in our words where we have better ones."""
    mark = error.problem_mark or error.context_mark
    line, column = (mark.line + 1, mark.column + 1) if mark else (0, 0)
    said = str(error.problem or error.context or "it ends too early")
    if "'\\t'" in said:
        return Problem(path_name, line, column, "found a tab; YAML needs spaces.")
    better = _SAID.get(said) or (_SAID.get(str(error.context)) if "unexpected end" in said else None)
    return Problem(path_name, line, column, better or f"can't be read as YAML: {said}.")
