"""Edit notes: after an edit, who relies on what it changed, and the tests that execute it.

Given once for a symbol in a session, in at most 400 characters, and only where there is somebody to
look at: a function elsewhere that calls it, or a test. A new function, and what nobody calls,
brings silence.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from kl_hooks.code.query.lookup import symbols_by_id, symbols_in_file
from kl_hooks.code.query.session import refresh_graph
from kl_hooks.graph import links
from kl_hooks.model.symbol import is_test_path, split_id
from kl_hooks.model.text import counted, defuse, name_list, one_line
from kl_hooks.proof.symbol_tests import tests_calling, tests_executing

if TYPE_CHECKING:
    from kl_hooks.model.symbol import Symbol
    from kl_hooks.store.database import Database
    from kl_hooks.workspace import Workspace

MOST_CHARACTERS: Final = 400
_USES: Final = ("calls", "references", "inherits", "implements")
_SYMBOLS: Final = 3
_CALLERS: Final = 4
_TEST_FILES: Final = 2
_KINDS: Final = ("function", "method", "property", "type", "interface")


class EditNote(NamedTuple):
    """What an agent is given after an edit."""

    text: str
    """Empty: nothing."""
    symbols: tuple[str, ...]
    """IDs of the symbols that it is about."""


def edit_note(
    ws: Workspace,
    paths: Sequence[str],
    noted: Collection[str],
    is_shown: Callable[[str, str], bool],
) -> EditNote:
    """Return who relies on what changed in these files since the graph was last brought up to date.

    `noted`: symbols that the session was given. `is_shown`: (ID, path) → whether the reader may be
    shown it. Raises EnvironmentProblem where the graph can't be read or written.
    """
    nothing = EditNote("", ())
    with ws.store.reading("graph") as db:
        if db is None:  # a first graph of a large repository is no price of an edit
            return nothing
        before = _hashes(db, paths)
    refresh_graph(ws)
    with ws.store.reading("graph") as db:
        if db is None:
            return nothing
        after = _hashes(db, paths)
        changed = [one for one in _changed(before, after) if one not in noted][:_SYMBOLS]
        if not changed:
            return nothing
        callers = _callers(db, changed, is_shown)
        executed, _ = tests_executing(ws, db, changed)
        calling = tests_calling(db, [one for one in changed if one not in executed])
    tests = {
        test
        for some in ({**calling, **executed}).values()
        for test in some
        if is_shown(test, _path_of(test))
    }
    if not callers and not tests:
        return nothing
    names = name_list([split_id(one)[1].rpartition(".")[2] for one in changed], _SYMBOLS)
    return EditNote(_text(names, callers, tests, is_executed=bool(executed)), tuple(changed))


def _hashes(db: Database, paths: Sequence[str]) -> dict[str, str]:
    """Return ID → content hash of what these files define."""
    return {
        symbol.id: symbol.content_hash
        for path in paths
        for symbol in symbols_in_file(db, path)
        if split_id(symbol.id)[0] in _KINDS
    }


def _changed(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[str]:
    """Yield what is still there with another content, and what is not there any more; the innermost only: a class
    changes with each of its methods.
    """
    changed = [one for one in before if after.get(one) != before[one]]
    names = {one: split_id(one)[1] for one in changed}
    for one in changed:
        if not any(name.startswith(f"{names[one]}.") for name in names.values()):
            yield one


def _callers(
    db: Database, changed: Sequence[str], is_shown: Callable[[str, str], bool]
) -> list[str]:
    """Return the functions of source that use these symbols, as `Cart.total (shop/cart.py:9)`."""
    uses = links.of_many(db, changed, incoming=True)
    sources = dict.fromkeys(
        link.source
        for one in changed
        for link in uses.get(one, ())
        if link.relation in _USES and link.source not in changed
    )
    symbols: Mapping[str, Symbol] = symbols_by_id(db, list(sources))
    shown = [
        symbols[source]
        for source in sources
        if source in symbols
        and not is_test_path(symbols[source].path)
        and split_id(source)[0] in _KINDS
        and is_shown(source, symbols[source].path)
    ]
    return [f"{_short_name(symbol.id)} ({symbol.path}:{symbol.line})" for symbol in shown]


def _short_name(identifier: str) -> str:
    """Return `Cart.total` of `method:shop.cart.Cart.total`, and `total` of a function."""
    kind, name = split_id(identifier)
    parts = name.split(".")
    return ".".join(parts[-2:]) if kind in ("method", "property") else parts[-1]


def _path_of(test: str) -> str:
    return test.removeprefix("test:").partition("::")[0]


def _text(names: str, callers: Sequence[str], tests: Collection[str], *, is_executed: bool) -> str:
    parts: list[str] = []
    if callers:
        verb = "uses" if len(callers) == 1 else "use"
        parts.append(f"{name_list(callers, _CALLERS)} {verb} what you changed ({names})")
    if tests:
        count_of_file: dict[str, int] = {}
        for test in tests:
            path = _path_of(test)
            count_of_file[path] = count_of_file.get(path, 0) + 1
        files = sorted(count_of_file, key=lambda path: (-count_of_file[path], path))
        verb = "executes" if is_executed else "calls"
        verb = verb if len(tests) == 1 else verb.removesuffix("s")
        subject = "it" if callers else names
        run = f"pytest {' '.join(files[:_TEST_FILES])}"
        parts.append(f"{counted(len(tests), 'test')} {verb} {subject}: {run}")
    # the names are those of code that anybody may have written
    return f"kl: {defuse(one_line('; '.join(parts), MOST_CHARACTERS - 10))}."
