"""The verdict of `kl verify` as diagnostics, for the formats of other programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from kl_hooks.model.canonical import digest
from kl_hooks.model.diagnostic import Diagnostic, Report, Rule, numbered
from kl_hooks.proof.content_proof import Proof
from kl_hooks.proof.facts import NOT_ASSESSED, STALE
from kl_hooks.proof.impact import PROVEN, SymbolState

_MISSING: Final = Rule(
    "proof/missing",
    "A test has no valid result",
    "A complete run reports every test that the configuration of pytest names. Run the test.",
)
_NOT_PROVEN: Final = Rule(
    "proof/not-proven",
    "The content is not proven",
    "No complete, passing run of this content is recorded, and no results of other contents are"
    " valid for all of it.",
)
_HELP: Final = {
    STALE: "The tests that executed it ran before it, or what they rest on, changed. Run them.",
    "never exercised": "No recorded test executed it. It needs a test, or its test must run.",
    NOT_ASSESSED: "What its tests executed is not recorded, or can't be compared. Run them.",
}


def report(
    tree: str, proven: bool, states: Sequence[SymbolState], proof: Proof, command: str
) -> Report:
    """The verdict on a content as a report."""
    return Report("kl/verify/", numbered(_diagnostics(tree, proven, states, proof, command)))


def _diagnostics(
    tree: str, proven: bool, states: Sequence[SymbolState], proof: Proof, command: str
) -> Iterator[Diagnostic]:
    """One for each symbol and test that is not proven, else one for the content."""
    for state in states:
        if state.state != PROVEN:
            yield _of_symbol(state, command)
    if proven or states:
        return
    for test in proof.missing:
        yield Diagnostic(
            _MISSING,
            test.name.partition("::")[0],
            1,
            f"{test.name}: {test.reason}.",
            _fingerprint(_MISSING.id, test.name.partition("::")[0], test.name),
            command,
        )
    if not proof.missing:
        reason = (
            "; ".join(proof.reasons[:3]) or "no passing full test run is recorded for this content"
        )
        message = f"tree {tree[:12]} is not proven: {reason}."
        # without the tree: it is one finding, whatever the content
        fingerprint = _fingerprint(_NOT_PROVEN.id, "", "")
        yield Diagnostic(_NOT_PROVEN, "", 0, message, fingerprint, command or "pytest")


def _of_symbol(state: SymbolState, command: str) -> Diagnostic:
    rule = Rule(
        f"proof/{state.state.replace(' ', '-')}",
        f"A changed symbol is {state.state}",
        _HELP.get(state.state, "See: kl proof tests SYMBOL"),
    )
    finding = f"{state.symbol.partition(':')[2]} is {state.state}"
    if state.needs_test:
        hint = "it needs a test"
    else:
        hint = command
    fingerprint = _fingerprint(rule.id, state.path, finding)
    message = f"{finding}: {state.reason}."
    return Diagnostic(rule, state.path, max(state.line, 1), message, fingerprint, hint)


def _fingerprint(rule: str, path: str, subject: str) -> str:
    """Without lines: GitLab compares two branches by it."""
    return digest("proof/1", [rule, path, subject])[:16]
