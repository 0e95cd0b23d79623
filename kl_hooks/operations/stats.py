"""Operations of statistics: packages that were delivered, what of them commits touched,
searches.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final

from kl_hooks.clock import DAY, iso
from kl_hooks.context.recall import (
    package_statistics,
    recall_statistics,
    search_statistics,
    suggested_weights,
)
from kl_hooks.errors import KlError
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.parameter import Parameter
from kl_hooks.model.symbol import FilePath
from kl_hooks.operations.operation import TOP, Listing, Operation

if TYPE_CHECKING:
    from kl_hooks.context.access import Access
    from kl_hooks.context.recall import Comparison
    from kl_hooks.workspace import Workspace

_DAYS: Final = Parameter("Only the last so many days.", bounds=(1, 36_500))


class Counts(NamedTuple):
    """Counts, by name."""

    counts: Mapping[str, Any]


def _since(ws: Workspace, days: int | None) -> str:
    if not days:
        return ""
    return iso(ws.clock.now() - days * DAY)


class PackagesRequest(NamedTuple):
    """Of which days."""

    days: Annotated[int | None, _DAYS] = None


def _packages(ws: Workspace, request: PackagesRequest, _access: Access) -> Counts:
    from kl_hooks.context.package_log import events_newest_first

    return Counts(package_statistics(events_newest_first(ws.state), _since(ws, request.days)))


PACKAGES: Final = Operation(
    "stats",
    """Context packages that were delivered here: how many, how large, from which sources and how
    fast.

    Counted from the package log, which retains at least 90 days (`package_log_days`).
    """,
    PackagesRequest,
    _packages,
    lambda statistics: dict(statistics.counts),
    "kl.stats/1",
    "kl stats --days 30 --format json",
    is_tool=False,
)


class RecallRequest(NamedTuple):
    """How many packages."""

    limit: Annotated[int, TOP._replace(help="Most packages listed.")] = 10


class ComparedPackage(NamedTuple):
    """A package and the commit that names it."""

    package: str
    commit: str
    at: str
    files: tuple[FilePath, ...]
    """That the commit touched."""
    missing: tuple[FilePath, ...]
    """Of them, that the package lacked."""
    symbols: int
    symbols_found: int


class Recall(NamedTuple):
    """What packages contained of what commits touched."""

    counts: Mapping[str, Any]
    weights: Mapping[str, int]
    """Source → percent that is suggested."""
    compared: Listing
    is_named: bool
    """Whether a commit names a package."""
    notes: tuple[str, ...]


def _recall(ws: Workspace, request: RecallRequest, _access: Access) -> Recall:
    from kl_hooks.context.recall import comparisons, update_recall
    from kl_hooks.evidence.ingestion import sync_evidence

    sync_evidence(ws)
    notes: tuple[str, ...] = ()
    try:
        update_recall(ws)
    except (KlError, OSError) as problem:  # what was compared before is shown all the same
        notes = (str(problem),)
    compared = comparisons(ws)
    counts = recall_statistics(compared)
    packages = tuple(_compared(comparison) for comparison in compared if comparison.known)
    listing = Listing(packages, request.limit)
    uses = {name: (use["items"], use["touched"]) for name, use in counts["sources"].items()}
    weights = suggested_weights(counts["packages"], uses)
    return Recall(counts, weights, listing, bool(compared), notes)


def _compared(comparison: Comparison) -> ComparedPackage:
    return ComparedPackage(
        comparison.package,
        comparison.sha,
        comparison.at,
        tuple(map(FilePath, comparison.files)),
        tuple(map(FilePath, comparison.missing)),
        comparison.symbols,
        comparison.symbols_found,
    )


def _recall_to_dict(file_recall: Recall) -> dict[str, Any]:
    rows = [
        {**package._asdict(), "files": list(package.files), "missing": list(package.missing)}
        for package in file_recall.compared.shown
    ]
    return {**file_recall.counts, "suggested_weights": file_recall.weights, "compared": rows}


RECALL: Final = Operation(
    "stats recall",
    """What packages contained of the files and symbols that the commits naming them touched.

    Commits name packages by the trailer `Kl-Package`: kl hooks install --only commit-msg. `recall`:
    share of the touched files that a source brought; `utility`: share of its items that are about a
    touched file.
    """,
    RecallRequest,
    _recall,
    _recall_to_dict,
    "kl.stats.recall/1",
    "kl stats recall --top 5",
    is_tool=False,
)


class EffectRequest(NamedTuple):
    """Of which days."""

    days: Annotated[int | None, _DAYS] = None


def _effect(ws: Workspace, request: EffectRequest, _access: Access) -> Counts:
    from kl_hooks.context.effect import effect_statistics
    from kl_hooks.context.gather import all_retrievers
    from kl_hooks.context.package_log import events_newest_first

    counts = effect_statistics(events_newest_first(ws.state), _since(ws, request.days))
    names = {retriever.name for retriever in all_retrievers(ws.plugins)[0]}
    weights = {name: n for name, n in counts["proposed_weights"].items() if name in names}
    return Counts({**counts, "proposed_weights": weights})


EFFECT: Final = Operation(
    "stats effect",
    """What sessions of agents did with what they were given: per section of packages and per query.

    `precision`: share of the items whose file the agent then read, edited or named in a command;
    `recall`: share of the files it edited that the section named. Measured when a session ends,
    from its transcript. From ten sessions on, weights of sources are proposed: they count once a
    person commits them as `source_weights` in .kl/config.yaml.
    """,
    EffectRequest,
    _effect,
    lambda statistics: dict(statistics.counts),
    "kl.stats.effect/2",
    "kl stats effect --days 30",
    is_tool=False,
)


class SearchesRequest(NamedTuple):
    """Of which days, and how many."""

    days: Annotated[int | None, _DAYS] = None
    limit: Annotated[int, TOP._replace(help="Most queries listed.")] = 10


def _searches(ws: Workspace, request: SearchesRequest, _access: Access) -> Counts:
    from kl_hooks.context.package_log import events_newest_first

    events = events_newest_first(ws.state)
    return Counts(search_statistics(events, _since(ws, request.days), request.limit))


SEARCHES: Final = Operation(
    "stats search",
    """Searches of documents, records and code: by mode, how many, how good, how fast; and queries
    without results.

    Counted from the package log, which has the query and the IDs of the results of each search.
    """,
    SearchesRequest,
    _searches,
    lambda statistics: dict(statistics.counts),
    "kl.stats.search/1",
    "kl stats search --days 30",
    is_tool=False,
)

OPERATIONS: Final = (PACKAGES, RECALL, EFFECT, SEARCHES)
