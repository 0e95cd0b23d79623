"""Fuse: the lists of several retrievers become one ranking, without the items that should not be shown. Pure.

Reciprocal rank fusion, with every part of a score recorded. Below a relevance threshold nothing is added: a
package of loosely related text makes agents worse than none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from kl_hooks.index.index import stem
from kl_hooks.model.claim import Tier
from kl_hooks.model.package import Candidate, Omission, Signals

# whole numbers: a sum of floats depends on the order of its terms, and the score is part of a package's ID
MILLION: Final = 1_000_000
_RANK_OFFSET: Final = 60
"""The n-th of a list gets 1 / (60 + n): the constant of Cormack, Clarke and Büttcher, SIGIR 2009."""
LIFT: Final = 50
"""Percent of a list's worth for an item whose *file* that list names through another item."""
MOST_TOUCHED: Final = 20
"""Files: a commit that touches more of them (a mass rename, a new header) is no sign of any one."""
TIER_BONUS: Final = {Tier.VERIFIED: 30, Tier.INFERRED: 20, Tier.ASSUMED: 10, Tier.GUESSED: 0}
"""Percent on top of an item's score for how well it is proven: the strongest term within one list."""
_KIND_ORDER: Final = (
    "decision", "objective", "failure", "violation", "guide", "memory", "finding", "fact", "page", "evidence", "symbol",
    "file", "commit",
)  # fmt: skip
"""Headings from the top, others by name. Fixed, so that prompt caches of equal beginnings hit."""
_MATCHES: Final = 2
"""Words of the task that an item must hold …"""
_TRUSTED: Final = 10
"""… or one word only, if a retriever puts it among its first ten."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """A candidate with its score, in millionths, and what the score is made of."""

    candidate: Candidate
    score: int
    parts: Mapping[str, int]
    """Retriever → what its list gave; `near:<retriever>` → for its file; `tier` → for how well it is proven."""
    best: int
    """Its best place in any list, from 1; 0 if it is in none."""


def fuse(lists: Mapping[str, Sequence[Candidate]], weights: Mapping[str, int] | None = None) -> list[Ranked]:
    """Return one list, best first, each ID once. `weights`: percent per retriever, 100 where it has none.

    An item's score is the sum of weight / (60 + rank) over the lists that hold it, plus half of it where a list names
    its file only, plus a bonus for its tier. Neither the order of `lists` nor that of equal items matters.
    """
    worth = {name: (weights or {}).get(name, 100) for name in sorted(lists)}
    found: dict[str, dict[str, tuple[int, Candidate]]] = {}
    files: dict[str, dict[str, int]] = {}
    for name in worth:
        for rank, candidate in enumerate(lists[name], 1):
            # an ID that a list has twice counts once, at its better place
            found.setdefault(candidate.id, {}).setdefault(name, (rank, candidate))
            for path in _touched_files(candidate):
                files.setdefault(path, {}).setdefault(name, rank)
    ranked = [_score(places, files, worth) for places in found.values()]
    return sorted(ranked, key=_order)


def reciprocal(rank: int, percent: int = 100) -> int:
    """Return the millionths that the `rank`-th of a list is worth."""
    return percent * MILLION // 100 // (_RANK_OFFSET + rank)


def merge(found: Sequence[Candidate]) -> Candidate:
    """Merge candidates with the same ID: the lasting one, the best proven one, the longest one is the base."""
    # down to the text, so that of two equally proven ones the order of the lists does not decide
    best = max(found, key=lambda c: (c.is_lasting, c.tier, len(c.text), c.text, c.title, c.freshness))
    path, line = next(((c.path, c.line) for c in (best, *found) if c.path), ("", 0))
    reasons = tuple(dict.fromkeys(r for c in found for r in c.reasons))
    beyond = next((c.beyond for c in found if c.beyond), "")
    pinned = any(c.pinned for c in found)
    return replace(best, path=path, line=line, reasons=reasons, beyond=beyond, pinned=pinned)


def _touched_files(candidate: Candidate) -> set[str]:
    """Return the files that it touched. A symbol or a test is no sign of its siblings in its own file."""
    return {path for path in candidate.touches if path} if len(candidate.touches) <= MOST_TOUCHED else set()


def kind_order(kind: str) -> tuple[int, str]:
    """Return the sort key of a kind's heading."""
    return (_KIND_ORDER.index(kind) if kind in _KIND_ORDER else len(_KIND_ORDER), kind)


def _score(
    places: Mapping[str, tuple[int, Candidate]], files: Mapping[str, Mapping[str, int]], worth: Mapping[str, int]
) -> Ranked:
    candidate = merge([c for _, c in places.values()])
    parts = {name: reciprocal(rank, worth[name]) for name, (rank, _) in places.items()}
    in_a_file = candidate.path and not candidate.touches  # a commit is in no file
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


def sift(ranked: Sequence[Ranked], signals: Signals) -> tuple[list[Ranked], list[Omission]]:
    """Return (what may be shown, what not and why), both in the order given."""
    shown: list[Ranked] = []
    omissions: list[Omission] = []
    texts: dict[tuple[str, str], str] = {}
    for item in ranked:
        one = item.candidate
        reason = "expired" if one.freshness == "expired" else one.omit or one.beyond
        if not reason and not one.is_lasting:
            reason = _below_threshold(item, signals)
        if not reason and one.text and (one.kind, one.text) in texts:
            reason = f"same text as {texts[one.kind, one.text]}"
        if reason:
            omissions.append(Omission(one.id, reason))
        else:
            texts[one.kind, one.text] = one.id
            shown.append(item)
    return shown, omissions


def _below_threshold(item: Ranked, signals: Signals) -> str:
    """Return why an item is below the threshold; empty if it is not.

    A word matches wherever its stem is: this cuts only what shares nothing with the task; retrievers do the ranking.
    """
    if any(part.startswith("near:") for part in item.parts):
        return ""
    one = item.candidate
    text = "\n".join((one.id, one.path, one.title, one.summary, one.text)).lower()
    names = (*(name.rpartition(".")[2] for name in signals.symbols), *signals.paths)
    if any(name.lower() in text for name in names):
        return ""
    words = {stem(word) for word in signals.keywords}
    matched = sum(word in text for word in words)
    enough = 1 if item.best <= _TRUSTED else min(_MATCHES, len(words))
    if matched >= max(enough, 1):
        return ""
    return f"below the relevance threshold: holds {matched} of {len(words)} words of the task"
