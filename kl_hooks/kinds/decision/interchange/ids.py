"""Which id each decision of another tool gets here, and what its references to others become."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from kl_hooks.kinds.decision.formats.entry import REFERENCES
from kl_hooks.kinds.decision.interchange.gather import Found
from kl_hooks.kinds.decision.kind import KIND

_NUMBER: Final = re.compile(r"(?:(?i:adr)[-_ ]?)?0*(\d{1,6})(?!\d)")


def number_of(found: Found) -> int:
    """The number in the name of the file or in the decision itself; 0: it has none (a date is none)."""
    file, own = found.path.rpartition("/")[2], found.entry.name
    for name in (own, file) if own.lower().startswith("adr") else (file, own):
        if match := _NUMBER.match(name):
            return int(match[1])
    return 0


def give(found: Sequence[Found], taken: set[int]) -> list[int]:
    """A number for each: its own where that is free, else one after all of them. `taken`: numbers ever used."""
    own = [number_of(one) for one in found]
    used = set(taken)
    given = []
    for number in own:
        free = number if number and number not in used else 0
        used.add(free)
        given.append(free)
    following = max(used | set(own), default=0)
    for place, number in enumerate(given):
        if not number:
            following += 1
            given[place] = following
    return given


def names_of(found: Sequence[Found], ids: Sequence[str]) -> dict[str, str]:
    """What a decision may be called by the others → its id. A name of two decisions is nobody's."""
    known: dict[str, set[str]] = {}
    for one, identifier in zip(found, ids, strict=True):
        file = one.path.rpartition("/")[2]
        number = number_of(one)
        names = {file, file.rpartition(".")[0], one.entry.name, f"ADR-{number:04}", f"ADR-{number}", str(number)}
        for name in names - {"", "0", "ADR-0", "ADR-0000"}:
            known.setdefault(name.lower(), set()).add(identifier)
    return {name: next(iter(some)) for name, some in known.items() if len(some) == 1}


def resolved(values: Mapping[str, Any], names: Mapping[str, str], known: set[str]) -> tuple[dict[str, Any], list[str]]:
    """The values with references as ids, and the references that lead nowhere, a line each."""
    made, lost = dict(values), []
    for field in REFERENCES:
        ids = []
        for one in values.get(field, ()):
            found = names.get(one.lower()) or names.get(one.lower().lstrip("0")) or (one if one in known else "")
            if found:
                ids.append(found)
            elif field == "related":
                ids.append(one)  # may be any Id
            else:
                lost.append(f"{field.replace('_', ' ')}: {one}")
        made[field] = tuple(dict.fromkeys(ids))
    return {name: value for name, value in made.items() if value != ()}, lost


_PAIRS: Final = (
    ("supersedes", "superseded_by"), ("superseded_by", "supersedes"), ("amends", "amended_by"),
    ("amended_by", "amends"),
)  # fmt: skip


def is_pending(values: Mapping[str, Any]) -> bool:
    """True for a decision that takes nobody's place, whatever it names: it is only proposed, or was rejected."""
    status = str(values.get("status") or KIND.statuses[0])
    return KIND.spellings.get(status, status) in ("proposed", "rejected")


def both_ways(values: Sequence[dict[str, Any]], ids: Sequence[str]) -> None:
    """Makes each of two decisions name the other, where only one did.

    The older one is superseded, unless the newer one is only proposed or was rejected: then it stays in force.
    """
    by_id = dict(zip(ids, values, strict=True))
    pending = {one for one, said in by_id.items() if is_pending(said)}
    for there, back in _PAIRS:
        for identifier, one in by_id.items():
            for other in one.get(there, ()):
                if there == "supersedes" and identifier in pending:
                    continue
                if other in by_id and identifier not in by_id[other].get(back, ()):
                    by_id[other][back] = (*by_id[other].get(back, ()), identifier)
    for one in values:
        if one.get("superseded_by"):
            one["status"] = "superseded"
