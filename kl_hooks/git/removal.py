"""What kl wrote by git: its hooks, its settings, refs with evidence of others; how each is removed."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.git.hooks import uninstall_hooks
from kl_hooks.git.notes import FETCHED, OWN
from kl_hooks.git.repository import git_in
from kl_hooks.hookspecs import Removal, Uninstaller

if TYPE_CHECKING:
    from kl_hooks.git.repository import Repository

_HERE: Final = ("local", "worktree")
"""Scopes of git's configuration that belong to a clone."""


def _remove_hooks(ws: Any, is_dry_run: bool) -> list[Removal]:
    """Remove the git hooks; an edited one stays."""
    if ws.repo is None:
        return []
    return [
        Removal(
            str(hook.path),
            "git hook",
            hook.reason,
            f"rm {shlex.quote(str(hook.path))}" if hook.reason else "",
            has_failed=bool(hook.reason),
        )
        for hook in uninstall_hooks(ws.repo, is_dry_run=is_dry_run)
    ]


def _remove_fetching(ws: Any, is_dry_run: bool) -> list[Removal]:
    """Remove from `remote.*.fetch` what `kl hooks install --sync` added."""
    if ws.repo is None:
        return []
    pattern = f":{FETCHED}"
    keys = _output(ws.repo, "--name-only", "--get-regexp", r"^remote\..*\.fetch$", pattern)
    removals = []
    for key in dict.fromkeys(keys):
        if not is_dry_run:
            git_in(ws.repo, "config", "--local", "--unset-all", key, pattern)
        removals.append(Removal(f"{key} {FETCHED}", "git config"))
    return removals


def _output(repo: Repository, *args: str) -> list[str]:
    """Return what `git config --local -z` prints; nothing where nothing matches."""
    output = git_in(repo, "config", "--local", "-z", *args, ok=(0, 1))
    return output.decode("utf-8", "surrogateescape").split("\0")[:-1]


def _remove_settings(ws: Any, is_dry_run: bool) -> list[Removal]:
    """Remove `kl.*` of the clone's configuration; the user's own stays."""
    if ws.repo is None:
        return []
    output = git_in(
        ws.repo, "config", "-z", "--show-scope", "--name-only", "--get-regexp", r"^kl\.", ok=(0, 1)
    )
    cells = output.decode("utf-8", "surrogateescape").split("\0")
    removals = []
    for scope, key in dict.fromkeys(zip(cells[::2], cells[1::2], strict=False)):
        if scope in _HERE:
            if not is_dry_run:
                git_in(ws.repo, "config", f"--{scope}", "--unset-all", key)
            removals.append(Removal(key, "git config"))
        elif scope in ("global", "system"):
            reason = "it is for every repository of this user."
            command = f"git config --{scope} --unset-all {shlex.quote(key)}"
            removals.append(Removal(key, "git config", reason, command))
    return removals


def _remove_refs(ws: Any, is_dry_run: bool) -> list[Removal]:
    """Remove copies of others' evidence; this clone's own stays, for others may fetch it."""
    if ws.repo is None:
        return []
    removals = []
    for ref in _refs(ws.repo, FETCHED):
        if not is_dry_run:
            git_in(ws.repo, "update-ref", "-d", ref)
        removals.append(Removal(ref, "evidence of others"))
    reason = "evidence that this clone shares; a remote has it where it was pushed."
    removals += [
        Removal(ref, "shared evidence", reason, f"git update-ref -d {shlex.quote(ref)}")
        for ref in _refs(ws.repo, OWN)
    ]
    return removals


def _refs(repo: Repository, prefix: str) -> list[str]:
    output = git_in(repo, "for-each-ref", "--format=%(refname)", prefix.rstrip("/"))
    return output.decode("utf-8", "surrogateescape").splitlines()


def _other_worktrees(ws: Any, _is_dry_run: bool) -> list[Removal]:
    """Name the other working trees of the repository: each has files of its own."""
    if ws.repo is None:
        return []
    output = git_in(ws.repo, "worktree", "list", "--porcelain")
    lines = output.decode("utf-8", "surrogateescape").splitlines()
    paths = [line.removeprefix("worktree ") for line in lines if line.startswith("worktree ")]
    return [
        Removal(
            path,
            "working tree",
            "agents' entries in it stay.",
            f"cd {shlex.quote(path)} && kl uninstall",
        )
        for path in paths
        if path != str(ws.repo.top)
    ]


UNINSTALLERS: Final = (
    Uninstaller("git hooks", _remove_hooks),
    Uninstaller("fetched notes", _remove_fetching),
    Uninstaller("git config", _remove_settings),
    Uninstaller("refs", _remove_refs),
    Uninstaller("working trees", _other_worktrees),
)
