"""Is there a store that can be written, does it have all its receipts, and what waits to be imported?"""

from __future__ import annotations

import os
from collections.abc import Iterator
from errno import EDQUOT, EFBIG, ENOSPC
from pathlib import Path
from typing import Final

from kl_hooks.cli.audits import accepted_line
from kl_hooks.cli.checkup_git import Said
from kl_hooks.cli.common import counted
from kl_hooks.errors import EnvironmentProblem, StoreBusy, StoreDamaged, StoreNewer
from kl_hooks.evidence.audit import edited_headers
from kl_hooks.evidence.mark import read_marks, rollbacks
from kl_hooks.evidence.spools import spools
from kl_hooks.evidence.waiting import ASIDE
from kl_hooks.proof.snapshot import accepted
from kl_hooks.store.lock import store_lock
from kl_hooks.store.spool_read import pending
from kl_hooks.store.sqlite_look import is_there
from kl_hooks.workspace.open import Workspace

_NEEDED: Final = 256 * 1024
"""Bytes that a run of tests may need at once."""
_OTHER_PLACE: Final = "export KL_STATE=FOLDER   (one that you can write)"


def look(ws: Workspace) -> Iterator[Said]:
    """About the store. Creates nothing where there is none."""
    database = ws.state.database
    problem = ws.store.problem()
    if isinstance(problem, StoreNewer):
        yield "wrong", problem.reason, "pip install --upgrade kl-hooks (captures wait in the spool)"
    elif isinstance(problem, StoreDamaged):
        yield _damaged(ws, problem)
    elif problem is not None:
        yield "wrong", f"{problem.place}: {problem.reason}", problem.hint
    elif no_place := _no_place(ws):
        yield "wrong", f"{no_place}; captures go to another spool.", _OTHER_PLACE
    elif full := _full(ws):
        yield full
    elif not database.exists() and os.access(_there(ws.state.directory), os.W_OK):
        yield "remark", "no evidence yet; the store is made by the first command that needs it.", ""
    else:
        yield _can_be_written(ws)
    if not isinstance(problem, StoreDamaged):
        yield from _content(ws)


def _damaged(ws: Workspace, problem: EnvironmentProblem) -> Said:
    database = ws.state.database
    fix = f"keep the file for a look, then move it away: mv {database} {database}.damaged"
    return "wrong", f"{problem.place or database}: {problem.reason}", fix


def _content(ws: Workspace) -> Iterator[Said]:
    """About the receipts: lost, edited, unreadable; and losses that were accepted."""
    database = ws.state.database
    marks = read_marks(ws)
    try:
        with ws.store.reading() as db:
            lost = rollbacks(db, marks)
            edited = edited_headers(db) if db else []
        events = accepted(ws)
    except StoreDamaged as problem:
        yield _damaged(ws, problem)
        return
    except EnvironmentProblem as problem:
        yield "wrong", str(problem), problem.hint
        return
    for one in lost:
        gone = "is empty (0 bytes)" if database.exists() and not is_there(database) else "was deleted"
        why = f"{database} {gone}: " if one.had and not is_there(database) else ""
        yield "wrong", f"{why}{one}.", "put the newer kl.db back, or: kl evidence accept --reason TEXT"
    if edited:
        shown = f"{', '.join(edited[:3])}{' …' if len(edited) > 3 else ''}"
        says = f"{counted(len(edited), 'receipt')} edited: the ID is not the hash of the header ({shown})."
        yield "wrong", says, f"kl evidence verify; then put an unedited copy of {database} back"
    yield from (("remark", f"accepted on {accepted_line(one)}", "") for one in events)


def _full(ws: Workspace) -> Said | None:
    """The finding, if nothing can be added to the disk of the spool. Asked by writing: a quota shows in no number."""
    import tempfile

    folder = _there(ws.state.spool)
    if not os.access(folder, os.W_OK) or not ws.state.directory.exists():
        return None
    try:
        with tempfile.TemporaryFile(prefix=".kl-", dir=folder) as file:
            file.write(b"\0" * _NEEDED)
            file.flush()
            os.fsync(file.fileno())
    except OSError as problem:
        if problem.errno not in (ENOSPC, EDQUOT, EFBIG):
            return None
        free = os.statvfs(folder)
        says = f"{folder}: the disk is full ({problem.strerror}; {free.f_bavail * free.f_frsize:,} bytes free)"
        fix = f"free at least {_NEEDED:,} bytes there, or: {_OTHER_PLACE}"
        return "wrong", f"{says}. Runs of tests can't be recorded.", fix
    return None


def _no_place(ws: Workspace) -> str:
    """Why the state directory can never be where it is to be; empty where it is there, or may be. Leaves nothing.

    Of a place that somebody named, rights alone do not tell: the superuser has them all, and /proc takes no folders.
    """
    import tempfile

    folder, there = ws.state.directory, _there(ws.state.directory)
    if not there.is_dir():
        return f"{there} is not a folder"
    if ws.state.origin != "override" or there == folder or not os.access(there, os.W_OK):
        return ""
    try:
        Path(tempfile.mkdtemp(prefix=".kl-", dir=there)).rmdir()
    except OSError as problem:
        return f"{folder} can't be made ({problem.strerror})"
    return ""


def _can_be_written(ws: Workspace) -> Said:
    folder, database = ws.state.directory, ws.state.database
    if os.statvfs(_there(folder)).f_flag & os.ST_RDONLY:
        says = f"{folder} is on a file system that is mounted read-only; captures go to another spool."
        return "wrong", says, _OTHER_PLACE
    try:
        with store_lock(ws.state.lock, wait=0.2, what="kl doctor"):
            writable = os.access(folder, os.W_OK) and os.access(database, os.W_OK)
    except StoreBusy as problem:
        return "wrong", problem.reason, "wait for it, or end that process; captures wait in the spool"
    except OSError:
        writable = False
    if writable:
        return "ok", str(database), ""
    fix = f"chown -R $(id -un) {folder}; chmod -R u+rwX {folder}"
    return "wrong", f"{database} can't be written by you; captures go to another spool.", fix


def _there(folder: Path) -> Path:
    """The folder, or the nearest above it that exists."""
    return next(one for one in (folder, *folder.parents) if one.exists())


def waiting(ws: Workspace) -> Iterator[Said]:
    """About captures that are not in the store yet, and files in the spool that are none."""
    for folder, origin in spools(ws):
        if count := len(pending(folder)):
            yield "remark", f"captures waiting in {folder} ({origin}): {count}.", "kl evidence list   (imports them)"
        if aside := sorted(folder.glob(f"*{ASIDE}")):
            says = f"{len(aside)} files could not be understood and were set aside, such as {aside[0]}."
            yield "remark", says, "look at them, then delete them"
