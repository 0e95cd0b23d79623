"""The operation that exchanges evidence with other clones."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.parameter import InputFile, Parameter
from kl_hooks.operations.operation import Operation

if TYPE_CHECKING:
    from kl_hooks.context.access import Access
    from kl_hooks.evidence.executed import Executed
    from kl_hooks.model.receipt import Receipt
    from kl_hooks.workspace import Workspace


class SyncRequest(NamedTuple):
    """With whom, and what."""

    remote: Annotated[
        str, Parameter("A remote's name, path or address.", is_default_shown=True)
    ] = "origin"
    push: Annotated[bool, Parameter("Only push.")] = False
    pull: Annotated[bool, Parameter("Only fetch and import.")] = False
    dry_run: Annotated[
        bool, Parameter("List the runs that would be written and pushed; change nothing.")
    ] = False
    sign: Annotated[
        str,
        Parameter("Sign with this SSH key. Default: git config kl.signingKey.", metavar="KEY"),
    ] = ""
    files: Annotated[
        tuple[InputFile, ...],
        Parameter(
            "Publish the receipts of this file (of kl evidence export) that are about the commit"
            " checked out. May be repeated: one for each job of a matrix.",
            name="receipts",
            metavar="FILE",
        ),
    ] = ()

    @property
    def is_pushing(self) -> bool:
        """Whether something is pushed."""
        return self.push or not self.pull

    @property
    def is_pulling(self) -> bool:
        """Whether something is fetched."""
        return self.pull or not self.push


class Synced(NamedTuple):
    """What was exchanged."""

    exchange: Mapping[str, Any]
    """As `Shared.to_dict`."""
    is_complete: bool
    """Whether nothing was refused, and all was exchanged."""
    notes: tuple[str, ...]


def _sync(ws: Workspace, request: SyncRequest, _access: Access) -> Synced:
    from kl_hooks.evidence.ingestion import sync_evidence
    from kl_hooks.sharing.attestation import signing_key
    from kl_hooks.sharing.notes import share

    receipts: list[Receipt] = []
    executed: dict[str, Executed] = {}
    refused: list[str] = []
    for file in request.files:
        _read(file, receipts, executed, refused)
    sync_evidence(ws)
    shared = share(
        ws,
        request.remote,
        push=request.is_pushing,
        pull=request.is_pulling,
        dry_run=request.dry_run,
        key=signing_key(ws, request.sign),
        receipts=receipts if request.files else None,
        executed=executed,
    )
    notes = (*refused, *shared.remarks)
    return Synced(shared.to_dict(), not notes and not shared.refusals, notes)


def _read(
    name: str, receipts: list[Receipt], executed: dict[str, Executed], problems: list[str]
) -> None:
    """Read the receipts of a file, what their tests executed, and what is wrong with its other
    lines.
    """
    from kl_hooks.evidence.sources.receipts import read_executed_lines, read_lines
    from kl_hooks.hookspecs import FileOfEvidence
    from kl_hooks.model.problem import Problem
    from kl_hooks.store.files import read_given

    whole = FileOfEvidence(name, read_given(Path(name)), "", "", None)
    for line in read_lines(whole):
        if isinstance(line, Problem):
            problems.append(str(line))
        else:
            receipts.append(line)
    executed |= read_executed_lines(whole)


SYNC: Final = Operation(
    "sync",
    """Exchange evidence with other clones, by git notes on the contents that it is about.

    Names of tests and of what they executed, outcomes, versions and your producer name (user@host)
    leave this machine; messages, output and command lines do not. What comes in counts only where a
    key that you trust signed it (see: kl trust).

    Exit 1: something was refused, or the remote could not be reached.
    """,
    SyncRequest,
    _sync,
    lambda synced: dict(synced.exchange),
    "kl.sync/2",
    "kl sync --dry-run",
    is_tool=False,
    progress="Exchanging evidence",
)

OPERATIONS: Final = (SYNC,)
