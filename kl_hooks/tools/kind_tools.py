"""Tools that follow from a kind: search, read, list, create, update, its changes of status; and
those of tasks.

What is created here is an agent's, in the first status of its kind: nobody accepts or approves
here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.kinds.failure import record_failure
from kl_hooks.kinds.feature import detect_features
from kl_hooks.kinds.gate import DO_NOT_ADJUST, fitting_gates
from kl_hooks.model.kind import AUTHORITIES, COUNT_FIELDS, SEEDED, SUPERSEDED, Field, Kind, Verb
from kl_hooks.records.liveness import (
    quarantine_reasons,
    stale_reasons,
    with_stale_status,
    withhold_quarantined,
)
from kl_hooks.records.query import (
    RecordFilter,
    get_record,
    list_and_count,
    record_to_dict,
    supersession_chain,
)
from kl_hooks.records.retrieval import search_live
from kl_hooks.records.write import (
    apply_verb,
    change_record,
    create_record,
    delete_record,
    superseded_ids,
)
from kl_hooks.tools.tool import Arguments, Tool, author, flag, line, number, several
from kl_hooks.workspace import require_initialized

if TYPE_CHECKING:
    from kl_hooks.workspace import Workspace


_NOT_SETTABLE: Final = (
    "status",
    "updated",
    "date",
    "decided_at",
    "deprecated_at",
    "authority",
    "supersedes",
    "superseded_by",
)
"""Fields that are not an agent's to set: a person decides, and when he does is recorded then."""
_SORTS: Final[Mapping[str, dict[str, Any]]] = {
    "number": {"type": "integer"},
    "flag": {"type": "boolean"},
    "map": {"type": "object", "additionalProperties": {"type": "string"}},
    **{name: {"type": "array", "items": {"type": "string"}} for name in ("lines", "words", "ids")},
}


def tools_of(kind: Kind) -> Iterator[Tool]:
    """The tools of one kind."""
    name, id_ = kind.name, {"id": line(f"Its id, such as {kind.prefix}-0001.")}
    narrowed = {
        "status": line("Only in this status.", enum=list(kind.statuses)),
        "tag": line("Only with this tag."),
        "about": line("Only those about this file, folder, symbol or record."),
    }
    yield Tool(
        f"{name}_search",
        f"Find {kind.plural} that match any of some words, best first; only those in force.",
        {
            "query": line("Words; any text will do."),
            **narrowed,
            "all": flag(
                "Also what is proposed, rejected, superseded, disproven, expired or archived."
            ),
            "limit": number("Most that are given.", 10, 1, 100),
        },
        lambda ws, given: _search(ws, kind, given),
        ("query",),
    )
    yield Tool(
        f"{name}_list",
        f"The {kind.plural}: {kind.purpose}",
        {
            **narrowed,
            "authority": line("Only of this authority.", enum=list(AUTHORITIES)),
            "all": flag("Archived and expired ones too."),
            "limit": number("Most that are given.", 20, 1, 500),
        },
        lambda ws, given: _list(ws, kind, given),
    )
    yield Tool(
        f"{name}_read",
        f"One {name}, whole: its text, its status, what took its place.",
        id_,
        lambda ws, given: _read(ws, kind, given),
        ("id",),
    )
    fields = {
        f.name: _schema(f)
        for f in kind.all_fields
        if f.name not in _NOT_SETTABLE and not f.internal
    }
    also = {
        alias: field.name
        for field in kind.all_fields
        for alias in field.aliases
        if field.name in fields
    }
    needs = tuple(
        field.name for field in kind.all_fields if field.required and field.name in fields
    )
    older = f"The {kind.plural} whose place it takes, once a person accepts it."
    begun = fields | ({"supersedes": several(older)} if SUPERSEDED in kind.statuses else {})
    yield Tool(
        f"{name}_create",
        f"Make a {name}. {_waits(kind)}",
        begun,
        lambda ws, given: _create(ws, kind, given),
        needs,
        True,
        also,
    )
    yield Tool(
        f"{name}_update",
        f"Change fields of a {name}; its status has tools of its own. What a person decided changes"
        " when one accepts.",
        {**id_, **fields, "clear": several("Fields to take out.")},
        lambda ws, given: _update(ws, kind, given),
        ("id",),
        True,
        also,
    )
    if kind.storage == "state":
        yield Tool(
            f"{name}_delete",
            f"Take a {name} away that has no person's authority.",
            id_,
            lambda ws, given: _delete(ws, kind, given),
            ("id",),
            True,
        )
    for verb in kind.verbs:
        # agents propose and people accept (ADR-0018): the verbs of people are no tools
        if not verb.person:
            yield _verb(kind, verb, id_)


def _waits(kind: Kind) -> str:
    """What becomes of a record that an agent makes."""
    if kind.proposal:
        return f"It is {kind.proposal}, and shown to nobody unasked, until a person accepts it."
    return "It is recorded at once, in the agent's name."


def _verb(kind: Kind, verb: Verb, id_: Mapping[str, Any]) -> Tool:
    takes = {**id_, **{name: _schema(kind.by_name[name]) for name in verb.needs}}

    def call(ws: Workspace, given: Arguments) -> Any:
        require_initialized(ws)
        record = get_record(ws, given["id"], kind.name)
        raw = {name: value for name, value in given.items() if name != "id"}
        return to_dict(ws, apply_verb(ws, record.id, verb.name, raw, by=author(ws)))

    return Tool(
        f"{kind.name}_{verb.name}",
        f"{verb.description} It becomes {verb.to}.",
        takes,
        call,
        ("id", *verb.needs),
        True,
    )


def _schema(field: Field) -> dict[str, Any]:
    made: dict[str, Any] = {
        **_SORTS.get(field.type, {"type": "string"}),
        "description": field.description,
    }
    if field.type == "choice":
        made["enum"] = [*field.choices, *(word for word in field.also if word not in field.choices)]
    if field.type == "number":
        made |= {"minimum": field.least, "maximum": field.most}
    return made


def to_dict(ws: Workspace, record: Any) -> dict[str, Any]:
    """A record as it is given to an agent, with what took its place and why it may not hold any
    more.
    """
    (seen,) = with_stale_status(ws, [record])
    line_ = [one.id for one in supersession_chain(ws, record)]
    reasons = quarantine_reasons(ws, record)
    return (
        record_to_dict(ws, seen)
        | ({"quarantined": list(reasons)} if reasons else {})
        | {
            "chain": line_,
            "stale": stale_reasons(ws, [record]).get(record.id, ""),
        }
    )


def _to_list(ws: Workspace, found: Any, total: int) -> dict[str, Any]:
    """Records as a list is given."""
    records = with_stale_status(ws, withhold_quarantined(ws, found))
    return {
        "records": [record_to_dict(ws, record, whole=False) for record in records],
        "total": total,
    }


def _statuses(given: Arguments) -> tuple[str, ...]:
    return (given["status"],) if given.get("status") else ()


def _search(ws: Workspace, kind: Kind, given: Arguments) -> Any:
    tag, about = given.get("tag", ""), given.get("about", "")
    wanted = RecordFilter(
        (kind.name,), _statuses(given), tag, about, archived=True, expired=given["all"]
    )
    found = search_live(ws, given["query"].split(), wanted, given["limit"])
    return _to_list(ws, found.records, found.total) | {"not_in_force": found.omitted}


def _list(ws: Workspace, kind: Kind, given: Arguments) -> Any:
    every = given["all"]
    tag, about, authority = (str(given.get(name, "")) for name in ("tag", "about", "authority"))
    wanted = RecordFilter((kind.name,), _statuses(given), tag, about, authority, every, every)
    return _to_list(ws, *list_and_count(ws, wanted, given["limit"]))


def _read(ws: Workspace, kind: Kind, given: Arguments) -> Any:
    return to_dict(ws, get_record(ws, given["id"], kind.name))


def _create(ws: Workspace, kind: Kind, given: Arguments) -> Any:
    require_initialized(ws)
    older = (
        {"supersedes": superseded_ids(ws, kind, given["supersedes"])}
        if given.get("supersedes")
        else {}
    )
    return to_dict(
        ws, create_record(ws, kind, {**given, **older, "authority": "agent"}, by=author(ws))
    )


def changed_fields(given: Arguments) -> dict[str, Any]:
    """What an update is to change: field → value, None for those that are to be taken out."""
    raw = {name: value for name, value in given.items() if name not in ("id", "clear")}
    own = {field.name for field in (*SEEDED, *COUNT_FIELDS)}
    return raw | {
        name: None
        for name in given.get("clear", ())
        if name not in _NOT_SETTABLE and name not in own
    }


def _update(ws: Workspace, kind: Kind, given: Arguments) -> Any:
    require_initialized(ws)
    record = get_record(ws, given["id"], kind.name)
    raw = changed_fields(given)
    return to_dict(ws, change_record(ws, record, raw, by=author(ws)) if raw else record)


def _delete(ws: Workspace, kind: Kind, given: Arguments) -> Any:
    require_initialized(ws)
    record = get_record(ws, given["id"], kind.name)
    delete_record(ws, record, by=author(ws))
    return {"id": record.id, "deleted": True}


def work_tools() -> Iterator[Tool]:
    """What agents ask and record of work: gates, the features of a text, failed approaches."""
    yield Tool(
        "gate_for",
        "What a piece of work must pass: the gates of its type and complexity, the narrowest"
        " first.",
        {
            "type": line("The type of work: feature, docs …"),
            "complexity": number("From 1 to 10.", 5, 1, 10),
        },
        lambda ws, given: {
            "gates": [
                to_dict(ws, one) for one in fitting_gates(ws, given["type"], given["complexity"])
            ],
            "note": DO_NOT_ADJUST,
        },
        ("type",),
        False,
        {"task_type": "type"},
    )
    yield Tool(
        "feature_detect",
        "The features that a text names (FEAT-AUTH-12), with their specifications and relatives.",
        {"text": line("Any text.")},
        lambda ws, given: {"features": detect_features(ws, given["text"])},
        ("text",),
    )
    yield Tool(
        "failure_record",
        "An approach failed. The same approach again is counted, and packages warn of it.",
        {
            "approach": line("What was tried, in one sentence."),
            "symptom": line("What was seen."),
            "root_cause": line("Why it failed."),
            "prevention": line("What to do instead."),
            "fix_applied": line("How it was put right."),
            "about": several("Files where it happened."),
            "task_id": line("The task it happened in."),
        },
        _record_failure,
        ("approach",),
        True,
        {"cause": "root_cause", "fix": "fix_applied", "file_path": "about"},
    )


def _record_failure(ws: Workspace, given: Arguments) -> Any:
    require_initialized(ws)
    raw = {"file_path" if name == "about" else name: value for name, value in given.items()}
    made, count = record_failure(ws, {**raw, "authority": "agent"}, author(ws))
    return to_dict(ws, made) | {"occurrence_count": count.total}
