"""Where evidence comes from: who made something happen, and on which content, commit and branch.

Names only, no secrets. What can't be known is None.
"""

from __future__ import annotations

import platform
import re
from collections.abc import Mapping
from typing import Any, Final

from kl_hooks.errors import EnvironmentProblem
from kl_hooks.git.repository import Repository
from kl_hooks.git.run import once
from kl_hooks.git.worktree import WorktreeState, changed_files, snapshot
from kl_hooks.model.actors import agent as agent
from kl_hooks.model.definitions import lazy_pattern
from kl_hooks.model.text import name_list

HARMLESS: Final = (".md", ".rst", ".log", ".patch", ".diff", ".orig", ".rej", ".swp", "~")
"""Endings of files that no test needs: notes, and what editors and git leave behind."""
_DOCUMENT_NAMES: Final = lazy_pattern(
    r"(?i)(?:readme|contributing|license|licence|copying|authors|notice|codeowners|changelog|changes|history|news)(?:[.-].*)?|\.gitignore"
)
_NAMED: Final = 3
"""Files that are named of those that were edited."""
CI: Final = (
    ("GITHUB_ACTIONS", "github", ("GITHUB_RUN_ID", "GITHUB_RUN_ATTEMPT", "GITHUB_JOB")),
    ("GITLAB_CI", "gitlab", ("CI_JOB_ID",)),
    ("BUILDKITE", "buildkite", ("BUILDKITE_BUILD_ID", "BUILDKITE_JOB_ID")),
    ("CIRCLECI", "circleci", ("CIRCLE_WORKFLOW_ID", "CIRCLE_BUILD_NUM")),
    ("JENKINS_URL", "jenkins", ("BUILD_TAG",)),
    ("TF_BUILD", "azure", ("BUILD_BUILDID",)),
)
"""The variable that identifies the service, its name, and the variables that name the job."""


def session(environ: Mapping[str, str]) -> str | None:
    """The session of the agent, where whoever started it names one (`KL_SESSION`); None:
    unknown.
    """
    named = environ.get("KL_SESSION", "")
    if re.fullmatch(r"[A-Za-z0-9._:-]{1,80}", named):
        return named
    return None


def ci(environ: Mapping[str, str]) -> str | None:
    """`github:123:1:test` for a CI job, `ci` for one of an unknown service, None outside CI
    (pytest's own test).
    """
    for variable, name, parts in CI:
        if environ.get(variable):
            return ":".join([name, *(environ[part] for part in parts if environ.get(part))])
    if environ.get("CI") or environ.get("BUILD_NUMBER"):
        return "ci"
    return None


def producer(environ: Mapping[str, str]) -> str:
    """`ci:…`, `agent:<name>@<host>` or `local:<user>@<host>`: equal for two runs of one
    producer.
    """
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


def worktree_state(repo: Repository | None, *, untracked: bool = True) -> WorktreeState:
    """The content now. Without git, or where git fails, everything is unknown: evidence then can't
    count as hard.
    """
    if repo is None or repo.bare:
        return WorktreeState()
    try:
        return once(("state", repo, untracked), lambda: snapshot(repo, untracked=untracked))
    except (EnvironmentProblem, OSError):
        return WorktreeState()


def is_document(path: str) -> bool:
    """Whether a file is documentation, or is what kl or an editor leaves: no run is needed after an
    edit of it.
    """
    name = path.rpartition("/")[2]
    folder = path.partition("/")[0]
    if path.startswith(".kl/") or name.endswith(HARMLESS) or _DOCUMENT_NAMES.fullmatch(name):
        return not path.endswith(".py")
    return folder in ("doc", "docs") and name.endswith(".txt")


def edits_since(repo: Repository, green: Mapping[str, Any], place: WorktreeState) -> str:
    """`your last green run (5d1e0a77) predates your last edit to src/a.py`; empty where nothing was
    edited.

    `green`: `run`, `head`, `dirty` and `changes` of that run (see `WorktreeState.differences`). No
    file is read, and git is asked only where HEAD is another commit. GitFailed.
    """
    before = green["changes"]
    head = green["head"]
    if not isinstance(before, Mapping) or not head or (green["dirty"] and not before):
        return ""
    paths = {
        path
        for path in {*before, *place.differences}
        if before.get(path) != place.differences.get(path)
    }
    if head != place.head:
        changed = changed_files(repo, f"{head}^{{tree}}", f"{place.head}^{{tree}}")
        for path, (old, new) in (changed or {}).items():
            same = before.get(path, old) == place.differences.get(path, new)
            if same:
                paths = paths - {path}
            else:
                paths = paths | {path}
    edited = sorted(path for path in paths if not is_document(path))
    run = str(green["run"])[:8]
    if not edited:
        return ""
    return f"your last green run ({run}) predates your last edit to {name_list(edited, _NAMED)}"
