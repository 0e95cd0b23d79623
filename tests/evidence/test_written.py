"""The id of a capture before anybody took it in is the one it has in the ledger."""

from __future__ import annotations

from kl_hooks.evidence.capture import new_run_id, record_check
from kl_hooks.evidence.journal import pending_receipt_id
from kl_hooks.git.worktree import WorktreeState
from tests.support import Checkout


def test_the_id_is_known_before_it_is_imported(repo: Checkout) -> None:
    from kl_hooks.evidence.ingestion import sync_evidence

    ws, run = repo.workspace(), new_run_id()
    assert pending_receipt_id(ws, run) == ""
    assert record_check(ws, "arch", "clean", {"files": 1}, WorktreeState(), run) is None
    reported = pending_receipt_id(ws, run)
    sync_evidence(ws)
    assert reported in {entry.id for entry in repo.entries()} and len(reported) == 64
    assert pending_receipt_id(ws, run) == "", "the spool is empty by now"
