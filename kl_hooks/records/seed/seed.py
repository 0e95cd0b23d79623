"""A seed, and what is to be done with it: pure."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from kl_hooks.model.canonical import canonical, replace_surrogates
from kl_hooks.model.kind import Kind
from kl_hooks.model.record import Record, Value
from kl_hooks.records.seed.fields import SEEDED

_BOOKS: Final = frozenset(one.name for one in SEEDED)
_DROPPED: Final = re.compile(r"[^a-z0-9-]")


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
        return digest(self.text)


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
    return _DROPPED.sub("", re.sub(r"[\s_]+", "-", name.strip().lower()))[:50].strip("-") or "project"


def digest(text: str) -> str:
    """sha256 of a text, hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def said(kind: Kind, values: Mapping[str, Value]) -> str:
    """sha256 over what the kind's own fields say: it differs once a person has edited the record."""
    own = {one.name for one in kind.fields} - _BOOKS | {"title"}
    plain = {
        name: dict(value) if isinstance(value, Mapping) else value for name, value in values.items() if name in own
    }
    return hashlib.sha256(canonical(replace_surrogates(plain))).hexdigest()


def steps(
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
    _take_over(known, seeds, paths)
    taken = {record.id: record for record in there if not record.text("entity_id")}
    done = [
        _step(kinds[seed.kind], seed, known.get(seed.key), seed.key in gone, force)
        if seed.key in known or seed.id not in taken
        else Step("kept", seed, "a record of this id was made by hand", taken[seed.id])
        for seed in seeds
    ]
    now = {seed.key for seed in seeds}
    late = [one for key, one in known.items() if key not in now and one.text("source_path") in (paths or ())]
    return done + [step for one in (*late, *twice) if (step := _late(kinds[one.kind], one, twice=one in twice))]


def _take_over(known: dict[str, Record], seeds: Sequence[Seed], paths: Collection[str] | None) -> None:
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


def _late(kind: Kind, record: Record, *, twice: bool) -> Step | None:
    """What is done with a record whose section or document is gone; None: it says so already."""
    if record.broken or "outdated" not in kind.statuses or record.status == "outdated":
        return None
    seed = Seed(kind.name, record.text("entity_id"), {"title": record.title}, record.text("source_path"), "")
    if record.text("seeded_hash") != said(kind, record.values):
        return Step("kept", seed, "its source is gone; edited by hand since", record)
    reason = "seeded twice, on two branches" if twice else f"no longer in {record.text('source_path')}"
    return Step("outdated", seed, reason, record)


def _step(kind: Kind, seed: Seed, record: Record | None, sown: bool, force: bool) -> Step:
    if record is None:
        if sown and not force:
            return Step("kept", seed, "its record was deleted; --force makes it again")
        return Step("created", seed)
    if record.broken:
        return Step("kept", seed, f"its file can't be read today: {record.broken}", record)
    moved = record.text("entity_id") != seed.key or record.text("source_path") not in ("", seed.path)
    if record.text("source_hash") == seed.hash and not force and not moved:
        return Step("skipped", seed, "nothing changed", record)
    if record.text("seeded_hash") != said(kind, record.values) and not force:
        return Step("kept", seed, "edited by hand since; --force writes over it", record)
    if moved:
        return Step("updated", seed, f"was {record.text('source_path')}", record)
    return Step("updated", seed, "forced" if record.text("source_hash") == seed.hash else "its source changed", record)
