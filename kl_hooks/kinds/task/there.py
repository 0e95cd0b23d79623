"""Which of the tokens that works need are there already: files of the work tree, symbols of the code graph, and what
was said to be there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kl_hooks.kinds.task.plan import Work
from kl_hooks.kinds.task.tokens import token
from kl_hooks.model.record import Record
from kl_hooks.records.events import Event, events, note

if TYPE_CHECKING:
    from kl_hooks.workspace.open import Workspace

FULFILLED: Final = "fulfilled"
"""Name of the Event; its body holds the token."""


def work_of(record: Record) -> Work:
    """A task as the planner sees it; what is no token is left out (see `no_tokens`)."""
    needs, gives = (tokens(record.many(name))[0] for name in ("requires", "produces"))
    return Work(record.id, needs, gives)


def no_tokens(record: Record) -> list[str]:
    """What is wrong with what a task requires and produces."""
    return tokens([*record.many("requires"), *record.many("produces")])[1]


def tokens(texts: Iterable[str]) -> tuple[tuple[str, ...], list[str]]:
    """(the tokens as they were written, what is wrong with the others)."""
    found: list[str] = []
    wrong: list[str] = []
    for text in texts:
        try:
            token(text)
            found.append(text)
        except ValueError as error:
            wrong.append(str(error))
    return tuple(found), wrong


def there(ws: Workspace, wanted: Sequence[str]) -> frozenset[str]:
    """The tokens among `wanted`, spelled as people wrote them, that are there, and all that were said to be."""
    said = {str(event.body.get("token", "")) for event in events(ws, name=FULFILLED)}
    files = {token(one) for one in wanted if _is_file(ws.root, one)}
    return frozenset((said | files | _symbols(ws, wanted)) - {""})


def say_fulfilled(ws: Workspace, given: str, by: str = "") -> str:
    """Notes that something is there; returns the token. ValueError for what is none."""
    made = token(given)
    note(ws, [Event(FULFILLED, "", by, {"token": made})])
    return made


def _is_file(root: Path, text: str) -> bool:
    """True if the token names something in the work tree. Nothing outside of it is looked at."""
    sort, _, name = text.strip().partition(":")
    name = name.strip().replace("\\", "/")
    if sort.strip().casefold() != "file" or not name or "\0" in name or name.startswith(("/", "~")):
        return False
    if ".." in name.split("/"):
        return False
    try:
        return (root / name).resolve().is_relative_to(root.resolve()) and (root / name).exists()
    except (OSError, RuntimeError, ValueError):
        return False


def _symbols(ws: Workspace, wanted: Sequence[str]) -> set[str]:
    names = {token(one): one.partition(":")[2].strip() for one in wanted if token(one).startswith("symbol:")}
    if not names or ws.repo is None:
        return set()
    from kl_hooks.code.asking.address import Ambiguous, Unknown, addressed
    from kl_hooks.code.asking.opened import opened

    found = set()
    with opened(ws) as graph:
        for key, name in names.items():
            try:
                addressed(graph, name)
            except Unknown:
                continue
            except Ambiguous:
                pass  # several of that name: one is there
            found.add(key)
    return found
