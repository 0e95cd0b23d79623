"""Claims: those that follow from evidence, and those that somebody asserted. Tiers are computed, never stored.

An asserted claim is a receipt of its own (class AgentAssertion), and a row to find it by. An assertion is no
observation: alone it is *assumed*, whoever makes it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from kl_hooks.clock import iso
from kl_hooks.config.settings import load_lifecycle
from kl_hooks.errors import UsageProblem
from kl_hooks.evidence.ingestion import sync_evidence
from kl_hooks.evidence.integrity import ledger_writer
from kl_hooks.evidence.ledger import Entry, append, entries_of_tree, parents_of, recent
from kl_hooks.evidence.provenance import agent, producer, worktree_state
from kl_hooks.evidence.trust import aged, contradiction, observation, parent_confirmation, stance
from kl_hooks.model.canonical import digest
from kl_hooks.model.claim import OLDER_TREE, Claim, Observation, Support
from kl_hooks.model.receipt import Evidence, Receipt
from kl_hooks.model.symbol import split_id
from kl_hooks.store.database import Database
from kl_hooks.store.redaction import redact
from kl_hooks.workspace import Workspace, require_setup

SENTENCES: Final = {
    "TestResult": "Test passes: {}",
    "ExitCode": "Command succeeds: {}",
    "Validator": "Check is clean: {}",
}
"""Class of evidence → the claim that it makes by itself."""
FLAKY: Final = "flaky: it passed and failed on the same content"


def derived_claims(
    entries: Sequence[Entry],
    trees: Sequence[str],
    parents: Mapping[str, Entry],
    about: Collection[str] | None = None,
    rule: str = "independent",
) -> list[Claim]:
    """The claims that these receipts (newest first) make, in the order of their subjects.

    For each subject the receipts of `trees` (the content now) count; where there are none, those of the newest tree
    that was observed, and the claim says so. A claim is made where something speaks for it. `about` limits it to
    these subjects. `parents` maps a run to the receipt of the command that started it; `rule` is `verified_requires`.
    """
    seen: dict[str, list[tuple[Entry, Support, str]]] = {}
    for entry in entries:
        for evidence in entry.receipt.evidence:
            if evidence.kind in SENTENCES and (about is None or evidence.subject in about):
                support = _support(entry, evidence, parents)
                seen.setdefault(evidence.subject, []).append((entry, support, SENTENCES[evidence.kind]))
    made = (_derived_claim(subject, found, trees, parents, rule) for subject, found in sorted(seen.items()))
    return [claim for claim in made if claim]


def _support(entry: Entry, evidence: Evidence, parents: Mapping[str, Entry]) -> Support:
    seen = observation(entry.receipt, evidence, entry.origin)
    parent = parents.get(entry.receipt.parent or "")
    if parent and seen.hard and (why := contradiction(parent.receipt, entry.receipt)):
        seen = replace(seen, hard=False, why_not=why)
    return Support(seen, entry.id, evidence.outcome, entry.receipt.tree, entry.receipt.ended, stance(evidence))


def _derived_claim(
    subject: str,
    found: list[tuple[Entry, Support, str]],
    trees: Sequence[str],
    parents: Mapping[str, Entry],
    rule: str,
) -> Claim | None:
    here = [one for one in found if {one[0].receipt.tree, one[0].receipt.tree_all} & set(trees)]
    newest = found[0][0].receipt.tree
    counted = here or [one for one in found if one[0].receipt.tree == newest]
    if not any(support.speaks == "for" for _, support, _ in counted):
        return None
    support = [s for _, s, _ in counted]
    for entry, own, _ in counted:
        if own.speaks == "for" and own.observation.hard:
            support += _from_parent(entry, parents)
    reasons = [] if here else [f"observed on tree {(newest or 'unknown')[:12]}; the content has changed since"]
    if any(s.speaks == "against" for s in support):
        support = [replace(s, observation=replace(s.observation, hard=False, why_not=FLAKY)) for s in support]
        reasons.append("it also failed on this very content: flaky, until something is changed")
    freshness = "current" if here else OLDER_TREE
    text = found[0][2].format(split_id(subject)[1])
    return Claim(
        text, subject, "auto", found[-1][0].receipt.started, None, tuple(support), freshness, tuple(reasons), rule
    )


def _from_parent(entry: Entry, parents: Mapping[str, Entry]) -> Iterable[Support]:
    """The parent process saw the same run end well: it is shown, as what it is, one more look at one execution."""
    parent = parents.get(entry.receipt.parent or "")
    for evidence in parent_confirmation(parent.receipt, entry.receipt) if parent else ():
        assert parent is not None
        seen = _support(parent, evidence, {})
        yield replace(seen, observation=replace(seen.observation, run=entry.receipt.run))


def assert_claim(
    db: Database, text: str, about: str, author: str, now: int, expires: int | None, cites: Sequence[str] = ()
) -> Claim:
    """Keeps an assertion, in a transaction that the caller holds. Asserting it again renews it.

    `cites`: what its author cites for it; it rests in the receipt.
    """
    if not text.strip() or not about.strip():
        raise UsageProblem(
            "a claim needs a sentence, and an Id that it is about.",
            hint='Example: kl claim add "parses UTF-8" --about file:src/names.py',
        )
    author, at, until = redact(author), iso(now), iso(expires) if expires else None
    claim = Claim(redact(text.strip()), redact(about.strip()), author, at, until, cites=tuple(cites))
    append(db, [_assertion_receipt(claim)])
    db.execute("DELETE FROM claim WHERE id = ?", (claim.id,))
    db.execute(
        "INSERT INTO claim (id, text, about, author, made_at, expires) VALUES (?, ?, ?, ?, ?, ?)",
        (claim.id, claim.text, claim.about, claim.author, claim.made_at, claim.expires),
    )
    return replace(_asserted_claim(claim.text, claim.about, author, at, until, now=at), cites=claim.cites)


def _assertion_receipt(claim: Claim) -> Receipt:
    said: dict[str, Any] = {"text": claim.text, "author": claim.author, "expires": claim.expires}
    said |= {"support": list(claim.cites)} if claim.cites else {}
    return Receipt(
        run=digest("claim/1", [claim.id, claim.author, claim.made_at])[:32],
        source="claim",
        observer=claim.author,
        producer=claim.author,
        evidence=(Evidence("AgentAssertion", claim.about, "asserted", 0, None, said),),
        started=claim.made_at,
        ended=claim.made_at,
        result={
            "exit": None, "complete": True, "how": "finished", "verdict": "asserted", "reasons": [],
            "counts": {"asserted": 1},
        },
    )  # fmt: skip


def asserted_claims(db: Database, now: int, about: str | None = None) -> list[Claim]:
    """The assertions, oldest first; expired ones say so."""
    where, values = (" WHERE about = ?", (about,)) if about else ("", ())
    rows = db.rows(f"SELECT text, about, author, made_at, expires FROM claim{where} ORDER BY made_at, id", values)
    cites = _cited_by_receipts(db) if rows else {}
    made = (_asserted_claim(*row, now=iso(now)) for row in rows)
    return [replace(one, cites=cites.get((one.id, one.made_at), ())) for one in made]


def _cited_by_receipts(db: Database) -> dict[tuple[str, str], tuple[str, ...]]:
    """(claim, when it was made) → what its author cited, as the receipts have it."""
    found: dict[tuple[str, str], tuple[str, ...]] = {}
    for at, body in db.rows(
        "SELECT r.ended, e.body FROM receipt r JOIN evidence e ON e.receipt = r.seq"
        " WHERE r.source = 'claim' AND r.origin = 'local' ORDER BY r.seq"
    ):
        try:
            plain = json.loads(body)
            cites = tuple(str(one) for one in plain.get("support", ()))
            if cites:
                found[Claim(plain["text"], plain["subject"], plain["author"], at).id, at] = cites
        except (ValueError, KeyError, TypeError, AttributeError):
            continue
    return found


def archived_claims(db: Database, now: int, about: str | None = None) -> list[Claim]:
    """The assertions that upkeep archived, oldest first, but for those that were made anew since."""
    where, values = (" AND about = ?", (about,)) if about else ("", ())
    rows = db.rows(
        "SELECT text, about, author, made_at, expires, archived_at FROM claim_archive"
        f" WHERE id NOT IN (SELECT id FROM claim){where} ORDER BY made_at, id",
        values,
    )
    newest = {Claim(row[0], row[1], row[2], row[3]).id: row for row in rows}
    return [_over(_asserted_claim(*row[:5], now=iso(now)), row[5]) for row in newest.values()]


def _over(claim: Claim, at: str) -> Claim:
    return replace(claim, freshness="expired", reasons=(*claim.reasons, f"archived on {at}"))


def move_to_archive(db: Database, ids: Sequence[str], now: int) -> int:
    """Moves these assertions to the archive, in a transaction that the caller holds; how many were there."""
    moved = 0
    for key in ids:
        row = db.row("SELECT id, text, about, author, made_at, expires FROM claim WHERE id = ?", (key,))
        if row is None:
            continue
        db.execute(
            "INSERT INTO claim_archive (id, text, about, author, made_at, expires, archived_at)"
            " VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id, made_at) DO NOTHING",
            (*row, iso(now)),
        )
        db.execute("DELETE FROM claim WHERE id = ?", (key,))
        moved += 1
    return moved


def _asserted_claim(text: str, about: str, author: str, made_at: str, expires: str | None, *, now: str) -> Claim:
    seen = Observation("AgentAssertion", author, author, "", False, "an assertion is not an observation")
    support = Support(seen, "", "asserted", None, made_at, "for")
    gone = expires is not None and expires <= now
    reasons = (f"expired on {expires}",) if gone else ("nobody has observed it",)
    freshness = "expired" if gone else "not assessed"
    return Claim(text, about, author, made_at, expires, (support,), freshness, reasons)


RECENT_RECEIPTS: Final = 50
"""Receipts that are looked at for subjects that were not observed on today's tree."""


def _entries_for(db: Database, trees: tuple[str, ...]) -> list[Entry]:
    """The receipts that matter for claims: those of today's trees and the newest others, newest first."""
    found = {entry.seq: entry for entry in [*entries_of_tree(db, trees), *recent(db, RECENT_RECEIPTS)]}
    return [found[seq] for seq in sorted(found, reverse=True)]


def all_claims(ws: Workspace, warn: Callable[[str], None], about: str | None = None) -> list[Claim]:
    """Asserted claims, then those that follow from evidence. `warn` is told where the answer may be smaller."""
    require_setup(ws)
    taken = sync_evidence(ws)
    trees = worktree_state(ws.repo).trees
    with ws.store.reading() as db:
        if taken.trouble:
            warn(taken.trouble)
        if db is None:
            return []
        entries = _entries_for(db, trees)
        made = derived_claims(
            entries, trees, parents_of(db, entries), {about} if about else None, ws.settings.verified_requires
        )
        now = ws.clock.now()
        said = [*asserted_claims(db, now, about), *archived_claims(db, now, about)]
    days = load_lifecycle(ws.root, ws.state.cache)[0].confidence_decay_days
    return [aged(claim, now, days) for claim in _merge_claims(said, made)]


def _merge_claims(said: list[Claim], made: list[Claim]) -> list[Claim]:
    """Who asserts what evidence says too makes no second claim: the assertion is one more reason for the first."""
    known = {claim.id: claim for claim in made}
    alone = [claim for claim in said if claim.id not in known]
    for claim in said:
        if claim.id in known and claim.freshness != "expired":
            known[claim.id] = replace(known[claim.id], support=known[claim.id].support + claim.support)
    return [*alone, *known.values()]


def add_claim(
    ws: Workspace, text: str, about: str, expires: int | None, cites: Sequence[str] = (), author: str = ""
) -> Claim:
    """Keeps an assertion of whoever runs this, or of `author`."""
    require_setup(ws)
    name = agent(ws.environ)
    author = author or (f"agent:{name}" if name else producer(ws.environ))
    with ledger_writer(ws) as db:
        return assert_claim(db, text, about, author, ws.clock.now(), expires, cites)


def claim_to_dict(claim: Claim) -> dict[str, Any]:
    """`kl.claim/1`."""
    return {
        "schema": "kl.claim/1", "id": claim.id, "text": claim.text, "about": claim.about, "author": claim.author,
        "made_at": claim.made_at, "expires": claim.expires, "tier": claim.tier.word, "freshness": claim.freshness,
        "reasons": list(claim.reasons), "cites": list(claim.cites),
        "support": [
            {
                "class": s.observation.kind, "observer": s.observation.observer, "producer": s.observation.producer,
                "run": s.observation.run, "hard": s.observation.hard, "why_not": s.observation.why_not,
                "receipt": s.receipt, "outcome": s.outcome, "tree": s.tree, "at": s.at, "speaks": s.speaks,
            }
            for s in claim.support
        ],
    }  # fmt: skip
