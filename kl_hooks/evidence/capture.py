"""Capturing: a spool file is opened before a run, filled with evidence, closed with the result.

An observer fails open: what can't be recorded is reported in one line, and nothing else changes.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from kl_hooks.clock import iso
from kl_hooks.errors import KlError
from kl_hooks.evidence.provenance import HARMLESS, agent, ci, producer, session
from kl_hooks.evidence.spool_places import spool_places
from kl_hooks.git.worktree import WorktreeState
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.receipt import Evidence
from kl_hooks.model.text import one_line
from kl_hooks.store.redaction import builtin_rules
from kl_hooks.store.spool import SpoolWriter, first_writable
from kl_hooks.store.state import (
    missing_run_directories,
    prepare_state,
)
from kl_hooks.workspace import Workspace, open_workspace

PARENT: Final = "KL_PARENT"
"""The environment variable in which a run finds the run that started it."""
SPOOL_SCHEMA: Final = "kl.spool/1"
"""What the opening record of a spool file names."""
_NAMED: Final = 3
_CHANGES: Final = 200
"""The most files that differ from HEAD of which a receipt has the states."""


def new_run_id() -> str:
    """A random run id: 32 hexadecimal digits."""
    # not from `random`, which a test suite may have seeded: two runs would get one ID
    return os.urandom(16).hex()


def process_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    """Interpreter, platform, CI job, agent and its session."""
    environment = {
        "python": platform.python_version(),
        "implementation": sys.implementation.name,
        "platform": f"{sys.platform}-{platform.machine()}",
        "ci": ci(environ),
        "agent": agent(environ),
        "session": session(environ),
    }
    return {key: value for key, value in environment.items() if value}


def opening_record(
    run: str,
    source: str,
    observer: str,
    place: WorktreeState,
    started: int,
    environ: Mapping[str, str],
    *,
    selection: Mapping[str, Any] | None = None,
    further_environment: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The first record of a spool file.

    `started` in microseconds; `further_environment` adds to the environment.
    """
    # notes, and what editors leave, are not counted: no test needs them
    needed = [name for name in place.untracked if not name.endswith(HARMLESS)]
    if place.untracked:
        untracked = {"untracked": {"files": len(needed), "first": needed[:_NAMED]}}
    else:
        untracked = {}
    has_changes = place.tree_all is not None and 0 < len(place.differences) <= _CHANGES
    if has_changes:
        changes = {"changes": dict(place.differences)}
    else:
        changes = {}
    return {
        "t": "open",
        "schema": SPOOL_SCHEMA,
        "run": run,
        "source": source,
        "observer": observer,
        "producer": producer(environ),
        "parent": environ.get(PARENT),
        "started": iso(started),
        "tree": place.tree,
        "tree_all": place.tree_all,
        "head": place.head,
        "branch": place.branch,
        "dirty": place.dirty,
        "environment": {
            **process_environment(environ),
            **untracked,
            **changes,
            **(further_environment or {}),
        },
        "selection": dict(selection or {}),
    }


def open_spool(ws: Workspace, run: str) -> SpoolWriter:
    """A new spool file in the first place that can be written. Raises OSError for none."""
    unusable = 0
    try:
        prepare_state(ws.state)
    except (OSError, KlError):
        # the first place is in the state directory; the others do not need it
        unusable = 1
    # asked now: preparing the state makes the key
    places = spool_places(ws)[unusable:]
    return first_writable([(place.folder, place.key) for place in places], run)


class MissingRun(NamedTuple):
    """A run that could not be recorded."""

    path: Path
    """Its mark."""
    started: str
    """ISO 8601."""
    reason: str

    def __str__(self) -> str:
        return (
            f"a run of {self.started[:16].replace('T', ' ')} could not be recorded"
            f" ({self.reason}): run the tests again"
        )


def mark_missing_run(ws: Workspace, run: str, reason: str) -> Path | None:
    """Leave a mark, outside of the repository, that a run could not be recorded; None where no
    place takes it. Never raises.
    """
    # our own rules: it may be missing because a plugin that redacts is
    words = one_line(builtin_rules(reason), 200)
    text = json.dumps({"started": iso(ws.clock.now()), "reason": words})
    for folder in missing_run_directories(ws.state, ws.environ):
        with suppress(OSError):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if folder.stat().st_uid != os.geteuid():
                continue
            path = folder / f"{run}.json"
            path.write_text(text, encoding="utf-8")
            return path
    return None


def missing_runs(ws: Workspace) -> list[MissingRun]:
    """The runs that could not be recorded, oldest first; what can't be read is one, too."""
    runs: list[MissingRun] = []
    for folder in missing_run_directories(ws.state, ws.environ):
        with suppress(OSError):
            if folder.stat().st_uid != os.geteuid():
                continue
            for path in folder.glob("*.json"):
                try:
                    mark = json.loads(path.read_bytes())
                    runs.append(MissingRun(path, str(mark["started"]), str(mark["reason"])))
                except (OSError, ValueError, KeyError, TypeError):
                    written = iso(path.lstat().st_mtime_ns // 1000)
                    runs.append(MissingRun(path, written, "its mark can't be read"))
    return sorted(runs, key=lambda run: run.started)


def open_capture(
    ws: Workspace,
    source: str,
    observer: str,
    place: WorktreeState,
    *,
    run: str | None = None,
    started: int | None = None,
    selection: Mapping[str, Any] | None = None,
) -> SpoolWriter:
    """Open a capture: from now on it can't be lost, only be incomplete. OSError, KlError where it
    can't be written.
    """
    run = run or new_run_id()
    record = opening_record(
        run, source, observer, place, started or ws.clock.now(), ws.environ, selection=selection
    )
    return begin_capture(ws, run, record)


def begin_capture(ws: Workspace, run: str, record: Mapping[str, Any]) -> SpoolWriter:
    """Write the first record of a capture, durably. OSError, KlError where that is impossible; then
    no file of it is left, or one with that record.
    """
    writer = open_spool(ws, run)
    try:
        writer.record(record)
        writer.sync()
    # an open writer has the lock, and the capture would look as if it were still being written
    except BaseException:
        writer.discard_empty()
        writer.close()
        raise
    return writer


def close_capture(
    ws: Workspace,
    writer: SpoolWriter,
    evidence: Iterable[Evidence],
    result: Mapping[str, Any],
    before: WorktreeState,
    after: WorktreeState,
) -> None:
    """Write the evidence and the result, and close the capture: durable when it returns. May raise
    OSError.
    """
    with writer:
        # counted: the reader drops altered lines, and only the numbers of the end record show that
        # some are missing
        count = 0
        for count, fact in enumerate(evidence, 1):  # noqa: B007
            writer.record({"t": "evidence", **fact.to_dict()})
        writer.record(
            {
                "t": "end",
                "ended": iso(ws.clock.now()),
                "tree_end": after.tree,
                "moved": after.tree != before.tree,
                "result": dict(result),
                "tests": 0,
                "evidence": count,
            }
        )
        writer.sync()


def write_capture(
    ws: Workspace,
    source: str,
    observer: str,
    place: WorktreeState,
    evidence: Iterable[Evidence],
    result: Mapping[str, Any],
    run: str | None = None,
) -> str | None:
    """Write one whole capture of something that is over. None, or in one line why it was not
    recorded.
    """
    try:
        close_capture(
            ws, open_capture(ws, source, observer, place, run=run), evidence, result, place, place
        )
    except (OSError, KlError) as problem:
        return not_recorded(ws, problem)
    return None


def not_recorded(ws: Workspace, problem: OSError | KlError) -> str:
    """Return why a capture was not recorded, in one line; of an error of the system its cause."""
    if isinstance(problem, KlError):
        return f"not recorded: {problem}"
    from kl_hooks.store.disk import cause_of  # only where something failed

    return f"not recorded: {cause_of(problem, ws.state.spool).words}. See: kl doctor"


def record_check(
    ws: Workspace,
    name: str,
    outcome: str,
    detail: Mapping[str, Any],
    place: WorktreeState,
    run: str | None = None,
) -> str | None:
    """Record what a check of ours found (`clean` or `failed`) in a content. None, or why it was not
    recorded.

    `run`: the ID of the capture (`new_run_id()`), for callers that need it.
    """
    if not ws.initialized:
        return None
    clean = outcome == "clean"
    result: dict[str, Any] = {
        "exit": 0 if clean else 1,
        "complete": True,
        "how": "finished",
        "verdict": "passed" if clean else "failed",
        "reasons": [],
        "counts": {outcome: 1},
    }
    check = Evidence("Validator", f"check:{name}", outcome, 0, None, dict(detail))
    return write_capture(ws, name, name, place, [check], result, run)


def record_new_commit(start: Path, environ: Mapping[str, str]) -> bool:
    """Append `commit` to the spool's list, as the native post-commit hook does without Python. True
    if done.
    """
    ws = open_workspace(start, environ=environ)
    if not ws.initialized:
        return False
    prepare_state(ws.state)
    # O_APPEND: another commit's hook may write its line at the same moment
    with (ws.state.spool / "commits").open("a", encoding="ascii") as file:
        file.write("commit\n")
    return True
