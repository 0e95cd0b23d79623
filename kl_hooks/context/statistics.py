"""Statistics: how many packages were delivered, how large, from what and how fast; and their recall, summed up.

Folded from the package log and from `context.recall`: nothing is counted twice, and there is no counter to reset.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.context.package_log import SEARCH

if TYPE_CHECKING:
    from kl_hooks.context.recall import Comparison

Events = Iterable[Mapping[str, Any]]


def package_statistics(events: Events, since: str = "") -> dict[str, Any]:
    """Return the figures of the events from `since` (ISO 8601) on; `kl.stats/1` but for its schema. Pure."""
    some = [one for one in events if str(one.get("created_at", "")) >= since]
    made = [one for one in some if one.get("event") == "context_assembly"]
    days = sorted(str(one["created_at"]) for one in made if one.get("created_at"))
    kinds: Counter[str] = Counter()
    for one in made:
        kinds.update(one.get("artifacts", {}))
    budgets = [100 * one["budget_used"] // one["budget_total"] for one in made if one.get("budget_total")]
    times = [int(one.get("assembly_ms", 0)) for one in made]
    names = Counter(str(one.get("event")) for one in some)
    return {
        "packages": len(made), "first": days[0] if days else None, "last": days[-1] if days else None,
        "sessions": len({one["session"] for one in made if one.get("session")}),
        "agents": dict(sorted(Counter(one["agent"] for one in made if one.get("agent")).items())),
        "hits": names["knowledge_hit"], "misses": names["knowledge_miss"],
        "session_starts": names["session_context"], "cached": sum(one.get("cached") is True for one in made),
        "retrieved": sum(int(one.get("knowledge_retrieved", 0)) for one in made),
        "included": sum(int(one.get("knowledge_included", 0)) for one in made),
        "memory_loaded": sum(int(one.get("memory_loaded", 0)) for one in made),
        "memory_included": sum(int(one.get("memory_included", 0)) for one in made),
        "kinds": dict(sorted(kinds.items())),
        "characters": sum(int(one.get("context_chars", 0)) for one in made),
        "budget_percent": round(sum(budgets) / len(budgets)) if budgets else None,
        "median_ms": round(median(times)) if times else None, "slowest_ms": max(times, default=None),
        "sources": _sources(some),
    }  # fmt: skip


def _sources(events: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, int]]:
    """Return retriever → how often it was asked, found nothing and failed, its results and milliseconds in all."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for event in events:
        for one in event.get("sources", ()) if event.get("event") == "knowledge_lookup" else ():
            status = str(one["status"])
            failed = status.startswith("failed")
            found[str(one["source"])].update(
                asked=1,
                results=int(one["results"]),
                empty=int(status == "empty"),
                failed=int(failed),
                ms=int(one["ms"]),
            )
    return {name: dict(found[name]) for name in sorted(found)}


def recall_statistics(compared: Sequence[Comparison]) -> dict[str, Any]:
    """Return the recall over all packages that commits name, and of each retriever; `kl.stats.recall/1`. Pure.

    Sums, not means of packages: a commit that touches one file must not weigh as much as one that touches ten.
    """
    known = [one for one in compared if one.known]
    files = sum(len(one.files) for one in known)
    symbols = sum(one.symbols for one in known)
    sources: dict[str, Counter[str]] = defaultdict(Counter)
    for one in known:
        for name, use in (one.sources or {}).items():
            sources[name].update(items=use.items, touched=use.touched, files=use.files)
    return {
        "packages": len(known), "unknown": len(compared) - len(known),
        "files": files, "files_found": files - sum(len(one.missing) for one in known),
        "symbols": symbols, "symbols_found": sum(one.symbols_found for one in known),
        "sources": {
            name: {
                **{key: sources[name][key] for key in ("items", "touched", "files")},
                "recall": percent(sources[name]["files"], files),
                "utility": percent(sources[name]["touched"], sources[name]["items"]),
            }
            for name in sorted(sources)
        },
    }  # fmt: skip


_LEAST_PACKAGES: Final = 10
_LEAST_ITEMS: Final = 20
_BOUNDS: Final = (80, 120)


def suggested_weights(found: Mapping[str, Any]) -> dict[str, int]:
    """Return source → percent of its weight that its utility suggests. Pure; `found`: of `recall_statistics`.

    Half of what its utility is above or below that of all sources, within bounds. Nothing below ten packages, and
    nothing for sources that brought fewer than 20 items, nor for code, which is ranked by itself.
    """
    sources = {name: one for name, one in found["sources"].items() if name != "code"}
    items, touched = (sum(one[key] for one in sources.values()) for key in ("items", "touched"))
    if found["packages"] < _LEAST_PACKAGES or not items:
        return {}
    mean = 100 * touched // items
    return {
        name: min(max(100 + (one["utility"] - mean) // 2, _BOUNDS[0]), _BOUNDS[1])
        for name, one in sources.items() if one["items"] >= _LEAST_ITEMS
    }  # fmt: skip


def percent(part: int, whole: int) -> int | None:
    """Return a whole percentage; None of nothing."""
    return round(100 * part / whole) if whole else None


def search_statistics(events: Events, since: str = "", most: int = 10) -> dict[str, Any]:
    """Return the figures of searches from `since` on, by mode, and the queries with nothing found. Pure."""
    some = [one for one in events if one.get("event") == SEARCH and str(one.get("created_at", "")) >= since]
    modes = {}
    for mode in sorted({str(one["mode"]) for one in some}):
        own = [one for one in some if one["mode"] == mode]
        scores = [float(one["mean_score"]) for one in own if one["results"]]
        modes[mode] = {
            "searches": len(own), "empty": sum(not one["results"] for one in own),
            "results": round(sum(int(one["results"]) for one in own) / len(own), 1),
            "mean_score": round(sum(scores) / len(scores), 3) if scores else None,
            "median_ms": round(median(int(one["ms"]) for one in own)),
        }  # fmt: skip
    empty = Counter(" ".join(str(one["query"]).lower().split()) for one in some if not one["results"])
    listed = sorted(empty.items(), key=lambda pair: (-pair[1], pair[0]))[:most]
    return {"searches": len(some), "modes": modes, "nothing_found": [{"query": q, "times": n} for q, n in listed]}
