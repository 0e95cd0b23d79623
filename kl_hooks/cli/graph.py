"""`kl graph`: the code graph, built and queried."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from kl_hooks.cli.groups import LazyGroup
from kl_hooks.cli.output import (
    F,
    counted,
    echo,
    echo_line,
    echo_lines,
    warn,
)
from kl_hooks.cli.request_options import operation_command
from kl_hooks.model.definitions import NamedTuple, lazy_pattern
from kl_hooks.model.symbol import SCRIPT_TEST, is_test_path, last_name, split_id
from kl_hooks.model.text import one_line
from kl_hooks.operations import graph as operations

if TYPE_CHECKING:
    from kl_hooks.code.precise.compare import Comparison
    from kl_hooks.code.query.lookup import Answer
    from kl_hooks.code.query.sites import Site
    from kl_hooks.model.symbol import Link, Symbol
    from kl_hooks.proof.symbol_tests import ExecutedBy


_COMMANDS = {
    "build": "Update the graph to the working tree, and count what is in it.",
    "search": "Find symbols by name, then by words.",
    "show": "Show one symbol, record or page with its relations.",
    "symbols": "List what a file defines, as a tree.",
    "refs": "List what uses a symbol.",
    "callers": "List what calls a symbol.",
    "uses": "List what reads and writes a symbol.",
    "dependents": "List what depends on a symbol, through others too.",
    "path": "Show how one symbol depends on another.",
    "neighbors": "List what is linked with a symbol: code, records, documents.",
    "stats": "Count nodes and links, and the parts that nothing links.",
    "merge": "Merge a record into another.",
}
"""Command → its line in the help."""


@click.group(
    cls=LazyGroup,
    module="kl_hooks.cli.{}",
    lines=_COMMANDS,
    places=dict.fromkeys(_COMMANDS, "graph") | {"merge": "graph_merge"},
)
def graph() -> None:
    """The code graph: what is defined where, and what depends on what.

    Always as the files are now.
    """


_PATHS: Final = 5
_WIDTH: Final = 100
"""Columns of a line in a list: longer ones wrap in most terminals and in a review."""
_TEST_FILE: Final = lazy_pattern(r"(^|/)(tests?/|test_[^/]*\.py$|[^/]*_test\.py$|conftest\.py$)")


def _is_test_file(path: str) -> bool:
    return bool(_TEST_FILE.search(path) or SCRIPT_TEST.fullmatch(path))


def _tests_option() -> Callable[[F], F]:
    return click.option(
        "--tests", is_flag=True, help="List those in test files too; else they are counted."
    )


def _method(link: Link) -> str:
    """`import`, or `instance, 80%`."""
    if link.confidence == 100:
        return link.method
    return f"{link.method}, {link.confidence}%"


def _print_symbol(symbol: Symbol, mark: str = "") -> None:
    echo_line(f"{symbol.id}  {symbol.path}:{symbol.line}{_mark(mark)}")


class _Line(NamedTuple):
    """One line of a list, before it is grouped by file."""

    path: str
    line: int
    text: str
    end: str = ""
    """What stays at the end where the text must be shortened."""


def _print_by_file(lines: Sequence[_Line], limit: int, *, tests: bool) -> int:
    """Print a list by file, source before tests, these as a count without `tests`; return how many
    were not printed.

    Files are in the order of their first line, so that the nearest or best comes first.
    """
    source = [line for line in lines if not _is_test_file(line.path)]
    of_tests = [line for line in lines if _is_test_file(line.path)]
    listed = [*source, *of_tests] if tests else source
    by_file: dict[str, list[_Line]] = {}
    for line in listed[:limit]:
        by_file.setdefault(line.path, []).append(line)
    for path, file_lines in by_file.items():
        echo_line(path if len(path) <= _WIDTH else f"…{path[1 - _WIDTH :]}")
        for line in file_lines:
            width = _WIDTH - 8 - len(line.end)
            if len(line.text) <= width:
                text = line.text
            else:
                text = f"{line.text[: width - 1]}…"
            echo_line(f"{line.line:>6}  {text}{line.end}")
    if of_tests and not tests:
        files = counted(len({line.path for line in of_tests}), "file")
        echo(f"tests: {len(of_tests)} in {files} (--tests lists them)")
    return len(listed) - min(len(listed), limit)


def _link_line(link: Link, before: str = "", *, of_name: bool = False) -> _Line:
    """`of_name`: with the name that is used there."""
    if of_name:
        name = f" {link.target.removeprefix('name:')}"
    else:
        name = ""
    text = f"{before}{link.relation:<10}{name}  in {link.source}"
    return _Line(link.path, link.line, text, f"  ({_method(link)})")


def _print_certainty(
    answer: Answer,
    none: str,
    again: str,
    *,
    calls: bool = False,
    of: str = " of that name",
    title: str = "",
) -> None:
    """Print `none` where that is certain, else what is unknown; for an answer of which no possible
    use is shown. `again`: the command without --unresolved.
    """
    left = [*_unresolved(answer, again, calls, of), *_not_assessed(answer), *answer.doubts]
    if answer.possible:  # none of them is shown: the policy hides them
        left.append("possible uses are withheld")
    if answer.found:
        if left:
            warn(f"there may be more: {'; '.join(left)}.")
    elif left:
        echo_line(f"{title}none found; {'; '.join(left)}")
    else:
        echo_line(f"{title}{none}")


def _unresolved(answer: Answer, again: str, calls: bool, of: str) -> list[str]:
    number = len(answer.unresolved)
    called = sum(link.relation == "calls" for link in answer.unresolved)
    if not number:
        return []
    what = "call" if calls and called else "use"
    shown = called if what == "call" else number
    if number > shown:
        other_uses = f" and {number - shown} other uses"
    else:
        other_uses = ""
    plural = "" if shown == 1 else "s"
    if again:
        listing = f" ({again} --unresolved lists them)"
    else:
        listing = ""
    return [f"{shown} unresolved {what}{plural}{other_uses}{of}{listing}"]


def _not_assessed(answer: Answer) -> list[str]:
    paths = answer.not_assessed
    if not paths:
        return []
    shown = ", ".join(paths[:_PATHS]) + (" …" if len(paths) > _PATHS else "")
    return [f"{len(paths)} {'file' if len(paths) == 1 else 'files'} not assessed: {shown}"]


def _with_watch(request: operations.BuildRequest) -> operations.BuildRequest:
    if request.precise and sys.stderr.isatty():
        warn("reading every file with libcst and grimp too; that takes a while.")
    return request._replace(watch=_with_progress)


@operation_command(operations.BUILD, _with_watch)
def build(built: operations.Built, request: operations.BuildRequest) -> None:
    """Print how much is in the graph."""
    scan = built.scan
    counts = built.counts
    for problem in scan.problems:
        warn(str(problem))
    symbol_count = sum(counts.nodes.values())
    link_count = sum(counts.links.values())
    files_line = f"{counted(scan.files, 'file')} ({scan.parsed} newly read, {scan.removed} removed)"
    echo(f"{files_line}, {counted(symbol_count, 'symbol')}, {counted(link_count, 'link')}")
    echo(
        "  symbols "
        f" {', '.join(counted(number, kind) for kind, number in counts.nodes.items()) or 'none'}"
    )
    echo(
        f"  links    {_number_of_each(counts.links)}; {counts.unresolved:,} unresolved (matched by"
        " name only)"
    )
    if counts.knowledge:
        echo(
            "  records "
            f" {', '.join(counted(number, kind) for kind, number in counts.knowledge.items())}"
        )
    # with nothing unread, "0 files" is reported too
    if scan.problems or not built.unread:
        echo(f"  {counted(len(scan.problems), 'file')} not assessed")
    if built.unread:
        from kl_hooks.code.languages import unread_text

        echo(f"  {unread_text(built.unread)}")
    if built.comparison is not None:
        for problem in built.comparison.not_assessed:
            warn(f"{problem} Not assessed by the precise scanner.")
        echo_lines(_comparison_lines(built.comparison))


def _with_progress(read: Iterator[Any], number: int) -> Iterator[Any]:
    """Progress on stderr while files are read, where that is a terminal; nothing stays of it."""
    if not sys.stderr.isatty():
        yield from read
        return
    with click.progressbar(read, length=number, label="Reading files", file=sys.stderr) as watched:
        yield from watched


def _number_of_each(counts: dict[str, int]) -> str:
    return ", ".join(f"{number} {name}" for name, number in counts.items()) or "none"


def _comparison_lines(comparison: Comparison) -> list[str]:
    sums = (
        (comparison.files, "file"),
        (comparison.definitions, "definition"),
        (comparison.imports, "import"),
        (comparison.edges, "edge"),
    )
    if comparison.differences:
        result = f"{counted(len(comparison.differences), 'difference')}:"
    else:
        result = "equal"
    if comparison.not_assessed:
        result = f"{len(comparison.not_assessed)} not assessed; {result}"
    head = f"precise: {', '.join(counted(number, noun) for number, noun in sums)}; {result}"
    unseen = [
        f"  not compared with grimp: {counted(number, 'time')} {what}"
        for what, number in sorted(comparison.unseen.items())
    ]
    return [head, *(f"  {difference}" for difference in comparison.differences), *unseen]


@operation_command(operations.SEARCH)
@_tests_option()
def search(matches: operations.Matches, request: operations.SearchRequest, tests: bool) -> None:
    """Print what was found, by file."""
    lines = [
        _Line(
            hit.path,
            hit.line,
            f"{hit.id}{_mark(hit.mark[: len('quarantined')])}  {hit.signature}".rstrip(),
        )
        for hit in matches.hits
    ]
    # where tests are all there is, their number alone would answer nothing
    only_tests = all(_is_test_file(line.path) for line in lines)
    _print_by_file(lines, request.limit, tests=tests or only_tests)
    if matches.is_cut:
        warn(f"these are the first {request.limit}; more with --top.")
    if not lines:
        from kl_hooks.code.languages import unread_text

        unread = unread_text(matches.unread)
        warn(f"no matches for: {one_line(request.query)}{f' ({unread})' if unread else ''}")


def _mark(text: str) -> str:
    if not text:
        return ""
    return f"  [{text}]"


_SHOWN_LINKS = 8
_NOUNS = {
    "calls": "call",
    "references": "reference",
    "imports": "import",
    "inherits": "base class",
    "implements": "interface",
}


@operation_command(operations.SHOW)
def show(shown: operations.ShownNode, request: operations.NodeRequest) -> None:
    """Print a node on one page."""
    page = shown.page
    symbol = page.symbol
    echo_line(f"{symbol.id}  {symbol.path}:{symbol.line}-{symbol.end_line}{_mark(shown.mark)}")
    for line in (*symbol.decorators, symbol.signature, symbol.doc):
        if line:
            echo_line(f"    {line}")
    if symbol.content_hash:
        echo_line(f"content hash   {symbol.content_hash}")
    if page.defined_by:
        echo_line(f"defined by     {page.defined_by}")
    if shown.layer:
        echo_line(f"governed by    layer:{shown.layer}")
    _print_relations(shown)
    name = request.name
    _print_certainty(page.answer, "nothing", f"kl graph refs {name}", title=f"{'used by':<14} ")


def _print_relations(shown: operations.ShownNode) -> None:
    page = shown.page
    _print_ids("defines", page.defines)
    _print_ids("inherits", page.bases)
    _print_ids("inherited by", page.subclasses)
    _print_ids("overrides", page.overrides)
    _print_ids("overridden by", page.overridden_by)
    _print_link_group("uses", page.uses, "target")
    if page.unresolved:
        echo_line(f"unresolved     {len(page.unresolved)}: {', '.join(_names(page.unresolved))}")
    _print_link_group("used by", page.used_by, "source")
    _print_ids("tests", page.tests)
    _print_ids("executed by", [_execution_line(test.result) for test in shown.executed_by])
    if shown.measured is not None:
        echo_line(f"{'coverage':<14} {shown.measured.words()}")
    _print_ids(
        "runtime-only",
        [
            f"{split_id(observed.link.source)[1]} imports {split_id(observed.link.target)[1]} "
            f" (run {observed.run[:8]})"
            for observed in shown.runtime_imports
        ],
    )
    _print_link_group("written of it", page.written, "source")
    _print_ids("mentioned in", [_passage_line(link) for link in shown.mentions])
    _print_link_group("mentions", page.links, "target")


def _passage_line(link: Link) -> str:
    if link.source.startswith("file:"):
        return f"{link.path}:{link.line}"
    return link.source


def _execution_line(execution: ExecutedBy) -> str:
    from kl_hooks.evidence.executed import COVERAGE

    if not execution.commits:
        age = ""
    else:
        age = f", {execution.commits} commit{'s' if execution.commits > 1 else ''} ago"
    if execution.runs > 1:
        times = f", in {execution.runs} runs"
    else:
        times = ""
    if execution.flaky:
        flaky = f", {execution.flaky}"
    else:
        flaky = ""
    if execution.recorder == COVERAGE:
        imported = " (by imported coverage data)"
    else:
        imported = ""
    if execution.changed:
        changed = ", before it was changed"
    else:
        changed = ""
    return f"{execution.test}  {execution.outcome}{age}{times}{flaky}{changed}{imported}"


def _print_ids(title: str, ids: Sequence[str]) -> None:
    if ids:
        echo_line(f"{title:<14} {len(ids)}")
        for identifier in ids[:_SHOWN_LINKS]:
            echo_line(f"    {identifier}")
        _print_more(len(ids))


def _print_link_group(title: str, links: Sequence[Link], end: str) -> None:

    if not links:
        return
    nouns = _NOUNS | (
        {"inherits": "subclass", "implements": "implementation"} if end == "source" else {}
    )
    numbers = relation_counts(links).items()
    numbers_ = (
        counted(number, nouns[name]) if name in nouns else f"{number} {name}"
        for name, number in numbers
    )
    echo_line(f"{title:<14} {', '.join(numbers_)}")
    inside = "in " if end == "source" else ""
    for link in links[:_SHOWN_LINKS]:
        echo_line(
            f"    {link.relation} {inside}{getattr(link, end)}  {link.path}:{link.line}"
            f" ({_method(link)})"
        )
    _print_more(len(links))


def relation_counts(links: Sequence[Link]) -> dict[str, int]:
    """Relation → how many of these links, by name."""
    return dict(sorted(Counter(link.relation for link in links).items()))


def _names(links: Sequence[Link]) -> list[str]:
    names = list(dict.fromkeys(link.target.removeprefix("name:") for link in links))
    if len(names) > _SHOWN_LINKS:
        return [*names[:_SHOWN_LINKS], "…"]
    return names


def _print_more(number: int) -> None:
    if number > _SHOWN_LINKS:
        echo_line(f"    … {number - _SHOWN_LINKS} more")


@operation_command(operations.SYMBOLS)
def symbols(file: operations.FileSymbols, request: operations.FileRequest) -> None:
    """Print what a file defines, as a tree."""
    echo_line(f"{file.path}{_mark(file.mark)}")
    if file.problem:
        echo_line(f"not assessed: {file.problem}")
    for depth, symbol in file.definitions:
        for decorator in symbol.decorators:
            echo_line(f"{'':>6}  {'  ' * depth}{decorator}")
        echo_line(f"{symbol.line:>6}  {'  ' * depth}{symbol.signature}")


@operation_command(operations.REFS)
@_tests_option()
def refs(uses: operations.Uses, request: operations.UsesRequest, tests: bool) -> None:
    """Print what uses a symbol, by file."""
    _print_uses(uses, request, tests=tests)
    _print_certainty_of_uses(uses, "No references.", f"kl graph refs {request.name}")


def _print_uses(uses: operations.Uses, request: operations.UsesRequest, *, tests: bool) -> None:
    _print_symbol(uses.symbol, uses.mark)
    lines = [_link_line(link) for link in uses.links.items]
    _warn_of_more(_print_by_file(lines, request.limit, tests=tests), request.limit)


def _print_possible(uses: operations.Uses, *, calls: bool) -> None:
    """Print the uses that call nothing, and those that the graph could not resolve."""
    if uses.uncalled:
        echo(f"not called; used in {counted(len(uses.uncalled), 'place')}:")
        _print_all_by_file([_link_line(link) for link in uses.shown_uncalled])
    name = last_name(uses.symbol.id)
    if uses.shown_possible:
        what = "call" if calls else "use"
        echo(f"possible {what}s by name, the receiver's likely type in brackets:")
        _print_all_by_file([_site_line(site, name) for site in uses.shown_possible])


def _print_omitted(uses: operations.Uses, command: str) -> None:
    """Print how many places are counted and not listed, and the command that lists them; the places
    that mean something else where all were asked for.
    """
    if uses.is_complete:
        if uses.elsewhere:
            echo("the same name, but another meaning:")
            name = last_name(uses.symbol.id)
            _print_all_by_file([_site_line(site, name) for site in uses.elsewhere])
        return
    numbers = [
        *_cut(uses.uncalled, uses.shown_uncalled, "use"),
        *_cut(uses.possible, uses.shown_possible, "possible one"),
    ]
    if uses.elsewhere:
        numbers.append(f"{len(uses.elsewhere)} of that name with another meaning")
    if numbers:
        echo(f"not listed: {', '.join(numbers)} ({command} --all lists them)")


def _cut(places: Sequence[Any], shown: Sequence[Any], noun: str) -> list[str]:
    omitted = len(places) - len(shown)
    if not omitted:
        return []
    of_tests = sum(map(_is_test, places)) - sum(map(_is_test, shown))
    if of_tests:
        inside = f", {of_tests} of them in tests"
    else:
        inside = ""
    return [f"{omitted} more {noun}{'s' if omitted > 1 else ''}{inside}"]


def _is_test(place: Any) -> bool:
    return is_test_path(place.path)


def _print_all_by_file(lines: Sequence[_Line]) -> None:
    _print_by_file(lines, len(lines), tests=True)


_TYPES: Final = 2


def _site_line(site: Site, name: str, *, is_kind_shown: bool = True) -> _Line:
    """`name`: stays in the text where that must be shortened."""
    from kl_hooks.code.query.occurrences import UseKind

    scope = f"  in {site.scope}" if site.scope else ""
    ending = ", …" if len(site.types) > _TYPES else ""
    if site.types:
        types = f"  [{', '.join(site.types[:_TYPES])}{ending}]"
    else:
        types = ""
    width = max(_NARROWEST, _WIDTH - 8 - len(scope) - len(types))
    is_plain = site.kind in (UseKind.CALL, UseKind.READ) or not is_kind_shown
    kind = "" if is_plain else f"{site.kind}: "
    text = _around(site.text, site.receiver, name, width - len(kind)) or "(redacted by policy)"
    return _Line(site.path, site.line, f"{kind}{text}{scope}{types}")


_NARROWEST: Final = 24
"""Columns of a line's text, however long its scope and types are."""


def _around(text: str, receiver: str, name: str, width: int) -> str:
    """A line of source, shortened so that it begins with the use of a name where it is too long."""
    if len(text) <= width:
        return text
    start = text.find(f"{receiver}.{name}" if receiver else name)
    text = text if start <= 0 else f"…{text[start:]}"
    if len(text) <= width:
        return text
    return f"{text[: width - 1]}…"


def _print_certainty_of_uses(
    uses: operations.Uses, none: str, again: str, *, calls: bool = False
) -> None:
    if uses.is_unresolved:
        if not uses.links.items:
            warn("no unresolved use of that name.")
        return
    _print_possible(uses, calls=calls)
    answer = uses.answer
    if not uses.possible and not uses.uncalled:
        _print_certainty(answer, none, again, calls=calls)
    elif reasons := [*_not_assessed(answer), *answer.doubts]:
        warn(f"there may be more: {'; '.join(reasons)}.")
    _print_omitted(uses, again)


def _warn_of_more(omitted: int, limit: int) -> None:
    if omitted:
        warn(f"{limit} of {limit + omitted}; more with --top {limit + omitted}.")


@operation_command(operations.CALLERS)
@_tests_option()
def callers(uses: operations.Uses, request: operations.UsesRequest, tests: bool) -> None:
    """Print what calls a symbol, by file."""
    _print_uses(uses, request, tests=tests)
    _print_certainty_of_uses(uses, "No callers.", f"kl graph callers {request.name}", calls=True)


_STATE_TITLES: Final = {
    "writes": "written",
    "changes": "changed in place",
    "reads": "read",
    "possible": "possible uses by name, the receiver's likely type in brackets",
}


@operation_command(operations.USES)
def uses(state: operations.State, request: operations.StateRequest) -> None:
    """Print what reads and writes something, by file."""
    symbol = state.symbol
    last = state.name.rpartition(".")[2]
    echo_line(f"{state.name}  {symbol.id}  {symbol.path}:{symbol.line}{_mark(state.mark)}")
    numbers = []
    for name, title in _STATE_TITLES.items():
        places: operations.Places = getattr(state, name)
        if places.sites:
            echo(f"{title}: {len(places.sites)}")
            lines = [
                _site_line(site, last, is_kind_shown=name == "possible") for site in places.shown
            ]
            _print_all_by_file(lines)
        numbers += _cut(places.sites, places.shown, _STATE_NOUNS[name])
    if not state.possible.sites:
        _print_certainty(state.answer, "Nothing reads or writes it.", "")
    elif state.answer.not_assessed:
        warn(f"there may be more: {'; '.join(_not_assessed(state.answer))}.")
    if state.elsewhere.sites and request.is_complete:
        echo("the same name, but another meaning:")
        _print_all_by_file([_site_line(site, last) for site in state.elsewhere.sites])
    elif state.elsewhere.sites:
        numbers.append(f"{len(state.elsewhere.sites)} of that name with another meaning")
    if numbers:
        command = f"kl graph uses {request.name} --all"
        echo(f"not listed: {', '.join(numbers)} ({command} lists them)")


_STATE_NOUNS: Final = {
    "writes": "write",
    "changes": "change",
    "reads": "read",
    "possible": "possible one",
}


@operation_command(operations.DEPENDENTS)
@_tests_option()
def dependents(
    listed: operations.DependentList, request: operations.DependentsRequest, tests: bool
) -> None:
    """Print what depends on a symbol, by file."""
    _print_symbol(listed.symbol, listed.mark)
    if listed.unresolved is not None:
        lines = [_link_line(link, of_name=True) for link in listed.unresolved.shown]
    else:
        nearest = sorted(
            listed.dependents.items,
            key=lambda dependent: (dependent.level, dependent.link.path, dependent.link.line),
        )
        lines = [_link_line(dependent.link, f"level {dependent.level}  ") for dependent in nearest]
    _warn_of_more(_print_by_file(lines, request.limit, tests=tests), request.limit)
    if listed.unresolved is None:
        _print_certainty(
            listed.answer,
            "Nothing depends on it.",
            f"kl graph dependents {request.name}",
            of=" of its name or a part's",
        )


_FIRST_UNRESOLVED = 5


@operation_command(operations.PATH)
def path(shown: operations.ShownPath, request: operations.PathRequest) -> None:
    """Print a chain of links."""
    chain = shown.path
    if not chain.answer.found:
        _print_certainty(
            chain.answer, "No path.", "", of=" on the way, of names that could lead there"
        )
        for link in chain.answer.unresolved[:_FIRST_UNRESOLVED]:
            echo_line(
                f"  {link.path}:{link.line}  {link.source} {link.relation}"
                f" {link.target.removeprefix('name:')}"
            )
        return
    if chain.reversed:
        warn("nothing leads from FROM to TO; this is the chain from TO to FROM.")
    echo_line(
        f"{chain.start.id}  {chain.start.path}:{chain.start.line}{_mark(shown.start_mark)}"
        f"  ({counted(chain.length, 'link')} to {chain.end.id})"
    )
    for step in chain.steps:
        if step.line and step.method:
            place = f"  {step.path}:{step.line} ({_method(step)})"
        else:
            place = ""
        echo_line(f"  {step.relation} {step.target}{place}")
    for end, mark in ((chain.start, shown.start_mark), (chain.end, shown.end_mark)):
        if mark:
            warn(f"{end.id}: {mark}")


@operation_command(operations.NEIGHBORS)
def neighbors(listed: operations.NeighborList, request: operations.NeighborsRequest) -> None:
    """Print what is linked with a node, the nearest first."""
    start = listed.start
    total = listed.neighbors.total
    echo_line(f"{start}  ({counted(total, 'neighbor')})")
    for level, node, link in listed.neighbors.shown:
        if link.target == node:
            other = link.source
        else:
            other = link.target
        near = "it" if other == start else other
        if link.target == node:
            arrow = f"{near} {link.relation} {node}"
        else:
            arrow = f"{node} {link.relation} {near}"
        echo_line(f"  {level}  {arrow}" + (f"  {link.path}:{link.line}" if link.line else ""))
    _warn_of_more(max(0, total - request.limit), request.limit)
    if listed.is_cut:
        warn(
            "there are more: of a node the strongest 30 links are followed, and 1,000 nodes are"
            " listed at most."
        )


@operation_command(operations.STATS)
def stats(counts: operations.GraphStats, request: operations.StatsRequest) -> None:
    """Print how much there is, and how it hangs together."""
    numbers = [counted(number, kind) for kind, number in counts.nodes.items() if number]
    echo(f"nodes          {', '.join(numbers) or 'none'}")
    echo(
        f"links          {_number_of_each(counts.relations)}; {counts.unresolved:,} unresolved"
        " (matched by name only)"
    )
    if counts.parts:
        largest = f", the largest of {counted(counts.parts[0], 'node')}"
    else:
        largest = ""
    echo(
        f"hangs together {counted(counts.linked_nodes, 'linked node')} in"
        f" {counted(len(counts.parts), 'part')}{largest}"
    )
    _print_ids(
        "most linked", [f"{node}  {counted(number, 'link')}" for node, number in counts.most_linked]
    )
