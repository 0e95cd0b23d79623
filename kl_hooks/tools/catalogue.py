"""Every tool there is here: those of the kinds, those of the code graph, and those with a name of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kl_hooks.tools import code, named
from kl_hooks.tools.kinds import tools_of

if TYPE_CHECKING:
    from kl_hooks.tools.tool import Tool
    from kl_hooks.workspace.open import Workspace


def catalogue(ws: Workspace) -> dict[str, Tool]:
    """Name → tool, by name. One with a name of its own takes the place of one that follows from a kind."""
    derived = {tool.name: tool for kind in ws.kinds.values() for tool in tools_of(kind)}
    own = {tool.name: tool for tool in (*code.tools(tuple(ws.kinds)), *named.tools(tuple(ws.kinds)))}
    return dict(sorted((derived | own).items()))
