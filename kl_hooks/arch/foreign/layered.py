"""Which contract of type `layers` says nothing that our layers don't say too, and how they say it. Pure.

import-linter forbids chains of imports as well, also through modules that are in no layer. Our layers look at single
imports. Both are the same where every module that a chain could take is in a layer: then the first import against the
order is itself forbidden. So a contract becomes layers only where its layers are all the root packages, or where it is
exhaustive and every Python file of the repository is in one of its layers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from kl_hooks.arch.foreign.imported import Imported
from kl_hooks.arch.packages import folders_of
from kl_hooks.arch.paths import covers
from kl_hooks.model.contract import Contract
from kl_hooks.model.manifest import Allowance, Layer

Row = tuple[str, tuple[str, ...]]
"""`|`, `:` or nothing, and the modules of a layer without their brackets."""


def with_layers(found: Imported, contract: Contract, modules: Mapping[str, str]) -> tuple[Imported | None, str]:
    """The set-up with this contract as layers; None and the reason where it has to stay a contract.

    `modules`: path → dotted name of every Python file.
    """
    options = {option.key: option.value for option in contract.options}
    exceptions, reason = _exceptions(options)
    if reason:
        return None, reason
    containers = options.get("containers", ())
    rows = [_row(row) for row in _list(options.get("layers", ()))]
    if any("*" in word for _, words in rows for word in words) or any("*" in word for word in containers):
        return None, "it has wildcards"
    layers = _layers(rows, _list(containers), modules)
    if layers is None:
        return None, "a layer has no files here"
    outside = sorted(path for path in modules if not any(covers(p, path) for layer in layers for p in layer.paths))
    reason = _reason(rows, contract, outside, modules)
    if reason:
        return None, reason
    rest = tuple(one for one in found.contracts if one is not contract)
    comments = {**found.comments, **{layer.name: found.comments.get(contract.name, "") for layer in layers}}
    return replace(
        found,
        layers=tuple(layers),
        contracts=rest,
        exhaustive=bool(containers),
        exceptions=exceptions,
        comments=comments,
    ), ""


def _exceptions(options: Mapping[str, str | tuple[str, ...]]) -> tuple[tuple[Allowance, ...], str]:
    """Its ignored imports as exceptions, and why that can't be (empty: it can)."""
    ignored = _list(options.get("ignore_imports", ()))
    if any("*" in one for one in ignored):
        return (), "it ignores imports by wildcard"
    if ignored and options.get("unmatched_ignore_imports_alerting", "error") == "error":
        return (), "it fails where an ignored import is gone, and an exception only warns"
    pairs = [one.partition("->") for one in ignored]
    return tuple(Allowance(a.strip(), b.strip()) for a, _, b in pairs), ""


def _list(value: str | tuple[str, ...]) -> Sequence[str]:
    return (value,) if isinstance(value, str) else value


def _row(row: str) -> Row:
    mark = "|" if "|" in row else ":" if ":" in row else ""
    words = row.split(mark) if mark else [row]
    return mark, tuple(word.strip().strip("()").strip() for word in words)


def _reason(rows: Sequence[Row], contract: Contract, outside: Sequence[str], modules: Mapping[str, str]) -> str:
    """Why layers would say less, or something else; empty: they say the same. `outside`: files in no layer."""
    folders = tuple(folder + "/" for root in contract.root_packages for folder in folders_of(root, modules))
    inside = [path for path in outside if path.startswith(folders)]
    if inside:
        names = ", ".join(inside[:2]) + (", ..." if len(inside) > 2 else "")
        return f"it also forbids chains through modules that are in no layer ({names})"
    options = {option.key: option.value for option in contract.options}
    if not options.get("containers"):
        same = {word for _, words in rows for word in words} == set(contract.root_packages)
        return "" if same else "modules that are added later could be in no layer"
    if options.get("exhaustive") != "True" or options.get("exhaustive_ignores"):
        return "modules that are added later could be in no layer"
    return "it is exhaustive for its package, layers here are for the whole repository" if outside else ""


def _layers(rows: Sequence[Row], containers: Sequence[str], modules: Mapping[str, str]) -> list[Layer] | None:
    """Our layers from the bottom up; None where a module of a row has no files or two have one name."""
    made: list[Layer] = []
    for mark, words in reversed(rows):
        below = tuple(layer.name for layer in made)
        same = []
        for word in words:
            names = [f"{container}.{word}" for container in containers] or [word]
            paths = tuple(path for name in names for path in paths_of(name, modules))
            if not paths:
                return None
            beside = tuple(other for other in words if other != word) if mark == ":" else ()
            same.append(Layer(word, paths, below + beside, 0))
        made += same
    return made if len({layer.name for layer in made}) == len(made) else None


def paths_of(name: str, modules: Mapping[str, str]) -> list[str]:
    """The folders (with `/`) of a package, or the file of a module, by its dotted name."""
    files = [path for path, dotted in modules.items() if dotted == name and not path.endswith("/__init__.py")]
    return [folder + "/" for folder in folders_of(name, modules)] + sorted(files)
