"""`kl knowledge`: everything that is known, across kinds, and its upkeep; every verb is a file `knowledge_VERB.py`."""

from __future__ import annotations

import click

from kl_hooks.cli.lazy import LazyGroup

VERBS = {
    "check": "Whether what is written is valid, and links lead somewhere.",
    "links": "Where a page leads.",
    "backlinks": "What leads to a page.",
    "mentions": "Who speaks of a page without a link.",
    "related": "Pages similar to a page.",
    "status": "How much is known, and what waits for a person.",
    "stats": "How much is known, by kind, status, topic and use.",
    "list": "What is known, of every kind.",
    "show": "One record of any kind, by its id.",
    "search": "Find records, claims and pages that match some words.",
    "proposals": "List what agents proposed and nobody has decided about.",
    "accept": "Accept what an agent proposed.",
    "reject": "Reject what an agent proposed.",
    "add": "Import a document: a feature's specification, an overview.",
    "import": "Take in records of any kind from JSON or YAML.",
    "export": "Write records of any kind as JSON or YAML.",
    "clear": "Take away what seeding made.",
    "health": "What speaks against what is known; can fail CI.",
    "gc": "What upkeep would change; with --apply, change it.",
}
"""Verb → its line in the help; it stands in `kl_hooks.cli.knowledge_VERB` under the verb's name."""


@click.group(cls=LazyGroup, prefix="kl_hooks.cli.knowledge_", lines=VERBS)
def knowledge() -> None:
    """Everything that is known, across kinds, and its upkeep."""
