"""The kind `outcome`: how a task ended, so that the next one like it starts from there."""

from __future__ import annotations

from typing import Final

from kl_hooks.model.kind import Field, Kind

KIND: Final = Kind(
    name="outcome",
    plural="outcomes",
    prefix="OUT",
    purpose="How a task ended: what was tried, what went wrong, what was learned.",
    home="state",
    nature="observation",
    statuses=("recorded",),
    live=("recorded",),
    section="Outcomes of similar tasks",
    beside=("outcome_type",),
    share="similar_outcomes",
    numbering="random",
    fields=(
        Field("title", "line", "What the task was, in one line.", required=True, aliases=("task_title", "name")),
        Field(
            "outcome_type", "choice", "How it ended.", aliases=("type",),
            choices=("task_completed", "task_failed", "task_blocked", "task_cancelled", "phase_completed",
                     "review_passed", "review_failed", "pattern_success", "pattern_failure"),
            also={"completed": "task_completed", "failed": "task_failed", "blocked": "task_blocked",
                  "cancelled": "task_cancelled"},
        ),
        Field("success", "flag", "Whether it reached what it was for."),
        Field("task_id", "line", "The task it is the end of.", example="TASK-42"),
        Field("feature_id", "ids", "The feature it belongs to.", relation="part_of", aliases=("feature",)),
        Field("tests_written", "flag", "Whether tests were written for it."),
        Field("test_coverage", "number", "Of what it changed, percent.", most=100, aliases=("coverage",)),
        Field("review_cycles", "number", "How often it came back from review.", most=1000),
        Field("started_at", "date", "When it was begun."),
        Field("completed_at", "date", "When it ended."),
        Field("duration_minutes", "number", "How long it took."),
        Field("related_adr_ids", "ids", "Decisions it followed or met.", relation="related", aliases=("related_adrs",)),
        Field("summary", "text", "What was done, in a few sentences.", section="Summary"),
        Field(
            "task_requirements", "text", "What was asked for: similar tasks are found by it.", section="Requirements",
            aliases=("requirements",),
        ),
        Field("approach_used", "text", "How it was done.", section="Approach", aliases=("approach",)),
        Field("patterns_used", "lines", "Patterns that were applied.", section="Patterns used", aliases=("patterns",)),
        Field(
            "problems_encountered", "lines", "What went wrong on the way.", section="Problems", aliases=("problems",),
        ),
        Field("lessons_learned", "lines", "What to do otherwise next time.", section="Lessons", aliases=("lessons",)),
    ),
)  # fmt: skip
