"""Files that an operation reads and stores the text of."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kl_hooks.context.access import Access
    from kl_hooks.workspace import Workspace


def require_shown_files(ws: Workspace, access: Access, files: Iterable[Path]) -> None:
    """UsageProblem for a file of the repository that is hidden from whoever asks, by its name or by
    what it links to: what is read of it is stored under no rule.
    """
    if access.shows_all:
        return
    for file in files:
        for place in (file.absolute(), file.resolve()):
            if place.is_relative_to(ws.root):
                access.require_shown_file(place.relative_to(ws.root).as_posix())
