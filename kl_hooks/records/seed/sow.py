"""Sowing: seeds held against what is there, then written; a marker in the state directory remembers what was sown."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.clock import iso
from kl_hooks.model.record import Record
from kl_hooks.records.ask import Wanted, every
from kl_hooks.records.check import checked
from kl_hooks.records.files import KNOWLEDGE
from kl_hooks.records.interview.question import SYSTEM
from kl_hooks.records.seed.fields import SEEDED
from kl_hooks.records.seed.seed import Seed, Step, digest, said, steps
from kl_hooks.records.write import change, cleaned, create_many, refuse_unset
from kl_hooks.store.atomic import write_atomic

if TYPE_CHECKING:
    from kl_hooks.workspace.open import Workspace

MARKER: Final = "seeded.json"
_SCHEMA: Final = "kl.seeded/1"


SEEDED_KINDS: Final = ("fact", "guide")
"""Kinds of which a document gives records; what a document no longer says is looked for among these."""
REMOVED: Final = "removed"
"""The source hash of a record whose section is gone: back in the document, it is renewed, in any clone."""


def planned(
    ws: Workspace, seeds: Sequence[Seed], *, force: bool = False, paths: Collection[str] | None = None
) -> list[Step]:
    """What sowing would do; writes nothing. `paths`: the documents that were looked at, see `seed.steps`."""
    kinds = tuple(dict.fromkeys([*(seed.kind for seed in seeds), *(SEEDED_KINDS if paths else ())]))
    there = every(ws, Wanted(kinds, archived=True, expired=True)) if kinds else []
    there = [one for one in there if one.text("source") != SYSTEM or not paths]
    return steps(ws.kinds, seeds, there, _deleted(ws, there), force=force, paths=paths)


def _deleted(ws: Workspace, there: Sequence[Record]) -> set[str]:
    """Names of the seeds that were sown here once, and whose records a person has deleted.

    One whose file is on another branch only, and never was on this one, is not deleted: it can be made here too.
    """
    marker = _marker(ws)
    alive = {one.text("entity_id") for one in there}
    files: dict[str, Any] = marker["files"] if isinstance(marker.get("files"), dict) else {}
    absent = {key: str(files[key]) for key in marker["keys"] if key not in alive and key in files}
    if not absent or ws.repo is None:
        return set(marker["keys"])
    here, anywhere = _committed(ws, "HEAD"), _committed(ws, "--all")
    elsewhere = {key for key, path in absent.items() if path in anywhere and path not in here}
    return set(marker["keys"]) - elsewhere


def _committed(ws: Workspace, revision: str) -> set[str]:
    """Every path below `.kl/knowledge/` that a commit of this revision, or of `--all`, has touched."""
    from kl_hooks.git.repository import ask
    from kl_hooks.git.run import GitFailed

    assert ws.repo is not None
    try:
        out = ask(
            ws.repo, "log", revision, "--format=", "--name-only", "--no-renames", "-z", "--", f":(top){KNOWLEDGE}"
        )
    except GitFailed:
        return set()  # no commit yet
    return {name.decode("utf-8", "replace") for name in re.split(rb"[\0\n]", out) if name}


def sow(
    ws: Workspace, seeds: Sequence[Seed], scope: str, *, force: bool = False, paths: Collection[str] | None = None
) -> list[Step]:
    """Does it, and marks it: the steps with their records. `scope`: `project` or `system`.

    Problems for a seed that its kind refuses, as `create`; EnvironmentProblem where nothing can be written.
    """
    refuse_unset(ws)
    done = planned(ws, seeds, force=force, paths=paths)
    for kind in dict.fromkeys(step.seed.kind for step in done):
        new = [step for step in done if step.what == "created" and step.seed.kind == kind]
        if new:
            raws = [{**step.seed.values, **_books(ws, step.seed)} for step in new]
            made = create_many(ws, ws.kinds[kind], raws, asked=[step.seed.id for step in new], by="seed")
            there = dict(zip((step.seed.key for step in new), made, strict=True))
            done = [replace(step, record=there.get(step.seed.key, step.record)) for step in done]
    writes = {"updated": _changed, "outdated": _outdated}
    done = [replace(step, record=writes[step.what](ws, step)) if step.what in writes else step for step in done]
    if done:
        _mark(ws, scope, done)
    return done


def _books(ws: Workspace, seed: Seed) -> dict[str, str]:
    kind = ws.kinds[seed.kind]
    values, _ = checked(kind, cleaned(seed.values), lambda name: (seed.path, 0, 0))
    return {
        "entity_id": seed.key, "source_path": seed.path, "source_hash": seed.hash, "seeded_hash": said(kind, values),
    }  # fmt: skip


def _changed(ws: Workspace, step: Step) -> Record:
    """The record with what the seed says today; what the seed no longer says is taken out."""
    assert step.record is not None
    seed = step.seed
    own = {one.name for one in ws.kinds[seed.kind].fields} - {one.name for one in SEEDED}
    emptied = {name: None for name in own if name in step.record.values and name not in seed.values}
    fresh = {name: value for name, value in seed.values.items() if name != "status"}  # a status is changed by verbs
    back = {"status": "current"} if step.record.text("source_hash") == REMOVED else {}
    return change(ws, step.record, {**emptied, **fresh, **back, **_books(ws, seed)}, how="seed", by="seed")


def _outdated(ws: Workspace, step: Step) -> Record:
    """The record, of which no document says anything any more."""
    assert step.record is not None
    return change(ws, step.record, {"status": "outdated", "source_hash": REMOVED}, how="outdate", by="seed")


def sown(ws: Workspace, scope: str) -> str:
    """When this scope was sown here last (ISO 8601); empty: never."""
    return str(_marker(ws)["scopes"].get(scope, {}).get("at", ""))


def forget(ws: Workspace, keys: Collection[str]) -> None:
    """These seeds count as never sown: sowing makes them again."""
    marker = _marker(ws)
    marker["keys"] = [key for key in marker["keys"] if key not in keys]
    if ws.state.directory.is_dir():
        write_atomic(ws.state.directory / MARKER, json.dumps(marker, indent=2).encode(), mode=0o600)


def _marker(ws: Workspace) -> dict[str, Any]:
    try:
        found = json.loads((ws.state.directory / MARKER).read_bytes())
    except (OSError, ValueError):
        found = None  # a marker that is lost costs nothing but a look at every seed
    if isinstance(found, dict) and found.get("schema") == _SCHEMA and isinstance(found.get("keys"), list):
        return found
    return {"schema": _SCHEMA, "scopes": {}, "keys": []}


def _mark(ws: Workspace, scope: str, done: Sequence[Step]) -> None:
    marker = _marker(ws)
    marker["keys"] = sorted({*map(str, marker["keys"]), *(step.seed.key for step in done)})
    files = {step.seed.key: step.record.path for step in done if step.record and step.record.path}
    before = marker.get("files")
    marker["files"] = {**(before if isinstance(before, dict) else {}), **files}
    whole = digest("\n".join(f"{step.seed.key} {step.seed.hash}" for step in done))
    marker["scopes"][scope] = {"at": iso(ws.clock.now()), "hash": whole, "seeds": len(done)}
    write_atomic(ws.state.directory / MARKER, json.dumps(marker, indent=2).encode(), mode=0o600)
