"""Operations of evidence: list receipts, show one or what is recorded of a file, check their chain,
import and export them, accept a loss.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from kl_hooks.config.settings import POLICY_FILE
from kl_hooks.errors import ForPeople, UsageProblem
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.parameter import InputFile, Parameter
from kl_hooks.model.symbol import FilePath, TestName, split_id
from kl_hooks.model.text import counted, one_line
from kl_hooks.operations.evidence_reading import IMPORTING, evidence_store
from kl_hooks.operations.operation import TOP, Operation, visible_result

if TYPE_CHECKING:
    from kl_hooks.context.access import Access
    from kl_hooks.evidence.high_water import Rollback
    from kl_hooks.evidence.integrity import Audit
    from kl_hooks.evidence.ledger import Entry
    from kl_hooks.model.problem import Problem
    from kl_hooks.proof.claims import LatestResult, SubjectHistory
    from kl_hooks.proof.coverage import ImportedCoverage
    from kl_hooks.records.events import Event
    from kl_hooks.sharing.attestation import TrustedKey
    from kl_hooks.workspace import Workspace

_NAMED_COMMITS: Final = 10


class ListRequest(NamedTuple):
    """Which receipts."""

    limit: Annotated[int, TOP._replace(bounds=(1, 10_000))] = 20
    source: Annotated[
        str,
        Parameter("Only of this source: pytest, command, commits, junit, arch, claim."),
    ] = ""
    everything: Annotated[
        bool, Parameter("Also runs that ran no test: --collect-only, usage errors.", name="all")
    ] = False


class ReceiptList(NamedTuple):
    """The newest receipts, newest first."""

    entries: tuple[Entry, ...]
    total: int
    hidden: int
    """Runs that ran no test, which are not in the list."""
    notes: tuple[str, ...]


def _list(ws: Workspace, request: ListRequest, _access: Access) -> ReceiptList:
    from kl_hooks.evidence.foreign import foreign_evidence, with_origins
    from kl_hooks.evidence.ledger import list_receipts

    notes: list[str] = []
    with evidence_store(ws, notes) as db:
        if db is None:
            return ReceiptList((), 0, 0, tuple(notes))
        source = request.source or None
        entries, total, hidden = list_receipts(
            db, request.limit, source, everything=request.everything
        )
        entries = with_origins(partial(foreign_evidence, ws), db, entries)
    return ReceiptList(tuple(entries), total, hidden, tuple(notes))


def _entry_to_dict(entry: Entry) -> dict[str, Any]:
    # of a receipt of which a part is hidden, the ID is that of the whole
    return {**entry.receipt.to_dict(), "id": entry.id}


def _list_to_dict(receipts: ReceiptList) -> dict[str, Any]:
    return {
        "receipts": [_entry_to_dict(entry) for entry in receipts.entries],
        "total": receipts.total,
        "hidden": receipts.hidden,
    }


LIST: Final = Operation(
    "evidence list",
    "List the newest receipts, newest first.",
    ListRequest,
    _list,
    _list_to_dict,
    "kl.evidence.list/1",
    "kl evidence list --source pytest --top 5",
    is_tool=False,
    progress=IMPORTING,
)


class ShowRequest(NamedTuple):
    """Which receipt, or of what."""

    id: Annotated[
        str, Parameter("The first digits of a run's ID, a file or a test.", argument="ID")
    ]


class RecordedHistory(NamedTuple):
    """What is recorded about a test, a file or a folder."""

    about: FilePath | TestName
    history: SubjectHistory
    trees: tuple[str, ...]
    """Of the files as they are now."""

    def is_current(self, result: LatestResult) -> bool:
        """Whether a result is of the files as they are now."""
        receipt = result.entry.receipt
        return bool({receipt.tree, receipt.tree_all} & set(self.trees))


class ShownEvidence(NamedTuple):
    """A receipt, or what is recorded about something."""

    entry: Entry | None
    recorded: RecordedHistory | None
    notes: tuple[str, ...]


def _show(ws: Workspace, request: ShowRequest, _access: Access) -> ShownEvidence:
    from kl_hooks.evidence.foreign import foreign_evidence, with_origins
    from kl_hooks.evidence.ledger import find_receipt
    from kl_hooks.evidence.provenance import worktree_state
    from kl_hooks.proof.claims import history_of

    notes: list[str] = []
    with evidence_store(ws, notes) as db:
        if db is None:
            raise UsageProblem(
                "there is no evidence yet.", hint="Run your tests with pytest first."
            )
        try:
            stored = find_receipt(db, request.id)
        except UsageProblem:
            history = history_of(ws, db, request.id)
            if not history:
                raise
            # as `history_of` reads it: a rule knows a file by its path
            subject = split_id(request.id)[1].removeprefix("./").rstrip("/")
            kind = TestName if "::" in subject else FilePath
            trees = worktree_state(ws.repo).trees
            recorded = RecordedHistory(kind(subject), history, trees)
            return ShownEvidence(None, recorded, tuple(notes))
        [entry] = with_origins(partial(foreign_evidence, ws), db, [stored])
    return ShownEvidence(entry, None, tuple(notes))


def _show_to_dict(shown: ShownEvidence) -> dict[str, Any]:
    if shown.recorded is None:
        assert shown.entry is not None
        return _entry_to_dict(shown.entry)
    recorded = shown.recorded
    history = shown.recorded.history
    return {
        "schema": "kl.evidence.known/1",
        "about": recorded.about,
        "tests": [
            {
                "subject": result.evidence.subject,
                "outcome": result.evidence.outcome,
                "receipt": result.entry.id,
                "at": result.entry.receipt.ended,
                "tree": result.entry.receipt.tree,
                "current": recorded.is_current(result),
            }
            for result in history.tests
        ],
        "commits": [
            {"commit": commit.sha, "at": commit.at, "subject": commit.subject}
            for commit in history.commits[:_NAMED_COMMITS]
        ],
        "total": {
            "tests": len(history.tests),
            "commits": len(history.commits),
            "claims": len(history.claims),
        },
        "claims": [
            {
                "id": claim.id,
                "text": claim.text,
                "tier": claim.tier.word,
                "freshness": claim.freshness,
            }
            for claim in history.claims
        ],
    }


SHOW: Final = Operation(
    "evidence show",
    """Show one receipt, by the first digits of its run ID, or what is recorded about a file or a
    test.
    """,
    ShowRequest,
    _show,
    _show_to_dict,
    "kl.receipt/1",
    "kl evidence show 3f9a1c2b, or: kl evidence show tests/test_shop.py",
    is_tool=False,
    progress=IMPORTING,
)


class VerifyRequest(NamedTuple):
    """What to check: the store, or a file."""

    file: Annotated[InputFile, Parameter("A bundle of receipts.", argument="FILE")] = InputFile("")
    trust_ref: Annotated[
        str, Parameter("Also trust the keys of .kl/trust in this commit.", metavar="REF")
    ] = ""


class Signer(NamedTuple):
    """Who signed a receipt."""

    fingerprint: str
    name: str | None
    """None: a key that is not trusted here."""
    origin: str | None
    """What the signature makes of the receipt; None where it counts for nothing."""
    why_not: str | None


class SignedReceipt(NamedTuple):
    """A receipt of a bundle."""

    receipt: str
    run: str
    tree: str | None
    signers: tuple[Signer, ...]

    @property
    def is_trusted(self) -> bool:
        """Whether a key that is trusted signed it."""
        return any(signer.origin for signer in self.signers)


class CheckedBundle(NamedTuple):
    """What a bundle holds, and who vouches for it."""

    rows: tuple[SignedReceipt | Problem, ...]

    @property
    def is_trusted(self) -> bool:
        """Whether all of it is."""
        return all(isinstance(row, SignedReceipt) and row.is_trusted for row in self.rows)


class CheckedEvidence(NamedTuple):
    """The chain over all receipts, or a bundle."""

    audit: Audit | None
    accepted: tuple[Event, ...]
    """Losses of the store that a person accepted."""
    bundle: CheckedBundle | None
    notes: tuple[str, ...]

    @property
    def is_whole(self) -> bool:
        """Whether nothing was edited, and everything is trusted: exit 0."""
        is_chain_whole = self.audit is None or not self.audit.problems
        return is_chain_whole and (self.bundle is None or self.bundle.is_trusted)


def _verify(ws: Workspace, request: VerifyRequest, _access: Access) -> CheckedEvidence:
    from kl_hooks.evidence.high_water import read_marks
    from kl_hooks.evidence.integrity import audit
    from kl_hooks.evidence.ledger import chain_head
    from kl_hooks.proof.acceptance import accepted

    if request.file:
        return CheckedEvidence(None, (), _checked_bundle(ws, request), ())
    notes: list[str] = []
    # before the store is opened: afterwards another process may have moved them on
    marks = read_marks(ws)
    with ws.store.reading() as db:
        unused = db is None or chain_head(db)[0] == 0
    with evidence_store(ws, notes) as db:
        # what opening it imported are the first receipts of all: the mark was written with them
        if unused and marks.first is None:
            marks = read_marks(ws)
        done = audit(db, marks)
    return CheckedEvidence(done, tuple(accepted(ws)), None, tuple(notes))


def _checked_bundle(ws: Workspace, request: VerifyRequest) -> CheckedBundle:
    from kl_hooks.clock import iso
    from kl_hooks.hookspecs import FileOfEvidence
    from kl_hooks.model.problem import Problem
    from kl_hooks.sharing.attestation import read_bundle, trusted_keys
    from kl_hooks.store.files import read_given

    path = Path(request.file)
    if not path.exists():
        raise UsageProblem("no such file.", place=request.file)
    now = iso(ws.clock.now())
    trusted = trusted_keys(ws, request.trust_ref).keys
    rows: list[SignedReceipt | Problem] = []
    for signed in read_bundle(FileOfEvidence(request.file, read_given(path), "", now, None)):
        if isinstance(signed, Problem):
            rows.append(signed)
            continue
        receipt = signed.receipt
        signers = tuple(_signer(key, trusted, receipt.ended, now) for key, _ in signed.signatures)
        rows.append(SignedReceipt(receipt.id, receipt.run, receipt.tree, signers))
    if not rows:
        hint = "Written by: kl evidence export --sign KEY"
        raise UsageProblem("holds no attestation.", place=request.file, hint=hint)
    return CheckedBundle(tuple(rows))


def _signer(key: str, trusted: Mapping[str, TrustedKey], ended_at: str, seen_at: str) -> Signer:
    from kl_hooks.sharing.attestation import fingerprint

    key_fingerprint = fingerprint(key)
    trusted_key = trusted.get(key_fingerprint)
    if trusted_key is None:
        return Signer(key_fingerprint, None, None, "not trusted here")
    why_not = trusted_key.why_not(ended_at, seen_at)
    if why_not:
        return Signer(key_fingerprint, trusted_key.name, None, why_not)
    return Signer(key_fingerprint, trusted_key.name, trusted_key.origin, None)


def _verify_to_dict(checked: CheckedEvidence) -> dict[str, Any]:
    if checked.bundle is not None:
        rows = [_signed_to_dict(row) for row in checked.bundle.rows]
        trusted = checked.bundle.is_trusted
        return {"schema": "kl.evidence.bundle/1", "trusted": trusted, "receipts": rows}
    audit = checked.audit
    assert audit is not None
    return {
        "receipts": audit.receipts,
        "head": audit.head,
        "problems": list(audit.problems),
        "anchors": list(audit.anchors),
        "folded": audit.folded,
        "accepted": [{"at": event.at, **event.body} for event in checked.accepted],
    }


def _signed_to_dict(row: SignedReceipt | Problem) -> dict[str, Any]:
    if isinstance(row, SignedReceipt):
        return row._asdict() | {"signers": [signer._asdict() for signer in row.signers]}
    return {"problem": str(row)}


VERIFY: Final = Operation(
    "evidence verify",
    """Check the hash chain over all receipts, and show what that proves and what it does not.

    With FILE, a bundle that export --in-toto wrote: who signed each receipt, and whether you trust
    them. Nothing is imported. Exit 1: something was edited, or is not signed by a key that you
    trust.
    """,
    VerifyRequest,
    _verify,
    _verify_to_dict,
    "kl.evidence.verify/1",
    "kl evidence verify, or: kl evidence verify ci.intoto.jsonl",
    is_tool=False,
    progress=IMPORTING,
)


class ImportRequest(NamedTuple):
    """What is imported."""

    reader: Annotated[str, Parameter("How the file is read.", argument="READER")]
    file: Annotated[InputFile, Parameter("A file of evidence.", argument="FILE")]
    tree: Annotated[
        str,
        Parameter("Git tree id it ran on; without it the results never count as hard evidence."),
    ] = ""


class ImportedEvidence(NamedTuple):
    """What became of a file."""

    new: int
    is_known: int
    """Receipts that are in the store already."""
    refused: int
    """All that were refused, whether the reason may be shown or not."""
    problems: tuple[Problem, ...]
    coverage: ImportedCoverage | None
    """Where coverage was imported."""
    remarks: tuple[str, ...] = ()
    """What of it could not be named."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What was refused, or could not be named."""
        return (*map(str, self.problems), *self.remarks)


def _import(ws: Workspace, request: ImportRequest, access: Access) -> ImportedEvidence:
    from kl_hooks.evidence.executed import COVERAGE
    from kl_hooks.proof.coverage import import_coverage
    from kl_hooks.sharing.file_import import import_file
    from kl_hooks.store.files import read_given

    path = Path(request.file)
    tree = request.tree or None
    if not path.exists():
        raise UsageProblem("no such file.", place=request.file)
    # 40 digits of SHA-1, 64 of SHA-256: a shorter one may come to mean another tree as the
    # repository grows
    if tree is not None and (len(tree) not in (40, 64) or set(tree) - set("0123456789abcdef")):
        hint = "Try: git rev-parse 'HEAD^{tree}'"
        raise UsageProblem(
            f"{one_line(tree, 60)!r} is not a full git tree id.", place="--tree", hint=hint
        )
    if request.reader == COVERAGE:
        try:
            coverage = import_coverage(ws, path, tree)
        except UsageProblem as problem:
            problem.notes = visible_result(access, problem.notes)
            raise
        return ImportedEvidence(0, 0, 0, (), coverage, tuple(coverage.remarks()))
    imported = import_file(ws, request.reader, str(path), read_given(path), tree)
    problems = imported.problems
    return ImportedEvidence(imported.new, imported.known, len(problems), problems, None)


def _imported_to_dict(imported: ImportedEvidence) -> dict[str, Any]:
    coverage = imported.coverage
    if coverage is not None:
        return {
            "run": coverage.run,
            "known": coverage.is_known,
            "format": coverage.format,
            "tests": coverage.tests,
            "symbols": coverage.symbols,
            "unreached": coverage.unreached,
            "files": coverage.files,
        }
    return {"new": imported.new, "known": imported.is_known, "refused": imported.refused}


IMPORT: Final = Operation(
    "evidence import",
    """Import FILE with READER: `junit`, `coverage`; `receipts` or `bundle` (what export wrote).

    `coverage`: lcov, Istanbul's JSON, that of llvm-cov, or coverage.py's data or JSON with contexts
    of tests. Which symbols its tests, or the run, executed is then known, assumed.
    """,
    ImportRequest,
    _import,
    _imported_to_dict,
    "kl.evidence.import/1",
    "kl evidence import junit report.xml --tree $(git rev-parse 'HEAD^{tree}')",
    is_tool=False,
    progress="Importing evidence",
)


class ExportRequest(NamedTuple):
    """What is exported, and how."""

    in_toto: Annotated[
        bool, Parameter("As in-toto Statements in DSSE envelopes (*.intoto.jsonl).")
    ] = False
    sign: Annotated[
        str, Parameter("Sign each with this SSH key; implies --in-toto.", metavar="KEY")
    ] = ""
    executed: Annotated[
        bool, Parameter("Also the symbols that tests of the newest runs executed.")
    ] = False


class Export(NamedTuple):
    """Receipts of which everything may be shown, as lines of a file."""

    lines: tuple[str, ...]
    receipts: int
    """How many of the lines are receipts or Statements."""
    notes: tuple[str, ...]


def _export(ws: Workspace, request: ExportRequest, access: Access) -> Export:
    from kl_hooks.evidence.ledger import recent
    from kl_hooks.evidence.sources.receipts import executed_lines, to_lines
    from kl_hooks.sharing.attestation import bundle_lines, signing_key

    is_signed = bool(request.sign or request.in_toto)
    if request.executed and is_signed:
        raise UsageProblem("a Statement has no executed symbols.", place="--executed")
    notes: list[str] = []
    with evidence_store(ws, notes) as db:
        if db:
            entries = recent(db, 1_000_000, everything=True)
        else:
            entries = []
        if db and request.executed:
            executed = list(executed_lines(db))
        else:
            executed = []
    unfolded = [entry for entry in reversed(entries) if not entry.folded]
    # of a receipt of which a part is hidden nothing could be checked
    whole = [entry.receipt for entry in unfolded if visible_result(access, entry) == entry]
    notes += _omitted("receipt", len(unfolded) - len(whole), f"hidden from you by {POLICY_FILE}")
    folded = len(entries) - len(unfolded)
    notes += _omitted("receipt", folded, "compacted by upkeep, so nobody could check them")
    if is_signed:
        placed = [receipt for receipt in whole if receipt.tree]
        reason = "a Statement is about a content, and theirs is unknown"
        notes += _omitted("receipt", len(whole) - len(placed), reason)
        lines = list(bundle_lines(placed, signing_key(ws, request.sign)))
    else:
        lines = [*to_lines(whole), *executed]
    shown = tuple(line for line in lines if access.text(line) == line)
    notes += _omitted("line", len(lines) - len(shown), f"hidden from you by {POLICY_FILE}")
    return Export(shown, len(shown) - len(executed), tuple(notes))


def _omitted(noun: str, number: int, reason: str) -> list[str]:
    if not number:
        return []
    return [f"{counted(number, noun)} omitted: {reason}."]


EXPORT: Final = Operation(
    "evidence export",
    """Write all receipts as JSON lines, oldest first.

    With --sign others can check them without kl: in-toto Statements, signed as ssh-keygen signs
    files. With --executed the file has all that kl sync --receipts publishes.
    """,
    ExportRequest,
    _export,
    lambda export: {"lines": list(export.lines)},
    "kl.evidence.export/1",
    "kl evidence export -o receipts.jsonl",
    is_tool=False,
    progress=IMPORTING,
)


class AcceptRequest(NamedTuple):
    """Why a loss is accepted."""

    reason: Annotated[
        str,
        Parameter(
            "Why receipts are missing. It is recorded with the date and your name. Required."
        ),
    ] = ""


class AcceptedLosses(NamedTuple):
    """The losses of the store that were accepted."""

    losses: tuple[Rollback, ...]


def _accept(ws: Workspace, request: AcceptRequest, _access: Access) -> AcceptedLosses:
    from kl_hooks.model.actors import agent
    from kl_hooks.proof.acceptance import accept

    reason = request.reason.strip()
    if not reason:
        raise UsageProblem("state why receipts are missing.", place="--reason")
    if name := agent(ws.environ):
        raise ForPeople("only a person accepts a store that lost receipts.", place=f"agent:{name}")
    return AcceptedLosses(tuple(accept(ws, reason)))


ACCEPT: Final = Operation(
    "evidence accept",
    """Accept a store that has lost receipts, so that `kl verify` answers again.

    For an older copy of kl.db that was put back, or one that was deleted. The reason is recorded as
    an event, which `kl doctor` and `kl evidence verify` list.
    """,
    AcceptRequest,
    _accept,
    lambda accepted: {"accepted": [loss.to_dict() for loss in accepted.losses]},
    "kl.evidence.accept/1",
    'kl evidence accept --reason "kl.db restored from the backup of Monday"',
    is_tool=False,
)

OPERATIONS: Final = (LIST, SHOW, VERIFY, IMPORT, EXPORT, ACCEPT)
