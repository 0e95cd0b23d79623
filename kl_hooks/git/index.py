"""git's index as it stands: what is staged, file by file."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from typing import Final

from kl_hooks.git.repository import Repository, ask, own_index

_ANNOUNCED: Final = 0x20000000  # `git add -N`: the name is there, the content is not
_WITH_FLAGS: Final = re.compile(
    r"(\d{6} [0-9a-f]+ \d)\t([^\0]+)\0"
    r"  ctime: .*\n  mtime: .*\n  dev: .*\n  uid: .*\n  size: \d+\tflags: ([0-9a-f]+)\n"
)


Row = tuple[str, str, str, str]
"""(path as `os.fsdecode` gives it, mode, blob id, stage). A path in conflict has up to three, with stages 1 to 3."""


def patterns(suffixes: Sequence[str]) -> list[str]:
    """Pathspecs for files that end so; none for all files."""
    return ["*" + re.sub(r"([*?\[\\])", r"\\\1", suffix) for suffix in suffixes]


def rows(repo: Repository, suffixes: Sequence[str] = ()) -> list[Row]:
    """The index's lines, without files that are only announced (`git add -N`). One git process.

    The index is that of the commit being made, if this is its git hook; else the repository's own.
    """
    ours = own_index(repo)
    flags = ["--debug"] if _may_announce(repo, ours) else []
    out = ask(repo, "ls-files", "-s", "-z", *flags, "--", *patterns(suffixes), keep_index=ours)
    text = out.decode("utf-8", "surrogateescape")
    pairs: Iterable[Sequence[str]]
    if flags:
        pairs = ((about, path) for about, path, seen in _WITH_FLAGS.findall(text) if not int(seen, 16) & _ANNOUNCED)
    else:
        pairs = (line.split("\t", 1) for line in text.split("\0") if line)
    return [(path, about[:6], about[7:-2], about[-1]) for about, path in pairs]


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
