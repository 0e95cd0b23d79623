"""Pools: memory that several agents and people share, with access lists, a quota, and a version for
each change.

A write happens in one transaction of the store, which one process has at a time: nothing is lost
between two writers. Whoever must not overwrite what it has not seen gives the version that it read
(`if_version`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.errors import KlError, UsageProblem
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
_BULLETIN: Final = "agent_bulletin"
_CHANGES: Final = ("memory_pool_update", "memory_pool_key_write")
"""Events of which each is one change of the data: their number is the version of the pool."""
_MOST_BYTES: Final = 8_000_000
_LARGEST_POOL: Final = 64_000_000
_LONGEST: Final = 10 * 365 * 86_400
"""Seconds: ten years."""
_COLUMNS: Final = (
    "name, title, type, scope, owner, session, status, persist, expires, ttl, most_bytes, eviction,"
    " access, version, at"
)


class VersionConflict(KlError):
    """Somebody else changed the pool since it was read."""

    exit_code = 1


@dataclass(frozen=True, slots=True)
class Pool:
    """One pool, without its data."""

    name: str
    title: str
    type: str
    scope: str
    owner: str
    session: str
    status: str
    persist: bool
    expires: int
    ttl: int
    most_bytes: int
    eviction: str
    readers: tuple[str, ...]
    writers: tuple[str, ...]
    public: bool
    version: int
    at: int

    def is_open(self, now: int) -> bool:
        """Return whether it is neither closed nor expired."""
        return self.status == "open" and (not self.expires or now < self.expires)

    def can_read(self, actor: str) -> bool:
        """Return whether an actor may read it: its owner, who is listed, everybody where it is
        public.
        """
        return actor == self.owner or self.public or actor in self.readers or actor in self.writers

    def can_write(self, actor: str) -> bool:
        """Return whether an actor may change it: listed writers; of a shared, public one
        everybody.
        """
        if actor == self.owner:
            return True
        if self.type == "agent_private":
            return False
        return actor in self.writers or (self.public and self.type in ("shared", "global"))

    def to_dict(self) -> dict[str, Any]:
        """Return it as `kl pool show` has it."""
        access = {"read": list(self.readers), "write": list(self.writers), "public": self.public}
        plain = {
            name: getattr(self, name)
            for name in self.__slots__
            if name not in ("readers", "writers", "public")
        }
        return {**plain, "access": access}


@dataclass(frozen=True, slots=True)
class PoolOptions:
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
    expires = (
        now + checked_ttl(options.lifetime, 0, _LONGEST) * SECOND
        if options.lifetime is not None
        else 0
    )
    title = redact(one_line(options.title or name, 120))
    pool = Pool(
        pool_name,
        title,
        type,
        scope,
        caller.actor,
        caller.session,
        "open",
        options.persist,
        expires,
        checked_ttl(options.ttl, 0, _LONGEST),
        options.most_bytes,
        eviction,
        tuple(readers),
        tuple(writers),
        options.public or type == "global",
        0,
        now,
    )
    with writing(ws, "pools") as db:
        if not pool_name or pool_name == DEFAULT_POOL or _row(db, pool_name):
            # the same words for a pool that the caller may not see: its name must not be found out
            # by creating
            raise UsageProblem(
                "this name is not available.", place=pool_name or name, hint="Take another name."
            )
        _insert(db, pool)
        insert_events(db, now, [TierEvent("created", _TIER, pool_name, caller)])
    return pool


def list_pools(ws: Workspace, caller: Caller) -> list[Pool]:
    """Return the open pools that the caller may read: `default` first, then by name."""
    with reading(ws) as db:
        return _readable(ws, db, caller) if db is not None else []


def find_pool(ws: Workspace, caller: Caller, name: str) -> Pool:
    """Return a pool. UsageProblem, in the same words, for one that does not exist or is not the
    caller's to read.
    """
    with reading(ws) as db:
        return _find(ws, db, caller, name)


def read_pool(ws: Workspace, caller: Caller, name: str, path: str = "") -> tuple[Pool, Entry]:
    """Return a pool and the value at a dotted path of its data (all of it without a path); the
    access is counted.
    """
    with reading(ws) as db:
        pool = _find(ws, db, caller, name)
        keys = split_path(path) if path else []
        rows = _values(db, pool, ws.clock.now(), keys[:1]) if db is not None else []
    data = {row[0]: json.loads(row[1]) for row in rows}
    exists, value = value_at(data, keys)
    if not exists:
        raise UsageProblem(
            "there is no value.",
            place=f"{pool.name}: {one_line(path, 100)}",
            hint=f"See: kl pool show {pool.name}",
        )
    record_access(ws, _TIER, _accessed(pool.name, keys), caller)
    return pool, _entry(pool, path, value, rows)


def pool_values(ws: Workspace, db: Database, caller: Caller) -> list[Entry]:
    """Return every value at the top of every pool that the caller may read."""
    now = ws.clock.now()
    return [
        _entry(pool, row[0], json.loads(row[1]), [row])
        for pool in _readable(ws, db, caller)
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
    new_value, now = json.loads(encoded(value)), ws.clock.now()
    with writing(ws, "pools") as db:
        pool = _writable(ws, db, caller, name)
        if if_version is not None and pool.version != if_version:
            reason = (
                f"is at version {pool.version}, not {if_version}: somebody changed it, and nothing"
                " was written."
            )
            raise VersionConflict(
                reason, place=pool.name, hint="Read it again, then write with the new version."
            )
        db.execute(
            "DELETE FROM pool_value WHERE pool = ? AND expires > 0 AND expires <= ?",
            (pool.name, now),
        )
        changed = (
            {keys[0]: (keys[1:], new_value)}
            if keys
            else {key: ((), item) for key, item in new_value.items()}
        )
        for key, (below, new) in changed.items():
            row = next(iter(_values(db, pool, now, [key])), None)
            _put(
                db,
                pool,
                caller,
                now,
                key,
                _after(json.loads(row[1]) if row else None, below, new, merge=merge),
            )
        evicted = _evict(db, pool, set(changed))
        version = pool.version + 1
        db.execute("UPDATE pool SET version = ? WHERE name = ?", (version, pool.name))
        insert_events(
            db,
            now,
            [
                _change_event(pool, caller, path, version, now, merge),
                *_evictions(pool, caller, evicted),
            ],
        )
        return _pool(_row(db, pool.name))


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
    evictable = [row for row in rows if row[0] not in written] if pool.eviction != "none" else []
    used = access_counts(db, _TIER, [_accessed(pool.name, [key]) for key, _, _ in evictable])
    # by version and not by time: two writes of one microsecond, or of a clock that was set back,
    # have an order too
    if pool.eviction == "unused":
        evictable.sort(key=lambda row: (used[_accessed(pool.name, [row[0]])][1], row[2], row[0]))
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
    bulletin = split_path(path)[0] == _BULLETIN if path else False
    body = {
        "pool_id": pool.name,
        "key": redact(path),
        "writer_agent_id": caller.actor,
        "version": version,
        "timestamp": now,
        "is_bulletin": bulletin,
        "merge": merge,
    }
    return TierEvent(_CHANGES[bulletin], _TIER, pool.name, caller, body)


def _evictions(pool: Pool, caller: Caller, keys: Iterable[str]) -> list[TierEvent]:
    return [TierEvent("evicted", _TIER, pool.name, caller, {"key": key}) for key in keys]


def set_access(ws: Workspace, caller: Caller, name: str, actor: str, level: str) -> Pool:
    """Let an actor read or write a pool, or (level empty) neither; `public` as the actor: everybody
    may read.
    """
    grantee = actor if actor == "public" else actor_name(actor)
    with writing(ws, "pools") as db:
        pool = _find(ws, db, caller, name)
        # not a writer: he could give away what the owner did not mean to share
        if caller.actor != pool.owner:
            raise UsageProblem(
                f"only its owner, {pool.owner}, gives and takes access.", place=pool.name
            )
        if level and pool.type == "agent_private":
            raise UsageProblem("an agent_private pool is for its owner alone.", place=pool.name)
        readers = {reader for reader in pool.readers if reader != grantee}
        writers = {writer for writer in pool.writers if writer != grantee}
        if level and grantee != "public":
            (readers if checked_choice(level, LEVELS, "level") == "read" else writers).add(grantee)
        public = bool(level) if grantee == "public" else pool.public
        access = {"read": sorted(readers), "write": sorted(writers), "public": public}
        db.execute("UPDATE pool SET access = ? WHERE name = ?", (json.dumps(access), pool.name))
        event = TierEvent(
            "granted" if level else "revoked",
            _TIER,
            pool.name,
            caller,
            {"to": grantee, "level": level},
        )
        insert_events(db, ws.clock.now(), [event])
        return _pool(_row(db, pool.name))


def close_pool(ws: Workspace, caller: Caller, name: str) -> Pool:
    """Close a pool and remove its data; its owner may, and a person. UsageProblem for `default`."""
    with writing(ws, "pools") as db:
        # a person may close what he can't read: an agent that is never started again closes nothing
        row = _row(db, name)
        pool = _pool(row) if row and caller.is_person else _find(ws, db, caller, name)
        if pool.name == DEFAULT_POOL:
            raise UsageProblem(
                "the pool `default` can't be closed.", place=name, hint="Merge null into its keys."
            )
        if caller.actor != pool.owner and not caller.is_person:
            raise UsageProblem(
                f"only its owner, {pool.owner}, or a person closes it.", place=pool.name
            )
        _close(db, ws.clock.now(), caller, [pool.name])
        return _pool(_row(db, pool.name))


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
    for name in names:
        db.execute("UPDATE pool SET status = 'closed' WHERE name = ?", (name,))
        db.execute("DELETE FROM pool_value WHERE pool = ?", (name,))
    insert_events(db, now, [TierEvent("closed", _TIER, name, caller) for name in names])


def pool_statistics(ws: Workspace, caller: Caller, name: str) -> dict[str, Any]:
    """Return the counts of a pool: keys, bytes, writes, reads, and what happened last."""
    with reading(ws, counted=True) as db:
        pool = _find(ws, db, caller, name)
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
            db, _TIER, [pool.name, *(_accessed(pool.name, [row[0]]) for row in rows)]
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
        "events": [
            {"name": one.name, "at": one.at, "by": one.caller.actor, **one.body}
            for one in events[-20:]
        ],
    }


def _accessed(name: str, keys: Sequence[str]) -> str:
    """The subject of an access: the pool, or the key at the top that was read."""
    return f"{name}\n{keys[0]}" if keys else name


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
        DEFAULT_POOL,
        "Default",
        "shared",
        "account",
        "kl",
        "",
        "open",
        True,
        0,
        0,
        _MOST_BYTES,
        "none",
        (),
        (),
        True,
        0,
        now,
    )


def _insert(db: Database, pool: Pool) -> None:
    access = {"read": list(pool.readers), "write": list(pool.writers), "public": pool.public}
    row = (
        pool.name,
        pool.title,
        pool.type,
        pool.scope,
        pool.owner,
        pool.session,
        pool.status,
        int(pool.persist),
        pool.expires,
        pool.ttl,
        pool.most_bytes,
        pool.eviction,
        json.dumps(access),
        pool.version,
        pool.at,
    )
    db.execute(
        f"INSERT INTO pool ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row
    )


def _row(db: Database, name: str) -> Row | None:
    return db.row(f"SELECT {_COLUMNS} FROM pool WHERE name = ?", (name,))


def _pool(row: Row | None) -> Pool:
    assert row is not None
    *first, access, version, created = row
    lists = json.loads(access)
    first[7] = bool(first[7])
    # the columns are named in one order, in `_COLUMNS` and in `Pool`
    args: list[Any] = [
        *first,
        tuple(lists["read"]),
        tuple(lists["write"]),
        lists["public"],
        version,
        created,
    ]
    return Pool(*args)


def _readable(ws: Workspace, db: Database, caller: Caller) -> list[Pool]:
    open_pools = [
        _pool(row)
        for row in db.rows(f"SELECT {_COLUMNS} FROM pool WHERE status = 'open' ORDER BY name")
    ]
    now = ws.clock.now()
    mine = [pool for pool in open_pools if pool.is_open(now) and pool.can_read(caller.actor)]
    return sorted(mine, key=lambda pool: (pool.name != DEFAULT_POOL, pool.name))


def _find(ws: Workspace, db: Database | None, caller: Caller, name: str) -> Pool:
    name = slug(redact(name))  # as it was made under
    row = _row(db, name) if db is not None else None
    if row:
        pool = _pool(row)
    elif name == DEFAULT_POOL:
        pool = _default(ws.clock.now())
    else:
        pool = None
    if pool is None or not pool.is_open(ws.clock.now()) or not pool.can_read(caller.actor):
        hint = "See: kl pool list"
        raise UsageProblem(
            "there is no open pool of this name for you.",
            place=one_line(name, 60) or "''",
            hint=hint,
        )
    return pool


def _writable(ws: Workspace, db: Database, caller: Caller, name: str) -> Pool:
    pool = _find(ws, db, caller, name)
    if not pool.can_write(caller.actor):
        hint = f"Its owner gives it: kl pool grant {pool.name} {caller.actor} --write"
        raise UsageProblem("you may read it, not write it.", place=pool.name, hint=hint)
    if not _row(db, pool.name):
        _insert(db, pool)
    return pool
