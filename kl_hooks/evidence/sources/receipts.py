"""Receipts as JSON lines: `kl evidence export` writes them, `kl evidence import receipts` imports
them.

Every ID is recomputed: an edited line is refused. A receipt of another store is marked, and is not
hard evidence. What tests executed may follow the receipts; it is published with them, and not
imported.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Final, TypeVar

from kl_hooks.evidence.executed import (
    EXECUTED_SCHEMA,
    NEWEST_SHARED,
    Executed,
    executed_from_dict,
    executed_of_run,
    executed_to_dict,
    runs_with_symbols,
)
from kl_hooks.evidence.journal import receipt_flaw
from kl_hooks.hookspecs import FileOfEvidence
from kl_hooks.model.canonical import canonical, replace_surrogates
from kl_hooks.model.problem import Problem
from kl_hooks.model.receipt import RECEIPT_SCHEMA, Evidence, Receipt, receipt_from_header
from kl_hooks.store.database import Database

_LONGEST: Final = 64 * 1024 * 1024
"""Bytes of a line; a receipt of a million tests is shorter."""


def to_lines(receipts: Iterable[Receipt]) -> Iterator[str]:
    """One line a receipt, sorted keys, no newline at its end."""
    for receipt in receipts:
        # one line a receipt in one spelling: two exports of one store can be compared byte by byte
        yield json.dumps(receipt.to_dict(), sort_keys=True, separators=(",", ":"))


def executed_lines(db: Database) -> Iterator[str]:
    """What the tests of the newest runs executed, a line for each run."""
    for run in runs_with_symbols(db, NEWEST_SHARED):
        if (executed := executed_of_run(db, run)) is not None:
            yield canonical(executed_to_dict(executed)).decode()


def read_executed_lines(file: FileOfEvidence) -> dict[str, Executed]:
    """Run → what its tests executed, of the lines that are that; whether a receipt vouches for it
    is not asked.
    """
    executed_by_run = {}
    for line in file.content.splitlines():
        if f'"schema":"{EXECUTED_SCHEMA}"'.encode() in line and len(line) <= _LONGEST:
            with suppress(ValueError, RecursionError):
                executed = executed_from_dict(replace_surrogates(json.loads(line)))
                executed_by_run[executed.run] = executed
    return executed_by_run


def read_lines(file: FileOfEvidence) -> Iterator[Receipt | Problem]:
    """What each non-empty line is: a receipt, or the problem with it."""
    return judged_lines(file, _read_receipt)


Accepted = TypeVar("Accepted")


def judged_lines(
    file: FileOfEvidence, read_line: Callable[[bytes], Accepted | str | None]
) -> Iterator[Accepted | Problem]:
    """What `read_line` makes of each non-empty line, or the problem with it. `read_line`: what a
    line is, why it is refused, or None for one to omit.
    """
    for number, line in enumerate(file.content.splitlines(), 1):
        if not line.strip():
            continue
        if len(line) <= _LONGEST:
            answer = read_line(line)
        else:
            answer = "longer than any receipt"
        if isinstance(answer, str):
            yield Problem(file.name, number, 1, f"refused: {answer}.")
        elif answer is not None:
            yield answer


def receipt_of(plain: Mapping[str, Any]) -> Receipt | str:
    """The receipt that `to_dict()` gave, its hashes computed again; or why it is none, in a few
    words. ValueError and others for another form.
    """
    evidence = tuple(Evidence.from_dict(part) for part in plain["evidence"])
    receipt = receipt_from_header(plain, evidence)
    if receipt.evidence_digest != plain["evidence_digest"]:
        return "its evidence was edited (digest differs)"
    if receipt.id != plain["id"]:
        return "it was edited (its hash is not its id)"
    return receipt_flaw(receipt) or receipt


def _read_receipt(line: bytes) -> Receipt | str | None:
    try:
        plain = replace_surrogates(json.loads(line))
        if "payloadType" in plain:
            return "a signed attestation; import it with: kl evidence import bundle"
        if plain.get("schema") == EXECUTED_SCHEMA:
            return None
        if plain.get("schema") != RECEIPT_SCHEMA:
            return f"schema {plain.get('schema')!r} is not {RECEIPT_SCHEMA!r}"
        return receipt_of(plain)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as problem:
        return f"not a receipt ({type(problem).__name__}: {problem})"
