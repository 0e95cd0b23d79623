"""The gate's verdict on a content, from the facts that were read of it.

What ran on this very content comes first, and a failure there counts whatever ran elsewhere
(ADR-0029). Then come the runs of other contents whose results are valid here. Pure: `proof.gate`
reads the facts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final

from kl_hooks.evidence.executed import Executed
from kl_hooks.evidence.ledger import Entry, selection_limits
from kl_hooks.evidence.measured_coverage import MeasuredCoverage
from kl_hooks.evidence.provenance import is_document
from kl_hooks.evidence.snapshot import newest_first
from kl_hooks.evidence.trust import why_not_hard
from kl_hooks.model.claim import Tier
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.receipt import Receipt
from kl_hooks.model.symbol import split_id
from kl_hooks.model.text import counted, name_list
from kl_hooks.proof.configured_selection import OMITTED_FILES
from kl_hooks.proof.content_proof import Proof, prove
from kl_hooks.proof.content_runs import NAMED, ContentFacts, by_configuration, first_of
from kl_hooks.proof.expected_tests import Missing
from kl_hooks.proof.other_runs import OtherRun
from kl_hooks.proof.proven_tests import ProvenTests
from kl_hooks.proof.read_rules import unrecorded_reads
from kl_hooks.proof.run_rules import judge_run

_SEE_KEYS: Final = "see: kl trust list, kl sync --pull"


class _GateFacts(NamedTuple):
    """The parts of `GateFacts`, which stores also what it computes of them."""

    content: ContentFacts
    """Its own runs, and what of them is valid for what is installed now."""
    own_runs: Sequence[OtherRun] = ()
    """Its own sound runs, compared with what is installed, and on disk, now."""
    other_runs: Callable[[], Sequence[OtherRun]] = tuple
    """Runs of other contents, newest first."""
    parents: Callable[[Iterable[Entry]], Mapping[str, Entry]] = lambda entries: {}
    """The receipts of the commands that started these runs, by run."""
    strength: str = "independent"
    """What makes a proof verified."""
    origin: str = ""
    """`ci`: only runs that a trusted key of a CI signed count."""
    executed: Callable[[Entry], Executed | None] = lambda entry: None
    why_flaky: Callable[[str, Receipt], str] = lambda test, receipt: ""
    """Why a test that passed in a run is flaky; empty: it is not."""
    untracked: Callable[[], Sequence[str]] = tuple
    """The untracked files on disk, where these are judged."""
    variable_notes: Callable[[Iterable[Executed]], Sequence[str]] = lambda runs: ()
    """A note for each variable that one of these runs read, and that has another value now."""
    variables_of_shell: Callable[[Iterable[Executed]], Mapping[str, str]] = lambda runs: {}
    """The variables that one of these runs looked for in vain, and that are set now."""
    untrusted: Sequence[Entry] = ()
    """Runs of the content that no trusted key signed."""
    losses: tuple[str, ...] = ()
    """Receipts that the store had and does not have any more, a sentence for each loss."""


class GateFacts(_GateFacts):
    """What was read of a content, and of the runs that may prove it. What costs time to read is a
    function, which is called where it matters.
    """

    @cached_property
    def counting(self) -> ContentFacts:
        """The content, with its runs of the asked origin alone."""
        entries = [entry for entry in self.content.entries if self.is_of_origin(entry)]
        # what was imported here is not asked of a CI
        reports = tuple if self.origin else self.content.reports
        return self.content._replace(entries=entries, reports=reports)

    def is_of_origin(self, entry: Entry) -> bool:
        """Whether a run is of the asked origin; any run is where none is asked."""
        return not self.origin or entry.origin.startswith(f"{self.origin}:")


class _Answer(NamedTuple):
    """A proof, and what it was made of."""

    proof: Proof
    facts: ContentFacts
    used_runs: Sequence[OtherRun] = ()
    """Runs of other contents among them."""


def decide(facts: GateFacts) -> Proof:
    """What the runs of a content, and of others, prove of it."""
    proof = _proof_by_own_runs(facts)
    runs: list[OtherRun] = []
    if proof.tier < Tier.INFERRED:
        content = facts.content
        compared = facts.other_runs()
        # with others a result of its own may count no more: it did not run together with theirs
        own_runs = [run for run in compared if run.is_own]
        if own_runs:
            facts = facts._replace(content=for_environment(content, own_runs), own_runs=own_runs)
        runs = [
            _by_configuration(run, content)
            for run in compared
            if not run.is_own and facts.is_of_origin(run.original)
        ]
    proof, all_facts, used_runs = _with_other_runs(facts, proof, runs)
    own_entries = facts.counting.entries
    entries = [*own_entries, *(run.original for run in used_runs)]
    proof = _without_flaky(proof, entries, facts.why_flaky)
    proof = _without_measured_coverage(proof, facts, used_runs)
    if facts.losses and proof.tier < Tier.INFERRED and not proof.failed:
        return not_assessed(facts.losses)
    notes = (
        *(f"{loss}: only runs after that count" for loss in facts.losses),
        *_new_untracked_files(facts, proof, used_runs),
        *_variable_notes(facts, proof, used_runs),
        *proof.notes,
        *_environment_notes([*facts.own_runs, *used_runs], proof.runs),
        *_unrecorded_reads(proof, used_runs, filter(None, map(facts.executed, own_entries))),
    )
    not_compared = (*_untrusted(facts.untrusted), *_not_valid([*facts.own_runs, *runs]))
    reasons = proof.reasons
    if proof.tier < Tier.INFERRED and not proof.failed:
        reasons = (*_outdated(facts.own_runs, proof.missing), *reasons)
    return proof._replace(
        reasons=reasons,
        notes=notes,
        not_compared=not_compared,
        tests=ProvenTests.of(all_facts),
        variables_of_shell=_variables_of_shell(facts, proof, used_runs),
    )


def not_assessed(gaps: tuple[str, ...]) -> Proof:
    """The answer where evidence is missing."""
    reasons = tuple(f"not assessed: {gap}" for gap in gaps)
    return Proof(Tier.GUESSED, None, reasons, gaps=gaps)


# runs of the content itself


def for_environment(content: ContentFacts, own_runs: Iterable[OtherRun]) -> ContentFacts:
    """A content without results that rest on what was installed otherwise, or on other bytes."""
    stale_runs = {run.entry.id: run for run in own_runs if run.stale}
    entries = [
        stale_runs[entry.id].entry if entry.id in stale_runs else entry for entry in content.entries
    ]
    return content._replace(entries=entries, other_runs=stale_runs)


def _proof_by_own_runs(facts: GateFacts) -> Proof:
    """What its own runs prove; a failure counts whoever saw it."""
    proof = prove(facts.content, facts.strength)
    if not facts.origin or proof.failed:
        return proof
    proof = prove(facts.counting, facts.strength)
    if not facts.counting.entries:
        reason = f"no trusted key of a CI signed a run of this content ({_SEE_KEYS})"
        return proof._replace(reasons=(reason,))
    # that a CI ran this very content is what makes its word enough
    if proof.tier >= Tier.INFERRED:
        return proof._replace(tier=Tier.VERIFIED)
    return proof


# runs of other contents


def _with_other_runs(facts: GateFacts, proof: Proof, runs: Sequence[OtherRun]) -> _Answer:
    """What is proven with as few runs of other contents as it takes."""
    answer = _Answer(proof, facts.counting)
    for used_runs in _runs_to_use(runs):
        all_facts = _joined(facts, used_runs)
        if not proof.failed:
            joint_proof = prove(all_facts, facts.strength)
            # a run of another content is not the CI's word on this one
            if facts.origin:
                most = Tier.INFERRED
            else:
                most = joint_proof.tier
            proof = joint_proof._replace(tier=min(joint_proof.tier, most))
        answer = _Answer(proof, all_facts, used_runs)
        if proof.tier >= Tier.INFERRED:
            break
    return answer


def _runs_to_use(runs: Sequence[OtherRun]) -> Iterator[list[OtherRun]]:
    """The runs of other contents (newest first) of which a result is valid; then also those of
    which it is known what must run again, down to a complete one: whatever that did not report was
    never recorded.
    """
    valid_runs = [run for run in runs if run.valid]
    if valid_runs:
        yield valid_runs
    complete = (
        at
        for at, run in enumerate(runs)
        if run.is_compared and not selection_limits(run.original.receipt.selection)
    )
    end = next(complete, len(runs))
    compared = [run for at, run in enumerate(runs) if run.valid or (at <= end and run.is_compared)]
    if len(compared) > len(valid_runs):
        yield compared


def _by_configuration(run: OtherRun, content: ContentFacts) -> OtherRun:
    """A run without the limits that the configuration of the content sets for every run."""
    if content.expected is None or not selection_limits(run.original.receipt.selection):
        return run
    expected = content.expected()
    return run._replace(
        entry=_omitting_unchanged(by_configuration(run.entry, expected), run.changes.changes),
        original=by_configuration(run.original, expected),
    )


def _omitting_unchanged(entry: Entry, changes: Collection[str]) -> Entry:
    """The same, where the configuration omits nothing of changed files: they may have tests that
    were never asked.
    """
    selection = entry.receipt.selection
    if OMITTED_FILES not in selection or not changes:
        return entry
    files = [path for path in selection[OMITTED_FILES] or () if path not in changes]
    return entry._replace(
        receipt=entry.receipt._replace(selection={**selection, OMITTED_FILES: files})
    )


def _joined(facts: GateFacts, runs: Sequence[OtherRun]) -> ContentFacts:
    """The content with what runs of other contents showed that is valid here."""
    content = facts.counting
    entries = newest_first([*content.entries, *(run.entry for run in runs)])
    return content._replace(
        entries=entries,
        parents=facts.parents(entries),
        other_runs={**content.other_runs, **{run.entry.id: run for run in runs}},
    )


# flaky tests


def _without_flaky(
    proof: Proof, entries: Iterable[Entry], why_flaky: Callable[[str, Receipt], str]
) -> Proof:
    """What is proven, with the flaky tests named whose passes count for nothing; nothing, where no
    other passed.
    """
    if proof.tier < Tier.INFERRED:
        return proof
    flaky: dict[str, str] = {}
    passed: set[str] = set()
    for entry in entries:
        if entry.receipt.run not in proof.runs:
            continue
        for result in entry.receipt.evidence:
            name = split_id(result.subject)[1]
            if result.outcome == "flaky":
                flaky[name] = f"{name} (passed on a rerun)"
            elif result.outcome == "passed":
                passed.add(name)
                if why := why_flaky(name, entry.receipt):
                    flaky[name] = f"{name} ({why.removeprefix('flaky: ')})"
    words = tuple(flaky[name] for name in sorted(flaky))
    if not words or passed - flaky.keys():
        return proof._replace(flaky=words)
    reasons = (f"only flaky tests passed: {name_list(words, NAMED)}", *proof.reasons)
    return proof._replace(tier=Tier.GUESSED, run=None, runs=(), reasons=reasons, flaky=words)


# coverage


def _without_measured_coverage(
    proof: Proof, facts: GateFacts, used_runs: Sequence[OtherRun]
) -> Proof:
    """What is proven, where no run of all tests measured the coverage that the configuration asks
    for: nothing. With less pytest would end with 1.
    """
    if proof.failed or facts.content.expected is None:
        return proof
    expected = facts.content.expected()
    demands = expected.least_coverage
    measured = list(_coverage_here(facts, used_runs)) if demands else []
    unmet = [
        demand
        for demand in demands
        if not any(
            folder == demand.folder and demand.is_met_by(coverage) for folder, coverage in measured
        )
    ]
    if not unmet:
        return proof
    reasons = [demand.reason for demand in unmet]
    return proof._replace(
        tier=Tier.GUESSED,
        run=None,
        runs=(),
        reasons=(*reasons, *proof.reasons),
        command=unmet[0].command,
        unmet_coverage=reasons[0],
    )


def _coverage_here(
    facts: GateFacts, used_runs: Sequence[OtherRun]
) -> Iterator[tuple[str, MeasuredCoverage]]:
    """(the folder it was started in, what it measured) of runs of all tests: on the content itself,
    or on one that has other documents, of which no test has to run again.
    """
    here = (judged.entry for judged in map(judge_run, facts.counting.runs) if judged.is_whole)
    with_other_documents = (
        run.original
        for run in (
            _by_configuration(run, facts.content) for run in used_runs or facts.other_runs()
        )
        if run.is_compared and not run.stale and all(map(is_document, run.changes.changes))
    )
    for entry in (*here, *with_other_documents):
        coverage = MeasuredCoverage.of(entry.receipt)
        if coverage and not coverage.is_part and entry.receipt.result.get("verdict") == "passed":
            yield str(entry.receipt.environment.get("rootdir") or ""), coverage


# notes


def _variable_notes(facts: GateFacts, proof: Proof, used_runs: Sequence[OtherRun]) -> Sequence[str]:
    """The variables of the environment beside a verdict that have another value now."""
    if proof.tier < Tier.INFERRED:
        return ()
    proving = {*proof.runs, *(transfer.run for transfer in proof.transfers)}
    return facts.variable_notes(
        run.executed
        for run in (*facts.own_runs, *used_runs)
        if run.executed is not None and run.entry.receipt.run in proving
    )


def _variables_of_shell(
    facts: GateFacts, proof: Proof, used_runs: Sequence[OtherRun]
) -> tuple[str, ...]:
    """The variables without which the tests that looked for them would not have to run again."""
    reasons = {test.reason for test in proof.missing}
    if not reasons:
        return ()
    runs = (run.executed for run in (*facts.own_runs, *used_runs))
    reason_of = facts.variables_of_shell(executed for executed in runs if executed is not None)
    return tuple(name for name in sorted(reason_of) if reason_of[name] in reasons)


def _environment_notes(runs: Iterable[OtherRun], proving: Collection[str]) -> Iterator[str]:
    """One note for each cause why environments of the proving runs could not be compared."""
    runs_by_cause: dict[str, dict[str, None]] = {}
    for run in runs:
        name = run.entry.receipt.run
        if run.not_compared and name in proving:
            runs_by_cause.setdefault(run.not_compared, {})[name[:8]] = None
    for cause, names in runs_by_cause.items():
        word = "run" if len(names) == 1 else "runs"
        yield f"{word} {first_of([*names], len(names))}: {cause}"


def _new_untracked_files(
    facts: GateFacts, proof: Proof, used_runs: Sequence[OtherRun]
) -> Iterator[str]:
    """The files on disk that no commit has and that the proving runs did not have either: pytest
    would read them, and a push does not take them along.
    """
    runs = [entry.receipt for entry in facts.counting.entries if entry.receipt.run in proof.runs]
    if proof.tier < Tier.INFERRED or any(run.tree_all == facts.content.trees[-1] for run in runs):
        return
    beside = [run for run in used_runs if not _ran_on_tracked_files(run.original.receipt)]
    names = [
        name
        for name in facts.untracked()
        if not is_document(name) and all(name in run.changes.changes for run in beside)
    ]
    if names:
        if len(names) == 1:
            verb = "is untracked, and was"
        else:
            verb = "are untracked, and were"
        yield f"{name_list(names, NAMED)} {verb} not there when the tests ran"


def _ran_on_tracked_files(receipt: Receipt) -> bool:
    return receipt.tree_all in (None, receipt.tree)


def _unrecorded_reads(
    proof: Proof, runs: Iterable[OtherRun], own: Iterable[Executed]
) -> Iterator[str]:
    """Changed files beside a verdict by runs of other contents, of which no event shows who reads
    them.
    """
    transferred = {transfer.run for transfer in proof.transfers}
    own_runs = list(own) if transferred else []
    paths = {
        path
        for run in runs
        if run.entry.receipt.run in transferred and run.executed is not None
        for path in unrecorded_reads(run.executed, run.changes, own_runs)
    }
    if paths:
        verb = "changed; files that C libraries open, or that are only probed, are not recorded"
        yield f"{name_list(sorted(paths), NAMED)} {verb}"


def _not_valid(runs: Iterable[OtherRun]) -> Iterator[str]:
    """Runs of which nothing is valid here, and why."""
    for run in runs:
        if run.why_not and not run.is_compared:
            yield f"run {run.entry.receipt.run[:8]}: {run.why_not}"


def _outdated(own_runs: Iterable[OtherRun], missing: Sequence[Missing]) -> Iterator[str]:
    """Runs of the very content of which no result is valid any more, and what is otherwise now,
    unless it is the reason of what is missing: that is of the environment that misses least.
    """
    named = {test.reason for test in missing}
    for run in own_runs:
        reasons = Counter(verdict.reason for verdict in run.stale.values())
        if run.valid or not run.is_compared:
            continue
        (reason, number), *others = reasons.most_common()
        if reason not in named:
            if others:
                more = f", and {counted(len(others), 'other reason')}"
            else:
                more = ""
            results = counted(number, "result")
            yield f"run {run.entry.receipt.run[:8]}: {results} must run again: {reason}{more}"


def _untrusted(entries: Iterable[Entry]) -> Iterator[str]:
    """Runs of a content that are out of notes and count for nothing, and why."""
    for entry in entries:
        receipt = entry.receipt
        if receipt.evidence:
            why = why_not_hard(receipt, receipt.evidence[0], entry.origin)
            yield f"run {receipt.run[:8]}: {why}"
