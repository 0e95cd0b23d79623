"""The graph, open and current: of the work tree, or of a revision."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from kl_hooks.code.catch_up import Scan, catch_up
from kl_hooks.code.wanted import Watch, unwatched

if TYPE_CHECKING:
    from kl_hooks.model.problem import Problem
    from kl_hooks.store.database import Database
    from kl_hooks.workspace import Workspace


class Graph(NamedTuple):
    """What every question is put to."""

    db: Database
    scan: Scan
    kinds: tuple[str, ...] = ()
    """What else than code is in it, as the index calls it: `page`, `decision`, … and `violation`. None in a revision's:
    what is known of the work tree says nothing about that.
    """

    @property
    def not_assessed(self) -> tuple[Problem, ...]:
        """The files that could not be understood: what they use, nobody knows."""
        return tuple(self.scan.problems)


@contextmanager
def opened(ws: Workspace, rev: str | None = None, watch: Watch = unwatched) -> Iterator[Graph]:
    """The graph of the work tree as it is now, or of a revision.

    `watch` as `catch_up`. UsageProblem for a revision that is none, EnvironmentProblem without git or where the store
    can't be used.
    """
    if rev is not None:
        from kl_hooks.code.revision import graph_at

        with graph_at(ws, rev) as (db, scan):
            yield Graph(db, scan)
        return
    scan = catch_up(ws, watch)
    kinds = ("page", *ws.kinds, "violation")
    with ws.store.reading("graph") as known:
        if known is not None:
            yield Graph(known, scan, kinds)
            return
    with ws.store.writing("graph") as empty:  # no file was ever seen: there is no database yet
        yield Graph(empty, scan, kinds)
