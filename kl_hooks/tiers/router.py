"""The router: one way to write, read, forget, list and search what is in all tiers, for one caller.

A read goes through working, short-term, long-term and shared memory; the first hit wins and names its tier. Closing a
session promotes what was read three times or more, also where it has expired meanwhile: no clock outruns it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kl_hooks.errors import UsageProblem
from kl_hooks.model.symbol import RECORD_ID
from kl_hooks.records.liveness import not_live_reason
from kl_hooks.records.prompt_injection import injection_reasons
from kl_hooks.records.query import get_records
from kl_hooks.records.sync import sync
from kl_hooks.tiers.contexts import (
    ContextEntry,
    EntryOptions,
    forget_entry,
    list_contexts,
    list_entries,
    promote_entries,
    read_entry,
    write_entry,
)
from kl_hooks.tiers.entries import Caller, Entry, TierEvent, checked_choice, encoded, insert_events, reading, writing
from kl_hooks.tiers.pools import (
    DEFAULT_POOL,
    close_pools,
    list_pools,
    pool_values,
    pools_of_session,
    read_pool,
    write_pool,
)
from kl_hooks.tiers.scores import share_of_words, words
from kl_hooks.tiers.short_term import delete_short_term, read_short_term, short_term_entries, write_short_term
from kl_hooks.tiers.working import WorkingMemory

if TYPE_CHECKING:
    from kl_hooks.store.database import Database
    from kl_hooks.workspace import Workspace

TIERS: Final = ("working", "short", "long", "shared")
TIER_ALIASES: Final = {
    "working_memory": "working", "short_term": "short", "stm": "short", "long_term": "long", "ltm": "long",
    "pool": "shared",
}  # fmt: skip
PROMOTED_FROM: Final = 3
"""Accesses."""
_ENOUGH: Final = 0.7
"""Share of the words asked for that a hit has."""
_SAVED_TTL: Final = 86_400


class Closed(NamedTuple):
    """What closing a session did."""

    promoted: tuple[ContextEntry, ...] = ()
    expired: int = 0
    """Entries that had expired and were not promoted: they are removed."""
    left: int = 0
    """Entries that live on until they expire."""
    pools: tuple[str, ...] = ()
    """Closed with it."""
    working: int = 0
    """Entries of working memory that were removed."""


class Memory:
    """All tiers, as one caller sees them."""

    def __init__(self, ws: Workspace, caller: Caller) -> None:
        self._ws, self.caller = ws, caller
        self.working = WorkingMemory(ws, caller)

    def write(
        self, key: str, value: Any, tier: str = "short", *, ttl: int | None = None, type: str = "",
        options: EntryOptions | None = None,
    ) -> Entry:  # fmt: skip
        """Store a value under a key in one tier; `shared` is the pool `default`."""
        chosen = checked_tier(tier)
        if ttl is not None and chosen in ("long", "shared"):
            raise UsageProblem(f"{chosen} memory has no ttl.", place="ttl", hint="See: kl pool create --value-ttl")
        if chosen == "working":
            return self.working.write(key, value, ttl=ttl, type=type)
        if chosen == "short":
            return write_short_term(self._ws, self.caller, key, value, ttl=ttl, type=type)
        if chosen == "long":
            return _of_context(write_entry(self._ws, self.caller, "", key, value, options, dotted=False))
        pool = write_pool(self._ws, self.caller, DEFAULT_POOL, key, value)
        source = f"pool {pool.name}, version {pool.version}"
        return Entry(key, value, "shared", source, self.caller.actor, at=self._ws.clock.now())

    def read(self, key: str, tier: str = "", sender: str = "") -> Entry | None:
        """Return the first hit, or None. `tier`: only there; `sender`: what that actor shared with the caller."""
        chosen = checked_tier(tier) if tier else ""
        if sender:
            return self.working.read(key, sender)
        # in the order of what costs least: most reads of a session end in its working memory
        for name, find in (("working", self.working.read), ("short", self._short), ("long", self._long),
                           ("shared", self._shared)):  # fmt: skip
            if chosen in ("", name) and (found := find(key)) is not None:
                return found
        return None

    def forget(self, key: str, tier: str = "") -> list[str]:
        """Remove a key of the caller's own; return from which tiers. UsageProblem for shared memory."""
        chosen = checked_tier(tier) if tier else ""
        if chosen == "shared":
            hint = "Its writers may merge null into the key: kl pool merge"
            raise UsageProblem("what is shared is not forgotten by one of many.", place=key, hint=hint)
        removed = ["working"] if chosen in ("", "working") and self.working.delete(key) else []
        if chosen in ("", "short"):
            with writing(self._ws, "short-term memory") as db:
                found = short_term_entries(self._ws, db, self.caller, key, expired=True)
                delete_short_term(db, [one.id for one in found])
                insert_events(db, self._ws.clock.now(), _removals(found, "deleted", self.caller))
            removed += ["short"] if found else []
        if chosen in ("", "long") and forget_entry(self._ws, self.caller, key):
            removed.append("long")
        return removed

    def entries(self, tier: str = "", *, all_sessions: bool = False) -> list[Entry]:
        """Return what the caller may read, tier by tier, with counts of accesses."""
        chosen = checked_tier(tier) if tier else ""
        found = self.working.entries() if chosen in ("", "working") else []
        with reading(self._ws, counted=True) as db:
            if db is not None:
                found += self._rows(db, chosen, all_sessions)
        return found

    def _rows(self, db: Database, chosen: str, all_sessions: bool) -> Iterator[Entry]:
        if chosen in ("", "short"):
            yield from short_term_entries(self._ws, db, self.caller, all_sessions=all_sessions)
        if chosen in ("", "long"):
            yield from (_of_context(one) for one in list_entries(db, self.caller))
        if chosen in ("", "shared"):
            yield from pool_values(self._ws, db, self.caller)

    def search(self, text: str, limit: int = 10, tier: str = "") -> list[tuple[Entry, float]]:
        """Return the entries that have most of the words of a text, best first, each with the share that it has."""
        wanted = words(text)
        scored = [(one, share_of_words(wanted, words(f"{one.key} {encoded(one.value)}"))) for one in self.entries(tier)]
        # key last, so that equal scores have one order
        best = sorted(
            (pair for pair in scored if pair[1] >= _ENOUGH), key=lambda pair: (-pair[1], pair[0].tier, pair[0].key)
        )
        return best[:limit]

    def statistics(self) -> dict[str, Any]:
        """Return the counts of each tier, of what the caller may read."""
        found = self.entries(all_sessions=True)
        with reading(self._ws) as db:
            contexts = list_contexts(db, self.caller)
        per_tier = {tier: [one for one in found if one.tier == tier] for tier in TIERS}
        counts = {
            tier: {
                "entries": len(some), "bytes": sum(len(encoded(one.value).encode()) for one in some),
                "accesses": sum(one.accesses for one in some),
                "due_for_promotion": sum(one.accesses >= PROMOTED_FROM for one in some) if tier == "short" else 0,
            }
            for tier, some in per_tier.items()
        }  # fmt: skip
        return {"tiers": counts, "contexts": len(contexts), "pools": len(list_pools(self._ws, self.caller))}

    def save(self) -> int:
        """Copy working memory of this session into short-term memory, for a day; return how many entries."""
        found = self.working.entries()
        for one in found:
            write_short_term(self._ws, self.caller, one.key, one.value, ttl=_SAVED_TTL, type=one.type)
        return len(found)

    def load(self) -> int:
        """Copy short-term memory of this session into working memory; return how many entries."""
        with reading(self._ws) as db:
            found = short_term_entries(self._ws, db, self.caller) if db is not None else []
        for one in found:
            self.working.write(one.key, one.value, type=one.type)
        return len(found)

    def close(self) -> Closed:
        """Close the session: promote what was read often, remove what has expired, and close its pools."""
        with writing(self._ws, "closing a session") as db:
            made = consolidate(self._ws, db, self.caller)
            # in the transaction that promotes: a session is closed wholly or not at all
            pools = pools_of_session(db, self.caller)
            close_pools(db, self._ws.clock.now(), self.caller, pools)
        return made._replace(pools=tuple(pools), working=self.working.clear())

    def _short(self, key: str) -> Entry | None:
        return read_short_term(self._ws, self.caller, key)

    def _long(self, key: str) -> Entry | None:
        found = read_entry(self._ws, self.caller, "", key)
        return _of_context(found[0], key, found[1]) if found else self._memory(key)

    def _memory(self, key: str) -> Entry | None:
        """A memory of the repository by its ID, where it may be shown to somebody."""
        if not RECORD_ID.fullmatch(key) or "memory" not in self._ws.kinds:
            return None
        # another process may have approved it since
        sync(self._ws, ("memory",))
        found = [
            one for one in get_records(self._ws, [key]) if one.kind == "memory" and not not_live_reason(self._ws, one)
        ]
        if not found:
            return None
        one = found[0]
        return Entry(key, one.text("pattern"), "long", f"memory {one.id}", one.authority, more={"record": one.id})

    def _shared(self, key: str) -> Entry | None:
        for pool in list_pools(self._ws, self.caller):
            try:
                return read_pool(self._ws, self.caller, pool.name, key)[1]
            except UsageProblem:  # not in this one
                continue
        return None


def consolidate(ws: Workspace, db: Database, caller: Caller, *, only_expired: bool = False) -> Closed:
    """Promote the short-term entries of a session that were read often, and remove those that have expired.

    `only_expired`: of the former only what has expired too; the session goes on.
    """
    now = ws.clock.now()
    found = short_term_entries(ws, db, caller, expired=True)
    if only_expired:
        found = [one for one in found if not one.is_live(now)]
    often = [one for one in found if one.accesses >= PROMOTED_FROM]
    expired = [one for one in found if one not in often and not one.is_live(now)]
    made = promote_entries(db, caller, now, often)
    delete_short_term(db, [one.id for one in (*often, *expired)])
    insert_events(db, now, _removals(expired, "expired", caller))
    return Closed(tuple(made), len(expired), len(found) - len(often) - len(expired))


def checked_tier(name: str) -> str:
    """Return the canonical name of a tier. UsageProblem for an unknown one."""
    return checked_choice(name, TIERS, "tier", TIER_ALIASES)


def suspicion(entry: Entry, caller: Caller) -> str:
    """Return why a value that somebody else wrote should not be followed; empty: it reads like data."""
    if entry.by == caller.actor:
        return ""
    return "; ".join(injection_reasons(entry.value if isinstance(entry.value, str) else encoded(entry.value)))


def _removals(entries: Sequence[Entry], name: str, caller: Caller) -> list[TierEvent]:
    return [TierEvent(name, "short", one.id, caller, {"key": one.key}) for one in entries]


def _of_context(one: ContextEntry, key: str = "", value: Any = None) -> Entry:
    source = f"context {one.context}, version {one.version}"
    return Entry(
        key or one.key, value if key else one.value, "long", source, one.actor, type=one.type, at=one.at,
        accesses=one.accesses, id=one.id, more={"context": one.context, "importance": one.importance},
    )  # fmt: skip
