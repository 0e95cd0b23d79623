"""The last visit of an agent: which decisions were accepted since it was here, in one file of the
state directory for each agent.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from kl_hooks.agents.adapters import FOLDER
from kl_hooks.records.query import RecordFilter, list_records
from kl_hooks.store.files import read_small, write_atomic
from kl_hooks.store.state import prepare_state

if TYPE_CHECKING:
    from pathlib import Path

    from kl_hooks.agents.adapters import Agent
    from kl_hooks.model.record import Record
    from kl_hooks.workspace import Workspace

_DECISIONS: Final = "decisions"


def decisions_since(ws: Workspace, agent: Agent) -> list[Record]:
    """Return the decisions that are accepted now and were not when the agent was here last, and
    remember those of now; none at its first visit. Raises OSError, KlError.
    """
    accepted = list_records(ws, RecordFilter(("decision",), ("accepted",)))
    path = ws.state.directory / FOLDER / f"last-visit-{agent.name}.json"
    before = _read(path)
    now = sorted(record.id for record in accepted)
    if before is None or set(before) != set(now):
        prepare_state(ws.state)
        path.parent.mkdir(mode=0o700, exist_ok=True)
        write_atomic(path, json.dumps({_DECISIONS: now}).encode(), 0o600, sync=False)
    return [record for record in accepted if before is not None and record.id not in before]


def _read(path: Path) -> list[str] | None:
    """The IDs of the last visit; None where there was none, or its file is not whole."""
    try:
        content = json.loads(read_small(path) or b"{}")
    except ValueError:
        return None
    names = content.get(_DECISIONS) if isinstance(content, dict) else None
    is_whole = isinstance(names, list) and all(isinstance(name, str) for name in names)
    return names if is_whole else None
