"""What kl registered with coding agents in a clone, and how it is removed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kl_hooks.agents.adapters import AGENTS, Agent
from kl_hooks.agents.exclude import end_exclusion
from kl_hooks.agents.setup import uninstall_agent
from kl_hooks.hookspecs import Removal

if TYPE_CHECKING:
    from kl_hooks.git.repository import Repository
    from kl_hooks.workspace import Workspace


def remove_entries(ws: Workspace, is_dry_run: bool) -> list[Removal]:
    """Remove the entries, blocks and files of every agent; an edited block stays."""
    if ws.repo is None:
        return []
    removals = dict[str, Removal]()
    for agent in AGENTS.values():
        for removal in _removals(ws, ws.repo, agent, is_dry_run):
            # Codex and Cursor read the same page
            removals.setdefault(removal.place, removal)
    return list(removals.values())


def _removals(ws: Workspace, repo: Repository, agent: Agent, is_dry_run: bool) -> Iterator[Removal]:
    changes = uninstall_agent(ws, repo, agent, dry=True)
    if any(change.before != change.after for change in changes) and not is_dry_run:
        changes = uninstall_agent(ws, repo, agent, dry=False)
    for change in changes:
        if change.remark:
            command = f"edit {change.path}: remove the lines from kl:begin to kl:end"
            yield Removal(change.path, "agents' entries", change.remark, command, has_failed=True)
        elif change.before != change.after:
            yield Removal(change.path, "agents' entries")
    if end_exclusion(repo, agent.hooks_file, is_dry_run=is_dry_run):
        yield Removal(f".git/info/exclude: /{agent.hooks_file}", "rule of git")
