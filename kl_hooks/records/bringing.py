"""Bringing in: what files of other places hold, made ready to be written in one step, or refused as a whole."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.config.problems import Problems
from kl_hooks.errors import UsageProblem
from kl_hooks.model.kind import Kind
from kl_hooks.model.problem import Problem
from kl_hooks.records.ask import by_ids
from kl_hooks.records.catch_up import catch_up
from kl_hooks.records.check import checked
from kl_hooks.records.exchange import Given
from kl_hooks.records.numbers import identity, is_id_of
from kl_hooks.records.seed.fields import SEEDED
from kl_hooks.records.write import cleaned
from kl_hooks.store.rows import marks, pieces

if TYPE_CHECKING:
    from kl_hooks.workspace.open import Workspace

_SEEDED: Final = frozenset(field.name for field in SEEDED)
_NEVER_AGAIN: Final = {
    "gone": ("was deleted, and its id is never used again.", "Leave the id out: the record gets a new one."),
    "file": ("has a file that is not here.", "Bring it back from git, or leave the id out."),
    "state": ("is the id of another record.", "Leave it out: the record gets a new one."),
}
"""Where an id rests that no record can be asked for by → why it is not free, and what to do."""


@dataclass(frozen=True, slots=True)
class Ready:
    """What can be written now."""

    new: tuple[Given, ...]
    """Each with an id that is its own, or without one."""
    passed: tuple[str, ...]
    """Ids of those that are there already."""
    by: str
    """Who brings them in."""


def ready(ws: Workspace, kind: Kind, given: Sequence[Given], sign: Callable[[dict[str, Any]], str]) -> Ready:
    """What these records come to. Problems, with everything that is in the way of any; nothing is written here.

    `sign` puts down in the values who stands behind a record, and gives whoever brings it in.
    """
    problems: list[Problem] = []
    named, by = [], ""
    for one in given:
        values, wrong = checked(kind, cleaned(one.raw), lambda name, place=one.place: place)  # type: ignore[misc]
        problems += wrong
        values = {name: value for name, value in values.items() if name not in _SEEDED}  # it was not seeded here
        said: dict[str, Any] = dict(values) | ({"expires": None} if one.raw.get("expires", "") is None else {})
        try:
            by = sign(said)
        except UsageProblem as refused:
            problems.append(Problem(*one.place, refused.reason, refused.hint))
        if kind.nature == "directive" and not said.get("source"):
            said["source"] = "import:" + PurePath(one.place[0]).name.partition(" (")[0]
        named.append(replace(one, raw=said, id=_id(kind, one.id, said, problems, one.place)))
    catch_up(ws)
    there = {one.id for one in by_ids(ws, [one.id for one in named if one.id])}
    new = [one for one in named if one.id not in there]
    problems += _in_the_way(ws, kind, new)
    if problems:
        raise Problems(problems)
    asked = [replace(one, id="") for one in new] if kind.numbering == "hash" else new
    return Ready(tuple(asked), tuple(dict.fromkeys(one.id for one in named if one.id in there)), by)


def _id(kind: Kind, given: str, values: dict[str, Any], problems: list[Problem], place: tuple[str, int, int]) -> str:
    """The id that a record is to have; empty: a new one."""
    if kind.numbering == "hash":
        return f"{kind.prefix}-{identity(kind, values)}"
    if not given.startswith(f"{kind.prefix}-"):
        return ""  # another tool's
    if not is_id_of(kind, given):
        problems.append(Problem(*place, f"{given!r} is no id of a {kind.name}.", f"Such as {kind.prefix}-0001."))
    return given


def _in_the_way(ws: Workspace, kind: Kind, new: Sequence[Given]) -> list[Problem]:
    """Ids that two of them share, and ids that were given once and are not free again."""
    found: list[Problem] = []
    first: dict[str, str] = {}
    rests = _rests(ws, [one.id for one in new if one.id]) if kind.numbering != "hash" else {}
    for one in new:
        if one.id and one.id in first:
            reason = f"{one.id} is the id of {first[one.id]} too."
            found.append(Problem(*one.place, reason, "Leave one of them out, or its id."))
        elif one.id in rests:
            reason, hint = _NEVER_AGAIN[rests[one.id]]
            found.append(Problem(*one.place, f"{one.id} {reason}", hint))
        first.setdefault(one.id, one.place[0])
    return found


def _rests(ws: Workspace, ids: Sequence[str]) -> dict[str, str]:
    with ws.store.reading() as db:
        if db is None:
            return {}
        return {
            identifier: rests
            for some in pieces(ids)
            for identifier, rests in db.rows(f"SELECT id, rests FROM record WHERE id IN ({marks(some)})", some)
        }
