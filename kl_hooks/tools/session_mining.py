"""Mining a session: what the transcript of an agent leaves as candidates of memories and as
findings.

It is read in the process of the hook that the end of the session calls. Of an agent that announces
no end it is read whenever the agent stops; findings begin where those of the last time ended.
"""

from __future__ import annotations

from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kl_hooks.agents.adapters import Event
    from kl_hooks.tools.agent_session import Session
    from kl_hooks.workspace import Workspace


def mine_session(ws: Workspace, event: Event, session: Session) -> None:
    """Mine the transcript of a session, where it has grown since the last time; nothing where
    `kl memory configure --auto-extract no` forbids it.

    Statements, commands that failed and what made them pass become candidates, which a person
    reviews; what files and commands showed becomes findings; what the session did with what it was
    given is counted. A transcript that can't be read, or
    that the policy hides from the agent, and a store that can't be written, leave nothing: an agent
    that ends must not wait for either.
    """
    if not event.transcript or not ws.settings.memory_auto_extract:
        return
    from kl_hooks.context.access import access
    from kl_hooks.context.effect import record_effect
    from kl_hooks.errors import KlError
    from kl_hooks.evidence.sources.transcript import read_transcript
    from kl_hooks.kinds.finding import Call, record_findings
    from kl_hooks.kinds.memory.add import store_patterns
    from kl_hooks.kinds.memory.miners import transcript_patterns
    from kl_hooks.operations.file_access import require_shown_files

    with suppress(KlError, OSError):
        path = Path(event.transcript).expanduser()
        if not path.is_file() or path.stat().st_size == session.mined_bytes:
            return
        with access(ws, f"hook {event.name}", f"agent:{event.agent.actor}") as rules:
            require_shown_files(ws, rules, [path])
        transcript = read_transcript(path)
        # the whole transcript: what failed in one turn may pass in a later one, and a memory counts
        # a session once
        store_patterns(ws, transcript_patterns([transcript]))
        calls = list(Call.in_transcript(transcript, event.agent.actor))
        record_findings(ws, islice(calls, session.mined, None))
        record_effect(ws, transcript, event.session, event.agent.actor)
        session.mined, session.mined_bytes = len(calls), path.stat().st_size
