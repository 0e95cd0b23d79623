"""Retention: maintenance policies of memory in tiers. Each is idempotent, and decides by the stored times and now.

A change names no actor, key or number: what upkeep shows is shown to everybody, and entries are their owner's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from kl_hooks.hookspecs import Policy
from kl_hooks.model.lifecycle import Change
from kl_hooks.tiers.contexts import ARCHIVE, DAY, archive_entries, stale_entries
from kl_hooks.tiers.entries import Caller, reading, writing
from kl_hooks.tiers.pools import close_expired, has_expired
from kl_hooks.tiers.router import consolidate, expired_owners

if TYPE_CHECKING:
    from kl_hooks.model.lifecycle import Lifecycle
    from kl_hooks.store.database import Database
    from kl_hooks.workspace import Workspace

_SESSIONS, _CONTEXTS, _POOLS, _EVENTS = "open sessions", "stale entries", "expired pools", "tier events"
_UPKEEP: Final = Caller("kl", "upkeep")
_ORPHANED: Final = (
    "at < ? AND ((tier = 'short' AND subject NOT IN (SELECT id FROM short_entry))"
    " OR (tier = 'shared' AND name = 'read'))"
)
"""Events that no count needs any more. Those of a pool's changes stay: its version is their number."""


def policies() -> list[Policy]:
    """Return the policies."""
    return [
        _policy(_SESSIONS, "What sessions left behind is promoted or removed, as if they were closed.", "consolidate",
                "short-term entries have expired", _has_expired_entries, _close_sessions),
        _policy(_CONTEXTS, "Entries of contexts that are stale, or beyond their limits, are archived.", "archive",
                f"staleness of {ARCHIVE} or more, or beyond the limits of the context", _has_stale, _archive_stale),
        _policy(_POOLS, "Pools that have expired are closed, and values that have expired removed.", "close",
                "pools or values have expired", _has_expired_pools, _close_expired),
        _policy(_EVENTS, "Accesses of what is no longer there are deleted.", "purge",
                "older than package_log_days, of what is no longer there", _has_old_events, _purge_events),
    ]  # fmt: skip


_Look = Callable[["Workspace", "Database", int, int], bool]
"""(workspace, database, now, days of the log of packages) → whether there is something to do."""


def _policy(
    name: str, description: str, verb: str, reason: str, look: _Look,
    act: Callable[[Workspace, Database, int], None],
) -> Policy:  # fmt: skip
    find = partial(_find, change=Change(verb, "tiers", name, reason), look=look)
    return Policy(name, description, find, partial(_apply, act=act))


def _find(ws: Workspace, numbers: Lifecycle, now: int, *, change: Change, look: _Look) -> Sequence[Change]:
    with reading(ws, counted=True) as db:
        return [change] if db is not None and look(ws, db, now, numbers.package_log_days) else []


def _apply(
    ws: Workspace, changes: Sequence[Change], now: int, *, act: Callable[[Workspace, Database, int], None]
) -> None:
    # one transaction: killed anywhere, the next run begins from what was there
    with writing(ws, "upkeep") as db:
        act(ws, db, now)


def _has_expired_entries(ws: Workspace, db: Database, now: int, days: int) -> bool:
    return bool(expired_owners(db, now))


def _close_sessions(ws: Workspace, db: Database, now: int) -> None:
    for owner in expired_owners(db, now):
        # only what has expired: a session that is still open keeps what it has read often
        consolidate(ws, db, owner, only_expired=True)


def _has_stale(ws: Workspace, db: Database, now: int, days: int) -> bool:
    return bool(stale_entries(db, now))


def _archive_stale(ws: Workspace, db: Database, now: int) -> None:
    archive_entries(db, _UPKEEP, now, stale_entries(db, now), "upkeep")


def _has_expired_pools(ws: Workspace, db: Database, now: int, days: int) -> bool:
    return has_expired(db, now)


def _close_expired(ws: Workspace, db: Database, now: int) -> None:
    close_expired(db, now, _UPKEEP)


def _has_old_events(ws: Workspace, db: Database, now: int, days: int) -> bool:
    return bool(days and db.row(f"SELECT 1 FROM tier_event WHERE {_ORPHANED} LIMIT 1", (now - days * DAY,)))


def _purge_events(ws: Workspace, db: Database, now: int) -> None:
    from kl_hooks.config.settings import load_lifecycle

    days = load_lifecycle(ws.root, ws.state.cache)[0].package_log_days
    if days:
        db.execute(f"DELETE FROM tier_event WHERE {_ORPHANED}", (now - days * DAY,))
