"""How the record of packages tidies: kept for as long as `package_log_days` says, and dropped file by file.

A file that somebody may be adding to is never written anew: it is renamed, and a renamed one goes as a whole once the
newest event in it is old enough. So an event is kept for at least the time that was promised.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kl_hooks.clock import iso, micros
from kl_hooks.context.events import FILE
from kl_hooks.model.change import Change

if TYPE_CHECKING:
    from kl_hooks.model.lifecycle import Lifecycle
    from kl_hooks.workspace.open import Workspace

POLICY: Final = "package log"
OLD: Final = FILE + ".1"
DAY: Final = 86_400_000_000
"""Microseconds."""


def look(ws: Workspace, numbers: Lifecycle, now: int) -> list[Change]:
    """The log and the one before it, where their time has come."""
    days = numbers.package_log_days
    if not days:
        return []
    why, found = f"package_log_days: {days}", []
    for name in (FILE, OLD):
        times = _times(ws.state.directory / name)
        if times and numbers.old(now, max(times), days):
            reason = f"its newest event is of {iso(max(times))[:10]}; {why}"
            found.append(Change("remove", name, POLICY, reason, counted(len(times))))
        elif name == FILE and times and numbers.old(now, min(times), days) and _room(ws, numbers, now):
            found.append(Change("rotate", FILE, POLICY, f"it holds events that are older; {why}", FILE, OLD))
    return found


def _room(ws: Workspace, numbers: Lifecycle, now: int) -> bool:
    """True where the log before this one is not there, or is over too."""
    before = _times(ws.state.directory / OLD)
    return not before or numbers.old(now, max(before), numbers.package_log_days)


def counted(number: int) -> str:
    """`1 event`, `2 events`."""
    return f"{number} event" + ("" if number == 1 else "s")


def _times(path: Path) -> list[int]:
    """When the events of a file happened; a line that can't be read counts for none."""
    try:
        lines = path.read_bytes().splitlines()
    except OSError:
        return []
    found = []
    for line in lines:
        try:
            found.append(micros(json.loads(line)["created_at"]))
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
            continue
    return found


def apply(ws: Workspace, changes: Sequence[Change], now: int) -> None:
    """Removes what is over, then renames the current log."""
    folder = ws.state.directory
    for one in sorted(changes, key=lambda change: change.what):
        if one.what == "remove":
            (folder / one.id).unlink(missing_ok=True)
        elif (folder / FILE).exists() and not (folder / OLD).exists():
            (folder / FILE).replace(folder / OLD)
