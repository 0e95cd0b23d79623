"""The tests of a content whose last result is a failure, and which of these count no more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from kl_hooks.model.receipt import REFUTES, WAS_RUNNING, Evidence
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

    @classmethod
    def of(cls, runs: Sequence[JudgedRun], facts: ContentFacts) -> FailedTests:
        """The failures in these runs (newest first) that no later result settles."""
        failures = _last_failures(runs)
        beside_the_content = _runs_with_untracked_files(runs)
        removed = [
            failure
            for failure in failures
            if failure.run in beside_the_content and not facts.path_exists(failure.path)
        ]
        failures = [failure for failure in failures if failure not in removed]
        first_whole = next((at for at, judged in enumerate(runs) if judged.is_whole), len(runs))
        followed = {judged.run.receipt.run for judged in runs[first_whole + 1 :]}
        no_tests = _no_tests([failure for failure in failures if failure.run in followed], facts)
        ended_in = _tests_that_runs_ended_in(runs)
        running = [failure for failure in failures if failure in ended_in]
        failures = [failure for failure in failures if failure not in {*no_tests, *running}]
        accepted = [failure for failure in failures if facts.accepts_failure(failure.test)]
        counting = [failure for failure in failures if failure not in accepted]
        return cls(
            tuple(counting), tuple(removed), tuple(no_tests), tuple(running), tuple(accepted)
        )

    def running_words(self) -> list[Missing]:
        """The tests that must run again because their process was killed."""
        return [
            Missing(
                failure.test, f"was running when run {failure.run[:8]} was killed: run it again"
            )
            for failure in self.running
        ]

    def reasons(self) -> Iterator[str]:
        """Which tests failed, and did not pass since."""
        for failure in self.counting[:NAMED]:
            yield f"{failure.test} failed in run {failure.run[:8]}, and did not pass since"
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
    last = last_results(((judged, judged.run.receipt) for judged in runs), _settles)
    return [
        Failure(split_id(subject)[1], judged.run.receipt.run)
        for subject, (result, judged) in sorted(last.items(), key=lambda item: item[0])
        if result.outcome in REFUTES
    ]


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
        Failure(split_id(result.subject)[1], judged.run.receipt.run)
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
