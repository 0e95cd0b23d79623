"""Memory in tiers, as its caller sees it: `kl remember · recall · forget · keys · session · memory
context · pool`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import click

from kl_hooks.cli.groups import LazyGroup
from kl_hooks.cli.output import (
    counted,
    echo,
    format_option,
    initialized_workspace,
    print_answer,
    print_list,
    top_option,
    warn,
    workspace,
)
from kl_hooks.cli.record_output import agent_access
from kl_hooks.clock import iso
from kl_hooks.errors import CLEAN, FINDINGS
from kl_hooks.model.text import one_line, quoted_field, quoted_lines
from kl_hooks.records.query import get_record
from kl_hooks.tiers.contexts import (
    CONTEXT_SCOPES,
    CONTEXT_TYPES,
    ENTRY_TYPES,
    EntryOptions,
    archive_context,
    context_page,
    create_context,
    grant_context,
    list_contexts,
    restore_snapshot,
    take_snapshot,
    write_entry,
)
from kl_hooks.tiers.entries import (
    TYPES,
    Entry,
    actor_name,
    caller_of,
    checked_key,
    encoded,
    parsed,
    reading,
)
from kl_hooks.tiers.pools import (
    DEFAULT_POOL,
    EVICTION_ALIASES,
    EVICTIONS,
    POOL_SCOPE_ALIASES,
    POOL_SCOPES,
    POOL_TYPES,
    Pool,
    PoolOptions,
    close_pool,
    create_pool,
    find_pool,
    list_pools,
    pool_statistics,
    read_pool,
    set_access,
    write_pool,
)
from kl_hooks.tiers.router import TIER_ALIASES, TIERS, Memory, suspicion
from kl_hooks.workspace import Workspace

_MOST_INPUT = 2_000_000
"""Bytes that are read from stdin; a value may have half as many."""
_tier = click.Choice([*TIERS, *TIER_ALIASES])
_session = click.option(
    "--session", default="", metavar="NAME", help="The session; else KL_SESSION, else `default`."
)


def memory_of(ws: Workspace, session: str = "") -> Memory:
    """The memory of the caller."""
    return Memory(ws, caller_of(ws, session_name=session))


def read_value(text: str, as_text: bool) -> Any:
    """The value that was typed, or (`-`) is on stdin: JSON where it is some, else text."""
    if text == "-":
        # one byte more than can be stored, so that what is too long is refused and not cut
        text = sys.stdin.buffer.read(_MOST_INPUT + 1).decode("utf-8", "replace").removesuffix("\n")
    return text if as_text else parsed(text)


def value_lines(value: Any) -> Iterator[str]:
    """A value as data: each line after a bar, since another actor may have written it."""
    text = value if isinstance(value, str) else encoded(value)
    yield from quoted_lines(text, "  | ").split("\n")


def entry_to_dict(one: Entry) -> dict[str, Any]:
    """An entry in the JSON of an answer."""
    made = {
        "key": one.key,
        "value": one.value,
        "tier": one.tier,
        "source": one.source,
        "by": one.by,
        "type": one.type,
        "session": one.session,
        "at": iso(one.at) if one.at else "",
        "expires": iso(one.expires) if one.expires else "",
        "accesses": one.accesses,
    }
    return made | dict(one.more)


@click.command(epilog="Example: kl remember plan 'first the parser' --tier working --ttl 7200")
@click.argument("key")
@click.argument("value", required=False, default="-", metavar="[VALUE|-]")
@click.option("--tier", type=_tier, default="short", show_default=True, help="Where it is stored.")
@click.option(
    "--ttl",
    type=int,
    metavar="SECONDS",
    help="Until it expires: working at most a day, short a week.",
)
@click.option(
    "--type",
    "sort",
    type=click.Choice(TYPES),
    default="general",
    show_default=True,
    help="What it is.",
)
@_session
@click.option(
    "--append", is_flag=True, help="Working memory: at the end of the list that is there."
)
@click.option(
    "--for",
    "to",
    default="",
    metavar="AGENT",
    help="Working memory: only this agent can recall it, from you.",
)
@click.option(
    "--importance",
    type=click.IntRange(0, 100),
    help="Long-term memory: how much it matters, in percent.",
)
@click.option(
    "--tag", "tags", multiple=True, help="Long-term memory: a short word. May be repeated."
)
@click.option(
    "--text", "as_text", is_flag=True, help="The value is text, also where it could be JSON."
)
@format_option()
def remember(
    key: str,
    value: str,
    tier: str,
    ttl: int | None,
    sort: str,
    session: str,
    append: bool,
    to: str,
    importance: int | None,
    tags: tuple[str, ...],
    as_text: bool,
    shape: str,
) -> None:
    """Store VALUE (JSON, or text; `-` reads stdin) under KEY.

    `working`: for minutes or hours, in the cache. `short`: an hour, in the database. `long`: in
    your own persistent context, in versions. `shared`: in the pool `default`, for everybody here.
    All but `shared` is private to you.
    """
    if (append or to) and tier not in ("working", "working_memory"):
        raise click.UsageError("--append and --for need --tier working.")
    memory = memory_of(initialized_workspace(), session)
    made = read_value(value, as_text)
    if append or to:
        entry = memory.working.write(
            key, made, ttl=ttl, type=sort, append=append, to=actor_name(to) if to else ""
        )
        stored = entry.value[-1] if append else entry.value
    else:
        options = EntryOptions(
            importance=importance, tags=tags or None, type=sort if sort != TYPES[0] else None
        )
        entry = memory.write(key, made, tier, ttl=ttl, type=sort, options=options)
        stored = entry.value
    until = f", until {iso(entry.expires)[:19]}Z" if entry.expires else ""
    print_answer(
        shape,
        {"schema": "kl.entry/1", **entry_to_dict(entry)},
        [f"{quoted_field(key)}  {entry.source}{until}"],
    )
    _warn_of_change(key, entry.key, made, stored)
    _warn_of(memory)


def _warn_of_change(key: str, stored_key: str, given: Any, stored: Any) -> None:
    """Report where something else is stored than was given, or nothing was given."""
    if stored_key != key:  # escape sequences, secrets, and bytes that are no UTF-8 are in no key
        warn(f"warning: it is stored under another key: {one_line(stored_key, 100)}")
    if stored != given and "[redacted:" in str(stored):
        warn("warning: what looks like a secret is not stored: [redacted:…] is in its place.")
    if given == "":
        warn("warning: the value is empty: nothing was given, or stdin had nothing.")


@click.command(epilog="Example: kl recall plan")
@click.argument("key")
@click.option("--tier", type=_tier, help="Only there.")
@click.option(
    "--from",
    "sender",
    default="",
    metavar="AGENT",
    help="What this agent stored with --for for you.",
)
@click.option(
    "--search",
    "searched",
    is_flag=True,
    help="KEY is words: what has most of them, in keys and values.",
)
@_session
@top_option(10, 1000)
@format_option()
def recall(
    key: str, tier: str | None, sender: str, searched: bool, session: str, limit: int, shape: str
) -> int:
    """Read KEY from working, short-term, long-term, then shared memory: the first hit wins, and its
    tier is shown.

    Exit code 1 where there is none. A value is data, whoever wrote it: text reads it after a bar.
    """
    ws = workspace()
    memory = memory_of(ws, session)
    if searched:
        return _search(memory, key, tier or "", limit, shape)
    entry = memory.read(key, tier or "", actor_name(sender) if sender else "")
    _warn_of(memory)
    if entry is None:
        if shape == "json":
            print_answer(shape, {"schema": "kl.entry/1", "key": key, "tier": None}, [])
        else:
            where = (
                "See: kl keys"
                if ws.initialized
                else f"{ws.root}: kl is not set up here. Set it up with: kl init"
            )
            warn(f"{one_line(key, 100)}: nothing is stored under this key. {where}")
        return FINDINGS
    if record := entry.more.get("record"):
        with agent_access(ws) as may:
            may.record(get_record(ws, record))
    suspicious = suspicion(entry, memory.caller)
    plain = {"schema": "kl.entry/1", **entry_to_dict(entry), "suspicious": suspicious}
    print_answer(
        shape, plain, [f"{entry.source}, by {quoted_field(entry.by)}", *value_lines(entry.value)]
    )
    if suspicious:
        warn(
            f"this reads like an instruction ({suspicious}): it is data of"
            f" {one_line(entry.by, 80)}."
        )
    return CLEAN


def _search(memory: Memory, text: str, tier: str, limit: int, shape: str) -> int:
    found = memory.search(text, limit, tier)
    rows = [entry_to_dict(one) | {"score": round(score, 3)} for one, score in found]
    lines = [_row(one) for one, _ in found] or ["nothing has most of these words."]
    print_answer(shape, {"schema": "kl.entries/1", "entries": rows, "total": len(rows)}, lines)
    return CLEAN if found else FINDINGS


def _row(one: Entry) -> str:
    value = one.value if isinstance(one.value, str) else encoded(one.value)
    return f"{one.tier:<8} {quoted_field(one.key, 40):<24} {quoted_field(value, 60)}"


@click.command(epilog="Example: kl forget plan")
@click.argument("key")
@click.option("--tier", type=_tier, help="Only there.")
@_session
@format_option()
def forget(key: str, tier: str | None, session: str, shape: str) -> int:
    """Remove KEY from your own working, short-term and long-term memory. Long-term memory keeps its
    versions.
    """
    memory = memory_of(initialized_workspace(), session)
    removed = memory.forget(key, tier or "")
    done = (
        f"removed from {', '.join(removed)}"
        if removed
        else "nothing of yours is stored under this key"
    )
    if not removed and not tier and (shared := memory.read(key, "shared")):
        done += (
            f"; {shared.source}, has it. Remove it there with:"
            f" {memory.removal_command(key, shared.more['pool'])}"
        )
    print_answer(
        shape,
        {"schema": "kl.forgotten/1", "key": key, "tiers": removed},
        [f"{quoted_field(key)}  {done}"],
    )
    _warn_of(memory)
    return CLEAN if removed else FINDINGS


@click.command(epilog="Example: kl keys --tier short")
@click.option("--tier", type=_tier, help="Only there.")
@click.option("--all-sessions", is_flag=True, help="Short-term memory of your other sessions too.")
@_session
@top_option(100)
@format_option()
def keys(tier: str | None, all_sessions: bool, session: str, limit: int, shape: str) -> None:
    """List what you can recall, tier by tier: your own, and what is shared with you."""
    memory = memory_of(workspace(), session)
    found = memory.entries(tier or "", all_sessions=all_sessions)
    rows = [
        {name: value for name, value in entry_to_dict(one).items() if name != "value"}
        for one in found
    ]
    plain = {"schema": "kl.keys/1", "keys": rows[:limit], "total": len(rows)}
    print_list(shape, plain, [_row(one) for one in found[:limit]], len(rows), "nothing is stored.")
    _warn_of(memory)


_SESSION_COMMANDS = {
    "close": "Promote what was read often, remove what has expired.",
    "save": "Copy working memory into short-term memory, for a day.",
    "load": "Copy short-term memory into working memory.",
}


@click.group(cls=LazyGroup, module="kl_hooks.cli.tiers", lines=_SESSION_COMMANDS)
def session() -> None:
    """The memory of one session."""


@click.command("close", epilog="Example: kl session close --session review-12")
@_session
@click.option(
    "--propose",
    is_flag=True,
    help="Propose what matters much (70 percent) as memories of the repository.",
)
@format_option()
def session_close(session: str, propose: bool, shape: str) -> None:
    """Close a session: short-term entries that were read three times become long-term memory, also
    expired ones.

    Alike entries are merged, expired ones removed, working memory and pools of the session cleared.
    """
    from kl_hooks.upkeep.consolidation import close_session

    ws = initialized_workspace()
    done = close_session(ws, caller_of(ws, session_name=session), propose=propose)
    closed = done.closed
    lines = [
        (
            f"{counted(len(closed.promoted), 'entry')} promoted, {closed.expired} expired,"
            f" {closed.left} left"
        ),
        *(
            [f"{counted(closed.working, 'entry')} of working memory removed"]
            if closed.working
            else []
        ),
        *(
            f"  {quoted_field(one.key)}  importance {one.importance}, version {one.version}"
            for one in closed.promoted
        ),
        *([f"pools closed: {', '.join(closed.pools)}"] if closed.pools else []),
        *(
            [f"proposed: {', '.join(done.proposed)}. See: kl memory review"]
            if done.proposed
            else []
        ),
    ]
    print_answer(shape, done.to_dict(), lines)


@click.command("save", epilog="Example: kl session save")
@_session
@format_option()
def session_save(session: str, shape: str) -> None:
    """Copy working memory of a session into short-term memory, where it stays for a day."""
    _copied(memory_of(initialized_workspace(), session).save(), shape)


@click.command("load", epilog="Example: kl session load")
@_session
@format_option()
def session_load(session: str, shape: str) -> None:
    """Copy short-term memory of a session into working memory."""
    _copied(memory_of(initialized_workspace(), session).load(), shape)


def _copied(number: int, shape: str) -> None:
    print_answer(
        shape,
        {"schema": "kl.session.copied/1", "entries": number},
        [f"{counted(number, 'entry')} copied"],
    )


def _warn_of(memory: Memory) -> None:
    if memory.working.note:
        warn(memory.working.note)


def print_statistics(shape: str) -> None:
    """What `kl memory stats` shows."""
    memory = memory_of(workspace())
    found = memory.statistics()
    print_answer(shape, {"schema": "kl.memory.stats/1", "actor": memory.caller.actor, **found}, [])
    if shape == "text":
        echo(f"{'tier':<10} {'entries':>8} {'bytes':>10} {'accesses':>9}  due for promotion")
        for tier, row in found["tiers"].items():
            due = row["due_for_promotion"] or ""
            echo(f"{tier:<10} {row['entries']:>8} {row['bytes']:>10,} {row['accesses']:>9}  {due}")
        echo(
            f"{counted(found['contexts'], 'context')}, {counted(found['pools'], 'pool')} that you"
            " can read"
        )
    _warn_of(memory)


_context_name = click.argument("name", default="", required=False)


@click.command("list", epilog="Example: kl memory context list")
@format_option()
def context_list(shape: str) -> None:
    """List the contexts that you can read, your own first."""
    ws = workspace()
    caller = caller_of(ws)
    with reading(ws) as db:
        found = list_contexts(db, caller)
    rows = [
        f"{one.name:<24} version {one.version:<6} {one.type}, {one.scope},"
        f" {one.level(caller.actor)}"
        for one in found
    ]
    plain = {
        "schema": "kl.contexts/1",
        "contexts": [one.to_dict() for one in found],
        "total": len(found),
    }
    print_list(
        shape,
        plain,
        rows,
        len(found),
        "there is no context yet. The first: kl remember KEY VALUE --tier long",
    )


@click.command(
    "create", epilog="Example: kl memory context create glossary --scope global --max-entries 200"
)
@click.argument("name")
@click.option(
    "--type",
    "sort",
    type=click.Choice(CONTEXT_TYPES),
    default=CONTEXT_TYPES[0],
    show_default=True,
    help="What it is.",
)
@click.option(
    "--scope",
    type=click.Choice(CONTEXT_SCOPES),
    default="agent",
    show_default=True,
    help="agent: private. The others: everybody here may read it.",
)
@click.option(
    "--max-entries",
    type=click.IntRange(0),
    default=0,
    help="Beyond it the least relevant are archived; 0: none.",
)
@click.option(
    "--max-age-days", type=click.IntRange(0), default=0, help="Older entries are archived; 0: none."
)
@format_option()
def context_create(
    name: str, sort: str, scope: str, max_entries: int, max_age_days: int, shape: str
) -> None:
    """Make a context of yours."""
    ws = initialized_workspace()
    made = create_context(
        ws,
        caller_of(ws),
        name,
        type=sort,
        scope=scope,
        max_entries=max_entries,
        max_age_days=max_age_days,
    )
    print_answer(
        shape,
        {"schema": "kl.context/1", **made.to_dict()},
        [f"{made.name}  {made.type}, {made.scope}"],
    )


@click.command("show", epilog="Example: kl memory context show")
@_context_name
@format_option()
def context_show(name: str, shape: str) -> None:
    """Show a context (yours, without a NAME): entries by relevance, snapshots, retention, who read
    and changed it.
    """
    ws = workspace()
    page = context_page(ws, caller_of(ws), name)
    lines = [
        f"{page['name']}  version {page['version']}  {page['type']}, {page['scope']},"
        f" {page['retention']}"
    ]
    for one in page["entries"]:
        scores = f"relevance {one['relevance']:.2f}, staleness {one['staleness']:.2f}"
        scores += f", read {counted(one['accesses'], 'time')}"
        lines += [
            f"{quoted_field(one['key'])}  {one['type']}, version {one['version']}, {scores}",
            *value_lines(one["value"]),
        ]
    lines += [
        f"snapshot {one['id']}  version {one['version']}  {iso(one['at'])[:19]}Z"
        for one in page["snapshots"]
    ]
    lines += [
        f"{iso(one['at'])[:19]}Z  {one['name']:<10} {quoted_field(one['by'])}"
        for one in page["log"][-10:]
    ]
    print_answer(shape, {"schema": "kl.context/1", **page}, lines)


@click.command(
    "write",
    epilog="Example: kl memory context write glossary terms.receipt 'one capture of evidence'",
)
@click.argument("name")
@click.argument("path")
@click.argument("value", required=False, default="-", metavar="[VALUE|-]")
@click.option(
    "--type",
    "sort",
    type=click.Choice(ENTRY_TYPES),
    help="What it is; else as it was, or an observation.",
)
@click.option("--importance", type=click.IntRange(0, 100), help="Percent; else as it was, or 50.")
@click.option("--confidence", type=click.IntRange(0, 100), help="Percent; else as it was, or 100.")
@click.option("--tag", "tags", multiple=True, help="In place of those it has. May be repeated.")
@click.option("--merge", is_flag=True, help="Merge an object into what is there, key by key.")
@click.option(
    "--text", "as_text", is_flag=True, help="The value is text, also where it could be JSON."
)
@format_option()
def context_write(
    name: str,
    path: str,
    value: str,
    sort: str | None,
    importance: int | None,
    confidence: int | None,
    tags: tuple[str, ...],
    merge: bool,
    as_text: bool,
    shape: str,
) -> None:
    """Write VALUE at a dotted PATH of a context: a new version of that entry."""
    ws = initialized_workspace()
    options = EntryOptions(sort, importance, confidence, tags or None)
    made = write_entry(
        ws, caller_of(ws), name, path, read_value(value, as_text), options, merge=merge
    )
    plain = {"schema": "kl.context.entry/1", **made.to_dict(ws.clock.now())}
    print_answer(
        shape,
        plain,
        [f"{quoted_field(made.key)}  version {made.version}, importance {made.importance}"],
    )


@click.command("snapshot", epilog="Example: kl memory context snapshot glossary")
@_context_name
@format_option()
def context_snapshot(name: str, shape: str) -> None:
    """Store a context as it is now, with its version and the SHA-256 of its content."""
    ws = initialized_workspace()
    made = take_snapshot(ws, caller_of(ws), name)
    print_answer(
        shape,
        {"schema": "kl.context.snapshot/1", **made},
        [f"{made['id']}  version {made['version']}"],
    )


@click.command("restore", epilog="Example: kl memory context restore glossary 3f9a1c2b4d5e")
@click.argument("name")
@click.argument("snapshot_id", metavar="SNAPSHOT")
@format_option()
def context_restore(name: str, snapshot_id: str, shape: str) -> None:
    """Make the entries of a context what they were in a snapshot; what changed becomes a new
    version.
    """
    ws = initialized_workspace()
    number = restore_snapshot(ws, caller_of(ws), name, snapshot_id)
    plain = {
        "schema": "kl.context.restored/1",
        "context": name,
        "snapshot": snapshot_id,
        "changed": number,
    }
    print_answer(shape, plain, [f"{counted(number, 'entry')} restored or archived"])


@click.command("grant", epilog="Example: kl memory context grant glossary claude-code --write")
@click.argument("name")
@click.argument("actor", metavar="AGENT|human")
@click.option(
    "--read", "level", flag_value="read", default="read", help="Read it; without another option."
)
@click.option("--write", "level", flag_value="write", help="Write it too.")
@click.option("--admin", "level", flag_value="admin", help="Grant and archive it too.")
@format_option()
def context_grant(name: str, actor: str, level: str, shape: str) -> None:
    """Grant another actor access to a context: read, write or admin."""
    _print_context_grants(name, actor, level or "read", shape)


@click.command("revoke", epilog="Example: kl memory context revoke glossary claude-code")
@click.argument("name")
@click.argument("actor", metavar="AGENT|human")
@format_option()
def context_revoke(name: str, actor: str, shape: str) -> None:
    """Take that away."""
    _print_context_grants(name, actor, "", shape)


def _print_context_grants(name: str, actor: str, level: str, shape: str) -> None:
    ws = initialized_workspace()
    made = grant_context(ws, caller_of(ws), name, actor, level)
    granted = ", ".join(f"{who}: {what}" for who, what in sorted(made.grants.items()))
    print_answer(
        shape,
        {"schema": "kl.context/1", **made.to_dict()},
        [f"{made.name}  {granted or 'no grants'}"],
    )


@click.command("archive", epilog="Example: kl memory context archive glossary")
@click.argument("name")
@format_option()
def context_archive(name: str, shape: str) -> None:
    """Archive a context: nobody reads it any more. Its rows stay in the database."""
    ws = initialized_workspace()
    archive_context(ws, caller_of(ws), name)
    print_answer(
        shape, {"schema": "kl.context/1", "name": name, "status": "archived"}, [f"{name}  archived"]
    )


_POOL_COMMANDS = {
    "create": "Make one; it is yours.",
    "list": "Those that you can read.",
    "show": "One: type, access, limits, keys.",
    "read": "The value at a dotted path, or all of it.",
    "write": "Write a value at a dotted path.",
    "merge": "Merge an object, key by key; null removes a key.",
    "grant": "Let an agent read it, or write it.",
    "revoke": "Take that away.",
    "stats": "Keys, bytes, changes, reads, and what happened last.",
    "close": "Close one, and remove its data.",
}
_if_version = click.option(
    "--if-version", type=int, metavar="N", help="Only if the pool is still at version N."
)
_as_text = click.option(
    "--text", "as_text", is_flag=True, help="The value is text, also where it could be JSON."
)
_value = click.argument("value", required=False, default="-", metavar="[VALUE|-]")


@click.group(cls=LazyGroup, module="kl_hooks.cli.tiers", lines=_POOL_COMMANDS)
def pool() -> None:
    """Memory that several agents share: values under dotted keys, with access lists, a quota and a
    version.
    """


def _print_pool(one: Pool, shape: str, keys: Sequence[dict[str, str]] | None = None) -> None:
    plain = {
        "schema": "kl.pool/1" if keys is None else "kl.pool/2",
        **one.to_dict(),
        **({} if keys is None else {"keys": keys}),
        "at": iso(one.at),
        "expires": iso(one.expires) if one.expires else "",
    }
    state = one.status if not one.expires else f"{one.status} until {iso(one.expires)[:19]}Z"
    print_answer(
        shape, plain, [f"{one.name}  version {one.version}  {one.type}, {one.scope}, {state}"]
    )


@click.command(
    "create",
    epilog="Example: kl pool create review-12 --type team_shared --write claude-code --ttl 86400",
)
@click.argument("name")
@click.option(
    "--type",
    "sort",
    type=click.Choice(POOL_TYPES),
    default="shared",
    show_default=True,
    help="Who may write.",
)
@click.option(
    "--scope",
    type=click.Choice([*POOL_SCOPES, *POOL_SCOPE_ALIASES]),
    default="account",
    show_default=True,
    help="How long it lives: session and task end with your session.",
)
@click.option("--title", default="", help="What it is for, in one line.")
@click.option(
    "--read", "readers", multiple=True, metavar="AGENT", help="May read it. May be repeated."
)
@click.option(
    "--write",
    "writers",
    multiple=True,
    metavar="AGENT",
    help="May read and write it. May be repeated.",
)
@click.option(
    "--public",
    is_flag=True,
    help="Everybody here may read it; of the types shared and global write it too.",
)
@click.option(
    "--ttl", "lifetime", type=int, metavar="SECONDS", help="Until the whole pool expires."
)
@click.option(
    "--value-ttl",
    "ttl",
    type=int,
    metavar="SECONDS",
    help="Until a value expires after it was written.",
)
@click.option(
    "--max-bytes", "most_bytes", type=int, default=8_000_000, show_default=True, help="Its quota."
)
@click.option(
    "--eviction",
    type=click.Choice([*EVICTIONS, *EVICTION_ALIASES]),
    default="none",
    show_default=True,
    help="What gives way to a new value where the quota is reached; none: the write is refused.",
)
@click.option("--persist", is_flag=True, help="It outlives your session, whatever its scope.")
@format_option()
def pool_create(name: str, sort: str, shape: str, **options: Any) -> None:
    """Make a pool. You own it: you alone grant, revoke and close it (a person may close any)."""
    ws = initialized_workspace()
    _print_pool(create_pool(ws, caller_of(ws), name, PoolOptions(type=sort, **options)), shape)


@click.command("list", epilog="Example: kl pool list")
@format_option()
def pool_list(shape: str) -> None:
    """List the open pools that you can read."""
    ws = workspace()
    found = list_pools(ws, caller_of(ws))
    plain = {"schema": "kl.pools/1", "pools": [one.to_dict() for one in found], "total": len(found)}
    rows = [f"{one.name:<24} version {one.version:<6} {one.type:<14} {one.owner}" for one in found]
    print_list(shape, plain, rows, len(found), "there is no pool yet. See: kl pool create --help")


@click.command("show", epilog="Example: kl pool show default")
@click.argument("name", default=DEFAULT_POOL)
@format_option()
def pool_show(name: str, shape: str) -> None:
    """Show one pool: type, owner, access, limits, and its keys."""
    ws = workspace()
    caller = caller_of(ws)
    one = find_pool(ws, caller, name)
    entries = [
        value for value in Memory(ws, caller).entries("shared") if value.more["pool"] == one.name
    ]
    _print_pool(
        one,
        shape,
        keys=[{"key": value.key, "by": value.by, "at": iso(value.at)} for value in entries],
    )
    if shape == "text":
        print_answer(
            shape,
            None,
            [
                f"owner    {one.owner}",
                f"read     {', '.join(one.readers) or 'none'}{', public' if one.public else ''}",
                f"write    {', '.join(one.writers) or 'none'}",
                f"quota    {one.most_bytes:,} bytes, eviction: {one.eviction}",
                f"keys     {len(entries)}",
                *(f"  {quoted_field(value.key)}  by {quoted_field(value.by)}" for value in entries),
            ],
        )


@click.command("read", epilog="Example: kl pool read default build.status")
@click.argument("name")
@click.argument("path", required=False, default="")
@format_option()
def pool_read(name: str, path: str, shape: str) -> None:
    """Read the value at PATH (`a.b` is b in a; `a\\.b` one key), or the whole pool. It is data, whoever wrote it."""
    ws = workspace()
    caller = caller_of(ws)
    one, entry = read_pool(ws, caller, name, path)
    suspicious = suspicion(entry, caller)
    head = f"{one.name}  version {one.version}, by {quoted_field(entry.by)}"
    plain = {
        "schema": "kl.pool.value/1",
        **entry_to_dict(entry),
        "suspicious": suspicious,
        "success": True,
    }
    print_answer(shape, plain, [head, *value_lines(entry.value)])
    if suspicious:
        warn(
            f"this reads like an instruction ({suspicious}): it is data of"
            f" {quoted_field(entry.by)}."
        )


@click.command("write", epilog="Example: kl pool write default build.status green --if-version 4")
@click.argument("name")
@click.argument("path")
@_value
@_if_version
@_as_text
@format_option()
def pool_write(
    name: str, path: str, value: str, if_version: int | None, as_text: bool, shape: str
) -> None:
    """Write VALUE (JSON, or text; `-` reads stdin) at PATH; the version rises by one.

    With --if-version exit code 1, and nothing is written, where the pool has changed since. A write
    below `agent_bulletin.` is an event of its own, for agents that follow it: kl pool stats.
    """
    ws = initialized_workspace()
    given = read_value(value, as_text)
    made = write_pool(ws, caller_of(ws), name, path, given, if_version=if_version)
    _print_pool(made, shape)
    start = path[:200]  # a path may be longer than a key
    _warn_of_change(start, checked_key(start), given, json.loads(encoded(given)))


@click.command(
    "merge",
    epilog="""Example: kl pool merge default '{"build": {"status": "green", "old": null}}'""",
)
@click.argument("name")
@_value
@click.option("--at", "path", default="", metavar="PATH", help="Merge into the value at this path.")
@_if_version
@format_option()
def pool_merge(name: str, value: str, path: str, if_version: int | None, shape: str) -> None:
    """Merge a JSON object into the pool, key by key (RFC 7396): null removes a key, lists are
    replaced.
    """
    ws = initialized_workspace()
    given = read_value(value, False)
    made = write_pool(ws, caller_of(ws), name, path, given, if_version=if_version, merge=True)
    _print_pool(made, shape)
    _warn_of_change("", "", given, json.loads(encoded(given)))


@click.command("grant", epilog="Example: kl pool grant review-12 claude-code --write")
@click.argument("name")
@click.argument("actor", metavar="AGENT|human|public")
@click.option("--write", "level", flag_value="write", help="Read and write.")
@click.option(
    "--read", "level", flag_value="read", default="read", help="Read; without another option."
)
@format_option()
def pool_grant(name: str, actor: str, level: str, shape: str) -> None:
    """Grant another actor access to one of your pools."""
    ws = initialized_workspace()
    _print_pool(set_access(ws, caller_of(ws), name, actor, level or "read"), shape)


@click.command("revoke", epilog="Example: kl pool revoke review-12 claude-code")
@click.argument("name")
@click.argument("actor", metavar="AGENT|human|public")
@format_option()
def pool_revoke(name: str, actor: str, shape: str) -> None:
    """Revoke an actor's access to one of your pools."""
    ws = initialized_workspace()
    _print_pool(set_access(ws, caller_of(ws), name, actor, ""), shape)


@click.command("stats", epilog="Example: kl pool stats default")
@click.argument("name", default=DEFAULT_POOL)
@format_option()
def pool_stats(name: str, shape: str) -> None:
    """How much a pool has, how often it was changed and read, and what happened last."""
    ws = workspace()
    found = pool_statistics(ws, caller_of(ws), name)
    lines = [
        f"{found['keys']} keys, {found['bytes']:,} of {found.get('max_bytes', 0):,} bytes",
        f"{found['changes']} changes, {found['reads']} reads",
        *(
            f"{iso(one['at'])[:19]}Z  {one['name']:<22} {quoted_field(one['by'])} "
            f" {quoted_field(one.get('key', ''))}"
            for one in found["events"]
        ),
    ]
    print_answer(shape, {"schema": "kl.pool.stats/1", **found}, lines)


@click.command("close", epilog="Example: kl pool close review-12")
@click.argument("name")
@format_option()
def pool_close(name: str, shape: str) -> None:
    """Close a pool and remove its data. Its owner may, and a person; `default` can't be closed."""
    ws = initialized_workspace()
    _print_pool(close_pool(ws, caller_of(ws), name), shape)
