"""An operation: one question or action, with what it is asked, what it answers, and how that is
JSON.

Interfaces hold no logic: a command, a tool, a route or a program makes the request of an operation,
`perform` runs it and applies the policy to what it returns, and the interface prints the result.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.git.run import one_moment
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.parameter import Parameter, RequestField, fields_of
from kl_hooks.model.receipt import Receipt
from kl_hooks.model.symbol import RECORD_ID, Link
from kl_hooks.operations.parts import Listing as Listing
from kl_hooks.operations.parts import leaves, replaced

if TYPE_CHECKING:
    from kl_hooks.context.access import Access
    from kl_hooks.workspace import Workspace


_QUERIES: Final = ("graph ", "search")
"""Beginnings of the commands that are queries, though agents have some of them as no tool."""


class Operation(NamedTuple):
    """One question or action."""

    name: str
    """Its command: `graph refs`."""
    help: str
    """What it does, in its first paragraph, which agents read too; then what one has to know."""
    request: Callable[..., Any]
    """Makes the request of the values of its fields: a NamedTuple of what is asked, whose fields
    have a `Parameter`. Where it has a field `author`, an interface sets it: as events name whoever
    asks.
    """
    run: Callable[[Workspace, Any, Access], Any]
    """(workspace, request, access) → the result, of types that `visible` knows. Raises KlError.
    Where it has `notes`, what could not be read, commands print these on stderr, whatever the
    format.
    """
    to_dict: Callable[[Any], dict[str, Any]]
    """The result as JSON, the same for every interface."""
    schema: str
    """Of that JSON: `kl.graph.refs/2`."""
    example: str
    """A whole command."""
    tool: str = ""
    """Its name as a tool, where that is not its command with `_` between the words."""
    is_tool: bool = True
    """Whether agents have it as a tool."""
    writes: bool = False
    """Whether a tool of it changes what is stored, so that whoever starts the tools has to allow
    it. What is only counted of a use is not meant. Commands have the permissions of whoever runs
    them.
    """
    progress: str = ""
    """What a person reads while it takes long."""
    own_fields: tuple[RequestField, ...] = ()
    """Fields of the request, where a kind of records adds to those that its type has."""

    @property
    def fields(self) -> tuple[RequestField, ...]:
        """What people and programs may set."""
        return self.own_fields or fields_of(self.request)

    @property
    def tool_name(self) -> str:
        """Its name as a tool: `graph_refs`."""
        return self.tool or self.name.replace(" ", "_")

    @property
    def summary(self) -> str:
        """The first paragraph of its help, in one line."""
        return " ".join(self.help.partition("\n\n")[0].split())

    @property
    def is_query(self) -> bool:
        """Whether it is a question, whose answer may help an agent. Packages have an event of their
        own.
        """
        is_asked = self.is_tool or self.name.startswith(_QUERIES)
        return is_asked and not self.writes and self.tool_name != "context"

    def arguments(self, request: Any) -> dict[str, Any]:
        """What a request asks for, by the names that people use, without what has its default."""
        values = {field: getattr(request, field.name, field.default) for field in self.fields}
        return {
            field.public_name: value
            for field, value in values.items()
            if value != field.default and value not in ("", (), None)
        }

    def plain(self, result: Any) -> dict[str, Any]:
        """The result as JSON, with its schema."""
        return {"schema": self.schema, **self.to_dict(result)}


TOP: Final = Parameter(
    "Most results.", bounds=(1, 100_000), name="top", aliases=("limit",), is_default_shown=True
)
"""Of the field that limits a list."""


def perform(ws: Workspace, operation: Operation, request: Any, access: Access) -> Any:
    """Run an operation and return of its result what may be shown: what the policy allows, of
    quarantined records no text unasked. Files that it reads must be shown, too. Raises KlError.
    """
    if not access.shows_all:
        from kl_hooks.operations.file_access import require_shown_inputs

        require_shown_inputs(ws, access, operation.fields, request)
    if not access.is_agent:
        return _shown(ws, operation, request, access)
    from kl_hooks.operations.query_log import record_query

    began = time.perf_counter()
    answer = None
    try:
        shown = _shown(ws, operation, request, access)
        # a person reviews what is quarantined
        answer = replaced(shown, _is_listing, partial(_unread, ws))
    finally:
        if operation.is_query:
            ms = 1000 * (time.perf_counter() - began)
            arguments = operation.arguments(request)
            record_query(ws, operation.name, arguments, answer, access, ms)
    return answer


def _shown(ws: Workspace, operation: Operation, request: Any, access: Access) -> Any:
    """Run an operation and return what of its result the policy allows."""
    asked = str(request[0]) if request else ""
    # what changes a file has to see its own change
    with one_moment() if operation.is_query else nullcontext():
        shown = visible_result(access, operation.run(ws, request, access), asked)
        return _without_quarantined_titles(ws, shown)


def visible_result(access: Access, result: Any, asked: str = "") -> Any:
    """Return of a result what may be shown, as `visibility.visible`. `asked`: what it is about, by
    its first field.
    """
    if access.shows_all:
        return result
    from kl_hooks.operations.visibility import visible  # most repositories have no policy

    return visible(access, result, asked)


def _without_quarantined_titles(ws: Workspace, result: Any) -> Any:
    """Return a result whose links of quarantined records name the file without its title: kl names
    files after titles, so the place of such a link is text of the record.
    """
    # a receipt has no link, and 20,000 results of tests
    parts = leaves(result, lambda part: isinstance(part, Link | Receipt))
    links = [part for part in parts if _is_link_of_record(part)]
    if not links:
        return result
    from kl_hooks.records.liveness import LiveRecords

    shown = dict(zip(links, LiveRecords(ws).untitled(links), strict=True))
    return replaced(result, _is_link_of_record, lambda link: shown[link])


def _is_listing(value: Any) -> bool:
    return isinstance(value, Listing)


def _unread(ws: Workspace, listing: Listing) -> Listing:
    """Return a list whose quarantined records have no text: nobody asked for one of them by its
    ID.
    """
    from kl_hooks.model.record import Record

    records = [item for item in listing.items if isinstance(item, Record)]
    if not records:
        return listing
    from kl_hooks.records.liveness import withhold_quarantined

    withheld = dict(zip(map(id, records), withhold_quarantined(ws, records), strict=True))
    return listing._replace(items=tuple(withheld.get(id(item), item) for item in listing.items))


def _is_link_of_record(value: Any) -> bool:
    return isinstance(value, Link) and bool(RECORD_ID.fullmatch(value.source.rpartition(":")[2]))
