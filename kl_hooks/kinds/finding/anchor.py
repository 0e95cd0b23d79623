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
    from kl_hooks.code.asking.opened import Graph
    from kl_hooks.kinds.finding.extract import Found
    from kl_hooks.model.symbol import Symbol
    from kl_hooks.workspace.open import Workspace

LARGEST: Final = 16 * 1024 * 1024
"""Bytes of a file that is hashed; a finding about a larger one is tied to nothing."""


def anchors_of(ws: Workspace, found: Sequence[Found]) -> list[dict[str, str]]:
    """For each finding: Id → digest of what it rests on now, its file, and the symbol of its name where there is one.

    The graph is opened once, and each file read once, however many findings there are.
    """
    symbols = _symbols_named(ws, {one.entity for one in found if not one.is_path and _is_name(one.entity)})
    paths = {one.entity for one in found if one.is_path} | {path for _, path, _ in symbols.values()}
    blobs = {path: blob_of(ws, path) for path in sorted(paths)}
    return [_anchored(one, symbols, blobs) for one in found]


def _anchored(one: Found, symbols: Mapping[str, tuple[str, str, str]], blobs: Mapping[str, str]) -> dict[str, str]:
    identifier, path, digest = ("", one.entity, "") if one.is_path else symbols.get(one.entity, ("", "", ""))
    blob = blobs.get(path, "")
    return ({make("file", path): blob} if blob else {}) | ({identifier: digest} if identifier else {})


def _is_name(text: str) -> bool:
    return text.replace(".", "_").isidentifier()


def _symbols_named(ws: Workspace, names: Iterable[str]) -> dict[str, tuple[str, str, str]]:
    """Name → (Id, path, content hash) of the only symbol that bears it; none where the graph can't be asked."""
    wanted = sorted(names)
    if not wanted:
        return {}
    from kl_hooks.code.asking.opened import opened

    try:
        with opened(ws) as graph:
            found = {name: symbol for name in wanted if (symbol := _symbol(graph, name))}
    except EnvironmentProblem:
        return {}
    return {name: (one.id, one.path, one.content_hash) for name, one in found.items()}


def _symbol(graph: Graph, name: str) -> Symbol | None:
    from kl_hooks.code.asking.search import find_all
    from kl_hooks.code.asking.stored import by_ids

    hits, _ = find_all(graph, (name,), (), "", 20)
    exact = {hit.id for hit in hits if split(hit.id)[0] != "file" and _ends(split(hit.id)[1], name)}
    return by_ids(graph.db, exact).get(next(iter(exact))) if len(exact) == 1 else None


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
