"""The kind `role`: what somebody must and must not do."""

from __future__ import annotations

from typing import Final

from kl_hooks.model.kind import Field, Kind, Verb, with_proposals
from kl_hooks.records.seed.fields import SEEDED

KIND: Final = with_proposals(Kind(
    name="role",
    plural="roles",
    prefix="ROLE",
    purpose="What an agent or a person in a role must do, must not do, and asks about first.",
    home="file",
    statuses=("active", "retired"),
    live=("active",),
    section="Role constraints",
    share="role_constraints",
    fields=(
        Field("role", "line", "Its name, as a command or a task gives it.", required=True, example="player"),
        Field("context", "line", "Where it holds.", example="feature-build"),
        Field("primary_responsibility", "text", "What it is there for.", section="Primary responsibility"),
        Field("must_do", "lines", "What it always does.", section="MUST DO"),
        Field("must_not_do", "lines", "What it never does.", section="MUST NOT DO"),
        Field("ask_before", "lines", "What it asks a person about first.", section="ASK BEFORE"),
        Field("good_examples", "lines", "How it looks when done well.", section="Good examples"),
        Field("bad_examples", "lines", "How it looks when done badly.", section="Bad examples"),
        *SEEDED,
    ),
    verbs=(
        Verb("retire", "retired", "It no longer holds.", of=("active",)),
        Verb("revive", "active", "It holds again.", of=("retired",)),
    ),
))  # fmt: skip
