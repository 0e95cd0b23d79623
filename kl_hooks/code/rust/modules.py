"""Which file the root of a path means: the rules of Cargo and of `mod`, within the repository.

What comes after the root is followed name by name by the linker, through `mod` and `pub use`, so
that only roots are answered here: `crate`, `self`, `super`, a crate by its name, and the file of a
`mod name;`. Editions from 2018 on.
"""

from __future__ import annotations

import json
import posixpath
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from kl_hooks.code.module_systems import FileView, ImportTarget
from kl_hooks.model.definitions import lazy_pattern

CRATE: Final = "crate"
SELF: Final = "self"
SUPER: Final = "super"
IN_SCOPE: Final = "use"
"""The root of a name that no item of the module has: a glob import may bring it, or it is a crate.
A keyword, so that no crate has this name.
"""
MOD: Final = "mod"
"""`mod::tests.cart`: the file of `mod cart;` in the inline module `tests`; `=` and a `#[path]` may
come after it.
"""
MODULES: Final = "modules"
"""The setting of a source file that states its `mod name;`: dotted name → `#[path]`, as JSON."""
PACKAGE: Final = "crate:"
"""Before the name of a package in the settings of its manifest, so that none of npm has it."""
_MANIFEST: Final = "Cargo.toml"
_STANDARD: Final = frozenset({"alloc", "core", "proc_macro", "std", "test"})
_TARGET: Final = lazy_pattern(r"(?:src/bin|tests|examples|benches)/(?:[^/]+\.rs|[^/]+/main\.rs)")
_DEEP: Final = 64
"""Modules in modules that are followed."""
_MOST_FILES: Final = 2_000
"""Files of a crate in which the parent of a module with a path of its own is looked for."""


class CargoModules:
    """The module system of Rust."""

    constructor: str = ""
    has_extensions: bool = True

    def split(self, specifier: str) -> tuple[str, tuple[str, ...]]:
        """The root of a path, and the names after it; `a::B` begins with a name in scope."""
        names = specifier.split("::")
        if names[0] == MOD:
            return "::".join(names[:2]), tuple(names[2:])
        if names[0] == "":  # `::a::B`
            names = names[1:] or [IN_SCOPE]
            return names[0], tuple(names[1:])
        if names[0] == IN_SCOPE:
            return IN_SCOPE, tuple(names[1:])
        if names[0] not in (CRATE, SELF, SUPER):
            return IN_SCOPE, tuple(names)
        count = 1
        while names[0] == SUPER and names[count : count + 1] == [SUPER]:
            count += 1
        return "::".join(names[:count]), tuple(names[count:])

    def find(self, specifier: str, importer: str, view: FileView) -> ImportTarget | None:
        """The module that a root means."""
        if specifier in (SELF, IN_SCOPE):
            return ImportTarget(importer)
        if specifier in (CRATE, SUPER) or specifier.startswith((f"{SUPER}::", f"{MOD}::")):
            place = importer
        else:  # a crate is the same for all files of a folder
            place = posixpath.dirname(importer)
        return view.once(
            ("cargo", specifier, place), lambda: _root_module(specifier, importer, view)
        )

    def imported_file(self, specifier: str, name: str, importer: str, view: FileView) -> str | None:
        """The file of the last module on the way, through `mod name;` alone: what a module hands
        on by `pub use` is imported from it.
        """
        root, names = self.split(specifier)
        if root == IN_SCOPE and names:  # what an item of the file is named begins with `self`
            root, names = names[0], names[1:]
        target = self.find(root, importer, view)
        for part in (*names, name) if name not in ("", "*") else names:
            if target is not None:
                inner = _module_in(target, part, view)
            else:
                inner = None
            if inner is None:
                break
            target = inner
        if target is not None:
            return target.path
        return None

    def root_of(self, path: str, view: FileView) -> str:
        """The root of the crate: `#[macro_export]`."""
        return view.once(("crate", path), lambda: _crate_root(path, view))

    def settings_of(self, rows: Iterable[Sequence[Any]]) -> Mapping[str, str]:
        """The `mod name;` of a file."""
        declared = [row[0][len(f"{MOD}::") :] for row in rows if row[0].startswith(f"{MOD}::")]
        modules = dict(text.partition("=")[::2] for text in declared)
        if modules:
            return {MODULES: json.dumps(modules, ensure_ascii=False)}
        return {}

    def otherwise(self, specifier: str, name: str) -> str:
        """The specifier of a name that the module does not have; empty where there is none."""
        if specifier == IN_SCOPE:
            return name.rpartition(".")[2]
        return ""

    def outside(self, specifier: str, importer: str) -> str:
        """`extern/serde/de`."""
        return f"extern/{specifier.removeprefix('::').replace('::', '/')}"


CARGO: Final = CargoModules()


def _root_module(specifier: str, importer: str, view: FileView) -> ImportTarget | None:
    """The module that `crate`, `super`, `mod::name` or the name of a crate means in a file."""
    if specifier == CRATE:
        return ImportTarget(_crate_root(importer, view))
    if specifier == SUPER or specifier.startswith(f"{SUPER}::"):
        return _above(importer, specifier.count(SUPER), view)
    if specifier.startswith(f"{MOD}::"):
        path = _declared_file(importer, specifier[len(f"{MOD}::") :].partition("=")[0], view)
    else:
        path = _library(specifier, importer, view)
    if path:
        return ImportTarget(path)
    return None


def _join(folder: str, name: str) -> str:
    return posixpath.normpath(posixpath.join(folder, name))


# -- modules and their files


def module_path(path: str, view: FileView) -> tuple[str, str] | None:
    """(the first file of the crate that has a file, the dotted path of the file's module in it);
    None where no crate is known to have it.
    """
    outer = ""
    for _ in range(_DEEP):
        if _is_root(path, view):
            return path, outer
        parent = _parent(path, view)
        if parent is None:
            return None
        declared = _declaration(path, parent.path, view)
        if not declared:
            return None
        outer = f"{declared}.{outer}" if outer else declared
        path = parent.path
    return None


def _declaration(path: str, parent: str, view: FileView) -> str:
    """The dotted name by which a file is declared in the file `parent`; empty for none."""
    for declared in _declared(parent, view):
        if _declared_file(parent, declared, view) == path:
            return declared
    return ""


def _above(path: str, levels: int, view: FileView) -> ImportTarget | None:
    within = ""
    for _ in range(levels):
        if within:
            within = within.rpartition(".")[0]
            continue
        parent = _parent(path, view)
        if parent is None:
            return None
        path, within = parent
    return ImportTarget(path, within)


def _crate_root(path: str, view: FileView) -> str:
    for _ in range(_DEEP):
        if _is_root(path, view):
            return path
        parent = _parent(path, view)
        if parent is None or parent.path == path:
            return path
        path = parent.path
    return path


def _is_root(path: str, view: FileView) -> bool:
    """Whether a file is a crate: a library, program, test, example or benchmark."""
    return view.once(("crate root", path), lambda: _is_target(path, view))


def _is_target(path: str, view: FileView) -> bool:
    manifest = manifest_of(path, view)
    if not manifest:
        return posixpath.basename(path) in ("lib.rs", "main.rs")
    folder = posixpath.dirname(manifest)
    inner = path[len(folder) + 1 :] if folder else path
    settings = view.settings(manifest)
    is_automatic = _TARGET.fullmatch(inner) is not None and not inner.startswith(
        tuple(f"{excluded}/" for excluded in _list(settings.get("excluded")))
    )
    if inner in ("src/lib.rs", "src/main.rs", "build.rs") or is_automatic:
        return True
    targets = [*(path for _, _, path in targets_of(settings)), settings.get("library", "")]
    return any(target and posixpath.normpath(target) == inner for target in targets)


def manifest_of(path: str, view: FileView) -> str:
    """The nearest `Cargo.toml` above a file; empty where there is none."""
    while path:
        path = posixpath.dirname(path)
        manifest = _join(path, _MANIFEST)
        if view.is_file(manifest):
            return manifest
    return ""


def _parent(path: str, view: FileView) -> ImportTarget | None:
    """The module that declares the file's module; None where the file is none or nothing is
    known.
    """
    folder, name = posixpath.split(path)
    stem = name.removesuffix(".rs")
    if stem == "mod":
        folder, stem = posixpath.split(folder)
    files = ["mod.rs", "lib.rs", "main.rs"]
    candidates = [_join(folder, file) for file in files]
    if folder:
        candidates.insert(1, f"{folder}.rs")
    manifest = manifest_of(path, view)
    if manifest:
        library = view.settings(manifest).get("library")
    else:
        library = None
    if library:
        candidates.append(_join(posixpath.dirname(manifest), library))
    existing = [file for file in candidates if file != path and view.is_file(file)]
    for file in existing:
        for declared in _declared(file, view):
            if declared.rpartition(".")[2] == stem and _declared_file(file, declared, view) == path:
                return ImportTarget(file, declared.rpartition(".")[0])
    if existing:
        return ImportTarget(existing[0])
    if manifest:
        return _declaring(path, manifest, view)
    return None


def _declaring(path: str, manifest: str, view: FileView) -> ImportTarget | None:
    """The module that declares a file by `#[path]`, from the roots of the package on."""
    folder = posixpath.dirname(manifest)
    settings = view.settings(manifest)
    roots = [settings.get("library", "src/lib.rs"), "src/main.rs"]
    roots += [path for _, _, path in targets_of(settings)]
    waiting = [_join(folder, root) for root in roots]
    visited = set[str]()
    while waiting and len(visited) < _MOST_FILES:
        file = waiting.pop()
        if file in visited or not view.is_file(file):
            continue
        visited.add(file)
        for declared in _declared(file, view):
            target = _declared_file(file, declared, view)
            if target == path:
                return ImportTarget(file, declared.rpartition(".")[0])
            if target:
                waiting.append(target)
    return None


def _module_in(target: ImportTarget, name: str, view: FileView) -> ImportTarget | None:
    """The module `name` in another one, which a file or an inline module is."""
    if target.within:
        dotted = f"{target.within}.{name}"
    else:
        dotted = name
    if any(declared.startswith(f"{dotted}.") for declared in _declared(target.path, view)):
        return ImportTarget(target.path, dotted)
    path = _declared_file(target.path, dotted, view)
    if path:
        return ImportTarget(path)
    return None


def _declared(path: str, view: FileView) -> Mapping[str, str]:
    """The `mod name;` of a file: dotted name → `#[path]`."""
    stated = view.settings(path).get(MODULES)
    modules: Mapping[str, str] = json.loads(stated) if stated else {}
    return modules


def _declared_file(path: str, declared: str, view: FileView) -> str:
    """The file of a `mod name;` in a file, inside of inline modules; empty for none."""
    outer, _, name = declared.rpartition(".")
    inline = outer.replace(".", "/")
    folder = posixpath.dirname(path)
    stem = posixpath.basename(path).removesuffix(".rs")
    owns_folder = stem == "mod" or _is_root(path, view)
    own = folder if owns_folder else _join(folder, stem)
    written = _declared(path, view).get(declared, "")
    if written:
        file = _join(_join(own, inline) if inline else folder, written)
        if view.is_file(file):
            return file
        return ""
    # a file that has a path of its own owns its folder, too
    for base in dict.fromkeys((own, folder)):
        for ending in (f"{name}.rs", f"{name}/mod.rs"):
            file = _join(_join(base, inline), ending)
            if file != path and view.is_file(file):
                return file
    return ""


# -- crates


def identifier(name: str) -> str:
    """The name of a package or target as code has it."""
    return name.replace("-", "_")


def targets_of(settings: Mapping[str, str]) -> Sequence[tuple[str, str, str]]:
    """(kind, name, path) of the targets of a `Cargo.toml` that state a path."""
    return [(kind, name, path) for kind, name, path in _list(settings.get("targets"))]


def _library(name: str, importer: str, view: FileView) -> str:
    """The root of the library that a crate's name means in a file; empty outside of the
    repository.
    """
    manifest = manifest_of(importer, view)
    settings = view.settings(manifest) if manifest else {}
    if settings.get("crate") == name:
        own = _library_root(manifest, view)
        if own:
            return own
    dependencies = _object(settings.get("dependencies"))
    package = name
    if name in _STANDARD and name not in dependencies:
        return ""
    if name in dependencies:
        package, path, base = _dependency(name, dependencies, manifest, view)
        if path:
            return _library_root(_join(_join(base, path), _MANIFEST), view)
    for dependency in _renamed(dependencies, manifest, view):
        if view.settings(dependency).get("crate") == name:
            return _library_root(dependency, view)
    manifests = [path for path in view.packages(PACKAGE + package) if path.endswith(_MANIFEST)]
    return next(filter(None, (_library_root(path, view) for path in sorted(manifests))), "")


def _dependency(
    name: str, dependencies: Mapping[str, Any], manifest: str, view: FileView
) -> tuple[str, str, str]:
    """(package, path, the folder that the path is relative to) of a dependency."""
    package, path, is_shared = dependencies[name]
    if not is_shared:
        return package, path, posixpath.dirname(manifest)
    above = manifest
    while above:
        stated = view.settings(above).get("workspace")
        if stated:
            shared = _object(stated).get(name)
            if shared:
                return shared[0], shared[1], posixpath.dirname(above)
            break
        above = manifest_of(posixpath.dirname(above), view)
    return package, path, posixpath.dirname(manifest)


def _renamed(dependencies: Mapping[str, Any], manifest: str, view: FileView) -> Iterator[str]:
    """The manifests of dependencies by a path: their libraries may have names of their own."""
    for name in dependencies:
        _, path, base = _dependency(name, dependencies, manifest, view)
        if path:
            yield _join(_join(base, path), _MANIFEST)


def _library_root(manifest: str, view: FileView) -> str:
    if not view.is_file(manifest):
        return ""
    path = view.settings(manifest).get("library", "src/lib.rs")
    root = _join(posixpath.dirname(manifest), path)
    if view.is_file(root):
        return root
    return ""


def _list(text: str | None) -> list[Any]:
    return json.loads(text) if text else []


def _object(text: str | None) -> dict[str, Any]:
    return json.loads(text) if text else {}
