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


_MARKED: Final = (FunctionType, MethodType, staticmethod, classmethod)


class _PluginManager(pluggy.PluginManager):
    """pluggy's, but of a module only attributes with a marker are looked at: it takes a fifth of
    the time, for nearly all attributes are imported names.
    """

    def parse_hookimpl_opts(self, plugin: object, name: str) -> pluggy.HookimplOpts | None:
        """The options of an implementation; None for what is none."""
        if isinstance(plugin, ModuleType) and not _has_marker(plugin, name, "kl_impl"):
            return None
        return super().parse_hookimpl_opts(plugin, name)

    def parse_hookspec_opts(
        self, module_or_class: ModuleType | type, name: str
    ) -> pluggy.HookspecOpts | None:
        """The options of a specification; None for what is none."""
        module = module_or_class
        if isinstance(module, ModuleType) and not _has_marker(module, name, "kl_spec"):
            return None
        return super().parse_hookspec_opts(module_or_class, name)


def _has_marker(module: ModuleType, name: str, marker: str) -> bool:
    """Return True for an attribute of a module that a decorator of pluggy has marked."""
    attribute = vars(module).get(name)
    return isinstance(attribute, _MARKED) and hasattr(attribute, marker)


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
