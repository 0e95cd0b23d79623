"""`kl stats`: what packages were delivered, and what of them commits touched."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from kl_hooks.cli.output import (
    counted,
    format_option,
    print_answer,
    short,
    top_option,
    warn,
    workspace,
)
from kl_hooks.clock import iso
from kl_hooks.context.recall import (
    package_statistics,
    percent,
    recall_statistics,
    search_statistics,
    suggested_weights,
)
from kl_hooks.errors import KlError
from kl_hooks.model.text import name_list, one_line

if TYPE_CHECKING:
    from kl_hooks.context.recall import Comparison

_DAY = 86_400_000_000


@click.group(invoke_without_command=True, epilog="Example: kl stats --days 30 --format json")
@click.option("--days", type=click.IntRange(1, 36_500), help="Only the last so many days.")
@format_option()
@click.pass_context
def stats(context: click.Context, days: int | None, shape: str) -> None:
    """Context packages that were delivered here: how many, how large, from which sources and how
    fast.

    Counted from the package log, which retains at least 90 days (`package_log_days`).
    """
    if context.invoked_subcommand:
        return
    from kl_hooks.context.package_log import events_newest_first

    ws = workspace()
    since = iso(ws.clock.now() - days * _DAY) if days else ""
    found = package_statistics(events_newest_first(ws.state), since)
    print_answer(shape, {"schema": "kl.stats/1", **found}, _lines(found))
    if not found["packages"] and shape == "text":
        warn('no package was delivered here. Try: kl context "fix rounding in totals"')


def _lines(found: Mapping[str, Any]) -> Iterator[str]:
    if not found["packages"]:
        return
    packages = found["packages"]
    empty = f", {found['misses']} without a hit" if found["misses"] else ""
    sessions = (
        f", in {counted(found['sessions'], 'session')} of agents" if found["sessions"] else ""
    )
    yield (
        f"packages  {packages} from {found['first'][:10]} to {found['last'][:10]}{empty}{sessions}"
    )
    used = "" if found["budget_percent"] is None else f", {found['budget_percent']} % of the budget"
    yield f"size      {round(found['characters'] / packages):,} characters on average{used}"
    kinds = sorted(found["kinds"].items(), key=lambda one: (-one[1], one[0]))
    named = f": {name_list([f'{number} {kind}' for kind, number in kinds], 8)}" if kinds else ""
    yield f"items     {found['included']:,} of {found['retrieved']:,} found{named}"
    cached = f", {found['cached']} from the cache" if found["cached"] else ""
    yield (
        f"time      {found['median_ms']:,} ms (median), {found['slowest_ms']:,} ms"
        f" (slowest){cached}"
    )
    if found["sources"]:
        yield (
            f"{'source':<14}  {'asked':>6}  {'results':>8}  {'empty':>6}  {'failed':>6} "
            f" {'ms each':>8}"
        )
    for name, one in found["sources"].items():
        each = round(one["ms"] / one["asked"])
        answers = (
            f"{one['asked']:>6,}  {one['results']:>8,}  {one['empty']:>6,}  {one['failed']:>6,}"
        )
        yield f"{one_line(name, 14):<14}  {answers}  {each:>8,}"


@stats.command("recall", epilog="Example: kl stats recall --top 5")
@top_option(10, text="Most packages listed.")
@format_option()
def recall_(limit: int, shape: str) -> None:
    """What packages contained of the files and symbols that the commits naming them touched.

    Commits name packages by the trailer `Kl-Package`: kl hooks install --only commit-msg. `recall`:
    share of the touched files that a source brought; `utility`: share of its items that are about a
    touched file.
    """
    from kl_hooks.context.recall import comparisons, update_recall
    from kl_hooks.evidence.ingestion import sync_evidence

    ws = workspace()
    sync_evidence(ws)
    try:
        update_recall(ws)
    except (KlError, OSError) as problem:  # what was compared before is shown all the same
        warn(str(problem))
    compared = comparisons(ws)
    found = recall_statistics(compared)
    listed = [_to_dict(one) for one in compared if one.known][:limit]
    weights = suggested_weights(found)
    plain = {
        "schema": "kl.stats.recall/1",
        **found,
        "suggested_weights": weights,
        "compared": listed,
    }
    print_answer(
        shape,
        plain,
        _recall_lines(
            {**found, "weights": weights}, [one for one in compared if one.known][:limit]
        ),
    )
    if not compared and shape == "text":
        warn(
            "no commit names a package. Let commits do so with: kl hooks install --only commit-msg"
        )


@stats.command("search", epilog="Example: kl stats search --days 30")
@click.option("--days", type=click.IntRange(1, 36_500), help="Only the last so many days.")
@top_option(10, text="Most queries listed.")
@format_option()
def search_(days: int | None, limit: int, shape: str) -> None:
    """Searches of documents, records and code: by mode, how many, how good, how fast; and queries
    without results.

    Counted from the package log, which has the query and the IDs of the results of each search.
    """
    from kl_hooks.context.package_log import events_newest_first

    ws = workspace()
    since = iso(ws.clock.now() - days * _DAY) if days else ""
    found = search_statistics(events_newest_first(ws.state), since, limit)
    print_answer(shape, {"schema": "kl.stats.search/1", **found}, _search_lines(found))
    if not found["searches"] and shape == "text":
        warn("no search is recorded here. Try: kl search rounding of totals")


def _search_lines(found: Mapping[str, Any]) -> Iterator[str]:
    if not found["searches"]:
        return
    yield (
        f"{'mode':<8}  {'searches':>8}  {'results':>7}  {'empty':>5}  {'mean score':>10} "
        f" {'median ms':>9}"
    )
    for mode, one in found["modes"].items():
        score = "–" if one["mean_score"] is None else f"{one['mean_score']:.2f}"
        counts = f"{one['searches']:>8,}  {one['results']:>7.1f}  {one['empty']:>5,}"
        yield f"{mode:<8}  {counts}  {score:>10}  {one['median_ms']:>9,}"
    if found["nothing_found"]:
        yield "nothing was found for:"
    for one in found["nothing_found"]:
        yield f"  {one['times']:>3}  {one_line(one['query'], 100)}"


def _to_dict(one: Comparison) -> dict[str, Any]:
    return {
        "package": one.package,
        "commit": one.sha,
        "at": one.at,
        "files": list(one.files),
        "missing": list(one.missing),
        "symbols": one.symbols,
        "symbols_found": one.symbols_found,
    }


def _recall_lines(found: Mapping[str, Any], compared: Sequence[Comparison]) -> Iterator[str]:
    if found["unknown"]:
        packages = counted(found["unknown"], "package")
        yield f"{packages} not compared: made elsewhere, or the commit changed no file that existed"
    if not found["packages"]:
        return
    files, symbols = (_share(found[f"{name}_found"], found[name]) for name in ("files", "symbols"))
    packages = counted(found["packages"], "package")
    yield (
        f"{packages} contained {files} of the files and {symbols} of the symbols that commits"
        " touched"
    )
    yield f"{'source':<14}  {'items':>6}  {'recall':>7}  {'utility':>8}"
    for name, one in found["sources"].items():
        recall = "–" if one["recall"] is None else f"{one['recall']} %"
        yield f"{one_line(name, 14):<14}  {one['items']:>6,}  {recall:>7}  {one['utility']:>6} %"
    if found["weights"]:
        suggested = ", ".join(f"{name} {weight} %" for name, weight in found["weights"].items())
        yield f"suggested weights: {suggested} (context_weights: learned applies them)"
    yield "commit   package          files   symbols"
    for each in compared:
        files, symbols = (
            f"{len(each.files) - len(each.missing)}/{len(each.files)}",
            f"{each.symbols_found}/{each.symbols}",
        )
        missing = (
            f"  missing: {name_list([one_line(path) for path in each.missing], 3)}"
            if each.missing
            else ""
        )
        yield f"{short(each.sha, 7)}  {each.package}  {files:>5}  {symbols:>8}{missing}"


def _share(part: int, whole: int) -> str:
    share = percent(part, whole)
    return f"{part} of {whole}" if share is None else f"{share} % ({part} of {whole})"
