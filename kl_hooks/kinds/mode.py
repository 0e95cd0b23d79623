"""The kind `mode`: a way to carry out work, and when to choose it."""

from __future__ import annotations

from typing import Final

from kl_hooks.model.kind import Field, Kind, Verb, with_proposals
from kl_hooks.records.seed.fields import SEEDED

KIND: Final = with_proposals(Kind(
    name="mode",
    plural="modes",
    prefix="MODE",
    purpose="A way to carry out work: when to choose it, its steps, where its results are.",
    home="file",
    statuses=("active", "retired"),
    live=("active",),
    section="Implementation modes",
    share="implementation_modes",
    beside=("default", "max_turns"),
    fields=(
        Field("mode", "line", "Its name, as a command or a task gives it.", required=True, example="tdd"),
        Field("invocation", "line", "How it is started.", aliases=("invocation_method",)),
        Field("default", "flag", "Whether work is done this way unless somebody says otherwise."),
        Field("max_turns", "number", "After how many turns without success work stops.", least=1, most=1000),
        Field("results", "line", "Where its results are found.", aliases=("result_location_pattern",)),
        Field("when_to_use", "lines", "When it is the right one.", section="When to use"),
        Field("steps", "lines", "What is done, in order.", section="Steps"),
        Field(
            "recovery",
            "text",
            "How to go on after it broke off.",
            section="Recovery",
            aliases=("state_recovery_strategy",),
        ),
        Field("pitfalls", "lines", "What goes wrong with it.", section="Pitfalls"),
        *SEEDED,
    ),
    verbs=(
        Verb("retire", "retired", "It is no longer used.", of=("active",)),
        Verb("revive", "active", "It is used again.", of=("retired",)),
    ),
))  # fmt: skip
