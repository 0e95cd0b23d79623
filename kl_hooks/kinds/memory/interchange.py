"""Import and export of memories in JSON, as fuseraft's repository memory and agor's rows have
them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.clock import iso, micros
from kl_hooks.config.yaml import snake_case
from kl_hooks.kinds.memory.add import MiningResult, store_patterns
from kl_hooks.kinds.memory.patterns import Pattern, Sighting, id_of
from kl_hooks.kinds.memory.review import ReviewItem
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.kind import AUTHORITIES
from kl_hooks.model.problem import Problem

if TYPE_CHECKING:
    from kl_hooks.workspace import Workspace

_STATUSES: Final = ("candidate", "approved", "rejected")
_MOST: Final = 50_000


class ForeignMemory(NamedTuple):
    """A memory of another tool. Approved there is a candidate here: a person of this repository
    decides.
    """

    pattern: str
    rejected: bool
    authority: str
    tags: tuple[str, ...]
    session: str
    expires: str
    seen: str
    """When it was last seen, ISO 8601; empty: unknown."""


def read_memories(value: Any, place: str) -> tuple[list[ForeignMemory], list[Problem]]:
    """Return the memories in a JSON value (an entry, a list, or an object with a list), and all
    problems.
    """
    if isinstance(value, Mapping):
        lists = [one for one in value.values() if isinstance(one, list)]
        is_entry = {"pattern", "content"} & _snake_keys(value).keys()
        if is_entry or not lists:
            value = [value]
        else:
            value = lists[0]
    if not isinstance(value, list) or len(value) > _MOST:
        return [], [Problem(place, 0, 0, f"holds no list of memories, or more than {_MOST}.")]
    memories: list[ForeignMemory] = []
    problems: list[Problem] = []
    for number, entry in enumerate(value, 1):
        try:
            memories.append(_read(entry))
        except ValueError as wrong:
            problems.append(Problem(place, 0, 0, f"memory {number}: {wrong}"))
    return memories, problems


def _snake_keys(entry: Mapping[Any, Any]) -> dict[str, Any]:
    """Return the entry with its keys in one spelling: `SourceSessionId`, `sourceSessionId` →
    `source_session_id`.
    """
    names = {key: str(key) for key in entry}
    return {
        (name if "_" in name else snake_case(name[:1].upper() + name[1:])): entry[key]
        for key, name in names.items()
    }


def _read(entry: Any) -> ForeignMemory:
    if not isinstance(entry, Mapping):
        raise ValueError("is no object.")
    values = _snake_keys(entry)
    pattern = values.get("pattern") or values.get("content")
    if not isinstance(pattern, str) or not pattern.strip():
        raise ValueError('has neither "pattern" nor "content".')
    status = str(values.get("status") or "candidate").lower()
    if status not in _STATUSES:
        raise ValueError(f"status must be one of: {', '.join(_STATUSES)}.")
    authority = str(values.get("trust_tier") or values.get("authority") or "auto").lower()
    if authority not in AUTHORITIES:
        raise ValueError(f"trust_tier must be one of: {', '.join(AUTHORITIES)}.")
    return ForeignMemory(
        # at most an agent's: `human` there was a person of another tool, and nobody reviewed it
        # here
        pattern,
        status == "rejected",
        max(authority, "agent", key=AUTHORITIES.index),
        _tags(values.get("tags")),
        str(values.get("source_session_id") or values.get("source") or "")[:80],
        _time(values, "expires_at"),
        _time(values, "last_reinforced_at") or _time(values, "created_at"),
    )


def _tags(value: Any) -> tuple[str, ...]:
    """Return the short words of a list; agor writes the list as JSON text."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            value = []
    tags = value if isinstance(value, list) else []
    return tuple(
        tag
        for tag in tags
        if isinstance(tag, str) and tag.isascii() and tag.replace("-", "").isalnum()
    )


def _time(values: Mapping[str, Any], name: str) -> str:
    if values.get(name) is None:
        value = ""
    else:
        value = str(values[name])
    try:
        if value:
            micros(value)
    except (ValueError, OverflowError):
        raise ValueError(f"{name} is no time.") from None
    return value


def import_memories(ws: Workspace, memories: Sequence[ForeignMemory], source: str) -> MiningResult:
    """Make candidates of memories that have not expired; the rejected ones are rejected here.

    A memory that exists is reinforced by the session that the entry names.
    """
    now = ws.clock.now()
    name = f"import:{source}"[:80]
    live = [one for one in memories if not one.expires or micros(one.expires) >= now]
    patterns = [
        Pattern(
            one.pattern,
            "pattern",
            (Sighting(one.session or name, name, "AgentAssertion", one.seen or iso(now)),),
            enough=True,
            untrusted=True,
            source=f"import {source}"[:200],
        )
        for one in live
    ]
    extra = {
        id_of(one.pattern): {
            "authority": one.authority,
            "tags": list(one.tags),
            **({"expires": one.expires} if one.expires else {}),
            **({"status": "rejected"} if one.rejected else {}),
        }
        for one in live
    }
    # without the limit of mining: what an import leaves waiting would not be read again by itself,
    # as receipts are
    return store_patterns(ws, patterns, extra, most=len(patterns))


def to_fuseraft(items: Sequence[ReviewItem]) -> list[dict[str, Any]]:
    """Return memories as fuseraft stores them."""
    return [
        {
            "id": one.record.id,
            "pattern": one.record.text("pattern"),
            "status": one.record.status.capitalize(),
            "confidence": one.support.tier.word.capitalize(),
            "evidence": list(one.support.lines),
            "created_at": one.record.text("date"),
            "last_reinforced_at": one.tally.reinforced_at or None,
            "reinforcement_count": one.tally.reinforcement,
            "source_session_id": one.record.text("session") or None,
            "trust_tier": one.record.authority,
            "tags": list(one.record.many("tags")),
            "expires_at": one.record.text("expires") or None,
        }
        for one in items
    ]
