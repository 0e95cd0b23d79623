"""Where the packages of a repository lie: from its modules' names to the folders that hold a package. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kl_hooks.arch.groups import packages
from kl_hooks.code.modules import plain_name


def folders_of(package: str, modules: Mapping[str, str]) -> list[str]:
    """The folders (from the repository's top, without `/` at the end) that hold a package's modules, sorted.

    `modules`: path → dotted name. One folder for a package with `__init__.py`, several for a namespace package whose
    parts lie apart, none where there is no such package, and all of them where several have one `__init__.py` each.
    """
    found = set()
    proper = set()
    for path, dotted in modules.items():
        name = plain_name(dotted)
        if name != package and not name.startswith(package + "."):
            continue
        init = path.endswith("/__init__.py")
        parts = path.split("/")[:-1] if init else path[: -len(".py")].split("/")
        deeper = name.count(".") - package.count(".")
        if (not deeper and not init) or len(parts) <= deeper:
            continue  # a module of that name, or a name that its path does not bear out
        folder = "/".join(parts[: len(parts) - deeper])
        found.add(folder)
        if init and not deeper:
            proper.add(folder)
    return sorted(proper or found)


def known_packages(modules: Mapping[str, str], named: Iterable[str] = ()) -> list[str]:
    """The top-level packages of the product, and those others that contracts name by one of their modules."""
    tops = {plain_name(dotted).partition(".")[0] for dotted in modules.values()}
    wanted = {*packages(modules), *({name.partition(".")[0] for name in named} & tops)}
    return [top for top in sorted(wanted) if top and len(_proper(top, modules)) == 1]


def _proper(package: str, modules: Mapping[str, str]) -> list[str]:
    """Its folders, or one of them for a namespace package; none for a single module."""
    folders = folders_of(package, modules)
    init = [folder for folder in folders if f"{folder}/__init__.py" in modules]
    return init if len(init) > 1 else folders[:1]
