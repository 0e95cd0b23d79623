"""The kind `turn`: one round of work and review."""

from __future__ import annotations

from typing import Final

from kl_hooks.model.kind import Field, Kind

KIND: Final = Kind(
    name="turn",
    plural="turns",
    prefix="TURN",
    purpose="One round of work and review: what was done, what was said of it, what to try next.",
    home="state",
    nature="observation",
    statuses=("recorded",),
    live=("recorded",),
    section="Earlier turns",
    beside=("player_decision", "coach_decision"),
    share="turn_states",
    numbering="given",
    ttl={"human": 90, "agent": 30, "auto": 30},
    retention=30,
    fields=(
        Field("feature_id", "line", "Its feature.", required=True, aliases=("feature",), example="FEAT-A-12"),
        Field("task_id", "line", "The task it worked on.", aliases=("task",), example="TASK-42"),
        Field("turn_number", "number", "Which round of that task it is, from 1.", least=1, aliases=("number", "turn")),
        Field(
            "mode", "choice", "How it was worked.",
            choices=("fresh_start", "recovering_state", "continuing_work", "standard", "tdd", "bdd"),
        ),
        Field("player_decision", "line", "What the player ended with.", example="implemented"),
        Field(
            "coach_decision", "choice", "What the review said.",
            choices=("pending", "approved", "rejected"),
            also={"approve": "approved", "accepted": "approved", "reject": "rejected", "feedback": "rejected"},
        ),
        Field("files_modified", "lines", "Files it changed."),
        Field("tests_passed", "number", "Tests that passed at its end."),
        Field("tests_failed", "number", "Tests that failed at its end."),
        Field("coverage", "number", "Coverage at its end, percent.", most=100),
        Field("arch_score", "number", "Score of the architecture review, of 100.", most=100),
        Field("started_at", "date", "When it was begun."),
        Field("completed_at", "date", "When it ended."),
        Field("duration_seconds", "number", "How long it took."),
        Field("acceptance_criteria_status", "map", "Criterion by criterion: how it stands.", aliases=("criteria",)),
        Field("player_summary", "text", "What was done.", section="What was done"),
        Field("coach_feedback", "text", "What the review asks for.", section="Feedback", aliases=("feedback",)),
        Field("blockers_found", "lines", "What stood in the way.", section="Blockers", aliases=("blockers",)),
        Field("progress_summary", "text", "How far the task is.", section="Progress"),
        Field("lessons_from_turn", "text", "What was learned.", section="Lessons", aliases=("lessons",)),
        Field("what_to_try_next", "text", "Where the next round should start.", section="Next"),
    ),
)  # fmt: skip
