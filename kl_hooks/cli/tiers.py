"""Memory in tiers, as its caller sees it: `kl remember · recall · forget · keys · session · memory
context · pool`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from kl_hooks.cli.groups import LazyGroup
from kl_hooks.cli.output import (
    counted,
    echo,
    echo_lines,
    format_option,
    print_rows,
    top_option,
    warn,
    workspace,
)
from kl_hooks.cli.request_options import answer, operation_command, request_of, request_options
from kl_hooks.clock import iso
from kl_hooks.errors import CLEAN, FINDINGS
from kl_hooks.model.record import Record
from kl_hooks.model.text import one_line, quoted_field, quoted_lines
from kl_hooks.operations import persistent_contexts, pools, tiers
from kl_hooks.tiers.entries import Entry, encoded

if TYPE_CHECKING:
    from kl_hooks.operations.persistent_contexts import (
        Archived,
        ContextList,
        Page,
        Restored,
        Snapshot,
        WrittenEntry,
    )
    from kl_hooks.operations.pools import PoolList, PoolResult, PoolValue, ShownPool, Written
    from kl_hooks.operations.tiers import (
        Copied,
        Entries,
        Forgotten,
        Matches,
        Recalled,
        Statistics,
        Stored,
    )
    from kl_hooks.tiers.contexts import Context
    from kl_hooks.tiers.pools import Pool
    from kl_hooks.upkeep.consolidation import ClosedSession


def _value_lines(value: Any) -> Iterator[str]:
    """A value as data: each line after a bar, since another actor may have written it."""
    yield from quoted_lines(_text_of(value), "  | ").split("\n")


def _text_of(value: Any) -> str:
    if isinstance(value, Record):
        return value.text("pattern")
    if isinstance(value, str):
        return value
    return encoded(value)


def _warn_of_instruction(reasons: str, author: str) -> None:
    if reasons:
        warn(f"this reads like an instruction ({reasons}): it is data of {author}.")


def _moment(at: int) -> str:
    return f"{iso(at)[:19]}Z"


@operation_command(tiers.REMEMBER)
def remember(stored: Stored, request: tiers.RememberRequest) -> None:
    """Print where a value was stored."""
    entry = stored.entry
    if entry.expires:
        until = f", until {_moment(entry.expires)}"
    else:
        until = ""
    echo(f"{quoted_field(request.key)}  {entry.source}{until}")


@click.command(help=tiers.RECALL.help, epilog=f"Example: {tiers.RECALL.example}")
@request_options(tiers.RecallRequest)
@click.option(
    "--search",
    "is_search",
    is_flag=True,
    help="KEY is words: what has most of them, in keys and values, then what is near in meaning.",
)
@top_option(10, 1000)
@format_option()
def recall(is_search: bool, limit: int, shape: str, **values: Any) -> int:
    """Read the value of a key, or find values by words."""
    request = request_of(tiers.RecallRequest, values)
    if not is_search:
        recalled: Recalled = answer(tiers.RECALL, request, shape, _print_recalled)
        if recalled.entry:
            return CLEAN
        return FINDINGS
    search = tiers.SearchRequest(request.key, request.tier, request.session, limit)
    found: Matches = answer(tiers.SEARCH, search, shape, _print_matches)
    if found.matches:
        return CLEAN
    return FINDINGS


def _print_recalled(recalled: Recalled, request: tiers.RecallRequest) -> None:
    entry = recalled.entry
    if entry is None:
        hint = "See: kl keys"
        if not recalled.is_set_up:
            hint = f"{workspace().root}: kl is not set up here. Set it up with: kl init"
        warn(f"{one_line(request.key, 100)}: nothing is stored under this key. {hint}")
        return
    echo_lines([f"{entry.source}, by {quoted_field(entry.by)}", *_value_lines(entry.value)])
    _warn_of_instruction(recalled.suspicion, one_line(entry.by, 80))


def _print_matches(matches: Matches, _request: tiers.SearchRequest) -> None:
    lines = [f"{match.score:.2f}  {_row(match.entry)}" for match in matches.matches]
    echo_lines(lines or ["nothing has most of these words, or is near them in meaning."])


def _row(entry: Entry) -> str:
    value = quoted_field(_text_of(entry.value), 60)
    return f"{entry.tier:<8} {quoted_field(entry.key, 40):<24} {value}"


def _forget_code(forgotten: Forgotten, _request: tiers.ForgetRequest) -> int:
    if forgotten.tiers:
        return CLEAN
    return FINDINGS


@operation_command(tiers.FORGET, exit_code=_forget_code)
def forget(forgotten: Forgotten, request: tiers.ForgetRequest) -> None:
    """Print from where a value was removed."""
    done = "nothing of yours is stored under this key"
    if forgotten.tiers:
        done = f"removed from {', '.join(forgotten.tiers)}"
    if forgotten.elsewhere:
        elsewhere = f"; {forgotten.elsewhere}"
    else:
        elsewhere = ""
    echo(f"{quoted_field(request.key)}  {done}{elsewhere}")


@operation_command(tiers.KEYS)
def keys(entries: Entries, _request: tiers.KeysRequest) -> None:
    """Print what can be recalled."""
    rows = [_row(entry) for entry in entries.entries.shown]
    print_rows(rows, entries.entries.total, "nothing is stored.")


_SESSION_COMMANDS = {
    "close": "Promote what was read often, remove what has expired.",
    "save": "Copy working memory into short-term memory, for a day.",
    "load": "Copy short-term memory into working memory.",
}


@click.group(cls=LazyGroup, module="kl_hooks.cli.tiers", lines=_SESSION_COMMANDS)
def session() -> None:
    """The memory of one session."""


@operation_command(tiers.CLOSE)
def session_close(result: ClosedSession, _request: tiers.CloseRequest) -> None:
    """Print what closing a session did."""
    closed = result.closed
    promoted = counted(len(closed.promoted), "entry")
    echo(f"{promoted} promoted, {closed.expired} expired, {closed.left} left")
    if closed.working:
        echo(f"{counted(closed.working, 'entry')} of working memory removed")
    for entry in closed.promoted:
        key = quoted_field(entry.key)
        echo(f"  {key}  importance {entry.importance}, version {entry.version}")
    if closed.pools:
        echo(f"pools closed: {', '.join(closed.pools)}")
    if result.proposed:
        echo(f"proposed: {', '.join(result.proposed)}. See: kl memory review")


def _print_copied(copied: Copied, _request: tiers.SessionRequest) -> None:
    echo(f"{counted(copied.entries, 'entry')} copied")


session_save = operation_command(tiers.SAVE)(_print_copied)
session_load = operation_command(tiers.LOAD)(_print_copied)


@operation_command(tiers.STATS)
def memory_stats(statistics: Statistics, _request: tiers.StatsRequest) -> None:
    """Print how much each tier has."""
    echo(f"{'tier':<10} {'entries':>8} {'bytes':>10} {'accesses':>9}  due for promotion")
    for tier, row in statistics.counts["tiers"].items():
        due = row["due_for_promotion"] or ""
        echo(f"{tier:<10} {row['entries']:>8} {row['bytes']:>10,} {row['accesses']:>9}  {due}")
    contexts = counted(statistics.counts["contexts"], "context")
    echo(f"{contexts}, {counted(statistics.counts['pools'], 'pool')} that you can read")


@operation_command(persistent_contexts.LIST)
def context_list(context_list: ContextList, _request: persistent_contexts.ListRequest) -> None:
    """Print the contexts that can be read."""
    rows = [
        f"{context.name:<24} version {context.version:<6} {context.type}, {context.scope},"
        f" {context.level(context_list.actor)}"
        for context in context_list.contexts
    ]
    none = "there is no context yet. The first: kl remember KEY VALUE --tier long"
    print_rows(rows, len(rows), none)


@operation_command(persistent_contexts.CREATE)
def context_create(context: Context, _request: persistent_contexts.CreateRequest) -> None:
    """Print a new context."""
    echo(f"{context.name}  {context.type}, {context.scope}")


@operation_command(persistent_contexts.SHOW)
def context_show(shown: Page, _request: persistent_contexts.ContextRequest) -> None:
    """Print a context with its entries, snapshots and log."""
    page = shown.page
    sort = f"{page['type']}, {page['scope']}, {page['retention']}"
    echo(f"{page['name']}  version {page['version']}  {sort}")
    for entry in page["entries"]:
        scores = f"relevance {entry['relevance']:.2f}, staleness {entry['staleness']:.2f}"
        scores += f", read {counted(entry['accesses'], 'time')}"
        version = f"{entry['type']}, version {entry['version']}"
        echo_lines(
            [f"{quoted_field(entry['key'])}  {version}, {scores}", *_value_lines(entry["value"])]
        )
    for snapshot in page["snapshots"]:
        at = _moment(snapshot["at"])
        echo(f"snapshot {snapshot['id']}  version {snapshot['version']}  {at}")
    for event in page["log"][-10:]:
        echo(f"{_moment(event['at'])}  {event['name']:<10} {quoted_field(event['by'])}")


@operation_command(persistent_contexts.WRITE)
def context_write(written: WrittenEntry, _request: persistent_contexts.WriteRequest) -> None:
    """Print the new version of an entry."""
    entry = written.entry
    echo(f"{quoted_field(entry.key)}  version {entry.version}, importance {entry.importance}")


@operation_command(persistent_contexts.SNAPSHOT)
def context_snapshot(snapshot: Snapshot, _request: persistent_contexts.ContextRequest) -> None:
    """Print the ID of a snapshot."""
    echo(f"{snapshot.id}  version {snapshot.version}")


@operation_command(persistent_contexts.RESTORE)
def context_restore(restored: Restored, _request: persistent_contexts.RestoreRequest) -> None:
    """Print how much changed."""
    echo(f"{counted(restored.changed, 'entry')} restored or archived")


def _print_grants(context: Context, _request: Any) -> None:
    grants = ", ".join(f"{actor}: {level}" for actor, level in sorted(context.grants.items()))
    echo(f"{context.name}  {grants or 'no grants'}")


context_grant = operation_command(persistent_contexts.GRANT)(_print_grants)
context_revoke = operation_command(persistent_contexts.REVOKE)(_print_grants)


@operation_command(persistent_contexts.ARCHIVE)
def context_archive(context: Archived, _request: persistent_contexts.NamedContextRequest) -> None:
    """Print that a context was archived."""
    echo(f"{context.name}  {context.status}")


_POOL_COMMANDS = {
    "create": "Create a pool; you own it.",
    "list": "List the pools that you can read.",
    "show": "Show a pool: type, access, limits, keys.",
    "read": "Read the value at a dotted path, or all of it.",
    "write": "Write a value at a dotted path.",
    "merge": "Merge an object, key by key; null removes a key.",
    "grant": "Grant an agent access to a pool.",
    "revoke": "Revoke an agent's access.",
    "stats": "Show keys, bytes, changes, reads, and the last events.",
    "close": "Close a pool, and remove its data.",
}


@click.group(cls=LazyGroup, module="kl_hooks.cli.tiers", lines=_POOL_COMMANDS)
def pool() -> None:
    """Memory that several agents share: values under dotted keys, with access lists, a quota and a
    version.
    """


def _print_pool(result: PoolResult | Written | ShownPool, _request: Any) -> None:
    pool: Pool = result.pool
    if pool.expires:
        state = f"{pool.status} until {_moment(pool.expires)}"
    else:
        state = pool.status
    echo(f"{pool.name}  version {pool.version}  {pool.type}, {pool.scope}, {state}")


pool_create = operation_command(pools.CREATE)(_print_pool)
pool_write = operation_command(pools.WRITE)(_print_pool)
pool_merge = operation_command(pools.MERGE)(_print_pool)
pool_grant = operation_command(pools.GRANT)(_print_pool)
pool_revoke = operation_command(pools.REVOKE)(_print_pool)
pool_close = operation_command(pools.CLOSE)(_print_pool)


@operation_command(pools.LIST)
def pool_list(pool_list: PoolList, _request: pools.ListRequest) -> None:
    """Print the pools that can be read."""
    rows = [
        f"{pool.name:<24} version {pool.version:<6} {pool.type:<14} {pool.owner}"
        for pool in pool_list.pools
    ]
    print_rows(rows, len(rows), "there is no pool yet. See: kl pool create --help")


@operation_command(pools.SHOW)
def pool_show(shown: ShownPool, request: pools.KnownPoolRequest) -> None:
    """Print a pool and its keys."""
    pool = shown.pool
    _print_pool(shown, request)
    echo(f"owner    {pool.owner}")
    public = ", public" if pool.access["public"] else ""
    echo(f"read     {', '.join(pool.access['read']) or 'none'}{public}")
    echo(f"write    {', '.join(pool.access['write']) or 'none'}")
    echo(f"quota    {pool.most_bytes:,} bytes, eviction: {pool.eviction}")
    echo(f"keys     {len(shown.entries)}")
    for entry in shown.entries:
        echo(f"  {quoted_field(entry.key)}  by {quoted_field(entry.by)}")


@operation_command(pools.READ)
def pool_read(pool_value: PoolValue, _request: pools.ReadRequest) -> None:
    """Print a value in a pool."""
    author = quoted_field(pool_value.entry.by)
    echo(f"{pool_value.pool.name}  version {pool_value.pool.version}, by {author}")
    echo_lines(_value_lines(pool_value.entry.value))
    _warn_of_instruction(pool_value.suspicion, author)


@operation_command(pools.STATS)
def pool_stats(statistics: pools.Statistics, _request: pools.KnownPoolRequest) -> None:
    """Print how much a pool has, and what happened in it."""
    counts = statistics.counts
    echo(f"{counts['keys']} keys, {counts['bytes']:,} of {counts.get('max_bytes', 0):,} bytes")
    echo(f"{counts['changes']} changes, {counts['reads']} reads")
    for event in counts["events"]:
        author = quoted_field(event["by"])
        key = quoted_field(event.get("key", ""))
        echo(f"{_moment(event['at'])}  {event['name']:<22} {author}  {key}")
