"""Closing a session: its memory is consolidated, and what matters to everybody is proposed for
review.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kl_hooks.errors import KlError
from kl_hooks.kinds.memory.add import add_memory
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.tiers.contexts import ContextEntry
from kl_hooks.tiers.entries import Caller
from kl_hooks.tiers.router import Closed, Memory

if TYPE_CHECKING:
    from kl_hooks.workspace import Workspace

_SHARED_FROM: Final = 70
"""Importance in percent."""
_MOST: Final = 50
"""Proposed at once: more than a person reviews."""
_SHORTEST: Final = 20
"""Characters: less is a value, and teaches nobody."""


class ClosedSession(NamedTuple):
    """What closing a session did, and what it proposed."""

    closed: Closed
    proposed: tuple[str, ...]
    """IDs of candidates for the memory of the repository."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as in `kl.session.closed/1`."""
        rows = [
            {
                "key": one.key,
                "id": one.id,
                "version": one.version,
                "importance": one.importance,
                "merged": list(one.merged),
            }
            for one in self.closed.promoted
        ]
        return {
            **self.closed._asdict(),
            "promoted": rows,
            "pools": list(self.closed.pools),
            "proposed": list(self.proposed),
        }


def close_session(ws: Workspace, caller: Caller, *, propose: bool = False) -> ClosedSession:
    """Close the caller's session. `propose`: what is important becomes a candidate, which a person
    reviews.

    Only where the caller asks for it: what an agent stored is private, and candidates can be listed
    by everybody.
    """
    closed = Memory(ws, caller).close()
    return ClosedSession(closed, _propose(ws, closed.promoted) if propose else ())


def _propose(ws: Workspace, promoted: tuple[ContextEntry, ...]) -> tuple[str, ...]:
    """Propose the texts among promoted entries that matter much as memories; return the IDs of new
    candidates.
    """
    texts = [
        one.value
        for one in promoted
        if one.importance >= _SHARED_FROM and isinstance(one.value, str)
    ]
    ids = list[str]()
    for text in [one for one in texts if len(one) >= _SHORTEST][:_MOST]:
        try:
            record, what = add_memory(ws, text, authority="agent")
        except KlError:  # it was rejected before, or a person deleted it
            continue
        if what == "new":
            ids.append(record.id)
    return tuple(ids)
