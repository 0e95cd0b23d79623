"""The port of `evidence.foreign`, filled: notes, signatures, keys, symbols and events of others."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from kl_hooks.errors import EnvironmentProblem
from kl_hooks.evidence.executed import Executed
from kl_hooks.evidence.ledger import Entry
from kl_hooks.hookspecs import CommonEvent
from kl_hooks.model.receipt import Receipt
from kl_hooks.store.database import Database
from kl_hooks.workspace import Workspace


class SharedEvidence:
    """The evidence of others, as far as it counts here; see `evidence.foreign.ForeignEvidence`.

    Each answer imports what it needs: a store without evidence of others asks for none of it.
    """

    def __init__(self, ws: Workspace) -> None:
        self._ws = ws

    def import_fetched(self) -> str:
        """Import the notes that `git fetch` brought; why that was not possible, else empty."""
        from kl_hooks.sharing.notes import import_notes

        try:
            import_notes(self._ws)
        except (EnvironmentProblem, OSError) as problem:
            return f"notes that were fetched can't be imported: {problem}"
        return ""

    def judged(self, db: Database | None, entries: Sequence[Entry], trust_ref: str) -> list[Entry]:
        """The entries, with the origins that trusted signatures prove."""
        from kl_hooks.sharing.attestation import with_origins

        return with_origins(self._ws, db, entries, trust_ref)

    def trusted_signers(self, trust_ref: str) -> list[str]:
        """The fingerprints of the keys that count."""
        from kl_hooks.sharing.attestation import trusted_keys

        return list(trusted_keys(self._ws, trust_ref).keys)

    def executed(self, receipt: Receipt) -> Executed | None:
        """What the tests of a run executed, out of the ref that travels with its receipt."""
        from kl_hooks.sharing.shared_symbols import read_shared

        if not self._ws.repo:
            return None
        return read_shared(self._ws.repo, receipt)

    def events(self, db: Database | None, names: Collection[str]) -> list[CommonEvent]:
        """The events of these names that a trusted key signed, oldest first."""
        from kl_hooks.sharing.common_events import common_events

        return common_events(self._ws, db, names)
