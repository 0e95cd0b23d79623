"""Seeding: records made from a project's own documents, updated when these change, never created twice.

A seed is identified by its name (`entity_id`) and the hash of its source text. What a person changed in a seeded
record, or deleted, is not changed back.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.clock import iso
from kl_hooks.model.canonical import canonical, replace_surrogates
from kl_hooks.model.kind import SEEDED, Kind
from kl_hooks.model.record import Record, Value
from kl_hooks.records.interview import SYSTEM_SOURCE
from kl_hooks.records.query import RecordFilter, list_records
from kl_hooks.records.repository import KNOWLEDGE_FOLDER
from kl_hooks.records.validate import validate
from kl_hooks.records.write import change_record, create_records, delete_record, redact_values, require_setup
from kl_hooks.store.files import write_atomic

if TYPE_CHECKING:
    from kl_hooks.workspace import Workspace


_SEED_FIELDS: Final = frozenset(one.name for one in SEEDED)
_NOT_IN_ID: Final = re.compile(r"[^a-z0-9-]")


@dataclass(frozen=True, slots=True)
class Seed:
    """A record that could be made."""

    kind: str
    key: str
    """Its `entity_id`: the same in every run. Of a project it begins with `<project>__`; of the system with nothing."""
    values: Mapping[str, Any]
    path: str
    """What it was read from."""
    text: str
    """What was read there: its hash says whether it changed."""
    id: str = ""
    """Of the record, where the source names it."""

    @property
    def hash(self) -> str:
        """sha256 of what was read."""
        return text_digest(self.text)


@dataclass(frozen=True, slots=True)
class Step:
    """What is done with a seed."""

    what: str
    """`created`, `updated`, `skipped` (nothing changed), `outdated` (its section or document is gone), `kept` (a person
    has changed or deleted it)."""
    seed: Seed
    reason: str = ""
    record: Record | None = field(default=None, compare=False)
    """The record that is there before, or, once done, after."""


def project_id(name: str) -> str:
    """`My_Project 2` → `my-project-2`: lower case, `-` for spaces and `_`, all else dropped, at most 50 characters."""
    return _NOT_IN_ID.sub("", re.sub(r"[\s_]+", "-", name.strip().lower()))[:50].strip("-") or "project"


def text_digest(text: str) -> str:
    """sha256 of a text, hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def content_digest(kind: Kind, values: Mapping[str, Value]) -> str:
    """sha256 over what the kind's own fields say: it differs once a person has edited the record."""
    own = {one.name for one in kind.fields} - _SEED_FIELDS | {"title"}
    plain = {
        name: dict(value) if isinstance(value, Mapping) else value for name, value in values.items() if name in own
    }
    return hashlib.sha256(canonical(replace_surrogates(plain))).hexdigest()


def plan_steps(
    kinds: Mapping[str, Kind],
    seeds: Sequence[Seed],
    there: Sequence[Record],
    gone: Collection[str],
    *,
    force: bool,
    paths: Collection[str] | None = None,
) -> list[Step]:
    """What is to be done: upsert by name and source hash. `there`: the records of the seeds' kinds. `gone`: names of
    seeds that were sown here once; without a record today a person has deleted it. `force` writes over both.

    `paths`: the documents that were looked at, those that are gone among them. A record that was read from one of them
    and is no seed of today is outdated; where the project or the document got another name, its record is taken over.
    None: nothing is known of other documents.
    """
    known: dict[str, Record] = {}
    twice: list[Record] = []
    for record in sorted((one for one in there if one.text("entity_id")), key=lambda one: one.id):
        if known.setdefault(record.text("entity_id"), record) is not record:
            twice.append(record)
    _adopt_renamed(known, seeds, paths)
    taken = {record.id: record for record in there if not record.text("entity_id")}
    done = [
        _plan_step(kinds[seed.kind], seed, known.get(seed.key), seed.key in gone, force)
        if seed.key in known or seed.id not in taken
        else Step("kept", seed, "a record of this id was made by hand", taken[seed.id])
        for seed in seeds
    ]
    now = {seed.key for seed in seeds}
    late = [one for key, one in known.items() if key not in now and one.text("source_path") in (paths or ())]
    return done + [step for one in (*late, *twice) if (step := _plan_removed(kinds[one.kind], one, twice=one in twice))]


def _adopt_renamed(known: dict[str, Record], seeds: Sequence[Seed], paths: Collection[str] | None) -> None:
    """Gives seeds without a record that of a seed of today's words whose project or document got another name."""
    now = {seed.key for seed in seeds}
    free = [one for key, one in known.items() if key not in now and one.text("source_path") in (paths or ())]
    for seed in seeds:
        if seed.key in known:
            continue
        bare = seed.key.partition("__")[2] or seed.key
        same = (
            one for one in free
            if one.kind == seed.kind
            and (one.text("source_hash") == seed.hash or one.text("entity_id").partition("__")[2] == bare)
        )  # fmt: skip
        if record := next(same, None):
            free.remove(record)
            known.pop(record.text("entity_id"))
            known[seed.key] = record


def _plan_removed(kind: Kind, record: Record, *, twice: bool) -> Step | None:
    """What is done with a record whose section or document is gone; None: it says so already."""
    if record.broken or "outdated" not in kind.statuses or record.status == "outdated":
        return None
    seed = Seed(kind.name, record.text("entity_id"), {"title": record.title}, record.text("source_path"), "")
    if record.text("seeded_hash") != content_digest(kind, record.values):
        return Step("kept", seed, "its source is gone; edited by hand since", record)
    reason = "seeded twice, on two branches" if twice else f"no longer in {record.text('source_path')}"
    return Step("outdated", seed, reason, record)


def _plan_step(kind: Kind, seed: Seed, record: Record | None, sown: bool, force: bool) -> Step:
    if record is None:
        if sown and not force:
            return Step("kept", seed, "its record was deleted; --force makes it again")
        return Step("created", seed)
    if record.broken:
        return Step("kept", seed, f"its file can't be read today: {record.broken}", record)
    moved = record.text("entity_id") != seed.key or record.text("source_path") not in ("", seed.path)
    if record.text("source_hash") == seed.hash and not force and not moved:
        return Step("skipped", seed, "nothing changed", record)
    if record.text("seeded_hash") != content_digest(kind, record.values) and not force:
        return Step("kept", seed, "edited by hand since; --force writes over it", record)
    if moved:
        return Step("updated", seed, f"was {record.text('source_path')}", record)
    return Step("updated", seed, "forced" if record.text("source_hash") == seed.hash else "its source changed", record)


SEED_MARKER: Final = "seeded.json"
_MARKER_SCHEMA: Final = "kl.seeded/1"


_DOCUMENT_KINDS: Final = ("fact", "guide")
"""Kinds of which a document gives records; what a document no longer says is looked for among these."""
_REMOVED: Final = "removed"
"""The source hash of a record whose section is gone: back in the document, it is renewed, in any clone."""


def plan_seeding(
    ws: Workspace, seeds: Sequence[Seed], *, force: bool = False, paths: Collection[str] | None = None
) -> list[Step]:
    """What sowing would do; writes nothing. `paths`: the documents that were looked at, see `seed.steps`."""
    kinds = tuple(dict.fromkeys([*(seed.kind for seed in seeds), *(_DOCUMENT_KINDS if paths else ())]))
    there = list_records(ws, RecordFilter(kinds, archived=True, expired=True)) if kinds else []
    there = [one for one in there if one.text("source") != SYSTEM_SOURCE or not paths]
    return plan_steps(ws.kinds, seeds, there, _deleted_keys(ws, there), force=force, paths=paths)


def _deleted_keys(ws: Workspace, there: Sequence[Record]) -> set[str]:
    """Names of the seeds that were sown here once, and whose records a person has deleted.

    One whose file is on another branch only, and never was on this one, is not deleted: it can be made here too.
    """
    marker = _read_marker(ws)
    alive = {one.text("entity_id") for one in there}
    files: dict[str, Any] = marker["files"] if isinstance(marker.get("files"), dict) else {}
    absent = {key: str(files[key]) for key in marker["keys"] if key not in alive and key in files}
    if not absent or ws.repo is None:
        return set(marker["keys"])
    here, anywhere = _paths_in_history(ws, "HEAD"), _paths_in_history(ws, "--all")
    elsewhere = {key for key, path in absent.items() if path in anywhere and path not in here}
    return set(marker["keys"]) - elsewhere


def _paths_in_history(ws: Workspace, revision: str) -> set[str]:
    """Every path below `.kl/knowledge/` that a commit of this revision, or of `--all`, has touched."""
    from kl_hooks.git.repository import git_in
    from kl_hooks.git.run import GitFailed

    assert ws.repo is not None
    try:
        out = git_in(
            ws.repo,
            "log",
            revision,
            "--format=",
            "--name-only",
            "--no-renames",
            "-z",
            "--",
            f":(top){KNOWLEDGE_FOLDER}",
        )
    except GitFailed:
        return set()  # no commit yet
    return {name.decode("utf-8", "replace") for name in re.split(rb"[\0\n]", out) if name}


def seed_records(
    ws: Workspace, seeds: Sequence[Seed], scope: str, *, force: bool = False, paths: Collection[str] | None = None
) -> list[Step]:
    """Does it, and marks it: the steps with their records. `scope`: `project` or `system`.

    Problems for a seed that its kind refuses, as `create`; EnvironmentProblem where nothing can be written.
    """
    require_setup(ws)
    done = plan_seeding(ws, seeds, force=force, paths=paths)
    for kind in dict.fromkeys(step.seed.kind for step in done):
        new = [step for step in done if step.what == "created" and step.seed.kind == kind]
        if new:
            raws = [{**step.seed.values, **_seed_fields(ws, step.seed)} for step in new]
            made = create_records(ws, ws.kinds[kind], raws, asked=[step.seed.id for step in new], by="seed")
            there = dict(zip((step.seed.key for step in new), made, strict=True))
            done = [replace(step, record=there.get(step.seed.key, step.record)) for step in done]
    writes = {"updated": _update_record, "outdated": _mark_outdated}
    done = [replace(step, record=writes[step.what](ws, step)) if step.what in writes else step for step in done]
    if done:
        _write_marker(ws, scope, done)
    return done


def _seed_fields(ws: Workspace, seed: Seed) -> dict[str, str]:
    kind = ws.kinds[seed.kind]
    values, _ = validate(kind, redact_values(seed.values), lambda name: (seed.path, 0, 0))
    return {
        "entity_id": seed.key, "source_path": seed.path, "source_hash": seed.hash,
        "seeded_hash": content_digest(kind, values),
    }  # fmt: skip


def _update_record(ws: Workspace, step: Step) -> Record:
    """The record with what the seed says today; what the seed no longer says is taken out."""
    assert step.record is not None
    seed = step.seed
    own = {one.name for one in ws.kinds[seed.kind].fields} - {one.name for one in SEEDED}
    emptied = {name: None for name in own if name in step.record.values and name not in seed.values}
    fresh = {name: value for name, value in seed.values.items() if name != "status"}  # a status is changed by verbs
    back = {"status": "current"} if step.record.text("source_hash") == _REMOVED else {}
    return change_record(ws, step.record, {**emptied, **fresh, **back, **_seed_fields(ws, seed)}, how="seed", by="seed")


def _mark_outdated(ws: Workspace, step: Step) -> Record:
    """The record, of which no document says anything any more."""
    assert step.record is not None
    return change_record(ws, step.record, {"status": "outdated", "source_hash": _REMOVED}, how="outdate", by="seed")


def last_seeded(ws: Workspace, scope: str) -> str:
    """When this scope was sown here last (ISO 8601); empty: never."""
    return str(_read_marker(ws)["scopes"].get(scope, {}).get("at", ""))


def _forget_keys(ws: Workspace, keys: Collection[str]) -> None:
    """These seeds count as never sown: sowing makes them again."""
    marker = _read_marker(ws)
    marker["keys"] = [key for key in marker["keys"] if key not in keys]
    if ws.state.directory.is_dir():
        write_atomic(ws.state.directory / SEED_MARKER, json.dumps(marker, indent=2).encode(), mode=0o600)


def _read_marker(ws: Workspace) -> dict[str, Any]:
    try:
        found = json.loads((ws.state.directory / SEED_MARKER).read_bytes())
    except (OSError, ValueError):
        found = None  # a marker that is lost costs nothing but a look at every seed
    if isinstance(found, dict) and found.get("schema") == _MARKER_SCHEMA and isinstance(found.get("keys"), list):
        return found
    return {"schema": _MARKER_SCHEMA, "scopes": {}, "keys": []}


def _write_marker(ws: Workspace, scope: str, done: Sequence[Step]) -> None:
    marker = _read_marker(ws)
    marker["keys"] = sorted({*map(str, marker["keys"]), *(step.seed.key for step in done)})
    files = {step.seed.key: step.record.path for step in done if step.record and step.record.path}
    before = marker.get("files")
    marker["files"] = {**(before if isinstance(before, dict) else {}), **files}
    whole = text_digest("\n".join(f"{step.seed.key} {step.seed.hash}" for step in done))
    marker["scopes"][scope] = {"at": iso(ws.clock.now()), "hash": whole, "seeds": len(done)}
    write_atomic(ws.state.directory / SEED_MARKER, json.dumps(marker, indent=2).encode(), mode=0o600)


SEED_SCOPES: Final = ("project", "system")


def seeded_records(ws: Workspace, scopes: Sequence[str] = SEED_SCOPES) -> list[tuple[Record, bool]]:
    """(record, whether a person has edited it since) for all that seeding made in these scopes."""
    found = []
    for record in list_records(ws, RecordFilter(archived=True, expired=True)):
        scope = "system" if record.text("source") == SYSTEM_SOURCE else "project"
        if record.text("entity_id") and scope in scopes and not record.broken:
            edited = record.text("seeded_hash") != content_digest(ws.kinds[record.kind], record.values)
            found.append((record, edited))
    return found


def clear_seeded(ws: Workspace, records: Sequence[Record]) -> None:
    """Deletes these records; they may be sown again. Files stay in git's history, ids are never used again."""
    for record in records:
        delete_record(ws, record, by="seed")
    _forget_keys(ws, [record.text("entity_id") for record in records])
