"""Superseded decisions go to `archive/`: still in git and found when searched for, shown to nobody unasked."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

from kl_hooks.clock import micros
from kl_hooks.errors import EnvironmentProblem
from kl_hooks.model.change import Change
from kl_hooks.records.query import RecordFilter, get_records, list_records

if TYPE_CHECKING:
    from kl_hooks.model.lifecycle import Lifecycle
    from kl_hooks.model.record import Record
    from kl_hooks.workspace.open import Workspace

POLICY: Final = "superseded decisions"
KIND, STATUS, ARCHIVE = "decision", "superseded", "archive"


def over(
    records: Iterable[Record], numbers: Lifecycle, now: int, successors: Mapping[str, Record] | None = None
) -> list[Change]:
    """The superseded decisions that are to be archived. Pure.

    `successors`: ID → the record, of those that took their place. Retention counts from the day the newest of these was
    decided, which an imported decision can't say of itself; else from its own last change.
    """
    found, days = [], numbers.adr_retention_days
    for one in records:
        if one.status != STATUS or one.archived or one.broken or not one.path:
            continue
        newer = [(successors or {})[i] for i in one.many("superseded_by") if i in (successors or {})]
        since = [new.text("decided_at") or new.text("date") for new in newer]
        changed = max([day for day in since if day], default="") or one.text("updated") or one.text("date")
        if days and changed and not numbers.old(now, micros(changed), days):
            continue
        place = PurePosixPath(one.path)
        by = ", ".join(one.many("superseded_by"))
        reason = f"superseded{f' by {by}' if by else ''}{f' since {changed[:10]}' if changed else ''}"
        target = place.parent / ARCHIVE / place.name
        found.append(Change("archive", one.id, POLICY, f"{reason}; adr_retention_days: {days}", one.path, str(target)))
    return found


def look(ws: Workspace, numbers: Lifecycle, now: int) -> list[Change]:
    """Superseded decisions that still stand among the others."""
    if KIND not in ws.kinds:
        return []
    records = list_records(ws, RecordFilter((KIND,), (STATUS,), expired=True))
    names = {name for one in records for name in one.many("superseded_by")}
    return over(records, numbers, now, {one.id: one for one in get_records(ws, sorted(names))})


def apply(ws: Workspace, changes: Sequence[Change], now: int) -> None:
    """Moves each file; one that is gone is passed over. EnvironmentProblem where the archive has a file of its name."""
    for one in changes:
        source, target = ws.root / one.old, ws.root / one.new
        if not source.is_file() or source.is_symlink():
            continue
        _folder(ws.root, target.parent)
        if os.path.lexists(target):
            raise EnvironmentProblem("is there already.", place=one.new, hint=f"Give {one.old} another name.")
        source.rename(target)


def _folder(root: Path, folder: Path) -> None:
    """Makes the folder of the archive; EnvironmentProblem where a link would lead it elsewhere."""
    folder.mkdir(exist_ok=True)
    if not folder.resolve().is_relative_to(root.resolve()) or folder.is_symlink():
        raise EnvironmentProblem("is a link.", place=str(folder), hint="Put the folder itself here.")
