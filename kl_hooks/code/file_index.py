"""The files that the graph holds, and which of them differ from the files of the working tree.

They are stored many to a row and as one text: one comparison shows that hundreds are unchanged. An
update has the entries of thousands of files, of which one has changed. Only the rows that differ
are looked into; the tables with a row for each file are read for the files in those, and for no
others.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Collection, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Final

from kl_hooks.code.languages import content_keys
from kl_hooks.code.modules import is_marker
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.store.database import Rows

if TYPE_CHECKING:
    from kl_hooks.code.scanner.parser import Key
    from kl_hooks.git.files import FileEntry
    from kl_hooks.hookspecs import Scanner
    from kl_hooks.store.database import Database


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
    """Changes whenever somebody writes; none where nothing is stored about any file."""

    @classmethod
    def whole(cls, entries: Sequence[FileEntry]) -> Part:
        """All of them."""
        return cls((ALL,), (tuple(entries),), 0, ())

    def is_current(self, db: Rows) -> bool:
        """True if nothing was written since the part was found."""
        return bool(self.stamps) and self.stamps == tuple(
            sorted(db.rows("SELECT first, stamp FROM listed"))
        )


def differing_part(db: Rows, entries: Sequence[FileEntry], scanners: Sequence[Scanner]) -> Part:
    """Where `entries` (sorted by path), read by these scanners, differ from what the graph
    holds.
    """
    rows = sorted(db.rows("SELECT first, stamp, files, entries FROM listed"))
    if not rows:
        return Part.whole(entries)
    versions = _scanner_versions(scanners)
    unchanged = 0
    # a tuple of the path alone sorts before the entry with that path
    starts = [0, *(bisect_left(entries, (row[0],)) for row in rows[1:]), len(entries)]
    ends = [*(row[0] for row in rows[1:]), None]
    ranges: list[Range] = []
    parts: list[tuple[FileEntry, ...]] = []
    for place, (first, _, files, text) in enumerate(rows):
        segment = entries[starts[place] : starts[place + 1]]
        if text == _text(versions, segment):
            unchanged += files
        elif ranges and ranges[-1][1] == first:
            ranges[-1] = (ranges[-1][0], ends[place])
            parts[-1] += tuple(segment)
        else:
            ranges.append((first, ends[place]))
            parts.append(tuple(segment))
    return Part(tuple(ranges), tuple(parts), unchanged, tuple(row[:2] for row in rows))


def store_part(
    db: Rows,
    part: Part,
    scanners: Sequence[Scanner],
    source: Collection[str],
    lost: Collection[str],
) -> None:
    """Writes that the graph holds the entries of a part. Inside one transaction.

    `source`: the paths of source files among them; `lost`: of those whose content could not be had,
    which keep their row from ever being the same, so that they are asked for again.
    """
    # not a time: two writes within one tick of the clock would have the same
    versions = _scanner_versions(scanners)
    stamp = os.urandom(8).hex()
    for within, entries in zip(part.ranges, part.entries, strict=True):
        condition, params = _range_condition(within, "first")
        db.execute(f"DELETE FROM listed WHERE {condition}", params)
        rows: list[tuple[str, int, str, str]] = []
        for segment in _split_entries(entries):
            # the first row begins where its range does, so that together the rows cover every path
            first = segment[0].path if rows else within[0]
            if any(entry.path in lost for entry in segment):
                text = ""
            else:
                text = _text(versions, segment)
            rows.append((first, sum(entry.path in source for entry in segment), stamp, text))
        db.many("INSERT INTO listed (first, files, stamp, entries) VALUES (?, ?, ?, ?)", rows)


def _range_condition(within: Range, column: str) -> tuple[str, tuple[str, ...]]:
    """The condition that a column holds a path in a range, and its parameters."""
    first, end = within
    if end is None:
        return (f"{column} >= ?", (first,))
    return (f"{column} >= ? AND {column} < ?", (first, end))


def _split_entries(entries: Sequence[FileEntry]) -> list[Sequence[FileEntry]]:
    """As rows: a few entries stay together; the first row of all must be there even without any."""
    if len(entries) <= _LARGE:
        return [entries]
    return [entries[start : start + _AT_ONCE] for start in range(0, len(entries), _AT_ONCE)]


def _text(versions: str, entries: Sequence[FileEntry]) -> str:
    """The text of a row. No path contains `//`; the mode is in it because omitting it would take
    longer.
    """
    return "//".join(chain((versions,), chain.from_iterable(entries)))


def _scanner_versions(scanners: Sequence[Scanner]) -> str:
    """Which scanners read which files: by others, all must be read again."""
    return repr([(scanner.suffixes, scanner.version) for scanner in scanners])


File = tuple[str, str, str]
"""(blob, scanner, module)"""
UNAVAILABLE: Final = "?"
"""Before the blob id of a file whose content could not be had: it is asked for again the next time.
"""


class PendingChanges(NamedTuple):
    """Both sides, of the files in some part of the repository; everywhere else they are the
    same.
    """

    part: Part
    now: list[FileEntry]
    """The files that there are now, marks of projects among them."""
    wanted: dict[str, Key]
    """Path → content and scanner, of the source files that there are now."""
    marks: set[str]
    """The files that mark a project now."""
    before: dict[str, File]
    """Path → what the graph holds."""
    known_marks: set[str]

    @property
    def files(self) -> int:
        """All source files that there are now."""
        return self.part.rest + len(self.wanted)

    @property
    def all(self) -> bool:
        """True where it is about all files that there are."""
        return not self.part.rest

    @property
    def changed(self) -> dict[str, Key]:
        """The files whose content or scanner is another one, or that are new."""
        return {
            path: key
            for path, key in self.wanted.items()
            if self.before.get(path, ("", ""))[:2] != key
        }

    def same_paths(self) -> bool:
        """True where no file was added or removed, whether source or project marker."""
        return self.before.keys() == self.wanted.keys() and self.marks == self.known_marks

    def same(self) -> bool:
        """True where nothing differs, and that is noted."""
        return bool(self.part.stamps) and not self.changed and self.same_paths()

    def as_lost_as_before(self) -> bool:
        """True where nothing differs but contents that could not be had, and could not be had the
        last time either.
        """
        old = self.before
        return self.same_paths() and all(
            old[path][:2] == (UNAVAILABLE + key[0], key[1]) for path, key in self.changed.items()
        )


def pending_changes(
    db: Database,
    entries: Sequence[FileEntry],
    scanners: Sequence[Scanner],
    part: Part | None = None,
) -> PendingChanges:
    """What differs in a part; without one, where `entries` (of all files, by path) differ."""
    if part is None:
        part = differing_part(db, entries, scanners)
    before: dict[str, File] = {}
    known_marks: set[str] = set()
    for within in part.ranges:
        condition, params = _range_condition(within, "path")
        rows = db.rows(f"SELECT path, blob, scanner, module FROM files WHERE {condition}", params)
        before |= {path: (blob, scanner, module) for path, blob, scanner, module in rows}
        known_marks |= stored_markers(db, condition, params)
    return _pending(part, scanners, before, known_marks)


def all_pending(entries: Sequence[FileEntry], scanners: Sequence[Scanner]) -> PendingChanges:
    """Where there is no graph yet."""
    return _pending(Part.whole(entries), scanners, {}, set())


def _pending(
    part: Part, scanners: Sequence[Scanner], before: dict[str, File], known_marks: set[str]
) -> PendingChanges:
    now = [entry for some in part.entries for entry in some]
    marks = {entry.path for entry in now if is_marker(entry.path)}
    return PendingChanges(part, now, content_keys(now, scanners), marks, before, known_marks)


def stored_markers(db: Rows, condition: str, params: Sequence[str]) -> set[str]:
    """The files that marked projects when names were last decided; of those that fit a condition
    over `path`.
    """
    return {row[0] for row in db.rows(f"SELECT path FROM marks WHERE {condition}", tuple(params))}


def errors_of(db: Database) -> dict[str, str]:
    """Path → why it has no symbols, of all files that could not be read."""
    # the condition as in the partial index files_error: SQLite uses one only where the query
    # implies its WHERE
    return dict(db.rows("SELECT path, error FROM files WHERE error <> ''"))
