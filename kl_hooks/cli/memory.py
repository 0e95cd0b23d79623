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
from kl_hooks.cli.memory_review import update_page
from kl_hooks.cli.output import (
    Option,
    confirm,
    counted,
    echo,
    echo_json,
    echo_lines,
    format_option,
    initialized_workspace,
    print_answer,
    warn,
    workspace,
    write,
)
from kl_hooks.cli.record_output import (
    exported,
    listed_records,
    print_deleted,
    record_lines,
    warn_of_proposals,
)
from kl_hooks.cli.request_options import operation_command
from kl_hooks.errors import EnvironmentProblem, UsageProblem
from kl_hooks.kinds.catalog import MEMORY
from kl_hooks.kinds.memory.review import (
    review_items,
)
from kl_hooks.model.actors import agent
from kl_hooks.model.problem import Problems
from kl_hooks.model.text import one_line
from kl_hooks.operations import memory as operations
from kl_hooks.records.query import RecordFilter, get_record, list_records
from kl_hooks.records.write import delete_record as take_away

if TYPE_CHECKING:
    from kl_hooks.kinds.memory.add import MiningResult
    from kl_hooks.kinds.memory.review import ReviewItem


def _print_changed(change: operations.Changed, _request: Any = None, done: str = "") -> None:
    """Print what a memory is now, in a line or two."""
    record = change.memory.record
    echo(f"{record.id}  {done or change.done}  {one_line(record.title, 120)}")
    if record.path:
        echo(f"    {record.path}")
    warn_of_proposals(record)


_MOST_TEXT = 1_000_000
"""Characters that are read from stdin; less is stored."""


def _read_from_stdin(request: operations.AddRequest) -> operations.AddRequest:
    return request._replace(text=sys.stdin.read(_MOST_TEXT)) if request.text == "-" else request


@operation_command(operations.ADD, _read_from_stdin)
def add(change: operations.Changed, request: operations.AddRequest) -> None:
    status = change.memory.record.status
    done = status if change.done == "new" else f"{status} ({change.done})"
    _print_changed(change, request, done)


@operation_command(operations.SHOW)
def show(shown: operations.ShownMemory, _request: operations.MemoryRequest) -> None:
    echo_lines((*record_lines(workspace(), shown.memory), "", *_use_lines(shown.item)))
    echo(f"{'quality':<13} {shown.quality} %, by structure, use, rating and age")
    if shown.memory.stale:
        echo(f"\nIt is outdated: {shown.memory.stale}.")


def _use_lines(seen: ReviewItem) -> Iterator[str]:
    tally = seen.tally
    yield f"{'tier':<13} {seen.support.tier.word}"
    last = f", last on {tally.reinforced_at[:10]}" if tally.reinforced_at else ""
    yield f"{'seen':<13} in {counted(tally.reinforcement, 'session')}{last}"
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


@click.command(epilog="Example: kl memory delete MEM-3f9a1c2b --yes")
@click.argument("id")
@click.option("--yes", is_flag=True, help="Do not ask.")
@format_option()
def delete(id: str, yes: bool, shape: str) -> None:
    """Take a memory away. A file stays in git's history; the same pattern is not proposed again."""
    from kl_hooks.records.permissions import agent_author, refuse_delete

    ws, record = workspace(), get_record(workspace(), id, MEMORY.name)
    refuse_delete(ws.kinds[record.kind], record, agent_author(ws, ""))
    if not yes:
        (listed,) = listed_records(ws, [record])
        confirm(f"delete {record.id} {listed.title}?")
    take_away(ws, record)
    print_deleted(record, shape)
    update_page()


edit, approve, reject, demote, promote, verify, disprove = (
    operation_command(operation)(_print_changed)
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


_MOST_INPUT = 1_000_000


@click.command(epilog="Example: kl memory mine --transcript ~/.claude/projects/shop/3f9a1c2b.jsonl")
@click.option(
    "--transcript",
    "transcripts",
    multiple=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="A session of an agent, as JSON lines (Claude Code, Codex). May be repeated.",
)
@click.option(
    "--agent-event",
    is_flag=True,
    help="Read an agent hook's JSON from stdin and mine the session it names.",
)
@format_option()
def mine(transcripts: tuple[Path, ...], agent_event: bool, shape: str) -> None:
    """Mine receipts, commits and transcripts for candidates, which wait for a review.

    Receipts and commits are mined by `kl status` and `kl memory review` too. No model is asked; the
    same input gives the same patterns. What was rejected does not come back.
    """
    from kl_hooks.kinds.memory.add import MiningResult, mine_receipts, mine_transcripts

    ws = initialized_workspace()
    if agent_event and not ws.settings.memory_auto_extract:
        # an agent hook calls this unasked, so the setting decides; no error, since nobody called
        transcripts, taken = (), MiningResult()
        warn("nothing is mined unasked here: kl memory configure --auto-extract yes")
    elif agent_event or transcripts:
        taken = mine_transcripts(ws, [*transcripts, *(_named_transcript() if agent_event else [])])
    else:
        taken = mine_receipts(ws, again=True)
    update_page()
    _print_mined(taken, shape)


def _named_transcript() -> list[Path]:
    """The transcript that an agent hook's JSON on stdin names. UsageError for what is none."""
    try:
        plain: Any = json.loads(sys.stdin.read(_MOST_INPUT))
    except (ValueError, RecursionError):
        plain = None
    path = plain.get("transcript_path") if isinstance(plain, dict) else None
    if not isinstance(path, str) or not path:
        raise click.UsageError("--agent-event: stdin holds no JSON object with transcript_path.")
    return [Path(path).expanduser()]  # agents write `~` in it, and no shell has expanded it


def _print_mined(taken: MiningResult, shape: str) -> None:
    lines = [f"{counted(len(taken.new), 'new candidate')}, {len(taken.reinforced)} seen again"]
    lines += (
        [*(f"  {one}" for one in taken.new), "Review them with: kl memory review"]
        if taken.new
        else []
    )
    plain = {"new": list(taken.new), "reinforced": list(taken.reinforced), "waiting": taken.waiting}
    print_answer(shape, {"schema": "kl.memory.mine/1", **plain}, lines)
    if taken.waiting:
        warn(f"{counted(taken.waiting, 'more pattern')} will follow with the next receipts.")
    if taken.trouble:
        warn(taken.trouble)


_LARGEST_FILE = 64 * 1024 * 1024


@click.command("import", epilog="Example: kl memory import .fuseraft/knowledge/repository/*.json")
@click.argument(
    "files", nargs=-1, required=True, metavar="FILE...", type=click.Path(path_type=Path)
)
@format_option()
def import_(files: tuple[Path, ...], shape: str) -> None:
    """Import memories that fuseraft or agor wrote as JSON: an entry, or a list of them, in each
    file.

    They come in as candidates, also what was approved elsewhere; what was rejected is rejected
    here. If anything is wrong in one of the files, nothing is imported.
    """
    from kl_hooks.kinds.memory.interchange import import_memories, read_memories

    ws = initialized_workspace()
    pairs = [read_memories(_read_json(path), str(path)) for path in files]
    if problems := [problem for _, wrong in pairs for problem in wrong]:
        raise Problems(problems)
    taken = import_memories(ws, [one for found, _ in pairs for one in found], files[0].name)
    plain = {
        "schema": "kl.memory.import/1",
        "new": list(taken.new),
        "reinforced": list(taken.reinforced),
    }
    print_answer(shape, plain, [f"{len(taken.new)} imported, {len(taken.reinforced)} seen again"])
    if taken.new:
        warn("review them with: kl memory review")
    update_page()


def _read_json(path: Path) -> Any:
    """What a file holds. UsageProblem for one that can't be read, or is no JSON."""
    try:
        if path.stat().st_size > _LARGEST_FILE:
            raise UsageProblem(f"is larger than {_LARGEST_FILE >> 20} MB.", place=str(path))
        return json.loads(path.read_bytes())
    except OSError as problem:
        raise UsageProblem(f"can't be read: {problem.strerror}.", place=str(path)) from problem
    except (ValueError, RecursionError) as problem:
        raise UsageProblem(f"is no JSON: {problem}", place=str(path)) from None


@click.command(epilog="Example: kl memory export > memories.json")
@click.option(
    "--status", "statuses", multiple=True, type=click.Choice(MEMORY.statuses), help="Only these."
)
def export(statuses: tuple[str, ...]) -> None:
    """Every memory as JSON on stdout, in the fields that fuseraft keeps. `kl memory import` reads
    it.
    """
    from kl_hooks.kinds.memory.interchange import to_fuseraft
    from kl_hooks.records.liveness import quarantines

    ws = workspace()
    wanted = RecordFilter((MEMORY.name,), statuses, expired=True)
    records = exported(list_records(ws, wanted))
    if agent(ws.environ) is not None and (hidden := quarantines(ws, records)):
        records = [record for record in records if record.id not in hidden]
        warn(f"omitted: {counted(len(hidden), 'quarantined memory')}, which no person has read")
    echo_json(to_fuseraft(review_items(ws, records)))


@click.command(epilog="Example: kl memory configure --top 3 --auto-extract no")
@click.option(
    "--top",
    "top_k",
    cls=Option,
    old=("--top-k",),
    type=click.IntRange(1, 100),
    help="Memories shown to an agent at once.",
)
@click.option(
    "--auto-extract",
    type=click.BOOL,
    help="Whether patterns are mined without being asked for: yes or no.",
)
@format_option()
def configure(top_k: int | None, auto_extract: bool | None, shape: str) -> None:
    """Configure memories in this clone. Stored in git's configuration of the clone: it is yours,
    and no checkout's.
    """
    from kl_hooks.git.repository import git_in

    ws = workspace()
    chosen = {
        "memory-top-k": top_k,
        "memory-auto-extract": None if auto_extract is None else str(auto_extract).lower(),
    }
    for key, value in chosen.items():
        if value is None:
            continue
        if ws.repo is None:
            hint = "Set memory_top_k and memory_auto_extract in your own kl/config.yaml."
            raise EnvironmentProblem("not a git repository.", place=str(ws.root), hint=hint)
        git_in(ws.repo, "config", "--local", f"kl.{key}", str(value))
    top = top_k or ws.settings.memory_top_k
    extract = ws.settings.memory_auto_extract if auto_extract is None else auto_extract
    lines = [f"top-k         {top}", f"auto-extract  {'yes' if extract else 'no'}"]
    print_answer(
        shape, {"schema": "kl.memory.settings/1", "top_k": top, "auto_extract": extract}, lines
    )
    if shape == "text" and (top_k or auto_extract is not None):
        warn("stored in this clone's git configuration (kl.memory-top-k, kl.memory-auto-extract).")


_CONTEXT_COMMANDS = {
    "list": "Those that you can read.",
    "create": "Make one.",
    "show": "One, with its entries by relevance, its snapshots and its log.",
    "write": "Write an entry; the version before it stays.",
    "snapshot": "Store it as it is now.",
    "restore": "Make its entries what they were in a snapshot.",
    "grant": "Let an agent read, write or administrate it.",
    "revoke": "Take that away.",
    "archive": "Nobody reads it any more.",
}


@click.group(cls=LazyGroup, module="kl_hooks.cli.tiers", lines=_CONTEXT_COMMANDS)
def context() -> None:
    """Persistent contexts: what an agent keeps beyond its sessions, in versions. Your own has your
    name.
    """


# `kl memory new` is read for one more release (groups.py)
new = add
