"""Tools that follow from a kind: search, read, list, create, update, its changes of status, and its
own.

What is created here is an agent's, in the first status of its kind: nobody accepts or approves
here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kl_hooks.operations.kinds import operations_of
from kl_hooks.tools.tool import Tool, operation_tool

if TYPE_CHECKING:
    from kl_hooks.model.kind import Kind


def tools_of(kind: Kind) -> Iterator[Tool]:
    """The tools of one kind."""
    yield from (operation_tool(one) for one in operations_of(kind) if one.is_tool)
