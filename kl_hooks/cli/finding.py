"""`kl failure` and `kl finding`: what failed, counted each time, and what agents' tools found out
or changed.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kl_hooks.cli.kind_commands import sign_record
from kl_hooks.cli.output import (
    Option,
    command_access,
    counted,
    echo,
    echo_json,
    format_option,
    given,
    initialized_workspace,
    print_answer,
    warn,
    workspace,
)
from kl_hooks.cli.record_output import record_lines, warn_of_index_problems, warn_of_proposals
from kl_hooks.errors import KlError
from kl_hooks.evidence.sources.transcript import read_transcript
from kl_hooks.kinds.failure import occurrences, record_failure, times_phrase
from kl_hooks.kinds.finding import MAX_HOOK_BYTES, Call, record_findings
from kl_hooks.model.text import one_line
from kl_hooks.records.query import get_record, record_to_dict, supersession_chain

if TYPE_CHECKING:
    from kl_hooks.kinds.finding import RecordedFindings


@click.command(
    "record",
    epilog=(
        'Example: kl failure record "Mock the database" --symptom "red build" --prevention "Use a'
        ' real one"'
    ),
)
@click.argument("approach")
@click.option("--symptom", help="What was seen.")
@click.option("--root-cause", "root_cause", cls=Option, old=("--cause",), help="Why it failed.")
@click.option("--prevention", help="What to do instead.")
@click.option("--fix", "fix_applied", help="How it was put right.")
@click.option(
    "--severity", type=click.Choice(["low", "medium", "high", "critical"], case_sensitive=False)
)
@click.option(
    "--about",
    "file_path",
    cls=Option,
    old=("--file",),
    multiple=True,
    metavar="PATH",
    help="The file where it happened. May be repeated.",
)
@click.option(
    "--decision",
    "related_adrs",
    multiple=True,
    metavar="ID",
    help="Decisions that state how it should be done.",
)
@click.option("--task", "task_id", help="The task it happened in.")
@click.option("--feature", "feature_id", metavar="ID", help="The feature it happened in.")
@click.option("--context", help="Where and when it happened.")
@click.option(
    "--fixed-in",
    "time_to_fix_minutes",
    type=click.IntRange(0, 1_000_000),
    help="Minutes it took to put right.",
)
@format_option()
def failure_record(approach: str, shape: str, **options: Any) -> None:
    """Record an APPROACH that failed. The same approach again is counted, and new information is
    filled in.

    Packages of context warn of it where it fits the task.
    """
    ws = initialized_workspace()
    raw: dict[str, Any] = {"approach": " ".join(approach.split())}
    raw |= given(options)
    by = sign_record(ws, raw)
    recorded, how_often = record_failure(ws, raw, by)
    made = command_access().written(recorded)
    if shape == "json":
        echo_json(record_to_dict(ws, made) | _counts(how_often))
        return
    echo(
        f"{made.id}  {made.status}  {made.title}   (happened {times_phrase(how_often.total)})\n   "
        f" {made.path}"
    )
    warn_of_proposals(made)
    if not made.text("prevention") and not made.proposal:
        echo(f'    hint: state what prevents it: kl failure edit {made.id} --prevention "…"')


@click.command("show", epilog="Example: kl failure show FAIL-3f9a1c2b")
@click.argument("id")
@format_option()
def failure_show(id: str, shape: str) -> None:
    """One failure, whole, with how often it happened here."""
    ws = workspace()
    record = command_access().record(get_record(ws, id, "failure"))
    how_often = occurrences(ws, record)
    warn_of_index_problems()
    head, *rest = record_lines(ws, record, supersession_chain(ws, record))
    times = (
        f"{times_phrase(how_often.total)}, first {how_often.first[:10]}, last {how_often.last[:10]}"
    )
    print_answer(
        shape,
        record_to_dict(ws, record) | _counts(how_often),
        [head, f"{'happened':<13} {times}", *rest],
    )


def _counts(how_often: Any) -> dict[str, Any]:
    names = {"occurrence_count": "total", "first_occurred": "first", "last_occurred": "last"}
    return {name: getattr(how_often, field) for name, field in names.items()}


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
