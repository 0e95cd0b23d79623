"""Import and export of memories in JSON, as fuseraft's repository memory and agor's rows have them.

Imported memories are candidates, and what was rejected there is rejected here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.clock import iso, micros
from kl_hooks.config.yaml import snake_case
from kl_hooks.kinds.memory.mining import MiningResult, candidate_values, store_patterns
from kl_hooks.kinds.memory.patterns import Pattern, Sighting, id_of
from kl_hooks.kinds.memory.review import ReviewItem
from kl_hooks.model.kind import AUTHORITIES
from kl_hooks.model.problem import Problem

if TYPE_CHECKING:
    from kl_hooks.workspace import Workspace


_STATUSES: Final = ("candidate", "approved", "rejected")
_MOST: Final = 50_000


@dataclass(frozen=True, slots=True)
class ForeignMemory:
    """One memory of another tool. Approved there is a candidate here: a person of this repository decides."""

    pattern: str
    rejected: bool
    authority: str
    tags: tuple[str, ...]
    session: str
    expires: str
    seen: str
    """When it was last seen, ISO 8601; empty: unknown."""


def read_memories(plain: Any, place: str) -> tuple[list[ForeignMemory], list[Problem]]:
    """The memories in one JSON value (an entry, a list, or an object with a list), and everything wrong with it."""
    if isinstance(plain, Mapping):
        lists = [value for value in plain.values() if isinstance(value, list)]
        one = "pattern" in _snake_keys(plain) or "content" in _snake_keys(plain)
        plain = [plain] if one or not lists else lists[0]
    if not isinstance(plain, list) or len(plain) > _MOST:
        return [], [Problem(place, 0, 0, f"holds no list of memories, or more than {_MOST}.")]
    made: list[ForeignMemory] = []
    problems: list[Problem] = []
    for number, entry in enumerate(plain, 1):
        try:
            made.append(_memory_of(entry))
        except ValueError as wrong:
            problems.append(Problem(place, 0, 0, f"memory {number}: {wrong}"))
    return made, problems


def _snake_keys(entry: Mapping[Any, Any]) -> dict[str, Any]:
    """Its keys in one spelling: `SourceSessionId`, `sourceSessionId` → `source_session_id`."""
    return {
        snake_case(str(key)[:1].upper() + str(key)[1:]) if "_" not in str(key) else str(key): v
        for key, v in entry.items()
    }


def _memory_of(entry: Any) -> ForeignMemory:
    if not isinstance(entry, Mapping):
        raise ValueError("is no object.")
    said = _snake_keys(entry)
    pattern = said.get("pattern") or said.get("content")
    if not isinstance(pattern, str) or not pattern.strip():
        raise ValueError('has neither "pattern" nor "content".')
    status = str(said.get("status") or "candidate").lower()
    if status not in _STATUSES:
        raise ValueError(f"status must be one of: {', '.join(_STATUSES)}.")
    authority = str(said.get("trust_tier") or said.get("authority") or "auto").lower()
    if authority not in AUTHORITIES:
        raise ValueError(f"trust_tier must be one of: {', '.join(AUTHORITIES)}.")
    return ForeignMemory(
        pattern, status == "rejected", max(authority, "agent", key=AUTHORITIES.index), _tags(said.get("tags")),
        str(said.get("source_session_id") or said.get("source") or "")[:80],
        _time(said, "expires_at"), _time(said, "last_reinforced_at") or _time(said, "created_at"),
    )  # fmt: skip


def _tags(given: Any) -> tuple[str, ...]:
    """A list, or a list written as JSON text; what is no short word is left out."""
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError):
            given = []
    some = given if isinstance(given, list) else []
    return tuple(tag for tag in some if isinstance(tag, str) and tag.isascii() and tag.replace("-", "").isalnum())


def _time(said: Mapping[str, Any], name: str) -> str:
    given = said.get(name)
    if given in (None, ""):
        return ""
    try:
        micros(str(given))
    except (ValueError, OverflowError):
        raise ValueError(f"{name} is no time.") from None
    return str(given)


def to_fuseraft(some: Sequence[ReviewItem]) -> list[dict[str, Any]]:
    """Memories as fuseraft keeps them."""
    return [
        {
            "id": one.record.id, "pattern": one.record.text("pattern"), "status": one.record.status.capitalize(),
            "confidence": one.support.tier.word.capitalize(), "evidence": list(one.support.lines),
            "created_at": one.record.text("date"), "last_reinforced_at": one.tally.reinforced_at or None,
            "reinforcement_count": one.tally.reinforcement, "source_session_id": one.record.text("session") or None,
            "trust_tier": one.record.authority, "tags": list(one.record.many("tags")),
            "expires_at": one.record.text("expires") or None,
        }
        for one in some
    ]  # fmt: skip


def import_memories(ws: Workspace, some: Sequence[ForeignMemory], source: str) -> MiningResult:
    """Takes all of them in but what has expired. Those that are known are reinforced by the session they name."""
    now = iso(ws.clock.now())
    found, more = [], dict[str, dict[str, Any]]()
    for one in some:
        ended = one.expires and micros(one.expires) < ws.clock.now()
        seen = Sighting(
            one.session or f"import:{source}"[:80], f"import:{source}"[:80], "AgentAssertion", one.seen or now
        )
        if not ended:
            found.append(
                Pattern(one.pattern, "pattern", (seen,), True, untrusted=True, source=f"import {source}"[:200])
            )
            extra: dict[str, Any] = {"authority": one.authority, "tags": list(one.tags)}
            extra |= {"expires": one.expires} if one.expires else {}
            more[id_of(one.pattern)] = extra | ({"status": "rejected"} if one.rejected else {})
    return store_patterns(ws, found, lambda i, pattern: candidate_values(pattern) | more[i], most=len(found))
