"""Reading evidence from a command: first what the spool holds is imported, then the store is read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from kl_hooks.cli.common import counted, note
from kl_hooks.evidence.catch_up import Taken, catch_up
from kl_hooks.evidence.home import require_home
from kl_hooks.proof.snapshot import Snapshot, snapshot
from kl_hooks.store.database import Database
from kl_hooks.workspace.open import Workspace


@contextmanager
def ledger_open(ws: Workspace, head: str | None = None) -> Iterator[Database | None]:
    """The evidence database, up to date, for reading; None where there is none yet. `head`: the commit, if known.

    A repository that kl has never been used in is an EnvironmentProblem. Where nothing could be added, what is there is
    read, and the notes say so; where it can't be read either, the exception is all that is said.
    """
    require_home(ws)
    taken = catch_up(ws, head)
    with ws.store.reading() as db:
        for remark in remarks(taken):
            note(remark)
        yield db


@contextmanager
def all_evidence(ws: Workspace, head: str | None = None) -> Iterator[Snapshot]:
    """The store and the spools together, for a verdict. `head` and the exceptions as `ledger_open`."""
    with snapshot(ws, head) as seen:
        for remark in remarks(seen.taken, len(seen.waiting)):
            note(remark)
        yield seen


def remarks(taken: Taken, judged: int | None = None) -> Iterator[str]:
    """What a person should know about the import, a line each. `judged`: captures that were read from the spool."""
    if taken.trouble:
        yield taken.trouble
        if judged:
            yield f"{counted(judged, 'capture')} read from the spool: not in the store yet. Nothing is lost."
        elif taken.waiting and judged is None:
            yield f"not in this answer: {taken.waiting} captured, waiting in the spool. Nothing is lost."
    if taken.blind:
        yield f"{taken.blind} The newest commits are not in this answer."
    if taken.bad:
        yield f"{taken.bad} spool records were torn or altered, and left out."
    for path in taken.aside:
        yield f"{path}: holds no capture that could be understood; it was set aside under this name."
    for run in taken.incomplete:
        yield f"run {run[:8]} ended without a result (its process was killed); it is not evidence of success."
