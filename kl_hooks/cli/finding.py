"""`kl failure` and `kl finding`: what failed, counted each time, and what agents' tools found out
or changed.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kl_hooks.cli.output import (
    counted,
    echo,
    echo_lines,
    format_option,
    initialized_workspace,
    print_answer,
    warn,
    workspace,
)
from kl_hooks.cli.record_output import record_lines, warn_of_proposals
from kl_hooks.cli.request_options import operation_command
from kl_hooks.errors import KlError
from kl_hooks.evidence.sources.transcript import read_transcript
from kl_hooks.kinds.catalog import FAILURE
from kl_hooks.kinds.failure import times_phrase
from kl_hooks.kinds.finding import MAX_HOOK_BYTES, Call, record_findings
from kl_hooks.model.text import one_line
from kl_hooks.operations import own_operations
from kl_hooks.operations.records import RecordRequest, ShownRecord

if TYPE_CHECKING:
    from kl_hooks.kinds.finding import RecordedFindings


@operation_command(own_operations.record_failure(FAILURE))
def failure_record(
    counted_failure: own_operations.CountedFailure, request: own_operations.FailureRequest
) -> None:
    """Print the failure, and how often it happened."""
    record = counted_failure.failure.record
    times = times_phrase(counted_failure.occurrences.total)
    echo(f"{record.id}  {record.status}  {record.title}   (happened {times})\n    {record.path}")
    warn_of_proposals(record)
    if not record.text("prevention") and not record.proposal:
        echo(f'    hint: state what prevents it: kl failure edit {record.id} --prevention "…"')


@operation_command(own_operations.show_failure(FAILURE))
def failure_show(shown: ShownRecord, request: RecordRequest) -> None:
    """Print a failure, whole, and how often it happened."""
    head, *rest = record_lines(workspace(), shown)
    count = shown.occurrences
    assert count is not None
    dates = f"first {count.first[:10]}, last {count.last[:10]}"
    echo_lines([head, f"{'happened':<13} {times_phrase(count.total)}, {dates}", *rest])


@click.command("add", epilog="Example: kl finding add --hook < tool-result.json")
@click.option(
    "--hook",
    "from_agent",
    is_flag=True,
    help="Read the JSON of an agent hook (after a tool) from stdin.",
)
@click.option(
    "--strict", is_flag=True, help="Fail where it can't be stored; else warn, and exit 0."
)
@format_option()
def finding_add(from_agent: bool, strict: bool, shape: str) -> None:
    """Record what one call of an agent's tool found out or changed.

    Meant to be called by an agent after each tool: it keeps each finding once, and never costs the
    agent its work.
    """
    if not from_agent:
        raise click.UsageError(
            "give the source: --hook. To write one yourself: kl finding new --edit"
        )
    if sys.stdin is not None and sys.stdin.isatty():
        warn(
            "waiting for the JSON of an agent hook, which is to be typed or pasted here; Ctrl-D"
            " ends it."
        )
    try:
        ws = initialized_workspace()
        # one byte more than allowed, so that what is too long is refused and not cut
        stored = record_findings(ws, [Call.from_hook(sys.stdin.buffer.read(MAX_HOOK_BYTES + 1))])
    except (KlError, OSError) as problem:
        if strict:
            raise
        warn(f"no finding stored: {problem}")
        return
    print_answer(shape, stored.to_dict(), _new_lines(stored))


@click.command("import", epilog="Example: kl finding import ~/.claude/projects/shop/3f9a1c2b.jsonl")
@click.argument("transcript", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--agent", default="", help="The agent whose transcript it is.")
@format_option()
def finding_import(transcript: Path, agent: str, shape: str) -> None:
    """Import the findings of a TRANSCRIPT (JSON lines of Claude Code, Codex, or chat messages with
    tool calls).

    Each is tied to the files as they are now, so import it while they are as the agent left them.
    """
    ws = initialized_workspace()
    read = read_transcript(transcript)
    stored = record_findings(ws, Call.in_transcript(read, agent))
    if read.bad:
        warn(f"{counted(read.bad, 'line')} could not be read, and were omitted.")
    end = f"{counted(len(stored.new), 'finding')} new, {len(stored.existing)} known already."
    print_answer(shape, stored.to_dict(), [*_new_lines(stored), end])


def _new_lines(stored: RecordedFindings) -> list[str]:
    return [
        f"{one.id}  {one.text('kind'):<12} {one_line(one.text('entity'), 60)}:"
        f" {one_line(one.text('finding'), 120)}"
        for one in stored.new
    ]
