"""What code offers to a task: the symbols whose names, signatures and words fit it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from kl_hooks.code.ask import KINDS
from kl_hooks.code.catch_up import catch_up
from kl_hooks.errors import EnvironmentProblem
from kl_hooks.index.index import Hit, named, search
from kl_hooks.index.words import query_words, split_all, stem
from kl_hooks.model.package import Candidate
from kl_hooks.model.symbol import split_id

if TYPE_CHECKING:
    from kl_hooks.model.package import Task
    from kl_hooks.store.database import Database
    from kl_hooks.workspace import Workspace

_SIBLINGS: Final = 12
_NAMED: Final = 3
"""Classes that stand first because a plain word names them."""


def find_symbols(ws: Workspace, task: Task, limit: int) -> list[Candidate]:
    """At most `limit` symbols that fit the task's words, best first. EnvironmentProblem if there is no graph to ask."""
    signals = task.signals
    words = [*signals.symbols, *signals.paths, *signals.keywords, *signals.failures]
    trouble: EnvironmentProblem | None = None
    try:
        catch_up(ws)
    except EnvironmentProblem as problem:  # an older graph is better than none
        trouble = problem
    with ws.store.reading("graph") as db:
        if db is None:
            if trouble is not None:
                raise trouble
            return []
        found = {(hit.id, hit.path): hit for hit in (*_classes(db, signals.keywords), *search(db, words, limit, KINDS))}
        return [_candidate(db, hit, words) for hit in found.values()][:limit]


def _classes(db: Database, words: Sequence[str]) -> list[Hit]:
    """The classes that plain words name: `why do baskets lose items` is about `Basket`, though a class of one word
    has so few words of its own that BM25 puts every test of it first. Not those of tests, or inside of functions.
    """
    hits = named(db, words, _NAMED * 10, ("type", "interface"))
    return [hit for hit in hits if "<locals>" not in hit.id and not _is_test(hit.path)][:_NAMED]


def _is_test(path: str) -> bool:
    *folders, name = path.split("/")
    return not {"test", "tests"}.isdisjoint(folders) or name.startswith(("test_", "conftest."))


def _candidate(db: Database, hit: Hit, words: Sequence[str]) -> Candidate:
    doc = next((row[0] for row in db.rows("SELECT doc FROM symbols WHERE id = ? AND path = ?", (hit.id, hit.path))), "")
    place = f"{hit.path}:{hit.line}"
    siblings = _siblings(db, hit)
    lines = [f"{place} {hit.title}", doc, f"siblings: {', '.join(siblings)}" if siblings else ""]
    seen = set(map(stem, split_all(f"{split_id(hit.id)[1]} {hit.title} {doc} {hit.path}").lower().split()))
    fitting = [word for word in query_words(words) if stem(word) in seen]
    return Candidate(
        id=hit.id, kind="symbol", title=hit.title, text="\n".join(line for line in lines if line),
        summary=f"{place} {hit.title}", path=hit.path, line=hit.line,
        reasons=(f"it bears: {', '.join(fitting)}",) if fitting else ("its code has words of the task",),
    )  # fmt: skip


def _siblings(db: Database, hit: Hit) -> list[str]:
    """For a class its methods, for a method the others of its class: names only, in the order of the source."""
    prefix, name = split_id(hit.id)
    if prefix not in ("type", "interface", "method", "property"):
        return []
    owner = name if prefix in ("type", "interface") else name.rpartition(".")[0]
    sql = "SELECT id FROM symbols WHERE path = ? AND (id LIKE 'method:%' OR id LIKE 'property:%') ORDER BY line, id"
    names = [split_id(row[0])[1].rpartition(".") for row in db.rows(sql, (hit.path,))]
    return [last for before, _, last in names if before == owner and f"{owner}.{last}" != name][:_SIBLINGS]
