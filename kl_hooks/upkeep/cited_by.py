"""What cites a record: records, claims, and layers and exceptions of the manifest; shown where the
record ends.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from kl_hooks.errors import KlError
from kl_hooks.evidence.assertions import known_assertions
from kl_hooks.records.citations import cited_id, cited_records, ended_words
from kl_hooks.records.query import RecordFilter, list_records

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kl_hooks.workspace import Workspace


def cited_by(ws: Workspace, identifier: str) -> list[str]:
    """IDs of the records and claims that cite a record, and `layer NAME` of each layer: those that
    have not ended.
    """
    return [*_records(ws, identifier), *_claims(ws, identifier), *_rules(ws, identifier)]


def _records(ws: Workspace, identifier: str) -> Iterator[str]:
    for record in list_records(ws, RecordFilter()):
        kind = ws.kinds[record.kind]
        cited = {citation.id for citation in cited_records(kind, record)}
        if identifier in cited and not ended_words(kind, record):
            yield record.id


def _claims(ws: Workspace, identifier: str) -> Iterator[str]:
    with ws.store.reading() as db:
        claims = known_assertions(ws, db) if db else []
    for claim in claims:
        names = {cited_id(text) for text in (claim.about, *claim.cites)}
        if claim.freshness != "expired" and identifier in names:
            yield f"claim:{claim.id}"


def _rules(ws: Workspace, identifier: str) -> Iterator[str]:
    from kl_hooks.arch.content import WORKTREE, decided_rules, load_content
    from kl_hooks.arch.manifest import load_manifest
    from kl_hooks.model.manifest import MANIFEST

    # what is wrong in that file is reported by `kl arch check`
    with suppress(KlError):
        if ws.repo:
            content = load_content(ws, WORKTREE)
        else:
            content = None
        if content is None or content.manifest is None:
            return
        manifest = load_manifest(ws.state.cache, MANIFEST, content.manifest)
        for name, decision, _ in decided_rules(manifest):
            if decision == identifier:
                yield name
