"""The door of `graph`: its table."""

from __future__ import annotations

from kl_hooks.hookspecs import Schema, hookimpl


@hookimpl
def kl_schema() -> Schema:
    """The table of links."""
    from kl_hooks.graph.tables import LINKS

    return Schema("graph", "graph", (LINKS,))
