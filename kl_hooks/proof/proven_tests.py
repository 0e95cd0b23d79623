"""How many tests of a content are proven here, transferred, failing, or never recorded.

Each test counts once, by the newest result that is recorded of it; also where the content as a
whole is not proven.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kl_hooks.evidence.ledger import COUNTED_LIMITS
from kl_hooks.evidence.shared_names import lasting_name
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.receipt import REFUTES
from kl_hooks.model.symbol import split_id
from kl_hooks.model.text import counted
from kl_hooks.proof.content_runs import ContentFacts
from kl_hooks.proof.defined_tests import expected_names
from kl_hooks.proof.failed_tests import FailedTests
from kl_hooks.proof.other_runners import outdated_tests
from kl_hooks.proof.run_rules import JudgedRun, judge_run


class ProvenTests(NamedTuple):
    """Numbers of tests of a content."""

    proven: int = 0
    """Their last result here is no failure, in a run that reached its end."""
    transferred: int = 0
    """They did not run here; a result of another content is valid."""
    known_failures: int = 0
    failing: int = 0
    running: int = 0
    """They were running when their process was killed."""
    unfinished: int = 0
    """They passed, in a run that did not come to its end or does not count."""
    rerun: int = 0
    """What they rest on changed since they ran."""
    never: int = 0
    """No result of them is recorded for a content that this one was compared with."""
    uncollected_files: int = 0
    """Files that could not be collected: nobody knows how many tests they have."""

    @property
    def total(self) -> int:
        """All tests."""
        return sum(self._numbers().values())

    @property
    def is_partial(self) -> bool:
        """Whether something is known, and not of all tests that they are proven or transferred."""
        return self.total > self.never and self.proven + self.transferred < (
            self.total - self.known_failures
        )

    @classmethod
    def of(cls, facts: ContentFacts) -> ProvenTests:
        """The numbers for a content. `facts`: with the runs of other contents that it is compared
        with.
        """
        own = [judge_run(run) for run in facts.runs if run.other is None or run.other.is_own]
        failures = FailedTests.of(own, facts)
        names = _Names()
        known_failures = names.add(failure.test for failure in failures.accepted)
        uncollected = [failure for failure in failures.counting if failure.is_uncollected]
        failing = names.add(
            failure.test for failure in failures.counting if not failure.is_uncollected
        )
        running = names.add(failure.test for failure in failures.running)
        outdated = names.add(test.name for test in failures.outdated)
        ended = [judged for judged in own if judged.shows_passes]
        proven = names.add(_passed(ended))
        others = list(facts.other_runs.values())
        transferred = names.add(
            name
            for other in others
            for name in other.verdicts
            if name not in other.stale and not other.removed(name)
        )
        unfinished = names.add(_passed(own))
        rerun = outdated + names.add(
            name for other in others for name in other.stale if not other.removed(name)
        )
        rerun += names.add(test.name for test in outdated_tests(facts))
        never = names.add(_expected_names(facts, names.functions))
        accounted = known_failures + failing + running + proven + transferred + unfinished + rerun
        collected = list(_collected(own))
        if collected:
            # a run that collected everything has counted the cases of parametrized tests too. One
            # that counted fewer than are recorded has not seen all: on another interpreter a
            # content can have fewer tests.
            never = next((count - accounted for count in collected if count >= accounted), 0)
        return cls(
            proven,
            transferred,
            known_failures,
            failing,
            running,
            unfinished,
            rerun,
            never,
            len(uncollected),
        )

    def _numbers(self) -> dict[str, int]:
        """The numbers of tests."""
        numbers = self._asdict()
        del numbers["uncollected_files"]
        return numbers

    def to_dict(self) -> dict[str, int]:
        """As in JSON answers."""
        return {"total": self.total, **self._asdict()}

    def __str__(self) -> str:
        """`961 of 992 tests proven here; 4 failing; 27 never recorded`."""
        here = f"{self.proven} of {counted(self.total, 'test')} proven here"
        if self.transferred:
            here += f", {self.transferred} transferred"
        return "; ".join([here, *self._open_words()])

    def _open_words(self) -> Iterator[str]:
        words = (
            (self.known_failures, "known to fail"),
            (self.failing, "failing"),
            (self.running, "running when the process was killed"),
            (self.unfinished, "passed in a run that does not count"),
            (self.rerun, "must run again"),
            (self.never, "never recorded"),
        )
        for number, word in words:
            if number:
                yield f"{number} {word}"
        if self.uncollected_files:
            yield f"{counted(self.uncollected_files, 'file')} can't be collected"


class _Names:
    """Tests that were counted; each counts once."""

    def __init__(self) -> None:
        self._names: set[str] = set()
        self.functions: set[str] = set()
        """Without parameters."""

    def add(self, names: Iterator[str]) -> int:
        """The number of new ones."""
        new = {lasting_name(name) for name in names} - self._names
        self._names |= new
        self.functions |= {name.partition("[")[0] for name in new}
        return len(new)


def _passed(runs: Sequence[JudgedRun]) -> Iterator[str]:
    """The tests with another result than a failure."""
    for judged in runs:
        for result in judged.run.receipt.evidence:
            name = split_id(result.subject)[1]
            if result.kind == "TestResult" and result.outcome not in REFUTES and "::" in name:
                yield name


def _expected_names(facts: ContentFacts, functions: set[str]) -> Iterator[str]:
    """The test functions that the source surely has, and that nothing is recorded of."""
    expected = facts.expected() if facts.expected else None
    for path, (config, _) in expected.files.items() if expected else ():
        if expected:
            defined = expected.functions.get(path)
        else:
            defined = None
        if defined is not None and not defined.error:
            for name in expected_names(defined, config)[0]:
                if f"{path}::{name}" not in functions:
                    yield f"{path}::{name}"


def _collected(own: Sequence[JudgedRun]) -> Iterator[int]:
    """How many tests each run collected that left no file out, the newest first."""
    for judged in own:
        receipt = judged.run.receipt
        collected = receipt.selection.get("collected")
        is_all = judged.run.limits.keys() <= COUNTED_LIMITS
        if is_all and isinstance(collected, int) and not receipt.environment.get("rootdir"):
            yield collected
