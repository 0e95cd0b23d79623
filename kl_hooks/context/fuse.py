"""Fuse: the lists of several retrievers become one order, by reciprocal rank, with every part of a score kept. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from kl_hooks.context.weights import KIND_ORDER, LIFT, MOST_TOUCHED, RANK_OFFSET, TIER_BONUS
from kl_hooks.model.package import Candidate

MILLION: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Ranked:
    """A candidate with its score, in millionths, and what the score is made of."""

    candidate: Candidate
    score: int
    parts: Mapping[str, int]
    """Retriever → what its list gave; `near:<retriever>` → for its file; `tier` → for how well it is proven."""
    best: int
    """Its best place in any list, from 1; 0 if it stands in none."""


def fuse(lists: Mapping[str, Sequence[Candidate]], weights: Mapping[str, int] | None = None) -> list[Ranked]:
    """One list, best first, each id once. `weights`: percent per retriever, 100 where it has none.

    An item's score is the sum of weight / (60 + rank) over the lists that hold it, plus a share where a list names its
    file only, plus a bonus for its tier. Neither the order of `lists` nor that of equal items matters.
    """
    worth = {name: (weights or {}).get(name, 100) for name in sorted(lists)}
    found: dict[str, dict[str, tuple[int, Candidate]]] = {}
    files: dict[str, dict[str, int]] = {}
    for name in worth:
        for rank, candidate in enumerate(lists[name], 1):
            found.setdefault(candidate.id, {}).setdefault(name, (rank, candidate))
            for path in _touched_files(candidate):
                files.setdefault(path, {}).setdefault(name, rank)
    ranked = [_score(places, files, worth) for places in found.values()]
    return sorted(ranked, key=_order)


def reciprocal(rank: int, percent: int = 100) -> int:
    """Millionths that the `rank`-th of a list is worth."""
    return percent * MILLION // 100 // (RANK_OFFSET + rank)


def merge(found: Sequence[Candidate]) -> Candidate:
    """One candidate of several with the same id: one that stands anyway, the best proven, the one that says most."""
    best = max(found, key=lambda c: (c.is_lasting, c.tier, len(c.text), c.text, c.title, c.freshness))
    path, line = next(((c.path, c.line) for c in (best, *found) if c.path), ("", 0))
    reasons = tuple(dict.fromkeys(r for c in found for r in c.reasons))
    beyond = next((c.beyond for c in found if c.beyond), "")
    pinned = any(c.pinned for c in found)
    return replace(best, path=path, line=line, reasons=reasons, beyond=beyond, pinned=pinned)


def _touched_files(candidate: Candidate) -> set[str]:
    """The files that it names: what it touched. A symbol or a test says nothing of its neighbours in its own file."""
    return {path for path in candidate.touches if path} if len(candidate.touches) <= MOST_TOUCHED else set()


def kind_order(kind: str) -> tuple[int, str]:
    """Where a kind's heading stands."""
    return (KIND_ORDER.index(kind) if kind in KIND_ORDER else len(KIND_ORDER), kind)


def _score(
    places: Mapping[str, tuple[int, Candidate]], files: Mapping[str, Mapping[str, int]], worth: Mapping[str, int]
) -> Ranked:
    candidate = merge([c for _, c in places.values()])
    parts = {name: reciprocal(rank, worth[name]) for name, (rank, _) in places.items()}
    in_a_file = candidate.path and not candidate.touches  # a commit stands in none
    for name, rank in files.get(candidate.path, {}).items() if in_a_file else ():
        if name not in places:
            parts[f"near:{name}"] = reciprocal(rank, worth[name]) * LIFT // 100
    bonus = sum(parts.values()) * TIER_BONUS[candidate.tier] // 100
    if bonus:
        parts["tier"] = bonus
    best = min(rank for rank, _ in places.values())
    return Ranked(candidate, sum(parts.values()), dict(sorted(parts.items())), best)


def _order(item: Ranked) -> tuple[int, int, tuple[int, str], str]:
    return (-item.score, -item.candidate.tier, kind_order(item.candidate.kind), item.candidate.id)
