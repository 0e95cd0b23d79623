"""`kl memory context`: persistent contexts, as their caller sees them."""

from __future__ import annotations

import click

from kl_hooks.cli.options import format_option
from kl_hooks.cli.output import counted, initialized_workspace, print_answer, print_list, workspace
from kl_hooks.cli.remember import read_value, value_lines
from kl_hooks.clock import iso
from kl_hooks.model.text import quoted_field
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
from kl_hooks.tiers.entries import caller_of, reading

_name = click.argument("name", default="", required=False)


@click.command("list", epilog="Example: kl memory context list")
@format_option()
def list_(shape: str) -> None:
    """List the contexts that you can read, your own first."""
    ws = workspace()
    caller = caller_of(ws)
    with reading(ws) as db:
        found = list_contexts(db, caller)
    rows = [
        f"{one.name:<24} version {one.version:<6} {one.type}, {one.scope}, {one.level(caller.actor)}" for one in found
    ]
    plain = {"schema": "kl.contexts/1", "contexts": [one.to_dict() for one in found], "total": len(found)}
    print_list(shape, plain, rows, len(found), "there is no context yet. The first: kl remember KEY VALUE --tier long")


@click.command(epilog="Example: kl memory context create glossary --scope account --max-entries 200")
@click.argument("name")
@click.option(
    "--type", "sort", type=click.Choice(CONTEXT_TYPES), default=CONTEXT_TYPES[0], show_default=True, help="What it is."
)
@click.option(
    "--scope", type=click.Choice(CONTEXT_SCOPES), default="agent", show_default=True,
    help="agent: private. The others: everybody here may read it.",
)  # fmt: skip
@click.option(
    "--max-entries", type=click.IntRange(0), default=0, help="Beyond it the least relevant are archived; 0: none."
)
@click.option("--max-age-days", type=click.IntRange(0), default=0, help="Older entries are archived; 0: none.")
@format_option()
def create(name: str, sort: str, scope: str, max_entries: int, max_age_days: int, shape: str) -> None:
    """Make a context of yours."""
    ws = initialized_workspace()
    made = create_context(
        ws, caller_of(ws), name, type=sort, scope=scope, max_entries=max_entries, max_age_days=max_age_days
    )
    print_answer(shape, {"schema": "kl.context/1", **made.to_dict()}, [f"{made.name}  {made.type}, {made.scope}"])


@click.command(epilog="Example: kl memory context show")
@_name
@format_option()
def show(name: str, shape: str) -> None:
    """Show a context (yours, without a NAME): entries by relevance, snapshots, retention, who read and changed it."""
    ws = workspace()
    page = context_page(ws, caller_of(ws), name)
    lines = [f"{page['name']}  version {page['version']}  {page['type']}, {page['scope']}, {page['retention']}"]
    for one in page["entries"]:
        scores = f"relevance {one['relevance']:.2f}, staleness {one['staleness']:.2f}"
        scores += f", read {counted(one['accesses'], 'time')}"
        lines += [
            f"{quoted_field(one['key'])}  {one['type']}, version {one['version']}, {scores}",
            *value_lines(one["value"]),
        ]
    lines += [f"snapshot {one['id']}  version {one['version']}  {iso(one['at'])[:19]}Z" for one in page["snapshots"]]
    lines += [f"{iso(one['at'])[:19]}Z  {one['name']:<10} {quoted_field(one['by'])}" for one in page["log"][-10:]]
    print_answer(shape, {"schema": "kl.context/1", **page}, lines)


@click.command(epilog="Example: kl memory context write glossary terms.receipt 'one capture of evidence'")
@click.argument("name")
@click.argument("path")
@click.argument("value", required=False, default="-", metavar="[VALUE|-]")
@click.option("--type", "sort", type=click.Choice(ENTRY_TYPES), help="What it is; else as it was, or an observation.")
@click.option("--importance", type=click.IntRange(0, 100), help="Percent; else as it was, or 50.")
@click.option("--confidence", type=click.IntRange(0, 100), help="Percent; else as it was, or 100.")
@click.option("--tag", "tags", multiple=True, help="In place of those it has. May be repeated.")
@click.option("--merge", is_flag=True, help="Merge an object into what is there, key by key.")
@click.option("--text", "as_text", is_flag=True, help="The value is text, also where it could be JSON.")
@format_option()
def write(
    name: str, path: str, value: str, sort: str | None, importance: int | None, confidence: int | None,
    tags: tuple[str, ...], merge: bool, as_text: bool, shape: str,
) -> None:  # fmt: skip
    """Write VALUE at a dotted PATH of a context: a new version of that entry."""
    ws = initialized_workspace()
    options = EntryOptions(sort, importance, confidence, tags or None)
    made = write_entry(ws, caller_of(ws), name, path, read_value(value, as_text), options, merge=merge)
    plain = {"schema": "kl.context.entry/1", **made.to_dict(ws.clock.now())}
    print_answer(shape, plain, [f"{quoted_field(made.key)}  version {made.version}, importance {made.importance}"])


@click.command(epilog="Example: kl memory context snapshot glossary")
@_name
@format_option()
def snapshot(name: str, shape: str) -> None:
    """Store a context as it is now, with its version and the SHA-256 of its content."""
    ws = initialized_workspace()
    made = take_snapshot(ws, caller_of(ws), name)
    print_answer(shape, {"schema": "kl.context.snapshot/1", **made}, [f"{made['id']}  version {made['version']}"])


@click.command(epilog="Example: kl memory context restore glossary 3f9a1c2b4d5e")
@click.argument("name")
@click.argument("snapshot_id", metavar="SNAPSHOT")
@format_option()
def restore(name: str, snapshot_id: str, shape: str) -> None:
    """Make the entries of a context what they were in a snapshot; what changed becomes a new version."""
    ws = initialized_workspace()
    number = restore_snapshot(ws, caller_of(ws), name, snapshot_id)
    plain = {"schema": "kl.context.restored/1", "context": name, "snapshot": snapshot_id, "changed": number}
    print_answer(shape, plain, [f"{counted(number, 'entry')} restored or archived"])


@click.command(epilog="Example: kl memory context grant glossary claude-code --write")
@click.argument("name")
@click.argument("actor", metavar="AGENT|human")
@click.option("--read", "level", flag_value="read", default="read", help="Read it; without another option.")
@click.option("--write", "level", flag_value="write", help="Write it too.")
@click.option("--admin", "level", flag_value="admin", help="Grant and archive it too.")
@format_option()
def grant(name: str, actor: str, level: str, shape: str) -> None:
    """Grant another actor access to a context: read, write or admin."""
    _print_grants(name, actor, level or "read", shape)


@click.command(epilog="Example: kl memory context revoke glossary claude-code")
@click.argument("name")
@click.argument("actor", metavar="AGENT|human")
@format_option()
def revoke(name: str, actor: str, shape: str) -> None:
    """Take that away."""
    _print_grants(name, actor, "", shape)


def _print_grants(name: str, actor: str, level: str, shape: str) -> None:
    ws = initialized_workspace()
    made = grant_context(ws, caller_of(ws), name, actor, level)
    granted = ", ".join(f"{who}: {what}" for who, what in sorted(made.grants.items()))
    print_answer(shape, {"schema": "kl.context/1", **made.to_dict()}, [f"{made.name}  {granted or 'no grants'}"])


@click.command(epilog="Example: kl memory context archive glossary")
@click.argument("name")
@format_option()
def archive(name: str, shape: str) -> None:
    """Archive a context: nobody reads it any more. Its rows stay in the database."""
    ws = initialized_workspace()
    archive_context(ws, caller_of(ws), name)
    print_answer(shape, {"schema": "kl.context/1", "name": name, "status": "archived"}, [f"{name}  archived"])
