"""What the runs of a content prove: the fold of the rules over its runs, failures and completeness.

Pure: `proof.gate` reads the facts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from kl_hooks.code.languages import is_file_module
from kl_hooks.config.settings import SETTINGS_FILE, KnownFailure
from kl_hooks.evidence.executed import test_path
from kl_hooks.evidence.ledger import Entry
from kl_hooks.evidence.shared_names import lasting_name
from kl_hooks.evidence.trust import ATTESTED, observation, outer_failure, parent_confirmation
from kl_hooks.model.claim import Observation, Tier, tier
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.symbol import split_id
from kl_hooks.model.text import counted, name_list
from kl_hooks.proof.completeness import Completeness
from kl_hooks.proof.content_runs import (
    NAMED,
    SWITCHED_OFF,
    ContentFacts,
    ContentRun,
    first_of,
)
from kl_hooks.proof.expected_tests import Missing
from kl_hooks.proof.facts import VALID
from kl_hooks.proof.failed_tests import FailedTests, Failure
from kl_hooks.proof.other_runs import (
    OtherRun,
    Transfer,
    addopts_limits,
    pytest_command,
)
from kl_hooks.proof.proven_tests import ProvenTests
from kl_hooks.proof.run_rules import JudgedRun, judge_run, selection_words, untracked_files

RUN_PYTEST: Final = "run pytest"
IMPORT_REPORT: Final = (
    "import the report of your tests: kl evidence import junit FILE --tree {tree}"
)


class Proof(NamedTuple):
    """The answer, with the run that gives it and the reasons."""

    tier: Tier
    """Of "the tests pass on this tree": guessed without evidence."""
    run: str | None
    """The newest run that proves it by itself; where none does, the newest of those that prove it
    together.
    """
    reasons: tuple[str, ...]
    failed: str = ""
    """`newest`: the newest run of this content failed; `earlier`: what failed has not passed since;
    else empty.
    """
    missing: tuple[Missing, ...] = ()
    """Tests that are expected and that no good run of this content reported, in the environment
    that comes closest.
    """
    not_assessed: tuple[str, ...] = ()
    """Tests and files of which source alone can't show whether pytest collects them."""
    notes: tuple[str, ...] = ()
    """What is worth knowing, and changes nothing."""
    runs: tuple[str, ...] = ()
    """The runs of which a result counts; together, where each of them was limited to a part."""
    together: bool = False
    transfers: tuple[Transfer, ...] = ()
    """The runs of other contents that it rests on; also one that only shows which tests a file
    has.
    """
    transferred_tests: int = 0
    """Tests with a valid result in one of these runs, each counted once."""
    compared_tests: int = 0
    """Tests of these runs that are still there, each counted once."""
    ran: int = 0
    """Tests that ran on this content itself."""
    stale: str = ""
    """The run of another content with the most valid results, where some are not valid any more."""
    command: str = ""
    """The pytest command that would prove the content; empty: it is proven, or running tests does
    not help.
    """
    undone_addopts: str = ""
    """What of `addopts` this command undoes: `-m 'not slow'`; empty: nothing."""
    failing: tuple[Failure, ...] = ()
    """Tests whose last result is a failure that counts."""
    known_failures: tuple[KnownFailure, ...] = ()
    """Failures that the settings accept until a day."""
    tests: ProvenTests = ProvenTests()
    """How many tests are proven, also where the content is not."""
    gaps: tuple[str, ...] = ()
    """Why the content can't be assessed; empty: it can."""
    unmet_coverage: str = ""
    """Which coverage the configuration asks for that is not measured; empty: none."""
    not_compared: tuple[str, ...] = ()
    """Runs of other contents whose results can't be transferred, and why."""
    flaky: tuple[str, ...] = ()
    """Tests among them whose pass is none: `test_a.py::test_b (failed in 2 of 6 runs (10% to
    70%))`.
    """
    variables_of_shell: tuple[str, ...] = ()
    """Variables of the environment that are set now, and that tests of these runs looked for in
    vain: these tests must run again.
    """
    first_step: str = RUN_PYTEST
    """The hint for a content that has no evidence."""

    @property
    def except_flaky(self) -> str:
        """` except flaky test_a.py::test_b (…)`; empty where all that passed counts."""
        if not self.flaky:
            return ""
        return f" except flaky {name_list(self.flaky, NAMED)}"

    @property
    def but_for_known(self) -> str:
        """` but for 2 known failures (until 2026-12-24)`; empty where none is accepted."""
        if not self.known_failures:
            return ""
        return f" but for {self._known}"

    @property
    def _known(self) -> str:
        first = min(failure.until for failure in self.known_failures)
        return f"{counted(len(self.known_failures), 'known failure')} (until {first})"

    @property
    def cited_runs(self) -> tuple[str, ...]:
        """The runs that a person is shown as the proof: one where one is enough."""
        if self.together:
            return self.runs
        if not self.run:
            return ()
        return (self.run,)

    @property
    def state(self) -> str:
        """`proven`: this content ran. `transferred`: it did not, or not all of it; what other
        contents showed is valid for it. `not proven`.
        """
        if self.tier < Tier.INFERRED:
            return "not proven"
        if self.transfers:
            return "transferred"
        return "proven"

    @property
    def transfer_text(self) -> str:
        """`from run 5d1e0a77: 208 of 211 tests executed nothing that changed; 3 ran here`; may be
        empty.
        """
        if not self.transfers:
            return ""
        if self.known_failures:
            known_text = f"; {self._known}"
        else:
            known_text = ""
        return f"{self._transferred_tests_text()}{known_text}"

    def _transferred_tests_text(self) -> str:
        first = max(self.transfers, key=lambda transfer: transfer.valid)
        if not first.valid:
            return (
                f"from run {first.run[:8]}: it shows which tests the files have; all {self.ran}"
                " ran here"
            )
        is_all = self.transferred_tests == self.compared_tests
        if is_all:
            valid = "all"
        else:
            valid = f"{self.transferred_tests} of"
        others = len(self.transfers) - 1
        if others:
            other_runs = f" and {counted(others, 'more run')}"
        else:
            other_runs = ""
        return (
            f"from run {first.run[:8]}{other_runs}: {valid} {self.compared_tests} tests executed"
            f" nothing that changed; {self.ran} ran here"
        )


def prove(facts: ContentFacts, strength: str = "independent") -> Proof:
    """What the runs of a content prove about its tests. `strength`: what makes it verified."""
    runs = [judge_run(run) for run in facts.runs]
    failures = FailedTests.of(runs, facts)
    is_newest_failed = bool(runs) and runs[0].has_failed
    if failures.counting or is_newest_failed:
        is_just_this = is_newest_failed and untracked_files(runs[0].run) is None
        reasons = (*_run_reasons(runs, ()), *failures.reasons())
        return Proof(
            Tier.GUESSED,
            None,
            reasons,
            "newest" if is_just_this else "earlier",
            failing=failures.counting,
            notes=facts.expected().notes if facts.expected else (),
        )
    complete = Completeness.of(runs, facts)
    if tests_to_run := failures.tests_to_run():
        complete = complete.without(tests_to_run)
    return _proof_of_passing(runs, failures, complete, facts, strength)


def _proof_of_passing(
    runs: Sequence[JudgedRun],
    failures: FailedTests,
    complete: Completeness,
    facts: ContentFacts,
    strength: str,
) -> Proof:
    """The proof where no failure counts."""
    counting = [judged for judged in runs if judged.counts]
    proving = sorted([*complete.alone, *complete.parts], key=lambda entry: -entry.seq)
    # what is not valid of a run was taken out of its entry: of one without any left no result
    # counts
    names = tuple(entry.receipt.run for entry in proving if entry.receipt.evidence)
    whole = max(complete.alone, key=lambda entry: entry.seq, default=None)
    run_notes = dict.fromkeys(note for judged in counting for note in _run_notes(judged.run))
    transferred = _transferred_runs(proving, facts.other_runs)
    transferred_tests, compared_tests = _test_numbers(transferred)
    observations = [*_observations(complete.alone, facts.parents), *complete.joint_observations]
    if counting:
        newest = counting[0].run.receipt.selection
    else:
        newest = {}
    limits, undoing = addopts_limits(newest)
    return Proof(
        known_failures=_applied_known_failures(failures, facts),
        tier=tier(observations, strength),
        run=whole.receipt.run if whole else next(iter(names), None),
        reasons=(
            *_run_reasons(runs, complete.parts),
            *failures.reasons(),
            *complete.reasons,
        ),
        missing=complete.missing,
        not_assessed=complete.not_assessed,
        notes=(
            *failures.notes(),
            *complete.notes,
            *_removable(proving, facts, failures),
            *run_notes,
        ),
        runs=names,
        together=bool(complete.parts) and not complete.alone,
        transfers=tuple(
            Transfer(run.entry.receipt.run, run.valid, len(run.verdicts), run.entry.origin)
            for run in transferred
        ),
        transferred_tests=transferred_tests,
        compared_tests=compared_tests,
        ran=_tests_here(proving, facts.other_runs),
        stale=_most_valid_run(facts.other_runs) if complete.missing else "",
        command=_command(complete.missing, facts.other_runs, undoing) if complete.missing else "",
        undone_addopts=limits,
    )


def _applied_known_failures(failures: FailedTests, facts: ContentFacts) -> tuple[KnownFailure, ...]:
    """Those of the settings by which a failure was accepted."""
    if not facts.expected or not failures.accepted:
        return ()
    return tuple(
        known_failure
        for known_failure in facts.expected().known_failures
        if any(known_failure.covers(failed.test) for failed in failures.accepted)
    )


def _run_reasons(runs: Sequence[JudgedRun], parts: Sequence[Entry]) -> Iterator[str]:
    """Why runs do not count, or only as a part. `parts`: runs whose being limited is no reason,
    because they prove the content together.
    """
    part_ids = {entry.id for entry in parts}
    selections = 0
    for judged in runs:
        run = judged.run
        if run.other is not None:
            # a run of another content is no part by choice: what of it is not valid is named as
            # missing
            if judged.against and judged.has_failed:
                text = judged.against.text
            else:
                text = ""
        elif judged.against:
            text = judged.against.text
        else:
            if judged.entry.id not in part_ids:
                words = selection_words(run.receipt)
            else:
                words = ""
            selections += bool(words)
            # the newest of them is enough: an agent runs dozens
            if words and selections == 1:
                text = f"only a selection ran ({words})"
            else:
                text = ""
        if text:
            yield f"{run.label}: {text}"
    if selections > 1:
        yield f"{counted(selections - 1, 'older run')}: only a selection ran, too"


def _removable(
    proving: Sequence[Entry], facts: ContentFacts, failures: FailedTests
) -> Iterator[str]:
    """Known failures that pass: the entry can be removed."""
    if facts.expected and proving:
        known_failures = facts.expected().known_failures
    else:
        known_failures = ()
    passed = {
        split_id(result.subject)[1]
        for entry in proving
        for result in entry.receipt.evidence
        if result.outcome == "passed"
    }
    for failure in known_failures:
        if any(failure.covers(failed.test) for failed in failures.accepted):
            continue
        if any(failure.covers(test) for test in passed):
            yield f"known failure {failure.test} passes: remove it from {SETTINGS_FILE}"


def _command(missing: Sequence[Missing], other_runs: Mapping[str, OtherRun], undoing: str) -> str:
    """What runs the missing tests; the project's `addopts` deselect none of them. Empty where they
    are all of other runners.
    """
    missing = [test for test in missing if not is_file_module(test_path(test.name))]
    if not missing:
        return ""
    is_any_valid = any(other.valid for other in other_runs.values())
    if is_any_valid:
        shortest = "pytest --kl-impacted"
    else:
        shortest = "pytest"
    command = pytest_command((test.name for test in missing), shortest)
    if not undoing:
        return command
    return f"pytest {undoing}{command.removeprefix('pytest')}"


def _most_valid_run(other_runs: Mapping[str, OtherRun]) -> str:
    valid = [other for other in other_runs.values() if other.valid]
    if not valid:
        return ""
    return max(valid, key=lambda other: other.valid).entry.receipt.run


def _transferred_runs(
    proving: Sequence[Entry], other_runs: Mapping[str, OtherRun]
) -> list[OtherRun]:
    """The runs of other contents among those that prove a content."""
    runs = (other_runs[entry.id] for entry in proving if entry.id in other_runs)
    return [run for run in runs if not run.is_own]


def _test_numbers(runs: Sequence[OtherRun]) -> tuple[int, int]:
    """How many tests have a valid result in one of these runs, and how many tests they have that
    are still there: one that several runs reported counts once.
    """
    valid: set[str] = set()
    invalid: set[str] = set()
    for run in runs:
        for name, verdict in run.verdicts.items():
            if verdict.state == VALID:
                valid.add(lasting_name(name))
            elif not run.removed(name):
                invalid.add(lasting_name(name))
    return len(valid), len(valid | invalid)


def _tests_here(proving: Sequence[Entry], other_runs: Mapping[str, OtherRun]) -> int:
    """How many tests ran on the content itself, in runs that prove it."""
    own = [entry for entry in proving if entry.id not in other_runs or other_runs[entry.id].is_own]
    return len({result.subject for entry in own for result in entry.receipt.evidence})


def _observations(runs: Sequence[Entry], parents: Mapping[str, Entry]) -> Iterator[Observation]:
    """One for each execution, and one more look at it where the process that started it saw it end
    well.
    """
    for entry in runs:
        # any piece of evidence: what makes runs independent is in the receipt, equal for all of its
        # tests
        yield observation(entry.receipt, entry.receipt.evidence[0], entry.origin)
        if entry.receipt.parent and (parent := parents.get(entry.receipt.parent)):
            for exit_status in parent_confirmation(parent.receipt, entry.receipt):
                seen_by_parent = observation(parent.receipt, exit_status, parent.origin)
                # with the run of the child: two processes that watched one execution observed it
                # once (ADR-0017)
                yield seen_by_parent._replace(run=entry.receipt.run)


def _run_notes(run: ContentRun) -> Iterator[str]:
    """What is worth knowing of a run that counts: who else saw it, what surrounds it, and tests
    that others switched off.
    """
    receipt = run.receipt
    if run.entry.origin.startswith(ATTESTED):
        yield f"{run.label}: signed by the key {run.entry.origin.partition(':')[2]}"
    if run.parent:
        if around := outer_failure(run.parent.receipt, receipt):
            yield f"{run.label}: {around}"
        elif parent_confirmation(run.parent.receipt, receipt):
            yield f"{run.label}: exit status seen by the parent"
    outside = [
        result
        for result in receipt.evidence
        if result.detail.get("by") and result.outcome in SWITCHED_OFF
    ]
    if outside:
        places = sorted({str(result.detail["by"]) for result in outside})
        yield (
            f"{run.label}: {counted(len(outside), 'test')} skipped or expected to fail from outside"
            f" their files ({first_of(places, len(places))})"
        )
    replaced = receipt.selection.get("replaced_hooks")
    if isinstance(replaced, list | tuple) and replaced:
        hooks = first_of(replaced, len(replaced))
        yield f"{run.label}: run with hooks of this repository: {hooks}"
