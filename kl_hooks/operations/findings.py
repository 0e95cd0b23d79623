"""Operations of findings: record what a tool of an agent found out, import those of a
transcript.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from kl_hooks.errors import UsageProblem
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.parameter import InputFile, Parameter
from kl_hooks.model.text import counted
from kl_hooks.operations.operation import Operation
from kl_hooks.operations.records import now
from kl_hooks.operations.written import Written
from kl_hooks.workspace import require_initialized

if TYPE_CHECKING:
    from kl_hooks.context.access import Access
    from kl_hooks.kinds.finding import RecordedFindings
    from kl_hooks.workspace import Workspace


class StoredFindings(NamedTuple):
    """What some calls of tools left."""

    new: tuple[Written, ...]
    existing: tuple[str, ...]
    """IDs of findings that were recorded before."""
    nothing: int
    """Calls that leave no finding."""
    notes: tuple[str, ...] = ()


def _stored(ws: Workspace, recorded: RecordedFindings, *notes: str) -> StoredFindings:
    moment = now(ws)
    new = tuple(Written(record, moment) for record in recorded.new)
    return StoredFindings(new, recorded.existing, recorded.nothing, notes)


def _stored_to_dict(stored: StoredFindings) -> dict[str, Any]:
    records = [written.record for written in stored.new]
    new = [
        {
            "id": record.id,
            "entity": record.text("entity"),
            "finding": record.text("finding"),
            "kind": record.text("kind"),
            "confidence": record.number("confidence"),
            "agent": record.text("agent"),
            "session": record.text("source"),
        }
        for record in records
    ]
    return {"new": new, "known": list(stored.existing), "nothing": stored.nothing}


class HookRequest(NamedTuple):
    """One call of a tool."""

    has_hook: Annotated[
        bool, Parameter("Read the JSON of an agent hook (after a tool) from stdin.", name="hook")
    ] = False
    is_strict: Annotated[
        bool, Parameter("Fail where it can't be stored; else warn, and exit 0.", name="strict")
    ] = False
    content: bytes = b""
    """The JSON of the hook."""


def _add(ws: Workspace, request: HookRequest, _access: Access) -> StoredFindings:
    from kl_hooks.kinds.finding import Call, record_findings

    require_initialized(ws)
    return _stored(ws, record_findings(ws, [Call.from_hook(request.content)]))


ADD: Final = Operation(
    "finding add",
    """Record what one call of an agent's tool found out or changed.

    Meant to be called by an agent after each tool: it keeps each finding once, and never costs the
    agent its work.
    """,
    HookRequest,
    _add,
    _stored_to_dict,
    "kl.finding.add/1",
    "kl finding add --hook < tool-result.json",
    is_tool=False,
)


_LARGEST_LIST: Final = 64 * 1024 * 1024


class TranscriptRequest(NamedTuple):
    """Which transcript."""

    transcript: Annotated[InputFile, Parameter("Its file.", argument="TRANSCRIPT")]
    agent: Annotated[str, Parameter("The agent whose transcript it is.")] = ""


def _import(ws: Workspace, request: TranscriptRequest, access: Access) -> StoredFindings:
    from kl_hooks.evidence.sources.transcript import read_transcript
    from kl_hooks.kinds.finding import Call, record_findings, store_findings, stored_findings
    from kl_hooks.store.files import read_small

    require_initialized(ws)
    path = Path(request.transcript)
    if not path.is_file():
        raise UsageProblem("is no file.", place=str(path))
    if path.suffix == ".json":
        findings = stored_findings(read_small(path, most=_LARGEST_LIST) or b"")
        if findings is not None:
            return _stored(ws, store_findings(ws, findings))
    transcript = read_transcript(path)
    recorded = record_findings(ws, Call.in_transcript(transcript, request.agent))
    unread = f"{counted(transcript.bad, 'line')} could not be read, and were omitted."
    return _stored(ws, recorded, *([unread] if transcript.bad else []))


IMPORT: Final = Operation(
    "finding import",
    """Import the findings of a TRANSCRIPT (JSON lines of Claude Code, Codex, or chat messages with
    tool calls).

    A `knowledge_findings.json` is read too. Each finding is tied to the files as they are now, so
    import it while they are as the agent left them.
    """,
    TranscriptRequest,
    _import,
    _stored_to_dict,
    "kl.finding.add/1",
    "kl finding import ~/.claude/projects/shop/3f9a1c2b.jsonl",
    is_tool=False,
    progress="Importing findings",
)

OPERATIONS: Final = (ADD, IMPORT)
