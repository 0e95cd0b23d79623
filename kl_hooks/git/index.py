"""git's index as it stands: what is staged, file by file."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from kl_hooks.git.repository import Repository, ask, own_index

_ANNOUNCED: Final = 0x20000000  # `git add -N`: the name is there, the content is not
_ROW: Final = re.compile(
    rb"(\d{6}) ([0-9a-f]+) (\d)\t([^\0]+)\0"
    rb"(?:  ctime: .*\n  mtime: .*\n  dev: .*\n  uid: .*\n  size: \d+\tflags: ([0-9a-f]+)\n)?"
)


class Row(NamedTuple):
    """One line of the index. A path in conflict has up to three, with stages 1 to 3."""

    path: bytes
    mode: bytes
    blob: str
    stage: bytes


def patterns(suffixes: Sequence[str]) -> list[str]:
    """Pathspecs for files that end so; none for all files."""
    return ["*" + re.sub(r"([*?\[\\])", r"\\\1", suffix) for suffix in suffixes]


def rows(repo: Repository, suffixes: Sequence[str] = (), *, committing: bool = True) -> Iterator[Row]:
    """The index's lines, without files that are only announced (`git add -N`). One git process.

    `committing`: the index of the commit being made, if this is its git hook; else the repository's own.
    """
    ours = committing and own_index(repo)
    flags = ["--debug"] if _may_announce(repo, ours) else []
    out = ask(repo, "ls-files", "-s", "-z", *flags, "--", *patterns(suffixes), keep_index=ours)
    for mode, blob, stage, path, seen in _ROW.findall(out):
        if not seen or not int(seen, 16) & _ANNOUNCED:
            yield Row(path, mode, blob.decode("ascii"), stage)


def _may_announce(repo: Repository, ours: bool) -> bool:
    """False if the index can't hold announced files: its format (version 2) has no place for that flag.

    The answer saves `ls-files` from printing five more lines for each file of every ordinary repository.
    """
    path = repo.top / os.environ["GIT_INDEX_FILE"] if ours else repo.git_dir / "index"
    try:
        with path.open("rb") as file:
            start = file.read(8)
    except OSError:
        return False  # no index: nothing staged yet
    return start != b"DIRC\0\0\0\2" or any(repo.git_dir.glob("sharedindex.*"))
