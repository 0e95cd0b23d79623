"""What our native git hooks look like as files: made from `hooks/`, recognised, and known to be unchanged."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import Final

from kl_hooks.shipped import shipped

NAMES: Final = ("post-commit", "pre-commit", "pre-push")
CHAINED: Final = ".kl-chained"
"""Appended to the name of the git hook that was there before ours."""
LEGACY: Final = ".legacy"
"""Where pre-commit and prek keep the git hook that they found, and run it first."""

_MARK: Final = re.compile(rb"^# kl git hook \d+ ([0-9a-f]{64})$", re.M)
_PYTHON: Final = re.compile(rb"^python='((?:[^']|'\\'')*)'$", re.M)
_BLANK: Final = b"@sum@"
_LONGEST: Final = 1 << 20


def make(name: str, python: str, spool: str) -> bytes:
    """The file for git hook `name`. `python`: path of the interpreter; `spool`: a word of shell, see `spool_word`."""
    text = shipped(f"hooks/{name}").read_bytes()
    text = text.replace(b"@python@", _quoted(python)).replace(b"@spool@", os.fsencode(spool))
    return text.replace(_BLANK, _sum(text), 1)


def spool_word(spool: Path, hooks: Path, common_dir: Path) -> str:
    """The list of commits as a word of shell: from the git hook's own place while both move together, else absolute."""
    file = spool / "commits"
    if hooks == common_dir / "hooks" and common_dir in file.parents:
        return '"${0%/*}"/' + os.fsdecode(_quoted(os.path.relpath(file, hooks)))
    return os.fsdecode(_quoted(str(file)))


def content(path: Path) -> bytes | None:
    """The file's content; None where there is nothing to read."""
    try:
        with path.open("rb") as file:
            return file.read(_LONGEST)
    except OSError:
        return None


def is_ours(text: bytes | None) -> bool:
    """True for a git hook that kl has put there, even if somebody has edited it since."""
    return text is not None and _MARK.search(text) is not None


def is_edited(text: bytes) -> bool:
    """True if one of ours is not as we wrote it."""
    mark = _MARK.search(text)
    return mark is None or _sum(text.replace(mark[1], _BLANK, 1)) != mark[1]


def runs_legacy(text: bytes | None) -> bool:
    """True for the file of pre-commit or prek: it runs `NAME.legacy` first, and puts it back when it leaves."""
    return text is not None and b"hook-impl" in text


def interpreter(text: bytes) -> str | None:
    """The interpreter that one of ours names; None for one that needs none."""
    found = _PYTHON.search(text)
    return os.fsdecode(found[1].replace(b"'\\''", b"'")) if found else None


def _quoted(text: str) -> bytes:
    return b"'" + os.fsencode(text).replace(b"'", b"'\\''") + b"'"


def _sum(text: bytes) -> bytes:
    return hashlib.sha256(text).hexdigest().encode("ascii")
