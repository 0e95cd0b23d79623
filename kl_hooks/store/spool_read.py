"""The reader's half of the spool: what can be believed of a file that may be torn, hostile or still being written."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from errno import EPERM
from fcntl import LOCK_NB, LOCK_SH, flock
from hashlib import sha256
from io import BufferedReader, FileIO
from json import JSONDecoder
from pathlib import Path
from stat import S_ISREG
from typing import Any, BinaryIO, Final

from kl_hooks.model.canonical import replace_surrogates

MOST_BYTES: Final = 256 * 1024 * 1024
MOST_LINE: Final = 16 * 1024 * 1024
MOST_RECORDS: Final = 4_000_000
NAMELESS: Final = 3600.0
"""Seconds after which a file that its writer never gave a name is nobody's any more."""
_SUM: Final = 64


@dataclass(frozen=True, slots=True)
class Spool:
    """What a spool file holds."""

    records: list[Any] = field(default_factory=list)
    """In the order written: lists and dicts of plain values (no floats, integers of 64 bits, no lone surrogates)."""
    bad: int = 0
    """Lines dropped: torn, altered, too long, or not a record."""
    busy: bool = False
    """Its writer still has it: leave it alone."""
    ended: bool = False
    """The last record is an end record; without one the run is incomplete."""
    cut: bool = False
    """It is larger than what we read: the rest was left out."""


def _integer(digits: str) -> int:
    value = int(digits) if len(digits) < 21 else 1 << 64
    if not -(1 << 63) <= value < 1 << 63:
        raise ValueError("an integer of more than 64 bits")
    return value


def _no_float(text: str) -> Any:
    raise ValueError(f"{text} is not an integer")


_decode: Final = JSONDecoder(parse_int=_integer, parse_float=_no_float, parse_constant=_no_float).decode


def read(path: Path) -> Spool:
    """Everything whole in the spool at `path`; bad lines are counted, never believed.

    OSError where it can't be opened, is no regular file, or belongs to another user.
    """
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    with BufferedReader(FileIO(fd), 1 << 20) as file:
        info = os.fstat(fd)
        if not S_ISREG(info.st_mode) or info.st_uid != os.geteuid():
            raise PermissionError(EPERM, "not a regular file of ours", str(path))
        busy = _is_held(fd)
        records: list[Any] = []
        bad = size = 0
        cut = False
        for line in _lines(file):
            size += len(line)
            if cut := size > MOST_BYTES or len(records) >= MOST_RECORDS:
                break
            record = _record(line)
            if record is None:
                bad += 1
            else:
                records.append(record)
    last = records[-1] if records else None
    ended = isinstance(last, dict) and last.get("t") == "end" and not cut
    return Spool(records, bad, busy, ended, cut)


def pending(directory: Path) -> list[Path]:
    """The spools in `directory`, oldest first (by last write, then name); empty where there is no such directory."""
    found: list[tuple[int, str]] = []
    try:
        with os.scandir(directory) as entries:
            for entry in entries:
                if entry.name.endswith(".jsonl") and entry.name[0] != "." and entry.is_file(follow_symlinks=False):
                    found.append((entry.stat(follow_symlinks=False).st_mtime_ns, entry.name))
    except OSError:
        return [directory / name for _, name in sorted(found)]
    return [directory / name for _, name in sorted(found)]


def tidy(directory: Path, now: float) -> int:
    """Removes what a writer killed while its file had no name yet left behind an hour ago or more; how many.

    `now`: seconds since 1970, as file systems tell it. Never raises.
    """
    removed = 0
    with suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            nameless = entry.name.startswith(".") and entry.name.endswith(".jsonl.new")
            if nameless and entry.is_file(follow_symlinks=False) and now - entry.stat().st_mtime > NAMELESS:
                Path(entry.path).unlink(missing_ok=True)
                removed += 1
    return removed


def _is_held(fd: int) -> bool:
    try:
        flock(fd, LOCK_SH | LOCK_NB)
    except OSError:
        return True
    return False


def _lines(file: BinaryIO) -> Iterator[bytes]:
    """The lines; one that is too long comes as its beginning, without newline, and is skipped to its end."""
    while line := file.readline(MOST_LINE):
        yield line
        while line and not line.endswith(b"\n") and file.tell() <= MOST_BYTES:
            line = file.readline(MOST_LINE)


def _record(line: bytes) -> Any:
    """The record of a whole, unaltered line; None otherwise."""
    if line[-1:] != b"\n" or line[_SUM : _SUM + 1] != b" ":
        return None
    body = line[_SUM + 1 : -1]
    if sha256(body).hexdigest().encode() != line[:_SUM]:
        return None
    try:
        value = _decode(body.decode())
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, list | dict):
        return None
    return replace_surrogates(value) if b"\\u" in body else value
