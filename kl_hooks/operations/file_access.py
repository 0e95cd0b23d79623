"""Files that an operation reads: whether they may be shown to whoever asks is decided before."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kl_hooks.model.parameter import STDIN, RequestField

if TYPE_CHECKING:
    from kl_hooks.context.access import Access
    from kl_hooks.workspace import Workspace


def require_shown_inputs(
    ws: Workspace, access: Access, fields: Iterable[RequestField], request: Any
) -> None:
    """UsageProblem where a field of a request names a file to be read that is hidden from whoever
    asks. Of a folder the operation itself asks for what it reads.
    """
    for field in fields:
        if field.is_input:
            value = getattr(request, field.name)
            if isinstance(value, str):
                names = (value,)
            else:
                names = value
            require_shown_files(
                ws, access, [Path(name) for name in names if name not in ("", STDIN)]
            )


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
