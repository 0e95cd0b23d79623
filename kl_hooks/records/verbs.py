"""Verbs: changes of status, and one record that takes the place of another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.clock import iso
from kl_hooks.errors import UsageProblem
from kl_hooks.model.kind import REJECTED, SUPERSEDED
from kl_hooks.model.record import Record
from kl_hooks.model.text import one_line
from kl_hooks.records.ask import Wanted, by_ids, every, find
from kl_hooks.records.events import Event, note
from kl_hooks.records.guard import agent_of
from kl_hooks.records.proposals import SETTLED, Proposal, pending
from kl_hooks.records.write import change, propose_change

if TYPE_CHECKING:
    from kl_hooks.model.kind import Kind
    from kl_hooks.workspace.open import Workspace

_LONGEST: Final = 200
"""Characters of the reason why a proposed change can't be made."""


def apply(ws: Workspace, identifier: str, verb: str, raw: Mapping[str, Any] | None = None, *, by: str = "") -> Record:
    """Takes a record through a verb of its kind; `raw` are fields given with it.

    UsageProblem where the verb is none of its kind, where its status does not allow it, or where something it needs is
    missing. Doing it again changes nothing and is no mistake.
    """
    record, given = find(ws, identifier), dict(raw or {})
    kind = ws.kinds[record.kind]
    known = {one.name: one for one in kind.verbs}
    if verb not in known:
        hint = f"Verbs: {', '.join(known)}" if known else ""
        raise UsageProblem(f"{kind.name} has no verb {verb!r}.", place=record.id, hint=hint)
    one = known[verb]
    if record.status == one.to and not given:
        return _in_place(ws, record, by)
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
    _refuse_circle(ws, record, one.to)
    said = {"from": record.status, "to": one.to}
    return _in_place(ws, change(ws, record, {**given, "status": one.to}, how=verb, by=by, note=said), by)


def successors(ws: Workspace, record: Record) -> list[Record]:
    """The proposals that would take its place, once somebody accepts them."""
    kind = ws.kinds[record.kind]
    if SUPERSEDED not in kind.statuses or record.status == SUPERSEDED:
        return []
    proposed = every(ws, Wanted((kind.name,), kind.statuses[:1]))
    return [one for one in proposed if record.id in one.many("supersedes")]


def superseded_ids(ws: Workspace, kind: Kind, given: Sequence[str]) -> list[str]:
    """The IDs of the records that a new one is to take the place of. UsageProblem for one that is none of its kind."""
    return [find(ws, one, kind.name).id for one in given]


def supersede(ws: Workspace, old: str, new: str, *, by: str = "") -> tuple[Record, Record]:
    """Makes `new` take the place of `old`. Returns (old, new).

    While `new` is only proposed, it alone says so and `old` stays in force: accepting it does the rest (see `apply`).
    UsageProblem for ids that are unknown, of two kinds, the same, or that would make a cycle, and for one that was
    rejected.
    """
    first, second = find(ws, old), find(ws, new)
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
    if who := agent_of(ws, by):
        return propose_change(ws, first, "supersede", {"by": second.id}, who), second
    if first.id not in second.many("supersedes"):
        second = change(ws, second, {"supersedes": [*second.many("supersedes"), first.id]}, how="supersede", by=by)
    return (first if kind.is_pending(second.status) else _replaced(ws, first, second, by)), second


def _in_place(ws: Workspace, record: Record, by: str) -> Record:
    """The record, once all whose place it takes say so. Finishes what an earlier process was killed at."""
    kind = ws.kinds[record.kind]
    if SUPERSEDED in kind.statuses and record.status in kind.live:
        for old in by_ids(ws, record.many("supersedes")):
            if old.kind == kind.name and not old.broken:
                _replaced(ws, old, record, by)
    return record


def _refuse_circle(ws: Workspace, record: Record, status: str) -> None:
    """UsageProblem where accepting it would make two records supersede each other."""
    if status not in ws.kinds[record.kind].live:
        return
    for old in by_ids(ws, record.many("supersedes")):
        if old.id == record.id or old.id in record.many("superseded_by") or record.id in old.many("supersedes"):
            raise UsageProblem(f"{old.id} and {record.id} would supersede each other.", place=record.id)


def _replaced(ws: Workspace, old: Record, new: Record, by: str) -> Record:
    """The old record, which now says what took its place."""
    status = {"status": SUPERSEDED} if SUPERSEDED in ws.kinds[old.kind].statuses else {}
    if new.id in old.many("superseded_by") and (not status or old.status == SUPERSEDED):
        return old
    later = list(dict.fromkeys([*old.many("superseded_by"), new.id]))
    return change(ws, old, {"superseded_by": later, **status}, how="supersede", by=by, note={"by": new.id})


def _successors(ws: Workspace, first: Record, second: Record) -> set[str]:
    """Everything that took the place of the second, through others too, and everything whose place the first took."""
    found: set[str] = set()
    todo = list(second.many("superseded_by"))
    while todo:
        one = todo.pop()
        if one not in found:
            found.add(one)
            todo += [i for r in by_ids(ws, [one]) for i in r.many("superseded_by")]
    older, todo = set(), list(first.many("supersedes"))
    while todo:
        one = todo.pop()
        if one not in older:
            older.add(one)
            todo += [i for r in by_ids(ws, [one]) for i in r.many("supersedes")]
    return found | ({first.id} if second.id in older else set())


def accept_proposals(ws: Workspace, record: Record) -> Record:
    """Make every change that is proposed for a record, oldest first, as a person's. UsageProblem where none waits.

    A change that can't be made keeps waiting and holds up no other: UsageProblem names it after the others are made.
    """
    waiting, failed = _waiting(ws, record), list[str]()
    for one in waiting:
        try:
            record = _made(ws, record, one)
        except UsageProblem as problem:
            failed.append(f"{one.line()}: {one_line(str(problem), _LONGEST)}")
            continue
        note(ws, [Event(SETTLED[0], record.id, "", {"proposal": one.number})])
    if failed:
        reason = (
            f"accepted {len(waiting) - len(failed)} of {len(waiting)} proposed changes; can't apply {'; '.join(failed)}"
        )
        raise UsageProblem(reason, place=record.id, hint=f"Reject what is left: kl knowledge reject {record.id}")
    return record


def reject_proposals(ws: Workspace, record: Record) -> int:
    """Drop every change that is proposed for a record; return how many. UsageProblem where none waits."""
    waiting = _waiting(ws, record)
    note(ws, [Event(SETTLED[1], record.id, "", {"proposal": one.number}) for one in waiting])
    return len(waiting)


def _waiting(ws: Workspace, record: Record) -> list[Proposal]:
    found = pending(ws, record.id)
    if not found:
        raise UsageProblem("no change is proposed for it.", place=record.id, hint="See: kl knowledge proposals")
    return found


def _made(ws: Workspace, record: Record, one: Proposal) -> Record:
    if one.how == "supersede":
        return supersede(ws, record.id, str(one.changes["by"]))[0]
    if one.how in {verb.name for verb in ws.kinds[record.kind].verbs}:
        return apply(ws, record.id, one.how, one.changes)
    return change(ws, record, one.changes)
