"""Findings: what agents' tools found out or changed, each recorded once and bound to the content it rests on.

A finding is stale when its file, or the one symbol that it names, has changed. That is computed on every look and
stored nowhere: with the old content back, the finding holds again.
"""

from __future__ import annotations

import stat
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.errors import EnvironmentProblem
from kl_hooks.git.treehash import object_id
from kl_hooks.kinds.catalog import FINDING
from kl_hooks.kinds.tool_calls import CONFIDENCE_OF_TIER, Call, Found, extract
from kl_hooks.model.ids import make, split
from kl_hooks.model.record import Record
from kl_hooks.records.query import get_records
from kl_hooks.records.repository import identity_digest
from kl_hooks.records.sync import sync
from kl_hooks.records.write import change_record, create_records

if TYPE_CHECKING:
    from kl_hooks.code.asking.opened import Graph
    from kl_hooks.model.symbol import Symbol
    from kl_hooks.model.tier import Tier
    from kl_hooks.workspace.open import Workspace


_MAX_FILE_BYTES: Final = 16 * 1024 * 1024
"""Bytes of a file that is hashed; a finding about a larger one is tied to nothing."""


def _anchors_of(ws: Workspace, found: Sequence[Found]) -> list[dict[str, str]]:
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
        if not stat.S_ISREG(state.st_mode) or state.st_size > _MAX_FILE_BYTES or not _within(place, ws.root):
            return ""
        content = place.read_bytes()
    except (OSError, ValueError, RuntimeError):
        return ""
    return object_id(ws.repo.object_format if ws.repo else "sha1", b"blob", content)


def _within(place: Path, root: Path) -> bool:
    return place.resolve().is_relative_to(root.resolve())


def stale_findings(ws: Workspace, records: Sequence[Record]) -> dict[str, str]:
    """Id of a finding that no longer holds → why. Files are looked at first; symbols only where their file changed."""
    wanted = {one: digest for record in records for one, digest in _anchors(record).items()}
    files = {one: blob_of(ws, split(one)[1]) for one in wanted if one.startswith("file:")}
    moved = [record for record in records if _changed_files(record, files)]
    symbols = _symbols(ws, [one for record in moved for one in _anchors(record) if not one.startswith("file:")])
    found = ((record.id, stale_reason(_anchors(record), files | symbols)) for record in moved)
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


def stale_reason(anchors: Mapping[str, str], today: Mapping[str, str]) -> str:
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


@dataclass(frozen=True, slots=True)
class RecordedFindings:
    """What came of some calls."""

    new: tuple[Record, ...] = ()
    known: tuple[str, ...] = ()
    """Ids of findings that were there already."""
    nothing: int = 0
    """Calls that leave no finding."""


def record_findings(ws: Workspace, calls: Iterable[Call]) -> RecordedFindings:
    """Keeps what these calls found out or changed. A finding that is there already is tied anew. Raises as `create`."""
    found: dict[str, Found] = {}
    nothing = 0
    for call in calls:
        one = extract(call, str(ws.root))
        if one is None:
            nothing += 1
        else:
            found.setdefault(
                f"{FINDING.prefix}-{identity_digest(FINDING, {'entity': one.entity, 'finding': one.finding})}", one
            )
    sync(ws)
    there = {record.id: record for record in get_records(ws, list(found))}
    fresh = [one for key, one in found.items() if key not in there]
    known = _tiers(ws) if any(one.command for one in fresh) else {}
    raws = [_values_of(one, rests, known) for one, rests in zip(fresh, _anchors_of(ws, fresh), strict=True)]
    made = create_records(ws, FINDING, raws, by=raws[0].get("source", "")) if raws else []
    again = [found[key] for key in there]
    for record, rests in zip(there.values(), _anchors_of(ws, again), strict=True):
        _tie(ws, record, rests)
    return RecordedFindings(tuple(made), tuple(sorted(there)), nothing)


def _tie(ws: Workspace, record: Record, anchors: Mapping[str, str]) -> None:
    """What is found again holds for the content of today."""
    if anchors and anchors != record.values.get("anchors"):
        change_record(ws, record, {"anchors": anchors}, how="found again")


def _values_of(found: Found, anchors: Mapping[str, str], known: Mapping[str, Tier]) -> dict[str, Any]:
    """The fields of a finding that rests on `anchors`; `known`: what our own evidence says of commands."""
    about = list(anchors) or ([make("file", found.entity)] if found.is_path else [])
    return {
        "title": f"{found.entity}: {found.finding}"[:300], "entity": found.entity, "finding": found.finding,
        "kind": found.sort, "confidence": _confidence(found, known), "agent": found.agent, "tool": found.tool,
        "source": found.session, "anchors": anchors, "evidence": found.evidence, "about": about, "authority": "agent",
    }  # fmt: skip


def _tiers(ws: Workspace) -> dict[str, Tier]:
    """Subject of our own evidence → how well it is supported."""
    from kl_hooks.evidence.book import all_claims

    return {claim.about: claim.tier for claim in all_claims(ws, lambda _: None)}


def _confidence(found: Found, known: Mapping[str, Tier]) -> int:
    """Percent: from the tier of our own evidence where there is some about the command, else what such tools get."""
    tier = known.get(make("command", found.command)) if found.command else None
    return found.confidence if tier is None else CONFIDENCE_OF_TIER[tier]


def findings_to_dict(kept: RecordedFindings) -> Mapping[str, Any]:
    """`kl.finding.add/1`."""
    return {
        "schema": "kl.finding.add/1",
        "new": [
            {
                "id": one.id,
                "entity": one.text("entity"),
                "finding": one.text("finding"),
                "kind": one.text("kind"),
                "confidence": one.number("confidence"),
                "agent": one.text("agent"),
                "session": one.text("source"),
            }
            for one in kept.new
        ],
        "known": list(kept.known),
        "nothing": kept.nothing,
    }
