"""The working tree as it is on disk: which files differ, their blob IDs, and the tree that a commit
of it would have.

Evidence is bound to that tree: a dirty working tree gets the very ID that the commit of the same
content will have. Nothing is written, and no program named by the repository's own configuration is
run. Paths are bytes here, as git and the file system have them. Whoever asks for files and whoever
asks for the tree share one `WorktreeScan`.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import copy
from typing import Final

from kl_hooks.git.objects import object_id, tree_ids
from kl_hooks.git.repository import (
    GitSettings,
    Repository,
    content_settings,
    directory_options,
    filters_off,
    find_repository,
    git_in,
    head,
    is_commit_index,
)
from kl_hooks.git.run import GitFailed, git, is_one_moment, once, start_git, was_asked
from kl_hooks.model.definitions import NamedTuple, lazy_pattern

REMOVED: Final = b""
_GITLINK: Final = b"160000"
_PLAIN = b"100644"
_EXECUTABLE = b"100755"
_LINK = b"120000"
_REGULAR: Final = ("100644", "100755")
_NEEDS_QUOTES: Final = lazy_pattern(rb'[\x00-\x1f"\\\x7f]')
_UNTRACKED_LINE: Final = lazy_pattern(r"\0\? [^\0]*")
"""A line of `ls-files` that names an untracked file, with the sign before it."""
_SPECIAL_LINE: Final = lazy_pattern(rb"\0(?!H 1[02]0)([^\0]+)")
"""A line of `ls-files` that is no ordinary file or link: git compares those by itself."""
_DIFF_OPTIONS: Final = (
    "--raw",
    "-z",
    "--no-renames",
    "--no-ext-diff",
    "--ignore-submodules=dirty",
    "--no-relative",
    "--no-abbrev",
)


class _FileChange(NamedTuple):
    """A file that may differ on disk."""

    before: tuple[bytes, str]
    """(mode, blob ID) in what it was compared with; zeros where it was not there."""
    mode: bytes | None
    """On disk; `REMOVED`: not there; None (a conflict): as the file is."""
    blob: str | None
    """None: only the disk knows, see `WorktreeScan.contents`."""


class _FileStates:
    """The state of some files on disk."""

    def __init__(self) -> None:
        self.files: dict[bytes, tuple[bytes, str]] = {}
        """Path → (mode, blob ID)."""
        self.missing: set[bytes] = set()
        self.unreadable: set[bytes] = set()
        """On disk, but their content can't be read."""


class FileListing(NamedTuple):
    """What git lists, and what its comparison with the disk passes over."""

    untracked: Sequence[bytes] = ()
    """Files that git neither tracks nor ignores; a repository inside this one ends in `/`."""
    tracked: Mapping[bytes, tuple[bytes, str]] = {}
    """As staged: files that git was asked not to compare (`update-index --assume-unchanged`,
    `--skip-worktree`), and submodules, of which it compares no more than the commit."""
    listing: str = ""
    """Git's answer: `<tag> <mode> <blob> <stage>\t<path>` of what is tracked, `? <path>` else;
    `\\0` around each.
    """

    def paths(self, suffixes: Sequence[str]) -> Iterator[str]:
        """Paths with these endings, tracked or untracked; of each repository inside this one its
        folder with a `/`.
        """
        ends = (*suffixes, "/")
        for line in self.listing.split("\0"):
            if line[:2] == "? ":
                if line.endswith(ends):
                    yield line[2:]
            elif line[2:8] == "160000":
                yield line.partition("\t")[2] + "/"
            elif line[2:8] in _REGULAR and line.endswith(ends):
                yield line.partition("\t")[2]

    def without_untracked(self) -> FileListing:
        """What is tracked alone."""
        return FileListing([], self.tracked, _UNTRACKED_LINE.sub("", self.listing))

    def staged_blobs(self, suffixes: Sequence[str] = ()) -> list[tuple[str, str, str]]:
        """(mode, blob, path) of the regular files with these endings (none: all), without those in
        conflict.

        Files that are only announced (`git add -N`) are among them: a comparison with the disk
        always names them.
        """
        # one expression over the whole answer: of 11,000 files line by line takes five times as
        # long
        modes = "|".join(_REGULAR)
        ends = "|".join(map(re.escape, suffixes))
        row = rf"(?:\A|(?<=\0))[^?\0] ({modes}) ([0-9a-f]+) 0\t([^\0]*(?:{ends}))(?=\0|\Z)"
        return re.findall(row, self.listing)


class WorktreeScan:
    """What the working tree contained at one moment. Made by `scan_worktree`."""

    def __init__(
        self,
        repo: Repository,
        settings: GitSettings,
        listing: FileListing,
        changes: Mapping[bytes, _FileChange],
    ) -> None:
        self.repo = repo
        self.settings = settings
        self.listing = listing
        self.changes = changes
        """What differs from the index (or the base of the scan), or was only touched; and what git
        does not compare.
        """
        self._states = _FileStates()
        self._hashed: set[bytes] = set()

    def having(
        self,
        *,
        listing: FileListing | None = None,
        changes: Mapping[bytes, _FileChange] | None = None,
    ) -> WorktreeScan:
        """The same moment with another listing or other changes: each file is still hashed once."""
        other = copy(self)
        if listing is not None:
            other.listing = listing
        if changes is not None:
            other.changes = changes
        return other

    def contents(self, wanted: Mapping[bytes, bytes | None]) -> _FileStates:
        """The states of all files that were ever asked for, by mode (None: as the file is); each is
        hashed once.

        Symbolic links and submodules are never followed. A file that vanished meanwhile is
        `missing`.
        """
        new = {path: mode for path, mode in wanted.items() if path not in self._hashed}
        self._hashed.update(new)
        if new:
            _hash_files(self.repo, new, self.settings, self._states)
        return self._states

    def changes_from(self, base: str) -> dict[bytes, _FileChange]:
        """What differs on disk from a tree. One git process: what is staged differs from it."""
        staged = _staged_changes(self.repo, base, to_commit=False)
        here = {
            path: _FileChange(
                staged[path].before if path in staged else one.before, one.mode, one.blob
            )
            for path, one in self.changes.items()
        }
        return {**staged, **here}


def scan_worktree(
    repo: Repository, paths: Iterable[str] = (), *, base: str | None = None, untracked: bool = True
) -> WorktreeScan:
    """The files on disk next to those staged (or in tree `base`), of these pathspecs (none: of
    all).

    Two git processes. In one moment all files are looked at once, then it is none, or one for a
    new `base`; while only some files were asked for, these are looked at once.
    """
    pathspecs = tuple(paths)
    if not is_one_moment():
        return _scan(repo, pathspecs, base, untracked)
    whole = "scan", repo
    if pathspecs and not was_asked(whole):
        question = (*whole, pathspecs, base, untracked)
        return once(question, lambda: _scan(repo, pathspecs, base, untracked))
    scan = once(whole, lambda: _scan(repo, (), None, True))
    if not untracked:
        scan = scan.having(listing=once(("tracked", repo), scan.listing.without_untracked))
    if base is not None:
        scan = scan.having(changes=scan.changes_from(base))
    return scan


def _scan(
    repo: Repository, paths: Sequence[str], base: str | None, untracked: bool
) -> WorktreeScan:
    """Two git processes, at the same time: with 40,000 files each takes as long as reading the
    index and a stat of every file, and neither needs the other's answer.
    """
    settings = content_settings(repo)
    compare = (
        ("diff-files", *_DIFF_OPTIONS) if base is None else ("diff-index", *_DIFF_OPTIONS, base)
    )
    command = (*compare, "--", *paths)
    off = filters_off(settings)
    with start_git(*directory_options(repo), *command, cwd=repo.top, config=off) as comparison:
        listing = _list_files(repo, paths, untracked)
        assert comparison.stdout is not None
        out = comparison.stdout.read()
        code = comparison.wait()
    if code != 0:  # once more, for git's own reason
        out = git_in(repo, *command, config=off)
    changes = _changes(out)
    for path, staged in listing.tracked.items():  # only the disk knows
        changes[path] = _FileChange(changes[path].before if path in changes else staged, None, None)
    return WorktreeScan(repo, settings, listing, changes)


def _staged_changes(
    repo: Repository, base: str, *, to_commit: bool = True
) -> dict[bytes, _FileChange]:
    """What differs in the index from tree `base`; a file in conflict has no mode. One git process.

    `to_commit`: the index of the commit being made, if this is its git hook, without files that are
    only announced (`git add -N`). Else the repository's own index, with everything in it.
    """
    if to_commit:
        announced = "--ita-invisible-in-index"
    else:
        announced = "--ita-visible-in-index"
    command = ("diff-index", "--cached", announced, *_DIFF_OPTIONS, base, "--")
    return _changes(git_in(repo, *command, keep_index=to_commit and is_commit_index(repo)))


def _changes(out: bytes) -> dict[bytes, _FileChange]:
    cells = out.split(b"\0")
    change_of: dict[bytes, _FileChange] = {}
    # a file that was touched has a zero ID: diff-files and diff-index compare the stat data, they
    # hash nothing
    for about, path in zip(cells[::2], cells[1::2], strict=False):
        old_mode, mode, old, new, status = about.decode("ascii").split(" ")
        before = (old_mode.removeprefix(":").encode(), old)
        if status == "D":
            change_of[path] = _FileChange(before, REMOVED, None)
        else:
            if new.strip("0") and status != "U":
                blob = new
            else:
                blob = None
            change_of[path] = _FileChange(before, None if status == "U" else mode.encode(), blob)
    return change_of


def _list_files(repo: Repository, paths: Iterable[str], untracked: bool) -> FileListing:
    """What is tracked, and on request untracked. One git process.

    Not in `tracked`: a file outside a sparse checkout, a submodule that is not checked out. Not in
    `untracked`: bytecode in `__pycache__`, whether ignored or not, since a first run of tests makes
    it.
    """
    untracked_options = (
        ("--others", "--exclude-standard", "--exclude=__pycache__/") if untracked else ()
    )
    out = git_in(
        repo, "ls-files", "-z", "-v", "--stage", "--cached", *untracked_options, "--", *paths
    )
    out, top = b"\0" + out, os.fsencode(repo.top)
    others: list[bytes] = []
    tracked: dict[bytes, tuple[bytes, str]] = {}
    for line in _SPECIAL_LINE.findall(out):
        tag = line[:1]
        if tag == b"?":
            others.append(line[2:])
            continue
        about, _, path = line[2:].partition(b"\t")
        mode, blob, stage = about.split(b" ")
        if mode == _GITLINK:
            needed = path + b"/.git"
        elif tag in b"Ss":
            needed = path
        else:
            needed = b""
        if stage == b"0" and os.path.lexists(os.path.join(top, needed)):  # noqa: PTH118
            tracked[path] = mode, blob.decode("ascii")
    return FileListing(others, tracked, out.decode("utf-8", "surrogateescape"))


def _hash_files(
    repo: Repository,
    wanted: Mapping[bytes, bytes | None],
    settings: GitSettings,
    states: _FileStates,
) -> None:
    """Add the states of these files. One git process, or none."""
    queue: dict[bytes, bytes] = {}
    top = os.fsencode(repo.top)
    for path, mode in wanted.items():
        try:
            state = os.lstat(os.path.join(top, path))  # noqa: PTH118
            if stat.S_ISREG(state.st_mode):
                # the owner's bit alone, as git looks at it
                executable = settings.file_mode and state.st_mode & stat.S_IXUSR
                queue[path] = mode or (_EXECUTABLE if executable else _PLAIN)
            elif stat.S_ISLNK(state.st_mode):
                target = os.readlink(os.path.join(top, path))  # noqa: PTH115, PTH118
                states.files[path] = (_LINK, object_id(repo.object_format, b"blob", target))
            elif stat.S_ISDIR(state.st_mode):
                _add_nested_repository(repo, path.rstrip(b"/"), states)
            else:  # a pipe or a device in place of a file: opening it could block for ever
                states.missing.add(path)
        except (FileNotFoundError, NotADirectoryError):
            states.missing.add(path)
        except OSError:
            states.unreadable.add(path)
    _hash_queue(repo, queue, settings, states)


def _add_nested_repository(repo: Repository, path: bytes, states: _FileStates) -> None:
    """A repository inside this one counts as its current commit; without a commit it does not
    count.
    """
    folder = os.fsdecode(os.path.join(os.fsencode(repo.top), path))  # noqa: PTH118
    try:
        out = git(
            f"--git-dir={folder}/.git", "rev-parse", "-q", "--verify", "HEAD", cwd=folder, ok=(0, 1)
        )
    except GitFailed:
        out = b""
    if out.strip():
        states.files[path] = (_GITLINK, out.decode().strip())
    else:
        states.missing.add(path)


def _hash_queue(
    repo: Repository, queue: dict[bytes, bytes], settings: GitSettings, states: _FileStates
) -> None:
    top = os.fsencode(repo.top)
    for _ in range(3):  # once, unless files can't be read or vanish while git reads them
        # hash-object ends at the first file that it can't read, without those after it
        for path in [p for p in queue if not os.access(os.path.join(top, p), os.R_OK)]:  # noqa: PTH118
            exists = os.path.lexists(os.path.join(top, path))  # noqa: PTH118
            (states.unreadable if exists else states.missing).add(path)
            del queue[path]
        if not queue:
            return
        # hash-object knows no `-z`, and unquotes a line that begins with `"`
        quoted = (_NEEDS_QUOTES.sub(lambda m: b"\\%03o" % m[0][0], path) for path in queue)
        names = b"".join(b'"%b"\n' % path for path in quoted)
        try:
            out = git_in(
                repo, "hash-object", "--stdin-paths", stdin=names, config=filters_off(settings)
            )
        except GitFailed:
            continue
        blobs = out.decode().split()
        states.files.update(
            (p, (mode, blob)) for (p, mode), blob in zip(queue.items(), blobs, strict=True)
        )
        return
    states.unreadable.update(queue)


_MAX_UNTRACKED: Final = 256 * 1024 * 1024
"""Bytes. Data that nobody ignored must not be read at every test run: beyond this `tree_all` is
unknown.
"""

_State = tuple[bytes, str] | None
"""(mode, blob ID) of a file; None: it is not there."""


class WorktreeState(NamedTuple):
    """The working tree's content at one moment."""

    tree: str | None = None
    """ID of the tracked files as they are on disk; None: unknown (a file can't be read)."""
    tree_all: str | None = None
    """The same with untracked, not ignored files; None: unknown, or not asked for."""
    head: str | None = None
    branch: str | None = None
    dirty: bool = False
    """The tracked files on disk are not those of HEAD."""
    changed: int = 0
    """How many tracked files differ from HEAD."""
    untracked: tuple[str, ...] = ()
    """Files that git neither tracks nor ignores, if they were asked for; a repository inside this
    one ends in `/`.
    """
    listing: FileListing = FileListing()
    """What git listed: the paths of the content, without another question to git."""
    differences: Mapping[str, str] = {}
    """What `tree_all` (of what is staged: `tree`) has that HEAD has not: path → `<mode> <blob>`,
    empty for a file that was removed. git never has the objects of a dirty tree, so this is how its
    files are known later.
    """

    @property
    def trees(self) -> tuple[str, ...]:
        """The tree IDs that evidence for this content may carry."""
        return tuple(dict.fromkeys(tree for tree in (self.tree, self.tree_all) if tree))


def snapshot(
    repo: Repository, untracked: bool = True, scan: WorktreeScan | None = None
) -> WorktreeState:
    """The trees of what is on disk now. Three git processes if it is clean, five if not, and as
    many per submodule; one less with a `scan` that was made just now, and another less if that has
    hashed what differs.

    A submodule whose files are not those of its commit gives the superproject an ID that no commit
    of it can have.

    GitFailed where the repository itself is broken; what can't be read makes an ID None, no
    exception.
    """
    commit, branch, committed = head(repo)
    base = committed or object_id(repo.object_format, b"tree", b"")
    if scan is None:
        scan = scan_worktree(repo, base=base, untracked=untracked)
        changes = scan.changes
    else:
        changes = scan.changes_from(base)
    others = scan.listing.untracked
    whole = untracked and _total_size(repo, others) <= _MAX_UNTRACKED
    unknown = _unknown(changes)
    contents = scan.contents(unknown | (dict.fromkeys(others) if whole else {}))
    nested = _add_nested_repositories(repo, contents, whole)
    tracked = _real_changes(changes, contents)
    if whole:
        extra = {path.rstrip(b"/"): contents.files.get(path.rstrip(b"/")) for path in others}
    else:
        extra = {}
    extra |= nested.states
    others = [*others, *nested.untracked]
    whole = whole and nested.whole
    if tracked or any(extra.values()):
        ids = tree_ids(repo, committed, tracked, extra)
    else:
        ids = [base, base]
    if contents.unreadable & unknown.keys():
        tree = None
    else:
        tree = ids[0]
    names = tuple(os.fsdecode(path) for path in others)
    if tree and whole and not contents.unreadable:
        tree_all = ids[1]
    else:
        tree_all = None
    dirty = bool(tracked) or tree is None
    differences = {
        os.fsdecode(path): _state_text(state) for path, state in {**tracked, **extra}.items()
    }
    return WorktreeState(
        tree, tree_all, commit, branch, dirty, len(tracked), names, scan.listing, differences
    )


def staged_tree(repo: Repository) -> WorktreeState:
    """The tree that `git commit` would make of the index, None while there are conflicts. Two git
    processes or three.

    `dirty` and `changed` are about what is staged.
    """
    commit, branch, committed = head(repo)
    base = committed or object_id(repo.object_format, b"tree", b"")
    changes = _staged_changes(repo, base)
    if any(change.mode is None for change in changes.values()):
        return WorktreeState(None, None, commit, branch, True, len(changes))
    now = {path: (c.mode, c.blob) if c.mode and c.blob else None for path, c in changes.items()}
    if now:
        tree = tree_ids(repo, committed, now)[0]
    else:
        tree = base
    differences = {os.fsdecode(path): _state_text(state) for path, state in now.items()}
    return WorktreeState(tree, None, commit, branch, bool(now), len(now), differences=differences)


def tree_of_revision(repo: Repository, rev: str) -> str | None:
    """The tree ID of a revision (a commit, a tag, a tree); None if there is none."""
    if rev.startswith("-"):
        return None
    out = git_in(repo, "rev-parse", "-q", "--verify", f"{rev}^{{tree}}", ok=(0, 1, 128))
    return out.decode().strip() or None


def differing_paths(repo: Repository, tree: str, other: str | None = None) -> list[str] | None:
    """The tracked files whose content differs between a tree and `other` (None: what is on disk),
    by path.

    None where git does not have the objects of the tree: that of a dirty working tree was never
    written.
    """
    changed = changed_files(repo, tree, other, untracked=False)
    if changed is None:
        return None
    return sorted(changed)


STAGED: Final = "staged"
"""Instead of a tree: what `git commit` would take."""
UNREADABLE: Final = "unreadable"
"""The state of a file that can't be read, or that is in conflict."""


def changed_files(
    repo: Repository, tree: str, other: str | None = None, *, untracked: bool = True
) -> dict[str, tuple[str, str]] | None:
    """Path → its state in a tree and in `other`, of the files where they differ: `<mode> <blob>`,
    empty for no file.

    `other`: a tree, `STAGED`, or None for what is on disk. None where git does not have the objects
    of the tree.
    """
    if git_in(repo, "cat-file", "-t", tree, ok=(0, 128)).strip() != b"tree":
        return None
    if other is not None:
        command = ("diff-tree", "-r", *_DIFF_OPTIONS, tree, other)
        if other == STAGED:
            changes = _staged_changes(repo, tree)
        else:
            changes = _changes(git_in(repo, *command))
        return {
            os.fsdecode(path): (_state_text(one.before), _state_text(_given(one)))
            for path, one in changes.items()
        }
    scan = scan_worktree(repo, base=tree, untracked=untracked)
    others = [path for path in scan.listing.untracked if not path.endswith(b"/")]
    contents = scan.contents(_unknown(scan.changes) | dict.fromkeys(others))
    contents.files.update(_add_nested_repositories(repo, contents, untracked).states)
    real = {
        **dict.fromkeys((path for path in others if path in contents.files), None),
        **_real_changes(scan.changes, contents),
        **dict.fromkeys(contents.unreadable, None),
    }
    states = {
        path: _state_text(state or (contents.files.get(path) if path in others else None))
        for path, state in real.items()
    }
    states |= dict.fromkeys(contents.unreadable, UNREADABLE)
    # an untracked file may be in the tree all the same, and have the very content
    pairs = (
        (
            os.fsdecode(path),
            _state_text(scan.changes[path].before if path in scan.changes else None),
            state,
        )
        for path, state in states.items()
    )
    return {path: (before, now) for path, before, now in pairs if before != now}


def _given(change: _FileChange) -> _State:
    """The state of a file that git itself names."""
    if change.mode == REMOVED:
        return None
    if change.mode and change.blob:
        return (change.mode, change.blob)
    return (b"", UNREADABLE)


def _state_text(state: _State) -> str:
    """As `changed_files` gives it; git names a file that is not there with zeros."""
    if state is None or not state[1].strip("0"):
        return ""
    if state[0]:
        return f"{state[0].decode()} {state[1]}"
    return state[1]


def _unknown(changes: Mapping[bytes, _FileChange]) -> dict[bytes, bytes | None]:
    """Path → mode of the files whose content only the disk knows."""
    return {
        path: one.mode for path, one in changes.items() if one.blob is None and one.mode != REMOVED
    }


class _NestedUntracked:
    """The untracked files of repositories inside this one."""

    def __init__(self) -> None:
        self.states: dict[bytes, tuple[bytes, str]] = {}
        """Path of a repository that has some → its state with them."""
        self.untracked: list[bytes] = []
        """Their paths from the top."""
        self.whole = True
        """Whether all could be read."""


def _add_nested_repositories(
    repo: Repository, contents: _FileStates, untracked: bool
) -> _NestedUntracked:
    """A repository inside this one whose tracked files were edited counts as the tree of what they
    are now. Returns what its untracked files make of it: an untracked file there is imported as
    one of this repository is.
    """
    nested = _NestedUntracked()
    for path, (mode, _) in list(contents.files.items()):
        if mode != _GITLINK:
            continue
        inner = find_repository(repo.top / os.fsdecode(path))
        now = snapshot(inner, untracked) if inner and inner.top != repo.top else None
        if now and now.tree is None:
            contents.unreadable.add(path)
            del contents.files[path]
        elif now and now.tree and now.dirty:
            contents.files[path] = (mode, now.tree)
        if now and now.untracked:
            folder = path.rstrip(b"/") + b"/"
            nested.untracked += [folder + os.fsencode(name) for name in now.untracked]
            nested.whole = nested.whole and now.tree_all is not None
            if now.tree_all and now.tree_all != now.tree:
                nested.states[path.rstrip(b"/")] = (mode, now.tree_all)
    return nested


def _real_changes(
    changes: Mapping[bytes, _FileChange], contents: _FileStates
) -> dict[bytes, _State]:
    """What really differs, now that the contents are known."""
    real: dict[bytes, _State] = {}
    for path, change in changes.items():
        if path in contents.unreadable:
            continue
        now: _State = None
        if change.mode and change.blob:
            now = (change.mode, change.blob)
        elif change.mode != REMOVED:  # what is removed may still be on disk, but untracked
            now = contents.files.get(path)
        if now != change.before and (now or change.before[1].strip("0")):
            real[path] = now
    return real


def _total_size(repo: Repository, paths: Iterable[bytes]) -> int:
    top = os.fsencode(repo.top)
    total = 0
    for path in paths:
        with suppress(OSError):
            total += os.lstat(os.path.join(top, path)).st_size  # noqa: PTH118
    return total
