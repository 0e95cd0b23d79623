"""The search for databases without full text: slower and plainer, the same answers in kind."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from kl_hooks.index.words import stem
from kl_hooks.store.database import Rows, placeholders


def search(db: Rows, words: Sequence[str], limit: int, kinds: Sequence[str]) -> list[tuple[Any, ...]]:
    """(id, kind, path, line, title, fit) of documents that hold any word, best first; `words` hold no signs.

    A word counts once for each document, by the best place it stands in; inflected, it may go on after its stem.
    """
    fits, params = [], []
    for word in words:
        like = re.sub(r"([\\_%])", r"\\\1", word)
        root = re.sub(r"([\\_%])", r"\\\1", stem(word)) + "%"
        fits.append(
            "CASE WHEN lower(d.name) = ? THEN 10000000 WHEN ' ' || d.parts || ' ' LIKE ? ESCAPE '\\' THEN 6000000"
            " WHEN ' ' || d.parts LIKE ? ESCAPE '\\' THEN 5000000"
            " WHEN lower(d.title) LIKE ? ESCAPE '\\' THEN 4000000 WHEN ' ' || d.place LIKE ? ESCAPE '\\'"
            " THEN 2000000 WHEN ' ' || lower(d.body) LIKE ? ESCAPE '\\' THEN 1000000 ELSE 0 END"
        )
        params += [word, f"% {like} %", f"% {root}", f"%{root}", f"% {root}", f"% {root}"]
    only, kind_params = only_kinds(kinds)
    return db.rows(
        f"SELECT id, kind, path, line, title, fit FROM (SELECT d.*, {' + '.join(fits)} AS fit FROM documents d"
        f" WHERE 1 = 1{only}) AS found WHERE fit > 0 ORDER BY fit DESC, id, path, line LIMIT ?",
        (*params, *kind_params, limit),
    )


def only_kinds(kinds: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """The condition that leaves only these kinds (all, if none is given), and its parameters."""
    return (f" AND d.kind IN ({placeholders(kinds)})", tuple(kinds)) if kinds else ("", ())
