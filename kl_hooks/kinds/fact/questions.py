"""The questions of the interview, as data: what a project should know of itself, and where other kinds would say it."""

from __future__ import annotations

from typing import Final

from kl_hooks.records.interview.question import Place, Question

_AIM = "Every task is read in the light of it."
_PARTS = "Changes are put where they belong."
_LIMITS = "Proposals that break one of them are not made."

QUESTIONS: Final = (
    Question(
        "purpose", "project_overview", "high", "What is this project for, in one or two sentences?", _AIM,
        "A command line tool that converts map data between formats, offline.", (Place("guide", "topic", "product"),),
    ),
    Question(
        "target_users", "project_overview", "medium", "Who uses it, and what do they know already?",
        "Messages, defaults and documents are written for them.", "Surveyors who know GIS but not programming.",
    ),
    Question(
        "goals", "project_overview", "high", "What should it be able to do that it can't do yet?", _AIM,
        "Read files of 10 GB without holding them in memory.", (Place("objective", "status", "active"),),
    ),
    Question(
        "problem_statement", "project_overview", "high", "Which problem does it solve, and how was that done before?",
        "What solves another problem is left out.", "Conversions were done by hand in three programs, with mistakes.",
    ),
    Question(
        "architecture_summary", "architecture", "high", "How is it built, in a few sentences?", _PARTS,
        "Readers give features to a pipeline of filters; writers take them. No state between runs.",
        (Place("guide", "topic", "architecture"),),
    ),
    Question(
        "key_components", "architecture", "high", "What are its main parts, and what is each responsible for?", _PARTS,
        "reader/: formats in. filter/: pure changes. writer/: formats out. cli/: nothing but options.",
        (Place("guide", "topic", "component"), Place("guide", "topic", "structure")),
    ),
    Question(
        "external_dependencies", "architecture", "medium", "Which outside systems and services does it talk to?",
        "What can fail outside is tested and reported as such.", "PostgreSQL 15, a tile server, nothing else.",
        (Place("guide", "topic", "integration"),),
    ),
    Question(
        "data_flow", "architecture", "medium", "How does data move through it, from where to where?", _PARTS,
        "File -> reader -> features -> filters -> writer -> file; never back.",
    ),
    Question(
        "domain_terminology", "domain", "medium", "Which words mean something special here?",
        "Names in code and documents follow them.", "Feature: a shape with attributes. Layer: features of one schema.",
    ),
    Question(
        "business_rules", "domain", "medium", "Which rules of the domain must always hold?",
        "They become tests, and are not broken for convenience.", "A parcel never overlaps another one.",
    ),
    Question(
        "technical_constraints", "constraints", "high", "Which technical limits must be kept?", _LIMITS,
        "Python 3.11 and newer, no network at run time, under 200 MB of memory.",
    ),
    Question(
        "business_constraints", "constraints", "medium", "Which limits come from law, money, time or customers?",
        _LIMITS, "Output must stay byte for byte the same for the land registry until 2028.",
    ),
    Question(
        "avoid_list", "constraints", "high", "What should never be done or used here, and why?", _LIMITS,
        "No pickle: files come from strangers. No new dependency without asking.",
    ),
    Question(
        "tech_decisions", "decisions", "high", "Which technical choices are settled?",
        "Settled choices are not opened again by the way.", "SQLite rather than a server, because it runs on laptops.",
        (Place("decision", "decision"),),
    ),
    Question(
        "decision_rationale", "decisions", "medium", "Why were the most important choices made as they were?",
        "Whoever meets the reason knows when it no longer holds.", "Surveyors have no administrator rights.",
        (Place("decision", "rationale"),),
    ),
    Question(
        "success_measures", "goals", "high", "How will you see that it does what it should?",
        "Work is judged by it.", "The nightly run of 400 real files has no difference.",
    ),
    Question(
        "player_ask_before", "role_customization", "high", "What should whoever implements ask a person about first?",
        "It is put into the role `player`.", "Adding a dependency; changing a file format.",
        adds_to=Place("role", "ask_before", "player"),
    ),
    Question(
        "coach_escalate_when", "role_customization", "high", "When should whoever reviews bring in a person?",
        "It is put into the role `coach`.", "Three rejected turns in a row; any doubt about personal data.",
        adds_to=Place("role", "ask_before", "coach"),
    ),
    Question(
        "no_auto_zones", "role_customization", "high", "Which files may no agent change by itself?",
        "It is put into the role `player`.", "migrations/, anything under legal/.",
        adds_to=Place("role", "must_not_do", "player"),
    ),
    Question(
        "coverage_threshold", "quality_gates", "medium", "Which test coverage must new code have?",
        "Gates are set to it.", "80 % of changed lines.", (Place("gate", "coverage_threshold"),),
    ),
    Question(
        "arch_review_threshold", "quality_gates", "medium", "From which size on is a change's architecture reviewed?",
        "Gates are set to it.", "Complexity 4 and more; at least 60 of 100.", (Place("gate", "arch_review_threshold"),),
    ),
    Question(
        "implementation_mode_preference", "workflow_preferences", "medium", "How should work be done by default?",
        "The mode is chosen by it.", "Test first for everything but scaffolding.", (Place("mode", "mode"),),
    ),
    Question(
        "max_auto_turns", "workflow_preferences", "low", "After how many turns without success should work stop?",
        "Work that goes in circles is brought to a person.", "Five.",
    ),
)  # fmt: skip
"""23 of them, in the order in which they are asked within one importance."""
