"""The files that the graph holds, many to a row and as one text: one comparison tells that hundreds are as they were.

Whoever asks has the entries of thousands of files, of which one has changed. Only the rows that say something else are
looked into; the tables that hold a row for each file are read for the files in those, and for no others.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Collection, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

from kl_hooks.store.database import Rows

if TYPE_CHECKING:
    from kl_hooks.git.files import FileEntry
    from kl_hooks.hookspecs import Scanner

_AT_ONCE: Final = 256
"""Entries of a new row."""
_LARGE: Final = 2 * _AT_ONCE
"""Entries from which on a row is parted when it is written again."""
Range = tuple[str, str | None]
"""Paths from the first text on, up to and without the second; None: all further ones."""
ALL: Final[Range] = ("", None)


class Part(NamedTuple):
    """Where the entries may be others than the graph holds; everywhere else they are the same."""

    ranges: tuple[Range, ...]
    """In their order, none beside another."""
    entries: tuple[tuple[FileEntry, ...], ...]
    """The entries in each range."""
    rest: int
    """Source files outside of them."""
    stamps: tuple[tuple[str, str], ...]
    """What tells whether somebody has written meanwhile; none where nothing is noted about any file."""


def whole(entries: Sequence[FileEntry], stamps: tuple[tuple[str, str], ...] = ()) -> Part:
    """All of them."""
    return Part((ALL,), (tuple(entries),), 0, stamps)


def holds(db: Rows, part: Part) -> bool:
    """True if nobody has written since the part was found."""
    return bool(part.stamps) and part.stamps == tuple(sorted(db.rows("SELECT first, stamp FROM listed")))


def differing(db: Rows, entries: Sequence[FileEntry], scanners: Sequence[Scanner]) -> Part:
    """Where `entries` (sorted by path), read by these scanners, differ from what the graph holds."""
    rows = sorted(db.rows("SELECT first, stamp, files, entries FROM listed"))
    if not rows:
        return whole(entries)
    how, rest = _how(scanners), 0
    starts = [0, *(bisect_left(entries, (row[0],)) for row in rows[1:]), len(entries)]
    ends = [*(row[0] for row in rows[1:]), None]
    ranges: list[Range] = []
    parts: list[tuple[FileEntry, ...]] = []
    for place, (first, _, files, text) in enumerate(rows):
        some = entries[starts[place] : starts[place + 1]]
        if text == _text(how, some):
            rest += files
        elif ranges and ranges[-1][1] == first:
            ranges[-1] = (ranges[-1][0], ends[place])
            parts[-1] += tuple(some)
        else:
            ranges.append((first, ends[place]))
            parts.append(tuple(some))
    return Part(tuple(ranges), tuple(parts), rest, tuple(row[:2] for row in rows))


def note(db: Rows, part: Part, scanners: Sequence[Scanner], source: Collection[str], lost: Collection[str]) -> None:
    """Writes that the graph holds the entries of a part. Inside one transaction.

    `source`: the paths of source files among them; `lost`: of those whose content could not be had, which keep their
    row from ever being the same, so that they are asked for again.
    """
    how, stamp = _how(scanners), os.urandom(8).hex()
    for within, entries in zip(part.ranges, part.entries, strict=True):
        condition, params = inside(within, "first")
        db.execute(f"DELETE FROM listed WHERE {condition}", params)
        rows: list[tuple[str, int, str, str]] = []
        for some in _parted(entries):
            first = some[0].path if rows else within[0]
            text = "" if any(entry.path in lost for entry in some) else _text(how, some)
            rows.append((first, sum(entry.path in source for entry in some), stamp, text))
        db.many("INSERT INTO listed (first, files, stamp, entries) VALUES (?, ?, ?, ?)", rows)


def inside(within: Range, column: str) -> tuple[str, tuple[str, ...]]:
    """The condition that a column holds a path in a range, and its parameters."""
    first, end = within
    return (f"{column} >= ?", (first,)) if end is None else (f"{column} >= ? AND {column} < ?", (first, end))


def _parted(entries: Sequence[FileEntry]) -> list[Sequence[FileEntry]]:
    """As rows: a few entries stay together; the first row of all must be there even without any."""
    if len(entries) <= _LARGE:
        return [entries]
    return [entries[start : start + _AT_ONCE] for start in range(0, len(entries), _AT_ONCE)]


def _text(how: str, entries: Sequence[FileEntry]) -> str:
    """What a row says. No path holds `//`; the mode is in it because leaving it out would take longer."""
    return "//".join(chain((how,), chain.from_iterable(entries)))


def _how(scanners: Sequence[Scanner]) -> str:
    """Which scanners read which files: by others, all must be read again."""
    return repr([(scanner.suffixes, scanner.version) for scanner in scanners])
