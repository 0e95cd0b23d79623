"""The working tree as it is on disk: what differs from the index, what is untracked, and the blob IDs of the contents.

Nothing is written, and no program named by the repository's own configuration is run. Paths are bytes here, as git
and the file system have them. Whoever asks for files and whoever asks for the tree share one `WorktreeScan`.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from kl_hooks.git.objects import object_id
from kl_hooks.git.repository import (
    GitSettings,
    Repository,
    content_settings,
    directory_options,
    filters_off,
    git_in,
    is_commit_index,
)
from kl_hooks.git.run import GitFailed, git, start_git

REMOVED: Final = b""
GITLINK: Final = b"160000"
_PLAIN, _EXECUTABLE, _LINK = b"100644", b"100755", b"120000"
_REGULAR: Final = ("100644", "100755")
_NEEDS_QUOTES: Final = re.compile(rb'[\x00-\x1f"\\\x7f]')
_SPECIAL_LINE: Final = re.compile(rb"\0(?!H 1[02]0)([^\0]+)")
"""A line of `ls-files` that is no ordinary file or link: git compares those by itself."""
_DIFF_OPTIONS: Final = (
    "--raw", "-z", "--no-renames", "--no-ext-diff", "--ignore-submodules=dirty", "--no-relative", "--no-abbrev",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file that may differ on disk."""

    before: tuple[bytes, str]
    """(mode, blob ID) in what it was compared with; zeros where it was not there."""
    mode: bytes | None
    """On disk; `REMOVED`: not there; None (a conflict): as the file is."""
    blob: str | None
    """None: only the disk knows, see `WorktreeScan.contents`."""


@dataclass(slots=True)
class FileStates:
    """The state of some files on disk."""

    files: dict[bytes, tuple[bytes, str]] = field(default_factory=dict)
    """Path → (mode, blob ID)."""
    missing: set[bytes] = field(default_factory=set)
    unreadable: set[bytes] = field(default_factory=set)
    """On disk, but their content can't be read."""
    exact: bool = True
    """False if a filter driver that was not run might have made other blobs of them."""


@dataclass(frozen=True, slots=True)
class FileListing:
    """What git lists, and what its comparison with the disk passes over."""

    untracked: list[bytes] = field(default_factory=list)
    """Files that git neither tracks nor ignores; a repository inside this one ends in `/`."""
    tracked: dict[bytes, tuple[bytes, str]] = field(default_factory=dict)
    """As staged: files that git was asked not to compare (`update-index --assume-unchanged`, `--skip-worktree`), and
    submodules, of which it compares no more than the commit."""
    listing: str = field(default="", repr=False)
    """Git's answer: `<tag> <mode> <blob> <stage>\t<path>` of what is tracked, `? <path>` else; `\\0` around each."""

    def paths(self, suffixes: Sequence[str]) -> Iterator[str]:
        """Paths with these endings, tracked or untracked; of each repository inside this one its folder with a `/`."""
        ends = (*suffixes, "/")
        for line in self.listing.split("\0"):
            if line[:2] == "? ":
                if line.endswith(ends):
                    yield line[2:]
            elif line[2:8] == "160000":
                yield line.partition("\t")[2] + "/"
            elif line[2:8] in _REGULAR and line.endswith(ends):
                yield line.partition("\t")[2]

    def staged_blobs(self, suffixes: Sequence[str] = ()) -> Iterator[tuple[str, str, str]]:
        """(mode, blob, path) of the regular files with these endings (none: all), without those in conflict.

        Files that are only announced (`git add -N`) are among them: a comparison with the disk always names them.
        """
        ends = tuple(suffixes)
        for line in self.listing.split("\0"):
            if (not ends or line.endswith(ends)) and line[:1] not in ("", "?"):
                about, _, path = line.partition("\t")
                if about[2:8] in _REGULAR and about[-1] == "0":
                    yield about[2:8], about[9:-2], path


@dataclass(frozen=True, slots=True)
class WorktreeScan:
    """What the working tree contained at one moment. Made by `scan_worktree`."""

    repo: Repository
    settings: GitSettings
    listing: FileListing
    changes: Mapping[bytes, FileChange]
    """What differs from the index (or the base of the scan), or was only touched; and what git does not compare."""
    _states: FileStates = field(default_factory=FileStates, compare=False, repr=False)
    _hashed: set[bytes] = field(default_factory=set, compare=False, repr=False)

    def contents(self, wanted: Mapping[bytes, bytes | None]) -> FileStates:
        """The states of all files that were ever asked for, by mode (None: as the file is); each is hashed once.

        Symbolic links and submodules are never followed. A file that vanished meanwhile is `missing`.
        """
        new = {path: mode for path, mode in wanted.items() if path not in self._hashed}
        self._hashed.update(new)
        if new:
            _hash_files(self.repo, new, self.settings, self._states)
        return self._states

    def changes_from(self, base: str) -> dict[bytes, FileChange]:
        """What differs on disk from a tree. One git process: what is staged differs from it."""
        staged = staged_changes(self.repo, base, to_commit=False)
        here = {
            path: FileChange(staged[path].before if path in staged else one.before, one.mode, one.blob)
            for path, one in self.changes.items()
        }
        return {**staged, **here}


def scan_worktree(
    repo: Repository, paths: Iterable[str] = (), *, base: str | None = None, untracked: bool = True
) -> WorktreeScan:
    """The files on disk next to those staged (or in tree `base`), of these pathspecs (none: of all).

    Two git processes, at the same time: with 40,000 files each takes as long as reading the index and a stat of every
    file, and neither needs the other's answer.
    """
    known, paths = content_settings(repo), list(paths)
    compare = ("diff-files", *_DIFF_OPTIONS) if base is None else ("diff-index", *_DIFF_OPTIONS, base)
    command, off = (*compare, "--", *paths), filters_off(known)
    with start_git(*directory_options(repo), *command, cwd=repo.top, config=off) as comparison:
        listing = _list_files(repo, paths, untracked)
        assert comparison.stdout is not None
        out = comparison.stdout.read()
        code = comparison.wait()
    if code != 0:  # once more, for git's own reason
        out = git_in(repo, *command, config=off)
    changes = _changes(out)
    for path, staged in listing.tracked.items():  # only the disk knows
        changes[path] = FileChange(changes[path].before if path in changes else staged, None, None)
    return WorktreeScan(repo, known, listing, changes)


def staged_changes(repo: Repository, base: str, *, to_commit: bool = True) -> dict[bytes, FileChange]:
    """What differs in the index from tree `base`; a file in conflict has no mode. One git process.

    `to_commit`: the index of the commit being made, if this is its git hook, without files that are only announced
    (`git add -N`). Else the repository's own index, with everything in it.
    """
    announced = "--ita-invisible-in-index" if to_commit else "--ita-visible-in-index"
    command = ("diff-index", "--cached", announced, *_DIFF_OPTIONS, base, "--")
    return _changes(git_in(repo, *command, keep_index=to_commit and is_commit_index(repo)))


def _changes(out: bytes) -> dict[bytes, FileChange]:
    cells = out.split(b"\0")
    found: dict[bytes, FileChange] = {}
    for about, path in zip(cells[::2], cells[1::2], strict=False):
        old_mode, mode, old, new, status = about.decode("ascii").split(" ")
        before = (old_mode.removeprefix(":").encode(), old)
        if status == "D":
            found[path] = FileChange(before, REMOVED, None)
        else:
            blob = new if new.strip("0") and status != "U" else None
            found[path] = FileChange(before, None if status == "U" else mode.encode(), blob)
    return found


def _list_files(repo: Repository, paths: Iterable[str], untracked: bool) -> FileListing:
    """What is tracked, and on request untracked. One git process.

    Not in `tracked`: a file outside a sparse checkout, a submodule that is not checked out. Not in `untracked`:
    bytecode in `__pycache__`, whether ignored or not, since a first run of tests makes it.
    """
    more = ("--others", "--exclude-standard", "--exclude=__pycache__/") if untracked else ()
    out = git_in(repo, "ls-files", "-z", "-v", "--stage", "--cached", *more, "--", *paths)
    out, top = b"\0" + out, os.fsencode(repo.top)
    found = FileListing(listing=out.decode("utf-8", "surrogateescape"))
    for line in _SPECIAL_LINE.findall(out):
        tag = line[:1]
        if tag == b"?":
            found.untracked.append(line[2:])
            continue
        about, _, path = line[2:].partition(b"\t")
        mode, blob, stage = about.split(b" ")
        needed = path + b"/.git" if mode == GITLINK else path if tag in b"Ss" else b""
        if stage == b"0" and os.path.lexists(os.path.join(top, needed)):  # noqa: PTH118
            found.tracked[path] = mode, blob.decode("ascii")
    return found


def _hash_files(repo: Repository, wanted: Mapping[bytes, bytes | None], known: GitSettings, found: FileStates) -> None:
    """Adds the states of these files. One git process, or none."""
    queue: dict[bytes, bytes] = {}
    top = os.fsencode(repo.top)
    for path, mode in wanted.items():
        try:
            state = os.lstat(os.path.join(top, path))  # noqa: PTH118
            if stat.S_ISREG(state.st_mode):
                executable = known.file_mode and state.st_mode & stat.S_IXUSR
                queue[path] = mode or (_EXECUTABLE if executable else _PLAIN)
            elif stat.S_ISLNK(state.st_mode):
                target = os.readlink(os.path.join(top, path))  # noqa: PTH115, PTH118
                found.files[path] = (_LINK, object_id(repo.object_format, b"blob", target))
            elif stat.S_ISDIR(state.st_mode):
                _add_nested_repository(repo, path.rstrip(b"/"), found)
            else:  # a pipe or a device in place of a file: opening it could block for ever
                found.missing.add(path)
        except (FileNotFoundError, NotADirectoryError):
            found.missing.add(path)
        except OSError:
            found.unreadable.add(path)
    _hash_queue(repo, queue, known, found)


def _add_nested_repository(repo: Repository, path: bytes, found: FileStates) -> None:
    """A repository inside this one counts as its current commit; without a commit it does not count."""
    folder = os.fsdecode(os.path.join(os.fsencode(repo.top), path))  # noqa: PTH118
    try:
        out = git(f"--git-dir={folder}/.git", "rev-parse", "-q", "--verify", "HEAD", cwd=folder, ok=(0, 1))
    except GitFailed:
        out = b""
    if out.strip():
        found.files[path] = (GITLINK, out.decode().strip())
    else:
        found.missing.add(path)


def _hash_queue(repo: Repository, queue: dict[bytes, bytes], known: GitSettings, found: FileStates) -> None:
    top = os.fsencode(repo.top)
    for _ in range(3):  # once, unless files can't be read or vanish while git reads them
        for path in [p for p in queue if not os.access(os.path.join(top, p), os.R_OK)]:  # noqa: PTH118
            exists = os.path.lexists(os.path.join(top, path))  # noqa: PTH118
            (found.unreadable if exists else found.missing).add(path)
            del queue[path]
        if not queue:
            return
        names = b"".join(_quoted(path) + b"\n" for path in queue)
        try:
            out = git_in(repo, "hash-object", "--stdin-paths", stdin=names, config=filters_off(known))
        except GitFailed:
            continue
        blobs = out.decode().split()
        found.files.update((p, (mode, blob)) for (p, mode), blob in zip(queue.items(), blobs, strict=True))
        found.exact = found.exact and not _is_filtered(repo, queue, known)
        return
    found.unreadable.update(queue)


def _quoted(path: bytes) -> bytes:
    """As `hash-object --stdin-paths` reads it, which unquotes a line that begins with `"` and knows no `-z`."""
    if not _NEEDS_QUOTES.search(path):
        return path
    return b'"' + _NEEDS_QUOTES.sub(lambda m: b"\\%03o" % m[0][0], path) + b'"'


def _is_filtered(repo: Repository, paths: Iterable[bytes], known: GitSettings) -> bool:
    """True if the attributes give one of these files to a filter driver that was switched off."""
    if not known.drivers:
        return False
    out = git_in(repo, "check-attr", "-z", "--stdin", "filter", stdin=b"".join(p + b"\0" for p in paths))
    return not {os.fsdecode(value) for value in out.split(b"\0")[2::3]}.isdisjoint(known.drivers)
