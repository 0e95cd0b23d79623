"""The port for evidence of others: what other clones and CI recorded, as facts with an origin.

Readers of the ledger ask here what a signature proves. Notes, bundles, keys and the symbols that
travel with them are behind it, in `sharing`, which no module of this package imports.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Protocol

from kl_hooks.evidence.executed import Executed
from kl_hooks.evidence.ledger import Entry
from kl_hooks.evidence.trust import IMPORTED
from kl_hooks.hookspecs import CommonEvent
from kl_hooks.model.receipt import Receipt
from kl_hooks.store.database import Database
from kl_hooks.workspace import Workspace


class ForeignEvidence(Protocol):
    """The evidence of others, as far as it counts here."""

    def import_fetched(self) -> str:
        """Import what `git fetch` brought; why that was not possible, else empty."""

    def judged(self, db: Database | None, entries: Sequence[Entry], trust_ref: str) -> list[Entry]:
        """The entries, imported ones with the origin that a trusted signature proves, or with why
        theirs does not count. `trust_ref`: the commit whose `.kl/trust` names a team's keys; empty:
        that of the user's configuration.
        """

    def trusted_signers(self, trust_ref: str) -> list[str]:
        """The fingerprints of the keys that count."""

    def executed(self, receipt: Receipt) -> Executed | None:
        """What the tests of a signed run executed, out of git; None where it did not travel."""

    def events(self, db: Database | None, names: Collection[str]) -> list[CommonEvent]:
        """The events of these names that a trusted key signed, oldest first."""


def foreign_evidence(ws: Workspace) -> ForeignEvidence:
    """The port of this workspace."""
    port: ForeignEvidence = ws.plugins.hook.kl_foreign_evidence(workspace=ws)
    return port


def with_origins(
    ask_others: Callable[[], ForeignEvidence],
    db: Database | None,
    entries: list[Entry],
    trust_ref: str = "",
) -> list[Entry]:
    """The entries with the origins that count here. Who forgets to ask counts less, never more: as
    stored, such an entry is imported. `ask_others`: makes the port, where there is need of it.
    """
    # most stores hold nothing of others
    if not any(entry.origin.startswith(IMPORTED) for entry in entries):
        return entries
    return ask_others().judged(db, entries, trust_ref)


def has_signatures(db: Database | None) -> bool:
    """Whether the store has any: an older one that could not be brought up to date has no table for
    them.
    """
    if db is None or not db.has_table("attestation"):
        return False
    return db.row("SELECT 1 FROM attestation LIMIT 1") is not None
