"""Fusion: several ranked lists as one, their scores normalized before they are mixed; and ranking it again. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final, NamedTuple

FUSIONS: Final = ("rrf", "weighted", "simple", "cascade")
"""Reciprocal rank; weighted sum of scores; best score; one list after the other."""
_K: Final = 60
"""Of reciprocal rank fusion (Cormack, Clarke, Büttcher, SIGIR 2009)."""
_SCORE, _OVERLAP, _PLACE = 0.5, 0.3, 0.2
"""Weights of what `rerank` adds up."""


class Fused(NamedTuple):
    """Something that at least one list has."""

    id: str
    score: float
    """0 to 1; comparable within one answer only."""
    parts: Mapping[str, float]
    """List → what it adds to the score, for `--explain`."""


def fuse(
    method: str, lists: Mapping[str, Sequence[tuple[str, float]]], weights: Callable[[str], Mapping[str, float]]
) -> list[Fused]:
    """Return what is in the lists, each once, best first; ties by ID.

    `lists`: name → (ID, score), best first; scores of two lists need not be comparable. Of a cascade the first list
    comes first. `weights`: ID → how much each list counts for it, 1 in all at most. `simple` and `cascade` ignore them.
    """
    found: dict[str, dict[str, float]] = {}
    for place, (name, ranked) in enumerate(lists.items()):
        best = max((score for _, score in ranked), default=0.0)
        for rank, (one, score) in enumerate(ranked, 1):
            parts = found.setdefault(one, {})
            if name in parts:
                continue  # a list has each ID once; of a second one the first, better, place counts
            share = weights(one).get(name, 0.0)
            normal = max(0.0, score / best) if best > 0 else 0.0
            if method == "rrf":
                parts[name] = share * (_K + 1) / (_K + rank)
            elif method == "weighted":
                parts[name] = share * normal
            elif method == "simple":
                parts[name] = normal
            elif not parts:  # of a cascade: the first list that has it decides
                parts[name] = (len(lists) - place - 1 + 1 / rank) / len(lists)
    highest = method in ("simple", "cascade")
    made = [
        Fused(one, round(max(parts.values()) if highest else sum(parts.values()), 6), parts)
        for one, parts in found.items()
    ]
    return sorted(made, key=lambda one: (-one.score, one.id))


def rerank(found: Sequence[Fused], stems: Collection[str], texts: Mapping[str, str]) -> list[Fused]:
    """Return the list ranked again: by score, by how many of the query's stems a text has, and by place before.

    `texts`: ID → text in lower case.
    """
    best = max((one.score for one in found), default=0.0) or 1.0
    made = []
    for place, one in enumerate(found):
        text = texts.get(one.id, "")
        overlap = sum(stem in text for stem in stems) / len(stems) if stems else 0.0
        parts = {"score": _SCORE * one.score / best, "overlap": _OVERLAP * overlap, "place": _PLACE / (1 + 0.1 * place)}
        made.append(Fused(one.id, round(sum(parts.values()), 6), {**one.parts, **parts}))
    return sorted(made, key=lambda one: (-one.score, one.id))
