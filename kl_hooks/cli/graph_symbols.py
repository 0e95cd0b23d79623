"""`kl graph symbols`: what a file defines."""

from __future__ import annotations

import click

from kl_hooks.cli.answered import asked, at_option
from kl_hooks.cli.common import format_option, say_json, say_line
from kl_hooks.code.asking.plain import plain_symbol


@click.command(epilog="Example: kl graph symbols src/shop/core.py")
@click.argument("file")
@at_option()
@format_option()
def symbols(file: str, rev: str | None, shape: str) -> None:
    """List what FILE defines, as a tree: line, signature, decorators. FILE is a path or its end, or a module."""
    from kl_hooks.code.asking.defined import symbols as find

    with asked(rev, shape, records=False) as graph:
        path, found, problem = find(graph, file)
    if shape == "json":
        rows = [
            {**plain_symbol(s), "depth": depth, "decorators": list(s.decorators), "doc": s.doc} for depth, s in found
        ]
        answer = "not assessed" if problem else "yes" if rows else "no"
        say_json({"schema": "kl.graph.symbols/1", "path": path, "symbols": rows, "answer": answer, "problem": problem})
        return
    say_line(path)
    if problem:
        say_line(f"not assessed: {problem}")
    for depth, symbol in found:
        for mark in symbol.decorators:
            say_line(f"{'':>6}  {'  ' * depth}{mark}")
        say_line(f"{symbol.line:>6}  {'  ' * depth}{symbol.signature}")
