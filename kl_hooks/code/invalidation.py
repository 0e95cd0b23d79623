"""Which files must be linked again after some changed: those that mention a name whose meaning may have changed.

A link of an unchanged file can only change if a name in its expressions now leads elsewhere. Such a name was defined,
removed or bound anew in a changed file; or the outline of some file binds it to something that mentions such a name:
an import under another name, a base class, the class of a field. So the names are followed through outlines until no
new one comes up.

Of the thousands of files that mention `json` only those are linked again to which a module's `json` can mean
anything. An expression reaches a name of a module only if it mentions the name, and reaches the module: by mentioning
the last part of the module's name (the package around it need not be mentioned: any module may re-export what it
imported under that name); by another name that somebody gave the module; from within it, where a relative import need
not mention it; by a star import; or by something that depends on the name itself, in the outline of a file that can
reach it. Too many files may be found; none that could mean it is missed.

Star imports may bring other names though no name in a changed file shows it: any name, where the module that they
name was added or removed; a submodule, where `__all__` lets it through now or no longer.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal

from kl_hooks.code import name_index
from kl_hooks.code.modules import absolute, plain_name
from kl_hooks.code.scanner.expressions import decode, is_name
from kl_hooks.code.scanner.parser import WORD, Outline
from kl_hooks.store.database import Rows, chunks, placeholders

EVERY: Final = "*"
"""Instead of a name: any name, or any of a module, may mean something else."""
_FEW: Final = 20
"""Changed files up to which it pays to follow who can reach them."""
_MANY: Final = 20
"""Names from which on it takes longer to search for each than to split the text."""
_NAMES: Final = 60
"""Other names of one module, up to which they are followed."""
_FILES: Final = 1500
"""Files that are looked into for one name."""
_STEPS: Final = 400
"""Names of modules that are followed."""
_COMPARED: Final[tuple[Literal["defs", "names", "types", "bases"], ...]] = ("defs", "names", "types", "bases")
_OUTLINES = Callable[[str], Outline | None]
"""Module → its outline, None for one that has none."""


class Unsure(Exception):
    """Too many files would have to be looked into."""


def files_to_relink(
    db: Rows, changed: Sequence[str], was: Mapping[str, Outline], now: Mapping[str, Outline],
    outline: _OUTLINES, module_of: Callable[[str], str],
) -> list[str]:  # fmt: skip
    """The unchanged files that mention a name whose meaning may have changed, and could mean it.

    `changed`: the paths of changed and removed files; `was` and `now`: module → outline of these; `module_of`: path →
    module. The tables `files`, `symbols`, `said` and `renamed` are already up to date.
    """
    below = _submodules_let_through(db, was, now)
    names = changed_names(was, now) | {name for _, name in below}
    if not names:
        return []
    moved = _added_or_removed(was, now)
    starred: set[str] = set()
    try:
        starred = _reach(db, _star_imports_of(db, moved, changed, outline), outline).keys() | starred
    except Unsure:
        names |= {EVERY}

    def outline_of(path: str) -> Outline | None:
        return outline(module_of(path))

    try:
        if EVERY in names or len(changed) > _FEW:
            raise Unsure
        reached = _reach(db, _changed_top_level_names(was, now) | below, outline)
        found, _ = files_to_resolve(names, lambda _: reached, outline_of)
        alone = _defined_nowhere_else(db, names & _defined_names(was, now), changed)
        found |= _paths_mentioning(name_index.files_mentioning(db, names), alone)
    except Unsure:
        found, _ = files_to_resolve(names, lambda some: _mentions(db, some), outline_of)
    return sorted((found | starred | _files_below(db, moved)) - set(changed))


def renames(path: str, outline: Outline) -> list[tuple[str, str, str]]:
    """(word, key, path) of what a file has under another name, and of its star imports."""
    found = {(decode(star).last_name, EVERY) for star in outline.get("stars") or ()}
    for part in (outline.get("names") or {}, outline.get("types") or {}):
        for key, expression in part.items():
            here, there = key.rpartition(".")[2], decode(expression).last_name if is_name(expression) else ""
            if there and there != here:
                found.add((there, here))
    return [(word, key, path) for word, key in sorted(found)]


# -- what changed, by the outlines before and after


def changed_names(old: Mapping[str, Outline], new: Mapping[str, Outline]) -> set[str]:
    """The names whose meaning may differ between two states of some files; module → outline, before and after.

    `EVERY` among them: the names that a changed star import brings can't be known, so any may differ.
    """
    found = {_last(plain_name(module)) for module in _added_or_removed(old, new)}
    for before, after in _pairs(old, new).values():
        for key in _changed_keys(before, after):
            owner, _, name = key.rpartition(".")
            # an expression that makes an instance mentions the class alone, not its `__init__`
            found |= {name, _last(owner)} if name == "__init__" and owner else {name}
        if before.get("stars") != after.get("stars") or before.get("all") != after.get("all"):
            for one in (before, after):
                found |= {key for key in (*(one.get("defs") or ()), *(one.get("names") or ())) if "." not in key}
                found |= {EVERY} if one.get("stars") else set()
    return found


def _changed_top_level_names(old: Mapping[str, Outline], new: Mapping[str, Outline]) -> set[tuple[str, str]]:
    """(module, name) of all that may be something else, by the names at the top of modules: `C` for `C.m`.

    A module that was added or removed is a name of its package too.
    """
    found = {(one.rpartition(".")[0], _last(one)) for one in _added_or_removed(old, new)}
    for module, (before, after) in _pairs(old, new).items():
        every = before.get("all") != after.get("all")
        found |= {(plain_name(module), key.partition(".")[0]) for key in _changed_keys(before, after, every=every)}
    return found


def _pairs(old: Mapping[str, Outline], new: Mapping[str, Outline]) -> dict[str, tuple[Outline, Outline]]:
    return {module: (old.get(module) or {}, new.get(module) or {}) for module in old.keys() | new.keys()}


def _changed_keys(before: Outline, after: Outline, every: bool = False) -> Iterator[str]:
    for part in _COMPARED:
        was: Mapping[str, object] = before.get(part) or {}
        now: Mapping[str, object] = after.get(part) or {}
        yield from (key for key in was.keys() | now.keys() if every or was.get(key) != now.get(key))


def _added_or_removed(old: Mapping[str, Outline], new: Mapping[str, Outline]) -> set[str]:
    """The plain names of modules that may be there only before or only after: the outline of one that can't be read is
    as empty as that of one that defines nothing.
    """
    pairs = _pairs(old, new).items()
    return {plain_name(one) for one, (was, now) in pairs if not any(was.values()) or not any(now.values())}


def _defined_names(old: Mapping[str, Outline], new: Mapping[str, Outline]) -> set[str]:
    """The names of the symbols of these modules, in either state; those of the modules among them."""
    found = {_last(plain_name(module)) for module in (*old, *new)}
    return found | {_last(key) for one in (*old.values(), *new.values()) for key in one.get("defs") or ()}


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _bindings(outline: Outline) -> Iterator[tuple[str, list[str]]]:
    """Each name in an outline, with all names that the expressions for it mention."""
    for part in (outline.get("names") or {}, outline.get("types") or {}):
        yield from ((key, WORD.findall(expression)) for key, expression in part.items())
    yield from ((key, WORD.findall(" ".join(some))) for key, some in (outline.get("bases") or {}).items())


# -- by names alone


def files_to_resolve(
    names: set[str], mentions: Callable[[set[str]], Mapping[str, str]], outline: _OUTLINES
) -> tuple[set[str], set[str]]:
    """The paths that mention one of `names`, or a name that depends on one; and all these names.

    `mentions`: names → path → every identifier it mentions, between spaces, of all paths that mention one of them
    (others may be among these; `EVERY`: all paths). `outline`: path → its outline.
    """
    if EVERY in names:
        return set(mentions(names)), names
    known, new, hit = set(names), set(names), set[str]()
    while new:
        now = _paths_mentioning(mentions(new), new)
        hit |= now
        found = {
            _last(key) for path in now for key, words in _bindings(outline(path) or {}) if not known.isdisjoint(words)
        }
        new = found - known
        known |= new
    return hit, known


def _paths_mentioning(mentions: Mapping[str, str], names: set[str]) -> set[str]:
    return {path for path, words in mentions.items() if _mentions_any(words, names)} if names else set()


def _mentions_any(words: str, names: set[str]) -> bool:
    """True if one of the names is between the spaces. Of few names a search in the text rules most files out."""
    return (len(names) > _MANY or any(name in words for name in names)) and not names.isdisjoint(words.split())


def _mentions(db: Rows, names: Collection[str]) -> dict[str, str]:
    return name_index.all_files(db) if EVERY in names else name_index.files_mentioning(db, names)


def _defined_nowhere_else(db: Rows, names: Collection[str], paths: Sequence[str]) -> set[str]:
    """Those of the names that no symbol of another file has: now they may lead to something, or no longer."""
    sql = f"SELECT 1 FROM symbols WHERE name = ? AND path NOT IN ({placeholders(paths)}) LIMIT 1"
    return {name for name in names if not db.rows(sql, (name, *paths))}


def _files_below(db: Rows, modules: Iterable[str]) -> set[str]:
    """The files under modules, packages or not: their relative imports need not mention the name."""
    sql = "SELECT path FROM files WHERE module >= ? AND module < ?"
    return {row[0] for one in modules for row in db.rows(sql, _below(one))}


def _below(module: str) -> tuple[str, str]:
    """The range of the names below a module's: `/` comes right after `.`."""
    return f"{module}.", f"{module}/"


# -- by names of modules


def _reach(db: Rows, changed: Collection[tuple[str, str]], outline: _OUTLINES) -> dict[str, str]:
    """Path → all that it mentions, of the files that can reach any of `changed` (module, name). Unsure where too many
    could.
    """
    modules = _Modules(db)
    reached: dict[str, str] = {}
    known, new = set(changed), set(changed)
    while new:
        if len(known) > _STEPS:
            raise Unsure
        found: set[tuple[str, str]] = set()
        for module, name in sorted(new):
            for path, words, own in modules.files_reaching(module, name):
                reached[path] = words
                found |= set(_reexporting_names(own, outline(own) or {}, module, name, modules))
            found |= {(starred, name) for starred in modules.importing_all_of(module)}
        new = found - known
        known |= new
    return reached


def _reexporting_names(
    own: str, outline: Outline, module: str, name: str, modules: _Modules
) -> Iterator[tuple[str, str]]:
    """The names of the module `own` that are bound to something which may have to do with a name of `module`."""
    plain = plain_name(own)
    if name == EVERY and plain == module:
        return  # any of its names is being followed
    inside = plain == module or plain.startswith(f"{module}.") or not module
    names = modules.names(module) if module else frozenset[str]()
    for key, words in _bindings(outline):
        if (name == EVERY or name in words) and (inside or not names.isdisjoint(words)):
            yield plain, key.partition(".")[0]


class _Modules:
    """What the database holds of modules and of the files that mention their names; each is asked once."""

    def __init__(self, db: Rows) -> None:
        self._db = db
        self._names: dict[str, frozenset[str]] = {}
        self._under: dict[str, set[int]] = {}

    def names(self, module: str) -> frozenset[str]:
        """The last part of a module's name, and the other names that somebody gave it."""
        if module not in self._names:
            if WORD.fullmatch(_last(module)) is None:
                raise Unsure
            known = new = {_last(module)}
            while new:
                asked = sorted(new)
                rows = self._db.rows(f"SELECT DISTINCT key FROM renamed WHERE word IN ({placeholders(asked)})", asked)
                new = {row[0] for row in rows} - known - {EVERY}
                known = known | new
                if len(known) > _NAMES:
                    raise Unsure
            self._names[module] = frozenset(known)
        return self._names[module]

    def files_reaching(self, module: str, name: str) -> Iterator[tuple[str, str, str]]:
        """(path, all that it mentions, its module) of the files that can reach a name of a module."""
        if not module:
            yield from self._read(name_index.file_numbers(self._db, {name}), lambda words, own: name in words)
            return
        names = self.names(module)
        numbers = name_index.file_numbers(self._db, names) | self._inside(module)
        if name != EVERY:
            numbers &= name_index.file_numbers(self._db, {name})

        def reaches(words: set[str], own: str) -> bool:
            near = own.startswith(f"{module}.") or not words.isdisjoint(names)
            return own == module or (near and (name == EVERY or name in words))

        # `A` comes right after `@`: the range of all files that share the name of the module
        itself = self._numbers("f.module = ? OR (f.module >= ? AND f.module < ?)", module, f"{module}@", f"{module}A")
        yield from self._read(numbers | itself, reaches)

    def importing_all_of(self, module: str) -> set[str]:
        """The modules that may have a star import of this one."""
        if not module:
            return set()
        # empty: a star import of the package around (`from . import *`) mentions no name
        words = ["", *sorted(self.names(module))]
        sql = (
            "SELECT f.module, r.word FROM renamed r JOIN files f ON f.path = r.path"
            f" WHERE r.key = ? AND r.word IN ({placeholders(words)})"
        )
        found = {(plain_name(own), word) for own, word in self._db.rows(sql, (EVERY, *words))}
        return {own for own, word in found if word or own == module or own.startswith(f"{module}.")} - {module}

    def _read(self, numbers: Collection[int], fits: Callable[[set[str], str], bool]) -> Iterator[tuple[str, str, str]]:
        if len(numbers) > _FILES:
            raise Unsure
        for some in chunks(sorted(numbers)):
            sql = "SELECT s.path, s.names, f.module FROM said s JOIN files f ON f.path = s.path WHERE s.number IN"
            for path, names, own in self._db.rows(f"{sql} ({placeholders(some)})", some):
                if fits(set(names.split()), plain_name(own)):
                    yield path, names, own

    def _inside(self, module: str) -> set[int]:
        """The numbers of the files under a package: their relative imports need not mention its name."""
        if module not in self._under:
            self._under[module] = self._numbers("f.module >= ? AND f.module < ?", *_below(module))
        return self._under[module]

    def _numbers(self, condition: str, *params: str) -> set[int]:
        sql = f"SELECT s.number FROM said s JOIN files f ON f.path = s.path WHERE {condition}"
        return {row[0] for row in self._db.rows(sql, params)}


# -- star imports


def _star_imports_of(db: Rows, moved: set[str], changed: Collection[str], outline: _OUTLINES) -> set[tuple[str, str]]:
    """(module, EVERY) of each with a star import of a module that was added or removed (`moved`): what was nowhere may
    be outside now, or the other way.
    """
    around = {name for one in moved for name in _packages_around(one)} - moved
    words = sorted({_last(one) for one in moved | around})
    found = set()
    for some in chunks(["", *words] if words else []):
        sql = f"SELECT DISTINCT f.path, f.module FROM renamed r JOIN files f ON f.path = r.path WHERE r.key = '{EVERY}'"
        for path, module in db.rows(f"{sql} AND r.word IN ({placeholders(some)})", some):
            stars = (outline(module) or {}).get("stars") or ()
            inside = path.endswith("/__init__.py") or path == "__init__.py"
            sources = {absolute(*decode(star).import_base, module, inside) for star in stars}
            if sources & moved or any(not _is_still_package(db, one, changed) for one in sources & around if one):
                found.add((plain_name(module), EVERY))
    return found


def _submodules_let_through(db: Rows, old: Mapping[str, Outline], new: Mapping[str, Outline]) -> set[tuple[str, str]]:
    """(package, submodule) of those that a star import brings now or no longer, because of `__all__`."""
    found = set()
    for module in old.keys() & new.keys():
        if old[module].get("all") != new[module].get("all"):
            plain = plain_name(module)
            rows = db.rows("SELECT module FROM files WHERE module >= ? AND module < ?", _below(plain))
            names = {plain_name(row[0][len(plain) + 1 :]).partition(".")[0] for row in rows}
            found |= {(plain, name) for name in names if _exports(old[module], name) != _exports(new[module], name)}
    return found


def _packages_around(module: str) -> Iterator[str]:
    while module := module.rpartition(".")[0]:
        yield module


def _is_still_package(db: Rows, package: str, changed: Collection[str]) -> bool:
    """True if a folder was a package before and still is (PEP 420): something in it is unchanged."""
    # one more than can have changed: of so many, one at least is unchanged, and a large package need not be read
    sql = "SELECT path FROM files WHERE module >= ? AND module < ? LIMIT ?"
    return any(row[0] not in changed for row in db.rows(sql, (*_below(package), len(changed) + 1)))


def _exports(outline: Outline, name: str) -> bool:
    names = outline.get("all")
    return name in names if names is not None else not name.startswith("_")
