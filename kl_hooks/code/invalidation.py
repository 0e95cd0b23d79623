"""Which files must be linked again after some changed: those whose links depend on what changed (ADR-0026).

While a file is linked, the resolver records all that it consults, what it did not find included. These keys are stored
with the file, as numbers of 32 bits, and a change leads from its own keys to exactly the files that have one of them.
Where two keys have one number, a file is linked in vain, and nothing worse.

Whether any symbol at all has a name is not recorded, since every unresolved attribute depends on it: the name index
finds the files that mention a name which has got its first symbol, or lost its last one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final
from zlib import crc32

from kl_hooks.code import name_index
from kl_hooks.code.modules import plain_name
from kl_hooks.code.resolver import ALL, STARS, Consulted
from kl_hooks.code.scanner.parser import Outline
from kl_hooks.model.symbol import last_name
from kl_hooks.store.database import Rows

Outlined = Mapping[str, tuple[str, Outline]]
"""Path → module and outline of some files, which is empty where a file can't be read."""
_MANY: Final = 20
"""Changed keys from which on it takes longer to search for each than to compare all."""


def replace_consulted(db: Rows, batch: Mapping[str, bytes]) -> None:
    """Store path → keys of files, as `Keys` packs them, none for a removed file. Inside one transaction."""
    db.many("DELETE FROM consulted WHERE path = ?", [(path,) for path in sorted(batch)])
    db.many("INSERT INTO consulted (path, keys) VALUES (?, ?)", sorted((p, keys) for p, keys in batch.items() if keys))


class Keys(dict[Consulted, bytes]):
    """Key → its number as four bytes; each is worked out once."""

    def __missing__(self, key: Consulted) -> bytes:
        # not hash(): that of a text differs from process to process (PYTHONHASHSEED), and this is stored
        number = crc32((key if isinstance(key, str) else ":".join(key)).encode()).to_bytes(4, "little")
        self[key] = number
        return number

    def pack(self, keys: Iterable[Consulted]) -> bytes:
        """The numbers of these keys as the database holds them."""
        return b"".join(sorted(map(self.__getitem__, keys)))


def files_to_relink(db: Rows, was: Outlined, now: Outlined) -> list[str]:
    """The unchanged files whose links may be others, now that some files changed, were added or removed.

    The tables `files`, `symbols` and `said` are already up to date, and `consulted` still is as it was.
    """
    changed = was.keys() | now.keys()
    found: set[str] = set()
    numbers = set(map(Keys().__getitem__, _changed_keys(db, was, now, changed)))
    if numbers:
        found = {path for path, packed in db.rows("SELECT path, keys FROM consulted") if _any(numbers, packed)}
    names = set(_names_defined_or_not(db, was, now, changed))
    if names:
        mentions = name_index.files_mentioning(db, names)
        found |= {path for path, words in mentions.items() if not names.isdisjoint(words.split())}
    return sorted(found - changed)


def _any(numbers: Collection[bytes], packed: bytes) -> bool:
    if len(numbers) < _MANY:
        return any(number in packed for number in numbers)
    return any(packed[place : place + 4] in numbers for place in range(0, len(packed), 4))


def _changed_keys(db: Rows, was: Outlined, now: Outlined, changed: Collection[str]) -> set[Consulted]:
    keys: set[Consulted] = {(module, name) for _, module, name, *_ in set(_entries(was)) ^ set(_entries(now))}
    files = {(path, module) for some in (was, now) for path, (module, _) in some.items()}
    for path, module in files:
        if was.get(path, ("",))[0] != now.get(path, ("",))[0]:
            package = plain_name(module)
            keys.add(package)
            while package := package.rpartition(".")[0]:
                if not _is_still_package(db, package, changed):
                    keys.add(f"{package}.")
    return keys


def _entries(files: Outlined) -> Iterator[tuple[str, str, str, str, str]]:
    """All that outlines hold, one by one. Paths are among it: what an import means depends on where the file is."""
    for path, (module, outline) in files.items():
        parts: Mapping[str, Mapping[str, object] | None]
        parts = {part: outline.get(part) for part in ("defs", "names", "types", "bases")}  # type: ignore[misc]
        entries = [(part, key, value) for part, some in parts.items() for key, value in (some or {}).items()]
        entries += [("stars", STARS, outline.get("stars")), ("all", ALL, outline.get("all"))]
        yield from ((path, module, key, part, str(value)) for part, key, value in entries)


def _is_still_package(db: Rows, package: str, changed: Collection[str]) -> bool:
    """True if there were modules below a name before, and still are (PEP 420): one of them is unchanged."""
    # one more than can have changed: of so many, one at least is unchanged, and a large package need not be read
    sql = "SELECT path FROM files WHERE module >= ? AND module < ? LIMIT ?"
    rows = db.rows(sql, (f"{package}.", f"{package}/", len(changed) + 1))  # `/` comes right after `.`
    return any(path not in changed for (path,) in rows)


def _names_defined_or_not(db: Rows, was: Outlined, now: Outlined, changed: Collection[str]) -> Iterator[str]:
    """The names that got their first symbol, or lost their last one."""
    # the outline of a file that can't be read, so that its module has no symbol, is as empty as that of an empty file
    empty = {module for some in (was, now) for module, outline in some.values() if not any(outline.values())}
    modules = {module for module, _ in was.values()} ^ {module for module, _ in now.values()} | empty
    names = {last_name(f"namespace:{module}") for module in modules}
    sql = "SELECT f.path FROM symbol_rows r JOIN files f ON f.number = r.file WHERE r.name = ?"
    for name in names | _defined(was) ^ _defined(now):
        if all(path in changed for (path,) in db.rows(sql, (name,))):
            yield name


def _defined(files: Outlined) -> set[str]:
    return {name.rpartition(".")[2] for _, outline in files.values() for name in outline.get("defs") or ()}
