"""Writing: records made, changed and deleted, each under the store lock, and each an Event."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.clock import iso
from kl_hooks.config.problems import Problems
from kl_hooks.errors import EnvironmentProblem, UsageProblem
from kl_hooks.model.kind import Kind
from kl_hooks.model.record import Record, Value
from kl_hooks.records import rows
from kl_hooks.records.catch_up import catch_up
from kl_hooks.records.check import checked
from kl_hooks.records.events import Event, append
from kl_hooks.records.files import is_on_disk
from kl_hooks.records.folds import base_count
from kl_hooks.records.guard import admit, agent_of, refuse_delete, rule
from kl_hooks.records.keeping import Kept, keep, put, remove_file, row_of
from kl_hooks.records.numbers import new_id, number_of
from kl_hooks.records.proposals import propose

if TYPE_CHECKING:
    from kl_hooks.store.database import Database
    from kl_hooks.workspace.open import Workspace

_DAY: Final = 86_400_000_000
REVIVE: Final = "revive"
"""How a record is changed whose row went away: it comes back."""


class Taken(UsageProblem):
    """The ID of a new record belongs to another one, which may have been written a moment ago."""

    def __init__(self, kind: Kind, identifier: str) -> None:
        super().__init__("is there already.", place=identifier, hint=f"See: kl {kind.name} show {identifier}")


def create(
    ws: Workspace, kind: Kind, raw: Mapping[str, Any], *, asked: str = "", body: str = "", by: str = ""
) -> Record:
    """A new record of these values (see `records.check`); `asked` names its id, `by` who made it.

    Problems (exit 2) with everything wrong, UsageProblem for an id that is taken, EnvironmentProblem where the store or
    the folder can't be written; then nothing was written. `expires` given as None: it never ends. A record that is the
    same by its identity is a UsageProblem too: look first.
    """
    return create_many(ws, kind, [raw], asked=asked, body=body, by=by)[0]


def create_many(
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
    who = agent_of(ws, by)
    rulings = [admit(kind, raw, who) for raw in raws]
    by, raws = by or who, [ruling.made for ruling in rulings]
    found = [checked_or_raise(kind, cleaned(raw), f"kl {kind.name} new") for raw in raws]
    held = [_checked_proposal(kind, one.proposed) for one in rulings]
    catch_up(ws)
    made: dict[int, Record] = {}
    last: int | None = None
    with ws.store.writing(what=f"making a {kind.name}") as db, Kept(ws) as kept, db.transaction():
        for n in sorted(range(len(raws)), key=lambda n: not ids[n]):
            values = _begun(ws, kind, found[n], endless=raws[n].get("expires", "") is None)
            identifier = new_id(ws, db, kind, values, ids[n], last)
            last = last if ids[n] else number_of(kind, identifier)
            record = Record(kind.name, identifier, values, cleaned({"body": bodies[n]})["body"])
            if _is_taken(ws, db, kind, record.id) or record.id in (other.id for other in made.values()):
                raise Taken(kind, record.id)
            if kind.counted:
                append(db, [Event(kind.counted, record.id, by)], iso(ws.clock.now()))
                record = record.with_values(**base_count(db, kind, record, ws.clock.now(), values, new=True))
            made[n] = keep(ws, db, kind, record, kept)
        whole, now = [made[n] for n in range(len(raws))], iso(ws.clock.now())
        append(db, [Event("created", one.id, by, {"status": one.status}) for one in whole], now)
        return [_proposed(ws, db, one, "edit", more, by) for one, more in zip(whole, held, strict=True)]


def change(
    ws: Workspace,
    record: Record,
    raw: Mapping[str, Any],
    *,
    how: str = "edit",
    by: str = "",
    note: Mapping[str, Any] | None = None,
) -> Record:
    """The record with some fields changed; None takes a field out. What it said before is kept as a version.

    What an agent may not change by itself is noted as a proposal, which the record then names (see `records.guard`).

    Problems with everything wrong; UsageProblem for a file that can't be read today: mend it by hand first.
    """
    kind = ws.kinds[record.kind]
    if record.broken:
        raise UsageProblem(f"can't be read today: {record.broken}", place=record.path, hint="Fix the file first.")
    who = agent_of(ws, by)
    by = by or who
    ruling = admit(kind, raw, who) if how == REVIVE else rule(ws, kind, record, raw, how, who)
    raw, held = ruling.made, _checked_proposal(kind, ruling.proposed)
    if held is not None and not raw:
        return propose_change(ws, record, how, held, by)
    given = {name: value for name, value in raw.items() if value is not None}
    values = checked_or_raise(kind, cleaned(given), f"kl {kind.name} edit", whole=False)
    unknown = [name for name in raw if name not in kind.by_name]
    if unknown:
        raise UsageProblem(f"{kind.name} has no field {unknown[0]!r}.", place=f"kl {kind.name} edit")
    out = {kind.by_name[name].name: None for name, value in raw.items() if value is None}
    if "status" in out:
        hint = f"See: kl {kind.name} --help"
        raise UsageProblem("status can't be taken out; commands change it.", place=record.id, hint=hint)
    said = {**out, **values, "updated": iso(ws.clock.now()) if not record.path else _today(ws)}
    with ws.store.writing(what=f"changing a {kind.name}") as db, Kept(ws) as kept, db.transaction():
        record = _today_s(db, record, how)
        if kind.counted and record.path:
            said |= base_count(db, kind, record, ws.clock.now(), values)
        after = record.with_values(**said)
        checked_or_raise(kind, after.values, f"kl {kind.name} edit")
        made = put(ws, db, kind, record, after, how, kept)
        append(db, [Event("changed" if how == "edit" else how, record.id, by, note or {})], iso(ws.clock.now()))
        return _proposed(ws, db, made, "edit", held, by)


def _checked_proposal(kind: Kind, raw: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The fields of a proposal, as they will be written if it is accepted; None where nothing is proposed."""
    if raw is None:
        return None
    given = {name: value for name, value in raw.items() if value is not None}
    out = {kind.by_name[name].name: None for name, value in raw.items() if value is None and name in kind.by_name}
    return {**out, **checked_or_raise(kind, cleaned(given), f"kl {kind.name} edit", whole=False)}


def _proposed(
    ws: Workspace, db: Database, record: Record, how: str, changes: Mapping[str, Any] | None, by: str
) -> Record:
    """The record, with the number of the proposal where there is something to propose. Inside a transaction."""
    if changes is None:
        return record
    plain = {name: list(value) if isinstance(value, tuple) else value for name, value in changes.items()}
    return replace(record, proposal=propose(db, record, how, plain, by, ws.clock.now()))


def _today_s(db: Database, record: Record, how: str) -> Record:
    """The record as its row is now, under the lock: somebody may have changed it since it was read.

    A file says by itself what it is now (see `keeping.put`). UsageProblem for a row that went away meanwhile.
    """
    row = None if record.path else db.row(f"SELECT {rows.STATE}, rests FROM record WHERE id = ?", (record.id,))
    if row is None or row[3] == "state":
        return rows.from_state(row[:3]) if row else record
    if how == REVIVE:
        return record
    raise UsageProblem("was changed by somebody else just now.", place=record.id, hint="Look at it, then try again.")


def propose_change(ws: Workspace, record: Record, how: str, changes: Mapping[str, Any], by: str) -> Record:
    """Note a change that an agent asks for; the record as it stays, with the number of the proposal."""
    with ws.store.writing(what=f"proposing a change of a {record.kind}") as db, db.transaction():
        return _proposed(ws, db, record, how, changes, by)


def delete(ws: Workspace, record: Record, *, by: str = "") -> None:
    """Takes a record away. A file is deleted (git has it); a row stays, unseen, so that its id is never used again.

    UsageProblem for an agent where it is not its own.
    """
    who = agent_of(ws, "" if by == "seed" else by)  # clearing is a deed of whoever asks for it
    refuse_delete(ws.kinds[record.kind], record, who)
    by = by or who
    with ws.store.writing(what=f"deleting a {record.kind}") as db, Kept(ws) as kept, db.transaction():
        row_of(ws, db, record, "gone")
        if record.path:
            remove_file(ws, record, kept)
        append(db, [Event("deleted", record.id, by)], iso(ws.clock.now()))


def checked_or_raise(kind: Kind, raw: Mapping[str, Any], place: str, *, whole: bool = True) -> dict[str, Value]:
    """The values that `raw` gives. Problems, all at once, where anything is wrong."""
    values, problems = checked(kind, raw, lambda name: (place, 0, 0), whole=whole)
    if problems:
        raise Problems(problems)
    return values


def cleaned(raw: Mapping[str, Any]) -> dict[str, Any]:
    """The same values without secrets: before anything is written."""
    from kl_hooks.store.redact import redact

    def clean(value: Any) -> Any:
        if isinstance(value, str):
            return redact(value)
        if isinstance(value, list | tuple):
            return [clean(one) for one in value]
        return {clean(k): clean(v) for k, v in value.items()} if isinstance(value, Mapping) else value

    return {name: clean(value) for name, value in raw.items()}


def _begun(ws: Workspace, kind: Kind, values: dict[str, Value], *, endless: bool = False) -> dict[str, Value]:
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
    if is_on_disk(ws.root, kind, identifier):  # by another process since the index was read
        return True
    with ws.store.reading("graph") as graph:
        return graph is not None and bool(graph.row("SELECT 1 FROM authored WHERE id = ?", (identifier,)))


def refuse_unset(ws: Workspace) -> None:
    """EnvironmentProblem where kl has not been set up: records need a home that people know of."""
    if not ws.initialised:
        raise EnvironmentProblem("kl is not set up here.", place=str(ws.root), hint="Set it up with: kl init")
