"""One look at the work tree: what git lists there, what differs from what is staged, and the blob ids of that.

Whoever wants to know the files and whoever wants to know the tree share it: each question is asked once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from kl_hooks.git import disk
from kl_hooks.git.repository import GitSettings, Repository, content_settings


@dataclass(frozen=True, slots=True)
class Look:
    """What the work tree held when it was looked at."""

    repo: Repository
    known: GitSettings
    seen: disk.Overlooked
    changes: Mapping[bytes, disk.Change]
    """What differs from the index, or was only touched; with what git does not look at among it."""
    _content: disk.Content = field(default_factory=disk.Content, compare=False, repr=False)
    _asked: set[bytes] = field(default_factory=set, compare=False, repr=False)

    def contents(self, wanted: Mapping[bytes, bytes | None]) -> disk.Content:
        """As `disk.contents`, of all that was ever asked for: each file is hashed once."""
        new = {path: mode for path, mode in wanted.items() if path not in self._asked}
        self._asked.update(new)
        if new:
            self._content.add(disk.contents(self.repo, new, self.known))
        return self._content

    def against(self, base: str) -> dict[bytes, disk.Change]:
        """What differs on disk from a tree. One git process: what is staged differs from it."""
        staged = disk.staged(self.repo, base, to_commit=False)
        here = {
            path: disk.Change(staged[path].before if path in staged else one.before, one.mode, one.blob)
            for path, one in self.changes.items()
        }
        return {**staged, **here}


def look_at(repo: Repository, paths: Iterable[str] = ()) -> Look:
    """The files on disk beside those staged, of these pathspecs (none: of all). Two git processes."""
    known, paths = content_settings(repo), list(paths)
    seen = disk.overlooked(repo, paths)
    return Look(repo, known, seen, disk.uncovered(disk.changed(repo, None, known, paths), seen))
