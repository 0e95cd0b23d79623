"""The kind `feature`: what the product does or will do."""

from __future__ import annotations

from typing import Final

from kl_hooks.model.kind import Field, Kind, Verb, with_proposals
from kl_hooks.records.seed.fields import SEEDED

KIND: Final = with_proposals(Kind(
    name="feature",
    plural="features",
    prefix="FEAT",
    purpose="A feature: what it is, what it is not, and what must always hold of it.",
    home="file",
    statuses=("planned", "building", "shipped"),
    live=("planned", "building", "shipped"),
    section="Features",
    share="feature_context",
    numbering="given",
    spellings={"draft": "planned", "in_progress": "building", "done": "shipped"},
    fields=(
        Field("tagline", "line", "It in one sentence."),
        Field("spec", "line", "The file that specifies it.", aliases=("spec_path",), example="docs/features/auth.md"),
        Field(
            "key_decisions", "ids", "The decisions it rests on.", relation="decided_by", aliases=("decisions",),
            example="ADR-0004",
        ),
        Field("purpose", "text", "What it is for.", section="Purpose"),
        Field("what_it_is", "lines", "What it is.", section="What it is"),
        Field("what_it_is_not", "lines", "What it is not.", section="What it is not"),
        Field("invariants", "lines", "What must always hold.", section="Invariants"),
        Field("architecture_summary", "text", "How it is built.", section="Architecture", aliases=("architecture",)),
        Field("key_components", "lines", "Its parts.", section="Components", aliases=("components",)),
        *SEEDED,
    ),
    verbs=(
        Verb("start", "building", "Work on it has begun.", of=("planned",)),
        Verb("ship", "shipped", "It is there."),
        Verb("replan", "planned", "Back to planning.", of=("building", "shipped")),
    ),
))  # fmt: skip
