"""Findings: what agents' tools found out or changed, each recorded once and bound to the content it rests on.

A finding is stale when its file, or the one symbol that it names, has changed. That is computed on every look and
stored nowhere: with the old content back, the finding is valid again.
"""

from __future__ import annotations

import stat
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kl_hooks.errors import EnvironmentProblem
from kl_hooks.git.objects import object_id
from kl_hooks.kinds.catalog import FINDING
from kl_hooks.kinds.tool_calls import CONFIDENCE_OF_TIER, Call, Found, extract
from kl_hooks.model.record import Record
from kl_hooks.model.symbol import make_id, split_id
from kl_hooks.records.query import get_records
from kl_hooks.records.repository import identity_digest
from kl_hooks.records.sync import sync
from kl_hooks.records.write import change_record, create_records

if TYPE_CHECKING:
    from kl_hooks.code.query.session import Graph
    from kl_hooks.model.claim import Tier
    from kl_hooks.model.symbol import Symbol
    from kl_hooks.workspace import Workspace

_MAX_FILE_BYTES: Final = 16 * 1024 * 1024
"""Of a file that is hashed; a finding about a larger one is bound to nothing."""


@dataclass(frozen=True, slots=True)
class RecordedFindings:
    """What some calls left."""

    new: tuple[Record, ...] = ()
    known: tuple[str, ...] = ()
    """IDs of findings that were recorded before."""
    nothing: int = 0
    """Calls that leave no finding."""


def record_findings(ws: Workspace, calls: Iterable[Call]) -> RecordedFindings:
    """Record what these calls found out or changed, all in one step. One that exists is bound to today's content."""
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
    existing = {record.id: record for record in get_records(ws, list(found))}
    fresh = [one for key, one in found.items() if key not in existing]
    tiers = _command_tiers(ws) if any(one.command for one in fresh) else {}
    raws = [_fields_of(one, anchors, tiers) for one, anchors in zip(fresh, _anchors_of(ws, fresh), strict=True)]
    made = create_records(ws, FINDING, raws, by=raws[0].get("source", "")) if raws else []
    today = _anchors_of(ws, [found[key] for key in existing])
    for record, anchors in zip(existing.values(), today, strict=True):
        if anchors and anchors != record.values.get("anchors"):
            change_record(ws, record, {"anchors": anchors}, how="found again")
    return RecordedFindings(tuple(made), tuple(sorted(existing)), nothing)


def _command_tiers(ws: Workspace) -> dict[str, Tier]:
    """Command → the tier of our own evidence about it."""
    from kl_hooks.evidence.claims import all_claims

    return {claim.about: claim.tier for claim in all_claims(ws, lambda _: None)}


def _fields_of(found: Found, anchors: Mapping[str, str], tiers: Mapping[str, Tier]) -> dict[str, Any]:
    about = list(anchors) or ([make_id("file", found.entity)] if found.is_path else [])
    tier = tiers.get(make_id("command", found.command)) if found.command else None
    return {
        "title": f"{found.entity}: {found.finding}"[:300], "entity": found.entity, "finding": found.finding,
        "kind": found.sort, "confidence": found.confidence if tier is None else CONFIDENCE_OF_TIER[tier],
        "agent": found.agent, "tool": found.tool, "source": found.session, "anchors": anchors,
        "evidence": found.evidence, "about": about, "authority": "agent",
    }  # fmt: skip


def findings_to_dict(recorded: RecordedFindings) -> dict[str, Any]:
    """Return the JSON answer `kl.finding.add/1`."""
    new = [
        {
            "id": one.id, "entity": one.text("entity"), "finding": one.text("finding"), "kind": one.text("kind"),
            "confidence": one.number("confidence"), "agent": one.text("agent"), "session": one.text("source"),
        }
        for one in recorded.new
    ]  # fmt: skip
    return {
        "schema": "kl.finding.add/1", "new": new, "known": list(recorded.known), "nothing": recorded.nothing,
    }  # fmt: skip


class _NamedSymbol(NamedTuple):
    id: str = ""
    path: str = ""
    content_hash: str = ""


def _anchors_of(ws: Workspace, found: Sequence[Found]) -> list[dict[str, str]]:
    """For each finding: ID → digest of its file, and of the symbol of its name where there is one.

    The graph is opened once and each file read once, however many findings there are.
    """
    symbols = _symbols_named(ws, {one.entity for one in found if not one.is_path})
    paths = {one.entity for one in found if one.is_path} | {symbol.path for symbol in symbols.values()}
    blobs = {path: blob_of(ws, path) for path in sorted(paths)}
    made = []
    for one in found:
        symbol = _NamedSymbol(path=one.entity) if one.is_path else symbols.get(one.entity, _NamedSymbol())
        blob = blobs.get(symbol.path, "")
        anchors = {make_id("file", symbol.path): blob} if blob else {}
        made.append(anchors | ({symbol.id: symbol.content_hash} if symbol.id else {}))
    return made


def _symbols_named(ws: Workspace, names: Iterable[str]) -> dict[str, _NamedSymbol]:
    """Name → the only symbol with that name; none where the graph is not available."""
    wanted = sorted(name for name in names if name.replace(".", "_").isidentifier())
    if not wanted:
        return {}
    from kl_hooks.code.query.session import open_graph

    try:
        with open_graph(ws) as graph:
            found = {name: symbol for name in wanted if (symbol := _symbol_named(graph, name))}
    except EnvironmentProblem:
        return {}
    return {name: _NamedSymbol(one.id, one.path, one.content_hash) for name, one in found.items()}


def _symbol_named(graph: Graph, name: str) -> Symbol | None:
    from kl_hooks.code.query.lookup import symbols_by_id
    from kl_hooks.code.query.search import find_all

    hits, _ = find_all(graph, (name,), (), "", 20)
    exact = {hit.id for hit in hits if split_id(hit.id)[0] != "file" and f".{split_id(hit.id)[1]}".endswith(f".{name}")}
    return symbols_by_id(graph.db, exact).get(next(iter(exact))) if len(exact) == 1 else None


def blob_of(ws: Workspace, path: str) -> str:
    """Return git's blob ID of a file as it is on disk; empty for what is no file, or too large. Follows no link."""
    place = ws.root / path
    try:
        state = place.lstat()
        inside = place.resolve().is_relative_to(ws.root.resolve())
        if not stat.S_ISREG(state.st_mode) or state.st_size > _MAX_FILE_BYTES or not inside:
            return ""
        content = place.read_bytes()
    except (OSError, ValueError, RuntimeError):  # RuntimeError: a loop of links, before CPython 3.13
        return ""
    return object_id(ws.repo.object_format if ws.repo else "sha1", b"blob", content)


def stale_findings(ws: Workspace, records: Sequence[Record]) -> dict[str, str]:
    """ID of each stale finding → why. Symbols are looked up only where their file has changed."""
    ids = {one for record in records for one in _anchors(record) if one.startswith("file:")}
    files = {one: blob_of(ws, split_id(one)[1]) for one in ids}
    moved = [
        record for record in records
        if any(files.get(one, digest) != digest for one, digest in _anchors(record).items())
    ]  # fmt: skip
    symbols = _symbol_digests(ws, {one for record in moved for one in _anchors(record) if not one.startswith("file:")})
    reasons = ((record.id, stale_reason(_anchors(record), files | symbols)) for record in moved)
    return {key: reason for key, reason in reasons if reason}


def _anchors(record: Record) -> Mapping[str, str]:
    anchors = record.values.get("anchors")
    return anchors if isinstance(anchors, Mapping) else {}


def _symbol_digests(ws: Workspace, ids: Iterable[str]) -> dict[str, str]:
    wanted = sorted(ids)
    if not wanted:
        return {}
    from kl_hooks.code.query.lookup import symbols_by_id
    from kl_hooks.code.query.session import open_graph

    try:
        with open_graph(ws) as graph:
            found = symbols_by_id(graph.db, wanted)
    except EnvironmentProblem:
        return {}  # not assessed: the file decides
    return {one: found[one].content_hash if one in found else "" for one in wanted}


def stale_reason(anchors: Mapping[str, str], today: Mapping[str, str]) -> str:
    """Return why a finding with these anchors is stale, given the digests of today; empty: it is valid. Pure.

    Where a symbol is known, it decides, and its file may change around it. An empty digest means that it was removed;
    an ID that `today` does not have was not looked up.
    """
    symbols = {one: digest for one, digest in anchors.items() if not one.startswith("file:") and one in today}
    for one, digest in (symbols or anchors).items():
        if one in today and today[one] != digest:
            name = split_id(one)[1] if one.startswith("file:") else one
            return f"{name} has changed since" if today[one] else f"{name} was removed"
    return ""
