"""Fuse: the lists of several retrievers become one ranking, without the items that should not be
shown. Pure.

Records, claims, pages and failing tests are fused here by reciprocal rank, with every part of a
score recorded. Code is not: its ranking compares files and symbols by one formula
(`context.ranking`, ADR-0028). Below a relevance threshold nothing is added: loosely related text
makes agents worse than none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from kl_hooks.index.index import stem
from kl_hooks.model.claim import Tier
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.package import CODE, Candidate, Omission, Signals
from kl_hooks.model.text import counted

# whole numbers: a sum of floats depends on the order of its terms, and the score is part of a
# package's ID
_MILLION: Final = 1_000_000
_RANK_OFFSET: Final = 60
"""The n-th of a list gets 1 / (60 + n): the constant of Cormack, Clarke and Büttcher, SIGIR 2009.
"""
TIER_BONUS: Final = {Tier.VERIFIED: 30, Tier.INFERRED: 20, Tier.ASSUMED: 10, Tier.GUESSED: 0}
"""Percent on top of an item's score for how well it is proven: the strongest term within one list.
"""
_HELPED, _MOST_HELPED = 2, 10
"""Percent for each task in which a record helped: less than one step of a tier, for what is given
often helps often.
"""
_AUTHORITY: Final = {"human": 0, "auto": 1, "agent": 2}
_KIND_ORDER: Final = (
    "failing test",
    "decision",
    "objective",
    "failure",
    "violation",
    "guide",
    "memory",
    "finding",
    "fact",
    "claim",
    "page",
    "evidence",
    "code",
    "commit",
)
"""Headings from the top, others by name. Fixed, so that prompt caches of equal beginnings hit."""
_MATCHES: Final = 2
"""Words of the task that an item must hold …"""
_TRUSTED: Final = 10
"""… or one word only, if a retriever puts it among its first ten."""
_FULL: Final = 5
"""Words of the task that an item must hold to be as relevant as can be."""


class Ranked(NamedTuple):
    """A candidate with its score, in millionths, and what the score is made of."""

    candidate: Candidate
    score: int
    parts: Mapping[str, int]
    """Retriever → what its list gave; `tier` → for how well it is proven. Of code: the signals of
    its ranking.
    """
    best: int
    """Its best place in any list, from 1; 0 if it is in none."""


class Code(NamedTuple):
    """The code that a task is about, best first."""

    files: tuple[Ranked, ...] = ()
    symbols: tuple[Ranked, ...] = ()


class Profile(NamedTuple):
    """A way to rank records and claims, as data."""

    description: str
    tier_bonus: Mapping[Tier, int]
    """Percent on top of a score."""
    first: str = ""
    """What decides before the score: `tier`, `authority`, or nothing."""
    linear: bool = False
    """True where a place in a list counts by how far up it is in this list, instead of by its
    reciprocal.
    """


PROFILES: Final[Mapping[str, Profile]] = {
    "blended": Profile("relevance and proof together", TIER_BONUS),
    "tier-first": Profile("the best proven first, whatever its relevance", {}, "tier"),
    "authority-first": Profile(
        "what people wrote before what tools and agents did", TIER_BONUS, "authority"
    ),
    "rrf": Profile("reciprocal rank fusion alone", {}),
    "weighted": Profile("the weighted sum of the places in each list", {}, linear=True),
    "quota": Profile(
        "relevance and proof; the budget follows from the task and is divided", TIER_BONUS
    ),
    "brief": Profile("relevance and proof; only the few places that decide the task", TIER_BONUS),
}
"""Name → profile, the default first."""


def fuse(
    lists: Mapping[str, Sequence[Candidate]],
    weights: Mapping[str, int] | None = None,
    profile: str = "blended",
) -> list[Ranked]:
    """Return one list, best first, each ID once, without code. `weights`: percent per retriever,
    100 where it has none.

    An item's score is the sum of weight / (60 + rank) over its lists, plus bonuses: for its tier,
    and where it helped. Neither the order of `lists` nor that of equal items matters. KeyError for
    a profile not in `PROFILES`.
    """
    chosen = PROFILES[profile]
    worth = {name: (weights or {}).get(name, 100) for name in sorted(lists)}
    places_by_id: dict[str, dict[str, tuple[int, int, Candidate]]] = {}
    for name, percent in worth.items():
        listed = [one for one in lists[name] if one.kind not in CODE]
        for rank, candidate in enumerate(listed, 1):
            value = reciprocal(rank, percent)
            if chosen.linear:
                value = percent * _MILLION // 100 * (len(listed) - rank + 1) // len(listed)
            # an ID that a list has twice counts once, at its better place
            places_by_id.setdefault(candidate.id, {}).setdefault(name, (rank, value, candidate))
    ranked = [_score(places, chosen) for places in places_by_id.values()]
    return sorted(ranked, key=_order(chosen))


def reciprocal(rank: int, percent: int = 100) -> int:
    """Return the millionths that the `rank`-th of a list is worth."""
    return percent * _MILLION // 100 // (_RANK_OFFSET + rank)


def merge(variants: Sequence[Candidate]) -> Candidate:
    """Merge candidates with the same ID: the lasting one, the best proven one, the longest one is
    the base.
    """
    # down to the text, so that of two equally proven ones the order of the lists does not decide
    best = max(
        variants, key=lambda c: (c.is_lasting, _tier(c), len(c.text), c.text, c.title, c.freshness)
    )
    path, line = next(((c.path, c.line) for c in (best, *variants) if c.path), ("", 0))
    reasons = tuple(dict.fromkeys(r for c in variants for r in c.reasons))
    pinned = any(c.pinned for c in variants)
    # what is asked for by its ID is never too far
    if pinned:
        beyond = ""
    else:
        beyond = next((c.beyond for c in variants if c.beyond), "")
    return best._replace(path=path, line=line, reasons=reasons, beyond=beyond, pinned=pinned)


def kind_order(kind: str) -> tuple[int, str]:
    """Return the sort key of a kind's heading."""
    return (_KIND_ORDER.index(kind) if kind in _KIND_ORDER else len(_KIND_ORDER), kind)


def _tier(candidate: Candidate) -> int:
    if candidate.tier is None:
        return -1
    return candidate.tier


def _score(places: Mapping[str, tuple[int, int, Candidate]], profile: Profile) -> Ranked:
    candidate = merge([c for _, _, c in places.values()])
    parts = {name: value for name, (_, value, _) in places.items()}
    # a share of the score, not a constant: proof of what hardly matches must not lift it over what
    # does
    bonus = (
        sum(parts.values())
        * (profile.tier_bonus.get(candidate.tier, 0) if candidate.tier else 0)
        // 100
    )
    if bonus:
        parts["tier"] = bonus
    if helped := min(candidate.helped * _HELPED, _MOST_HELPED) if profile.tier_bonus else 0:
        parts["utility"] = sum(parts.values()) * helped // 100
    best = min(rank for rank, _, _ in places.values())
    return Ranked(candidate, sum(parts.values()), dict(sorted(parts.items())), best)


def _order(profile: Profile) -> Callable[[Ranked], tuple[object, ...]]:
    def key(item: Ranked) -> tuple[object, ...]:
        candidate = item.candidate
        before = {
            "tier": -_tier(candidate),
            "authority": _AUTHORITY.get(candidate.authority, len(_AUTHORITY)),
        }
        # a failing test is what a reader must know first, whatever matches better
        failing = candidate.kind != "failing test"
        return (
            failing,
            before.get(profile.first, 0),
            -item.score,
            -_tier(candidate),
            kind_order(candidate.kind),
            candidate.id,
        )

    return key


def sift(
    ranked: Sequence[Ranked], signals: Signals, threshold: int = 0
) -> tuple[list[Ranked], list[Omission]]:
    """Return (what may be shown, what not and why), both in the order given. `threshold`: the least
    `relevance`.
    """
    shown: list[Ranked] = []
    omissions: list[Omission] = []
    texts: dict[tuple[str, str, str], str] = {}
    for item in ranked:
        candidate = item.candidate
        if candidate.freshness == "expired":
            reason = "expired"
        else:
            reason = candidate.omit or candidate.beyond
        if not reason and not candidate.is_lasting and not candidate.pinned:
            reason = _below_threshold(item, signals)
            if not reason and relevance(item, signals) < threshold:
                reason = (
                    f"below the relevance threshold: {relevance(item, signals) / 1000} of"
                    f" {threshold / 1000}"
                )
        # what is redacted shows its text to nobody
        text = (candidate.kind, candidate.text, candidate.redacted_by)
        if not reason and candidate.text and text in texts:
            if candidate.kind == "failing test":
                # two tests that fail with the same words are two failures; the words are given once
                same = f"failed with the same message as {texts[text]}"
                item = item._replace(candidate=candidate._replace(text=same, summary=same))
            else:
                reason = f"same text as {texts[text]}"
        if reason:
            omissions.append(Omission(candidate.id, reason))
        else:
            texts.setdefault(text, candidate.id)
            shown.append(item)
    return shown, omissions


def _below_threshold(item: Ranked, signals: Signals) -> str:
    """Return why an item is below the threshold; empty if it is not.

    A word matches wherever its stem is: this cuts only what shares nothing with the task;
    retrievers do the ranking.
    """
    matched, words, named = _matches(item.candidate, signals)
    if item.best <= _TRUSTED:
        enough = 1
    else:
        enough = min(_MATCHES, words)
    if named or matched >= max(enough, 1):
        return ""
    return f"below the relevance threshold: holds {matched} of {counted(words, 'word')} of the task"


def relevance(item: Ranked, signals: Signals) -> int:
    """Return how relevant a record is, in thousandths: what the task names, 1000; else by how many
    words are in it.

    Five words are as good as all: a pasted log has hundreds. What applies whatever the words are
    has 1000.
    """
    candidate = item.candidate
    matched, words, named = _matches(candidate, signals)
    if named or candidate.is_lasting or candidate.pinned or candidate.kind == "failing test":
        return 1000
    return min(matched * 1000 // max(min(words, _FULL), 1), 1000)


def _matches(candidate: Candidate, signals: Signals) -> tuple[int, int, bool]:
    """Return (words of the task that an item holds, of how many, whether it holds a name or path of
    the task).
    """
    text = "\n".join(
        (candidate.id, candidate.path, candidate.title, candidate.summary, candidate.text)
    ).lower()
    names = (*(name.rpartition(".")[2] for name in signals.symbols), *signals.paths)
    words = {stem(word) for word in signals.keywords}
    return (
        sum(word in text for word in words),
        len(words),
        any(name.lower() in text for name in names),
    )
