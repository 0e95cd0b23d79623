"""What the graph holds of the files that may have changed, beside what the work tree holds of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from kl_hooks.code import listed
from kl_hooks.code.marks import is_marker, known_markers
from kl_hooks.code.wanted import keys

if TYPE_CHECKING:
    from kl_hooks.code.remembered import Key
    from kl_hooks.code.writing import File
    from kl_hooks.git.files import FileEntry
    from kl_hooks.hookspecs import Scanner
    from kl_hooks.store.database import Database

LOST: Final = "?"
"""Before the blob id of a file whose content could not be had: it is asked for again the next time."""


class Held(NamedTuple):
    """Both sides, of the files in some part of the repository; everywhere else they are the same."""

    part: listed.Part
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
    def stale(self) -> dict[str, Key]:
        """The files whose content or scanner is another one, or that are new."""
        return {path: key for path, key in self.wanted.items() if self.before.get(path, ("", ""))[:2] != key}

    def same_paths(self) -> bool:
        """True where no file came or went, whether source or mark of a project."""
        return self.before.keys() == self.wanted.keys() and self.marks == self.known_marks

    def same(self) -> bool:
        """True where nothing differs, and that is noted."""
        return bool(self.part.stamps) and not self.stale and self.same_paths()

    def as_lost_as_before(self) -> bool:
        """True where nothing differs but contents that could not be had, and could not be had the last time either."""
        old = self.before
        return self.same_paths() and all(old[path][:2] == (LOST + key[0], key[1]) for path, key in self.stale.items())


def held(
    db: Database, entries: Sequence[FileEntry], scanners: Sequence[Scanner], part: listed.Part | None = None
) -> Held:
    """What is held of a part; without one, of where `entries` (of all files, by path) differ."""
    if part is None:
        part = listed.differing(db, entries, scanners)
    before: dict[str, File] = {}
    known_marks: set[str] = set()
    for within in part.ranges:
        condition, params = listed.inside(within, "path")
        rows = db.rows(f"SELECT path, blob, scanner, module FROM files WHERE {condition}", params)
        before |= {path: (blob, scanner, module) for path, blob, scanner, module in rows}
        known_marks |= known_markers(db, condition, params)
    return _beside(part, scanners, before, known_marks)


def nothing(entries: Sequence[FileEntry], scanners: Sequence[Scanner]) -> Held:
    """Where there is no graph yet."""
    return _beside(listed.whole(entries), scanners, {}, set())


def _beside(part: listed.Part, scanners: Sequence[Scanner], before: dict[str, File], known_marks: set[str]) -> Held:
    now = [entry for some in part.entries for entry in some]
    marks = {entry.path for entry in now if is_marker(entry.path)}
    return Held(part, now, keys(now, scanners), marks, before, known_marks)


def errors_of(db: Database) -> dict[str, str]:
    """Path → why it has no symbols, of all files that could not be read."""
    return dict(db.rows("SELECT path, error FROM files WHERE error <> ''"))
