"""The operation that merges two records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final

from kl_hooks.clock import iso
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.parameter import Parameter
from kl_hooks.model.symbol import NodeId
from kl_hooks.operations.operation import Operation
from kl_hooks.operations.parts import Kinds
from kl_hooks.operations.written import Written

if TYPE_CHECKING:
    from kl_hooks.context.access import Access
    from kl_hooks.workspace import Workspace


class MergeRequest(NamedTuple):
    """Which records."""

    old: Annotated[str, Parameter("It is superseded.", argument="FROM")]
    new: Annotated[str, Parameter("It has the tags and links of both.", argument="INTO")]


class Merged(NamedTuple):
    """Two records that were merged."""

    kinds: Kinds
    old: Written
    new: Written
    changed: tuple[NodeId, ...]
    """Records that named the old one, and name the new one now."""


def _merge(ws: Workspace, request: MergeRequest, _access: Access) -> Merged:
    from kl_hooks.records.write import merge_records
    from kl_hooks.workspace import require_initialized

    require_initialized(ws)
    old, new, changed = merge_records(ws, request.old, request.new)
    moment = iso(ws.clock.now())
    written = (Written(old, moment), Written(new, moment))
    return Merged(Kinds(ws.kinds), *written, tuple(map(NodeId, changed)))


def _to_dict(merged: Merged) -> dict[str, Any]:
    from kl_hooks.records.query import record_now

    old, new = (
        record_now(merged.kinds.by_name[written.record.kind], written.record, written.now)
        for written in (merged.old, merged.new)
    )
    return {"from": old, "into": new, "changed": list(merged.changed)}


MERGE: Final = Operation(
    "graph merge",
    """Merge the record FROM into INTO, of the same kind: FROM is superseded, INTO has its tags and
    links.

    What named FROM names INTO. Each change is an event of its record, and an event `merged` states
    the whole. Symbols and files can't be merged: they are what the code is.
    """,
    MergeRequest,
    _merge,
    _to_dict,
    "kl.graph.merge/1",
    "kl graph merge MEM-0a1b2c3d MEM-4e5f6a7b",
    is_tool=False,
    writes=True,
)
OPERATIONS: Final = (MERGE,)
