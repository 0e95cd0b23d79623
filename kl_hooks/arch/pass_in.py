"""The way out that takes an argument instead of an import: who would take it, and who of the layer does already."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Final

from kl_hooks.arch.edges import Edge
from kl_hooks.code.rewriting.arguments import may_take, parameter_names, takers, users
from kl_hooks.code.rewriting.parsed import parsed

_MOST_USERS: Final = 3
_MOST_FILES: Final = 300
"""Of a layer; beyond them nobody is asked, and the sentence does without examples."""
_MOST_PARSED: Final = 150_000
"""Bytes of files with examples; beyond them nobody knows how many there are, and the sentence does not say."""

Read = Callable[[Sequence[str]], Mapping[str, bytes]]
"""Paths → their contents."""


def pass_in(edge: Edge, layer: Callable[[], Sequence[str]], read: Read) -> str:
    """A sentence without a full stop, or nothing where an argument would not do. `layer`: the files of its layer."""
    try:
        content = read([edge.link.path]).get(edge.link.path, b"\0")
        tree = parsed(content)
        names, functions = users(tree, content, edge.link.line) if tree else ([], [])
        if not functions or len(functions) > _MOST_USERS:
            return ""
        said = " and ".join(f"{one.name}() ({_file(edge.link.path)}:{one.line})" for one in functions)
        who = _already(edge, names, layer(), read, {(edge.link.path, one.line) for one in functions})
    except RecursionError:
        return ""
    what = parameter_names(names[0])[-1]
    return f"pass the {what} in as an argument of {said}{who}"


def _already(edge: Edge, names: Sequence[str], layer: Sequence[str], read: Read, own: set[tuple[str, int]]) -> str:
    """`; 4 other core functions already take one (price.py:18, stock.py:40, ...)`."""
    if len(layer) > _MOST_FILES:
        return ""
    contents = read(layer)
    some, left = _within(sorted(path for path, content in contents.items() if may_take(content, names)), contents)
    found = []
    for path in some:
        tree = parsed(contents[path])
        found += [(path, one.line) for one in takers(tree, contents[path], names)] if tree else []
    others = [place for place in found if place not in own]
    if not others:
        return ""
    places = ", ".join(f"{_file(path)}:{line}" for path, line in others[:2]) + (", ..." if others[2:] or left else "")
    does = "function already takes" if len(others) == 1 and not left else "functions already take"
    return f"; {'' if left else f'{len(others)} '}other {edge.source.name} {does} one ({places})"


def _within(paths: Sequence[str], contents: Mapping[str, bytes]) -> tuple[list[str], bool]:
    """As many of the files as may be parsed, and whether some were left out."""
    sizes = accumulate(len(contents[path]) for path in paths)
    some = [path for path, size in zip(paths, sizes, strict=True) if size <= _MOST_PARSED]
    return some, len(some) < len(paths)


def _file(path: str) -> str:
    return path.rpartition("/")[2]
