"""Named stores: what contexts and pools have in common: a name, an owner, grants and a version.

A class of stores is a dataclass whose fields are the columns of its table. What is in a store, and
who gets which level, is the class's own.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

from kl_hooks.errors import UsageProblem
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.text import one_line
from kl_hooks.tiers.entries import (
    Caller,
    TierEvent,
    actor_name,
    checked_choice,
    insert_events,
    writing,
)

if TYPE_CHECKING:
    from kl_hooks.store.database import Database
    from kl_hooks.workspace import Workspace

LEVELS: Final = ("read", "write", "admin")
"""What an actor may do with a store; each includes those before it."""


class Sort(NamedTuple):
    """Where the stores of a class are, and what they are called."""

    table: str
    tier: str
    """Of its events."""
    noun: str
    command: str
    """Its group of commands."""
    live: str
    """The status of a store that can be used."""
    ended: str
    """The status, and the event, of one that nobody uses any more."""
    grants: str
    """The column that has its grants."""
    grantable: Sequence[str]
    """The levels that its owner can give."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedStore(ABC):
    """One store, without what is in it."""

    sort: ClassVar[Sort]

    name: str
    type: str
    scope: str
    owner: str
    status: str
    version: int = 0
    """One more with each change of what is in it."""
    at: int
    """When it was made, microseconds."""

    @abstractmethod
    def granted(self, actor: str) -> str:
        """Return the level of an actor who is not the owner; empty: none."""

    @abstractmethod
    def with_grant(self, actor: str, level: str) -> Self:
        """Return the store with the level of an actor; empty: none."""

    @staticmethod
    def grantee(actor: str) -> str:
        """Return the canonical name of somebody who gets a level."""
        return actor_name(actor)

    def level(self, actor: str) -> str:
        """Return what an actor may do: one of `LEVELS`, or nothing (empty)."""
        if actor == self.owner:
            return "admin"
        return self.granted(actor)

    def is_live(self, now: int) -> bool:
        """Return whether it can be used."""
        return self.status == self.sort.live

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def select(cls, db: Database | None, where: str, *params: Any) -> list[Self]:
        """Return the stores for which a condition is true, by name."""
        columns = {column.name: str(column.type) for column in fields(cls)}
        sql = f"SELECT {', '.join(columns)} FROM {cls.sort.table} WHERE {where} ORDER BY name"
        return [
            cls(
                **{
                    name: _decoded(columns[name], value)
                    for name, value in zip(columns, row, strict=True)
                }
            )
            for row in (db.rows(sql, params) if db is not None else ())
        ]

    @classmethod
    def get(cls, db: Database | None, name: str, now: int = 0) -> Self | None:
        """Return the store of a name, live or not, whoever may read it; None: there is none."""
        return next(iter(cls.select(db, "name = ?", name)), None)

    @classmethod
    def readable(cls, db: Database | None, caller: Caller, first: str, now: int = 0) -> list[Self]:
        """Return the live stores that the caller may read: the one named `first`, then by name."""
        stores = cls.select(db, "status = ?", cls.sort.live)
        own = [store for store in stores if store.is_live(now) and store.level(caller.actor)]
        return sorted(own, key=lambda store: store.name != first)

    def insert(self, db: Database) -> None:
        """Write its row if there is none, in the caller's transaction."""
        values = {name: _encoded(value) for name, value in self.to_dict().items()}
        marks = ", ".join("?" * len(values))
        sql = f"INSERT INTO {self.sort.table} ({', '.join(values)}) VALUES ({marks})"
        sql += " ON CONFLICT DO NOTHING"
        db.execute(sql, [*values.values()])

    def create(self, db: Database, caller: Caller, *, is_reserved: bool) -> None:
        """Write a new row and its event.

        UsageProblem for a name that is taken, in the same words where the caller can't see the
        store that has it.
        """
        if is_reserved or self.get(db, self.name):
            reason, hint = "this name is not available.", "Take another name."
            raise UsageProblem(reason, place=one_line(self.name, 60) or "''", hint=hint)
        self.insert(db)
        insert_events(db, self.at, [self.event("created", caller)])

    def event(self, name: str, caller: Caller, body: Mapping[str, Any] | None = None) -> TierEvent:
        """Return something that happened to it."""
        return TierEvent(name, self.sort.tier, self.name, caller, body or {})

    @classmethod
    def find(
        cls, db: Database | None, caller: Caller, name: str, level: str = "read", now: int = 0
    ) -> Self:
        """Return a live store. UsageProblem, in the same words, where there is none and where it is
        not the caller's to read; another one where the caller lacks the level.
        """
        store = cls.get(db, name, now)
        command = cls.sort.command
        current = store.level(caller.actor) if store else ""
        if store is None or not store.is_live(now) or not current:
            reason = f"there is no {cls.sort.noun} of this name for you."
            raise UsageProblem(
                reason, place=one_line(name, 60) or "''", hint=f"See: {command} list"
            )
        if LEVELS.index(current) >= LEVELS.index(level):
            return store
        if level not in cls.sort.grantable:
            raise UsageProblem(f"only its owner, {store.owner}, may do this.", place=store.name)
        hint = f"Its owner, {store.owner}, gives it: {command} grant {store.name} {caller.actor}"
        reason = f"you may {current} it; {level} is needed."
        raise UsageProblem(reason, place=store.name, hint=f"{hint} --{level}")

    @classmethod
    def grant(cls, ws: Workspace, caller: Caller, name: str, actor: str, level: str) -> Self:
        """Give an actor a level of a store; an empty one takes it away."""
        who = cls.grantee(actor)
        now = ws.clock.now()
        sort = cls.sort
        with writing(ws, f"{sort.table}s") as db:
            # not a writer: he could give away what the owner did not mean to share
            store = cls.find(db, caller, name, "admin", now)
            if level:
                level = checked_choice(level, sort.grantable, "level")
            changed = store.with_grant(who, level)
            grants = _encoded(getattr(changed, sort.grants))
            sql = f"UPDATE {sort.table} SET {sort.grants} = ? WHERE name = ?"
            db.execute(sql, (grants, store.name))
            body = {"to": who, "level": level}
            event = store.event("granted" if level else "revoked", caller, body)
            insert_events(db, now, [event])
            return changed

    @classmethod
    def end(cls, db: Database, caller: Caller, now: int, names: Sequence[str]) -> None:
        """Take stores out of use, in the caller's transaction: their rows stay, and so do their
        names.
        """
        sort = cls.sort
        rows = [(sort.ended, name) for name in names]
        db.many(f"UPDATE {sort.table} SET status = ? WHERE name = ?", rows)
        insert_events(db, now, [TierEvent(sort.ended, sort.tier, name, caller) for name in names])


def _decoded(annotation: str, value: Any) -> Any:
    """The value of a column, by the annotation of its field."""
    if annotation.startswith("Mapping"):
        return json.loads(value)
    if annotation != "bool":
        return value
    return bool(value)


def _encoded(value: Any) -> Any:
    if isinstance(value, Mapping):
        return json.dumps(dict(value), sort_keys=True)
    if not isinstance(value, bool):
        return value
    return int(value)


def accessed(name: str, key: str = "") -> str:
    """Return the subject of an access: a store, or a key in it, whatever its version."""
    if not key:
        return name
    return f"{name}\n{key}"
