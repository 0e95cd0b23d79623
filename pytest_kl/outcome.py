"""The verdict of a run as a whole, and the details of a failure. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.receipt import REFUTES, TEST_OUTCOMES, counted_outcome
from kl_hooks.model.text import counted, name_list, one_line
from kl_hooks.store.redaction import redact

MESSAGE_LENGTH = 300
"""Characters of a message that are stored."""
LOOKED_AT = 8000
"""Characters of it that are looked at: redaction comes before cutting, lest half a secret pass as
none.
"""
OK = 0
FAILED = 1
INTERNAL_ERROR = 3
USAGE_ERROR = 4
NO_TESTS = 5
NAMED = 3
"""How many tests without a result are named."""
IMPACTED = "kl-impacted-tests"
"""The name that the selection of `--kl-impacted` is registered by."""


def detail_of(longrepr: object, root: str) -> dict[str, Any]:
    """`{"message", "path", "line"}` of what pytest calls longrepr; without path and line where it
    has none.

    Paths below `root` (which ends in `/`) are given from there, in the message too. Never raises:
    the text comes from the tests, and a `__repr__` of theirs that fails is theirs to fix.
    """
    try:
        crash = getattr(longrepr, "reprcrash", None)
        if crash is None:
            return {"message": short(_failure_text(longrepr), root)}
        path = str(crash.path).replace("\\", "/").removeprefix(root)
        if isinstance(crash.lineno, int):
            line = {"line": crash.lineno}
        else:
            line = {}
        return {"message": short(str(crash.message), root), "path": redact(path), **line}
    except Exception as problem:
        return {"message": f"the failure has no readable text ({type(problem).__name__})"}


def _failure_text(longrepr: object) -> str:
    """The text of a collection error, of a fixture that was not found, or of a plain string; the
    end of a long one.
    """
    text = getattr(longrepr, "longrepr", None) or getattr(longrepr, "errorstring", None) or longrepr
    lines = [line for line in str(text or "").strip().splitlines() if line.strip()]
    # pytest starts the lines of the error itself with `E`, among those of source and traceback
    errors = [line.removeprefix("E ") for line in lines if line.startswith("E ")]
    return "\n".join(errors or lines[-3:])


def short(text: str, root: str) -> str:
    """The redacted text on one line, at most 300 characters, with paths from `root` on."""
    return one_line(redact(_from_root(text[:LOOKED_AT], root)), MESSAGE_LENGTH)


def _from_root(text: str, root: str) -> str:
    """The text with paths below `root` (which ends in `/`) given from there, and `.` for itself.

    Receipts are shared: the folder of a checkout means nothing to others, and may name a user.
    """
    folder = root.rstrip("/")
    if not folder or folder not in text:
        return text
    # `/r` is neither in `/home/r` nor in `/r-old` and `/r.old`
    checkout = rf"(?<![\w.-]){re.escape(folder)}(?![\w-]|\.\w)"
    below = re.sub(rf"{checkout}/(?=[\w.-])", "", text)
    return re.sub(checkout, ".", below)


class Ending(NamedTuple):
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
    """What was raised after the tests, by `pytest_unconfigure`, a cleanup or on the way to the end
    of the process.
    """
    imports: Sequence[str] = ()
    """Why what was imported is not, or may not be, the content that the run is recorded for."""


def outcome_counts(verdicts: Iterable[str]) -> dict[str, int]:
    """How often each of the seven outcomes occurs, zeros included."""
    counts = Counter(verdicts)
    return {word: counts[word] for word in TEST_OUTCOMES}


def how_it_ended(ending: Ending) -> str:
    """The first that fits: internal-error, usage-error, collection-error, interrupted, no-tests,
    finished.
    """
    if ending.internal_error or ending.exit == INTERNAL_ERROR:
        return "internal-error"
    if ending.exit == USAGE_ERROR:
        return "usage-error"
    if ending.collection_errors and not ending.ran:
        return "collection-error"
    if ending.interrupted or ending.exit is None:
        return "interrupted"
    if ending.selected:
        return "finished"
    return "no-tests"


def count_phrase(numbers: dict[str, int], words: Iterable[str] = TEST_OUTCOMES) -> str:
    """`2 failed, 1 error`: the words that occur, with how often."""
    return ", ".join(counted_outcome(numbers[word], word) for word in words if numbers[word])


def objections(ending: Ending) -> list[str]:
    """Everything that speaks against calling this run passed, in plain words; empty for a pass."""
    numbers = outcome_counts(ending.verdicts)
    broken = count_phrase(numbers, [w for w in reversed(TEST_OUTCOMES) if w in REFUTES])
    reasons = [broken] if broken else []
    if ending.collection_errors:
        reasons.append(f"{counted(ending.collection_errors, 'file')} could not be collected")
    if ending.internal_error:
        reasons.append("pytest itself failed (internal error)")
    if ending.interrupted:
        reasons.append(f"stopped early: {ending.interrupted}")
    if ending.collect_only:
        reasons.append("--collect-only: tests were listed, not run")
    elif ending.selected is None:
        reasons.append("the collection did not finish")
    elif ending.selected == 0:
        reasons.append("no test was selected")
    elif ending.lost:
        first = name_list(ending.lost, NAMED)
        reasons.append(
            f"{len(ending.lost)} of {counted(ending.selected, 'selected test')} gave no result:"
            f" {first}"
        )
    if not numbers["passed"] and not broken and (ending.ran or not reasons):
        reasons.append(
            f"no test passed cleanly ({count_phrase(numbers) or 'nothing was reported'})"
        )
    if ending.raised:
        reasons.append(f"pytest failed after the tests: {ending.raised}")
    else:
        reasons.extend(_exit_objections(ending.exit, broken))
    reasons.extend(ending.imports)
    return reasons


def _exit_objections(status: int | None, broken: str) -> list[str]:
    if status is None:
        return ["pytest gave no exit status"]
    if status == OK and broken:
        return [f"exit status 0 disagrees with {broken}"]
    if status == FAILED and not broken:
        return ["exit status 1, yet no failure was reported"]
    if status in (OK, FAILED):
        return []
    return [f"exit status {status}"]


def run_result(ending: Ending) -> dict[str, Any]:
    """`{"exit", "complete", "how", "verdict", "reasons", "counts"}`.

    A pass needs every selected test reported, at least one of them passed, no failure, exit status
    0 and no `--collect-only`. What is neither a pass nor a failure is inconclusive. Complete means
    that pytest reached its own end and every selected test has a verdict.
    """
    numbers = outcome_counts(ending.verdicts)
    way = how_it_ended(ending)
    against = objections(ending)
    verdict = "inconclusive" if against else "passed"
    if any(numbers[word] for word in REFUTES):
        verdict = "failed"
    return {
        "exit": ending.exit,
        "complete": way in ("finished", "no-tests") and not ending.lost and not ending.collect_only,
        "how": way,
        "verdict": verdict,
        "reasons": against,
        "counts": numbers,
    }
