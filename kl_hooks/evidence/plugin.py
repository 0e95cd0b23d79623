"""The entry point of `evidence`: its tables, the readers of evidence files, and what it offers to a task."""

from __future__ import annotations

from kl_hooks.hookspecs import Policy, Retriever, Schema, Source, hookimpl


@hookimpl
def kl_schema() -> Schema:
    from kl_hooks.evidence.schema import SCHEMA

    return SCHEMA


@hookimpl
def kl_sources() -> list[Source]:
    from kl_hooks.evidence.sources.junit import read_junit
    from kl_hooks.evidence.sources.receipts import read_lines

    return [Source("junit", read_junit), Source("receipts", read_lines)]


@hookimpl
def kl_retrievers() -> list[Retriever]:
    from kl_hooks.evidence.search import find_commits, find_tests

    return [Retriever("commits", 100, find_commits), Retriever("evidence", 100, find_tests)]


@hookimpl
def kl_policies() -> list[Policy]:
    from kl_hooks.evidence import compaction

    return [
        Policy(
            compaction.CLAIMS,
            "Expired claims move to their archive.",
            compaction.inspect_claims,
            compaction.archive_claims,
        ),
        Policy(
            compaction.DECAY, "Verified claims that nobody observed again count as inferred.", compaction.inspect_decay
        ),
        Policy(compaction.SPOOL, "Captures that nobody could understand wait for a person.", compaction.inspect_spool),
    ]
