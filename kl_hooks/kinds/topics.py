"""Topics and groups: the words by which records of several kinds are asked for together.

A topic is a word of a field `topic` or `category`; a group is a name that older layouts have for a kind, or for a kind
and a topic (`technology_stack`, `failure_patterns`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kl_hooks.config.yaml import suggest_spelling
from kl_hooks.errors import UsageProblem
from kl_hooks.model.kind import Field, Kind
from kl_hooks.model.record import Record

_GROUPS: Final[Mapping[str, str]] = {
    "architecture_decisions": "decision", "adrs": "decision", "project_decisions": "decision",
    "failure_patterns": "failure", "failed_approaches": "failure", "task_outcomes": "outcome", "turn_states": "turn",
    "feature_overviews": "feature", "feature_specs": "feature", "role_constraints": "role",
    "quality_gate_configs": "gate", "implementation_modes": "mode", "captured_knowledge": "fact",
}  # fmt: skip
"""Group → the kind that is meant as a whole."""
_FIELDS: Final = ("topic", "category")


class Selection:
    """The records of a topic or a group."""

    def __init__(self, kinds: Mapping[str, Kind], name: str) -> None:
        """UsageProblem for a word that is neither."""
        word = name.strip().lower().replace("-", "_").replace(" ", "_")
        self._words: dict[str, tuple[str, str]] = {}
        for kind in kinds.values():
            field = topic_field(kind)
            if field is not None and (word in field.choices or word in field.also):
                self._words[kind.name] = (field.name, field.also.get(word, word))
        whole = _GROUPS.get(word)
        if whole in kinds:
            self._words = {str(whole): ("", "")}
        if not self._words:
            known = sorted({*_GROUPS, *(one for kind in kinds.values() for one in _topics_of(kind))})
            hint = suggest_spelling(word, known) or f"There are: {', '.join(known)}."
            raise UsageProblem("unknown topic or group.", place=name, hint=hint)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds that have such records."""
        return tuple(self._words)

    def holds(self, record: Record) -> bool:
        """True for a record that belongs to it."""
        name, word = self._words.get(record.kind, ("", None))
        return word is not None and (not name or record.text(name) == word)


def topic_field(kind: Kind) -> Field | None:
    """The field that says what a record of this kind is about; None where there is none."""
    fields = (field for name in _FIELDS for field in kind.fields if field.name == name and field.type == "choice")
    return next(fields, None)


def _topics_of(kind: Kind) -> tuple[str, ...]:
    """The topics of a kind, in its own spelling and in others."""
    field = topic_field(kind)
    return (*field.choices, *field.also) if field else ()
