"""From the records of one spool file to a Receipt. Pure; what does not make sense is left out and counted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from kl_hooks.model.ids import make
from kl_hooks.model.outcome import TEST_OUTCOMES
from kl_hooks.model.receipt import CLASSES, Evidence, Receipt

SPOOL_SCHEMA: Final = "kl.spool/1"
KILLED: Final = {"exit": None, "complete": False, "how": "killed", "verdict": "inconclusive"}


def receipt_of(records: Sequence[Any]) -> Receipt | None:
    """The receipt that these records make; None where they do not begin with an opening of a schema we know.

    Without an end record the run is incomplete: its result says `killed`, and the test that was running is an error.
    """
    if not records or not _is(records[0], "open") or records[0].get("schema") != SPOOL_SCHEMA:
        return None
    opening, end = records[0], next((r for r in reversed(records) if _is(r, "end")), None)
    evidence = tuple(sorted(_tests(records, end is None), key=lambda e: e.subject)) + tuple(_others(records))
    result = dict(end.get("result") or {}) if end else _killed(evidence)
    if end and (end.get("tests"), end.get("evidence")) != _written(records):
        result |= {"complete": False, "verdict": "inconclusive"}
        result["reasons"] = [*result.get("reasons", ()), "records of this run were lost before they were taken in"]
    return Receipt(
        run=str(opening["run"]),
        source=str(opening["source"]),
        observer=str(opening["observer"]),
        producer=str(opening.get("producer") or "unknown"),
        parent=opening.get("parent"),
        evidence=evidence,
        started=str(opening["started"]),
        ended=str(end["ended"] if end else opening["started"]),
        tree=opening.get("tree"),
        tree_all=opening.get("tree_all"),
        tree_end=end.get("tree_end") if end else None,
        moved=bool(end and end.get("moved")),
        head=opening.get("head"),
        branch=opening.get("branch"),
        dirty=bool(opening.get("dirty")),
        environment=opening.get("environment") or {},
        selection={**(opening.get("selection") or {}), **((end or {}).get("selection") or {})},
        result=result,
    )


def _is(record: Any, kind: str) -> bool:
    return isinstance(record, Mapping) and record.get("t") == kind


def _row(record: Any, kind: str) -> bool:
    return isinstance(record, list) and bool(record) and record[0] == kind


def _tests(records: Sequence[Any], killed: bool) -> Iterator[Evidence]:
    last: dict[str, Evidence] = {}
    running: str | None = None
    for record in records:
        if _row(record, "s") and len(record) == 2:
            running = record[1]
        elif _row(record, "t") and len(record) == 6 and record[2] in TEST_OUTCOMES:
            _, nodeid, outcome, micros, detail, running = record
            last[nodeid] = Evidence("TestResult", make("test", nodeid), outcome, int(micros), None, detail or {})
    if killed and running and running not in last:
        why = {"message": "the process ended while this test was running"}
        last[running] = Evidence("TestResult", make("test", running), "error", 0, None, why)
    yield from last.values()


def _others(records: Sequence[Any]) -> Iterator[Evidence]:
    for record in records:
        if _is(record, "evidence") and record.get("class") in CLASSES:
            yield Evidence.from_plain({k: v for k, v in record.items() if k != "t"})


def _written(records: Sequence[Any]) -> tuple[int, int]:
    return sum(_row(r, "t") for r in records), sum(_is(r, "evidence") for r in records)


def _killed(evidence: Sequence[Evidence]) -> dict[str, Any]:
    counts: dict[str, int] = {}
    for one in evidence:
        counts[one.outcome] = counts.get(one.outcome, 0) + 1
    return {**KILLED, "reasons": ["the process ended before the run did"], "counts": counts}
