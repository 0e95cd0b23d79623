"""The operations of each kind: those that every kind has, its changes of status, and its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from kl_hooks.model.kind import Kind
from kl_hooks.operations import own_operations, record_changes, records
from kl_hooks.operations.operation import Operation

Make = Callable[[Kind], Operation]
EVERY: Final[Mapping[str, Make]] = {
    "search": records.search,
    "list": records.list_,
    "show": records.show,
    "history": records.history,
    "new": record_changes.create,
    "edit": record_changes.update,
    "delete": record_changes.delete,
}
"""Command → its operation, of every kind."""
OWN: Final[Mapping[str, Mapping[str, Make]]] = {
    "decision": {"supersede": own_operations.supersede},
    "failure": {"record": own_operations.record_failure, "show": own_operations.show_failure},
    "feature": {"detect": own_operations.detect},
    "gate": {"for": own_operations.gates},
}
"""Kind → command → its operation, which goes before the one of every kind."""


def operations_of(kind: Kind) -> tuple[Operation, ...]:
    """Return the operations that a kind has."""
    verbs = {verb.name: partial(record_changes.verb, change=verb) for verb in kind.verbs}
    makes: dict[str, Make] = {**EVERY, **verbs, **OWN.get(kind.name, {})}
    return tuple(make(kind) for make in makes.values())
