"""`kl arch`: layers, and imports held against them; every verb is a file `arch_VERB.py`."""

from __future__ import annotations

import click

from kl_hooks.cli.lazy import LazyGroup

VERBS = {
    "check": "Hold the imports against the manifest.",
    "show": "A picture of the layers, and of what is imported across them.",
    "explain": "How a file, module or layer came to be judged as it is.",
    "fix": "Move annotation-only imports under TYPE_CHECKING, drop unused ones.",
    "allow": "Allow an import until a day, and record why.",
    "baseline": "The violations that are accepted for now: write, show, prune.",
    "import": "Put a set-up of import-linter or tach into a manifest.",
}
"""Verb → its line in the help; it stands in `kl_hooks.cli.arch_VERB` under the verb's name."""


@click.group(cls=LazyGroup, prefix="kl_hooks.cli.arch_", lines=VERBS)
def arch() -> None:
    """Layers: who may depend on whom."""
