"""Operations of native git hooks: install them beside whatever is there, remove them without a
trace, show the state of each.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any, Final

from kl_hooks.errors import CLEAN, FINDINGS, EnvironmentProblem, UsageProblem
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.parameter import Parameter
from kl_hooks.operations.operation import Operation

if TYPE_CHECKING:
    from kl_hooks.context.access import Access
    from kl_hooks.git.repository import Repository
    from kl_hooks.workspace import Workspace

_NOT_DONE: Final = ("inert", "refused", "kept")


class InstallRequest(NamedTuple):
    """Which git hooks."""

    only: Annotated[
        tuple[str, ...],
        Parameter("Only this git hook; may be given several times.", metavar="NAME"),
    ] = ()
    remote: Annotated[
        str,
        Parameter("Also let `git fetch REMOTE` bring evidence.", name="sync", metavar="REMOTE"),
    ] = ""


class NoRequest(NamedTuple):
    """Nothing is asked."""


class GitHook(NamedTuple):
    """One git hook, or one setting of git."""

    name: str
    path: str
    state: str
    """Its state, or what was done."""
    reason: str


class GitHooks(NamedTuple):
    """Git hooks, and what was done with them or what they are."""

    hooks: tuple[GitHook, ...]
    has_failed: bool = False
    """Whether something that was asked for was not done."""


def _install(ws: Workspace, request: InstallRequest, _access: Access) -> GitHooks:
    from kl_hooks.git.hooks import install_hooks
    from kl_hooks.store.state import prepare_state

    repo = _repository(ws)
    prepare_state(ws.state)
    settings = []
    if request.remote:
        from kl_hooks.git.notes import fetch_with

        spec = fetch_with(repo, request.remote)
        setting = f"git config remote.{request.remote}.fetch {spec}"
        settings = [GitHook("fetch", setting, "set", "")]
    return _changed(settings, install_hooks(repo, request.only, sys.executable, ws.state.spool))


def _uninstall(ws: Workspace, _request: NoRequest, _access: Access) -> GitHooks:
    from kl_hooks.git.hooks import uninstall_hooks

    return _changed([], uninstall_hooks(_repository(ws)))


def _changed(settings: list[GitHook], changes: Any) -> GitHooks:
    rows = [
        GitHook(change.name, str(change.path), change.action, change.reason) for change in changes
    ]
    return GitHooks((*settings, *rows), any(row.state in _NOT_DONE for row in rows))


def _status(ws: Workspace, _request: NoRequest, _access: Access) -> GitHooks:
    from kl_hooks.git.hooks import PRE_COMMIT_FILE, hook_states
    from kl_hooks.store.files import read_small

    repo = _repository(ws)
    try:
        config = read_small(repo.top / PRE_COMMIT_FILE, within=repo.top) or b""
    except UsageProblem:
        config = b""
    return GitHooks(
        tuple(
            GitHook(hook.name, str(hook.path), hook.state, hook.reason)
            for hook in hook_states(repo, config)
        )
    )


def _repository(ws: Workspace) -> Repository:
    if ws.repo is None:
        hint = "Git hooks need a repository: git init, or give --root."
        raise EnvironmentProblem("not a git repository.", place=str(ws.root), hint=hint)
    return ws.repo


def _changes_to_dict(hooks: GitHooks) -> dict[str, Any]:
    return {"hooks": [_row(hook, "action") for hook in hooks.hooks]}


def _states_to_dict(hooks: GitHooks) -> dict[str, Any]:
    return {"hooks": [_row(hook, "state") for hook in hooks.hooks]}


def _row(hook: GitHook, word: str) -> dict[str, str]:
    return {"name": hook.name, "path": hook.path, word: hook.state, "reason": hook.reason}


def exit_code(hooks: GitHooks, _request: Any) -> int:
    """Return 1 where something asked for was not done."""
    if hooks.has_failed:
        return FINDINGS
    return CLEAN


INSTALL: Final = Operation(
    "hooks install",
    """Install the git hooks, but commit-msg only with --only. One that exists already is preserved
    and still run.

    With --sync, the notes with evidence of others are added to what `git fetch REMOTE` fetches
    (remote.REMOTE.fetch), and the next command imports them (kl.sync). What counts of them, kl
    trust decides. Nothing is pushed: that is kl sync.

    Ends with 1 if one could not be installed: the reason and the lines to add by hand are shown.
    """,
    InstallRequest,
    _install,
    _changes_to_dict,
    "kl.hooks.install/1",
    "kl hooks install --only post-commit",
    is_tool=False,
    writes=True,
)
UNINSTALL: Final = Operation(
    "hooks uninstall",
    "Remove kl's git hooks, and restore what was there before them, byte for byte.",
    NoRequest,
    _uninstall,
    _changes_to_dict,
    "kl.hooks.uninstall/1",
    "kl hooks uninstall",
    is_tool=False,
    writes=True,
)
STATUS: Final = Operation(
    "hooks status",
    "The state of each git hook: installed, called, missing, edited, broken or inert.",
    NoRequest,
    _status,
    _states_to_dict,
    "kl.hooks.status/1",
    "kl hooks status --format json",
    is_tool=False,
)
OPERATIONS: Final = (INSTALL, UNINSTALL, STATUS)
