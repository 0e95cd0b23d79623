"""History: what a record said before, from git for a file, from rows for the state."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kl_hooks.model.record import Record

if TYPE_CHECKING:
    from kl_hooks.workspace.open import Workspace


@dataclass(frozen=True, slots=True)
class Version:
    """A version that is past."""

    name: str
    """A commit, or the number of a row."""
    at: str
    """When it was made (commit) or ended (row), ISO 8601."""
    how: str
    """The commit's subject, or the verb that ended it."""
    said: str = ""
    """Of a row: canonical JSON of its values."""


def versions(ws: Workspace, record: Record) -> list[Version]:
    """The versions of a record, the newest first: commits of its file, then rows from before it was one."""
    return [*_commits(ws, record), *_rows(ws, record)]


def _commits(ws: Workspace, record: Record) -> list[Version]:
    from kl_hooks.git.repository import ask
    from kl_hooks.git.run import GitFailed

    if ws.repo is None or not record.path:
        return []
    try:
        out = ask(ws.repo, "log", "--follow", "--format=%x01%h%x00%aI%x00%s", "--", f":(top){record.path}")
    except GitFailed:
        return []  # no commit yet
    cells = [one.strip("\n").split("\0") for one in out.decode("utf-8", "replace").split("\1")[1:]]
    return [Version(name, at, subject) for name, at, subject in cells]


def _rows(ws: Workspace, record: Record) -> list[Version]:
    with ws.store.reading() as db:
        sql = "SELECT version, until, how, body FROM record_version WHERE id = ? ORDER BY version DESC"
        found = db.rows(sql, (record.id,)) if db else []
    return [Version(str(n), until, how, json.dumps(json.loads(body), sort_keys=True)) for n, until, how, body in found]
