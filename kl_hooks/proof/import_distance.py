"""Import distance: how many imports lead from a file to one that changed, by the source as it
reads.

It ranks tests that no run recorded. It proves nothing: a test may start a program, or import by a
name that is made while it runs.
"""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from kl_hooks.code.modules import module_names, plain_name
from kl_hooks.graph import links
from kl_hooks.graph.links import reach
from kl_hooks.model.symbol import is_test_path, split_id

if TYPE_CHECKING:
    from kl_hooks.store.database import Database

_TYPE_CHECKING: Final = "type-checking import"
"""The method of an import that only type checkers see: nothing of it runs."""
_USES: Final = ("calls", "references", "inherits", "implements")


def import_distances(db: Database, changed: Collection[str]) -> dict[str, int]:
    """Return, for each file that reaches one of the changed files, how many imports that takes.

    0 for the changed files themselves. A file whose source could not be parsed is among them with
    1: what it imports is unknown. `changed` may name removed files.
    """
    importers = _importers(db, changed)
    distance_of = dict.fromkeys(changed, 0)
    front: Collection[str] = list(changed)
    distance = 0
    while front:
        distance += 1
        front = {
            importer
            for path in front
            for importer in importers.get(path, ())
            if importer not in distance_of
        }
        distance_of.update(dict.fromkeys(front, distance))
    if changed:
        for (path,) in db.rows("SELECT path FROM files WHERE error <> ''"):
            distance_of.setdefault(str(path), 1)
    return distance_of


def use_distances(db: Database, symbols: Collection[str]) -> dict[str, int]:
    """Return test → how many calls and other uses lead from it to one of the symbols, by ID."""
    if symbols:
        levels = reach(db, symbols, relations=_USES).levels
    else:
        levels = {}
    # a test is one link away from its function; a changed test function is not asked for
    return {
        identifier.removeprefix("test:"): max(1, level - 1)
        for identifier, level in levels.items()
        if identifier.startswith("test:")
    }


def _importers(db: Database, changed: Collection[str]) -> dict[str, set[str]]:
    """Return file → the files whose import runs it too: importers, and tests of a `conftest.py`."""
    module_of = {str(path): plain_name(str(name)) for path, name in _modules(db)}
    removed = sorted(path for path in changed if path not in module_of and path.endswith(".py"))
    if removed:
        names = module_names([*module_of, *removed])
    else:
        names = {}
    paths_of: dict[str, set[str]] = {}
    for path, name in [*module_of.items(), *((path, plain_name(names[path])) for path in removed)]:
        paths_of.setdefault(name, set()).add(path)
    importers: dict[str, set[str]] = {}

    def add(importer: str, module: str) -> None:
        for name in _with_parents(module):
            for imported in paths_of.get(name, ()):
                importers.setdefault(imported, set()).add(importer)

    for link in links.every(db):
        if link.relation == "imports" and link.method != _TYPE_CHECKING:
            add(link.path, plain_name(split_id(link.target)[1]))
    for path, name in module_of.items():
        add(path, name)
        for conftest in _conftests(path) if is_test_path(path) else ():
            importers.setdefault(conftest, set()).add(path)
    for path in removed:
        # what the statements of its importers mean now is its package
        package = names[path].rpartition(".")[0]
        importers.setdefault(path, set()).update(paths_of.get(package, ()))
    return importers


def _modules(db: Database) -> list[tuple[str, str]]:
    return [(path, name) for path, name in db.rows("SELECT path, module FROM files")]


def _with_parents(module: str) -> Iterator[str]:
    """Yield a module and the packages around it, which Python runs before it."""
    parts = module.split(".")
    for end in range(len(parts), 0, -1):
        yield ".".join(parts[:end])


def _conftests(path: str) -> Sequence[str]:
    """Return the paths that a `conftest.py` for this file may have."""
    folders = [posixpath.dirname(path)]
    while folders[-1]:
        folders.append(posixpath.dirname(folders[-1]))
    return [posixpath.join(folder, "conftest.py") for folder in folders]
