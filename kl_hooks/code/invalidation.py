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
reach it. Too many files may be found; none that could mean it is left out.

Star imports may bring other names though no name in a changed file shows it: any name, where the module that they
name was added or removed; a submodule, where `__all__` lets it through now or no longer.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Final

from kl_hooks.code import name_index
from kl_hooks.code.modules import absolute, plain_name
from kl_hooks.code.scanner.expressions import decode, is_name
from kl_hooks.code.scanner.parser import WORD, Outline
from kl_hooks.store.database import Rows, chunks, placeholders

EVERY: Final = "*"
"""Instead of a name: any name may mean something else."""
_EMPTY: Final[Outline] = {}
_MANY: Final = 20
"""Names from which on it takes longer to search for each than to take the text apart."""


def changed_names(old: Mapping[str, Outline], new: Mapping[str, Outline]) -> set[str]:
    """The names whose meaning may differ between two states of some files; module → outline, before and after.

    `EVERY` among them: the names that a changed star import brings can't be told, so any may differ.
    """
    found: set[str] = set()
    for module in old.keys() | new.keys():
        before, after = old.get(module, _EMPTY), new.get(module, _EMPTY)
        if was_added_or_removed(before, after):
            found.add(module.partition("@")[0].rpartition(".")[2])
        for part in ("defs", "names", "types", "bases"):
            was, now = before.get(part) or {}, after.get(part) or {}
            for key in was.keys() | now.keys():
                if was.get(key) != now.get(key):
                    owner, _, name = key.rpartition(".")
                    # who makes an instance says the name of the class alone
                    found |= {name, owner.rpartition(".")[2]} if name == "__init__" and owner else {name}
        if before.get("stars") != after.get("stars") or before.get("all") != after.get("all"):
            found |= _public(before) | _public(after) | _starred(before) | _starred(after)
    return found


def defined_names(old: Mapping[str, Outline], new: Mapping[str, Outline]) -> set[str]:
    """The names that symbols of these modules bear, in either state; those of the modules among them."""
    found = {module.partition("@")[0].rpartition(".")[2] for module in (*old, *new)}
    return found | {key.rpartition(".")[2] for one in (*old.values(), *new.values()) for key in one.get("defs") or ()}


def was_added_or_removed(before: Outline, after: Outline) -> bool:
    """True where a module may be there only before or only after: one that can't be read has an outline as empty as one
    that says nothing.
    """
    return not any(before.values()) or not any(after.values())


def files_to_resolve(
    names: set[str], mentions: Callable[[set[str]], Mapping[str, str]], outline: Callable[[str], Outline | None]
) -> tuple[set[str], set[str]]:
    """The paths that say one of `names`, or a name that depends on one; and all these names.

    `mentions`: names → path → every identifier it says, between spaces, of all paths that say one of them (others may
    be among these; `EVERY`: all paths). `outline`: path → its outline.
    """
    if EVERY in names:
        return set(mentions(names)), names
    known, new, hit = set(names), set(names), set[str]()
    while new:
        now = paths_mentioning(mentions(new), new)
        hit |= now
        found: set[str] = set()
        for path in now:
            found |= _dependent(outline(path) or _EMPTY, known)
        new = found - known
        known |= new
    return hit, known


def paths_mentioning(mentions: Mapping[str, str], names: set[str]) -> set[str]:
    """The paths that say one of `names`."""
    return {path for path, words in mentions.items() if _mentions_any(words, names)} if names else set()


def _mentions_any(words: str, names: set[str]) -> bool:
    """True if one of the names stands between the spaces. Of few names a search in the text rules most files out."""
    return (len(names) > _MANY or any(name in words for name in names)) and not names.isdisjoint(words.split())


def _dependent(outline: Outline, names: set[str]) -> set[str]:
    """The names in an outline that stand for something which says one of `names`."""
    found = set()
    for part in ("names", "types"):
        for key, expression in (outline.get(part) or {}).items():
            if not names.isdisjoint(WORD.findall(expression)):
                found.add(key.rpartition(".")[2])
    for key, expressions in (outline.get("bases") or {}).items():
        if not names.isdisjoint(WORD.findall(" ".join(expressions))):
            found.add(key.rpartition(".")[2])
    return found


def _public(outline: Outline) -> set[str]:
    return {key for part in ("defs", "names") for key in outline.get(part) or () if "." not in key}


def _starred(outline: Outline) -> set[str]:
    return {EVERY} if outline.get("stars") else set()


STAR: Final = "*"
"""Instead of a name: any of the module."""
_NAMES: Final = 60
"""Other names of one module, up to which they are followed."""
_FILES: Final = 1500
"""Files that are looked into for one name."""
_STEPS: Final = 400
"""Names of modules that are followed."""
_PARTS: Final = ("names", "types")


class Unsure(Exception):
    """It would lead to too many."""


def renames(path: str, outline: Outline) -> list[tuple[str, str, str]]:
    """(word, key, path) of what a file has under another name, and of its star imports."""
    found = set()
    for part in _PARTS:
        for key, expression in (outline.get(part) or {}).items():
            here, there = key.rpartition(".")[2], decode(expression).last_name if is_name(expression) else ""
            if there and there != here:
                found.add((there, here))
    for star in outline.get("stars") or ():
        found.add((decode(star).last_name, STAR))
    return [(word, key, path) for word, key in sorted(found)]


def changed_top_level_names(old: Mapping[str, Outline], new: Mapping[str, Outline]) -> set[tuple[str, str]]:
    """(module, name) of all that may be something else, by the names at the top of modules: `C` for `C.m`.

    A module that came or went is a name of its package too.
    """
    found: set[tuple[str, str]] = set()
    for module in old.keys() | new.keys():
        plain = plain_name(module)
        before, after = old.get(module) or {}, new.get(module) or {}
        if was_added_or_removed(before, after):
            package, _, last = plain.rpartition(".")
            found.add((package, last))
        for part in ("defs", "names", "types", "bases"):
            was, now = before.get(part) or {}, after.get(part) or {}
            keys = was.keys() | now.keys()
            if before.get("all") == after.get("all"):
                keys = {key for key in keys if was.get(key) != now.get(key)}
            found |= {(plain, key.partition(".")[0]) for key in keys}
    return found


def reach(db: Rows, changed: Collection[tuple[str, str]], outline: Callable[[str], Outline | None]) -> dict[str, str]:
    """Path → all that it says, of the files that can come to any of `changed` (module, name). Unsure where too many
    could. `outline`: module → its outline, None for one that has none. The tables are as they are to be.
    """
    looked = _Modules(db)
    reached: dict[str, str] = {}
    known, new = set(changed), set(changed)
    while new:
        if len(known) > _STEPS:
            raise Unsure
        found: set[tuple[str, str]] = set()
        for module, name in sorted(new):
            for path, words, own in looked.saying(module, name):
                reached[path] = words
                found |= set(_reexporting_names(own, outline(own) or {}, module, name, looked))
            found |= {(starred, name) for starred in looked.starred(module)}
        new = found - known
        known |= new
    return reached


def _reexporting_names(
    own: str, outline: Outline, module: str, name: str, looked: _Modules
) -> Iterator[tuple[str, str]]:
    """The names of the module `own` that stand for something which may have to do with a name of `module`."""
    plain = plain_name(own)
    if name == STAR and plain == module:
        return  # any of its names is being followed
    inside = plain == module or plain.startswith(f"{module}.") or not module
    names = looked.names(module) if module else frozenset[str]()
    texts = [pair for part in _PARTS for pair in (outline.get(part) or {}).items()]
    texts += [(key, " ".join(some)) for key, some in (outline.get("bases") or {}).items()]
    for key, text in texts:
        words = WORD.findall(text)
        if (name == STAR or name in words) and (inside or not names.isdisjoint(words)):
            yield plain, key.partition(".")[0]


class _Modules:
    """What the database says of modules and of who says their names; each is asked once."""

    def __init__(self, db: Rows) -> None:
        self._db = db
        self._names: dict[str, frozenset[str]] = {}
        self._under: dict[str, set[int]] = {}

    def names(self, module: str) -> frozenset[str]:
        """The last part of a module's name, and the other names that somebody gave it."""
        if module not in self._names:
            last = module.rpartition(".")[2]
            if WORD.fullmatch(last) is None:
                raise Unsure
            known, new = {last}, {last}
            while new:
                asked = sorted(new)
                rows = self._db.rows(f"SELECT DISTINCT key FROM renamed WHERE word IN ({placeholders(asked)})", asked)
                new = {row[0] for row in rows} - known - {STAR}
                known |= new
                if len(known) > _NAMES:
                    raise Unsure
            self._names[module] = frozenset(known)
        return self._names[module]

    def saying(self, module: str, name: str) -> Iterator[tuple[str, str, str]]:
        """(path, all that it says, its module) of the files that can come to a name of a module."""
        if not module:
            yield from self._read(name_index.file_numbers(self._db, {name}), lambda words, own: name in words)
            return
        names = self.names(module)
        wanted = name_index.file_numbers(self._db, names) | self._inside(module)
        if name != STAR:
            wanted &= name_index.file_numbers(self._db, {name})

        def comes(words: set[str], own: str) -> bool:
            near = own.startswith(f"{module}.") or not words.isdisjoint(names)
            return own == module or (near and (name == STAR or name in words))

        yield from self._read(wanted | self._itself(module), comes)

    def starred(self, module: str) -> set[str]:
        """The modules that may have a star import of this one."""
        if not module:
            return set()
        words = ["", *sorted(self.names(module))]
        sql = (
            "SELECT f.module, r.word FROM renamed r JOIN files f ON f.path = r.path"
            f" WHERE r.key = ? AND r.word IN ({placeholders(words)})"
        )
        found = {(plain_name(own), word) for own, word in self._db.rows(sql, (STAR, *words))}
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
        """The numbers of the files under a package: their relative imports need not say its name."""
        if module not in self._under:
            sql = "SELECT s.number FROM said s JOIN files f ON f.path = s.path WHERE f.module >= ? AND f.module < ?"
            self._under[module] = {row[0] for row in self._db.rows(sql, (f"{module}.", f"{module}/"))}
        return self._under[module]

    def _itself(self, module: str) -> set[int]:
        sql = (
            "SELECT s.number FROM said s JOIN files f ON f.path = s.path"
            " WHERE f.module = ? OR (f.module >= ? AND f.module < ?)"
        )
        return {row[0] for row in self._db.rows(sql, (module, f"{module}@", f"{module}A"))}


def star_imports_changed(
    db: Rows, changed: Collection[str], old: Mapping[str, Outline], new: Mapping[str, Outline],
    outline: Callable[[str], Outline | None],
) -> set[tuple[str, str]]:  # fmt: skip
    """(module, STAR) of each with a star import of what came or went: what was nowhere may be outside now, or the other
    way. `changed`: paths; `outline`: module → its outline. The tables are as they are to be.
    """
    moved = {
        plain_name(one)
        for one in old.keys() | new.keys()
        if was_added_or_removed(old.get(one) or {}, new.get(one) or {})
    }
    above = {name for one in moved for name in _above(one)} - moved
    words = sorted({one.rpartition(".")[2] for one in moved | above}) if moved else []
    found = set()
    for some in chunks(["", *words] if words else []):
        sql = f"SELECT DISTINCT f.path, f.module FROM renamed r JOIN files f ON f.path = r.path WHERE r.key = '{STAR}'"
        for path, module in db.rows(f"{sql} AND r.word IN ({placeholders(some)})", some):
            named = set(_star_modules(outline(module) or {}, module, path))
            if named & moved or any(not _is_still_package(db, one, changed) for one in named & above):
                found.add((plain_name(module), STAR))
    return found


def submodules_let_through(db: Rows, old: Mapping[str, Outline], new: Mapping[str, Outline]) -> set[tuple[str, str]]:
    """(package, submodule) of those that a star import brings now or no longer, because of `__all__`."""
    found = set()
    for module in old.keys() & new.keys():
        if old[module].get("all") != new[module].get("all"):
            plain = plain_name(module)
            sql = "SELECT module FROM files WHERE module >= ? AND module < ?"
            below = {row[0][len(plain) + 1 :] for row in db.rows(sql, (f"{plain}.", f"{plain}/"))}
            names = {plain_name(one).partition(".")[0] for one in below}
            found |= {(plain, name) for name in names if _lets(old[module], name) != _lets(new[module], name)}
    return found


def _above(module: str) -> Iterator[str]:
    """The packages around a module."""
    while module := module.rpartition(".")[0]:
        yield module


def _star_modules(outline: Outline, module: str, path: str) -> Iterator[str]:
    """The full names of the modules that a file has star imports of."""
    for star in outline.get("stars") or ():
        yield absolute(*decode(star).import_base, module, path.endswith("/__init__.py") or path == "__init__.py") or ""


def _is_still_package(db: Rows, package: str, changed: Collection[str]) -> bool:
    """True if a folder was there as a package before and is still (PEP 420): something in it is as it was."""
    sql = "SELECT path FROM files WHERE module >= ? AND module < ? LIMIT ?"
    return any(row[0] not in changed for row in db.rows(sql, (f"{package}.", f"{package}/", len(changed) + 1)))


def _lets(outline: Outline, name: str) -> bool:
    listed = outline.get("all")
    return name in listed if listed is not None else not name.startswith("_")
