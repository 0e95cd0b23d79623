"""The verdict on a content in words: what failed, what must run again, what passed."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from kl_hooks.model.claim import Tier
from kl_hooks.model.receipt import Receipt, counted_outcome
from kl_hooks.model.text import counted, name_list, one_line

if TYPE_CHECKING:
    from kl_hooks.evidence.ledger import Entry
    from kl_hooks.proof.content_proof import Proof
    from kl_hooks.proof.impact import SymbolState

NO_RUN: Final = "no passing full test run recorded for this content"
_NAMED_RUNS: Final = 3


def outcome_counts(receipt: Receipt) -> str:
    """`1 failed, 211 passed`; the command itself for a single command."""
    if receipt.source == "command" and receipt.evidence:
        return one_line(receipt.evidence[0].subject.removeprefix("command:"), 32)
    counts = sorted((receipt.result.get("counts") or {}).items())
    return ", ".join(counted_outcome(number, outcome) for outcome, number in counts if number)


def failure_text(proof: Proof, entries: Iterable[Entry]) -> str:
    """What failed on a content: its newest run, or an earlier test; empty where nothing did."""
    runs = (entry.receipt for entry in entries if entry.receipt.source in ("pytest", "junit"))
    failed = next((receipt for receipt in runs if receipt.result.get("verdict") == "failed"), None)
    if failed and proof.failed == "newest":
        run = failed.run[:8]
        return (
            f"run {run} failed on this content ({outcome_counts(failed)}). See: kl evidence show"
            f" {run}"
        )
    if proof.failed:
        return "a test that failed on this content has not passed since"
    return ""


def rerun_text(proof: Proof) -> str:
    """How many tests must run again, and why; empty where it is not that."""
    again = proof.tests.rerun + proof.tests.running
    if proof.failed or not proof.missing or not again:
        return ""
    # what was never recorded is missing, too: the line of numbers has it
    number = f"{counted(again, 'test')} must run again"
    reasons = {test.reason for test in proof.missing}
    if proof.stale:
        return f"{number} (run {proof.stale[:8]} is valid for the others)"
    if len(reasons) != 1:
        return number
    return f"{number}: {reasons.pop()}"


def without_variables_text(proof: Proof) -> str:
    """How to judge without the variables for which tests must run again; empty where there are
    none.
    """
    if not proof.variables_of_shell:
        return ""
    unset = " ".join(f"-u {shlex.quote(name)}" for name in proof.variables_of_shell)
    return f"without what this shell sets: env {unset} kl verify"


def passed_text(proof: Proof, untracked: bool) -> str:
    """`run 5d1e0a77 passed on exactly this content`; of a run that was a part, with the others."""
    if untracked:
        content = "this content, with untracked files in the working tree"
    else:
        content = "exactly this content"
    runs = name_list([run[:8] for run in proof.cited_runs], _NAMED_RUNS)
    if len(proof.cited_runs) > 1:
        return f"runs {runs} passed together on {content}"
    return f"run {runs} passed on {content}"


def content_text(proof: Proof, failure: str, untracked: bool) -> str:
    """What the tests prove of a content, in one line. `failure`: as `failure_text`; `untracked`: as
    `passed_text` takes it. Where it can't be assessed, the first reason.
    """
    if proof.gaps:
        return f"not assessed: {proof.gaps[0]}"
    if proof.unmet_coverage:
        return f"not proven: {rerun_text(proof) or proof.unmet_coverage}"
    if proof.transfers:
        return f"transferred ({proof.tier.word}) {proof.transfer_text}{proof.except_flaky}"
    if proof.tier >= Tier.INFERRED:
        passed = passed_text(proof, untracked)
        return f"{proof.tier.word}: {passed}{proof.but_for_known}{proof.except_flaky}"
    if failed := failure or rerun_text(proof):
        return f"not proven: {failed}"
    if proof.tests.is_partial:
        return "not proven: a part of the tests has a valid result"
    return NO_RUN


def open_symbols_text(states: Sequence[SymbolState]) -> str:
    """How many changed symbols are not proven, where these decide."""
    number = sum(state.state != "proven" for state in states)
    if number:
        return f"{number} of {len(states)} changed symbols are not proven"
    return "no changed symbol to prove it by; no evidence of the whole content"
