"""Operations of persistent contexts: what an agent keeps beyond its sessions, in versions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final

from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.parameter import REQUIRED, Parameter
from kl_hooks.operations.operation import Operation
from kl_hooks.operations.tiers import AS_TEXT, VALUE, value_of, writer
from kl_hooks.tiers.contexts import (
    CONTEXT_SCOPES,
    CONTEXT_TYPES,
    ENTRY_TYPES,
    Context,
    ContextEntry,
    EntryOptions,
    archive_context,
    context_page,
    create_context,
    grant_context,
    list_contexts,
    restore_snapshot,
    take_snapshot,
    write_entry,
)
from kl_hooks.tiers.entries import caller_of, reading
from kl_hooks.tiers.named_store import LEVELS

if TYPE_CHECKING:
    from kl_hooks.context.access import Access
    from kl_hooks.workspace import Workspace

_CONTEXT: Final = Parameter("Its name; else your own.", name="context", argument="NAME")
_NAME: Final = _CONTEXT._replace(help="Its name.")
_ACTOR: Final = Parameter("An agent, or human.", name="agent", argument="AGENT|human")
_PERCENT: Final = (0, 100)


class ContextRequest(NamedTuple):
    """One context."""

    name: Annotated[str, _CONTEXT._replace(argument="[NAME]")] = ""
    author: str = ""


class NamedContextRequest(NamedTuple):
    """One context, by its name."""

    name: Annotated[str, _NAME]
    author: str = ""


class ListRequest(NamedTuple):
    """Nothing is asked."""

    author: str = ""


class ContextList(NamedTuple):
    """The contexts that can be read."""

    contexts: tuple[Context, ...]
    actor: str
    """Who asks."""


def _list(ws: Workspace, request: ListRequest, _access: Access) -> ContextList:
    caller = caller_of(ws, request.author)
    with reading(ws) as db:
        return ContextList(tuple(list_contexts(db, caller)), caller.actor)


def _list_to_dict(context_list: ContextList) -> dict[str, Any]:
    rows = [context.to_dict() for context in context_list.contexts]
    return {"contexts": rows, "total": len(rows)}


LIST: Final = Operation(
    "memory context list",
    "List the contexts that you can read, your own first.",
    ListRequest,
    _list,
    _list_to_dict,
    "kl.contexts/1",
    "kl memory context list",
    is_tool=False,
)


class CreateRequest(NamedTuple):
    """How a new context is to be."""

    name: Annotated[str, _NAME]
    type: Annotated[str, Parameter("What it is.", choices=CONTEXT_TYPES, is_default_shown=True)] = (
        CONTEXT_TYPES[0]
    )
    scope: Annotated[
        str,
        Parameter(
            "agent: private. The others: everybody here may read it.",
            choices=CONTEXT_SCOPES,
            is_default_shown=True,
        ),
    ] = CONTEXT_SCOPES[0]
    max_entries: Annotated[
        int,
        Parameter("Beyond it the least relevant are archived; 0: none.", bounds=(0, 10**9)),
    ] = 0
    max_age_days: Annotated[
        int, Parameter("Older entries are archived; 0: none.", bounds=(0, 10**9))
    ] = 0
    author: str = ""


def _create(ws: Workspace, request: CreateRequest, _access: Access) -> Context:
    options = request._asdict()
    name = options.pop("name")
    author = options.pop("author")
    return create_context(ws, writer(ws, author), name, **options)


CREATE: Final = Operation(
    "memory context create",
    "Make a context of yours.",
    CreateRequest,
    _create,
    Context.to_dict,
    "kl.context/1",
    "kl memory context create glossary --scope global --max-entries 200",
    tool="persistent_context_create",
    writes=True,
)


class Page(NamedTuple):
    """A context with its entries, snapshots and log."""

    page: Mapping[str, Any]


def _show(ws: Workspace, request: ContextRequest, _access: Access) -> Page:
    return Page(context_page(ws, caller_of(ws, request.author), request.name))


SHOW: Final = Operation(
    "memory context show",
    """Show a context (yours, without a NAME): entries by relevance, snapshots, retention, who read
    and changed it.
    """,
    ContextRequest,
    _show,
    lambda shown: dict(shown.page),
    "kl.context/1",
    "kl memory context show",
    tool="persistent_context",
)


class WriteRequest(NamedTuple):
    """What to write, and where."""

    name: Annotated[str, _CONTEXT] = ""
    path: Annotated[str, Parameter("Such as terms.receipt.", argument="PATH")] = REQUIRED
    value: Annotated[str, VALUE] = REQUIRED
    type: Annotated[
        str,
        Parameter("What it is; else as it was, or an observation.", choices=ENTRY_TYPES),
    ] = ""
    importance: Annotated[
        int | None, Parameter("Percent; else as it was, or 50.", bounds=_PERCENT)
    ] = None
    confidence: Annotated[
        int | None, Parameter("Percent; else as it was, or 100.", bounds=_PERCENT)
    ] = None
    tags: Annotated[
        tuple[str, ...], Parameter("In place of those it has. May be repeated.", name="tag")
    ] = ()
    merge: Annotated[
        bool, Parameter("Merge an object into what is there, key by key; null removes a key.")
    ] = False
    is_text: Annotated[bool, AS_TEXT] = False
    author: str = ""


class WrittenEntry(NamedTuple):
    """A new version of an entry."""

    entry: ContextEntry
    at: int
    """Microseconds: its scores are those of this moment."""


def _write(ws: Workspace, request: WriteRequest, _access: Access) -> WrittenEntry:
    options = EntryOptions(
        request.type or None, request.importance, request.confidence, request.tags or None
    )
    caller = writer(ws, request.author)
    value = value_of(request.value, request.is_text)
    entry = write_entry(ws, caller, request.name, request.path, value, options, merge=request.merge)
    return WrittenEntry(entry, ws.clock.now())


WRITE: Final = Operation(
    "memory context write",
    "Write VALUE at a dotted PATH of a context: a new version of that entry.",
    WriteRequest,
    _write,
    lambda written: dict(written.entry.to_dict(written.at)),
    "kl.context.entry/1",
    "kl memory context write glossary terms.receipt 'one capture of evidence'",
    tool="persistent_context_write",
    writes=True,
)


class Snapshot(NamedTuple):
    """A context as it was stored."""

    id: str
    context: str
    version: int
    at: int
    """Microseconds."""
    sha256: str
    """Of its content."""


def _snapshot(ws: Workspace, request: ContextRequest, _access: Access) -> Snapshot:
    return Snapshot(**take_snapshot(ws, writer(ws, request.author), request.name))


SNAPSHOT: Final = Operation(
    "memory context snapshot",
    "Store a context as it is now, with its version and the SHA-256 of its content.",
    ContextRequest,
    _snapshot,
    Snapshot._asdict,
    "kl.context.snapshot/1",
    "kl memory context snapshot glossary",
    tool="persistent_context_snapshot",
    writes=True,
)


class RestoreRequest(NamedTuple):
    """What a context is to be again."""

    name: Annotated[str, _CONTEXT] = ""
    snapshot: Annotated[str, Parameter("Its ID.", argument="SNAPSHOT")] = REQUIRED
    author: str = ""


class Restored(NamedTuple):
    """What was restored."""

    context: str
    snapshot: str
    changed: int
    """Entries."""


def _restore(ws: Workspace, request: RestoreRequest, _access: Access) -> Restored:
    caller = writer(ws, request.author)
    changed = restore_snapshot(ws, caller, request.name, request.snapshot)
    return Restored(request.name or caller.actor, request.snapshot, changed)


RESTORE: Final = Operation(
    "memory context restore",
    """Make the entries of a context what they were in a snapshot; what changed becomes a new
    version.
    """,
    RestoreRequest,
    _restore,
    Restored._asdict,
    "kl.context.restored/1",
    "kl memory context restore glossary 3f9a1c2b4d5e",
    tool="persistent_context_restore",
    writes=True,
)


class GrantRequest(NamedTuple):
    """Who may do what."""

    name: Annotated[str, _CONTEXT] = ""
    actor: Annotated[str, _ACTOR] = REQUIRED
    level: Annotated[
        str,
        Parameter(
            "What; none: nothing.",
            choices=(*LEVELS, "none"),
            flags=(
                "Read it; without another option.",
                "Write it too.",
                "Grant and archive it too.",
            ),
            is_default_shown=True,
        ),
    ] = "read"
    author: str = ""


class RevokeRequest(NamedTuple):
    """Who may do nothing."""

    name: Annotated[str, _NAME]
    actor: Annotated[str, _ACTOR]
    author: str = ""


def _grant(ws: Workspace, request: GrantRequest, _access: Access) -> Context:
    level = request.level if request.level != "none" else ""
    return grant_context(ws, writer(ws, request.author), request.name, request.actor, level)


def _revoke(ws: Workspace, request: RevokeRequest, access: Access) -> Context:
    return _grant(ws, GrantRequest(**request._asdict(), level="none"), access)


GRANT: Final = Operation(
    "memory context grant",
    "Grant another actor access to a context: read, write or admin.",
    GrantRequest,
    _grant,
    Context.to_dict,
    "kl.context/1",
    "kl memory context grant glossary claude-code --write",
    tool="persistent_context_grant",
    writes=True,
)
REVOKE: Final = Operation(
    "memory context revoke",
    "Revoke an actor's access to a context.",
    RevokeRequest,
    _revoke,
    Context.to_dict,
    "kl.context/1",
    "kl memory context revoke glossary claude-code",
    is_tool=False,
    writes=True,
)


class Archived(NamedTuple):
    """A context that nobody reads any more."""

    name: str
    status: str = "archived"


def _archive(ws: Workspace, request: NamedContextRequest, _access: Access) -> Archived:
    archive_context(ws, writer(ws, request.author), request.name)
    return Archived(request.name)


ARCHIVE: Final = Operation(
    "memory context archive",
    "Archive a context: nobody reads it any more. Its rows stay in the database.",
    NamedContextRequest,
    _archive,
    Archived._asdict,
    "kl.context/1",
    "kl memory context archive glossary",
    tool="persistent_context_archive",
    writes=True,
)

OPERATIONS: Final = (LIST, CREATE, SHOW, WRITE, SNAPSHOT, RESTORE, GRANT, REVOKE, ARCHIVE)
