"""The id that git would give to a tree: computed here, so that nothing is written, not even a loose object.

Pure: paths, modes and ids in, an id out. `git write-tree` needs a copy of the index and a place for objects,
and refreshes the times of those it meets in the repository; the format it hashes is small and will not change.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Final

FOLDER: Final = b"40000"


def object_id(algorithm: str, kind: bytes, content: bytes) -> str:
    """The id of an object: `object_id("sha1", b"blob", b"")` is git's id of an empty file."""
    return hashlib.new(algorithm, b"%s %d\0%s" % (kind, len(content), content), usedforsecurity=False).hexdigest()


class TreeBuilder:
    """A tree of files that can be changed and asked for its id; asking again costs only what changed."""

    def __init__(self, algorithm: str, entries: Iterable[tuple[bytes, bytes, str]] = ()) -> None:
        """`algorithm`: the repository's object format; `entries`: (path, mode as `b"100644"`, blob id)."""
        self._algorithm = algorithm
        self._folders: dict[bytes, dict[bytes, tuple[bytes, bytes]]] = {b"": {}}
        self._ids: dict[bytes, bytes] = {}
        self._touched: set[bytes] = {b""}
        for path, mode, blob in entries:
            self.put(path, mode, blob)

    def put(self, path: bytes, mode: bytes, blob: str) -> None:
        """This file is there, with this content; a folder of the same name, or a file above it, is not."""
        folder, _, name = path.rpartition(b"/")
        if folder not in self._folders or folder not in self._touched:
            self._touch(folder)
        self._folders[folder][name] = (mode, bytes.fromhex(blob))

    def drop(self, path: bytes) -> None:
        """This file is not there. Dropping what is not there changes nothing."""
        folder, _, name = path.rpartition(b"/")
        if name in self._folders.get(folder, {}) and self._folders[folder][name][0] != FOLDER:
            self._touch(folder)
            del self._folders[folder][name]

    def _touch(self, folder: bytes) -> None:
        """Marks a folder and those above it as changed, and makes them where they are missing."""
        while True:
            self._touched.add(folder)
            self._folders.setdefault(folder, {})
            if not folder:
                return
            above, _, name = folder.rpartition(b"/")
            self._folders.setdefault(above, {})[name] = (FOLDER, b"")
            folder = above

    def root(self) -> str:
        """The id of the whole; the empty tree's id if there is no file."""
        for folder in sorted(self._touched, key=_depth, reverse=True):
            self._hash(folder)
        self._touched.clear()
        return self._ids.get(b"", bytes.fromhex(object_id(self._algorithm, b"tree", b""))).hex()

    def _hash(self, folder: bytes) -> None:
        lines = []
        prefix = folder + b"/" if folder else b""
        for name, (mode, found) in self._folders[folder].items():
            if mode == FOLDER:
                below = self._ids.get(prefix + name)
                if below is not None:  # an empty folder has no entry
                    lines.append((name + b"/", b"%s %s\0%s" % (mode, name, below)))
            else:
                lines.append((name, b"%s %s\0%s" % (mode, name, found)))
        if lines:
            content = b"".join(line for _, line in sorted(lines))
            self._ids[folder] = bytes.fromhex(object_id(self._algorithm, b"tree", content))
        else:
            self._ids.pop(folder, None)


def _depth(folder: bytes) -> int:
    return folder.count(b"/") + bool(folder)
