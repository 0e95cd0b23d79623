"""Captures in the spool: from the records of a spool file to a receipt, and which files can be imported.

Nothing that could not be understood is ever deleted: a file of a newer kl stays where it is, a damaged one is
quarantined under another name. A gate reads all of them (`unimported_captures`), since the store may be locked,
newer or full. The ledger is never edited, so one value of a wrong type would trouble every later reading:
everything that comes from a file is checked before it is stored (`receipt_flaw`).
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from kl_hooks.clock import micros
from kl_hooks.errors import EnvironmentProblem
from kl_hooks.evidence.capture import IN_CHECKOUT, SPOOL_SCHEMA, spool_folders
from kl_hooks.git.repository import is_tracked
from kl_hooks.model.receipt import EVIDENCE_CLASSES, TEST_OUTCOMES, Evidence, Receipt
from kl_hooks.model.symbol import make_id
from kl_hooks.model.text import one_line
from kl_hooks.store.spool import MAX_SPOOL_BYTES, SPOOL_SUFFIX, pending_spools, read_spool, remove_nameless_spools
from kl_hooks.workspace import Workspace

_RUN: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
_GIT_ID: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_LONGEST: Final = 1 << 63
_TEXTS: Final = ("source", "observer", "producer")
_GIT_IDS: Final = ("tree", "tree_all", "tree_end", "head")
_MAYBE_TEXTS: Final = ("parent", "branch")
_FLAGS: Final = ("moved", "dirty")
_MAPPINGS: Final = ("environment", "selection", "result")


def receipt_flaw(receipt: Receipt) -> str:
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
    yield from (f"its {k} is no text" for k in _TEXTS if not _is_text(getattr(receipt, k)))
    for key in _GIT_IDS:
        value = getattr(receipt, key)
        if value is not None and not (isinstance(value, str) and _GIT_ID.fullmatch(value)):
            yield f"its {key} is no id of git"
    yield from (f"its {k} is no text" for k in _MAYBE_TEXTS if not isinstance(getattr(receipt, k), str | None))
    yield from (f"its {k} is neither true nor false" for k in _FLAGS if not isinstance(getattr(receipt, k), bool))
    yield from (f"its {k} is no time" for k in ("started", "ended") if not _is_time(getattr(receipt, k)))
    yield from (f"its {k} is no mapping" for k in _MAPPINGS if not _is_mapping(getattr(receipt, k)))
    yield from _result_flaws(receipt.result)


def _result_flaws(result: Mapping[str, Any]) -> Iterator[str]:
    if not isinstance(result.get("complete"), bool) or not _is_text(result.get("verdict")):
        yield "its result states neither whether it is complete nor what it found"
    if result.get("exit") is not None and not _is_count(result["exit"], -_LONGEST):
        yield "its exit code is no number"
    if not isinstance(result.get("how", ""), str):
        yield "how it ended is no text"
    reasons, counts = result.get("reasons", []), result.get("counts", {})
    if not isinstance(reasons, list | tuple) or not all(isinstance(r, str) for r in reasons):
        yield "its reasons are no texts"
    if not _is_mapping(counts) or not all(_is_count(n) for n in counts.values()):
        yield "its counts are no numbers"


def evidence_flaw(one: Evidence) -> str:
    """What is wrong with one observation; empty: nothing."""
    if one.kind not in EVIDENCE_CLASSES:
        return f"there is no class {str(one.kind)[:40]!r}"
    if not _is_text(one.subject) or not _is_text(one.outcome):
        return "its subject or its outcome is no text"
    if not _is_count(one.duration_us):
        return "its duration is no number of microseconds"
    if not isinstance(one.executed, str | None):
        return "what it executed is no digest"
    return "" if _is_mapping(one.detail) else "its details are no mapping"


def _is_run(value: Any) -> bool:
    return isinstance(value, str) and _RUN.fullmatch(value) is not None


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


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


KILLED: Final = {"exit": None, "complete": False, "how": "killed", "verdict": "inconclusive"}


def receipt_from_records(records: Sequence[Any]) -> Receipt | None:
    """The receipt that these records make; None where they are no capture that this kl understands.

    Without an end record the run is incomplete: its result is `killed`, and the test that was running is an error.
    """
    if not records or schema_of_records(records) != SPOOL_SCHEMA:
        return None
    opening, end = records[0], next((r for r in reversed(records) if _is(r, "end")), None)
    tests, lines = _tests(records, end is None)
    others = tuple(other for record in records if (other := _other(record)))
    evidence = tuple(sorted(tests, key=lambda e: e.subject)) + others
    result = dict(_mapping(end.get("result"))) if end else _killed(evidence)
    if end and (end.get("tests"), end.get("evidence")) != (lines, len(others)):
        result |= {"complete": False, "verdict": "inconclusive"}
        result["reasons"] = [*_list(result.get("reasons")), "records of this run were lost before they were imported"]
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


def schema_of_records(records: Sequence[Any]) -> str | None:
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
    """The result in a line of a test; None for anything else: the count in the end record then shows the loss."""
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
        made = Evidence.from_dict({k: v for k, v in record.items() if k != "t"})
    except (KeyError, TypeError, ValueError):
        return None
    return None if evidence_flaw(made) else made


def _killed(evidence: Sequence[Evidence]) -> dict[str, Any]:
    counts: dict[str, int] = {}
    for one in evidence:
        counts[one.outcome] = counts.get(one.outcome, 0) + 1
    return {**KILLED, "reasons": ["the process ended before the run did"], "counts": counts}


QUARANTINED: Final = ".aside"
"""Added to the name of a file that holds something, and no capture."""


@dataclass(frozen=True, slots=True)
class PendingCapture:
    """A spool file whose writer has ended."""

    path: Path
    origin: str
    receipt: Receipt | None
    bad: int
    """Lines that were torn or altered."""
    keep: bool
    """Not all of it is in the receipt: it is set aside, not removed."""


def pending_captures(ws: Workspace) -> tuple[list[PendingCapture], int]:
    """The files that can be imported, oldest first, and how many can't: still being written, or of a newer kl."""
    found, left = [], 0
    for path, origin in _pending_files(ws):
        try:
            spool = read_spool(path)
        except OSError:
            left += 1
            continue
        schema = schema_of_records(spool.records)
        if spool.busy or (schema and schema != SPOOL_SCHEMA):
            left += 1
            continue
        receipt = receipt_from_records(spool.records)
        empty = not spool.records and not spool.bad
        if receipt or origin != IN_CHECKOUT:
            found.append(PendingCapture(path, origin, receipt, spool.bad, spool.cut or not (receipt or empty)))
    return found, left


def unimported_captures(ws: Workspace) -> tuple[list[tuple[Receipt, str]], list[str]]:
    """Return the captures in the spools with their origin, in the order of an import, and what can't be read.

    Changes nothing. What is still being written is in neither: it is not finished. Read the spools before the store:
    a file that another process imports in between is then in both, never in none.
    """
    found: list[tuple[Receipt, str]] = []
    unread: list[str] = []
    for directory, origin in spool_folders(ws):
        try:
            paths = _spool_files(directory)
        except OSError as problem:
            unread.append(f"{directory} can't be read ({problem.strerror})")
            continue
        for path in paths:
            if origin == IN_CHECKOUT and not _is_ours(ws, path):
                continue
            receipt, problem_there = _capture(path)
            found += [(receipt, origin)] if receipt else []
            unread += [f"{path} {problem_there}"] if problem_there else []
    return found, unread


def _spool_files(directory: Path) -> list[Path]:
    """The spool files, those set aside among them, oldest first. OSError where the directory can't be listed."""
    if not directory.is_dir():  # also where a folder above it may not be entered: then no capture of ours is in it
        return []
    waiting_now = pending_spools(
        directory
    )  # first: a file that is set aside meanwhile is then in one of the two at least
    with os.scandir(directory) as entries:
        aside = sorted(
            entry.path
            for entry in entries
            # a larger one was cut, and what could be read of it is in the store
            if entry.name.endswith(SPOOL_SUFFIX + QUARANTINED)
            and entry.stat(follow_symlinks=False).st_size <= MAX_SPOOL_BYTES
        )
    return [*map(Path, aside), *waiting_now]


def _capture(path: Path) -> tuple[Receipt | None, str]:
    """The capture in this file, or why it can't be read; neither where there is none or it is not finished."""
    try:
        spool = read_spool(path)
    except FileNotFoundError:  # another process has imported it
        return None, ""
    except OSError as problem:
        return None, f"can't be read ({problem.strerror})"
    schema = schema_of_records(spool.records)
    if spool.busy or not (spool.records or spool.bad):
        return None, ""
    if schema and schema != SPOOL_SCHEMA:
        return None, f"was written by another version of kl (schema {one_line(schema, 40)})"
    receipt = receipt_from_records(spool.records)
    return receipt, "" if receipt else "holds no capture that can be understood; look at it, then delete it"


def remove_or_quarantine(one: PendingCapture) -> Path | None:
    """Takes a file out of the spool once its receipt is durable; where it lies now, if it was set aside. OSError."""
    if not one.keep:
        one.path.unlink(missing_ok=True)
        return None
    aside = one.path.with_name(one.path.name + QUARANTINED)
    with suppress(FileNotFoundError):  # somebody was faster
        one.path.replace(aside)
    return aside


def _pending_files(ws: Workspace) -> Iterator[tuple[Path, str]]:
    for directory, origin in spool_folders(ws):
        if origin != IN_CHECKOUT:
            remove_nameless_spools(directory, ws.clock.now() / 1_000_000)
        for path in pending_spools(directory):
            if origin != IN_CHECKOUT or _is_ours(ws, path):
                yield path, origin


def _is_ours(ws: Workspace, path: Path) -> bool:
    """A spool file in the working tree may belong to the repository: only untracked files of this user count."""
    try:
        status = path.lstat()
        mine = stat.S_ISREG(status.st_mode) and status.st_uid == os.getuid()
        return mine and not (ws.repo and is_tracked(ws.repo, path))
    except (EnvironmentProblem, OSError):
        return False


def pending_receipt_id(ws: Workspace, run: str) -> str:
    """64 hexadecimal digits; empty where no capture of this run waits in a spool."""
    for folder, _ in spool_folders(ws):
        try:
            receipt = receipt_from_records(read_spool(folder / f"{run}{SPOOL_SUFFIX}").records)
        except OSError:
            continue
        if receipt:
            return receipt.id
    return ""
