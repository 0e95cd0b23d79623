"""Files that `kl init` wrote, so that they can be removed again.

What was written is listed, with its hash, in a small file of the state directory: exactly that is
removed, and only while it is as it was written.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from kl_hooks.errors import EnvironmentProblem, UsageProblem
from kl_hooks.store.files import read_small, store_lock, write_atomic
from kl_hooks.store.state import State, prepare_state

_RECORD: Final = "init.json"
_SCHEMA: Final = "kl.init.record/1"
_NO_RECORD: Final = (
    "Remove kl from this clone alone: kl uninstall --dry-run. Remove .kl/ for everybody who has"
    " the repository: git rm -r .kl"
)


def read_record(state: State) -> dict[str, Any] | None:
    """The record of earlier runs; None where there is none. EnvironmentProblem for one that is not
    ours.
    """
    try:
        record = json.loads((state.directory / _RECORD).read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise EnvironmentProblem(
            f"can't be read: {error}.", place=str(state.directory / _RECORD)
        ) from error
    if not isinstance(record, dict) or record.get("schema") != _SCHEMA:
        raise EnvironmentProblem(
            "is not a record of this version.", place=str(state.directory / _RECORD)
        )
    return record


def record_to_undo(state: State) -> dict[str, Any]:
    record = read_record(state)
    if record is None:
        # .kl/ is from another clone, or the state directory was deleted
        raise EnvironmentProblem(
            "kl init was not run in this clone, so there is nothing of it to undo.",
            place=str(state.directory),
            hint=_NO_RECORD,
        )
    return record


def write_record(state: State, record: dict[str, Any] | None) -> None:
    """Writes the record, or takes it away where nothing is left on it. OSError as it comes."""
    if record is None:
        (state.directory / _RECORD).unlink()
    else:
        text = json.dumps({"schema": _SCHEMA, **record}, indent=2)
        write_atomic(state.directory / _RECORD, text.encode(), mode=0o600)


_LOCK_TIMEOUT: Final = 10.0
"""Seconds to wait for another command that writes in the state directory."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be written; paths from the root, `/` between."""

    create: Mapping[str, bytes] = field(default_factory=dict)
    append: Mapping[str, bytes] = field(default_factory=dict)
    """Path of a file that is there → what is added at its end."""


def apply_plan(root: Path, state: State, plan: Plan) -> None:
    """Notes what will be written in the state directory, then writes it. Nothing that is there is
    overwritten.

    Of two that run at once one waits for the other, and then finds what it wanted done. StoreBusy,
    as `store_lock`.
    """
    prepare_state(state)
    with store_lock(state.lock, wait=_LOCK_TIMEOUT, what="kl init"):
        _write_files(root, state, plan)


def _write_files(root: Path, state: State, plan: Plan) -> None:
    record = read_record(state) or {"created": {}, "appended": {}}
    record["created"].update({path: content_hash(data) for path, data in plan.create.items()})
    record["appended"].update({path: text.decode() for path, text in plan.append.items()})
    write_record(state, record)  # before the files: an interrupted init can be undone too
    for path, data in plan.create.items():
        target = root / path
        if target.exists() or target.is_symlink():
            # created by another kl init that this one waited for
            if read_small(target, within=root) == data:
                continue
            raise UsageProblem(
                "appeared just now; it is left as it is.", place=path, hint="Run kl init again."
            )
        target.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(target, data, within=root)
    for path, text in plan.append.items():
        target = root / path
        there = target.read_bytes()
        if text.strip() in there:
            continue
        # a new file takes the place of this one, so it must be given the mode of the old one
        write_atomic(target, there + text, mode=target.stat().st_mode & 0o777, within=root)


def undo(root: Path, state: State) -> list[tuple[str, str]]:
    """Take back what `apply_plan` wrote; return (path, what was done). EnvironmentProblem: nothing
    recorded.
    """
    if not os.path.lexists(root / ".kl") and read_record(state) is None:
        raise EnvironmentProblem(
            "nothing to undo: there is no .kl/, and no record of a kl init.", place=str(root)
        )
    record_to_undo(state)
    with store_lock(state.lock, wait=_LOCK_TIMEOUT, what="kl init --undo"):
        # read again under the lock: another command may have changed it since
        return _undo_files(root, state, record_to_undo(state))


def _undo_files(root: Path, state: State, record: dict[str, Any]) -> list[tuple[str, str]]:
    done = [(path, _remove(root / path, expected)) for path, expected in record["created"].items()]
    done += [(path, _cut(root / path, text.encode())) for path, text in record["appended"].items()]
    folders = {folder for path in record["created"] for folder in (root / path).parents}
    for folder in sorted(
        folders, reverse=True
    ):  # inner folders first: an outer one may be empty after them
        if (
            folder.is_relative_to(root)
            and folder != root
            and folder.is_dir()
            and not any(folder.iterdir())
        ):
            folder.rmdir()
    unchanged = {path for path, what in done if what.startswith("left")}
    left: dict[str, Any] = {
        key: {p: v for p, v in record[key].items() if p in unchanged}
        for key in ("created", "appended")
    }
    write_record(state, left if unchanged else None)
    return done


def cut_appended(root: Path, state: State, *, is_dry_run: bool) -> list[tuple[str, str]]:
    """Remove from files of others what was appended to them; return (path, what was done, as `undo`
    calls it). `is_dry_run`: only return it.
    """
    appended = (read_record(state) or {}).get("appended", {})
    return [
        (path, _cut(root / path, text.encode(), is_dry_run=is_dry_run))
        for path, text in appended.items()
    ]


def _remove(path: Path, expected: str) -> str:
    if path.is_symlink() or not path.is_file():
        return "removed already"
    if content_hash(path.read_bytes()) != expected:
        return "left: changed since"
    path.unlink()
    return "removed"


def _cut(path: Path, text: bytes, *, is_dry_run: bool = False) -> str:
    """Takes the added text out, if it is still there as it was."""
    data = path.read_bytes() if path.is_file() else b""
    if text not in data:
        return "left: what was added is no longer there as it was"
    # the last one: it was added at the end, and the same words may have been there before
    before, _, after = data.rpartition(text)
    if not is_dry_run:
        write_atomic(path, before + after, mode=path.stat().st_mode & 0o777)
    if not after:
        return "restored"
    return "taken out"


def content_hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
