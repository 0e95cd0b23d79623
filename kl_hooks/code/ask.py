"""Questions to the code graph, each after bringing it up to the work tree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from kl_hooks.code.catch_up import Scan, catch_up
from kl_hooks.graph import links
from kl_hooks.index.index import Hit, search

if TYPE_CHECKING:
    from kl_hooks.workspace.open import Workspace

KINDS: Final = ("namespace", "type", "interface", "function", "method", "property", "field")
"""What a symbol can be: the part of its Id before the colon, and its kind in the index."""


def build(ws: Workspace) -> tuple[Scan, dict[str, int]]:
    """What catching up did, and how many symbols and links there are now. Errors as `catch_up`."""
    scan = catch_up(ws)
    with ws.store.reading("graph") as db:
        if db is None:
            return scan, {"symbols": 0, "links": 0}
        symbols = int(db.rows("SELECT COUNT(*) FROM symbols")[0][0])
        return scan, {"symbols": symbols, "links": links.count(db)}


def find(ws: Workspace, words: Sequence[str], kinds: Sequence[str], limit: int) -> list[Hit]:
    """At most `limit` symbols (of these kinds; none given: all) that bear any of the words, best first."""
    catch_up(ws)
    with ws.store.reading("graph") as db:
        return search(db, words, limit, kinds or KINDS) if db is not None else []
