"""Makes evidence findable: commits, tests and failures as documents of the index, caught up when somebody searches."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Final

from kl_hooks.evidence.ledger import Entry, recent, widest
from kl_hooks.index.index import Document, owners, replace_many
from kl_hooks.model.canonical import digest
from kl_hooks.model.receipt import REFUTES, Evidence
from kl_hooks.store.database import Database
from kl_hooks.workspace import Workspace

COMMIT, TEST, FAILURE, CLAIM = "commit", "test", "failure", "claim"
"""Kinds of documents. A claim is an asserted one. A failure is a test again, with the words of its message."""
SOURCES: Final = ("pytest", "junit")
LOOK_BACK: Final = 10
"""Runs among which the one with most tests is taken for the whole suite: the newest may be a selection (`-k`)."""


def catch_up_index(ws: Workspace, db: Database) -> None:
    """Brings the index up to the evidence in `db`; opens it for writing only where something is missing."""
    newest = next((e for source in SOURCES for e in recent(db, 1, source)), None)
    widest_ = widest(db, newest.receipt.source, LOOK_BACK) if newest else None
    with ws.store.reading("graph") as index:
        have = owners(index, (COMMIT, TEST, FAILURE, CLAIM)) if index else set()
    batch = dict(_commits(db, have)) | (_tests(newest, widest_ or newest, have) if newest else {})
    batch |= _claims(db, have)
    if batch:
        with ws.store.writing("graph") as index, index.transaction():
            replace_many(index, batch)


def _commits(db: Database, have: set[str]) -> Iterable[tuple[str, list[Document]]]:
    missing = {sha for (sha,) in db.rows("SELECT sha FROM commit_log")} - {o.removeprefix("commit:") for o in have}
    if not missing:
        return
    for sha, subject, body, files in db.rows("SELECT sha, subject, body, files FROM commit_log"):
        if sha in missing:
            words = f"{body}\n{' '.join(json.loads(files)[:50])}"
            yield f"commit:{sha}", [Document(f"commit:{sha}", COMMIT, "", 0, subject, words)]


def _claims(db: Database, have: set[str]) -> dict[str, list[Document]]:
    """The asserted claims that are not there yet, and nothing for those that were archived or made anew."""
    rows = db.rows("SELECT id, text, about, author, made_at FROM claim ORDER BY id")
    made = {
        f"claim:{key}:{at}": [Document(f"claim:{key}", CLAIM, "", 0, text, f"{about}\n{author}")]
        for key, text, about, author, at in rows
    }
    gone = {one for one in have if one.startswith("claim:")} - made.keys()
    return {owner: one for owner, one in made.items() if owner not in have} | {owner: [] for owner in gone}


def _tests(newest: Entry, whole: Entry, have: set[str]) -> dict[str, list[Document]]:
    """The tests of the `whole` run, the failures of the newest, and nothing for the owners they take the place of."""
    tests = whole.receipt.evidence
    names = f"tests:{digest('tests', [e.subject for e in tests])[:16]}"
    failures = f"failures:{newest.id[:16]}"
    batch: dict[str, list[Document]] = {}
    if names not in have:
        batch[names] = [_document(e, TEST) for e in tests]
    if failures not in have:
        bad = [_document(e, FAILURE) for e in newest.receipt.evidence if e.outcome in REFUTES]
        batch[failures] = bad or [Document(f"run:{newest.receipt.run}", FAILURE, "", 0, "")]
    gone = {o for o in have if o.startswith(("tests:", "failures:"))} - {names, failures}
    return batch | {owner: [] for owner in gone}


def _document(evidence: Evidence, kind: str) -> Document:
    nodeid = evidence.subject.removeprefix("test:")
    message = str(evidence.detail.get("message") or "") if kind == FAILURE else ""
    return Document(evidence.subject, kind, nodeid.partition("::")[0], 0, nodeid, message)
