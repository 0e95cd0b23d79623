"""`kl memory mine`: what receipts and transcripts have shown."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kl_hooks.cli.common import counted, format_option, note, say, say_json, workspace

if TYPE_CHECKING:
    from kl_hooks.kinds.memory.taking_in import Taken

MOST_INPUT = 1_000_000


@click.command(epilog="Example: kl memory mine --transcript ~/.claude/projects/shop/3f9a1c2b.jsonl")
@click.option(
    "--transcript", "transcripts", multiple=True, type=click.Path(dir_okay=False, path_type=Path),
    help="A session of an agent, as JSON lines (Claude Code, Codex). May be repeated.",
)  # fmt: skip
@click.option("--agent-event", is_flag=True, help="Read an agent hook's JSON from stdin and mine the session it names.")
@format_option()
def mine(transcripts: tuple[Path, ...], agent_event: bool, shape: str) -> None:
    """Take in what receipts, commits and transcripts have shown: candidates for a review.

    Receipts and commits are mined by `kl status` and `kl memory review` too. No model is asked; the same input gives
    the same patterns. What was rejected does not come back.
    """
    from kl_hooks.cli.memory_after import listed
    from kl_hooks.kinds.memory.taking_in import Taken, take_in, take_in_sessions
    from kl_hooks.records.write import require_setup

    ws = workspace()
    require_setup(ws)
    if agent_event and not ws.settings.memory_auto_extract:
        transcripts, taken = (), Taken()
        note("nothing is mined unasked here: kl memory configure --auto-extract yes")
    elif agent_event or transcripts:
        taken = take_in_sessions(ws, [*transcripts, *(_named() if agent_event else [])])
    else:
        taken = take_in(ws, again=True)
    listed()
    _say(taken, shape)


def _named() -> list[Path]:
    """The transcript that an agent hook's JSON on stdin names. UsageError for what is none."""
    try:
        plain: Any = json.loads(sys.stdin.read(MOST_INPUT))
    except (ValueError, RecursionError):
        plain = None
    path = plain.get("transcript_path") if isinstance(plain, dict) else None
    if not isinstance(path, str) or not path:
        raise click.UsageError("--agent-event: stdin holds no JSON object with transcript_path.")
    return [Path(path).expanduser()]


def _say(taken: Taken, shape: str) -> None:
    if shape == "json":
        say_json(
            {
                "schema": "kl.memory.mine/1", "new": list(taken.new), "reinforced": list(taken.reinforced),
                "waiting": taken.waiting,
            }
        )  # fmt: skip
    else:
        say(f"{counted(len(taken.new), 'new candidate')}, {len(taken.reinforced)} seen again")
        for one in taken.new:
            say(f"  {one}")
    if taken.new and shape == "text":
        say("Review them with: kl memory review")
    if taken.waiting:
        note(f"{counted(taken.waiting, 'more pattern')} will follow with the next receipts.")
    if taken.trouble:
        note(taken.trouble)
