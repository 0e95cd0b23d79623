"""`kl verify`: the gate before a push, as text and in the formats of other programs."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from kl_hooks.cli.output import counted, echo, echo_lines, short
from kl_hooks.cli.request_options import operation_command, report_formats
from kl_hooks.config.settings import SETTINGS_FILE
from kl_hooks.model.claim import Tier
from kl_hooks.model.text import name_list
from kl_hooks.operations import verify as operations
from kl_hooks.operations.verify import PROVEN, VerifyAnswer, VerifyRequest
from kl_hooks.proof.content_proof import Proof
from kl_hooks.proof.verdict_text import NO_RUN, open_symbols_text, passed_text, rerun_text

if TYPE_CHECKING:
    from kl_hooks.model.diagnostic import Report

_NAMED: Final = 3
_SHOWN: Final = 20
"""Most symbols that are listed as text."""


def _with_pushed(request: VerifyRequest) -> VerifyRequest:
    """The request at pre-push: pre-commit names the commit that is pushed, which need not be
    checked out.
    """
    if request.rev or request.staged or request.changed:
        return request
    return request._replace(rev=os.environ.get("PRE_COMMIT_TO_REF", ""))


def _reports(answer: VerifyAnswer) -> list[Report]:
    from kl_hooks.proof.formats import report

    proof = answer.proof
    states = answer.states
    return [report(answer.tree, answer.is_accepted, states, proof, answer.command)]


def _exit_code(answer: VerifyAnswer, _request: VerifyRequest) -> int:
    return answer.exit_code


@operation_command(
    operations.VERIFY,
    _with_pushed,
    formats=report_formats(_reports, "kl verify", SETTINGS_FILE),
    exit_code=_exit_code,
)
def verify(answer: VerifyAnswer, request: VerifyRequest) -> None:
    """Print the verdict."""
    if answer.proposals is not None:
        echo_lines(_proposal_lines(answer.proposals))
        return
    echo_lines(_lines(answer))
    for check in answer.gates:
        _print_gate(check)
    if answer.is_advice:
        echo(
            "  advice only: nothing is blocked (verify: mode: block in .kl/config.yaml makes it a"
            " gate)"
        )


def _proposal_lines(proposals: tuple[operations.FailureProposal, ...]) -> Iterator[str]:
    if not proposals:
        yield "# nothing to propose: no test fails that is not a known failure"
        return
    yield "# for .kl/config.yaml; write why each may fail for now"
    yield "verify:"
    yield "  known_failures:"
    for proposal in proposals:
        # a JSON string is a double-quoted scalar of YAML 1.2
        yield f"    - test: {json.dumps(proposal.test, ensure_ascii=False)}"
        yield f"      reason: {json.dumps(proposal.reason, ensure_ascii=False)}"
        yield f"      until: {proposal.until}"


def _lines(answer: VerifyAnswer) -> Iterator[str]:
    tree = f"tree {short(answer.tree)}"
    proof = answer.proof
    if proof.gaps:
        yield from (f"{tree}: not assessed: {gap}" for gap in proof.gaps)
    elif answer.is_accepted:
        yield from _accepted_lines(answer, tree)
        return
    elif answer.is_below:
        yield f"{tree}: not proven: {proof.tier.word} ({answer.needed} required)"
        yield from (f"  {reason}" for reason in proof.reasons)
        yield from _notes(proof)
        yield from (f"  {text}" for text in proof.not_compared[:2])
    elif answer.is_by_symbol and not proof.failed:
        yield from _open_symbol_lines(answer, tree)
    else:
        yield from _not_proven_lines(answer, tree)
    yield from _hint_lines(answer)


def _hint_lines(answer: VerifyAnswer) -> Iterator[str]:
    for hint in answer.hints:
        if hint == answer.proof.first_step:
            yield f"  {NO_RUN}. hint: {hint}"
        else:
            yield f"hint: {hint}"


def _accepted_lines(answer: VerifyAnswer, tree: str) -> Iterator[str]:
    proof = answer.proof
    whole = proof.tier >= Tier.INFERRED
    if answer.signers:
        by = f" by {name_list(answer.signers, _NAMED)}"
    else:
        by = ""
    if whole:
        word = proof.tier.word + by
    else:
        word = "each changed symbol"
    if answer.state == "transferred":
        how = f"transferred ({word}) {proof.transfer_text}"
    else:
        how = f"proven ({word}){proof.but_for_known}"
    yield f"{tree}: {how}{proof.except_flaky}"
    yield from _symbol_lines(answer)
    yield from _passed_lines(answer) if whole else ()


def _symbol_lines(answer: VerifyAnswer) -> Iterator[str]:
    """The changed symbols: what is open first."""
    ranked = sorted(answer.states, key=lambda state: state.state == PROVEN)
    yield from (
        f"  {state.state:<15} {state.symbol.partition(':')[2]}: {state.reason}"
        for state in ranked[:_SHOWN]
    )
    if len(ranked) > _SHOWN:
        yield f"  … and {len(ranked) - _SHOWN} more: kl verify --format json"


def _open_symbol_lines(answer: VerifyAnswer, tree: str) -> Iterator[str]:
    """Changed symbols that are not proven."""
    yield f"{tree}: not proven: {open_symbols_text(answer.states)}"
    yield from _symbol_lines(answer)
    yield from _notes(answer.proof)


def _notes(proof: Proof) -> Iterator[str]:
    """What is worth knowing beside the reasons."""
    yield from (f"  note: {note}" for note in proof.notes)
    if 0 < len(proof.not_assessed) <= _NAMED:
        yield f"  note: not assessed: {name_list(proof.not_assessed, _NAMED)}"
    elif proof.not_assessed:
        # nobody acts on the first three of fifty: where most of them are is what helps
        files = Counter(note.partition("::")[0].partition(" (")[0] for note in proof.not_assessed)
        [(name, most)] = files.most_common(1)
        if most > 1:
            where = f"{most} in {name}"
        else:
            where = f"in {counted(len(files), 'file')}"
        yield (
            f"  note: {len(proof.not_assessed)} tests not assessed, {where}: kl verify --format"
            " json lists them"
        )


def _passed_lines(answer: VerifyAnswer) -> Iterator[str]:
    proof = answer.proof
    run = short(proof.run, 8)
    yield from _notes(proof)
    if proof.transfers:
        yield f"  see: kl proof tests SYMBOL, kl evidence show {run}"
        return
    yield f"  {passed_text(proof, answer.is_untracked)}: kl evidence show {run}"
    yield from (f"  These files are not committed. hint: {hint}" for hint in answer.hints)


def _not_proven_lines(answer: VerifyAnswer, tree: str) -> Iterator[str]:
    proof = answer.proof
    needed = f"no evidence ({answer.needed} required)"
    why = rerun_text(proof) or answer.failure or proof.unmet_coverage or needed
    yield f"{tree}: not proven: {why}"
    if proof.tests.is_partial:
        yield f"  {proof.tests}"
    shown = (why, *proof.notes)
    yield from (f"  {reason}" for reason in proof.reasons if reason not in shown)
    yield from _notes(proof)
    if answer.nearest:
        yield f"  {answer.nearest}"
    yield from (f"  {text}" for text in proof.not_compared[:2])


def _print_gate(check: operations.GateCheck) -> None:
    """The gate, and what became of each of its demands."""
    from kl_hooks.kinds.gate import Gate

    echo(Gate(check.gate).line())
    for demand in check.demands:
        met = "met" if demand.met else "NOT met"
        echo(f"  {'not checked' if demand.met is None else met:<12} {demand.reason}")
