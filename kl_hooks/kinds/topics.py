"""Topics and groups: words that select records of several kinds.

A topic is a word of a field `topic` or `category`; a group is a name that older layouts have for a kind, or for a kind
and a topic (`technology_stack`, `failure_patterns`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kl_hooks.errors import UsageProblem
from kl_hooks.model.kind import Field, Kind
from kl_hooks.model.record import Record
from kl_hooks.model.text import suggest_spelling

_GROUPS: Final[Mapping[str, str]] = {
    "architecture_decisions": "decision", "adrs": "decision", "project_decisions": "decision",
    "failure_patterns": "failure", "failed_approaches": "failure", "task_outcomes": "outcome", "turn_states": "turn",
    "feature_overviews": "feature", "feature_specs": "feature", "role_constraints": "role",
    "quality_gate_configs": "gate", "implementation_modes": "mode", "captured_knowledge": "fact",
}  # fmt: skip
"""Group → the kind that is meant as a whole."""


class Selection:
    """The records of a topic or a group."""

    def __init__(self, kinds: Mapping[str, Kind], name: str) -> None:
        """UsageProblem for a word that is neither."""
        word = name.strip().lower().replace("-", "_").replace(" ", "_")
        fields = {kind.name: field for kind in kinds.values() if (field := topic_field(kind))}
        # a spelling of a word counts as the word: `rules` selects what is stored as `rule`
        self._words = {
            kind: (field.name, field.also.get(word, word))
            for kind, field in fields.items() if word in field.choices or word in field.also
        }  # fmt: skip
        """Kind → (field, its word); two empty texts: all records of the kind."""
        # a group goes first: `role_constraints` is the kind as a whole, though a fact has a category of that name
        if _GROUPS.get(word) in kinds:
            self._words = {_GROUPS[word]: ("", "")}
        if not self._words:
            known = sorted({*_GROUPS, *(one for field in fields.values() for one in (*field.choices, *field.also))})
            hint = suggest_spelling(word, known) or f"There are: {', '.join(known)}."
            raise UsageProblem("unknown topic or group.", place=name, hint=hint)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds that have such records."""
        return tuple(self._words)

    def holds(self, record: Record) -> bool:
        """Return True for a record that belongs to it."""
        name, word = self._words.get(record.kind, ("", None))
        return word is not None and (not name or record.text(name) == word)


def topic_field(kind: Kind) -> Field | None:
    """Return the field with the topic of a record; None for a kind without one."""
    choices = {field.name: field for field in kind.fields if field.type == "choice"}
    return choices.get("topic") or choices.get("category")
