"""Tool: one thing that an agent can ask for or do, with the JSON schema of what it takes. Data and a function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from kl_hooks.workspace.open import Workspace

Arguments = Mapping[str, Any]
"""What was given, checked against the schema; what was left out and has a default is there."""
SCHEMA: Final = "kl.tool/1"


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool."""

    name: str
    says: str
    """What it does, for whoever chooses among tools: one or two sentences."""
    takes: Mapping[str, Mapping[str, Any]]
    """Argument → its JSON schema, of the sorts that `arguments` knows."""
    call: Callable[[Workspace, Arguments], Any]
    """(workspace, arguments) → a plain value. Raises KlError."""
    needs: tuple[str, ...] = ()
    """Arguments that must be given."""
    writes: bool = False
    also: Mapping[str, str] = field(default_factory=dict)
    """Other names of arguments that are read → the argument."""

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of what it takes."""
        return {
            "type": "object", "properties": {name: dict(one) for name, one in self.takes.items()},
            "required": list(self.needs), "additionalProperties": False,
        }  # fmt: skip

    def plain(self) -> dict[str, Any]:
        """As it is listed."""
        return {"name": self.name, "description": self.says, "writes": self.writes, "input_schema": self.schema}
