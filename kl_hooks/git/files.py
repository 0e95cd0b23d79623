"""Which files there are, by blob id: staged, at a revision, or really on disk; and their contents.

Symbolic links and submodules are left out: they have no source of their own.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from kl_hooks.errors import UsageProblem
from kl_hooks.git import disk, index
from kl_hooks.git.objects import LARGEST, blobs
from kl_hooks.git.repository import Repository, ask, content_settings, no_drivers
from kl_hooks.git.run import GitFailed
from kl_hooks.git.treehash import object_id

_FILES: Final = ("100644", "100755")
UNREADABLE: Final = "0" * 40
_LINK: Final = "120000"


class Entry(NamedTuple):
    """A file by its content."""

    path: str
    """From the repository's top, `/` between; bytes that are not UTF-8 as surrogates (see `os.fsdecode`)."""
    blob: str
    mode: str
    """`100644` or `100755`."""


def staged(repo: Repository, suffixes: Sequence[str] = ()) -> list[Entry]:
    """What the commit being made would hold, of files with these endings (none: all). One git process.

    Files only announced (`git add -N`) or in conflict are left out: neither can be committed as they are.
    """
    rows = index.rows(repo, suffixes)
    return [Entry(path, blob, mode) for path, mode, blob, stage in rows if stage == "0" and mode in _FILES]


def at(repo: Repository, rev: str, suffixes: Sequence[str] = ()) -> list[Entry]:
    """What a revision holds. One git process. UsageProblem if there is no such revision."""
    if not rev or rev.startswith("-"):
        raise UsageProblem(f"{rev!r} is not a revision.")
    out = ask(repo, "ls-tree", "-r", "-z", "--full-tree", rev, ok=(0, 128))
    if not out and not ask(repo, "rev-parse", "-q", "--verify", f"{rev}^{{tree}}", ok=(0, 1, 128)):
        raise UsageProblem(f"{rev!r} is not a revision of this repository.", hint="See: git log --oneline")
    ends, found = tuple(suffixes), []
    for line in out.decode("utf-8", "surrogateescape").split("\0"):
        about, _, path = line.partition("\t")
        mode = about[:6]
        if mode in _FILES and (not ends or path.endswith(ends)):
            found.append(Entry(path, about.rpartition(" ")[2], mode))
    return found


def worktree(repo: Repository, suffixes: Sequence[str] = (), seen: disk.Overlooked | None = None) -> list[Entry]:
    """What is really on disk: edited and untracked (not ignored) files by their content, no deleted ones.

    Two git processes, three if something was edited; one less with `seen`, what `disk.overlooked` said just now. A file
    that can't be read, or is edited and larger than `LARGEST`, has the blob id `UNREADABLE`, which no content has.
    """
    known, patterns = content_settings(repo), index.patterns(suffixes)
    seen = seen.of(suffixes) if seen else disk.overlooked(repo, patterns)
    files = {path: Entry(path, blob, mode) for mode, blob, path in seen.staged(suffixes)}
    changes = disk.uncovered(disk.changed(repo, None, known, patterns), seen)
    wanted = {path: change.mode for path, change in changes.items() if change.mode != disk.GONE}
    wanted.update(dict.fromkeys(path for path in seen.untracked if not path.endswith(b"/")))
    large = {path for path in wanted if _size(repo, path) > LARGEST}
    content = disk.contents(repo, {path: mode for path, mode in wanted.items() if path not in large}, known)
    found = content.files | dict.fromkeys(content.unreadable | large, (b"100644", UNREADABLE))
    for name in changes:
        files.pop(os.fsdecode(name), None)
    for name, (mode, blob) in found.items():
        if mode.decode() in _FILES:
            files[os.fsdecode(name)] = Entry(os.fsdecode(name), blob, mode.decode())
    return [files[path] for path in sorted(files)]


def _size(repo: Repository, path: bytes) -> int:
    try:
        state = os.lstat(os.path.join(os.fsencode(repo.top), path))  # noqa: PTH118
    except OSError:
        return 0
    return state.st_size if stat.S_ISREG(state.st_mode) else 0


def links(repo: Repository, source: str, paths: Sequence[str]) -> list[str]:
    """Those of these paths that are symbolic links in what is staged (`source` empty) or in a revision."""
    if not source:
        return [path for path, mode, _, _ in index.rows(repo, paths) if path in paths and mode == _LINK]
    out = ask(repo, "--literal-pathspecs", "ls-tree", "-z", "--full-tree", source, "--", *paths)
    rows = [line.partition("\t") for line in out.decode("utf-8", "surrogateescape").split("\0")]
    return [path for about, _, path in rows if about.startswith(_LINK)]


def names(repo: Repository, suffixes: Sequence[str]) -> list[str]:
    """The paths with these endings that git tracks, or neither tracks nor ignores. One git process."""
    out = ask(repo, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *index.patterns(suffixes))
    return sorted({os.fsdecode(path) for path in out.split(b"\0") if path})


def read(repo: Repository, entries: Sequence[Entry], source: str = "worktree") -> Iterator[tuple[Entry, bytes]]:
    """The contents of files, in no promised order; one git process for all.

    `objects`: from git only. `worktree`: what git does not have is read from disk, and given if it still is
    that content. What can't be had or is larger than `LARGEST` is left out: compare if that matters.
    """
    left = []
    for entry, content in zip(entries, blobs(repo, [entry.blob for entry in entries]), strict=True):
        if content is not None:
            yield entry, content
        else:
            left.append(entry)
    if source == "worktree":
        for entry in left:
            content = _from_disk(repo, entry)
            if content is not None:
                yield entry, content


def _from_disk(repo: Repository, entry: Entry) -> bytes | None:
    """The file's content if it still is what the entry says: facts kept by blob id must not be mixed up."""
    path = repo.top / entry.path
    try:
        state = path.lstat()
        if not stat.S_ISREG(state.st_mode) or state.st_size > LARGEST:
            return None
        content = path.read_bytes()
    except OSError:
        return None
    for text in (content, content.replace(b"\r\n", b"\n")):
        if object_id(repo.object_format, b"blob", text) == entry.blob:
            return text
    try:  # encodings and keywords that attributes ask for: git knows how
        as_stored = ("hash-object", "--stdin", f"--path={entry.path}")
        out = ask(repo, *as_stored, stdin=content, config=no_drivers(content_settings(repo)))
    except GitFailed:
        return None
    return content if out.decode().strip() == entry.blob else None
