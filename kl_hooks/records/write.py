"""Writing: records created, changed, superseded and deleted, each under the store lock, each with
an Event.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.clock import DAY, iso
from kl_hooks.errors import EnvironmentProblem, ForPeople, UsageProblem
from kl_hooks.model.canonical import canonical
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.kind import REJECTED, SUPERSEDED, Kind
from kl_hooks.model.problem import Problem, Problems
from kl_hooks.model.record import Record, Value
from kl_hooks.model.symbol import record_node
from kl_hooks.model.text import one_line, slug
from kl_hooks.records.document import SKILL_NAME, change_fields, render_document
from kl_hooks.records.events import (
    CONTENT,
    OCCURRED,
    Event,
    append_events,
    counted_fields,
    insert_events,
    is_counted,
    list_events,
    stored_events,
)
from kl_hooks.records.permissions import (
    PROGRAMS,
    RENUMBERING,
    agent_author,
    refuse_delete,
    rule_on_change,
    rule_on_new,
)
from kl_hooks.records.query import get_record, get_records
from kl_hooks.records.repository import (
    SKILL_FILE,
    FileChanges,
    NewIds,
    kind_folder,
    records_in_rows,
    write_row,
)
from kl_hooks.records.sync import sync
from kl_hooks.records.validate import validate
from kl_hooks.store.database import placeholders
from kl_hooks.store.files import read_small
from kl_hooks.store.redaction import redact

if TYPE_CHECKING:
    from kl_hooks.store.database import Database
    from kl_hooks.workspace import Workspace

REVIVE: Final = "revive"
"""How a record is changed whose row was removed: it is restored."""
_MAX_REASON: Final = 200
_MAX_LINE: Final = 160
_PROPOSED: Final = "proposed"
_ACCEPTED: Final = "proposal accepted"
_REJECTED: Final = "proposal rejected"
_RENUMBERED: Final = "proposal renumbered"
"""A record that it names has a new ID: a new Event has what is proposed."""
_SETTLED: Final = (_ACCEPTED, _REJECTED, _RENUMBERED)


class Proposal(NamedTuple):
    """A change of a record that waits for a person."""

    number: int
    """Of its Event."""
    record: str
    how: str
    """`edit`, a verb of the kind, or `supersede`."""
    changes: Mapping[str, Any]
    """Field → value; None takes the field out. For `supersede`: `by`, the ID of the successor."""
    by: str
    at: str
    order: int = 0
    """Among the changes of a record: the number of its first Event, which renumbering keeps.
    """

    def to_dict(self) -> dict[str, Any]:
        """Return it as in JSON."""
        return {
            "number": self.number,
            "record": self.record,
            "how": self.how,
            "changes": dict(self.changes),
            "by": self.by,
            "at": self.at,
        }

    def line(self) -> str:
        """`edit: title → Ship it (agent:bot, 2026-11-22)`."""
        parts = []
        for name, value in self.changes.items():
            if isinstance(value, list | tuple):
                text = ", ".join(map(str, value))
            else:
                text = str(value)
            parts.append(
                f"{name} removed" if value is None else f"{name.replace('_', ' ')} → {text}"
            )
        if parts:
            summary = f"{self.how}: {'; '.join(parts)}"
        else:
            summary = self.how
        return f"{one_line(summary, _MAX_LINE)} ({one_line(self.by, 80)}, {self.at[:10]})"


def create_record(
    ws: Workspace,
    kind: Kind,
    raw: Mapping[str, Any],
    *,
    asked: str = "",
    body: str = "",
    by: str = "",
) -> Record:
    """Create a record of these values (see `records.validate`). `asked`: its ID; `by`: its author.

    Problems (exit 2) with everything wrong, IdTaken for an ID that another record has (of kinds
    whose ID is a hash, a record of the same identity), EnvironmentProblem where the store or the
    folder can't be written; then nothing was written. `expires` given as None: it never expires.
    """
    return create_records(ws, kind, [raw], asked=[asked], bodies=[body], by=by)[0]


def create_records(
    ws: Workspace,
    kind: Kind,
    raws: Sequence[Mapping[str, Any]],
    *,
    asked: Sequence[str] = (),
    bodies: Sequence[str] = (),
    by: str = "",
) -> list[Record]:
    """Create several records as `create_record` does, all or none. `asked`, `bodies`: one for each,
    or none.
    """
    ids, bodies = (list(texts) or [""] * len(raws) for texts in (asked, bodies))
    agent = agent_author(ws, by)
    rulings = [rule_on_new(kind, raw, agent) for raw in raws]
    by, raws = by or agent, [ruling.allowed for ruling in rulings]
    validated = [validate_or_raise(kind, redact_values(raw), f"kl {kind.name} new") for raw in raws]
    for values in validated:
        _refuse_odd_spelling(kind, values, f"kl {kind.name} new")
    proposals = [_checked_proposal(kind, ruling.proposed) for ruling in rulings]
    sync(ws)
    records: dict[int, Record] = {}
    with (
        ws.store.writing(what=f"making a {kind.name}") as db,
        FileChanges(ws) as files,
        db.transaction(),
    ):
        new_ids = NewIds(ws, db, kind)
        # IDs that are asked for first: no other takes them
        for place in sorted(range(len(raws)), key=lambda place: not ids[place]):
            values = _with_defaults(
                ws, kind, validated[place], endless=raws[place].get("expires", "") is None
            )
            record = Record(
                kind.name, new_ids.take(values, ids[place]), values, redact(bodies[place])
            )
            if is_counted(kind):
                insert_events(db, [Event(OCCURRED, record.id, by)], iso(ws.clock.now()))
                record = record.with_values(
                    **counted_fields(db, kind, record, ws.clock.now(), values, new=True)
                )
            if kind.storage == "file" or record.status in kind.filed:
                record = _write_new_file(ws, db, kind, record, files)
            else:
                write_row(ws, db, record, "state")
            records[place] = record
        created = [records[place] for place in range(len(raws))]
        notes = [
            {"status": record.status, **_content_note(record, by, agent, files)}
            for record in created
        ]
        events = [
            Event("created", record.id, by, note)
            for record, note in zip(created, notes, strict=True)
        ]
        insert_events(db, events, iso(ws.clock.now()))
        return [
            _with_proposal(ws, db, record, "edit", proposed, by)
            for record, proposed in zip(created, proposals, strict=True)
        ]


def change_record(
    ws: Workspace,
    record: Record,
    raw: Mapping[str, Any],
    *,
    how: str = "edit",
    by: str = "",
    note: Mapping[str, Any] | None = None,
) -> Record:
    """Change some fields of a record; None takes a field out. Its former values are stored as a
    version.

    What an agent may not change by itself is stored as a proposal, which the record then names.
    Problems with everything wrong; UsageProblem for a file that can't be read today.
    """
    kind = ws.kinds[record.kind]
    if record.broken:
        raise UsageProblem(
            f"can't be read today: {record.broken}", place=record.path, hint="Fix the file first."
        )
    agent = agent_author(ws, by)
    by = by or agent
    if how == REVIVE:
        ruling = rule_on_new(kind, raw, agent)
    else:
        ruling = rule_on_change(ws, kind, record, raw, how, agent)
    proposed = _checked_proposal(kind, ruling.proposed)
    if proposed is not None and not ruling.allowed:
        return _propose_change(ws, record, how, proposed, by)
    changes = _checked_changes(kind, record, ruling.allowed)
    with (
        ws.store.writing(what=f"changing a {kind.name}") as db,
        FileChanges(ws) as files,
        db.transaction(),
    ):
        record = _as_stored_now(db, record, how)
        changes["updated"] = _today(ws) if record.path else iso(ws.clock.now())
        if is_counted(kind) and record.path:
            changes |= counted_fields(db, kind, record, ws.clock.now(), changes)
        after = record.with_values(**changes)
        # Checked again as a whole: the row may have changed since the caller read it.
        validate_or_raise(kind, after.values, f"kl {kind.name} edit")
        changed = _store_change(ws, db, kind, record, after, how, files)
        note = {**(note or {}), **_content_note(changed, by, agent, files)}
        event = Event("changed" if how == "edit" else how, record.id, by, note)
        insert_events(db, [event], iso(ws.clock.now()))
        return _with_proposal(ws, db, changed, "edit", proposed, by)


def _checked_changes(kind: Kind, record: Record, raw: Mapping[str, Any]) -> dict[str, Value | None]:
    """Field → its new value, None where it is taken out. UsageProblem for what no change of fields
    may do.
    """
    cleared, values = _cleared_and_set(kind, raw)
    unknown = [name for name in raw if name not in kind.by_name]
    if unknown:
        raise UsageProblem(
            f"{kind.name} has no field {unknown[0]!r}.", place=f"kl {kind.name} edit"
        )
    if kind.folders and values.get("title", record.title) != record.title:
        hint = "Make a new one that succeeds it, or rename the folder and its `name` by hand."
        raise UsageProblem("a skill is known by its name.", place=record.title, hint=hint)
    if "status" in cleared:
        hint = f"See: kl {kind.name} --help"
        raise UsageProblem(
            "status can't be taken out; commands change it.", place=record.id, hint=hint
        )
    return {**cleared, **values}


def delete_record(ws: Workspace, record: Record, *, by: str = "") -> None:
    """Delete a record. A file is removed (git has it); a row stays, hidden, so that its ID is never
    used again.

    UsageProblem for an agent that did not make it.
    """
    # whoever clears seeds deletes: kl does not do that by itself
    agent = agent_author(ws, "" if by == "seed" else by)
    refuse_delete(ws.kinds[record.kind], record, agent)
    with (
        ws.store.writing(what=f"deleting a {record.kind}") as db,
        FileChanges(ws) as files,
        db.transaction(),
    ):
        write_row(ws, db, record, "gone")
        if record.path:
            files.write(record.path, None)
        insert_events(db, [Event("deleted", record.id, by or agent)], iso(ws.clock.now()))


def validate_or_raise(
    kind: Kind, raw: Mapping[str, Any], place: str, *, whole: bool = True
) -> dict[str, Value]:
    """Return the validated values. Problems, all at once, where anything is wrong."""
    values, problems = validate(kind, raw, lambda name: (place, 0, 0), whole=whole)
    if problems:
        raise Problems(problems)
    return values


def redact_values(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values without secrets: before anything is written."""

    def clean(value: Any) -> Any:
        if isinstance(value, str):
            return redact(value)
        if isinstance(value, list | tuple):
            return [clean(part) for part in value]
        if not isinstance(value, Mapping):
            return value
        return {clean(key): clean(part) for key, part in value.items()}

    return {name: clean(value) for name, value in raw.items()}


def _store_change(
    ws: Workspace,
    db: Database,
    kind: Kind,
    before: Record,
    after: Record,
    how: str,
    files: FileChanges,
) -> Record:
    """Store a changed record in place of what it was; a status may move it from row to file, or
    back.
    """
    if before.path and (kind.storage == "file" or after.status in kind.filed):
        # Read again: the record is as old as the index that it was read from.
        text = (read_small(ws.root / before.path, within=ws.root) or b"").decode("utf-8")
        fields = [(field.name, after.values.get(field.name)) for field in kind.all_fields]
        changes = {name: value for name, value in fields if before.values.get(name) != value}
        try:
            files.write(before.path, change_fields(kind, text, changes).encode("utf-8"))
        except ValueError as error:
            # such as keys that are nested, which other programs write and kl does not
            hint = "Change the file by hand."
            raise UsageProblem(
                f"can't be changed by kl ({str(error).strip(':.')}).", place=before.path, hint=hint
            ) from None
        return Record(after.kind, after.id, after.values, before.body, before.path)
    if before.path:
        moved = Record(after.kind, after.id, after.values)
        write_row(ws, db, moved, "state")
        # after the transaction, so that it is never lost in both places
        files.write(before.path, None)
        return moved
    row = db.row(
        "SELECT COALESCE(MAX(version), 0) + 1 FROM record_version WHERE id = ?", (before.id,)
    )
    db.execute(
        "INSERT INTO record_version (id, version, until, how, body) VALUES (?, ?, ?, ?, ?)",
        (
            before.id,
            row[0] if row else 1,
            iso(ws.clock.now()),
            how,
            canonical(dict(before.values)).decode(),
        ),
    )
    if after.status in kind.filed:
        return _write_new_file(ws, db, kind, after, files)
    write_row(ws, db, after, "state")
    return after


def _write_new_file(
    ws: Workspace, db: Database, kind: Kind, record: Record, files: FileChanges
) -> Record:
    name = slug(record.title)
    path = f"{kind_folder(kind)}{record.id}{'-' if name else ''}{name}.md"
    if kind.folders:
        if not SKILL_NAME.fullmatch(record.title):
            hint = "Small letters, digits and single hyphens, at most 64 characters: pdf-tools"
            raise UsageProblem(
                "is no name of a skill.", place=one_line(record.title, 80), hint=hint
            )
        path = f"{kind_folder(kind)}{record.title}/{SKILL_FILE}"
    if os.path.lexists(ws.root / path):  # also a dangling link, which a write would follow
        raise EnvironmentProblem(
            "is there already.", place=path, hint="Move it away, then try again."
        )
    files.write(path, render_document(kind, record).encode("utf-8"))
    if kind.storage == "state":
        write_row(ws, db, record, "file")
    return Record(record.kind, record.id, record.values, record.body, path)


def _content_note(record: Record, by: str, agent: str, files: FileChanges) -> dict[str, str]:
    """Return what an Event states of a file that a person has written through kl: from then on it
    is a person's.
    """
    digest = files.digests.get(record.path, "")
    if digest and not agent and by not in PROGRAMS and record.authority == "human":
        return {CONTENT: digest}
    return {}


def _cleared_and_set(
    kind: Kind, raw: Mapping[str, Any]
) -> tuple[dict[str, None], dict[str, Value]]:
    """Return (the fields that are taken out, the validated values of the others)."""
    values_given = {name: value for name, value in raw.items() if value is not None}
    cleared = {
        kind.by_name[name].name: None
        for name, value in raw.items()
        if value is None and name in kind.by_name
    }
    values = validate_or_raise(
        kind, redact_values(values_given), f"kl {kind.name} edit", whole=False
    )
    _refuse_odd_spelling(kind, values, f"kl {kind.name} edit")
    return cleared, values


def _refuse_odd_spelling(kind: Kind, values: Mapping[str, Value], place: str) -> None:
    """Raise Problems for given values that do not have the form of their field."""
    problems = []
    for field in kind.all_fields:
        if field.pattern:
            value = values.get(field.name, ())
        else:
            value = ()
        for text in value if isinstance(value, tuple) else (str(value),):
            if not re.fullmatch(field.pattern, text):
                odd = f'"{field.name}" holds {one_line(text, 60)!r}.'
                problems.append(Problem(place, 0, 0, odd, f"Such as: {field.example}"))
    if problems:
        raise Problems(problems)


def _checked_proposal(kind: Kind, raw: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return the fields of a proposal as they will be written once it is accepted; None where
    nothing is proposed.
    """
    if raw is None:
        return None
    cleared, values = _cleared_and_set(kind, raw)
    return {**cleared, **values}


def _with_proposal(
    ws: Workspace,
    db: Database,
    record: Record,
    how: str,
    changes: Mapping[str, Any] | None,
    by: str,
) -> Record:
    """Store a proposal, if there is one, in the caller's transaction; return the record with its
    number.
    """
    if changes is None:
        return record
    plain = {
        name: list(value) if isinstance(value, tuple) else value for name, value in changes.items()
    }
    for proposal in _pending(stored_events(db, "record = ?", [record.id])):
        # an agent that asks again must not fill the list that a person goes through
        if (proposal.how, dict(proposal.changes), proposal.by) == (how, plain, by):
            return replace(record, proposal=proposal.number)
    insert_events(
        db, [Event(_PROPOSED, record.id, by, {"how": how, "changes": plain})], iso(ws.clock.now())
    )
    row = db.row(
        "SELECT MAX(seq) FROM record_event WHERE record = ? AND name = ?", (record.id, _PROPOSED)
    )
    return replace(record, proposal=int(row[0]) if row else 0)


def _propose_change(
    ws: Workspace, record: Record, how: str, changes: Mapping[str, Any], by: str
) -> Record:
    with ws.store.writing(what=f"proposing a change of a {record.kind}") as db, db.transaction():
        return _with_proposal(ws, db, record, how, changes, by)


def _as_stored_now(db: Database, record: Record, how: str) -> Record:
    """Return the record as its row is now, under the lock: another process may have changed it
    since it was read.

    A file is read again when it is changed. UsageProblem for a row that was removed meanwhile.
    """
    if record.path:
        row = None
    else:
        row = next(iter(records_in_rows(db, "id = ?", (record.id,))), None)
    if row is None or row.rests == "state":
        if not row:
            return record
        return row.record
    if how == REVIVE:
        return record
    hint = f"See: kl {record.kind} show {record.id}"
    raise UsageProblem("was changed by somebody else just now.", place=record.id, hint=hint)


def _with_defaults(
    ws: Workspace, kind: Kind, values: dict[str, Value], *, endless: bool
) -> dict[str, Value]:
    """Add status, date, authority and the moment of expiry where these were not given."""
    now = ws.clock.now()
    if kind.storage == "file":
        date = _today(ws)
    else:
        date = iso(now)
    completed: dict[str, Value] = {
        "status": kind.statuses[0],
        "date": date,
        "authority": "human",
        **values,
    }
    days = kind.ttl.get(str(completed["authority"]), 0)
    if days and "expires" not in completed and not endless:
        completed["expires"] = iso(now + days * DAY)
    return completed


def _today(ws: Workspace) -> str:
    return iso(ws.clock.now())[:10]


def apply_verb(
    ws: Workspace, identifier: str, verb: str, raw: Mapping[str, Any] | None = None, *, by: str = ""
) -> Record:
    """Apply a verb of its kind to a record; `raw`: fields given with it.

    UsageProblem where the kind has no such verb, where the status does not allow it, or where
    something it needs is missing. Applying it again changes nothing and is no error.
    """
    record = get_record(ws, identifier)
    values = dict(raw or {})
    kind = ws.kinds[record.kind]
    verbs = {transition.name: transition for transition in kind.verbs}
    if verb not in verbs:
        hint = f"Verbs: {', '.join(verbs)}" if verbs else ""
        raise UsageProblem(f"{kind.name} has no verb {verb!r}.", place=record.id, hint=hint)
    transition = verbs[verb]
    if record.status == transition.to and not values:
        return _supersede_predecessors(ws, record, by)
    if transition.of and record.status not in (*transition.of, transition.to):
        reason = f"is {record.status}; {verb} works on what is {' or '.join(transition.of)}."
        raise UsageProblem(reason, place=record.id, hint=f"See: kl {kind.name} show {record.id}")
    for name in transition.needs:
        if not values.get(name) and not record.values.get(name):
            raise UsageProblem(
                f"{verb} needs {name}.",
                place=record.id,
                hint=f"Give it: --{name.replace('_', '-')} …",
            )
    if date_field := kind.date_field(transition.to):
        values.setdefault(date_field, _today(ws))
    if transition.person and transition.to in kind.live and record.status == kind.proposal:
        values["authority"] = "human"  # whoever accepts a record answers for it from then on
    _refuse_cycle(ws, record, transition.to)
    note = {"from": record.status, "to": transition.to}
    changed = change_record(
        ws, record, {**values, "status": transition.to}, how=verb, by=by, note=note
    )
    return _supersede_predecessors(ws, changed, by)


def superseded_ids(ws: Workspace, kind: Kind, identifiers: Sequence[str]) -> list[str]:
    """Return the IDs of the records that a new one will supersede. UsageProblem for one of another
    kind.
    """
    return [get_record(ws, identifier, kind.name).id for identifier in identifiers]


def supersede(ws: Workspace, old: str, new: str, *, by: str = "") -> tuple[Record, Record]:
    """Make `new` supersede `old`; return (old, new).

    While `new` is only proposed, `old` stays in force: `apply_verb` does the rest on acceptance.
    UsageProblem for IDs that are unknown, of two kinds, the same, or that would make a cycle, and
    for one that was rejected.
    """
    first = get_record(ws, old)
    second = get_record(ws, new)
    kind = ws.kinds[first.kind]
    if first.kind != second.kind:
        reason = f"is a {second.kind}, not a {first.kind}."
        raise UsageProblem(reason, place=second.id, hint="Both must be of one kind.")
    cycle = first.id in _reachable(ws, second, "superseded_by") or second.id in _reachable(
        ws, first, "supersedes"
    )
    if first.id == second.id or cycle:
        reason = f"{first.id} and {second.id} would supersede each other."
        raise UsageProblem(reason, place=f"kl {first.kind} supersede")
    if second.status == REJECTED:
        raise UsageProblem("was rejected, so it supersedes nothing.", place=second.id)
    if agent := agent_author(ws, by):
        return _propose_change(ws, first, "supersede", {"by": second.id}, agent), second
    if first.id not in second.many("supersedes"):
        supersedes = {"supersedes": [*second.many("supersedes"), first.id]}
        second = change_record(ws, second, supersedes, how="supersede", by=by)
    return (
        first if kind.is_pending(second.status) else _mark_superseded(ws, first, second, by)
    ), second


_SUCCESSION: Final = ("supersedes", "superseded_by")


def merge_records(
    ws: Workspace, old: str, new: str, *, by: str = ""
) -> tuple[Record, Record, list[str]]:
    """Merge a record into another of its kind: (the old one, superseded; the other; the records
    that name it now).

    What the old one is about, its tags and its links go to the other, and what named the old one
    names the other. Each change is an event of its record, and `merged` states the whole.
    UsageProblem as `supersede`, and for an agent.
    """
    first = get_record(ws, old)
    second = get_record(ws, new)
    if agent_author(ws, by):
        raise ForPeople(
            "is for a person.",
            place="kl graph merge",
            hint=f"Propose it: kl {first.kind} supersede",
        )
    kind = ws.kinds[second.kind]
    # all that may be refused is refused before anything is changed
    if first.broken or second.broken:
        raise UsageProblem("can't be read today.", place=(first if first.broken else second).path)
    is_done = second.id in first.many("superseded_by")
    first, second = supersede(ws, first.id, second.id, by=by)
    lists = [
        field.name
        for field in kind.all_fields
        if field.type in ("ids", "words") and field.name not in _SUCCESSION
    ]
    united = {name: list(dict.fromkeys([*second.many(name), *first.many(name)])) for name in lists}
    changes = {
        name: values for name, values in united.items() if len(values) > len(second.many(name))
    }
    note = {"from": first.id, "to": second.id}
    if changes:
        second = change_record(ws, second, changes, how="merge", by=by, note=note)
    moved = []
    spelled = {first.id, record_node(first.id)}
    for other in _naming(ws, first.id):
        if other.id not in (first.id, second.id) and not other.broken:
            renamed = _renamed_links(ws.kinds[other.kind], other, spelled, second.id)
            for name in _SUCCESSION:
                renamed.pop(name, None)
            if renamed:
                change_record(ws, other, renamed, how="merge", by=by, note=note)
                moved.append(other.id)
    if is_done and not changes and not moved:  # merging again changes nothing
        return first, second, moved
    with ws.store.writing(what="merging records") as db, db.transaction():
        event = Event("merged", second.id, by, {**note, "links": moved, "fields": sorted(changes)})
        insert_events(db, [event], iso(ws.clock.now()))
    return first, second, moved


def _renamed_links(
    kind: Kind, record: Record, former: Collection[str], new: str
) -> dict[str, list[str]]:
    """Return field → the IDs that a record names, once it names the new one for the former; only
    fields that change.
    """
    names = [field.name for field in kind.all_fields if field.type == "ids"]
    return {
        name: list(dict.fromkeys(new if link in former else link for link in record.many(name)))
        for name in names
        if not set(former).isdisjoint(record.many(name))
    }


def renumber_links(
    ws: Workspace, former: str, new: str, is_meant: Callable[[Record], bool]
) -> tuple[list[Record], list[Record]]:
    """Let the records of the database that name a record name its new ID; return these, and those
    that were left, because they may mean another record.

    `is_meant`: whether a record that names the former ID means the one that has the new ID now.
    """
    spelled = (former, record_node(former))
    moved = list[Record]()
    left = list[Record]()
    for record in _naming(ws, former):
        # a file is text, in which the ID has been replaced
        if record.path or record.broken:
            continue
        if not is_meant(record):
            left.append(record)
            continue
        links = _renamed_links(ws.kinds[record.kind], record, spelled, new)
        note = {"from": former, "to": new}
        moved.append(change_record(ws, record, links, how="renumber", by=RENUMBERING, note=note))
    return moved, left


def _naming(ws: Workspace, identifier: str) -> list[Record]:
    """The records with a link to one in a field."""
    from kl_hooks.graph import links
    from kl_hooks.records.sync import sync

    sync(ws)
    with ws.store.reading("graph") as db:
        if db is not None:
            incoming = links.incoming(db, record_node(identifier))
        else:
            incoming = []
    return get_records(
        ws,
        sorted({link.source.removeprefix("adr:") for link in incoming if link.method == "record"}),
    )


def _reachable(ws: Workspace, record: Record, field: str) -> set[str]:
    """Return the IDs that a field names, and those that the field of these records names, and so
    on.
    """
    reachable: set[str] = set()
    todo = list(record.many(field))
    while todo:
        identifier = todo.pop()
        if identifier not in reachable:
            reachable.add(identifier)
            todo += [
                linked for other in get_records(ws, [identifier]) for linked in other.many(field)
            ]
    return reachable


def _supersede_predecessors(ws: Workspace, record: Record, by: str) -> Record:
    """Mark all records that this one supersedes.

    Also completes what a killed process left undone.
    """
    kind = ws.kinds[record.kind]
    if SUPERSEDED in kind.statuses and record.status in kind.live:
        for old in get_records(ws, record.many("supersedes")):
            if old.kind == kind.name and not old.broken:
                _mark_superseded(ws, old, record, by)
    return record


def _refuse_cycle(ws: Workspace, record: Record, status: str) -> None:
    """UsageProblem where accepting it would make two records supersede each other."""
    if status not in ws.kinds[record.kind].live:
        return
    for old in get_records(ws, record.many("supersedes")):
        if (
            old.id == record.id
            or old.id in record.many("superseded_by")
            or record.id in old.many("supersedes")
        ):
            raise UsageProblem(
                f"{old.id} and {record.id} would supersede each other.", place=record.id
            )


def _mark_superseded(ws: Workspace, old: Record, new: Record, by: str) -> Record:
    if SUPERSEDED in ws.kinds[old.kind].statuses:
        status = {"status": SUPERSEDED}
    else:
        status = {}
    if new.id in old.many("superseded_by") and (not status or old.status == SUPERSEDED):
        return old
    later = list(dict.fromkeys([*old.many("superseded_by"), new.id]))
    return change_record(
        ws, old, {"superseded_by": later, **status}, how="supersede", by=by, note={"by": new.id}
    )


def pending_proposals(ws: Workspace, record: str = "") -> list[Proposal]:
    """Return the proposals that nobody has settled, oldest first: all, or those for one record."""
    return _pending(
        [event for name in (_PROPOSED, *_SETTLED) for event in list_events(ws, record, name)]
    )


def renumber_proposals(
    db: Database, new_ids: Callable[[str], str], is_meant: Callable[[Proposal], bool], now: str
) -> list[Proposal]:
    """Put the new ID of a record into the pending proposals that name it, in the caller's
    transaction; return those that were left, because they mean another record.

    Proposals for the record name it, and those for others whose changes do. Who proposed them, and
    when, stays. `new_ids`: replaces the ID in a text. `is_meant`: whether a proposal with the
    former ID means that record.
    """
    left = list[Proposal]()
    stored = stored_events(db, f"name IN ({placeholders(_SETTLED)}, ?)", [*_SETTLED, _PROPOSED])
    for proposal in _pending(stored):
        record = new_ids(proposal.record)
        changes = _with_texts(proposal.changes, new_ids)
        if (record, changes) == (proposal.record, proposal.changes):
            continue
        if not is_meant(proposal):
            left.append(proposal)
            continue
        body = {"how": proposal.how, "changes": changes, "order": proposal.order}
        settled = Event(_RENUMBERED, proposal.record, "", {"proposal": proposal.number})
        renumbered = Event(_PROPOSED, record, proposal.by, body, proposal.at)
        insert_events(db, [settled, renumbered], now)
    return left


def _with_texts(value: Any, change: Callable[[str], str]) -> Any:
    """Return a value of JSON in which each text is what `change` makes of it."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [_with_texts(part, change) for part in value]
    if isinstance(value, Mapping):
        return {change(name): _with_texts(part, change) for name, part in value.items()}
    return value


_UNREAD: Final = "(quarantined: no person has read it)"
"""In place of a proposed text."""


def proposals_for_reader(ws: Workspace, record: str = "") -> list[Proposal]:
    """Return the changes that wait for a person: all, or those of one record. Of one that reads
    like an instruction an agent gets no text; a person, who decides, gets all.
    """
    from kl_hooks.model.actors import agent

    pending = pending_proposals(ws, record)
    if agent(ws.environ) is None:
        return pending
    return [
        proposal._replace(changes=_without_instructions(proposal.changes)) for proposal in pending
    ]


def _without_instructions(changes: Mapping[str, Any]) -> Mapping[str, Any]:
    from kl_hooks.records.prompt_injection import injection_reasons

    texts = [
        str(part)
        for value in changes.values()
        for part in (value if isinstance(value, list | tuple) else [value])
    ]
    if not injection_reasons("\n".join(texts)):
        return changes
    return dict.fromkeys(changes, _UNREAD)


def _pending(events: Sequence[Event]) -> list[Proposal]:
    settled = {event.body.get("proposal") for event in events if event.name in _SETTLED}
    pending = [
        Proposal(
            event.seq,
            event.record,
            str(event.body.get("how", "edit")),
            event.body.get("changes") or {},
            event.session,
            event.at,
            int(event.body.get("order", event.seq)),
        )
        for event in events
        if event.name == _PROPOSED and event.seq not in settled
    ]
    return sorted(pending, key=lambda proposal: proposal.order)


def accept_proposals(ws: Workspace, record: Record) -> Record:
    """Make every proposed change of a record, oldest first, as a person's. UsageProblem where none
    is pending.

    A change that can't be made stays pending and blocks no other: UsageProblem names it after the
    others are made.
    """
    pending = _pending_or_raise(ws, record)
    failed = list[str]()
    for proposal in pending:
        try:
            record = _apply_proposal(ws, record, proposal)
        except UsageProblem as problem:
            failed.append(f"{proposal.line()}: {one_line(str(problem), _MAX_REASON)}")
            continue
        append_events(ws, [Event(_ACCEPTED, record.id, "", {"proposal": proposal.number})])
    if failed:
        accepted = f"accepted {len(pending) - len(failed)} of {len(pending)} proposed changes"
        hint = f"Reject what is left: kl knowledge reject {record.id}"
        raise UsageProblem(
            f"{accepted}; can't apply {'; '.join(failed)}", place=record.id, hint=hint
        )
    return record


def reject_proposals(ws: Workspace, record: Record) -> int:
    """Drop every proposed change of a record; return their number. UsageProblem where none is
    pending.
    """
    pending = _pending_or_raise(ws, record)
    append_events(
        ws, [Event(_REJECTED, record.id, "", {"proposal": proposal.number}) for proposal in pending]
    )
    return len(pending)


def _pending_or_raise(ws: Workspace, record: Record) -> list[Proposal]:
    proposals = pending_proposals(ws, record.id)
    if not proposals:
        raise UsageProblem(
            "no change is proposed for it.", place=record.id, hint="See: kl knowledge proposals"
        )
    return proposals


def _apply_proposal(ws: Workspace, record: Record, proposal: Proposal) -> Record:
    if proposal.how == "supersede":
        return supersede(ws, record.id, str(proposal.changes["by"]))[0]
    if proposal.how in {verb.name for verb in ws.kinds[record.kind].verbs}:
        return apply_verb(ws, record.id, proposal.how, proposal.changes)
    return change_record(ws, record, proposal.changes)
