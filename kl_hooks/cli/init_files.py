"""What `kl init` writes, and how it takes it back: exactly that, and only while it is as it was written."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from kl_hooks.cli.init_record import keep, record_of
from kl_hooks.config.files import read_small
from kl_hooks.errors import EnvironmentProblem, UsageProblem
from kl_hooks.store.atomic import write_atomic
from kl_hooks.store.lock import store_lock
from kl_hooks.store.state import State, prepare

PATIENCE: Final = 10.0
"""Seconds to wait for another command that writes in the state directory."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be written; paths from the root, `/` between."""

    create: Mapping[str, bytes] = field(default_factory=dict)
    append: Mapping[str, bytes] = field(default_factory=dict)
    """Path of a file that is there → what is added at its end."""


def refuse_odd_home(root: Path) -> None:
    """UsageProblem where `.kl` is something else than a folder of this repository: a link would lead us out."""
    home = root / ".kl"
    if home.is_symlink() or (home.exists() and not home.is_dir()):
        raise UsageProblem("is not a folder.", place=str(home), hint="Move it away, then run kl init again.")


def apply(root: Path, state: State, plan: Plan) -> None:
    """Notes what will be written in the state directory, then writes it. Nothing that is there is overwritten.

    Of two that run at once one waits for the other, and then finds what it wanted done. StoreBusy, as `store_lock`.
    """
    prepare(state)
    with store_lock(state.lock, wait=PATIENCE, what="kl init"):
        _apply(root, state, plan)


def _apply(root: Path, state: State, plan: Plan) -> None:
    record = record_of(state) or {"created": {}, "appended": {}}
    record["created"].update({path: _hash(data) for path, data in plan.create.items()})
    record["appended"].update({path: text.decode() for path, text in plan.append.items()})
    keep(state, record)
    for path, data in plan.create.items():
        target = root / path
        if target.exists() or target.is_symlink():
            if read_small(target, within=root) == data:
                continue
            raise UsageProblem("appeared just now; it is left as it is.", place=path, hint="Run kl init again.")
        target.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(target, data, within=root)
    for path, text in plan.append.items():
        target = root / path
        there = target.read_bytes()
        if text.strip() in there:
            continue
        write_atomic(target, there + text, mode=target.stat().st_mode & 0o777, within=root)


def undo(root: Path, state: State) -> list[tuple[str, str]]:
    """Take back what `apply` wrote; return (path, what was done) pairs. EnvironmentProblem: nothing is recorded."""
    if not os.path.lexists(root / ".kl") and record_of(state) is None:
        raise EnvironmentProblem("nothing to undo: there is no .kl/, and no record of a kl init.", place=str(root))
    record_of(state, needed=True)
    with store_lock(state.lock, wait=PATIENCE, what="kl init --undo"):
        return _undo(root, state, record_of(state, needed=True))


def _undo(root: Path, state: State, record: dict[str, Any]) -> list[tuple[str, str]]:
    done = [(path, _remove(root / path, expected)) for path, expected in record["created"].items()]
    done += [(path, _cut(root / path, text.encode())) for path, text in record["appended"].items()]
    folders = {folder for path in record["created"] for folder in (root / path).parents}
    for folder in sorted(folders, reverse=True):
        if folder.is_relative_to(root) and folder != root and folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()
    kept = {path for path, what in done if what.startswith("kept")}
    left: dict[str, Any] = {key: {p: v for p, v in record[key].items() if p in kept} for key in ("created", "appended")}
    keep(state, left if kept else None)
    return done


def _remove(path: Path, expected: str) -> str:
    if path.is_symlink() or not path.is_file():
        return "gone already"
    if _hash(path.read_bytes()) != expected:
        return "kept: changed since"
    path.unlink()
    return "removed"


def _cut(path: Path, text: bytes) -> str:
    """Takes the added text out, if it is still there as it was."""
    data = path.read_bytes() if path.is_file() else b""
    if text not in data:
        return "kept: what was added is no longer there as it was"
    before, _, after = data.rpartition(text)
    write_atomic(path, before + after, mode=path.stat().st_mode & 0o777)
    return "restored" if not after else "taken out"


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
