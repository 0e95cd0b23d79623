"""Holds the two scanners' facts of one file against each other. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from kl_hooks.code.guarded import scan_guarded
from kl_hooks.code.parse import Facts
from kl_hooks.code.precise.scan import scan_precise

_PARTS: Final = ("line", "end line", "signature", "docstring")


def compared(content: bytes, path: str, module: str) -> dict[str, Any]:
    """`{"definitions": n, "imports": n, "differences": [[line, what, fast, precise], …]}`; `{"skipped": reason}` for a
    file that the fast scanner refuses. Raises as `scan_precise`.
    """
    fast = scan_guarded(content, path, module)
    if fast["error"]:
        return {"skipped": fast["error"]}
    precise = scan_precise(content, path, module)
    found = [*_definitions(fast, precise), *_imports(fast, precise)]
    counts = {"definitions": len(fast["symbols"]) - 1, "imports": len(fast["imports"])}
    return {**counts, "differences": sorted(found)}


def _definitions(fast: Facts, precise: Facts) -> Iterator[list[Any]]:
    ours = {row[0]: row for row in fast["symbols"]}
    theirs = {row[0]: row for row in precise["symbols"]}
    for name in ours.keys() | theirs.keys():
        one, other = ours.get(name), theirs.get(name)
        if one is None or other is None:
            there = one or other or []
            yield [there[1], name, *("defined" if row else "not there" for row in (one, other))]
            continue
        for place, part in enumerate(_PARTS, start=1):
            if one[place] != other[place]:
                yield [one[1], f"{part} of {name}", str(one[place]), str(other[place])]


def _imports(fast: Facts, precise: Facts) -> Iterator[list[Any]]:
    ours, theirs = (sorted(tuple(row) for row in facts["imports"]) for facts in (fast, precise))
    left = list(theirs)
    for row in ours:
        if row in left:
            left.remove(row)
        else:
            yield [row[3], _named(row), "imported", "not there"]
    for row in left:
        yield [row[3], _named(row), "not there", "imported"]


def _named(row: Sequence[Any]) -> str:
    module, name, level, _, how, statement = row
    return f"{how} of {'.' * level}{module}{':' + name if name else ''} ({statement})"
