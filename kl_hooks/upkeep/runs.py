"""Old runs of tests: which can be folded, looked at across evidence, git and records."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from kl_hooks.errors import EnvironmentProblem
from kl_hooks.evidence.catch_up import catch_up
from kl_hooks.evidence.folding import fold, foldable, runs_of
from kl_hooks.evidence.place import place_of
from kl_hooks.git.refs import tips
from kl_hooks.model.change import Change
from kl_hooks.records.query import RecordFilter, list_records

if TYPE_CHECKING:
    from kl_hooks.model.lifecycle import Lifecycle
    from kl_hooks.workspace.open import Workspace

POLICY: Final = "old runs"
_HASH: Final = re.compile(r"(?<![0-9a-f])[0-9a-f]{8,64}(?![0-9a-f])")


def look(ws: Workspace, numbers: Lifecycle, now: int) -> list[Change]:
    """Old runs of tests whose rows nothing needs any more. None where git can't say which trees have a name."""
    days = numbers.run_rows_days
    if not days:
        return []
    catch_up(ws)
    try:
        kept = {*place_of(ws.repo).trees, *(tips(ws.repo) if ws.repo else ())}
    except EnvironmentProblem:
        return []
    with ws.store.reading() as db:
        runs = runs_of(db) if db else []
    why = f"run_rows_days: {days}; newer runs have a word on each of its tests"
    return [
        Change(
            "fold", one.id, POLICY, f"{one.source} run of {one.ended[:10]}; {why}", f"{len(one.tests)} tests", "folded"
        )
        for one in foldable(runs, now, days, kept, cited(ws))
    ]


def cited(ws: Workspace) -> set[str]:
    """Whatever in the records could be the beginning of a receipt or of a run."""
    records = list_records(ws, RecordFilter(archived=True, expired=True))
    return {word for record in records for value in record.values.values() for word in hashes(str(value))}


def hashes(text: str) -> set[str]:
    """The words of a text that could be the beginning of an id of a receipt or a run. Pure."""
    return set(_HASH.findall(text))


def apply(ws: Workspace, changes: Sequence[Change], now: int) -> None:
    """Folds them, all or none."""
    with ws.store.writing(what="upkeep") as db, db.transaction():
        fold(db, [one.id for one in changes], now)
