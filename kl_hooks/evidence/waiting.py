"""What waits in the spool: which captures can be imported, and which files must be left alone.

Nothing that could not be understood is ever deleted: a file of a newer kl stays where it is, a damaged one is set
aside under another name. A gate reads all of them (`unimported`), since the store may be locked, newer or full.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kl_hooks.errors import EnvironmentProblem
from kl_hooks.evidence.intake import receipt_of, schema_of
from kl_hooks.evidence.spools import IN_CHECKOUT, SPOOL_SCHEMA, spools
from kl_hooks.git.repository import is_tracked
from kl_hooks.model.receipt import Receipt
from kl_hooks.model.text import one_line
from kl_hooks.store.spool import MAX_SPOOL_BYTES, SPOOL_SUFFIX, pending_spools, read_spool, remove_nameless_spools
from kl_hooks.workspace import Workspace

ASIDE: Final = ".aside"
"""Added to the name of a file that holds something, and no capture."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """One spool file whose writer is gone."""

    path: Path
    origin: str
    receipt: Receipt | None
    bad: int
    """Lines that were torn or altered."""
    keep: bool
    """Not all of it is in the receipt: it is set aside, not removed."""


def waiting(ws: Workspace) -> tuple[list[Waiting], int]:
    """The files that can be taken in, oldest first, and how many are left alone: still being written, or newer."""
    found, left = [], 0
    for path, origin in _files(ws):
        try:
            spool = read_spool(path)
        except OSError:
            left += 1
            continue
        schema = schema_of(spool.records)
        if spool.busy or (schema and schema != SPOOL_SCHEMA):
            left += 1
            continue
        receipt = receipt_of(spool.records)
        empty = not spool.records and not spool.bad
        if receipt or origin != IN_CHECKOUT:
            found.append(Waiting(path, origin, receipt, spool.bad, spool.cut or not (receipt or empty)))
    return found, left


def unimported(ws: Workspace) -> tuple[list[tuple[Receipt, str]], list[str]]:
    """Return the captures in the spools with their origin, in the order of an import, and what can't be read.

    Changes nothing. What is still being written is in neither: it is not finished. Read the spools before the store:
    a file that another process imports in between is then in both, never in none.
    """
    found: list[tuple[Receipt, str]] = []
    unread: list[str] = []
    for directory, origin in spools(ws):
        try:
            paths = _listed(directory)
        except OSError as problem:
            unread.append(f"{directory} can't be read ({problem.strerror})")
            continue
        for path in paths:
            if origin == IN_CHECKOUT and not _ours(ws, path):
                continue
            receipt, problem_there = _capture(path)
            found += [(receipt, origin)] if receipt else []
            unread += [f"{path} {problem_there}"] if problem_there else []
    return found, unread


def _listed(directory: Path) -> list[Path]:
    """The spool files, those set aside among them, oldest first. OSError where the directory can't be listed."""
    if not directory.is_dir():  # also where a folder above it may not be entered: then no capture of ours is in it
        return []
    waiting_now = pending_spools(
        directory
    )  # first: a file that is set aside meanwhile is then in one of the two at least
    with os.scandir(directory) as entries:
        aside = sorted(
            entry.path
            for entry in entries
            # a larger one was cut, and what could be read of it is in the store
            if entry.name.endswith(SPOOL_SUFFIX + ASIDE)
            and entry.stat(follow_symlinks=False).st_size <= MAX_SPOOL_BYTES
        )
    return [*map(Path, aside), *waiting_now]


def _capture(path: Path) -> tuple[Receipt | None, str]:
    """The capture in this file, or why it can't be told; neither where there is none or it is not finished."""
    try:
        spool = read_spool(path)
    except FileNotFoundError:  # another process has imported it
        return None, ""
    except OSError as problem:
        return None, f"can't be read ({problem.strerror})"
    schema = schema_of(spool.records)
    if spool.busy or not (spool.records or spool.bad):
        return None, ""
    if schema and schema != SPOOL_SCHEMA:
        return None, f"was written by another version of kl (schema {one_line(schema, 40)})"
    receipt = receipt_of(spool.records)
    return receipt, "" if receipt else "holds no capture that can be understood; look at it, then delete it"


def done_with(one: Waiting) -> Path | None:
    """Takes a file out of the spool once its receipt is durable; where it lies now, if it was set aside. OSError."""
    if not one.keep:
        one.path.unlink(missing_ok=True)
        return None
    aside = one.path.with_name(one.path.name + ASIDE)
    with suppress(FileNotFoundError):  # somebody was faster
        one.path.replace(aside)
    return aside


def _files(ws: Workspace) -> Iterator[tuple[Path, str]]:
    for directory, origin in spools(ws):
        if origin != IN_CHECKOUT:
            remove_nameless_spools(directory, ws.clock.now() / 1_000_000)
        for path in pending_spools(directory):
            if origin != IN_CHECKOUT or _ours(ws, path):
                yield path, origin


def _ours(ws: Workspace, path: Path) -> bool:
    """A spool file in the work tree may have come with the checkout: only untracked files of this user count."""
    try:
        status = path.lstat()
        mine = stat.S_ISREG(status.st_mode) and status.st_uid == os.getuid()
        return mine and not (ws.repo and is_tracked(ws.repo, path))
    except (EnvironmentProblem, OSError):
        return False
