"""The thin gate: is there complete, passing test evidence for exactly this tree? Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kl_hooks.evidence.ledger import Entry
from kl_hooks.evidence.weight import observation
from kl_hooks.model.receipt import Receipt
from kl_hooks.model.tier import Tier, tier


@dataclass(frozen=True, slots=True)
class Proof:
    """The answer, with the run that gives it and the reasons."""

    tier: Tier
    """Of "the tests pass on this tree": guessed where nothing proves it."""
    run: str | None
    """The newest run that proves it."""
    reasons: tuple[str, ...]


def selected(receipt: Receipt) -> str:
    """In words how a run was limited to a part of its tests; empty: it was not, as far as it can be seen."""
    selection = receipt.selection
    words = [f"{option} {selection[key]!r}" for key, option in _LIMITS.items() if selection.get(key)]
    if selection.get("deselected"):
        words.append(f"{selection['deselected']} tests deselected")
    return ", ".join(words)


def with_untracked(entries: Sequence[Entry], run: str | None, tree: str | None) -> bool:
    """True if this run, on the tracked files of `tree`, had untracked files beside them: no commit holds those."""
    return any(
        e.receipt.run == run and e.receipt.tree == tree and e.receipt.tree_all not in (None, tree) for e in entries
    )


_LIMITS = {"keyword": "-k", "markers": "-m", "lf": "--lf", "collect_only": "--collect-only"}


def proof(entries: Sequence[Entry], parents: Mapping[str, Entry], rule: str = "independent") -> Proof:
    """What the receipts of one tree (newest first) prove about its tests."""
    runs = [e for e in entries if e.receipt.source in ("pytest", "junit")]
    good, reasons = [], []
    for entry in runs:
        problem = _problem(entry)
        if problem:
            reasons.append(f"run {entry.receipt.run[:8]}: {problem}")
        else:
            good.append(entry)
    if runs and _problem(runs[0]).startswith("tests failed"):
        return Proof(Tier.GUESSED, None, tuple(reasons))
    seen = [observation(e.receipt, e.receipt.evidence[0], e.origin) for e in good]
    for entry in good:
        parent = parents.get(entry.receipt.parent or "")
        seen += [observation(parent.receipt, e, parent.origin) for e in parent.receipt.evidence] if parent else []
    return Proof(tier(seen, rule), good[0].receipt.run if good else None, tuple(reasons))


def _problem(entry: Entry) -> str:
    receipt = entry.receipt
    if receipt.result.get("verdict") == "failed":
        bad = {k: v for k, v in (receipt.result.get("counts") or {}).items() if v and k in ("failed", "error")}
        return "tests failed: " + ", ".join(f"{v} {k}" for k, v in sorted(bad.items()))
    sample = next((e for e in receipt.evidence if e.outcome == "passed"), None)
    if sample is None:
        return "nothing passed"
    weak = observation(receipt, sample, entry.origin).why_not
    return weak or (f"only a selection ran ({selected(receipt)})" if selected(receipt) else "")
