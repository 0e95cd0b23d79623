"""The kind `fact`: what is true of this project."""

from __future__ import annotations

from typing import Final

from kl_hooks.model.kind import Field, Kind, Verb, with_proposals
from kl_hooks.records.seed.fields import SEEDED

CATEGORIES: Final = (
    "project_overview", "architecture", "domain", "constraints", "decisions", "goals", "role_customization",
    "quality_gates", "workflow_preferences",
)  # fmt: skip
"""What a fact, and a question that asks for one, can be about."""

KIND: Final = with_proposals(Kind(
    name="fact",
    plural="facts",
    prefix="FACT",
    purpose="What is true of this project: said by a person, or read in its own documents.",
    home="file",
    statuses=("current", "outdated"),
    live=("current",),
    section="Facts about this project",
    share="domain_knowledge",
    gist="answer",
    spellings={"active": "current", "deprecated": "outdated"},
    fields=(
        Field(
            "category", "choice", "What it is about.", choices=CATEGORIES,
            also={
                "overview": "project_overview", "roles": "role_customization", "gates": "quality_gates",
                "workflow": "workflow_preferences", "project_architecture": "architecture",
                "domain_knowledge": "domain", "project_constraints": "constraints", "project_decisions": "decisions",
                "role_constraints": "role_customization", "quality_gate_configs": "quality_gates",
                "implementation_modes": "workflow_preferences",
            },
        ),
        Field("answers", "line", "The question of the interview that it answers.", example="target_users"),
        Field("confidence", "number", "How sure whoever said it was, percent.", most=100),
        Field("question", "line", "What was asked."),
        Field("task_id", "line", "The task in which it was asked."),
        Field("answer", "text", "What was said, as it was said.", section="Answer"),
        Field("facts", "lines", "Its sentences, one by one.", section="Facts", aliases=("extracted_facts",)),
        *SEEDED,
    ),
    verbs=(
        Verb("outdate", "outdated", "It is no longer true.", of=("current",)),
        Verb("renew", "current", "It is true again.", of=("outdated",)),
    ),
))  # fmt: skip
