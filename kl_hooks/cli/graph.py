"""`kl graph`: the code graph, built and searched."""

from __future__ import annotations

from typing import Any

import click

from kl_hooks.cli.common import format_option, note, say, say_json, workspace
from kl_hooks.evidence.catch_up import require_home
from kl_hooks.model.text import one_line

KINDS = ("namespace", "type", "interface", "function", "method", "property", "field")


@click.group()
def graph() -> None:
    """The code graph: build and search."""


@graph.command()
@format_option()
def build(shape: str) -> None:
    """Bring the graph up to the work tree, and count what is in it.

    Every command that reads the graph does this by itself; files that do not parse are named here.

    Example: kl graph build
    """
    from kl_hooks.code import ask

    ws = workspace()
    require_home(ws)
    scan, counts = ask.build(ws)
    found = {"files": scan.files, "parsed": scan.parsed, "removed": scan.removed, **counts}
    if shape == "json":
        problems = [_plain(p) for p in scan.problems]
        say_json({"schema": "kl.graph.build/1", **found, "problems": problems})
        return
    for problem in scan.problems:
        note(str(problem))
    files = f"{_many(scan.files, 'file')} ({scan.parsed} newly read, {scan.removed} gone)"
    others = [_many(counts["symbols"], "symbol"), _many(counts["links"], "link"), _many(len(scan.problems), "problem")]
    say(", ".join([files, *others]))


@graph.command()
@click.argument("words", nargs=-1, required=True)
@click.option("--kind", "kinds", multiple=True, type=click.Choice(KINDS), help="Only such symbols; may be repeated.")
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True, help="Most rows.")
@format_option()
def search(words: tuple[str, ...], kinds: tuple[str, ...], limit: int, shape: str) -> None:
    """Find symbols by WORDS: names, parts of names, and what their code and docstrings say.

    Example: kl graph search parse header --kind function
    """
    from kl_hooks.code.ask import find

    ws = workspace()
    require_home(ws)
    hits = find(ws, words, kinds, limit)
    if shape == "json":
        rows = [{"id": h.id, "path": h.path, "line": h.line, "signature": h.title, "rank": h.rank} for h in hits]
        say_json({"schema": "kl.graph.search/1", "hits": rows})
        return
    for hit in hits:
        say(f"{hit.id}\n    {hit.path}:{hit.line} {hit.title}")
    if not hits:
        note(f"no symbol bears any of: {one_line(' '.join(words))}")


def _plain(problem: Any) -> dict[str, Any]:
    return {"path": problem.path, "line": problem.line, "column": problem.column, "message": problem.message}


def _many(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
