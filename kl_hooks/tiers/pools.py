"""Pools: memory that several agents and people share, with access lists, a quota, and a version for
each change.

A write happens in one transaction of the store, which one process has at a time: nothing is lost
between two writers. Whoever must not overwrite what it has not seen gives the version that it read
(`if_version`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.errors import KlError, UsageProblem
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.text import one_line, slug
from kl_hooks.store.redaction import redact
from kl_hooks.tiers.entries import (
    SECOND,
    UPKEEP,
    Caller,
    Entry,
    TierEvent,
    access_counts,
    actor_name,
    checked_choice,
    checked_ttl,
    encoded,
    insert_events,
    merged,
    reading,
    record_access,
    split_path,
    tier_events,
    tier_policy,
    value_at,
    with_value_at,
    writing,
)
from kl_hooks.tiers.named_store import NamedStore, Sort, accessed

if TYPE_CHECKING:
    from kl_hooks.hookspecs import Policy
    from kl_hooks.store.database import Database, Row
    from kl_hooks.workspace import Workspace

_TIER: Final = "shared"
DEFAULT_POOL: Final = "default"
POOL_TYPES: Final = ("shared", "agent_private", "team_shared", "task_scoped", "global")
POOL_SCOPES: Final = ("account", "session", "task", "agent", "team", "global")
POOL_SCOPE_ALIASES: Final = {"persistent": "account", "execution": "session", "workflow": "task"}
EVICTIONS: Final = ("none", "oldest", "unused")
EVICTION_ALIASES: Final = {"fifo": "oldest", "lru": "unused", "reject": "none"}
LEVELS: Final = ("read", "write")
_PUBLIC: Final = "public"
_BULLETIN: Final = "agent_bulletin"
_CHANGES: Final = ("memory_pool_update", "memory_pool_key_write")
"""Events of which each is one change of the data: their number is the version of the pool."""
_MOST_BYTES: Final = 8_000_000
_LARGEST_POOL: Final = 64_000_000
_LONGEST: Final = 10 * 365 * 86_400
"""Seconds: ten years."""


class VersionConflict(KlError):
    """Somebody else changed the pool since it was read."""

    exit_code = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool(NamedStore):
    """One pool, without its data."""

    sort = Sort("pool", _TIER, "open pool", "kl pool", "open", "closed", "access", LEVELS)

    title: str
    session: str = ""
    """Of its owner, when it was made."""
    persist: bool = False
    expires: int = 0
    ttl: int = 0
    most_bytes: int = _MOST_BYTES
    eviction: str = "none"
    access: Mapping[str, Any]
    """`read` and `write`: lists of actors; `public`: whether everybody may read."""

    def is_live(self, now: int) -> bool:
        """Return whether it is neither closed nor expired."""
        return self.status == "open" and (not self.expires or now < self.expires)

    def granted(self, actor: str) -> str:
        """As `NamedStore.granted`: who is listed; of a shared, public pool everybody may write."""
        is_open = self.access["public"] and self.type in ("shared", "global")
        if self.type != "agent_private" and (is_open or actor in self.access["write"]):
            return "write"
        listed = (*self.access["read"], *self.access["write"])
        if self.access["public"] or actor in listed:
            return "read"
        return ""

    def with_grant(self, actor: str, level: str) -> Pool:
        """As `NamedStore.with_grant`; `public` as the actor: everybody may read."""
        if level and self.type == "agent_private":
            raise UsageProblem("an agent_private pool is for its owner alone.", place=self.name)
        if actor == _PUBLIC:
            return replace(self, access={**self.access, "public": bool(level)})
        lists = {
            name: sorted({*self.access[name]} - {actor} | ({actor} if name == level else set()))
            for name in LEVELS
        }
        return replace(self, access={**self.access, **lists})

    @staticmethod
    def grantee(actor: str) -> str:
        """As `NamedStore.grantee`; `public` is everybody."""
        if actor == _PUBLIC:
            return actor
        return actor_name(actor)

    @classmethod
    def get(cls, db: Database | None, name: str, now: int = 0) -> Pool | None:
        """As `NamedStore.get`; `default` is there before it is written."""
        stored_name = slug(redact(name))
        # with names: a dataclass with slots is another class than super() alone means
        stored = super(Pool, cls).get(db, stored_name)
        if stored is None and stored_name == DEFAULT_POOL:
            return _default(now)
        return stored


class PoolOptions(NamedTuple):
    """How a new pool is to be."""

    type: str = "shared"
    scope: str = "account"
    title: str = ""
    readers: Sequence[str] = ()
    writers: Sequence[str] = ()
    public: bool = False
    lifetime: int | None = None
    """Seconds until the whole pool expires."""
    ttl: int | None = None
    """Seconds until a value expires."""
    most_bytes: int = _MOST_BYTES
    eviction: str = "none"
    persist: bool = False


def create_pool(ws: Workspace, caller: Caller, name: str, options: PoolOptions) -> Pool:
    """Make a pool of the caller's. UsageProblem for a name that is taken, or options that
    contradict each other.
    """
    pool_name = slug(redact(name))
    type = checked_choice(options.type, POOL_TYPES, "type")
    scope = checked_choice(options.scope, POOL_SCOPES, "scope", POOL_SCOPE_ALIASES)
    eviction = checked_choice(options.eviction, EVICTIONS, "eviction", EVICTION_ALIASES)
    readers, writers = (
        [actor_name(one) for one in some] for some in (options.readers, options.writers)
    )
    if type == "agent_private" and (readers or writers or options.public):
        raise UsageProblem(
            "an agent_private pool is for its owner alone.",
            place=pool_name,
            hint="Type team_shared or shared.",
        )
    if not 1 <= options.most_bytes <= _LARGEST_POOL:
        raise UsageProblem(f"from 1 to {_LARGEST_POOL:,} bytes are possible.", place="max-bytes")
    now = ws.clock.now()
    if options.lifetime is not None:
        expires = now + checked_ttl(options.lifetime, 0, _LONGEST) * SECOND
    else:
        expires = 0
    title = redact(one_line(options.title or name, 120))
    pool = Pool(
        name=pool_name,
        title=title,
        type=type,
        scope=scope,
        owner=caller.actor,
        session=caller.session,
        status="open",
        persist=options.persist,
        expires=expires,
        ttl=checked_ttl(options.ttl, 0, _LONGEST),
        most_bytes=options.most_bytes,
        eviction=eviction,
        access={
            "read": readers,
            "write": writers,
            "public": options.public or type == "global",
        },
        at=now,
    )
    with writing(ws, "pools") as db:
        pool.create(db, caller, is_reserved=pool_name in ("", DEFAULT_POOL))
    return pool


def list_pools(ws: Workspace, caller: Caller) -> list[Pool]:
    """Return the open pools that the caller may read: `default` first, then by name."""
    with reading(ws) as db:
        return Pool.readable(db, caller, DEFAULT_POOL, ws.clock.now())


def find_pool(ws: Workspace, caller: Caller, name: str) -> Pool:
    """Return a pool, as `NamedStore.find`."""
    with reading(ws) as db:
        return Pool.find(db, caller, name, now=ws.clock.now())


def read_pool(ws: Workspace, caller: Caller, name: str, path: str = "") -> tuple[Pool, Entry]:
    """Return a pool and the value at a dotted path of its data (all of it without a path); the
    access is counted.
    """
    with reading(ws) as db:
        pool = Pool.find(db, caller, name, now=ws.clock.now())
        keys = split_path(path) if path else []
        if db is not None:
            rows = _values(db, pool, ws.clock.now(), keys[:1])
        else:
            rows = []
    data = {row[0]: json.loads(row[1]) for row in rows}
    exists, value = value_at(data, keys)
    if not exists:
        raise UsageProblem(
            "there is no value.",
            place=f"{pool.name}: {one_line(path, 100)}",
            hint=f"See: kl pool show {pool.name}",
        )
    record_access(ws, _TIER, accessed(pool.name, *keys[:1]), caller)
    return pool, _entry(pool, path, value, rows)


def pool_values(ws: Workspace, db: Database, caller: Caller) -> list[Entry]:
    """Return every value at the top of every pool that the caller may read."""
    now = ws.clock.now()
    return [
        _entry(pool, row[0], json.loads(row[1]), [row])
        for pool in Pool.readable(db, caller, DEFAULT_POOL, now)
        for row in _values(db, pool, now)
    ]


def write_pool(
    ws: Workspace,
    caller: Caller,
    name: str,
    path: str,
    value: Any,
    *,
    if_version: int | None = None,
    merge: bool = False,
) -> Pool:
    """Put a value at a dotted path, or merge an object into what is there; return the pool with its
    new version.

    `merge`: key by key, and null removes a key (RFC 7396); without a path into the whole pool.
    VersionConflict where the pool is not at `if_version` any more: nothing is written. UsageProblem
    where the caller may not write, or the quota does not allow it.
    """
    keys = split_path(path) if path or not merge else []
    if not keys and not isinstance(value, dict):
        raise UsageProblem(
            "only an object can be merged into a pool.",
            place=name,
            hint='Such as: {"key": "value"}',
        )
    # redacted and measured as a whole first, so that no part of it is written where another part is
    # refused
    new_value = json.loads(encoded(value))
    now = ws.clock.now()
    changed: dict[str, tuple[Sequence[str], Any]]
    if keys:
        changed = {keys[0]: (keys[1:], new_value)}
    else:
        changed = {key: ((), item) for key, item in new_value.items()}
    with writing(ws, "pools") as db:
        pool = Pool.find(db, caller, name, "write", now)
        pool.insert(db)
        _refuse_other_version(pool, if_version)
        db.execute(
            "DELETE FROM pool_value WHERE pool = ? AND expires > 0 AND expires <= ?",
            (pool.name, now),
        )
        for key, (below, new) in changed.items():
            row = next(iter(_values(db, pool, now, [key])), None)
            old = json.loads(row[1]) if row else None
            _put(db, pool, caller, now, key, _after(old, below, new, merge=merge))
        evicted = _evict(db, pool, set(changed))
        written = replace(pool, version=pool.version + 1)
        db.execute("UPDATE pool SET version = ? WHERE name = ?", (written.version, pool.name))
        change = _change_event(pool, caller, path, written.version, now, merge)
        evictions = [pool.event("evicted", caller, {"key": key}) for key in evicted]
        insert_events(db, now, [change, *evictions])
        return written


def _refuse_other_version(pool: Pool, if_version: int | None) -> None:
    """VersionConflict where the caller read another version of the pool."""
    if if_version is not None and pool.version != if_version:
        reason = (
            f"is at version {pool.version}, not {if_version}: somebody changed it, and nothing"
            " was written."
        )
        raise VersionConflict(
            reason, place=pool.name, hint="Read it again, then write with the new version."
        )


def _after(old: Any, path: Sequence[str], new: Any, *, merge: bool) -> Any:
    if not merge:
        return with_value_at(old, path, new)
    return with_value_at(old, path, merged(value_at(old, path)[1], new))


def _put(db: Database, pool: Pool, caller: Caller, now: int, key: str, value: Any) -> None:
    """Store one value at the top; null in a merge removes it."""
    # deleted and inserted: an update would leave the version and writer of another value for a
    # moment
    db.execute("DELETE FROM pool_value WHERE pool = ? AND key = ?", (pool.name, key))
    if value is None:
        return
    text = encoded(value, f"{pool.name}: {one_line(key, 60)}")
    size = len(text.encode()) + len(key.encode())
    if size > pool.most_bytes:
        raise UsageProblem(
            f"is {size:,} bytes; the whole pool may have {pool.most_bytes:,}.", place=pool.name
        )
    expires = now + pool.ttl * SECOND if pool.ttl else 0
    sql = (
        "INSERT INTO pool_value (pool, key, value, size, version, actor, at, expires) VALUES (?, ?,"
        " ?, ?, ?, ?, ?, ?)"
    )
    db.execute(sql, (pool.name, key, text, size, pool.version + 1, caller.actor, now, expires))


def _evict(db: Database, pool: Pool, written: set[str]) -> list[str]:
    """Remove values until the pool fits its quota, never one that was just written; return their
    keys.
    """
    rows = db.rows("SELECT key, size, version FROM pool_value WHERE pool = ?", (pool.name,))
    over = sum(size for _, size, _ in rows) - pool.most_bytes
    if over <= 0:
        return []
    if pool.eviction != "none":
        evictable = [row for row in rows if row[0] not in written]
    else:
        evictable = []
    used = access_counts(db, _TIER, [accessed(pool.name, key) for key, _, _ in evictable])
    # by version and not by time: two writes of one microsecond, or of a clock that was set back,
    # have an order too
    if pool.eviction == "unused":
        evictable.sort(key=lambda row: (used[accessed(pool.name, row[0])][1], row[2], row[0]))
    else:
        evictable.sort(key=lambda row: (row[2], row[0]))
    evicted = list[str]()
    for key, size, _ in evictable:
        if over <= 0:
            break
        evicted, over = [*evicted, key], over - size
    if over > 0:
        reason = (
            f"would be {over:,} bytes over its quota of {pool.most_bytes:,}; nothing was written."
        )
        hint = "Merge null into keys that nobody needs, or make a pool with --eviction oldest."
        raise UsageProblem(reason, place=pool.name, hint=hint)
    db.many(
        "DELETE FROM pool_value WHERE pool = ? AND key = ?", [(pool.name, key) for key in evicted]
    )
    return evicted


def _change_event(
    pool: Pool, caller: Caller, path: str, version: int, now: int, merge: bool
) -> TierEvent:
    # names and keys of the body are those of the model, for programs that followed it (requirement
    # D15)
    if path:
        bulletin = split_path(path)[0] == _BULLETIN
    else:
        bulletin = False
    body = {
        "pool_id": pool.name,
        "key": redact(path),
        "writer_agent_id": caller.actor,
        "version": version,
        "timestamp": now,
        "is_bulletin": bulletin,
        "merge": merge,
    }
    return pool.event(_CHANGES[bulletin], caller, body)


def set_access(ws: Workspace, caller: Caller, name: str, actor: str, level: str) -> Pool:
    """Let an actor read or write a pool, or (level empty) neither; `public` as the actor: everybody
    may read.
    """
    return Pool.grant(ws, caller, name, actor, level)


def close_pool(ws: Workspace, caller: Caller, name: str) -> Pool:
    """Close a pool and remove its data; its owner may, and a person. UsageProblem for `default`."""
    with writing(ws, "pools") as db:
        # a person may close what he can't read: an agent that is never started again closes nothing
        now = ws.clock.now()
        pool = (caller.is_person and Pool.get(db, name, now)) or Pool.find(
            db, caller, name, now=now
        )
        if pool.name == DEFAULT_POOL:
            raise UsageProblem(
                "the pool `default` can't be closed.", place=name, hint="Merge null into its keys."
            )
        if caller.actor != pool.owner and not caller.is_person:
            raise UsageProblem(
                f"only its owner, {pool.owner}, or a person closes it.", place=pool.name
            )
        _close(db, now, caller, [pool.name])
        return replace(pool, status="closed")


def close_pools_of_session(db: Database, now: int, caller: Caller) -> list[str]:
    """Close the pools that end with a session of the caller's, in the caller's transaction; return
    their names.
    """
    sql = (
        "SELECT name FROM pool WHERE owner = ? AND session = ? AND status = 'open' AND persist = 0"
        " AND scope IN ('session', 'task') ORDER BY name"
    )
    names = [name for (name,) in db.rows(sql, caller)]
    _close(db, now, caller, names)
    return names


def expiry_policy() -> Policy:
    """Return the policy that closes pools and removes values whose time is over."""
    return tier_policy(
        "expired pools",
        "Pools that have expired are closed, and values that have expired removed.",
        "close",
        "pools or values have expired",
        _has_expired,
        _close_expired,
    )


def _has_expired(ws: Workspace, db: Database, now: int, days: int) -> bool:
    """Return whether any open pool, or a value of any, has expired."""
    value = db.row("SELECT 1 FROM pool_value WHERE 0 < expires AND expires <= ? LIMIT 1", (now,))
    return bool(value or _expired(db, now))


def _close_expired(ws: Workspace, db: Database, now: int) -> None:
    """Close pools that have expired and remove values that have, in the caller's transaction."""
    _close(db, now, UPKEEP, _expired(db, now))
    # no new version: a read left them out already, so nobody's data changes
    db.execute("DELETE FROM pool_value WHERE 0 < expires AND expires <= ?", (now,))


def _expired(db: Database, now: int) -> list[str]:
    sql = (
        "SELECT name FROM pool WHERE status = 'open' AND 0 < expires AND expires <= ? ORDER BY name"
    )
    return [name for (name,) in db.rows(sql, (now,))]


def _close(db: Database, now: int, caller: Caller, names: Sequence[str]) -> None:
    Pool.end(db, caller, now, names)
    db.many("DELETE FROM pool_value WHERE pool = ?", [(name,) for name in names])


def pool_statistics(ws: Workspace, caller: Caller, name: str) -> dict[str, Any]:
    """Return the counts of a pool: keys, bytes, writes, reads, and what happened last."""
    with reading(ws, counted=True) as db:
        pool = Pool.find(db, caller, name, now=ws.clock.now())
        if db is None:
            return {
                "pool": pool.name,
                "keys": 0,
                "bytes": 0,
                "changes": 0,
                "reads": 0,
                "events": [],
            }
        rows = _values(db, pool, ws.clock.now())
        events = tier_events(db, _TIER, pool.name)
        reads = access_counts(
            db, _TIER, [pool.name, *(accessed(pool.name, row[0]) for row in rows)]
        )
    size = sum(row[2] for row in rows)
    return {
        "pool": pool.name,
        "version": pool.version,
        "keys": len(rows),
        "bytes": size,
        "max_bytes": pool.most_bytes,
        "percent": 100 * size // pool.most_bytes,
        "changes": sum(one.name in _CHANGES for one in events),
        "evicted": sum(one.name == "evicted" for one in events),
        "reads": sum(count for count, _ in reads.values()),
        "writers": sorted({one.caller.actor for one in events if one.name in _CHANGES}),
        "events": [event.to_dict() for event in events[-20:]],
    }


class Bulletin(NamedTuple):
    """Writes to the bulletin of a pool."""

    pool: str
    writers: tuple[str, ...]
    writes: int
    version: int
    """Of the pool, after the last of them."""


def bulletins(ws: Workspace, caller: Caller, versions: Mapping[str, int]) -> list[Bulletin]:
    """Return the writes to the bulletins of open pools that the caller may read. `versions`: pool →
    the version after which they count; without one all do.
    """
    with reading(ws) as db:
        if db is None:
            return []
        pools = Pool.readable(db, caller, DEFAULT_POOL, ws.clock.now())
        events = {pool.name: tier_events(db, _TIER, pool.name, _CHANGES[1:]) for pool in pools}
    written = []
    for name, pool_events in events.items():
        numbers = [event.body["version"] for event in pool_events]
        later = [number for number in numbers if number > versions.get(name, 0)]
        writers = {event.caller.actor for event in pool_events if event.body["version"] in later}
        if later:
            written.append(Bulletin(name, tuple(sorted(writers)), len(later), max(later)))
    return written


def _entry(pool: Pool, path: str, value: Any, rows: Sequence[Row]) -> Entry:
    last = max(rows, key=lambda row: row[3], default=None)
    author, written_at, expires = (last[4], last[5], last[6]) if last else (pool.owner, pool.at, 0)
    source = f"pool {pool.name}, version {pool.version}"
    return Entry(
        path,
        value,
        _TIER,
        source,
        author,
        at=written_at,
        expires=expires,
        more={"pool": pool.name, "version": pool.version},
    )


def _values(db: Database, pool: Pool, now: int, keys: Sequence[str] = ()) -> list[Row]:
    """Return (key, value, size, version, actor, at, expires) of what has not expired."""
    also, params = (" AND key = ?", list(keys)) if keys else ("", [])
    sql = (
        "SELECT key, value, size, version, actor, at, expires FROM pool_value"
        f" WHERE pool = ? AND (expires = 0 OR expires > ?){also} ORDER BY key"
    )
    return db.rows(sql, [pool.name, now, *params])


def _default(now: int) -> Pool:
    return Pool(
        name=DEFAULT_POOL,
        title="Default",
        type="shared",
        scope="account",
        owner="kl",
        status="open",
        persist=True,
        access={"read": [], "write": [], "public": True},
        at=now,
    )
