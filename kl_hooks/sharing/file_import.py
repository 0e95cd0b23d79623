"""Importing evidence from a file that something else wrote: a report, receipts, a signed bundle."""

from __future__ import annotations

from typing import Final

from kl_hooks.clock import iso
from kl_hooks.errors import UsageProblem
from kl_hooks.evidence.provenance import producer
from kl_hooks.evidence.trust import IMPORTED
from kl_hooks.hookspecs import FileOfEvidence, Source
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.problem import Problem
from kl_hooks.model.receipt import SignedReceipt
from kl_hooks.sharing.attestation import add_receipts, import_flaw
from kl_hooks.store.redaction import redact
from kl_hooks.workspace import Workspace

_TEST: Final = "test:"
_RECEIPTS: Final = ("receipts", "bundle")
"""The readers of what kl wrote, which stays as it is."""


class Imported(NamedTuple):
    """The result of importing one file."""

    new: int
    known: int
    """Receipts that are in the store already."""
    problems: tuple[Problem, ...]


def readers(ws: Workspace) -> dict[str, Source]:
    """The readers, by name; the first of a name wins."""
    return {
        source.name: source
        for answer in reversed(ws.plugins.hook.kl_sources())
        for source in reversed(answer)
    }


def import_file(ws: Workspace, kind: str, name: str, content: bytes, tree: str | None) -> Imported:
    """Read a file and store its receipts. UsageProblem for an unknown reader, or a file that it
    can't read.
    """
    sources = readers(ws)
    if kind not in sources:
        raise UsageProblem(
            f"there is no reader {kind!r}.", hint=f"Readers: {', '.join(sorted(sources))}."
        )
    file = FileOfEvidence(name, content, redact(producer(ws.environ)), iso(ws.clock.now()), tree)
    receipts: list[SignedReceipt] = []
    problems: list[Problem] = []
    for number, entry in enumerate(sources[kind].read(file), 1):
        if isinstance(entry, Problem):
            problems.append(entry)
            continue
        if isinstance(entry, SignedReceipt):
            signed = entry
        else:
            signed = SignedReceipt(entry, ())
        if flaw := import_flaw(signed.receipt):
            problems.append(Problem(name, number, 1, f"refused: {flaw}."))
        else:
            receipts.append(signed)
    if kind not in _RECEIPTS:
        receipts = _named_as_in_graph(ws, receipts)
    # receipts were made elsewhere: what they weigh is decided by signatures, when they are read
    # (ADR-0003, ADR-0037); other files become receipts here
    new = add_receipts(ws, receipts, f"{IMPORTED}:{kind}" if kind in _RECEIPTS else "local")
    return Imported(new, len(receipts) - new, tuple(problems))


def _named_as_in_graph(ws: Workspace, receipts: list[SignedReceipt]) -> list[SignedReceipt]:
    """The receipts of a report, in which tests that the code graph has are called as there: so that
    what is shown of code has their results.
    """
    from kl_hooks.code.languages import language_of
    from kl_hooks.code.query.reported_tests import tests_by_reported_name
    from kl_hooks.code.query.session import open_graph

    reported = {
        name
        for signed in receipts
        for evidence in signed.receipt.evidence
        if evidence.subject.startswith(_TEST)
        # pytest's own names; the graph of a project of Python alone need not be read for them
        and language_of((name := evidence.subject.removeprefix(_TEST)).partition("::")[0])
        != "Python"
    }
    if ws.repo is None or not reported:
        return receipts
    with open_graph(ws) as graph:
        renamed = tests_by_reported_name(graph.db, reported)
    return [
        signed._replace(
            receipt=signed.receipt._replace(
                evidence=tuple(
                    # the report named no file of it
                    evidence._replace(subject=_TEST + redact(renamed[name]))
                    if (name := evidence.subject.removeprefix(_TEST)) in renamed
                    else evidence
                    for evidence in signed.receipt.evidence
                )
            )
        )
        for signed in receipts
    ]
