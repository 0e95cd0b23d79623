"""State facts: who else reads and writes the attributes that a method touches.

What decides a fix is often a flag that another method sets: grep gives every line that has its
name, this the few functions that write it, then those that read it. Asked for the methods that
decide a task only, and for attributes that few files mention: a name such as `value` relates
nothing.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from textwrap import dedent
from typing import TYPE_CHECKING, Final

from kl_hooks.code.name_index import files_mentioning
from kl_hooks.code.query.lookup import Ambiguous, Unknown, symbols_by_id
from kl_hooks.code.query.state import NoState, state_uses
from kl_hooks.model.symbol import split_id
from kl_hooks.model.text import name_list
from kl_hooks.store.files import read_small

if TYPE_CHECKING:
    from kl_hooks.code.query.session import Graph
    from kl_hooks.code.query.sites import Site
    from kl_hooks.model.symbol import Symbol
    from kl_hooks.workspace import Workspace

_METHODS: Final = 2
"""Methods whose attributes are looked at."""
_ATTRIBUTES: Final = 2
"""Attributes of a method that are shown."""
_ASKED: Final = 4
"""Attributes of a method that are looked for."""
_MENTIONED: Final = 8
"""Most files that mention an attribute: one of more is too common to relate anything."""
_FILES: Final = 8
"""Files that are read for all of them: a prompt waits for it, some ten milliseconds a file."""
_FUNCTIONS: Final = ("function", "method", "property")
_NAMED: Final = 2
"""Functions that are named of those that write, and of those that read."""
_MAKERS: Final = ("__init__", "__new__", "__post_init__")
"""A constructor gives every attribute its first value: only where nothing else writes it is it
named.
"""


def state_facts(
    ws: Workspace, graph: Graph, methods: Sequence[str], is_shown: Callable[[str, str], bool]
) -> dict[str, str]:
    """Return ID of a method → `closing: written by Slot.close, read by Engine.idle`; without those
    that touch nothing that others do. `is_shown`: (ID, path) → whether the reader may see it.
    """
    wanted = [symbol for symbol in methods if split_id(symbol)[0] == "method"][:_METHODS]
    facts = {}
    files_left = _FILES
    for method in symbols_by_id(graph.db, wanted).values():
        parts: list[str] = []
        for owner_and_name, number in _rare_attributes(ws, graph, method):
            if len(parts) == _ATTRIBUTES or number > files_left:
                break
            files_left -= number
            parts += _facts_of(graph, owner_and_name, method, is_shown)
        if parts:
            facts[method.id] = "; ".join(parts)
    return facts


def _rare_attributes(ws: Workspace, graph: Graph, method: Symbol) -> list[tuple[str, int]]:
    """Return (dotted name, how many files mention it) of what a method touches and few files do."""
    owner = split_id(method.id)[1].rpartition(".")[0]
    text = read_small(ws.root / method.path, within=ws.root) or b""
    lines = text.decode("utf-8", "replace").splitlines()[method.line - 1 : method.end_line]
    names = _attributes("\n".join(lines))
    methods = symbols_by_id(graph.db, [f"method:{owner}.{name}" for name in names])
    names = [name for name in names if f"method:{owner}.{name}" not in methods]
    mentions = files_mentioning(graph.db, names)
    counts = [(name, _count(mentions, name)) for name in names]
    return [(f"{owner}.{name}", number) for name, number in counts if number <= _MENTIONED][:_ASKED]


def _facts_of(
    graph: Graph, attribute: str, method: Symbol, is_shown: Callable[[str, str], bool]
) -> Iterator[str]:
    """Yield the fact on one attribute, where another function reads or writes it."""
    try:
        uses = state_uses(graph, attribute)
    except (Ambiguous, NoState, Unknown):  # such as an attribute of a base class elsewhere
        return
    writers = list(_others((*uses.writes, *uses.changes), method, is_shown))
    readers = list(_others(uses.reads, method, is_shown))
    writers = [name for name in writers if not name.endswith(_MAKERS)] or writers
    readers = [name for name in readers if name not in writers]
    lists = (("written by", writers), ("read by", readers))
    parts = [f"{verb} {name_list(names, _NAMED)}" for verb, names in lists if names]
    if parts:
        yield f"{attribute.rpartition('.')[2]}: {', '.join(parts)}"


def _count(mentions: dict[str, str], name: str) -> int:
    return sum(name in words.split() for words in mentions.values())


def _attributes(source: str) -> list[str]:
    """Return the attributes of its own instance that a method touches: those that it writes first,
    then by how often it has them. Nothing where the source does not parse.
    """
    try:
        tree = ast.parse(dedent(source))
    except (SyntaxError, ValueError, RecursionError):
        return []
    function = tree.body[0] if tree.body else None
    if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) or not function.args.args:
        return []
    own = function.args.args[0].arg
    written: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    for node in ast.walk(function):
        if not (isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)):
            continue
        if node.value.id == own and not node.attr.startswith("__"):
            counts[node.attr] += 1
            written[node.attr] += not isinstance(node.ctx, ast.Load)
    return sorted(counts, key=lambda name: (-bool(written[name]), -counts[name], name))


def _others(
    sites: Iterable[Site], method: Symbol, is_shown: Callable[[str, str], bool]
) -> Iterator[str]:
    """Yield the name of each function of source but the method itself, once; without its module."""
    names: dict[str, None] = {}
    for site in sites:
        is_other = site.owner != method.id and split_id(site.owner)[0] in _FUNCTIONS
        if is_other and not site.is_test and is_shown(site.owner, site.path):
            names[".".join(site.scope.split(".")[-2:])] = None
    yield from names
