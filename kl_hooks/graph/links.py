"""Links: replaced by the file that holds them, looked up by what they lead from or to, followed as
far as they lead.

Texts are interned, so that a link is six numbers; the links of one owner are one block, six columns
of 32 bits. A row of its own for each link, with the indexes to find it, would cost more than
reading its source (ADR-0007).

Everything that depends on a symbol is found breadth-first over numbers, texts come at the end. A
small closure looks at the blocks that hold its names, level by level; a large one reads all blocks
once and looks at whole columns, which costs a few passes in C instead of a look-up for each link.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import compress
from operator import itemgetter
from sys import byteorder
from typing import Any, Final
from zlib import compress as compress_bytes
from zlib import crc32, decompress, error

from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.symbol import Link
from kl_hooks.store.database import Rows, chunks, placeholders

_MANY: Final = 5000


def numbers(db: Rows, texts: Collection[str], whole: bool = False) -> dict[str, int]:
    """Text → number, of those that have one; `whole`: of all there are."""
    if whole or len(texts) > _MANY:
        number_by_text = {
            text: number for number, text in db.rows("SELECT id, text FROM link_names")
        }
        if whole:
            return number_by_text
        return {text: number_by_text[text] for text in texts if text in number_by_text}
    number_by_text = {}
    for batch in chunks(list(texts)):
        hashes = tuple(map(_hash, batch))
        sql = f"SELECT id, text FROM link_names WHERE hash IN ({placeholders(batch)})"
        number_by_text.update((text, number) for number, text in db.rows(sql, hashes))
    return {text: number_by_text[text] for text in texts if text in number_by_text}


def _hash(text: str) -> int:
    # an index of numbers takes a fifth of one of texts; two texts with one number only cost a look
    return crc32(text.encode("utf-8", "surrogatepass"))


class Interned:
    """Numbers of texts, for who writes very many: what was asked for once is remembered. Inside one
    transaction.
    """

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
            # sorted: a set of texts has another order in every process (PYTHONHASHSEED), the
            # database should not
            numbered = list(enumerate(sorted(new), self._next))
            self._next += len(numbered)
            rows = ((number, text, _hash(text)) for number, text in numbered)
            self._db.many("INSERT INTO link_names (id, text, hash) VALUES (?, ?, ?)", rows)
            self._known.update((text, number) for number, text in numbered)
        return self._known


def texts(db: Rows, wanted: Iterable[int]) -> dict[int, str]:
    """Number → text."""
    asked = sorted(set(wanted))
    if len(asked) > _MANY:
        return dict(db.rows("SELECT id, text FROM link_names"))
    return {
        number: text
        for some in chunks(asked)
        for number, text in db.rows(
            f"SELECT id, text FROM link_names WHERE id IN ({placeholders(some)})", some
        )
    }


Numbers = tuple[int, int, int, int, int, int]
"""(source, relation, target, line, method, confidence); texts by their numbers."""
COLUMNS: Final = 6


def pack(columns: Sequence[Sequence[int]]) -> bytes:
    """The block of some rows, given as their six columns; little-endian on every machine, and
    compressed.
    """
    return compress_bytes(b"".join(_little(array("I", column)).tobytes() for column in columns), 1)


def unpack(block: bytes) -> Iterator[Numbers]:
    """The rows of a block, as they were packed. ValueError for what is none."""
    return zip(*columns_of(block), strict=True)


def columns_of(block: bytes) -> list[array[int]]:
    """The six columns of a block. ValueError for what is none."""
    block = _raw(block)
    size, remainder = divmod(len(block), COLUMNS)
    if remainder or size % 4:
        raise ValueError("not a block of links")
    columns = []
    for place in range(COLUMNS):
        column = array("I")
        column.frombytes(block[place * size : (place + 1) * size])
        columns.append(_little(column))
    return columns


def _raw(block: bytes) -> bytes:
    try:
        return decompress(block)
    except error as problem:
        raise ValueError("not a block of links") from problem


def _little(column: array[int]) -> array[int]:

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
    """Make these the outgoing links that files hold, path → links; returns their number. Links of
    other files stay.

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
    number_by_text = (names or Interned(db)).of(new)
    owners = [number_by_text[path] for path in batch]
    blocks = []
    ends = set[tuple[int, int]]()
    for path, columns in batch.items():
        if columns:
            owner = number_by_text[path]
            numbered = _numbered(columns, number_by_text)
            blocks.append((owner, len(numbered[0]), pack(numbered)))
            ends |= _ends(numbered, owner)
    before = _stored_ends(db, owners)
    db.many("DELETE FROM link_ends WHERE name = ? AND owner = ?", sorted(before - ends))
    db.many("DELETE FROM link_owners WHERE owner = ?", [(owner,) for owner in owners])
    db.many("INSERT INTO link_owners (owner, count, packed) VALUES (?, ?, ?)", blocks)
    # in the order of the key: a table WITHOUT ROWID is a B-tree of it, so neighbors go to one page
    db.many("INSERT OR IGNORE INTO link_ends (name, owner) VALUES (?, ?)", sorted(ends))
    return sum(count for _, count, _ in blocks)


def _ends(columns: Sequence[Sequence[int]], owner: int) -> set[tuple[int, int]]:
    """(name, owner) of each name that these links lead from or to."""
    return {(name, owner) for name in {*columns[0], *columns[2]}}


def _stored_ends(db: Rows, owners: Sequence[int]) -> set[tuple[int, int]]:
    """The same of all links that some owners have: from their blocks, which spares an index of
    owners.
    """
    stored_ends = set[tuple[int, int]]()
    for batch in chunks(owners):
        sql = f"SELECT owner, packed FROM link_owners WHERE owner IN ({placeholders(batch)})"
        for owner, packed in db.rows(sql, batch):
            try:
                stored_ends |= _ends(columns_of(packed), owner)
            except ValueError:  # damaged
                stored_ends.update(
                    db.rows("SELECT name, owner FROM link_ends WHERE owner = ?", (owner,))
                )
    return stored_ends


def _numbered(columns: Columns, number_by_text: Mapping[str, int]) -> list[Sequence[int]]:
    """Columns of rows, their texts by number."""
    return [
        column if place in _NUMBERS else list(map(number_by_text.__getitem__, column))
        for place, column in enumerate(columns)
    ]


def outgoing(db: Rows, identifier: str, relation: str = "") -> list[Link]:
    """The links from an Id (of one relation, if given), in a fixed order."""
    return of_many(db, [identifier], incoming=False, relation=relation).get(identifier, [])


def incoming(db: Rows, identifier: str, relation: str = "") -> list[Link]:
    """The links to an Id (of one relation, if given), in a fixed order."""
    return of_many(db, [identifier], incoming=True, relation=relation).get(identifier, [])


def of_many(
    db: Rows, identifiers: Sequence[str], *, incoming: bool, relation: str = ""
) -> dict[str, list[Link]]:
    """Id → its incoming (or outgoing) links, each list in a fixed order; Ids without any are
    omitted.
    """
    wanted = {number: text for text, number in numbers(db, set(identifiers)).items()}
    if not wanted:
        return {}
    end = 2 if incoming else 0
    owned_rows = [(owner, row) for owner, row in _rows(db, wanted) if row[end] in wanted]
    named = texts(
        db, {name for owner, row in owned_rows for name in (owner, row[0], row[1], row[2], row[4])}
    )
    links_by_id: dict[str, list[Link]] = {}
    for owner, (source, kind, target, line, method, confidence) in owned_rows:
        if relation in ("", named[kind]):
            link = Link(
                named[source],
                named[kind],
                named[target],
                named[owner],
                line,
                named[method],
                confidence,
            )
            links_by_id.setdefault(link.target if incoming else link.source, []).append(link)
    for links in links_by_id.values():
        links.sort(key=_order)
    return links_by_id


def owners_of_ends(db: Rows, identifiers: Collection[str]) -> dict[str, set[str]]:
    """Id → the files that have a link from or to it: read from the ends of links alone, which is
    far less.
    """
    wanted = {number: text for text, number in numbers(db, identifiers).items()}
    rows = [
        row
        for some in chunks(sorted(wanted))
        for row in db.rows(
            f"SELECT name, owner FROM link_ends WHERE name IN ({placeholders(some)})", some
        )
    ]
    named = texts(db, {owner for _, owner in rows})
    owners_by_id: dict[str, set[str]] = {}
    for name, owner in rows:
        owners_by_id.setdefault(wanted[name], set()).add(named[owner])
    return owners_by_id


def between(db: Rows, sources: set[str], targets: set[str]) -> list[Link]:
    """The links from any of these to any of those, in a fixed order; for sets too large to look
    each of them up.
    """
    ends = set(numbers(db, sources).values()), set(numbers(db, targets).values())
    owned_rows = [
        (owner, row)
        for owner, block in db.rows("SELECT owner, packed FROM link_owners")
        # most blocks hold none of the targets: one look at a column saves a tuple for each link
        if not ends[1].isdisjoint(columns_of(block)[2])
        for row in unpack(block)
        if row[2] in ends[1] and row[0] in ends[0]
    ]
    named = texts(
        db, {name for owner, row in owned_rows for name in (owner, row[0], row[1], row[2], row[4])}
    )
    links = [
        Link(named[s], named[r], named[t], named[o], line, named[m], c)
        for o, (s, r, t, line, m, c) in owned_rows
    ]
    return sorted(links, key=_order)


def every(db: Rows) -> list[Link]:
    """All links there are, in a fixed order."""
    named = dict(db.rows("SELECT id, text FROM link_names"))
    rows = db.rows("SELECT owner, packed FROM link_owners")
    links = [
        Link(
            named[source], named[kind], named[target], named[owner], line, named[method], confidence
        )
        for owner, block in rows
        for source, kind, target, line, method, confidence in unpack(block)
    ]
    return sorted(links, key=_order)


def count(db: Rows) -> int:
    """How many links there are."""
    return int(db.rows("SELECT COALESCE(SUM(count), 0) FROM link_owners")[0][0])


def count_to(db: Rows, prefix: str) -> int:
    """How many links lead to something whose Id begins so."""
    sql = "SELECT id FROM link_names WHERE text >= ? AND text < ?"
    # a range instead of LIKE, which ignores case
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


class Shape(NamedTuple):
    """How what is linked hangs together."""

    nodes: int
    """With a link; a name that nothing defines is none."""
    parts: tuple[int, ...]
    """Nodes of each part that no link leads out of, largest first."""
    linked_to: tuple[tuple[str, int], ...]
    """The nodes with the most incoming links."""


def shape(db: Rows, most: int = 10) -> Shape:
    """How all nodes hang together, whatever the relation."""
    named = "name:", "name;"  # a range for the index; `;` is the character after `:`
    names = {
        row[0] for row in db.rows("SELECT id FROM link_names WHERE text >= ? AND text < ?", named)
    }
    into = Counter[int]()
    parent = dict[int, int]()

    def root(node: int) -> int:
        while (above := parent.setdefault(node, node)) != node:
            parent[node] = node = parent[above]  # half of the way is saved for the next question
        return node

    for (block,) in db.rows("SELECT packed FROM link_owners ORDER BY owner"):
        sources, _, targets, *_ = columns_of(block)
        for source, target in zip(sources, targets, strict=True):
            if target not in names:
                into[target] += 1
                parent[root(source)] = root(target)
    sizes = Counter(root(node) for node in list(parent))
    best = sorted(into.items(), key=lambda pair: (-pair[1], pair[0]))[:most]
    called = texts(db, [node for node, _ in best])
    return Shape(
        len(parent),
        tuple(sorted(sizes.values(), reverse=True)),
        tuple((called[n], c) for n, c in best),
    )


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


CLASSES: Final = ("type:", "interface:")
"""How the Ids of classes begin: what has parts that count with it."""


class WholeGraph:
    """All links at once, as columns of numbers; those that can bring nothing more are dropped on
    the way.
    """

    def __init__(self, db: Rows, relations: Collection[str], forward: bool) -> None:
        self._forward = forward
        self._size = int(db.rows("SELECT COALESCE(MAX(id), 0) + 1 FROM link_names")[0][0])
        blocks = [_raw(row[0]) for row in db.rows("SELECT packed FROM link_owners ORDER BY owner")]
        sources, kinds, targets = (_column(blocks, place) for place in range(3))
        number_by_text = numbers(db, {*relations, "defines"})
        wanted = self._marks(number_by_text[name] for name in relations if name in number_by_text)
        chosen = _each(kinds, wanted)
        ends = list(compress(sources, chosen)), list(compress(targets, chosen))
        self._from, self._to = reversed(ends) if forward else ends
        self._new = bytearray(b"\1") * self._size
        self._classes = self._numbers_of_classes(db)
        if self._classes:
            self._inside = self._owned(kinds, sources, targets, number_by_text.get("defines"))
        else:
            self._inside = {}

    def exclude(self, nodes: Iterable[int]) -> None:
        """These are not given again."""
        for node in nodes:
            self._new[node] = 0

    def columns(self) -> WholeGraph:
        """Itself."""
        return self

    def beyond(self, nodes: set[int]) -> set[int] | None:
        """What lies one link from `nodes` and was not given before. Never None."""
        if not self._to:
            return set()
        hit = set(compress(self._from, _each(self._to, self._marks(nodes))))
        reached = set(compress(hit, map(self._new.__getitem__, hit)))
        self.exclude(reached)
        if len(reached) * 20 > self._size:  # worth a pass over all of them
            new = _each(self._from, bytes(self._new))
            self._from, self._to = list(compress(self._from, new)), list(compress(self._to, new))
        return reached

    def parts(self, nodes: set[int]) -> set[int]:
        """What the classes among `nodes` define, and what that defines; `forward`: the classes that
        `nodes` are in.
        """
        if self._forward:
            front = nodes
        else:
            front = nodes & self._classes
        defined: set[int] = set()
        while front and self._inside:
            front = {one for node in front for one in self._inside.get(node, ())} - defined
            defined |= front
        if not self._forward:
            return defined
        return defined & self._classes

    def _owned(
        self, kinds: array[int], sources: array[int], targets: array[int], defines: int | None
    ) -> dict[int, list[int]]:
        chosen = _each(kinds, self._marks([] if defines is None else [defines]))
        values_by_key: dict[int, list[int]] = {}
        for owner, part in zip(compress(sources, chosen), compress(targets, chosen), strict=True):
            key, value = (part, owner) if self._forward else (owner, part)
            values_by_key.setdefault(key, []).append(value)
        return values_by_key

    def _marks(self, nodes: Iterable[int]) -> bytes:
        marks = bytearray(self._size)
        for node in nodes:
            marks[node] = 1
        return bytes(marks)

    @staticmethod
    def _numbers_of_classes(db: Rows) -> set[int]:
        # a range: LIKE ignores case. `;` is the character after `:`
        sql = "SELECT id FROM link_names WHERE text >= ? AND text < ?"
        return {row[0] for prefix in CLASSES for row in db.rows(sql, (prefix, prefix[:-1] + ";"))}


def _column(blocks: list[bytes], place: int) -> array[int]:
    """One column of all blocks, one after the other."""
    sizes = [(block, len(block) // COLUMNS) for block in blocks]
    return _little(
        array("I", b"".join(block[place * size : (place + 1) * size] for block, size in sizes))
    )


def _each(column: Collection[int], marks: bytes) -> Any:
    """The mark of each number of a column; `itemgetter` is the fastest loop there is for it."""
    # itemgetter needs a key, and with a single one returns the item instead of a tuple
    if len(column) < 2:
        return [marks[number] for number in column]
    return itemgetter(*column)(marks)


_FEW: Final = 64
"""Blocks that are looked up in any case."""
_SHARE: Final = 8
"""Look-ups end where more than one block in so many would be read."""


class BlockLookups:
    """Look-ups: reads only the blocks that hold a name asked for, each once. Towards what depends
    on it only.
    """

    def __init__(self, db: Rows, relations: Collection[str], limited: bool) -> None:
        self._db, self._relations = db, relations
        number_by_text = numbers(db, {*relations, "defines"})
        self._defines = number_by_text.get("defines")
        self._wanted = {number_by_text[name] for name in relations if name in number_by_text}
        total = int(db.rows("SELECT COUNT(*) FROM link_owners")[0][0])
        self._most = max(_FEW, total // _SHARE) if limited else total
        self._read: dict[int, tuple[list[tuple[int, int]], dict[int, list[int]]]] = {}
        self._given: set[int] = set()

    def exclude(self, nodes: Iterable[int]) -> None:
        """These are not given again."""
        self._given.update(nodes)

    def columns(self) -> WholeGraph:
        """The other way, for the same question."""
        return WholeGraph(self._db, self._relations, False)

    def beyond(self, nodes: set[int]) -> set[int] | None:
        """What links to one of `nodes` and was not given before; None where too many blocks would
        have to be read.
        """
        owners = self._owners(nodes)
        if len(owners) > self._most:
            return None
        reached = {
            s for owner in self._blocks(owners) for s, t in owner[0] if t in nodes
        } - self._given
        self._given |= reached
        return reached

    def parts(self, nodes: set[int]) -> set[int]:
        """What the classes among `nodes` define, and what that defines."""
        named = texts(self._db, nodes)
        front = {number for number, text in named.items() if text.startswith(CLASSES)}
        reached_parts: set[int] = set()
        while front:
            defined = {
                t
                for owner in self._blocks(self._owners(front))
                for n in front
                for t in owner[1].get(n, ())
            }
            front = defined - reached_parts
            reached_parts |= front
        return reached_parts

    def _owners(self, nodes: Collection[int]) -> list[int]:
        asked = sorted(nodes)
        owners = set[int]()
        for batch in chunks(asked):
            sql = f"SELECT owner FROM link_ends WHERE name IN ({placeholders(batch)})"
            owners.update(row[0] for row in self._db.rows(sql, batch))
        return sorted(owners)

    def _blocks(
        self, owners: Collection[int]
    ) -> Iterator[tuple[list[tuple[int, int]], dict[int, list[int]]]]:
        """Of each owner its (source, target) pairs of the wanted relations, and what defines
        what.
        """
        missing = [owner for owner in owners if owner not in self._read]
        for batch in chunks(missing):
            sql = f"SELECT owner, packed FROM link_owners WHERE owner IN ({placeholders(batch)})"
            for owner, block in self._db.rows(sql, batch):
                self._read[owner] = self._unpacked(block)
        return (self._read[owner] for owner in owners if owner in self._read)

    def _unpacked(self, block: bytes) -> tuple[list[tuple[int, int]], dict[int, list[int]]]:
        sources, kinds, targets, *_ = columns_of(block)
        pairs = [
            (s, t)
            for s, kind, t in zip(sources, kinds, targets, strict=True)
            if kind in self._wanted
        ]
        parts: dict[int, list[int]] = {}
        for s, kind, t in zip(sources, kinds, targets, strict=True):
            if kind == self._defines:
                parts.setdefault(s, []).append(t)
        return pairs, parts


DEPENDS: Final = ("calls", "references", "inherits", "implements", "imports", "depends_on")
"""Relations whose source depends on its target."""
ANY_DEPTH: Final = 1 << 30


class Reach(NamedTuple):
    """What was reached."""

    levels: dict[str, int]
    """Id → how many links away, 1 and more; without those it was asked for."""
    parts: dict[str, int]
    """What counts with a reached class because the class defines it: Id → level of that class."""


def reach(
    db: Rows,
    starts: Collection[str],
    depth: int = ANY_DEPTH,
    *,
    relations: Collection[str] = DEPENDS,
    forward: bool = False,
    lookups: bool | None = None,
) -> Reach:
    """What depends on `starts` (`forward`: what they depend on), by at most `depth` links; each
    once.

    Who uses a part of a class depends on the class: with a class its parts are looked at too
    (`forward`: with a part its classes), at the same level. `lookups`: True for look-ups only,
    False for columns from the start; None decides by how many blocks are touched. Both give the
    same.
    """
    number_by_text = numbers(db, starts)
    first = set(number_by_text.values())
    by_lookups = not forward and lookups is not False
    edges = (
        BlockLookups(db, relations, limited=lookups is None)
        if by_lookups
        else WholeGraph(db, relations, forward)
    )
    levels, parts = _spread(edges, first, depth)
    named = texts(db, levels.keys() | parts.keys())
    return Reach(
        {named[n]: level for n, level in levels.items()},
        {named[n]: level for n, level in parts.items()},
    )


def _spread(
    edges: BlockLookups | WholeGraph, first: set[int], depth: int
) -> tuple[dict[int, int], dict[int, int]]:
    levels: dict[int, int] = {}
    parts: dict[int, int] = {}
    edges.exclude(first)
    front, level = first, 0
    while front and level < depth:
        level += 1
        reached = edges.beyond(front)
        if reached is None:  # too many blocks for look-ups
            edges = edges.columns()
            # without the parts: one that counted with its class may still be reached by a link of
            # its own
            edges.exclude(first | levels.keys())
            reached = edges.beyond(front) or set()
        levels.update(dict.fromkeys(reached, level))
        # a part was in the front when its class was reached: what depends on it is known already
        front = reached - parts.keys() if parts else reached
        inside = edges.parts(reached)
        if inside:
            inside = inside - levels.keys() - parts.keys() - first
            front = front | inside
            parts.update(dict.fromkeys(inside, level))
    return levels, parts


def nearest_first(levels: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    """(Id, level) in the order of levels, then of Ids: the same every time."""
    return sorted(levels, key=lambda pair: (pair[1], pair[0]))
