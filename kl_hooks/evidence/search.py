"""Evidence in the search index, and what it offers to a task: past commits and asserted claims."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from kl_hooks.evidence.assertions import known_assertions
from kl_hooks.evidence.commits import LoggedCommit, commits_by_sha
from kl_hooks.evidence.ingestion import sync_evidence
from kl_hooks.index.index import Document, Hit, owners, replace_many, search
from kl_hooks.model.package import Candidate
from kl_hooks.model.text import name_list, one_line
from kl_hooks.store.database import Database
from kl_hooks.workspace import Workspace

if TYPE_CHECKING:
    from kl_hooks.model.package import Task

COMMIT, CLAIM = "commit", "claim"
"""Kinds of documents. A claim is an asserted one."""
_REPLACED: Final = ("test", "failure")
"""Kinds of documents of test results that earlier versions had; records of failures are of the
second kind, too.
"""
_OWNERS_REPLACED: Final = ("tests:", "failures:")
"""How the owners of those documents begin."""
_ALL: Final = 1_000_000
"""As many documents as match."""


def update_search_index(ws: Workspace, db: Database) -> None:
    """Bring the index up to the evidence in `db`; it is opened for writing only where something is
    missing.
    """
    with ws.store.reading("graph") as index:
        if index:
            have = owners(index, (COMMIT, CLAIM))
        else:
            have = set()
        replaced = {
            owner
            for owner in (owners(index, _REPLACED) if index else ())
            if owner.startswith(_OWNERS_REPLACED)
        }
    batch = dict(_commit_documents(db, have)) | _claim_documents(ws, db, have)
    batch |= {owner: [] for owner in replaced}
    if batch:
        with ws.store.writing("graph") as index, index.transaction():
            replace_many(index, batch)


def _commit_documents(db: Database, have: set[str]) -> Iterable[tuple[str, list[Document]]]:
    missing = {sha for (sha,) in db.rows("SELECT sha FROM commit_log")} - {
        o.removeprefix("commit:") for o in have
    }
    if not missing:
        return
    for sha, subject, body, files in db.rows("SELECT sha, subject, body, files FROM commit_log"):
        if sha in missing:
            words = f"{body}\n{' '.join(json.loads(files)[:50])}"
            yield f"commit:{sha}", [Document(f"commit:{sha}", COMMIT, "", 0, subject, words)]


def _claim_documents(ws: Workspace, db: Database, have: set[str]) -> dict[str, list[Document]]:
    """The asserted claims that are not there yet, and no document for those that were archived or
    made again.
    """
    rows = [
        (
            claim.id,
            claim.text,
            claim.about,
            claim.author,
            claim.made_at,
        )
        for claim in known_assertions(ws, db)
    ]
    documents = {
        # with its time, so that a claim which is made again replaces its older document
        f"claim:{key}:{at}": [Document(f"claim:{key}", CLAIM, "", 0, text, f"{about}\n{author}")]
        for key, text, about, author, at in rows
    }
    removed = {owner for owner in have if owner.startswith("claim:")} - documents.keys()
    return {
        owner: claim_documents for owner, claim_documents in documents.items() if owner not in have
    } | {owner: [] for owner in removed}


def find_commits(ws: Workspace, task: Task, limit: int) -> list[Candidate]:
    """Past commits whose messages or files match words of the task, best first."""
    hits = _search(ws, _words(task), limit, (COMMIT,))
    with ws.store.reading() as db:
        if db:
            commit_of = commits_by_sha(db, [h.id.removeprefix("commit:") for h in hits])
        else:
            commit_of = {}
    return [
        _commit_candidate(commit_of[sha])
        for h in hits
        if (sha := h.id.removeprefix("commit:")) in commit_of
    ]


def find_assertions(ws: Workspace, words: Sequence[str]) -> list[str]:
    """The IDs of the asserted claims that match any of the words, best first; expired ones are
    among them.
    """
    return [hit.id.removeprefix("claim:") for hit in _search(ws, words, _ALL, (CLAIM,))]


def _words(task: Task) -> list[str]:
    signals = task.signals
    return [*signals.symbols, *signals.keywords, *signals.failures, *signals.paths]


def _search(ws: Workspace, words: Sequence[str], limit: int, kinds: Sequence[str]) -> list[Hit]:
    sync_evidence(ws)
    with ws.store.reading() as db:
        if db is None:
            return []
        update_search_index(ws, db)
    with ws.store.reading("graph") as index:
        if index and words:
            return search(index, words, limit, kinds)
        return []


def _commit_candidate(commit: LoggedCommit) -> Candidate:
    files = name_list(commit.files, 6)
    line = f"{commit.at[:10]}: {one_line(commit.subject, 100)}"
    return Candidate(
        id=f"commit:{commit.sha}",
        kind="commit",
        title=commit.subject,
        text=f"{line}\ntouched {files}" if files else line,
        summary=line,
        authority="human",
        reasons=("a past commit with words of the task",),
        touches=tuple(commit.files),
    )
