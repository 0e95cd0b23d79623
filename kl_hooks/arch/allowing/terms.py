"""What may stand in an exception: names that exist, a day to come, the id of a decision."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from datetime import date
from typing import Final

from kl_hooks.arch.edges import Edge
from kl_hooks.arch.run import day
from kl_hooks.config.typed import nearest
from kl_hooks.errors import UsageProblem
from kl_hooks.model.ids import RECORD_ID
from kl_hooks.model.manifest import Manifest
from kl_hooks.workspace.open import Workspace

_DAYS: Final = re.compile(r"([1-9][0-9]{0,3})d")


def last_day(until: str, ws: Workspace) -> str:
    """`30d` or a day as `YYYY-MM-DD`. UsageProblem for anything else, and for a day that is over."""
    place, today = "kl arch allow --until", day(ws)
    if days := _DAYS.fullmatch(until):
        return day(ws, int(days[1]))
    try:
        found = date.fromisoformat(until).isoformat() if re.fullmatch(r"\d{4}-\d\d-\d\d", until, re.ASCII) else ""
    except ValueError:
        found = ""
    if not found:
        raise UsageProblem(f"{until!r} is no day.", place=place, hint="Write 30d, or YYYY-MM-DD.")
    if found < today:
        raise UsageProblem(f"{found} is over (today is {today}, UTC).", place=place, hint="Give a day to come.")
    return found


def refuse_unknown(
    manifest: Manifest, crossing: Sequence[Edge], modules: Collection[str], source: str, target: str
) -> None:
    """UsageProblem unless both are layers or modules of `crossing` or `modules`, and not the same."""
    layers = {layer.name for layer in manifest.layers}
    known = layers | set(modules) | {end for edge in crossing for end in (edge.importer, edge.imported)}
    for name in (source, target):
        if name not in known:
            hint = nearest(name, known) or f"Layers: {', '.join(sorted(layers))}."
            raise UsageProblem(f'"{name}" is neither a layer nor a module here.', place="kl arch allow", hint=hint)
    if source == target:
        raise UsageProblem("FROM and TO are the same.", place="kl arch allow", hint="A layer may import itself.")


def refuse_again(manifest: Manifest, source: str, target: str, until: str) -> None:
    """UsageProblem where an exception says this already, for as long or longer."""
    for one in manifest.exceptions:
        if (one.source, one.target) == (source, target) and (not one.until or one.until >= until):
            place = f"{manifest.path}:{one.line}"
            said = f"this is allowed already{f' until {one.until}' if one.until else ', without an end'}."
            raise UsageProblem(said, place=place, hint="Nothing was written.")


def refuse_idle(manifest: Manifest, fitting: Sequence[Edge], source: str, target: str) -> None:
    """UsageProblem where no import of today is among those that an exception would excuse."""
    if fitting:
        return
    hint = "Name the two ends of one that is. See: kl arch check"
    if manifest.indirect == "forbid":
        hint = "An exception excuses no chain: take one import out of the chain. See: kl arch check"
    said = f"no import that is forbidden leads from {source} to {target}: nothing would be excused."
    raise UsageProblem(said, place="kl arch allow", hint=hint)


def decision_id(decision: str, known: Collection[str]) -> str:
    """The id as it was given. UsageProblem for what is none; `known` ones help to say which was meant."""
    if not RECORD_ID.fullmatch(decision):
        hint = nearest(decision, known) or "Write it like ADR-0004, or leave it out: then a record is written."
        raise UsageProblem(f"{decision!r} is no id of a decision.", place="kl arch allow --decision", hint=hint)
    return decision
