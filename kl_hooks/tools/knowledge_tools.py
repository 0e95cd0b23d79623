"""Tools that are more than one record of one kind: supersede a decision, link a task, memory,
context, verify.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.context.access import access
from kl_hooks.errors import UsageProblem
from kl_hooks.model.actors import trace_id
from kl_hooks.model.parameter import RequestField, fields_of
from kl_hooks.model.request import Request
from kl_hooks.model.text import one_line, suggest_spelling
from kl_hooks.tools.kind_tools import to_dict
from kl_hooks.tools.tool import Arguments, Tool, author, line, number, several

if TYPE_CHECKING:
    from kl_hooks.workspace import Workspace


_OWN_ARGUMENTS: Final = ("budget", "queries", "changed")
"""Options of a package that are arguments of the tool; the others are in its `options`."""
_NAMED_OPTIONS: Final = 10
"""Of these in the listing, which has a limit; the others in the page about tools."""
_TOP: Final = {
    "type": "integer",
    "minimum": 1,
    "maximum": 100,
    "description": "Most memories; else as configured, and 20 where there are no hints.",
}


def tools(kinds: Sequence[str] = ()) -> Iterator[Tool]:
    """All of them. `kinds`: the kinds of records that there are."""
    yield from _knowledge(kinds)
    yield Tool(
        "memory_create",
        "Record what was learned. It waits for a person to approve it; added again it is"
        " confirmed.",
        {
            "content": line("What was learned, in a sentence or a few."),
            "source": line("Where it comes from."),
            "tags": several("Short words to find it by."),
            "ttl_days": {
                "type": "integer",
                "description": "Days until it ends.",
                "minimum": 0,
                "maximum": 36_500,
            },
        },
        _add_memory,
        ("content",),
        True,
        {"pattern": "content", "text": "content", "ttlDays": "ttl_days"},
    )
    yield Tool(
        "memory_inject",
        "The section `Project Knowledge`: what is approved, holds, and fits; each time is counted.",
        {"hints": several("Words of the task."), "top_k": _TOP},
        _inject,
        also={"contextHints": "hints", "topK": "top_k"},
    )
    yield _context_tool()
    yield from _proof_tools()


def _proof_tools() -> Iterator[Tool]:
    yield Tool(
        "verify", "Is there complete, passing test evidence for exactly this tree?", {}, _verify
    )


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


def _knowledge(kinds: Sequence[str]) -> Iterator[Tool]:
    yield Tool(
        "knowledge_search",
        "Search records of every kind and the sections of docs pages, best first.",
        {
            "query": line("Words; any text will do."),
            "kind": line("Only of this kind.", enum=[*kinds, "page"]),
            "limit": number("Most that are given.", 20, 1, 100),
        },
        _search,
        ("query",),
    )


def _search(ws: Workspace, given: Arguments) -> Any:
    from kl_hooks.model.record import Record
    from kl_hooks.records.liveness import with_stale_status, withhold_quarantined
    from kl_hooks.records.page_search import search_all, section_to_dict
    from kl_hooks.records.query import RecordFilter, record_to_dict

    words = given["query"].split()
    kinds = (given["kind"],) if given.get("kind") else ()
    found, total, omitted = search_all(
        ws, words, RecordFilter(kinds, archived=True), given["limit"]
    )
    records = withhold_quarantined(ws, [one for one in found if isinstance(one, Record)])
    records = with_stale_status(ws, records)
    pages = [section_to_dict(one, words) for one in found if not isinstance(one, Record)]
    order = [one.id if isinstance(one, Record) else one.hit.id for one in found]
    return {
        "records": [record_to_dict(ws, one, whole=False) for one in records],
        "pages": pages,
        "order": order,
        "total": total,
        "not_in_force": omitted,
    }


def _add_memory(ws: Workspace, given: Arguments) -> Any:
    from kl_hooks.kinds.memory.add import add_memory

    more = {"source": given["source"]} if given.get("source") else {}
    ttl = given.get("ttl_days")
    record, done = add_memory(
        ws, given["content"], authority="agent", ttl_days=ttl, tags=given.get("tags", ()), more=more
    )
    return to_dict(ws, record) | {"done": done}


def _inject(ws: Workspace, given: Arguments) -> Any:
    from kl_hooks.kinds.memory.inject import inject, injection_limit

    hints = given.get("hints", ())
    with access(ws, "tool memory_inject", author(ws)) as seen:
        found = inject(
            ws, hints, given.get("top_k") or injection_limit(ws, hints), shows=seen.shows
        )
    return {"text": found.text, "ids": list(found.ids), "brief": list(found.brief)}


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


def _verify(ws: Workspace, given: Arguments) -> Any:
    from kl_hooks.proof.nearest import verdict

    return verdict(ws)
