"""A database with the tables of this package."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kl_hooks.graph.plugin import kl_schema
from kl_hooks.store.database import Database
from kl_hooks.store.sqlite import open_sqlite
from kl_hooks.store.store import migrate


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    database = open_sqlite(tmp_path / "graph.db", write=True)
    migrate(database, kl_schema(), tmp_path / "graph.db", None)
    yield database
    database.close()
