"""Writing: records created, changed, superseded and deleted, each under the store lock, each with an Event."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.clock import iso
from kl_hooks.errors import EnvironmentProblem, UsageProblem
from kl_hooks.model.kind import REJECTED, SUPERSEDED, Kind
from kl_hooks.model.problem import Problems
from kl_hooks.model.record import Record, Value
from kl_hooks.model.text import one_line
from kl_hooks.records import repository
from kl_hooks.records.events import Event, append_events, counted_fields, insert_events
from kl_hooks.records.permissions import (
    SETTLED,
    Proposal,
    agent_author,
    insert_proposal,
    pending_proposals,
    refuse_delete,
    rule_on_change,
    rule_on_new,
)
from kl_hooks.records.query import RecordFilter, get_record, get_records, list_records
from kl_hooks.records.repository import (
    FileChanges,
    has_file,
    new_id,
    remove_file,
    serial_number,
    store_change,
    store_new,
    write_row,
)
from kl_hooks.records.sync import sync
from kl_hooks.records.validate import validate

if TYPE_CHECKING:
    from kl_hooks.store.database import Database
    from kl_hooks.workspace import Workspace


_DAY: Final = 86_400_000_000
REVIVE: Final = "revive"
"""How a record is changed whose row went away: it comes back."""


class IdTaken(UsageProblem):
    """The ID of a new record belongs to another one, which may have been written a moment ago."""

    def __init__(self, kind: Kind, identifier: str) -> None:
        super().__init__("is there already.", place=identifier, hint=f"See: kl {kind.name} show {identifier}")


def create_record(
    ws: Workspace, kind: Kind, raw: Mapping[str, Any], *, asked: str = "", body: str = "", by: str = ""
) -> Record:
    """A new record of these values (see `records.validate`); `asked` names its id, `by` who made it.

    Problems (exit 2) with everything wrong, UsageProblem for an id that is taken, EnvironmentProblem where the store or
    the folder can't be written; then nothing was written. `expires` given as None: it never ends. A record that is the
    same by its identity is a UsageProblem too: look first.
    """
    return create_records(ws, kind, [raw], asked=asked, body=body, by=by)[0]


def create_records(
    ws: Workspace,
    kind: Kind,
    raws: Sequence[Mapping[str, Any]],
    *,
    asked: str | Sequence[str] = "",
    body: str | Sequence[str] = "",
    by: str = "",
) -> list[Record]:
    """The same for several at once: all of them, or none. `asked` may be a list then, an id for each, and `body` too.

    Ids that somebody names are taken first, so that a record without one gets none of those.
    """
    ids, bodies = ([one] * len(raws) if isinstance(one, str) else list(one) for one in (asked, body))
    who = agent_author(ws, by)
    rulings = [rule_on_new(kind, raw, who) for raw in raws]
    by, raws = by or who, [ruling.allowed for ruling in rulings]
    found = [validate_or_raise(kind, redact_values(raw), f"kl {kind.name} new") for raw in raws]
    held = [_checked_proposal(kind, one.proposed) for one in rulings]
    sync(ws)
    made: dict[int, Record] = {}
    last: int | None = None
    with ws.store.writing(what=f"making a {kind.name}") as db, FileChanges(ws) as kept, db.transaction():
        for n in sorted(range(len(raws)), key=lambda n: not ids[n]):
            values = _with_defaults(ws, kind, found[n], endless=raws[n].get("expires", "") is None)
            identifier = new_id(ws, db, kind, values, ids[n], last)
            last = last if ids[n] else serial_number(kind, identifier)
            record = Record(kind.name, identifier, values, redact_values({"body": bodies[n]})["body"])
            if _is_taken(ws, db, kind, record.id) or record.id in (other.id for other in made.values()):
                raise IdTaken(kind, record.id)
            if kind.counted:
                insert_events(db, [Event(kind.counted, record.id, by)], iso(ws.clock.now()))
                record = record.with_values(**counted_fields(db, kind, record, ws.clock.now(), values, new=True))
            made[n] = store_new(ws, db, kind, record, kept)
        whole, now = [made[n] for n in range(len(raws))], iso(ws.clock.now())
        insert_events(db, [Event("created", one.id, by, {"status": one.status}) for one in whole], now)
        return [_with_proposal(ws, db, one, "edit", more, by) for one, more in zip(whole, held, strict=True)]


def change_record(
    ws: Workspace,
    record: Record,
    raw: Mapping[str, Any],
    *,
    how: str = "edit",
    by: str = "",
    note: Mapping[str, Any] | None = None,
) -> Record:
    """The record with some fields changed; None takes a field out. What it said before is kept as a version.

    What an agent may not change by itself is stored as a proposal, which the record then names (`records.permissions`).

    Problems with everything wrong; UsageProblem for a file that can't be read today: mend it by hand first.
    """
    kind = ws.kinds[record.kind]
    if record.broken:
        raise UsageProblem(f"can't be read today: {record.broken}", place=record.path, hint="Fix the file first.")
    who = agent_author(ws, by)
    by = by or who
    ruling = rule_on_new(kind, raw, who) if how == REVIVE else rule_on_change(ws, kind, record, raw, how, who)
    raw, held = ruling.allowed, _checked_proposal(kind, ruling.proposed)
    if held is not None and not raw:
        return _propose_change(ws, record, how, held, by)
    given = {name: value for name, value in raw.items() if value is not None}
    values = validate_or_raise(kind, redact_values(given), f"kl {kind.name} edit", whole=False)
    unknown = [name for name in raw if name not in kind.by_name]
    if unknown:
        raise UsageProblem(f"{kind.name} has no field {unknown[0]!r}.", place=f"kl {kind.name} edit")
    out = {kind.by_name[name].name: None for name, value in raw.items() if value is None}
    if "status" in out:
        hint = f"See: kl {kind.name} --help"
        raise UsageProblem("status can't be taken out; commands change it.", place=record.id, hint=hint)
    said = {**out, **values, "updated": iso(ws.clock.now()) if not record.path else _today(ws)}
    with ws.store.writing(what=f"changing a {kind.name}") as db, FileChanges(ws) as kept, db.transaction():
        record = _as_stored_now(db, record, how)
        if kind.counted and record.path:
            said |= counted_fields(db, kind, record, ws.clock.now(), values)
        after = record.with_values(**said)
        validate_or_raise(kind, after.values, f"kl {kind.name} edit")
        made = store_change(ws, db, kind, record, after, how, kept)
        insert_events(db, [Event("changed" if how == "edit" else how, record.id, by, note or {})], iso(ws.clock.now()))
        return _with_proposal(ws, db, made, "edit", held, by)


def _checked_proposal(kind: Kind, raw: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The fields of a proposal, as they will be written if it is accepted; None where nothing is proposed."""
    if raw is None:
        return None
    given = {name: value for name, value in raw.items() if value is not None}
    out = {kind.by_name[name].name: None for name, value in raw.items() if value is None and name in kind.by_name}
    return {**out, **validate_or_raise(kind, redact_values(given), f"kl {kind.name} edit", whole=False)}


def _with_proposal(
    ws: Workspace, db: Database, record: Record, how: str, changes: Mapping[str, Any] | None, by: str
) -> Record:
    """The record, with the number of the proposal where there is something to propose. Inside a transaction."""
    if changes is None:
        return record
    plain = {name: list(value) if isinstance(value, tuple) else value for name, value in changes.items()}
    return replace(record, proposal=insert_proposal(db, record, how, plain, by, ws.clock.now()))


def _as_stored_now(db: Database, record: Record, how: str) -> Record:
    """The record as its row is now, under the lock: somebody may have changed it since it was read.

    A file says by itself what it is now (see `keeping.put`). UsageProblem for a row that went away meanwhile.
    """
    row = (
        None
        if record.path
        else db.row(f"SELECT {repository.RECORD_COLUMNS}, rests FROM record WHERE id = ?", (record.id,))
    )
    if row is None or row[3] == "state":
        return repository.record_of_row(row[:3]) if row else record
    if how == REVIVE:
        return record
    raise UsageProblem("was changed by somebody else just now.", place=record.id, hint="Look at it, then try again.")


def _propose_change(ws: Workspace, record: Record, how: str, changes: Mapping[str, Any], by: str) -> Record:
    """Note a change that an agent asks for; the record as it stays, with the number of the proposal."""
    with ws.store.writing(what=f"proposing a change of a {record.kind}") as db, db.transaction():
        return _with_proposal(ws, db, record, how, changes, by)


def delete_record(ws: Workspace, record: Record, *, by: str = "") -> None:
    """Takes a record away. A file is deleted (git has it); a row stays, unseen, so that its id is never used again.

    UsageProblem for an agent where it is not its own.
    """
    who = agent_author(ws, "" if by == "seed" else by)  # clearing is a deed of whoever asks for it
    refuse_delete(ws.kinds[record.kind], record, who)
    by = by or who
    with ws.store.writing(what=f"deleting a {record.kind}") as db, FileChanges(ws) as kept, db.transaction():
        write_row(ws, db, record, "gone")
        if record.path:
            remove_file(ws, record, kept)
        insert_events(db, [Event("deleted", record.id, by)], iso(ws.clock.now()))


def validate_or_raise(kind: Kind, raw: Mapping[str, Any], place: str, *, whole: bool = True) -> dict[str, Value]:
    """The values that `raw` gives. Problems, all at once, where anything is wrong."""
    values, problems = validate(kind, raw, lambda name: (place, 0, 0), whole=whole)
    if problems:
        raise Problems(problems)
    return values


def redact_values(raw: Mapping[str, Any]) -> dict[str, Any]:
    """The same values without secrets: before anything is written."""
    from kl_hooks.store.redaction import redact

    def clean(value: Any) -> Any:
        if isinstance(value, str):
            return redact(value)
        if isinstance(value, list | tuple):
            return [clean(one) for one in value]
        return {clean(k): clean(v) for k, v in value.items()} if isinstance(value, Mapping) else value

    return {name: clean(value) for name, value in raw.items()}


def _with_defaults(ws: Workspace, kind: Kind, values: dict[str, Value], *, endless: bool = False) -> dict[str, Value]:
    """With status, date, authority and the moment it expires, where these were not given."""
    now = ws.clock.now()
    begun = {"status": kind.statuses[0], "date": _today(ws) if kind.home == "file" else iso(now), "authority": "human"}
    made: dict[str, Value] = {**begun, **values}
    days = kind.ttl.get(str(made["authority"]), 0)
    if days and "expires" not in made and not endless:
        made["expires"] = iso(now + days * _DAY)
    return made


def _today(ws: Workspace) -> str:
    return iso(ws.clock.now())[:10]


def _is_taken(ws: Workspace, db: Database, kind: Kind, identifier: str) -> bool:
    """An id that follows from what a record says may come back after it was taken away: it is the same thing again."""
    again = " AND rests <> 'gone'" if kind.numbering == "hash" else ""
    if db.row(f"SELECT 1 FROM record WHERE id = ?{again}", (identifier,)):
        return True
    if has_file(ws.root, kind, identifier):  # by another process since the index was read
        return True
    with ws.store.reading("graph") as graph:
        return graph is not None and bool(graph.row("SELECT 1 FROM authored WHERE id = ?", (identifier,)))


def require_setup(ws: Workspace) -> None:
    """EnvironmentProblem where kl has not been set up: records need a home that people know of."""
    if not ws.initialised:
        raise EnvironmentProblem("kl is not set up here.", place=str(ws.root), hint="Set it up with: kl init")


_LONGEST_REASON: Final = 200
"""Characters of the reason why a proposed change can't be made."""


def apply_verb(
    ws: Workspace, identifier: str, verb: str, raw: Mapping[str, Any] | None = None, *, by: str = ""
) -> Record:
    """Takes a record through a verb of its kind; `raw` are fields given with it.

    UsageProblem where the verb is none of its kind, where its status does not allow it, or where something it needs is
    missing. Doing it again changes nothing and is no mistake.
    """
    record, given = get_record(ws, identifier), dict(raw or {})
    kind = ws.kinds[record.kind]
    known = {one.name: one for one in kind.verbs}
    if verb not in known:
        hint = f"Verbs: {', '.join(known)}" if known else ""
        raise UsageProblem(f"{kind.name} has no verb {verb!r}.", place=record.id, hint=hint)
    one = known[verb]
    if record.status == one.to and not given:
        return _supersede_predecessors(ws, record, by)
    if one.of and record.status not in (*one.of, one.to):
        reason = f"is {record.status}; {verb} works on what is {' or '.join(one.of)}."
        raise UsageProblem(reason, place=record.id, hint=f"See: kl {kind.name} show {record.id}")
    for name in one.needs:
        if not given.get(name) and not record.values.get(name):
            raise UsageProblem(f"{verb} needs {name}.", place=record.id, hint=f"Give it: --{name.replace('_', '-')} …")
    if one.stamps and one.stamps not in given:
        given[one.stamps] = iso(ws.clock.now())[:10]
    if one.person and one.to in kind.live and record.status == kind.proposal:
        given["authority"] = "human"  # who accepts it stands behind it from now on
    _refuse_cycle(ws, record, one.to)
    said = {"from": record.status, "to": one.to}
    return _supersede_predecessors(
        ws, change_record(ws, record, {**given, "status": one.to}, how=verb, by=by, note=said), by
    )


def proposed_successors(ws: Workspace, record: Record) -> list[Record]:
    """The proposals that would take its place, once somebody accepts them."""
    kind = ws.kinds[record.kind]
    if SUPERSEDED not in kind.statuses or record.status == SUPERSEDED:
        return []
    proposed = list_records(ws, RecordFilter((kind.name,), kind.statuses[:1]))
    return [one for one in proposed if record.id in one.many("supersedes")]


def superseded_ids(ws: Workspace, kind: Kind, given: Sequence[str]) -> list[str]:
    """The IDs of the records that a new one is to take the place of. UsageProblem for one that is none of its kind."""
    return [get_record(ws, one, kind.name).id for one in given]


def supersede(ws: Workspace, old: str, new: str, *, by: str = "") -> tuple[Record, Record]:
    """Makes `new` take the place of `old`. Returns (old, new).

    While `new` is only proposed, it alone says so and `old` stays in force: `apply_verb` does the rest on acceptance.
    UsageProblem for ids that are unknown, of two kinds, the same, or that would make a cycle, and for one that was
    rejected.
    """
    first, second = get_record(ws, old), get_record(ws, new)
    kind = ws.kinds[first.kind]
    if first.kind != second.kind:
        raise UsageProblem(
            f"is a {second.kind}, not a {first.kind}.", place=second.id, hint="Both must be of one kind."
        )
    if first.id == second.id or first.id in _successors(ws, first, second):
        raise UsageProblem(
            f"{first.id} and {second.id} would supersede each other.", place=f"kl {first.kind} supersede"
        )
    if second.status == REJECTED:
        raise UsageProblem("was rejected: it takes nobody's place.", place=second.id)
    if who := agent_author(ws, by):
        return _propose_change(ws, first, "supersede", {"by": second.id}, who), second
    if first.id not in second.many("supersedes"):
        second = change_record(
            ws, second, {"supersedes": [*second.many("supersedes"), first.id]}, how="supersede", by=by
        )
    return (first if kind.is_pending(second.status) else _mark_superseded(ws, first, second, by)), second


def _supersede_predecessors(ws: Workspace, record: Record, by: str) -> Record:
    """The record, once all whose place it takes say so. Finishes what an earlier process was killed at."""
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
        if old.id == record.id or old.id in record.many("superseded_by") or record.id in old.many("supersedes"):
            raise UsageProblem(f"{old.id} and {record.id} would supersede each other.", place=record.id)


def _mark_superseded(ws: Workspace, old: Record, new: Record, by: str) -> Record:
    """The old record, which now says what took its place."""
    status = {"status": SUPERSEDED} if SUPERSEDED in ws.kinds[old.kind].statuses else {}
    if new.id in old.many("superseded_by") and (not status or old.status == SUPERSEDED):
        return old
    later = list(dict.fromkeys([*old.many("superseded_by"), new.id]))
    return change_record(ws, old, {"superseded_by": later, **status}, how="supersede", by=by, note={"by": new.id})


def _successors(ws: Workspace, first: Record, second: Record) -> set[str]:
    """Everything that took the place of the second, through others too, and everything whose place the first took."""
    found: set[str] = set()
    todo = list(second.many("superseded_by"))
    while todo:
        one = todo.pop()
        if one not in found:
            found.add(one)
            todo += [i for r in get_records(ws, [one]) for i in r.many("superseded_by")]
    older, todo = set(), list(first.many("supersedes"))
    while todo:
        one = todo.pop()
        if one not in older:
            older.add(one)
            todo += [i for r in get_records(ws, [one]) for i in r.many("supersedes")]
    return found | ({first.id} if second.id in older else set())


def accept_proposals(ws: Workspace, record: Record) -> Record:
    """Make every change that is proposed for a record, oldest first, as a person's. UsageProblem where none waits.

    A change that can't be made keeps waiting and holds up no other: UsageProblem names it after the others are made.
    """
    waiting, failed = _pending_or_raise(ws, record), list[str]()
    for one in waiting:
        try:
            record = _apply_proposal(ws, record, one)
        except UsageProblem as problem:
            failed.append(f"{one.line()}: {one_line(str(problem), _LONGEST_REASON)}")
            continue
        append_events(ws, [Event(SETTLED[0], record.id, "", {"proposal": one.number})])
    if failed:
        reason = (
            f"accepted {len(waiting) - len(failed)} of {len(waiting)} proposed changes; can't apply {'; '.join(failed)}"
        )
        raise UsageProblem(reason, place=record.id, hint=f"Reject what is left: kl knowledge reject {record.id}")
    return record


def reject_proposals(ws: Workspace, record: Record) -> int:
    """Drop every change that is proposed for a record; return how many. UsageProblem where none waits."""
    waiting = _pending_or_raise(ws, record)
    append_events(ws, [Event(SETTLED[1], record.id, "", {"proposal": one.number}) for one in waiting])
    return len(waiting)


def _pending_or_raise(ws: Workspace, record: Record) -> list[Proposal]:
    found = pending_proposals(ws, record.id)
    if not found:
        raise UsageProblem("no change is proposed for it.", place=record.id, hint="See: kl knowledge proposals")
    return found


def _apply_proposal(ws: Workspace, record: Record, one: Proposal) -> Record:
    if one.how == "supersede":
        return supersede(ws, record.id, str(one.changes["by"]))[0]
    if one.how in {verb.name for verb in ws.kinds[record.kind].verbs}:
        return apply_verb(ws, record.id, one.how, one.changes)
    return change_record(ws, record, one.changes)
