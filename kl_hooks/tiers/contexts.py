"""Persistent contexts: entries that outlive their session, in versions, with snapshots, grants and
a log of accesses.

Every actor has a context of its own, named like the actor, which nobody else reads unless it is
granted. A change of an entry makes a new version; the old one stays, superseded. Relevance and
staleness are computed when they are shown.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.clock import DAY, age_in_days
from kl_hooks.errors import UsageProblem
from kl_hooks.model.decay import ENTRY_LOSS, Staleness, relevance, remaining, staleness
from kl_hooks.model.definitions import NamedTuple, lazy_pattern
from kl_hooks.model.text import one_line
from kl_hooks.store.redaction import redact
from kl_hooks.tiers.entries import (
    UPKEEP,
    Caller,
    Entry,
    TierEvent,
    access_counts,
    checked_choice,
    checked_key,
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
from kl_hooks.tiers.named_store import LEVELS, NamedStore, Sort, accessed

if TYPE_CHECKING:
    from kl_hooks.hookspecs import Policy
    from kl_hooks.store.database import Database
    from kl_hooks.workspace import Workspace


_ARCHIVE: Final = 0.9
"""Staleness from which an entry is archived."""

_WORD: Final = lazy_pattern(r"\w+")


def words(text: str) -> Counter[str]:
    """Return how often each word is in a text, whatever its case."""
    return Counter(_WORD.findall(text.casefold()))


TIER: Final = "long"
CONTEXT_TYPES: Final = (
    "agent_memory",
    "knowledge_base",
    "shared_context",
    "tool_cache",
    "project_context",
)
CONTEXT_SCOPES: Final = ("agent", "account", "team", "global", "workflow")
_SHARED_SCOPES: Final = frozenset({"account", "team"})
"""Of people with clones of their own: only a team's database has such contexts."""
ENTRY_TYPES: Final = (
    "observation",
    "fact",
    "reflection",
    "decision",
    "plan",
    "tool_output",
    "conversation_summary",
)
_SOURCES: Final = ("agent", "user", "system", "tool", "workflow")
_MEMORIES: Final = ("factual", "experiential", "working")
_TYPE_OF: Final = {
    "tool_result": "tool_output",
    "intermediate_result": "tool_output",
    "tool_state": "tool_output",
    "conversation": "conversation_summary",
    "reflection": "reflection",
    "plan": "plan",
    "task_context": "plan",
}
"""Type of a short-term entry → type of the entry that it becomes; all others are observations."""
SAME: Final = 0.92
"""Similarity from which two texts are one."""
_IMPORTANCE: Final = 50
_PROMOTED_CONFIDENCE: Final = 70
_DUPLICATE_BOOST: Final = 3
_NEAR: Final = 0.9
"""Share of the most entries from which a context is near its limit."""
_COMPARED: Final = 1000
"""Entries that a promoted one is compared with: the newest of its context."""
_COLUMNS: Final = (
    "id, context, key, version, status, type, source, memory, value, importance, confidence, tags,"
    " previous, merged, actor, at"
)


def similarity(first: Counter[str], second: Counter[str]) -> float:
    """Return the cosine of two texts by their words: 1 for the same words, 0 for none in common (or
    no words).
    """
    if first == second:
        if first:
            return 1.0
        return 0.0
    if len(second) < len(first):
        first, second = second, first
    # over the words of the shorter one: those that only the longer one has add nothing
    common = sum(count * second[word] for word, count in first.items())
    sizes = sum(n * n for n in first.values()) * sum(n * n for n in second.values())
    if not common:
        return 0.0
    return common / math.sqrt(sizes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Context(NamedStore):
    """One context, without its entries."""

    sort = Sort(
        "context", TIER, "context", "kl memory context", "active", "archived", "grants", LEVELS
    )

    grants: Mapping[str, str] = field(default_factory=dict)
    max_entries: int = 0
    max_age_days: int = 0

    def granted(self, actor: str) -> str:
        """As `NamedStore.granted`."""
        # agent scope is private; of the others everybody in this repository may read
        return self.grants.get(actor, "" if self.scope == "agent" else "read")

    def with_grant(self, actor: str, level: str) -> Context:
        """As `NamedStore.with_grant`."""
        others = {name: granted for name, granted in self.grants.items() if name != actor}
        return replace(self, grants=others | ({actor: level} if level else {}))


class ContextEntry(NamedTuple):
    """One version of an entry."""

    id: str
    context: str
    key: str
    version: int
    status: str
    type: str
    source: str
    memory: str
    value: Any
    importance: int
    confidence: int
    tags: tuple[str, ...]
    previous: str
    merged: tuple[str, ...]
    actor: str
    at: int
    accesses: int = 0
    accessed: int = 0
    """When last, microseconds; 0: never."""

    def relevance(self, now: int) -> float:
        """Return the relevance now."""
        return relevance(self.importance / 100, self.confidence / 100, self.accessed, now)

    def staleness(self, now: int) -> Staleness:
        """Return the staleness now, with its factors."""
        idle = age_in_days(now, max(self.at, self.accessed))
        current = remaining(self.importance / 100, idle, ENTRY_LOSS)
        return staleness(current, self.at, self.accessed, now)

    def to_dict(self, now: int) -> dict[str, Any]:
        """Return it with its scores of now."""
        stale = self.staleness(now)
        scores = {
            "relevance": round(self.relevance(now), 4),
            "staleness": round(stale.score, 4),
            "staleness_factors": {name: round(part, 4) for name, part in stale._asdict().items()},
        }
        return {name: getattr(self, name) for name in self._fields} | scores


def create_context(
    ws: Workspace,
    caller: Caller,
    name: str,
    *,
    type: str = "",
    scope: str = "",
    max_entries: int = 0,
    max_age_days: int = 0,
) -> Context:
    """Make a context of the caller's. UsageProblem for a name that is taken, also by one that the
    caller can't see.
    """
    checked_name = checked_key(name, "name")
    scope = checked_choice(scope or CONTEXT_SCOPES[0], CONTEXT_SCOPES, "scope")
    if scope in _SHARED_SCOPES and ws.store.address is None:
        raise UsageProblem(
            f"a context of scope {scope} is shared by a team, and this store is this clone's "
            "alone.",
            place=checked_name,
            hint="Use a team's database (kl store use URL), or --scope global: everybody who uses"
            " this clone.",
        )
    context = Context(
        name=checked_name,
        type=checked_choice(type or CONTEXT_TYPES[0], CONTEXT_TYPES, "type"),
        scope=scope,
        owner=caller.actor,
        status="active",
        max_entries=max_entries,
        max_age_days=max_age_days,
        at=ws.clock.now(),
    )
    # an actor's name is that of the actor's own context
    is_other_actor = checked_name != caller.actor and (
        checked_name == "human" or checked_name.startswith("agent:")
    )
    with writing(ws, "contexts") as db:
        context.create(db, caller, is_reserved=is_other_actor)
    return context


def list_contexts(db: Database | None, caller: Caller) -> list[Context]:
    """Return the active contexts that the caller may read: its own first, then by name."""
    return Context.readable(db, caller, caller.actor)


def _find_context(db: Database | None, caller: Caller, name: str, level: str = "read") -> Context:
    """Return a context (empty name: the caller's own), as `NamedStore.find`."""
    return Context.find(db, caller, name or caller.actor, level)


class EntryOptions(NamedTuple):
    """What a new version of an entry has besides its value; what is None stays as it was."""

    type: str | None = None
    importance: int | None = None
    confidence: int | None = None
    tags: Sequence[str] | None = None
    source: str | None = None
    memory: str | None = None


def write_entry(
    ws: Workspace,
    caller: Caller,
    name: str,
    path: str,
    value: Any,
    options: EntryOptions | None = None,
    *,
    merge: bool = False,
    dotted: bool = True,
) -> ContextEntry:
    """Write a value at a dotted path of a context (empty name: the caller's own, made if missing);
    a new version.

    `dotted`: False takes the path as one key, dots and all.
    """
    new_value = json.loads(encoded(value))
    with writing(ws, "contexts") as db:
        if name in ("", caller.actor):
            _ensure_own(db, caller, ws.clock.now())
        context = _find_context(db, caller, name, "write")
        key, below = _locate(db, context.name, path) if dotted else (checked_key(path), [])
        before = _active(db, context.name, key)
        old = before.value if before else None
        if merge:
            new_value = merged(value_at(old, below)[1], new_value)
        return _add_version(
            db,
            caller,
            context.name,
            key,
            with_value_at(old, below, new_value),
            ws.clock.now(),
            options,
            before,
        )


def _ensure_own(db: Database, caller: Caller, now: int) -> None:
    """Make the caller's own context if it is missing, in the caller's transaction."""
    Context(
        name=caller.actor,
        type=CONTEXT_TYPES[0],
        scope=CONTEXT_SCOPES[0],
        owner=caller.actor,
        status="active",
        at=now,
    ).insert(db)


def _add_version(
    db: Database,
    caller: Caller,
    context: str,
    key: str,
    value: Any,
    now: int,
    options: EntryOptions | None = None,
    before: ContextEntry | None = None,
    merged_ids: Sequence[str] = (),
    event: str = "written",
) -> ContextEntry:
    """Store the next version of an entry, in the caller's transaction."""
    o = options or EntryOptions()
    earlier_tags = before.tags if before else ()
    entry = ContextEntry(
        os.urandom(8).hex(),
        context,
        key,
        before.version + 1 if before else _versions(db, context, key) + 1,
        "active",
        checked_choice(
            o.type or (before.type if before else ENTRY_TYPES[0]), ENTRY_TYPES, "type", _TYPE_OF
        ),
        checked_choice(
            o.source or ("agent" if caller.actor.startswith("agent:") else "user"),
            _SOURCES,
            "source",
        ),
        checked_choice(
            o.memory or (before.memory if before else _MEMORIES[0]), _MEMORIES, "memory"
        ),
        value,
        _percent(o.importance, before.importance if before else _IMPORTANCE, "importance"),
        _percent(o.confidence, before.confidence if before else 100, "confidence"),
        tuple(map(redact, earlier_tags if o.tags is None else o.tags)),
        before.id if before else "",
        tuple(merged_ids) or (before.merged if before else ()),
        caller.actor,
        now,
    )
    # first: at most one version of a key is active at any time
    db.execute(
        "UPDATE context_entry SET status = 'superseded' WHERE context = ? AND key = ? AND status ="
        " 'active'",
        (context, key),
    )
    _insert_entry(db, entry)
    db.execute("UPDATE context SET version = version + 1 WHERE name = ?", (context,))
    body = {"key": key, "version": entry.version, "id": entry.id, "merged": list(merged_ids)}
    insert_events(db, now, [TierEvent(event, TIER, context, caller, body)])
    return entry


def _percent(percentage: int | None, otherwise: int, place: str) -> int:
    if percentage is None:
        return otherwise
    if not 0 <= percentage <= 100:
        raise UsageProblem(f"{percentage} is no percentage: from 0 to 100.", place=place)
    return percentage


def read_entry(
    ws: Workspace, caller: Caller, name: str, path: str
) -> tuple[ContextEntry, Any] | None:
    """Return the active entry that a dotted path leads to and the value there; the access is
    counted.

    Empty name: in every context that the caller may read, its own first. UsageProblem as
    `_find_context`.
    """
    with reading(ws) as db:
        if name:
            contexts = [_find_context(db, caller, name)]
        else:
            contexts = list_contexts(db, caller)
        for context in contexts if db is not None else ():
            try:
                key, below = _locate(db, context.name, path)
            except UsageProblem:  # no dotted path, and no entry's key
                continue
            entry = _active(db, context.name, key)
            exists, value = value_at(entry.value, below) if entry else (False, None)
            if entry is not None and exists:
                record_access(ws, TIER, accessed(context.name, key), caller)
                return entry, value
    return None


def list_entries(
    db: Database | None, caller: Caller, name: str = "", *, versions: bool = False
) -> list[ContextEntry]:
    """Return the entries of a context (empty name: of all that the caller may read), with their
    accesses, by key.
    """
    if name:
        contexts = [_find_context(db, caller, name)]
    else:
        contexts = list_contexts(db, caller)
    if db is None:
        return []
    entries = list[ContextEntry]()
    for context in contexts:
        if versions:
            where = "context = ?"
        else:
            where = "context = ? AND status = 'active'"
        sql = f"SELECT {_COLUMNS} FROM context_entry WHERE {where} ORDER BY key, version"
        entries += _with_accesses(db, [_entry(row) for row in db.rows(sql, (context.name,))])
    return entries


def _with_accesses(db: Database, entries: Sequence[ContextEntry]) -> list[ContextEntry]:
    """Return the entries with how often their keys were read."""
    counts = access_counts(db, TIER, sorted({accessed(one.context, one.key) for one in entries}))
    pairs = ((one, counts[accessed(one.context, one.key)]) for one in entries)
    return [one._replace(accesses=count, accessed=last) for one, (count, last) in pairs]


def _archive_entries(
    db: Database, caller: Caller, now: int, entries: Sequence[ContextEntry], why: str
) -> None:
    """Archive entries that are still active, in the caller's transaction: their versions stay."""
    for entry in entries:
        db.execute(
            "UPDATE context_entry SET status = 'archived' WHERE id = ? AND status = 'active'",
            (entry.id,),
        )
        db.execute("UPDATE context SET version = version + 1 WHERE name = ?", (entry.context,))
    insert_events(
        db,
        now,
        [
            TierEvent("archived", TIER, entry.context, caller, {"key": entry.key, "why": why})
            for entry in entries
        ],
    )


def forget_entry(ws: Workspace, caller: Caller, key: str, name: str = "") -> bool:
    """Archive the caller's entry of a key; return whether there was one."""
    with writing(ws, "contexts") as db:
        if Context.get(db, name or caller.actor) is None:
            return False
        entry = _active(db, _find_context(db, caller, name, "write").name, checked_key(key))
        if entry is not None:
            _archive_entries(db, caller, ws.clock.now(), [entry], "forgotten")
        return entry is not None


def _numbers(value: Any) -> list[str]:
    return re.findall(r"[0-9]+", encoded(value))


Nearness = Callable[[str, Sequence[str]], Sequence[float]]
"""(text, others) → how near each of the others is in meaning, 1 for the same."""


def promote_entries(
    db: Database,
    caller: Caller,
    now: int,
    promoted: Sequence[Entry],
    nearness: Nearness | None = None,
) -> list[ContextEntry]:
    """Make entries of the caller's own context of short-term ones; what is alike becomes one
    (`SAME`).

    Alike by words, and by `nearness` where there is one.
    """
    if not promoted:
        return []
    _ensure_own(db, caller, now)
    # one after the other: the second of two alike entries is merged into the first
    new_entries = list[ContextEntry]()
    for entry in promoted:
        importance = min(10 * entry.accesses, 80) + (0 if entry.type == "general" else 10)
        options = EntryOptions(
            _TYPE_OF.get(entry.type, "observation"), importance, _PROMOTED_CONFIDENCE
        )
        new_entries.append(_promote(db, caller, now, entry, options, nearness))
    return new_entries


def _promote(
    db: Database,
    caller: Caller,
    now: int,
    promoted: Entry,
    options: EntryOptions,
    nearness: Nearness | None,
) -> ContextEntry:
    alike = _alike_entry(list_entries(db, caller, caller.actor), promoted, nearness)
    if alike is None:
        entry = _add_version(db, caller, caller.actor, promoted.key, promoted.value, now, options)
    else:
        entry = _add_version(
            db,
            caller,
            caller.actor,
            alike.key,
            promoted.value,
            now,
            _merged_options(alike, promoted, options),
            alike,
            (*alike.merged, promoted.id),
            "merged",
        )
    # importance is a fold over events: those of the short-term entry count for the merged one
    accesses = [
        TierEvent("read", TIER, accessed(caller.actor, entry.key), caller, at=promoted.at)
        for _ in range(promoted.accesses)
    ]
    body = {"short": promoted.id, "accesses": promoted.accesses, "key": entry.key}
    insert_events(db, now, [*accesses, TierEvent("promoted", TIER, caller.actor, caller, body)])
    return entry


def _alike_entry(
    entries: Sequence[ContextEntry], promoted: Entry, nearness: Nearness | None
) -> ContextEntry | None:
    """The entry that the promoted one repeats: by its key, by its words, or in its meaning."""
    newest = sorted(entries, key=lambda entry: (entry.at, entry.key))[-_COMPARED:]
    # as JSON: a key of an object is a word too
    text = words(encoded(promoted.value))
    for entry in newest:
        if entry.key == promoted.key or similarity(words(encoded(entry.value)), text) >= SAME:
            return entry
    # two texts that differ in a number are near in meaning, and still not the same
    comparable = [entry for entry in newest if _numbers(entry.value) == _numbers(promoted.value)]
    if nearness is None or not comparable:
        return None
    scores = nearness(encoded(promoted.value), [encoded(entry.value) for entry in comparable])
    return next(
        (entry for entry, score in zip(comparable, scores, strict=True) if score >= SAME), None
    )


def _merged_options(alike: ContextEntry, promoted: Entry, options: EntryOptions) -> EntryOptions:
    """The larger numbers of both; the same again is a sign of importance."""
    boost = _DUPLICATE_BOOST * (encoded(alike.value) == encoded(promoted.value))
    importance = max(alike.importance, options.importance or 0) + boost
    confidence = max(alike.confidence, options.confidence or 0)
    return EntryOptions(None, min(100, importance), min(100, confidence))


def take_snapshot(ws: Workspace, caller: Caller, name: str) -> dict[str, Any]:
    """Store the active entries of a context as they are; return the ID, version and digest of the
    snapshot.
    """
    with writing(ws, "contexts") as db:
        context = _find_context(db, caller, name, "write")
        # without accesses: these are a fold over events, which no snapshot takes back
        rows = [
            _insertable(one._replace(accesses=0, accessed=0))
            for one in list_entries(db, caller, context.name)
        ]
        body = json.dumps(
            {"name": context.name, "version": context.version, "entries": rows}, sort_keys=True
        )
        snapshot = {
            "id": os.urandom(6).hex(),
            "context": context.name,
            "version": context.version,
            "at": ws.clock.now(),
            "sha256": hashlib.sha256(body.encode()).hexdigest(),
        }
        sql = (
            "INSERT INTO context_snapshot (id, context, version, at, sha256, actor, body) VALUES"
            " (?, ?, ?, ?, ?, ?, ?)"
        )
        db.execute(sql, (*snapshot.values(), caller.actor, body))
        insert_events(
            db,
            ws.clock.now(),
            [TierEvent("snapshot", TIER, context.name, caller, {"id": snapshot["id"]})],
        )
        return snapshot


def restore_snapshot(ws: Workspace, caller: Caller, name: str, snapshot: str) -> int:
    """Make the entries of a context what they were, each as a new version; return how many changed.

    UsageProblem for a snapshot that is not there, or whose content does not match its digest.
    """
    with writing(ws, "contexts") as db:
        context = _find_context(db, caller, name, "write")
        sql = "SELECT sha256, body FROM context_snapshot WHERE id = ? AND context = ?"
        row = db.row(sql, (snapshot, context.name))
        if row is None:
            hint = f"See: kl memory context show {context.name}"
            raise UsageProblem(
                "there is no snapshot of this ID.", place=one_line(snapshot, 60), hint=hint
            )
        # before anything is read from it: the digest is all that speaks for these bytes
        if hashlib.sha256(row[1].encode()).hexdigest() != row[0]:
            raise UsageProblem(
                "was changed since it was taken (sha256 differs): not restored.", place=snapshot
            )
        wanted = {
            stored_entry.key: stored_entry
            for stored_entry in (_entry(entry) for entry in json.loads(row[1])["entries"])
        }
        current = {
            stored_entry.key: stored_entry
            for stored_entry in list_entries(db, caller, context.name)
        }
        now = ws.clock.now()
        surplus = [stored_entry for key, stored_entry in current.items() if key not in wanted]
        _archive_entries(db, caller, now, surplus, f"not in snapshot {snapshot}")
        changed = [
            stored_entry
            for key, stored_entry in wanted.items()
            if key not in current or not _same(stored_entry, current[key])
        ]
        for stored_entry in changed:
            options = EntryOptions(
                stored_entry.type,
                stored_entry.importance,
                stored_entry.confidence,
                stored_entry.tags,
                None,
                stored_entry.memory,
            )
            _add_version(
                db,
                caller,
                context.name,
                stored_entry.key,
                stored_entry.value,
                now,
                options,
                current.get(stored_entry.key),
                event="restored",
            )
        return len(changed) + len(surplus)


def _same(entry: ContextEntry, other: ContextEntry) -> bool:
    names = ("value", "type", "importance", "confidence", "tags", "memory")
    return all(getattr(entry, name) == getattr(other, name) for name in names)


def grant_context(ws: Workspace, caller: Caller, name: str, actor: str, level: str) -> Context:
    """Let an actor read, write or administrate a context; an empty level takes that away."""
    return Context.grant(ws, caller, name or caller.actor, actor, level)


def archive_context(ws: Workspace, caller: Caller, name: str) -> None:
    """Archive a context: nobody reads it any more, and its rows stay."""
    with writing(ws, "contexts") as db:
        context = _find_context(db, caller, name, "admin")
        Context.end(db, caller, ws.clock.now(), [context.name])


def context_page(ws: Workspace, caller: Caller, name: str) -> dict[str, Any]:
    """Return a context with its entries, snapshots, retention status and log."""
    now = ws.clock.now()
    with reading(ws, counted=True) as db:
        context = _find_context(db, caller, name)
        assert db is not None
        entries = list_entries(db, caller, context.name)
        sql = (
            "SELECT id, version, actor, at, sha256 FROM context_snapshot WHERE context = ? ORDER BY"
            " at, id"
        )
        names = ("id", "version", "actor", "at", "sha256")
        snapshots = [dict(zip(names, row, strict=True)) for row in db.rows(sql, (context.name,))]
        log = [event.to_dict() for event in tier_events(db, TIER, context.name)]
        log += [
            {"name": "read", "at": one.at, "by": one.caller.actor, "key": entry.key}
            for entry in entries
            for one in tier_events(db, TIER, accessed(context.name, entry.key))
        ]
    shown = [
        one.to_dict(now) for one in sorted(entries, key=lambda one: (-one.relevance(now), one.key))
    ]
    return context.to_dict() | {
        "retention": _retention_status(context, entries, now),
        "entries": shown,
        "snapshots": snapshots,
        "log": sorted(log, key=lambda one: one["at"])[-100:],
    }


def _retention_status(context: Context, entries: Sequence[ContextEntry], now: int) -> str:
    """Return healthy, near_limit, over_limit or has_old_entries. Pure."""
    if context.max_entries and len(entries) > context.max_entries:
        return "over_limit"
    if context.max_age_days and any(now - one.at > context.max_age_days * DAY for one in entries):
        return "has_old_entries"
    if context.max_entries and len(entries) >= _NEAR * context.max_entries:
        return "near_limit"
    return "healthy"


def _beyond_retention(
    context: Context, entries: Sequence[ContextEntry], now: int
) -> list[ContextEntry]:
    """Return the entries that a context's limits do not allow: too old, then the least relevant.
    Pure.
    """
    age = context.max_age_days * DAY
    old = [one for one in entries if age and now - one.at > age]
    # ties by time and key: two runs over the same rows must choose the same
    rest = sorted(
        (one for one in entries if one not in old),
        key=lambda one: (one.relevance(now), one.at, one.key),
    )
    return old + (rest[: max(0, len(rest) - context.max_entries)] if context.max_entries else [])


def _stale_entries(db: Database, now: int) -> list[ContextEntry]:
    """Return the entries of all contexts that are to be archived: stale, or beyond the limits of
    their context.
    """
    found = dict[str, ContextEntry]()
    for context, entries in _all_entries(db):
        rotten = [one for one in entries if one.staleness(now).score >= _ARCHIVE]
        found |= {one.id: one for one in (*rotten, *_beyond_retention(context, entries, now))}
    return list(found.values())


def stale_policy() -> Policy:
    """Return the policy that archives entries that are stale, or beyond the limits of their
    context.
    """
    return tier_policy(
        "stale entries",
        "Entries of contexts that are stale, or beyond their limits, are archived.",
        "archive",
        f"staleness of {_ARCHIVE} or more, or beyond the limits of the context",
        lambda ws, db, now, days: bool(_stale_entries(db, now)),
        lambda ws, db, now: _archive_entries(db, UPKEEP, now, _stale_entries(db, now), "upkeep"),
    )


def _all_entries(db: Database | None) -> list[tuple[Context, list[ContextEntry]]]:
    """Return every active context with its entries, for upkeep, which shows nobody what it sees."""
    contexts = Context.select(db, "status = 'active'")
    return [(one, list_entries(db, Caller(one.owner, ""), one.name)) for one in contexts]


def _locate(db: Database | None, context: str, path: str) -> tuple[str, list[str]]:
    """Return the key of an entry and the path in its value; a key that has dots itself is found as
    a whole.
    """
    key = checked_key(path)
    if "." not in key or (db is not None and _active(db, context, key)):
        return key, []
    parts = split_path(path)
    return parts[0], parts[1:]


def _active(db: Database | None, context: str, key: str) -> ContextEntry | None:
    if db is None:
        return None
    row = db.row(
        f"SELECT {_COLUMNS} FROM context_entry WHERE context = ? AND key = ? AND status = 'active'",
        (context, key),
    )
    if not row:
        return None
    return _entry(row)


def _versions(db: Database, context: str, key: str) -> int:
    row = db.row(
        "SELECT MAX(version) FROM context_entry WHERE context = ? AND key = ?", (context, key)
    )
    return (row[0] if row else 0) or 0


def _insertable(one: ContextEntry) -> list[Any]:
    return [
        one.id,
        one.context,
        one.key,
        one.version,
        one.status,
        one.type,
        one.source,
        one.memory,
        encoded(one.value),
        one.importance,
        one.confidence,
        json.dumps(one.tags),
        one.previous,
        json.dumps(one.merged),
        one.actor,
        one.at,
    ]


def _insert_entry(db: Database, one: ContextEntry) -> None:
    marks = ", ".join("?" * len(_insertable(one)))
    db.execute(f"INSERT INTO context_entry ({_COLUMNS}) VALUES ({marks})", _insertable(one))


def _entry(row: Sequence[Any]) -> ContextEntry:
    args = list(row)
    args[8], args[11], args[13] = (
        json.loads(row[8]),
        tuple(json.loads(row[11])),
        tuple(json.loads(row[13])),
    )
    return ContextEntry(*args)
