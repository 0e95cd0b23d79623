"""The version of what a report is made from: another one after a run or a commit."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

from kl_hooks.errors import EnvironmentProblem
from kl_hooks.evidence.ingestion import sync_evidence
from kl_hooks.evidence.ledger import chain_head
from kl_hooks.git.repository import head

if TYPE_CHECKING:
    from kl_hooks.workspace import Workspace


def report_version(ws: Workspace) -> str:
    """Return 16 hexadecimal digits: of the commit and branch, and of the newest receipt.

    What is new is read first, so that making the report adds nothing. Files that no commit has are
    not part of it. EnvironmentProblem outside of a repository.
    """
    if ws.repo is None:
        raise EnvironmentProblem("not a git repository.", place=str(ws.root))
    taken = sync_evidence(ws)
    commit, branch, _ = head(ws.repo)
    with ws.store.reading() as db:
        newest = chain_head(db)[1] if db else ""
    # a store that can't be written gets no receipt: then the captures that wait are what is new
    waiting = taken.waiting if taken.trouble else 0
    facts = "\0".join((commit or "", branch or "", newest, str(waiting)))
    return sha256(facts.encode("utf-8", "surrogateescape")).hexdigest()[:16]
