"""One verdict per test, what a run as a whole is worth, and the lines about it that a person reads. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kl_hooks.git.worktree import WorktreeState
from kl_hooks.model.receipt import REFUTES, TEST_OUTCOMES, run_outcome
from kl_hooks.model.text import one_line
from kl_hooks.store.redaction import redact

MESSAGE_LENGTH = 300
"""Characters of a message that are stored."""
LOOKED_AT = 8000
"""Characters of it that are looked at: redaction comes before cutting, lest half a secret pass as none."""
RANK = {name: rank for rank, name in enumerate(TEST_OUTCOMES)}
OK, FAILED, INTERNAL_ERROR, USAGE_ERROR, NO_TESTS = 0, 1, 3, 4, 5
NAMED = 3
"""How many tests without a result are named."""
SHORT = 8
"""Digits of a run's id that a person is shown."""
WIDTH = 400


def detail_of(longrepr: object, root: str) -> dict[str, Any]:
    """`{"message", "path", "line"}` of what pytest calls longrepr; without path and line where it has none.

    Paths below `root` (which ends in `/`) are given from there. Never raises: the text comes from the tests, and a
    `__repr__` of theirs that fails is theirs to fix.
    """
    try:
        return _detail(longrepr, root)
    except Exception as problem:
        return {"message": f"the failure has no readable text ({type(problem).__name__})"}


def _detail(longrepr: object, root: str) -> dict[str, Any]:
    crash = getattr(longrepr, "reprcrash", None)
    if crash is None:
        return {"message": short(_failure_text(longrepr))}
    path = str(crash.path).replace("\\", "/").removeprefix(root)
    found: dict[str, Any] = {"message": short(str(crash.message)), "path": redact(path)}
    if isinstance(crash.lineno, int):
        found["line"] = crash.lineno
    return found


def _failure_text(longrepr: object) -> str:
    """The text of a collection error, of a fixture that was not found, or of a plain string; the end of a long one."""
    text = getattr(longrepr, "longrepr", None) or getattr(longrepr, "errorstring", None) or longrepr
    lines = [line for line in str(text or "").strip().splitlines() if line.strip()]
    # pytest starts the lines of the error itself with `E`, among those of source and traceback
    errors = [line[1:] for line in lines if line.startswith("E ")]
    return "\n".join(errors or lines[-3:])


def short(text: str) -> str:
    """The redacted text on one line, at most 300 characters."""
    return one_line(redact(text[:LOOKED_AT]), MESSAGE_LENGTH)


def word_of(when: str, outcome: str, marked: bool) -> str:
    """The verdict of one report; empty where it has none (a setup or teardown that passed).

    `when` is setup, call, teardown or `???` (a worker crashed); `outcome` passed, failed or skipped; `marked` is true
    where the report carries `wasxfail`. A strict xfail that passes arrives as failed, and stays that.
    """
    if outcome == "failed":
        # as pytest's own summary counts: a fixture that fails is an error, only the call is a failure
        return "error" if when in ("setup", "teardown") else "failed"
    if outcome == "skipped":
        return "xfailed" if marked else "skipped"
    if outcome != "passed":
        raise ValueError(f"pytest reported an outcome that is not known: {outcome!r}")
    if marked:
        return "xpassed"
    return "passed" if when == "call" else ""


class TestState:
    """What has been reported of one test so far."""

    __test__ = False  # no test class, whatever its name
    verdict = ""
    seconds = 0.0
    reruns = 0
    repeat = False
    detail: Mapping[str, Any] | None = None

    def hear(self, word: str, detail: Mapping[str, Any] | None = None) -> None:
        """One more report: it counts if it is worse than what was heard before."""
        if word and (not self.verdict or RANK[word] > RANK[self.verdict]):
            self.verdict = word
            self.detail = detail

    def again(self) -> None:
        """This attempt failed and is going to be repeated."""
        self.repeat = True

    def closed(self) -> bool:
        """The attempt is over. True if it is the last one; else what was heard of it is forgotten."""
        if not self.repeat:
            return True
        self.verdict, self.detail, self.repeat = "", None, False
        self.reruns += 1
        return False

    def final(self) -> tuple[str, Mapping[str, Any] | None]:
        """The verdict and its details; the verdict is empty for a test that never ran (`--setup-only`)."""
        if not self.reruns:
            return self.verdict, self.detail
        verdict = "flaky" if self.verdict == "passed" else self.verdict
        return verdict, {**(self.detail or {}), "attempts": self.reruns + 1}


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ended, as far as it can be seen from inside."""

    exit: int | None
    """pytest's exit status; None where there is none."""
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


def outcome_counts(verdicts: Iterable[str]) -> dict[str, int]:
    """How often each of the seven outcomes occurs, zeros included."""
    seen = Counter(verdicts)
    return {word: seen[word] for word in TEST_OUTCOMES}


def how_it_ended(ending: Ending) -> str:
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


def count_phrase(numbers: dict[str, int], words: Iterable[str] = TEST_OUTCOMES) -> str:
    """`2 failed, 1 error`: the words that occur, with how often."""
    return ", ".join(f"{numbers[word]} {word}" for word in words if numbers[word])


def objections(ending: Ending) -> list[str]:
    """Everything that speaks against calling this run passed, in plain words; empty for a pass."""
    numbers = outcome_counts(ending.verdicts)
    broken = count_phrase(numbers, [w for w in reversed(TEST_OUTCOMES) if w in REFUTES])
    found = [broken] if broken else []
    if ending.collection_errors:
        found.append(f"{_counted(ending.collection_errors, 'file')} could not be collected")
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
        found.append(_lost_phrase(ending.selected, ending.lost))
    if not numbers["passed"] and not broken and (ending.ran or not found):
        found.append(f"no test passed cleanly ({count_phrase(numbers) or 'nothing was reported'})")
    if ending.raised:
        found.append(f"pytest failed after the tests: {ending.raised}")
    else:
        found.extend(_exit_objections(ending.exit, broken))
    found.extend(ending.imports)
    return found


def _exit_objections(status: int | None, broken: str) -> list[str]:
    if status is None:
        return ["pytest gave no exit status"]
    if status == OK and broken:
        return [f"exit status 0 disagrees with {broken}"]
    if status == FAILED and not broken:
        return ["exit status 1, yet no failure was reported"]
    return [] if status in (OK, FAILED) else [f"exit status {status}"]


def _lost_phrase(selected: int, lost: Sequence[str]) -> str:
    more = f" and {len(lost) - NAMED} more" if len(lost) > NAMED else ""
    return f"{len(lost)} of {_counted(selected, 'selected test')} gave no result: {', '.join(lost[:NAMED])}{more}"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")


def run_result(ending: Ending) -> dict[str, Any]:
    """`{"exit", "complete", "how", "verdict", "reasons", "counts"}`.

    A pass needs every selected test reported, at least one of them passed, no failure, exit status 0 and no
    `--collect-only`. What is neither a pass nor a failure is inconclusive. Complete means that pytest reached its own
    end and every selected test has a verdict.
    """
    numbers, way, against = outcome_counts(ending.verdicts), how_it_ended(ending), objections(ending)
    refuted = any(numbers[word] for word in REFUTES)
    return {
        "exit": ending.exit,
        "complete": way in ("finished", "no-tests") and not ending.lost and not ending.collect_only,
        "how": way,
        "verdict": "failed" if refuted else "inconclusive" if against else "passed",
        "reasons": against,
        "counts": numbers,
    }


def header_line(place: WorktreeState, previous: str, elsewhere: str) -> str:
    """`kl: recording for tree 3f9a1c2 + uncommitted changes (2 files)`."""
    line = f"kl: recording for tree {place.tree[:7]}" if place.tree else "kl: recording, the tree is not known"
    if place.tree and place.dirty:
        line += f" + uncommitted changes ({place.changed} file{'' if place.changed == 1 else 's'})"
    if elsewhere:
        line += f", stored in {one_line(elsewhere, WIDTH)}"
    if previous:
        line += f"; the run before ({previous[:SHORT]}) has no end and is no evidence of success"
    return line


def closing_lines(run: str, result: Mapping[str, Any], elsewhere: str = "") -> list[str]:
    """What the run is worth, why if it is no pass, and how to look at it: two or three lines.

    `elsewhere` as in the header, which a quiet pytest does not print.
    """
    counts = count_phrase(result["counts"]) or "no test was run"
    place = f", stored in {one_line(elsewhere, WIDTH)}" if elsewhere else ""
    lines = [f"kl: run {run[:SHORT]}: {counts}; recorded as {run_outcome(result)}{place}"]
    if result["verdict"] == "inconclusive":
        lines.append(one_line(f"kl: no evidence of success: {'; '.join(result['reasons'])}", WIDTH))
    return [*lines, f"kl: kl evidence show {run[:SHORT]}"]


def correction_lines(run: str, result: Mapping[str, Any]) -> list[str]:
    """What is printed where the run turned out to be worth something else after pytest had printed its summary."""
    why = one_line("; ".join(result["reasons"]), WIDTH)
    return [f"kl: run {run[:SHORT]}: now recorded as {run_outcome(result)}: {why}"]


def failure_line(problem: BaseException, *, started: bool) -> str:
    """One line for our own failure: what it means, and why."""
    what = "recording stopped, this run is stored as incomplete" if started else "not recorded"
    return one_line(f"kl: {what} - {str(problem) or type(problem).__name__}", WIDTH)
