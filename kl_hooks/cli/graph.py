"""`kl graph`: the code graph, built and queried."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from kl_hooks.cli.groups import LazyGroup
from kl_hooks.cli.output import (
    F,
    Option,
    counted,
    echo,
    echo_json,
    echo_line,
    echo_lines,
    format_option,
    progress,
    top_option,
    warn,
    workspace,
)
from kl_hooks.code.query.serialize import (
    answer_to_dict,
    link_to_dict,
    page_to_dict,
    path_to_dict,
    symbol_to_dict,
)
from kl_hooks.errors import UsageProblem
from kl_hooks.model.text import one_line
from kl_hooks.workspace import require_setup

if TYPE_CHECKING:
    from kl_hooks.code.precise.compare import Comparison
    from kl_hooks.code.query.lookup import Answer
    from kl_hooks.code.query.references import References
    from kl_hooks.code.query.session import Graph
    from kl_hooks.model.symbol import Link, Symbol
    from kl_hooks.proof.symbol_tests import ExecutedBy
    from kl_hooks.store.database import Database
    from kl_hooks.workspace import Workspace


_COMMANDS = {
    "build": "Update the graph to the working tree, and count what is in it.",
    "search": "Find symbols by name, then by words.",
    "show": "One symbol, record or page: its relations on one page.",
    "symbols": "What a file defines, as a tree.",
    "refs": "References: what uses it.",
    "callers": "What calls it.",
    "dependents": "What depends on it, through others too.",
    "path": "How one depends on another.",
    "neighbors": "What is linked with it: code, records, documents.",
    "stats": "How much there is, and how it hangs together.",
    "merge": "Merge a record into another.",
}
"""Command → its line in the help."""


@click.group(cls=LazyGroup, module="kl_hooks.cli.graph", lines=_COMMANDS)
def graph() -> None:
    """The code graph: what is defined where, and what hangs on what.

    Always as the files are now.
    """


_PATHS: Final = 5
_ALL: Final = 100_000
_WIDTH: Final = 100
"""Columns of a line in a list: longer ones wrap in most terminals and in a review."""
_TEST_FILE: Final = re.compile(r"(^|/)(tests?/|test_[^/]*\.py$|[^/]*_test\.py$|conftest\.py$)")


def _tests_option() -> Callable[[F], F]:
    return click.option(
        "--tests", is_flag=True, help="List those in test files too; else they are counted."
    )


def _at_option() -> Callable[[F], F]:
    """`--at REV`, as the parameter `rev`."""
    return click.option(
        "--at", "rev", metavar="REV", help="Ask about a revision, not the files as they are now."
    )


@contextmanager
def _opened_graph(
    rev: str | None, shape: str, *, records: bool = True, **more: Any
) -> Iterator[Graph]:
    """The graph, current; as JSON the candidates are on stdout when a name is ambiguous. `more` as
    `open_graph`.

    `records`: with records and pages, as their files are now; who asks about code alone need not
    wait for them.
    """
    from kl_hooks.code.query.lookup import Ambiguous
    from kl_hooks.code.query.session import open_graph

    ws = workspace()
    require_setup(ws)
    if records and rev is None:
        from kl_hooks.records.sync import sync

        sync(ws)  # records and pages are nodes of the same graph
    try:
        with ExitStack() as stack:
            # a watcher shows its own progress, file by file
            with nullcontext() if "watch" in more else progress("Updating the code graph"):
                graph = stack.enter_context(open_graph(ws, rev, **more))
            yield graph
    except Ambiguous as problem:
        if _as_json(shape):
            candidates = [symbol_to_dict(one) for one in problem.candidates]
            _echo_answer(
                {
                    "schema": "kl.graph.candidates/1",
                    "asked": problem.place,
                    "candidates": candidates,
                }
            )
        if _is_governed(ws):  # the message would list them all
            raise UsageProblem("is ambiguous.", place=problem.place, hint="Use an ID.") from None
        raise


def _is_governed(ws: Workspace) -> bool:
    """Return True where an agent asks and a policy decides what it may see."""
    from kl_hooks.model.actors import agent

    if agent(ws.environ) is None:
        return False
    from kl_hooks.context.access import find_policy

    return find_policy(ws) is not None


def _as_json(shape: str) -> bool:
    """Return True where the answer is JSON: asked for, or governed, since the policy is evaluated
    on its entries.
    """
    return shape == "json" or _is_governed(workspace())


def _echo_answer(plain: dict[str, Any]) -> None:
    """Print an answer as JSON, for an agent without what the policy denies; `total` does not count
    that either.
    """
    if not _is_governed(workspace()):
        echo_json(plain)
        return
    from kl_hooks.cli.record_output import agent_access

    with agent_access(workspace()) as may:
        made = may.answer(plain)
    grouped = [len(one["links"]) for key in ("refs", "callers") for one in made.get(key, ())]
    counts = "total" in made and "dependents" not in made and "neighbors" not in made
    echo_json({**made, "total": sum(grouped)} if counts else made)


def _method(link: Link) -> str:
    """`import`, or `instance, 80%`."""
    return link.method if link.confidence == 100 else f"{link.method}, {link.confidence}%"


def _print_symbol(symbol: Symbol) -> None:
    echo_line(f"{symbol.id}  {symbol.path}:{symbol.line}")


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
    source = [one for one in lines if not _TEST_FILE.search(one.path)]
    of_tests = [one for one in lines if _TEST_FILE.search(one.path)]
    listed = [*source, *of_tests] if tests else source
    by_file: dict[str, list[_Line]] = {}
    for one in listed[:limit]:
        by_file.setdefault(one.path, []).append(one)
    for path, some in by_file.items():
        echo_line(path if len(path) <= _WIDTH else f"…{path[1 - _WIDTH :]}")
        for one in some:
            width = _WIDTH - 8 - len(one.end)
            text = one.text if len(one.text) <= width else f"{one.text[: width - 1]}…"
            echo_line(f"{one.line:>6}  {text}{one.end}")
    if of_tests and not tests:
        files = counted(len({one.path for one in of_tests}), "file")
        echo(f"tests: {len(of_tests)} in {files} (--tests lists them)")
    return len(listed) - min(len(listed), limit)


def _link_line(link: Link, before: str = "", *, of_name: bool = False) -> _Line:
    """`of_name`: with the name that is used there."""
    name = f" {link.target.removeprefix('name:')}" if of_name else ""
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
    """Print `none` where that is certain, else what is unknown. `again`: the command without
    --unresolved.
    """
    left = [*_unresolved(answer, again, calls, of), *_not_assessed(answer), *answer.doubts]
    if answer.found:
        if left:
            warn(f"there may be more: {'; '.join(left)}.")
    elif left:
        echo_line(f"{title}none found; {'; '.join(left)}")
    else:
        echo_line(f"{title}{none}")


def _unresolved(answer: Answer, again: str, calls: bool, of: str) -> list[str]:
    number, called = (
        len(answer.unresolved),
        sum(link.relation == "calls" for link in answer.unresolved),
    )
    if not number:
        return []
    what = "call" if calls and called else "use"
    shown = called if what == "call" else number
    rest = f" and {number - shown} other uses" if number > shown else ""
    many = "" if shown == 1 else "s"
    more = f" ({again} --unresolved lists them)" if again else ""
    return [f"{shown} unresolved {what}{many}{rest}{of}{more}"]


def _not_assessed(answer: Answer) -> list[str]:
    paths = answer.not_assessed
    if not paths:
        return []
    shown = ", ".join(paths[:_PATHS]) + (" …" if len(paths) > _PATHS else "")
    return [f"{len(paths)} {'file' if len(paths) == 1 else 'files'} not assessed: {shown}"]


@click.command(epilog="Example: kl graph build")
@click.option(
    "--precise",
    is_flag=True,
    help="Also read everything with libcst and grimp, and list the differences.",
)
@_at_option()
@format_option()
def build(precise: bool, rev: str | None, shape: str) -> None:
    """Update the graph to the working tree, and count what is in it.

    Every command that reads the graph does this by itself; files that do not parse are named here.
    --precise is slow, a hundred times and more: it compares the scanner with two others and changes
    nothing. Exit 0 whatever it finds.
    """
    from kl_hooks.code.query.session import graph_counts as count

    if precise and rev is not None:
        raise UsageProblem(
            "--precise compares the working tree; omit --at.", place="kl graph build"
        )
    with _opened_graph(rev, shape, watch=_with_progress) as graph:
        scan, counts = graph.scan, count(graph.db, graph.kinds)
    sums = {"symbols": sum(counts.nodes.values()), "links": sum(counts.links.values())}
    lines, differences = _compare(scan.files) if precise else ([], None)
    if _as_json(shape):
        problems = [
            {key: getattr(p, key) for key in ("path", "line", "column", "message")}
            for p in scan.problems
        ]
        _echo_answer(
            {
                "schema": "kl.graph.build/1",
                "files": scan.files,
                "parsed": scan.parsed,
                "removed": scan.removed,
                "unresolved": counts.unresolved,
                **sums,
                "nodes": counts.nodes,
                "relations": counts.links,
                "knowledge": counts.knowledge,
                "problems": problems,
                **({"precise": differences} if precise else {}),
            }
        )
        return
    for problem in scan.problems:
        warn(str(problem))
    files = f"{counted(scan.files, 'file')} ({scan.parsed} newly read, {scan.removed} removed)"
    echo(f"{files}, {counted(sums['symbols'], 'symbol')}, {counted(sums['links'], 'link')}")
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
    echo(f"  {counted(len(scan.problems), 'file')} not assessed")
    echo_lines(lines)


def _with_progress(read: Iterator[Any], number: int) -> Iterator[Any]:
    """Progress on stderr while files are read, where that is a terminal; nothing stays of it."""
    if not sys.stderr.isatty():
        yield from read
        return
    with click.progressbar(read, length=number, label="Reading files", file=sys.stderr) as watched:
        yield from watched


def _number_of_each(counts: dict[str, int]) -> str:
    return ", ".join(f"{number} {name}" for name, number in counts.items()) or "none"


def _compare(files: int) -> tuple[list[str], dict[str, Any]]:
    """Compare with the precise scanners: lines for people, and JSON. What could not be compared is
    warned of.
    """
    from kl_hooks.code.precise import compare as precise

    if sys.stderr.isatty():
        warn(f"reading {counted(files, 'file')} with libcst and grimp too; that takes a while.")
    found = precise.compare_working_tree(workspace())
    for problem in found.not_assessed:
        warn(f"{problem} Not assessed by the precise scanner.")
    return _comparison_lines(found), _comparison_to_dict(found)


def _comparison_lines(found: Comparison) -> list[str]:
    sums = (
        (found.files, "file"),
        (found.definitions, "definition"),
        (found.imports, "import"),
        (found.edges, "edge"),
    )
    result = f"{counted(len(found.differences), 'difference')}:" if found.differences else "equal"
    if found.not_assessed:
        result = f"{len(found.not_assessed)} not assessed; {result}"
    head = f"precise: {', '.join(counted(number, noun) for number, noun in sums)}; {result}"
    unseen = [
        f"  not compared with grimp: {counted(n, 'time')} {what}"
        for what, n in sorted(found.unseen.items())
    ]
    return [head, *(f"  {one}" for one in found.differences), *unseen]


def _comparison_to_dict(found: Comparison) -> dict[str, Any]:
    return {
        "files": found.files,
        "definitions": found.definitions,
        "imports": found.imports,
        "edges": found.edges,
        "equal": not found.differences and not found.not_assessed,
        "differences": [
            {"path": d.path, "line": d.line, "what": d.what, "fast": d.fast, "precise": d.precise}
            for d in found.differences
        ],
        "not_assessed": [
            {"path": p.path, "line": p.line, "message": p.message} for p in found.not_assessed
        ],
        "not_compared": found.unseen,
    }


SEARCHED_KINDS = (
    "namespace",
    "type",
    "interface",
    "function",
    "method",
    "property",
    "field",
    "test",
    "file",
    "violation",
    "page",
)
"""Beside the kinds of records."""


@click.command(epilog="Example: kl graph search parse_header --kind function")
@click.argument("words", nargs=-1, required=True, metavar="NAME...")
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    metavar="KIND",
    help=(
        f"Only these kinds: {', '.join(SEARCHED_KINDS)}, or a kind of records (decision, memory …);"
        " may be repeated."
    ),
)
@click.option(
    "--about",
    "file",
    cls=Option,
    old=("--file",),
    default="",
    metavar="PATH",
    help="Only in this file, folder, or pattern (src/*.py).",
)
@_tests_option()
@top_option(20)
@_at_option()
@format_option()
def search(
    words: tuple[str, ...],
    kinds: tuple[str, ...],
    file: str,
    tests: bool,
    limit: int,
    rev: str | None,
    shape: str,
) -> None:
    """Find symbols, records, pages and violations by NAME.

    Symbols of that name in any case, style or inflection (baskets finds Basket) come first, then
    records, pages and violations with the words, then symbols whose name begins so, then those
    whose code or docstring has the words.

    A dotted NAME is the end of an owner and the beginning of a name (Basket.add finds
    shop.core.Basket.add_line), or a name as it is imported (shop.Basket, where shop/__init__.py
    takes it from shop.core).

    --kind violation finds what the last `kl arch check` of the working tree found, with its
    receipt.
    """
    # imported here: a question about code alone reads no records
    from kl_hooks.cli.record_output import agent_access
    from kl_hooks.code.query.search import find_all
    from kl_hooks.code.query.serialize import found_to_dict
    from kl_hooks.records.liveness import LiveRecords

    known = (*SEARCHED_KINDS, *workspace().kinds)
    if wrong := [kind for kind in kinds if kind not in known]:
        raise UsageProblem(
            f"no such kind: {one_line(wrong[0], 60)}.",
            place="--kind",
            hint=f"Use: {', '.join(known)}",
        )
    with _opened_graph(rev, shape) as graph:
        hits, more = find_all(graph, words, kinds, file, limit, LiveRecords(workspace()))
    with agent_access(workspace()) as may:
        rows = may.answer([found_to_dict(hit) for hit in hits])
    if shape == "json":
        echo_json({"schema": "kl.graph.search/1", "hits": rows, "more": more})
        return
    lines = [
        _Line(
            row["path"],
            row["line"],
            f"{row['id']}{_mark(row.get('mark', '')[: len('quarantined')])}  {row.get('signature', '')}".rstrip(),
        )
        for row in rows
    ]
    # where tests are all there is, their number alone would answer nothing
    only_tests = all(_TEST_FILE.search(one.path) for one in lines)
    _print_by_file(lines, limit, tests=tests or only_tests)
    if more:
        warn(f"these are the first {limit}; more with --top.")
    if not rows:
        warn(f"no matches for: {one_line(' '.join(words))}")


def _mark(text: str) -> str:
    return f"  [{text}]" if text else ""


_SHOWN_LINKS = 8
_NOUNS = {
    "calls": "call",
    "references": "reference",
    "imports": "import",
    "inherits": "base class",
    "implements": "interface",
}


@click.command(epilog="Example: kl graph show Basket.total")
@click.argument("name")
@_at_option()
@format_option()
def show(name: str, rev: str | None, shape: str) -> None:
    """Show NAME on one page: signature, place, what it uses, what uses it, overrides it, tests it.

    NAME as in `kl graph refs`. The content hash changes with the code, not with comments,
    docstrings or layout.
    """
    from kl_hooks.cli.record_output import agent_access
    from kl_hooks.code.query.references import symbol_page as find
    from kl_hooks.documents.neighborhood import mentioning
    from kl_hooks.records.liveness import LiveRecords

    with _opened_graph(rev, shape) as graph:
        page = find(graph, name)
        page = replace(page, written=LiveRecords(workspace()).links(page.written))
        tests = _executed_by(graph.db, page.symbol)
        with agent_access(workspace()) as may:
            mentions = mentioning(workspace(), graph.db, page.symbol.id, may) if rev is None else []
        hidden = _runtime_imports(graph.db, page.symbol)
        mark = LiveRecords(workspace()).mark(page.symbol.id) if rev is None else ""
    layer = _layer(page.symbol.path)
    if _as_json(shape):
        executed = [one._asdict() for one in tests]
        _echo_answer(
            {
                "schema": "kl.graph.show/2",
                **page_to_dict(page),
                "layer": layer,
                "executed_by": executed,
                "runtime_imports": hidden,
                "mentioned_in": [link_to_dict(one) for one in mentions],
                **({"mark": mark} if mark else {}),
            }
        )
        return
    symbol = page.symbol
    echo_line(f"{symbol.id}  {symbol.path}:{symbol.line}-{symbol.end_line}{_mark(mark)}")
    for line in (*symbol.decorators, symbol.signature, symbol.doc):
        if line:
            echo_line(f"    {line}")
    if symbol.content_hash:
        echo_line(f"content hash   {symbol.content_hash}")
    if page.defined_by:
        echo_line(f"defined by     {page.defined_by}")
    if layer:
        echo_line(f"governed by    layer:{layer}")
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
    _print_ids("executed by", [_execution_line(one) for one in tests])
    _print_ids(
        "runtime-only",
        [f"{one['source']} imports {one['target']}  (run {one['run'][:8]})" for one in hidden],
    )
    _print_link_group("written of it", page.written, "source")
    _print_ids("mentioned in", [_passage_line(one) for one in mentions])
    _print_link_group("mentions", page.links, "target")
    _print_certainty(page.answer, "nothing", f"kl graph refs {name}", title=f"{'used by':<14} ")


def _passage_line(link: Link) -> str:
    return f"{link.path}:{link.line}" if link.source.startswith("file:") else link.source


def _executed_by(graph: Database, symbol: Symbol) -> list[ExecutedBy]:
    """The tests that executed a symbol, of all runs until now; none where the evidence can't be
    read.
    """
    from kl_hooks.errors import EnvironmentProblem
    from kl_hooks.evidence.ingestion import sync_evidence
    from kl_hooks.proof.symbol_tests import executed_by

    try:
        sync_evidence(workspace())
        return executed_by(workspace(), graph, symbol)
    except EnvironmentProblem as problem:
        warn(f"tests that executed it are not shown: {problem}")
        return []


def _runtime_imports(graph: Database, symbol: Symbol) -> list[dict[str, str]]:
    """The imports of a module, and those of it, that no statement shows and recorded test runs
    saw.
    """
    from kl_hooks.errors import KlError
    from kl_hooks.model.symbol import split_id

    if split_id(symbol.id)[0] != "namespace":
        return []
    from kl_hooks.arch.runtime_imports import imports_seen

    try:
        seen = imports_seen(workspace(), dict(graph.rows("SELECT path, module FROM files")))
    except KlError as problem:
        warn(f"runtime-only imports are not shown: {problem}")
        return []
    ours = ((link, run) for link, run in seen.items() if symbol.id in (link.source, link.target))
    return [
        {"source": split_id(link.source)[1], "target": split_id(link.target)[1], "run": run}
        for link, run in ours
    ]


def _execution_line(one: ExecutedBy) -> str:
    from kl_hooks.evidence.executed import COVERAGE

    age = "" if not one.commits else f", {one.commits} commit{'s' if one.commits > 1 else ''} ago"
    times = f", in {one.runs} runs" if one.runs > 1 else ""
    flaky = f", {one.flaky}" if one.flaky else ""
    imported = " (by imported coverage data)" if one.recorder == COVERAGE else ""
    changed = ", before it was changed" if one.changed else ""
    return f"{one.test}  {one.outcome}{age}{times}{flaky}{changed}{imported}"


def _layer(path: str) -> str:
    """The layer that governs a file, by the manifest on disk; empty where none does, or it can't be
    read.
    """
    from kl_hooks.arch.layers import layer_lookup
    from kl_hooks.arch.manifest_parser import read_manifest
    from kl_hooks.errors import KlError
    from kl_hooks.model.manifest import MANIFEST
    from kl_hooks.store.files import read_small

    root = workspace().root
    try:
        text = read_small(root / MANIFEST, within=root)
        layer = (
            layer_lookup(read_manifest(MANIFEST, text).layers)(path) if text is not None else None
        )
    except KlError:  # `kl arch check` reports what is wrong with it
        return ""
    return layer.name if layer is not None else ""


def _print_ids(title: str, ids: Sequence[str]) -> None:
    if ids:
        echo_line(f"{title:<14} {len(ids)}")
        for one in ids[:_SHOWN_LINKS]:
            echo_line(f"    {one}")
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


def relation_counts(found: Sequence[Link]) -> dict[str, int]:
    """Relation → how many of these links, by name."""
    return dict(sorted(Counter(link.relation for link in found).items()))


def _names(links: Sequence[Link]) -> list[str]:
    names = list(dict.fromkeys(link.target.removeprefix("name:") for link in links))
    return [*names[:_SHOWN_LINKS], "…"] if len(names) > _SHOWN_LINKS else names


def _print_more(number: int) -> None:
    if number > _SHOWN_LINKS:
        echo_line(f"    … {number - _SHOWN_LINKS} more")


@click.command(epilog="Example: kl graph symbols src/shop/core.py")
@click.argument("file")
@_at_option()
@format_option()
def symbols(file: str, rev: str | None, shape: str) -> None:
    """List what FILE defines, as a tree: line, signature, decorators. FILE is a path or its end, or
    a module.
    """
    from kl_hooks.code.query.lookup import file_symbols as find

    with _opened_graph(rev, shape, records=False) as graph:
        path, found, problem = find(graph, file)
    if _as_json(shape):
        rows = [
            {**symbol_to_dict(s), "depth": depth, "decorators": list(s.decorators), "doc": s.doc}
            for depth, s in found
        ]
        answer = "not assessed" if problem else "yes" if rows else "no"
        _echo_answer(
            {
                "schema": "kl.graph.symbols/1",
                "path": path,
                "symbols": rows,
                "answer": answer,
                "problem": problem,
            }
        )
        return
    echo_line(path)
    if problem:
        echo_line(f"not assessed: {problem}")
    for depth, symbol in found:
        for mark in symbol.decorators:
            echo_line(f"{'':>6}  {'  ' * depth}{mark}")
        echo_line(f"{symbol.line:>6}  {'  ' * depth}{symbol.signature}")


@click.command(epilog="Example: kl graph refs Basket.total")
@click.argument("name")
@click.option("--unresolved", is_flag=True, help="List uses of that name whose meaning is unknown.")
@_tests_option()
@top_option(200)
@_at_option()
@format_option()
def refs(name: str, unresolved: bool, tests: bool, limit: int, rev: str | None, shape: str) -> None:
    """List what uses NAME: calls, references, base classes and imports, by file and line.

    NAME is an Id (method:pkg.mod.C.m), a dotted name or its end (C.m), a file (pkg/mod.py) or a
    place in one (pkg/mod.py:12). Each link shows how it was found, and with what confidence.
    """
    from kl_hooks.code.query.references import references as find

    with _opened_graph(rev, shape) as graph:
        found = find(graph, name)
    _print_inbound(found, _List(name, unresolved, tests, limit), shape, "refs", "No references.")


class _List(NamedTuple):
    """What was asked for, and how it is to be listed."""

    name: str
    unresolved: bool
    tests: bool
    limit: int


def _print_inbound(found: References, asked: _List, shape: str, verb: str, none: str) -> None:
    """Print the answer of `refs` and `callers`; with `unresolved` the uses whose meaning is unknown
    instead.
    """
    links = found.answer.unresolved if asked.unresolved else found.links
    if _as_json(shape):
        rows = {
            "unresolved_uses" if asked.unresolved else verb: _by_place(links[: asked.limit]),
            "total": len(links),
        }
        head = {"schema": f"kl.graph.{verb}/1", "symbol": symbol_to_dict(found.symbol)}
        _echo_answer({**head, **rows, **answer_to_dict(found.answer)})
        return
    _print_symbol(found.symbol)
    _warn_of_more(
        _print_by_file([_link_line(link) for link in links], asked.limit, tests=asked.tests),
        asked.limit,
    )
    if not asked.unresolved:
        _print_certainty(
            found.answer, none, f"kl graph {verb} {asked.name}", calls=verb == "callers"
        )
    elif not links:
        warn("no unresolved use of that name.")


def _warn_of_more(omitted: int, limit: int) -> None:
    if omitted:
        warn(f"{limit} of {limit + omitted}; more with --top {limit + omitted}.")


def _by_place(links: tuple[Link, ...]) -> list[dict[str, Any]]:
    """Group links by file and line, in the order given."""
    places = groupby(links, key=lambda link: (link.path, link.line))
    return [
        {"path": path, "line": line, "links": [_without_place(link_to_dict(link)) for link in some]}
        for (path, line), some in places
    ]


def _without_place(link: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in link.items() if key not in ("path", "line")}


@click.command(epilog="Example: kl graph callers Basket.total")
@click.argument("name")
@click.option("--unresolved", is_flag=True, help="List uses of that name whose meaning is unknown.")
@_tests_option()
@top_option(200)
@_at_option()
@format_option()
def callers(
    name: str, unresolved: bool, tests: bool, limit: int, rev: str | None, shape: str
) -> None:
    """List what calls NAME, by file and line; for a class also what calls its __init__.

    "No callers." is printed only where every file was read and no unresolved use has that name.
    NAME as in `kl graph refs`.
    """
    from kl_hooks.code.query.references import callers as find

    with _opened_graph(rev, shape, records=False) as graph:
        found = find(graph, name)
    _print_inbound(found, _List(name, unresolved, tests, limit), shape, "callers", "No callers.")


@click.command(epilog="Example: kl graph dependents Basket --depth 2")
@click.argument("name")
@click.option(
    "--depth",
    type=click.IntRange(1, 10, clamp=True),
    default=3,
    show_default=True,
    help="How many links away, at most.",
)
@click.option(
    "--unresolved",
    is_flag=True,
    help="The uses of its name, or a part's, that may or may not mean it.",
)
@_tests_option()
@top_option(200)
@_at_option()
@format_option()
def dependents(
    name: str, depth: int, unresolved: bool, tests: bool, limit: int, rev: str | None, shape: str
) -> None:
    """List what depends on NAME by calls, references, base classes and imports, through others too.

    Each dependent once, at its nearest level, with one of the links that lead there. Who uses a
    method depends on its class, who uses anything in a module on the module. NAME as in `kl graph
    refs`.
    """
    from kl_hooks.code.query.dependents import dependents as find

    with _opened_graph(rev, shape, records=False) as graph:
        # the lists for people leave tests out, so `limit` of them alone are not enough
        found = find(graph, name, depth, limit if shape == "json" else _ALL)
    open_uses = found.answer.unresolved[:limit] if unresolved else ()
    if _as_json(shape):
        rows = [
            {
                "id": one.link.source,
                "level": one.level,
                "relation": one.link.relation,
                "link": link_to_dict(one.link),
            }
            for one in found.found
        ]
        head = {
            "schema": "kl.graph.dependents/1",
            "symbol": symbol_to_dict(found.symbol),
            "depth": depth,
        }
        more = {"unresolved_uses": [link_to_dict(link) for link in open_uses]} if unresolved else {}
        _echo_answer(
            {
                **head,
                "dependents": rows,
                "total": found.total,
                **more,
                **answer_to_dict(found.answer),
            }
        )
        return
    _print_symbol(found.symbol)
    if unresolved:
        lines = [_link_line(link, of_name=True) for link in open_uses]
    else:
        order = sorted(found.found, key=lambda one: (one.level, one.link.path, one.link.line))
        lines = [_link_line(one.link, f"level {one.level}  ") for one in order]
    _warn_of_more(_print_by_file(lines, limit, tests=tests), limit)
    if unresolved:
        return
    _print_certainty(
        found.answer,
        "Nothing depends on it.",
        f"kl graph dependents {name}",
        of=" of its name or a part's",
    )


_FIRST_UNRESOLVED = 5


@click.command(epilog="Example: kl graph path shop.web.show_page Basket")
@click.argument("start", metavar="FROM")
@click.argument("end", metavar="TO")
@_at_option()
@format_option()
def path(start: str, end: str, rev: str | None, shape: str) -> None:
    """Show the shortest chain of links by which FROM depends on TO, with file and line for each.

    Records, pages, files and symbols are nodes of one graph: a chain may lead from a page over a
    decision to a file and to what the file defines. Where only TO leads to a record or page FROM,
    the chain from TO is shown, with a note.

    Both as in `kl graph refs`. A chain may begin in a part of FROM and end in a part of TO. "No
    path." is printed only where every file was read and no unresolved use on the way has a name
    that could lead to TO.
    """
    from kl_hooks.cli.record_output import agent_access
    from kl_hooks.code.query.dependents import dependency_path as find
    from kl_hooks.documents.neighborhood import mentioned

    with _opened_graph(rev, shape) as graph, agent_access(workspace()) as may:
        found = find(
            graph, start, end, mentioned(workspace(), graph.db, may) if rev is None else None
        )
    if _as_json(shape):
        _echo_answer({"schema": "kl.graph.path/1", **path_to_dict(found)})
        return
    if not found.answer.found:
        _print_certainty(
            found.answer, "No path.", "", of=" on the way, of names that could lead there"
        )
        for link in found.answer.unresolved[:_FIRST_UNRESOLVED]:
            echo_line(
                f"  {link.path}:{link.line}  {link.source} {link.relation}"
                f" {link.target.removeprefix('name:')}"
            )
        return
    if found.reversed:
        warn("nothing leads from FROM to TO; this is the chain from TO to FROM.")
    echo_line(
        f"{found.start.id}  {found.start.path}:{found.start.line}  ({counted(found.length, 'link')}"
        f" to {found.end.id})"
    )
    for step in found.steps:
        place = f"  {step.path}:{step.line} ({_method(step)})" if step.line and step.method else ""
        echo_line(f"  {step.relation} {step.target}{place}")


@click.command(epilog="Example: kl graph neighbors Basket.total --depth 2")
@click.argument("name")
@click.option(
    "--depth",
    type=click.IntRange(1, 5),
    default=1,
    show_default=True,
    help="How many links away, at most.",
)
@click.option(
    "--relation",
    "relations",
    multiple=True,
    metavar="NAME",
    help="Only this relation; may be repeated.",
)
@top_option(50, 1000)
@format_option()
def neighbors(name: str, depth: int, relations: tuple[str, ...], limit: int, shape: str) -> None:
    """List what is linked with NAME in either direction: code, records, files, and passages of
    documents.

    Each once, at its nearest level, with the link that leads there. NAME as in `kl graph refs`;
    also a file of documents, or a passage (file:docs/a.md#L7-L9). What very many files use is not
    followed further.
    """
    from kl_hooks.cli.record_output import agent_access
    from kl_hooks.documents.neighborhood import neighbors as find

    with _opened_graph(None, shape) as graph, agent_access(workspace()) as may:
        start, found, cut = find(workspace(), graph, name, depth, relations, may)
    if _as_json(shape):
        rows = [
            {"level": level, "id": node, **link_to_dict(link)}
            for level, node, link in found[:limit]
        ]
        _echo_answer(
            {
                "schema": "kl.graph.neighbors/1",
                "id": start,
                "depth": depth,
                "neighbors": rows,
                "total": len(found),
                "cut": cut,
            }
        )
        return
    echo_line(f"{start}  ({counted(len(found), 'neighbor')})")
    for level, node, link in found[:limit]:
        other = link.source if link.target == node else link.target
        near = "it" if other == start else other
        arrow = (
            f"{near} {link.relation} {node}"
            if link.target == node
            else f"{node} {link.relation} {near}"
        )
        echo_line(f"  {level}  {arrow}" + (f"  {link.path}:{link.line}" if link.line else ""))
    _warn_of_more(max(0, len(found) - limit), limit)
    if cut:
        warn(
            "there are more: of a node the strongest 30 links are followed, and 1,000 nodes are"
            " listed at most."
        )


@click.command(epilog="Example: kl graph stats")
@format_option()
def stats(shape: str) -> None:
    """Count nodes and links by kind, the parts that nothing links, and what has the most links."""
    from kl_hooks.code.query.session import graph_counts as count
    from kl_hooks.documents.indexing import indexed_documents, sync_documents, visible_documents
    from kl_hooks.graph.links import shape as shape_of

    sync_documents(workspace())
    with _opened_graph(None, shape) as graph:
        counts, how = count(graph.db, graph.kinds), shape_of(graph.db)
        documents = indexed_documents(workspace(), visible_documents(workspace()))
    passages = sum(one.chunks for one in documents)
    nodes = {**counts.nodes, **counts.knowledge, "document": len(documents), "passage": passages}
    if _as_json(shape):
        _echo_answer(
            {
                "schema": "kl.graph.stats/1",
                "nodes": nodes,
                "relations": counts.links,
                "unresolved": counts.unresolved,
                "linked_nodes": how.nodes,
                "parts": len(how.parts),
                "largest_part": how.parts[0] if how.parts else 0,
                "most_linked": [{"id": node, "links": number} for node, number in how.linked_to],
            }
        )
        return
    echo(
        "nodes         "
        f" {', '.join(counted(number, kind) for kind, number in nodes.items() if number) or 'none'}"
    )
    echo(
        f"links          {_number_of_each(counts.links)}; {counts.unresolved:,} unresolved (matched"
        " by name only)"
    )
    largest = f", the largest of {counted(how.parts[0], 'node')}" if how.parts else ""
    echo(
        f"hangs together {counted(how.nodes, 'linked node')} in"
        f" {counted(len(how.parts), 'part')}{largest}"
    )
    _print_ids(
        "most linked", [f"{node}  {counted(number, 'link')}" for node, number in how.linked_to]
    )


@click.command(epilog="Example: kl graph merge MEM-0a1b2c3d MEM-4e5f6a7b")
@click.argument("old", metavar="FROM")
@click.argument("new", metavar="INTO")
@format_option()
def merge(old: str, new: str, shape: str) -> None:
    """Merge the record FROM into INTO, of the same kind: FROM is superseded, INTO has its tags and
    links.

    What named FROM names INTO. Each change is an event of its record, and an event `merged` states
    the whole. Symbols and files can't be merged: they are what the code is.
    """
    from kl_hooks.cli.output import initialized_workspace
    from kl_hooks.cli.record_output import record_line
    from kl_hooks.records.query import record_to_dict
    from kl_hooks.records.write import merge_records

    ws = initialized_workspace()
    first, second, moved = merge_records(ws, old, new)
    if shape == "json":
        echo_json(
            {
                "schema": "kl.graph.merge/1",
                "from": record_to_dict(ws, first),
                "into": record_to_dict(ws, second),
                "changed": moved,
            }
        )
        return
    echo_lines([record_line(first), record_line(second)])
    if moved:
        echo_line(f"now name {second.id}: {', '.join(moved)}")
