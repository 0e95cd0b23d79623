"""What `kl init` appended to the configuration of pre-commit, and how it is removed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kl_hooks.git.hooks import PRE_COMMIT_FILE, mentions_pre_commit_hooks
from kl_hooks.hookspecs import Removal
from kl_hooks.store.files import read_small
from kl_hooks.store.written_files import cut_appended

if TYPE_CHECKING:
    from kl_hooks.workspace import Workspace


def remove_pre_commit_entry(ws: Workspace, is_dry_run: bool) -> list[Removal]:
    """Remove what was appended in this clone, while it is as it was; another entry stays."""
    cuts = cut_appended(ws.root, ws.state, is_dry_run=is_dry_run)
    removals = [
        Removal(path, "entry of kl") for path, action in cuts if not action.startswith("left")
    ]
    if any(removal.place == PRE_COMMIT_FILE for removal in removals):
        return removals
    if mentions_pre_commit_hooks(read_small(ws.root / PRE_COMMIT_FILE, within=ws.root) or b""):
        reason = "its hooks of kl are for everybody who has the repository."
        command = f"edit {PRE_COMMIT_FILE}: remove the repository with the hooks kl-…"
        removals.append(Removal(PRE_COMMIT_FILE, "entry of kl", reason, command))
    return removals
