"""Retrieval: records as candidates for a context package."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from kl_hooks.errors import UsageProblem
from kl_hooks.model.claim import Observation, tier
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.kind import Kind
from kl_hooks.model.package import Candidate
from kl_hooks.model.record import Record
from kl_hooks.model.text import one_line
from kl_hooks.records.events import CONTENT, events_by_record
from kl_hooks.records.liveness import filter_live, live_records, stale_reasons, uncommitted_paths
from kl_hooks.records.query import NO_LIMIT, RecordFilter, format_value, search_records
from kl_hooks.store.files import read_small

if TYPE_CHECKING:
    from kl_hooks.model.package import Task
    from kl_hooks.workspace import Workspace

NAMED_CATEGORIES: Final = (
    "role_constraints",
    "quality_gate_configs",
    "implementation_modes",
    "turn_states",
)
"""Budget categories whose records are chosen by role, type of work or task, never by words that a
task has.
"""
_MOST_QUERIES: Final = 12
"""Words of a task that records are searched by: names, then keywords, then failures."""
_NOT_IN_TEXT: Final = frozenset(
    ("title", "status", "date", "updated", "authority", "source", "expires", "tags", "anchors")
)


class SearchResult(NamedTuple):
    """The result of a search."""

    records: list[Record]
    total: int
    """Live records that match, those beyond the limit included."""
    omitted: int
    """Records that match and are not live."""


def find_records(ws: Workspace, task: Task, limit: int) -> list[Candidate]:
    """Return at most `limit` live records that match the task's words, best first."""
    # a document is found by its passages (`kl_hooks.documents.search`), a skill by what it does
    # (`kl_hooks.skills`)
    kinds = tuple(
        kind.name
        for kind in ws.kinds.values()
        if kind.budget_category not in NAMED_CATEGORIES and kind.name not in ("document", "skill")
    )
    signals = task.signals
    words = dict.fromkeys([*signals.symbols, *signals.paths, *signals.keywords, *signals.failures])
    # some may not be live
    matches = search_records(ws, [*words][:_MOST_QUERIES], RecordFilter(kinds), limit * 2)
    return current_candidates(ws, live_records(ws, matches), limit)


def search_live(
    ws: Workspace,
    words: Sequence[str],
    wanted: RecordFilter,
    limit: int = 20,
    select: Callable[[Sequence[Record]], Sequence[Record]] = lambda records: records,
) -> SearchResult:
    """Search for live records. Where `wanted` names statuses, or includes expired ones, nothing is
    omitted. `select`: of the matches those that may be counted.
    """
    # all matches, expired ones too: the answer states how many of them are not live
    matches = search_records(ws, words, wanted._replace(expired=True), NO_LIMIT)
    live, omitted = filter_live(ws, select(matches), wanted)
    return SearchResult(live[:limit], len(live), omitted)


def current_candidates(ws: Workspace, live: Sequence[Record], limit: int) -> list[Candidate]:
    """Return the first `limit` of these records that are not stale, as candidates."""
    stale = stale_reasons(ws, live)
    return demote_uncommitted(
        ws, [record_candidate(ws, record) for record in live if record.id not in stale][:limit]
    )


def demote_uncommitted(ws: Workspace, candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates; a file that differs from its commit ranks as an agent's, whatever
    authority it states.

    Unless it is as a person has written it with kl in this clone: then who wrote it is known.
    """
    uncommitted = uncommitted_paths(
        ws,
        {
            candidate.path
            for candidate in candidates
            if candidate.path and candidate.authority == "human"
        },
    )
    uncommitted -= _written_by_people(
        ws,
        {candidate.id: candidate.path for candidate in candidates if candidate.path in uncommitted},
    )
    return [
        candidate._replace(
            authority="agent",
            marks=candidate.marks or ("not committed",),
            reasons=(*candidate.reasons, "not committed yet, so it ranks as an agent's"),
        )
        if candidate.path in uncommitted
        else candidate
        for candidate in candidates
    ]


def textless_candidate(ws: Workspace, record: Record) -> Candidate:
    """Return a record as the rules of the policy see it: all that a rule can name, and no text."""
    kind = ws.kinds[record.kind]
    return Candidate(
        id=record.id,
        kind=kind.name,
        title="",
        text="",
        summary="",
        path=record.path,
        tags=record.many("tags"),
        classification=record.text("classification"),
        touches=_files_of(kind, record),
    )


def record_candidate(ws: Workspace, record: Record) -> Candidate:
    """Return a record as a candidate for a package."""
    kind = ws.kinds[record.kind]
    # an accepted decision or an approved memory is soft evidence; anything else is an assertion
    evidence = Observation(
        kind.proof or "AgentAssertion", "records", record.authority, record.id, hard=False
    )
    return textless_candidate(ws, record)._replace(
        title=record.title,
        text=record_text(kind, record),
        summary=_record_summary(kind, record),
        line=1 if record.path else 0,
        tier=tier([evidence]),
        freshness="current",
        authority=record.authority,
        reasons=(f"{kind.name}, {record.status}, by {record.authority}",),
        marks=("agent",) if record.authority == "agent" else (),
        read_from=record.text("source_path"),
    )


def _files_of(kind: Kind, record: Record) -> tuple[str, ...]:
    """Return the files, folders and globs that a record is about, without symbols and other
    records.
    """
    named = [
        text for field in kind.all_fields if field.type == "ids" for text in record.many(field.name)
    ]
    return tuple(
        text.removeprefix("file:") for text in named if text.startswith("file:") or "/" in text
    )


def record_text(kind: Kind, record: Record) -> str:
    """Return the title and each field with a value, in the order of the kind."""
    lines = [f"{record.id} {record.title}"]
    for field in kind.all_fields:
        value = record.values.get(field.name)
        # the title of a memory is its text where that is one line
        if value is None or field.internal or field.name in _NOT_IN_TEXT or value == record.title:
            continue
        if field.repeats and record.values.get(field.repeats):
            continue
        name = (field.section or field.name.replace("_", " ")).lower()
        if isinstance(value, Mapping):
            lines += [f"{name}:", *(f"- {key}: {item}" for key, item in value.items())]
        elif isinstance(value, tuple) and field.type == "lines":
            lines += [f"{name}:", *(f"- {item}" for item in value)]
        else:
            lines.append(f"{name}: {format_value(value)}")
    # what an agent does is no field of a SKILL.md: it is the text of the file
    return "\n".join(
        [*lines, *([f"\n{record.body.strip()}"] if kind.folders and record.body.strip() else [])]
    )


def _record_summary(kind: Kind, record: Record) -> str:
    """Return its title and the first line of its summary field (of a failure: what to do
    instead).
    """
    required = [field.name for field in kind.fields if field.type == "text" and field.required]
    texts = [
        record.text(name) for name in ([kind.summary_field] if kind.summary_field else required)
    ]
    first = next((text.strip().splitlines()[0] for text in reversed(texts) if text.strip()), "")
    return one_line(
        f"{record.id} {record.title}"
        + (f": {first}" if first and first not in record.title else "")
    )


def _written_by_people(ws: Workspace, files: Mapping[str, str]) -> frozenset[str]:
    """Return the paths, of ID → path, of files that are as a person last wrote them with kl, in
    this clone.
    """
    paths = set()
    for identifier, events in events_by_record(ws, list(files)).items():
        content = next(
            (event.body[CONTENT] for event in reversed(events) if CONTENT in event.body), None
        )
        with suppress(UsageProblem):  # one that can't be read is nobody's
            if content:
                data = read_small(ws.root / files[identifier], within=ws.root)
            else:
                data = None
            if data is not None and hashlib.sha256(data).hexdigest() == content:
                paths.add(files[identifier])
    return frozenset(paths)
