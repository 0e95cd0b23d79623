"""Bringing in memories of other tools: as candidates, and what was rejected there as rejected."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kl_hooks.clock import iso, micros
from kl_hooks.kinds.memory.foreign import Foreign
from kl_hooks.kinds.memory.known import id_of
from kl_hooks.kinds.memory.seen import Found, Sighting
from kl_hooks.kinds.memory.taking_in import Taken, keep, raw_of

if TYPE_CHECKING:
    from kl_hooks.workspace.open import Workspace


def bring_in(ws: Workspace, some: Sequence[Foreign], source: str) -> Taken:
    """Takes all of them in but what has expired. Those that are known are reinforced by the session they name."""
    now = iso(ws.clock.now())
    found, more = [], dict[str, dict[str, Any]]()
    for one in some:
        ended = one.expires and micros(one.expires) < ws.clock.now()
        seen = Sighting(
            one.session or f"import:{source}"[:80], f"import:{source}"[:80], "AgentAssertion", one.seen or now
        )
        if not ended:
            found.append(Found(one.pattern, "pattern", (seen,), True, untrusted=True, source=f"import {source}"[:200]))
            extra: dict[str, Any] = {"authority": one.authority, "tags": list(one.tags)}
            extra |= {"expires": one.expires} if one.expires else {}
            more[id_of(one.pattern)] = extra | ({"status": "rejected"} if one.rejected else {})
    return keep(ws, found, lambda i, pattern: raw_of(pattern) | more[i], most=len(found))
