"""Decision: what was decided, why, and what it rules."""

from __future__ import annotations

from kl_hooks.model.kind import Field, Kind, Verb

KIND = Kind(
    name="decision", plural="decisions", prefix="ADR", purpose="what was decided, why, and what it rules.", home="file",
    statuses=("proposed", "accepted", "superseded", "deprecated"), live=("accepted",), node="adr", proof="ADR",
    section="Decisions", share="architecture_context",
    fields=(
        Field("context", "text", "What made a decision necessary.", section="Context"),
        Field("decision", "text", "What was decided.", section="Decision"),
        Field("alternatives", "lines", "What else was thought of.", section="Alternatives"),
        Field("consequences", "text", "What follows, good and bad.", section="Consequences"),
        Field("governs", "ids", "The files and symbols it rules.", relation="adr_governs"),
    ),
    verbs=(
        Verb("accept", "accepted", "From now on it holds.", of=("proposed",), person=True),
        Verb("deprecate", "deprecated", "It holds no longer, and nothing takes its place."),
    ),
)  # fmt: skip
