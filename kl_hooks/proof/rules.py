"""The rules: what speaks against a result of a run, where another content is judged.

Each rule is a small function of facts. Rules of a run speak about all of its results, rules of a
change name the tests that a changed file reaches (an `Effect`), rules of a test speak about one
result. Nothing is valid because something is not known (ADR-0029).
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kl_hooks.evidence.executed import Executed
from kl_hooks.proof.comparison import (
    CONFTEST,
    INIT,
    Comparison,
    TestFacts,
    is_stdlib_word,
    module_word,
)
from kl_hooks.proof.facts import (
    NOT_ASSESSED,
    STALE,
    Difference,
    FileChange,
    FileSymbols,
    RunFacts,
    Verdict,
)

_PLAIN_BASES: Final = frozenset(
    {
        "",
        "object",
        "Exception",
        "ValueError",
        "TypeError",
        "RuntimeError",
        "KeyError",
        "Protocol",
        "NamedTuple",
        "TypedDict",
        "Enum",
        "IntEnum",
        "StrEnum",
        "TestCase",
    }
)
"""Bases whose subclasses register nowhere: a new class of them changes nothing for who does not
name it.
"""
_QUIET_DECORATORS: Final = re.compile(
    r"@(?:\w+\.)*(?:staticmethod|classmethod|property|cached_property|cache|lru_cache|wraps|contextmanager|overload"
    r"|asynccontextmanager|abstractmethod|dataclass|override|final|mark(?:\.\w+)+|given|settings|example|define|frozen"
    r"|total_ordering|runtime_checkable|unique|mutable|attr\.s|attr\.attrs|\w+\.(?:setter|getter|deleter))(?:\(.*)?"
)
"""Decorators that leave nothing behind but what they decorate, and make nothing of its docstring.
"""
_FIXTURE: Final = re.compile(r"@(?:pytest\.)?fixture(?:\(.*)?")
"""Its docstring is for `pytest --fixtures` alone."""


@dataclass(frozen=True)
class Effect:
    """What a change does to results: a reason, and the tests that it holds for."""

    reason: str
    symbols: tuple[str, ...] = ()
    files: frozenset[str] | None = None
    """Files of which a test must need one; None: any test."""
    also: frozenset[str] | None = None
    """And one of these; None: no further condition."""
    below: str | None = None
    """Only tests in this folder; None: anywhere."""
    prefix: str = ""
    """Only tests that executed a symbol whose ID starts so."""
    state: str = STALE

    def applies(self, comparison: Comparison, test: TestFacts) -> bool:
        """Whether a test is among them."""
        if self.below and not test.path.startswith(f"{self.below}/"):
            return False
        if self.files is not None and not test.starts & self.files:
            return False
        if self.also is not None and not test.starts & self.also:
            return False
        return not self.prefix or any(
            _is_or_is_in(comparison.executed.symbols[index].symbol, self.prefix)
            for index in test.own
        )


def _is_or_is_in(symbol: str, outer: str) -> bool:
    return symbol == outer or symbol.startswith(f"{outer}.")


# rules of a run: what no test of it escapes


def configuration_changed(run: RunFacts, difference: Difference) -> Verdict | None:
    """Which tests there are, and what is installed, is nothing that a test executes."""
    return Verdict(NOT_ASSESSED, "; ".join(difference.whole)) if difference.whole else None


def data_file_changed(run: RunFacts, difference: Difference) -> Verdict | None:
    """A file that is not Python's source, and that the run may have read."""
    opened = run.executed.files if run.executed and run.opened else None
    for change in difference.changes.values():
        if change.is_python:
            continue
        if opened is None:
            if why := _why_maybe_read(change, difference):
                return Verdict(NOT_ASSESSED, why)
        elif verdict := _opened(change, opened):
            return verdict
    return None


def _why_maybe_read(change: FileChange, difference: Difference) -> str:
    if change.path not in difference.documents:
        return f"{change.path} changed, and which files the tests opened was not recorded"
    return difference.read_documents.get(change.path, "")


def _opened(change: FileChange, opened: Mapping[str, str]) -> Verdict | None:
    if change.path in opened:
        return Verdict(STALE, f"{change.path} changed, which the tests opened")
    if not (change.before and change.now) and _has_opened_sibling(change.path, opened):
        word = "added" if change.now else "removed"
        return Verdict(STALE, f"{change.path} was {word} beside files that tests opened")
    if not all(not state or state.startswith("100") for state in (change.before, change.now)):
        return Verdict(NOT_ASSESSED, f"{change.path} is a link or a submodule, and changed")
    return None


def _has_opened_sibling(path: str, opened: Iterable[str]) -> bool:
    """Whether a file of this folder and ending was opened: whoever read all of them would read this
    one too.
    """
    folder, ending = path.rpartition("/")[0], path.rpartition(".")[2]
    return any(
        other.rpartition("/")[0] == folder and other.rpartition(".")[2] == ending
        for other in opened
    )


def no_symbols_recorded(run: RunFacts, difference: Difference) -> Verdict | None:
    """Without symbols any line of any Python file may have been executed."""
    paths = [change.path for change in difference.changes.values() if change.is_python]
    if run.executed is not None or not paths:
        return None
    more = f" and {len(paths) - 3} more" if len(paths) > 3 else ""
    shown = ", ".join(paths[:3]) + more
    return Verdict(NOT_ASSESSED, f"{shown} changed, and no executed symbols were recorded")


RunRule = Callable[[RunFacts, Difference], Verdict | None]
RUN_RULES: Final[Sequence[RunRule]] = (
    configuration_changed,
    data_file_changed,
    no_symbols_recorded,
)


def unseen_read(run: RunFacts, difference: Difference) -> Verdict | None:
    """Why a test of which not all was seen, such as one that starts another process, may have read
    what changed. Asked where no Python file changed.
    """
    # without recorded files documentation alone differs, and it was looked for who reads it
    for change in difference.changes.values() if run.opened else ():
        is_read = difference.read_documents.get(change.path)
        if change.path not in difference.documents or is_read:
            why = f"{change.path} changed, and what its processes opened was not recorded"
            return Verdict(NOT_ASSESSED, why)
    return None


# rules of a change: which tests it reaches


def conftest_changed(comparison: Comparison, change: FileChange) -> Iterator[Effect]:
    """Hooks in a `conftest.py` run around the tests of its folder, some before any of them."""
    folder, _, name = change.path.rpartition("/")
    if name == CONFTEST and _differ(change):
        yield Effect(f"{change.path} changed", below=folder)


def file_added_or_removed(comparison: Comparison, change: FileChange) -> Iterator[Effect]:
    """What imports a file by its name gets it now, or gets it no more."""
    if change.before and change.now:
        return
    path, users = change.path, comparison.users(change.path)
    folder, _, name = path.rpartition("/")
    reason = f"{path} was {'added' if change.now else 'removed'}"
    yield Effect(reason, files=users)
    if name == CONFTEST and not comparison.is_needed(users):
        return
    if name == INIT:
        executed = comparison.executed
        imported = {*executed.imports, *executed.modules, *comparison.starts}
        inside = [path for path in imported if path.startswith(f"{folder}/")]
        if inside:
            # the names of all modules below follow from which folders are packages
            yield Effect(reason, files=comparison.needing(inside))
    word = module_word(path)
    # the standard library and installed packages import by such a name too, and their files are in
    # no closure
    if is_stdlib_word(word):
        yield Effect(f"{reason}, which has the name of a module of Python")
    elif name != CONFTEST and word:
        yield from _uses_of_word(comparison, word, reason)


def _uses_of_word(comparison: Comparison, word: str, reason: str) -> Iterator[Effect]:
    """For tests that need a file which names the word: there it may mean something else now."""
    naming = {path for path in comparison.files_with(word) if path not in comparison.changes}
    for path, change in comparison.changes.items():
        if change.old is not None and word in change.old.names:
            naming.add(path)
    if naming:
        yield Effect(reason, files=comparison.needing(naming))


def file_not_comparable(comparison: Comparison, change: FileChange) -> Iterator[Effect]:
    """What can't be compared is not assessed for whoever needs the file."""
    if not change.before or not change.now:
        return
    path, users = change.path, comparison.users(change.path)
    if why := comparison.executed.unknown.get(path):
        yield Effect(f"{path} changed ({why})", files=users, state=NOT_ASSESSED)
    elif change.new is None or change.new.error:
        yield Effect(f"{path} can't be read", files=users, state=NOT_ASSESSED)
    elif not comparison.is_comparable(change):
        yield Effect(f"the module of {path} is not known", files=users, state=NOT_ASSESSED)
    elif comparison.is_needed(users) and (change.old is None or change.old.error):
        why = f"the earlier content of {path} is not known any more"
        yield Effect(why, files=users, state=NOT_ASSESSED)


def module_body_changed(comparison: Comparison, change: FileChange) -> Iterator[Effect]:
    """What runs while a file is imported belongs to all that need the file."""
    indexes = comparison.executed.modules.get(change.path, frozenset())
    changed = sorted(indexes & comparison.changed.keys())
    if changed:
        yield _effect_of_symbols(comparison, changed, comparison.users(change.path))


def hook_changed(comparison: Comparison, change: FileChange) -> Iterator[Effect]:
    """pytest calls hooks around all tests."""
    hooks = [
        index
        for index in comparison.symbols.at.get(change.path, ())
        if index in comparison.changed
        and comparison.executed.symbols[index].symbol.rpartition(".")[2].startswith("pytest_")
    ]
    if hooks:
        yield _effect_of_symbols(comparison, hooks, None)


def _effect_of_symbols(
    comparison: Comparison, indexes: Sequence[int], files: frozenset[str] | None
) -> Effect:
    names = tuple(sorted(comparison.executed.symbols[index].symbol for index in indexes))
    return Effect(changed_words(names, comparison.changed, comparison.executed), names, files)


def definitions_changed(comparison: Comparison, change: FileChange) -> Iterator[Effect]:
    """Definitions that only one of the two contents has, and docstrings of what is decorated."""
    users, old, new = comparison.users(change.path), change.old, change.new
    # what no test of the run imported, code that is the same imports no more than then
    if (
        not change.before
        or not change.now
        or not comparison.is_comparable(change)
        or not comparison.is_needed(users)
        or old is None
        or new is None
        or old.error
        or change.path not in comparison.executed.modules
    ):
        return
    for local, text in new.docs.items():
        if old.docs.get(local, text) != text and _makes_use_of_docstring(local, old, new):
            shown = _shown(local, change.path)
            reason = f"the docstring of {shown} changed, which is decorated"
            yield Effect(reason, files=users)
    for local in sorted(new.hashes.keys() ^ old.hashes.keys()):
        # a new field is a changed body
        if not local.startswith(("field:", "namespace:")):
            added = local in new.hashes
            yield from _one_definition(comparison, change, local, added, new if added else old)


def _one_definition(
    comparison: Comparison, change: FileChange, local: str, added: bool, content: FileSymbols
) -> Iterator[Effect]:
    outer, _, name = local.partition(":")[2].rpartition(".")
    users = comparison.users(change.path)
    reason = f"{_shown(local, change.path)} {'was added' if added else 'was removed'}"
    if outer != "_" and not _is_in_class(local, content):
        return  # inside a function, whose hash covers it
    if name.startswith("test") and change.path in comparison.executed.tests.files:
        return  # another test of the file
    special = (
        (name.startswith("__") and name.endswith("__"))
        or name.startswith("pytest_")
        or bool(_loud(content.decorators.get(local, ())))
    )
    # a module-level name comes before the builtin one (execution model, LEGB)
    if (
        special
        or hasattr(builtins, name)
        or not _registers_nowhere(content.signatures.get(local, ""))
    ):
        yield Effect(reason, files=users)
        return
    if outer != "_":
        # an object of the class finds it by its name, which may be made at run time: `visit_` and
        # a node's class
        module = comparison.symbols.modules.get(change.path, "")
        for kind in ("method", "property", "type", "interface", "function"):
            yield Effect(reason, prefix=f"{kind}:{module}{outer.removeprefix('_')}", files=users)
    yield from _uses_of_name(comparison, name, reason, added, users)


def _is_in_class(local: str, content: FileSymbols) -> bool:
    outer = local.partition(":")[2].rpartition(".")[0]
    return f"type:{outer}" in content.hashes or f"interface:{outer}" in content.hashes


def _uses_of_name(
    comparison: Comparison, name: str, reason: str, added: bool, users: frozenset[str] | None
) -> Iterator[Effect]:
    """A name was added or removed: what used it, or uses it, may get something else now."""
    # in a changed file the symbols that differ decide, unless the name was used there all along
    suspicious = {path for path in comparison.files_with(name) if path not in comparison.changes}
    for path, change in comparison.changes.items():
        if change.old is not None and change.new is not None:
            names = change.old.names if added else change.new.names
            suspicious |= {path} if name in names else set()
    if suspicious:
        yield Effect(reason, files=users, also=comparison.needing(suspicious))


ChangeRule = Callable[[Comparison, FileChange], Iterator[Effect]]
CHANGE_RULES: Final[Sequence[ChangeRule]] = (
    conftest_changed,
    file_added_or_removed,
    file_not_comparable,
    definitions_changed,
    module_body_changed,
    hook_changed,
)


# rules of a test: what speaks against its result


def executed_symbol_changed(
    comparison: Comparison, effects: Sequence[Effect], test: TestFacts
) -> Verdict | None:
    """Something that the test executed, or that computed a value it got, differs."""
    changed = {index for index in test.own if index in comparison.changed}
    if not changed:
        return None
    executed = comparison.executed
    ran = changed.intersection(executed.tests.indexes(test.nodeid))
    names = tuple(sorted(executed.symbols[index].symbol for index in ran or changed))
    stored = "" if ran else ", which computed a value that other tests get"
    return Verdict(STALE, changed_words(names, comparison.changed, executed) + stored, names)


def own_file_changed(
    comparison: Comparison, effects: Sequence[Effect], test: TestFacts
) -> Verdict | None:
    """A doctest, a skipped test, a file that was not collected: nothing of it was executed."""
    if test.path in comparison.changes and not _has_own_function(comparison, test):
        return Verdict(STALE, f"{test.path} changed")
    return None


def _has_own_function(comparison: Comparison, test: TestFacts) -> bool:
    """Whether the function of the test is among what it executed."""
    name = test.nodeid.partition("::")[2].partition("[")[0].replace("::", ".")
    full_name = f"{comparison.symbols.modules.get(test.path, '')}.{name}"
    last = name.rpartition(".")[2]
    for index in test.own:
        kind, _, symbol_name = comparison.executed.symbols[index].symbol.partition(":")
        if symbol_name == full_name:
            return True
        # inherited from a class of another file
        inherited = kind == "method" and symbol_name.rpartition(".")[2] == last
        if inherited and last.startswith("test"):
            return True
    return False


def stale_by_effect(
    comparison: Comparison, effects: Sequence[Effect], test: TestFacts
) -> Verdict | None:
    """A change reaches the test."""
    return _first_effect(comparison, effects, test, STALE)


def doubtful_by_effect(
    comparison: Comparison, effects: Sequence[Effect], test: TestFacts
) -> Verdict | None:
    """A change that can't be compared reaches the test."""
    return _first_effect(comparison, effects, test, NOT_ASSESSED)


def _first_effect(
    comparison: Comparison, effects: Sequence[Effect], test: TestFacts, state: str
) -> Verdict | None:
    for effect in effects:
        if effect.state == state and effect.applies(comparison, test):
            return Verdict(effect.state, effect.reason, effect.symbols)
    return None


def execution_incomplete(
    comparison: Comparison, effects: Sequence[Effect], test: TestFacts
) -> Verdict | None:
    """The test executed more than what is recorded."""
    why = comparison.executed.incomplete.get(test.nodeid)
    return Verdict(NOT_ASSESSED, why) if why else None


def needs_unknown_file(
    comparison: Comparison, effects: Sequence[Effect], test: TestFacts
) -> Verdict | None:
    """The test needs a changed file whose symbols could not be named."""
    for path, why in comparison.executed.unknown.items():
        if path in comparison.changes and test.starts & comparison.needing([path]):
            return Verdict(NOT_ASSESSED, f"{path} is not known ({why})")
    return None


def nothing_recorded(
    comparison: Comparison, effects: Sequence[Effect], test: TestFacts
) -> Verdict | None:
    """A result without executed symbols (skipped, or not collected) rests on what is imported."""
    executed = comparison.executed
    imported = test.path in executed.modules or test.path in executed.imports
    if test.recorded or imported or not test.path.endswith(".py"):
        return None
    return Verdict(NOT_ASSESSED, "what it executed was not recorded")


TestRule = Callable[[Comparison, Sequence[Effect], TestFacts], Verdict | None]
TEST_RULES: Final[Sequence[TestRule]] = (
    executed_symbol_changed,
    own_file_changed,
    stale_by_effect,
    doubtful_by_effect,
    execution_incomplete,
    needs_unknown_file,
    nothing_recorded,
)


# in words


def changed_words(names: Sequence[str], changed: Mapping[int, str], executed: Executed) -> str:
    """`the body of shop.cart and 2 more changed`, of sorted names of changed symbols."""
    kind, _, name = names[0].partition(":")
    what = f"the body of {name}" if kind in ("namespace", "type", "interface") else name
    if len(names) > 1:
        return f"{what} and {len(names) - 1} more changed"
    verbs = {executed.symbols[index].symbol: verb for index, verb in changed.items()}
    return f"{what} {verbs[names[0]]}"


def _shown(local: str, path: str) -> str:
    """`total in src/shop/cart.py`, of `function:_.total`."""
    return f"{local.partition(':')[2].removeprefix('_.')} in {path}"


# what leaves nothing behind


def _loud(decorators: Iterable[str]) -> list[str]:
    return [decorator for decorator in decorators if not _QUIET_DECORATORS.fullmatch(decorator)]


def _makes_use_of_docstring(local: str, old: FileSymbols, new: FileSymbols) -> bool:
    """Whether a docstring may be data: a decorator may read it, as click's do, or the file
    itself.
    """
    for content in (old, new):
        if not content.names.isdisjoint(("__doc__", "getdoc")):
            return True
        if not all(map(_FIXTURE.fullmatch, _loud(content.decorators.get(local, ())))):
            return True
    return False


def _differ(change: FileChange) -> bool:
    """Whether anything that a file defines differs: not layout or comments."""
    if change.old is None or change.new is None or change.old.error or change.new.error:
        return True
    old, new = change.old, change.new
    return old.hashes != new.hashes or any(
        old.docs.get(local) != text and _makes_use_of_docstring(local, old, new)
        for local, text in new.docs.items()
    )


def _registers_nowhere(signature: str) -> bool:
    """Whether a new class of this header can change nothing for code that does not name it; True
    for functions.
    """
    if not signature.startswith("class "):
        return True
    inside = signature.partition("(")[2].rpartition(")")[0]
    return all(base.strip().rpartition(".")[2] in _PLAIN_BASES for base in inside.split(","))
