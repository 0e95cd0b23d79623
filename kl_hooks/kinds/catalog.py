"""The kinds of knowledge that kl brings, as data, in the order in which they are listed.

Commands, forms, pages and checks are derived from these descriptions. What a kind can do beyond that is in the
module or package of its name.
"""

from __future__ import annotations

from typing import Final

from kl_hooks.model.kind import COUNT_FIELDS, SEEDED, Field, Kind, Verb, with_proposals

DECISION: Final = Kind(
    name="decision", plural="decisions", prefix="ADR",
    purpose="What was decided, why, what else was possible, and which code it applies to.",
    storage="file", statuses=("proposed", "accepted", "superseded", "deprecated", "rejected"), live=("accepted",),
    spellings={
        "draft": "proposed", "pending": "proposed", "in_review": "proposed", "open": "proposed", "approved": "accepted",
        "decided": "accepted", "adopted": "accepted", "implemented": "accepted", "superceded": "superseded",
        "replaced": "superseded", "declined": "rejected", "obsolete": "deprecated", "retired": "deprecated",
        "withdrawn": "deprecated",
    },
    fields=(
        Field("context", "text", "What makes a decision necessary: forces, limits, numbers.", required=True,
              section="Context", aliases=("context_and_problem_statement", "problem"),
              example="Every command must first know the source, at commit time too."),
        Field("decision", "text", "What is done from now on.", required=True, section="Decision",
              aliases=("decision_outcome",), example="The standard library's scanner is the default."),
        Field("rationale", "text", "Why this and nothing else.", section="Rationale",
              aliases=("justification", "reason")),
        Field("drivers", "lines", "What counted in the choice.", section="Decision drivers",
              aliases=("decision_drivers",)),
        Field("alternatives", "lines", "What else was possible, and why it was not taken.", section="Alternatives",
              aliases=("alternatives_considered", "considered_options", "options"),
              example="libcst only: a commit would wait for seconds."),
        Field("comparison", "text", "A comparison of the alternatives.", section="Comparison",
              aliases=("pros_and_cons_of_the_options", "pros_and_cons")),
        Field("consequences", "text", "What follows from it, good and bad.", section="Consequences"),
        Field("confirmation", "text", "How compliance is checked.", section="Confirmation"),
        Field("violation_symptoms", "lines", "Signs that it is violated.",
              section="Violation symptoms", aliases=("symptoms",)),
        Field("more", "text", "Anything else: links, minutes, other sections of an imported file.",
              section="More information", aliases=("more_information", "notes")),
        Field("governs", "ids", "The files, folders and symbols that it applies to.", relation="adr_governs",
              aliases=("kl_governs",), example="src/shop/core/"),
        Field("trigger", "choice", "What brought it about.",
              choices=("manual", "clarifying_question", "task_review", "architecture_review", "implementation_choice",
                       "discovered", "decision_checkpoint"),
              also={"question": "clarifying_question", "clarification": "clarifying_question", "review": "task_review",
                    "arch_review": "architecture_review", "implementation": "implementation_choice",
                    "discovery": "discovered", "checkpoint": "decision_checkpoint"}),
        Field("source_task_id", "line", "The task that raised it."),
        Field("source_feature_id", "line", "The feature that raised it."),
        Field("source_command", "line", "The command that raised it."),
        Field("related_adrs", "ids", "Other decisions it belongs with.", relation="related",
              aliases=("related_decisions",)),
        Field("amends", "ids", "Decisions that it changes in part; they stay in force.", relation="amends"),
        Field("amended_by", "ids", "Decisions that change it in part.", relation="amended_by"),
        Field("confidence", "number", "How sure it is, percent.", most=100, example="85"),
        Field("decided_at", "date", "When it was accepted or rejected."),
        Field("deprecated_at", "date", "Since when it is no longer in force."),
        Field("deciders", "lines", "Who decided.", aliases=("decision_makers",)),
        Field("consulted", "lines", "Whose advice was asked for."),
        Field("informed", "lines", "Who was informed."),
    ),
    verbs=(
        Verb("accept", "accepted", "It is in force from now on.", of=("proposed",), stamps="decided_at", person=True),
        Verb("reject", "rejected", "It is not taken.", of=("proposed",), stamps="decided_at", person=True),
        Verb("deprecate", "deprecated", "It is no longer in force, and nothing replaced it.",
             of=("proposed", "accepted"), stamps="deprecated_at", person=True),
    ),
    section="Decisions", budget_category="architecture_context", node="adr", proof="ADR",
)  # fmt: skip

REJECTED_MEMORIES: Final = ".kl/knowledge/memories/rejected.txt"
"""What people rejected, for every clone; `memory.review` reads and writes it."""

# numbered by a hash of the words: two clones that learn the same have the same memory (ADR-0013)
MEMORY: Final = Kind(
    name="memory", plural="memories", prefix="MEM",
    purpose="What was learned here: patterns mined from receipts, and what people and agents add. Reviewed before use.",
    storage="state", statuses=("candidate", "approved", "rejected"), live=("approved",), filed=("approved",),
    numbering="hash", identity=("pattern",), proof="RepositoryMemory", ttl={"agent": 90, "auto": 30},
    section="Project Knowledge", budget_category="relevant_patterns",
    fields=(
        Field("pattern", "text",
              "What was learned. It is what the memory is known by: the same text is the same memory.", required=True,
              section="Pattern", aliases=("content",),
              example="Tests of the importer need LC_ALL=C.UTF-8, or names with umlauts fail."),
        Field("category", "choice", "What sort of learning it is.",
              choices=("pattern", "anti_pattern", "best_practice", "discovery", "fact", "failure_mode",
                       "review_finding", "performance_insight", "reflexion")),
        Field("importance", "number", "How much it matters before anybody has used it, in percent.", most=100,
              example="50"),
        Field("standing", "choice", "How it fared since.",
              choices=("active", "verified", "disproven", "deprecated", "superseded"),
              persons={"verified": "verify", "disproven": "disprove"}, ends=("disproven", "deprecated", "superseded")),
        Field("session", "line", "The session in which it was first seen.", aliases=("source_session_id",)),
        Field("evidence", "lines", "The receipts it was seen in, one a line.", section="Evidence"),
        Field("quarantine", "line", "Why its text is quarantined until a person has read it."),
        Field("reason", "line", "Why it was rejected, demoted or disproven."),
    ),
    verbs=(
        Verb("approve", "approved", "Accept it: it becomes a file, and agents are shown it.",
             of=("candidate", "rejected"), person=True, reviewer=True),
        Verb("reject", "rejected", "Refuse it: the same pattern never comes back.", of=("candidate", "approved"),
             person=True, reviewer=True),
        Verb("demote", "candidate", "Take it back to the candidates: no agent sees it until it is reviewed.",
             of=("approved",)),
    ),
)  # fmt: skip

OBJECTIVE: Final = with_proposals(Kind(
    name="objective", plural="objectives", prefix="OBJ",
    purpose="A goal of many sessions: its open tasks and its progress.",
    storage="file", statuses=("active", "paused", "completed", "abandoned"), live=("active",), section="Objectives",
    budget_category="feature_context", spellings={"cancelled": "abandoned", "done": "completed", "open": "active"},
    fields=(
        Field("description", "text", "Why it matters, and when it is reached.", section="Description"),
        Field("remaining", "lines", "Open tasks.", section="Remaining",
              aliases=("tasks", "remaining_tasks"), example="Write the parser"),
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

TASK: Final = Kind(
    name="task", plural="tasks", prefix="TSK",
    purpose="A piece of work, with what it requires and what it produces.",
    storage="state", nature="observation", statuses=("open", "blocked", "done"), live=("open", "blocked"),
    section="Tasks",
    budget_category="feature_context", spellings={"todo": "open", "in_progress": "open", "completed": "done"},
    fields=(
        Field("task_type", "line", "The type of work, which decides what gate it must pass.", aliases=("type",),
              example="feature"),
        Field("complexity", "number", "How much there is to it, 1 to 10.", least=1, most=10),
        Field("assignee", "line", "Who does it.", aliases=("agent",)),
        Field("objective", "ids", "The objective it serves.", relation="part_of"),
        Field("feature_id", "ids", "The feature it belongs to.", relation="part_of", aliases=("feature",)),
        Field("requires", "lines", "What must exist first: artifact:NAME, file:PATH or symbol:NAME.",
              aliases=("needs",), example="artifact:design"),
        Field("produces", "lines", "What exists once it is done.", aliases=("gives",), example="file:src/parser.py"),
        Field("description", "text", "What to do.", section="Description"),
        Field("reason", "line", "Why it can't go on.", aliases=("blocked_by",)),
    ),
    verbs=(
        Verb("block", "blocked", "It can't go on.", of=("open",), needs=("reason",)),
        Verb("unblock", "open", "It can go on.", of=("blocked",)),
        Verb("reopen", "open", "It must be done again.", of=("done",)),
    ),
)  # fmt: skip

# random numbers: an outcome is queued under its ID while the store can't be written (outcome.py), and a serial
# number can only be taken under the store's lock (ADR-0013)
OUTCOME: Final = Kind(
    name="outcome", plural="outcomes", prefix="OUT",
    purpose="How a task ended: what was tried, what failed, what was learned.",
    storage="state", nature="observation", statuses=("recorded",), live=("recorded",),
    section="Outcomes of similar tasks",
    list_fields=("outcome_type",), budget_category="similar_outcomes", numbering="random",
    fields=(
        Field("title", "line", "What the task was, in one line.", required=True, aliases=("task_title", "name")),
        Field("outcome_type", "choice", "How it ended.", aliases=("type",),
              choices=("task_completed", "task_failed", "task_blocked", "task_cancelled", "phase_completed",
                       "review_passed", "review_failed", "pattern_success", "pattern_failure"),
              also={"completed": "task_completed", "failed": "task_failed", "blocked": "task_blocked",
                    "cancelled": "task_cancelled"}),
        Field("success", "flag", "Whether it reached its goal."),
        Field("task_id", "line", "The task it is the end of.", example="TASK-42"),
        Field("feature_id", "ids", "The feature it belongs to.", relation="part_of", aliases=("feature",)),
        Field("tests_written", "flag", "Whether tests were written for it."),
        Field("test_coverage", "number", "Of what it changed, percent.", most=100, aliases=("coverage",)),
        Field("review_cycles", "number", "How often review sent it back.", most=1000),
        Field("started_at", "date", "When it was begun."),
        Field("completed_at", "date", "When it ended."),
        Field("duration_minutes", "number", "How long it took."),
        Field("related_adr_ids", "ids", "Decisions it followed or met.", relation="related", aliases=("related_adrs",)),
        Field("summary", "text", "What was done, in a few sentences.", section="Summary"),
        Field("task_requirements", "text", "What was asked for: similar tasks are found by it.", section="Requirements",
              aliases=("requirements",)),
        Field("approach_used", "text", "How it was done.", section="Approach", aliases=("approach",)),
        Field("patterns_used", "lines", "Patterns that were applied.", section="Patterns used", aliases=("patterns",)),
        Field("problems_encountered", "lines", "Problems on the way.", section="Problems", aliases=("problems",)),
        Field("lessons_learned", "lines", "What to do otherwise next time.", section="Lessons", aliases=("lessons",)),
    ),
)  # fmt: skip

# numbered by a hash of the approach: two clones that record the same one count on the same record (ADR-0013, ADR-0019)
FAILURE: Final = Kind(
    name="failure", plural="failures", prefix="FAIL",
    purpose="An approach that failed, why, and what prevents it.",
    storage="file", nature="observation", statuses=("open", "mitigated"), live=("open", "mitigated"),
    section="Known failures (DO NOT REPEAT)", budget_category="warnings", summary_field="prevention", numbering="hash",
    identity=("approach",), counted="occurred",
    fields=(
        # directives in an observation: an agent's value waits for a person (ADR-0018)
        Field("severity", "choice", "How much it cost.", choices=("medium", "low", "high", "critical"),
              also={"info": "low", "warning": "medium", "error": "high"}, directive=True),
        Field("task_id", "line", "The task it happened in."),
        Field("feature_id", "ids", "The feature it happened in.", relation="part_of", aliases=("feature",)),
        Field("file_path", "ids", "The file it happened in.", relation="about", aliases=("file",)),
        Field("related_adrs", "ids", "Decisions on how it should be done.", relation="related"),
        Field("similar_failures", "ids", "Failures of the same sort.", relation="related"),
        Field("time_to_fix_minutes", "number", "How long it took to put right."),
        Field("approach", "line", "What was tried.", required=True, example="Mock the database in integration tests"),
        Field("symptom", "text", "What was seen.", section="Symptom"),
        Field("root_cause", "text", "Why it failed.", section="Root cause", aliases=("cause",)),
        Field("prevention", "text", "What to do instead.", section="Prevention", directive=True),
        Field("fix_applied", "text", "How it was put right.", section="Fix", aliases=("fix",)),
        Field("context", "text", "Where and when it happened.", section="Context"),
        *COUNT_FIELDS,
    ),
    verbs=(
        Verb("mitigate", "mitigated", "Something now keeps it from happening.", of=("open",), needs=("prevention",)),
        Verb("reopen", "open", "It happened again all the same.", of=("mitigated",)),
    ),
)  # fmt: skip

# the ID is given: a specification has one already, in its name or its title (FEAT-AUTH-12; seeds.py)
FEATURE: Final = with_proposals(Kind(
    name="feature", plural="features", prefix="FEAT",
    purpose="A feature: what it is, what it is not, and what must always be true of it.",
    storage="file", statuses=("planned", "building", "shipped"), live=("planned", "building", "shipped"),
    section="Features", budget_category="feature_context", numbering="given",
    spellings={"draft": "planned", "in_progress": "building", "done": "shipped"},
    fields=(
        Field("tagline", "line", "The feature in one sentence."),
        Field("spec", "line", "The file that specifies it.", aliases=("spec_path",), example="docs/features/auth.md"),
        Field("key_decisions", "ids", "The decisions it rests on.", relation="decided_by", aliases=("decisions",),
              example="ADR-0004"),
        Field("purpose", "text", "What it is for.", section="Purpose"),
        Field("what_it_is", "lines", "What it is.", section="What it is"),
        Field("what_it_is_not", "lines", "What it is not.", section="What it is not"),
        Field("invariants", "lines", "What must always be true.", section="Invariants"),
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

ROLE: Final = with_proposals(Kind(
    name="role", plural="roles", prefix="ROLE",
    purpose="What an agent or a person in a role must do, must not do, and asks about first.",
    storage="file", statuses=("active", "retired"), live=("active",), section="Role constraints",
    budget_category="role_constraints",
    fields=(
        Field("role", "line", "Its name, as a command or a task gives it.", required=True, example="player"),
        Field("context", "line", "Where it applies.", example="feature-build"),
        Field("primary_responsibility", "text", "What it is there for.", section="Primary responsibility"),
        Field("must_do", "lines", "What it always does.", section="MUST DO"),
        Field("must_not_do", "lines", "What it never does.", section="MUST NOT DO"),
        Field("ask_before", "lines", "What it asks a person about first.", section="ASK BEFORE"),
        Field("good_examples", "lines", "How it looks when done well.", section="Good examples"),
        Field("bad_examples", "lines", "How it looks when done badly.", section="Bad examples"),
        *SEEDED,
    ),
    verbs=(
        Verb("retire", "retired", "It is no longer in force.", of=("active",)),
        Verb("revive", "active", "It is in force again.", of=("retired",)),
    ),
))  # fmt: skip

GATE: Final = with_proposals(Kind(
    name="gate", plural="gates", prefix="GATE",
    purpose="What work of a type and a complexity must pass before it counts as done.",
    storage="file", statuses=("active", "retired"), live=("active",),
    section="Quality gates (do NOT adjust mid-session)",
    budget_category="quality_gate_configs",
    fields=(
        Field("task_type", "line", "The work it is for.", required=True, example="feature"),
        Field("complexity_from", "number", "From this complexity on, 1 to 10.", least=1, most=10, aliases=("least",)),
        Field("complexity_to", "number", "Up to this complexity, 1 to 10.", least=1, most=10, aliases=("most",)),
        Field("test_pass_required", "flag", "Whether all tests must pass."),
        Field("lint_required", "flag", "Whether the linter must pass."),
        Field("coverage_required", "flag", "Whether coverage counts."),
        Field("coverage_threshold", "number", "Least coverage, percent.", most=100),
        Field("arch_review_required", "flag", "Whether the architecture is reviewed."),
        Field("arch_review_threshold", "number", "Least score of that review, of 100.", most=100),
        Field("version", "line", "Of this gate."),
        Field("effective_from", "date", "When it takes effect."),
        Field("rationale", "text", "Why it is as it is.", section="Rationale"),
        *SEEDED,
    ),
    verbs=(
        Verb("retire", "retired", "It is no longer in force.", of=("active",)),
        Verb("revive", "active", "It is in force again.", of=("retired",)),
    ),
))  # fmt: skip

MODE: Final = with_proposals(Kind(
    name="mode", plural="modes", prefix="MODE",
    purpose="A way to carry out work: when to choose it, its steps, where its results are.",
    storage="file", statuses=("active", "retired"), live=("active",), section="Implementation modes",
    budget_category="implementation_modes", list_fields=("default", "max_turns"),
    fields=(
        Field("mode", "line", "Its name, as a command or a task gives it.", required=True, example="tdd"),
        Field("invocation", "line", "How it is started.", aliases=("invocation_method",)),
        Field("default", "flag", "Whether work is done this way by default."),
        Field("max_turns", "number", "After how many turns without success work stops.", least=1, most=1000),
        Field("results", "line", "Where its results are found.", aliases=("result_location_pattern",)),
        Field("when_to_use", "lines", "When it is the right one.", section="When to use"),
        Field("steps", "lines", "What is done, in order.", section="Steps"),
        Field("recovery", "text", "How to go on after it broke off.", section="Recovery",
              aliases=("state_recovery_strategy",)),
        Field("pitfalls", "lines", "What goes wrong with it.", section="Pitfalls"),
        *SEEDED,
    ),
    verbs=(
        Verb("retire", "retired", "It is no longer used.", of=("active",)),
        Verb("revive", "active", "It is used again.", of=("retired",)),
    ),
))  # fmt: skip

TURN: Final = Kind(
    name="turn", plural="turns", prefix="TURN",
    purpose="One round of work and review: what was done, the feedback of the review, what to try next.",
    storage="state", nature="observation", statuses=("recorded",), live=("recorded",), section="Earlier turns",
    list_fields=("player_decision", "coach_decision"), budget_category="turn_states", numbering="given",
    ttl={"human": 90, "agent": 30, "auto": 30}, retention=30,
    fields=(
        Field("feature_id", "line", "Its feature.", required=True, aliases=("feature",), example="FEAT-A-12"),
        Field("task_id", "line", "The task it worked on.", aliases=("task",), example="TASK-42"),
        Field("turn_number", "number", "Which round of that task it is, from 1.", least=1, aliases=("number", "turn")),
        Field("mode", "choice", "How the work was done.",
              choices=("fresh_start", "recovering_state", "continuing_work", "standard", "tdd", "bdd")),
        Field("player_decision", "line", "What the player ended with.", example="implemented"),
        Field("coach_decision", "choice", "The verdict of the review.", choices=("pending", "approved", "rejected"),
              also={"approve": "approved", "accepted": "approved", "reject": "rejected", "feedback": "rejected"}),
        Field("files_modified", "lines", "Files it changed."),
        Field("tests_passed", "number", "Tests that passed at its end."),
        Field("tests_failed", "number", "Tests that failed at its end."),
        Field("coverage", "number", "Coverage at its end, percent.", most=100),
        Field("arch_score", "number", "Score of the architecture review, of 100.", most=100),
        Field("started_at", "date", "When it was begun."),
        Field("completed_at", "date", "When it ended."),
        Field("duration_seconds", "number", "How long it took."),
        Field("acceptance_criteria_status", "map", "The state of each criterion.", aliases=("criteria",)),
        Field("player_summary", "text", "What was done.", section="What was done"),
        Field("coach_feedback", "text", "What the review asks for.", section="Feedback", aliases=("feedback",)),
        Field("blockers_found", "lines", "What blocked it.", section="Blockers", aliases=("blockers",)),
        Field("progress_summary", "text", "How far the task is.", section="Progress"),
        Field("lessons_from_turn", "text", "What was learned.", section="Lessons", aliases=("lessons",)),
        Field("what_to_try_next", "text", "Where the next round should start.", section="Next"),
    ),
)  # fmt: skip

FACT: Final = with_proposals(Kind(
    name="fact", plural="facts", prefix="FACT",
    purpose="What is true of this project: stated by a person, or read in its own documents.",
    storage="file", statuses=("current", "outdated"), live=("current",), section="Facts about this project",
    budget_category="domain_knowledge", summary_field="answer",
    spellings={"active": "current", "deprecated": "outdated"},
    fields=(
        Field("category", "choice", "What it is about.",
              choices=("project_overview", "architecture", "domain", "constraints", "decisions", "goals",
                       "role_customization", "quality_gates", "workflow_preferences"),
              also={
                  "overview": "project_overview", "roles": "role_customization", "gates": "quality_gates",
                  "workflow": "workflow_preferences", "project_architecture": "architecture",
                  "domain_knowledge": "domain", "project_constraints": "constraints", "project_decisions": "decisions",
                  "role_constraints": "role_customization", "quality_gate_configs": "quality_gates",
                  "implementation_modes": "workflow_preferences",
              }),
        Field("answers", "line", "The question of the interview that it answers.", example="target_users"),
        Field("confidence", "number", "How sure its author was, percent.", most=100),
        Field("question", "line", "What was asked."),
        Field("task_id", "line", "The task in which it was asked."),
        Field("answer", "text", "The answer, word for word.", section="Answer"),
        Field("facts", "lines", "Its sentences, one by one.", section="Facts", aliases=("extracted_facts",),
              repeats="answer"),
        *SEEDED,
    ),
    verbs=(
        Verb("outdate", "outdated", "It is no longer true.", of=("current",)),
        Verb("renew", "current", "It is true again.", of=("outdated",)),
    ),
))  # fmt: skip

GUIDE: Final = with_proposals(Kind(
    name="guide", plural="guides", prefix="GUIDE",
    purpose="How we work here: workflows, patterns, rules, commands, the stack.",
    storage="file", statuses=("current", "outdated"), live=("current",), section="How we work here",
    budget_category="relevant_patterns", summary_field="text",
    spellings={"active": "current", "deprecated": "outdated"},
    fields=(
        Field("topic", "choice", "What it is about.", aliases=("group", "category"),
              choices=("convention", "rule", "pattern", "workflow", "command", "template", "agent", "stack",
                       "structure", "architecture", "component", "integration", "product", "testing"),
              also={  # the groups of older layouts among them
                  "product_knowledge": "product", "command_workflows": "workflow", "quality_gate_phases": "workflow",
                  "technology_stack": "stack", "feature_build_architecture": "architecture", "patterns": "pattern",
                  "project_architecture": "architecture", "component_status": "component", "rules": "rule",
                  "integration_points": "integration", "templates": "template", "agents": "agent",
                  "conventions": "convention", "commands": "command", "workflows": "workflow", "tests": "testing",
              }),
        Field("scope", "choice", "For this project, or for any.", choices=("project", "system")),
        Field("applies_to", "words", "Files it is for, as patterns.", aliases=("paths", "globs"), example="src/*.py"),
        Field("text", "text", "What to do, and why.", section="Guide", aliases=("content", "description")),
        Field("examples", "lines", "How it looks.", section="Examples"),
        *SEEDED,
    ),
    verbs=(
        Verb("outdate", "outdated", "It is no longer in force.", of=("current",)),
        Verb("renew", "current", "It is in force again.", of=("outdated",)),
    ),
))  # fmt: skip

FINDING: Final = Kind(
    name="finding", plural="findings", prefix="FND",
    purpose="What an agent's tools found out or changed; valid until that content changes.",
    storage="state", nature="observation", statuses=("live", "stale"), live=("live",), numbering="hash",
    identity=("entity", "finding"), digits=16, ttl={"agent": 90, "auto": 90}, retention=30,
    list_fields=("kind", "confidence", "agent"), section="Findings", budget_category="domain_knowledge",
    fields=(
        Field("entity", "line", "What it is about: a path, else a pattern, else a command.", required=True),
        Field("finding", "text", "What was found, at most 200 characters.", required=True, section="Finding"),
        Field("kind", "choice", "What sort of finding it is.", aliases=("sort",),
              choices=("observation", "change", "ownership", "architectural_decision", "dependency", "pitfall")),
        Field("confidence", "number", "How sure it is, in percent, from what supports it.", most=100),
        Field("agent", "line", "The agent whose tool it was.", aliases=("agentName", "agent_name")),
        Field("tool", "line", "The tool."),
        Field("anchors", "map", "ID of what it is bound to → its digest then."),
        Field("evidence", "text", "The beginning of what the tool gave back.", section="Evidence"),
    ),
)  # fmt: skip

DOCUMENT: Final = Kind(
    name="document", plural="documents", prefix="DOC",
    purpose="A text from outside the repository's files, such as a runbook or an export; it is found by its passages.",
    storage="state", nature="observation", statuses=("pending", "processing", "indexed", "failed", "archived"),
    live=("indexed",), list_fields=("collection", "error"), section="Documents", budget_category="domain_knowledge",
    fields=(
        Field("collection", "line", "The set of documents that it belongs to.", aliases=("knowledge_base",)),
        Field("source_type", "choice", "What sort of source it has.",
              choices=("upload", "url", "api", "database", "cloud_storage", "git"), also={"file": "upload"}),
        Field("checksum", "line", "sha256 of what was read.", internal=True),
        Field("chunks", "number", "Passages that it was cut into.", internal=True, most=1_000_000),
        Field("size", "number", "Bytes.", internal=True, most=100_000_000),
        Field("error", "line", "Why it could not be indexed.", internal=True),
    ),
    verbs=(
        Verb("archive", "archived", "No search finds it any more.", of=("pending", "indexed", "failed")),
        Verb("restore", "pending", "It is to be indexed again: kl document process.", of=("archived",)),
    ),
)  # fmt: skip

_SKILL_CATEGORIES: Final = (
    "code_generation", "code_review", "testing", "debugging", "deployment", "documentation", "analysis",
    "communication", "planning", "research", "data_processing", "security", "monitoring", "optimization", "integration",
    "automation", "design", "architecture", "project_management", "devops", "operations",
)  # fmt: skip

SKILL: Final = Kind(
    name="skill", plural="skills", prefix="SKILL",
    purpose="What agents can do here, as they read it themselves: a folder with a SKILL.md.",
    storage="file", statuses=("active", "draft", "deprecated", "archived"), live=("active",), section="Skills",
    budget_category="relevant_patterns", summary_field="description", numbering="hash", identity=("title",), digits=12,
    list_fields=("category", "version"), folders=(".claude/skills", ".agents/skills"),
    fields=(
        Field("description", "text", "What it does and when to use it, at most 1,024 characters.", required=True,
              example="Fills in PDF forms. Use it when a task names a form or a PDF."),
        Field("category", "choice", "What sort of work it is for.", choices=_SKILL_CATEGORIES),
        Field("version", "line", "Of its instructions.", example="1.0.0",
              pattern=r"v?[0-9]+(\.[0-9]+){0,3}([-+][0-9A-Za-z.+-]+)?"),
        Field("change_type", "choice", "What its last version changed.",
              choices=("minor", "major", "patch", "hotfix", "experimental"),
              also={"manual": "minor", "evolution": "minor", "consolidation": "major", "ab_test": "experimental"}),
        Field("agents", "words", "Agents that have it.", example="claude-code"),
        Field("requires", "ids", "Skills that it can't do without.", relation="requires", namespace="skill",
              example="pdf-tools"),
        Field("enhances", "ids", "Skills that it makes better.", relation="enhances", namespace="skill"),
        Field("composes", "ids", "Skills that it is put together of.", relation="composes", namespace="skill"),
        Field("succeeds", "ids", "Skills whose place it takes.", relation="succeeds", namespace="skill"),
        Field("least_versions", "words", "Least versions of what it requires.", example="pdf-tools>=1.2",
              pattern=r"[a-z0-9]+(-[a-z0-9]+)*>=[0-9]+(\.[0-9]+){0,3}"),
        Field("traffic", "number", "Of a variant: in how many of a hundred uses it is tried.", least=1, most=99),
        Field("license", "line", "Its license."),
        Field("compatibility", "line", "What it needs: a product, packages, the network."),
        Field("allowed_tools", "line", "Tools that its agent may use without asking."),
    ),
    verbs=(
        Verb("activate", "active", "Agents may be shown it.", of=("draft", "deprecated", "archived"), person=True),
        Verb("deprecate", "deprecated", "No longer use it.", of=("active",), person=True),
        Verb("archive", "archived", "It stays for the record alone.", of=("draft", "deprecated"), person=True),
    ),
)  # fmt: skip

PROPOSAL: Final = Kind(
    name="proposal", plural="proposals", prefix="PROP",
    purpose="A skill that is proposed; a person reviews it before there is a file that agents read.",
    storage="state", nature="observation",
    statuses=("draft", "proposed", "under_review", "approved", "created", "rejected"), live=(),
    section="Proposed skills",
    spellings={"submitted": "proposed", "in_review": "under_review", "accepted": "approved"},
    ttl={"agent": 30, "auto": 30, "human": 180}, retention=90, list_fields=("category", "confidence"),
    summary_field="description",
    fields=(
        Field("description", "text", "What the skill does and when to use it.", required=True, section="Description"),
        Field("category", "choice", "What sort of work it is for.", choices=_SKILL_CATEGORIES),
        Field("instructions", "text", "What an agent does, step by step: the text of the SKILL.md.",
              section="Instructions", aliases=("body",)),
        Field("requires", "words", "Names of skills that it can't do without."),
        Field("enhances", "words", "Names of skills that it makes better."),
        Field("composes", "words", "Names of skills that it is put together of."),
        Field("succeeds", "words", "Names of skills whose place it takes."),
        Field("sources", "lines", "What the research found.", section="Sources", aliases=("research",)),
        Field("near", "lines", "Findings that are near, from which further skills are proposed.", section="Near"),
        Field("findings", "number", "How many matches the research found."),
        Field("overlap", "number", "How much it is like the skill that is nearest, percent.", most=100),
        Field("confidence", "number", "What the research supports, percent.", most=100),
        Field("parent", "ids", "The proposal that needs it.", relation="part_of"),
        Field("depth", "number", "How many proposals need it, one above the other.", most=3),
        Field("agent", "line", "Who proposed it."),
        Field("reason", "line", "Why it was rejected."),
        Field("approved_text", "line", "sha256 of what was approved.", internal=True),
    ),
    verbs=(
        Verb("submit", "proposed", "It is complete: a person can review it.", of=("draft",)),
        Verb("review", "under_review", "A person reviews it.", of=("proposed",), person=True),
        Verb("approve", "approved", "It may become a skill (adopt), and what it requires is proposed.",
             of=("draft", "proposed", "under_review"), person=True, reviewer=True, own=True),
        Verb("reject", "rejected", "It is not taken.", of=("draft", "proposed", "under_review", "approved"),
             needs=("reason",), person=True, reviewer=True),
    ),
)  # fmt: skip

KINDS: Final = (
    DECISION, MEMORY, OBJECTIVE, TASK, OUTCOME, FAILURE, FEATURE, ROLE, GATE, MODE, TURN, FACT, GUIDE, FINDING,
    DOCUMENT, SKILL, PROPOSAL,
)  # fmt: skip
