"""The folders a spool may lie in: where captures are written, and where they are looked for."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from kl_hooks.store.state import spool_directories
from kl_hooks.workspace import Workspace

SPOOL_SCHEMA: Final = "kl.spool/1"
"""What the opening record of a spool file names."""
IN_CHECKOUT: Final = "spool:checkout"
"""Marks what was found in `.kl/spool/`."""


def spools(ws: Workspace) -> list[tuple[Path, str]]:
    """Folder and origin word, in the order in which they are tried.

    The one in the checkout is left out where it is a link: a link may have come with the checkout, and would lead our
    writing, and our tidying, anywhere.
    """
    return [
        (folder, origin)
        for folder, origin in spool_directories(ws.state, ws.root, ws.environ)
        if origin != IN_CHECKOUT or not (folder.is_symlink() or folder.parent.is_symlink())
    ]
