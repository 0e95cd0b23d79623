"""`kl agents`: hooks and MCP server of coding agents, registered for this clone and removed without
a trace.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from kl_hooks.cli.output import echo_line, format_option, initialized_workspace, print_answer, warn
from kl_hooks.errors import CLEAN, FINDINGS, EnvironmentProblem, UsageProblem
from kl_hooks.tools.agent_adapters import AGENTS

if TYPE_CHECKING:
    from kl_hooks.git.repository import Repository
    from kl_hooks.tools.agent_setup import Change
    from kl_hooks.workspace import Workspace

_NAMES = click.Choice(list(AGENTS))


@click.group()
def agents() -> None:
    """Hooks and MCP server for coding agents, in this clone: install, uninstall, status.

    An agent is given what binds work here when a session starts, what is relevant and new with each
    prompt, and what crosses a layer before it edits. Nothing happens in a clone where `kl agents
    install` was not run.
    """


@agents.command(epilog="Example: kl agents install claude --dry-run")
@click.argument("agent", type=_NAMES)
@click.option(
    "--shared", is_flag=True, help="Claude Code: .claude/settings.json, which the team shares."
)
@click.option(
    "--block",
    is_flag=True,
    help="Make AGENTS.md (CLAUDE.md, GEMINI.md) for the block where it is missing.",
)
@click.option(
    "--prompts",
    is_flag=True,
    help="A prompt brings what decides its task, in at most 2,000 characters.",
)
@click.option("--asks", is_flag=True, hidden=True, help="As without --prompts: the default now.")
@click.option("--dry-run", "dry", is_flag=True, help="Show what would change, and change nothing.")
@format_option()
def install(
    agent: str, shared: bool, block: bool, prompts: bool, asks: bool, dry: bool, shape: str
) -> int:
    """Register kl's hooks and its MCP server with AGENT, and enable them in this clone (git config
    kl.agents).

    What is in these files already stays. A page of instructions that exists gets a managed block of
    a few lines; a block that was edited is never overwritten. Ends with 1 where something was left
    as it is; the reason is shown.
    """
    from kl_hooks.tools.agent_setup import install_agent

    if prompts and asks:
        raise UsageProblem("--prompts and --asks exclude each other.")
    ws, repo = _repository()
    done = install_agent(
        ws, repo, AGENTS[agent], shared=shared, block=block, dry=dry, asks=not prompts
    )
    return _print_changes("install", agent, done, shape, dry=dry, prompts=prompts)


@agents.command(epilog="Example: kl agents uninstall claude")
@click.argument("agent", type=_NAMES)
@click.option("--dry-run", "dry", is_flag=True, help="Show what would change, and change nothing.")
@format_option()
def uninstall(agent: str, dry: bool, shape: str) -> int:
    """Remove kl's entries for AGENT, and nothing else."""
    from kl_hooks.tools.agent_setup import uninstall_agent

    ws, repo = _repository()
    done = uninstall_agent(ws, repo, AGENTS[agent], dry=dry)
    return _print_changes("uninstall", agent, done, shape, dry=dry)


@agents.command(epilog="Example: kl agents status --format json")
@format_option()
def status(shape: str) -> None:
    """Show which agents are enabled in this clone, and what is registered in which file."""
    from kl_hooks.tools.agent_setup import agent_states

    found = agent_states(_repository()[1])
    rows = [
        {"agent": one.agent, "enabled": one.enabled, "asks": one.asks, "files": one.files}
        for one in found
    ]
    lines = []
    for one in found:
        asks = "; a prompt brings a brief" if one.enabled and not one.asks else ""
        lines.append(
            f"{one.agent:<8} {'enabled' if one.enabled else 'not enabled in this clone'}{asks}"
        )
        lines += [f"         {path}: {what}" for path, what in one.files.items()]
    print_answer(shape, {"schema": "kl.agents.status/1", "agents": rows}, lines)


@agents.command(
    hidden=True, epilog="Example: kl agents hook SessionStart --agent claude < payload.json"
)
@click.argument("event")
@click.option("--agent", required=True, help="The agent that calls it.")
def hook(event: str, agent: str) -> int:
    """Answer one EVENT of an agent: its JSON on stdin, its JSON or nothing on stdout. Ends with 0
    whatever happens.
    """
    from kl_hooks.tools.agent_hooks import main

    return main([event, "--agent", agent])


def _repository() -> tuple[Workspace, Repository]:
    ws = initialized_workspace()
    if ws.repo is None:
        hint = "Agents are enabled per clone: git init, or give --root."
        raise EnvironmentProblem("not a git repository.", place=str(ws.root), hint=hint)
    return ws, ws.repo


def _print_changes(
    verb: str,
    agent: str,
    done: Sequence[Change],
    shape: str,
    *,
    dry: bool,
    prompts: bool | None = None,
) -> int:
    """`prompts`: whether prompts bring something from now on; None where that was not decided."""
    rows = [{"path": one.path, "action": _action(one), "reason": one.remark} for one in done]
    plain = {"schema": f"kl.agents.{verb}/1", "agent": agent, "dry_run": dry, "files": rows}
    lines = [f"{row['action']:<10} {row['path']}" for row in rows]
    if prompts is not None:
        plain["prompts"] = prompts
        lines.append(f"{'prompts':<10} {'bring a brief' if prompts else 'bring nothing'}")
    if dry and shape == "text":
        for one in done:
            before, after = (one.before or "").splitlines(), (one.after or "").splitlines()
            for line in difflib.unified_diff(
                before, after, f"a/{one.path}", f"b/{one.path}", lineterm=""
            ):
                echo_line(line)
    else:
        print_answer(shape, plain, lines)
    for one in done:
        if one.remark:
            warn(f"{one.path}: {one.remark}.")
    return FINDINGS if any(one.remark for one in done) else CLEAN


def _action(one: Change) -> str:
    if one.before == one.after:
        return "unchanged"
    if one.before is None:
        return "created"
    if one.after is None:
        return "removed"
    return "updated"
