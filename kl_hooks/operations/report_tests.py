"""The tests of a report: each with its last result, whether that is valid here, and how the newest
runs ended for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.evidence.flaky import flaky_tests
from kl_hooks.evidence.ledger import recent
from kl_hooks.evidence.shared_names import lasting_name
from kl_hooks.evidence.snapshot import newest_first
from kl_hooks.evidence.trust import environment_key, ran_no_test
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.receipt import REFUTES, run_outcome
from kl_hooks.model.symbol import TestName
from kl_hooks.model.text import name_list
from kl_hooks.proof.facts import STALE, VALID
from kl_hooks.proof.other_runners import REPORTED
from kl_hooks.proof.since_pass import since_pass

if TYPE_CHECKING:
    from kl_hooks.evidence.ledger import Entry
    from kl_hooks.evidence.snapshot import Snapshot
    from kl_hooks.model.receipt import Evidence, Receipt
    from kl_hooks.operations.report_text import ReportTexts
    from kl_hooks.proof.expected_tests import Missing
    from kl_hooks.proof.failing import FailingTest
    from kl_hooks.proof.impact import Result, Runs
    from kl_hooks.workspace import Workspace

STATES: Final = ("here", "transferred", "stale", "unexecuted", "unassessed")
"""What is proven of a file, a symbol or a test; a number means the place in this list."""
HERE, TRANSFERRED, STALE_HERE, UNEXECUTED, UNASSESSED = range(len(STATES))
_CODES: Final = {
    "passed": "p",
    "failed": "f",
    "error": "e",
    "skipped": "s",
    "xfailed": "x",
    "xpassed": "u",
    "flaky": "k",
}
"""Outcome → its letter; a capital letter: in another environment than the newest run, or in one that
was not recorded."""
_NOT_RUN: Final = "."
_FAILED: Final = "fe"
_MOST_RUNS: Final = 30
_MOST_TESTS: Final = 50_000
_MOST_EXPLAINED: Final = 50
"""Failing tests of which is asked what changed since they passed."""
_NAMED_CHANGES: Final = 4


class ReportTests(NamedTuple):
    """The runs and the tests of a report."""

    runs: list[dict[str, Any]]
    run_place: dict[str, int]
    """Run → its place in `runs`."""
    names: list[str]
    """The tests, as they are called now, before anything of their names is withheld."""
    place: dict[str, int]
    """Test → its place in `names`."""
    plain: dict[str, Any]
    """The columns of `tests`, as JSON has them."""
    flaky: list[int]
    omitted: dict[str, int]


def report_tests(
    ws: Workspace,
    evidence: Snapshot,
    runs: Runs,
    failing: Sequence[FailingTest],
    missing: Iterable[Missing],
    texts: ReportTexts,
    file_place: Mapping[str, int],
) -> ReportTests:
    """Return the tests that this content has, with their history.

    `missing`: expected tests without a valid result; `file_place`: path → the place of the file in
    the report.
    """
    entries = _newest_runs(evidence)
    history = _history(runs, entries)
    judged = _states(runs, missing)
    imported = _imported_names(entries) - judged.keys()
    failed = {test.test: STALE_HERE for test in failing if "::" in test.test}
    states = dict.fromkeys(imported, UNASSESSED) | failed | judged
    # what another tool calls a test may name no file: then no policy can speak about it
    placeless = {
        name for name in imported if texts.is_published and TestName(name).path not in file_place
    }
    shown = _shown(states.keys() - placeless, texts)
    names = shown[:_MOST_TESTS]
    place = {name: at for at, name in enumerate(names)}
    run_place = {entry.receipt.run: at for at, entry in enumerate(entries)}
    is_other = _other_environments(entries)
    no_results: _Attempts = [None] * len(entries)
    strips = [_strip(history.get(name, no_results), is_other) for name in names]
    columns: dict[str, Any] = {
        "name": [texts.name(name) for name in names],
        "file": [file_place.get(TestName(name).path) for name in names],
        "outcome": [
            _last_outcome(runs.results.get(name), strip, run_place)
            for name, strip in zip(names, strips, strict=True)
        ],
        "state": [states[name] for name in names],
        "strip": strips,
        "ms": [_times(history.get(name, no_results)) for name in names],
        "red_since": [_red_since(strip) for strip in strips],
        "since": _since(ws, failing, names, texts),
    }
    flaky = _flaky_places(ws, evidence, runs, place)
    omitted = {
        "tests": len(shown) - len(names),
        "tests only in older runs": len({*history} - {*states}),
        "imported tests without a file": len(placeless),
        "runs": _number_of_runs(evidence) - len(entries),
    }
    return ReportTests(
        [_run(entry.receipt, entry.origin, texts) for entry in entries],
        run_place,
        names,
        place,
        columns,
        flaky,
        {name: number for name, number in omitted.items() if number > 0},
    )


def _shown(names: Iterable[str], texts: ReportTexts) -> list[str]:
    """The tests of files that the reader may see, sorted."""
    return sorted(name for name in names if texts.shows_file(TestName(name).path))


# runs


def _newest_runs(evidence: Snapshot) -> list[Entry]:
    """The newest runs that ran a test, with the results of other tools that somebody imported; the
    newest last.
    """
    runs = [
        entry
        for entry in evidence.runs(_MOST_RUNS)
        if not ran_no_test(entry.receipt.selection, entry.receipt.result)
    ]
    imported = recent(evidence.db, _MOST_RUNS, REPORTED) if evidence.db else []
    return newest_first([*runs, *imported])[:_MOST_RUNS][::-1]


def _imported_names(entries: Iterable[Entry]) -> set[str]:
    """The tests in results of other tools, as these call them."""
    return {
        result.subject.removeprefix("test:")
        for entry in entries
        if entry.receipt.source == REPORTED
        for result in _test_results(entry.receipt)
    }


def _test_results(receipt: Receipt) -> Iterator[Evidence]:
    """Without files that could not be collected."""
    for result in receipt.evidence:
        if result.kind == "TestResult" and "::" in result.subject:
            yield result


def _number_of_runs(evidence: Snapshot) -> int:
    if evidence.db is None:
        return 0
    row = evidence.db.row("SELECT COUNT(*) FROM receipt WHERE source IN ('pytest', ?)", (REPORTED,))
    return int(row[0]) if row else 0


def _run(receipt: Receipt, origin: str, texts: ReportTexts) -> dict[str, Any]:
    counts: Mapping[str, int] = receipt.result.get("counts") or {}
    return {
        "id": receipt.run,
        "at": receipt.ended,
        "head": receipt.head or "",
        "status": run_outcome(receipt.result),
        "passed": counts.get("passed", 0),
        "failed": counts.get("failed", 0) + counts.get("error", 0),
        "skipped": counts.get("skipped", 0),
        "ms": _milliseconds(receipt.started, receipt.ended),
        "by": _maker(receipt, origin),
        "environment": texts.name(_environment(receipt)),
    }


def _maker(receipt: Receipt, origin: str) -> str:
    """`ci`, `agent`, `here`, `imported`, or who signed it; no name of a user or a machine."""
    if receipt.source == REPORTED:
        return "imported"
    if origin != "local":
        return origin.partition(":")[0]
    kind = receipt.producer.partition(":")[0]
    if kind in ("ci", "agent"):
        return kind
    return "here"


def _environment(receipt: Receipt) -> str:
    """`cpython 3.13.0, Linux x86_64`."""
    environment = receipt.environment
    parts = (
        " ".join(
            str(environment[key]) for key in ("implementation", "python") if environment.get(key)
        ),
        str(environment.get("platform") or ""),
    )
    return ", ".join(filter(None, parts))


def _milliseconds(started: str, ended: str) -> int | None:
    """The time between two moments; None where one is not known."""
    try:
        seconds = (datetime.fromisoformat(ended) - datetime.fromisoformat(started)).total_seconds()
    except ValueError:
        return None
    return max(0, round(1000 * seconds))


# results


_Attempts = list["Evidence | None"]
"""The worst result of a test in each run; None where it did not run."""


def _history(runs: Runs, entries: Sequence[Entry]) -> dict[str, _Attempts]:
    """Test, as it is called now → its results."""
    history: dict[str, _Attempts] = {}
    name_of = cache(lambda subject: runs.names.current(lasting_name(subject.removeprefix("test:"))))
    for at, entry in enumerate(entries):
        is_imported = entry.receipt.source == REPORTED
        for result in _test_results(entry.receipt):
            if is_imported:
                # its writer names tests as it likes: they need not be paths
                name = result.subject.removeprefix("test:")
            else:
                name = name_of(result.subject)
            attempts = history.setdefault(name, [None] * len(entries))
            earlier = attempts[at]
            if earlier is None or earlier.outcome not in REFUTES:
                attempts[at] = result
    return history


def _states(runs: Runs, missing: Iterable[Missing]) -> dict[str, int]:
    """Test, as it is called now → the place of its state in `STATES`."""
    own_runs = {part.original.receipt.run for part in runs.parts if part.is_own}
    states: dict[str, int] = {}
    for name, result in runs.results.items():
        if "::" in name and not runs.removed(name):
            states[name] = _state(result, own_runs)
    for test in missing:
        if "::" in test.name:
            states.setdefault(lasting_name(test.name), UNEXECUTED)
    return states


def _state(result: Result, own_runs: set[str]) -> int:
    if result.state == VALID:
        if result.run in own_runs:
            return HERE
        return TRANSFERRED
    if result.state == STALE:
        return STALE_HERE
    return UNASSESSED


def _other_environments(entries: Sequence[Entry]) -> list[bool]:
    """Of each run, whether it had another environment than the newest one of which it is known."""
    keys = [environment_key(entry.receipt) for entry in entries]
    newest = next((key for key in reversed(keys) if any(key)), None)
    return [newest is not None and key != newest for key in keys]


def _strip(attempts: Sequence[Evidence | None], is_other: Sequence[bool]) -> str:
    """A letter for each run. `is_other`: of each, whether it had another environment."""
    letters = []
    for result, other in zip(attempts, is_other, strict=True):
        if result:
            letter = _CODES.get(result.outcome, _NOT_RUN)
        else:
            letter = _NOT_RUN
        letters.append(letter.upper() if other else letter)
    return "".join(letters)


def _last_outcome(result: Result | None, strip: str, run_place: Mapping[str, int]) -> str:
    """The letter of the result that counts here; of a test without one that of the newest run."""
    if result is not None and result.state == VALID:
        if result.run in run_place:
            return strip[run_place[result.run]].lower()
        return _CODES.get(result.outcome, _NOT_RUN)
    return next((letter.lower() for letter in reversed(strip) if letter != _NOT_RUN), _NOT_RUN)


def _times(attempts: Sequence[Evidence | None]) -> list[int | None] | None:
    """Milliseconds in each run; None where it was not measured in any."""
    if not any(result and result.duration_us for result in attempts):
        return None
    return [round(result.duration_us / 1000) if result else None for result in attempts]


def _red_since(strip: str) -> int | None:
    """The run from which on a test failed whenever it ran; None: it did not fail last."""
    since = None
    for at in range(len(strip) - 1, -1, -1):
        if strip[at] == _NOT_RUN:
            continue
        if strip[at].lower() not in _FAILED:
            break
        since = at
    return since


def _since(
    ws: Workspace, failing: Sequence[FailingTest], names: Sequence[str], texts: ReportTexts
) -> list[str]:
    """What changed since each failing test passed last, in words; empty for all others."""
    failures = {test.test: test.failure for test in failing[:_MOST_EXPLAINED] if "::" in test.test}
    answers = since_pass(ws, failures) if failures else {}
    words = {
        test: f"since it passed in run {answer.passed[:8]}: "
        + (name_list(answer.changed, _NAMED_CHANGES) or "nothing that it executed changed")
        for test, answer in answers.items()
        if answer.passed
    }
    return [texts.sentence(words[name]) if name in words else "" for name in names]


def _flaky_places(
    ws: Workspace, evidence: Snapshot, runs: Runs, place: Mapping[str, int]
) -> list[int]:
    if evidence.db is None:
        return []
    tests = (runs.names.current(test.test) for test in flaky_tests(ws, evidence.db))
    return sorted({place[name] for name in tests if name in place})
