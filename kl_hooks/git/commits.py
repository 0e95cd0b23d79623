"""The commits since the last known ones, out of one streaming `git log`."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Final

from kl_hooks.clock import iso
from kl_hooks.git.repository import Repository, directory_options, git_in, head
from kl_hooks.git.run import GitFailed, start_git
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.symbol import is_hex

_MAX_FILES: Final = 500
_MAX_BODY: Final = 8 * 1024
_MAX_LINE: Final = 1000
"""Characters of a subject, an author, a trailer's value."""
_MAX_TRAILERS: Final = 50

_FIELDS: Final = "%H%x00%T%x00%P%x00%at%x00%an <%ae>%x00%s%x00%b%x00"
_TRAILERS: Final = "%(trailers:only=true,unfold=true,separator=%x1f,key_value_separator=%x1e)"
_FIXED: Final = 8  # cells before the names of files


class Commit(NamedTuple):
    """A commit as git has it. Text that is not UTF-8 has replacement characters; what was too long
    is cut.
    """

    sha: str
    tree: str
    parents: tuple[str, ...]
    time: str
    """Author's, ISO 8601 in UTC; absurd ones are clamped."""
    author: str
    """`Ada <ada@example.org>`"""
    subject: str
    body: str
    files: tuple[str, ...]
    """Touched, renames as both names; of a merge, against its first parent. At most `_MAX_FILES`.

    None where history was cut off: the parents are unknown, and so are the files it touched.
    """
    trailers: tuple[tuple[str, str], ...]


def commits_since(repo: Repository, known_commits: Sequence[str], limit: int) -> list[Commit]:
    """The commits that HEAD has and none of `known_commits` has, newest first, at most `limit`. One
    git process.

    Of a longer history the newest are given. IDs in `known_commits` that git does not have (any
    more) are ignored. An empty list where there is no commit yet. GitFailed where the history is
    damaged.
    """
    cut = _boundary(repo)
    # unguessable: no message and no file name can pretend to begin a commit
    mark = secrets.token_hex(16)
    wanted = "HEAD\n" + "".join(
        f"^{sha}\n" for sha in known_commits if is_hex(sha) and len(sha) in (40, 64)
    )
    command = (
        # with log.showRoot=false in somebody's configuration, the first commit would have touched
        # no file
        "-c",
        "i18n.logOutputEncoding=UTF-8",
        "-c",
        "log.showRoot=true",
        "log",
        "-z",
        f"--max-count={limit}",
        f"--format=%x00{mark}%x00{_FIELDS}{_TRAILERS}%x00",
        "--name-only",
        "--no-renames",
        "--diff-merges=first-parent",
        "--no-ext-diff",
        "--no-textconv",
        "--no-notes",
        "--no-color",
        "--no-mailmap",
        "--ignore-missing",
        "--stdin",
    )
    with start_git(*directory_options(repo), *command, cwd=repo.top, stdin=True) as process:
        assert process.stdin is not None and process.stdout is not None
        with suppress(BrokenPipeError):  # git ended early: the exit code below has the reason
            process.stdin.write(wanted.encode("ascii"))
            process.stdin.close()
        commits = [
            _commit(cells, cut) for cells in _records(process.stdout, f"\0{mark}\0".encode())
        ]
        code = process.wait()
    if code != 0:
        if head(repo)[0] is None:
            return []
        raise GitFailed(
            f"git log ended with exit code {code}.", returncode=code, hint="See: git fsck"
        )
    return commits


def _boundary(repo: Repository) -> frozenset[str]:
    """The commits whose parents a shallow clone does not have (gitrepository-layout)."""
    with suppress(OSError, ValueError):
        return frozenset((repo.common_dir / "shallow").read_text("ascii").split())
    return frozenset()


def _records(out: IO[bytes], mark: bytes) -> Iterator[list[bytes]]:
    """The cells of each commit, while git still writes."""
    waiting, begun = b"", False
    while True:
        block = out.read(1 << 16)
        *whole, waiting = (waiting + block).split(mark)
        for record in whole:
            if begun:
                yield record.split(b"\0")
            begun = True
        if not block:
            if begun and waiting:
                yield waiting.split(b"\0")
            return


def _commit(cells: list[bytes], cut: frozenset[str]) -> Commit:
    sha, tree, parents, time, author, subject, body, trailers = (
        cell.decode("utf-8", "replace") for cell in cells[:_FIXED]
    )
    # compared with no parent, a commit in `cut` would seem to touch every file
    if sha in cut:
        names = []
    else:
        names = [name for name in cells[_FIXED + 1 :] if name]
    if names:  # git puts a newline before the first one; any other is the name's own
        names[0] = names[0].removeprefix(b"\n")
    return Commit(
        sha,
        tree,
        tuple(parents.split()),
        _time(time),
        author[:_MAX_LINE],
        subject[:_MAX_LINE],
        body[:_MAX_BODY],
        files=tuple(os.fsdecode(name) for name in names[:_MAX_FILES]),
        trailers=tuple(_trailers(trailers)),
    )


def _time(seconds: str) -> str:
    try:
        return iso(int(seconds[:30]) * 1_000_000)
    except ValueError:
        return iso(0)


def _trailers(text: str) -> Iterator[tuple[str, str]]:
    for line in text.split("\x1f", _MAX_TRAILERS)[:_MAX_TRAILERS]:
        key, there, value = line.partition("\x1e")
        if there:
            yield key[:_MAX_LINE], value.strip()[:_MAX_LINE]


_UNDERWAY: Final = (
    "MERGE_HEAD",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "rebase-merge",
    "rebase-apply",
    "sequencer",
)
"""What is in the git directory while git makes commits of existing ones."""
_SCISSORS: Final = b" ------------------------ >8 ------------------------"
"""What is below is no part of a message (git-commit, `--cleanup=scissors` and `-v`)."""


def add_trailers(repo: Repository, file: Path, trailers: Sequence[str]) -> bool:
    """Add trailers to the message of the commit that is being made, in the file that git gave its
    hook; True if done.

    Not to an empty message, since a trailer alone would make it a commit, nor while git repeats
    existing commits.
    """
    if not trailers or any((repo.git_dir / name).exists() for name in _UNDERWAY):
        return False
    text, cut, _ = file.read_bytes().partition(_SCISSORS)
    message = text.rpartition(b"\n")[0] if cut else text
    # git knows which character begins a comment (core.commentChar)
    if not git_in(repo, "stripspace", "--strip-comments", stdin=message).strip():
        return False
    added = (option for one in trailers for option in ("--trailer", one))
    git_in(
        repo,
        "interpret-trailers",
        "--in-place",
        "--if-exists",
        "addIfDifferent",
        *added,
        str(file.absolute()),
    )
    return True


class TouchedFiles(NamedTuple):
    """The message of a commit, and the files it touched."""

    sha: str
    time: int
    """Author's, seconds since 1970."""
    message: str
    changes: tuple[tuple[str, str], ...]
    """(path after the commit, path before it where it was renamed); removed files are under their
    old name.
    """


def ancestors(repo: Repository, limit: int, rev: str = "HEAD") -> list[str]:
    """The newest commits that a revision has, itself first, without merges; none where there is no
    commit yet.
    """
    try:
        out = git_in(repo, "rev-list", "--no-merges", f"--max-count={limit}", rev, "--")
    except GitFailed:
        if rev == "HEAD" and head(repo)[0] is None:
            return []
        raise
    return out.decode("ascii").split()


def commits_of_file(repo: Repository, since: str, path: str, limit: int) -> list[str]:
    """The commits after `since` that touched a file, oldest first, at most `limit`; none where git
    knows no `since`.
    """
    out = git_in(
        repo,
        "--literal-pathspecs",
        "log",
        "--format=%H",
        "--reverse",
        f"{since}..HEAD",
        "--",
        path,
        ok=(0, 128),
    )
    return out.decode().split()[:limit]


def touched_files(
    repo: Repository, shas: Sequence[str], suffixes: Sequence[str]
) -> list[TouchedFiles]:
    """What these commits touched, renames followed; only files whose names end in `suffixes`. One
    git process.
    """
    cut = _boundary(repo)
    mark = secrets.token_hex(16)
    command = (
        "-c",
        "i18n.logOutputEncoding=UTF-8",
        "-c",
        "log.showRoot=true",
        "-c",
        "diff.renameLimit=400",
        "log",
        "-z",
        "--no-walk=unsorted",
        "--stdin",
        f"--format=%x00{mark}%x00%H%x00%at%x00%B%x00",
        "--name-status",
        "-M",
        "--no-ext-diff",
        "--no-textconv",
        "--no-notes",
        "--no-color",
        "--no-mailmap",
        "--ignore-missing",
    )
    if not shas:
        return []
    with start_git(*directory_options(repo), *command, cwd=repo.top, stdin=True) as process:
        assert process.stdin is not None and process.stdout is not None
        # all of it before the first answer: the list is far smaller than what git holds back
        process.stdin.write("".join(f"{sha}\n" for sha in shas if is_hex(sha)).encode("ascii"))
        process.stdin.close()
        touched = [
            _touched(cells, cut, tuple(suffixes))
            for cells in _records(process.stdout, f"\0{mark}\0".encode())
        ]
        code = process.wait()
    if code != 0:
        raise GitFailed(
            f"git log ended with exit code {code}.", returncode=code, hint="See: git fsck"
        )
    return touched


def _touched(cells: list[bytes], cut: frozenset[str], suffixes: tuple[str, ...]) -> TouchedFiles:
    sha, time, message = (cell.decode("utf-8", "replace") for cell in cells[:3])
    changes: list[tuple[str, str]] = []
    cells_left = iter([] if sha in cut else [cell.strip(b"\n") for cell in cells[4:]])
    for status in cells_left:
        if not status:
            continue
        first = os.fsdecode(next(cells_left, b""))
        if status[:1] in b"RC":
            second = os.fsdecode(next(cells_left, b""))
            if second.endswith(suffixes):
                changes.append((second, first if status[:1] == b"R" else ""))
        elif first.endswith(suffixes):
            changes.append((first, ""))
    if time.lstrip("-").isdigit() and len(time) < 15:
        seconds = int(time)
    else:
        seconds = 0
    return TouchedFiles(sha, seconds, message[:_MAX_BODY], tuple(changes))


def count_since(repo: Repository, rev: str) -> int | None:
    """How many commits HEAD has that a revision does not have; None where git does not know it. One
    git process.
    """
    out = git_in(repo, "rev-list", "--count", f"{rev}..HEAD", "--", ok=(0, 128)).strip()
    if not out.isdigit():
        return None
    return int(out)


def subject_of(repo: Repository, commit: str) -> str:
    """The first line of the message of a commit. GitFailed."""
    answer = git_in(repo, "show", "-s", "--format=%s", commit, "--")
    return answer.decode("utf-8", "replace").strip()
