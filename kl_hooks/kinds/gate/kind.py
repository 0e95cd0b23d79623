"""The kind `gate`: what work must pass."""

from __future__ import annotations

from typing import Final

from kl_hooks.model.kind import Field, Kind, Verb, with_proposals
from kl_hooks.records.seed.fields import SEEDED

KIND: Final = with_proposals(Kind(
    name="gate",
    plural="gates",
    prefix="GATE",
    purpose="What work of a type and a complexity must pass before it counts as done.",
    home="file",
    statuses=("active", "retired"),
    live=("active",),
    section="Quality gates (do NOT adjust mid-session)",
    share="quality_gate_configs",
    fields=(
        Field("task_type", "line", "The work it is for.", required=True, example="feature"),
        Field("complexity_from", "number", "From this complexity on, 1 to 10.", least=1, most=10, aliases=("least",)),
        Field("complexity_to", "number", "Up to this complexity, 1 to 10.", least=1, most=10, aliases=("most",)),
        Field("test_pass_required", "flag", "Whether all tests must pass."),
        Field("lint_required", "flag", "Whether the linter must be content."),
        Field("coverage_required", "flag", "Whether coverage counts."),
        Field("coverage_threshold", "number", "Least coverage, percent.", most=100),
        Field("arch_review_required", "flag", "Whether the architecture is reviewed."),
        Field("arch_review_threshold", "number", "Least score of that review, of 100.", most=100),
        Field("version", "line", "Of this gate."),
        Field("effective_from", "date", "From when on it holds."),
        Field("rationale", "text", "Why it is as it is.", section="Rationale"),
        *SEEDED,
    ),
    verbs=(
        Verb("retire", "retired", "It no longer holds.", of=("active",)),
        Verb("revive", "active", "It holds again.", of=("retired",)),
    ),
))  # fmt: skip
