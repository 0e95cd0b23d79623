"""Names of symbols in the fields of a record that is written: each becomes the ID that it means."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.errors import EnvironmentProblem
from kl_hooks.model.definitions import lazy_pattern
from kl_hooks.model.symbol import RECORD_ID, split_id

if TYPE_CHECKING:
    from kl_hooks.code.query.session import Graph
    from kl_hooks.context.access import Access
    from kl_hooks.model.kind import Kind
    from kl_hooks.model.symbol import Symbol
    from kl_hooks.workspace import Workspace

_RELATIONS: Final = ("adr_governs", "governs", "about")
"""Relations of the fields that name code."""
_NAME: Final = lazy_pattern(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")
"""`Cart`, `Cart.total`, `shop.cart.Cart`; a path without a folder may look so, too."""


def with_symbol_ids(
    ws: Workspace, kind: Kind, values: Mapping[str, Any], access: Access
) -> dict[str, Any]:
    """Return values of fields, names of symbols as the IDs that `kl graph show` finds for them.

    What is not shown to whoever asks is as absent: a name of no symbol stays as it is. Ambiguous
    for a name of several.
    """
    texts_of_field = {
        field.name: values[field.name]
        for field in kind.all_fields
        if field.type == "ids"
        and field.relation in _RELATIONS
        and isinstance(values.get(field.name), list | tuple)
    }
    names = {
        text
        for texts in texts_of_field.values()
        for text in texts
        if isinstance(text, str) and _may_be_symbol(ws, text)
    }
    if not names:  # nobody waits for the graph who names files
        return dict(values)
    ids = _symbol_ids(ws, names, access)
    replaced = {
        field: type(texts)(ids.get(text, text) for text in texts)
        for field, texts in texts_of_field.items()
    }
    return {**values, **replaced}


def _may_be_symbol(ws: Workspace, text: str) -> bool:
    return (
        _NAME.fullmatch(text) is not None
        and RECORD_ID.fullmatch(text) is None
        and not ws.exists(text)
    )


def _symbol_ids(ws: Workspace, names: set[str], access: Access) -> dict[str, str]:
    """Return name → ID of the symbol that it means, where there is one."""
    from kl_hooks.operations.graph import opened_graph

    ids: dict[str, str] = {}
    try:
        with opened_graph(ws, "", access, records=False) as graph:
            for name in sorted(names):
                if symbol_id := _symbol_id(graph, name, access):
                    ids[name] = symbol_id
    except EnvironmentProblem:
        # without a graph a name is recorded as it is given: nobody loses a record by that
        return {}
    return ids


def _symbol_id(graph: Graph, name: str, access: Access) -> str:
    """Return the ID of the symbol that a name means; empty where there is none to show."""
    from kl_hooks.code.query.lookup import Unknown, resolve_text
    from kl_hooks.code.query.session import SYMBOL_KINDS

    def is_visible(symbol: Symbol) -> bool:
        return access.effect_on_place(symbol.id, symbol.path, "symbol")[0] == "allow"

    try:
        symbol = resolve_text(graph, name, is_visible)
    except Unknown:
        return ""
    is_code = split_id(symbol.id)[0] in SYMBOL_KINDS
    return symbol.id if is_code else ""
