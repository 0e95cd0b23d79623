"""Evidence in the search index, and what it offers to a task: past commits, tests and failures."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from kl_hooks.evidence.claims import current_claims, known_assertions
from kl_hooks.evidence.commits import LoggedCommit, commits_by_sha
from kl_hooks.evidence.ingestion import sync_evidence
from kl_hooks.evidence.ledger import Entry, entries_of_tree, here_first, recent
from kl_hooks.evidence.provenance import worktree_state
from kl_hooks.evidence.trust import observation
from kl_hooks.index.index import Document, Hit, owners, replace_many, search
from kl_hooks.model.claim import OLDER_TREE, Claim, tier, tier_words
from kl_hooks.model.package import Candidate
from kl_hooks.model.receipt import REFUTES, Evidence
from kl_hooks.model.text import name_list, one_line
from kl_hooks.store.database import Database
from kl_hooks.workspace import Workspace

if TYPE_CHECKING:
    from kl_hooks.model.package import Task

COMMIT, FAILURE, CLAIM = "commit", "failure", "claim"
"""Kinds of documents. A claim is an asserted one; a failure is a failed test with the words of its
message.
"""
_ALL: Final = 1_000_000
"""As many documents as match."""
SOURCES: Final = ("pytest", "junit")
RECENT_RUNS: Final = 10
"""Runs that are looked at for the newest outcome of a test, besides those of this content."""


def update_search_index(ws: Workspace, db: Database) -> None:
    """Bring the index up to the evidence in `db`; it is opened for writing only where something is
    missing.
    """
    newest = next((e for source in SOURCES for e in recent(db, 1, source)), None)
    with ws.store.reading("graph") as index:
        have = owners(index, (COMMIT, "test", FAILURE, CLAIM)) if index else set()
    batch = dict(_commit_documents(db, have)) | (_failure_documents(newest, have) if newest else {})
    batch |= _claim_documents(ws, db, have)
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
        (one.id, one.text, one.about, one.author, one.made_at) for one in known_assertions(ws, db)
    ]
    made = {
        # with its time, so that a claim which is made again replaces its older document
        f"claim:{key}:{at}": [Document(f"claim:{key}", CLAIM, "", 0, text, f"{about}\n{author}")]
        for key, text, about, author, at in rows
    }
    removed = {one for one in have if one.startswith("claim:")} - made.keys()
    return {owner: one for owner, one in made.items() if owner not in have} | {
        owner: [] for owner in removed
    }


def _failure_documents(newest: Entry, have: set[str]) -> dict[str, list[Document]]:
    """The failed tests of the newest run, and no document for the owners that they replace.

    An earlier version had all tests in the index; those (`tests:…`) go too.
    """
    owner = f"failures:{newest.id[:16]}"
    batch: dict[str, list[Document]] = {}
    if owner not in have:
        bad = [_document(one) for one in newest.receipt.evidence if one.outcome in REFUTES]
        # an empty document: without any, a run without failures would look as if it were not
        # indexed, every time
        batch[owner] = bad or [Document(f"run:{newest.receipt.run}", FAILURE, "", 0, "")]
    replaced = {one for one in have if one.startswith(("tests:", "failures:"))} - {owner}
    return batch | {one: [] for one in replaced}


def _document(evidence: Evidence) -> Document:
    nodeid = evidence.subject.removeprefix("test:")
    return Document(
        evidence.subject,
        FAILURE,
        nodeid.partition("::")[0],
        0,
        nodeid,
        str(evidence.detail.get("message") or ""),
    )


def find_commits(ws: Workspace, task: Task, limit: int) -> list[Candidate]:
    """Past commits whose messages or files match words of the task, best first."""
    found = _search(ws, _words(task), limit, (COMMIT,))
    with ws.store.reading() as db:
        known = commits_by_sha(db, [h.id.removeprefix("commit:") for h in found]) if db else {}
    return [
        _commit_candidate(known[sha])
        for h in found
        if (sha := h.id.removeprefix("commit:")) in known
    ]


def find_tests(ws: Workspace, task: Task, limit: int) -> list[Candidate]:
    """Tests that failed last and match words of the task; and those that it names, whatever their
    outcome.

    A test that passes is no item: it is counted at the code that it calls (`proof.symbol_tests`).
    """
    hits = _search(ws, _words(task), limit, (FAILURE,))
    named = [f"test:{name}" for name in task.signals.tests]
    subjects = list(dict.fromkeys([*named, *(h.id for h in hits if h.id.startswith("test:"))]))
    with ws.store.reading() as db:
        if db is None or not subjects:
            return []
        trees = worktree_state(ws.repo).trees
        # fewer than all claims look at: a task needs the newest results, and a run may have 20,000
        some = [
            *entries_of_tree(db, trees),
            *recent(db, RECENT_RUNS, "pytest"),
            *recent(db, 1, "junit"),
        ]
        entries = {entry.seq: entry for entry in some}
        newest = [entries[seq] for seq in sorted(entries, reverse=True)]
        claims = {
            claim.about: claim for claim in current_claims(ws, db, newest, trees, set(subjects))
        }
    by_content = here_first(newest, trees)
    made = (
        _test_candidate(subject, by_content, claims.get(subject), trees) for subject in subjects
    )
    return [candidate for candidate in made if candidate]


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
        return search(index, words, limit, kinds) if index and words else []


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


def _test_candidate(
    subject: str, entries: Sequence[Entry], claim: Claim | None, trees: Sequence[str]
) -> Candidate | None:
    """The newest observation of a test: its outcome, where, and what supports it."""
    seen = ((e, one) for e in entries for one in e.receipt.evidence if one.subject == subject)
    entry, evidence = next(seen, (None, None))
    if entry is None or evidence is None:
        return None
    if claim and evidence.outcome not in REFUTES:
        agreeing = [support for support in claim.support if support.speaks == "for"]
        run = f"run {agreeing[0].observation.run[:8]} of {agreeing[0].at[:10]}"
        outcome = f"passed; {', '.join(tier_words(claim.tier.word, claim.freshness))}, {run}"
        more = (
            f"seen by {', '.join(sorted({support.observation.observer for support in agreeing}))}"
        )
        level, freshness = claim.tier, claim.freshness
    else:
        outcome = f"{evidence.outcome}; run {entry.receipt.run[:8]} of {entry.receipt.ended[:10]}"
        more = one_line(str(evidence.detail.get("message") or ""), 300)
        level = tier([observation(entry.receipt, evidence, entry.origin)])
        is_here = {entry.receipt.tree, entry.receipt.tree_all} & set(trees)
        freshness = "current" if is_here else OLDER_TREE
    nodeid, failed = subject.removeprefix("test:"), evidence.outcome in REFUTES
    return Candidate(
        id=subject,
        kind="failing test" if failed else "evidence",
        title=nodeid,
        text=outcome + (f"\n{more}" if more else ""),
        summary=f"{outcome} {more}".rstrip(),
        path=nodeid.partition("::")[0],
        tier=level,
        freshness=freshness,
        reasons=(
            "a test that failed last and has words of the task"
            if failed
            else "a test that the task names",
        ),
    )
