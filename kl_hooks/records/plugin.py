"""The door of `records`: its tables, and what the records offer to a task."""

from __future__ import annotations

from collections.abc import Sequence

from kl_hooks.hookspecs import Policy, Retriever, Schema, hookimpl


@hookimpl
def kl_schema() -> Sequence[Schema]:
    from kl_hooks.records.pages.tables import CHUNKS, PAGES
    from kl_hooks.records.tables import AUTHORED, RECORDS

    return [Schema("records", "kl", (RECORDS,)), Schema("records", "graph", (AUTHORED, PAGES, CHUNKS))]


@hookimpl
def kl_retrievers() -> Sequence[Retriever]:
    from kl_hooks.records.retrieve import find_pages, find_records

    return [Retriever("records", 120, find_records), Retriever("pages", 95, find_pages)]


@hookimpl
def kl_policies() -> Sequence[Policy]:
    from kl_hooks.records import upkeep

    return [
        Policy(upkeep.POLICY, "Records that expired long ago leave the state.", upkeep.look, upkeep.apply),
        Policy(
            upkeep.FILES, "Files of memories that expired long ago go; git keeps them.", upkeep.look_files,
            upkeep.apply_files,
        ),
        Policy(
            upkeep.COUNTS, "Files get the number of occurrences that this clone counted.", upkeep.look_counts,
            upkeep.apply_counts,
        ),
    ]  # fmt: skip
