"""Ids of new records. One that was ever given is never given again: files, archive, rows, git's history all count."""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from kl_hooks.errors import UsageProblem
from kl_hooks.model.ids import RECORD_ID
from kl_hooks.model.kind import Kind
from kl_hooks.records.files import folder

if TYPE_CHECKING:
    from kl_hooks.store.database import Database
    from kl_hooks.workspace.open import Workspace


def new_id(
    ws: Workspace, db: Database, kind: Kind, values: dict[str, Any], asked: str = "", last: int | None = None
) -> str:
    """The id of a new record; `asked` if somebody names it. UsageProblem for one that is taken or is none.

    `last`: the highest number ever given, where the caller knows it; else files, rows and git's history are asked.
    """
    if asked:
        return _asked(db, kind, asked)
    if kind.numbering == "hash":
        return f"{kind.prefix}-{identity(kind, values)}"
    if kind.numbering == "random":
        return f"{kind.prefix}-{secrets.token_hex(8)[: kind.digits or 8]}"
    if last is None:
        last = max([*_numbers(kind, _everywhere(ws, kind)), *_rows(db, kind)], default=0)
    highest = last + 1
    db.execute("DELETE FROM record_number WHERE prefix = ?", (kind.prefix,))
    db.execute("INSERT INTO record_number (prefix, highest) VALUES (?, ?)", (kind.prefix, highest))
    return f"{kind.prefix}-{highest:0{kind.digits or 4}}"


def number_of(kind: Kind, identifier: str) -> int | None:
    """The number of a serial id; None for any other."""
    return next(iter(_numbers(kind, [identifier])), None) if kind.numbering in ("serial", "given") else None


def is_id_of(kind: Kind, text: str) -> bool:
    """True if a record of this kind can have it for its id."""
    return bool(RECORD_ID.fullmatch(text)) and text.startswith(f"{kind.prefix}-")


def used_numbers(ws: Workspace, kind: Kind) -> set[int]:
    """Every number that an id of this kind ever had here, as far as files, rows and git's history tell."""
    with ws.store.reading() as db:
        return {*_numbers(kind, _everywhere(ws, kind)), *(_rows(db, kind) if db is not None else ())}


def identity(kind: Kind, values: dict[str, Any]) -> str:
    """Hexadecimal digits over what makes two records of a kind the same, whatever the case and the space around it."""
    said = [" ".join(str(values.get(name, "")).split()).casefold() for name in kind.identity]
    return hashlib.sha256("\0".join(said).encode("utf-8", "replace")).hexdigest()[: kind.digits or 8]


def _asked(db: Database, kind: Kind, asked: str) -> str:
    if not is_id_of(kind, asked):
        raise UsageProblem(f"{asked!r} is no id of a {kind.name}.", place="--id", hint=f"Such as {kind.prefix}-0001.")
    return asked


def _everywhere(ws: Workspace, kind: Kind) -> Iterable[str]:
    """The names of its files: on disk, and every one that git has seen on any branch, deleted ones too."""
    place = folder(kind)
    for path in (ws.root / place).rglob("*.md"):
        yield path.name
    if ws.repo is not None:
        from kl_hooks.git.repository import ask
        from kl_hooks.git.run import GitFailed

        try:
            out = ask(ws.repo, "log", "--all", "--format=", "--name-only", "--no-renames", "-z", "--", f":(top){place}")
        except GitFailed:
            return  # no commit yet
        for name in re.split(rb"[\0\n]", out):
            yield name.decode("utf-8", "replace").rpartition("/")[2]


def _numbers(kind: Kind, names: Iterable[str]) -> Iterable[int]:
    begins = re.compile(re.escape(kind.prefix) + r"-([0-9]{1,9})(?![0-9])")
    return (int(found[1]) for name in names if (found := begins.match(name)))


def _rows(db: Database, kind: Kind) -> Iterable[int]:
    yield from (int(n) for (n,) in db.rows("SELECT highest FROM record_number WHERE prefix = ?", (kind.prefix,)))
    yield from _numbers(kind, (i for (i,) in db.rows("SELECT id FROM record WHERE kind = ?", (kind.name,))))
