"""Memory: what was learned in this repository, as data."""

from __future__ import annotations

from typing import Final

from kl_hooks.model.kind import Field, Kind, Verb

CATEGORIES: Final = (
    "pattern", "anti_pattern", "best_practice", "discovery", "fact", "failure_mode", "review_finding",
    "performance_insight", "reflexion",
)  # fmt: skip
"""What sort of learning it is."""
STANDINGS: Final = ("active", "verified", "disproven", "deprecated", "superseded")
"""How it fared since."""
ENDED: Final = ("disproven", "deprecated", "superseded")
"""With these it is not true any more: it is shown to nobody unasked."""

REJECTED: Final = ".kl/knowledge/memories/rejected.txt"
"""What people rejected, for every clone; `review` reads and writes it."""

KIND: Final = Kind(
    name="memory",
    plural="memories",
    prefix="MEM",
    purpose="What was learned here: patterns mined from receipts, and what people and agents add. Reviewed before use.",
    storage="state",
    statuses=("candidate", "approved", "rejected"),
    live=("approved",),
    filed=("approved",),
    numbering="hash",
    identity=("pattern",),
    proof="RepositoryMemory",
    ttl={"agent": 90, "auto": 30},
    section="Project Knowledge",
    budget_category="relevant_patterns",
    fields=(
        Field(
            "pattern", "text", "What was learned. It is what the memory is known by: the same text is the same memory.",
            required=True, section="Pattern", aliases=("content",),
            example="Tests of the importer need LC_ALL=C.UTF-8, or names with umlauts fail.",
        ),
        Field("category", "choice", "What sort of learning it is.", choices=CATEGORIES),
        Field(
            "importance", "number", "How much it matters before anybody has used it, in percent.", least=0, most=100,
            example="50",
        ),
        Field(
            "standing", "choice", "How it fared since.", choices=STANDINGS,
            persons={"verified": "verify", "disproven": "disprove"}, ends=ENDED,
        ),
        Field("session", "line", "The session in which it was first seen.", aliases=("source_session_id",)),
        Field("evidence", "lines", "The receipts it was seen in, one a line.", section="Evidence"),
        Field("quarantine", "line", "Why its text is quarantined until a person has read it."),
        Field("reason", "line", "Why it was rejected, demoted or disproven."),
    ),
    verbs=(
        Verb(
            "approve", "approved", "Accept it: it becomes a file, and agents are shown it.", ("candidate", "rejected"),
            person=True, reviewer=True,
        ),
        Verb(
            "reject", "rejected", "Refuse it: the same pattern never comes back.", ("candidate", "approved"),
            person=True, reviewer=True,
        ),
        Verb(
            "demote", "candidate", "Take it back to the candidates: no agent sees it until it is reviewed.",
            ("approved",),
        ),
    ),
)  # fmt: skip
