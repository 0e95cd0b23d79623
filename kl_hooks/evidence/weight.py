"""What an observation weighs: whether it can count as hard, and the reason where it can't. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kl_hooks.model.outcome import REFUTES, SUPPORTS
from kl_hooks.model.receipt import HARD, Evidence, Receipt
from kl_hooks.model.tier import Observation


def observation(receipt: Receipt, evidence: Evidence, origin: str = "local") -> Observation:
    """This evidence of this receipt, as the tier rule sees it."""
    why = why_not_hard(receipt, evidence, origin)
    hard = not why and evidence.kind in HARD
    return Observation(evidence.kind, receipt.observer, receipt.producer, receipt.run, hard, why)


def why_not_hard(receipt: Receipt, evidence: Evidence, origin: str = "local") -> str:
    """In one phrase why it can't count as hard; empty where it can."""
    if origin.startswith("imported"):
        return "imported, and nothing signed proves where it came from"
    if evidence.outcome == "flaky":
        return "flaky: it passed only on a later attempt"
    if not receipt.result.get("complete"):
        return f"the run is incomplete ({receipt.result.get('how') or 'unknown'})"
    if receipt.result.get("verdict") == "inconclusive":
        return "the run is inconclusive: " + "; ".join(receipt.result.get("reasons") or ["no reason was recorded"])
    if receipt.tree is None:
        return "the tree it ran on is unknown"
    if receipt.moved:
        return "tracked files changed while it ran"
    return ""


def ran_no_test(receipt: Receipt) -> bool:
    """True for a run that only listed tests, or that pytest refused to begin: it says nothing about any content."""
    return header_of_no_test(receipt.selection, receipt.result)


def header_of_no_test(selection: Mapping[str, Any], result: Mapping[str, Any]) -> bool:
    """The same, of two values of its header. One that failed to collect a file says something."""
    counts = result.get("counts") or {}
    none = result.get("how") == "usage-error" or bool(selection.get("collect_only"))
    return none and not any(counts.get(word) for word in REFUTES)


def speaks(evidence: Evidence) -> str:
    """`for`, `against` or `nothing`: what an outcome says of its subject."""
    return "for" if evidence.outcome in SUPPORTS else "against" if evidence.outcome in REFUTES else "nothing"


def vouching(parent: Receipt, child: Receipt) -> tuple[Evidence, ...]:
    """What the process that started a run saw of it: that it ended well.

    Nothing where it did not end well, or can't have been the one that started it: `KL_PARENT` is only a word.
    """
    around = parent.started <= child.started and child.ended <= parent.ended and parent.tree == child.tree
    if not around or parent.source != "command" or child.result.get("verdict") != "passed":
        return ()
    return tuple(one for one in parent.evidence if one.kind == "ExitCode" and speaks(one) == "for")
