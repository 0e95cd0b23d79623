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
from kl_hooks.git.look import Look, look_at
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


def worktree(repo: Repository, suffixes: Sequence[str] = (), look: Look | None = None) -> list[Entry]:
    """What is really on disk: edited and untracked (not ignored) files by their content, no deleted ones.

    Two git processes (with a `look` that was taken just now: none), and one more if something was edited. A file that
    can't be read, or is edited and larger than `LARGEST`, has the blob id `UNREADABLE`, which no content has.
    """
    look, ends = look or look_at(repo, index.patterns(suffixes)), tuple(map(os.fsencode, suffixes)) or (b"",)
    files = {path: Entry(path, blob, mode) for mode, blob, path in look.seen.staged(suffixes)}
    changes = {path: one for path, one in look.changes.items() if one.blob is None and path.endswith(ends)}
    wanted = {path: change.mode for path, change in changes.items() if change.mode != disk.GONE}
    untracked = [path for path in look.seen.untracked if path.endswith(ends) and not path.endswith(b"/")]
    wanted.update(dict.fromkeys(untracked))
    large = {path for path in wanted if _size(repo, path) > LARGEST}
    content = look.contents({path: mode for path, mode in wanted.items() if path not in large})
    found = {path: content.files[path] for path in wanted if path in content.files}
    found |= dict.fromkeys(large | (content.unreadable & wanted.keys()), (b"100644", UNREADABLE))
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


def holds(repo: Repository, tree: str, path: str) -> bool:
    """Whether a file or folder of this path is in a tree; True where git can't tell. One git process."""
    try:
        return bool(ask(repo, "--literal-pathspecs", "ls-tree", "-z", "--full-tree", tree, "--", path))
    except (GitFailed, ValueError):
        return True


def names(repo: Repository, suffixes: Sequence[str]) -> list[str]:
    """The paths with these endings that git tracks, or neither tracks nor ignores. One git process."""
    out = ask(repo, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *index.patterns(suffixes))
    return sorted({os.fsdecode(path) for path in out.split(b"\0") if path})


def read(repo: Repository, entries: Sequence[Entry], source: str = "worktree") -> Iterator[tuple[Entry, bytes]]:
    """The contents of files, in no promised order; one git process for all, none if the disk has them as git would.

    `objects`: from git only. `worktree`: from disk where that still is the content of the entry, else from git. What
    can't be had or is larger than `LARGEST` is left out: compare if that matters.
    """
    wanted = []
    for entry in entries:
        content = _on_disk(repo, entry) if source == "worktree" else None
        if content is None:
            wanted.append(entry)
        else:
            yield entry, content
    for entry, content in zip(wanted, blobs(repo, [entry.blob for entry in wanted]), strict=True):
        if content is None and source == "worktree":
            content = _converted(repo, entry)
        if content is not None:
            yield entry, content


def _raw(repo: Repository, entry: Entry) -> bytes | None:
    path = os.path.join(repo.top, entry.path)  # noqa: PTH118
    try:
        state = os.lstat(path)
        if not stat.S_ISREG(state.st_mode) or state.st_size > LARGEST:
            return None
        with open(path, "rb") as file:  # noqa: PTH123
            return file.read()
    except OSError:
        return None


def _on_disk(repo: Repository, entry: Entry) -> bytes | None:
    """The file's content if it still is what the entry says: facts kept by blob id must not be mixed up."""
    content = _raw(repo, entry)
    if content is None or object_id(repo.object_format, b"blob", content) == entry.blob:
        return content
    text = content.replace(b"\r\n", b"\n")
    return text if text != content and object_id(repo.object_format, b"blob", text) == entry.blob else None


def _converted(repo: Repository, entry: Entry) -> bytes | None:
    """The same where encodings and keywords are asked for by attributes: git knows how."""
    content = _raw(repo, entry)
    if content is None:
        return None
    try:
        as_stored = ("hash-object", "--stdin", f"--path={entry.path}")
        out = ask(repo, *as_stored, stdin=content, config=no_drivers(content_settings(repo)))
    except GitFailed:
        return None
    return content if out.decode().strip() == entry.blob else None
