"""An operation: one question or action, with what it is asked, what it answers, and how that is JSON.

Interfaces hold no logic: a command, a tool, a route or a program makes the request of an operation,
`perform` runs it and applies the policy to what it returns, and the interface prints the result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from kl_hooks.model.symbol import RECORD_ID, Link

if TYPE_CHECKING:
    from kl_hooks.context.access import Access
    from kl_hooks.workspace import Workspace


class Operation(NamedTuple):
    """One question or action."""

    name: str
    """Its command: `graph refs`."""
    help: str
    """What it does, in its first paragraph, which agents read too; then what one has to know."""
    request: type
    """A NamedTuple of what is asked, whose fields have a `Parameter`."""
    run: Callable[[Workspace, Any, Access], Any]
    """(workspace, request, access) → the result, of types that `visible` knows. Raises KlError. Where it
    has `notes`, what could not be read, commands print these on stderr, whatever the format.
    """
    to_dict: Callable[[Any], dict[str, Any]]
    """The result as JSON, the same for every interface."""
    schema: str
    """Of that JSON: `kl.graph.refs/1`."""
    example: str
    """A whole command."""
    tool: str = ""
    """Its name as a tool, where that is not its command with `_` between the words."""
    is_tool: bool = True
    """Whether agents have it as a tool."""
    writes: bool = False
    """Then its request has the field `author`, which the interface sets: as events name whoever asks."""
    progress: str = ""
    """What a person reads while it takes long."""

    @property
    def tool_name(self) -> str:
        """Its name as a tool: `graph_refs`."""
        return self.tool or self.name.replace(" ", "_")

    @property
    def summary(self) -> str:
        """The first paragraph of its help, in one line."""
        return " ".join(self.help.partition("\n\n")[0].split())

    def plain(self, result: Any) -> dict[str, Any]:
        """The result as JSON, with its schema."""
        return {"schema": self.schema, **self.to_dict(result)}


class Listing(NamedTuple):
    """A list of which interfaces show the first items. They are counted after the policy was applied."""

    items: tuple[Any, ...]
    limit: int

    @property
    def shown(self) -> tuple[Any, ...]:
        """The first items."""
        return self.items[: self.limit]

    @property
    def total(self) -> int:
        """How many there are."""
        return len(self.items)


def perform(ws: Workspace, operation: Operation, request: Any, access: Access) -> Any:
    """Run an operation and return of its result what may be shown: what the policy allows, of
    quarantined records no text unasked. Raises KlError.
    """
    asked = str(request[0]) if request else ""
    shown = visible_result(access, operation.run(ws, request, access), asked)
    return _without_quarantined_titles(ws, shown)


def visible_result(access: Access, result: Any, asked: str = "") -> Any:
    """Return of a result what may be shown, as `visibility.visible`. `asked`: what it is about, by its
    first field.
    """
    if access.shows_all:
        return result
    from kl_hooks.operations.visibility import visible  # most repositories have no policy

    return visible(access, result, asked)


def _without_quarantined_titles(ws: Workspace, result: Any) -> Any:
    """Return a result whose links of quarantined records name the file without its title: kl names
    files after titles, so the place of such a link is text of the record.
    """
    links = [link for link in _links(result) if RECORD_ID.fullmatch(link.source.rpartition(":")[2])]
    if not links:
        return result
    from kl_hooks.records.liveness import LiveRecords

    pairs = zip(links, LiveRecords(ws).untitled(links), strict=True)
    changed = {link: shown for link, shown in pairs if shown != link}
    return _replaced(result, changed) if changed else result


def _links(value: Any) -> Iterator[Link]:
    if isinstance(value, Link):
        yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _links(part)
    elif isinstance(value, tuple | list):
        for part in value:
            yield from _links(part)
    elif is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            yield from _links(getattr(value, field.name))


def _replaced(value: Any, changed: Mapping[Link, Link]) -> Any:
    if isinstance(value, Link):
        return changed.get(value, value)
    if isinstance(value, Mapping):
        return {key: _replaced(part, changed) for key, part in value.items()}
    if isinstance(value, tuple | list):
        parts = [_replaced(part, changed) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    if is_dataclass(value) and not isinstance(value, type):
        parts_by_name = {
            field.name: _replaced(getattr(value, field.name), changed) for field in fields(value)
        }
        return replace(value, **parts_by_name)
    return value
