"""`kl finding import`: the findings of an agent's whole transcript."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from kl_hooks.cli.common import counted, format_option, note, say, say_json, workspace
from kl_hooks.model.text import one_line

if TYPE_CHECKING:
    from kl_hooks.kinds.finding import RecordedFindings


@click.command("import", epilog="Example: kl finding import ~/.claude/projects/shop/3f9a1c2b.jsonl")
@click.argument("transcript", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--agent", default="", help="The agent whose transcript it is.")
@format_option()
def import_(transcript: Path, agent: str, shape: str) -> None:
    """Take in the findings of a TRANSCRIPT (JSON lines of Claude Code, Codex, or chat messages with tool calls).

    Each is tied to the files as they are now, so import it while they are as the agent left them.
    """
    from kl_hooks.evidence.sources.transcript import read_transcript
    from kl_hooks.kinds.finding import findings_to_dict, record_findings
    from kl_hooks.kinds.tool_calls import calls_in_transcript, with_agent_and_session
    from kl_hooks.records.write import require_setup

    ws = workspace()
    require_setup(ws)
    read = read_transcript(transcript)
    kept = record_findings(ws, [with_agent_and_session(call, ws.environ) for call in calls_in_transcript(read, agent)])
    if read.bad:
        note(f"{counted(read.bad, 'line')} could not be read, and were left out.")
    if shape == "json":
        say_json(findings_to_dict(kept))
    else:
        tell(kept)


def tell(kept: RecordedFindings, *, quiet: bool = False) -> None:
    """What was kept, a line each; with `quiet` nothing where that is nothing new."""
    for one in kept.new:
        say(
            f"{one.id}  {one.text('kind'):<12} {one_line(one.text('entity'), 60)}: {one_line(one.text('finding'), 120)}"
        )
    if not quiet:
        say(f"{counted(len(kept.new), 'finding')} new, {len(kept.known)} known already.")
