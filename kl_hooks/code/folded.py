"""Facts folded into bytes, for who has those of thousands of contents and needs them one after the other.

What a process that scans gives back is ready to be written; in between it lies in a file, and of each content only what
somebody asks for is unfolded: those of a whole repository would not fit into a small memory.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from io import BytesIO
from typing import IO, TYPE_CHECKING, Any, Final

from kl_hooks.code import remembered
from kl_hooks.code.parse import Facts
from kl_hooks.code.remembered import PARTS, TOGETHER, Columns, Key, columns_of, write
from kl_hooks.store.database import Rows

if TYPE_CHECKING:
    from kl_hooks.store.store import Store

_BETWEEN: Final = b"\0"
"""Stands in no JSON and in no identifier; the error comes last."""
_JSON: Final = Columns._fields[1:5]
"""The columns before names and error."""


def fold(facts: Facts) -> bytes:
    """The facts of a content as the bytes that `Folded` keeps."""
    error, *others = columns_of(facts)
    return _BETWEEN.join(text.encode("utf-8", "surrogatepass") for text in (*others, error))


class Pile(Iterable[bytes]):
    """Pieces of bytes, one after the other in a file without a name, which is gone when nobody holds it any more."""

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
            return self._file.write(piece) == len(piece)
        except OSError:  # the disk is full
            return False

    def _go_to_memory(self) -> None:
        held = BytesIO(b"".join(self))
        held.seek(0, os.SEEK_END)
        self._file.close()
        self._file = held

    def at(self, place: int) -> bytes:
        """One of the pieces. Processes that share the file may ask at once."""
        start, end = self._ends[place : place + 2]
        if isinstance(self._file, BytesIO):
            return bytes(self._file.getbuffer()[start:end])
        return os.pread(self._file.fileno(), end - start, start)

    def __iter__(self) -> Iterator[bytes]:
        return map(self.at, range(len(self._ends) - 1))

    def __del__(self) -> None:
        self._file.close()


class Folded(Mapping[Key, Facts]):
    """Content → its facts, which lie in a pile until they are asked for."""

    def __init__(self, made: Iterable[tuple[Key, bytes]]) -> None:
        self._places: dict[Key, int] = {}
        self._pile = Pile(self._put(made))

    def _put(self, made: Iterable[tuple[Key, bytes]]) -> Iterator[bytes]:
        for place, (key, folded) in enumerate(made):
            self._places[key] = place
            yield folded

    def columns(self, key: Key) -> Columns:
        """The same facts as the database keeps them. KeyError for none of the contents."""
        *others, error = map(_text, self._columns(key))
        return Columns(error, *others)

    def _columns(self, key: Key) -> list[bytes]:
        return self._pile.at(self._places[key]).split(_BETWEEN, 5)

    def __getitem__(self, key: Key) -> Facts:
        return _Unfolding(self._columns(key))

    def __contains__(self, key: object) -> bool:
        return key in self._places

    def __iter__(self) -> Iterator[Key]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


def _file() -> IO[bytes]:
    """A file that is gone when it is closed, without a buffer: processes share it. Memory where there is no place."""
    from tempfile import TemporaryFile

    try:
        return TemporaryFile(buffering=0)
    except OSError:
        return BytesIO()


class _Unfolding(dict[str, Any]):
    """Facts of which each part is read when it is asked for by its name."""

    def __init__(self, columns: list[bytes]) -> None:
        *self._json, names, error = columns
        super().__init__(error=_text(error), names=_text(names))

    def __missing__(self, part: str) -> Any:
        if part in TOGETHER:
            self.update(zip(TOGETHER, self._read("symbols"), strict=True))
        else:
            self[part] = self._read(part)
        return self[part]

    def _read(self, part: str) -> Any:
        return json.loads(_text(self._json[_JSON.index(part)]))


def _text(folded: bytes) -> str:
    return folded.decode("utf-8", "surrogatepass")


def whole(facts: Mapping[Key, Facts]) -> Mapping[Key, Facts]:
    """The same facts with all their parts, for who keeps them all anyway."""
    if not isinstance(facts, Folded):
        return facts
    return {key: {part: one[part] for part in PARTS} for key, one in facts.items()}


def save(db: Rows, fresh: Mapping[Key, Facts]) -> None:
    """As `remembered.save`; what is folded goes as it is."""
    if isinstance(fresh, Folded):
        write(db, ((key, fresh.columns(key)) for key in sorted(fresh)))
    else:
        remembered.save(db, fresh)


def keep(store: Store, fresh: Mapping[Key, Facts]) -> None:
    """Remembers what was read. KlError if the store can't be written."""
    with store.writing("graph") as db, db.transaction():
        save(db, fresh)
