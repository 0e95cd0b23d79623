"""The spool: where a capture writes first, one checksummed JSON line at a time, before any database
is touched.

A line is `sha256hex SP json NL`, the checksum over the whole record, written by one `write`. The
writer holds a flock on its file from before the file has its name until it closes it: a spool whose
lock is free has no writer any more, and without an end record it is an incomplete run. What was
written is durable after `sync()`, not before.

The writer runs inside other people's test suites, which replace `os`, `open` and `time` at will:
everything that it needs to write is bound when this module is imported.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from errno import EIO, ENOENT, ENOSPC, EPERM
from fcntl import LOCK_EX, LOCK_NB, LOCK_SH, flock
from hashlib import sha256
from io import BufferedReader, FileIO
from json import JSONDecoder
from os import (
    close,
    fstat,
    fsync,
    getpid,
    link,
    lseek,
    lstat,
    makedirs,
    read,
    rename,
    unlink,
    utime,
    write,
)
from os import open as open_handle
from os.path import lexists
from pathlib import Path
from stat import S_ISREG
from typing import Any, BinaryIO, Final, Self

from kl_hooks.model.canonical import canonical, replace_surrogates
from kl_hooks.model.definitions import NamedTuple, lazy_pattern
from kl_hooks.store.redaction import redact_value

SPOOL_SUFFIX: Final = ".jsonl"
_NAME: Final = lazy_pattern(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
_NEW_FLAGS: Final = (
    os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW
)
_READ_FLAGS: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_LONGEST: Final = 1 << 20
"""Bytes of a first record that are looked at again."""
_DIRECTORY_FLAGS: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
# macOS has no fdatasync
_sync_data: Final = getattr(os, "fdatasync", os.fsync)
_living: Final[set[SpoolWriter]] = set()


class SpoolWriter:
    """One capture's own file. Make it with `create`; `line` is the hot path. A forked child writes
    nothing.
    """

    __slots__ = ("_fd", "_lines", "_newest", "_pid", "_places", "_seal", "_size", "broken", "path")

    def __init__(self, path: Path, fd: int, newest: int = 0, key: bytes = b"") -> None:
        self.path = path
        self._newest = newest
        self._seal = _Seal(key, path.name)
        self._lines = self._size = 0
        """Lines and bytes that were written."""
        self._places: Sequence[Place] = ()
        """Where the capture goes on if this file can't be written any more."""
        self.broken = ""
        """Why nothing more can be written; empty while all is well."""
        self._fd, self._pid = fd, getpid()
        _living.add(self)

    @classmethod
    def create(cls, directory: Path, name: str, key: bytes = b"") -> Self:
        """A new spool `name` (letters, digits, `_.-`; `.jsonl` is added) in an existing
        `directory`, 0600. `key`: that of its checksums, where others could write there.

        OSError where it can't be made (FileExistsError for a name that is taken); ValueError for a
        name that is none.
        """
        if not _NAME.fullmatch(name):
            raise ValueError(f"not a name for a spool: {name!r}")
        path = Path(directory) / (name if name.endswith(SPOOL_SUFFIX) else name + SPOOL_SUFFIX)
        # of very many nobody imports any: asking for the time of each would take longer than a
        # short capture
        earlier_spools = _by_last_write(path.parent) if len(os.listdir(path.parent)) <= _FEW else []  # noqa: PTH208
        return cls(
            path, _create_locked(str(path)), earlier_spools[-1][0] if earlier_spools else 0, key
        )

    def line(self, json_text: str) -> None:
        """Write one record, which is one line of JSON already redacted; durable after the next
        `sync()`.

        Where the file can't be written any more (its disk is full), the capture goes on in the
        next place, with what was written so far. OSError if there is none. The writer is then
        `broken`: nothing goes to this file again, since neither a retried write nor a retried fsync
        can be believed.
        """
        if getpid() != self._pid:
            return
        try:
            data = json_text.encode()
        except UnicodeEncodeError:
            data = replace_surrogates(json_text).encode()
        if self.broken:
            raise OSError(EIO, f"this spool is broken: {self.broken}", str(self.path))
        line = self._seal.line(self._lines, data)
        try:
            written = write(self._fd, line)
            if written != len(line):
                words = f"only {written} of {len(line)} bytes were written"
                raise OSError(ENOSPC, words, str(self.path))
        except OSError as error:
            if not self._move():
                self._break(error)
                raise
            self.line(json_text)
            return
        self._lines += 1
        self._size += len(line)

    def record(self, value: Any) -> None:
        """Redact every string of `value` (plain, see `model.canonical`), and write its canonical
        form as a line.
        """
        self.line(canonical(redact_value(value)).decode())

    def sync(self) -> None:
        """When it returns, what was written survives a power loss. OSError as in `line`."""
        if getpid() != self._pid:
            return
        if self.broken:
            raise OSError(EIO, f"this spool is broken: {self.broken}", str(self.path))
        # tried once: Linux reports a failed write-back once and marks the pages clean (LWN 752063)
        try:
            _sync_data(self._fd)
        except OSError as error:
            if not self._move():  # which syncs what it copied
                self._break(error)
                raise

    def _move(self) -> bool:
        """Go on in the next place that can be written, with a copy of all lines; whether there is
        one. Never raises.
        """
        while self._places:
            (directory, key), self._places = self._places[0], self._places[1:]
            with suppress(OSError):
                lines = _whole_lines(str(self.path), self._size)
                makedirs(directory, 0o700, exist_ok=True)  # noqa: PTH103
                path = directory / self.path.name
                fd = _create_locked(str(path))
                seal = _Seal(key, path.name)
                try:
                    size = _write_lines(fd, seal, lines)
                except BaseException:
                    close(fd)
                    unlink(str(path))  # noqa: PTH108
                    raise
                former, self._fd = self._fd, fd
                with suppress(OSError):
                    unlink(str(self.path))  # noqa: PTH108
                close(former)
                self.path = path
                self._seal = seal
                self._size = size
                return True
        return False

    def missing(self, word: str) -> str:
        """What became of the file, if what was written is not there under its name any more; empty
        while it is.

        `word` is part of the first record. For the end of a capture: it asks the disk. OSError
        where that is unknown.
        """
        if getpid() != self._pid:
            return ""
        own = fstat(self._fd)
        path = str(self.path)
        try:
            named = lstat(path)
        except FileNotFoundError:
            return "was removed"
        if (named.st_dev, named.st_ino) != (own.st_dev, own.st_ino):
            return "was replaced"
        cut = own.st_size < lseek(self._fd, 0, os.SEEK_CUR)
        if cut or not _begins_with(path, word.encode()):
            return "was cut or overwritten"
        return ""

    def close(self) -> None:
        """Close the file and its lock; does not sync. May be called again.

        The file is newer than all that were there when it was made, also where the clock was set
        back meanwhile: in the other order an older run would settle what a newer one saw.
        """
        _living.discard(self)
        fd, self._fd = self._fd, -1
        self.broken = self.broken or "it is closed"
        if fd >= 0:
            with suppress(OSError):
                if getpid() == self._pid and fstat(fd).st_mtime_ns <= self._newest:
                    utime(fd, ns=(self._newest + 1, self._newest + 1))
            with suppress(OSError):
                close(fd)

    def discard_empty(self) -> None:
        """Remove the file if nothing was written to it: it is no capture. Never raises."""
        if not self._lines and getpid() == self._pid:
            with suppress(OSError):
                unlink(str(self.path))  # noqa: PTH108

    def _break(self, error: OSError) -> None:
        self.broken = error.strerror or str(error)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


Place = tuple[Path, bytes]
"""A folder for spools, and the key of the checksums there; empty where nobody else can write."""


def first_writable(places: Sequence[Place], name: str) -> SpoolWriter:
    """A new spool in the first of `places` that takes one; the others are where it goes on.

    Missing directories are made (0700). OSError, of the last place, if none takes it.
    """
    last: OSError = OSError(ENOENT, "there is no place for a spool")
    for number, (directory, key) in enumerate(places, 1):
        try:
            makedirs(directory, 0o700, exist_ok=True)  # noqa: PTH103
            writer = SpoolWriter.create(directory, name, key)
            writer._places = tuple(places[number:])
            return writer
        except OSError as error:
            last = error
    raise last


class _Seal:
    """The checksums of the lines of one file: plain ones, or a MAC under a key of the clone.

    With a key the name of the file and the number of the line are part of it: a line of another
    file, or at another place, is not believed.
    """

    __slots__ = ("_digest", "_key", "_name")

    def __init__(self, key: bytes, name: str) -> None:
        self._key, self._name = key, name.encode()
        if key:
            from hmac import digest  # seldom: only where the working tree holds the spool

            self._digest = digest

    def line(self, number: int, data: bytes) -> bytes:
        """The line for a record."""
        return b"%b %b\n" % (self.checksum(number, data), data)

    def checksum(self, number: int, data: bytes) -> bytes:
        """64 hexadecimal digits."""
        if not self._key:
            return sha256(data).hexdigest().encode()
        text = b"%b\0%d\0%b" % (self._name, number, data)
        return self._digest(self._key, text, "sha256").hex().encode()


def _whole_lines(path: str, size: int) -> list[bytes]:
    """The records of the first bytes of a file, as they were written. OSError where it has less."""
    fd = open_handle(path, _READ_FLAGS)
    try:
        pieces: list[bytes] = []
        while size > 0 and (piece := read(fd, size)):
            pieces.append(piece)
            size -= len(piece)
    finally:
        close(fd)
    if size:
        raise OSError(EIO, "what was written can't be read again", path)
    return [line[_SUM + 1 :] for line in b"".join(pieces).splitlines()]


def _write_lines(fd: int, seal: _Seal, records: Sequence[bytes]) -> int:
    """Write records durably to a new file; the bytes written. OSError."""
    content = b"".join(seal.line(number, record) for number, record in enumerate(records))
    if write(fd, content) != len(content):
        raise OSError(ENOSPC, "it was not written whole")
    _sync_data(fd)
    return len(content)


def _create_locked(path: str) -> int:
    """A file descriptor on the new file `path`, locked before anybody can see it under that
    name.
    """
    folder, _, name = path.rpartition("/")
    hidden = f"{folder or '.'}/.{name}.new"
    fd = open_handle(hidden, _NEW_FLAGS, 0o600)
    try:
        flock(fd, LOCK_EX | LOCK_NB)
        _publish(hidden, path)
        directory = open_handle(folder or ".", _DIRECTORY_FLAGS)
        try:
            fsync(directory)
        finally:
            close(directory)
    except BaseException:
        close(fd)
        with suppress(OSError):
            unlink(hidden)  # noqa: PTH108
        raise
    return fd


def _begins_with(path: str, word: bytes) -> bool:
    """Whether the first line holds it; also where that line is too long to be looked at."""
    fd = open_handle(path, _READ_FLAGS)
    try:
        line, end, _ = read(fd, _LONGEST).partition(b"\n")
    finally:
        close(fd)
    return word in line or (not end and len(line) == _LONGEST)


def _publish(hidden: str, path: str) -> None:
    """Give the file its name, unless that is taken (FileExistsError)."""
    # link(2) never replaces a name that is taken, rename(2) does
    try:
        link(hidden, path)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        if lexists(path):
            raise FileExistsError(path) from None
        rename(hidden, path)  # noqa: PTH104
    else:
        unlink(hidden)  # noqa: PTH108


def _forget_in_child() -> None:
    """After a fork: the child closes the file, or it would hold the lock, and the run would seem to
    go on for ever.
    """
    for writer in list(_living):
        writer._pid = -1
        writer.close()


os.register_at_fork(after_in_child=_forget_in_child)


MAX_SPOOL_BYTES: Final = 256 * 1024 * 1024
_MAX_LINE: Final = 16 * 1024 * 1024
_MAX_RECORDS: Final = 4_000_000
_FEW: Final = 100
"""Files in a folder of spools of which the newest is looked for."""
_NAMELESS_SECONDS: Final = 3600.0
"""Seconds after which a file that its writer never gave a name is removed."""
_SUM: Final = 64
_FIRST: Final = lazy_pattern(rb"[0-9a-f]{64} [{\[]")


class SpoolContent(NamedTuple):
    """What a spool file holds."""

    records: list[Any]
    """In the order written: lists and dicts of plain values (no floats, integers of 64 bits, no
    lone surrogates).
    """
    bad: int = 0
    """Lines dropped: torn, altered, too long, or not a record."""
    busy: bool = False
    """Its writer still has it: leave it alone."""
    ended: bool = False
    """The last record is an end record; without one the run is incomplete."""
    cut: bool = False
    """It is larger than what is read: the rest is omitted."""


def _integer(digits: str) -> int:
    # int() takes the square of the length, and refuses more than 4300 digits (CPython 3.11)
    value = int(digits) if len(digits) < 21 else 1 << 64
    if not -(1 << 63) <= value < 1 << 63:
        raise ValueError("an integer of more than 64 bits")
    return value


def _no_float(text: str) -> Any:
    raise ValueError(f"{text} is not an integer")


_decode: Final = JSONDecoder(
    parse_int=_integer, parse_float=_no_float, parse_constant=_no_float
).decode


def is_spool_file(path: Path) -> bool:
    """Whether a file begins as a spool does, whoever wrote it."""
    try:
        fd = os.open(path, _READ_FLAGS)
        try:
            return bool(_FIRST.match(read(fd, _SUM + 2)))
        finally:
            close(fd)
    except OSError:
        return False


def read_spool(path: Path, key: bytes = b"") -> SpoolContent:
    """Everything whole in the spool at `path`; bad lines are counted, never believed. `key`: that
    of its checksums.

    OSError where it can't be opened, is no regular file, or belongs to another user.
    """
    fd = os.open(path, _READ_FLAGS)
    with BufferedReader(FileIO(fd), 1 << 20) as file:
        info = os.fstat(fd)
        if not S_ISREG(info.st_mode) or info.st_uid != os.geteuid():
            raise PermissionError(EPERM, "not a regular file of ours", str(path))
        busy = _is_locked(fd)
        records: list[Any] = []
        bad = size = 0
        cut = False
        seal = _Seal(key, path.name)
        for number, line in enumerate(_lines(file)):
            size += len(line)
            if cut := size > MAX_SPOOL_BYTES or len(records) >= _MAX_RECORDS:
                break
            record = _record(line, seal, number)
            if record is None:
                bad += 1
            else:
                records.append(record)
    last = records[-1] if records else None
    ended = isinstance(last, dict) and last.get("t") == "end" and not cut
    return SpoolContent(records, bad, busy, ended, cut)


def pending_spools(directory: Path) -> list[Path]:
    """The spools in `directory`, oldest first (by last write, then name); empty where there is no
    such directory.
    """
    return [directory / name for _, name in _by_last_write(directory)]


def _by_last_write(directory: Path) -> list[tuple[int, str]]:
    spools: list[tuple[int, str]] = []
    with suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            if (
                entry.name.endswith(SPOOL_SUFFIX)
                and entry.name[0] != "."
                and entry.is_file(follow_symlinks=False)
            ):
                spools.append((entry.stat(follow_symlinks=False).st_mtime_ns, entry.name))
    return sorted(spools)


def remove_nameless_spools(directory: Path, now: float) -> int:
    """Remove what a writer killed while its file had no name yet left behind an hour ago or more;
    how many.

    `now`: seconds since 1970, by the clock of the file system. Never raises.
    """
    removed = 0
    with suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            nameless = entry.name.startswith(".") and entry.name.endswith(".jsonl.new")
            if (
                nameless
                and entry.is_file(follow_symlinks=False)
                and now - entry.stat().st_mtime > _NAMELESS_SECONDS
            ):
                Path(entry.path).unlink(missing_ok=True)
                removed += 1
    return removed


def _is_locked(fd: int) -> bool:
    try:
        # shared: two readers at the same moment must not take each other for the writer
        flock(fd, LOCK_SH | LOCK_NB)
    except OSError:
        return True
    return False


def _lines(file: BinaryIO) -> Iterator[bytes]:
    """The lines; one that is too long comes as its beginning, without newline, and is skipped to
    its end.
    """
    while line := file.readline(_MAX_LINE):
        yield line
        while line and not line.endswith(b"\n") and file.tell() <= MAX_SPOOL_BYTES:
            line = file.readline(_MAX_LINE)


def _record(line: bytes, seal: _Seal, number: int) -> Any:
    """The record of a whole, unaltered line; None otherwise."""
    if line[-1:] != b"\n" or line[_SUM : _SUM + 1] != b" ":
        return None
    body = line[_SUM + 1 : -1]
    if seal.checksum(number, body) != line[:_SUM]:
        return None
    try:
        value = _decode(body.decode())
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, list | dict):
        return None
    # only an escape can make a lone surrogate: the bytes were decoded as UTF-8, which has none
    if b"\\u" not in body:
        return value
    return replace_surrogates(value)
