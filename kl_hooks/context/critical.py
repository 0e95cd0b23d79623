"""Critical: what every piece of work here is told before it begins, whatever its words: rules, gates, known failures.

A package (`context.build`) holds what fits a task. This holds what binds all of them, bounded by a number of items in
each section, and what fits the task beside it if one is named.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kl_hooks.model.package import Candidate
from kl_hooks.records.ask import Wanted, every, search
from kl_hooks.records.retrieve import candidates, is_live

if TYPE_CHECKING:
    from kl_hooks.model.record import Record
    from kl_hooks.workspace.open import Workspace

MOST: Final = 10
"""Items of a section."""
ARCHITECTURE: Final = ("architecture", "component", "integration")
"""Topics of guides that only a feature's build is told of."""


@dataclass(frozen=True, slots=True)
class Section:
    """One list of critical context."""

    name: str
    """As JSON calls it."""
    heading: str
    kinds: tuple[str, ...]
    for_task: bool = False
    """True for what is chosen by the words of the task; without one it is empty."""
    topics: tuple[str, ...] = ()
    """For guides: only these; empty: any."""


SECTIONS: Final = (
    Section("architecture_decisions", "Architecture Decisions (MUST FOLLOW)", ("decision",)),
    Section("failure_patterns", "Known Failures (AVOID THESE)", ("failure",)),
    Section("quality_gates", "Quality Gates", ("gate",)),
    Section(
        "system_context", "System Context", ("guide", "fact"), topics=("product", "workflow", "stack", "structure")
    ),
    Section("successful_patterns", "What Worked Here", ("memory",), for_task=True),
    Section("similar_task_outcomes", "How Similar Tasks Ended", ("outcome",), for_task=True),
    Section("relevant_adrs", "Decisions on This Task", ("decision",), for_task=True),
    Section(
        "applicable_patterns", "Patterns for This Task", ("guide",), for_task=True, topics=("pattern", "convention")
    ),
    Section("relevant_rules", "Rules for This Task", ("guide",), for_task=True, topics=("rule", "testing", "command")),
)
"""The lists, in the order in which they are shown."""


def critical(
    ws: Workspace, *, task: str = "", feature: str = "", command: str = "", most: int = MOST, leave: Sequence[str] = ()
) -> dict[str, list[Candidate]]:
    """Section → at most `most` items. `leave` names sections to leave out. A kind that is not there gives none.

    `command` `feature-build` adds architecture to the system's context; `feature` adds what is known of that feature.
    """
    found: dict[str, list[Candidate]] = {}
    for section in SECTIONS:
        if section.name not in leave:
            topics = section.topics
            if section.name == "system_context" and command == "feature-build":
                topics += ARCHITECTURE
            live = [r for r in _records(ws, section, task) if is_live(ws, r) and _on(r, topics)]
            if section.name == "system_context" and feature:
                live = [*_of_feature(ws, feature), *live]
            found[section.name] = candidates(ws, live, most)
    return found


def _records(ws: Workspace, section: Section, task: str) -> Sequence[Record]:
    kinds = tuple(kind for kind in section.kinds if kind in ws.kinds)
    if not section.for_task:
        return sorted(every(ws, Wanted(kinds)), key=lambda r: (section.kinds.index(r.kind), r.id)) if kinds else []
    return search(ws, task.split(), Wanted(kinds), 50) if kinds and task.strip() else []


def _on(record: Record, topics: Sequence[str]) -> bool:
    if record.kind == "guide":
        return not topics or record.text("topic") in topics
    return record.kind != "fact" or record.text("category") in ("project_overview", "constraints")


def _of_feature(ws: Workspace, feature: str) -> list[Record]:
    if "feature" not in ws.kinds:
        return []
    return [r for r in every(ws, Wanted(("feature",))) if r.id.lower() == feature.lower() and is_live(ws, r)]


def headings() -> Mapping[str, str]:
    """Section → its heading."""
    return {section.name: section.heading for section in SECTIONS}
