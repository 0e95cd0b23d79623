"""The beginning and the end of a record: where it goes, what is known before a test runs, and what after the last."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kl_hooks.clock import iso
from kl_hooks.evidence.capture import new_run, open_spool, opening
from kl_hooks.evidence.place import Place, place_of
from kl_hooks.store.spool import SpoolWriter, pending_spools, read_spool
from kl_hooks.workspace import Workspace, open_workspace
from pytest_kl.environment import environment_of
from pytest_kl.selection import selection_of

LARGEST_LOOKED_AT = 1_000_000
"""Bytes of an earlier spool file that a header line is worth reading."""


@dataclass(frozen=True)
class Recording:
    """A record that has been opened."""

    run: str
    writer: SpoolWriter
    workspace: Workspace
    place: Place
    prefix: str
    """From the repository's root to pytest's, with a `/` at its end; empty where they are the same."""
    elsewhere: str
    """Where the record goes, if not to its usual place."""
    previous: str
    """The run before this one, if it has no end; empty where it has, or where none is waiting."""


class Lost(OSError):
    """What was written of this run is not in its file any more."""


def begin(config: pytest.Config, folder: Path) -> Recording:
    """Opens a record and writes down what is known. Raises KlError or OSError where no place can be written."""
    ws = open_workspace(folder, environ=dict(os.environ))
    run, started, place = new_run(), ws.clock.now(), place_of(ws.repo)
    previous = unfinished(ws.state.spool)
    writer = open_spool(ws, run)
    more = environment_of(config, ws.root)
    writer.record(
        opening(run, "pytest", "pytest", place, started, ws.environ, selection=selection_of(config, ws.repo), more=more)
    )
    writer.sync()
    usual = writer.path.is_relative_to(ws.state.spool)
    return Recording(
        run, writer, ws, place, _prefix(config.rootpath.resolve(), ws.root), "" if usual else str(writer.path), previous
    )


def still_there(recording: Recording) -> None:
    """Raises `Lost` where the file of this run was taken away or spoiled, by a test perhaps."""
    writer = recording.writer
    if what := writer.missing(recording.run):
        raise Lost(f"the file of this run {what} while it ran: {writer.path}")


def end(
    recording: Recording,
    result: Mapping[str, Any],
    selection: Mapping[str, Any],
    environment: Mapping[str, Any],
    tests: int,
) -> dict[str, Any]:
    """The last record. Everything before it is durable when it returns; `Lost` where that is not there any more."""
    after = place_of(recording.workspace.repo, untracked=False)
    recording.writer.sync()
    still_there(recording)
    return {
        "t": "end", "ended": iso(recording.workspace.clock.now()), "tree_end": after.tree,
        "moved": after.tree != recording.place.tree, "selection": dict(selection), "environment": dict(environment),
        "result": dict(result), "tests": tests, "evidence": 0,
    }  # fmt: skip


def write_end(recording: Recording, record: Mapping[str, Any]) -> None:
    """Writes the last record, synced: from here on the run counts as ended. `Lost` where it is not there after that."""
    recording.writer.record(record)
    recording.writer.sync()
    still_there(recording)
    recording.writer.close()


def unfinished(spool: Path) -> str:
    """The id of the newest run that waits in the spool, if its process is gone and it has no end; else empty."""
    waiting = pending_spools(spool)
    try:
        if not waiting or waiting[-1].stat().st_size > LARGEST_LOOKED_AT:
            return ""
        last = read_spool(waiting[-1])
    except OSError:  # somebody is taking it in at this moment
        return ""
    if last.busy or last.ended or not last.records or not isinstance(last.records[0], dict):
        return ""
    return str(last.records[0].get("run", ""))


def _prefix(rootpath: Path, root: Path) -> str:
    if rootpath == root or not rootpath.is_relative_to(root):
        return ""
    return rootpath.relative_to(root).as_posix() + "/"
