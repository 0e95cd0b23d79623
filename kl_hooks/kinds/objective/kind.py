"""The kind `objective`: what is worked towards."""

from __future__ import annotations

from typing import Final

from kl_hooks.model.kind import Field, Kind, Verb, with_proposals

KIND: Final = with_proposals(Kind(
    name="objective",
    plural="objectives",
    prefix="OBJ",
    purpose="What is being worked towards over many sessions, and what remains to be done.",
    home="file",
    statuses=("active", "paused", "completed", "abandoned"),
    live=("active",),
    section="Objectives",
    share="feature_context",
    spellings={"cancelled": "abandoned", "done": "completed", "open": "active"},
    fields=(
        Field("description", "text", "Why it matters, and when it is reached.", section="Description"),
        Field(
            "remaining", "lines", "Tasks that are still to be done.", section="Remaining",
            aliases=("tasks", "remaining_tasks"), example="Write the parser",
        ),
        Field("completed", "lines", "Tasks that are done.", section="Completed", aliases=("completed_tasks",)),
        Field("sessions", "words", "The sessions that worked on it."),
    ),
    verbs=(
        Verb("pause", "paused", "Put it aside; it is shown to nobody unasked.", of=("active",)),
        Verb("resume", "active", "Take it up again.", of=("paused", "abandoned", "completed")),
        Verb("complete", "completed", "It is reached.", of=("active", "paused")),
        Verb("abandon", "abandoned", "It will not be reached.", of=("active", "paused")),
    ),
))  # fmt: skip
