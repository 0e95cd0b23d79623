"""The operation that makes records of the project's documents, or of what kl brings; and what is
done with the seeds of any document.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.parameter import Parameter
from kl_hooks.model.symbol import FilePath
from kl_hooks.operations.file_access import require_shown_files
from kl_hooks.operations.operation import Operation
from kl_hooks.operations.records import now
from kl_hooks.operations.written import Written

if TYPE_CHECKING:
    from kl_hooks.context.access import Access
    from kl_hooks.model.record import Record
    from kl_hooks.records.seeding import Seed, Step
    from kl_hooks.workspace import Workspace


class SeedStep(NamedTuple):
    """What is done with one record of a document."""

    what: str
    """`created`, `updated`, `skipped`, `outdated` or `kept`."""
    kind: str
    key: str
    title: str
    path: FilePath
    """The document."""
    digest: str
    """The sha256 of the text."""
    reason: str
    records: tuple[Written, ...]
    """The record that is there, before or after; none yet, or one."""


class Seeding(NamedTuple):
    """What is done with the records of documents."""

    scope: str
    """`documents`, `project` or `system`."""
    is_dry_run: bool
    steps: tuple[SeedStep, ...]
    unread: tuple[str, ...] = ()
    """What could not be read, and why."""
    answered: tuple[Written, ...] = ()
    """Records that were changed by the answers of an interview."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What whoever seeds has to know, of what he may be shown."""
        updated = (
            f"{change.record.id} ({change.record.title}) updated from interview answers."
            for change in self.answered
        )
        return (*self.unread, *updated)


def seeding(
    ws: Workspace,
    scope: str,
    steps: Iterable[Step],
    unread: Iterable[str],
    answered: Iterable[Record] = (),
    *,
    is_dry_run: bool,
) -> Seeding:
    """Return what is done with seeds, without secrets."""
    moment = now(ws)
    rows = (_seed_step(step, moment) for step in steps)
    changes = (Written(record, moment) for record in answered)
    return Seeding(scope, is_dry_run, tuple(rows), tuple(unread), tuple(changes))


def _seed_step(step: Step, moment: str) -> SeedStep:
    from kl_hooks.store.redaction import redact

    seed = step.seed
    return SeedStep(
        step.what,
        seed.kind,
        redact(seed.key),
        redact(str(seed.values.get("title", ""))),
        FilePath(seed.path),
        seed.hash,
        step.reason,
        (Written(step.record, moment),) if step.record else (),
    )


def seeding_to_dict(seeding: Seeding) -> dict[str, Any]:
    """Return what is done with seeds as `kl.seed/1`."""
    rows = [_step_to_dict(step) for step in seeding.steps]
    return {"scope": seeding.scope, "dry_run": seeding.is_dry_run, "seeds": rows}


def _step_to_dict(step: SeedStep) -> dict[str, str]:
    if step.records:
        record = step.records[0].record
    else:
        record = None
    return {
        "what": step.what,
        "kind": step.kind,
        "key": step.key,
        "title": step.title,
        "source_path": step.path,
        "source_hash": step.digest,
        "reason": step.reason,
        "id": record.id if record else "",
        "path": record.path if record else "",
    }


class SeedRequest(NamedTuple):
    """Which seeds."""

    is_system: Annotated[
        bool,
        Parameter(
            "What kl brings for any project: roles, gates, modes, workflows, rules.", name="system"
        ),
    ] = False
    is_forced: Annotated[
        bool, Parameter("Write over what was edited or deleted by hand, too.", name="force")
    ] = False
    is_dry_run: Annotated[
        bool, Parameter("Show what would be done; write nothing.", name="dry_run")
    ] = False


def _seed(ws: Workspace, request: SeedRequest, access: Access) -> Seeding:
    from kl_hooks.kinds.seeds import document_paths, project_seeds, system_seeds

    if request.is_system:
        return _seeded(ws, request, "system", system_seeds(ws.kinds), ())
    documents = document_paths()
    files = (ws.root / path for path in documents)
    require_shown_files(ws, access, filter(Path.is_file, files))
    seeds, unread = project_seeds(ws.root)
    return _seeded(ws, request, "project", seeds, unread, documents)


def _seeded(
    ws: Workspace,
    request: SeedRequest,
    scope: str,
    seeds: list[Seed],
    unread: Iterable[str],
    documents: tuple[str, ...] | None = None,
) -> Seeding:
    """Make records of seeds, or only look. `documents`: the paths that were read."""
    from kl_hooks.kinds.interview import apply_answers_to
    from kl_hooks.records.seeding import plan_seeding, seed_records

    if request.is_dry_run:
        plan = plan_seeding(ws, seeds, force=request.is_forced, paths=documents)
        return seeding(ws, scope, plan, unread, is_dry_run=True)
    steps = seed_records(ws, seeds, scope, force=request.is_forced, paths=documents)
    fresh = [step.record for step in steps if step.record and step.what in ("created", "updated")]
    answered = apply_answers_to(ws, fresh)
    return seeding(ws, scope, steps, unread, answered, is_dry_run=False)


SEED: Final = Operation(
    "seed",
    """Make guides and facts from README, AGENTS.md, CLAUDE.md, CONTRIBUTING.md and pyproject.toml.

    Seeding again changes only what changed in these documents; what a person edited or deleted is
    left alone.
    """,
    SeedRequest,
    _seed,
    seeding_to_dict,
    "kl.seed/1",
    "kl seed --system",
    is_tool=False,
    writes=True,
)
