"""The log of queries: what an agent asked kl for, and the files that the answer named.

An event of the package log for each query, of at most 8,000 bytes. It has no text of the answer:
what a policy hides is in none, and what somebody typed is redacted as all that the log holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.clock import iso
from kl_hooks.code.query.search import Found
from kl_hooks.context.package_log import QUERY, append_event
from kl_hooks.evidence.provenance import agent, session
from kl_hooks.model.excerpt import Excerpt
from kl_hooks.model.record import Record
from kl_hooks.model.symbol import FilePath, Link, NodeId, Symbol, TestName, path_of
from kl_hooks.model.text import one_line
from kl_hooks.operations.parts import Listing, named_parts
from kl_hooks.records.pages import Page
from kl_hooks.store.redaction import redact

if TYPE_CHECKING:
    from kl_hooks.context.access import Access
    from kl_hooks.workspace import Workspace

_LONGEST_VALUE: Final = 200
_LONGEST_READ: Final = 20_000
"""Characters of an argument that are redacted before it is cut: of half a secret nothing shows that
it is one.
"""
_MOST_NAMES: Final = 30
"""Files, and IDs, of an answer that are recorded."""
_LONGEST_NAME: Final = 100


def record_query(
    ws: Workspace, name: str, arguments: Mapping[str, Any], answer: Any, access: Access, ms: float
) -> None:
    """Append the event of a query. `name`: of the operation; `arguments`: what was asked, by the
    names that people use; `answer`: what of it is shown; None: the query failed.

    Nothing where kl stores nothing yet, and where the log can't be written.
    """
    if not ws.state.directory.is_dir():
        return
    names = list(_named(answer))
    ids = dict.fromkeys(identifier for identifier, _ in names if identifier)
    paths = dict.fromkeys(path for _, path in names if path)
    append_event(
        ws.state,
        {
            "event": QUERY,
            "created_at": iso(ws.clock.now()),
            "operation": name,
            "arguments": _texts(arguments, access),
            "agent": agent(ws.environ) or "",
            "session": session(ws.environ) or "",
            "worktree": ws.state.graph.stem,
            "status": "failed" if answer is None else "ok",
            "results": max(_listed(answer), len(ids), len(paths)),
            "ids": [one_line(name, _LONGEST_NAME) for name in list(ids)[:_MOST_NAMES]],
            "paths": [one_line(path, _LONGEST_NAME) for path in list(paths)[:_MOST_NAMES]],
            "ms": round(ms),
        },
    )


def _texts(arguments: Mapping[str, Any], access: Access) -> dict[str, str]:
    """Return what was asked as texts that may be shown."""
    texts = {}
    for name, value in arguments.items():
        if isinstance(value, tuple | list):
            plain = ", ".join(map(str, value))
        else:
            plain = str(value)
        shown = access.text(redact(plain[:_LONGEST_READ]))
        texts[name] = one_line(shown, _LONGEST_VALUE)
    return texts


def _listed(answer: Any) -> int:
    """How many results the lists of an answer have."""
    if isinstance(answer, Listing):
        return answer.total
    parts = named_parts(answer) or {}
    return sum(part.total for part in parts.values() if isinstance(part, Listing))


def _named(answer: Any) -> Iterator[tuple[str, str]]:
    """Yield (ID, path) of what an answer names, in its order; of a list of what is shown of it."""
    if isinstance(answer, Symbol | Found):
        yield answer.id, answer.path
    elif isinstance(answer, Link):
        yield answer.source, answer.path
    elif isinstance(answer, Excerpt):
        yield answer.origin, path_of(answer.origin) or str(getattr(answer, "path", ""))
    elif isinstance(answer, Record):
        yield answer.id, answer.path
    elif isinstance(answer, Page):
        yield answer.node, answer.path
    elif isinstance(answer, TestName):
        yield f"test:{answer}", answer.path
    elif isinstance(answer, FilePath):
        yield "", str(answer)
    elif isinstance(answer, NodeId):
        yield str(answer), path_of(answer)
    elif not isinstance(answer, str | int | float | None):
        yield from (pair for part in _parts(answer) for pair in _named(part))


def _parts(answer: Any) -> Iterator[Any]:
    if isinstance(answer, Listing):
        yield from answer.shown
    elif isinstance(answer, Mapping):
        yield from answer.values()
    elif (parts := named_parts(answer)) is not None:
        yield from parts.values()
    elif isinstance(answer, tuple | list | frozenset):
        yield from answer
