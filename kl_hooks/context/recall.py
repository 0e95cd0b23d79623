"""How well packages do: what they contained of what commits touched, and how many there were, how
large, how fast.

A commit names the packages that it was made with in trailers, `Kl-Package: cp-…`; what they
contained is in the package log. Both are compared once, when the commit has been read from git.
What is found of each retriever is its recall here; a record that was given and is about a touched
file gets a positive outcome, which counts in its importance.

Statistics are folded from the log and these comparisons: nothing is counted twice, and there is no
counter to reset.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.clock import iso
from kl_hooks.context.package_log import ITEMS, SEARCH, events_newest_first
from kl_hooks.errors import UsageProblem
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.package import PLACE
from kl_hooks.model.symbol import FILE_SIGN
from kl_hooks.records.events import Event, insert_events

if TYPE_CHECKING:
    from kl_hooks.git.repository import Repository
    from kl_hooks.store.database import Database
    from kl_hooks.workspace import Workspace


TRAILER: Final = "Kl-Package"
_MOST_TRAILERS: Final = 5
_OWN: Final = ".kl/"
"""Records that a commit adds are no answer to its task."""


class Touched(NamedTuple):
    """What a commit changed of the content before it."""

    files: frozenset[str]
    symbols: frozenset[tuple[str, str]]
    """(path, qualified name in the module) of the innermost functions, methods and classes with a
    changed line.
    """


class SourceUse(NamedTuple):
    """What one retriever brought into packages, and what of it commits touched."""

    items: int
    touched: int
    """Items that are about a touched file."""
    files: int
    """Touched files that its items are about."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """A package beside the commit that names it."""

    sha: str
    package: str
    at: str
    """When they were compared, ISO 8601."""
    known: bool = False
    """False where the package was made elsewhere, or is older than the package log."""
    files: tuple[str, ...] = ()
    """Touched ones that existed before."""
    missing: tuple[str, ...] = ()
    """Those of them that were not in the package."""
    symbols: int = 0
    symbols_found: int = 0
    sources: Mapping[str, SourceUse] | None = None


def update_recall(ws: Workspace) -> int:
    """Compare the commits that were read since the last time with their packages; return how many
    comparisons are new.

    Raises as `Store.writing`, and GitFailed.
    """
    if ws.repo is None:
        return 0
    with ws.store.reading() as db:
        unread = list(_unread(db)) if db else []
        if db and unread:
            compared = {package for (package,) in db.rows("SELECT package FROM package_recall")}
        else:
            compared = set()
    if not unread:
        return 0
    wanted = {package for _, _, packages in unread for package in packages}
    contained = logged_items(ws, wanted)
    now = iso(ws.clock.now())
    new_comparisons: list[Comparison] = []
    events: list[Event] = []
    for sha, parents, packages in unread:
        if contained.keys() & set(packages):
            touched = _touched_by(ws.repo, sha, parents)
        else:
            touched = None
        for package in packages:
            items = contained.get(package)
            if items is None or touched is None:
                new_comparisons.append(Comparison(sha, package, now))
                continue
            new_comparisons.append(compare(sha, package, now, touched, items))
            body = {"result": "positive", "package": package, "commit": sha}
            about = {
                row[1] for row in items if row[0] in ws.kinds and is_about(row[2], touched.files)
            }
            # an amended or rebased commit is the same work: it counts once
            events += [
                Event("outcome", one, body=body) for one in sorted(about) if package not in compared
            ]
    with ws.store.writing(what="comparing packages with commits") as db, db.transaction():
        # another process may have been faster: what it stored counts, and no outcome is counted
        # twice
        new = {(sha, package) for sha, _, packages in _unread(db) for package in packages}
        db.many(
            "INSERT INTO package_recall (sha, package, body) VALUES (?, ?, ?)",
            [
                (one.sha, one.package, _to_json(one))
                for one in new_comparisons
                if (one.sha, one.package) in new
            ],
        )
        insert_events(db, [e for e in events if (e.body["commit"], e.body["package"]) in new], now)
    return len(new)


def logged_items(ws: Workspace, wanted: Collection[str]) -> dict[str, Sequence[Sequence[Any]]]:
    """Return package → what it contained, of those that the package log still has."""
    items_of_package: dict[str, Sequence[Sequence[Any]]] = {}
    for event in events_newest_first(ws.state):
        if len(items_of_package) == len(wanted):
            break  # the log may be 16 MB long
        if event.get("event") == ITEMS and event.get("package_id") in wanted:
            items_of_package.setdefault(event["package_id"], event.get("items", ()))
    return items_of_package


def _unread(db: Database) -> Iterator[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    """Yield (commit, its parents, the packages it names) of commits with packages that they were
    not compared with.
    """
    if not db.has_table("package_recall"):
        return  # a store that can't be written has the tables of its last writer
    pairs_read = {
        (sha, package) for sha, package in db.rows("SELECT sha, package FROM package_recall")
    }
    # case does not matter in the keys of trailers (git-interpret-trailers), nor in LIKE for ASCII
    sql = "SELECT sha, parents, trailers FROM commit_log WHERE trailers LIKE ? ORDER BY at, sha"
    for sha, parents, trailers in db.rows(sql, (f"%{TRAILER}%",)):
        named = (
            value.strip() for key, value in json.loads(trailers) if key.lower() == TRAILER.lower()
        )
        packages = tuple(
            package_id for package_id in dict.fromkeys(named) if (sha, package_id) not in pairs_read
        )
        if packages:
            yield sha, tuple(parents.split()), packages


def _touched_by(repo: Repository, sha: str, parents: Sequence[str]) -> Touched | None:
    """Return what a commit changed; None of a merge, of a first commit, and of one that git does
    not have any more.
    """
    from kl_hooks.code.languages import own_scanners, source_suffixes
    from kl_hooks.context.replay import changed_symbols, dotted_module, read_source
    from kl_hooks.git.commits import touched_files
    from kl_hooks.git.files import files_at, read_files

    if len(parents) == 1:
        commits = touched_files(repo, [sha], ("",))
    else:
        commits = []
    try:
        if commits:
            before = {entry.path: entry for entry in files_at(repo, parents[0])}
        else:
            before = {}
    except UsageProblem:  # a shallow clone does not have the parent
        return None
    files = {old or path for one in commits for path, old in one.changes}
    files = {path for path in files & before.keys() if not path.startswith(_OWN)}
    if not files:
        return None
    scanners = own_scanners()
    entries = [before[path] for path in sorted(files) if path.endswith(source_suffixes(scanners))]
    sources = {
        entry.path: source
        for entry, content in read_files(repo, entries, "objects")
        if (source := read_source(content, entry.path, scanners)) is not None
    }
    symbols_changed = changed_symbols(repo, parents[0], sha, sources)
    names = (
        (path, name.partition(":")[2][len(dotted_module(path)) + 1 :])
        for path, name in symbols_changed
    )
    return Touched(frozenset(files), frozenset(names))


def compare(
    sha: str, package: str, moment: str, touched: Touched, items: Sequence[Sequence[Any]]
) -> Comparison:
    """Compare one package with one commit. `items`: as in the event, (kind, ID, paths, retrievers).
    Pure.
    """
    contained = {path for _, _, paths, _ in items for path in paths}
    names = {
        (path, str(name))
        for kind, name, paths, _ in items
        if kind in ("symbol", PLACE)
        for path in paths
    }
    symbols_shown = sum(
        any(
            p == path and i.endswith((f".{name}", f":{name}", f"{FILE_SIGN}{name}"))
            for p, i in names
        )
        for path, name in touched.symbols
    )
    sources: dict[str, tuple[int, int, set[str]]] = {}
    for _, _, paths, brought in items:
        used = is_about(paths, touched.files)
        for name in brought:
            number, before, files = sources.get(name, (0, 0, set()))
            sources[name] = number + 1, before + used, files | touched.files.intersection(paths)
    uses = {
        name: SourceUse(number, used, len(files))
        for name, (number, used, files) in sorted(sources.items())
    }
    missing = tuple(sorted(touched.files - contained))
    return Comparison(
        sha,
        package,
        moment,
        True,
        tuple(sorted(touched.files)),
        missing,
        len(touched.symbols),
        symbols_shown,
        uses,
    )


def is_about(paths: Sequence[str], files: Collection[str]) -> bool:
    """Return True where one of the files is among these files and folders, or in one of them."""
    folders = tuple(f"{path.rstrip('/')}/" for path in paths)
    return any(file in paths or file.startswith(folders) for file in files)


def _to_json(comparison: Comparison) -> str:
    sources = {name: list(use) for name, use in (comparison.sources or {}).items()}
    facts = {
        "at": comparison.at,
        "known": comparison.known,
        "files": comparison.files[:_LISTED],
        "missing": comparison.missing[:_LISTED],
        "symbols": comparison.symbols,
        "symbols_found": comparison.symbols_found,
        "sources": sources,
    }
    return json.dumps(facts, sort_keys=True)


_LISTED: Final = 500


def comparisons(ws: Workspace) -> list[Comparison]:
    """Return the comparisons, the newest first; of a package that several commits name the last
    one.

    A commit that was amended or rebased is read again, with the same trailers.
    """
    with ws.store.reading() as db:
        if db is None or not db.has_table("package_recall"):
            return []
        sql = (
            "SELECT p.sha, p.package, p.body, COALESCE(c.at, '') FROM package_recall p"
            " LEFT JOIN commit_log c ON c.sha = p.sha"
        )
        rows = [(sha, package, json.loads(body), made) for sha, package, body, made in db.rows(sql)]
    comparison_of_package: dict[str, Comparison] = {}
    # as they were made: an amended commit has the time of the first one
    for sha, package, facts, _ in sorted(
        rows, key=lambda row: (row[2]["at"], row[3], row[0]), reverse=True
    ):
        sources = {name: SourceUse(*use) for name, use in facts["sources"].items()}
        comparison_of_package.setdefault(
            package,
            Comparison(
                sha,
                package,
                facts["at"],
                facts["known"],
                tuple(facts["files"]),
                tuple(facts["missing"]),
                facts["symbols"],
                facts["symbols_found"],
                sources,
            ),
        )
    return list(comparison_of_package.values())


def packages_since_commit(ws: Workspace) -> list[str]:
    """Return the IDs of the packages that were made in this working tree since HEAD was committed,
    oldest first.

    At most five, the newest; without those without an item.
    """
    from kl_hooks.git.repository import git_in

    # fails before the first commit: nothing existed before it, so it can't be compared
    if ws.repo:
        out = git_in(ws.repo, "log", "-1", "--format=%H %ct", ok=(0, 128)).split()
    else:
        out = []
    if len(out) != 2:
        return []
    commit = out[0].decode("ascii")
    committed = iso(int(out[1]) * 1_000_000)
    ids: dict[str, None] = {}
    for event in events_newest_first(ws.state):
        is_package = event.get("event") == "context_assembly" and event.get("knowledge_included")
        if (
            is_package
            and event.get("commit") == commit
            and event.get("worktree") == ws.state.graph.stem
        ):
            ids[str(event["package_id"])] = None
        if len(ids) == _MOST_TRAILERS or event.get("created_at", committed) < committed:
            break
    return list(reversed(ids))


Events = Iterable[Mapping[str, Any]]


def package_statistics(events: Events, since: str = "") -> dict[str, Any]:
    """Return the figures of the events from `since` (ISO 8601) on; `kl.stats/1` but for its schema.
    Pure.
    """
    recent = [event for event in events if str(event.get("created_at", "")) >= since]
    packages = [event for event in recent if event.get("event") == "context_assembly"]
    days = sorted(str(event["created_at"]) for event in packages if event.get("created_at"))
    kinds: Counter[str] = Counter()
    for event in packages:
        kinds.update(event.get("artifacts", {}))
    budgets = [
        100 * event["budget_used"] // event["budget_total"]
        for event in packages
        if event.get("budget_total")
    ]
    times = [int(event.get("assembly_ms", 0)) for event in packages]
    names = Counter(str(event.get("event")) for event in recent)
    return {
        "packages": len(packages),
        "first": days[0] if days else None,
        "last": days[-1] if days else None,
        "sessions": len({event["session"] for event in packages if event.get("session")}),
        "agents": dict(
            sorted(Counter(event["agent"] for event in packages if event.get("agent")).items())
        ),
        "hits": names["knowledge_hit"],
        "misses": names["knowledge_miss"],
        "session_starts": names["session_context"],
        "cached": sum(event.get("cached") is True for event in packages),
        "retrieved": sum(int(event.get("knowledge_retrieved", 0)) for event in packages),
        "included": sum(int(event.get("knowledge_included", 0)) for event in packages),
        "memory_loaded": sum(int(event.get("memory_loaded", 0)) for event in packages),
        "memory_included": sum(int(event.get("memory_included", 0)) for event in packages),
        "kinds": dict(sorted(kinds.items())),
        "characters": sum(int(event.get("context_chars", 0)) for event in packages),
        "budget_percent": round(sum(budgets) / len(budgets)) if budgets else None,
        "median_ms": round(median(times)) if times else None,
        "slowest_ms": max(times, default=None),
        "sources": _sources(recent),
    }


def _sources(events: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, int]]:
    """Return retriever → how often it was asked, found nothing and failed, its results and
    milliseconds in all.
    """
    counts_of_source: dict[str, Counter[str]] = defaultdict(Counter)
    for event in events:
        for lookup in event.get("sources", ()) if event.get("event") == "knowledge_lookup" else ():
            status = str(lookup["status"])
            failed = status.startswith("failed")
            counts_of_source[str(lookup["source"])].update(
                asked=1,
                results=int(lookup["results"]),
                empty=int(status == "empty"),
                failed=int(failed),
                ms=int(lookup["ms"]),
            )
    return {name: dict(counts_of_source[name]) for name in sorted(counts_of_source)}


def recall_statistics(compared: Sequence[Comparison]) -> dict[str, Any]:
    """Return the recall over all packages that commits name, and of each retriever;
    `kl.stats.recall/1`. Pure.

    Sums, not means of packages: a commit that touches one file must not weigh as much as one that
    touches ten.
    """
    known_comparisons = [comparison for comparison in compared if comparison.known]
    files = sum(len(comparison.files) for comparison in known_comparisons)
    symbols = sum(comparison.symbols for comparison in known_comparisons)
    sources: dict[str, Counter[str]] = defaultdict(Counter)
    for comparison in known_comparisons:
        for name, use in (comparison.sources or {}).items():
            sources[name].update(items=use.items, touched=use.touched, files=use.files)
    return {
        "packages": len(known_comparisons),
        "unknown": len(compared) - len(known_comparisons),
        "files": files,
        "files_found": files - sum(len(comparison.missing) for comparison in known_comparisons),
        "symbols": symbols,
        "symbols_found": sum(comparison.symbols_found for comparison in known_comparisons),
        "sources": {
            name: {
                **{key: sources[name][key] for key in ("items", "touched", "files")},
                "recall": percent(sources[name]["files"], files),
                "utility": percent(sources[name]["touched"], sources[name]["items"]),
            }
            for name in sorted(sources)
        },
    }


LEAST_PACKAGES: Final = 10
_LEAST_ITEMS: Final = 20
_BOUNDS: Final = (80, 120)


def suggested_weights(packages: int, uses: Mapping[str, tuple[int, int]]) -> dict[str, int]:
    """Return source → percent of its weight that its utility suggests. Pure; `uses`: source → its
    items, and how many of these are about what was used.

    Half of what its utility is above or below that of all sources, within bounds. Nothing below ten
    packages, and nothing for sources that brought fewer than 20 items, nor for code, which is
    ranked by itself.
    """
    weighed = {name: use for name, use in uses.items() if name != "code"}
    items, used_items = (sum(use[index] for use in weighed.values()) for index in (0, 1))
    if packages < LEAST_PACKAGES or not items:
        return {}
    mean = 100 * used_items // items
    return {
        name: min(max(100 + (round(100 * used / brought) - mean) // 2, _BOUNDS[0]), _BOUNDS[1])
        for name, (brought, used) in weighed.items()
        if brought >= _LEAST_ITEMS
    }


def percent(part: int, whole: int) -> int | None:
    """Return a whole percentage; None of nothing."""
    if not whole:
        return None
    return round(100 * part / whole)


def search_statistics(events: Events, since: str = "", most: int = 10) -> dict[str, Any]:
    """Return the figures of searches from `since` on, by mode, and the queries with nothing found.
    Pure.
    """
    searches = [
        event
        for event in events
        if event.get("event") == SEARCH and str(event.get("created_at", "")) >= since
    ]
    modes = {}
    for mode in sorted({str(event["mode"]) for event in searches}):
        own = [event for event in searches if event["mode"] == mode]
        scores = [float(event["mean_score"]) for event in own if event["results"]]
        modes[mode] = {
            "searches": len(own),
            "empty": sum(not event["results"] for event in own),
            "results": round(sum(int(event["results"]) for event in own) / len(own), 1),
            "mean_score": round(sum(scores) / len(scores), 3) if scores else None,
            "median_ms": round(median(int(event["ms"]) for event in own)),
        }
    empty = Counter(
        " ".join(str(event["query"]).lower().split()) for event in searches if not event["results"]
    )
    listed = sorted(empty.items(), key=lambda pair: (-pair[1], pair[0]))[:most]
    return {
        "searches": len(searches),
        "modes": modes,
        "nothing_found": [{"query": q, "times": n} for q, n in listed],
    }
