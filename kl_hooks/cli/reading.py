"""Reading evidence from a command: first what the spool holds is taken in, then the store is read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from kl_hooks.cli.common import note
from kl_hooks.evidence.catch_up import catch_up, require_home
from kl_hooks.store.database import Database
from kl_hooks.workspace.open import Workspace


@contextmanager
def ledger_open(ws: Workspace, head: str | None = None) -> Iterator[Database | None]:
    """The evidence database, up to date, for reading; None where there is none yet. `head`: the commit, if known.

    A repository that kl has never been used in is an EnvironmentProblem.
    """
    require_home(ws)
    taken = catch_up(ws, head)
    if taken.trouble:
        note(f"{taken.trouble} New evidence waits in the spool ({taken.waiting} files); nothing is lost.")
    if taken.blind:
        note(f"{taken.blind} The newest commits are missing here.")
    if taken.bad:
        note(f"{taken.bad} spool records were torn or altered, and left out.")
    for path in taken.aside:
        note(f"{path}: holds no capture that could be understood; it was set aside under this name.")
    for run in taken.incomplete:
        note(f"run {run[:8]} ended without a result (its process was killed); it is not evidence of success.")
    with ws.store.reading() as db:
        yield db
