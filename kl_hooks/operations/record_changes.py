"""Operations that change records of a kind, made from it: make one, change its fields or its
status, take it away.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Final, Protocol

from kl_hooks.errors import ForPeople, UsageProblem
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.kind import COUNT_FIELDS, REJECTED, SEEDED, SUPERSEDED, Field, Kind, Verb
from kl_hooks.model.parameter import REQUIRED, Parameter, RequestField, fields_of
from kl_hooks.model.text import counted
from kl_hooks.operations.operation import Operation
from kl_hooks.operations.records import (
    now,
    shown_record,
    shown_to_dict,
    with_article,
)
from kl_hooks.operations.written import Written
from kl_hooks.records.query import get_record, record_now
from kl_hooks.workspace import require_initialized

if TYPE_CHECKING:
    from kl_hooks.context.access import Access
    from kl_hooks.model.record import Record
    from kl_hooks.workspace import Workspace


class Change(Protocol):
    """How a record of a kind is changed."""

    def __call__(
        self, ws: Workspace, record: Record, values: Mapping[str, Any], /, *, by: str
    ) -> Record:
        """Return the record with these values. `by`: the agent that changes it; empty: a person."""


_SET_BY_VERBS: Final = ("status", "updated", "supersedes", "superseded_by")
"""Fields that no option sets."""
_DECIDED: Final = ("date", "decided_at", "deprecated_at", "authority")
"""Fields that are a person's to set: he decides, and when he does is recorded then."""
_TYPES: Final[Mapping[str, type]] = {
    "number": int,
    "flag": bool,
    "map": dict,
    "lines": tuple,
    "words": tuple,
    "ids": tuple,
}


class CreateRequest(NamedTuple):
    """What is made."""

    title: str
    values: Mapping[str, Any]
    """Field → value, the title among them."""
    supersedes: tuple[str, ...] = ()
    new_id: str = ""
    """Its ID; empty: one is given."""
    markdown: str = ""
    """What belongs in no field."""
    author: str = ""
    """As events name it; empty: whoever runs this."""

    @classmethod
    def of(
        cls,
        *,
        supersedes: tuple[str, ...] = (),
        new_id: str = "",
        markdown: str = "",
        by_agent: bool = False,
        **values: Any,
    ) -> CreateRequest:
        """Return the request to make a record of the values that were given."""
        fields = ({"authority": "agent"} if by_agent else {}) | _given(values)
        return cls(str(fields.get("title", "")), fields, supersedes, new_id, markdown)


class UpdateRequest(NamedTuple):
    """What is changed."""

    id: str
    values: Mapping[str, Any]
    """Field → value; None takes the field out."""
    author: str = ""

    @classmethod
    def of(cls, id: str, clear: tuple[str, ...] = (), **values: Any) -> UpdateRequest:
        """Return the request to change the values that were given, and to take fields out."""
        return cls(id, {**_given(values), **dict.fromkeys(clear)})


class DeleteRequest(NamedTuple):
    """What is taken away."""

    id: Annotated[str, Parameter("Its id.", argument="ID")]
    is_confirmed: Annotated[bool, Parameter("Do not ask.", name="yes", is_personal=True)] = False
    author: str = ""


class Deleted(NamedTuple):
    """A record that was taken away."""

    former: Written
    notes: tuple[str, ...] = ()


def _given(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value not in (None, ())}


def written(ws: Workspace, record: Record, access: Access, *notes: str) -> Written:
    """Return a record that was just written; for an agent with what is to be known of it today."""
    # a person would wait for what he did not ask
    today = (shown_record(ws, record),) if access.is_agent else ()
    return Written(record, now(ws), today, notes)


def written_to_dict(kind: Kind, change: Written) -> dict[str, Any]:
    """Return a record that was written as JSON."""
    if change.today:
        return shown_to_dict(kind, change.today[0])
    return record_now(kind, change.record, change.now)


def _create(kind: Kind, ws: Workspace, request: CreateRequest, access: Access) -> Written:
    from kl_hooks.records.permissions import agent_author
    from kl_hooks.records.write import create_record, superseded_ids

    require_initialized(ws)
    older = {"supersedes": superseded_ids(ws, kind, request.supersedes)}
    values = _named_values(ws, kind, request.values, access)
    record = create_record(
        ws,
        kind,
        {**values, **(older if request.supersedes else {})},
        asked=request.new_id,
        body=request.markdown,
        by=agent_author(ws, request.author),
    )
    return written(
        ws, record, access, *_proposal_notes(kind, record), *_absences(ws, record, access)
    )


def _named_values(
    ws: Workspace, kind: Kind, values: Mapping[str, Any], access: Access
) -> Mapping[str, Any]:
    """Return values of fields, names of symbols as their IDs."""
    if not any(values.get(field.name) for field in kind.all_fields if field.type == "ids"):
        return values
    from kl_hooks.operations.symbol_names import with_symbol_ids

    return with_symbol_ids(ws, kind, values, access)


def _proposal_notes(kind: Kind, record: Record) -> list[str]:
    """What a proposal does not do yet, and the command by which a person accepts it."""
    accepting = [
        verb.name
        for verb in kind.verbs
        if verb.to in kind.live and (not verb.of or record.status in verb.of)
    ]
    if record.status != kind.proposal or not accepting:
        return []
    command = f"kl {kind.name} {accepting[0]} {record.id}"
    olds = ", ".join(record.many("supersedes"))
    if olds:
        return [f"{olds} stays in force until a person accepts {record.id}: {command}"]
    return [f"{record.id} is given to nobody until a person accepts it: {command}"]


def _absences(ws: Workspace, record: Record, access: Access) -> list[str]:
    """What a record names and is not there; of records that it cites there is a note already."""
    fields = [field.name for field in ws.kinds[record.kind].all_fields if field.type == "ids"]
    if not any(record.many(name) for name in fields):
        return []
    from kl_hooks.upkeep.named_ids import absence_note_of

    # with a policy, the note would reveal which hidden symbols exist
    note = absence_note_of(
        ws, record, are_records_checked=False, are_symbols_checked=access.shows_all
    )
    return [note] if note else []


def _update(
    kind: Kind, change: Change, ws: Workspace, request: UpdateRequest, access: Access
) -> Written:
    from kl_hooks.records.permissions import agent_author

    require_initialized(ws)
    record = get_record(ws, request.id, kind.name)
    for name, value in request.values.items():
        field = kind.by_name.get(name)
        if field is not None and value is None:
            _refuse_clear(field, access)
    if not request.values:
        access.record(record)  # nothing is written, so it is read
    else:
        values = _named_values(ws, kind, request.values, access)
        record = change(ws, record, values, by=agent_author(ws, request.author))
    return written(ws, record, access)


def _refuse_clear(field: Field, access: Access) -> None:
    """UsageProblem for a field that is not to be taken out by whoever asks."""
    if field.internal or field in (*SEEDED, *COUNT_FIELDS):
        raise UsageProblem(f"{field.name} is written by kl alone.", place="--clear")
    if access.is_agent and field.name in (*_SET_BY_VERBS, *_DECIDED):
        raise ForPeople(f"{field.name} is not an agent's to change.", place="--clear")


def _apply(
    kind: Kind, verb: Verb, ws: Workspace, request: UpdateRequest, access: Access
) -> Written:
    """Take a record through a verb. `accept` and `reject` are for changes that are proposed, too.

    UsageProblem where only a person may, and an agent asks.
    """
    from kl_hooks.records.permissions import agent_author
    from kl_hooks.records.write import apply_verb, pending_proposals

    require_initialized(ws)
    record = get_record(ws, request.id, kind.name)
    author = agent_author(ws, request.author)
    # a verb that changes this record's status decides about the record, not about a change that
    # somebody proposed
    is_idle = record.status == verb.to or bool(verb.of and record.status not in verb.of)
    decides = verb.to == REJECTED or (verb.to in kind.live and is_idle)
    decides = decides and verb.person and record.status != kind.proposal
    if decides and not author and pending_proposals(ws, record.id):
        return decide(ws, record, access, is_accepted=verb.to in kind.live)
    return written(ws, apply_verb(ws, record.id, verb.name, request.values, by=author), access)


def decide(ws: Workspace, record: Record, access: Access, *, is_accepted: bool) -> Written:
    """Make, or drop, the changes that are proposed for a record. For people."""
    from kl_hooks.records.write import accept_proposals, reject_proposals

    if is_accepted:
        return written(ws, accept_proposals(ws, record), access)
    number = reject_proposals(ws, record)
    return written(
        ws, record, access, f"{record.id}: rejected {counted(number, 'proposed change')}"
    )


def _delete(kind: Kind, ws: Workspace, request: DeleteRequest, access: Access) -> Deleted:
    from kl_hooks.records.permissions import agent_author
    from kl_hooks.records.write import delete_record

    require_initialized(ws)
    record = get_record(ws, request.id, kind.name)
    delete_record(ws, record, by=agent_author(ws, request.author))
    trouble = ""
    if kind.name == "memory":  # its page is what agents are shown
        from kl_hooks.kinds.memory.inject import write_page

        trouble = write_page(ws)
    return Deleted(Written(record, now(ws)), (trouble,) if trouble else ())


def _deleted_to_dict(deleted: Deleted) -> dict[str, Any]:
    record = deleted.former.record
    return {"id": record.id, "path": record.path, "deleted": True}


def _field(field: Field) -> RequestField:
    """Return a field of a kind as one of a request."""
    parameter = Parameter(
        field.description,
        choices=field.choices if field.type == "choice" else (),
        bounds=(field.least, field.most) if field.type == "number" else None,
        name="tag" if field.name == "tags" else "",
        metavar="KEY=TEXT" if field.type == "map" else "",
        aliases=field.aliases,
        is_free=True,
        spellings=tuple(field.also),
        is_personal=field.name in _DECIDED,
    )
    default = REQUIRED if field.required else None
    return RequestField(field.name, _TYPES.get(field.type, str), default, parameter)


def _fields(kind: Kind) -> Iterator[RequestField]:
    """Yield the fields of a record that a request may set."""
    for field in kind.all_fields:
        if field.name not in _SET_BY_VERBS and not field.internal:
            yield _field(field)


def _id_field(kind: Kind) -> RequestField:
    parameter = Parameter(f"Its id, such as {kind.prefix}-0001.", argument="ID")
    return RequestField("id", str, REQUIRED, parameter)


def create(kind: Kind) -> Operation:
    """Return the operation that makes a record of a kind."""
    fields = [*_fields(kind)]
    if SUPERSEDED in kind.statuses:
        text = f"The {kind.name} whose place it takes, once it is accepted. Repeatable."
        fields.append(RequestField("supersedes", tuple, (), Parameter(text, metavar="ID")))
    is_personal = Parameter("Markdown that belongs in no field.", is_hidden=True, is_personal=True)
    fields.append(RequestField("markdown", str, "", is_personal._replace(name="body")))
    text = f"Its id, such as {kind.prefix}-0001; else one is given."
    identifier = Parameter(text, name="id", is_hidden=kind.numbering != "given", is_personal=True)
    fields.append(RequestField("new_id", str, "", identifier))
    # else it is a field, and whoever names an agent there is taken at his word
    if "agent" not in kind.by_name:
        text = "An agent makes it: it waits for a person."
        agent = Parameter(text, name="agent", is_personal=True)
        fields.append(RequestField("by_agent", bool, False, agent))
    has_more = any(field.required and field.name != "title" for field in kind.all_fields)
    titles = [field.example for field in kind.all_fields if field.name == "title"]
    title = next(filter(None, titles), "In one line")
    if kind.proposal:
        waits = " An agent's waits for a person."
    else:
        waits = ""
    purpose = f"{kind.purpose[:1].lower()}{kind.purpose[1:]}"
    return Operation(
        f"{kind.name} new",
        f"Make {with_article(kind.name)}: {purpose}{waits}",
        CreateRequest.of,
        partial(_create, kind),
        partial(written_to_dict, kind),
        "kl.record/1",
        f'kl {kind.name} new "{title}"{" --edit" if has_more else ""}',
        tool=f"{kind.name}_create",
        writes=True,
        own_fields=tuple(fields),
    )


def update(kind: Kind) -> Operation:
    """Return the operation that changes fields of a record of a kind."""
    clear = Parameter("Take a field out. Repeatable.", metavar="FIELD")
    return Operation(
        f"{kind.name} edit",
        f"""Change fields of {with_article(kind.name)}. What a person decided waits for one.

        Without any, its file opens in your editor.
        """,
        UpdateRequest.of,
        partial(_update, kind, _change_of(kind)),
        partial(written_to_dict, kind),
        "kl.record/1",
        f"kl {kind.name} edit {kind.prefix}-0001 --tag speed",
        tool=f"{kind.name}_update",
        writes=True,
        own_fields=(
            _id_field(kind),
            *(field._replace(default=None) for field in _fields(kind)),
            RequestField("clear", tuple, (), clear),
        ),
    )


def _change_of(kind: Kind) -> Change:
    """Return how a record of a kind is changed."""
    if kind.name == "memory":  # one that an agent changes is inspected, and named by its text
        from kl_hooks.kinds.memory.add import revise

        return partial(revise, ttl_days=None)
    from kl_hooks.records.write import change_record

    return change_record


def verb(kind: Kind, change: Verb) -> Operation:
    """Return the operation that changes the status of a record of a kind."""
    needs = (_field(kind.by_name[name]) for name in change.needs)
    return Operation(
        f"{kind.name} {change.name}",
        f"{change.description} It becomes {change.to}.",
        UpdateRequest.of,
        partial(_apply, kind, change),
        partial(written_to_dict, kind),
        "kl.record/1",
        f"kl {kind.name} {change.name} {kind.prefix}-0001",
        # agents propose and people accept (ADR-0018)
        is_tool=not change.person,
        writes=True,
        own_fields=(_id_field(kind), *(field._replace(default=REQUIRED) for field in needs)),
    )


def delete(kind: Kind) -> Operation:
    """Return the operation that takes a record of a kind away."""
    return Operation(
        f"{kind.name} delete",
        f"""Delete {with_article(kind.name)}; agents, where no person answers for it.

        Its id is never used again; a file stays in git's history.
        """,
        DeleteRequest,
        partial(_delete, kind),
        _deleted_to_dict,
        "kl.record.deleted/1",
        f"kl {kind.name} delete {kind.prefix}-0001 --yes",
        is_tool=kind.storage == "state",
        writes=True,
        own_fields=(_id_field(kind), *fields_of(DeleteRequest)[1:]),
    )
