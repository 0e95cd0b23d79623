"""`kl evidence list · show · import · export · verify · accept`, and how receipts are printed.

A run is named by the first 8 digits of its ID, as pytest's line names it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kl_hooks.cli.output import (
    counted,
    echo,
    echo_lines,
    short,
    warn,
    workspace,
    write,
    write_file,
)
from kl_hooks.cli.request_options import operation_command
from kl_hooks.errors import CLEAN, FINDINGS
from kl_hooks.evidence.ledger import Entry
from kl_hooks.evidence.trust import ATTESTED, IMPORTED, observation
from kl_hooks.model.claim import tier_words
from kl_hooks.model.receipt import Receipt, run_outcome
from kl_hooks.model.text import one_line
from kl_hooks.operations import evidence as operations
from kl_hooks.proof.acceptance import accepted_line
from kl_hooks.proof.verdict_text import outcome_counts

if TYPE_CHECKING:
    from kl_hooks.evidence.integrity import Audit
    from kl_hooks.model.problem import Problem
    from kl_hooks.records.events import Event


def receipt_line(entry: Entry) -> str:
    """`5d1e0a77  2026-11-21 22:58  pytest    passed  tree 3f9a1c2  211 passed, 2 skipped`, in
    columns.
    """
    receipt = entry.receipt
    when = receipt.ended[:16].replace("T", " ")
    word = run_outcome(receipt.result)
    what = f"{receipt.source:<8} {word:<16} {_tree_label(receipt):<18} {outcome_counts(receipt)}"
    if entry.origin.startswith((IMPORTED, *ATTESTED)):
        foreign = entry.origin.partition(";")[0]
    else:
        foreign = ""
    return f"{short(receipt.run, 8)}  {when}  {what}{'  ' + foreign if foreign else ''}".rstrip()


def _tree_label(receipt: Receipt) -> str:
    """`tree 3f9a1c2`, with `+dirty` where it was not the commit's, `moved` where it changed under
    way.
    """
    label = f"tree {short(receipt.tree, 7)}"
    if receipt.dirty:
        label += "+dirty"
    if receipt.moved:
        label += " moved"
    return label


def _receipt_lines(entry: Entry) -> Iterator[str]:
    """The whole receipt: its facts, what failed, what it weighs."""
    r = entry.receipt
    if r.parent:
        parent = f", inside run {short(r.parent, 8)}"
    else:
        parent = ""
    yield f"run       {short(r.run, 8)}   {r.source}, seen by {r.observer}{parent}"
    yield f"by        {r.producer}   {r.started} to {r.ended}   origin {entry.origin}"
    if entry.origin.startswith(ATTESTED):
        yield (
            "          signed with a key that you trust: its owner vouches for it; no more is"
            " proven"
        )
    yield (
        f"content   {_tree_label(r)} ({short(r.tree, 40)})   head {short(r.head)}   branch"
        f" {r.branch or 'none'}"
    )
    yield f"verdict   {run_outcome(r.result)}   {outcome_counts(r)}   exit {r.result.get('exit')}"
    for reason in r.result.get("reasons") or ():
        yield f"          {reason}"
    limits = {
        k: v
        for k, v in r.selection.items()
        if v not in (None, "", [], False) and k != "deselected_files"
    }
    if limits:
        yield "selection " + ", ".join(f"{k} {v}" for k, v in limits.items())
    if modules := _imported_modules(r.environment.get("imported")):
        yield f"imported  {modules}"
    yield from _evidence_lines(entry)


def _imported_modules(found: object) -> str:
    """Return the origin of the modules of a run, in one line; empty where it was not recorded."""
    if not isinstance(found, Mapping):
        return ""
    total = found.get("total")
    if not isinstance(total, Mapping):
        total = {}

    def rows(key: str) -> tuple[list[str], int]:
        listed = found.get(key)
        if not isinstance(listed, list | tuple):
            listed = []
        names = [str(one.get("module")) if isinstance(one, Mapping) else str(one) for one in listed]
        return names[:3], total.get(key) or len(names)

    parts = [f"{counted(found.get('in_place') or 0, 'module')} in place"]
    if same := found.get("same"):
        if same == 1:
            copies = "1 installed copy"
        else:
            copies = f"{same} installed copies"
        parts.append(f"{copies}, same content ({_first_names(rows('same_first')[0], same)})")
    if compiled := found.get("compiled"):
        parts.append(
            f"{counted(compiled, 'compiled module')} {'was' if compiled == 1 else 'were'} not"
            " compared"
        )
    for key, words in (
        ("generated", "generated"),
        ("different", "different"),
        ("missing", "not in this checkout"),
        ("not_compared", "could not be compared"),
    ):
        names, number = rows(key)
        if names:
            parts.append(f"{words}: {_first_names(names, number)}")
    return ", ".join(parts)


def _first_names(names: list[str], number: int) -> str:
    if number > len(names):
        more = f" and {number - len(names)} more"
    else:
        more = ""
    return one_line(", ".join(names), 200) + more


def _evidence_lines(entry: Entry) -> Iterator[str]:
    if entry.folded:
        yield (
            f"evidence  folded on {entry.folded}: the results of its tests were removed, their"
            " digest is stored"
        )
        return
    # what a reader looks for comes first: 40 rows are shown
    order = {"failed": 0, "error": 1, "flaky": 2, "xpassed": 3}
    shown = sorted(entry.receipt.evidence, key=lambda e: (order.get(e.outcome, 9), e.subject))
    yield f"evidence  {counted(len(shown), 'observation')}"
    for one in shown[:40]:
        weak = observation(entry.receipt, one, entry.origin).why_not
        yield f"  {one.outcome:<9} {one_line(one.subject, 120)}" + (
            f"   not hard: {weak}" if weak else ""
        )
        for key in ("message", "tail"):
            if text := one.detail.get(key):
                yield from (f"            {row}" for row in str(text).splitlines()[-12:])
    if len(shown) > 40:
        yield f"  … and {len(shown) - 40} more: --format json shows all"


_SHOWN_TESTS = 40
_SHOWN_COMMITS = 10


def _path_from_root(root: Path, given: str) -> str:
    """A path in the current folder as seen from the root of the repository; anything else as it
    is.
    """
    path, colons, rest = given.partition("::")
    here = Path(os.path.abspath(path))  # noqa: PTH100
    if here.exists() and here.is_relative_to(root):
        return here.relative_to(root).as_posix() + colons + rest
    return given


def _known_lines(recorded: operations.RecordedHistory) -> Iterator[str]:
    """For people: tests that do not pass first."""
    history = recorded.history
    tests = sorted(history.tests, key=lambda result: result.evidence.outcome == "passed")
    for result in tests[:_SHOWN_TESTS]:
        when = result.entry.receipt.ended[:16].replace("T", " ")
        if recorded.is_current(result):
            where = "this content"
        else:
            where = f"tree {short(result.entry.receipt.tree, 7)}"
        name = one_line(result.evidence.subject.removeprefix("test:"), 120)
        yield (
            f"{result.evidence.outcome:<9} {name}   run {short(result.entry.receipt.run, 8)} "
            f" {when}  {where}"
        )
    if len(tests) > _SHOWN_TESTS:
        yield f"… and {len(tests) - _SHOWN_TESTS} more: --format json shows all"
    for commit in history.commits[:_SHOWN_COMMITS]:
        yield f"commit    {short(commit.sha)}  {commit.at[:10]}  {one_line(commit.subject, 120)}"
    if len(history.commits) > _SHOWN_COMMITS:
        yield (
            f"… and {counted(len(history.commits) - _SHOWN_COMMITS, 'more commit')}: git log "
            "-- PATH"
        )
    for claim in history.claims:
        how = ", ".join(tier_words(claim.tier.word, claim.freshness))
        yield f"claim     {claim.id}  {how}: {one_line(claim.text, 120)}"


def _audit_lines(done: Audit, accepted: Sequence[Event]) -> Iterator[str]:
    """For people."""
    for problem in done.problems:
        yield f"  problem  {problem}"
    if done.problems:
        problems = counted(len(done.problems), "problem")
    else:
        problems = "chain intact"
    yield f"{counted(done.receipts, 'receipt')}, {problems}."
    yield f"  head     {short(done.head, 16)}"
    if done.folded:
        yield (
            f"  folded   {counted(done.folded, 'old run')}: header and chain checked, results of"
            " tests were removed"
        )
    yield from (f"  accepted {accepted_line(one)}" for one in accepted)
    for anchor in done.anchors:
        yield f"  anchor   {anchor}"
    yield (
        "It proves that nothing before a remembered head was edited, removed or reordered. It does"
        " not prove that"
    )
    yield "what was recorded is true, nor that everything was recorded."


@click.group()
def evidence() -> None:
    """Receipts: what was run, on which tree, with which outcomes."""


@operation_command(operations.LIST, group=evidence)
def list_(receipts: operations.ReceiptList, request: operations.ListRequest) -> None:
    """Print the newest receipts."""
    entries = receipts.entries
    total = receipts.total
    echo_lines(map(receipt_line, entries))
    if total > len(entries):
        warn(f"these are the first {len(entries)} of {total}; more with --top.")
    if not total and not receipts.hidden:
        none = "no evidence yet. Run your tests with pytest, or a command with: kl run -- COMMAND"
        if request.source:
            none = f"no evidence of source {one_line(repr(request.source))}. See: kl evidence list"
        echo(none)
    if receipts.hidden:
        echo(
            f"{counted(receipts.hidden, 'run')} without tests (--collect-only, usage errors) not"
            " shown: --all"
        )


def _from_root(request: operations.ShowRequest) -> operations.ShowRequest:
    return request._replace(id=_path_from_root(workspace().root, request.id))


@operation_command(operations.SHOW, _from_root, group=evidence)
def show(shown: operations.ShownEvidence, request: operations.ShowRequest) -> None:
    """Print a receipt, or what is recorded about a file or a test."""
    if shown.entry is not None:
        echo_lines(_receipt_lines(shown.entry))
    if shown.recorded is not None:
        echo_lines(_known_lines(shown.recorded))


def _import_code(imported: operations.ImportedEvidence, _request: operations.ImportRequest) -> int:
    if imported.refused:
        return FINDINGS
    return CLEAN


@operation_command(operations.IMPORT, group=evidence, exit_code=_import_code)
def import_(imported: operations.ImportedEvidence, _request: operations.ImportRequest) -> None:
    """Print how many receipts are new."""
    coverage = imported.coverage
    if coverage is None:
        echo(f"{imported.new} new, {imported.is_known} known already, {imported.refused} refused.")
        return
    if coverage.is_known:
        state = "known already"
    else:
        state = "imported"
    if coverage.tests:
        subject = counted(coverage.tests, "test")
    else:
        subject = "the run"
    if coverage.unreached is None:
        symbols = counted(coverage.symbols, "symbol")
    else:
        measured = counted(coverage.symbols + coverage.unreached, "measured symbol")
        symbols = f"{coverage.symbols} of {measured}"
    line = f"{subject} executed {symbols} in {counted(coverage.files, 'file')}"
    echo(f"run {short(coverage.run, 8)} {state}: {line} ({coverage.format}).")


@operation_command(operations.EXPORT, group=evidence)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A file instead of stdout.",
)
def export(
    exported: operations.Export, request: operations.ExportRequest, output: Path | None
) -> None:
    """Write the lines."""
    text = "".join(f"{line}\n" for line in exported.lines)
    if not output:
        write(text)
        return
    write_file(output, text)
    if request.sign or request.in_toto:
        noun = "statement"
    else:
        noun = "receipt"
    warn(f"{counted(exported.receipts, noun)} written to {output}.")


def _exit_code(checked: operations.CheckedEvidence, _request: operations.VerifyRequest) -> int:
    if checked.is_whole:
        return CLEAN
    return FINDINGS


@operation_command(operations.VERIFY, group=evidence, exit_code=_exit_code)
def verify(checked: operations.CheckedEvidence, request: operations.VerifyRequest) -> None:
    """Print what the check of the chain, or of a bundle, shows."""
    if checked.audit is not None:
        echo_lines(_audit_lines(checked.audit, checked.accepted))
    if checked.bundle is not None:
        echo_lines(map(_signed_line, checked.bundle.rows))
        echo(
            "A signature proves who vouches for a receipt, and that it was not edited. It does not"
            " prove that the"
        )
        echo("tests ran as it states: whoever has the key can sign anything.")


def _signer_name(signer: operations.Signer) -> str:
    name = signer.origin or signer.fingerprint
    if signer.why_not:
        return f"{name} ({signer.why_not})"
    return name


def _signed_line(row: operations.SignedReceipt | Problem) -> str:
    if not isinstance(row, operations.SignedReceipt):
        return str(row)
    names = ", ".join(map(_signer_name, row.signers))
    word = "trusted" if row.is_trusted else "not trusted"
    tree = short(row.tree, 7)
    return f"{word:<12} {short(row.run, 8)}  tree {tree}  {names or 'not signed'}"


@operation_command(operations.ACCEPT, group=evidence)
def accept(accepted: operations.AcceptedLosses, _request: operations.AcceptRequest) -> None:
    """Print what was accepted."""
    rows = [f"accepted: {loss}" for loss in accepted.losses]
    echo_lines(rows or ["nothing to accept: no receipts are missing."])
