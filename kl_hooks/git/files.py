"""Files by blob ID: staged, at a revision, or really on disk; and their contents.

Symbolic links and submodules are omitted: they have no source of their own.
"""

from __future__ import annotations

import fnmatch
import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from kl_hooks.errors import UsageProblem
from kl_hooks.git import worktree
from kl_hooks.git.objects import MAX_BLOB_BYTES, object_id, read_blobs
from kl_hooks.git.repository import (
    Repository,
    content_settings,
    filters_off,
    git_in,
    is_commit_index,
)
from kl_hooks.git.run import GitFailed, git
from kl_hooks.git.worktree import WorktreeScan, scan_worktree
from kl_hooks.model.definitions import NamedTuple, lazy_pattern

# CE_INTENT_TO_ADD of git: after `git add -N` the name is there, the content is not
_INTENT_TO_ADD: Final = 0x20000000
_WITH_FLAGS: Final = lazy_pattern(
    r"(\d{6} [0-9a-f]+ \d)\t([^\0]+)\0"
    r"  ctime: .*\n  mtime: .*\n  dev: .*\n  uid: .*\n  size: \d+\tflags: ([0-9a-f]+)\n"
)

_FILES: Final = ("100644", "100755")
_LINK: Final = "120000"
UNREADABLE_BLOB: Final = "0" * 40


def suffix_pathspecs(suffixes: Sequence[str]) -> list[str]:
    """Pathspecs for files that end so; none for all files."""
    # in a pathspec `*` matches `/` too (gitglossary), so this means files in all folders
    return ["*" + re.sub(r"([*?\[\\])", r"\\\1", suffix) for suffix in suffixes]


def index_rows(repo: Repository, suffixes: Sequence[str] = ()) -> list[tuple[str, str, str, str]]:
    """(path as `os.fsdecode` gives it, mode, blob ID, stage) of the index, without what is only
    announced (`add -N`).

    A path in conflict has up to three rows, with stages 1 to 3. The index is that of the commit
    being made, if this is its git hook; else the repository's own. One git process.
    """
    ours = is_commit_index(repo)
    if _may_hold_intents(repo, ours):
        flags = ["--debug"]
    else:
        flags = []
    out = git_in(
        repo, "ls-files", "-s", "-z", *flags, "--", *suffix_pathspecs(suffixes), keep_index=ours
    )
    text = out.decode("utf-8", "surrogateescape")
    pairs: Iterable[Sequence[str]]
    if flags:
        pairs = (
            (about, path)
            for about, path, seen in _WITH_FLAGS.findall(text)
            if not int(seen, 16) & _INTENT_TO_ADD
        )
    else:
        pairs = (line.split("\t", 1) for line in text.split("\0") if line)
    return [(path, about[:6], about[7:-2], about[-1]) for about, path in pairs]


def _may_hold_intents(repo: Repository, ours: bool) -> bool:
    """False if the index can't hold announced files: its format (version 2) has no place for that
    flag.

    The answer saves `ls-files` from printing five more lines for each file of every ordinary
    repository.
    """
    if ours:
        path = repo.top / os.environ["GIT_INDEX_FILE"]
    else:
        path = repo.git_dir / "index"
    try:
        with path.open("rb") as file:
            start = file.read(8)
    except OSError:
        return False  # no index: nothing staged yet
    # extended flags need version 3 (gitformat-index(5)); a split index may have them in its other
    # file
    return start != b"DIRC\0\0\0\2" or any(repo.git_dir.glob("sharedindex.*"))


class FileEntry(NamedTuple):
    """A file by its content."""

    path: str
    """From the repository's top, `/` between; bytes that are not UTF-8 as surrogates (see
    `os.fsdecode`).
    """
    blob: str
    mode: str
    """`100644` or `100755`."""


def staged_files(repo: Repository, suffixes: Sequence[str] = ()) -> list[FileEntry]:
    """What the commit being made would hold, of files with these endings (none: all). One git
    process.

    Files only announced (`git add -N`) or in conflict are omitted: neither can be committed as they
    are.
    """
    rows = index_rows(repo, suffixes)
    return [
        FileEntry(path, blob, mode)
        for path, mode, blob, stage in rows
        if stage == "0" and mode in _FILES
    ]


def files_at(repo: Repository, rev: str, suffixes: Sequence[str] = ()) -> list[FileEntry]:
    """What a revision holds. One git process. UsageProblem if there is no such revision."""
    if not rev or rev.startswith("-"):
        raise UsageProblem(f"{rev!r} is not a revision.")
    rows = _tree_rows(repo, "-r", rev, ok=(0, 128))
    if not rows and not git_in(
        repo, "rev-parse", "-q", "--verify", f"{rev}^{{tree}}", ok=(0, 1, 128)
    ):
        raise UsageProblem(
            f"{rev!r} is not a revision of this repository.", hint="See: git log --oneline"
        )
    # filtered here: ls-tree takes literal paths and knows no globs
    ends = tuple(suffixes) or ("",)
    return [one for one in rows if one.mode in _FILES and one.path.endswith(ends)]


def _tree_rows(repo: Repository, *args: str, ok: Sequence[int] = (0,)) -> list[FileEntry]:
    """The rows of `git ls-tree ARGS…`, folders, links and submodules among them. One git process.
    GitFailed.
    """
    out = git_in(repo, "--literal-pathspecs", "ls-tree", "-z", "--full-tree", *args, ok=ok)
    rows = (
        line.partition("\t") for line in out.decode("utf-8", "surrogateescape").split("\0") if line
    )
    return [FileEntry(path, about.rpartition(" ")[2], about[:6]) for about, _, path in rows]


def worktree_files(
    repo: Repository, suffixes: Sequence[str] = (), scan: WorktreeScan | None = None
) -> list[FileEntry]:
    """The files on disk: edited and untracked (not ignored) ones by their content, no deleted ones.

    Two git processes (with a `scan` that was taken just now: none), and one more if something was
    edited. A file that can't be read, or is edited and larger than `MAX_BLOB_BYTES`, has the blob
    ID `UNREADABLE_BLOB`: no content has it.
    """
    scan, ends = (
        scan or scan_worktree(repo, suffix_pathspecs(suffixes)),
        tuple(map(os.fsencode, suffixes)) or (b"",),
    )
    files = {
        path: FileEntry(path, blob, mode)
        for mode, blob, path in scan.listing.staged_blobs(suffixes)
    }
    changes = {
        path: one for path, one in scan.changes.items() if one.blob is None and path.endswith(ends)
    }
    wanted = {
        path: change.mode for path, change in changes.items() if change.mode != worktree.REMOVED
    }
    untracked = [
        path for path in scan.listing.untracked if path.endswith(ends) and not path.endswith(b"/")
    ]
    wanted.update(dict.fromkeys(untracked))
    large = {path for path in wanted if _is_large(repo, path)}
    content = scan.contents({path: mode for path, mode in wanted.items() if path not in large})
    states = {path: content.files[path] for path in wanted if path in content.files}
    states |= dict.fromkeys(
        large | (content.unreadable & wanted.keys()), (b"100644", UNREADABLE_BLOB)
    )
    for name in changes:
        files.pop(os.fsdecode(name), None)
    for name, (mode, blob) in states.items():
        if mode.decode() in _FILES:
            files[os.fsdecode(name)] = FileEntry(os.fsdecode(name), blob, mode.decode())
    return [files[path] for path in sorted(files)]


def _is_large(repo: Repository, path: bytes) -> bool:
    try:
        state = os.lstat(os.path.join(os.fsencode(repo.top), path))  # noqa: PTH118
    except OSError:
        return False
    return stat.S_ISREG(state.st_mode) and state.st_size > MAX_BLOB_BYTES


def symbolic_links(repo: Repository, source: str, paths: Sequence[str]) -> list[str]:
    """Those of these paths that are symbolic links in what is staged (`source` empty) or in a
    revision.
    """
    if not source:
        return [
            path for path, mode, _, _ in index_rows(repo, paths) if path in paths and mode == _LINK
        ]
    return [one.path for one in _tree_rows(repo, source, "--", *paths) if one.mode == _LINK]


def states_at(repo: Repository, tree: str, paths: Sequence[str]) -> dict[str, str]:
    """Path → `<mode> <blob>` of those of these paths that are files, links or submodules of a tree.
    One git process.
    """
    wanted = set(paths)
    return {
        one.path: f"{one.mode} {one.blob}"
        for one in _tree_rows(repo, tree, "--", *paths)
        if one.path in wanted
    }


def tree_contains(repo: Repository, tree: str, path: str) -> bool:
    """Whether a file or folder of this path is in a tree; True where git has no answer. One git
    process.
    """
    try:
        return bool(_tree_rows(repo, tree, "--", path))
    except (GitFailed, ValueError):
        return True


def read_files(
    repo: Repository, entries: Sequence[FileEntry], source: str = "worktree"
) -> Iterator[tuple[FileEntry, bytes]]:
    """The contents of files, in no promised order; one git process for all, none if the disk has
    them as git would.

    `objects`: from git only. `worktree`: from disk where that still is the content of the entry,
    else from git. What can't be read or is larger than `MAX_BLOB_BYTES` is omitted: compare if that
    matters.
    """
    wanted = []
    for entry in entries:
        if source == "worktree":
            content = _content_on_disk(repo, entry)
        else:
            content = None
        if content is None:
            wanted.append(entry)
        else:
            yield entry, content
    for entry, content in zip(
        wanted, read_blobs(repo, [entry.blob for entry in wanted]), strict=True
    ):
        if content is None and source == "worktree":
            content = _converted_content(repo, entry)
        if content is not None:
            yield entry, content


def _read_from_disk(repo: Repository, name: str) -> bytes | None:
    path = os.path.join(repo.top, name)  # noqa: PTH118
    try:
        state = os.lstat(path)
        if not stat.S_ISREG(state.st_mode) or state.st_size > MAX_BLOB_BYTES:
            return None
        with open(path, "rb") as file:  # noqa: PTH123
            return file.read()
    except OSError:
        return None


def _content_on_disk(repo: Repository, entry: FileEntry) -> bytes | None:
    """The file's content if it still is that of the entry: facts stored by blob ID must not be
    mixed up.
    """
    content = _read_from_disk(repo, entry.path)
    if content is None or object_id(repo.object_format, b"blob", content) == entry.blob:
        return content
    # core.autocrlf: the blob has LF where the disk has CRLF
    text = content.replace(b"\r\n", b"\n")
    if text != content and object_id(repo.object_format, b"blob", text) == entry.blob:
        return text
    return None


def _converted_content(repo: Repository, entry: FileEntry) -> bytes | None:
    """The same where encodings and keywords are asked for by attributes: git knows how."""
    content = _read_from_disk(repo, entry.path)
    if content is None:
        return None
    try:
        as_stored = ("hash-object", "--stdin", f"--path={entry.path}")
        out = git_in(repo, *as_stored, stdin=content, config=filters_off(content_settings(repo)))
    except GitFailed:
        return None
    if out.decode().strip() == entry.blob:
        return content
    return None


_MANY_PATHS: Final = 500


def differing_from_head(repo: Repository, paths: Sequence[str]) -> frozenset[str]:
    """The files among `paths` (from the top) that are not in the current commit, or differ from it.

    All of them where there is no commit. Line ends that a checkout converts make no difference; any
    other conversion does. One git process.
    """
    try:
        # git compares each path with each entry: of thousands it took longer than all of the tree
        if len(paths) > _MANY_PATHS:
            rows = _tree_rows(repo, "-r", "HEAD")
        else:
            rows = _tree_rows(repo, "HEAD", "--", *paths)
        committed = {one.path: one.blob for one in rows}
    except GitFailed:
        return frozenset(paths)

    def is_committed(path: str) -> bool:
        content = _read_from_disk(repo, path)
        if content is None or path not in committed:
            return False
        # as it is, and as git stores it where it converts line ends
        return committed[path] in {
            object_id(repo.object_format, b"blob", text)
            for text in (content, content.replace(b"\r\n", b"\n"))
        }

    return frozenset(path for path in paths if not is_committed(path))


def files_matching(folder: Path, patterns: bytes, scratch: Path) -> list[str]:
    """Paths of files below `folder`, `/` between, that the patterns name, sorted. Nothing in
    `folder` is written.

    `scratch` is an empty folder of the caller's for an empty repository and the patterns. Links are
    not followed; names that are not UTF-8 are omitted. Raises GitMissing, GitFailed.
    """
    listed = scratch / "patterns"
    empty = scratch / "empty.git"
    listed.write_bytes(patterns)
    git("init", "-q", "--bare", str(empty), cwd=scratch)
    out = git(
        "-c",
        "core.bare=false",
        "--git-dir",
        str(empty),
        "--work-tree",
        str(folder),
        "ls-files",
        "-o",
        "-i",
        "-z",
        "--exclude-from",
        str(listed),
        cwd=folder,
    )
    names = (os.fsdecode(path) for path in out.split(b"\0") if path)
    return sorted(name for name in names if not any("\ud800" <= sign <= "\udfff" for sign in name))


def ignored_paths(repo: Repository, paths: Iterable[str]) -> set[str]:
    """Those of these paths (from the top) that git ignores, existing or not; no tracked ones. One
    git process.

    Empty where git refuses one of them, such as a path inside a submodule.
    """
    stdin = b"".join(os.fsencode(path) + b"\0" for path in paths)
    out = git_in(repo, "check-ignore", "-z", "--stdin", stdin=stdin, ok=(0, 1, 128))
    return {os.fsdecode(path) for path in out.split(b"\0") if path}


def path_matches(path: str, pattern: str) -> bool:
    """Whether a path, or a folder that it is in, matches a glob: `*` stays within a name, `**` is
    any folders.

    Takes time in proportion to both, whatever the pattern: configuration comes with the repository.
    """
    wanted = [part for part in pattern.split("/") if part not in ("", ".")]
    places = _with_empty({0}, wanted)
    for part in path.split("/"):
        if len(wanted) in places:
            return True
        if not places:
            return False
        moved = {at for at in places if wanted[at] == "**"}
        moved |= {
            at + 1 for at in places if wanted[at] != "**" and fnmatch.fnmatchcase(part, wanted[at])
        }
        places = _with_empty(moved, wanted)
    return len(wanted) in places


def _with_empty(places: set[int], wanted: Sequence[str]) -> set[int]:
    """These places in a pattern and those that are reached without a further name, because `**` may
    be none.
    """
    reached = set(places)
    for place in sorted(places):
        while place < len(wanted) and wanted[place] == "**":
            place += 1
            reached.add(place)
    return reached
