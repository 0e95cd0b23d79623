"""What the verbs of `kl graph` share: the open graph, `--at`, links as lines, how far an answer can be relied on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import click

from kl_hooks.cli.common import F, note, say_json, say_line, workspace
from kl_hooks.code.asking.plain import plain_symbol
from kl_hooks.evidence.home import require_home

if TYPE_CHECKING:
    from kl_hooks.code.asking.answers import Answer
    from kl_hooks.code.asking.opened import Graph
    from kl_hooks.model.symbol import Link, Symbol

_PATHS: Final = 5


def at_option() -> Callable[[F], F]:
    """`--at REV`, as the parameter `rev`."""
    return click.option("--at", "rev", metavar="REV", help="Ask about a revision, not the files as they are now.")


def limit_option(default: int) -> Callable[[F], F]:
    """`--limit N`."""
    return click.option(
        "--limit", type=click.IntRange(1, 100_000), default=default, show_default=True, help="Most rows."
    )


@contextmanager
def asked(rev: str | None, shape: str, *, records: bool = True, **more: Any) -> Iterator[Graph]:
    """The graph, current; as JSON the candidates are on stdout when a name means several things. `more` as `opened`.

    `records`: with records and pages, as their files are now; who asks about code alone need not wait for them.
    """
    from kl_hooks.code.asking.address import Ambiguous
    from kl_hooks.code.asking.opened import opened

    ws = workspace()
    require_home(ws)
    if records and rev is None:
        from kl_hooks.records.sync import sync

        sync(ws)  # records and pages are nodes of the same graph
    try:
        with opened(ws, rev, **more) as graph:
            yield graph
    except Ambiguous as problem:
        if shape == "json":
            candidates = [plain_symbol(one) for one in problem.candidates]
            say_json({"schema": "kl.graph.candidates/1", "asked": problem.place, "candidates": candidates})
        raise


def how(link: Link) -> str:
    """`import`, or `instance, 80%`."""
    return link.method if link.confidence == 100 else f"{link.method}, {link.confidence}%"


def say_symbol(symbol: Symbol) -> None:
    """The thing that was asked about."""
    say_line(f"{symbol.id}  {symbol.path}:{symbol.line}")


def say_links(links: Sequence[Link], *, of_name: bool = False) -> None:
    """Where links come from, by file and line; `of_name`: and what is called there."""
    path = ""
    for link in links:
        if link.path != path:
            path = link.path
            say_line(path)
        name = f" {link.target.removeprefix('name:')}" if of_name else ""
        say_line(f"{link.line:>6}  {link.relation:<10}{name}  in {link.source}  ({how(link)})")


def say_answer(
    answer: Answer, none: str, again: str, *, calls: bool = False, of: str = " of that name", title: str = ""
) -> None:
    """`none` where that is certain; what could not be told otherwise. `again`: the command without --unresolved."""
    left = [*_unresolved(answer, again, calls, of), *_lost(answer), *answer.doubts]
    if answer.found:
        if left:
            note(f"there may be more: {'; '.join(left)}.")
    elif left:
        say_line(f"{title}none found; {'; '.join(left)}")
    else:
        say_line(f"{title}{none}")


def _unresolved(answer: Answer, again: str, calls: bool, of: str) -> list[str]:
    number, called = len(answer.unresolved), sum(link.relation == "calls" for link in answer.unresolved)
    if not number:
        return []
    what = "call" if calls and called else "use"
    shown = called if what == "call" else number
    rest = f" and {number - shown} other uses" if number > shown else ""
    many = "" if shown == 1 else "s"
    more = f" ({again} --unresolved lists them)" if again else ""
    return [f"{shown} unresolved {what}{many}{rest}{of}{more}"]


def _lost(answer: Answer) -> list[str]:
    paths = answer.not_assessed
    if not paths:
        return []
    shown = ", ".join(paths[:_PATHS]) + (" …" if len(paths) > _PATHS else "")
    return [f"{len(paths)} {'file' if len(paths) == 1 else 'files'} not assessed: {shown}"]
