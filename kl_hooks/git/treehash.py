"""The id that git would give to a tree: computed here, so that nothing is written, not even a loose object.

Pure: paths, modes and ids in, an id out. `git write-tree` needs a copy of the index and a place for objects,
and refreshes the times of those it meets in the repository; the format it hashes is small and will not change.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from typing import Final

FOLDER: Final = b"40000"
_Folder = dict[bytes, tuple[bytes, bytes]]  # name → (mode, id as bytes)


def object_id(algorithm: str, kind: bytes, content: bytes) -> str:
    """The id of an object: `object_id("sha1", b"blob", b"")` is git's id of an empty file."""
    return hashlib.new(algorithm, b"%s %d\0%s" % (kind, len(content), content), usedforsecurity=False).hexdigest()


class TreeBuilder:
    """A tree of files that can be changed and asked for its id; only the folders that changed are looked at."""

    def __init__(self, algorithm: str, base: str = "", load: Callable[[str], bytes] | None = None) -> None:
        """`algorithm`: the repository's object format. Begins as the tree `base`, whose folders `load` reads by id."""
        self._algorithm = algorithm
        self._load = load
        self._ids: dict[bytes, bytes] = {b"": bytes.fromhex(base)} if base else {}
        self._folders: dict[bytes, _Folder] = {}
        self._touched: set[bytes] = set()

    def put(self, path: bytes, mode: bytes, blob: str) -> None:
        """This file is there, with this content (mode as `b"100644"`); a file where its folders are to be is not."""
        folder, _, name = path.rpartition(b"/")
        if folder not in self._touched:
            for above in _down_to(folder):
                self._open(above)
        self._folders[folder][name] = (mode, bytes.fromhex(blob))

    def drop(self, path: bytes) -> None:
        """This file is not there. Dropping what is not there changes nothing."""
        folder, _, name = path.rpartition(b"/")
        for above in _down_to(folder):
            parent, _, own = above.rpartition(b"/")
            if above and self._folders[parent].get(own, (b"",))[0] != FOLDER:
                return
            self._open(above)
        if self._folders[folder].get(name, (FOLDER,))[0] != FOLDER:
            del self._folders[folder][name]

    def _open(self, folder: bytes) -> None:
        """Looks into a folder whose parent is open, or makes it; its id is to be computed anew."""
        if folder not in self._folders:
            known = self._ids.get(folder)
            read = known is not None and self._load is not None
            self._folders[folder] = dict(self._entries(folder, known)) if read and known else {}
        if folder:
            parent, _, name = folder.rpartition(b"/")
            self._folders[parent][name] = (FOLDER, b"")
        self._touched.add(folder)

    def _entries(self, folder: bytes, known: bytes) -> Iterator[tuple[bytes, tuple[bytes, bytes]]]:
        """The rows of a tree object; the ids of folders in it are noted, they need not be opened."""
        content, size, at = self._load(known.hex()) if self._load else b"", len(known), 0
        while at < len(content):
            end = content.index(b"\0", at)
            mode, _, name = content[at:end].partition(b" ")
            at = end + 1 + size
            found = content[end + 1 : at]
            if mode == FOLDER:
                self._ids[folder + b"/" + name if folder else name] = found
            yield name, (mode, found)

    def root(self) -> str:
        """The id of the whole; the empty tree's id if there is no file."""
        for folder in sorted(self._touched, key=_depth, reverse=True):
            self._hash(folder)
        self._touched.clear()
        root = self._ids.get(b"")
        return root.hex() if root is not None else object_id(self._algorithm, b"tree", b"")

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


def _down_to(folder: bytes) -> Iterator[bytes]:
    """`b""`, `b"a"`, `b"a/b"` for `b"a/b"`."""
    yield b""
    at = folder.find(b"/")
    while at >= 0:
        yield folder[:at]
        at = folder.find(b"/", at + 1)
    if folder:
        yield folder


def _depth(folder: bytes) -> int:
    return folder.count(b"/") + bool(folder)
