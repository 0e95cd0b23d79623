"""The door of `records`: its tables, and what the records offer to a task."""

from __future__ import annotations

from collections.abc import Sequence

from kl_hooks.hookspecs import Retriever, Schema, hookimpl


@hookimpl
def kl_schema() -> Sequence[Schema]:
    from kl_hooks.records.tables import AUTHORED, RECORDS

    return [Schema("records", "kl", (RECORDS,)), Schema("records", "graph", (AUTHORED,))]


@hookimpl
def kl_retrievers() -> Sequence[Retriever]:
    from kl_hooks.records.retrieve import find_records

    return [Retriever("records", 120, find_records)]
