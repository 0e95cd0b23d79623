"""Finding: one thing that an agent's tool found out or changed, as data."""

from __future__ import annotations

from typing import Final

from kl_hooks.model.kind import Field, Kind

SORTS: Final = ("observation", "change", "ownership", "architectural_decision", "dependency", "pitfall")
"""What a finding can be."""
LONGEST_FINDING, LONGEST_EVIDENCE, LONGEST_ENTITY = 200, 500, 200
"""Characters."""

KIND: Final = Kind(
    name="finding",
    plural="findings",
    prefix="FND",
    purpose="What an agent's tools found out or changed, as long as the content stays as it was.",
    home="state",
    nature="observation",
    statuses=("live", "stale"),
    live=("live",),
    numbering="hash",
    identity=("entity", "finding"),
    digits=16,
    ttl={"agent": 90, "auto": 90},
    retention=30,
    beside=("kind", "confidence", "agent"),
    section="Findings",
    share="domain_knowledge",
    fields=(
        Field("entity", "line", "What it is about: a path, else a pattern, else a command.", required=True),
        Field("finding", "text", "What was found, at most 200 characters.", required=True, section="Finding"),
        Field("kind", "choice", "What sort of finding it is.", choices=SORTS, aliases=("sort",)),
        Field("confidence", "number", "How sure it is, in percent, from what supports it.", most=100),
        Field("agent", "line", "The agent whose tool it was.", aliases=("agentName", "agent_name")),
        Field("tool", "line", "The tool."),
        Field("anchors", "map", "Id of what it rests on → the digest that this had then."),
        Field("evidence", "text", "The beginning of what the tool gave back.", section="Evidence"),
    ),
)  # fmt: skip
