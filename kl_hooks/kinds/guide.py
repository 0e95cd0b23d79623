"""The kind `guide`: how things are done here: workflows, patterns, rules, templates, agents, the stack."""

from __future__ import annotations

from typing import Final

from kl_hooks.model.kind import Field, Kind, Verb, with_proposals
from kl_hooks.records.seed.fields import SEEDED

TOPICS: Final = (
    "convention", "rule", "pattern", "workflow", "command", "template", "agent", "stack", "structure", "architecture",
    "component", "integration", "product", "testing",
)  # fmt: skip
"""What a guide can be about; the groups of the older layouts are read as these."""

KIND: Final = with_proposals(Kind(
    name="guide",
    plural="guides",
    prefix="GUIDE",
    purpose="How things are done here: workflows, patterns, rules, commands, the stack.",
    home="file",
    statuses=("current", "outdated"),
    live=("current",),
    section="How things are done here",
    share="relevant_patterns",
    gist="text",
    spellings={"active": "current", "deprecated": "outdated"},
    fields=(
        Field(
            "topic", "choice", "What it is about.", choices=TOPICS, aliases=("group", "category"),
            also={
                "product_knowledge": "product", "command_workflows": "workflow", "quality_gate_phases": "workflow",
                "technology_stack": "stack", "feature_build_architecture": "architecture", "patterns": "pattern",
                "project_architecture": "architecture", "component_status": "component", "rules": "rule",
                "integration_points": "integration", "templates": "template", "agents": "agent",
                "conventions": "convention", "commands": "command", "workflows": "workflow", "tests": "testing",
            },
        ),
        Field("scope", "choice", "For this project, or for any.", choices=("project", "system")),
        Field("applies_to", "words", "Files it is for, as patterns.", aliases=("paths", "globs"), example="src/*.py"),
        Field("text", "text", "What to do, and why.", section="Guide", aliases=("content", "description")),
        Field("examples", "lines", "How it looks.", section="Examples"),
        *SEEDED,
    ),
    verbs=(
        Verb("outdate", "outdated", "It no longer holds.", of=("current",)),
        Verb("renew", "current", "It holds again.", of=("outdated",)),
    ),
))  # fmt: skip
