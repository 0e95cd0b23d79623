"""`kl memory`: the commands that only memories have."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kl_hooks.cli.groups import LazyGroup
from kl_hooks.cli.output import (
    counted,
    echo,
    echo_json,
    echo_lines,
    warn,
    workspace,
    write,
)
from kl_hooks.cli.record_output import (
    record_lines,
    stale_line,
    warn_of_proposals,
)
from kl_hooks.cli.request_options import operation_command
from kl_hooks.model.parameter import InputFile
from kl_hooks.model.text import one_line
from kl_hooks.operations import memory as operations

if TYPE_CHECKING:
    from kl_hooks.kinds.memory.review import ReviewItem


def print_changed(change: operations.Changed, _request: Any = None, done: str = "") -> None:
    """Print what a memory is now, in a line or two."""
    record = change.memory.record
    echo(f"{record.id}  {done or change.done}  {one_line(record.title, 120)}")
    if record.path:
        echo(f"    {record.path}")
    warn_of_proposals(record)


_MOST_TEXT = 1_000_000
"""Characters that are read from stdin; less is stored."""


def _read_from_stdin(request: operations.AddRequest) -> operations.AddRequest:
    if request.text != "-":
        return request
    return request._replace(text=sys.stdin.read(_MOST_TEXT))


@operation_command(operations.ADD, _read_from_stdin)
def add(change: operations.Changed, request: operations.AddRequest) -> None:
    status = change.memory.record.status
    if change.done == "new":
        done = status
    else:
        done = f"{status} ({change.done})"
    print_changed(change, request, done)


@operation_command(operations.SHOW)
def show(shown: operations.ShownMemory, _request: operations.MemoryRequest) -> None:
    echo_lines((*record_lines(workspace(), shown.memory), "", *_use_lines(shown.item)))
    echo(f"{'quality':<13} {shown.quality} %, by structure, use, rating and age")
    if shown.memory.stale:
        echo(stale_line(shown.memory.stale))


def _use_lines(seen: ReviewItem) -> Iterator[str]:
    tally = seen.tally
    yield f"{'tier':<13} {seen.support.tier.word}"
    if tally.reinforced_at:
        last = f", last on {tally.reinforced_at[:10]}"
    else:
        last = ""
    yield f"{'seen':<13} in {counted(tally.reinforcement, 'session')}{last}"
    if seen.cost:
        yield f"{'cost':<13} {seen.cost}"
    helped = f"helped {tally.positive}, did not {tally.negative}"
    yield f"{'weighs':<13} {seen.importance} % today; given {tally.injected}, {helped}"
    if seen.ready:
        yield (
            f"{'ready':<13} for the project (asked for {tally.opened} times): kl memory approve"
            f" {seen.record.id}"
        )
    for reason in seen.quarantine:
        yield f"{'quarantine':<13} {reason}"
    for line in seen.support.lines:
        yield f"{'evidence':<13} {line}"


edit, approve, reject, demote, promote, verify, disprove = (
    operation_command(operation)(print_changed)
    for operation in (
        operations.EDIT,
        operations.APPROVE,
        operations.REJECT,
        operations.DEMOTE,
        operations.PROMOTE,
        operations.VERIFY,
        operations.DISPROVE,
    )
)


@operation_command(operations.FEEDBACK)
def feedback(use: operations.Use, _request: operations.FeedbackRequest) -> None:
    echo(
        f"{use.id}  given {use.injected}, helped {use.positive}, did not {use.negative};"
        f" weighs {use.weighs} %"
    )


def _from_here(request: operations.InjectRequest) -> operations.InjectRequest:
    return request._replace(folder=os.getcwd())  # noqa: PTH109


@operation_command(operations.INJECT, _from_here)
def inject(injected: operations.Injected, _request: operations.InjectRequest) -> None:
    write(injected.section.text)
    if not injected.section.ids:
        warn("no approved memory fits. See: kl memory review")


def _with_session(request: operations.MineRequest) -> operations.MineRequest:
    if not request.is_unasked or not workspace().settings.memory_auto_extract:
        return request
    return request._replace(transcripts=(*request.transcripts, _named_transcript()))


def _named_transcript() -> InputFile:
    """The transcript that an agent hook's JSON on stdin names. UsageError for what is none."""
    try:
        plain: Any = json.loads(sys.stdin.read(_MOST_TEXT))
    except (ValueError, RecursionError):
        plain = None
    if isinstance(plain, dict):
        path = plain.get("transcript_path")
    else:
        path = None
    if not isinstance(path, str) or not path:
        raise click.UsageError("--agent-event: stdin holds no JSON object with transcript_path.")
    # agents write `~` in it, and no shell has expanded it
    return InputFile(str(Path(path).expanduser()))


@operation_command(operations.MINE, _with_session)
def mine(mined: operations.NewMemories, _request: operations.MineRequest) -> None:
    echo(f"{counted(len(mined.new), 'new candidate')}, {len(mined.reinforced)} seen again")
    echo_lines(f"  {identifier}" for identifier in mined.new)
    if mined.new:
        echo("Review them with: kl memory review")


@operation_command(operations.IMPORT)
def import_(imported: operations.NewMemories, _request: operations.ImportRequest) -> None:
    echo(f"{len(imported.new)} imported, {len(imported.reinforced)} seen again")


@operation_command(operations.EXPORT)
def export(exported: operations.Export, _request: operations.ExportRequest) -> None:
    echo_json(exported.entries)


@operation_command(operations.CONFIGURE)
def configure(chosen: operations.Configuration, _request: operations.ConfigureRequest) -> None:
    echo(f"top-k         {chosen.top_k}")
    echo(f"auto-extract  {'yes' if chosen.auto_extract else 'no'}")
    if chosen.is_changed:
        warn("stored in this clone's git configuration (kl.memory-top-k, kl.memory-auto-extract).")


_CONTEXT_COMMANDS = {
    "list": "List the contexts that you can read.",
    "create": "Create a context.",
    "show": "Show a context: entries by relevance, snapshots, log.",
    "write": "Write an entry; the version before it stays.",
    "snapshot": "Store a snapshot of it.",
    "restore": "Restore its entries from a snapshot.",
    "grant": "Grant an agent access: read, write or administrate.",
    "revoke": "Revoke an agent's access.",
    "archive": "Archive it: nobody reads it any more.",
}


@click.group(cls=LazyGroup, module="kl_hooks.cli.tiers", lines=_CONTEXT_COMMANDS)
def context() -> None:
    """Persistent contexts: what an agent keeps beyond its sessions, in versions. Your own has your
    name.
    """


# `kl memory new` is read for one more release (groups.py)
new = add
