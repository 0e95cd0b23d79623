"""What a finding rests on: the content of its file, and of the one symbol that it names. When that changes it is stale.

Whether it is, is found when somebody looks, and stored nowhere: with the old content back, the finding holds again.
"""

from __future__ import annotations

import stat
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kl_hooks.errors import EnvironmentProblem
from kl_hooks.git.treehash import object_id
from kl_hooks.model.ids import make, split
from kl_hooks.model.record import Record

if TYPE_CHECKING:
    from kl_hooks.kinds.finding.extract import Found
    from kl_hooks.workspace.open import Workspace

LARGEST: Final = 16 * 1024 * 1024
"""Bytes of a file that is hashed; a finding about a larger one is tied to nothing."""


def anchors_of(ws: Workspace, found: Found) -> dict[str, str]:
    """Id → digest of what the finding rests on now: its file, and the symbol of its name where there is just one."""
    if found.is_path:
        blob = blob_of(ws, found.entity)
        return {make("file", found.entity): blob} if blob else {}
    name = found.entity
    if not name.replace(".", "_").isidentifier():
        return {}
    try:
        symbol = _symbol(ws, name)
    except EnvironmentProblem:
        return {}
    if symbol is None:
        return {}
    blob = blob_of(ws, symbol[1])
    return ({make("file", symbol[1]): blob} if blob else {}) | {symbol[0]: symbol[2]}


def _symbol(ws: Workspace, name: str) -> tuple[str, str, str] | None:
    """(Id, path, content hash) of the only symbol of this name."""
    from kl_hooks.code.asking.opened import opened
    from kl_hooks.code.asking.search import find_all
    from kl_hooks.code.asking.stored import by_ids

    with opened(ws) as graph:
        hits, _ = find_all(graph, (name,), (), "", 20)
        exact = {h.id for h in hits if split(h.id)[0] != "file" and _ends(split(h.id)[1], name)}
        if len(exact) != 1:
            return None
        symbol = by_ids(graph.db, exact).get(next(iter(exact)))
    return (symbol.id, symbol.path, symbol.content_hash) if symbol else None


def _ends(whole: str, name: str) -> bool:
    return whole == name or whole.endswith(f".{name}")


def blob_of(ws: Workspace, path: str) -> str:
    """The blob id of a file's bytes as they are on disk; empty for what is no file, or too large. Follows no link."""
    place = ws.root / path
    try:
        state = place.lstat()
        if not stat.S_ISREG(state.st_mode) or state.st_size > LARGEST or not _within(place, ws.root):
            return ""
        content = place.read_bytes()
    except (OSError, ValueError, RuntimeError):
        return ""
    return object_id(ws.repo.object_format if ws.repo else "sha1", b"blob", content)


def _within(place: Path, root: Path) -> bool:
    return place.resolve().is_relative_to(root.resolve())


def stale(ws: Workspace, records: Sequence[Record]) -> dict[str, str]:
    """Id of a finding that no longer holds → why. Files are looked at first; symbols only where their file changed."""
    wanted = {one: digest for record in records for one, digest in _anchors(record).items()}
    files = {one: blob_of(ws, split(one)[1]) for one in wanted if one.startswith("file:")}
    moved = [record for record in records if _changed_files(record, files)]
    symbols = _symbols(ws, [one for record in moved for one in _anchors(record) if not one.startswith("file:")])
    found = ((record.id, reason(_anchors(record), files | symbols)) for record in moved)
    return {key: why for key, why in found if why}


def _anchors(record: Record) -> Mapping[str, str]:
    said = record.values.get("anchors")
    return said if isinstance(said, Mapping) else {}


def _changed_files(record: Record, files: Mapping[str, str]) -> bool:
    return any(files.get(one, digest) != digest for one, digest in _anchors(record).items())


def _symbols(ws: Workspace, ids: Iterable[str]) -> dict[str, str]:
    wanted = sorted(set(ids))
    if not wanted:
        return {}
    from kl_hooks.code.asking.opened import opened
    from kl_hooks.code.asking.stored import by_ids

    try:
        with opened(ws) as graph:
            found = by_ids(graph.db, wanted)
    except EnvironmentProblem:
        return {}  # not assessed: the file decides
    return {one: found[one].content_hash if one in found else "" for one in wanted}


def reason(anchors: Mapping[str, str], today: Mapping[str, str]) -> str:
    """Why what rested on `anchors` no longer holds, given the digests of today; empty: it holds. Pure.

    Where a symbol is known, it decides, and its file may change around it. An empty digest means that it is gone; an Id
    that `today` does not have was not looked at.
    """
    symbols = {one: digest for one, digest in anchors.items() if not one.startswith("file:") and one in today}
    for one, digest in (symbols or anchors).items():
        if one in today and today[one] != digest:
            name = split(one)[1] if one.startswith("file:") else one
            return f"{name} is gone" if not today[one] else f"{name} has changed since"
    return ""
