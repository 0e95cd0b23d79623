"""Claims: those that follow from evidence, and those that somebody asserted. Tiers are computed,
never stored.

An assertion is no observation: alone it is *assumed*, whoever makes it. How assertions are stored,
and what their authors cite, is in `assertions`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.clock import DAY, is_older, micros
from kl_hooks.config.settings import load_lifecycle
from kl_hooks.evidence.assertions import (
    count_citations,
    known_assertions,
)
from kl_hooks.evidence.foreign import foreign_evidence, with_origins
from kl_hooks.evidence.ledger import (
    Entry,
    entries_of_tree,
    parents_of,
    recent,
)
from kl_hooks.evidence.provenance import worktree_state
from kl_hooks.evidence.shared_names import without_partial_passes
from kl_hooks.evidence.trust import (
    NOTES,
    contradiction,
    observation,
    parent_confirmation,
    stance,
)
from kl_hooks.model.claim import (
    OLDER_TREE,
    Claim,
    Support,
    Tier,
)
from kl_hooks.model.receipt import Evidence, Receipt
from kl_hooks.model.symbol import split_id
from kl_hooks.model.text import counted
from kl_hooks.store.database import Database
from kl_hooks.workspace import Workspace, require_setup

if TYPE_CHECKING:
    from kl_hooks.evidence.flaky import FlakyPasses

_RECENT_RECEIPTS: Final = 50
"""Receipts that are searched for subjects that were not observed on today's tree."""
SENTENCES: Final = {
    "TestResult": "Test passes: {}",
    "ExitCode": "Command succeeds: {}",
    "Validator": "Check is clean: {}",
}
"""Class of evidence → the claim that it makes by itself."""
FLAKY: Final = "flaky: it passed and failed on the same content"


def all_claims(ws: Workspace, about: Collection[str] | None = None) -> list[Claim]:
    """Asserted claims, then those that follow from the evidence in the store: who asks has imported
    what was captured since (`sync_evidence`).
    """
    require_setup(ws)
    with ws.store.reading() as db:
        if not db:
            return []
        return claims_about(ws, db, about)


def claims_about(ws: Workspace, db: Database, about: Collection[str] | None = None) -> list[Claim]:
    """The claims in a store, as they count today: the one place where the tier of a claim is
    decided.
    """
    trees = worktree_state(ws.repo).trees
    # a dictionary, since a receipt of today's tree is often one of the newest too
    here = [*entries_of_tree(db, trees), *entries_of_tree(db, trees, notes=True)]
    entries = {entry.seq: entry for entry in [*here, *recent(db, _RECENT_RECEIPTS)]}
    judged = with_origins(partial(foreign_evidence, ws), db, list(entries.values()))
    entries = {entry.seq: entry for entry in judged if not entry.origin.startswith(NOTES)}
    derived = current_claims(
        ws, db, [entries[seq] for seq in sorted(entries, reverse=True)], trees, about
    )
    assertions = known_assertions(ws, db, archived=True)
    asserted = [claim for claim in assertions if not about or claim.about in about]
    # an assertion of what evidence shows too makes no second claim: it is one more reason for the
    # first
    shown = {claim.id: claim for claim in derived}
    for claim in asserted:
        if claim.id in shown and claim.freshness != "expired":
            shown[claim.id] = shown[claim.id]._replace(
                support=shown[claim.id].support + claim.support
            )
    return count_citations(
        ws, [*(claim for claim in asserted if claim.id not in shown), *shown.values()]
    )


def current_claims(
    ws: Workspace,
    db: Database,
    entries: Sequence[Entry],
    trees: Sequence[str],
    about: Collection[str] | None = None,
) -> list[Claim]:
    """The claims that these receipts (newest first) make, by the settings of the repository and at
    their age.
    """
    derived = derived_claims(
        without_partial_passes(entries),
        trees,
        parents_of(db, entries),
        about,
        ws.settings.verified_requires,
    )
    # what is wrong in that file is not reported here: upkeep does, and the default counts meanwhile
    days = load_lifecycle(ws.root, ws.state.cache)[0].confidence_decay_days
    # here: most commands that import claims ask for none
    from kl_hooks.evidence.flaky import FlakyPasses

    flaky = FlakyPasses(ws, db)
    receipts = {one.id: one.receipt for one in entries}
    return [aged(_without_flaky(claim, flaky, receipts), ws.clock.now(), days) for claim in derived]


def _without_flaky(claim: Claim, flaky: FlakyPasses, receipts: Mapping[str, Receipt]) -> Claim:
    """The claim in which a pass of a flaky test is no hard evidence, and no word for one."""
    if not claim.about.startswith("test:"):
        return claim
    why_flaky = {
        item.receipt: why
        for item in claim.support
        if item.speaks == "for"
        and (item.observation.hard or item.observation.asserted)
        and item.receipt in receipts
        and (why := flaky.why(claim.about, receipts[item.receipt]))
    }
    support = [
        (
            item._replace(
                observation=item.observation._replace(
                    hard=False, asserted=False, why_not=why_flaky[item.receipt]
                ),
            )
            if item.receipt in why_flaky
            else item
        )
        for item in claim.support
    ]
    return claim._replace(
        support=tuple(support), reasons=(*claim.reasons, *dict.fromkeys(why_flaky.values()))
    )


def aged(claim: Claim, now: int, days: int) -> Claim:
    """The claim as it counts at `now`: a verified one whose newest observation is older than `days`
    is inferred.

    A claim with an end of its own does not decay, and with 0 days none does. Applied again it
    changes nothing.
    """
    if not days or claim.expires or claim.tier is not Tier.VERIFIED:
        return claim
    newest = max(
        (micros(one.at) for one in claim.support if one.speaks == "for" and one.observation.hard),
        default=now,
    )
    if not is_older(now, newest, days):
        return claim
    age = counted((now - newest) // DAY, "day")
    reason = f"last observed {age} ago; after {counted(days, 'day')} it counts as inferred"
    return claim._replace(max_tier=Tier.INFERRED, reasons=(*claim.reasons, reason))


def derived_claims(
    entries: Sequence[Entry],
    trees: Sequence[str],
    parents: Mapping[str, Entry],
    about: Collection[str] | None = None,
    rule: str = "independent",
) -> list[Claim]:
    """The claims that these receipts (newest first) make, in the order of their subjects. Pure.

    For each subject the receipts of `trees` (the content now) count; where there are none, those of
    the newest tree that was observed, and the claim is marked so. A claim is made where something
    speaks for it. `about` limits it to these subjects. `parents` maps a run to the receipt of the
    command that started it; `rule` is `verified_requires`.
    """
    found_of_subject: dict[str, list[tuple[Entry, Support, str]]] = {}
    for entry in entries:
        for evidence in entry.receipt.evidence:
            if evidence.kind in SENTENCES and (about is None or evidence.subject in about):
                support = _support(entry, evidence, parents)
                found_of_subject.setdefault(evidence.subject, []).append(
                    (entry, support, SENTENCES[evidence.kind])
                )
    claims = (
        _derived_claim(subject, found, trees, parents, rule)
        for subject, found in sorted(found_of_subject.items())
    )
    return [claim for claim in claims if claim]


def _support(entry: Entry, evidence: Evidence, parents: Mapping[str, Entry]) -> Support:
    observed = observation(entry.receipt, evidence, entry.origin)
    parent = parents.get(entry.receipt.parent or "")
    if parent and observed.hard and (why := contradiction(parent.receipt, entry.receipt)):
        observed = observed._replace(hard=False, why_not=why)
    return Support(
        observed,
        entry.id,
        evidence.outcome,
        entry.receipt.tree,
        entry.receipt.ended,
        stance(evidence),
        entry.origin,
    )


def _derived_claim(
    subject: str,
    found: Sequence[tuple[Entry, Support, str]],
    trees: Sequence[str],
    parents: Mapping[str, Entry],
    rule: str,
) -> Claim | None:
    here = [row for row in found if {row[0].receipt.tree, row[0].receipt.tree_all} & set(trees)]
    newest = found[0][0].receipt.tree
    counted = here or [row for row in found if row[0].receipt.tree == newest]
    if not any(support.speaks == "for" for _, support, _ in counted):
        return None
    support = [s for _, s, _ in counted]
    for entry, own, _ in counted:
        if (
            own.speaks == "for"
            and own.observation.hard
            and (parent := parents.get(entry.receipt.parent or ""))
        ):
            # shown as what it is: one more look at the one execution that the run recorded itself
            for evidence in parent_confirmation(parent.receipt, entry.receipt):
                counted_support = _support(parent, evidence, {})
                support.append(
                    counted_support._replace(
                        observation=counted_support.observation._replace(run=entry.receipt.run),
                    )
                )
    if here:
        reasons = []
    else:
        reasons = [f"observed on tree {(newest or 'unknown')[:12]}; the content has changed since"]
    if any(s.speaks == "against" for s in support):
        support = [
            s._replace(
                observation=s.observation._replace(hard=False, asserted=False, why_not=FLAKY)
            )
            for s in support
        ]
        reasons.append("it also failed on this very content: flaky, until something is changed")
    return Claim(
        found[0][2].format(split_id(subject)[1]),
        subject,
        "auto",
        found[-1][0].receipt.started,
        None,
        tuple(support),
        "current" if here else OLDER_TREE,
        tuple(reasons),
        rule,
    )


def claim_to_dict(claim: Claim) -> dict[str, Any]:
    """`kl.claim/3`."""
    return {
        "schema": "kl.claim/3",
        "id": claim.id,
        "text": claim.text,
        "about": claim.about,
        "author": claim.author,
        "made_at": claim.made_at,
        "expires": claim.expires,
        "tier": claim.tier.word,
        "freshness": claim.freshness,
        "reasons": list(claim.reasons),
        "cites": list(claim.cites),
        "rests_on": [one._asdict() for one in claim.rests_on],
        "ended": list(claim.ended),
        "confirmed": claim.confirmed._asdict() if claim.confirmed else None,
        "support": [
            {
                "class": s.observation.kind,
                "observer": s.observation.observer,
                "producer": s.observation.producer,
                "run": s.observation.run,
                "hard": s.observation.hard,
                "why_not": s.observation.why_not,
                "receipt": s.receipt,
                "outcome": s.outcome,
                "tree": s.tree,
                "at": s.at,
                "speaks": s.speaks,
                "origin": s.origin,
            }
            for s in claim.support
        ],
    }
