"""A pass that takes no failure back: the test found something changed when it failed, and not since."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from kl_hooks.evidence.reads import STATES, STORED, TOUCHED, Read, Reads
from kl_hooks.proof.facts import NOT_ASSESSED, VALID, Difference, Verdict
from kl_hooks.proof.other_runs import OtherRun
from kl_hooks.proof.repeated_failures import stale_passes
from tests.evidence.making import executed_sets
from tests.proof.test_content_proof import FAILED
from tests.proof.test_gate_union import PART, made

WRITER, TEST, OTHER = "test_a.py::test_writes", "test_m.py::test_reads", "test_m.py::test_other"
LIMIT = Read(STATES, "app.py:LIMIT")
LEFT = {WRITER: (("app.py", "LIMIT"),)}


def run(
    name: str,
    *results: str,
    left: Mapping[str, Sequence[tuple[str, str]]] = LEFT,
    reads: Sequence[Read] = (LIMIT,),
    touched: Sequence[Read] = (),
    is_whole: bool = False,
) -> OtherRun:
    """A run of the content. `reads`: those of `TEST`; `left`: what tests left changed."""
    has_failed = any("=" in result for result in results)
    selection = {} if is_whole else PART
    entry = made(name, *results, selection=selection, **({"result": FAILED} if has_failed else {}))
    tests = [result.partition("=")[0] for result in results]
    executed = executed_sets(
        {test: {} for test in tests},
        {},
        left={test: tuple(places) for test, places in left.items() if test in tests},
        reads=Reads(tests={TEST: frozenset(reads), WRITER: frozenset(touched)}),
    )
    valid = dict.fromkeys(tests, Verdict(VALID))
    return OtherRun(entry, entry, valid, Difference(), executed, is_own=True)


def stale(*runs: OtherRun) -> dict[str, list[str]]:
    """Run → the tests whose results do not count."""
    by_id = {recorded.original.id: recorded for recorded in runs}
    return {
        by_id[name].original.receipt.run[:2]: sorted(tests)
        for name, tests in stale_passes(by_id).items()
    }


FAILING = run("a1", WRITER, f"{TEST}=failed", OTHER)


def test_a_pass_alone_takes_no_failure_back() -> None:
    alone = run("a2", TEST, reads=())
    assert stale(FAILING, alone) == {"a2": [TEST], "a1": [WRITER]}
    reasons = stale_passes({recorded.original.id: recorded for recorded in (FAILING, alone)})
    assert reasons[alone.original.id][TEST].reason == (
        f"it failed in run {FAILING.original.receipt.run[:8]} where {WRITER} had left LIMIT of app.py"
        " changed, and passed only without that"
    )
    # of each run that has a result of the other test
    again = run("a3", WRITER)
    assert stale(FAILING, alone, again) == {"a2": [TEST], "a1": [WRITER], "a3": [WRITER]}
    # an older pass is none since
    assert stale(run("a0", TEST, reads=()), FAILING) == {}


@pytest.mark.parametrize(
    "since",
    [
        run("a2", TEST),
        run("a2", WRITER, TEST, reads=()),
        run("a2", TEST, reads=(), is_whole=True),
    ],
    ids=["it found the same", "both ran", "the whole suite ran"],
)
def test_a_pass_with_what_was_changed_takes_it_back(since: OtherRun) -> None:
    assert stale(FAILING, since) == {}
    assert stale(FAILING, since, run("a3", TEST, reads=())) == {}


def test_only_what_the_test_found_and_another_one_left_is_asked_for() -> None:
    alone = run("a2", TEST, reads=())
    without_reads = run("a1", WRITER, f"{TEST}=failed", reads=())
    assert stale(without_reads, alone) == {}
    computed = run("a1", WRITER, f"{TEST}=failed", reads=[Read(STORED, "app.py:LIMIT")])
    assert stale(computed, alone) == {}
    own = run("a1", f"{TEST}=failed", left={TEST: LEFT[WRITER]})
    assert stale(own, alone) == {}
    # what the process has, whatever the test names
    clock = run("a1", WRITER, f"{TEST}=failed", left={WRITER: (("", "time.time"),)}, reads=())
    assert stale(clock, alone) == {"a2": [TEST], "a1": [WRITER]}


def test_a_file_that_the_test_looks_for_was_written_by_another_one() -> None:
    looks = [Read(STORED, "build/x.txt()")]
    failing = run(
        "a1",
        WRITER,
        f"{TEST}=failed",
        left={},
        reads=looks,
        touched=[Read(TOUCHED, "build/x.txt()")],
    )
    # it looks for the file each time
    assert stale(failing, run("a2", TEST, reads=looks)) == {"a2": [TEST], "a1": [WRITER]}
    assert stale(failing, run("a2", WRITER, TEST, reads=looks)) == {}


def test_a_file_was_written_by_another_test_in_a_run_before() -> None:
    place = ":build/x.txt()"
    looks = [Read(STORED, place)]
    writing = run("a0", WRITER, left={}, touched=[Read(TOUCHED, place)])
    failing = run("a1", f"{TEST}=failed", left={}, reads=looks)
    alone = run("a2", TEST, reads=looks)
    assert stale(writing, failing, alone) == {"a0": [WRITER], "a2": [TEST]}
    assert stale(writing, failing, alone, run("a3", WRITER, TEST, reads=looks)) == {}
    # what was written since was not there, and a cache ends with its process
    later = run("a3", WRITER, left={}, touched=[Read(TOUCHED, place)])
    assert stale(failing, alone, later) == {}
    cache = "app.py:total()"
    cached = run("a0", WRITER, left={}, touched=[Read(TOUCHED, cache)])
    assert (
        stale(cached, run("a1", f"{TEST}=failed", left={}, reads=[Read(STORED, cache)]), alone)
        == {}
    )


def test_what_does_not_count_anyway_stays_out() -> None:
    alone = run("a2", TEST, reads=())
    unknown = OtherRun(
        alone.entry,
        alone.original,
        {TEST: Verdict(NOT_ASSESSED)},
        Difference(),
        alone.executed,
        is_own=True,
    )
    assert stale(FAILING, unknown) == {}
    without_symbols = OtherRun(
        FAILING.entry, FAILING.original, FAILING.verdicts, Difference(), is_own=True
    )
    assert stale(without_symbols, alone) == {}
