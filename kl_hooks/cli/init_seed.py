"""What `kl init` makes of the project's own documents: records, if the user agrees; and how they are taken back."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from kl_hooks.cli.common import note
from kl_hooks.cli.init_record import keep, record_of
from kl_hooks.errors import KlError
from kl_hooks.store.lock import store_lock

if TYPE_CHECKING:
    from kl_hooks.workspace.open import Workspace


def how_many(ws: Workspace) -> int:
    """Records that the documents at hand would give and that are not there yet; only small files are read for it."""
    from kl_hooks.kinds.seeds import project_seeds

    seeds = project_seeds(ws.root)[0]
    if not ws.initialised or not seeds:
        return len(seeds)
    from kl_hooks.records.seeding import plan_seeding

    try:
        return sum(step.what in ("created", "updated") for step in plan_seeding(ws, seeds))
    except KlError:  # what can't be read is said by who reads it
        return len(seeds)


def sow_here(ws: Workspace) -> list[str]:
    """Makes them and puts them on the record of `kl init`, so that --undo finds them; their paths.

    What goes wrong is said; the set-up itself stands.
    """
    from kl_hooks.kinds.seeds import document_paths, project_seeds
    from kl_hooks.records.seeding import seed_records

    seeds, remarks = project_seeds(ws.root)
    for remark in remarks:
        note(remark)
    try:
        done = seed_records(ws, seeds, "project", paths=document_paths())
    except KlError as problem:
        note(f"nothing was seeded: {problem} Try again with: kl seed")
        return []
    made = [step.record.path for step in done if step.what == "created" and step.record]
    with store_lock(ws.state.lock, wait=10.0, what="kl init"):
        record = record_of(ws.state, needed=True)
        hashes = {path: hashlib.sha256((ws.root / path).read_bytes()).hexdigest() for path in made}
        keep(ws.state, {**record, "created": {**record["created"], **hashes}})
    return made


def forget(ws: Workspace, removed: list[str]) -> None:
    """After --undo: what was sown may be sown again."""
    from kl_hooks.records.seeding import SEED_MARKER

    if any(path.startswith(".kl/knowledge/") for path in removed):
        (ws.state.directory / SEED_MARKER).unlink(missing_ok=True)
