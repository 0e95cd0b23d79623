"""Tools of a context package and of the verdict on tests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.errors import UsageProblem
from kl_hooks.model.actors import trace_id
from kl_hooks.model.parameter import RequestField, fields_of
from kl_hooks.model.request import Request
from kl_hooks.model.text import one_line, suggest_spelling
from kl_hooks.tools.tool import Arguments, Tool, author, line, several

if TYPE_CHECKING:
    from kl_hooks.workspace import Workspace


_OWN_ARGUMENTS: Final = ("budget", "queries", "changed")
"""Options of a package that are arguments of the tool; the others are in its `options`."""
_NAMED_OPTIONS: Final = 10
"""Of these in the listing, which has a limit; the others in the page about tools."""


def tools() -> Iterator[Tool]:
    """All of them."""
    yield _context_tool()


def _context_tool() -> Tool:
    return Tool(
        "context",
        "A small, ranked, cited context package for a task.",
        {
            "task": line("In plain words."),
            "budget": line("6000, or 1500tok"),
            "queries": several("More."),
            "changed": line("A...B"),
            "options": {
                "type": "object",
                "description": f"{', '.join([*_package_options()][:_NAMED_OPTIONS])} …",
            },
        },
        _context,
    )


def _package_options() -> dict[str, RequestField]:
    """Option of `kl context` that `options` of the tool takes → the field of a request."""
    return {
        field.public_name.replace("_", "-"): field
        for field in fields_of(Request)
        if field.name not in _OWN_ARGUMENTS
    }


def _read_options(texts: Mapping[str, str]) -> dict[str, Any]:
    """Return the fields of a request that `options` holds. UsageProblem for what `kl context` would
    refuse.
    """
    fields = _package_options()
    values: dict[str, Any] = {}
    for name, text in texts.items():
        if name not in fields:
            raise UsageProblem(
                f'"{one_line(name, 60)}" is no option.',
                place="options",
                hint=suggest_spelling(name, fields) or "See: kl context --help",
            )
        values[fields[name].name] = fields[name].read(text)
    return values


def _context(ws: Workspace, given: Arguments) -> Any:
    from kl_hooks.context.deliver import deliver, make_request

    options = {name: given.get(name) for name in _OWN_ARGUMENTS}
    options |= _read_options(given.get("options", {}))
    request = make_request(given.get("task", ""), "text", trace_id(ws.environ), options)
    made = deliver(ws, request, actor=author(ws))
    shown = made.document
    more = {name: shown[name] for name in ("searches", "quota") if shown[name]}
    return {
        "text": made.text,
        **{name: shown[name] for name in ("package_id", "budget", "coverage", "omitted")},
        **more,
    }
