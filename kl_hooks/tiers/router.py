"""The router, one way to write, read, forget, list and search what is in all tiers; working and
short-term memory.

Working memory is what an agent keeps for minutes or hours, private to it and its session. It is in
the cache directory, so losing it costs work and no knowledge; with `kl.redis` it is on a server,
for an agent that works on several machines.

A read goes through working, short-term, long-term and shared memory; the first hit wins and names
its tier. Closing a session promotes what was read three times or more, also where it has expired
meanwhile: no clock outruns it.
"""

from __future__ import annotations

import getpass
import json
import os
import platform
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.errors import EnvironmentProblem, UsageProblem
from kl_hooks.hookspecs import Removal
from kl_hooks.index.vectors import embed, embedder_of
from kl_hooks.model.canonical import digest
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.symbol import RECORD_ID
from kl_hooks.model.text import one_line
from kl_hooks.records.liveness import not_live_reason
from kl_hooks.records.prompt_injection import injection_reasons
from kl_hooks.records.query import get_records
from kl_hooks.records.sync import sync
from kl_hooks.store.database import chunks, placeholders
from kl_hooks.store.values import DiskValues
from kl_hooks.tiers.contexts import (
    ContextEntry,
    EntryOptions,
    Nearness,
    forget_entry,
    list_contexts,
    list_entries,
    promote_entries,
    read_entry,
    words,
    write_entry,
)
from kl_hooks.tiers.entries import (
    SECOND,
    Caller,
    Entry,
    TierEvent,
    access_counts,
    checked_choice,
    checked_key,
    checked_ttl,
    checked_type,
    encoded,
    insert_events,
    reading,
    record_access,
    split_path,
    tier_policy,
    writing,
)
from kl_hooks.tiers.pools import (
    DEFAULT_POOL,
    close_pools_of_session,
    list_pools,
    pool_values,
    read_pool,
    write_pool,
)

if TYPE_CHECKING:
    from kl_hooks.hookspecs import Policy
    from kl_hooks.store.database import Database, Row
    from kl_hooks.store.values import RedisValues
    from kl_hooks.workspace import Workspace


TIER: Final = "working"
_HOUR: Final = 3600
_MOST_WORKING_TTL: Final = 24 * _HOUR
_WORKING_TTL: Final = {"task_state": 2 * _HOUR, "conversation": 4 * _HOUR}
"""Type → seconds; all others an hour."""


class WorkingMemory:
    """The working memory of one caller."""

    def __init__(self, ws: Workspace, caller: Caller) -> None:
        self._ws, self._caller = ws, caller
        self._values: DiskValues | RedisValues | None = None
        self._note = ""

    @property
    def note(self) -> str:
        """Why it does less than was asked for; empty: it does all of it."""
        return self._note or (self._values.note if self._values is not None else "")

    def write(
        self,
        key: str,
        value: Any,
        *,
        ttl: int | None = None,
        type: str = "",
        append: bool = False,
        to: str = "",
    ) -> Entry:
        """Store a value. `append`: at the end of the list there. `to`: an actor who alone can read
        it, from us.

        EnvironmentProblem where it can't be stored.
        """
        key, name = checked_key(key), checked_type(type)
        seconds = checked_ttl(ttl, _WORKING_TTL.get(name, _HOUR), _MOST_WORKING_TTL)
        now = self._ws.clock.now()
        if to:
            place = self._shared_key(to, self._caller.actor, key)
        else:
            place = self._key(key)
        if append and ttl is None and (entry := self._decoded(key, self._open().get(place))):
            # what was to last longer is not shortened by another item
            seconds = max(seconds, -((now - entry.expires) // SECOND))
        # what is stored, redacted: the list that it is appended to has redacted values too
        new_value = json.loads(encoded(value))

        def change(before: bytes | None) -> bytes:
            whole = new_value
            if append:
                earlier = self._decoded(key, before)
                whole = [*_as_list(earlier, key), new_value]
            plain = {
                "value": whole,
                "type": name,
                "at": now,
                "expires": now + seconds * SECOND,
                "by": self._caller.actor,
            }
            encoded(whole)  # with what was there before it may have become too large
            return json.dumps(plain, ensure_ascii=False).encode()

        stored = self._open().change(place, change, seconds)
        stored_entry = self._decoded(key, stored)
        assert stored_entry is not None
        return stored_entry

    def read(self, key: str, sender: str = "") -> Entry | None:
        """Return the caller's entry of this session, or what `sender` shared with the caller."""
        key = checked_key(key)
        if sender:
            place = self._shared_key(self._caller.actor, sender, key)
        else:
            place = self._key(key)
        return self._decoded(key, self._open().get(place))

    def delete(self, key: str) -> bool:
        """Remove an entry; return whether there was one."""
        return self._open().delete(self._key(checked_key(key)))

    def entries(self) -> list[Entry]:
        """Return the caller's entries of this session, by key."""
        prefix = self._key("")[:-3]  # without the empty key and the bracket
        keys = [json.loads(key)[2] for key in self._open().keys(prefix)]
        entries = (self.read(key) for key in sorted(keys))
        return [entry for entry in entries if entry is not None]

    def clear(self) -> int:
        """Remove the caller's entries of this session; return how many."""
        return sum(self.delete(one.key) for one in self.entries())

    def _open(self) -> DiskValues | RedisValues:
        if self._values is None:
            place = self._ws.state.cache
            url = self._ws.settings.redis
            # a folder of its own: what is derived must not push out what cannot be derived again
            local = DiskValues(place / TIER)
            self._values = local
            if url:
                from kl_hooks.store.values import RedisValues

                try:
                    self._values = RedisValues(url, self._owner(), self._ws.environ, local)
                except (
                    EnvironmentProblem
                ) as problem:  # no library: as where the server can't be reached
                    self._note = (
                        f"{problem.reason} Working memory is on this machine. {problem.hint}"
                    )
        return self._values

    def _owner(self) -> str:
        """On a server: the repository and the person, as digits. Another repository in a folder of
        the same path, as in containers, has other keys; a clone on another machine has the same.
        """
        from kl_hooks.git.identity import person, repository_identity

        repo = self._ws.repo
        identity = repository_identity(repo) if repo else ""
        # a repository without a commit, or no repository, is on this machine alone
        identity = identity or f"{platform.node()}:{self._ws.state.directory}"
        login = f"{getpass.getuser()}@{platform.node()}"
        owner = [identity, (person(repo) if repo else "") or login]
        return digest("working-memory/1", owner)[:24]

    def _key(self, key: str) -> str:
        # as JSON, whose quotes keep an actor's name from running into the session or the key
        return json.dumps([*self._caller, key])

    def _shared_key(self, receiver: str, sender: str, key: str) -> str:
        # four parts, where `_key` has three: no session is named like this
        return json.dumps([receiver, "shared", sender, key])

    def _decoded(self, key: str, stored: bytes | None) -> Entry | None:
        """Return the entry; None for what has expired by our clock, or is not what we wrote."""
        # anything odd is a miss: on a shared server another program may have written it
        try:
            plain = json.loads(stored or b"null")
            source = f"working memory, session {self._caller.session}"
            entry = Entry(
                key,
                plain["value"],
                TIER,
                source,
                str(plain["by"]),
                self._caller.session,
                str(plain["type"]),
                int(plain["at"]),
                int(plain["expires"]),
            )
        except (ValueError, TypeError, KeyError):
            return None
        if entry.is_live(self._ws.clock.now()):
            return entry
        return None


def shared_values(ws: Workspace, _is_dry_run: bool) -> list[Removal]:
    """Name the Redis server, where working memory is in one. Its values stay until they expire."""
    if not ws.settings.redis:
        return []
    reason = "values of working memory expire there within a day."
    return [Removal("Redis", "working memory", reason)]  # its address may hold a password


def _as_list(entry: Entry | None, key: str) -> list[Any]:
    if entry is None:
        return []
    if not isinstance(entry.value, list):
        hint = "Forget it first, or take another key."
        raise UsageProblem(
            "its value is no list, so nothing can be appended.", place=one_line(key, 100), hint=hint
        )
    return entry.value


TIERS: Final = ("working", "short", "long", "shared")
TIER_ALIASES: Final = {
    "working_memory": "working",
    "short_term": "short",
    "stm": "short",
    "long_term": "long",
    "ltm": "long",
    "pool": "shared",
}
_PROMOTED_FROM: Final = 3
"""Accesses."""
_NEAR: Final = 0.2
"""Cosine from which a value is about what was asked, as in a search of documents."""
_MEANT: Final = 2000
"""Characters of a value that a model is asked about."""
_ENOUGH: Final = 0.7
"""Share of the words asked for that a hit has."""
_SAVED_TTL: Final = 86_400
_TTL: Final = 3600
_MOST_TTL: Final = 7 * 86_400
_COLUMNS: Final = "id, actor, session, key, type, value, at, expires"


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
        self,
        key: str,
        value: Any,
        tier: str = "short",
        *,
        ttl: int | None = None,
        type: str = "",
        options: EntryOptions | None = None,
    ) -> Entry:
        """Store a value under a key in one tier; `shared` is the pool `default`."""
        chosen = _checked_tier(tier)
        if ttl is not None and chosen in ("long", "shared"):
            raise UsageProblem(
                f"{chosen} memory has no ttl.", place="ttl", hint="See: kl pool create --value-ttl"
            )
        if chosen == "working":
            return self.working.write(key, value, ttl=ttl, type=type)
        if chosen == "short":
            return _write_short_term(self._ws, self.caller, key, value, ttl=ttl, type=type)
        if chosen == "long":
            return _of_context(
                write_entry(self._ws, self.caller, "", key, value, options, dotted=False)
            )
        pool = write_pool(self._ws, self.caller, DEFAULT_POOL, key, value)
        source = f"pool {pool.name}, version {pool.version}"
        return Entry(key, value, "shared", source, self.caller.actor, at=self._ws.clock.now())

    def read(self, key: str, tier: str = "", sender: str = "") -> Entry | None:
        """Return the first hit, or None. `tier`: only there; `sender`: what that actor shared with
        the caller.
        """
        chosen = _checked_tier(tier) if tier else ""
        if sender:
            return self.working.read(key, sender)
        # in the order of what costs least: most reads of a session end in its working memory
        for name, find in (
            ("working", self.working.read),
            ("short", self._short),
            ("long", self._long),
            ("shared", self._shared),
        ):
            if chosen in ("", name) and (entry := find(key)) is not None:
                return entry
        return None

    def forget(self, key: str, tier: str = "") -> list[str]:
        """Remove a key of the caller's own; return from which tiers. UsageProblem for shared
        memory.
        """
        chosen = _checked_tier(tier) if tier else ""
        if chosen == "shared":
            hint = f"Its writers remove it with: {self.removal_command(key)}"
            raise UsageProblem(
                "what is shared is not forgotten by one of many.", place=key, hint=hint
            )
        if chosen in ("", "working") and self.working.delete(key):
            removed = ["working"]
        else:
            removed = []
        if chosen in ("", "short"):
            with writing(self._ws, "short-term memory") as db:
                short_entries = _short_term_entries(self._ws, db, self.caller, key, expired=True)
                _delete_short_term(db, [entry.id for entry in short_entries])
                insert_events(
                    db, self._ws.clock.now(), _removals(short_entries, "deleted", self.caller)
                )
            if short_entries:
                removed += ["short"]
        if chosen in ("", "long") and forget_entry(self._ws, self.caller, key):
            removed.append("long")
        return removed

    @staticmethod
    def removal_command(key: str, pool: str = DEFAULT_POOL) -> str:
        """Return the command that removes a dotted key from a pool: null, merged into it."""
        value: Any = None
        for part in reversed(split_path(key)):
            value = {part: value}
        return f"kl pool merge {pool} {shlex.quote(json.dumps(value, ensure_ascii=False))}"

    def entries(self, tier: str = "", *, all_sessions: bool = False) -> list[Entry]:
        """Return what the caller may read, tier by tier, with counts of accesses."""
        chosen = _checked_tier(tier) if tier else ""
        if chosen in ("", "working"):
            entries = self.working.entries()
        else:
            entries = []
        with reading(self._ws, counted=True) as db:
            if db is not None:
                entries += self._rows(db, chosen, all_sessions)
        return entries

    def _rows(self, db: Database, chosen: str, all_sessions: bool) -> Iterator[Entry]:
        if chosen in ("", "short"):
            yield from _short_term_entries(self._ws, db, self.caller, all_sessions=all_sessions)
        if chosen in ("", "long"):
            yield from (_of_context(one) for one in list_entries(db, self.caller))
        if chosen in ("", "shared"):
            yield from pool_values(self._ws, db, self.caller)

    def search(self, text: str, limit: int = 10, tier: str = "") -> list[tuple[Entry, float]]:
        """Return the entries that have most of the words of a text, best first, each with the share
        that it has; then those that are near it in meaning, each with its cosine, where a model on
        this machine knows it.
        """
        wanted = words(text)
        entries = self.entries(tier)
        shares = [
            (entry, _share_of_words(wanted, words(f"{entry.key} {encoded(entry.value)}")))
            for entry in entries
        ]
        by_words = [pair for pair in shares if pair[1] >= _ENOUGH]
        others = [entry for entry, share in shares if share < _ENOUGH]
        if others and len(by_words) < limit:
            nearness = _nearness(self._ws)
        else:
            nearness = None
        texts = [f"{entry.key}: {encoded(entry.value)}"[:_MEANT] for entry in others]
        cosines = nearness(text, texts) if nearness else ()
        by_meaning = [
            pair for pair in zip(others, cosines, strict=bool(cosines)) if pair[1] >= _NEAR
        ]
        # key last, so that equal scores have one order
        return [
            pair
            for ranked in (by_words, by_meaning)
            for pair in sorted(ranked, key=lambda pair: (-pair[1], pair[0].tier, pair[0].key))
        ][:limit]

    def statistics(self) -> dict[str, Any]:
        """Return the counts of each tier, of what the caller may read."""
        entries = self.entries(all_sessions=True)
        with reading(self._ws) as db:
            contexts = list_contexts(db, self.caller)
        per_tier = {tier: [entry for entry in entries if entry.tier == tier] for tier in TIERS}
        counts = {
            tier: {
                "entries": len(some),
                "bytes": sum(len(encoded(entry.value).encode()) for entry in some),
                "accesses": sum(entry.accesses for entry in some),
                "due_for_promotion": (
                    sum(entry.accesses >= _PROMOTED_FROM for entry in some)
                    if tier == "short"
                    else 0
                ),
            }
            for tier, some in per_tier.items()
        }
        return {
            "tiers": counts,
            "contexts": len(contexts),
            "pools": len(list_pools(self._ws, self.caller)),
        }

    def save(self) -> int:
        """Copy working memory of this session into short-term memory, for a day; return how many
        entries.
        """
        entries = self.working.entries()
        for entry in entries:
            _write_short_term(
                self._ws, self.caller, entry.key, entry.value, ttl=_SAVED_TTL, type=entry.type
            )
        return len(entries)

    def load(self) -> int:
        """Copy short-term memory of this session into working memory; return how many entries."""
        with reading(self._ws) as db:
            if db is not None:
                entries = _short_term_entries(self._ws, db, self.caller)
            else:
                entries = []
        for entry in entries:
            self.working.write(entry.key, entry.value, type=entry.type)
        return len(entries)

    def close(self) -> Closed:
        """Close the session: promote what was read often, remove what has expired, and close its
        pools.
        """
        with writing(self._ws, "closing a session") as db:
            closed = consolidate(self._ws, db, self.caller)
            # in the transaction that promotes: a session is closed wholly or not at all
            pools = close_pools_of_session(db, self._ws.clock.now(), self.caller)
        return closed._replace(pools=tuple(pools), working=self.working.clear())

    def _short(self, key: str) -> Entry | None:
        return _read_short_term(self._ws, self.caller, key)

    def _long(self, key: str) -> Entry | None:
        entry_and_value = read_entry(self._ws, self.caller, "", key)
        if entry_and_value:
            return _of_context(entry_and_value[0], key, entry_and_value[1])
        return self._memory(key)

    def _memory(self, key: str) -> Entry | None:
        """A memory of the repository by its ID, where it may be shown to somebody."""
        if not RECORD_ID.fullmatch(key) or "memory" not in self._ws.kinds:
            return None
        # another process may have approved it since
        sync(self._ws, ("memory",))
        memories = [
            record
            for record in get_records(self._ws, [key])
            if record.kind == "memory" and not not_live_reason(self._ws, record)
        ]
        if not memories:
            return None
        record = memories[0]
        return Entry(
            key,
            record.text("pattern"),
            "long",
            f"memory {record.id}",
            record.authority,
            more={"record": record.id},
        )

    def _shared(self, key: str) -> Entry | None:
        # `default` first, then by name: two pools may have one key, and the answer must not depend
        # on chance
        for pool in list_pools(self._ws, self.caller):
            try:
                return read_pool(self._ws, self.caller, pool.name, key)[1]
            except UsageProblem:  # not in this one
                continue
        return None


def consolidate(
    ws: Workspace, db: Database, caller: Caller, *, only_expired: bool = False
) -> Closed:
    """Promote the short-term entries of a session that were read often, and remove those that have
    expired.

    `only_expired`: of the former only what has expired too; the session goes on.
    """
    now = ws.clock.now()
    entries = _short_term_entries(ws, db, caller, expired=True)
    if only_expired:
        entries = [entry for entry in entries if not entry.is_live(now)]
    often = [entry for entry in entries if entry.accesses >= _PROMOTED_FROM]
    expired = [entry for entry in entries if entry not in often and not entry.is_live(now)]
    promoted = promote_entries(db, caller, now, often, _nearness(ws) if often else None)
    _delete_short_term(db, [entry.id for entry in (*often, *expired)])
    insert_events(db, now, _removals(expired, "expired", caller))
    return Closed(tuple(promoted), len(expired), len(entries) - len(often) - len(expired))


def _nearness(ws: Workspace) -> Nearness | None:
    """How near texts are in meaning, by a model on this machine; None without one."""
    try:
        model = embedder_of(ws)
    except EnvironmentProblem:
        return None
    # what an agent stores for itself does not leave this machine
    if not model.local:
        return None

    def nearness(text: str, others: Sequence[str]) -> Sequence[float]:
        try:
            rows = embed(model, [text, *others])
        except EnvironmentProblem:  # a model that fails must not keep a session from closing
            return [0.0] * len(others)
        return [float(one) for one in rows[1:] @ rows[0]]

    return nearness


def _checked_tier(name: str) -> str:
    """Return the canonical name of a tier. UsageProblem for an unknown one."""
    return checked_choice(name, TIERS, "tier", TIER_ALIASES)


def suspicion(entry: Entry, caller: Caller) -> str:
    """Return why a value that somebody else wrote should not be followed; empty: it reads like
    data.
    """
    # one's own words are no surprise; a warning at each of them would be read by nobody
    if entry.by == caller.actor:
        return ""
    return "; ".join(
        injection_reasons(entry.value if isinstance(entry.value, str) else encoded(entry.value))
    )


def _removals(entries: Sequence[Entry], name: str, caller: Caller) -> list[TierEvent]:
    return [TierEvent(name, "short", one.id, caller, {"key": one.key}) for one in entries]


def _of_context(entry: ContextEntry, key: str = "", value: Any = None) -> Entry:
    source = f"context {entry.context}, version {entry.version}"
    return Entry(
        key or entry.key,
        value if key else entry.value,
        "long",
        source,
        entry.actor,
        type=entry.type,
        at=entry.at,
        accesses=entry.accesses,
        id=entry.id,
        more={"context": entry.context, "importance": entry.importance},
    )


def _write_short_term(
    ws: Workspace, caller: Caller, key: str, value: Any, *, ttl: int | None = None, type: str = ""
) -> Entry:
    """Store a value, in the place of the caller's earlier one in this session; its count of
    accesses goes on.
    """
    key, name, encoded_value = checked_key(key), checked_type(type), encoded(value)
    now = ws.clock.now()
    expires = now + checked_ttl(ttl, _TTL, _MOST_TTL) * SECOND
    place = (caller.actor, caller.session, key)
    content = (name, encoded_value, now, expires)
    with writing(ws, "short-term memory") as db:
        # the ID stays where there is a row, so its accesses go on
        db.execute(
            f"INSERT INTO short_entry ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
            " ON CONFLICT DO NOTHING",
            (os.urandom(8).hex(), *place, *content),
        )
        db.execute(
            "UPDATE short_entry SET type = ?, value = ?, at = ?, expires = ?"
            " WHERE actor = ? AND session = ? AND key = ?",
            (*content, *place),
        )
        return _short_term_entries(ws, db, caller, key)[0]


def _read_short_term(ws: Workspace, caller: Caller, key: str) -> Entry | None:
    """Return the caller's entry of this session if it has not expired, and count the access."""
    with reading(ws) as db:
        sql = f"SELECT {_COLUMNS} FROM short_entry WHERE actor = ? AND session = ? AND key = ?"
        if db is not None:
            row = db.row(sql, (*caller, checked_key(key)))
        else:
            row = None
    if row is None or not (entry := _entry(row)).is_live(ws.clock.now()):
        return None
    record_access(ws, "short", entry.id, caller)
    return entry


def _short_term_entries(
    ws: Workspace,
    db: Database,
    caller: Caller,
    key: str = "",
    *,
    all_sessions: bool = False,
    expired: bool = False,
) -> list[Entry]:
    """Return the caller's entries with their counts of accesses, by key. `expired`: those too."""
    # the actor is in every condition: there is no way to ask for everybody's
    conditions = [("actor", caller.actor)]
    if not all_sessions:
        conditions += [("session", caller.session)]
    if key:
        conditions += [("key", key)]
    where = " AND ".join(f"{column} = ?" for column, _ in conditions)
    sql = f"SELECT {_COLUMNS} FROM short_entry WHERE {where} ORDER BY key, session"
    entries = [_entry(row) for row in db.rows(sql, [value for _, value in conditions])]
    counts = access_counts(db, "short", [entry.id for entry in entries])
    now = ws.clock.now()
    return [
        replace(entry, accesses=counts[entry.id][0])
        for entry in entries
        if expired or entry.is_live(now)
    ]


def _delete_short_term(db: Database, ids: Sequence[str]) -> None:
    """Remove rows, in the caller's transaction. What happened to them stays in the events."""
    for batch in chunks(ids):
        db.execute(f"DELETE FROM short_entry WHERE id IN ({placeholders(batch)})", batch)


def _expired_owners(db: Database, now: int) -> list[Caller]:
    """Return whose entries, in which sessions, have expired."""
    sql = (
        "SELECT DISTINCT actor, session FROM short_entry WHERE expires <= ? ORDER BY actor, session"
    )
    return [Caller(actor, of) for actor, of in db.rows(sql, (now,))]


def sessions_policy() -> Policy:
    """Return the policy that closes sessions whose entries have expired."""
    return tier_policy(
        "open sessions",
        "What sessions left behind is promoted or removed, as if they were closed.",
        "consolidate",
        "short-term entries have expired",
        lambda ws, db, now, days: bool(_expired_owners(db, now)),
        _close_sessions,
    )


def _close_sessions(ws: Workspace, db: Database, now: int) -> None:
    for owner in _expired_owners(db, now):
        # only what has expired: a session that is still open keeps what it has read often
        consolidate(ws, db, owner, only_expired=True)


def _entry(row: Row) -> Entry:
    identifier, actor, session, key, type, value, written_at, expires = row
    return Entry(
        key,
        json.loads(value),
        "short",
        f"short-term memory, session {session}",
        actor,
        session,
        type,
        written_at,
        expires,
        id=identifier,
    )


def _share_of_words(wanted: Counter[str], text: Counter[str]) -> float:
    """Return which share of the words that are asked for a text has."""
    if not wanted:
        return 0.0
    return sum(1 for word in wanted if word in text) / len(wanted)
