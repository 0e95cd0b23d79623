"""From what one file defines, imports and uses to its links, by way of the resolver.

There are hundreds of thousands of them, so they are plain rows here: see `Row` in `graph.links`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from kl_hooks.code.imports import Known
from kl_hooks.code.resolve import Resolver
from kl_hooks.code.uses import INHERITS, RELATIONS
from kl_hooks.code.values import CLASSES, Resolved
from kl_hooks.graph.links import Row
from kl_hooks.model.symbol import Link

METHODS: Final = {
    "=": ("same scope", 100), "@": ("import", 100), "^": ("self", 90), "<": ("super", 90), "~": ("instance", 80),
    "*": ("star import", 90), "()": ("return annotation", 70),
}  # fmt: skip
"""First sign of an expression → how a link through it was found, and how sure that is (percent). An instance may be
one of a subclass that knows better; so may `self`. `()`: a part of what a function returns by its annotation."""
NAME_ONLY: Final = "name only"
"""How a link to `name:x` was found: something called x is used, and nobody can say which."""

CONSTRUCTOR: Final = "constructor"
"""How a link to `__init__` was found: the class is called."""

Target = tuple[str, bool, str, int]
"""(target, whether it is what an expression means, method, confidence)."""


def defined_links(path: str, rows: Sequence[Sequence[Any]]) -> Iterator[Row]:
    """file → namespace → class → method …; `rows`: the file's symbols, Ids with their module, the module first."""
    by_name = {row[0].partition(":")[2]: row[0] for row in reversed(rows)}
    module = rows[0][0].partition(":")[2] if rows else ""
    for identifier, line, *_ in rows:
        prefix, _, name = identifier.partition(":")
        if prefix == "namespace":
            yield f"file:{path}", "defines", identifier, line, "same scope", 100
        else:
            yield _owner(name, module, by_name), "defines", identifier, line, "same scope", 100


def depending_links(path: str, imported: Iterable[Link], known: Known) -> Iterator[Row]:
    """file → each file of the repository that it imports, at the first line that does: records and pages name files,
    and the graph goes on from there.
    """
    first: dict[str, Link] = {}
    for link in imported:
        target = known.path_of(link.target.partition(":")[2])
        if target and target != path:
            first.setdefault(target, link)
    for target, link in first.items():
        yield f"file:{path}", "depends_on", f"file:{target}", link.line, link.method, link.confidence


def test_links(tests: Sequence[Sequence[Any]]) -> Iterator[Row]:
    """test → the function that pytest calls for it; `tests`: see `code.tests_found`."""
    for row in tests:
        yield row[0], "calls", row[-1], row[1], "pytest", 100


def taken_links(module: str, rows: Iterable[Sequence[Any]], resolver: Resolver) -> Iterator[Row]:
    """module → what it imports by name (`from m import f`): who renames that must touch this line, used or not.

    `rows`: the file's imports (see `code.imports_found`). What is a module has its link already.
    """
    seen: set[tuple[str, int, str]] = set()
    for wanted, name, level, line, how, _ in rows:
        if not name or name == "*":
            continue
        found = resolver.resolve(f"@{'.' * level}{wanted}:{name}", module)
        if found.symbols and not found.lost and not found.beyond and found.symbols[-1].module != module:
            target = found.symbols[-1].id
            if (target, line, how) not in seen:
                seen.add((target, line, how))
                yield f"namespace:{module}", "imports", target, line, how, 100


def _owner(name: str, module: str, by_name: Mapping[str, str]) -> str:
    outer = name.rpartition(".")[0].removesuffix(".<locals>")
    while outer not in by_name and len(outer) > len(module):
        outer = outer.rpartition(".")[0].removesuffix(".<locals>")
    return by_name.get(outer, f"namespace:{module}")


def used_links(
    module: str, ids: Sequence[str], uses: Mapping[str, Sequence[int]], resolver: Resolver,
    defined: Callable[[str], bool],
) -> list[Row]:  # fmt: skip
    """The links of what a file uses, each once. `ids`: of the file's symbols, as `uses` counts them.

    `defined`: whether anything in the repository bears a name; a use of one that nothing bears is no link.
    """
    seen: set[tuple[str, str, str, int]] = set()
    made: list[Row] = []
    for expression, flat in uses.items():
        targets = list(_targets(expression, resolver.resolve(expression, module), resolver, defined))
        if not targets:
            continue
        by_relation = [_by(relation, targets) for relation in RELATIONS]
        numbers = iter(flat)
        for place, relation, line in zip(numbers, numbers, numbers, strict=True):
            source = ids[place]
            for how, target, method, confidence in by_relation[relation]:
                if relation == INHERITS and how == "inherits":
                    how = _inherits(source, target)
                key = (source, how, target, line)
                if key not in seen:
                    seen.add(key)
                    made.append((source, how, target, line, method, confidence))
    return made


def _by(relation: str, targets: Iterable[Target]) -> list[tuple[str, str, str, int]]:
    """(relation, target, method, confidence) of each link that a use makes: what is only passed is referred to."""
    return [
        (relation if meant else "references", target, method, confidence)
        for target, meant, method, confidence in targets
        if relation == "calls" or method != CONSTRUCTOR
    ]


def _targets(expression: str, found: Resolved, resolver: Resolver, defined: Callable[[str], bool]) -> Iterator[Target]:
    method, confidence = METHODS.get(expression[0], (NAME_ONLY, 0))
    end = len(found.symbols) - 1
    for place, value in enumerate(found.symbols):
        meant = place == end and not found.lost and not found.beyond
        if value.returned:
            method, confidence = METHODS["()"]
        yield value.id, meant, method, confidence
        if meant and value.prefix in CLASSES:
            made = resolver.member(value.module, value.name, "__init__")
            if made is not None and made.sort == "symbol":
                yield made.id, True, CONSTRUCTOR, min(confidence, 90)
    for place, name in enumerate(found.lost):
        if defined(name):
            yield f"name:{name}", place == len(found.lost) - 1, NAME_ONLY, 0


def _inherits(source: str, target: str) -> str:
    return "implements" if target.startswith("interface:") and not source.startswith("interface:") else "inherits"
