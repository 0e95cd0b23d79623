"""The kind `failure`: what was tried and did not work."""

from __future__ import annotations

from typing import Final

from kl_hooks.model.kind import COUNTED, Field, Kind, Verb

KIND: Final = Kind(
    name="failure",
    plural="failures",
    prefix="FAIL",
    purpose="An approach that failed, why, and what prevents it.",
    home="file",
    nature="observation",
    statuses=("open", "mitigated"),
    live=("open", "mitigated"),
    section="Known failures (DO NOT REPEAT)",
    share="warnings",
    gist="prevention",
    numbering="hash",
    identity=("approach",),
    counted="occurred",
    fields=(
        Field(
            "severity", "choice", "How much it cost.", choices=("medium", "low", "high", "critical"),
            also={"info": "low", "warning": "medium", "error": "high"}, directive=True,
        ),
        Field("task_id", "line", "The task it happened in."),
        Field("feature_id", "ids", "The feature it happened in.", relation="part_of", aliases=("feature",)),
        Field("file_path", "ids", "The file it happened in.", relation="about", aliases=("file",)),
        Field("related_adrs", "ids", "Decisions that say how it should be done.", relation="related"),
        Field("similar_failures", "ids", "Failures of the same sort.", relation="related"),
        Field("time_to_fix_minutes", "number", "How long it took to put right."),
        Field("approach", "line", "What was tried.", required=True, example="Mock the database in integration tests"),
        Field("symptom", "text", "What was seen.", section="Symptom"),
        Field("root_cause", "text", "Why it failed.", section="Root cause", aliases=("cause",)),
        Field("prevention", "text", "What to do instead.", section="Prevention", directive=True),
        Field("fix_applied", "text", "How it was put right.", section="Fix", aliases=("fix",)),
        Field("context", "text", "Where and when it happened.", section="Context"),
        *COUNTED,
    ),
    verbs=(
        Verb("mitigate", "mitigated", "Something now keeps it from happening.", of=("open",), needs=("prevention",)),
        Verb("reopen", "open", "It happened again all the same.", of=("mitigated",)),
    ),
)  # fmt: skip
