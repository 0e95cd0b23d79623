"""Edit notes: after an edit, who relies on what it changed, and the tests that execute it.

Given once for a symbol in a session, in at most 400 characters, and only where there is somebody to
look at: a function that uses it, or a test. A new function, and what nobody uses, brings silence.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from kl_hooks.code.languages import scan_file, scanners_of, test_command
from kl_hooks.code.query.lookup import symbols_in_file
from kl_hooks.evidence.executed import test_path
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.symbol import FILE_SIGN, is_test_path, last_name, split_id
from kl_hooks.model.text import counted, defuse, name_list, one_line
from kl_hooks.proof.reliance import reliance, test_files_by_worth, test_files_named_after
from kl_hooks.store.files import read_small

if TYPE_CHECKING:
    from kl_hooks.hookspecs import Scanner
    from kl_hooks.model.symbol import Symbol
    from kl_hooks.proof.reliance import IsShown
    from kl_hooks.store.database import Database
    from kl_hooks.workspace import Workspace

MOST_CHARACTERS: Final = 400
_USES: Final = ("calls", "inherits", "implements")
_SYMBOLS: Final = 3
_USERS: Final = (4, 2, 1, 0)
"""Users that are named: as many as leave space for the tests and their command."""
_TEST_FILES: Final = 2
_CLASSES: Final = ("type", "interface")
_KINDS: Final = ("function", "method", "property", *_CLASSES)


class EditNote(NamedTuple):
    """What an agent is given after an edit."""

    text: str
    """Empty: nothing."""
    symbols: tuple[str, ...]
    """IDs of the symbols that it is about."""


def edit_note(
    ws: Workspace, texts_before: Mapping[str, str | None], noted: Collection[str], is_shown: IsShown
) -> EditNote:
    """Return who relies on what an edit changed.

    `texts_before`: file → its text before the edit; where that is None, unknown, or does not parse,
    the file is compared with the graph as last brought up to date. `noted`: symbols that the
    session was given before. Raises EnvironmentProblem where the graph can't be read.
    """
    nothing = EditNote("", ())
    with ws.store.reading("graph") as db:
        if db is None:  # a first graph of a large repository is no price of an edit
            return nothing
        path_of = {
            symbol: path
            for path, text in texts_before.items()
            for symbol in _changed(ws, db, path, text)
            if symbol not in noted
        }
        changed = list(path_of)[:_SYMBOLS]
        relies = reliance(ws, db, changed, _uses, is_shown)
        named_after = list(test_files_named_after(db, texts_before))
    users = {
        user.id: user
        for symbol in changed
        for user in relies.users.get(symbol, ())
        if user.id not in changed and split_id(user.id)[0] in _KINDS
    }
    # who edits a test file runs it
    edited = {path for path in path_of.values() if is_test_path(path)}
    tests_of = {
        symbol: [test for test in tests if test_path(test) not in edited]
        for symbol, tests in relies.tests.items()
    }
    tests = set[str]().union(*tests_of.values())
    if not users and not tests:
        return nothing
    is_executed = any(symbol in relies.executed for symbol in changed)
    by_worth = test_files_by_worth(tests_of)
    # the file that is named after the changed one tests it first
    files = list(dict.fromkeys((*(path for path in named_after if path in by_worth), *by_worth)))
    of_tests = _Tests(len(tests), files, is_executed)
    text = _text(changed, list(users.values()), of_tests)
    return EditNote(text, tuple(changed))


def _uses(symbol: str) -> tuple[str, ...]:
    """Return the links by which others rely on a symbol: an annotation that names a class does not
    rely on its body.
    """
    if split_id(symbol)[0] in _CLASSES:
        return _USES
    return (*_USES, "references")


def _changed(ws: Workspace, db: Database, path: str, text_before: str | None) -> list[str]:
    """Return the IDs of what an edit of a file changed or removed.

    Of a class that changed with one of its methods the method alone, of a function that is inside
    another one the outer: this is what others can use. Nothing while the file does not parse: an
    edit may be one of several.
    """
    rows = db.rows("SELECT module FROM files WHERE path = ?", (path,))
    if not rows:
        return []  # a new file
    module = str(rows[0][0])
    scanners = scanners_of(ws)
    after = _hashes(read_small(ws.root / path, within=ws.root) or b"", path, module, scanners)
    if after is None:
        return []
    before = None
    if text_before is not None:
        before = _hashes(text_before.encode("utf-8", "replace"), path, module, scanners)
    if before is None:
        before = {symbol.id: symbol.content_hash for symbol in symbols_in_file(db, path)}
    changed = [
        symbol
        for symbol, content_hash in before.items()
        if split_id(symbol)[0] in _KINDS
        and "<locals>" not in symbol
        and after.get(symbol) != content_hash
    ]
    names = [split_id(symbol)[1] for symbol in changed]
    return [
        symbol
        for symbol in changed
        if split_id(symbol)[0] not in _CLASSES
        or not any(name.startswith(f"{split_id(symbol)[1]}.") for name in names)
    ]


def _hashes(
    content: bytes, path: str, module: str, scanners: Sequence[Scanner]
) -> dict[str, str] | None:
    """Return ID → content hash of what a file defines; None where it does not parse."""
    facts = scan_file(path, content, module, scanners)
    if facts is None or facts["error"]:
        return None
    return {row[0]: row[5] for row in facts["symbols"]}


class _Tests(NamedTuple):
    """The tests of what changed."""

    number: int
    files: Sequence[str]
    """The first to run first."""
    is_executed: bool
    """Whether a run recorded that they execute it; else they call it by the source."""


def _text(changed: Sequence[str], users: Sequence[Symbol], tests: _Tests) -> str:
    """Return the note: as many users as fit beside the tests and their command."""
    names = name_list([last_name(symbol) for symbol in changed], _SYMBOLS)
    text = ""
    for most in _USERS:
        of_users = list(_users_part(names, users, most))
        of_tests = _tests_part("it" if of_users else names, tests)
        parts = [*of_users, *of_tests]
        if not parts:
            break
        # the names are those of code that anybody may have written
        text = f"kl: {defuse(one_line('; '.join(parts), 2 * MOST_CHARACTERS))}."
        if len(text) <= MOST_CHARACTERS:
            return text
    return f"{text[: MOST_CHARACTERS - 1]}…"


def _users_part(names: str, users: Sequence[Symbol], most: int) -> Iterator[str]:
    if users and most:
        places = [f"{_short_name(user.id)} ({user.path}:{user.line})" for user in users]
        verb = "uses" if len(users) == 1 else "use"
        yield f"{name_list(places, most)} {verb} what you changed ({names})"


def _tests_part(subject: str, tests: _Tests) -> Iterator[str]:
    if not tests.number:
        return
    verb = "execute" if tests.is_executed else "call"
    if tests.number == 1:
        verb = f"{verb}s"
    command = test_command(tests.files[:_TEST_FILES])
    yield f"{counted(tests.number, 'test')} {verb} {subject}: {command}"


def _short_name(identifier: str) -> str:
    """Return `Cart.total` of `method:shop.cart.Cart.total`, and `total` of a function."""
    kind, name = split_id(identifier)
    if FILE_SIGN in name:
        return name.rpartition(FILE_SIGN)[2]
    parts = name.split(".")
    if kind in ("method", "property"):
        return ".".join(parts[-2:])
    return parts[-1]
