"""What star imports bring otherwise though no name in a changed file says so: any name, where the module that they name
came or went; a submodule, where `__all__` lets it through now or no longer.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping

from kl_hooks.code.affected import came_or_went
from kl_hooks.code.imports import absolute
from kl_hooks.code.modules import plain_name
from kl_hooks.code.reach import STAR
from kl_hooks.code.resolve import Outline
from kl_hooks.store.database import Rows, chunks, placeholders


def bringing_others(
    db: Rows, changed: Collection[str], old: Mapping[str, Outline], new: Mapping[str, Outline],
    outline: Callable[[str], Outline | None],
) -> set[tuple[str, str]]:  # fmt: skip
    """(module, STAR) of each with a star import of what came or went: what was nowhere may be outside now, or the other
    way. `changed`: paths; `outline`: module → its outline. The tables are as they are to be.
    """
    moved = {plain_name(one) for one in old.keys() | new.keys() if came_or_went(old.get(one) or {}, new.get(one) or {})}
    above = {name for one in moved for name in _above(one)} - moved
    words = sorted({one.rpartition(".")[2] for one in moved | above}) if moved else []
    found = set()
    for some in chunks(["", *words] if words else []):
        sql = f"SELECT DISTINCT f.path, f.module FROM renamed r JOIN files f ON f.path = r.path WHERE r.key = '{STAR}'"
        for path, module in db.rows(f"{sql} AND r.word IN ({placeholders(some)})", some):
            named = set(_named(outline(module) or {}, module, path))
            if named & moved or any(not _stands(db, one, changed) for one in named & above):
                found.add((plain_name(module), STAR))
    return found


def let_through(db: Rows, old: Mapping[str, Outline], new: Mapping[str, Outline]) -> set[tuple[str, str]]:
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


def _named(outline: Outline, module: str, path: str) -> Iterator[str]:
    """The full names of the modules that a file has star imports of."""
    for star in outline.get("stars") or ():
        name = star[1:].lstrip(".")
        dots = len(star) - 1 - len(name)
        yield absolute(name, dots, module, path.endswith("/__init__.py") or path == "__init__.py") or ""


def _stands(db: Rows, package: str, changed: Collection[str]) -> bool:
    """True if a folder was there as a package before and is still (PEP 420): something in it is as it was."""
    sql = "SELECT path FROM files WHERE module >= ? AND module < ? LIMIT ?"
    return any(row[0] not in changed for row in db.rows(sql, (f"{package}.", f"{package}/", len(changed) + 1)))


def _lets(outline: Outline, name: str) -> bool:
    listed = outline.get("all")
    return name in listed if listed is not None else not name.startswith("_")
