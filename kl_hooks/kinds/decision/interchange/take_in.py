"""Taking in: decisions of other tools become records, all of them or none."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.config.problems import Problems
from kl_hooks.kinds.decision.formats.draft import Draft
from kl_hooks.kinds.decision.formats.head import iso_date
from kl_hooks.kinds.decision.interchange.gather import Found, gather
from kl_hooks.kinds.decision.interchange.ids import both_ways, give, names_of, resolved
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
    sources = {one.text("source"): one.id for one in here if one.text("source")}
    fresh = [one for one in gathered.found if source_of(one) not in sources]
    known = tuple((sources[source_of(one)], one.path) for one in gathered.found if source_of(one) in sources)
    ids = [f"ADR-{number:04}" for number in give(fresh, used_numbers(ws, KIND))]
    remarks = list(gathered.remarks)
    raws = _raws(fresh, ids, {one.id for one in here} | set(ids), agent, remarks)
    problems = [problem for one, raw in zip(fresh, raws, strict=True) for problem in _wrong(one, raw)]
    if problems:
        raise Problems(problems)
    made: Sequence[Record] = ()
    if raws and not dry_run:
        made = create_many(ws, KIND, raws, asked=ids, by=f"agent:{agent}" if agent else "")
    shown = [(one.id, one.title) for one in made] or [(i, str(raw["title"])) for i, raw in zip(ids, raws, strict=True)]
    rows = tuple((*row, one.path) for row, one in zip(shown, fresh, strict=True))
    return TakenIn(rows, known, tuple(gathered.left), tuple(remarks))


def source_of(found: Found) -> str:
    """Where a decision came from, as its record keeps it."""
    one = found.path if found.path.endswith(".md") else f"{found.path} {found.entry.name}".strip()
    return one[:2000]


def _raws(
    found: Sequence[Found], ids: Sequence[str], known: set[str], agent: str, remarks: list[str]
) -> list[dict[str, Any]]:
    names = names_of(found, ids)
    raws = [_raw(one, names, known, remarks) for one in found]
    both_ways(raws, ids)
    for one in raws:
        if agent:
            one.update(authority="agent", status="proposed")
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
    if "date" not in draft.values and (day := _DATED.match(found.path.rpartition("/")[2])):
        draft.put("date", iso_date("-".join(day.groups())))
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
