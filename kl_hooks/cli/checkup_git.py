"""Is git there and new enough, is this a repository, and does git run our git hooks?"""

from __future__ import annotations

from collections.abc import Iterator

from kl_hooks.errors import KlError
from kl_hooks.workspace.open import Workspace

Said = tuple[str, str, str]
"""State (`ok`, `remark`, `wrong`), what it says, the fix."""


def program() -> Iterator[Said]:
    """About git itself."""
    from kl_hooks.git.repository import MINIMUM_GIT, version

    needed = ".".join(map(str, MINIMUM_GIT))
    try:
        found = version()
    except KlError as problem:
        yield "wrong", problem.reason, problem.hint or f"Install git {needed} or newer."
        return
    shown = ".".join(map(str, found))
    if found < MINIMUM_GIT:
        yield "wrong", f"git {shown} is too old.", f"Install git {needed} or newer."
    else:
        yield "ok", f"git {shown}", ""


def repository(ws: Workspace) -> Iterator[Said]:
    """About this repository."""
    from kl_hooks.git.repository import head, is_shallow

    if ws.repo is None:
        yield "wrong", f"{ws.root} is not in a git repository.", "git init, or give --root"
        return
    if is_shallow(ws.repo):
        says = "shallow clone: commits before its boundary are unknown here, so evidence from history is limited."
        yield "remark", says, "git fetch --unshallow   (in CI: fetch-depth: 0)"
    elif head(ws.repo)[0] is None:
        yield "remark", "no commit yet.", "git commit"
    else:
        yield "ok", str(ws.repo.top), ""


def hooks(ws: Workspace) -> Iterator[Said]:
    """About our native git hooks."""
    from kl_hooks.git.hooks import status

    if ws.repo is None:
        return
    path = ws.git_settings.hooks_path if ws.git_settings else None
    for hook in status(ws.repo):
        if hook.state == "inert":
            says = f"{hook.name} is installed but git does not run it: core.hooksPath is {path}."
            yield "wrong", says, f"git config --unset core.hooksPath, or: {hook.reason}"
        elif hook.state == "broken":
            yield "wrong", f"{hook.name}: {hook.reason}", "kl hooks install"
        elif hook.state == "installed":
            yield "ok", f"{hook.name} is ours", ""
    if path and not any(h.state == "inert" for h in status(ws.repo)):
        says = f"core.hooksPath is {path}: git hooks in .git/hooks, pre-commit's included, are not run."
        yield "remark", says, "git config --unset core.hooksPath, or call kl from that folder"
