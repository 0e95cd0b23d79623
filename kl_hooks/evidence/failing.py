"""The newest runs of tests, with the results of those tests only that failed in one of them: few in any suite."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from kl_hooks.evidence.columns import unpack_codes
from kl_hooks.evidence.ledger import UNREADABLE, Entry, test_names
from kl_hooks.model.receipt import REFUTES, TEST_OUTCOMES, Evidence, receipt_from_header
from kl_hooks.store.database import Database

_BAD: Final = frozenset(code for code, outcome in enumerate(TEST_OUTCOMES) if outcome in REFUTES)
_NAME: Final = "test:"


@dataclass
class _Run:
    """One run, as far as it has been read."""

    row: Sequence[Any]
    names: Sequence[str] = ()
    codes: bytes = b""
    special: list[Evidence] = field(default_factory=list)
    """Results with details, failures with their messages among them."""


def failing(db: Database, limit: int, source: str) -> list[Entry]:
    """The newest runs of a source, newest first. A row that somebody edited is left out."""
    rows = db.rows(
        "SELECT seq, id, chain, origin, header, test_list, outcomes FROM receipt WHERE source = ?"
        " ORDER BY seq DESC LIMIT ?",
        (source, limit),
    )
    lists: dict[int, list[str]] = {}
    runs = [run for row in rows if (run := _run(db, row, lists))]
    wanted = {name for run in runs for name in _failed(run)}
    return [_entry(run, wanted) for run in runs]


def _run(db: Database, row: Sequence[Any], lists: dict[int, list[str]]) -> _Run | None:
    run = _Run(row)
    try:
        if row[5] is not None:
            if row[5] not in lists:
                lists[row[5]] = test_names(db, row[5])
            run.names = lists[row[5]]
            run.codes = unpack_codes(row[6], len(run.names))
        for (body,) in db.rows("SELECT body FROM evidence WHERE receipt = ? ORDER BY position", (row[0],)):
            run.special.append(Evidence.from_plain(json.loads(body)))
    except UNREADABLE:
        return None
    return run


def _failed(run: _Run) -> Iterator[str]:
    if not _BAD.isdisjoint(run.codes):
        yield from (name for name, code in zip(run.names, run.codes, strict=True) if code in _BAD)
    yield from (one.subject.removeprefix(_NAME) for one in run.special if one.outcome in REFUTES)


def _entry(run: _Run, wanted: set[str]) -> Entry:
    seq, id, chain, origin, header, _, _ = run.row
    told = {one.subject for one in run.special}
    plain = [
        Evidence("TestResult", _NAME + name, TEST_OUTCOMES[code])
        for name, code in zip(run.names, run.codes, strict=True)
        if name in wanted and _NAME + name not in told
    ]
    receipt = receipt_from_header(
        json.loads(header), tuple(plain + [one for one in run.special if one.kind == "TestResult"])
    )
    return Entry(seq, str(chain), str(origin), str(id), receipt)
