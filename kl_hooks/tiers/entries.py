"""Entries: values under keys, who asks for them, what happened to them, and the rows of short-term
memory.

A recall is counted, but must not cost a transaction: it appends a line to `accesses.jsonl` of the
state directory. Whoever writes next stores these lines as Events, each exactly once: the table
`tier_cursor` has how far the file was read, in the same transaction. Every count is a fold over
Events.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.clock import DAY
from kl_hooks.errors import EnvironmentProblem, UsageProblem
from kl_hooks.evidence.provenance import agent, session
from kl_hooks.model.canonical import replace_surrogates
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.text import one_line, suggest_spelling
from kl_hooks.store.database import chunks, placeholders
from kl_hooks.store.redaction import redact, redact_value

if TYPE_CHECKING:
    from kl_hooks.hookspecs import Policy
    from kl_hooks.model.lifecycle import Change, Lifecycle
    from kl_hooks.store.database import Database
    from kl_hooks.workspace import Workspace

MOST_BYTES: Final = 1_000_000
"""Of a value as JSON."""
_MOST_KEY: Final = 500
_MAX_DEPTH: Final = 60
"""Levels of a value: json's encoder recurses once for each."""
SECOND: Final = 1_000_000
"""Microseconds."""
_HUMAN: Final = "human"
_DEFAULT_SESSION: Final = "default"
TYPES: Final = (
    "general",
    "task_context",
    "conversation",
    "tool_result",
    "observation",
    "reflection",
    "plan",
    "state",
    "task_state",
    "intermediate_result",
    "tool_state",
    "scratch_pad",
)
"""Of an entry, in any tier: the union of what the models list, and the uses of working memory
(ADR-0036).
"""
ACCESSES: Final = "accesses.jsonl"
_LARGEST_LOG: Final = 1_000_000
"""Bytes of the file of accesses, from which it begins anew once it has been read."""


class Caller(NamedTuple):
    """Who asks, and in which session. A name, not a proof (SECURITY.md)."""

    actor: str
    """`human`, or `agent:NAME`."""
    session: str

    @property
    def is_person(self) -> bool:
        """Whether it is a person."""
        return self.actor == _HUMAN


def caller_of(ws: Workspace, actor: str = "", session_name: str = "") -> Caller:
    """Return the caller by the environment (`KL_AGENT`, `KL_SESSION`), where nothing else is given.

    UsageProblem for a name of a session that is empty or too long.
    """
    name = agent(ws.environ)
    caller_name = actor or (f"agent:{name}" if name else _HUMAN)
    return Caller(
        redact(caller_name),
        checked_key(session_name or session(ws.environ) or _DEFAULT_SESSION, "--session"),
    )


def actor_name(text: str) -> str:
    """Return a name as callers have it: `human`, `agent:NAME`; a bare name is that of an agent."""
    name = checked_key(text.strip(), "agent")
    if name == _HUMAN or name.startswith("agent:"):
        return name
    return f"agent:{name}"


def checked_key(key: str, place: str = "key") -> str:
    """Return the key as it is stored: any characters but secrets, and at most 500. UsageProblem for
    none.
    """
    # a lone surrogate (an undecodable byte of an argument, PEP 383) has no UTF-8, and SQLite
    # refuses it
    redacted = redact(replace_surrogates(key))
    if not redacted.strip() or len(redacted) > _MOST_KEY:
        if redacted.strip():
            reason = f"is {len(redacted)} characters long; at most {_MOST_KEY} are taken."
        else:
            reason = "is empty."
        raise UsageProblem(reason, place=place, hint="Such as: plan, or step:3")
    return redacted


def checked_type(name: str) -> str:
    """Return the type of an entry; empty is `general`. UsageProblem for one that does not exist."""
    return checked_choice(name or TYPES[0], TYPES, "type")


def checked_choice(
    name: str, choices: Sequence[str], place: str, also: Mapping[str, str] | None = None
) -> str:
    """Return the canonical spelling of a word. `also`: other spellings → canonical. UsageProblem
    for an unknown one.
    """
    word = name.strip().lower().replace("-", "_")
    word = (also or {}).get(word, word)
    if word not in choices:
        hint = (
            f"{suggest_spelling(word, choices)} There are: {', '.join([*choices, *(also or {})])}."
        )
        raise UsageProblem(f"{one_line(name, 60)!r} is unknown.", place=place, hint=hint.strip())
    return word


def checked_ttl(seconds: int | None, default: int, most: int) -> int:
    """Return a time to live in seconds. UsageProblem for 0, less, and more than `most`."""
    if seconds is None:
        return default
    # Redis refuses PX 0, and diskcache takes a negative lifetime for expired: neither may decide
    # for the others
    if not 1 <= seconds <= most:
        raise UsageProblem(
            f"{seconds} seconds: from 1 to {most} are possible.",
            place="ttl",
            hint="Or leave it out.",
        )
    return seconds


def encoded(value: Any, place: str = "value") -> str:
    """Return a value as JSON, redacted. UsageProblem for what is no JSON, nested too deeply, or too
    large.
    """
    try:
        _refuse_deep_nesting(value)
        encoded_text = json.dumps(
            redact_value(replace_surrogates(value)),
            ensure_ascii=False,
            sort_keys=True,
            separators=(",", ":"),
            allow_nan=False,
        )
    except (TypeError, ValueError, RecursionError) as problem:
        raise UsageProblem(f"is no JSON: {one_line(str(problem), 100)}.", place=place) from None
    # measured after redaction: that is what is stored
    size = len(encoded_text.encode())
    if size > MOST_BYTES:
        hint = "Store it in a file, and remember its path."
        raise UsageProblem(
            f"is {size:,} bytes as JSON; at most {MOST_BYTES:,} are stored.", place=place, hint=hint
        )
    return encoded_text


def _refuse_deep_nesting(value: Any) -> None:
    # level by level: a recursive look would fail on exactly the values that it is there to refuse
    values_at_depth = [value]
    for _ in range(_MAX_DEPTH):
        values_at_depth = [
            item
            for one in values_at_depth
            if isinstance(one, dict | list | tuple)
            for item in (one.values() if isinstance(one, dict) else one)
        ]
        if not values_at_depth:
            return
    raise ValueError(f"nested more than {_MAX_DEPTH} levels deep")


def parsed(text: str) -> Any:
    """Return what a person typed: JSON where it is some, else the text itself."""
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return text


def _refuse_constant(word: str) -> Any:
    raise ValueError(f"{word} is no number of JSON")


def split_path(path: str) -> list[str]:
    """Return the keys of a dotted path: `a.b` is b in a, `a\\.b` is one key. UsageProblem for an
    empty key.
    """
    parts = list[str]()
    current = ""
    escaped = False
    for sign in path:
        if not escaped and sign == "\\":
            escaped = True
        elif not escaped and sign == ".":
            parts, current = [*parts, current], ""
        else:
            # a backslash before any other character is that character and the backslash
            current, escaped = (
                current + (f"\\{sign}" if escaped and sign not in ".\\" else sign),
                False,
            )
    parts.append(current + ("\\" if escaped else ""))
    if len(parts) > _MAX_DEPTH:
        raise UsageProblem(
            f"has {len(parts)} parts; {_MAX_DEPTH} are possible.", place=one_line(path, 60)
        )
    return [checked_key(part, path) for part in parts]


def value_at(value: Any, path: Sequence[str]) -> tuple[bool, Any]:
    """Return (whether it exists, the value at a path). Positions of a list are keys too."""
    for part in path:
        if isinstance(value, dict) and part in value:
            value = value[part]
        # isdecimal: `"²".isdigit()` is true, and int() refuses it
        elif isinstance(value, list) and part.isdecimal() and int(part) < len(value):
            value = value[int(part)]
        else:
            return False, None
    return True, value


def with_value_at(value: Any, path: Sequence[str], new: Any) -> Any:
    """Return the value with another one at a path. UsageProblem where something else than an object
    is on the way.
    """
    if not path:
        return new
    if value is not None and not isinstance(value, dict):
        hint = "Write the value above it as a whole."
        raise UsageProblem(
            "the value above it is no object.", place=one_line(".".join(path), 100), hint=hint
        )
    # a copy: the caller compares with what was there
    below = dict(value or {})
    below[path[0]] = with_value_at(below.get(path[0]), path[1:], new)
    return below


def merged(old: Any, new: Any) -> Any:
    """Return two values as one: objects key by key, where null removes a key; of all others the new
    one (RFC 7396).
    """
    if not isinstance(new, dict):
        return new
    combined = {**old} if isinstance(old, dict) else {}
    for key, value in new.items():
        combined[key] = merged(combined.get(key), value)
    return {key: value for key, value in combined.items() if value is not None or key not in new}


@dataclass(frozen=True, slots=True)
class Entry:
    """A value under a key."""

    key: str
    value: Any
    tier: str
    """working, short, long or shared."""
    source: str
    """Where it was found, in words: `short-term memory`, `pool default, version 3`."""
    by: str
    """Who wrote it."""
    session: str = ""
    type: str = TYPES[0]
    at: int = 0
    """When it was written, microseconds."""
    expires: int = 0
    """0: never."""
    accesses: int = 0
    id: str = ""
    more: Mapping[str, Any] = field(default_factory=dict)

    def is_live(self, now: int) -> bool:
        """Return whether it has not expired."""
        return not self.expires or now < self.expires


class TierEvent(NamedTuple):
    """Something that happened to an entry, a context or a pool."""

    name: str
    """read, written, merged, deleted, promoted, expired, evicted, granted, revoked, snapshot,
    restored, closed, …
    """
    tier: str
    subject: str
    """Of a row in short-term memory its ID; of a context or a pool its name."""
    caller: Caller
    body: Mapping[str, Any] = {}
    at: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return it as a log has it."""
        return {"name": self.name, "at": self.at, "by": self.caller.actor, **self.body}


def insert_events(db: Database, now: int, events: Iterable[TierEvent]) -> None:
    """Store events in the caller's transaction."""
    rows = [
        (
            one.at or now,
            one.name,
            one.tier,
            one.subject,
            one.caller.actor,
            one.caller.session,
            _compact(one.body),
        )
        for one in events
    ]
    sql = (
        "INSERT INTO tier_event (at, name, tier, subject, actor, session, body) VALUES (?, ?, ?, ?,"
        " ?, ?, ?)"
    )
    db.many(sql, rows)


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def tier_events(
    db: Database, tier: str, subject: str, names: Sequence[str] = ()
) -> list[TierEvent]:
    """Return what happened to something, oldest first."""
    if names:
        also = f" AND name IN ({placeholders(names)})"
    else:
        also = ""
    sql = (
        "SELECT name, actor, session, body, at FROM tier_event WHERE tier = ? AND subject ="
        f" ?{also} ORDER BY seq"
    )
    return [
        TierEvent(name, tier, subject, Caller(actor, of), json.loads(body), at)
        for name, actor, of, body, at in db.rows(sql, [tier, subject, *names])
    ]


def access_counts(db: Database, tier: str, subjects: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Return subject → (how often it was read, when last in microseconds)."""
    counts = dict.fromkeys(subjects, (0, 0))
    # by seq and not by time would be wrong here: of several clocks the latest moment counts
    for batch in chunks(subjects):
        sql = (
            "SELECT subject, COUNT(*), MAX(at) FROM tier_event WHERE tier = ? AND name = 'read'"
            f" AND subject IN ({placeholders(batch)}) GROUP BY subject"
        )
        counts |= {subject: (count, last) for subject, count, last in db.rows(sql, [tier, *batch])}
    return counts


def record_access(ws: Workspace, tier: str, subject: str, caller: Caller) -> None:
    """Record that something was read. Fails open: a count that is one too low costs nobody
    anything.
    """
    row = f"{_compact([tier, subject, caller.actor, caller.session, ws.clock.now()])}\n".encode()
    with suppress(OSError):
        # reading creates nothing: without a state directory there is no row that could have been
        # read
        if not ws.state.directory.is_dir():
            return
        path = ws.state.directory / ACCESSES
        handle = os.open(
            path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600
        )
        try:
            # flock(2); shared: several may append at once, and nobody while the file is emptied
            fcntl.flock(handle, fcntl.LOCK_SH)
            # a name in the first line: after the file was emptied it is another one, and is read
            # from its start
            if os.fstat(handle).st_size:
                name = b""
            else:
                name = f"{os.urandom(16).hex()}\n".encode()
            os.write(handle, name + row)
        finally:
            os.close(handle)


@contextmanager
def writing(ws: Workspace, what: str) -> Iterator[Database]:
    """The database within one transaction, with the accesses up to now stored. Raises as
    `Store.writing`.
    """
    with ws.store.writing(what=what) as db:
        with db.transaction():
            read = _ingest_accesses(ws, db)
            yield db
        # after the commit: emptied before it, a crash would lose these accesses
        if read > _LARGEST_LOG:
            _empty_log(ws, read)


@contextmanager
def reading(ws: Workspace, *, counted: bool = False) -> Iterator[Database | None]:
    """The database; None where it does not exist, or lacks our tables and can't be brought up to
    date.

    `counted`: with the accesses up to now stored, as far as that can be done.
    """
    if counted and (ws.state.directory / ACCESSES).exists():
        with suppress(EnvironmentProblem), writing(ws, "counting accesses"):
            pass
    with ws.store.reading() as db:
        # a store of an older kl on a read-only disk has no such table, and is no error for whoever
        # reads
        has_tables = db is not None and db.has_table("tier_event")
        yield db if has_tables else None


def _ingest_accesses(ws: Workspace, db: Database) -> int:
    """Store the accesses that are in the file and not in the database; return up to which byte they
    are.
    """
    try:
        stream = (ws.state.directory / ACCESSES).open("rb")
    except OSError:
        return 0
    with stream:
        name = stream.readline(64).decode("ascii", "replace").strip()
        row = db.row("SELECT file, position FROM tier_cursor WHERE name = ?", (ACCESSES,))
        start = int(row[1]) if row and row[0] == name else 0
        stream.seek(start)
        content = stream.read()
    # the last line may be half written
    whole = content[: content.rfind(b"\n") + 1]
    if whole:
        insert_events(db, ws.clock.now(), _accesses(whole))
        db.execute("DELETE FROM tier_cursor WHERE name = ?", (ACCESSES,))
        place = (ACCESSES, name, start + len(whole))
        db.execute("INSERT INTO tier_cursor (name, file, position) VALUES (?, ?, ?)", place)
    return start + len(whole)


def _accesses(content: bytes) -> Iterator[TierEvent]:
    for line in content.splitlines():
        try:
            tier, subject, actor, session, moment = json.loads(line)
        except (ValueError, TypeError):  # the first line, or one that a full disk cut short
            continue
        if (
            all(type(field) is str for field in (tier, subject, actor, session))
            and type(moment) is int
        ):
            yield TierEvent("read", tier, subject, Caller(actor, session), at=moment)


def _empty_log(ws: Workspace, read: int) -> None:
    """Empty the file where nothing was appended since it was read."""
    with suppress(OSError):
        handle = os.open(ws.state.directory / ACCESSES, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            # no wait: whoever is appending is soon done, and the next writer tries again
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(handle).st_size == read:
                os.ftruncate(handle, 0)
        finally:
            os.close(handle)


UPKEEP: Final = Caller("kl", "upkeep")
_ORPHANED: Final = (
    "at < ? AND ((tier = 'short' AND subject NOT IN (SELECT id FROM short_entry))"
    " OR (tier = 'shared' AND name = 'read'))"
)
"""Events that no count needs any more. Those of a pool's changes stay: its version is their number.
"""
_Look = Callable[["Workspace", "Database", int, int], bool]
"""(workspace, database, now, days of the log of packages) → whether there is something to do."""


def tier_policy(
    name: str,
    description: str,
    verb: str,
    reason: str,
    look: _Look,
    act: Callable[[Workspace, Database, int], None],
) -> Policy:
    """Return a maintenance policy of a tier. It is idempotent, and decides by the stored times and
    now.

    Its change names no actor, key or number: what upkeep shows is shown to everybody, and entries
    are their owner's.
    """
    # with pluggy; who reads and writes memory has no need of it
    from kl_hooks.hookspecs import Policy
    from kl_hooks.model.lifecycle import Change

    find = partial(_find, change=Change(verb, "tiers", name, reason), look=look)
    return Policy(name, description, find, partial(_apply, act=act))


def _find(
    ws: Workspace, numbers: Lifecycle, now: int, *, change: Change, look: _Look
) -> Sequence[Change]:
    with reading(ws, counted=True) as db:
        if db is not None and look(ws, db, now, numbers.package_log_days):
            return [change]
        return []


def _apply(
    ws: Workspace,
    changes: Sequence[Change],
    now: int,
    *,
    act: Callable[[Workspace, Database, int], None],
) -> None:
    # one transaction: killed anywhere, the next run begins from what was there
    with writing(ws, "upkeep") as db:
        act(ws, db, now)


def events_policy() -> Policy:
    """Return the policy that deletes events that are not counted any more."""
    return tier_policy(
        "tier events",
        "Accesses of what is no longer there are deleted.",
        "purge",
        "older than package_log_days, of what is no longer there",
        _has_old_events,
        _purge_events,
    )


def _has_old_events(ws: Workspace, db: Database, now: int, days: int) -> bool:
    return bool(
        days and db.row(f"SELECT 1 FROM tier_event WHERE {_ORPHANED} LIMIT 1", (now - days * DAY,))
    )


def _purge_events(ws: Workspace, db: Database, now: int) -> None:
    from kl_hooks.config.settings import load_lifecycle

    days = load_lifecycle(ws.root, ws.state.cache)[0].package_log_days
    if days:
        db.execute(f"DELETE FROM tier_event WHERE {_ORPHANED}", (now - days * DAY,))
