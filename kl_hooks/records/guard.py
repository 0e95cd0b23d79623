"""What an agent may not do to a record, through whichever door: undo what a person decided or said of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kl_hooks.errors import UsageProblem
from kl_hooks.model.kind import Kind
from kl_hooks.model.record import Record
from kl_hooks.records.check import checked

_KEPT: Final = ("authority", "supersedes", "superseded_by")
"""Fields that an agent may not take out."""


def refuse_agent(kind: Kind, record: Record, deed: str, raw: Mapping[str, Any] | None = None) -> None:
    """UsageProblem where this deed of an agent is for people: a status that a person gave, a word that only people say.

    `deed`: edit, delete or a verb of the kind; `raw`: the fields that it changes, None for those that it takes out.
    """
    if record.status in decided(kind):
        hint = f"Make a new {kind.name}, and let a person decide; or ask one to run: kl {kind.name} {deed} {record.id}"
        raise UsageProblem(f"a person decided about it, so {deed} is for people.", place=record.id, hint=hint)
    if deed == "delete" and record.authority == "human":
        hint = f"Ask one to run: kl {kind.name} delete {record.id}"
        raise UsageProblem("a person made it, so it is not an agent's to delete.", place=record.id, hint=hint)
    refuse_words(kind, record, raw or {})


def decided(kind: Kind) -> set[str]:
    """The statuses that only a person gives, but the one that every record begins with."""
    given = {verb.to for verb in kind.verbs if verb.person} - {verb.to for verb in kind.verbs if not verb.person}
    return given - {kind.statuses[0]}


def refuse_words(kind: Kind, record: Record, raw: Mapping[str, Any]) -> None:
    """UsageProblem where an agent changes a status by a field, or says or takes back what only people say."""
    given = {name: value for name, value in raw.items() if value is not None}
    values, _ = checked(kind, given, lambda name: (record.id, 0, 0), whole=False)
    cleared = {kind.by_name[name].name for name, value in raw.items() if value is None and name in kind.by_name}
    for name in ("status", *(cleared & set(_KEPT))):
        if name in values or name in cleared:
            raise UsageProblem(f"{name} is not an agent's to change.", place=record.id, hint=f"See: kl {kind.name} -h")
    for field in kind.all_fields:
        before, after = record.text(field.name), str(values.get(field.name, ""))
        for word in (after, before):
            if word in field.persons and before != after and (field.name in values or field.name in cleared):
                hint = f"Ask a person to run: kl {kind.name} {field.persons[word]} {record.id}"
                raise UsageProblem(f"{word} is for people to say or to take back.", place=record.id, hint=hint)
