"""The id of a capture before anybody took it in is the one it has in the ledger."""

from __future__ import annotations

from kl_hooks.evidence.capture import new_run, record_check
from kl_hooks.evidence.place import Place
from kl_hooks.evidence.written import receipt_id
from tests.support import Checkout


def test_the_id_is_known_before_it_is_taken_in(repo: Checkout) -> None:
    from kl_hooks.evidence.catch_up import catch_up

    ws, run = repo.workspace(), new_run()
    assert receipt_id(ws, run) == ""
    assert record_check(ws, "arch", "clean", {"files": 1}, Place(), run) is None
    told = receipt_id(ws, run)
    catch_up(ws)
    assert told in {entry.id for entry in repo.entries()} and len(told) == 64
    assert receipt_id(ws, run) == "", "the spool is empty by now"
