"""`kl graph build`: the graph brought up to the work tree, and counted."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import click

from kl_hooks.cli.answered import asked, at_option
from kl_hooks.cli.common import counted, format_option, note, say, say_json, workspace
from kl_hooks.errors import UsageProblem


@click.command(epilog="Example: kl graph build")
@click.option("--precise", is_flag=True, help="Also read everything with libcst and grimp, and list the differences.")
@at_option()
@format_option()
def build(precise: bool, rev: str | None, shape: str) -> None:
    """Bring the graph up to the work tree, and count what is in it.

    Every command that reads the graph does this by itself; files that do not parse are named here. --precise is slow,
    a hundred times and more: it holds the scanner against two others and changes nothing. Exit 0 whatever it finds.
    """
    from kl_hooks.code.ask import counts as count

    if precise and rev is not None:
        raise UsageProblem("--precise looks at the work tree; leave out --at.", place="kl graph build")
    with asked(rev, shape, watch=_watched) as graph:
        scan, counts = graph.scan, count(graph.db, graph.kinds)
    sums = {"symbols": sum(counts.nodes.values()), "links": sum(counts.links.values())}
    lines, differences = _compared(scan.files) if precise else ([], None)
    if shape == "json":
        found = {"files": scan.files, "parsed": scan.parsed, "removed": scan.removed, "unresolved": counts.unresolved}
        more = {
            "nodes": counts.nodes,
            "relations": counts.links,
            "knowledge": counts.knowledge,
            "problems": [_plain(p) for p in scan.problems],
        }
        held = {"precise": differences} if precise else {}
        say_json({"schema": "kl.graph.build/1", **found, **sums, **more, **held})
        return
    for problem in scan.problems:
        note(str(problem))
    files = f"{counted(scan.files, 'file')} ({scan.parsed} newly read, {scan.removed} gone)"
    say(f"{files}, {counted(sums['symbols'], 'symbol')}, {counted(sums['links'], 'link')}")
    say(f"  symbols  {', '.join(counted(number, kind) for kind, number in counts.nodes.items()) or 'none'}")
    say(f"  links    {_each(counts.links)}; {counts.unresolved} of them to a name only")
    if counts.knowledge:
        say(f"  records  {', '.join(counted(number, kind) for kind, number in counts.knowledge.items())}")
    say(f"  {counted(len(scan.problems), 'file')} not assessed")
    for line in lines:
        say(line)


def _compared(files: int) -> tuple[list[str], Any]:
    """As `precise.compared`; at a terminal it says first why nothing is seen for a while."""
    from kl_hooks.cli.precise import compared

    if sys.stderr.isatty():
        note(f"reading {counted(files, 'file')} with libcst and grimp too; that takes a while.")
    return compared(workspace())


def _watched(read: Iterator[Any], number: int) -> Iterator[Any]:
    """Progress on stderr while files are read, where that is a terminal; nothing stays of it."""
    if not sys.stderr.isatty():
        yield from read
        return
    with click.progressbar(read, length=number, label="Reading files", file=sys.stderr) as watched:
        yield from watched


def _each(counts: dict[str, int]) -> str:
    return ", ".join(f"{number} {name}" for name, number in counts.items()) or "none"


def _plain(problem: Any) -> dict[str, Any]:
    return {"path": problem.path, "line": problem.line, "column": problem.column, "message": problem.message}
