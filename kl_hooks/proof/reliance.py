"""Reliance: who relies on symbols, as far as a reader may be shown it: functions of source that use
them, and tests that execute or call them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from kl_hooks.code.languages import test_file_names
from kl_hooks.code.linker import RUNNERS
from kl_hooks.code.query.lookup import symbols_by_id
from kl_hooks.evidence.executed import test_path
from kl_hooks.graph import links
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.symbol import is_test_path, split_id
from kl_hooks.proof.symbol_tests import tests_calling, tests_executing

if TYPE_CHECKING:
    from kl_hooks.model.symbol import Symbol
    from kl_hooks.store.database import Database
    from kl_hooks.workspace import Workspace

IsShown = Callable[[str, str], bool]
"""(ID, path) → whether the reader may be shown it."""


Relations = Callable[[str], Collection[str]]
"""ID of a symbol → the links to it that count as a use."""


class Reliance(NamedTuple):
    """Who relies on some symbols."""

    users: Mapping[str, Sequence[Symbol]]
    """Symbol → the functions of source that use it, in the order of the graph."""
    tests: Mapping[str, Collection[str]]
    """Symbol → node IDs of tests; those that a run recorded, else those that call it by the source.
    """
    executed: Collection[str]
    """The symbols of which a run recorded what executes them."""
    assumed: Collection[str]
    """Those of them of which imported coverage data alone shows it."""


def reliance(
    ws: Workspace,
    db: Database,
    symbols: Sequence[str],
    relations: Relations,
    is_shown: IsShown,
) -> Reliance:
    """Return who relies on symbols, given by ID."""
    executed, assumed = tests_executing(ws, db, symbols)
    calling = tests_calling(db, [symbol for symbol in symbols if symbol not in executed])
    tests = {
        symbol: {
            name
            for name in (identifier.removeprefix("test:") for identifier in identifiers)
            if is_shown(f"test:{name}", test_path(name))
        }
        for symbol, identifiers in {**calling, **executed}.items()
    }
    return Reliance(_users(db, symbols, relations, is_shown), tests, executed.keys(), assumed)


def _users(
    db: Database, symbols: Sequence[str], relations: Relations, is_shown: IsShown
) -> dict[str, list[Symbol]]:
    incoming = links.of_many(db, symbols, incoming=True)
    sources = {
        symbol: dict.fromkeys(
            link.source
            for link in incoming.get(symbol, ())
            # the test of a function is counted as a test
            if link.relation in relations(symbol) and split_id(link.source)[0] != "test"
        )
        for symbol in symbols
    }
    users = sorted(set().union(*sources.values()))
    # where tests are written beside the code, as in Rust, the path does not show that
    functions_of_tests = {
        user
        for user, user_links in links.of_many(db, users, incoming=True, relation="calls").items()
        if any(link.method in RUNNERS for link in user_links)
    }
    user_by_id = symbols_by_id(db, [user for user in users if user not in functions_of_tests])
    shown = {
        identifier: user
        for identifier, user in user_by_id.items()
        if not is_test_path(user.path) and is_shown(identifier, user.path)
    }
    return {
        symbol: [shown[identifier] for identifier in sources_of_symbol if identifier in shown]
        for symbol, sources_of_symbol in sources.items()
    }


def test_files_by_worth(tests: Mapping[str, Collection[str]]) -> list[str]:
    """Return the files of tests, those first whose tests are most specific for these symbols.

    `tests`: symbol → node IDs. A test counts for a symbol the more, the fewer tests have to do with
    that symbol.
    """
    worth: Counter[str] = Counter()
    for tests_of_symbol in tests.values():
        for test in tests_of_symbol:
            worth[test_path(test)] += 1_000_000 // len(tests_of_symbol)
    return sorted(worth, key=lambda path: (-worth[path], path))


def test_files_named_after(db: Database, paths: Iterable[str]) -> Iterator[str]:
    """Yield the test file that is named after each file: `tests/test_termui.py` of
    `click/termui.py`, `src/cart.test.ts` of `src/cart.ts`; of several the one whose folders are most
    alike.
    """
    for path in paths:
        folders = path.split("/")[:-1]
        names = test_file_names(path)
        if not names:
            continue
        wanted = {name for names_of_stem in names.values() for name in names_of_stem}
        # of 48 names a file has one: LIKE, for which `_` is any sign, finds those to be compared
        conditions = " OR ".join("path LIKE ?" for _ in names)
        sql = f"SELECT path FROM files WHERE {conditions} ORDER BY path"
        rows = db.rows(sql, [f"%{stem}%" for stem in names])
        fitting = [
            test for (test,) in rows if is_test_path(test) and test.rpartition("/")[2] in wanted
        ]
        if fitting:
            yield min(
                fitting,
                key=lambda test: (-len({*test.split("/")} & {*folders}), test.count("/"), test),
            )
