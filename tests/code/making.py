"""Repositories and scanners for the tests of this package."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kl_hooks.code.query.lookup import SYMBOLS
from kl_hooks.code.scanner.parser import VERSION
from kl_hooks.code.scanner.python import scan_python
from kl_hooks.graph import links
from kl_hooks.hookspecs import Scanner
from kl_hooks.index.postings import (
    KNOWLEDGE,
    OTHER,
    SOURCE,
    Everything,
    StoredPostings,
    postings_of,
    unpack,
)
from kl_hooks.store.database import Database
from kl_hooks.workspace import Workspace, open_workspace
from tests.git.repos import make

FILES = {
    "src/shop/__init__.py": "",
    "src/shop/core.py": (
        '"""The core."""\nLIMIT = 3\n\n\nclass Basket:\n    """Holds lines."""\n\n    def'
        " add_line(self, item: str) -> None:\n        pass\n\n    def total(self) -> int:\n       "
        " return LIMIT\n"
    ),
    "src/shop/web.py": (
        "from . import core\nfrom shop.core import Basket\n\n\ndef show_page(basket: Basket) ->"
        ' str:\n    """Renders the page."""\n    return str(core.LIMIT)\n'
    ),
    "tests/test_core.py": (
        "from shop.core import Basket\n\n\ndef test_total():\n    assert Basket().total() == 3\n"
    ),
    "notes.txt": "no source",
}


def workspace(folder: Path, state: str = "") -> Workspace:
    """The workspace of a repository; its store in a folder next to it if `state` names one."""
    home = folder.parent / "home"
    home.mkdir(exist_ok=True)
    environ = {"HOME": str(home), "KL_LOCK_WAIT": "0.1"}
    if state:
        environ["KL_STATE"] = str(folder.parent / state)
    return open_workspace(folder, environ=environ)


def repository(folder: Path, files: dict[str, str] | None = None) -> Workspace:
    """A workspace on a repository with one commit of `files` (default: `FILES`)."""
    make(folder, FILES if files is None else files)
    return workspace(folder)


@dataclass
class Counting:
    """The scanner for Python that remembers what it was asked to read."""

    version: str = VERSION
    paths: list[str] = field(default_factory=list)

    def scan(self, content: bytes, path: str, module: str) -> dict[str, Any]:
        self.paths.append(path)
        return scan_python(content, path, module)

    def scanner(self) -> Scanner:
        return Scanner("python", (".py",), self.version, self.scan)

    def asked(self) -> list[str]:
        """What was read since the last time."""
        paths, self.paths = sorted(self.paths), []
        return paths


def graph_of(ws: Workspace) -> dict[str, list[tuple[Any, ...]]]:
    """Everything that the graph database contains, in an order that does not depend on how it was
    made.
    """
    with ws.store.reading("graph") as db:
        assert db is not None
        tables = {
            "files": "path, blob, scanner, module, error",
            SYMBOLS: "id, name, path, line, end_line, signature, decorators, doc, content_hash",
        }
        found = {
            name.split()[-1]: sorted(db.rows(f"SELECT {columns} FROM {name}"))
            for name, columns in tables.items()
        }
        return found | {"links": [tuple(link) for link in links.every(db)], "terms": terms_of(db)}


def terms_of(db: Database) -> list[tuple[Any, ...]]:
    """Every posting of source: term, path, place of the symbol, field, length and positions."""
    rows = db.rows("SELECT packed FROM term_blocks WHERE corpus < ?", (KNOWLEDGE,))
    terms = {term for (packed,) in rows for term in unpack(packed, Everything())}
    found: list[tuple[Any, ...]] = []
    for reader in (StoredPostings(db, corpus) for corpus in (SOURCE, OTHER)):
        for term, columns in reader.find(terms).items():
            files = reader.files_of(columns.docs)
            places = reader.places({one.path for one in files.values()}, minor=True)
            for doc, where, length, positions in postings_of(columns):
                if doc in files:
                    first, at = places[files[doc].path]
                    found.append(
                        (term, files[doc].path, at[doc - first], where, length, tuple(positions))
                    )
    return sorted(found)
