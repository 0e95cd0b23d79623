"""Taking in: decisions of other tools become records, all of them or none."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.config.problems import Problems
from kl_hooks.kinds.decision.formats.draft import Draft
from kl_hooks.kinds.decision.formats.head import iso_date
from kl_hooks.kinds.decision.interchange.gather import Found, gather
from kl_hooks.kinds.decision.interchange.ids import both_ways, give, is_pending, names_of, resolved
from kl_hooks.kinds.decision.kind import KIND
from kl_hooks.model.problem import Problem
from kl_hooks.model.record import Record
from kl_hooks.records.ask import Wanted, every
from kl_hooks.records.check import checked
from kl_hooks.records.numbers import used_numbers
from kl_hooks.records.write import create_many

if TYPE_CHECKING:
    from kl_hooks.workspace.open import Workspace

_DATED: Final = re.compile(r"(\d{4})(\d\d)(\d\d)-")
"""How log4brains begins the name of a file."""
_LEADING: Final = re.compile(r"(?i)(?:adr[-_ ]?)?0*(\d{1,6})(?!\d)")
"""The number that a file of a decision begins with."""


@dataclass(frozen=True, slots=True)
class TakenIn:
    """What an import did, or would do."""

    made: tuple[tuple[str, str, str], ...]
    """(id, title, file it came from)."""
    known: tuple[tuple[str, str], ...]
    """(id, file) of what was taken in before."""
    left: tuple[str, ...]
    """Files of a folder that are no decisions."""
    remarks: tuple[str, ...]
    """What was kept in another form than it was written."""


def take_in(
    ws: Workspace, places: Sequence[Path], form: str = "auto", *, dry_run: bool = False, agent: str = ""
) -> TakenIn:
    """Makes a record of every decision in these files and folders that is not here yet.

    Problems (exit 2) with everything that can't be read or does not fit; then nothing was written. What an agent takes
    in is proposed, whatever the file says.
    """
    gathered = gather(ws.root, places, form)
    if gathered.problems:
        raise Problems(gathered.problems)
    here = every(ws, Wanted((KIND.name,), archived=True, expired=True))
    remarks = list(gathered.remarks)
    fresh, there = _sorted_out(gathered.found, here)
    ids = [f"ADR-{number:04}" for number in give(fresh, used_numbers(ws, KIND))]
    named = [*fresh, *(one for one, _ in there)]
    by_name = names_of(named, [*ids, *(_id_in(place, ids) for _, place in there)]) | {
        name: i for name, i in _earlier(here).items() if name not in names_of(fresh, ids)
    }
    known_ids = {one.id for one in here} | set(ids)
    raws = _raws(fresh, ids, by_name, known_ids, agent, remarks)
    problems = [problem for one, raw in zip(fresh, raws, strict=True) for problem in _wrong(one, raw)]
    if problems:
        raise Problems(problems)
    pairs = _succeeded(zip([*ids, *(_id_in(place, ids) for _, place in there)], named, strict=True), by_name, known_ids)
    made: Sequence[Record] = ()
    if raws and not dry_run:
        made = create_many(ws, KIND, raws, asked=ids, by=f"agent:{agent}" if agent else "")
    if not dry_run and not agent:
        remarks += _told_to_the_old(ws, pairs)
    shown = [(one.id, one.title) for one in made] or [(i, str(raw["title"])) for i, raw in zip(ids, raws, strict=True)]
    rows = tuple((*row, one.path) for row, one in zip(shown, fresh, strict=True))
    known = tuple((_id_in(place, ids), one.path) for one, place in there)
    return TakenIn(rows, known, tuple(gathered.left), tuple(remarks))


def _sorted_out(found: Sequence[Found], here: Sequence[Record]) -> tuple[list[Found], list[tuple[Found, str | int]]]:
    """(those that are new, those that are here: each with the record's ID, or the place of its twin among the new).

    A decision is known by the file it came from, and by its words: the same title, context and decision of the same
    day are the same decision, whatever format, folder and number it comes in.
    """
    sources = {one.text("source"): one.id for one in here if one.text("source")}
    twins: dict[str, list[tuple[str, str | int]]] = {}
    for record in here:
        said = _words(record.title, record.text("context"), record.text("decision"))
        twins.setdefault(said, []).append((record.text("date")[:10], record.id))
    fresh: list[Found] = []
    there: list[tuple[Found, str | int]] = []
    for one in found:
        said = _words(*(one.entry.text(name) for name in ("title", "context", "decision")))
        day = one.entry.text("date")[:10] or _day_in(one.path)
        same = (place for at, place in twins.get(said, ()) if said and (not at or not day or at == day))
        place = sources.get(source_of(one)) or next(same, None)
        if place is not None:
            there.append((one, place))
            continue
        twins.setdefault(said, []).append((day, len(fresh)))
        fresh.append(one)
    return fresh, there


def _day_in(path: str) -> str:
    """The day that the name of a file begins with; empty where it begins with none."""
    found = _DATED.match(path.rpartition("/")[2])
    return iso_date("-".join(found.groups())) if found else ""


def _words(title: str, context: str, decision: str) -> str:
    """What a decision is known by: its words, without signs, case and space; empty for one that says too little."""
    parts = [" ".join(re.findall(r"\w+", one.casefold())) for one in (title, context, decision)]
    return "\0".join(parts) if parts[2] and parts[1] else ""


def _id_in(place: str | int, ids: Sequence[str]) -> str:
    return place if isinstance(place, str) else ids[place]


def _earlier(here: Sequence[Record]) -> dict[str, str]:
    """What decisions that were imported before may be called by later files: the name of their file, their number."""
    found: dict[str, set[str]] = {}
    for one in here:
        file = one.text("source").rpartition("/")[2]
        number = _LEADING.match(file)
        for name in (file, file.rpartition(".")[0], str(int(number[1])) if number else "", one.id):
            if name:
                found.setdefault(name.lower(), set()).add(one.id)
    return {name: next(iter(ids)) for name, ids in found.items() if len(ids) == 1}


def _succeeded(found: Iterable[tuple[str, Found]], names: dict[str, str], known: set[str]) -> list[tuple[str, str]]:
    """(old, new) for every decision that a file says took another one's place."""
    pairs: list[tuple[str, str]] = []
    for identifier, one in found:
        values, _ = resolved(one.entry.values, names, known)
        pairs += [(old, identifier) for old in values.get("supersedes", ()) if not is_pending(values)]
        pairs += [(identifier, new) for new in values.get("superseded_by", ())]
    return list(dict.fromkeys(pairs))


def _told_to_the_old(ws: Workspace, pairs: Sequence[tuple[str, str]]) -> list[str]:
    """Brings records that were here before up to date with what took their place; why that failed, a line each."""
    from kl_hooks.errors import UsageProblem
    from kl_hooks.records.verbs import supersede

    failed = []
    for old, new in pairs:
        try:
            supersede(ws, old, new, by="import")
        except UsageProblem as problem:
            failed.append(f"{old} is not marked as superseded by {new}: {problem}")
    return failed


def source_of(found: Found) -> str:
    """Where a decision came from, as its record keeps it."""
    one = found.path if found.path.endswith(".md") else f"{found.path} {found.entry.name}".strip()
    return one[:2000]


def _raws(
    found: Sequence[Found], ids: Sequence[str], names: dict[str, str], known: set[str], agent: str, remarks: list[str]
) -> list[dict[str, Any]]:
    raws = [_raw(one, names, known, remarks) for one in found]
    by_agent = {"authority": "agent", "status": "proposed"} if agent else {}
    for one in raws:
        one.update(by_agent)
    both_ways(raws, ids)
    for one in raws:
        one.update(by_agent)
    return raws


def _raw(found: Found, names: dict[str, str], known: set[str], remarks: list[str]) -> dict[str, Any]:
    """The fields of one record; what they can't hold stands in `more`."""
    draft = Draft()
    values, lost = resolved(found.entry.values, names, known)
    for name, value in values.items():
        draft.put(name, value)
    status = str(values.get("status", ""))
    if status and status not in KIND.statuses and status not in KIND.spellings:
        del draft.values["status"]
        draft.leave("Status", status)
        remarks.append(f"{found.path}: the status {status!r} is none of ours; kept in its text, and proposed.")
    if "date" not in draft.values:
        draft.put("date", _day_in(found.path))
    if lost:
        draft.leave("References", "\n".join(f"- {line}" for line in lost))
        remarks.append(f"{found.path}: names decisions that are not here ({'; '.join(lost)}); kept in its text.")
    for name, words in (("decision", str(values["title"])), ("context", "The file it was taken from does not say.")):
        if name not in draft.values:
            draft.put(name, words)
            remarks.append(f"{found.path}: has no section for its {name}.")
    return {**draft.entry().values, "source": source_of(found)}


def _wrong(found: Found, raw: dict[str, Any]) -> list[Problem]:
    return checked(KIND, raw, lambda name: (found.path, 0, 0))[1]
