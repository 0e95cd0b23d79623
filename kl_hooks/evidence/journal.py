"""Captures in the spool: from the records of a spool file to a receipt, and which files can be
imported.

Nothing that could not be understood is ever deleted: a file of a newer kl stays where it is, a
damaged one is quarantined under another name. A gate reads all of them (`unimported_captures`),
since the store may be locked, newer or full. The ledger is never edited, so one value of a wrong
type would trouble every later reading: everything that comes from a file is checked before it is
stored (`receipt_flaw`).
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from kl_hooks.clock import micros
from kl_hooks.evidence.capture import SPOOL_SCHEMA
from kl_hooks.evidence.spool_places import QUARANTINED, SpoolPlace, spool_places
from kl_hooks.model.definitions import NamedTuple, lazy_pattern
from kl_hooks.model.receipt import EVIDENCE_CLASSES, TEST_OUTCOMES, WAS_RUNNING, Evidence, Receipt
from kl_hooks.model.symbol import make_id
from kl_hooks.model.text import one_line
from kl_hooks.store.spool import (
    MAX_SPOOL_BYTES,
    SPOOL_SUFFIX,
    is_spool_file,
    pending_spools,
    read_spool,
    remove_nameless_spools,
)
from kl_hooks.workspace import Workspace

_FOREIGN: Final = (
    "was not written by this clone, so it proves nothing, and a run of yours may be missing:"
    " run the tests again, then delete it"
)
_RUN: Final = lazy_pattern(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
_GIT_ID: Final = lazy_pattern(r"[0-9a-f]{40}|[0-9a-f]{64}")
# SQLite's integers have 64 bits with a sign (sqlite.org/datatype3.html)
_LONGEST: Final = 1 << 63


def receipt_flaw(receipt: Receipt) -> str:
    """What is wrong with a receipt from a file, in a few words; empty: nothing."""
    flaws = (
        f"evidence {place}: {what}"
        for place, fact in enumerate(receipt.evidence)
        if (what := _evidence_flaw(fact))
    )
    return next(flaws, "") or _header_flaw(receipt)


def _header_flaw(receipt: Receipt) -> str:
    """The same where each piece of evidence has been checked already."""
    try:
        return next(_flaws(receipt), "") or ("" if receipt.id else "it has no id")
    except (TypeError, ValueError, RecursionError) as problem:
        return f"it can't be written down ({type(problem).__name__})"


def _flaws(receipt: Receipt) -> Iterator[str]:
    result = receipt.result
    rules: tuple[tuple[str, Sequence[str], Callable[[Any], bool]], ...] = (
        ("is no id", ("run",), lambda value: _matches(_RUN, value)),
        ("is no text", ("source", "observer", "producer"), _is_text),
        (
            "is no id of git",
            ("tree", "tree_all", "tree_end", "head"),
            lambda v: v is None or _matches(_GIT_ID, v),
        ),
        ("is no text", ("parent", "branch"), lambda value: isinstance(value, str | None)),
        ("is neither true nor false", ("moved", "dirty"), lambda value: isinstance(value, bool)),
        ("is no time", ("started", "ended"), _is_time),
        ("is no mapping", ("environment", "selection", "result"), _is_mapping),
    )
    for what, keys, sound in rules:
        yield from (f"its {key} {what}" for key in keys if not sound(getattr(receipt, key)))
    if not isinstance(result.get("complete"), bool) or not _is_text(result.get("verdict")):
        yield "its result states neither whether it is complete nor what it found"
    if result.get("exit") is not None and not _is_count(result["exit"], -_LONGEST):
        yield "its exit code is no number"
    if not isinstance(result.get("how", ""), str):
        yield "how it ended is no text"
    reasons = result.get("reasons", [])
    counts = result.get("counts", {})
    if not isinstance(reasons, list | tuple) or not all(isinstance(r, str) for r in reasons):
        yield "its reasons are no texts"
    if not _is_mapping(counts) or not all(_is_count(n) for n in counts.values()):
        yield "its counts are no numbers"


def _evidence_flaw(fact: Evidence) -> str:
    if fact.kind not in EVIDENCE_CLASSES:
        return f"there is no class {str(fact.kind)[:40]!r}"
    if not _is_text(fact.subject) or not _is_text(fact.outcome):
        return "its subject or its outcome is no text"
    if not _is_count(fact.duration_us):
        return "its duration is no number of microseconds"
    if not isinstance(fact.executed, str | None):
        return "what it executed is no digest"
    if _is_mapping(fact.detail):
        return ""
    return "its details are no mapping"


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _matches(pattern: re.Pattern[str], value: Any) -> bool:
    return isinstance(value, str) and pattern.fullmatch(value) is not None


def _is_count(value: Any, least: int = 0) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value < _LONGEST


def _is_mapping(value: Any) -> bool:
    return isinstance(value, Mapping) and all(isinstance(key, str) for key in value)


def _is_time(value: Any) -> bool:
    if not isinstance(value, str) or len(value) > 40:
        return False
    try:
        micros(value)
    except ValueError:
        return False
    return True


def receipt_from_records(records: Sequence[Any]) -> Receipt | None:
    """The receipt that these records make; None where they are no capture that this kl understands.

    Without an end record the run is incomplete: its result is `killed`, and the test that was
    running is an error.
    """
    if not records or _schema_of_records(records) != SPOOL_SCHEMA:
        return None
    opening = records[0]
    end = next((r for r in reversed(records) if _is(r, "end")), None)
    tests, lines = _tests(records, end is None)
    others = tuple(other for record in records if (other := _other(record)))
    # by name, not as they ran: under xdist each run has another order, and equal lists are stored
    # once (ADR-0003)
    evidence = tuple(sorted(tests, key=lambda e: e.subject)) + others
    result: dict[str, Any] = {
        "exit": None,
        "complete": False,
        "how": "killed",
        "verdict": "inconclusive",
        "reasons": ["the process ended before the run did"],
        "counts": dict(Counter(one.outcome for one in evidence)),
    }
    if end:
        result = dict(_mapping(end.get("result")))
    # the reader drops altered lines: only these numbers show that some are missing
    if end and (end.get("tests"), end.get("evidence")) != (lines, len(others)):
        result |= {"complete": False, "verdict": "inconclusive"}
        reasons = result.get("reasons")
        lost = "records of this run were lost before they were imported"
        result["reasons"] = [*(reasons if isinstance(reasons, list) else ()), lost]
    same = {
        key: opening.get(key)
        for key in ("run", "source", "observer", "parent", "started", "tree", "tree_all")
    }
    receipt = Receipt(
        **same,
        head=opening.get("head"),
        branch=opening.get("branch"),
        dirty=bool(opening.get("dirty")),
        producer=opening.get("producer") or "unknown",
        evidence=evidence,
        ended=end.get("ended") if end else opening.get("started"),
        tree_end=end.get("tree_end") if end else None,
        moved=bool(end and end.get("moved")),
        result=result,
        environment={
            **_mapping(opening.get("environment")),
            **_mapping((end or {}).get("environment")),
        },
        selection={**_mapping(opening.get("selection")), **_mapping((end or {}).get("selection"))},
    )
    if _header_flaw(receipt):
        return None
    return receipt


def _schema_of_records(records: Sequence[Any]) -> str | None:
    """The schema that the opening record names; None where the first record is none."""
    if records and _is(records[0], "open"):
        named = records[0].get("schema")
    else:
        named = None
    if isinstance(named, str):
        return named
    return None


def _is(record: Any, kind: str) -> bool:
    return isinstance(record, Mapping) and record.get("t") == kind


def _row(record: Any, kind: str) -> bool:
    return isinstance(record, list) and bool(record) and record[0] == kind


def _mapping(value: Any) -> Mapping[str, Any]:
    if isinstance(value, Mapping):
        return value
    return {}


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
    # each line names the test that starts next, so this is the one in which the process ended
    if killed and running and running not in last:
        why = {"message": WAS_RUNNING}
        last[running] = Evidence("TestResult", make_id("test", running), "error", 0, None, why)
    return list(last.values()), lines


def _test(record: Any) -> Evidence | None:
    """The result in a line of a test; None for anything else: the count in the end record then
    shows the loss.
    """
    if not _row(record, "t") or len(record) != 6:
        return None
    _, nodeid, outcome, micros, detail, following = record
    if (
        not isinstance(nodeid, str)
        or not isinstance(following, str | None)
        or not isinstance(detail, dict | None)
    ):
        return None
    if not isinstance(outcome, str) or outcome not in TEST_OUTCOMES:
        return None
    fact = Evidence("TestResult", make_id("test", nodeid), outcome, micros, None, detail or {})
    if _evidence_flaw(fact):
        return None
    return fact


def _other(record: Any) -> Evidence | None:
    if not _is(record, "evidence"):
        return None
    try:
        fact = Evidence.from_dict({k: v for k, v in record.items() if k != "t"})
    except (KeyError, TypeError, ValueError):
        return None
    if _evidence_flaw(fact):
        return None
    return fact


class PendingCapture(NamedTuple):
    """A spool file whose writer has ended."""

    path: Path
    origin: str
    receipt: Receipt | None
    bad: int
    """Lines that were torn or altered."""
    keep: bool
    """Not all of it is in the receipt: it is quarantined, not removed."""


def pending_captures(places: Iterable[SpoolPlace], now: int) -> tuple[list[PendingCapture], int]:
    """The files that can be imported, oldest first, and how many can't: still being written, or of
    a newer kl. `now`: microseconds.
    """
    captures = []
    waiting = 0
    for path, place in _pending_files(places, now):
        try:
            spool = read_spool(path, place.key)
        except OSError:
            waiting += 1
            continue
        schema = _schema_of_records(spool.records)
        if spool.busy or (schema and schema != SPOOL_SCHEMA):
            waiting += 1
            continue
        receipt = receipt_from_records(spool.records)
        empty = not spool.records and not spool.bad
        # in the working tree, a file that is no capture may be somebody's own: it stays as it is
        if receipt or not place.in_working_tree:
            quarantine = spool.cut or not (receipt or empty)
            captures.append(PendingCapture(path, place.origin, receipt, spool.bad, quarantine))
    return captures, waiting


def unimported_captures(
    places: Iterable[SpoolPlace],
) -> tuple[list[tuple[Receipt, str]], list[str]]:
    """Return the captures in the spools with their origin, in the order of an import, and what
    can't be read.

    Changes nothing. What is still being written is in neither: it is not finished. Read the spools
    before the store: a file that another process imports in between is then in both, never in none.
    """
    captures: list[tuple[Receipt, str]] = []
    unread: list[str] = []
    for place in places:
        try:
            paths = _spool_files(place.folder)
        except OSError as problem:
            unread.append(f"{place.folder} can't be read ({problem.strerror})")
            continue
        for path in filter(place.owns, paths):
            receipt, flaw = _capture(path, place.key)
            if place.in_working_tree and not receipt:
                # whoever made the archive or submodule that brought it could have written it
                if is_spool_file(path):
                    flaw = _FOREIGN
                else:
                    flaw = ""
            if receipt:
                captures += [(receipt, place.origin)]
            if flaw:
                unread += [f"{path} {flaw}"]
    return captures, unread


def _spool_files(directory: Path) -> list[Path]:
    """The spool files, quarantined ones first, oldest first. OSError where the directory can't be
    listed.
    """
    if (
        not directory.is_dir()
    ):  # also where a folder above it may not be entered: then no capture of ours is in it
        return []
    # first: a file that is quarantined meanwhile is then in one of the two
    pending = pending_spools(directory)
    with os.scandir(directory) as entries:
        named = [entry for entry in entries if entry.name.endswith(SPOOL_SUFFIX + QUARANTINED)]
        # a larger one was cut, and what could be read of it is in the store
        paths = sorted(
            one.path for one in named if one.stat(follow_symlinks=False).st_size <= MAX_SPOOL_BYTES
        )
    return [*map(Path, paths), *pending]


def _capture(path: Path, key: bytes) -> tuple[Receipt | None, str]:
    """The capture in this file, or why it can't be read; neither where there is none or it is not
    finished.
    """
    try:
        spool = read_spool(path, key)
    except FileNotFoundError:  # another process has imported it
        return None, ""
    except OSError as problem:
        return None, f"can't be read ({problem.strerror})"
    schema = _schema_of_records(spool.records)
    if spool.busy or not (spool.records or spool.bad):
        return None, ""
    if schema and schema != SPOOL_SCHEMA:
        return None, f"was written by another version of kl (schema {one_line(schema, 40)})"
    receipt = receipt_from_records(spool.records)
    return (
        receipt,
        "" if receipt else "holds no capture that can be understood; look at it, then delete it",
    )


def remove_or_quarantine(pending: PendingCapture) -> Path | None:
    """Remove a file from the spool once its receipt is durable; its new path, if it was
    quarantined. OSError.
    """
    if not pending.keep:
        pending.path.unlink(missing_ok=True)
        return None
    aside = pending.path.with_name(pending.path.name + QUARANTINED)
    with suppress(FileNotFoundError):  # another process was faster
        pending.path.replace(aside)
    return aside


def _pending_files(places: Iterable[SpoolPlace], now: int) -> Iterator[tuple[Path, SpoolPlace]]:
    for place in places:
        if not place.in_working_tree:
            remove_nameless_spools(place.folder, now / 1_000_000)
        for path in pending_spools(place.folder):
            if place.believes(path):
                yield path, place


def pending_receipt_id(ws: Workspace, run: str) -> str:
    """64 hexadecimal digits; empty where no capture of this run waits in a spool."""
    for place in spool_places(ws):
        try:
            spool = read_spool(place.folder / f"{run}{SPOOL_SUFFIX}", place.key)
        except OSError:
            continue
        if receipt := receipt_from_records(spool.records):
            return receipt.id
    return ""
