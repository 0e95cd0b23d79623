"""From what files import to Links between modules: resolved within the repository, others kept as they are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kl_hooks.code.modules import plain_name
from kl_hooks.model.symbol import Link


def import_links(facts: Mapping[str, Mapping[str, Any]], modules: Mapping[str, str]) -> list[Link]:
    """The import Links of the files in `facts`, sorted by path and line; `modules` maps every path to its name.

    `from pkg import mod` leads to `namespace:pkg.mod` where that is a module, else to `namespace:pkg`. What the
    repository does not have keeps the name it is imported by. `method` says how: see `code.imports_found`.
    An import of a module's own name (`from . import x` in a package) is none; a relative import that leads out of
    its package has no target and is left out. A name that we do not know below a module that we do (generated, or
    compiled) leads to the nearest one above it with confidence 50.
    """
    known = Known(modules)
    return [link for path in sorted(facts) for link in file_links(path, facts[path]["imports"], known)]


class Known:
    """The modules of the repository, asked by the names that imports use."""

    def __init__(self, modules: Mapping[str, str]) -> None:
        self._modules = modules
        self._paths = {module: path for path, module in modules.items()}
        self._parents: set[str] | None = None
        self._by_name: dict[str, list[tuple[str, str]]] = {}
        for path, module in modules.items():
            self._by_name.setdefault(plain_name(module), []).append((path, module))

    def module_of(self, path: str) -> str:
        """The module that a file is. KeyError for none of the files."""
        return self._modules[path]

    def path_of(self, module: str) -> str:
        """The file of a module; empty for none of the modules."""
        return self._paths.get(module, "")

    def inside(self, name: str) -> bool:
        """True if modules stand under this name, whether it is a module itself or not (PEP 420)."""
        if self._parents is None:
            self._parents = set()
            for one in self._by_name:
                while (one := one.rpartition(".")[0]) and one not in self._parents:
                    self._parents.add(one)
        return name in self._parents

    def find(self, name: str, importer: str) -> str | None:
        """The module called `name`; of several the one whose path is nearest to the file `importer`'s.

        Of a package and a module beside it, which are equally near, the package: so does Python.
        """
        found = self.called(name)
        if not found:
            return None
        if len(found) == 1:
            return found[0][1]
        return min(found, key=lambda one: (-_shared(one[0], importer), one[1] != name, one[0]))[1]

    def called(self, name: str) -> Sequence[tuple[str, str]]:
        """(path, module) of all that an import of this name may mean."""
        return self._by_name.get(name, ())


def file_links(path: str, rows: Iterable[Sequence[Any]], known: Known) -> list[Link]:
    """The import Links of one file, of its import rows; each (target, line, manner) once, in the order of lines."""
    module = known.module_of(path)
    links: dict[tuple[str, int, str], Link] = {}
    for wanted, name, level, line, how, _ in rows:
        base = absolute(wanted, level, module, path.endswith("/__init__.py") or path == "__init__.py")
        if base is None:
            continue
        target, confidence = _target(base, name, path, known)
        if target != module:
            link = Link(f"namespace:{module}", "imports", f"namespace:{target}", path, line, how, confidence)
            links.setdefault((target, line, how), link)
    return sorted(links.values(), key=lambda link: (link.line, link.target, link.method))


def absolute(wanted: str, level: int, module: str, is_package: bool) -> str | None:
    """The absolute name of a relative import; None where it leads out of the outermost package."""
    if not level:
        return wanted
    package = plain_name(module).split(".")
    up = level - 1 if is_package else level
    if up >= len(package):
        return None
    return ".".join([*package[: len(package) - up], *filter(None, [wanted])])


def _target(base: str, name: str, path: str, known: Known) -> tuple[str, int]:
    if name and name != "*":
        deeper = known.find(f"{base}.{name}", path)
        if deeper is not None:
            return deeper, 100
    found = known.find(base, path)
    if found is not None:
        return found, 100
    above = base
    while above := above.rpartition(".")[0]:
        found = known.find(above, path)
        if found is not None:
            return found, 50
    return base, 100


def _shared(a: str, b: str) -> int:
    """How many leading folders two paths share."""
    count = 0
    for one, other in zip(a.split("/")[:-1], b.split("/")[:-1], strict=False):
        if one != other:
            break
        count += 1
    return count
