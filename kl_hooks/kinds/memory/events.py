"""Events of memories: read as what is folded, and made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from kl_hooks.kinds.memory import tally as names
from kl_hooks.kinds.memory.seen import Sighting
from kl_hooks.kinds.memory.tally import Happened, Tally, fold
from kl_hooks.records.events import Event, events_by_record

if TYPE_CHECKING:
    from kl_hooks.workspace.open import Workspace

FOLDED: Final = (
    names.REINFORCED, names.INJECTED, names.OPENED, names.OUTCOME, names.REVIEWED, names.VERIFIED, names.DISPROVEN,
)  # fmt: skip


def tallies(ws: Workspace, ids: Sequence[str]) -> dict[str, Tally]:
    """Id → what its Events add up to."""
    return {one: tally_of(found) for one, found in events_by_record(ws, ids, FOLDED).items()}


def tally_of(events: Iterable[Event]) -> Tally:
    """The fold of these Events."""
    return fold(Happened(one.name, one.at, one.session, one.body) for one in events)


def reinforcements(identifier: str, sightings: Iterable[Sighting], known: Iterable[str] = ()) -> list[Event]:
    """An Event for each session that saw it, but those that are known: a session reinforces once."""
    by_session: dict[str, list[Sighting]] = {}
    for one in sightings:
        by_session.setdefault(one.session, []).append(one)
    return [
        Event(names.REINFORCED, identifier, session, _body(seen))
        for session, seen in by_session.items()
        if session not in set(known)
    ]


def _body(seen: Sequence[Sighting]) -> dict[str, object]:
    """The newest receipts; an older time of the same session says nothing more."""
    receipts = list(dict.fromkeys(one.receipt for one in seen))
    return {"receipts": receipts[-20:], "proof": seen[0].proof, "seen": max(one.at for one in seen)}
