"""What a run as a whole is worth. Pure: facts in, the `result` of the receipt out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from kl_hooks.model.receipt import REFUTES, TEST_OUTCOMES

OK, FAILED, INTERNAL_ERROR, USAGE_ERROR, NO_TESTS = 0, 1, 3, 4, 5
NAMED = 3
"""How many tests without a result are named."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ended, as far as it can be seen from inside."""

    exit: int | None
    """pytest's exit status; None where it never said one."""
    verdicts: Sequence[str]
    """Of every test and of every collector that failed or was skipped."""
    ran: int
    """Tests with a verdict."""
    selected: int | None
    """Tests that were to be run; None where the collection did not get that far."""
    lost: Sequence[str] = ()
    """Selected tests without a verdict."""
    collect_only: bool = False
    interrupted: str = ""
    """Why it stopped before its end; empty where it did not."""
    internal_error: bool = False
    collection_errors: int = 0
    raised: str = ""
    """What was raised after the tests, by `pytest_unconfigure`, a cleanup or on the way to the end of the process."""
    imports: Sequence[str] = ()
    """Why what was imported is not, or may not be, the content that the run is recorded for."""


def counts(verdicts: Iterable[str]) -> dict[str, int]:
    """How often each of the seven words stands there, all seven named."""
    seen = Counter(verdicts)
    return {word: seen[word] for word in TEST_OUTCOMES}


def how(ending: Ending) -> str:
    """The first that fits: internal-error, usage-error, collection-error, interrupted, no-tests, finished."""
    if ending.internal_error or ending.exit == INTERNAL_ERROR:
        return "internal-error"
    if ending.exit == USAGE_ERROR:
        return "usage-error"
    if ending.collection_errors and not ending.ran:
        return "collection-error"
    if ending.interrupted or ending.exit is None:
        return "interrupted"
    return "finished" if ending.selected else "no-tests"


def phrase(numbers: dict[str, int], words: Iterable[str] = TEST_OUTCOMES) -> str:
    """`2 failed, 1 error`: the words that occur, with how often."""
    return ", ".join(f"{numbers[word]} {word}" for word in words if numbers[word])


def reasons(ending: Ending) -> list[str]:
    """Everything that speaks against calling this run passed, in plain words; empty for a pass."""
    numbers = counts(ending.verdicts)
    broken = phrase(numbers, [w for w in reversed(TEST_OUTCOMES) if w in REFUTES])
    found = [broken] if broken else []
    if ending.collection_errors:
        found.append(f"{_of(ending.collection_errors, 'file')} could not be collected")
    if ending.internal_error:
        found.append("pytest itself failed (internal error)")
    if ending.interrupted:
        found.append(f"stopped early: {ending.interrupted}")
    if ending.collect_only:
        found.append("--collect-only: tests were listed, not run")
    elif ending.selected is None:
        found.append("the collection did not finish")
    elif ending.selected == 0:
        found.append("no test was selected")
    elif ending.lost:
        found.append(_lost(ending.selected, ending.lost))
    if not numbers["passed"] and not broken and (ending.ran or not found):
        found.append(f"no test passed cleanly ({phrase(numbers) or 'nothing was reported'})")
    if ending.raised:
        found.append(f"pytest failed after the tests: {ending.raised}")
    else:
        found.extend(_exit(ending.exit, broken))
    found.extend(ending.imports)
    return found


def _exit(status: int | None, broken: str) -> list[str]:
    if status is None:
        return ["pytest gave no exit status"]
    if status == OK and broken:
        return [f"exit status 0 disagrees with {broken}"]
    if status == FAILED and not broken:
        return ["exit status 1, yet no failure was reported"]
    return [] if status in (OK, FAILED) else [f"exit status {status}"]


def _lost(selected: int, lost: Sequence[str]) -> str:
    more = f" and {len(lost) - NAMED} more" if len(lost) > NAMED else ""
    return f"{len(lost)} of {_of(selected, 'selected test')} gave no result: {', '.join(lost[:NAMED])}{more}"


def _of(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")


def result(ending: Ending) -> dict[str, Any]:
    """`{"exit", "complete", "how", "verdict", "reasons", "counts"}`.

    A pass needs every selected test reported, at least one of them passed, no failure, exit status 0 and no
    `--collect-only`. What is neither a pass nor a failure is inconclusive. Complete means that pytest came to its own
    end and every selected test has a verdict.
    """
    numbers, way, against = counts(ending.verdicts), how(ending), reasons(ending)
    refuted = any(numbers[word] for word in REFUTES)
    return {
        "exit": ending.exit,
        "complete": way in ("finished", "no-tests") and not ending.lost and not ending.collect_only,
        "how": way,
        "verdict": "failed" if refuted else "inconclusive" if against else "passed",
        "reasons": against,
        "counts": numbers,
    }
