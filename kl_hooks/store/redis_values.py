"""Values on a Redis server, for agents on several machines (extra `kl-hooks[redis]`). The server expires them.

Nothing is unpickled: a value is bytes behind a checksum, as on disk, and what does not match is a miss. Where the
server can't be reached, refuses or is full, the values on disk are used, and `note` has the reason.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import urlsplit

from kl_hooks.errors import EnvironmentProblem, UsageProblem
from kl_hooks.model.text import one_line
from kl_hooks.store.cache import checksummed, verified

if TYPE_CHECKING:
    from kl_hooks.store.values import DiskValues

T = TypeVar("T")
_TIMEOUT: Final = 1.0
"""Seconds to connect, and for each answer: a person waits for `kl recall`."""
_PATIENCE: Final = 10.0
"""Seconds for one change that others keep interrupting."""
_SCHEMES: Final = ("redis", "rediss", "unix")


class RedisValues:
    """Values on a server, below `kl:<name>:`; each agent's keys have their own prefix below that."""

    def __init__(self, url: str, name: str, environ: Mapping[str, str], local: DiskValues) -> None:
        """UsageProblem for a URL with a password, or of another scheme; EnvironmentProblem without the library."""
        self.note = ""
        self._prefix, self._local = f"kl:{name}:", local
        parts = urlsplit(url)
        if parts.scheme not in _SCHEMES or parts.password:
            reason = "has a password in it." if parts.password else "is no URL of a Redis server."
            hint = "Set the password in KL_REDIS_PASSWORD (and a name in KL_REDIS_USER); the URL such as redis://host:6379/0"
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
            url, username=environ.get("KL_REDIS_USER") or None, password=environ.get("KL_REDIS_PASSWORD") or None,
            socket_timeout=_TIMEOUT, socket_connect_timeout=_TIMEOUT, decode_responses=False,
        )  # fmt: skip

    def get(self, key: str) -> bytes | None:
        def ask() -> bytes | None:
            return self._verified(key, self._client.get(self._prefix + key))

        found = self._try(ask, None)
        # what was written while the server was away is on disk
        return found if found is not None else self._local.get(key)

    def change(self, key: str, function: Callable[[bytes | None], bytes], ttl: float) -> bytes:
        def ask() -> bytes | None:
            made = self._change(self._prefix + key, key, function, ttl)
            # else an older value would answer as soon as the server can't be reached
            self._local.delete(key)
            return made

        made = self._try(ask, None)
        return made if made is not None else self._local.change(key, function, ttl)

    def delete(self, key: str) -> bool:
        removed = self._try(lambda: bool(self._client.delete(self._prefix + key)), False)
        return self._local.delete(key) or removed

    def keys(self, prefix: str) -> list[str]:
        def ask() -> list[str]:
            # of a pattern these characters are special: https://redis.io/docs/latest/commands/keys/
            quoted = "".join(f"\\{sign}" if sign in "*?[]\\" else sign for sign in self._prefix + prefix)
            found = self._client.scan_iter(match=quoted.encode() + b"*", count=1000)
            return [one.decode("utf-8", "replace").removeprefix(self._prefix) for one in found]

        on_server: list[str] = self._try(ask, [])
        return sorted({*on_server, *self._local.keys(prefix)})

    def _change(self, name: str, key: str, function: Callable[[bytes | None], bytes], ttl: float) -> bytes:
        """Write only if nobody wrote since we read (WATCH), else begin again."""
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
                    # WATCH is optimistic: of many writers one wins each round (redis.io, "Transactions")
                    if time.monotonic() > end:
                        raise
                    time.sleep(random.uniform(0, 0.01))

    def _verified(self, key: str, stored: Any) -> bytes | None:
        return verified(key, stored) if type(stored) is bytes else None

    def _try(self, ask: Callable[[], T], otherwise: T) -> T:
        """Ask the server, once it answered; what it refuses, or does not answer, is noted and done on disk."""
        if self.note:
            return otherwise  # asked once per command: each further question would cost the timeout again
        try:
            return ask()
        except self._errors as error:
            # of a pipeline redis-py quotes the whole command, and with it the value (client.py, annotate_exception)
            why = one_line(str(error).rpartition(" caused error: ")[2], 120) or type(error).__name__
            self.note = f"the Redis server can't be used ({why}): working memory is on this machine."
            return otherwise
