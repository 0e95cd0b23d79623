"""Which files can come to what changed at all: of the thousands that say `json`, those to which a module's `json` can
mean anything.

An expression comes to a name of a module only if it says the name, and comes to the module: by saying the last part of
the module's name (the package around it need not be said: any module may pass on what it imported under that name); by
another name that somebody gave the module; from within it, where a relative import need not say it; by a star import;
or by something that hangs on the name itself, in the outline of a file that can come to it: an import, a subclass, the
class of a field. So names are followed, module by module, until no new one comes up. Said are more than meant; who
could mean it is never left out.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Final

from kl_hooks.code import said
from kl_hooks.code.affected import came_or_went
from kl_hooks.code.modules import plain_name
from kl_hooks.code.resolve import Outline
from kl_hooks.code.uses import WORD
from kl_hooks.store.database import Rows, chunks, placeholders

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
            words = WORD.findall(expression) if expression[:1] in ("@", "=", "*") else ()
            if words and words[-1] != key.rpartition(".")[2]:
                found.add((words[-1], key.rpartition(".")[2]))
    for star in outline.get("stars") or ():
        found.add((WORD.findall(star)[-1] if WORD.search(star) else "", STAR))
    return [(word, key, path) for word, key in sorted(found)]


def tops(old: Mapping[str, Outline], new: Mapping[str, Outline]) -> set[tuple[str, str]]:
    """(module, name) of all that may be something else, by the names at the top of modules: `C` for `C.m`.

    A module that came or went is a name of its package too.
    """
    found: set[tuple[str, str]] = set()
    for module in old.keys() | new.keys():
        plain = plain_name(module)
        before, after = old.get(module) or {}, new.get(module) or {}
        if came_or_went(before, after):
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
    looked = _Looked(db)
    reached: dict[str, str] = {}
    known, new = set(changed), set(changed)
    while new:
        if len(known) > _STEPS:
            raise Unsure
        found: set[tuple[str, str]] = set()
        for module, name in sorted(new):
            for path, words, own in looked.saying(module, name):
                reached[path] = words
                found |= set(_hanging(own, outline(own) or {}, module, name, looked))
            found |= {(starred, name) for starred in looked.starred(module)}
        new = found - known
        known |= new
    return reached


def _hanging(own: str, outline: Outline, module: str, name: str, looked: _Looked) -> Iterator[tuple[str, str]]:
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


class _Looked:
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
            yield from self._read(said.numbers(self._db, {name}), lambda words, own: name in words)
            return
        names = self.names(module)
        wanted = said.numbers(self._db, names) | self._inside(module)
        if name != STAR:
            wanted &= said.numbers(self._db, {name})

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
