"""From the records of one spool file to a Receipt. Pure; what does not make sense is left out and counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from kl_hooks.evidence.shape import evidence_flaw, header_flaw
from kl_hooks.evidence.spools import SPOOL_SCHEMA
from kl_hooks.model.receipt import TEST_OUTCOMES, Evidence, Receipt
from kl_hooks.model.symbol import make_id

KILLED: Final = {"exit": None, "complete": False, "how": "killed", "verdict": "inconclusive"}


def receipt_of(records: Sequence[Any]) -> Receipt | None:
    """The receipt that these records make; None where they are no capture that this kl understands.

    Without an end record the run is incomplete: its result says `killed`, and the test that was running is an error.
    """
    if not records or schema_of(records) != SPOOL_SCHEMA:
        return None
    opening, end = records[0], next((r for r in reversed(records) if _is(r, "end")), None)
    tests, lines = _tests(records, end is None)
    others = tuple(other for record in records if (other := _other(record)))
    evidence = tuple(sorted(tests, key=lambda e: e.subject)) + others
    result = dict(_mapping(end.get("result"))) if end else _killed(evidence)
    if end and (end.get("tests"), end.get("evidence")) != (lines, len(others)):
        result |= {"complete": False, "verdict": "inconclusive"}
        result["reasons"] = [*_list(result.get("reasons")), "records of this run were lost before they were taken in"]
    receipt = Receipt(
        run=opening.get("run"),
        source=opening.get("source"),
        observer=opening.get("observer"),
        producer=opening.get("producer") or "unknown",
        parent=opening.get("parent"),
        evidence=evidence,
        started=opening.get("started"),
        ended=end.get("ended") if end else opening.get("started"),
        tree=opening.get("tree"),
        tree_all=opening.get("tree_all"),
        tree_end=end.get("tree_end") if end else None,
        moved=bool(end and end.get("moved")),
        head=opening.get("head"),
        branch=opening.get("branch"),
        dirty=bool(opening.get("dirty")),
        environment={**_mapping(opening.get("environment")), **_mapping((end or {}).get("environment"))},
        selection={**_mapping(opening.get("selection")), **_mapping((end or {}).get("selection"))},
        result=result,
    )
    return None if header_flaw(receipt) else receipt


def schema_of(records: Sequence[Any]) -> str | None:
    """The schema that the opening record names; None where the first record is none."""
    named = records[0].get("schema") if records and _is(records[0], "open") else None
    return named if isinstance(named, str) else None


def _is(record: Any, kind: str) -> bool:
    return isinstance(record, Mapping) and record.get("t") == kind


def _row(record: Any, kind: str) -> bool:
    return isinstance(record, list) and bool(record) and record[0] == kind


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _tests(records: Sequence[Any], killed: bool) -> tuple[list[Evidence], int]:
    """The tests, the last line of each counting, and how many lines there were."""
    last: dict[str, Evidence] = {}
    running: str | None = None
    lines = 0
    for record in records:
        if _row(record, "s") and len(record) == 2 and isinstance(record[1], str):
            running = record[1]
        elif test := _test(record):
            last[record[1]], running = test, record[5]
            lines += 1
    if killed and running and running not in last:
        why = {"message": "the process ended while this test was running"}
        last[running] = Evidence("TestResult", make_id("test", running), "error", 0, None, why)
    return list(last.values()), lines


def _test(record: Any) -> Evidence | None:
    """What a line of a test says; None for anything else: an end record that counts it then tells that it was lost."""
    if not _row(record, "t") or len(record) != 6:
        return None
    _, nodeid, outcome, micros, detail, following = record
    if not isinstance(nodeid, str) or not isinstance(following, str | None) or not isinstance(detail, dict | None):
        return None
    if not isinstance(outcome, str) or outcome not in TEST_OUTCOMES:
        return None
    made = Evidence("TestResult", make_id("test", nodeid), outcome, micros, None, detail or {})
    return None if evidence_flaw(made) else made


def _other(record: Any) -> Evidence | None:
    if not _is(record, "evidence"):
        return None
    try:
        made = Evidence.from_plain({k: v for k, v in record.items() if k != "t"})
    except (KeyError, TypeError, ValueError):
        return None
    return None if evidence_flaw(made) else made


def _killed(evidence: Sequence[Evidence]) -> dict[str, Any]:
    counts: dict[str, int] = {}
    for one in evidence:
        counts[one.outcome] = counts.get(one.outcome, 0) + 1
    return {**KILLED, "reasons": ["the process ended before the run did"], "counts": counts}
