"""Adding a turn: it gets the next number of its feature and task, and an id of its feature."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kl_hooks.errors import UsageProblem
from kl_hooks.kinds.turn.continuing import next_id, next_number
from kl_hooks.kinds.turn.kind import KIND
from kl_hooks.model.ids import RECORD_ID
from kl_hooks.model.record import Record
from kl_hooks.records.ask import Wanted, every
from kl_hooks.records.write import create

if TYPE_CHECKING:
    from kl_hooks.workspace.open import Workspace


def add_turn(ws: Workspace, feature: str, task: str, raw: Mapping[str, Any], by: str = "") -> Record:
    """The new record. UsageProblem for a feature that has no id of one; Problems as `create`."""
    feature, task = feature.strip().upper(), " ".join(task.split())
    if not feature.startswith("FEAT-") or not all(map(RECORD_ID.fullmatch, (feature, f"TURN-{feature}-1"))):
        raise UsageProblem("is no id of a feature.", place=feature or "--feature", hint="Such as FEAT-AUTH-12.")
    turns = every(ws, Wanted((KIND.name,), archived=True, expired=True))
    number = next_number(turns, feature, task)
    title = " ".join(f"{feature} {task} turn {number}".split())
    values = {**raw, "title": title, "feature_id": feature, "turn_number": number}
    values |= {"task_id": task} if task else {}
    return create(ws, KIND, values, asked=next_id([one.id for one in turns], feature), by=by)
