"""The hooks of `tiers`: its tables, its maintenance policies, and what it offers to a task."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kl_hooks.hookspecs import Policy, Schema, Uninstaller, hookimpl, schema_hook

_TIERS: Final = """
CREATE TABLE short_entry (
    -- Short-term memory: one value of one actor, in one session, under one key.
    id TEXT PRIMARY KEY,          -- random; events name it
    actor TEXT NOT NULL,          -- human, or agent:NAME; nobody else reads it
    session TEXT NOT NULL,
    key TEXT NOT NULL,
    type TEXT NOT NULL,
    value TEXT NOT NULL,          -- JSON, redacted
    at INTEGER NOT NULL,          -- when it was written, microseconds since 1970, as all moments of these tables
    expires INTEGER NOT NULL,
    UNIQUE (actor, session, key)
);
CREATE INDEX short_entry_expires ON short_entry (expires);
CREATE TABLE context (
    -- Persistent contexts: what an actor keeps beyond its sessions.
    name TEXT PRIMARY KEY,
    type TEXT NOT NULL,
    scope TEXT NOT NULL,
    owner TEXT NOT NULL,
    status TEXT NOT NULL,         -- active, archived
    version INTEGER NOT NULL,     -- one more with each change of an entry
    grants TEXT NOT NULL,         -- JSON: actor → read, write or admin
    max_entries INTEGER NOT NULL, -- 0: no limit
    max_age_days INTEGER NOT NULL,
    at INTEGER NOT NULL
);
CREATE TABLE context_entry (
    -- Every version of every entry of a context; at most one of a key is active.
    id TEXT PRIMARY KEY,
    context TEXT NOT NULL,
    key TEXT NOT NULL,
    version INTEGER NOT NULL,     -- of this key, from 1
    status TEXT NOT NULL,         -- active, superseded, archived
    type TEXT NOT NULL,
    source TEXT NOT NULL,         -- agent, user, system, tool, workflow
    memory TEXT NOT NULL,         -- factual, experiential, working
    value TEXT NOT NULL,          -- JSON, redacted
    importance INTEGER NOT NULL,  -- percent, at the time of writing
    confidence INTEGER NOT NULL,  -- percent
    tags TEXT NOT NULL,           -- JSON list
    previous TEXT NOT NULL,       -- ID of the version before; empty: none
    merged TEXT NOT NULL,         -- JSON list: IDs of entries that became this one
    actor TEXT NOT NULL,          -- who wrote this version
    at INTEGER NOT NULL
);
CREATE INDEX context_entry_key ON context_entry (context, key);
CREATE TABLE context_snapshot (
    -- A context as it was. The body is checked against its digest before it is restored.
    id TEXT PRIMARY KEY,
    context TEXT NOT NULL,
    version INTEGER NOT NULL,
    actor TEXT NOT NULL,
    at INTEGER NOT NULL,
    sha256 TEXT NOT NULL,
    body TEXT NOT NULL
);
CREATE INDEX context_snapshot_context ON context_snapshot (context);
CREATE TABLE pool (
    -- Memory that several share. A closed one keeps its row: its name is not used again.
    name TEXT PRIMARY KEY,
    title TEXT NOT NULL,
    type TEXT NOT NULL,
    scope TEXT NOT NULL,
    owner TEXT NOT NULL,
    session TEXT NOT NULL,        -- of its owner, when it was made
    status TEXT NOT NULL,         -- open, closed
    persist INTEGER NOT NULL,     -- 1: it outlives the session that made it
    expires INTEGER NOT NULL,     -- 0: never
    ttl INTEGER NOT NULL,         -- seconds until a value expires; 0: never
    most_bytes INTEGER NOT NULL,
    eviction TEXT NOT NULL,       -- none, oldest, unused
    access TEXT NOT NULL,         -- JSON: read, write (lists of actors), public
    version INTEGER NOT NULL,     -- one more with each change of its data
    at INTEGER NOT NULL
);
CREATE TABLE pool_value (
    -- One row for each key at the top; deeper keys are inside its value.
    pool TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,          -- JSON, redacted
    size INTEGER NOT NULL,        -- bytes of key and value, which the quota counts
    version INTEGER NOT NULL,     -- of the pool, when this was written
    actor TEXT NOT NULL,
    at INTEGER NOT NULL,
    expires INTEGER NOT NULL,
    PRIMARY KEY (pool, key)
);
CREATE TABLE tier_event (
    -- What happened to entries, contexts and pools, append-only. Every count is a fold over it.
    seq INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    name TEXT NOT NULL,           -- read, written, promoted, granted, …
    tier TEXT NOT NULL,           -- short, long, shared
    subject TEXT NOT NULL,        -- ID of a row in short-term memory or of an entry, or name of a context or pool
    actor TEXT NOT NULL,
    session TEXT NOT NULL,
    body TEXT NOT NULL            -- JSON
);
CREATE INDEX tier_event_subject ON tier_event (tier, subject);
CREATE TABLE tier_cursor (
    -- How far the file of accesses is stored as events.
    name TEXT PRIMARY KEY,
    file TEXT NOT NULL,           -- its first line
    position INTEGER NOT NULL
);
"""


# `human` on one machine is not `human` on another: what an actor keeps for itself stays with its
# clone
_PRIVATE: Final = ("short_entry", "context", "context_entry", "context_snapshot", "tier_cursor")
kl_schema = schema_hook(Schema("tiers", "kl", (_TIERS,), private=_PRIVATE))


@hookimpl
def kl_policies() -> Sequence[Policy]:
    from kl_hooks.tiers.contexts import stale_policy
    from kl_hooks.tiers.entries import events_policy
    from kl_hooks.tiers.pools import expiry_policy
    from kl_hooks.tiers.router import sessions_policy

    return [sessions_policy(), stale_policy(), expiry_policy(), events_policy()]


@hookimpl
def kl_uninstallers() -> list[Uninstaller]:
    from kl_hooks.tiers.router import shared_values

    return [Uninstaller("working memory", shared_values)]
