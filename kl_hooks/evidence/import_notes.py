"""What a person should know about an import of captured runs: what waits, what was set aside."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kl_hooks.model.text import counted

if TYPE_CHECKING:
    from kl_hooks.evidence.ingestion import SyncResult
    from kl_hooks.workspace import Workspace


def _is_new_reader(ws: Workspace, taken: SyncResult) -> bool:
    """Whether somebody may only read the team's database and was not reported so yet."""
    if ws.store.address is None:
        return False
    reported = ws.state.high_water.with_name(f"{ws.state.high_water.name}.read-only")
    try:
        if taken.read_only:
            reported.touch(mode=0o600, exist_ok=False)
        elif taken.receipts:
            reported.unlink(missing_ok=True)
    except FileExistsError:
        return False
    except OSError:  # reported again, then
        pass
    return taken.read_only


def import_notes(ws: Workspace, taken: SyncResult, judged: int | None = None) -> Iterator[str]:
    """What a person should know about the import, a line each. `judged`: captures that were read
    from the spool.
    """
    new_reader = _is_new_reader(ws, taken)
    if new_reader:
        yield (
            f"{taken.trouble}. Until then your runs wait in the spool of this clone, where "
            "kl verify judges them; the team does not see them. Reported once; kl store "
            "status counts them."
        )
    elif taken.trouble and not taken.read_only:
        yield taken.trouble
    if taken.trouble:
        if judged and not taken.read_only:
            yield (
                f"{counted(judged, 'capture')} read from the spool: not in the store yet. Nothing"
                " is lost."
            )
        elif taken.waiting and judged is None:
            yield (
                f"not in this answer: {taken.waiting} captured, waiting in the spool. Nothing is"
                " lost."
            )
    if taken.blind:
        yield f"{taken.blind} The newest commits are not in this answer."
    if taken.bad:
        yield f"{taken.bad} spool records were torn or altered, and omitted."
    for path in taken.aside:
        yield (
            f"{path}: holds no capture that could be understood; it was set aside under this name."
        )
    for run in taken.incomplete:
        yield (
            f"run {run[:8]} ended without a result (its process was killed); it is not evidence of"
            " success."
        )
