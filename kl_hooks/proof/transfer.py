"""Which results of a run are valid for another content: those whose tests executed nothing that
differs there.

Pure: what differs was read by `proof.difference`. A result is valid, stale (with the symbols that
differ) or is not assessed (with the reason); it is never valid because something is not known
(ADR-0029).
"""

from __future__ import annotations

import builtins
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, NamedTuple

from kl_hooks.evidence.executed import Executed, test_path

VALID: Final = "valid"
STALE: Final = "stale"
NOT_ASSESSED: Final = "not assessed"
_INIT: Final = "__init__.py"
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


class Verdict(NamedTuple):
    """Whether a result of a run is valid for another content."""

    state: str
    """`VALID`, `STALE`, `NOT_ASSESSED`."""
    reason: str = ""
    """Why it is not valid: `shop.cart.total changed`."""
    symbols: tuple[str, ...] = ()
    """The executed symbols that differ."""


_VALID: Final = Verdict(VALID)


@dataclass(frozen=True)
class FileSymbols:
    """What a Python file defines in one content; names start with `_` instead of its module."""

    hashes: Mapping[str, str] = field(default_factory=dict)
    """`function:_.f` → content hash."""
    names: frozenset[str] = frozenset()
    """The identifiers that it uses or binds."""
    decorators: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    signatures: Mapping[str, str] = field(default_factory=dict)
    docs: Mapping[str, str] = field(default_factory=dict)
    """Docstrings, of what is decorated: click and others make behavior of them."""
    lines: Mapping[str, int] = field(default_factory=dict)
    error: str = ""
    """Why it could not be read."""


@dataclass(frozen=True)
class FileChange:
    """A file that differs between the content of a run and another one."""

    path: str
    before: str = ""
    """Its state, see `git.worktree.changed_files`; empty: it was not there."""
    now: str = ""
    old: FileSymbols | None = None
    """Of a Python file that was there."""
    new: FileSymbols | None = None

    @property
    def is_python(self) -> bool:
        """Whether it is source: what tests of it executed is known by symbols."""
        states = (self.before, self.now)
        return self.path.endswith(".py") and all(not one or one.startswith("100") for one in states)


def _no_mentions(words: Iterable[str]) -> Mapping[str, frozenset[str]]:
    return {}


@dataclass(frozen=True)
class Difference:
    """What differs between the content of a run and another one."""

    changes: Mapping[str, FileChange] = field(default_factory=dict)
    whole: tuple[str, ...] = ()
    """Differences that no test escapes: pytest's configuration, dependencies."""
    documents: frozenset[str] = frozenset()
    """Changed files that are documentation."""
    read_documents: Mapping[str, str] = field(default_factory=dict)
    """Changed documentation that a test may read → why; asked only where opened files were not
    recorded.
    """
    mentions: Callable[[Iterable[str]], Mapping[str, frozenset[str]]] = _no_mentions
    """Words → the Python files of the other content that have them."""


@dataclass(frozen=True)
class RunFacts:
    """What a run recorded next to its results."""

    executed: Executed | None = None
    opened: bool = False
    """Whether the files that it opened were recorded."""


class RunSymbols:
    """The symbols that a run executed, by file."""

    def __init__(self, executed: Executed) -> None:
        self.executed = executed
        self.paths = [executed.places.get(one.symbol, "") for one in executed.symbols]
        """The path of each symbol, by its index."""
        self.at: dict[str, list[int]] = {}
        """Path → indexes."""
        self.modules: dict[str, str] = {}
        """Path → the module that the file was."""
        for index, (path, one) in enumerate(zip(self.paths, executed.symbols, strict=True)):
            self.at.setdefault(path, []).append(index)
            if one.symbol.startswith("namespace:"):
                self.modules[path] = one.symbol.partition(":")[2]

    def local(self, index: int) -> str:
        """A symbol without its module: `function:_.f`."""
        kind, _, name = self.executed.symbols[index].symbol.partition(":")
        return f"{kind}:_{name.removeprefix(self.modules.get(self.paths[index], ''))}"

    def find(self, path: str, local: str) -> int | None:
        """The index of a symbol of a file; None for one that was not executed."""
        return next((index for index in self.at.get(path, ()) if self.local(index) == local), None)


class _Cause(NamedTuple):
    """Something that makes results stale."""

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


def judge_results(
    run: RunFacts, difference: Difference, nodeids: Iterable[str]
) -> dict[str, Verdict]:
    """Node ID of each result of a run → whether it is valid for the other content."""
    names = list(nodeids)
    if not difference.changes:
        return dict.fromkeys(names, _VALID)
    if reason := _whole_run(run, difference):
        return dict.fromkeys(names, reason)
    python = [one for one in difference.changes.values() if one.is_python]
    if not python:
        unseen = _unseen_read(run, difference)
        return {name: unseen if unseen and name in _incomplete(run) else _VALID for name in names}
    if run.executed is None:
        # without symbols any line of any Python file may have been executed
        shown = _listed([one.path for one in python])
        reason = Verdict(NOT_ASSESSED, f"{shown} changed, and no executed symbols were recorded")
        return dict.fromkeys(names, reason)
    judge = _Judge(run.executed, python, difference)
    return {name: judge.verdict(name) for name in names}


def _whole_run(run: RunFacts, difference: Difference) -> Verdict | None:
    """What speaks against every result of a run; None where nothing does."""
    # before anything by test: which tests there are, and what is installed, is nothing that a test
    # executes
    if difference.whole:
        return Verdict(NOT_ASSESSED, "; ".join(difference.whole))
    opened = run.executed.files if run.executed and run.opened else None
    for one in difference.changes.values():
        if one.is_python:
            continue
        if opened is None:
            if one.path not in difference.documents:
                return Verdict(
                    NOT_ASSESSED,
                    f"{one.path} changed, and which files the tests opened was not recorded",
                )
            if why := difference.read_documents.get(one.path):
                return Verdict(NOT_ASSESSED, why)
        elif one.path in opened:
            return Verdict(STALE, f"{one.path} changed, which the tests opened")
        elif not (one.before and one.now) and _has_opened_sibling(one.path, opened):
            return Verdict(
                STALE,
                f"{one.path} was {'added' if one.now else 'removed'} beside files that tests"
                " opened",
            )
        elif not all(not state or state.startswith("100") for state in (one.before, one.now)):
            return Verdict(NOT_ASSESSED, f"{one.path} is a link or a submodule, and changed")
    return None


def _incomplete(run: RunFacts) -> Mapping[str, str]:
    return run.executed.incomplete if run.executed else {}


def _unseen_read(run: RunFacts, difference: Difference) -> Verdict | None:
    """Why a test of which not all was seen, such as one that starts another process, may have read
    what changed.
    """
    if not run.opened:  # then documentation alone differs, and it was looked for who reads it
        return None
    for one in difference.changes.values():
        if one.path not in difference.documents or difference.read_documents.get(one.path):
            why = f"{one.path} changed, and what its processes opened was not recorded"
            return Verdict(NOT_ASSESSED, why)
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


def _listed(paths: Sequence[str]) -> str:
    return ", ".join(paths[:3]) + (f" and {len(paths) - 3} more" if len(paths) > 3 else "")


class _Judge:
    """The causes of staleness between two contents, and what each test of a run needs."""

    def __init__(
        self, executed: Executed, python: Sequence[FileChange], difference: Difference
    ) -> None:
        self._executed, self._symbols = executed, RunSymbols(executed)
        self._changes = {one.path: one for one in python}
        self._causes: list[_Cause] = []
        self._changed: dict[int, str] = {}
        """Index of an executed symbol that differs → in words what became of it."""
        self._words: list[tuple[str, Callable[[frozenset[str]], None]]] = []
        """Words, and what to do with the files that have them: git is asked once for all."""
        for change in python:
            self._compare(change)
        self._compare_bodies()
        found = difference.mentions({word for word, _ in self._words}) if self._words else {}
        for word, add in self._words:
            add(found.get(word, frozenset()))

    @cached_property
    def _importers(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for path, imported in self._executed.imports.items():
            for one in imported:
                found.setdefault(one, set()).add(path)
        return found

    def _needing(self, paths: Iterable[str]) -> frozenset[str]:
        """These files and all that reach one of them by imports."""
        # a loop, not recursion: chains of imports may be longer than Python's stack
        # (sys.getrecursionlimit)
        seen, todo = set(paths), list(paths)
        while todo:
            new = self._importers.get(todo.pop(), set()) - seen
            seen |= new
            todo += new
        return frozenset(seen)

    @cached_property
    def _starts(self) -> frozenset[str]:
        """The files that some test of the run needs by itself."""
        files = self._executed.tests.files
        own = {self._symbols.paths[index] for file in files.values() for index in file.symbols}
        own |= {
            self._symbols.paths[index] for some in self._executed.values.values() for index in some
        }
        return frozenset(own | files.keys() | {one for path in files for one in _conftests(path)})

    # what differs

    def _compare(self, change: FileChange) -> None:
        path, needing = change.path, self._users(change.path)
        if path.rpartition("/")[2] == "conftest.py" and _differ(change):
            # hooks in it run around the tests, some before any of them
            self._causes.append(_Cause(f"{path} changed", below=path.rpartition("/")[0]))
        if not change.before or not change.now:
            self._added_or_removed(change, needing)
        elif why := self._executed.unknown.get(path):
            self._causes.append(
                _Cause(f"{path} changed ({why})", files=needing, state=NOT_ASSESSED)
            )
        elif change.new is None or change.new.error:
            self._causes.append(_Cause(f"{path} can't be read", files=needing, state=NOT_ASSESSED))
        else:
            self._compare_symbols(change, change.new, needing)

    def _users(self, path: str) -> frozenset[str] | None:
        """The files that need a file. None, for all tests, where it was imported, and no test is
        seen to need it: it is a plugin, whose hooks run around all of them.
        """
        found = self._needing([path])
        imported = (
            path in self._executed.modules
            or path in self._symbols.at
            or path in self._executed.unknown
        )
        return None if imported and not found & self._starts else found

    def _compare_bodies(self) -> None:
        """What runs while a file is imported belongs to all that need the file, wherever it is
        defined.
        """
        for path, indexes in self._executed.modules.items():
            changed = sorted(indexes & self._changed.keys())
            if changed:
                self._cause_of_symbols(changed, self._users(path))
        hooks = [
            at for at in self._changed if self._name(at).rpartition(".")[2].startswith("pytest_")
        ]
        if hooks:
            self._cause_of_symbols(hooks, None)

    def _name(self, index: int) -> str:
        return self._executed.symbols[index].symbol

    def _added_or_removed(self, change: FileChange, needing: frozenset[str] | None) -> None:
        path, word = change.path, "added" if change.now else "removed"
        name, folder = path.rpartition("/")[2], path.rpartition("/")[0]
        self._causes.append(_Cause(f"{path} was {word}", files=needing))
        for index in self._symbols.at.get(path, ()):
            self._changed[index] = "was removed"
        if needing is not None and not needing & self._starts and name == "conftest.py":
            return
        stem = name.removesuffix(".py")
        if name == _INIT:
            stem = folder.rpartition("/")[2]
            known = {*self._executed.imports, *self._executed.modules, *self._starts}
            here = [one for one in known if one.startswith(f"{folder}/")]
            if here:
                # the names of all modules below follow from which folders are packages
                self._causes.append(_Cause(f"{path} was {word}", files=self._needing(here)))
        # the standard library and installed packages import by such a name too, and their files are
        # in no closure
        if stem in sys.stdlib_module_names:
            self._causes.append(
                _Cause(f"{path} was {word}, which has the name of a module of Python")
            )
        elif name != "conftest.py" and stem:
            self._words.append(
                (stem, lambda files: self._by_word(files, f"{path} was {word}", stem))
            )

    def _by_word(self, files: frozenset[str], reason: str, word: str) -> None:
        """A cause for tests that need a file which names the word: there it may mean something else
        now.
        """
        same = {path for path in files if path not in self._changes}
        for path, change in self._changes.items():
            if change.old is not None and word in change.old.names:
                same.add(path)
        if same:
            self._causes.append(_Cause(reason, files=self._needing(same)))

    def _compare_symbols(
        self, change: FileChange, new: FileSymbols, needing: frozenset[str] | None
    ) -> None:
        path, module = change.path, self._symbols.modules.get(change.path)
        indexes = self._symbols.at.get(path, [])
        if indexes and module is None:
            self._causes.append(
                _Cause(f"the module of {path} is not known", files=needing, state=NOT_ASSESSED)
            )
            return
        for index in indexes:
            local = self._symbols.local(index)
            # with what was recorded, not with the earlier file: that is what ran
            if new.hashes.get(local) != self._executed.symbols[index].content_hash:
                self._changed[index] = "changed" if local in new.hashes else "was removed"
        if needing is not None and not needing & self._starts:
            return
        old = change.old
        if old is None or old.error:
            why = f"the earlier content of {path} is not known any more"
            self._causes.append(_Cause(why, files=needing, state=NOT_ASSESSED))
        elif path in self._executed.modules:
            # what no test of the run imported, code that is the same imports no more than then
            self._compare_definitions(change, old, new, needing)

    def _cause_of_symbols(self, indexes: Sequence[int], files: frozenset[str] | None) -> None:
        names = tuple(sorted(self._executed.symbols[index].symbol for index in indexes))
        self._causes.append(
            _Cause(_changed_words(names, self._changed, self._executed), names, files)
        )

    def _compare_definitions(
        self, change: FileChange, old: FileSymbols, new: FileSymbols, needing: frozenset[str] | None
    ) -> None:
        """Definitions that only one of the two contents has, and docstrings of what is
        decorated.
        """
        for local, text in new.docs.items():
            if (
                local in old.docs
                and old.docs[local] != text
                and _makes_use_of_docstring(local, old, new)
            ):
                shown = _shown(local, change.path)
                self._causes.append(
                    _Cause(f"the docstring of {shown} changed, which is decorated", files=needing)
                )
        for local in sorted(new.hashes.keys() ^ old.hashes.keys()):
            # a new field is a changed body
            if not local.startswith(("field:", "namespace:")):
                self._one_definition(
                    change, local, local in new.hashes, new if local in new.hashes else old, needing
                )

    def _one_definition(
        self,
        change: FileChange,
        local: str,
        added: bool,
        content: FileSymbols,
        needing: frozenset[str] | None,
    ) -> None:
        outer, _, name = local.partition(":")[2].rpartition(".")
        word = "was added" if added else "was removed"
        shown = _shown(local, change.path)
        reason = f"{shown} {word}"
        if outer != "_" and not self._is_class(local, content):
            return  # inside a function, whose hash covers it
        if name.startswith("test") and change.path in self._executed.tests.files:
            return  # another test of the file
        loud = _loud(content.decorators.get(local, ()))
        special = (
            (name.startswith("__") and name.endswith("__"))
            or name.startswith("pytest_")
            or bool(loud)
        )
        # a module-level name comes before the builtin one (execution model, LEGB)
        if (
            special
            or hasattr(builtins, name)
            or not _registers_nowhere(content.signatures.get(local, ""))
        ):
            self._causes.append(_Cause(reason, files=needing))
            return
        if outer != "_":
            # an object of the class finds it by its name, which may be made at run time: `visit_`
            # and a node's class
            module = self._symbols.modules.get(change.path, "")
            for kind in ("method", "property", "type", "interface", "function"):
                owner = f"{kind}:{module}{outer.removeprefix('_')}"
                self._causes.append(_Cause(reason, prefix=owner, files=needing))
        self._words.append(
            (name, lambda files: self._named(files, reason, name, change, added, needing))
        )

    @staticmethod
    def _is_class(local: str, content: FileSymbols) -> bool:
        outer = local.partition(":")[2].rpartition(".")[0]
        return f"type:{outer}" in content.hashes or f"interface:{outer}" in content.hashes

    def _named(
        self,
        files: frozenset[str],
        reason: str,
        name: str,
        change: FileChange,
        added: bool,
        needing: frozenset[str] | None,
    ) -> None:
        """A name was added or removed: what used it, or uses it, may get something else now."""
        # in a changed file the symbols that differ decide, unless the name was used there all along
        suspicious = {path for path in files if path not in self._changes}
        for path, other in self._changes.items():
            if other.old is not None and other.new is not None:
                suspicious |= (
                    {path} if name in (other.old.names if added else other.new.names) else set()
                )
        if suspicious:
            self._causes.append(_Cause(reason, files=needing, also=self._needing(suspicious)))

    # one test

    def verdict(self, nodeid: str) -> Verdict:
        """Whether the result of this test is valid."""
        path, executed = test_path(nodeid), self._executed
        recorded = path in executed.tests.files and nodeid in executed.tests.files[path].masks
        own = executed.needed(nodeid) if recorded else []
        starts = {self._symbols.paths[index] for index in own} | {path, *_conftests(path)}
        changed = [index for index in own if index in self._changed]
        if changed:
            ran = set(changed).intersection(executed.tests.indexes(nodeid))
            names = tuple(sorted(executed.symbols[index].symbol for index in ran or changed))
            stored = "" if ran else ", which computed a value that other tests get"
            return Verdict(STALE, _changed_words(names, self._changed, executed) + stored, names)
        if path in self._changes and not self._has_own_function(nodeid, own):
            # a doctest, a skipped test, a file that was not collected: nothing of it was executed
            return Verdict(STALE, f"{path} changed")
        doubt: Verdict | None = None
        for cause in self._causes:
            if self._applies(cause, path, starts, own):
                found = Verdict(cause.state, cause.reason, cause.symbols)
                if cause.state == STALE:
                    return found
                doubt = doubt or found
        if doubt is None and (why := executed.incomplete.get(nodeid)):
            doubt = Verdict(NOT_ASSESSED, why)
        if doubt is None and (unknown := self._unknown_files(starts)):
            doubt = Verdict(NOT_ASSESSED, unknown)
        if doubt is None and not recorded:
            doubt = self._unrecorded(path)
        return doubt or _VALID

    def _unrecorded(self, path: str) -> Verdict | None:
        """A result without executed symbols (skipped, or not collected) rests on what is
        imported.
        """
        if (
            path.endswith(".py")
            and path not in self._executed.modules
            and path not in self._executed.imports
        ):
            return Verdict(NOT_ASSESSED, "what it executed was not recorded")
        return None

    def _unknown_files(self, starts: set[str]) -> str:
        for path, why in self._executed.unknown.items():
            if path in self._changes and starts & self._needing([path]):
                return f"{path} is not known ({why})"
        return ""

    def _has_own_function(self, nodeid: str, own: Sequence[int]) -> bool:
        """Whether the function of the test is among what it executed."""
        path = test_path(nodeid)
        name = nodeid.partition("::")[2].partition("[")[0].replace("::", ".")
        module = self._symbols.modules.get(path, "")
        wanted = f":{module}.{name}"
        last = name.rpartition(".")[2]
        for index in own:
            symbol = self._executed.symbols[index].symbol
            if symbol.endswith(wanted) and symbol.partition(":")[2] == wanted[1:]:
                return True
            # inherited from a class of another file
            if (
                symbol.startswith("method:")
                and symbol.rpartition(".")[2] == last
                and last.startswith("test")
            ):
                return True
        return False

    def _applies(self, cause: _Cause, path: str, starts: set[str], own: Sequence[int]) -> bool:
        if cause.below is not None and not path.startswith(
            f"{cause.below}/" if cause.below else ""
        ):
            return False
        if cause.files is not None and not starts & cause.files:
            return False
        if cause.also is not None and not starts & cause.also:
            return False
        if cause.prefix:
            symbols = (self._executed.symbols[index].symbol for index in own)
            return any(one == cause.prefix or one.startswith(f"{cause.prefix}.") for one in symbols)
        return True


def _loud(decorators: Iterable[str]) -> list[str]:
    return [one for one in decorators if not _QUIET_DECORATORS.fullmatch(one)]


def _makes_use_of_docstring(local: str, old: FileSymbols, new: FileSymbols) -> bool:
    """Whether a docstring may be data: a decorator may read it, as click's do, or the file
    itself.
    """
    for one in (old, new):
        if not one.names.isdisjoint(("__doc__", "getdoc")):
            return True
        if not all(map(_FIXTURE.fullmatch, _loud(one.decorators.get(local, ())))):
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


def _conftests(path: str) -> Iterator[str]:
    folders = path.split("/")[:-1]
    return ("/".join([*folders[:depth], "conftest.py"]) for depth in range(len(folders) + 1))


def _shown(local: str, path: str) -> str:
    """`total in src/shop/cart.py`, of `function:_.total`."""
    return f"{local.partition(':')[2].removeprefix('_.')} in {path}"


def _changed_words(names: Sequence[str], changed: Mapping[int, str], executed: Executed) -> str:
    index = {executed.symbols[at].symbol: at for at in changed}
    first = names[0]
    kind, _, name = first.partition(":")
    what = f"the body of {name}" if kind in ("namespace", "type", "interface") else name
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return f"{what}{more} {changed[index[first]]}" if not more else f"{what}{more} changed"


def _registers_nowhere(signature: str) -> bool:
    """Whether a new class of this header can change nothing for code that does not name it; True
    for functions.
    """
    if not signature.startswith("class "):
        return True
    inside = signature.partition("(")[2].rpartition(")")[0]
    return all(one.strip().rpartition(".")[2] in _PLAIN_BASES for one in inside.split(","))
