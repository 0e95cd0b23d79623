"""Agents that a repository defines: `.claude/agents/NAME.md`, as Claude Code reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from kl_hooks.errors import UsageProblem
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.records.document import read_front_matter, skill_node, split_lines
from kl_hooks.records.validate import node_in
from kl_hooks.store.files import read_small

_FOLDER: Final = ".claude/agents"
_MOST_FILES: Final = 200


class AgentFile(NamedTuple):
    """An agent that a file defines."""

    node: str
    """`agent:reviewer`"""
    path: str
    """From the root."""
    skills: tuple[str, ...]
    """Nodes of the skills that it is given: `skill:release`."""
    skills_line: int
    """Where they are listed."""


def agent_files(root: Path) -> list[AgentFile]:
    """Return the agents of a repository, by path; without files that define none."""
    paths = sorted((root / _FOLDER).glob("*.md"))[:_MOST_FILES]
    agents = [_agent_file(root, path.relative_to(root).as_posix()) for path in paths]
    return [agent for agent in agents if agent is not None]


def _agent_file(root: Path, path: str) -> AgentFile | None:
    try:
        text = (read_small(root / path, within=root) or b"").decode("utf-8")
    except (UsageProblem, UnicodeDecodeError):  # such as a link that leads out
        return None
    front, _ = read_front_matter(path, split_lines(text), lenient=True)
    name = front.raw.get("name") if front else None
    if front is None or not isinstance(name, str) or not name.strip():
        return None
    line = next((span.start + 1 for span in front.spans if span.key == "skills"), 1)
    skills = tuple(skill_node(skill) for skill in _names(front.raw.get("skills")))
    return AgentFile(node_in("agent", name), path, skills, line)


def _names(listed: Any) -> list[str]:
    """Return the names in a list, or in a text with commas between them."""
    parts = listed.split(",") if isinstance(listed, str) else listed
    if not isinstance(parts, list):
        return []
    return [part.strip() for part in parts if isinstance(part, str) and part.strip()]
