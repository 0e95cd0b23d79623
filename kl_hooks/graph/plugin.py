"""The door of `graph`: its tables."""

from __future__ import annotations

from kl_hooks.hookspecs import Schema, hookimpl


@hookimpl
def kl_schema() -> Schema:
    """The tables of links."""
    from kl_hooks.graph.tables import LINKS, PACKED

    return Schema("graph", "graph", (LINKS, PACKED))
