"""The tests of a content whose last result is a failure, and which of these count no more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.receipt import OF_OTHERS, REFUTES, WAS_RUNNING, Evidence, Receipt
from kl_hooks.model.symbol import split_id
from kl_hooks.model.text import counted
from kl_hooks.proof.content_runs import NAMED, ContentFacts
from kl_hooks.proof.expected_tests import Missing
from kl_hooks.proof.failing import last_results
from kl_hooks.proof.pytest_config import PytestConfig
from kl_hooks.proof.run_rules import JudgedRun, untracked_files

_REMOVED: Final = "its file was untracked, and is removed"
_NO_TEST: Final = "no configuration makes it a test"


class Failure(NamedTuple):
    """A failed test, or a file that could not be collected."""

    test: str
    run: str
    at: str = ""
    """Of a file: `tests/test_a.py:3:8: SyntaxError: invalid syntax`."""
    is_of_others: bool = False
    """Whether other tests may have caused it: that it passes alone shows nothing."""

    @property
    def is_uncollected(self) -> bool:
        """Whether it is a file that could not be collected."""
        return "::" not in self.test

    @classmethod
    def of(cls, result: Evidence, judged: JudgedRun) -> Failure:
        """A failed result of a run."""
        place = str(result.detail.get("at") or "")
        is_of_others = OF_OTHERS in result.detail
        return cls(split_id(result.subject)[1], judged.run.receipt.run, place, is_of_others)

    def __str__(self) -> str:
        """Why it counts."""
        run = f"run {self.run[:8]}"
        if self.is_uncollected and self.at:
            return f"{self.test} can't be collected ({run}): {self.at}"
        if self.is_of_others:
            return (
                f"{self.test} failed in {run} by what other tests may have left, and all did not"
                " pass together since"
            )
        return f"{self.test} failed in {run}, and did not pass since"

    @property
    def path(self) -> str:
        """Its file."""
        return self.test.partition("::")[0]


class FailedTests(NamedTuple):
    """The failures of a content."""

    counting: tuple[Failure, ...] = ()
    removed: tuple[Failure, ...] = ()
    """Of untracked files that are removed."""
    no_tests: tuple[Failure, ...] = ()
    """Of what only an option made a test, before a complete run."""
    running: tuple[Failure, ...] = ()
    """Tests that were running when their process was killed: nobody knows how they end."""
    accepted: tuple[Failure, ...] = ()
    """Known failures, and those in files that are none of the tests."""
    outdated: tuple[Missing, ...] = ()
    """Failed tests that passed since, in runs whose passes are not valid any more, and why not."""

    @classmethod
    def of(cls, runs: Sequence[JudgedRun], facts: ContentFacts) -> FailedTests:
        """The failures in these runs (newest first) that no later result settles."""
        failures = _last_failures(runs)
        outdated = _outdated_passes(runs, failures)
        failures = [failure for failure in failures if failure not in outdated]
        beside_the_content = _runs_with_untracked_files(runs)
        removed = [
            failure
            for failure in failures
            if failure.run in beside_the_content and not facts.path_exists(failure.path)
        ]
        failures = [failure for failure in failures if failure not in removed]
        followed = _runs_before_a_whole_one(runs)
        no_tests = _no_tests([failure for failure in failures if failure.run in followed], facts)
        ended_in = _tests_that_runs_ended_in(runs)
        running = [failure for failure in failures if failure in ended_in]
        failures = [failure for failure in failures if failure not in {*no_tests, *running}]
        accepted = [failure for failure in failures if facts.accepts_failure(failure.test)]
        counting = [failure for failure in failures if failure not in accepted]
        return cls(
            tuple(counting),
            tuple(removed),
            tuple(no_tests),
            tuple(running),
            tuple(accepted),
            tuple(test for tests in outdated.values() for test in tests),
        )

    def tests_to_run(self) -> list[Missing]:
        """The tests that must run again whatever other runs showed: their process was killed, or
        what they passed with after a failure is not installed any more.
        """
        running = [
            Missing(
                failure.test, f"was running when run {failure.run[:8]} was killed: run it again"
            )
            for failure in self.running
        ]
        return [*running, *self.outdated]

    def reasons(self) -> Iterator[str]:
        """Which tests failed, and did not pass since."""
        for failure in self.counting[:NAMED]:
            yield str(failure)
        if len(self.counting) > NAMED:
            number = counted(len(self.counting) - NAMED, "more test")
            yield f"{number} failed, and did not pass since"
        yield from _settled(self.removed, _REMOVED)

    def notes(self) -> Iterator[str]:
        """Failures that count no more, and why: worth knowing where the content is proven too."""
        yield from _settled(self.removed, _REMOVED)
        yield from _settled(self.no_tests, _NO_TEST)


def _settled(failures: Sequence[Failure], why: str) -> Iterator[str]:
    for failure in failures[:NAMED]:
        yield f"{failure.test} failed in run {failure.run[:8]}; {why}"


def _last_failures(runs: Sequence[JudgedRun]) -> list[Failure]:
    """The tests whose last result in these runs (newest first) is a failure.

    The content is the same, so a failed test that a later run does not even mention was omitted
    there.
    """
    last = last_results(((judged, judged.run.receipt) for judged in runs), _settles, _is_whole)
    return [
        Failure.of(result, judged)
        for _, (result, judged) in sorted(last.items(), key=lambda item: item[0])
        if result.outcome in REFUTES
    ]


def _outdated_passes(
    runs: Sequence[JudgedRun], failures: Sequence[Failure]
) -> dict[Failure, list[Missing]]:
    """Failures that a newer run of the content settled, with the tests whose results there are not
    valid any more.

    The test failed no more when it ran last, so it is no failure; but it must run again, also where
    a result from before the failure is valid.
    """
    if not failures:
        return {}
    last = last_results(((judged, _own_receipt(judged)) for judged in runs), _settles, _is_whole)
    results = {split_id(subject)[1]: result for subject, result in last.items()}
    stale_by_failure: dict[Failure, list[Missing]] = {}
    for failure in failures:
        if failure.test in results and results[failure.test][0].outcome in REFUTES:
            continue
        stale_tests = [
            Missing(name, judged.run.other.verdicts[name].reason)
            for name, (_, judged) in results.items()
            if (name == failure.test or name.startswith(f"{failure.test}::"))
            and judged.run.other is not None
            and name in judged.run.other.stale
        ]
        if stale_tests:
            stale_by_failure[failure] = stale_tests
    return stale_by_failure


def _own_receipt(judged: JudgedRun) -> Receipt:
    """What a run of the content itself reported, valid or not; of another content what is valid."""
    other = judged.run.other
    if other is not None and other.is_own:
        return other.original.receipt
    return judged.run.receipt


def _is_whole(judged: JudgedRun) -> bool:
    return judged.is_whole


def _settles(judged: JudgedRun, result: Evidence) -> bool:
    """Whether a result takes an earlier failure back. A skip means nothing but in a whole run; what
    was imported, or ran while files changed, settles no failure.
    """
    receipt = judged.entry.receipt
    is_weak = (
        judged.entry.origin.startswith("imported")
        or receipt.moved
        or bool(receipt.selection.get("weakened"))
        or judged.is_before_a_loss
    )
    return not is_weak and (result.outcome != "skipped" or judged.is_whole)


def _tests_that_runs_ended_in(runs: Sequence[JudgedRun]) -> set[Failure]:
    """The tests that were running when the processes of these runs were killed."""
    return {
        Failure.of(result, judged)
        for judged in runs
        if not judged.run.receipt.result.get("complete")
        for result in judged.run.receipt.evidence
        if result.detail.get("message") == WAS_RUNNING
    }


def _runs_with_untracked_files(runs: Sequence[JudgedRun]) -> set[str]:
    """The runs of more than this content before a whole run of just this content.

    Just this: the untracked files of that run are known too. A failed test of such a run may be
    removed with its file.
    """
    # tree_all is empty where untracked files were not looked at: such a run can't show that they
    # are removed
    last = next(
        (at for at, judged in enumerate(runs) if judged.is_whole and judged.run.receipt.tree_all),
        len(runs),
    )
    return {judged.run.receipt.run for judged in runs[last:] if untracked_files(judged.run)}


def _runs_before_a_whole_one(runs: Sequence[JudgedRun]) -> set[str]:
    """The runs of pytest before its newest whole one.

    Reports of other runners have tests that no configuration of pytest knows, and
    show nothing of its own.
    """
    of_pytest = [judged for judged in runs if judged.run.receipt.source == "pytest"]
    newest = next((at for at, judged in enumerate(of_pytest) if judged.is_whole), len(of_pytest))
    return {judged.run.receipt.run for judged in of_pytest[newest + 1 :]}


def _no_tests(failures: Sequence[Failure], facts: ContentFacts) -> list[Failure]:
    """Failures in files that no configuration collects: a script named on the command line, a
    doctest asked for once.

    A file that pytest's own defaults take for tests is never one, whatever the configuration is
    today.
    """
    # pytest's defaults, not today's configuration: narrowing that must not settle a failure
    # (ADR-0017)
    unusual = [failure for failure in failures if not PytestConfig().collects(failure.path)]
    if not unusual or facts.expected is None:
        return []
    files = facts.expected().files
    return [failure for failure in unusual if failure.path not in files]
