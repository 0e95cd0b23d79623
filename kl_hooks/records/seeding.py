"""Seeding: records made from a project's own documents, updated when these change, never created
twice.

A seed is identified by its name (`entity_id`) and the hash of its source text. What a person
changed in a seeded record, or deleted, is not changed back.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.clock import iso
from kl_hooks.model.canonical import canonical, replace_surrogates
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.kind import SEEDED, Kind
from kl_hooks.model.record import Record, Value
from kl_hooks.records.query import RecordFilter, list_records
from kl_hooks.records.repository import KNOWLEDGE_FOLDER, paths_in_history
from kl_hooks.records.validate import validate
from kl_hooks.records.write import change_record, create_records, delete_record, redact_values
from kl_hooks.store.files import write_atomic
from kl_hooks.workspace import require_initialized

if TYPE_CHECKING:
    from kl_hooks.workspace import Workspace

SEED_MARKER: Final = "seeded.json"
SEED_SCOPES: Final = ("project", "system")
SYSTEM_SOURCE: Final = "seed:system"
"""The source of records that kl ships: they are not about this project."""
_MARKER_SCHEMA: Final = "kl.seeded/1"
# Kinds of the records made from a document: what is no longer in the document is looked up among
# these.
_DOCUMENT_KINDS: Final = ("fact", "guide")
# The source hash of a record whose section was removed: back in the document, it is renewed, in any
# clone.
_REMOVED: Final = "removed"
_SEED_FIELDS: Final = frozenset(one.name for one in SEEDED)


class Seed(NamedTuple):
    """A record that could be made."""

    kind: str
    key: str
    """Its `entity_id`: the same in every run. Of a project it begins with `<project>__`; of the
    system with nothing.
    """
    values: Mapping[str, Any]
    path: str
    """The source file."""
    text: str
    """The source text: its hash shows whether it changed."""
    id: str = ""
    """Of the record, where the source names it."""

    @property
    def hash(self) -> str:
        """The sha256 of the source text."""
        return _text_digest(self.text)


@dataclass(frozen=True, slots=True)
class Step:
    """What seeding does with a seed."""

    what: str
    """`created`, `updated`, `skipped` (nothing changed), `outdated` (its section or document was
    removed), `kept` (a person changed or deleted it)."""
    seed: Seed
    reason: str = ""
    record: Record | None = field(default=None, compare=False)
    """The record that is there before, or, once done, after."""


def _text_digest(text: str) -> str:
    """Return the sha256 of a text, hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def content_digest(kind: Kind, values: Mapping[str, Value]) -> str:
    """Return the sha256 of the kind's own fields: it differs once a person has edited the
    record.
    """
    own = {one.name for one in kind.fields} - _SEED_FIELDS | {"title"}
    plain = {
        n: dict(value) if isinstance(value, Mapping) else value
        for n, value in values.items()
        if n in own
    }
    return hashlib.sha256(canonical(replace_surrogates(plain))).hexdigest()


def plan_steps(
    kinds: Mapping[str, Kind],
    seeds: Sequence[Seed],
    existing: Sequence[Record],
    deleted: Collection[str],
    *,
    force: bool,
    paths: Collection[str] | None = None,
) -> list[Step]:
    """Plan what to do with seeds, by name and source hash. Pure.

    `existing`: the records of the seeds' kinds. `deleted`: names of seeds whose record a person
    deleted. `force` overwrites edits and makes deleted records again. `paths`: the documents that
    were read, removed ones included: a record from one of them without a seed today is outdated,
    unless its project or document was renamed. None: nothing is known of other documents.
    """
    record_of_key: dict[str, Record] = {}
    twice: list[Record] = []
    for record in sorted(
        (seeded for seeded in existing if seeded.text("entity_id")), key=lambda seeded: seeded.id
    ):
        if record_of_key.setdefault(record.text("entity_id"), record) is not record:
            twice.append(record)
    _adopt_renamed(record_of_key, seeds, paths)
    by_hand = {record.id: record for record in existing if not record.text("entity_id")}
    steps = [
        _plan_step(kinds[seed.kind], seed, record_of_key.get(seed.key), seed.key in deleted, force)
        if seed.key in record_of_key or seed.id not in by_hand
        else Step("kept", seed, "a record of this id was made by hand", by_hand[seed.id])
        for seed in seeds
    ]
    outdated = [
        (outdated_record, f"no longer in {outdated_record.text('source_path')}")
        for outdated_record in _without_seed(record_of_key, seeds, paths)
    ]
    outdated += [(outdated_record, "seeded twice, on two branches") for outdated_record in twice]
    return steps + [
        step
        for outdated_record, reason in outdated
        if (step := _plan_outdated(kinds[outdated_record.kind], outdated_record, reason))
    ]


def _without_seed(
    record_of_key: Mapping[str, Record], seeds: Sequence[Seed], paths: Collection[str] | None
) -> list[Record]:
    """Return the records from these documents that no seed of today has the name of."""
    now = {seed.key for seed in seeds}
    return [
        seeded
        for key, seeded in record_of_key.items()
        if key not in now and seeded.text("source_path") in (paths or ())
    ]


def _adopt_renamed(
    record_of_key: dict[str, Record], seeds: Sequence[Seed], paths: Collection[str] | None
) -> None:
    """Give a seed without a record the one with its text or its section whose project or document
    was renamed.
    """
    free = _without_seed(record_of_key, seeds, paths)
    for seed in (unseeded for unseeded in seeds if unseeded.key not in record_of_key):
        section = seed.key.partition("__")[2] or seed.key
        for candidate in free:
            same = (
                candidate.text("source_hash") == seed.hash
                or candidate.text("entity_id").partition("__")[2] == section
            )
            if candidate.kind == seed.kind and same:
                free.remove(candidate)
                record_of_key[seed.key] = record_of_key.pop(candidate.text("entity_id"))
                break


def _plan_outdated(kind: Kind, record: Record, reason: str) -> Step | None:
    """Plan what to do with a record whose section or document was removed; None: it is outdated
    already.
    """
    ended = _ended_status(kind)
    if record.broken or not ended or record.status == ended:
        return None
    seed = Seed(
        kind.name, record.text("entity_id"), {"title": record.title}, record.text("source_path"), ""
    )
    if record.text("seeded_hash") != content_digest(kind, record.values):
        return Step("kept", seed, "its source was removed; edited by hand since", record)
    return Step("outdated", seed, reason, record)


def _ended_status(kind: Kind) -> str:
    """Return the status of a record of which the seed was removed; empty: the kind has none."""
    return next((status for status in ("outdated", "retired") if status in kind.statuses), "")


def _plan_step(kind: Kind, seed: Seed, record: Record | None, deleted: bool, force: bool) -> Step:
    if record is None:
        if deleted and not force:
            return Step("kept", seed, "its record was deleted; --force makes it again")
        return Step("created", seed)
    if record.broken:
        return Step("kept", seed, f"its file can't be read today: {record.broken}", record)
    moved = record.text("entity_id") != seed.key or record.text("source_path") not in (
        "",
        seed.path,
    )
    if record.text("source_hash") == seed.hash and not force and not moved:
        return Step("skipped", seed, "nothing changed", record)
    if record.text("seeded_hash") != content_digest(kind, record.values) and not force:
        return Step("kept", seed, "edited by hand since; --force writes over it", record)
    if moved:
        return Step("updated", seed, f"was {record.text('source_path')}", record)
    return Step(
        "updated",
        seed,
        "forced" if record.text("source_hash") == seed.hash else "its source changed",
        record,
    )


def plan_seeding(
    ws: Workspace,
    seeds: Sequence[Seed],
    *,
    force: bool = False,
    paths: Collection[str] | None = None,
) -> list[Step]:
    """Return what `seed_records` would do; write nothing. `force`, `paths`: as in `plan_steps`."""
    kinds = tuple(
        dict.fromkeys([*(seed.kind for seed in seeds), *(_DOCUMENT_KINDS if paths else ())])
    )
    if kinds:
        existing = list_records(ws, RecordFilter(kinds, archived=True, expired=True))
    else:
        existing = []
    existing = [one for one in existing if one.text("source") != SYSTEM_SOURCE or not paths]
    return plan_steps(
        ws.kinds, seeds, existing, _deleted_keys(ws, existing), force=force, paths=paths
    )


def seed_records(
    ws: Workspace,
    seeds: Sequence[Seed],
    scope: str,
    *,
    force: bool = False,
    paths: Collection[str] | None = None,
) -> list[Step]:
    """Do what `plan_seeding` returns, and mark it; return the steps with their records. `scope`:
    `project` or `system`.

    Problems for a seed that its kind refuses, as `create_record`; EnvironmentProblem where nothing
    can be written.
    """
    require_initialized(ws)
    steps = plan_seeding(ws, seeds, force=force, paths=paths)
    for kind in dict.fromkeys(step.seed.kind for step in steps):
        new = [step.seed for step in steps if step.what == "created" and step.seed.kind == kind]
        if new:
            raws = [{**seed.values, **_seed_fields(ws, seed)} for seed in new]
            created = create_records(
                ws, ws.kinds[kind], raws, asked=[seed.id for seed in new], by="seed"
            )
            by_key = dict(zip((seed.key for seed in new), created, strict=True))
            steps = [replace(step, record=by_key.get(step.seed.key, step.record)) for step in steps]
    changed = ("updated", "outdated")
    steps = [
        replace(step, record=_change_seeded(ws, step)) if step.what in changed else step
        for step in steps
    ]
    if steps:
        _mark_seeded(ws, scope, steps)
    return steps


def seeded_records(ws: Workspace, scopes: Sequence[str] = SEED_SCOPES) -> list[tuple[Record, bool]]:
    """Return (record, whether a person has edited it since) for all that seeding made in these
    scopes.
    """
    seeded = []
    for record in list_records(ws, RecordFilter(archived=True, expired=True)):
        if record.text("source") == SYSTEM_SOURCE:
            scope = "system"
        else:
            scope = "project"
        if record.text("entity_id") and scope in scopes and not record.broken:
            edited = record.text("seeded_hash") != content_digest(
                ws.kinds[record.kind], record.values
            )
            seeded.append((record, edited))
    return seeded


def clear_seeded(ws: Workspace, records: Sequence[Record]) -> None:
    """Delete these records; they may be seeded again. Files stay in git's history, IDs are never
    used again.
    """
    for record in records:
        delete_record(ws, record, by="seed")
    keys = {record.text("entity_id") for record in records}
    marker = _read_marker(ws)
    marker["keys"] = [key for key in marker["keys"] if key not in keys]
    if ws.state.directory.is_dir():
        _write_marker(ws, marker)


def _seed_fields(ws: Workspace, seed: Seed) -> dict[str, str]:
    kind = ws.kinds[seed.kind]
    values, _ = validate(kind, redact_values(seed.values), lambda name: (seed.path, 0, 0))
    return {
        "entity_id": seed.key,
        "source_path": seed.path,
        "source_hash": seed.hash,
        "seeded_hash": content_digest(kind, values),
    }


def _change_seeded(ws: Workspace, step: Step) -> Record:
    """Write the values of the seed, without fields that it no longer has; or mark the record as
    outdated.
    """
    assert step.record is not None
    if step.what == "outdated":
        ended = _ended_status(ws.kinds[step.record.kind])
        removed = {"status": ended, "source_hash": _REMOVED}
        return change_record(ws, step.record, removed, how="outdate", by="seed")
    seed = step.seed
    own = {one.name for one in ws.kinds[seed.kind].fields} - _SEED_FIELDS
    cleared = {name: None for name in own if name in step.record.values and name not in seed.values}
    values = {
        name: value for name, value in seed.values.items() if name != "status"
    }  # verbs change a status
    is_back = step.record.text("source_hash") == _REMOVED
    if is_back:
        back = {"status": ws.kinds[seed.kind].live[0]}
    else:
        back = {}
    changes = {**cleared, **values, **back, **_seed_fields(ws, seed)}
    return change_record(ws, step.record, changes, how="seed", by="seed")


def _deleted_keys(ws: Workspace, existing: Sequence[Record]) -> set[str]:
    """Return the names of seeds that were seeded here once, and whose records a person has deleted.

    One whose file is on another branch only, and never was on this one, is not deleted: it can be
    made here too.
    """
    marker = _read_marker(ws)
    present = {one.text("entity_id") for one in existing}
    files: dict[str, Any] = marker["files"] if isinstance(marker.get("files"), dict) else {}
    absent = {key: str(files[key]) for key in marker["keys"] if key not in present and key in files}
    if not absent or ws.repo is None:
        return set(marker["keys"])
    here, anywhere = (
        paths_in_history(ws, revision, KNOWLEDGE_FOLDER) for revision in ("HEAD", "--all")
    )
    return set(marker["keys"]) - {
        key for key, path in absent.items() if path in anywhere and path not in here
    }


def _read_marker(ws: Workspace) -> dict[str, Any]:
    try:
        marker = json.loads((ws.state.directory / SEED_MARKER).read_bytes())
    except (OSError, ValueError):
        marker = None  # without a marker every seed is compared again, nothing else
    if (
        isinstance(marker, dict)
        and marker.get("schema") == _MARKER_SCHEMA
        and isinstance(marker.get("keys"), list)
    ):
        return marker
    return {"schema": _MARKER_SCHEMA, "scopes": {}, "keys": []}


def _write_marker(ws: Workspace, marker: dict[str, Any]) -> None:
    write_atomic(
        ws.state.directory / SEED_MARKER, json.dumps(marker, indent=2).encode(), mode=0o600
    )


def _mark_seeded(ws: Workspace, scope: str, steps: Sequence[Step]) -> None:
    marker = _read_marker(ws)
    before = marker.get("files")
    files = {step.seed.key: step.record.path for step in steps if step.record and step.record.path}
    marker["files"] = {**(before if isinstance(before, dict) else {}), **files}
    marker["keys"] = sorted({*map(str, marker["keys"]), *(step.seed.key for step in steps)})
    whole = _text_digest("\n".join(f"{step.seed.key} {step.seed.hash}" for step in steps))
    marker["scopes"][scope] = {"at": iso(ws.clock.now()), "hash": whole, "seeds": len(steps)}
    _write_marker(ws, marker)
