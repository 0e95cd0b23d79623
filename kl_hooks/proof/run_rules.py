"""The rules of a run: what speaks against it as evidence for a content, whatever it was asked to
run.

Each rule is a small function of the facts of one run. The first that speaks is the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from kl_hooks.evidence.ledger import Entry, selection_limits
from kl_hooks.evidence.shared_names import OMITTED_PASSES
from kl_hooks.evidence.trust import contradiction, observation
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.receipt import REFUTES, Receipt, counted_outcome
from kl_hooks.model.symbol import split_id
from kl_hooks.model.text import counted
from kl_hooks.proof.content_runs import ContentRun, first_of
from kl_hooks.proof.other_runs import session_checks

_TESTS_FAILED: Final = "tests_failed"
"""The rule that a failed run breaks."""
_LIMIT_OPTIONS: Final = {
    "keyword": "-k",
    "markers": "-m",
    "lf": "--lf",
    "collect_only": "--collect-only",
    "setup_only": "--setup-only",
    "setup_plan": "--setup-plan",
    "overridden": "-o",
    "config_file": "-c",
}
"""Key of a run's selection → the option of pytest."""
_COLLECTED: Final = (0, 5)
"""Exit statuses of pytest: all passed, and no test was run."""
_NOTHING_RUN: Final = ("collect_only", "setup_only", "setup_plan")


class Reason(NamedTuple):
    """What speaks against a run: the rule, and its words."""

    rule: str
    text: str


class JudgedRun(NamedTuple):
    """A run, and the first rule that speaks against it."""

    run: ContentRun
    against: Reason | None = None

    @property
    def entry(self) -> Entry:
        """The run's receipt in the store."""
        return self.run.entry

    @property
    def counts(self) -> bool:
        """Whether its results are evidence for the content."""
        return self.against is None

    @property
    def has_failed(self) -> bool:
        """Whether its failed tests speak against it."""
        return self.against is not None and self.against.rule == _TESTS_FAILED

    @property
    def is_before_a_loss(self) -> bool:
        """Whether a lost run may have refuted it."""
        return before_a_loss(self.run) is not None

    @property
    def shows_passes(self) -> bool:
        """Whether its passes count one by one: nothing speaks against it but tests that failed."""
        if not self.has_failed:
            return self.counts
        return not any(rule(self.run) for rule in RULES if rule is not tests_failed)

    @property
    def has_collected(self) -> bool:
        """Whether it collected without an error, and nothing speaks against it but that no test
        passed, as where `--kl-impacted` has nothing to run.
        """
        receipt = self.run.receipt
        is_ended = receipt.result.get("exit") in _COLLECTED and not receipt.moved
        return is_ended and not any(rule(self.run) for rule in RULES if rule is not nothing_passed)

    @property
    def is_whole(self) -> bool:
        """Whether it counts, and nothing limited it to a part of the tests."""
        return self.counts and not self.run.limits


def tests_failed(run: ContentRun) -> Reason | None:
    """A test of it failed, or could not be set up, and that is no known failure."""
    if run.receipt.result.get("verdict") != "failed":
        return None
    failed = [
        split_id(result.subject)[1] for result in run.receipt.evidence if result.outcome in REFUTES
    ]
    if failed and all(run.accepts_failure(test) for test in failed):
        return None
    counts = run.receipt.result.get("counts") or {}
    words = ", ".join(
        counted_outcome(counts[key], key) for key in ("error", "failed") if counts.get(key)
    )
    return Reason(_TESTS_FAILED, f"tests failed: {words}")


def nothing_passed(run: ContentRun) -> Reason | None:
    """No test of it passed. Of a run of another content what must run again is still of use."""
    if run.other is not None or any(result.outcome == "passed" for result in run.receipt.evidence):
        return None
    if run.receipt.selection.get(OMITTED_PASSES):
        why = "its tests share a redacted name with tests that it omitted"
        return Reason("nothing_passed", why)
    return Reason("nothing_passed", "nothing passed")


def weak_observation(run: ContentRun) -> Reason | None:
    """It is incomplete, inconclusive, imported, or its content changed under way."""
    passes = (result for result in run.receipt.evidence if result.outcome == "passed")
    result = next(passes, None)
    if result:
        why = observation(run.receipt, result, run.entry.origin).why_not
    else:
        why = ""
    if why:
        return Reason("weak_observation", why)
    return None


def contradicted_by_parent(run: ContentRun) -> Reason | None:
    """The very process that recorded it failed after that."""
    if run.parent:
        why = contradiction(run.parent.receipt, run.receipt)
    else:
        why = ""
    if why:
        return Reason("contradicted_by_parent", why)
    return None


def weaker_than_configured(run: ContentRun) -> Reason | None:
    """Options that were typed may have taken checks out that the content configures."""
    weakened = run.receipt.selection.get("weakened")
    if not weakened:
        return None
    words = ", ".join(map(str, weakened))
    return Reason("weaker_than_configured", f"otherwise than configured: {words}")


def tests_not_called(run: ContentRun) -> Reason | None:
    """A hook of the repository answered for tests whose functions did not start."""
    hook = run.receipt.selection.get("not_called")
    if not hook:
        return None
    facts = hook if isinstance(hook, Mapping) else {}
    number = facts.get("tests")
    return Reason(
        "tests_not_called",
        f"{facts.get('by')} replaces how tests are called (pytest_pyfunc_call); {number} passed"
        f" without being called: {first_of(facts.get('first'), number)}",
    )


def judged_as_a_part(run: ContentRun) -> Reason | None:
    """A hook of the repository judges all tests together, and not all ran."""
    checks = session_checks(run.receipt)
    if not checks or not run.limits:
        return None
    return Reason("judged_as_a_part", f"{checks}, and only a part ran")


def no_test_run(run: ContentRun) -> Reason | None:
    """pytest was asked only to list or to set up tests."""
    options = [_LIMIT_OPTIONS[key] for key in _NOTHING_RUN if run.receipt.selection.get(key)]
    if options:
        return Reason("no_test_run", f"no test was run ({', '.join(options)})")
    return None


def untracked_files(run: ContentRun) -> Reason | None:
    """It ran on more than this content: tests may have needed the untracked files."""
    receipt = run.receipt
    if not run.trees or receipt.tree_all in (None, receipt.tree, *run.trees):
        return None
    untracked = receipt.environment.get("untracked")
    if not isinstance(untracked, Mapping):
        return Reason("untracked_files", "untracked files were there when it ran")
    names = [str(name) for name in untracked.get("first") or ()]
    if not names:
        return None
    words = first_of(names, untracked.get("files"))
    return Reason("untracked_files", f"untracked files were there when it ran: {words}")


def before_a_loss(run: ContentRun) -> Reason | None:
    """It was stored before a loss of receipts was noticed: a later run that failed may be among
    those.
    """
    if run.entry.seq > run.lost_until:
        return None
    return Reason("before_a_loss", "it ran before receipts of this store were lost")


RULES: Final[tuple[Callable[[ContentRun], Reason | None], ...]] = (
    tests_failed,
    nothing_passed,
    weak_observation,
    contradicted_by_parent,
    weaker_than_configured,
    tests_not_called,
    judged_as_a_part,
    no_test_run,
    untracked_files,
    before_a_loss,
)


def judge_run(run: ContentRun) -> JudgedRun:
    """The run with the first reason against it."""
    return JudgedRun(run, next(filter(None, (rule(run) for rule in RULES)), None))


def selection_words(receipt: Receipt) -> str:
    """In words how a run was limited to a part of its tests; empty: it was not, as far as it can be
    seen.
    """
    limits = selection_limits(receipt.selection)
    values = {
        key: ", ".join(map(repr, value)) if isinstance(value, list) else repr(value)
        for key, value in limits.items()
    }
    words = [f"{option} {values[key]}" for key, option in _LIMIT_OPTIONS.items() if key in values]
    if "deselected" in limits:
        words.append(f"{counted(limits['deselected'], 'test')} deselected")
    if "dropped" in limits:
        words.append(f"{counted(limits['dropped'], 'test')} taken out by a plugin or a conftest.py")
    if omitted := limits.get("left_out"):
        words.append(
            f"{_files_omitted(omitted['files'])}:"
            f" {first_of(omitted.get('first'), omitted['files'])}"
        )
    return ", ".join(words)


def _files_omitted(number: object) -> str:
    """`2 test files omitted`, of a number that a receipt has."""
    if isinstance(number, int) and not isinstance(number, bool):
        return f"{counted(number, 'test file')} omitted"
    return "test files omitted"
