"""Working memory: what an agent keeps for minutes or hours while it works, private to it and its session.

It is in the cache directory, so losing it costs work and no knowledge; with `kl.redis` it is on a server, for an agent
that works on several machines.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.errors import EnvironmentProblem, UsageProblem
from kl_hooks.model.text import one_line
from kl_hooks.store.values import DiskValues
from kl_hooks.tiers.entries import SECOND, Caller, Entry, checked_key, checked_ttl, checked_type, encoded

if TYPE_CHECKING:
    from kl_hooks.store.redis_values import RedisValues
    from kl_hooks.workspace import Workspace

TIER: Final = "working"
_HOUR: Final = 3600
_MOST_TTL: Final = 24 * _HOUR
_TTL: Final = {"task_state": 2 * _HOUR, "conversation": 4 * _HOUR}
"""Type → seconds; all others an hour."""


class WorkingMemory:
    """The working memory of one caller."""

    def __init__(self, ws: Workspace, caller: Caller) -> None:
        self._ws, self._caller = ws, caller
        self._values: DiskValues | RedisValues | None = None
        self._note = ""

    @property
    def note(self) -> str:
        """Why it does less than was asked for; empty: it does all of it."""
        return self._note or (self._values.note if self._values is not None else "")

    def write(
        self, key: str, value: Any, *, ttl: int | None = None, type: str = "", append: bool = False, to: str = ""
    ) -> Entry:
        """Store a value. `append`: at the end of the list there. `to`: an actor who alone can read it, from us.

        EnvironmentProblem where it can't be stored.
        """
        key, name = checked_key(key), checked_type(type)
        seconds = checked_ttl(ttl, _TTL.get(name, _HOUR), _MOST_TTL)
        now = self._ws.clock.now()
        # what is stored, redacted: the list that it is appended to has redacted values too
        made = json.loads(encoded(value))

        def change(before: bytes | None) -> bytes:
            whole = made
            if append:
                earlier = self._decoded(key, before)
                whole = [*_as_list(earlier, key), made]
            plain = {
                "value": whole,
                "type": name,
                "at": now,
                "expires": now + seconds * SECOND,
                "by": self._caller.actor,
            }
            encoded(whole)  # with what was there before it may have become too large
            return json.dumps(plain, ensure_ascii=False).encode()

        place = self._shared_key(to, self._caller.actor, key) if to else self._key(key)
        stored = self._open().change(place, change, seconds)
        entry = self._decoded(key, stored)
        assert entry is not None
        return entry

    def read(self, key: str, sender: str = "") -> Entry | None:
        """Return the caller's entry of this session, or what `sender` shared with the caller."""
        key = checked_key(key)
        place = self._shared_key(self._caller.actor, sender, key) if sender else self._key(key)
        return self._decoded(key, self._open().get(place))

    def delete(self, key: str) -> bool:
        """Remove an entry; return whether there was one."""
        return self._open().delete(self._key(checked_key(key)))

    def entries(self) -> list[Entry]:
        """Return the caller's entries of this session, by key."""
        prefix = self._key("")[:-3]  # without the empty key and the bracket
        keys = [json.loads(one)[2] for one in self._open().keys(prefix)]
        found = (self.read(key) for key in sorted(keys))
        return [one for one in found if one is not None]

    def clear(self) -> int:
        """Remove the caller's entries of this session; return how many."""
        return sum(self.delete(one.key) for one in self.entries())

    def _open(self) -> DiskValues | RedisValues:
        if self._values is None:
            place, url = self._ws.state.cache, self._ws.settings.redis
            # a folder of its own: what is derived must not push out what cannot be derived again
            local = DiskValues(place / TIER)
            self._values = local
            if url:
                from kl_hooks.store.redis_values import RedisValues

                try:
                    # the cache folder is named by a hash of the repository's path, which is in no one's way on a server
                    self._values = RedisValues(url, place.name, self._ws.environ, local)
                except EnvironmentProblem as problem:  # no library: as where the server can't be reached
                    self._note = f"{problem.reason} Working memory is on this machine. {problem.hint}"
        return self._values

    def _key(self, key: str) -> str:
        # as JSON, whose quotes keep an actor's name from running into the session or the key
        return json.dumps([*self._caller, key])

    def _shared_key(self, receiver: str, sender: str, key: str) -> str:
        # four parts, where `_key` has three: no session is named like this
        return json.dumps([receiver, "shared", sender, key])

    def _decoded(self, key: str, stored: bytes | None) -> Entry | None:
        """Return the entry; None for what has expired by our clock, or is not what we wrote."""
        # anything odd is a miss: on a shared server somebody else may have written it
        try:
            plain = json.loads(stored or b"null")
            source = f"working memory, session {self._caller.session}"
            made = Entry(
                key, plain["value"], TIER, source, str(plain["by"]), self._caller.session, str(plain["type"]),
                int(plain["at"]), int(plain["expires"]),
            )  # fmt: skip
        except (ValueError, TypeError, KeyError):
            return None
        return made if made.is_live(self._ws.clock.now()) else None


def _as_list(entry: Entry | None, key: str) -> list[Any]:
    if entry is None:
        return []
    if not isinstance(entry.value, list):
        hint = "Forget it first, or take another key."
        raise UsageProblem("its value is no list, so nothing can be appended.", place=one_line(key, 100), hint=hint)
    return entry.value
