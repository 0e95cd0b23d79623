"""The kind `task`: what is to be done."""

from __future__ import annotations

from typing import Final

from kl_hooks.model.kind import Field, Kind, Verb

KIND: Final = Kind(
    name="task",
    plural="tasks",
    prefix="TSK",
    purpose="Something to be done, with what it needs and what it gives.",
    home="state",
    nature="observation",
    statuses=("open", "blocked", "done"),
    live=("open", "blocked"),
    section="Tasks",
    share="feature_context",
    spellings={"todo": "open", "in_progress": "open", "completed": "done"},
    fields=(
        Field("task_type", "line", "The type of work, which says what gate it must pass.", aliases=("type",),
              example="feature"),
        Field("complexity", "number", "How much there is to it, 1 to 10.", least=1, most=10),
        Field("assignee", "line", "Who does it.", aliases=("agent",)),
        Field("objective", "ids", "The objective it serves.", relation="part_of"),
        Field("feature_id", "ids", "The feature it belongs to.", relation="part_of", aliases=("feature",)),
        Field(
            "requires", "lines", "What must be there first: artifact:NAME, file:PATH or symbol:NAME.",
            aliases=("needs",), example="artifact:design",
        ),
        Field("produces", "lines", "What is there once it is done.", aliases=("gives",), example="file:src/parser.py"),
        Field("description", "text", "What to do.", section="Description"),
        Field("reason", "line", "Why it can't go on.", aliases=("blocked_by",)),
    ),
    verbs=(
        Verb("block", "blocked", "It can't go on.", of=("open",), needs=("reason",)),
        Verb("unblock", "open", "It can go on.", of=("blocked",)),
        Verb("reopen", "open", "It has to be done again.", of=("done",)),
    ),
)  # fmt: skip
