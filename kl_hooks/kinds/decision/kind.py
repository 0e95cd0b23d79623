"""The kind `decision`: an architecture decision record."""

from __future__ import annotations

from typing import Final

from kl_hooks.model.kind import Field, Kind, Verb

TRIGGERS: Final = (
    "manual", "clarifying_question", "task_review", "architecture_review", "implementation_choice", "discovered",
    "decision_checkpoint",
)  # fmt: skip
"""What brought a decision about."""
_TRIGGERS_ALSO: Final = {
    "question": "clarifying_question", "clarification": "clarifying_question", "review": "task_review",
    "arch_review": "architecture_review", "implementation": "implementation_choice", "discovery": "discovered",
    "checkpoint": "decision_checkpoint",
}  # fmt: skip

KIND: Final = Kind(
    name="decision",
    plural="decisions",
    prefix="ADR",
    purpose="What was decided, why, what else was possible, and which code it holds for.",
    home="file",
    statuses=("proposed", "accepted", "superseded", "deprecated", "rejected"),
    live=("accepted",),
    spellings={
        "draft": "proposed", "pending": "proposed", "in_review": "proposed", "open": "proposed",
        "approved": "accepted", "decided": "accepted", "adopted": "accepted", "implemented": "accepted",
        "superceded": "superseded", "replaced": "superseded",
        "declined": "rejected", "obsolete": "deprecated", "retired": "deprecated", "withdrawn": "deprecated",
    },
    fields=(
        Field("context", "text", "What makes a decision necessary: forces, limits, numbers.", required=True,
              section="Context", aliases=("context_and_problem_statement", "problem"),
              example="Every command must first know the source, at commit time too."),
        Field("decision", "text", "What is done from now on.", required=True, section="Decision",
              aliases=("decision_outcome",), example="The standard library's scanner is the default."),
        Field("rationale", "text", "Why this and nothing else.", section="Rationale",
              aliases=("justification", "reason")),
        Field("drivers", "lines", "What counted in the choice.", section="Decision drivers",
              aliases=("decision_drivers",)),
        Field("alternatives", "lines", "What else was possible, and why it was not taken.", section="Alternatives",
              aliases=("alternatives_considered", "considered_options", "options"),
              example="libcst only: a commit would wait for seconds."),
        Field("comparison", "text", "The alternatives held against each other.", section="Comparison",
              aliases=("pros_and_cons_of_the_options", "pros_and_cons")),
        Field("consequences", "text", "What follows from it, good and bad.", section="Consequences"),
        Field("confirmation", "text", "How one sees that it is kept to.", section="Confirmation"),
        Field("violation_symptoms", "lines", "What it looks like where it is not kept to.",
              section="Violation symptoms", aliases=("symptoms",)),
        Field("more", "text", "Whatever else belongs to it: links, minutes, what an imported file said besides.",
              section="More information", aliases=("more_information", "notes")),
        Field("governs", "ids", "The files, folders and symbols that it holds for.", relation="adr_governs",
              aliases=("kl_governs",), example="src/shop/core/"),
        Field("trigger", "choice", "What brought it about.", choices=TRIGGERS, also=_TRIGGERS_ALSO),
        Field("source_task_id", "line", "The task it came up in."),
        Field("source_feature_id", "line", "The feature it came up in."),
        Field("source_command", "line", "The command it came up in."),
        Field("related_adrs", "ids", "Other decisions it belongs with.", relation="related",
              aliases=("related_decisions",)),
        Field("amends", "ids", "Decisions that it changes in part; they stay in force.", relation="amends"),
        Field("amended_by", "ids", "Decisions that change it in part.", relation="amended_by"),
        Field("confidence", "number", "How sure it is, percent.", most=100, example="85"),
        Field("decided_at", "date", "When it was accepted or rejected."),
        Field("deprecated_at", "date", "Since when it no longer holds."),
        Field("deciders", "lines", "Who decided.", aliases=("decision_makers",)),
        Field("consulted", "lines", "Whose advice was asked for."),
        Field("informed", "lines", "Who was told."),
    ),
    verbs=(
        Verb("accept", "accepted", "It holds from now on.", of=("proposed",), stamps="decided_at", person=True),
        Verb("reject", "rejected", "It is not taken.", of=("proposed",), stamps="decided_at", person=True),
        Verb("deprecate", "deprecated", "It no longer holds, and nothing took its place.",
             of=("proposed", "accepted"), stamps="deprecated_at", person=True),
    ),
    section="Decisions",
    share="architecture_context",
    node="adr",
    proof="ADR",
)  # fmt: skip
