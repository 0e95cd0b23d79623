"""What people mean by what they type: an Id, a dotted name or its end, a file, a place in a file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from kl_hooks.code.asking.stored import find, in_file
from kl_hooks.errors import UsageProblem
from kl_hooks.model.symbol import split_id
from kl_hooks.model.text import one_line
from kl_hooks.store.database import placeholders

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kl_hooks.code.asking.opened import Graph
    from kl_hooks.model.symbol import Symbol

_PLACE: Final = re.compile(r"(?P<path>.+?):(?P<line>[0-9]{1,9})(?::[0-9]+)?")
_QUALIFIED: Final = re.compile(r"@.+?\.py(?=\.|$)")
"""What tells modules of one name apart (see `code.modules`)."""
_SHOWN: Final = 20


class Ambiguous(UsageProblem):
    """Several things are called so."""

    def __init__(self, asked: str, candidates: Sequence[Symbol]) -> None:
        self.candidates = tuple(candidates)
        shown = [f"\n  {one.id}  {one.path}:{one.line}" for one in candidates[:_SHOWN]]
        more = f"\n  … and {len(candidates) - _SHOWN} more" if len(candidates) > _SHOWN else ""
        reason = f"{len(candidates)} things are called so. Give one of these:{''.join(shown)}{more}"
        super().__init__(reason, place=one_line(asked))


class Unknown(UsageProblem):
    """Nothing is called so."""


def addressed(graph: Graph, text: str) -> Symbol:
    """The one symbol that `text` means. Ambiguous, or Unknown with what may have been meant.

    In this order: its Id; `path.py`, `path.py:LINE` (the innermost definition there) or `path.py::test`, the path from
    the repository's root or its end; the whole dotted name; a name that a module has from another (`pkg.feed`, where
    `pkg/__init__.py` imports it); the end of a dotted name (`C.m`, `feed`), in the case given if that fits anything,
    else in any; a record, a page.
    """
    text = text.strip()
    prefix, name = split_id(text)
    exact = find(graph.db, "id = ?", (text,))
    if exact:
        return exact[0]
    found = _in_file(graph, name if prefix in ("", "file", "test") else "")
    if found is None and prefix != "file":
        found = _called(graph, prefix, name)
        if not any(_plain(one.id, False) == name for one in found) and (one := reexported(graph, name, prefix)):
            return one
    if not found:
        from kl_hooks.code.asking.written import thing

        if one := thing(graph, text):
            return one
        raise _unknown(graph, text)
    if len(found) > 1:
        raise Ambiguous(text, found)
    return found[0]


def file_of(graph: Graph, text: str) -> str:
    """The path of the one file that `text` means: a path or its end, or a module. UsageProblem as `addressed`."""
    name = split_id(text.strip())[1]
    paths = _paths(graph, name)
    if len(paths) > 1:
        raise Ambiguous(text, [s for path in paths for s in in_file(graph.db, path)[:1]])
    return paths[0] if paths else addressed(graph, text).path


def _in_file(graph: Graph, name: str) -> list[Symbol] | None:
    """The symbol for a path, a place, or a test in a file; None if `name` is none of these."""
    path, colons, test = name.partition("::")
    if colons:
        tests = find(graph.db, "id LIKE 'test:%' AND name = ?", (test.rpartition("::")[2].partition("[")[0],))
        return [one for one in tests if _ends(split_id(one.id)[1], name.partition("[")[0], "/")]
    place = _PLACE.fullmatch(name)
    paths = _paths(graph, place["path"] if place else path)
    if not paths:
        return None
    found = []
    for one in paths:
        inside = in_file(graph.db, one)
        if not inside:
            raise UsageProblem(_why(graph, one), place=one)
        found.append(_at_line(inside, int(place["line"])) if place else inside[0])
    return found


def _at_line(inside: Sequence[Symbol], line: int) -> Symbol:
    """The innermost definition that a line stands in; decorators and what lies between definitions are the outer's."""
    around = [one for one in inside if one.line <= line <= one.end_line]
    return min(around, key=lambda one: one.end_line - one.line, default=inside[0])


def _paths(graph: Graph, name: str) -> list[str]:
    """The files whose path this is, or ends with this."""
    name = name.removeprefix("./")
    if not name.endswith(".py") and "/" not in name:
        return []
    if graph.db.rows("SELECT 1 FROM files WHERE path = ?", (name,)):
        return [name]
    rows = [row[0] for row in graph.db.rows("SELECT path FROM files ORDER BY path")]
    return [path for path in rows if path.endswith(f"/{name}")]


def _called(graph: Graph, prefix: str, name: str) -> list[Symbol]:
    """What bears a dotted name, or a name that ends so; nothing less than whole parts."""
    last = name.rpartition(".")[2]
    for condition, fold in (("name = ?", False), ("name LIKE ? ESCAPE '\\'", True)):
        asked = re.sub(r"([\\%_])", r"\\\1", last) if fold else last
        wanted = name.lower() if fold else name
        fitting = [one for one in find(graph.db, condition, (asked,)) if _fits(split_id(one.id)[0], prefix)]
        names = [(_plain(one.id, fold), one) for one in fitting]
        whole = [one for plain, one in names if plain == wanted]
        found = whole or [one for plain, one in names if _ends(plain, wanted, ".")]
        if found:
            return found
    return []


def reexported(graph: Graph, name: str, prefix: str = "") -> Symbol | None:
    """The symbol that a dotted name means where modules hand names on: `structlog.get_logger`. None for no such name.

    What code would get by importing it: resolved by the same resolver as the links of the graph.
    """
    parts = name.split(".")
    modules = [".".join(parts[:end]) for end in range(len(parts) - 1, 0, -1)]
    if not modules or not graph.db.rows(f"SELECT 1 FROM files WHERE module IN ({placeholders(modules)})", modules):
        return None
    from kl_hooks.code.imports import Known
    from kl_hooks.code.linking import Outlines
    from kl_hooks.code.resolve import Resolver

    known = Known(dict(graph.db.rows("SELECT path, module FROM files")))
    resolver = Resolver(known, Outlines(graph.db, {}).of)
    for module in modules:
        if known.called(module):
            first, *rest = parts[module.count(".") + 1 :]
            found = resolver.resolve(f"@{module}:{first}" + (f"|{'.'.join(rest)}" if rest else ""), module)
            if found.symbols and not found.lost and not found.beyond:
                last = find(graph.db, "id = ?", (found.symbols[-1].id,))
                return last[0] if last and _fits(split_id(last[0].id)[0], prefix) else None
    return None


def _fits(prefix: str, asked: str) -> bool:
    """A test is its function too: the function is meant, unless the test was asked for."""
    return prefix == asked if asked else prefix != "test"


def _plain(identifier: str, fold: bool) -> str:
    name = _QUALIFIED.sub("", split_id(identifier)[1])
    return name.lower() if fold else name


def _ends(text: str, end: str, mark: str) -> bool:
    return text == end or text.endswith(mark + end)


def _unknown(graph: Graph, text: str) -> Unknown:
    from difflib import get_close_matches

    last = split_id(text)[1].rpartition(".")[2].rpartition("/")[2]
    names = [row[0] for row in graph.db.rows("SELECT DISTINCT name FROM symbols WHERE name >= '' ORDER BY name")]
    near = get_close_matches(last, names, 3, 0.7)
    meant = [_likeliest(find(graph.db, "name = ? AND id NOT LIKE 'test:%'", (name,))) for name in near]
    hint = f"Did you mean {' or '.join(filter(None, meant))}?" if any(meant) else "Look for it with: kl graph search"
    lost = len(graph.not_assessed)
    unsure = f" ({lost} {'file was' if lost == 1 else 'files were'} not assessed)" if lost else ""
    return Unknown(f"nothing here is called so{unsure}.", place=one_line(text), hint=hint)


def _likeliest(found: Sequence[Symbol]) -> str:
    """Of several things of one name the one to propose: what is not hidden in a function, the shortest."""
    return min((one.id for one in found), key=lambda one: ("<locals>" in one, len(one), one), default="")


def _why(graph: Graph, path: str) -> str:
    problem = next((p for p in graph.not_assessed if p.path == path), None)
    return f"was not assessed: line {problem.line}: {problem.message}" if problem else "defines nothing."
