"""Reads `tach.toml`: its modules become layers, with lists of what they may depend on. Pure.

tach judges single imports between modules, as our layers do. From a module to one of a lower of its `layers` all is
allowed, to one of a higher layer nothing; else `depends_on` decides, where it is given, save for utilities.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from kl_hooks.arch.foreign.imported import Imported
from kl_hooks.config.problems import Problems
from kl_hooks.model.manifest import Layer
from kl_hooks.model.problem import Problem

ROOT: Final = "<root>"
_READ: Final = (
    "source_roots", "modules", "layers", "layers_explicit_depends_on", "root_module", "ignore_type_checking_imports",
)  # fmt: skip
_SILENT: Final = ("exact", "cache", "rules", "external", "disable_logging", "respect_gitignore", "use_regex_matching")
"""What changes nothing about imports between modules."""


@dataclass(frozen=True, slots=True)
class _Module:
    """A module of tach with its files."""

    name: str
    paths: tuple[str, ...]
    depends_on: tuple[str, ...] | None
    cannot: tuple[str, ...]
    layer: str
    utility: bool
    unchecked: bool


def read_tach(path_name: str, text: bytes, files: Sequence[str]) -> Imported:
    """The modules as layers. `files`: the Python files of the repository. Problems for a file that is no TOML."""
    try:
        config = tomllib.loads(text.decode("utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise Problems([Problem(path_name, 0, 0, f"can't be read: {' '.join(str(error).split())}.")]) from error
    left: list[str] = _not_ours(config)
    base = path_name.rpartition("/")[0]
    roots = [_folder(f"{base}/{root}") for root in _texts(config.get("source_roots", ["."]))]
    entries = [one for one in config.get("modules", []) if isinstance(one, dict)]
    modules: dict[str, _Module] = {}
    for entry in entries:
        for pattern in _texts(entry.get("paths", [])) or _texts([entry.get("path", "")]):
            for name in _expanded(pattern, roots, files):
                paths = _paths(name, roots, files)
                if paths:
                    modules[name] = _module(name, paths, entry, left)
                else:
                    left.append(f'the module "{name}": it has no files here')
    _root(config, modules, roots)
    explicit = bool(config.get("layers_explicit_depends_on"))
    order = [str(one.get("name", "")) if isinstance(one, dict) else str(one) for one in config.get("layers", [])]
    made = tuple(_layer(one, modules, order, explicit) for one in modules.values())
    comments = {layer.name: f'{path_name}: module "{name}"' for layer, name in zip(made, modules, strict=True)}
    mode = "enforce" if config.get("ignore_type_checking_imports") is False else "ignore"
    return Imported(path_name, made, (), mode, comments=comments, unassigned_imports="ignore",
                    left=tuple(dict.fromkeys(left)))  # fmt: skip


def _not_ours(config: Mapping[str, Any]) -> list[str]:
    """What our layers can't say, a line each."""
    left = []
    for key, value in config.items():
        if key == "exclude":
            listed = ", ".join(_texts(value))
            left.append(f"exclude ({listed}): files of modules among them are checked here")
        elif key not in (*_READ, *_SILENT) and value not in (False, [], {}):
            left.append(key)
    if any(isinstance(one, dict) and one.get("closed") for one in config.get("layers", [])):
        left.append("closed layers: here a layer may be skipped")
    return left


def _module(name: str, paths: tuple[str, ...], entry: Mapping[str, Any], left: list[str]) -> _Module:
    for key in ("visibility", "depends_on_external", "cannot_depend_on_external", "strict"):
        if entry.get(key) not in (None, False, ["*"]):
            left.append(f'"{key}" of the module "{name}"')
    wanted = entry.get("depends_on")
    needed = None if wanted is None else tuple(_texts([_path(one) for one in wanted]))
    cannot = tuple(_texts([_path(one) for one in entry.get("cannot_depend_on") or []]))
    flags = (bool(entry.get("utility")), bool(entry.get("unchecked")))
    return _Module(name, paths, needed, cannot, str(entry.get("layer", "")), *flags)


def _path(one: Any) -> Any:
    return one.get("path", "") if isinstance(one, dict) else one


def _root(config: Mapping[str, Any], modules: dict[str, _Module], roots: Sequence[str]) -> None:
    """What is in no module is a module of its own, unless it is ignored, as it is by default."""
    if config.get("root_module", "ignore") == "ignore":
        modules.pop(ROOT, None)
    elif ROOT not in modules:
        modules[ROOT] = _Module(ROOT, tuple(root or "./" for root in roots), (), (), "", False, False)


def _layer(one: _Module, modules: Mapping[str, _Module], order: Sequence[str], explicit: bool) -> Layer:
    allowed = tuple(
        _name(other) for name, other in modules.items() if name != one.name and _may(one, other, order, explicit)
    )
    return Layer(_name(one), one.paths, allowed, 0)


def _name(one: _Module) -> str:
    return "root" if one.name == ROOT else one.name


def _may(one: _Module, other: _Module, order: Sequence[str], explicit: bool) -> bool:
    """True if tach lets `one` import `other`; layers of tach are listed from the top down.

    `explicit`: what is allowed by the layers has to be declared as well.
    """
    if one.unchecked:
        return True
    if one.layer in order and other.layer in order and one.layer != other.layer:
        if explicit and order.index(one.layer) < order.index(other.layer):
            return _declared(one, other)
        return order.index(one.layer) < order.index(other.layer)
    return _declared(one, other)


def _declared(one: _Module, other: _Module) -> bool:
    if any(_matches(pattern, other.name) for pattern in one.cannot):
        return False
    if other.utility or one.depends_on is None:
        return True
    return any(_matches(pattern, other.name) for pattern in one.depends_on)


def _matches(pattern: str, name: str) -> bool:
    """`a.*` is every module right below `a`, `a.**` every one at any depth."""
    signs = {"**": r".+", "*": r"[^.]+"}
    parts = [signs.get(part, re.escape(part)) for part in pattern.split(".")]
    return re.fullmatch(r"\.".join(parts), name) is not None


def _expanded(pattern: str, roots: Sequence[str], files: Sequence[str]) -> list[str]:
    """The module itself, or every module and package that a pattern matches."""
    if "*" not in pattern:
        return [pattern]
    names: set[str] = set()
    for root in roots:
        for file in files:
            if file.startswith(root) and file.endswith(".py"):
                parts = file[len(root) : -len(".py")].split("/")
                names.update(".".join(parts[:n]) for n in range(1, len(parts) + 1))
    return sorted(name for name in names if _matches(pattern, name) and not name.endswith("__init__"))


def _paths(name: str, roots: Sequence[str], files: Sequence[str]) -> tuple[str, ...]:
    """The folders (with `/`) and files of a module below the source roots."""
    if name == ROOT:
        return tuple(root or "./" for root in roots)
    found = []
    for root in roots:
        place = root + name.replace(".", "/")
        found += [place + "/"] if any(file.startswith(place + "/") for file in files) else []
        found += [place + ".py"] if place + ".py" in files else []
    return tuple(found)


def _folder(root: str) -> str:
    """A source root with `/` at its end; empty for the top."""
    clean = "/".join(part for part in root.split("/") if part not in ("", "."))
    return clean + "/" if clean else ""


def _texts(values: Any) -> list[str]:
    items = values if isinstance(values, list) else [values]
    return [one for one in items if isinstance(one, str) and one]
