"""Critical context: what applies to every task, whatever its words: rules, gates, known failures.

A package (`context.build`) holds what matches a task. This has a number of items in each section,
and sections for the task if one is named.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Final

from kl_hooks.clock import DAY, micros
from kl_hooks.context.access import find_policy
from kl_hooks.kinds.failure import failure_candidate, occurrences
from kl_hooks.kinds.feature import feature_ids
from kl_hooks.kinds.gate import DO_NOT_ADJUST, Gate
from kl_hooks.kinds.gate import render_role as role_page
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.package import Candidate
from kl_hooks.model.parameter import Parameter
from kl_hooks.model.text import quoted_field, quoted_lines
from kl_hooks.records.liveness import live_records, stale_reasons
from kl_hooks.records.query import NO_LIMIT, RecordFilter, list_records, search_records
from kl_hooks.records.retrieval import (
    demote_uncommitted,
    record_candidate,
    record_text,
    search_live,
    textless_candidate,
)

if TYPE_CHECKING:
    from kl_hooks.model.record import Record
    from kl_hooks.workspace import Workspace

MOST: Final = 10
"""Items of a section."""
_FEATURE_BUILD: Final = "feature-build"
SEVERITIES: Final = ("critical", "high", "medium", "low")
_PERIOD: Final = 30 * DAY
"""Failures that happened last within the same so many microseconds count as equally recent."""
_ARCHITECTURE: Final = ("architecture", "component", "integration")
"""Topics of guides that are shown for the build of a feature only."""


class Section(NamedTuple):
    """One list of critical context."""

    name: str
    """As JSON calls it."""
    heading: str
    kinds: tuple[str, ...]
    for_task: bool = False
    """True for what is chosen by the words of the task; without one it is empty."""
    topics: tuple[str, ...] = ()
    """For guides: only these; empty: any."""
    whole: bool = False
    """True where the whole text is shown, not a line; such a section is there only where it was
    asked for.
    """


_SECTIONS: Final = (
    Section("architecture_decisions", "Architecture Decisions (MUST FOLLOW)", ("decision",)),
    Section("failure_patterns", "Known Failures (AVOID THESE)", ("failure",)),
    Section("quality_gates", f"Quality Gates ({DO_NOT_ADJUST})", ("gate",)),
    Section(
        "system_context",
        "System Context",
        ("guide", "fact"),
        topics=("product", "workflow", "stack", "structure"),
    ),
    Section("feature_overview", "Feature Overview", ("feature",), whole=True),
    Section("role_context", "Roles", ("role",), whole=True),
    Section("successful_patterns", "What Worked Here", ("memory",), for_task=True),
    Section("similar_task_outcomes", "How Similar Tasks Ended", ("outcome",), for_task=True),
    Section("relevant_adrs", "Decisions on This Task", ("decision",), for_task=True),
    Section(
        "applicable_patterns",
        "Patterns for This Task",
        ("guide",),
        for_task=True,
        topics=("pattern", "convention"),
    ),
    Section(
        "relevant_rules",
        "Rules for This Task",
        ("guide",),
        for_task=True,
        topics=("rule", "testing", "command"),
    ),
)
"""The lists, in the order in which they are shown."""


class CriticalRequest(NamedTuple):
    """What critical context is for."""

    task: Annotated[str, Parameter("What will be done, in plain words: adds what fits it.")] = ""
    feature: Annotated[
        str, Parameter("A feature whose overview belongs with it.", metavar="ID")
    ] = ""
    command: Annotated[
        str,
        Parameter("What is run; feature-build adds architecture, roles and features."),
    ] = ""
    omit: Annotated[
        tuple[str, ...],
        Parameter(
            "Omit a section.", name="without", choices=tuple(section.name for section in _SECTIONS)
        ),
    ] = ()
    limit: Annotated[
        int,
        Parameter(
            "Most in a section.",
            bounds=(1, 100),
            name="top",
            aliases=("max_items",),
            is_default_shown=True,
        ),
    ] = MOST

    @property
    def builds(self) -> bool:
        """True for the build of a feature: it gets architecture, overviews and roles."""
        return self.command == _FEATURE_BUILD


class FilledSection(NamedTuple):
    """A section, filled."""

    section: Section
    items: list[Candidate]
    omitted: int
    """Items that fit but are too many."""


def critical(ws: Workspace, asked: CriticalRequest) -> list[FilledSection]:
    """Return every section that is not omitted, with its first items, and how many more there are.

    The build of a feature adds architecture, the roles and the overviews of features; a named
    feature its overview. What the policy denies is neither shown nor counted.
    """
    sections = []
    policy = find_policy(ws)
    for section in _SECTIONS:
        if section.name in asked.omit or (section.whole and not _is_wanted(section, asked)):
            continue
        live = live_records(
            ws,
            [
                record
                for record in _records(ws, section, asked)
                if _fits(ws, section, record, asked)
            ],
        )
        outdated = stale_reasons(ws, live)
        live = [record for record in live if record.id not in outdated]
        hidden: dict[str, str] = {}
        if policy:
            decided = {
                record.id: policy.decide((textless_candidate(ws, record),)) for record in live
            }
            live = [record for record in live if decided[record.id][0] != "deny"]
            hidden = {name: rule for name, (effect, rule) in decided.items() if effect == "redact"}
        candidates = [
            _candidate(ws, section, record)._replace(redacted_by=hidden.get(record.id, ""))
            for record in live[: asked.limit]
        ]
        shown = demote_uncommitted(ws, candidates)
        if hidden:
            from kl_hooks.context.policy import conceal

            shown = [conceal(candidate) for candidate in shown]
        sections.append(FilledSection(section, list(shown), len(live) - len(shown)))
    return sections


def render_critical(sections: Sequence[FilledSection], most: int = MOST) -> list[str]:
    """Return Markdown: a heading for each section that holds something, at most `most` items, and
    how many more.
    """
    lines: list[str] = []
    for part in sections:
        if part.items:
            lines.append(f"## {part.section.heading}")
        for candidate in part.items[:most]:
            if candidate.tier is not None:
                tier = [candidate.tier.word]
            else:
                tier = []
            if candidate.redacted_by:
                redacted = ["redacted"]
            else:
                redacted = []
            words = " · ".join([*tier, *(candidate.marks or (candidate.authority,)), *redacted])
            lines.append(
                f"- [{words}] {quoted_field(candidate.id)}"
                + (f"  {candidate.path}" if candidate.path else "")
            )
            if not redacted:
                lines.append(
                    quoted_lines(
                        candidate.text if part.section.whole else candidate.summary, "  | "
                    )
                )
        if omitted_count := part.omitted + len(part.items[most:]):
            lines.append(f"… and {omitted_count} more: kl {part.section.kinds[0]} list, or --top")
        if part.items:
            lines.append("")
    return lines


def find_in_force(
    ws: Workspace, kind: str, words: Sequence[str] | None = None, limit: int = MOST
) -> list[Record]:
    """Return the records of a kind that hold today and that the policy neither denies nor redacts,
    the newest first.

    `words`: only those that match any of them, best first.
    """
    wanted = RecordFilter((kind,))
    policy = find_policy(ws)
    if words is None:
        matching = sorted(
            list_records(ws, wanted), key=lambda record: (_decided(record), record.id), reverse=True
        )
    else:
        matching = list(search_live(ws, words, wanted, NO_LIMIT).records)
    live = live_records(ws, matching)
    outdated = stale_reasons(ws, live)
    shown = (record for record in live if record.id not in outdated)
    return [
        record for record in shown if policy is None or policy.shows(textless_candidate(ws, record))
    ][:limit]


def _decided(record: Record) -> str:
    return record.text("decided_at") or record.text("date")


def _is_wanted(section: Section, asked: CriticalRequest) -> bool:
    return asked.builds or (
        section.name == "feature_overview" and bool(asked.feature or feature_ids(asked.task))
    )


def _fits(ws: Workspace, section: Section, record: Record, asked: CriticalRequest) -> bool:
    """True for a record that belongs in a section, for what is asked."""
    if record.kind == "feature":
        named = [one.upper() for one in (asked.feature, *feature_ids(asked.task)) if one]
        return record.id.upper() in named or (not named and record.status == "building")
    topics = section.topics
    if section.name == "system_context" and asked.builds:
        topics += _ARCHITECTURE
    return _has_topic(record, topics)


def _records(ws: Workspace, section: Section, asked: CriticalRequest) -> Sequence[Record]:
    """The records of a section, the most important first; by their IDs only where nothing else
    differs.
    """
    kinds = tuple(kind for kind in section.kinds if kind in ws.kinds)
    if not kinds or (section.for_task and not asked.task.strip()):
        return []
    if asked.task.strip():
        alike = search_records(ws, asked.task.split(), RecordFilter(kinds), 50)
    else:
        alike = []
    if section.for_task:
        return alike
    ranks = {record.id: rank for rank, record in enumerate(alike)}
    records_of_section = list_records(ws, RecordFilter(kinds))
    if kinds == ("failure",):
        return _failures(ws, records_of_section, ranks)
    if kinds == ("gate",):
        return sorted(
            records_of_section,
            key=lambda record: (
                record.text("task_type").casefold(),
                Gate(record).complexity,
                record.id,
            ),
        )
    newest = sorted(
        records_of_section, key=lambda record: (_decided(record), record.id), reverse=True
    )
    # sorted() is stable: within one kind and rank the newest stay first
    return sorted(
        newest,
        key=lambda record: (section.kinds.index(record.kind), ranks.get(record.id, len(ranks))),
    )


def _failures(ws: Workspace, failures: Sequence[Record], ranks: Mapping[str, int]) -> list[Record]:
    """By severity, then by the month in which they happened last, then by likeness to the task,
    then by the moment.

    What an agent reported is shown only where it fits the task.
    """
    # an occurrence without a day counts as the oldest
    last = {
        failure.id: micros(occurrences(ws, failure).last or failure.text("date") or "1970-01-01")
        for failure in failures
    }
    # observations of agents are shown only where they match the task (ADR-0018)
    fitting = [
        failure for failure in failures if failure.authority == "human" or failure.id in ranks
    ]

    def order(failure: Record) -> tuple[int, int, int, int, str]:
        severity = failure.text("severity") or "medium"
        age = (ws.clock.now() - last[failure.id]) // _PERIOD
        return (
            SEVERITIES.index(severity),
            age,
            ranks.get(failure.id, len(ranks)),
            -last[failure.id],
            failure.title,
        )

    return sorted(fitting, key=order)


def _candidate(ws: Workspace, section: Section, record: Record) -> Candidate:
    plain = record_candidate(ws, record)
    if record.kind == "failure":
        severity = record.text("severity") or "medium"
        candidate = failure_candidate(ws, record)
        return candidate._replace(summary=f"{severity}: {plain.summary} ({_times(ws, record)})")
    if record.kind == "gate":
        line = Gate(record).line()
        return plain._replace(text=f"{line}\n{DO_NOT_ADJUST}", summary=line)
    if section.whole:
        if record.kind == "role":
            text = role_page(record).strip()
        else:
            text = record_text(ws.kinds[record.kind], record)
        return plain._replace(text=text)
    return plain


def _times(ws: Workspace, record: Record) -> str:
    from kl_hooks.kinds.failure import times_phrase

    how_often = occurrences(ws, record)
    return f"{times_phrase(how_often.total)}, last {how_often.last[:10]}"


def _has_topic(record: Record, topics: Sequence[str]) -> bool:
    if record.kind == "guide":
        return not topics or record.text("topic") in topics
    return record.kind != "fact" or record.text("category") in ("project_overview", "constraints")
