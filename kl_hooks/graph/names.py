"""Texts of links by number: interned, so that a link is six numbers."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from kl_hooks.store.database import Rows, chunks, placeholders

_MANY: Final = 5000


def numbers(db: Rows, texts: Collection[str], whole: bool = False) -> dict[str, int]:
    """Text → number, of those that have one; `whole`: of all there are."""
    if whole or len(texts) > _MANY:
        found = {text: number for number, text in db.rows("SELECT id, text FROM link_names")}
        return found if whole else {text: found[text] for text in texts if text in found}
    return {
        text: number
        for some in chunks(list(texts))
        for number, text in db.rows(f"SELECT id, text FROM link_names WHERE text IN ({placeholders(some)})", some)
    }


class Interned:
    """Numbers of texts, for who writes very many: what was asked for once is remembered. Inside one transaction."""

    def __init__(self, db: Rows) -> None:
        self._db = db
        self._known: dict[str, int] = {}
        self._next = int(db.rows("SELECT COALESCE(MAX(id), 0) + 1 FROM link_names")[0][0])
        self._whole = self._next == 1

    def of(self, texts: Collection[str]) -> dict[str, int]:
        """Text → number of all of these, and of others; new ones get one."""
        new = set(texts) - self._known.keys()
        if new and not self._whole:
            self._whole = len(new) > _MANY
            self._known |= numbers(self._db, new, self._whole)
            new -= self._known.keys()
        if new:
            made = list(enumerate(sorted(new), self._next))
            self._next += len(made)
            self._db.many("INSERT INTO link_names (id, text) VALUES (?, ?)", made)
            self._known.update((text, number) for number, text in made)
        return self._known


def texts(db: Rows, wanted: Iterable[int]) -> dict[int, str]:
    """Number → text."""
    asked = sorted(set(wanted))
    if len(asked) > _MANY:
        return dict(db.rows("SELECT id, text FROM link_names"))
    return {
        number: text
        for some in chunks(asked)
        for number, text in db.rows(f"SELECT id, text FROM link_names WHERE id IN ({placeholders(some)})", some)
    }
