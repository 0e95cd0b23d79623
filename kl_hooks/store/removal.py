"""What the store wrote outside of the working tree, and spools in it; how each is removed."""

from __future__ import annotations

import glob
import os
import shlex
import shutil
from pathlib import Path
from typing import Any, Final

from kl_hooks.errors import EnvironmentProblem
from kl_hooks.hookspecs import Removal, Uninstaller
from kl_hooks.store.files import store_lock
from kl_hooks.store.state import (
    State,
    missing_run_directories,
    remove_empty,
    spool_directories,
)

_MOVED: Final = ".removed-"
"""Between the name of a state directory that is deleted, and the number of the process."""
_LOCK_TIMEOUT: Final = 10.0
"""Seconds to wait for a command that writes."""


def _remove_spools(ws: Any, is_dry_run: bool) -> list[Removal]:
    """Remove captures that were written where the state directory could not be."""
    folders = [
        *(folder for folder, _ in spool_directories(ws.state, ws.root, ws.environ)),
        *missing_run_directories(ws.state, ws.environ),
    ]
    removals = []
    for folder in folders:
        if ws.state.directory in folder.parents or not folder.is_dir() or folder.is_symlink():
            continue
        if not is_dry_run:
            shutil.rmtree(folder)
            if folder != ws.root / ".kl" / "spool":
                remove_empty(folder.parent, folder.parent.parent)
        removals.append(Removal(str(folder), "captures"))
    return removals


def _remove_cache(ws: Any, is_dry_run: bool) -> list[Removal]:
    """Remove what can be derived again, and working memory."""
    if not ws.state.cache.is_dir():
        return []
    if not is_dry_run:
        shutil.rmtree(ws.state.cache)
        remove_empty(ws.state.cache.parent)
    return [Removal(str(ws.state.cache), "cache, working memory")]


def _remove_state(ws: Any, is_dry_run: bool) -> list[Removal]:
    """Remove the state directory: receipts, claims, candidates, the code graph."""
    directory = ws.state.directory
    removals = []
    if ws.store.address is not None:
        reason = "a database of a team; who administers it removes what this clone wrote."
        removals.append(Removal(ws.store.address.place, "team's database", reason))
    if not directory.is_symlink():
        removals += _remove_abandoned(directory, is_dry_run)
    if not os.path.lexists(directory):
        return removals
    if ws.state.origin == "override" or directory.is_symlink():
        reason = "KL_STATE, kl.state or a link names this folder; it may have files of others."
        return [
            *removals,
            Removal(str(directory), "state", reason, f"rm -r {shlex.quote(str(directory))}"),
        ]
    if not is_dry_run:
        _delete(ws.state)
    return [*removals, Removal(str(directory), "state, with receipts, claims and candidates")]


def _remove_abandoned(directory: Path, is_dry_run: bool) -> list[Removal]:
    """Remove what a `kl uninstall` that was killed has moved aside."""
    removals = []
    for folder in sorted(directory.parent.glob(f"{glob.escape(directory.name)}{_MOVED}*")):
        if not is_dry_run:
            shutil.rmtree(folder)
        removals.append(Removal(str(folder), "state that an interrupted kl uninstall moved aside"))
    return removals


def _delete(state: State) -> None:
    """Delete the state directory, at once for everybody who looks. StoreBusy, OSError."""
    removed = state.directory.with_name(f"{state.directory.name}{_MOVED}{os.getpid()}")
    with store_lock(state.lock, wait=_LOCK_TIMEOUT, what="kl uninstall"):
        state.directory.rename(removed)
    shutil.rmtree(removed)
    if os.path.lexists(state.directory):
        raise EnvironmentProblem(
            "another kl wrote it again meanwhile.",
            place=str(state.directory),
            hint="Run kl uninstall again.",
        )


UNINSTALLERS: Final = (
    Uninstaller("captures", _remove_spools),
    Uninstaller("cache", _remove_cache),
    Uninstaller("state", _remove_state),
)
