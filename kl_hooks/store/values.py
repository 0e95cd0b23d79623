"""Values with a lifetime that several processes change: text keys → bytes, in files of the cache directory.

`kl_hooks/store/redis_values.py` does the same on a Redis server; `tests/store/test_values.py` is the contract of both.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from kl_hooks.errors import EnvironmentProblem
from kl_hooks.store.cache import Cache
from kl_hooks.store.locks import folder_lock

_SIZE_LIMIT: Final = 256 * 1024 * 1024
"""Bytes on disk; beyond it what was stored first is removed."""


class DiskValues:
    """Values in a folder of the cache directory: never pickled, private to the user."""

    def __init__(self, directory: Path) -> None:
        self._cache = Cache(directory, _SIZE_LIMIT)
        self.note = ""
        """Why it does less than was asked for, in one line; empty: it does all of it."""

    def get(self, key: str) -> bytes | None:
        """Return the value; None where it is missing, expired or damaged."""
        return self._cache.get(key)

    def change(self, key: str, function: Callable[[bytes | None], bytes], ttl: float) -> bytes:
        """Replace a value by what `function` makes of it, and return that. Nobody else's change is lost.

        `function` may be called more than once. EnvironmentProblem where it can't be stored.
        """
        folder = self._cache.directory.parent
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            # diskcache has no compare-and-set for bytes that it must not unpickle
            with folder_lock(folder):
                value = function(self._cache.get(key))
                stored = self._cache.set(key, value, ttl)
        except OSError as error:
            raise EnvironmentProblem(f"can't be used ({error.strerror or error}).", place=str(folder)) from error
        if not stored:
            hint = "Is the disk full, or the folder somebody else's? See: kl doctor"
            raise EnvironmentProblem("the value can't be stored.", place=str(self._cache.directory), hint=hint)
        return value

    def delete(self, key: str) -> bool:
        """Remove a value; return whether there was one."""
        return self._cache.delete(key)

    def keys(self, prefix: str) -> list[str]:
        """Return the keys that begin with `prefix` and have not expired, sorted."""
        return self._cache.keys(prefix)

    def close(self) -> None:
        """Close the files; a later call opens them again."""
        self._cache.close()
