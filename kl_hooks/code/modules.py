"""Modules: which one a file is, which one an import means, and the links between them; nothing is imported for it.

The rules, in their order:
1. A folder with `__init__.py` is a package; what is in it is named from the outermost such folder on.
2. The folder that a name starts from is the *source root*. Under a folder called `src` every folder is part of the
   name, with or without `__init__.py` (PEP 420). Elsewhere folders without `__init__.py` between a package and its
   project (the nearest folder with `setup.py`, `setup.cfg` or `pyproject.toml` among the paths, else the repository)
   are part of the name if something imports it by that longer name, or if the shorter name is one of Python's own.
3. A file in no package (a script, a test) is named by its path from its project; by a shorter end of that path if
   something imports it so.
4. Files that get one name are qualified by path, `conftest@tests/a/conftest.py`, save a package beside a module of
   the same name, which Python prefers and so keeps the name.

An import of a name means the module of that name whose path is nearest to the importing file. The links between
modules are resolved within the repository; what it does not have keeps the name it is imported by.

The database holds what the names were decided by, so that an edit decides them anew only where it must: of a few
files that were added or removed, only the files that mention their names are looked into.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from kl_hooks.code.scanner.parser import WORD, Facts, Key
from kl_hooks.model.symbol import Link
from kl_hooks.store.database import Rows, placeholders

MARKERS: Final = ("pyproject.toml", "setup.cfg")
"""Their names; `setup.py` marks a project too, and is source."""


def is_marker(path: str) -> bool:
    """True for a file of `MARKERS`."""
    return path.endswith(MARKERS) and path.rpartition("/")[2] in MARKERS


def stored_markers(db: Rows, condition: str, params: Sequence[str]) -> set[str]:
    """The files that marked projects when names were last decided; of those that fit a condition over `path`."""
    return {row[0] for row in db.rows(f"SELECT path FROM marks WHERE {condition}", tuple(params))}


def _store_markers(db: Rows, markers: Collection[str]) -> None:
    """From now on these mark projects. Inside one transaction."""
    db.execute("DELETE FROM marks")
    db.many("INSERT INTO marks (path) VALUES (?)", [(path,) for path in sorted(markers)])


_INIT: Final = "__init__.py"


class Mapped(NamedTuple):
    """How a file got its name."""

    module: str
    root: str
    """The source root: the folder that the name starts from; empty for the top of the repository."""
    rule: str
    """A key of `RULES`."""
    same: tuple[str, ...] = ()
    """Other files that would have the same name, and why this one's is qualified by its path, if it is."""


RULES: Final = {
    "package": "it is in a package: the name starts with the outermost folder that has an __init__.py",
    "src": "it stands under src: every folder below that is part of the name, __init__.py or not",
    "imported": "an import asks for it by this longer name (a namespace package, PEP 420)",
    "python's own": "the shorter name is one of Python's own, so the folders above are part of it",
    "script": "it is in no package: named by its path from its project, as a script or test",
    "script imported": "it is in no package, and an import asks for it by this name",
}
"""Rule → what it says to a person."""


def module_names(paths: Sequence[str], imported: Collection[str] = ()) -> dict[str, str]:
    """Path → dotted name for each `.py` file among `paths` (from the repository's root, with `/`).

    `imported` are the absolute names that the repository's imports ask for (`imported_names`), with their parents;
    they decide where the folders alone do not. The answer does not depend on the order of either.
    """
    return _qualified({path: _dotted(path, start) for path, (start, _) in _starts(paths, imported).items()})


def module_name(path: str, packages: Container[str], projects: Container[str], imported: Container[str]) -> str:
    """How `module_names` would name one `.py` file if no other got that name.

    `packages`: the folders that hold an `__init__.py`; `projects`: those that hold a mark of a project, or `setup.py`.
    """
    folder = _folder(path)
    if folder in packages:
        return _dotted(path, _package_start(folder, packages, projects, imported)[0])
    return _dotted(path, _file_start(path, projects, imported)[0])


def explain(paths: Sequence[str], imported: Collection[str], path: str) -> Mapped | None:
    """How `module_names` names one file; None where it is none of its files."""
    starts = _starts(paths, imported)
    if path not in starts:
        return None
    names = {one: _dotted(one, start) for one, (start, _) in starts.items()}
    start, rule = starts[path]
    same = tuple(sorted(one for one, name in names.items() if name == names[path] and one != path))
    return Mapped(_qualified(names)[path], "/".join(path.split("/")[:start]), rule, same)


def _starts(paths: Sequence[str], imported: Collection[str]) -> dict[str, tuple[int, str]]:
    """Path → how many leading folders its name leaves out, and the rule that said so."""
    python = [path for path in paths if path.endswith(".py")]
    packages = {_folder(path) for path in python if path.rpartition("/")[2] == _INIT}
    projects = {_folder(path) for path in paths if is_marker(path) or path.rpartition("/")[2] == "setup.py"}
    of_packages: dict[str, tuple[int, str]] = {}
    starts: dict[str, tuple[int, str]] = {}
    for path in python:
        folder = _folder(path)
        if folder not in of_packages and folder in packages:
            of_packages[folder] = _package_start(folder, packages, projects, imported)
        starts[path] = of_packages[folder] if folder in packages else _file_start(path, projects, imported)
    return starts


def imported_names(facts: Mapping[str, Mapping[str, Any]]) -> set[str]:
    """Every absolute module name that some file imports, with its parents: `a.b` gives `a.b` and `a`.

    Of `from a import b` both `a` and `a.b`: `b` may be a module.
    """
    return names_in(one["imports"] for one in facts.values())


def names_in(imports: Iterable[Iterable[Sequence[Any]]]) -> set[str]:
    """The same of the import rows of some files."""
    found: set[str] = set()
    for rows in imports:
        for module, name, level, *_ in rows:
            if level == 0:
                found.add(module)
                if name and name != "*":
                    found.add(f"{module}.{name}")
    for module in list(found):
        while (module := module.rpartition(".")[0]) and module not in found:
            found.add(module)
    return found


def plain_name(module: str) -> str:
    """The name as an import would say it: without what qualifies it by path."""
    return module.partition("@")[0]


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _parts(folder: str) -> list[str]:
    return folder.split("/") if folder else []


def _dotted(path: str, start: int) -> str:
    parts = path.removesuffix(".py").split("/")[start:]
    if parts[-1] == "__init__" and len(parts) > 1:
        parts.pop()
    return ".".join(parts)


def _project(folder: str, projects: Container[str]) -> int:
    """How many leading parts of `folder` are its project's."""
    parts = _parts(folder)
    return next((n for n in range(len(parts), 0, -1) if "/".join(parts[:n]) in projects), 0)


def _source(parts: Sequence[str], most: int) -> int | None:
    """Where the name starts under the last `src` folder among the first `most` parts; None without one."""
    return next((n for n in range(most, 0, -1) if parts[n - 1] == "src"), None)


def _package_start(
    folder: str, packages: Container[str], projects: Container[str], imported: Container[str]
) -> tuple[int, str]:
    """Where the names of a package's modules start: counted in leading folders that are left out."""
    parts = _parts(folder)
    top = len(parts)
    while top > 1 and "/".join(parts[: top - 1]) in packages:
        top -= 1
    shortest = max(top - 1, 0)
    source = _source(parts, shortest)
    if source is not None:
        return source, "src" if source < shortest else "package"
    longest = min(_project("/".join(parts[:shortest]), projects), shortest)
    asked = [n for n in range(longest, shortest) if ".".join(parts[n:top]) in imported]
    if asked:
        return asked[0], "imported"
    own = parts[shortest] in sys.stdlib_module_names if parts else False
    return (longest, "python's own") if own and longest < shortest else (shortest, "package")


def _file_start(path: str, projects: Container[str], imported: Container[str]) -> tuple[int, str]:
    folders = _parts(_folder(path))
    source = _source(folders, len(folders))
    if source is not None:
        return source, "src"
    longest = _project(_folder(path), projects)
    asked = (n for n in range(longest, len(folders) + 1) if _dotted(path, n) in imported)
    found = next(asked, None)
    start = longest if found is None else found
    if start == len(folders) and _dotted(path, start) in sys.stdlib_module_names:
        return longest, "python's own" if longest < start else "script"
    return start, "script" if found is None else "script imported"


def _qualified(names: Mapping[str, str]) -> dict[str, str]:
    same: dict[str, list[str]] = {}
    for path, name in names.items():
        same.setdefault(name, []).append(path)
    made = dict(names)
    for name, paths in same.items():
        inits = [path for path in paths if path.endswith("/" + _INIT)]
        kept = inits[0] if len(inits) == 1 else None
        if len(paths) > 1:
            made.update({path: f"{name}@{path}" for path in paths if path != kept})
    return made


def import_links(facts: Mapping[str, Mapping[str, Any]], modules: Mapping[str, str]) -> list[Link]:
    """The import Links of the files in `facts`, sorted by path and line; `modules` maps every path to its name.

    `from pkg import mod` leads to `namespace:pkg.mod` where that is a module, else to `namespace:pkg`. What the
    repository does not have keeps the name it is imported by. `method` says how: see `code.imports_found`.
    An import of a module's own name (`from . import x` in a package) is none; a relative import that leads out of
    its package has no target and is left out. A name that we do not know below a module that we do (generated, or
    compiled) leads to the nearest one above it with confidence 50.
    """
    known = ModuleIndex(modules)
    return [link for path in sorted(facts) for link in file_links(path, facts[path]["imports"], known)]


class ModuleIndex:
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


def file_links(path: str, rows: Iterable[Sequence[Any]], known: ModuleIndex) -> list[Link]:
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


def _target(base: str, name: str, path: str, known: ModuleIndex) -> tuple[str, int]:
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


class StoredModuleIndex(ModuleIndex):
    """The same answers, each read when it is first asked for."""

    def __init__(self, db: Rows) -> None:
        super().__init__({})
        self._db = db
        self._found: dict[str, list[tuple[str, str]]] = {}
        self._above: dict[str, bool] = {}
        self._asked: dict[str, str] = {}

    def module_of(self, path: str) -> str:
        found = self._db.rows("SELECT module FROM files WHERE path = ?", (path,))
        if not found:
            raise KeyError(path)
        return str(found[0][0])

    def path_of(self, module: str) -> str:
        if module not in self._asked:
            found = self._db.rows("SELECT path FROM files WHERE module = ?", (module,))
            self._asked[module] = str(found[0][0]) if found else ""
        return self._asked[module]

    def inside(self, name: str) -> bool:
        if "@" in name:
            return False
        if name not in self._above:
            sql = "SELECT 1 FROM files WHERE module >= ? AND module < ? LIMIT 1"
            self._above[name] = bool(self._db.rows(sql, (f"{name}.", f"{name}/")))  # `/` comes right after `.`
        return self._above[name]

    def called(self, name: str) -> Sequence[tuple[str, str]]:
        if "@" in name:
            return ()
        if name not in self._found:
            sql = "SELECT path, module FROM files WHERE module = ? OR (module >= ? AND module < ?)"
            self._found[name] = self._db.rows(sql, (name, f"{name}@", f"{name}A"))  # `A` comes right after `@`
        return self._found[name]


class QueriedNames(Collection[str]):
    """Names that are imported, which remembers what it was asked for."""

    def __init__(self, names: Collection[str]) -> None:
        self._names = names
        self.answers: dict[str, bool] = {}

    def __contains__(self, name: object) -> bool:
        found = name in self._names
        self.answers[str(name)] = found
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def still_valid(db: Rows, old: Collection[str], new: Collection[str]) -> bool:
    """True if names that were decided before stay, now that some files import `new` instead of `old`.

    A name that is no longer imported by these may still be by others: then it is worked out again, to be sure.
    """
    before, now = set(old), set(new)
    changed = [*((name, 0) for name in now - before), *((name, 1) for name in before - now)]
    if not changed:
        return True
    answers = dict(db.rows("SELECT name, asked_for FROM naming"))
    return all(answers.get(name, 1 - answer) != answer for name, answer in changed)


class Decision(NamedTuple):
    """What all modules are called, and what that was decided by."""

    modules: dict[str, str]
    """Path → module."""
    answers: dict[str, bool]
    """Name that somebody might import → whether somebody does."""


def decide_names(paths: Iterable[str], markers: Collection[str], imports: Collection[str]) -> Decision:
    """The names of the modules of these files. `imports`: what all of them import."""
    asked = QueriedNames(imports)
    modules = module_names([*paths, *markers], asked)
    return Decision(modules, asked.answers)


def decide_stored_names(
    db: Rows,
    wanted: Mapping[str, Key],
    markers: Collection[str] = (),
    known: Mapping[Key, Facts] | None = None,
) -> dict[str, str]:
    """Path → module of all files, from what all of them import; what decided it is kept. Inside one transaction.

    `markers`: paths of the files that mark projects. `known`: facts that need not be read again.
    """
    from kl_hooks.code import facts_cache

    known = known or {}
    loaded = facts_cache.load(db, {key for key in wanted.values() if key not in known}, symbols=False)
    imports = absolute_imports(facts for key in set(wanted.values()) if (facts := known.get(key) or loaded.get(key)))
    return store_decision(db, decide_names(wanted, markers, imports), markers)


def store_decision(db: Rows, decision: Decision, markers: Collection[str]) -> dict[str, str]:
    """Keeps what decided the names; gives them."""
    db.execute("DELETE FROM naming")
    db.many("INSERT INTO naming (name, asked_for) VALUES (?, ?)", sorted(decision.answers.items()))
    _store_markers(db, markers)
    return decision.modules


def absolute_imports(facts: Iterable[Mapping[str, Any]]) -> set[str]:
    """The absolute names that these files import."""
    return names_in(one["imports"] for one in facts)


_FEW: Final = 50
"""Files that came or went, up to which it is tried."""
_SAYING: Final = 300
"""Files that are looked into for one name."""
_DECIDING: Final = ("__init__.py", "setup.py")
"""Files that decide how others are called."""


class Unsure(Exception):
    """It would take a look at all files."""


def names_of_added(
    db: Rows, came: Collection[str], went: Mapping[str, str], changed: Collection[str], new: Collection[str]
) -> dict[str, str] | None:  # fmt: skip
    """Path → module of the files that came; None where another file may be called otherwise now.

    `went`: path → module; `changed`: the paths of all files whose content is not as the database has it; `new`: the
    names that these import. The tables are as they were. Marks of projects are the same, and what is imported now or no
    longer decides nothing that was decided before (`still_holds`). In one transaction.
    """
    if len(came) + len(went) > _FEW or any(path.rpartition("/")[2] in _DECIDING for path in (*came, *went)):
        return None
    modules, imported = StoredModuleIndex(db), _ImportedNames(db, {*changed, *went}, new)
    packages, projects = _Packages(db), _Projects(db)
    if any(len(modules.called(plain_name(module))) != 1 or "@" in module for module in went.values()):
        return None
    found: dict[str, str] = {}
    try:
        for path in sorted(came):
            name = module_name(path, packages, projects, imported) if path.endswith(".py") else path
            if path.endswith(".py") and ("@" in name or modules.called(name) or name in found.values()):
                return None
            found[path] = name
    except Unsure:
        return None
    imported.keep()
    return found


class _Packages(Container[str]):
    """The folders that hold an `__init__.py`."""

    def __init__(self, db: Rows) -> None:
        self._db = db

    def __contains__(self, folder: object) -> bool:
        return _is_there(self._db, f"{folder}/__init__.py" if folder else "__init__.py")


class _Projects(Container[str]):
    """The folders that hold a mark of a project, or `setup.py`."""

    def __init__(self, db: Rows) -> None:
        self._db = db
        self._marked = {path.rpartition("/")[0] for path in stored_markers(db, "path >= ?", ("",))}

    def __contains__(self, folder: object) -> bool:
        return folder in self._marked or _is_there(self._db, f"{folder}/setup.py" if folder else "setup.py")


def _is_there(db: Rows, path: str) -> bool:
    return bool(db.rows("SELECT 1 FROM files WHERE path = ?", (path,)))


class _ImportedNames(Container[str]):
    """The names that are imported: as was decided the last time, else by whoever says them."""

    def __init__(self, db: Rows, changed: Collection[str], new: Collection[str]) -> None:
        self._db, self._changed, self._new = db, changed, new
        self._answers: dict[str, bool] = {}
        self._known = dict(db.rows("SELECT name, asked_for FROM naming"))

    def __contains__(self, name: object) -> bool:
        text = str(name)
        if text not in self._answers:
            self._answers[text] = self._answer(text)
        return self._answers[text]

    def keep(self) -> None:
        """Remembers what was asked: whoever imports it one day, or no longer, decides again."""
        rows = sorted(self._answers.items())
        self._db.many("DELETE FROM naming WHERE name = ?", [row[:1] for row in rows])
        self._db.many("INSERT INTO naming (name, asked_for) VALUES (?, ?)", rows)

    def _answer(self, name: str) -> bool:
        if name in self._new:
            return True
        known = self._known.get(name)
        return bool(known) if known is not None else self._by_others(name)

    def _by_others(self, name: str) -> bool:
        """True if a file imports it that is as it was. Unsure where too many say it."""
        from kl_hooks.code import facts_cache, name_index

        words = WORD.findall(name.rpartition(".")[2])
        paths = sorted(name_index.files_mentioning(self._db, {words[-1]}).keys() - self._changed) if words else []
        if not words or len(paths) > _SAYING:
            raise Unsure
        sql = f"SELECT blob, scanner FROM files WHERE path IN ({placeholders(paths)})"
        facts = facts_cache.load(self._db, {(blob, scanner) for blob, scanner in self._db.rows(sql, paths)}, False)
        return name in imported_names(dict(enumerate(facts.values())))  # type: ignore[arg-type]
