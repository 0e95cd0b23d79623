"""Classes by inheritance: what is above and below, and which methods stand in for each other."""

from __future__ import annotations

from kl_hooks.code.asking.stored import by_ids
from kl_hooks.graph import links
from kl_hooks.model.symbol import Symbol, split_id
from kl_hooks.store.database import Rows

_BASES = ("inherits", "implements")
_MEMBERS = ("method", "property", "field")


def above(db: Rows, classes: list[str]) -> list[str]:
    """The Ids of all classes of the repository that these inherit from, the nearest first."""
    return _all(db, classes, incoming=False)


def below(db: Rows, classes: list[str]) -> list[str]:
    """The Ids of all classes that inherit from these, the nearest first."""
    return _all(db, classes, incoming=True)


def overridden(db: Rows, symbol: Symbol) -> list[Symbol]:
    """What a method, property or field stands in for: those of its name in the classes above."""
    return _same_name(db, symbol, up=True)


def overriding(db: Rows, symbol: Symbol) -> list[Symbol]:
    """What stands in for a method, property or field: those of its name in the classes below."""
    return _same_name(db, symbol, up=False)


def _all(db: Rows, classes: list[str], *, incoming: bool) -> list[str]:
    found: dict[str, None] = {}
    front = classes
    while front:
        near = links.of_many(db, front, incoming=incoming)
        ends = [
            link.source if incoming else link.target
            for name in front for link in near.get(name, ()) if link.relation in _BASES
        ]  # fmt: skip
        front = [one for one in dict.fromkeys(ends) if one not in found and one not in classes]
        front = [one for one in front if one.startswith(("type:", "interface:"))]
        found.update(dict.fromkeys(front))
    return list(found)


def _same_name(db: Rows, symbol: Symbol, *, up: bool) -> list[Symbol]:
    prefix, name = split_id(symbol.id)
    owner, _, last = name.rpartition(".")
    if prefix not in _MEMBERS:
        return []
    classes = _all(db, [f"type:{owner}", f"interface:{owner}"], incoming=not up)
    ids = [f"{kind}:{split_id(one)[1]}.{last}" for one in classes for kind in _MEMBERS]
    there = by_ids(db, ids)
    return [there[one] for one in ids if one in there]
