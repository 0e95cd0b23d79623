"""The evidence of a repository, as operations read it: all of it, after an import, with what a
person should know about that.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.errors import KlError
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.workspace import require_setup

if TYPE_CHECKING:
    from kl_hooks.evidence.high_water import Rollback
    from kl_hooks.evidence.snapshot import Snapshot
    from kl_hooks.store.database import Database
    from kl_hooks.workspace import Workspace

IMPORTING: Final = "Importing captured runs and commits"
"""What a person reads meanwhile."""


class EvidenceState(NamedTuple):
    """What was read from the spool, and what is missing."""

    waiting: int
    """Captures that are not in the store yet."""
    unread: tuple[str, ...]
    """Captures that can't be read, a sentence each."""
    lost: tuple[Rollback, ...]
    """Receipts that the store had and does not have any more."""

    @classmethod
    def of(cls, evidence: Snapshot) -> EvidenceState:
        """The state of all evidence."""
        return cls(len(evidence.waiting), evidence.unread, evidence.lost)

    def to_dict(self) -> dict[str, Any]:
        """As in JSON answers."""
        lost = [loss.to_dict() | {"message": str(loss)} for loss in self.lost]
        return {"waiting": self.waiting, "unread": list(self.unread), "lost": lost}

    def hints(self) -> Iterator[str]:
        """What to do where there is no verdict."""
        if self.unread:
            yield "kl doctor names the problem and the fix"
        if self.lost:
            yield (
                "put the newer kl.db back, or run pytest: a complete run after the loss counts."
                " Confirm the loss with: kl evidence accept --reason TEXT"
            )


@contextmanager
def all_evidence(
    ws: Workspace, notes: list[str], head: str | None = None, trust_ref: str = ""
) -> Iterator[Snapshot]:
    """The store and the spools together. `notes` gets what could not be imported; an error that is
    raised meanwhile has these, too. `head` and the exceptions as `snapshot`.
    """
    from kl_hooks.evidence.import_notes import import_notes
    from kl_hooks.evidence.snapshot import snapshot

    with snapshot(ws, head, trust_ref) as evidence:
        notes += import_notes(ws, evidence.taken, len(evidence.waiting))
        try:
            yield evidence
        except KlError as problem:
            problem.notes = tuple(notes)
            raise


@contextmanager
def evidence_store(ws: Workspace, notes: list[str]) -> Iterator[Database | None]:
    """The store alone, up to date; None where there is none yet. Where nothing could be added, what
    is there is read, with a note. A repository that kl has never been used in is an
    EnvironmentProblem.
    """
    from kl_hooks.evidence.import_notes import import_notes
    from kl_hooks.evidence.ingestion import sync_evidence

    require_setup(ws)
    taken = sync_evidence(ws)
    with ws.store.reading() as db:
        notes += import_notes(ws, taken)
        try:
            yield db
        except KlError as problem:
            problem.notes = tuple(notes)
            raise


@contextmanager
def evidence_with_gaps(ws: Workspace, notes: list[str]) -> Iterator[Snapshot]:
    """As `all_evidence`, for an answer that is no verdict: what can't be read is among the notes,
    for a test may have failed there.
    """
    with all_evidence(ws, notes) as evidence:
        notes += [f"not in this answer: {gap}" for gap in evidence.gaps]
        yield evidence
