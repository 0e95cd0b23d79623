"""Links: replaced by the file that holds them, looked up by what they lead from or to.

Texts are interned, so that a link is six numbers; the links of one owner are one block, six columns of 32 bits. A row
of its own for each link, with the indexes to find it, would cost more than reading its source (ADR-0007).
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from kl_hooks.model.symbol import Link
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
        # in an empty table every text is new: nothing has to be read
        self._whole = self._next == 1

    def of(self, texts: Collection[str]) -> dict[str, int]:
        """Text → number of all of these, and of others; new ones get one."""
        new = set(texts) - self._known.keys()
        if new and not self._whole:
            self._whole = len(new) > _MANY
            self._known |= numbers(self._db, new, self._whole)
            new -= self._known.keys()
        if new:
            # sorted: a set of texts has another order in every process (PYTHONHASHSEED), the database should not
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


Numbers = tuple[int, int, int, int, int, int]
"""(source, relation, target, line, method, confidence); texts by their numbers."""
COLUMNS: Final = 6


def pack(columns: Sequence[Sequence[int]]) -> bytes:
    """The block of some rows, given as their six columns; little-endian on every machine."""
    return b"".join(_little(array("I", column)).tobytes() for column in columns)


def unpack(block: bytes) -> Iterator[Numbers]:
    """The rows of a block, as they were packed. ValueError for what is none."""
    return zip(*columns_of(block), strict=True)


def columns_of(block: bytes) -> list[array[int]]:
    """The six columns of a block. ValueError for what is none."""
    size, rest = divmod(len(block), COLUMNS)
    if rest or size % 4:
        raise ValueError("not a block of links")
    found = []
    for place in range(COLUMNS):
        column = array("I")
        column.frombytes(block[place * size : (place + 1) * size])
        found.append(_little(column))
    return found


def _little(column: array[int]) -> array[int]:
    from sys import byteorder

    if byteorder == "big":
        column.byteswap()
    return column


Columns = Sequence[Sequence[Any]]
"""The same of many links, by columns."""
_NUMBERS: Final = (3, 5)
"""The places in a row that are numbers by themselves."""
Row = tuple[str, str, str, int, str, int]
"""A link without its path: (source, relation, target, line, method, confidence)."""


def replace_many(db: Rows, batch: Mapping[str, Sequence[Link]]) -> int:
    """Make these the outgoing links that files hold, path → links; returns their number. Links of other files stay.

    Each link's own `path` must be that file (ValueError). Call it inside a transaction.
    """
    if any(link.path != path for path, links in batch.items() for link in links):
        raise ValueError("a link of another file among those of a file")
    rows = {
        path: [(k.source, k.relation, k.target, k.line, k.method, k.confidence) for k in links]
        for path, links in batch.items()
    }
    return replace_columns(db, {path: columns_of_rows(some) for path, some in rows.items()})


def columns_of_rows(rows: Iterable[Row]) -> Columns:
    """Rows as `replace_columns` takes them."""
    return list(zip(*rows, strict=True))


def replace_columns(db: Rows, batch: Mapping[str, Columns], names: Interned | None = None) -> int:
    """The same for columns, none for no link: who has very many links saves the objects.

    `names`: the numbers of texts, from one batch to the next.
    """
    new = set(batch)
    for sources, relations, targets, _, methods, _ in filter(None, batch.values()):
        new.update(sources, relations, targets, methods)
    known = (names or Interned(db)).of(new)
    owners = [(known[path],) for path in batch]
    db.many("DELETE FROM link_ends WHERE owner = ?", owners)
    db.many("DELETE FROM link_owners WHERE owner = ?", owners)
    blocks, ends = [], []
    for path, columns in batch.items():
        if columns:
            owner, numbered = known[path], _numbered(columns, known)
            blocks.append((owner, len(numbered[0]), pack(numbered)))
            ends += [(name, owner) for name in {*numbered[0], *numbered[2]}]
    db.many("INSERT INTO link_owners (owner, count, packed) VALUES (?, ?, ?)", blocks)
    # in the order of the key: a table WITHOUT ROWID is a B-tree of it, so neighbors go to one page
    db.many("INSERT INTO link_ends (name, owner) VALUES (?, ?)", sorted(ends))
    return sum(count for _, count, _ in blocks)


def _numbered(columns: Columns, known: Mapping[str, int]) -> list[Sequence[int]]:
    """Columns of rows, their texts by number."""
    return [
        column if place in _NUMBERS else list(map(known.__getitem__, column)) for place, column in enumerate(columns)
    ]


def outgoing(db: Rows, identifier: str, relation: str = "") -> list[Link]:
    """The links from an Id (of one relation, if given), in a fixed order."""
    return of_many(db, [identifier], incoming=False, relation=relation).get(identifier, [])


def incoming(db: Rows, identifier: str, relation: str = "") -> list[Link]:
    """The links to an Id (of one relation, if given), in a fixed order."""
    return of_many(db, [identifier], incoming=True, relation=relation).get(identifier, [])


def of_many(db: Rows, identifiers: Sequence[str], *, incoming: bool, relation: str = "") -> dict[str, list[Link]]:
    """Id → its incoming (or outgoing) links, each list in a fixed order; Ids without any are omitted."""
    wanted = {number: text for text, number in numbers(db, set(identifiers)).items()}
    if not wanted:
        return {}
    end = 2 if incoming else 0
    found = [(owner, row) for owner, row in _rows(db, wanted) if row[end] in wanted]
    named = texts(db, {name for owner, row in found for name in (owner, row[0], row[1], row[2], row[4])})
    made: dict[str, list[Link]] = {}
    for owner, (source, kind, target, line, method, confidence) in found:
        if relation in ("", named[kind]):
            link = Link(named[source], named[kind], named[target], named[owner], line, named[method], confidence)
            made.setdefault(link.target if incoming else link.source, []).append(link)
    for links in made.values():
        links.sort(key=_order)
    return made


def between(db: Rows, sources: set[str], targets: set[str]) -> list[Link]:
    """The links from any of these to any of those, in a fixed order; for sets too large to look each of them up."""
    ends = set(numbers(db, sources).values()), set(numbers(db, targets).values())
    found = [
        (owner, row)
        for owner, block in db.rows("SELECT owner, packed FROM link_owners")
        # most blocks hold none of the targets: one look at a column saves a tuple for each link
        if not ends[1].isdisjoint(columns_of(block)[2])
        for row in unpack(block)
        if row[2] in ends[1] and row[0] in ends[0]
    ]
    named = texts(db, {name for owner, row in found for name in (owner, row[0], row[1], row[2], row[4])})
    made = [Link(named[s], named[r], named[t], named[o], line, named[m], c) for o, (s, r, t, line, m, c) in found]
    return sorted(made, key=_order)


def every(db: Rows) -> list[Link]:
    """All links there are, in a fixed order."""
    named = dict(db.rows("SELECT id, text FROM link_names"))
    rows = db.rows("SELECT owner, packed FROM link_owners")
    found = [
        Link(named[source], named[kind], named[target], named[owner], line, named[method], confidence)
        for owner, block in rows
        for source, kind, target, line, method, confidence in unpack(block)
    ]
    return sorted(found, key=_order)


def count(db: Rows) -> int:
    """How many links there are."""
    return int(db.rows("SELECT COALESCE(SUM(count), 0) FROM link_owners")[0][0])


def count_to(db: Rows, prefix: str) -> int:
    """How many links lead to something whose Id begins so."""
    sql = "SELECT id FROM link_names WHERE text >= ? AND text < ?"
    # a range instead of LIKE, which ignores case and so can't use the index on text
    wanted = {row[0] for row in db.rows(sql, (prefix, prefix[:-1] + chr(ord(prefix[-1]) + 1)))}
    blocks = db.rows("SELECT packed FROM link_owners")
    return sum(sum(map(wanted.__contains__, columns_of(block)[2])) for (block,) in blocks)


def counts(db: Rows) -> dict[str, int]:
    """Relation → how many links there are of it, by name."""
    kinds = Counter[int]()
    for (block,) in db.rows("SELECT packed FROM link_owners"):
        kinds.update(columns_of(block)[1])
    named = texts(db, kinds)
    return {named[kind]: kinds[kind] for kind in sorted(kinds, key=lambda kind: named[kind])}


def _rows(db: Rows, wanted: Mapping[int, str]) -> Iterable[tuple[int, Numbers]]:
    sql = (
        "SELECT owner, packed FROM link_owners WHERE owner IN"
        f" (SELECT owner FROM link_ends WHERE name IN ({placeholders(wanted)})) ORDER BY owner"
    )
    for owner, block in db.rows(sql, tuple(wanted)):
        for row in unpack(block):
            yield owner, row


def _order(link: Link) -> tuple[str, str, str, str, int, str]:
    return (link.source, link.relation, link.target, link.path, link.line, link.method)
