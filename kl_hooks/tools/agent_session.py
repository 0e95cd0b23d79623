"""The session of an agent: what it was given and what it changed, in a file of the state directory."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kl_hooks.store.files import read_small, write_atomic
from kl_hooks.store.state import prepare_state

if TYPE_CHECKING:
    from kl_hooks.tools.agent_adapters import Event
    from kl_hooks.workspace import Workspace

FOLDER: Final = "agents"
"""In the state directory."""
_MOST: Final = 2_000
"""IDs and paths that are remembered."""
_OLD: Final = 30 * 86_400
"""Seconds after which a session is forgotten."""


@dataclass(slots=True)
class Session:
    """What is remembered of an agent's session."""

    given: list[str] = field(default_factory=list)
    """IDs of what it was given."""
    changed: list[str] = field(default_factory=list)
    """Files that it changed, from the repository's root, since tests last passed on all of it."""
    pending: str = ""
    """A package that the agent takes with its next tool."""
    is_reminded: bool = False
    """True once it was reminded that no tests have passed."""
    turns: int = 0
    """Prompts for which a package was made."""


@contextmanager
def open_session(ws: Workspace, event: Event) -> Iterator[Session]:
    """The session of an event; saved at the end where something in it changed. Raises OSError, KlError."""
    folder = ws.state.directory / FOLDER
    key = hashlib.sha256(f"{event.agent.name}\0{event.session}".encode("utf-8", "replace")).hexdigest()[:24]
    path = folder / f"{key}.json"
    session = _load(path)
    before = asdict(session)
    yield session
    if asdict(session) == before:
        return
    session.given, session.changed = session.given[-_MOST:], session.changed[-_MOST:]
    prepare_state(ws.state)
    if not path.exists():
        folder.mkdir(mode=0o700, exist_ok=True)
        _forget_old(folder, ws.clock.now() / 1e6)
    write_atomic(path, json.dumps(asdict(session)).encode(), 0o600, sync=False)


def _load(path: Path) -> Session:
    try:
        found = json.loads(read_small(path) or b"{}")
        given, changed = found.get("given", []), found.get("changed", [])
        # an entry that is odd in any way is as good as none
        if not all(type(some) is list and all(type(one) is str for one in some) for some in (given, changed)):
            return Session()
        turns = found.get("turns")
        return Session(
            given, changed, str(found.get("pending", "")), found.get("is_reminded") is True,
            turns if type(turns) is int else 0,
        )  # fmt: skip
    except (ValueError, AttributeError):
        return Session()


def _forget_old(folder: Path, now: float) -> None:
    for path in folder.glob("*.json"):
        with suppress(OSError):  # another process may have removed it
            if path.stat().st_mtime < now - _OLD:
                path.unlink()
