"""Whether kl has a home in this repository."""

from __future__ import annotations

from kl_hooks.errors import EnvironmentProblem
from kl_hooks.workspace import Workspace


def has_home(ws: Workspace) -> bool:
    """True where kl was set up, or has recorded something: elsewhere nothing is created by looking."""
    return ws.initialised or ws.state.directory.exists()


def require_home(ws: Workspace) -> None:
    """EnvironmentProblem with the next step where kl has no home."""
    if has_home(ws):
        return
    if ws.repo is None:
        hint = "kl keeps its evidence per repository; run it inside one, or give --root."
        raise EnvironmentProblem("not a git repository.", place=str(ws.root), hint=hint)
    raise EnvironmentProblem("kl is not set up here.", place=str(ws.root), hint="Set it up with: kl init")
