"""Taking in evidence from a file, by the reader of that name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kl_hooks.clock import iso
from kl_hooks.errors import UsageProblem
from kl_hooks.evidence.ledger import append
from kl_hooks.evidence.mark import ledger_for_adding
from kl_hooks.evidence.shape import flaw
from kl_hooks.evidence.who import producer
from kl_hooks.hookspecs import FileOfEvidence, Source
from kl_hooks.model.problem import Problem
from kl_hooks.model.receipt import Receipt
from kl_hooks.store.redaction import redact, redact_value
from kl_hooks.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Imported:
    """What came of one file."""

    new: int
    known: int
    """Receipts that were here already."""
    problems: tuple[Problem, ...]


def sources(ws: Workspace) -> dict[str, Source]:
    """The readers, by name; the first of a name wins."""
    found: dict[str, Source] = {}
    for answer in ws.plugins.hook.kl_sources():
        for source in answer:
            found.setdefault(source.name, source)
    return found


def import_file(ws: Workspace, kind: str, name: str, content: bytes, tree: str | None) -> Imported:
    """Reads a file and keeps what it holds. UsageProblem for an unknown reader or a file that is none of its kind."""
    known = sources(ws)
    if kind not in known:
        raise UsageProblem(f"there is no reader {kind!r}.", hint=f"Readers: {', '.join(sorted(known))}.")
    file = FileOfEvidence(name, content, redact(producer(ws.environ)), iso(ws.clock.now()), tree)
    receipts, problems = [], []
    for number, one in enumerate(known[kind].read(file), 1):
        wrong = one if isinstance(one, Problem) else _refused(one, name, number)
        if wrong:
            problems.append(wrong)
        elif isinstance(one, Receipt):
            receipts.append(one)
    new = _keep(ws, receipts, f"imported:{kind}" if kind == "receipts" else "local") if receipts else 0
    return Imported(new, len(receipts) - new, tuple(problems))


def _refused(receipt: Receipt, name: str, number: int) -> Problem | None:
    """Why a receipt is not taken in, whoever read it: an id can't be kept where the content must be changed."""
    if found := flaw(receipt):
        return Problem(name, number, 1, f"refused: {found}.")
    if redact_value(receipt.plain()) != receipt.plain():
        return Problem(name, number, 1, "refused: it holds what looks like a secret. Export it anew.")
    return None


def _keep(ws: Workspace, receipts: Sequence[Receipt], origin: str) -> int:
    with ledger_for_adding(ws) as db:
        runs = {row[0] for row in db.rows("SELECT run FROM receipt WHERE source = 'junit'")}
        return append(db, [r for r in receipts if r.source != "junit" or r.run not in runs], origin)
