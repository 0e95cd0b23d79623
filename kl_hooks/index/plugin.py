"""The door of `index`: its tables."""

from __future__ import annotations

from kl_hooks.hookspecs import Schema, hookimpl


@hookimpl
def kl_schema() -> Schema:
    """The documents, and what their full text is worth."""
    from kl_hooks.index.tables import DOCUMENTS, FOLDED

    return Schema("index", "graph", (DOCUMENTS, FOLDED))
