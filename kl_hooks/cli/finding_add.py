"""`kl finding add --hook`: what an agent's tool found out or changed, told by the agent's own hook."""

from __future__ import annotations

import sys

import click

from kl_hooks.cli.common import format_option, note, say_json, workspace
from kl_hooks.cli.finding_import import tell


@click.command(epilog="Example: kl finding add --hook < tool-result.json")
@click.option("--hook", "from_agent", is_flag=True, help="Read the JSON of an agent hook (after a tool) from stdin.")
@click.option("--strict", is_flag=True, help="Fail where it can't be kept; else a remark is all, and exit 0.")
@format_option()
def add(from_agent: bool, strict: bool, shape: str) -> None:
    """Take in what one call of an agent's tool found out or changed.

    Meant to be called by an agent after each tool: it keeps each finding once, and never costs the agent its work.
    """
    from kl_hooks.errors import KlError
    from kl_hooks.kinds.finding import findings_to_dict, record_findings
    from kl_hooks.kinds.tool_calls import MAX_HOOK_BYTES, call_from_hook, with_agent_and_session
    from kl_hooks.records.write import require_setup

    if not from_agent:
        raise click.UsageError("say where from: --hook. To write one yourself: kl finding new --edit")
    if sys.stdin is not None and sys.stdin.isatty():
        note("waiting for the JSON of an agent hook, which is to be typed or pasted here; Ctrl-D ends it.")
    try:
        ws = workspace()
        require_setup(ws)
        kept = record_findings(
            ws, [with_agent_and_session(call_from_hook(sys.stdin.buffer.read(MAX_HOOK_BYTES + 1)), ws.environ)]
        )
    except (KlError, OSError) as problem:
        if strict:
            raise
        note(f"no finding kept: {problem}")
        return
    if shape == "json":
        say_json(findings_to_dict(kept))
    else:
        tell(kept, quiet=True)
