"""Sift: what should not be shown, with the reason: expired, read by the agent itself, said already, too far. Pure.

Small beats big: a package of loosely related text makes agents worse than none, so below a floor nothing is added.
"""

from __future__ import annotations

from collections.abc import Sequence

from kl_hooks.context.fuse import Ranked
from kl_hooks.context.weights import FLOOR_MATCHES, FLOOR_TRUSTED
from kl_hooks.index.words import stem
from kl_hooks.model.package import Candidate, Omission, Signals


def sift(ranked: Sequence[Ranked], signals: Signals) -> tuple[list[Ranked], list[Omission]]:
    """(what may be shown, what not and why), both in the order given."""
    kept: list[Ranked] = []
    left: list[Omission] = []
    said: dict[tuple[str, str], str] = {}
    for item in ranked:
        candidate = item.candidate
        twin = said.get((candidate.kind, candidate.text)) if candidate.text else None
        if candidate.freshness == "expired":
            left.append(Omission(candidate.id, "expired"))
        elif candidate.omit:
            left.append(Omission(candidate.id, candidate.omit))
        elif candidate.beyond:
            left.append(Omission(candidate.id, candidate.beyond))
        elif not candidate.is_lasting and (reason := _below_threshold(item, signals)):
            left.append(Omission(candidate.id, reason))
        elif twin is not None:
            left.append(Omission(candidate.id, f"same text as {twin}"))
        else:
            said[candidate.kind, candidate.text] = candidate.id
            kept.append(item)
    return kept, left


def _below_threshold(item: Ranked, signals: Signals) -> str:
    """Why it is below the floor; empty if it is not. A word counts wherever its stem stands: lenient on purpose, since
    this cuts only what has nothing in common with the task; the order comes from the retrievers.
    """
    if any(part.startswith("near:") for part in item.parts):
        return ""
    text = _text(item.candidate)
    names = (*(name.rpartition(".")[2] for name in signals.symbols), *signals.paths)
    if any(name.lower() in text for name in names):
        return ""
    words = {stem(word) for word in signals.keywords}
    matched = sum(word in text for word in words)
    enough = 1 if item.best <= FLOOR_TRUSTED else min(FLOOR_MATCHES, len(words))
    if matched >= max(enough, 1):
        return ""
    return f"below the floor: holds {matched} of {len(words)} words of the task"


def _text(candidate: Candidate) -> str:
    return "\n".join((candidate.id, candidate.path, candidate.title, candidate.summary, candidate.text)).lower()
