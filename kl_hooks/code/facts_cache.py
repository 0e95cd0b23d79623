"""The cache of facts: a row per content and scanner in the graph database, read once per blob and never again.

The facts of thousands of contents do not fit into a small memory. What a process that scans gives back is packed into
bytes that are ready to be written; in between it lies in a temporary file, and of each content only the parts that
somebody asks for are unpacked.
"""

from __future__ import annotations

import json
import os
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from io import BytesIO
from itertools import accumulate, pairwise
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple, cast

from kl_hooks.code.scanner.parser import Facts, Key, Outline
from kl_hooks.store.database import Rows, chunks, placeholders

if TYPE_CHECKING:
    from kl_hooks.store.store import Store


KnownFacts = dict[Key, Facts]
SYMBOL_PARTS: Final = ("symbols", "words", "decorators", "text")
"""The parts of facts that share one column."""
PARTS: Final = ("error", *SYMBOL_PARTS, "imports", "uses", "outline", "names")
"""All parts of facts."""


class Columns(NamedTuple):
    """The facts of a content as the database keeps them: compressed JSON, but for the error."""

    error: str
    imports: bytes
    symbols: bytes
    uses: bytes
    outline: bytes
    names: bytes


def stored_facts(store: Store, wanted: Iterable[Key], symbols: bool = True) -> KnownFacts:
    """What the store knows of these contents; nothing where there is no database yet. KlError if it can't be read."""
    with store.reading("graph") as db:
        return load(db, wanted, symbols, uses=symbols) if db is not None else {}


def load(db: Rows, wanted: Iterable[Key], symbols: bool = True, uses: bool = False) -> KnownFacts:
    """What the database knows of these contents: errors and imports; symbols, and uses with outlines, if wanted.

    A row that can't be read is as good as none.
    """
    columns = ["error", "imports", "symbols" if symbols else "''"]
    columns += ["uses", "outline", "names"] if uses else ["''"] * 3
    known: KnownFacts = {}
    for scanner, blobs in _by_scanner(wanted):
        sql = f"SELECT blob, {', '.join(columns)} FROM facts WHERE scanner = ? AND blob IN ({placeholders(blobs)})"
        for blob, *row in db.rows(sql, (scanner, *blobs)):
            facts = _facts(*row)
            if facts is not None:
                known[blob, scanner] = facts
    return known


def outlines(db: Rows, wanted: Iterable[Key]) -> dict[Key, Outline]:
    """Content → its outline (see `code.uses`), of those that are known."""
    found = {}
    for scanner, blobs in _by_scanner(wanted):
        sql = f"SELECT blob, outline FROM facts WHERE scanner = ? AND blob IN ({placeholders(blobs)})"
        for blob, text in db.rows(sql, (scanner, *blobs)):
            with suppress(ValueError, zlib.error):
                found[blob, scanner] = _unpacked(text)
    return found


class Outlines:
    """Outlines by module: those of changed files as given, others read when somebody asks."""

    def __init__(self, db: Rows, given: Mapping[str, Outline]) -> None:
        self._db = db
        self._known: dict[str, Outline | None] = dict(given)

    def of(self, module: str) -> Outline | None:
        """The outline of a module; None for one that has none."""
        if module not in self._known:
            sql = "SELECT blob, scanner FROM files WHERE module = ?"
            keys = [(blob, scanner) for blob, scanner in self._db.rows(sql, (module,))]
            self._known[module] = next(iter(outlines(self._db, keys).values()), None)
        return self._known[module] or None


def save_facts(db: Rows, fresh: Mapping[Key, Facts]) -> None:
    """Write facts, packed ones as they are; call it inside a transaction. What is there already is replaced."""
    names = "blob, scanner, error, imports, symbols, uses, outline, names"
    packed = fresh if isinstance(fresh, PackedFacts) else None
    rows = ((*key, *(packed.columns(key) if packed else columns_of(fresh[key]))) for key in sorted(fresh))
    db.many(f"INSERT OR REPLACE INTO facts ({names}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)


def columns_of(facts: Facts) -> Columns:
    """Facts as the database keeps them."""
    return Columns(
        facts["error"], _packed(facts["imports"]), _packed([facts[part] for part in SYMBOL_PARTS]),
        _packed(facts["uses"]), _packed(facts["outline"]), _packed(facts["names"]),
    )  # fmt: skip


def delete_unused(db: Rows, spare: int) -> int:
    """Delete contents that no file has any more once there are more than `spare` of them; returns how many."""
    known, files = (int(db.rows(f"SELECT COUNT(*) FROM {table}")[0][0]) for table in ("facts", "files"))
    if known <= files + spare:
        return 0
    # contents without a file stay until there are many: a checkout of an old branch then parses nothing (ADR-0004)
    db.execute("DELETE FROM facts WHERE (blob, scanner) NOT IN (SELECT blob, scanner FROM files)")
    return known - int(db.rows("SELECT COUNT(*) FROM facts")[0][0])


def _facts(error: str, imports: bytes, symbols: bytes, uses: bytes, outline: bytes, names: bytes) -> Facts | None:
    try:
        found, words, decorators, text = _unpacked(symbols) if symbols else ([], [], {}, [])
        return {
            "error": error, "symbols": found, "words": words, "imports": _unpacked(imports),
            "decorators": decorators, "uses": _unpacked(uses) if uses else {},
            "outline": _unpacked(outline) if outline else {}, "names": _unpacked(names) if names else "",
            "text": text,
        }  # fmt: skip
    except (ValueError, TypeError, zlib.error):
        return None


def _by_scanner(wanted: Iterable[Key]) -> Iterator[tuple[str, Sequence[str]]]:
    by_scanner: dict[str, list[str]] = {}
    for blob, scanner in sorted(set(wanted)):
        by_scanner.setdefault(scanner, []).append(blob)
    for scanner, blobs in by_scanner.items():
        for some in chunks(blobs):
            yield scanner, some


# made once: json.dumps makes an encoder for each call unless all its options are the defaults
_json: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


_LEVEL: Final = 4
"""Of compression: a higher one takes longer than it saves in writing."""


def _packed(part: Any) -> bytes:
    return zlib.compress(_json(part).encode("utf-8", "surrogatepass"), _LEVEL)


def _unpacked(column: bytes) -> Any:
    return json.loads(zlib.decompress(column).decode("utf-8", "surrogatepass"))


_JSON: Final = Columns._fields[1:]
"""The columns but the error."""
_SIZES: Final = struct.Struct(f"<{len(_JSON)}I")


def pack_facts(facts: Facts) -> bytes:
    """The facts of a content as the bytes that `PackedFacts` keeps."""
    error, *others = columns_of(facts)
    return b"".join((_SIZES.pack(*map(len, others)), *others, error.encode("utf-8", "surrogatepass")))


class TempBlobFile(Iterable[bytes]):
    """Pieces of bytes, one after the other in a file without a name, deleted with this object."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._file = _file()
        self._ends = [0]
        for piece in pieces:
            if not self._put(piece):
                self._go_to_memory()
                self._put(piece)
            self._ends.append(self._ends[-1] + len(piece))

    def _put(self, piece: bytes) -> bool:
        try:
            # an unbuffered file may write only a part and raise nothing (RawIOBase.write)
            return self._file.write(piece) == len(piece)
        except OSError:  # the disk is full
            return False

    def _go_to_memory(self) -> None:
        memory = BytesIO(b"".join(self))
        memory.seek(0, os.SEEK_END)
        self._file.close()
        self._file = memory

    def at(self, place: int) -> bytes:
        """One of the pieces. Processes that share the file may ask at once."""
        start, end = self._ends[place : place + 2]
        if isinstance(self._file, BytesIO):
            return bytes(self._file.getbuffer()[start:end])
        # a process that was forked shares the position in the file (fork(2)): no seek, which others would move
        return os.pread(self._file.fileno(), end - start, start)

    def __iter__(self) -> Iterator[bytes]:
        return map(self.at, range(len(self._ends) - 1))

    def __del__(self) -> None:
        self._file.close()


class PackedFacts(Mapping[Key, Facts]):
    """Content → its facts, which lie in a pile until they are asked for."""

    def __init__(self, made: Iterable[tuple[Key, bytes]]) -> None:
        self._places: dict[Key, int] = {}
        self._pile = TempBlobFile(self._put(made))

    def _put(self, made: Iterable[tuple[Key, bytes]]) -> Iterator[bytes]:
        for place, (key, folded) in enumerate(made):
            self._places[key] = place
            yield folded

    def columns(self, key: Key) -> Columns:
        """The same facts as the database keeps them. KeyError for none of the contents."""
        *others, error = self._columns(key)
        return Columns(_text(error), *others)

    def _columns(self, key: Key) -> list[bytes]:
        """The columns, the error last."""
        whole = self._pile.at(self._places[key])
        ends = [*accumulate(_SIZES.unpack_from(whole), initial=_SIZES.size)]
        return [*(whole[start:end] for start, end in pairwise(ends)), whole[ends[-1] :]]

    def __getitem__(self, key: Key) -> Facts:
        return cast("Facts", _LazyFacts(self._columns(key)))

    def __contains__(self, key: object) -> bool:
        return key in self._places

    def __iter__(self) -> Iterator[Key]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


def _file() -> IO[bytes]:
    """A file deleted when it is closed, unbuffered because processes share it; memory where there is no disk."""
    from tempfile import TemporaryFile

    try:
        return TemporaryFile(buffering=0)
    except OSError:
        return BytesIO()


class _LazyFacts(dict[str, Any]):
    """Facts of which each part is read when it is asked for by its name."""

    def __init__(self, columns: list[bytes]) -> None:
        *self._json, error = columns
        super().__init__(error=_text(error))

    def __missing__(self, part: str) -> Any:
        if part in SYMBOL_PARTS:
            self.update(zip(SYMBOL_PARTS, self._read("symbols"), strict=True))
        else:
            self[part] = self._read(part)
        return self[part]

    def _read(self, part: str) -> Any:
        return _unpacked(self._json[_JSON.index(part)])


def _text(folded: bytes) -> str:
    return folded.decode("utf-8", "surrogatepass")


def unpacked_facts(facts: Mapping[Key, Facts]) -> Mapping[Key, Facts]:
    """The same facts with all their parts, for who keeps them all anyway."""
    if not isinstance(facts, PackedFacts):
        return facts
    return {key: cast("Facts", {part: one[part] for part in PARTS}) for key, one in facts.items()}


def store_facts(store: Store, fresh: Mapping[Key, Facts]) -> None:
    """Remembers what was read. KlError if the store can't be written."""
    with store.writing("graph") as db, db.transaction():
        save_facts(db, fresh)
