"""The plugin manager: built-in plugins as dotted strings, installed ones from entry point group
`kl` if named.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from types import FunctionType, MethodType, ModuleType
from typing import Final

import pluggy

from kl_hooks import hookspecs
from kl_hooks.errors import UsageProblem
from kl_hooks.model.text import one_line

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


_IMPLEMENTATIONS: Final = (FunctionType, MethodType, staticmethod, classmethod)


class _PluginManager(pluggy.PluginManager):
    """pluggy's, which takes a tenth of the time to register a module: it looks at all attributes
    of one, nearly all of them imported, with `inspect.getattr_static`.
    """

    def parse_hookimpl_opts(self, plugin: object, name: str) -> pluggy.HookimplOpts | None:
        """The options of an implementation; None for what is none, such as whatever is no function
        of a module.
        """
        if isinstance(plugin, ModuleType):
            attribute = vars(plugin).get(name)
            if not isinstance(attribute, _IMPLEMENTATIONS) or not hasattr(attribute, "kl_impl"):
                return None
        return super().parse_hookimpl_opts(plugin, name)


def manager(
    third_party: Sequence[str] = (), problems: list[UsageProblem] | None = None
) -> pluggy.PluginManager:
    """A plugin manager with the built-in plugins and the installed ones named (entry point group
    `kl`).

    No name, no scan of the environment. UsageProblem for a name that is not installed, or can't be
    imported; with `problems` it is appended there, and the manager has the others. `KL_TRACE=1`
    prints each call.
    """
    made = _PluginManager("kl")
    made.add_hookspecs(hookspecs)
    # pluggy calls the plugin that was registered last first: installed plugins are asked before
    # ours
    for name in BUILT_IN:
        made.register(import_module(name), name=name)
    for name in third_party:
        try:
            _load(made, name)
        except UsageProblem as problem:
            if problems is None:
                raise
            problems.append(problem)
    if os.environ.get("KL_TRACE") == "1":
        made.trace.root.setwriter(lambda line: sys.stderr.write(line))
        made.enable_tracing()
    return made


def _load(plugins: pluggy.PluginManager, name: str) -> None:
    try:
        count = plugins.load_setuptools_entrypoints("kl", name)
    except Exception as error:  # whatever its modules raise is not ours
        reason = (
            f"plugin {name!r} can't be imported: {one_line(f'{type(error).__name__}: {error}')}."
        )
    else:
        if count:
            return
        reason = f"plugin {name!r} is not installed (entry point group `kl`)."
    hint = "Install it, or take it out of your configuration: kl config names the place."
    raise UsageProblem(reason, place="plugins", hint=hint)
