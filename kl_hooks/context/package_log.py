"""The package log, and the plugin of `context`: a line in `events.jsonl` per package, retained for
`package_log_days`.

Writing it never fails the command. A file that another process may be appending to is never
rewritten: it is renamed, with the next number, and a renamed one is deleted as a whole once its
newest event is old enough. So an event is retained for at least the time that was promised.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.clock import is_older, iso, micros
from kl_hooks.errors import KlError
from kl_hooks.hookspecs import Policy, hookimpl
from kl_hooks.model.lifecycle import Change
from kl_hooks.model.text import counted, one_line
from kl_hooks.store.state import State, prepare_state

if TYPE_CHECKING:
    from kl_hooks.documents.search import SearchAnswer
    from kl_hooks.model.lifecycle import Lifecycle
    from kl_hooks.workspace import Workspace


FILE: Final = "events.jsonl"
MOST_BYTES: Final = 8_000_000
"""Of the file, some 1,000 packages; then it becomes `events.jsonl.1`, the next one
`events.jsonl.2`, …
"""
_MOST_LINE: Final = 16_000
ITEMS: Final = "context_items"
"""The event with what was in a package: commits that name it are compared with that
(`context.recall`).
"""
SEARCH: Final = "search"
"""The event of a search: how it ended, and IDs."""
QUERY: Final = "query"
"""The event of a query of an agent (`operations.query_log`)."""
EFFECT: Final = "session_effect"
"""The event of what a session did with what it was given (`context.effect`); of several of one
session the newest counts.
"""
_NAME: Final = "package log"
_QUERY: Final = 200
"""Characters of a query that are recorded."""


def append_event(state: State, event: Mapping[str, Any]) -> str:
    """Append one redacted event; return why that failed, or nothing."""
    # here: every command with plugins imports this module
    from kl_hooks.store.redaction import redact_value

    try:
        prepare_state(state)
        line = (
            json.dumps(redact_value(dict(event)), sort_keys=True, separators=(",", ":")).encode()
            + b"\n"
        )
        if len(line) > _MOST_LINE:
            return f"event of {len(line)} bytes not recorded"
        _write(state.directory / FILE, line)
    except (OSError, KlError) as problem:
        return f"event not recorded: {problem}"
    return ""


def record_search(ws: Workspace, answer: SearchAnswer, ms: float) -> None:
    """Append the event of a search: its query, how it ended and the IDs of what it found, no text
    of that.
    """
    from kl_hooks.store.redaction import redact

    scores = [one.score for one in answer.results]
    if not ws.state.directory.is_dir():  # a search creates nothing where nothing is
        return
    append_event(
        ws.state,
        {
            "event": SEARCH,
            "created_at": iso(ws.clock.now()),
            # redacted before it is cut: of half a secret nothing shows that it is one
            "query": one_line(redact(answer.query), _QUERY),
            "mode": answer.mode,
            "total": answer.total,
            "results": len(scores),
            "mean_score": round(sum(scores) / len(scores), 4) if scores else 0,
            "ms": round(ms),
            "ids": [one.id for one in answer.results],
        },
    )


def _write(path: Path, line: bytes) -> None:
    if path.exists() and path.stat().st_size + len(line) > MOST_BYTES:
        _rotate(path)
    # O_NOFOLLOW: a symbolic link in place of the log would lead the task's text elsewhere
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    handle = os.open(path, flags, 0o600)
    try:  # one write of O_APPEND: lines of two processes never mix (POSIX write)
        os.write(handle, line)
    finally:
        os.close(handle)


def _rotate(path: Path) -> None:
    """Give the log the next number, unless another process does so now."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(handle).st_ino == path.stat().st_ino:
            path.rename(path.with_name(_next_name(path.parent)))
    except OSError:
        return
    finally:
        os.close(handle)


def _numbered(folder: Path) -> list[str]:
    """Return the names of the logs before this one, the newest first."""
    names = [path.name for path in folder.glob(f"{FILE}.*") if path.suffix[1:].isdigit()]
    return sorted(names, key=lambda name: -int(name.rpartition(".")[2]))


def _next_name(folder: Path) -> str:
    last = next(iter(_numbered(folder)), ".0")
    return f"{FILE}.{int(last.rpartition('.')[2]) + 1}"


def events_newest_first(state: State) -> Iterator[dict[str, Any]]:
    """Yield the readable events, the newest first."""
    for name in (FILE, *_numbered(state.directory)):
        try:
            lines = (state.directory / name).read_bytes().splitlines()
        except OSError:
            continue
        for line in reversed(lines):
            try:
                event = json.loads(line)
            # such as a line that a killed process did not finish
            except ValueError:
                continue
            if isinstance(event, dict):
                yield event


def expired_logs(ws: Workspace, numbers: Lifecycle, now: int) -> list[Change]:
    """Return changes of the log and those before it, where their time has come."""
    days = numbers.package_log_days
    if not days:
        return []
    why = f"package_log_days: {days}"
    changes = []
    for name in (FILE, *_numbered(ws.state.directory)):
        times = _times(ws.state.directory / name)
        if times and is_older(now, max(times), days):
            reason = f"its newest event is of {iso(max(times))[:10]}; {why}"
            changes.append(Change("remove", name, _NAME, reason, counted(len(times), "event")))
        elif name == FILE and times and is_older(now, min(times), days):
            to = _next_name(ws.state.directory)
            changes.append(
                Change("rotate", FILE, _NAME, f"it holds events that are older; {why}", FILE, to)
            )
    return changes


def _times(path: Path) -> list[int]:
    """Return the times of the readable events of a file."""
    try:
        lines = path.read_bytes().splitlines()
    except OSError:
        return []
    moments = []
    for line in lines:
        try:
            moments.append(micros(json.loads(line)["created_at"]))
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
            continue
    return moments


def rotate_logs(ws: Workspace, changes: Sequence[Change], now: int) -> None:
    """Delete the logs whose time is over, and rename the current one."""
    folder = ws.state.directory
    for log_change in sorted(changes, key=lambda change: change.what):
        if log_change.what == "remove":
            (folder / log_change.id).unlink(missing_ok=True)
        elif (folder / FILE).exists():
            _rotate(folder / FILE)


POLICY: Final = Policy(
    _NAME, "The record of packages is retained as long as promised.", expired_logs, rotate_logs
)


@hookimpl
def kl_policies() -> list[Policy]:
    return [POLICY]
