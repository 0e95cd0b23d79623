"""The last visit of an agent: what was decided and written to bulletins since it was here, in one
file of the state directory for each agent.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.agents.adapters import FOLDER
from kl_hooks.records.query import RecordFilter, list_records
from kl_hooks.store.files import read_small, write_atomic
from kl_hooks.store.state import prepare_state

if TYPE_CHECKING:
    from pathlib import Path

    from kl_hooks.agents.adapters import Agent
    from kl_hooks.model.record import Record
    from kl_hooks.tiers.pools import Bulletin
    from kl_hooks.workspace import Workspace

_DECISIONS: Final = "decisions"
_BULLETINS: Final = "bulletins"


def decisions_since(ws: Workspace, agent: Agent) -> list[Record]:
    """Return the decisions that are accepted now and were not when the agent was here last, and
    remember those of now; none at its first visit. Raises OSError, KlError.
    """
    accepted = list_records(ws, RecordFilter(("decision",), ("accepted",)))
    before = _visit(ws, agent).get(_DECISIONS)
    now = sorted(record.id for record in accepted)
    if not isinstance(before, list) or before != now:
        _remember(ws, agent, {_DECISIONS: now})
    if not isinstance(before, list):
        return []
    return [record for record in accepted if record.id not in before]


def bulletins_since(ws: Workspace, agent: Agent, session: str) -> list[Bulletin]:
    """Return what was written to the bulletins of pools since the agent was here last, and remember
    it; none at its first visit. Raises OSError, KlError.
    """
    from kl_hooks.tiers.entries import Caller
    from kl_hooks.tiers.pools import bulletins

    versions = _versions(_visit(ws, agent).get(_BULLETINS))
    written = bulletins(ws, Caller(f"agent:{agent.actor}", session), versions or {})
    if written or versions is None:
        now = {bulletin.pool: bulletin.version for bulletin in written}
        _remember(ws, agent, {_BULLETINS: {**(versions or {}), **now}})
    if versions is None:
        return []
    return written


def _versions(remembered: Any) -> dict[str, int] | None:
    """Pool → its version at the last visit; None where there was none, or the file is not whole."""
    if not isinstance(remembered, dict):
        return None
    is_whole = all(isinstance(version, int) for version in remembered.values())
    if is_whole:
        return remembered
    return None


def _file(ws: Workspace, agent: Agent) -> Path:
    return ws.state.directory / FOLDER / f"last-visit-{agent.name}.json"


def _visit(ws: Workspace, agent: Agent) -> dict[str, Any]:
    """What is remembered of the last visit; nothing where there was none, or its file is not
    whole.
    """
    try:
        content = json.loads(read_small(_file(ws, agent)) or b"{}")
    except ValueError:
        return {}
    if isinstance(content, dict):
        return content
    return {}


def _remember(ws: Workspace, agent: Agent, news: dict[str, Any]) -> None:
    path = _file(ws, agent)
    prepare_state(ws.state)
    path.parent.mkdir(mode=0o700, exist_ok=True)
    content = _visit(ws, agent) | news
    write_atomic(path, json.dumps(content).encode(), 0o600, sync=False)
