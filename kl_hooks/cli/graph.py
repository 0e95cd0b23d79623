"""`kl graph`: the code graph, built and asked; every verb is a file `graph_VERB.py`."""

from __future__ import annotations

import click

from kl_hooks.cli.lazy import LazyGroup

VERBS = {
    "build": "Bring the graph up to the work tree, and count what is in it.",
    "search": "Find symbols by name, then by words.",
    "show": "What is known of one thing, on a page.",
    "symbols": "What a file defines, as a tree.",
    "refs": "What uses a thing.",
    "callers": "What calls a thing.",
    "dependents": "What depends on a thing, through others too.",
    "path": "How one thing depends on another.",
}
"""Verb → its line in the help; it stands in `kl_hooks.cli.graph_VERB` under the verb's name."""


@click.group(cls=LazyGroup, prefix="kl_hooks.cli.graph_", lines=VERBS)
def graph() -> None:
    """The code graph: what is defined where, and what hangs on what. Always as the files are now."""
