"""`kl stats`: what packages were delivered, and what of them commits touched."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import click

from kl_hooks.cli.output import counted, echo_lines, format_option, short, warn
from kl_hooks.cli.request_options import answer, operation_command, request_of, request_options
from kl_hooks.context.recall import percent
from kl_hooks.model.text import name_list, one_line
from kl_hooks.operations import stats as operations


@click.group(
    invoke_without_command=True,
    help=operations.PACKAGES.help,
    epilog=f"Example: {operations.PACKAGES.example}",
)
@request_options(operations.PackagesRequest)
@format_option()
@click.pass_context
def stats(context: click.Context, /, shape: str, **values: Any) -> None:
    """Count the packages that were delivered here."""
    if context.invoked_subcommand is None:
        request = request_of(operations.PackagesRequest, values)
        answer(operations.PACKAGES, request, shape, _print_packages)


def _print_packages(counts: operations.Counts, _request: operations.PackagesRequest) -> None:
    echo_lines(_lines(counts.counts))
    if not counts.counts["packages"]:
        warn('no package was delivered here. Try: kl context "fix rounding in totals"')


def _lines(counts: Mapping[str, Any]) -> Iterator[str]:
    if not counts["packages"]:
        return
    packages = counts["packages"]
    if counts["misses"]:
        empty = f", {counts['misses']} without a hit"
    else:
        empty = ""
    if counts["sessions"]:
        sessions = f", in {counted(counts['sessions'], 'session')} of agents"
    else:
        sessions = ""
    yield (
        f"packages  {packages} from {counts['first'][:10]} to {counts['last'][:10]}"
        f"{empty}{sessions}"
    )
    if counts["budget_percent"] is None:
        used = ""
    else:
        used = f", {counts['budget_percent']} % of the budget"
    yield f"size      {round(counts['characters'] / packages):,} characters on average{used}"
    kinds = sorted(counts["kinds"].items(), key=lambda pair: (-pair[1], pair[0]))
    if kinds:
        named = f": {name_list([f'{number} {kind}' for kind, number in kinds], 8)}"
    else:
        named = ""
    yield f"items     {counts['included']:,} of {counts['retrieved']:,} found{named}"
    if counts["cached"]:
        cached = f", {counts['cached']} from the cache"
    else:
        cached = ""
    yield (
        f"time      {counts['median_ms']:,} ms (median), {counts['slowest_ms']:,} ms"
        f" (slowest){cached}"
    )
    if counts["sources"]:
        yield (
            f"{'source':<14}  {'asked':>6}  {'results':>8}  {'empty':>6}  {'failed':>6} "
            f" {'ms each':>8}"
        )
    for name, source in counts["sources"].items():
        milliseconds = round(source["ms"] / source["asked"])
        answers = (
            f"{source['asked']:>6,}  {source['results']:>8,}  {source['empty']:>6,} "
            f" {source['failed']:>6,}"
        )
        yield f"{one_line(name, 14):<14}  {answers}  {milliseconds:>8,}"


@operation_command(operations.RECALL, group=stats)
def recall_(file_recall: operations.Recall, _request: operations.RecallRequest) -> None:
    """Print what packages contained of what commits touched."""
    echo_lines(_recall_lines(file_recall))
    if not file_recall.is_named:
        warn(
            "no commit names a package. Let commits do so with: kl hooks install --only commit-msg"
        )


@operation_command(operations.EFFECT, group=stats)
def effect_(counts: operations.Counts, _request: operations.EffectRequest) -> None:
    """Print what sessions did with what they were given."""
    echo_lines(_effect_lines(counts.counts))
    if not counts.counts["sessions"] and not counts.counts["queries"]:
        warn(
            "no session is measured: kl agents install measures each when it ends, from its"
            " transcript"
        )


def _effect_lines(counts: Mapping[str, Any]) -> Iterator[str]:
    if counts["sections"]:
        sessions = counted(counts["sessions"], "session")
        edited = _share(counts["edited_named"], counts["edited"])
        yield (
            f"{sessions} with {counted(counts['packages'], 'package')}, which named {edited} of the"
            " files that were edited"
        )
        yield f"{'section':<14}  {'items':>6}  {'used':>6}  {'precision':>9}  {'recall':>7}"
    for name, section in counts["sections"].items():
        shares = f"{_percent(section['precision']):>9}  {_percent(section['recall']):>7}"
        yield f"{one_line(name, 14):<14}  {section['items']:>6,}  {section['used']:>6,}  {shares}"
    if counts["tools"]:
        yield f"{'query':<24}  {'asked':>6}  {'empty':>6}  {'files':>6}  {'precision':>9}"
    for name, tool in counts["tools"].items():
        numbers = f"{tool['queries']:>6,}  {tool['empty']:>6,}  {tool['files']:>6,}"
        yield f"{one_line(name, 24):<24}  {numbers}  {_percent(tool['precision']):>9}"
    if counts["needed"] and counts["sessions"]:
        yield f"weights are proposed after {counts['needed']} more sessions with a package"
    elif counts["proposed_weights"]:
        yield "proposed, for a person to commit in .kl/config.yaml:"
        yield "source_weights:"
        weights = counts["proposed_weights"].items()
        yield from (f"  {name}: {weight}" for name, weight in weights)
    elif counts["sessions"]:
        yield "no weight is proposed: no source brought enough items"


def _percent(share: int | None) -> str:
    if share is None:
        return "–"
    return f"{share} %"


@operation_command(operations.SEARCHES, group=stats)
def search_(counts: operations.Counts, _request: operations.SearchesRequest) -> None:
    """Print how good searches were."""
    echo_lines(_search_lines(counts.counts))
    if not counts.counts["searches"]:
        warn("no search is recorded here. Try: kl search rounding of totals")


def _search_lines(statistics: Mapping[str, Any]) -> Iterator[str]:
    if not statistics["searches"]:
        return
    yield (
        f"{'mode':<8}  {'searches':>8}  {'results':>7}  {'empty':>5}  {'mean score':>10} "
        f" {'median ms':>9}"
    )
    for mode, row in statistics["modes"].items():
        if row["mean_score"] is None:
            score = "–"
        else:
            score = f"{row['mean_score']:.2f}"
        counts = f"{row['searches']:>8,}  {row['results']:>7.1f}  {row['empty']:>5,}"
        yield f"{mode:<8}  {counts}  {score:>10}  {row['median_ms']:>9,}"
    if statistics["nothing_found"]:
        yield "nothing was found for:"
    for row in statistics["nothing_found"]:
        yield f"  {row['times']:>3}  {one_line(row['query'], 100)}"


def _recall_lines(report: operations.Recall) -> Iterator[str]:
    counts = report.counts
    if counts["unknown"]:
        packages = counted(counts["unknown"], "package")
        yield f"{packages} not compared: made elsewhere, or the commit changed no file that existed"
    if not counts["packages"]:
        return
    files, symbols = (
        _share(counts[f"{name}_found"], counts[name]) for name in ("files", "symbols")
    )
    packages = counted(counts["packages"], "package")
    yield (
        f"{packages} contained {files} of the files and {symbols} of the symbols that commits"
        " touched"
    )
    yield f"{'source':<14}  {'items':>6}  {'recall':>7}  {'utility':>8}"
    for name, source in counts["sources"].items():
        if source["recall"] is None:
            recall = "–"
        else:
            recall = f"{source['recall']} %"
        yield (
            f"{one_line(name, 14):<14}  {source['items']:>6,}  {recall:>7}  "
            f"{source['utility']:>6} %"
        )
    if report.weights:
        suggested = ", ".join(f"{name} {weight} %" for name, weight in report.weights.items())
        yield f"suggested weights: {suggested} (source_weights in .kl/config.yaml applies them)"
    yield "commit   package          files   symbols"
    for package in report.compared.shown:
        touched = package.files
        absent = [one_line(path) for path in package.missing]
        files = f"{len(touched) - len(absent)}/{len(touched)}"
        symbols = f"{package.symbols_found}/{package.symbols}"
        if absent:
            missing = f"  missing: {name_list(absent, 3)}"
        else:
            missing = ""
        yield f"{short(package.commit, 7)}  {package.package}  {files:>5}  {symbols:>8}{missing}"


def _share(part: int, whole: int) -> str:
    share = percent(part, whole)
    if share is None:
        return f"{part} of {whole}"
    return f"{share} % ({part} of {whole})"
