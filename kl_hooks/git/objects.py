"""Git objects: their contents, out of one `git cat-file` for many, and the IDs of blobs and trees,
computed here.

`git write-tree` needs a copy of the index and a place for objects, and refreshes the times of those
it meets in the repository; the format it hashes is small and will not change. So nothing is
written, not even a loose object.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import IO, Final

from kl_hooks.git.repository import Repository, directory_options
from kl_hooks.git.run import GitFailed, start_git

_TREE_MODE: Final = b"40000"
_Entries = dict[bytes, tuple[bytes, bytes]]  # name → (mode, id as bytes)


def object_id(algorithm: str, kind: bytes, content: bytes) -> str:
    """The id of an object: `object_id("sha1", b"blob", b"")` is git's id of an empty file."""
    # usedforsecurity: builds of OpenSSL in FIPS mode refuse SHA-1 otherwise
    return hashlib.new(
        algorithm, b"%s %d\0%s" % (kind, len(content), content), usedforsecurity=False
    ).hexdigest()


class TreeBuilder:
    """A tree of files that can be changed and asked for its id; only the folders that changed are
    looked at.
    """

    def __init__(
        self, algorithm: str, base: str = "", load: Callable[[str], bytes] | None = None
    ) -> None:
        """`algorithm`: the repository's object format. Begins as the tree `base`, whose folders
        `load` reads by id.
        """
        self._algorithm = algorithm
        self._load = load
        self._ids: dict[bytes, bytes] = {b"": bytes.fromhex(base)} if base else {}
        self._folders: dict[bytes, _Entries] = {}
        self._touched: set[bytes] = set()

    def put(self, path: bytes, mode: bytes, blob: str) -> None:
        """Add or change a file (mode as `b"100644"`); a file at the path of one of its folders is
        replaced.
        """
        folder, _, name = path.rpartition(b"/")
        if folder not in self._touched:
            for above in _folders_down_to(folder):
                self._open(above)
        self._folders[folder][name] = (mode, bytes.fromhex(blob))

    def drop(self, path: bytes) -> None:
        """Remove a file. Nothing changes where there is none."""
        folder, _, name = path.rpartition(b"/")
        for above in _folders_down_to(folder):
            parent, _, own = above.rpartition(b"/")
            if above and self._folders[parent].get(own, (b"",))[0] != _TREE_MODE:
                return
            self._open(above)
        if self._folders[folder].get(name, (_TREE_MODE,))[0] != _TREE_MODE:
            del self._folders[folder][name]

    def _open(self, folder: bytes) -> None:
        """Look into a folder whose parent is open, or make it; its id is to be computed anew."""
        if folder not in self._folders:
            identifier = self._ids.get(folder)
            if identifier and self._load:
                self._folders[folder] = dict(self._entries(folder, identifier))
            else:
                self._folders[folder] = {}
        if folder:
            parent, _, name = folder.rpartition(b"/")
            self._folders[parent][name] = (_TREE_MODE, b"")
        self._touched.add(folder)

    def _entries(
        self, folder: bytes, tree_id: bytes
    ) -> Iterator[tuple[bytes, tuple[bytes, bytes]]]:
        """The rows of a tree object; the ids of folders in it are noted, they need not be
        opened.
        """
        content = self._load(tree_id.hex()) if self._load else b""
        size = len(tree_id)
        position = 0
        while position < len(content):
            end = content.index(b"\0", position)
            mode, _, name = content[position:end].partition(b" ")
            position = end + 1 + size
            entry_id = content[end + 1 : position]
            if mode == _TREE_MODE:
                self._ids[folder + b"/" + name if folder else name] = entry_id
            yield name, (mode, entry_id)

    def root(self) -> str:
        """The id of the whole; the empty tree's id if there is no file."""
        # the deepest first: the ID of a folder is part of its parent's content
        for folder in sorted(
            self._touched, key=lambda path: path.count(b"/") + bool(path), reverse=True
        ):
            self._hash(folder)
        self._touched.clear()
        root = self._ids.get(b"")
        if root is not None:
            return root.hex()
        return object_id(self._algorithm, b"tree", b"")

    def _hash(self, folder: bytes) -> None:
        # git sorts a folder as if its name ended in a slash (base_name_compare)
        lines = []
        prefix = folder + b"/" if folder else b""
        for name, (mode, entry_id) in self._folders[folder].items():
            if mode == _TREE_MODE:
                below = self._ids.get(prefix + name)
                if below is not None:  # an empty folder has no entry
                    lines.append((name + b"/", b"%s %s\0%s" % (mode, name, below)))
            else:
                lines.append((name, b"%s %s\0%s" % (mode, name, entry_id)))
        if lines:
            content = b"".join(line for _, line in sorted(lines))
            self._ids[folder] = bytes.fromhex(object_id(self._algorithm, b"tree", content))
        else:
            self._ids.pop(folder, None)


def _folders_down_to(folder: bytes) -> Iterator[bytes]:
    """`b""`, `b"a"`, `b"a/b"` for `b"a/b"`."""
    yield b""
    slash = folder.find(b"/")
    while slash >= 0:
        yield folder[:slash]
        slash = folder.find(b"/", slash + 1)
    if folder:
        yield folder


MAX_BLOB_BYTES: Final = 32 * 1024 * 1024
"""Bytes of the largest content that is given; a larger file is no source that anybody reads."""
# IDs per turn, at most 32 kB: they fit into a pipe (64 KiB, pipe(7)), so we never wait for git
# while git waits for us
_AT_ONCE: Final = 500


def read_blobs(repo: Repository, ids: Sequence[str]) -> Iterator[bytes | None]:
    """The content for each id, in order; None where git does not have it, or it is larger than
    `MAX_BLOB_BYTES`.
    """
    if not ids:
        return
    with start_git(
        *directory_options(repo), "cat-file", "--batch", cwd=repo.top, stdin=True
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        for start in range(0, len(ids), _AT_ONCE):
            part = ids[start : start + _AT_ONCE]
            with suppress(BrokenPipeError):  # git ended: the remaining IDs read as missing
                process.stdin.write("".join(f"{blob}\n" for blob in part).encode("ascii"))
                process.stdin.flush()
            for _ in part:
                yield _next_object(process.stdout, b"blob")


@contextmanager
def _tree_reader(repo: Repository) -> Iterator[Callable[[str], bytes]]:
    """A function that reads one tree object by its id; it raises GitFailed where there is none."""
    with start_git(
        *directory_options(repo), "cat-file", "--batch", cwd=repo.top, stdin=True
    ) as process:
        writer = process.stdin
        reader = process.stdout
        assert writer is not None and reader is not None

        def read(tree: str) -> bytes:
            with suppress(BrokenPipeError):  # git ended: there is no answer either
                writer.write(f"{tree}\n".encode("ascii"))
                writer.flush()
            content = _next_object(reader, b"tree")
            if content is None:
                raise GitFailed(f"git has no tree {tree}.", hint="See: git fsck")
            return content

        yield read


def _next_object(out: IO[bytes], kind: bytes) -> bytes | None:
    """One answer: `<id> blob <size>`, content, newline; or `<id> missing`; nothing at all if git
    ended.
    """
    about = out.readline().split()
    if len(about) != 3:
        return None
    size = int(about[2])
    if size > MAX_BLOB_BYTES:
        # read and thrown away: the answer for the next ID begins behind it
        left = size + 1
        while left > 0:
            received = len(out.read(min(left, 1 << 20)))
            left = left - received if received else 0
        return None
    content = out.read(size)
    out.read(1)
    if about[1] == kind and len(content) == size:
        return content
    return None


def tree_ids(
    repo: Repository, base: str, *states: Mapping[bytes, tuple[bytes, str] | None]
) -> list[str]:
    """The ID of tree `base` (empty: of nothing) with these files, then with those too, and so on.
    One git process.
    """
    ids = []
    with _tree_reader(repo) as load:
        builder = TreeBuilder(repo.object_format, base, load)
        for files in states:
            # the removed ones first: a folder may now be where a file was
            for path, state in sorted(files.items(), key=lambda pair: pair[1] is not None):
                if state is None:
                    builder.drop(path)
                else:
                    builder.put(path, *state)
            ids.append(builder.root())
    return ids
