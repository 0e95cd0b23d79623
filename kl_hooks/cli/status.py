"""`kl status`: what is recorded here and what is proven for this content, on one screen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kl_hooks.cli.evidence import receipt_line
from kl_hooks.cli.output import counted, echo_lines, short, workspace
from kl_hooks.cli.record_output import waiting_lines
from kl_hooks.cli.request_options import operation_command
from kl_hooks.code.languages import unread_text
from kl_hooks.model.manifest import MANIFEST
from kl_hooks.model.text import name_list
from kl_hooks.operations import status as operations
from kl_hooks.operations.status import COUNTED, ContentStatus, FailingNow, Status
from kl_hooks.proof.facts import VALID
from kl_hooks.proof.verdict_text import NO_RUN, content_text

_REASONS = 3


@operation_command(operations.STATUS)
def status(state: Status, request: operations.StatusRequest) -> None:
    """Print the status on one screen."""
    echo_lines(_lines(state))


def _lines(state: Status) -> Iterator[str]:
    place = state.place
    content = state.content
    if place.changed:
        changed = f" + {place.changed} uncommitted"
    else:
        changed = ""
    if place.tree:
        no_commit = "no commit yet"
    else:
        no_commit = "no repository"
    at = short(place.head, 7) if place.head else no_commit
    yield f"{state.root}   {place.branch or 'no branch'} {at}{changed}"
    yield f"  tree      {short(place.tree)}"
    tests = _proof_lines(content)
    yield from (f"  {'' if index else 'tests':<9} {line}" for index, line in enumerate(tests))
    yield from _failing_lines(content.failing)
    if content.wrong:
        yield f"  audit     {counted(content.wrong, 'valid result')} wrong: kl proof audit"
    yield f"  layers    {_layers_line(state)}"
    if state.unread:
        yield f"  code      {unread_text(state.unread)}"
    if state.unchecked_commits:
        names = name_list([short(sha, 7) for sha in state.unchecked_commits], _REASONS)
        yield (
            f"              no check record, made without the hook: {names}. hint: kl arch check"
            f" --at {names[:7]}"
        )
    yield f"  evidence  {_store_line(state.counts) or 'none yet'}"
    if state.stale_claims:
        total = counted(state.counts["asserted claims"], "asserted claim")
        yield f"  claims    {len(state.stale_claims)} of {total} stale: kl claim list --stale"
    if any(state.memories.values()):
        yield "  memories  {approved} approved, {candidates} waiting for kl memory review".format(
            **state.memories
        )
    if records := _records_line(state.records):
        yield f"  records   {records}"
    asks = {kind: number for kind, number in state.waiting.items() if kind != "memory"}
    yield from (f"  waiting   {text}" for text in waiting_lines(workspace(), asks))
    yield f"  store     {state.shared or state.folder}"
    if state.newest:
        yield "  newest receipts"
        yield from (f"    {receipt_line(entry)}" for entry in state.newest)


def _store_line(counts: Mapping[str, int]) -> str:
    sources = {
        key.removeprefix("receipts "): n for key, n in counts.items() if key.startswith("receipts ")
    }
    total = counted(sum(sources.values()), "receipt")
    if sources:
        words = [f"{total} ({', '.join(f'{source}: {n}' for source, n in sources.items())})"]
    else:
        words = []
    return ", ".join(
        words + [counted(n, key[:-1]) for key, n in counts.items() if n and key in COUNTED]
    )


def _records_line(counts: Mapping[str, Mapping[str, int]]) -> str:
    """Those that are not archived, but memories, which have a line of their own."""
    words = []
    for kind, some in counts.items():
        number = sum(some.values()) - some.get("archived", 0)
        stale = some.get("stale", 0)
        if number and kind != "memory":
            words.append(counted(number, kind) + (f" ({stale} stale)" if stale else ""))
    return ", ".join(words)


def _proof_lines(content: ContentStatus) -> Iterator[str]:
    """What the tests prove, then up to three reasons, and how many more; then what would help."""
    proof = content.proof
    reasons: Sequence[str] = proof.notes if proof.run else proof.reasons
    if proof.gaps:
        reasons = [reason.removeprefix("not assessed: ") for reason in reasons]
        yield "not assessed:"
    else:
        text = content_text(proof, content.failure, content.is_untracked)
        reasons = [reason for reason in reasons if reason not in text]
        yield f"{text}. hint: {proof.first_step}" if text == NO_RUN else text
    if proof.tests.is_partial and not proof.gaps:
        yield f"  {proof.tests}"
    yield from (f"  {reason}" for reason in reasons[:_REASONS])
    if len(reasons) > _REASONS:
        yield f"  … and {len(reasons) - _REASONS} more: kl verify"
    if content.edits:
        yield f"  {content.edits}"
    if content.nearest:
        yield f"  {content.nearest}"
    yield from (f"hint: {hint}" for hint in content.evidence.hints())


def _failing_lines(failing: Sequence[FailingNow]) -> Iterator[str]:
    """The tests that fail on this content; those that failed before what they rest on changed."""
    current = [test.test for test in failing if test.state == VALID]
    tests = [name for name in current if "::" in name]
    files = [name for name in current if "::" not in name]
    outdated = [f"{test.test} ({test.reason})" for test in failing if test.state != VALID]
    if tests:
        yield f"  failing   {counted(len(tests), 'test')}: {name_list(tests, _REASONS)}"
    if files:
        number = f"{counted(len(files), 'file')} can't be collected"
        yield f"  failing   {number}: {name_list(files, _REASONS)}"
    if outdated:
        number = f"{counted(len(outdated), 'test')} must run again"
        yield f"  failed    {number}: {name_list(outdated, _REASONS)}"


def _layers_line(state: Status) -> str:
    """What the last check of a whole content found."""
    if not state.has_manifest:
        return f"no {MANIFEST}: nothing is enforced. Propose one with: kl init"
    if state.has_manifest_mistakes:
        return f"{MANIFEST} has mistakes. See: kl arch check"
    if state.drift is None:
        return "not checked yet. Run: kl arch check"
    receipt = state.drift.receipt
    if receipt.result.get("verdict") == "passed":
        word = "clean"
    else:
        word = "violations"
    is_same = receipt.tree == state.place.tree
    if is_same:
        tree = "this tree"
    else:
        tree = f"tree {short(receipt.tree, 7)}"
    checked = f"{word} at the last check ({tree}, {receipt.ended[:16].replace('T', ' ')})"
    details = (result.detail.get("unassigned", 0) for result in receipt.evidence if result.detail)
    outside = next(details, 0)
    has_outside = isinstance(outside, int) and outside
    if not has_outside:
        return checked
    return f"{checked}; {counted(outside, 'file')} in no layer"
