"""Values with a lifetime that several processes change: text keys → bytes, in files of the cache,
or on Redis.

A Redis server (extra `kl-hooks[redis]`) is for agents on several machines; it expires the values
itself. Nothing is unpickled: a value is bytes behind a checksum, as on disk, and what does not
match is a miss. Where the server can't be reached, refuses or is full, the values on disk are used,
and `note` has the reason. `tests/store/test_values.py` is the contract of both.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

from kl_hooks.errors import EnvironmentProblem, UsageProblem
from kl_hooks.model.text import one_line
from kl_hooks.store.cache import Cache, checksummed, verified
from kl_hooks.store.files import folder_lock
from kl_hooks.store.hosts import is_this_machine

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
        """Replace a value by what `function` makes of it, and return that. Nobody else's change is
        lost.

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
            from kl_hooks.store.disk import cause_of

            cause = cause_of(error, folder)
            raise EnvironmentProblem(f"can't be used: {cause.words}.", place=str(folder)) from error
        if not stored:
            hint = "Is the disk full, or the folder somebody else's? See: kl doctor"
            raise EnvironmentProblem(
                "the value can't be stored.", place=str(self._cache.directory), hint=hint
            )
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


T = TypeVar("T")
_TIMEOUT: Final = 1.0
"""Seconds to connect, and for each answer: a person waits for `kl recall`."""
_PATIENCE: Final = 10.0
"""Seconds for one change that others keep interrupting."""
_SCHEMES: Final = ("redis", "rediss", "unix")


class RedisValues:
    """Values on a server, below `kl:<name>:`; each agent's keys have their own prefix below
    that.
    """

    def __init__(self, url: str, name: str, environ: Mapping[str, str], local: DiskValues) -> None:
        """UsageProblem for a URL with a password, of another scheme, or that sends the password in
        the clear; EnvironmentProblem without the library.
        """
        self.note = ""
        self._prefix = f"kl:{name}:"
        self._local = local
        parts = urlsplit(url)
        if parts.scheme not in _SCHEMES or parts.password:
            if parts.password:
                reason = "has a password in it."
            else:
                reason = "is no URL of a Redis server."
            hint = (
                "Set the password in KL_REDIS_PASSWORD (and a name in KL_REDIS_USER); the URL such"
                " as redis://host:6379/0"
            )
            raise UsageProblem(reason, place="kl.redis", hint=hint)
        password = environ.get("KL_REDIS_PASSWORD") or None
        # git's configuration may come with an archive or a shared folder; the password is the
        # user's
        if password and parts.scheme == "redis" and not is_this_machine(parts.hostname or ""):
            reason = "redis:// sends the password to another machine in the clear."
            hint = "Use TLS: rediss://host:6379/0"
            raise UsageProblem(reason, place="kl.redis", hint=hint)
        try:
            import redis
        except ImportError:
            hint = "Install it: pip install 'kl-hooks[redis]', or unset kl.redis"
            raise EnvironmentProblem(
                "kl.redis is set, but redis is not installed.", place="kl.redis", hint=hint
            ) from None
        self._errors = (redis.RedisError, OSError)
        self._watch_error = redis.WatchError
        self._client: Any = redis.Redis.from_url(
            url,
            username=environ.get("KL_REDIS_USER") or None,
            password=password,
            socket_timeout=_TIMEOUT,
            socket_connect_timeout=_TIMEOUT,
            decode_responses=False,
        )

    def get(self, key: str) -> bytes | None:
        def ask() -> bytes | None:
            return self._verified(key, self._client.get(self._prefix + key))

        stored = self._try(ask, None)
        # what was written while the server was away is on disk
        if stored is not None:
            return stored
        return self._local.get(key)

    def change(self, key: str, function: Callable[[bytes | None], bytes], ttl: float) -> bytes:
        def ask() -> bytes | None:
            changed = self._change(self._prefix + key, key, function, ttl)
            # else an older value would answer as soon as the server can't be reached
            self._local.delete(key)
            return changed

        changed = self._try(ask, None)
        if changed is not None:
            return changed
        return self._local.change(key, function, ttl)

    def delete(self, key: str) -> bool:
        removed = self._try(lambda: bool(self._client.delete(self._prefix + key)), False)
        return self._local.delete(key) or removed

    def keys(self, prefix: str) -> list[str]:
        def ask() -> list[str]:
            # of a pattern these characters are special: https://redis.io/docs/latest/commands/keys/
            quoted = "".join(
                f"\\{sign}" if sign in "*?[]\\" else sign for sign in self._prefix + prefix
            )
            matching = self._client.scan_iter(match=quoted.encode() + b"*", count=1000)
            return [key.decode("utf-8", "replace").removeprefix(self._prefix) for key in matching]

        on_server: list[str] = self._try(ask, [])
        return sorted({*on_server, *self._local.keys(prefix)})

    def _change(
        self, name: str, key: str, function: Callable[[bytes | None], bytes], ttl: float
    ) -> bytes:
        """Write only if nothing was written since we read (WATCH), else begin again."""
        end = time.monotonic() + _PATIENCE
        with self._client.pipeline() as pipe:
            while True:
                try:
                    pipe.watch(name)
                    before = self._verified(key, pipe.get(name))
                    value = function(before if before is not None else self._local.get(key))
                    pipe.multi()
                    pipe.set(name, checksummed(key, value), px=max(1, round(ttl * 1000)))
                    pipe.execute()
                    return value
                except self._watch_error:
                    # WATCH is optimistic: of many writers one wins each round (redis.io,
                    # "Transactions")
                    if time.monotonic() > end:
                        raise
                    import random

                    time.sleep(random.uniform(0, 0.01))

    def _verified(self, key: str, stored: Any) -> bytes | None:
        if type(stored) is not bytes:
            return None
        return verified(key, stored)

    def _try(self, ask: Callable[[], T], otherwise: T) -> T:
        """Ask the server, once it answered; what it refuses, or does not answer, is noted and done
        on disk.
        """
        if self.note:
            # asked once per command: each further question would cost the timeout again
            return otherwise
        try:
            return ask()
        except self._errors as error:
            # of a pipeline redis-py quotes the whole command, and with it the value (client.py,
            # annotate_exception)
            why = one_line(str(error).rpartition(" caused error: ")[2], 120) or type(error).__name__
            self.note = (
                f"the Redis server can't be used ({why}): working memory is on this machine."
            )
            return otherwise
