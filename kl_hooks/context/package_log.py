"""The package log: a line in `events.jsonl` for every package made, kept as long as `package_log_days` says.

Writing it never fails the command. A file that another process may be appending to is never rewritten: it is
renamed, and a renamed one is deleted as a whole once its newest event is old enough. So an event is kept for at
least the time that was promised.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.clock import iso, micros
from kl_hooks.errors import KlError
from kl_hooks.model.lifecycle import Change
from kl_hooks.store.redaction import redact_value
from kl_hooks.store.state import State, prepare_state

if TYPE_CHECKING:
    from kl_hooks.model.lifecycle import Lifecycle
    from kl_hooks.workspace import Workspace


FILE: Final = "events.jsonl"
MOST_BYTES: Final = 2_000_000
"""Of the file; then it becomes `events.jsonl.1`, and the one before that goes."""
MOST_LINE: Final = 16_000


def append_event(state: State, event: Mapping[str, Any]) -> str:
    """Writes one redacted event. Returns why it could not, or nothing."""
    try:
        prepare_state(state)
        line = json.dumps(redact_value(dict(event)), sort_keys=True, separators=(",", ":")).encode() + b"\n"
        if len(line) > MOST_LINE:
            return f"event of {len(line)} bytes not recorded"
        _write(state.directory / FILE, line)
    except (OSError, KlError) as problem:
        return f"event not recorded: {problem}"
    return ""


def _write(path: Path, line: bytes) -> None:
    if path.exists() and path.stat().st_size + len(line) > MOST_BYTES:
        path.replace(path.with_name(FILE + ".1"))
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    handle = os.open(path, flags, 0o600)
    try:
        os.write(handle, line)
    finally:
        os.close(handle)


def events_newest_first(state: State) -> Iterator[dict[str, Any]]:
    """The events that can be read, the newest first; lines that can't be read are passed over."""
    for path in (state.directory / FILE, state.directory / (FILE + ".1")):
        try:
            lines = path.read_bytes().splitlines()
        except OSError:
            continue
        for line in reversed(lines):
            try:
                event = json.loads(line)
            except ValueError:
                continue
            if isinstance(event, dict):
                yield event


POLICY: Final = "package log"
OLD: Final = FILE + ".1"
_DAY: Final = 86_400_000_000
"""Microseconds."""


def expired_logs(ws: Workspace, numbers: Lifecycle, now: int) -> list[Change]:
    """The log and the one before it, where their time has come."""
    days = numbers.package_log_days
    if not days:
        return []
    why, found = f"package_log_days: {days}", []
    for name in (FILE, OLD):
        times = _times(ws.state.directory / name)
        if times and numbers.old(now, max(times), days):
            reason = f"its newest event is of {iso(max(times))[:10]}; {why}"
            found.append(Change("remove", name, POLICY, reason, _counted(len(times))))
        elif name == FILE and times and numbers.old(now, min(times), days) and _may_rotate(ws, numbers, now):
            found.append(Change("rotate", FILE, POLICY, f"it holds events that are older; {why}", FILE, OLD))
    return found


def _may_rotate(ws: Workspace, numbers: Lifecycle, now: int) -> bool:
    """True where the log before this one is not there, or is over too."""
    before = _times(ws.state.directory / OLD)
    return not before or numbers.old(now, max(before), numbers.package_log_days)


def _counted(number: int) -> str:
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


def rotate_logs(ws: Workspace, changes: Sequence[Change], now: int) -> None:
    """Removes what is over, then renames the current log."""
    folder = ws.state.directory
    for one in sorted(changes, key=lambda change: change.what):
        if one.what == "remove":
            (folder / one.id).unlink(missing_ok=True)
        elif (folder / FILE).exists() and not (folder / OLD).exists():
            (folder / FILE).replace(folder / OLD)
