"""The operation that names the context packages made since the last commit, as trailers of a
message.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.parameter import Parameter
from kl_hooks.operations.operation import Operation

if TYPE_CHECKING:
    from kl_hooks.context.access import Access
    from kl_hooks.workspace import Workspace


class TrailerRequest(NamedTuple):
    """Where the trailers go."""

    file: Annotated[
        str,
        Parameter(
            "Add them to the message in this file, as a commit-msg git hook does.",
            name="write",
            metavar="FILE",
        ),
    ] = ""


class Trailers(NamedTuple):
    """The trailers of a commit."""

    lines: tuple[str, ...]


def _trailer(ws: Workspace, request: TrailerRequest, _access: Access) -> Trailers:
    from kl_hooks.context.recall import TRAILER, packages_since_commit

    lines = tuple(f"{TRAILER}: {package}" for package in packages_since_commit(ws))
    if request.file and ws.repo is not None:
        from kl_hooks.git.commits import add_trailers

        add_trailers(ws.repo, Path(request.file), lines)
    return Trailers(lines)


def _to_dict(trailers: Trailers) -> dict[str, Any]:
    return {"trailers": list(trailers.lines)}


TRAILER: Final = Operation(
    "commits trailer",
    """The trailers that name the context packages made since the last commit: `Kl-Package:
    cp-3f9a1c20b7de`.

    Commits with them are compared with what the packages contained: kl stats recall. At most five,
    the newest.
    """,
    TrailerRequest,
    _trailer,
    _to_dict,
    "kl.commits.trailer/1",
    "git commit -m 'Round totals' --trailer \"$(kl commits trailer)\"",
    is_tool=False,
)
OPERATIONS: Final = (TRAILER,)
