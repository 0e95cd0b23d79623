"""The plugin manager: built-in plugins as dotted strings, installed ones from entry point group
`kl` if named.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module

import pluggy

from kl_hooks import hookspecs
from kl_hooks.errors import UsageProblem

BUILT_IN = (
    "kl_hooks.store.plugin",
    "kl_hooks.graph.plugin",
    "kl_hooks.index.plugin",
    "kl_hooks.evidence.plugin",
    "kl_hooks.sharing.plugin",
    "kl_hooks.code.plugin",
    "kl_hooks.records.plugin",
    "kl_hooks.arch.plugin",
    "kl_hooks.kinds.plugin",
    "kl_hooks.proof.plugin",
    "kl_hooks.documents.plugin",
    "kl_hooks.tiers.plugin",
    "kl_hooks.skills.plugin",
    "kl_hooks.context.package_log",
    "kl_hooks.upkeep.plugin",
)
"""The plugins of our packages; imported when the manager is made, never here."""


def manager(third_party: Sequence[str] = ()) -> pluggy.PluginManager:
    """A plugin manager with the built-in plugins and the installed ones named (entry point group
    `kl`).

    No name, no scan of the environment. UsageProblem for a name that is not installed. `KL_TRACE=1`
    prints each call.
    """
    made = pluggy.PluginManager("kl")
    made.add_hookspecs(hookspecs)
    # pluggy calls the plugin that was registered last first: installed plugins are asked before
    # ours
    for name in BUILT_IN:
        made.register(import_module(name), name=name)
    for name in third_party:
        if not made.load_setuptools_entrypoints("kl", name):
            raise UsageProblem(
                f"plugin {name!r} is not installed (entry point group `kl`).",
                place="plugins",
                hint="Install it, or take it out of your configuration.",
            )
    if os.environ.get("KL_TRACE") == "1":
        made.trace.root.setwriter(lambda line: sys.stderr.write(line))
        made.enable_tracing()
    return made
