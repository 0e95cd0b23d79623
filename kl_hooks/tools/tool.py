"""Tool: one question or action of an agent, with the JSON schema of its arguments and the check
against it.

Of JSON schema it knows what our tools use: string, integer, boolean, arrays and maps of strings,
enums and bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.evidence.provenance import agent
from kl_hooks.model.parameter import RequestField
from kl_hooks.operations.operation import Operation, perform

if TYPE_CHECKING:
    from kl_hooks.context.access import Access
    from kl_hooks.workspace import Workspace


Arguments = Mapping[str, Any]
"""What was given, checked against the schema; with defaults for what was omitted."""
SCHEMA: Final = "kl.tool/2"


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool."""

    name: str
    text: str
    """What it does, for whoever chooses among tools: one or two sentences."""
    takes: Mapping[str, Mapping[str, Any]]
    """Argument → its JSON schema, of the sorts that `arguments` knows."""
    call: Callable[..., Any]
    """(workspace, arguments, access) → a plain value, of which the policy has decided what may be
    shown. Raises KlError.
    """
    needs: tuple[str, ...] = ()
    """Arguments that must be given."""
    writes: bool = False
    also: Mapping[str, str] = field(default_factory=dict)
    """Other names of arguments that are read → the argument."""

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of what it takes."""
        return {
            "type": "object",
            "properties": {name: dict(one) for name, one in self.takes.items()},
            "required": list(self.needs),
            "additionalProperties": False,
        }

    def plain(self) -> dict[str, Any]:
        """As it is listed."""
        return {
            "name": self.name,
            "description": self.text,
            "writes": self.writes,
            "input_schema": self.schema,
        }


LARGEST_INPUT: Final = 1_000_000
"""Bytes of what is given to a tool."""


def author(ws: Workspace) -> str:
    """As events name it."""
    return f"agent:{agent(ws.environ) or 'unnamed'}"


_JSON_TYPES: Final = ("string", "object", "array", "number", "boolean")
_TYPES: Final = {int: "integer", bool: "boolean"}


def operation_tool(operation: Operation) -> Tool:
    """The tool of an operation, its arguments printed from the fields of the request."""
    fields = [field for field in operation.fields if not field.parameter.is_personal]

    def call(ws: Workspace, arguments: Arguments, access: Access) -> Any:
        given = {
            field.name: _value(field, arguments[field.public_name])
            for field in fields
            if field.public_name in arguments
        }
        request = operation.request(**given)
        if "author" in request._fields:
            request = request._replace(author=author(ws))
        return operation.plain(perform(ws, operation, request, access))

    return Tool(
        operation.tool_name,
        operation.summary,
        {field.public_name: _schema(field) for field in fields},
        call,
        tuple(field.public_name for field in fields if field.is_required),
        operation.writes,
        {name: field.public_name for field in fields for name in field.names[1:]},
    )


def _value(field: RequestField, given: Any) -> Any:
    if field.value_type is tuple:
        return tuple(given)
    return field.clamped(given)


def _schema(field: RequestField) -> dict[str, Any]:
    """The JSON schema of a field."""
    parameter = field.parameter
    schema: dict[str, Any] = {"description": parameter.help}
    words = dict.fromkeys((*parameter.choices, *parameter.spellings))
    text: dict[str, Any] = {"type": "string"} | ({"enum": list(words)} if words else {})
    if field.value_type is tuple:
        return schema | {"type": "array", "items": text}
    if field.value_type is dict:
        return schema | {"type": "object", "additionalProperties": text}
    if parameter.is_json:
        return schema | {"type": list(_JSON_TYPES)}
    schema |= text if field.value_type is str else {"type": _TYPES[field.value_type]}
    if parameter.bounds and not parameter.is_clamped:
        schema |= {"minimum": parameter.bounds[0], "maximum": parameter.bounds[1]}
    if parameter.is_default_shown or field.is_flag:
        schema["default"] = field.default
    return schema
