"""Violations as nodes that can be searched: `violation:` and the ID, with the receipt that found
them.

They are those of the last check of the working tree: a fixed one is removed by the next. A failure
to write them is a remark; the verdict never needs them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from kl_hooks.arch.layer_check import Verdict
from kl_hooks.errors import KlError
from kl_hooks.model.manifest import Violation
from kl_hooks.model.symbol import Link, make_id
from kl_hooks.model.text import one_line
from kl_hooks.store.redaction import redact
from kl_hooks.workspace import Workspace

if TYPE_CHECKING:
    from kl_hooks.index.index import Document
    from kl_hooks.store.database import Database

KIND: Final = "violation"
"""Of these documents."""
OWNER: Final = "arch:violations"
"""Owner of all these documents; no file of a graph has this name."""
THROUGH: Final = "through"
"""Link of a violation to a file that the import leads through."""
FOUND_BY: Final = "   receipt "
"""In a title, between it and the receipt that found it."""

_Key = tuple[str, str, int, str]
"""Id, path, line, and the title without its receipt."""


def index_violations(ws: Workspace, verdict: Verdict, receipt: Callable[[], str]) -> str:
    """Replace the indexed violations by those of `verdict`, accepted ones too; return a failure in
    one line.

    `receipt` gives the id of this check's receipt, empty for none; it is asked only where there is
    a new violation. One that was known keeps the receipt that found it first, and where nothing
    changed nothing is written.
    """
    if not ws.initialized:
        return ""
    from kl_hooks.graph.plugin import LINKS
    from kl_hooks.index.plugin import INDEX

    try:
        with ws.store.reading("graph", (INDEX, LINKS)) as db:
            indexed = _indexed_titles(db) if db else {}
            is_linked = db is None or not indexed or _has_links(db, indexed)
        wanted = [
            *_titled(verdict.violations, ""),
            *_titled(verdict.accepted, " (accepted in baseline)"),
        ]
        now_known = {
            _key(make_id(KIND, violation.id), violation.path, violation.line, title)
            for violation, title in wanted
        }
        if indexed.keys() == now_known and is_linked:
            return ""
        # most checks end before: they found what is there
        from kl_hooks.graph import links
        from kl_hooks.index.index import replace

        now = receipt() if wanted else ""
        documents = [_document(violation, title, indexed, now) for violation, title in wanted]
        with ws.store.writing("graph", "kl arch check") as db, db.transaction():
            replace(db, OWNER, documents)
            links.replace_many(db, {OWNER: [link for one, _ in wanted for link in _links(one)]})
    except (KlError, OSError) as problem:
        return f"violations can't be searched: {problem}"
    return ""


def _indexed_titles(db: Database) -> dict[_Key, str]:
    """Return the indexed violations with their titles."""
    # read here: what searches the index is much code, and a check searches nothing
    sql = "SELECT id, path, line, title FROM documents WHERE owner = ?"
    return {_key(*row): row[3] for row in db.rows(sql, (OWNER,))}


def _has_links(db: Database, keys: Iterable[_Key]) -> bool:
    """Return whether there are links of violations: without them nothing leads to one."""
    from kl_hooks.graph import links

    return len(links.of_many(db, [key[0] for key in keys], incoming=False)) > 0


def _links(violation: Violation) -> Iterable[Link]:
    """From a violation to the file that it is in, the modules at both ends, the files that it
    leads through, and the decision that it breaks.
    """
    identifier = make_id(KIND, violation.id)
    ends = [
        ("found_in", make_id("file", violation.path)),
        ("importer", make_id("namespace", violation.importer)),
        ("imported", make_id("namespace", violation.imported)),
    ]
    if violation.decision:
        ends.append(("violates", make_id("adr", violation.decision)))
    ends += [(THROUGH, make_id("file", place.rpartition(":")[0])) for place in violation.via]
    return [
        Link(identifier, relation, target, OWNER, violation.line, "check")
        for relation, target in ends
    ]


def _titled(violations: Iterable[Violation], suffix: str) -> list[tuple[Violation, str]]:
    """Each with its title; of several on one line, and those whose path no database can hold, one
    or none.
    """
    rows = {}
    for violation in violations:
        if violation.via:
            chain = f" through {' -> '.join(violation.via)}"
        else:
            chain = ""
        title = (
            f"{violation.source_layer} must not import {violation.target_layer}: "
            f"{violation.importer} imports {violation.imported}{chain}{suffix}"
        )
        # SQLite stores text as UTF-8, which has no lone surrogates (PEP 383 makes them of
        # undecodable bytes)
        names = (violation.path, violation.importer, violation.imported, *violation.via)
        if not any("\ud800" <= character <= "\udfff" for character in "".join(names)):
            rows[violation.fingerprint, violation.path, violation.line] = (
                violation,
                one_line(title, 400),
            )
    return list(rows.values())


def _key(identifier: str, path: str, line: int, title: str) -> _Key:
    return identifier, path, line, title.partition(FOUND_BY)[0]


def _document(violation: Violation, title: str, indexed: dict[_Key, str], receipt: str) -> Document:
    from kl_hooks.index.index import Document

    identifier = make_id(KIND, violation.id)
    if receipt:
        found_by = f"{title}{FOUND_BY}{receipt}"
    else:
        found_by = title
    whole = indexed.get(_key(identifier, violation.path, violation.line, title), found_by)
    body = redact(
        f"{violation.statement} {violation.rule} {violation.decision} {violation.method} "
        "drift violation"
    )
    return Document(identifier, KIND, violation.path, violation.line, whole, body)
