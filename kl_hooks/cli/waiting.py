"""How much is known kind by kind, and what of it waits for a person: for `kl status` and `kl knowledge status`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from kl_hooks.cli.common import counted

if TYPE_CHECKING:
    from kl_hooks.workspace.open import Workspace

Counts = Mapping[str, Mapping[str, int]]
"""Kind → status → records of it; `archived` and `stale` are among the statuses."""

_WAITING: Final = {"decision": "proposed", "memory": "candidate", "proposal": "proposed"}
"""Kind → the status in which its records wait for a person."""


def by_status(ws: Workspace) -> dict[str, dict[str, int]]:
    """The records of every kind as they stand now, counted. Takes in what was edited since."""
    from kl_hooks.records.ask import Wanted, every
    from kl_hooks.records.fresh import shown

    counts: dict[str, dict[str, int]] = {}
    for record in shown(ws, every(ws, Wanted(archived=True))):
        name = "archived" if record.archived else record.status
        some = counts.setdefault(record.kind, {})
        some[name] = some.get(name, 0) + 1
    return counts


def waiting(counts: Counts) -> dict[str, int]:
    """Kind → how many wait, for kinds of which any do."""
    numbers = {kind: counts.get(kind, {}).get(name, 0) for kind, name in _WAITING.items()}
    return {kind: number for kind, number in numbers.items() if number}


def asked(numbers: Mapping[str, int]) -> Iterator[str]:
    """What `waiting` found, a line each, with the command that lists them."""
    for kind, number in numbers.items():
        yield f"{counted(number, kind)} {_WAITING[kind]}. See: kl {kind} list --status {_WAITING[kind]}"
