"""The rule about files that pytest imports for the first time: a new test file, and what it imports.

One process imports all test files before the first test. What a new one registers elsewhere, in a
registry of the program, or as a subclass, the tests of all others find.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kl_hooks.code.import_time import QUIET_DECORATORS, Header, ImportTime
from kl_hooks.code.introspection import WORDS
from kl_hooks.proof.comparison import Comparison, Touch, may_be_collected
from kl_hooks.proof.effect import Effect, needs
from kl_hooks.proof.facts import FileChange

_MAKERS: Final = frozenset(("type", "new_class", "make_dataclass"))
"""What makes a class without a definition."""
_HERE: Final = "=."
"""Begins the name of what the file itself defines."""


def first_import(comparison: Comparison, change: FileChange) -> Iterator[Effect]:
    """A file that the run did not import registers something where others look."""
    path = change.path
    if path not in comparison.first_imported:
        return
    old, new = comparison.import_times(path)
    before = old if path in comparison.executed.modules else ImportTime()
    if path not in comparison.executed.modules and not may_be_collected(path) and new.effects:
        yield Effect(
            f"importing {path} changes something elsewhere, and a test file imports it now"
        )
    added = {
        name: header
        for name, header in new.headers.items()
        if name not in before.headers or before.headers[name].text != header.text
    }
    for name, header in sorted(added.items()):
        yield from _effects_of(comparison, path, name, header)
    names = change.new.names if change.new is not None else frozenset[str]()
    makes_classes = not _MAKERS.isdisjoint(names) or any(map(_may_be_listed, added.values()))
    if makes_classes and (listers := subclass_listers(comparison)):
        yield Effect(f"{path} has a class that is new, and subclasses are listed", (listers,))


def subclass_listers(comparison: Comparison) -> Touch:
    """The tests that execute code which asks a class for its subclasses."""
    return comparison.touch(WORDS["subclasses"], lambda _, uses: uses.lists_subclasses)


def _may_be_listed(header: Header) -> bool:
    return any(base.partition(".")[0] != "builtins" for base in header.bases)


def _effects_of(comparison: Comparison, path: str, name: str, header: Header) -> Iterator[Effect]:
    """A decorator or a base that the program itself has may note what is defined."""
    reason = f"{name} in {path} may be registered"
    for decorator in header.decorators:
        if not decorator:
            yield Effect(f"{reason}: one of its decorators is not known")
        elif decorator not in QUIET_DECORATORS and (owner := _owner(comparison, decorator)):
            yield Effect(reason, needs(comparison.needing([owner])))
    for base in header.bases:
        owner = _owner(comparison, base)
        if owner and _customizes(comparison, owner, base.rpartition(".")[2]):
            yield Effect(reason, needs(comparison.needing([owner])))


def _owner(comparison: Comparison, name: str) -> str:
    """The file of the run that has what a full name means; empty for what is none of them, or of the
    file itself.
    """
    if name.startswith(_HERE):
        return ""
    parts = name.lstrip(".").split(".")
    modules = {module: path for path, module in comparison.symbols.modules.items()}
    for depth in range(len(parts), 0, -1):
        wanted = ".".join(parts[:depth])
        for module, path in modules.items():
            if module == wanted or (name[:1] == "." and module.endswith(f".{wanted}")):
                return path
    return ""


def _customizes(comparison: Comparison, path: str, name: str) -> bool:
    """Whether a class executes code of its own where a subclass is defined, or one above it; true
    for what is no class of its file.
    """
    waiting = [(path, name)]
    seen_classes = set[tuple[str, str]]()
    while waiting:
        place = waiting.pop()
        header = comparison.import_times(place[0])[1].headers.get(place[1])
        if header is None or header.customizes or "builtins.type" in header.bases:
            return True
        seen_classes.add(place)
        owners = [comparison.base_header(place[0], base) for base in header.bases]
        waiting += [owner for owner in owners if owner is not None and owner not in seen_classes]
    return False
