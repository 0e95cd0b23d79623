"""Giving: the section `Project Knowledge` for an agent, out of what is approved and still holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from kl_hooks.clock import micros
from kl_hooks.config.settings import Settings
from kl_hooks.errors import EnvironmentProblem
from kl_hooks.kinds.memory.choosing import Given, Offer, choose, fit
from kl_hooks.kinds.memory.decay import decayed, faded
from kl_hooks.kinds.memory.events import tallies
from kl_hooks.kinds.memory.kind import KIND
from kl_hooks.kinds.memory.seen import IMPORTANCE
from kl_hooks.kinds.memory.support import supported
from kl_hooks.kinds.memory.tally import INJECTED, OPENED, Tally
from kl_hooks.kinds.memory.utility import weighed
from kl_hooks.model.record import Record
from kl_hooks.records.events import Event, append_events
from kl_hooks.records.liveness import is_live
from kl_hooks.records.query import RecordFilter, list_records, search_records

if TYPE_CHECKING:
    from kl_hooks.workspace.open import Workspace

BUDGET: Final = 8_000
"""Characters."""
START: Final = 20
"""Memories at the start of a session, where nobody names what it is about."""
_LOOKED_AT: Final = 200


def give(ws: Workspace, hints: Sequence[str], top: int, budget: int = BUDGET, *, folder: str = "") -> Given:
    """The section for these hints, or for where the work is; each memory in it is noted as given.

    Only what is live (see `records.liveness`). Without hints, at the start of a session: by tier, then by how many
    sessions confirmed it.
    """
    found = offers(ws, [*hints] or places(ws, folder))
    chosen = choose(found, top, only_fitting=True) if hints else found
    ids = [one.id for one in chosen]
    behind = supported(ws, tallies(ws, ids), set(ids))
    if not hints:
        chosen = sorted(choose(found, len(found), only_fitting=False), key=lambda one: -one.reinforcement)
        chosen = sorted(chosen, key=lambda one: behind[one.id].tier, reverse=True)[:top]
    given = fit([replace(one, tier=behind[one.id].tier.word) for one in chosen], budget)
    try:
        append_events(ws, [Event(INJECTED, one) for one in given.ids])
    except (EnvironmentProblem, OSError) as problem:
        return replace(given, trouble=str(problem))
    return given


def most_of(ws: Workspace, hints: Sequence[str]) -> int:
    """How many are given: as configured, else `START` without hints."""
    configured = ws.settings.memory_top_k
    return START if not hints and configured == Settings._field_defaults["memory_top_k"] else configured


def offers(ws: Workspace, words: Sequence[str]) -> list[Offer]:
    """Every memory that may be given, with how well it fits these words."""
    wanted = RecordFilter((KIND.name,), ("approved",))
    found = [one for one in list_records(ws, wanted) if is_live(ws, one)]
    hits = search_records(ws, words, wanted, _LOOKED_AT) if words else []
    ranks = {one.id: rank for rank, one in enumerate(hits)}
    known = tallies(ws, [one.id for one in found])
    fresh = [one for one in found if not has_faded(ws, one, known[one.id])]
    return [_offer(ws, one, known[one.id], ranks.get(one.id)) for one in fresh]


def _offer(ws: Workspace, record: Record, tally: Tally, rank: int | None) -> Offer:
    return Offer(
        record.id, record.title, record.text("pattern"), "", record.authority, tally.reinforcement, tally.opened_at,
        rank, importance_today(ws, record, tally),
    )  # fmt: skip


def importance_today(ws: Workspace, record: Record, tally: Tally) -> int:
    """Effective importance in millionths, decayed since something last happened to it."""
    value, last, opened = _weight(ws, record, tally)
    return decayed(value, last, ws.clock.now(), opened=opened)


def has_faded(ws: Workspace, record: Record, tally: Tally) -> bool:
    """True for one that nothing has happened to for long, and that weighs next to nothing."""
    value, last, opened = _weight(ws, record, tally)
    return faded(value, last, ws.clock.now(), opened=opened)


def _weight(ws: Workspace, record: Record, tally: Tally) -> tuple[int, int, int | None]:
    """Importance when something last happened to it, when that was, and when it was last asked for."""
    moments = [tally.reinforced_at, tally.reviewed_at, tally.opened_at, record.text("updated"), record.text("date")]
    last = max((micros(one) for one in moments if one), default=ws.clock.now())
    value = weighed(record.number("importance", IMPORTANCE), tally)
    return value, last, micros(tally.opened_at) if tally.opened_at else None


def places(ws: Workspace, folder: str = "") -> list[str]:
    """Words of where the work is: the project, the folder, the files of the newest commits."""
    from kl_hooks.evidence.commits import commit_log

    with ws.store.reading() as db:
        recent = [path for one in commit_log(db, 3) for path in one.files[:10]] if db else []
    inside = (
        PurePosixPath(folder).relative_to(ws.root).parts
        if folder and PurePosixPath(folder).is_relative_to(ws.root)
        else ()
    )
    return [ws.root.name, *inside, *recent]


def opened(ws: Workspace, record: Record) -> None:
    """Notes that somebody asked for it by its id."""
    append_events(ws, [Event(OPENED, record.id)])
