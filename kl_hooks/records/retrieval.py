"""Retrieval: records and sections of docs as candidates for a context package."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from kl_hooks.model.claim import Observation, Tier, tier
from kl_hooks.model.kind import Kind
from kl_hooks.model.package import Candidate
from kl_hooks.model.record import Record
from kl_hooks.records.liveness import filter_live, is_live, stale_reasons
from kl_hooks.records.query import NO_LIMIT, RecordFilter, format_value, search_records
from kl_hooks.records.sync import PAGE_KIND as PAGE
from kl_hooks.records.sync import sync

if TYPE_CHECKING:
    from kl_hooks.model.package import Task
    from kl_hooks.records.page_search import DocSection
    from kl_hooks.workspace import Workspace


NAMED_CATEGORIES: Final = ("role_constraints", "quality_gate_configs", "implementation_modes", "turn_states")
"""Shares of what is asked for by role, type of work or task, never by the words that happen to stand in it."""
_MOST_SECTIONS: Final = 5
"""Sections of docs that are offered: prose has words of every task, and must not crowd out code."""
_LONGEST_SUMMARY: Final = 200


def find_records(ws: Workspace, task: Task, limit: int) -> list[Candidate]:
    """At most `limit` live records that fit the task's words, best first."""
    signals = task.signals
    words = [*signals.symbols, *signals.paths, *signals.keywords, *signals.failures]
    kinds = tuple(kind.name for kind in ws.kinds.values() if kind.budget_category not in NAMED_CATEGORIES)
    found = search_records(ws, words, RecordFilter(kinds), limit * 2)
    return current_candidates(ws, [record for record in found if is_live(ws, record)], limit)


def find_pages(ws: Workspace, task: Task, limit: int) -> list[Candidate]:
    """At most `limit` sections of the repository's docs that fit the task's words, best first."""
    from kl_hooks.index import index
    from kl_hooks.records.page_search import doc_sections

    signals = task.signals
    words = [*signals.symbols, *signals.paths, *signals.keywords, *signals.failures]
    sync(ws)
    with ws.store.reading("graph") as db:
        hits = index.search(db, words, min(limit, _MOST_SECTIONS), (PAGE,)) if db is not None else []
    return demote_uncommitted(ws, [_page_candidate(one, words) for one in doc_sections(ws, hits)])


def _page_candidate(one: DocSection, words: Sequence[str]) -> Candidate:
    from kl_hooks.records.page_search import best_excerpt

    path, line = one.hit.path, one.hit.line
    return Candidate(
        id=one.hit.id, kind=PAGE, title=one.hit.title, text=f"{one.hit.title}\n{best_excerpt(one.text, words)}".strip(),
        summary=f"{path}:{line} {one.hit.title}", path=path, line=line, freshness="current", authority="human",
        reasons=("a section of the docs with words of the task",),
    )  # fmt: skip


class SearchResult(NamedTuple):
    """What a search gives."""

    records: list[Record]
    total: int
    """How many records matched that are shown, those beyond the limit included."""
    omitted: int
    """How many matches are not in force."""


def search_live(ws: Workspace, words: Sequence[str], wanted: RecordFilter, limit: int = 20) -> SearchResult:
    """Search as somebody who asks for no status means it: the first `limit` records that are in force.

    Where `wanted` names statuses, or wants everything (`expired`), nothing is omitted.
    """
    found = search_records(ws, words, replace(wanted, expired=True), NO_LIMIT)
    live, omitted = filter_live(ws, found, wanted)
    return SearchResult(live[:limit], len(live), omitted)


def current_candidates(ws: Workspace, live: Sequence[Record], limit: int) -> list[Candidate]:
    """The first `limit` of these that hold for today's content, as they may stand in a package."""
    over = stale_reasons(ws, live)
    return demote_uncommitted(ws, [record_candidate(ws, record) for record in live if record.id not in over][:limit])


def demote_uncommitted(ws: Workspace, found: Sequence[Candidate]) -> list[Candidate]:
    """The same; a file that nobody has committed as it is ranks as an agent's, whoever it says stands behind it."""
    fresh = uncommitted_paths(ws, {one.path for one in found if one.path and one.authority == "human"})
    return [_demoted(one) if one.path in fresh else one for one in found]


def uncommitted_paths(ws: Workspace, paths: Collection[str]) -> frozenset[str]:
    """The files among these that are not as they were committed; without git: all of them."""
    if not paths or ws.repo is None:
        return frozenset(paths)
    from kl_hooks.git.files import differing_from_head

    return differing_from_head(ws.repo, sorted(paths))


def _demoted(one: Candidate) -> Candidate:
    reasons = (*one.reasons, "not committed yet, so it ranks as an agent's")
    return replace(one, authority="agent", marks=one.marks or ("not committed",), reasons=reasons)


def record_candidate(ws: Workspace, record: Record) -> Candidate:
    """A record as it may stand in a package."""
    kind = ws.kinds[record.kind]
    text = record_text(kind, record)
    return Candidate(
        id=record.id, kind=kind.name, title=record.title, text=text, summary=_record_summary(kind, record),
        path=record.path,
        line=1 if record.path else 0, tier=_record_tier(kind, record), freshness="current", authority=record.authority,
        reasons=(f"{kind.name}, {record.status}, by {record.authority}",),
        marks=("agent",) if record.authority == "agent" else (),
        touches=tuple(i for i in record.many("governs") if "/" in i or "." in i), read_from=record.text("source_path"),
    )  # fmt: skip


def _record_tier(kind: Kind, record: Record) -> Tier:
    """What supports it: an accepted decision or an approved memory is soft evidence; else it is somebody's word."""
    if kind.proof:
        return tier([Observation(kind.proof, "records", record.authority, record.id, hard=False)])
    return tier([Observation("AgentAssertion", "records", record.authority, record.id, hard=False)])


def record_text(kind: Kind, record: Record) -> str:
    """The whole of it: title, then each field that says something, in the order of the kind."""
    lines = [f"{record.id} {record.title}"]
    skipped = {
        "title",
        "status",
        "date",
        "updated",
        "authority",
        "source",
        "expires",
        "tags",
        "anchors",
    }
    for field in kind.all_fields:
        value = record.values.get(field.name)
        if value is None or field.internal or field.name in skipped:
            continue
        name = (field.section or field.name.replace("_", " ")).lower()
        if isinstance(value, Mapping):
            lines += [f"{name}:", *(f"- {key}: {item}" for key, item in value.items())]
        elif isinstance(value, tuple) and field.type == "lines":
            lines += [f"{name}:", *(f"- {item}" for item in value)]
        else:
            lines.append(f"{name}: {format_value(value)}")
    return "\n".join(lines)


def _record_summary(kind: Kind, record: Record) -> str:
    """One line that stands for it: its title, and the gist of it (of a decision what is done, of a failure what to do
    instead).
    """
    names = (
        [kind.summary_field] if kind.summary_field else [f.name for f in kind.fields if f.type == "text" and f.required]
    )
    said: Sequence[str] = [record.text(name) for name in names]
    first = next((one.strip().splitlines()[0] for one in reversed(said) if one.strip()), "")
    line = f"{record.id} {record.title}" + (f": {first}" if first and first not in record.title else "")
    return line if len(line) <= _LONGEST_SUMMARY else line[: _LONGEST_SUMMARY - 1] + "…"
