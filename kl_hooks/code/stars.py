"""What star imports bring otherwise though no name in a changed file says so: a submodule, where `__all__` lets it
through now or no longer.
"""

from __future__ import annotations

from collections.abc import Mapping

from kl_hooks.code.modules import plain_name
from kl_hooks.code.resolve import Outline
from kl_hooks.store.rows import Rows


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


def _lets(outline: Outline, name: str) -> bool:
    listed = outline.get("all")
    return name in listed if listed is not None else not name.startswith("_")
