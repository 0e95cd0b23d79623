"""Named IDs: the files, tests, symbols and records that a record names, and which of them exist."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

from kl_hooks.code.query.session import SYMBOL_KINDS
from kl_hooks.errors import EnvironmentProblem, KlError
from kl_hooks.model.symbol import RECORD_ID, TestName, split_id
from kl_hooks.model.text import name_list
from kl_hooks.records.query import get_records
from kl_hooks.records.validate import InvalidValue, node_id
from kl_hooks.store.files import read_small

if TYPE_CHECKING:
    from kl_hooks.model.record import Record
    from kl_hooks.workspace import Workspace

_KINDS: Final = ("file", "test", "adr", *SYMBOL_KINDS)
_NAMED: Final = 3


def named_ids(ws: Workspace, record: Record) -> list[str]:
    """Return the IDs of files, tests, symbols and records in a record's fields of IDs."""
    fields = [field.name for field in ws.kinds[record.kind].all_fields if field.type == "ids"]
    nodes = dict.fromkeys(_node(text) for name in fields for text in record.many(name))
    return [node for node in nodes if node and _is_checked(node)]


def _is_checked(node: str) -> bool:
    return split_id(node)[0] in _KINDS or RECORD_ID.fullmatch(node) is not None


def _node(text: str) -> str:
    try:
        return node_id(text)
    except InvalidValue:
        return ""


def existing_ids(ws: Workspace, names: set[str]) -> tuple[set[str], str]:
    """Return those of these IDs that exist, and why symbols could not be looked up."""
    existing = existing_without_graph(ws, names)
    symbols = {name for name in names - existing if split_id(name)[0] in SYMBOL_KINDS}
    if not symbols:
        return existing, ""
    from kl_hooks.code.query.lookup import symbols_by_id
    from kl_hooks.code.query.session import open_graph

    try:
        with open_graph(ws) as graph:
            return existing | set(symbols_by_id(graph.db, symbols)), ""
    except KlError as problem:
        return existing, str(problem)


def existing_without_graph(ws: Workspace, names: set[str]) -> set[str]:
    """Return those of these files, tests and records that exist."""
    bare = {name: name.removeprefix("adr:") for name in names}
    ids = sorted(name for name in bare.values() if RECORD_ID.fullmatch(name))
    records = {record.id for record in get_records(ws, ids)}
    return {name for name in names if bare[name] in records or _is_in_files(ws, name)}


def _is_in_files(ws: Workspace, name: str) -> bool:
    kind, path = split_id(name)
    if kind == "file":
        return ws.exists(path)
    if kind != "test":
        return False
    # a test may be inherited or generated: only a name that its file does not have at all is absent
    test = TestName(path)
    text = (read_small(ws.root / test.path, within=ws.root) or b"").decode("utf-8", "replace")
    parts = test.partition("[")[0].split("::")[1:]
    return bool(text) and all(part in text for part in parts[-1:])


def absence_note_of(
    ws: Workspace,
    record: Record,
    *,
    are_records_checked: bool = True,
    are_symbols_checked: bool = False,
) -> str:
    """Return a note on what a record names and is not there; empty: all is.

    Symbols are looked up where there is a graph: whoever writes a record does not wait for one, nor
    loses the record where it can't be read.
    """
    are_symbols_known = are_symbols_checked and _has_symbols(ws)
    checked = {"file", "test", *(SYMBOL_KINDS if are_symbols_known else ())}
    names = {
        name
        for name in named_ids(ws, record)
        if split_id(name)[0] in checked
        or (are_records_checked and split_id(name)[0] not in SYMBOL_KINDS)
    }
    existing, why_not = existing_ids(ws, names)
    if why_not:
        names = {name for name in names if split_id(name)[0] not in SYMBOL_KINDS}
    absent = sorted(split_id(name)[1] for name in names - existing)
    if not absent:
        return ""
    return f"nothing here has this name: {name_list(absent, _NAMED)}. It was recorded all the same."


def _has_symbols(ws: Workspace) -> bool:
    """Whether the graph was built before, so that bringing it up to date takes a moment."""
    with suppress(EnvironmentProblem), ws.store.reading("graph") as db:
        return db is not None and bool(db.rows("SELECT 1 FROM files LIMIT 1"))
    return False
