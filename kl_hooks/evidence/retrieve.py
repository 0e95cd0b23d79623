"""What evidence offers to a task: the commits whose messages fit it, and the tests that bear its words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kl_hooks.config.settings import load_lifecycle
from kl_hooks.evidence.catch_up import catch_up
from kl_hooks.evidence.claims import mechanical, parents_of
from kl_hooks.evidence.commits import Logged, logged
from kl_hooks.evidence.decay import aged
from kl_hooks.evidence.indexing import COMMIT, FAILURE, LOOK_BACK, TEST, catch_up_index
from kl_hooks.evidence.ledger import Entry, of_tree, recent
from kl_hooks.evidence.place import place_of
from kl_hooks.evidence.weight import observation
from kl_hooks.index.index import Hit, search
from kl_hooks.model.claim import Claim, Tier, tier, tier_words
from kl_hooks.model.package import Candidate
from kl_hooks.model.receipt import REFUTES, Evidence
from kl_hooks.model.text import one_line

if TYPE_CHECKING:
    from kl_hooks.model.package import Task
    from kl_hooks.workspace import Workspace


def find_commits(ws: Workspace, task: Task, limit: int) -> list[Candidate]:
    """Past commits whose messages or files bear words of the task, best first."""
    found = _search(ws, task, limit, (COMMIT,))
    with ws.store.reading() as db:
        known = logged(db, [h.id.removeprefix("commit:") for h in found]) if db else {}
    return [_commit(known[sha]) for h in found if (sha := h.id.removeprefix("commit:")) in known]


def find_tests(ws: Workspace, task: Task, limit: int) -> list[Candidate]:
    """Tests that bear words of the task, those that fail first; each with how well its outcome is proven."""
    hits = _search(ws, task, limit, (FAILURE, TEST))
    order = sorted(hits, key=lambda h: h.kind != FAILURE)
    subjects = list(dict.fromkeys(h.id for h in order if h.id.startswith("test:")))
    with ws.store.reading() as db:
        if db is None or not subjects:
            return []
        trees, rule = place_of(ws.repo).trees, ws.settings.verified_requires
        entries = {e.seq: e for e in [*of_tree(db, trees), *recent(db, LOOK_BACK, "pytest"), *recent(db, 1, "junit")]}
        newest = [entries[seq] for seq in sorted(entries, reverse=True)]
        claims = {c.about: c for c in mechanical(newest, trees, parents_of(db, newest), set(subjects), rule)}
    days = load_lifecycle(ws.root, ws.state.cache)[0].confidence_decay_days
    claims = {about: aged(claim, ws.clock.now(), days) for about, claim in claims.items()}
    made = (_test(subject, newest, claims.get(subject)) for subject in subjects)
    return [candidate for candidate in made if candidate]


def _search(ws: Workspace, task: Task, limit: int, kinds: Sequence[str]) -> list[Hit]:
    catch_up(ws)
    with ws.store.reading() as db:
        if db is None:
            return []
        catch_up_index(ws, db)
    signals = task.signals
    words = [*signals.symbols, *signals.keywords, *signals.failures, *signals.paths]
    with ws.store.reading("graph") as index:
        return search(index, words, limit, kinds) if index else []


def _commit(commit: Logged) -> Candidate:
    files = ", ".join(commit.files[:6]) + (f" and {len(commit.files) - 6} more" if len(commit.files) > 6 else "")
    body = one_line(commit.body, 300)
    lines = [
        f"commit {commit.sha[:12]} on {commit.at[:10]}: {commit.subject}",
        body,
        f"touched {files}" if files else "",
    ]
    return Candidate(
        id=f"commit:{commit.sha}",
        kind="commit",
        title=commit.subject,
        text="\n".join(line for line in lines if line),
        summary=f"commit {commit.sha[:12]} on {commit.at[:10]}: {one_line(commit.subject, 100)}",
        path=commit.files[0] if commit.files else "",
        tier=Tier.INFERRED,
        authority="human",
        reasons=("a past commit with words of the task",),
        touches=commit.files,
    )


def _test(subject: str, entries: Sequence[Entry], claim: Claim | None) -> Candidate | None:
    """The newest observation of a test: its outcome, where, and what supports it."""
    seen = ((e, one) for e in entries for one in e.receipt.evidence if one.subject == subject)
    entry, evidence = next(seen, (None, None))
    if entry is None or evidence is None:
        return None
    if claim and evidence.outcome not in REFUTES:
        best = next(s for s in claim.support if s.speaks == "for")
        how = ", ".join(tier_words(claim.tier.word, claim.freshness))
        said = f"passed; {how}, run {best.observation.run[:8]} of {best.at[:10]}"
        observers = ", ".join(sorted({s.observation.observer for s in claim.support if s.speaks == "for"}))
        return _candidate(subject, said, f"seen by {observers}", claim.tier, claim.freshness)
    said = f"{evidence.outcome}; run {entry.receipt.run[:8]} of {entry.receipt.ended[:10]}"
    return _candidate(subject, said, _message(evidence), tier([observation(entry.receipt, evidence, entry.origin)]), "")


def _candidate(subject: str, said: str, more: str, tier_: Tier, freshness: str) -> Candidate:
    nodeid = subject.removeprefix("test:")
    return Candidate(
        id=subject,
        kind="evidence",
        title=nodeid,
        text=f"{nodeid} {said}" + (f"\n{more}" if more else ""),
        summary=f"{nodeid} {said}",
        path=nodeid.partition("::")[0],
        tier=tier_,
        freshness=freshness or "not assessed",
        reasons=("a test that bears words of the task",),
    )


def _message(evidence: Evidence) -> str:
    return one_line(str(evidence.detail.get("message") or ""), 300)
