"""Keeps findings: tied to what they rest on, each once, all of one call of kl in one step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kl_hooks.kinds.finding.anchor import anchors_of
from kl_hooks.kinds.finding.call import Call
from kl_hooks.kinds.finding.extract import BY_TIER, Found, extract
from kl_hooks.kinds.finding.kind import KIND
from kl_hooks.model.ids import make
from kl_hooks.records.ask import by_ids
from kl_hooks.records.catch_up import catch_up
from kl_hooks.records.numbers import identity
from kl_hooks.records.write import change, create_many

if TYPE_CHECKING:
    from kl_hooks.model.record import Record
    from kl_hooks.model.tier import Tier
    from kl_hooks.workspace.open import Workspace


@dataclass(frozen=True, slots=True)
class Kept:
    """What came of some calls."""

    new: tuple[Record, ...] = ()
    known: tuple[str, ...] = ()
    """Ids of findings that were there already."""
    nothing: int = 0
    """Calls that leave no finding."""


def keep(ws: Workspace, calls: Iterable[Call]) -> Kept:
    """Keeps what these calls found out or changed. A finding that is there already is tied anew. Raises as `create`."""
    found: dict[str, Found] = {}
    nothing = 0
    for call in calls:
        one = extract(call, str(ws.root))
        if one is None:
            nothing += 1
        else:
            found.setdefault(f"{KIND.prefix}-{identity(KIND, {'entity': one.entity, 'finding': one.finding})}", one)
    catch_up(ws)
    there = {record.id: record for record in by_ids(ws, list(found))}
    fresh = [one for key, one in found.items() if key not in there]
    known = tiers(ws) if any(one.command for one in fresh) else {}
    raws = [values_of(one, rests, known) for one, rests in zip(fresh, anchors_of(ws, fresh), strict=True)]
    made = create_many(ws, KIND, raws, by=raws[0].get("source", "")) if raws else []
    again = [found[key] for key in there]
    for record, rests in zip(there.values(), anchors_of(ws, again), strict=True):
        _tie(ws, record, rests)
    return Kept(tuple(made), tuple(sorted(there)), nothing)


def _tie(ws: Workspace, record: Record, anchors: Mapping[str, str]) -> None:
    """What is found again holds for the content of today."""
    if anchors and anchors != record.values.get("anchors"):
        change(ws, record, {"anchors": anchors}, how="found again")


def values_of(found: Found, anchors: Mapping[str, str], known: Mapping[str, Tier]) -> dict[str, Any]:
    """The fields of a finding that rests on `anchors`; `known`: what our own evidence says of commands."""
    about = list(anchors) or ([make("file", found.entity)] if found.is_path else [])
    return {
        "title": f"{found.entity}: {found.finding}"[:300], "entity": found.entity, "finding": found.finding,
        "kind": found.sort, "confidence": confidence(found, known), "agent": found.agent, "tool": found.tool,
        "source": found.session, "anchors": anchors, "evidence": found.evidence, "about": about, "authority": "agent",
    }  # fmt: skip


def tiers(ws: Workspace) -> dict[str, Tier]:
    """Subject of our own evidence → how well it is supported."""
    from kl_hooks.evidence.book import all_claims

    return {claim.about: claim.tier for claim in all_claims(ws, lambda _: None)}


def confidence(found: Found, known: Mapping[str, Tier]) -> int:
    """Percent: from the tier of our own evidence where there is some about the command, else what such tools get."""
    tier = known.get(make("command", found.command)) if found.command else None
    return found.confidence if tier is None else BY_TIER[tier]


def plain(kept: Kept) -> Mapping[str, Any]:
    """`kl.finding.add/1`."""
    return {
        "schema": "kl.finding.add/1",
        "new": [
            {
                "id": one.id,
                "entity": one.text("entity"),
                "finding": one.text("finding"),
                "kind": one.text("kind"),
                "confidence": one.number("confidence"),
                "agent": one.text("agent"),
                "session": one.text("source"),
            }
            for one in kept.new
        ],
        "known": list(kept.known),
        "nothing": kept.nothing,
    }
