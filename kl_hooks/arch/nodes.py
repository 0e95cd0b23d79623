"""Violations as nodes that can be searched: `violation:` and the ID, with the receipt that found them.

They are those of the last check of the work tree: a fixed one is gone after the next. What keeps us from writing them
is a remark; the verdict never needs them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from kl_hooks.arch.verdict import Verdict
from kl_hooks.errors import KlError
from kl_hooks.index.index import Document, owned, replace
from kl_hooks.model.ids import make
from kl_hooks.model.manifest import Violation
from kl_hooks.model.text import one_line
from kl_hooks.store.redact import redact
from kl_hooks.workspace.open import Workspace

KIND: Final = "violation"
OWNER: Final = "arch:violations"
"""Owner of all these documents; no file of a graph is called so."""
_FOUND_BY: Final = "   receipt "

_Key = tuple[str, str, int, str]
"""Id, path, line, and the title without its receipt."""


def keep_nodes(ws: Workspace, verdict: Verdict, receipt: Callable[[], str]) -> str:
    """Makes the violations of `verdict`, accepted ones too, the ones that are found; what went wrong in one line.

    `receipt` gives the id of this check's receipt, empty for none; it is asked only where there is a new violation. One
    that was known keeps the receipt that found it first, and where nothing changed nothing is written.
    """
    if not ws.initialised:
        return ""
    try:
        with ws.store.reading("graph") as db:
            known = {_key(hit.id, hit.path, hit.line, hit.title): hit.title for hit in owned(db, OWNER)} if db else {}
        wanted = [*_titled(verdict.violations, ""), *_titled(verdict.accepted, " (accepted in baseline)")]
        if known.keys() == {_key(make(KIND, one.id), one.path, one.line, title) for one, title in wanted}:
            return ""
        now = receipt() if wanted else ""
        documents = [_document(one, title, known, now) for one, title in wanted]
        with ws.store.writing("graph", "kl arch check") as db, db.transaction():
            replace(db, OWNER, documents)
    except (KlError, OSError) as problem:
        return f"violations can't be searched: {problem}"
    return ""


def _titled(found: Iterable[Violation], more: str) -> list[tuple[Violation, str]]:
    """Each with its title; of several on one line, and those whose path no database can hold, one or none."""
    rows = {}
    for one in found:
        title = f"{one.source_layer} must not import {one.target_layer}: {one.importer} imports {one.imported}{more}"
        if not any("\ud800" <= sign <= "\udfff" for sign in f"{one.path}{one.importer}{one.imported}"):
            rows[one.fingerprint, one.path, one.line] = (one, one_line(title, 400))
    return list(rows.values())


def _key(identifier: str, path: str, line: int, title: str) -> _Key:
    return identifier, path, line, title.partition(_FOUND_BY)[0]


def _document(one: Violation, title: str, known: dict[_Key, str], receipt: str) -> Document:
    identifier = make(KIND, one.id)
    found_by = f"{title}{_FOUND_BY}{receipt}" if receipt else title
    whole = known.get(_key(identifier, one.path, one.line, title), found_by)
    body = redact(f"{one.statement} {one.rule} {one.decision} {one.method} drift violation")
    return Document(identifier, KIND, one.path, one.line, whole, body)
