"""Replaces one source file by another text, all at once: mode kept, no link followed, no edit of others lost."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path


class Refused(Exception):
    """The file is left alone; the text says why, as a clause."""


def on_disk(top: Path, path: str, stored: bytes) -> bytes:
    """The bytes of a file of the work tree, which must be the text that was judged. Raises Refused."""
    content = _read(top, path)
    if content.replace(b"\r\n", b"\n") != stored.replace(b"\r\n", b"\n"):
        raise Refused("the file changed meanwhile, or git keeps it in another form")
    return content


def replace(top: Path, path: str, before: bytes, after: bytes, aside: Path) -> None:
    """Writes `after` where `before` still stands. Raises Refused.

    `aside`: git's own folder, where the new text is made: what a killed writer leaves there is in nobody's way. Where
    that is another file system, the new text is made beside the file.
    """
    if _read(top, path) != before:
        raise Refused("the file changed meanwhile")
    place = top / path
    try:
        try:
            _by_way_of(aside, place, after)
        except OSError:
            _by_way_of(place.parent, place, after)
    except OSError as problem:
        raise Refused(f"the file can't be written ({problem.strerror or problem})") from problem


def _by_way_of(folder: Path, place: Path, after: bytes) -> None:
    handle, temporary = tempfile.mkstemp(prefix=f".{place.name[:40]}.", dir=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(after)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(stat.S_IMODE(place.stat().st_mode))
        Path(temporary).replace(place)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _read(top: Path, path: str) -> bytes:
    place = top / path
    try:
        if not stat.S_ISREG(place.lstat().st_mode) or place.resolve() != top.resolve() / path:
            raise Refused("a symbolic link leads to the file")
        return place.read_bytes()
    except OSError as problem:
        raise Refused(f"the file can't be read ({problem.strerror or problem})") from problem
