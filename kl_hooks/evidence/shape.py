"""Is this receipt made as receipts are? Asked of everything that comes from a file, before it is kept for ever. Pure.

What stands in the ledger is never edited, so one value of a wrong kind would trouble every later reading.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from kl_hooks.clock import micros
from kl_hooks.model.receipt import EVIDENCE_CLASSES, Evidence, Receipt

_RUN: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
_GIT_ID: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_LONGEST: Final = 1 << 63
_TEXTS: Final = ("source", "observer", "producer")
_GIT_IDS: Final = ("tree", "tree_all", "tree_end", "head")
_MAYBE_TEXTS: Final = ("parent", "branch")
_FLAGS: Final = ("moved", "dirty")
_MAPPINGS: Final = ("environment", "selection", "result")


def flaw(receipt: Receipt) -> str:
    """What is wrong with it, in a few words; empty: nothing."""
    found = (f"evidence {at}: {what}" for at, one in enumerate(receipt.evidence) if (what := evidence_flaw(one)))
    return next(found, "") or header_flaw(receipt)


def header_flaw(receipt: Receipt) -> str:
    """The same where each piece of evidence has been looked at already."""
    try:
        found = next(_flaws(receipt), "")
        return found or ("" if receipt.id else "it has no id")
    except (TypeError, ValueError, RecursionError) as problem:
        return f"it can't be written down ({type(problem).__name__})"


def _flaws(receipt: Receipt) -> Iterator[str]:
    if not _is_run(receipt.run):
        yield "its run is no id"
    yield from (f"its {k} is no text" for k in _TEXTS if not _text(getattr(receipt, k)))
    for key in _GIT_IDS:
        value = getattr(receipt, key)
        if value is not None and not (isinstance(value, str) and _GIT_ID.fullmatch(value)):
            yield f"its {key} is no id of git"
    yield from (f"its {k} is no text" for k in _MAYBE_TEXTS if not isinstance(getattr(receipt, k), str | None))
    yield from (f"its {k} is neither true nor false" for k in _FLAGS if not isinstance(getattr(receipt, k), bool))
    yield from (f"its {k} is no time" for k in ("started", "ended") if not _time(getattr(receipt, k)))
    yield from (f"its {k} is no mapping" for k in _MAPPINGS if not _mapping(getattr(receipt, k)))
    yield from _result_flaws(receipt.result)


def _result_flaws(result: Mapping[str, Any]) -> Iterator[str]:
    if not isinstance(result.get("complete"), bool) or not _text(result.get("verdict")):
        yield "its result says neither whether it is complete nor what it found"
    if result.get("exit") is not None and not _count(result["exit"], -_LONGEST):
        yield "its exit code is no number"
    if not isinstance(result.get("how", ""), str):
        yield "how it ended is no text"
    reasons, counts = result.get("reasons", []), result.get("counts", {})
    if not isinstance(reasons, list | tuple) or not all(isinstance(r, str) for r in reasons):
        yield "its reasons are no texts"
    if not _mapping(counts) or not all(_count(n) for n in counts.values()):
        yield "its counts are no numbers"


def evidence_flaw(one: Evidence) -> str:
    """What is wrong with one observation; empty: nothing."""
    if one.kind not in EVIDENCE_CLASSES:
        return f"there is no class {str(one.kind)[:40]!r}"
    if not _text(one.subject) or not _text(one.outcome):
        return "its subject or its outcome is no text"
    if not _count(one.duration_us):
        return "its duration is no number of microseconds"
    if not isinstance(one.executed, str | None):
        return "what it executed is no digest"
    return "" if _mapping(one.detail) else "its details are no mapping"


def _is_run(value: Any) -> bool:
    return isinstance(value, str) and _RUN.fullmatch(value) is not None


def _text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _count(value: Any, least: int = 0) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value < _LONGEST


def _mapping(value: Any) -> bool:
    return isinstance(value, Mapping) and all(isinstance(key, str) for key in value)


def _time(value: Any) -> bool:
    if not isinstance(value, str) or len(value) > 40:
        return False
    try:
        micros(value)
    except ValueError:
        return False
    return True
