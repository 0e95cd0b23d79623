"""The cache: derived values, stored for a while outside the repository. Any error is a miss."""

from __future__ import annotations

import hashlib
import os
import stat
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from kl_hooks.store.cache_disk import GuardedCache

_SIZE_LIMIT: Final = 64 * 1024 * 1024
_FOLDER: Final = "values"
_DIGEST_SIZE: Final = 32


class Cache:
    """Text keys → bytes, with a lifetime; the oldest are removed when it is larger than
    `size_limit` bytes.

    Nothing is opened, created or imported before the first `get` or `set`: diskcache takes as long
    to import as a short command runs. A key must contain everything that the value depends on.
    """

    def __init__(self, directory: Path, size_limit: int = _SIZE_LIMIT) -> None:
        self.directory = Path(directory) / _FOLDER
        self._size_limit = size_limit
        self._inner: GuardedCache | None = None
        self._off = False

    def get(self, key: str) -> bytes | None:
        """Return the value, or None: missing, expired, altered, unreadable, or the cache can't be
        used.
        """
        if self._inner is None and not self.directory.is_dir():
            return None
        try:
            value = self._open().get(key)
        except Exception:  # any trouble of diskcache, SQLite or the disk is a miss
            return None
        if type(value) is not bytes:
            return None
        return verified(key, value)

    def set(self, key: str, value: bytes, ttl: float | None) -> bool:
        """Store `value` for `ttl` seconds (None: until the cache is full); return whether that was
        possible.
        """
        try:
            return bool(self._open().set(key, checksummed(key, value), expire=ttl))
        except Exception:  # as in get: it will be derived again
            return False

    def delete(self, key: str) -> bool:
        """Remove a value; return whether there was one that could be removed."""
        if self._inner is None and not self.directory.is_dir():
            return False
        try:
            return bool(self._open().delete(key))
        except Exception:  # as in get
            return False

    def keys(self, prefix: str) -> list[str]:
        """Return the keys that begin with `prefix` and have not expired, sorted; none where that is
        unknown.
        """
        if self._inner is None and not self.directory.is_dir():
            return []
        try:
            return self._open().live_keys(prefix)
        except Exception:  # as in get
            return []

    def expired(self, now: float) -> int:
        """Count the values that are expired at `now` (seconds); 0 where that is unknown."""
        if self._inner is None and not self.directory.is_dir():
            return 0
        try:
            return self._open().count_expired(now)
        except Exception:  # as in get
            return 0

    def drop_expired(self, now: float) -> None:
        """Remove the values that are expired at `now`, as far as possible."""
        try:
            # retry would wait for as long as another process has the database
            self._open().expire(now, retry=False)
        except Exception:  # as in get
            return

    def close(self) -> None:
        """Close the files; a later `get` opens them again."""
        inner, self._inner = self._inner, None
        if inner is not None:
            inner.close()

    def _open(self) -> GuardedCache:
        if self._inner is None:
            if self._off:
                raise OSError("the cache could not be opened")
            # tried once: after a failure it stays off, or every later call would cost another
            # attempt
            self._off = True
            _prepare(self.directory)
            from kl_hooks.store.cache_disk import open_cache

            self._inner = open_cache(self.directory, self._size_limit)
            weakref.finalize(self, self._inner.close)
            self._off = False
        return self._inner


def checksummed(key: str, value: bytes) -> bytes:
    """Return the value behind its checksum, as it is stored."""
    return _digest(key, value) + value


def verified(key: str, stored: bytes) -> bytes | None:
    """Return the value of what `checksummed` made for this key; None for anything else."""
    value = stored[_DIGEST_SIZE:]
    if stored[:_DIGEST_SIZE] == _digest(key, value):
        return value
    return None


def _digest(key: str, value: bytes) -> bytes:
    """A checksum that differs for a value that was damaged, cut, or moved to another key."""
    # the length first, or `ab` with the value `c` and `a` with `bc` would have one checksum
    return hashlib.sha256(b"%d %b%b" % (len(key), key.encode(), value)).digest()


def _prepare(directory: Path) -> None:
    """Make the folder (0700). OSError where it is a link, somebody else's, or open to others and
    not ours to close.
    """
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    info = directory.lstat()
    if not stat.S_ISDIR(info.st_mode) or info.st_uid != os.geteuid():
        raise PermissionError(f"not a folder of ours: {directory}")
    if info.st_mode & 0o077:
        directory.chmod(0o700)
