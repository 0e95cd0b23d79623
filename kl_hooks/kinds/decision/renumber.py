"""Renumbering: two branches took the same id; one of the two files gets a new one, and with it what names it."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kl_hooks.errors import UsageProblem
from kl_hooks.git.repository import git_in
from kl_hooks.git.run import GitFailed
from kl_hooks.kinds.catalog import DECISION
from kl_hooks.model.kind import Kind
from kl_hooks.model.symbol import RECORD_ID
from kl_hooks.records.repository import FileChanges, files_naming_records, kind_folder, used_numbers
from kl_hooks.records.sync import sync
from kl_hooks.store.files import read_small

if TYPE_CHECKING:
    from kl_hooks.workspace import Workspace

_NEW: Final = "0" * 40
_MOST: Final = 1_000_000
"""Bytes of a file in which ids are changed."""


@dataclass(frozen=True, slots=True)
class Renumbering:
    """What was done."""

    old: str
    new: str
    path: str
    """Where the file is now."""
    changed: tuple[str, ...]
    """`path:line` of what named it and was changed."""
    unsure: tuple[str, ...]
    """`path:line` of what may mean either."""


def renumber(ws: Workspace, place: str) -> Renumbering:
    """Gives the record in a file a new id. `place`: a path from the root or from here, or an id that one file has.

    UsageProblem where there is no such file, or an id that several have; then nothing was written.
    """
    sync(ws)
    path = _path(ws, place)
    old = _id_in_file(ws, path)
    if not old.startswith(f"{DECISION.prefix}-"):
        raise UsageProblem("is no decision with an id.", place=path, hint="Write `id: ADR-0001` into it.")
    new = (
        _unfinished_renumbering(ws, path, old)
        or f"{DECISION.prefix}-{max(used_numbers(ws, DECISION), default=0) + 1:04}"
    )
    others = [one for one in _files(ws, DECISION) if one != path and _id_in_file(ws, one) == old]
    target = _target(path, old, new)
    changed, unsure = [], []
    with ws.store.writing(what="renumbering a decision"), FileChanges(ws) as kept:
        for one in sorted({path, *files_naming_records(ws)}):
            text, some, left = _with_new_id(ws, one, path, others, old, new)
            if one == path:
                if left:
                    raise UsageProblem(f"is larger than {_MOST} bytes.", place=path, hint="Keep the essence there.")
                kept.write(target, text.encode("utf-8", "surrogateescape"))
                kept.write(path, None)
            elif some:
                kept.write(one, text.encode("utf-8", "surrogateescape"))
            changed += some if one != path else []
            unsure += left
    sync(ws)
    return Renumbering(old, new, target, tuple(changed), tuple(unsure))


def _unfinished_renumbering(ws: Workspace, path: str, old: str) -> str:
    """The id under which another file says the same: a renumbering was killed before it took this file away."""
    text = _text(ws, path)
    for one in _files(ws, DECISION):
        new = _id_in_file(ws, one) if one != path else ""
        if (
            new not in ("", old)
            and one == _target(path, old, new)
            and _id_pattern(old).sub(new, text) == _text(ws, one)
        ):
            return new
    return ""


def _target(path: str, old: str, new: str) -> str:
    """Where a file goes that gets a new id."""
    place, _, name = path.rpartition("/")
    return f"{place}/{new}{name[len(old) :] if name.startswith(old) else '-' + name}"


def _path(ws: Workspace, place: str) -> str:
    if RECORD_ID.fullmatch(place):
        paths = [one for one in _files(ws, DECISION) if _id_in_file(ws, one) == place]
        if len(paths) == 1:
            return paths[0]
        reason = f"is the id of {', '.join(paths)}; name a file." if paths else "is the id of no file."
        raise UsageProblem(reason, place=place, hint="kl decision renumber FILE")
    for full in (Path(os.path.abspath(place)), ws.root / place):  # noqa: PTH100 (which follows links)
        path = full.relative_to(ws.root).as_posix() if full.is_relative_to(ws.root) else ""
        if path in _files(ws, DECISION):
            return path
    raise UsageProblem(f"is no file in {kind_folder(DECISION)}.", place=place, hint="See: kl decision list")


def _files(ws: Workspace, kind: Kind) -> list[str]:
    from kl_hooks.records.repository import authored_files

    return list(authored_files(ws.root, {kind.name: kind}, 0))


def _text(ws: Workspace, path: str) -> str:
    return (read_small(ws.root / path, within=ws.root, most=_MOST) or b"").decode("utf-8", "surrogateescape")


def _id_in_file(ws: Workspace, path: str) -> str:
    """The id that the head of a file says; of one that says none, that of its name."""
    head = re.match(r"(?:\ufeff)?---[ \t]*\r?\n(.*?)^---", _text(ws, path), re.DOTALL | re.MULTILINE)
    said = re.search(r"^id:[ \t]*[\"']?([\w-]+)", head[1], re.MULTILINE) if head else None
    named = RECORD_ID.match(path.rpartition("/")[2])
    return said[1] if said else named[0] if named else ""


def _id_pattern(old: str) -> re.Pattern[str]:
    """Where a text names this id."""
    return re.compile(rf"(?<![\w-]){re.escape(old)}(?![\w-]|[a-z0-9])")


def _with_new_id(
    ws: Workspace, path: str, moved: str, others: list[str], old: str, new: str
) -> tuple[str, list[str], list[str]]:
    """The text of a file with the references changed that mean the moved one; places changed, places unsure."""
    name = _id_pattern(old)
    text = _text(ws, path)
    lines = text.split("\n")
    hits = [number for number, line in enumerate(lines) if name.search(line)]
    if not hits or path in others:
        return text, [], []
    if (ws.root / path).stat().st_size > _MOST:  # only its beginning was read: it must not be written back
        return text, [], [f"{path}:{number + 1}" for number in hits]
    meant = dict.fromkeys(hits, True) if path == moved or not others else _meant_lines(ws, path, hits, moved, others)
    changed, unsure = [], []
    for number in hits:
        if meant.get(number):
            lines[number] = name.sub(new, lines[number])
            changed.append(f"{path}:{number + 1}")
        elif number not in meant:
            unsure.append(f"{path}:{number + 1}")
    return "\n".join(lines), changed, unsure


def _meant_lines(ws: Workspace, path: str, hits: list[int], moved: str, others: list[str]) -> dict[int, bool]:
    """Line → whether it means the moved file: when it was written, that one was there and the others were not."""
    if ws.repo is None:
        return {}
    try:
        out = git_in(ws.repo, "blame", "--porcelain", "--", path).decode("utf-8", "surrogateescape")
    except GitFailed:
        return {}
    commits = re.findall(r"^([0-9a-f]{40,64}) \d+ (\d+)", out, re.MULTILINE)
    by_line = {int(line) - 1: commit for commit, line in commits}
    made: dict[int, bool] = {}
    for number in hits:
        commit = by_line.get(number, _NEW)
        if commit.strip("0"):
            here, there = _exists_in(ws, commit, [moved]), _exists_in(ws, commit, others)
            if here != there:
                made[number] = here
    return made


def _exists_in(ws: Workspace, commit: str, paths: list[str]) -> bool:
    """True where a commit has any of these files."""
    assert ws.repo is not None
    try:
        return bool(git_in(ws.repo, "ls-tree", "--full-tree", "--name-only", "-z", commit, "--", *paths))
    except GitFailed:
        return False
