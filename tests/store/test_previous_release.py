"""Several versions of kl share one `kl.db` (pre-commit pins one): the previous release can write a
store of this one.

The previous release refuses to write where one of *its own* packages has a step that it does not
know. A table that is new since then therefore belongs to a schema of a new name, and no landed step
is ever edited.
"""

from __future__ import annotations

import hashlib

from kl_hooks.hookspecs import Schema
from kl_hooks.store.store import Store
from tests.support import Checkout

RELEASED = {"evidence": ("9b67d9f999e2b12a", "a7358cce7cd02619"), "records": ("f0652903bc9ee5f9",)}
"""Schema of `kl.db` → the steps that a release has, by the first digits of their SHA-256."""


def _released(schemas: list[Schema]) -> list[Schema]:
    known = [one for one in schemas if one.database == "kl" and one.owner in RELEASED]
    return [one._replace(steps=one.steps[: len(RELEASED[one.owner])]) for one in known]


def test_no_step_that_was_released_is_edited(repo: Checkout) -> None:
    released = _released(list(repo.workspace().store.schemas()))
    digests = {
        one.owner: tuple(hashlib.sha256(sql.encode()).hexdigest()[:16] for sql in one.steps)
        for one in released
    }
    assert digests == RELEASED


def test_the_previous_release_reads_and_writes_a_store_of_this_one(repo: Checkout) -> None:
    ws = repo.workspace()
    with ws.store.writing():
        pass  # every table of today
    older = Store(ws.state, lambda: _released(list(ws.store.schemas())), {})
    assert older.problem() is None
    with older.writing() as db:
        assert db.row("SELECT COUNT(*) FROM receipt") == (0,)
    with ws.store.reading() as db:
        assert db is not None


def test_a_store_of_the_previous_release_is_brought_up_to_date(repo: Checkout) -> None:
    ws = repo.workspace()
    older = Store(ws.state, lambda: _released(list(ws.store.schemas())), {})
    with older.writing():
        pass
    with ws.store.writing() as db:
        packages = {space for (space,) in db.rows("SELECT DISTINCT room FROM schema_step")}
    assert packages == {one.owner for one in ws.store.schemas() if one.database == "kl"}
