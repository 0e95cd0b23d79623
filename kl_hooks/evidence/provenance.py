"""Where evidence comes from: who made something happen, and on which content, commit and branch.

Names only, no secrets. What can't be known is None.
"""

from __future__ import annotations

import platform
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from kl_hooks.errors import EnvironmentProblem
from kl_hooks.git.repository import Repository
from kl_hooks.git.worktree import FileListing, snapshot
from kl_hooks.model.actors import AGENTS as AGENTS
from kl_hooks.model.actors import agent as agent

CI: Final = (
    ("GITHUB_ACTIONS", "github", ("GITHUB_RUN_ID", "GITHUB_RUN_ATTEMPT", "GITHUB_JOB")),
    ("GITLAB_CI", "gitlab", ("CI_JOB_ID",)),
    ("BUILDKITE", "buildkite", ("BUILDKITE_BUILD_ID", "BUILDKITE_JOB_ID")),
    ("CIRCLECI", "circleci", ("CIRCLE_WORKFLOW_ID", "CIRCLE_BUILD_NUM")),
    ("JENKINS_URL", "jenkins", ("BUILD_TAG",)),
    ("TF_BUILD", "azure", ("BUILD_BUILDID",)),
)
"""The variable that identifies the service, its name, and the variables that name the job."""
_HARMLESS: Final = (".md", ".rst", ".log", ".patch", ".diff", ".orig", ".rej", ".swp", "~")
"""Endings of untracked files that no test is expected to need."""
_NAMED: Final = 3


def session(environ: Mapping[str, str]) -> str | None:
    """The session of the agent, where whoever started it names one (`KL_SESSION`); None: unknown."""
    named = environ.get("KL_SESSION", "")
    return named if re.fullmatch(r"[A-Za-z0-9._:-]{1,80}", named) else None


def ci(environ: Mapping[str, str]) -> str | None:
    """`github:123:1:test` for a CI job, `ci` for one of an unknown service, None outside CI (pytest's own test)."""
    for variable, name, parts in CI:
        if environ.get(variable):
            return ":".join([name, *(environ[part] for part in parts if environ.get(part))])
    return "ci" if environ.get("CI") or environ.get("BUILD_NUMBER") else None


def producer(environ: Mapping[str, str]) -> str:
    """`ci:…`, `agent:<name>@<host>` or `local:<user>@<host>`: equal for two runs of one producer."""
    if job := ci(environ):
        return f"ci:{job}"
    host = platform.node() or "unknown"
    if name := agent(environ):
        return f"agent:{name}@{host}"
    from getpass import getuser

    try:
        user = getuser()
    # KeyError: a user ID without an entry, as in containers; an OSError since CPython 3.13
    except (OSError, KeyError, ImportError):
        user = "unknown"
    return f"local:{user}@{host}"


@dataclass(frozen=True, slots=True)
class WorktreeState:
    """The content of a working tree at one moment."""

    tree: str | None = None
    """Git tree id of the tracked files as they are on disk."""
    tree_all: str | None = None
    """The same with untracked, not ignored files."""
    head: str | None = None
    branch: str | None = None
    dirty: bool = False
    changed: int = 0
    """Tracked files that differ from the commit."""
    untracked: tuple[str, ...] = ()
    """Files that git neither tracks nor ignores."""
    seen: FileListing = field(default_factory=FileListing, compare=False, repr=False)
    """What git listed when it was asked for the trees."""

    def to_dict(self) -> dict[str, Any]:
        """The keys of an opening record."""
        return {key: getattr(self, key) for key in ("tree", "tree_all", "head", "branch", "dirty")}

    @property
    def untracked_summary(self) -> dict[str, Any] | None:
        """What is untracked and could be needed by a test (not notes, nor what editors leave): how many, the first."""
        names = [name for name in self.untracked if not name.endswith(_HARMLESS)]
        return {"files": len(names), "first": names[:_NAMED]} if self.untracked else None

    @property
    def trees(self) -> tuple[str, ...]:
        """The tree ids that evidence for this content may carry."""
        return tuple(dict.fromkeys(t for t in (self.tree, self.tree_all) if t))


def worktree_state(repo: Repository | None, *, untracked: bool = True) -> WorktreeState:
    """The content now. Without git, or where git fails, everything is unknown: evidence then can't count as hard."""
    if repo is None or repo.bare:
        return WorktreeState()
    try:
        now = snapshot(repo, untracked=untracked)
    except (EnvironmentProblem, OSError):
        return WorktreeState()
    return WorktreeState(
        now.tree, now.tree_all, now.head, now.branch, now.dirty, now.changed, now.untracked, now.listing
    )
