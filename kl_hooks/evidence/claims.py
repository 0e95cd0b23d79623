"""Claims: what follows from the evidence by itself, and what somebody asserted. Tiers are computed here and now."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from kl_hooks.evidence.ledger import Entry, by_run
from kl_hooks.evidence.weight import contradiction, observation, speaks, vouching
from kl_hooks.model.claim import OLDER_TREE, Claim, Support
from kl_hooks.model.receipt import Evidence
from kl_hooks.model.symbol import split_id
from kl_hooks.store.database import Database

SENTENCES: Final = {
    "TestResult": "Test passes: {}",
    "ExitCode": "Command succeeds: {}",
    "Validator": "Check is clean: {}",
}
"""Class of evidence → the claim that it makes by itself."""
FLAKY: Final = "flaky: it passed and failed on the same content"


def mechanical(
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
    made = (_claim(subject, found, trees, parents, rule) for subject, found in sorted(seen.items()))
    return [claim for claim in made if claim]


def _support(entry: Entry, evidence: Evidence, parents: Mapping[str, Entry]) -> Support:
    seen = observation(entry.receipt, evidence, entry.origin)
    parent = parents.get(entry.receipt.parent or "")
    if parent and seen.hard and (why := contradiction(parent.receipt, entry.receipt)):
        seen = replace(seen, hard=False, why_not=why)
    return Support(seen, entry.id, evidence.outcome, entry.receipt.tree, entry.receipt.ended, speaks(evidence))


def _claim(
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
    for evidence in vouching(parent.receipt, entry.receipt) if parent else ():
        assert parent is not None
        seen = _support(parent, evidence, {})
        yield replace(seen, observation=replace(seen.observation, run=entry.receipt.run))


def parents_of(db: Database, entries: Iterable[Entry]) -> dict[str, Entry]:
    """The receipts of the commands that started these runs, by run."""
    wanted = {e.receipt.parent for e in entries if e.receipt.parent}
    found = {run: by_run(db, run) for run in wanted}
    return {run: entry for run, entry in found.items() if entry}
