"""What tests leave behind for later ones: in globals, classes, and values of fixtures.

A *holder* is something that outlives a test and that code names: a global of the repository, the
class of a test, the value of a fixture of wider scope. What it holds is compared at the end of each
test that executed code which names it, so it does not matter how something is stored there. Who
changed it last is its *writer*; a later test that names it rests on what the writer executed. A
holder that is again as it was before the first test has none.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any, Final, Protocol

from pytest_kl.contents import (
    CONTAINERS,
    MISSING,
    PLAIN,
    Contents,
    Node,
    attributes_of,
    cell_contents,
    classes_of,
    environ,
    identity,
    is_reserved,
    module_namespace,
    namespace_of,
)
from pytest_kl.operations import stores_of

_module_of: Final = type.__dict__["__module__"].__get__


_OS: Final = module_namespace(os)


class Owner(Protocol):
    """A test, or the set-up of a fixture."""

    rests: set[Any]
    """The owners that left behind what it uses."""
    left: set[Any]
    """The holders that it left changed."""


class Place(Protocol):
    """Where the value of a holder is looked up."""

    def get(self, name: str, default: Any) -> Any:
        """The value."""


class _AttributesOf:
    """The attributes of a function."""

    def __init__(self, function: FunctionType) -> None:
        self._function = function
        self.file: str = function.__code__.co_filename

    def get(self, name: str, default: Any) -> Any:
        """Its dictionary, which it has once somebody asks for it."""
        return self._function.__dict__


class _Cell:
    """A variable of an outer function."""

    def __init__(self, cell: CellType) -> None:
        self._cell = cell

    def get(self, name: str, default: Any) -> Any:
        """What it has."""
        return cell_contents(self._cell)


class _ValueOf:
    """The value of a fixture, as long as pytest has it."""

    def __init__(self, fixturedef: Any) -> None:
        self._fixturedef = fixturedef

    def get(self, name: str, default: Any) -> Any:
        """The value."""
        return (getattr(self._fixturedef, "cached_result", None) or (default,))[0]


class Holder:
    """Something that outlives tests, and who changed it last."""

    __slots__ = (
        "_contents",
        "_first",
        "_first_node",
        "_identity",
        "_is_class",
        "_names",
        "_node",
        "_watched",
        "name",
        "namers",
        "place",
        "writer",
    )

    def __init__(self, place: Place, name: str, contents: Contents) -> None:
        self.place, self.name, self._contents = place, name, contents
        self.writer: Owner | None = None
        self.namers: set[int] = set()
        """Numbers of the code that names it."""
        self._identity = self._first = 0
        self._is_class = False
        self._names: tuple[str, ...] = ()
        """Of its attributes."""
        self._watched: tuple[tuple[str, int], ...] = ()
        """Of a class: those that some code stores to, with their identities."""
        self._node: Node | None = None
        self._first_node: Node | None = None

    def value(self) -> Any:
        """What is there now."""
        return self.place.get(self.name, MISSING)

    def origin(self) -> tuple[str, str]:
        """The file that has it, and its name there; no file of what the library has."""
        if type(self.place) is not dict:
            return getattr(self.place, "file", ""), self.name
        name, file = self.name, self.place.get("__file__")
        if not name:  # the class of a test
            value = self.value()
            name = type.__dict__["__name__"].__get__(value)
            file = module_namespace(sys.modules.get(_module_of(value), os)).get("__file__")
        return (file if type(file) is str else ""), name

    def note(self, stored: set[str]) -> None:
        """From now on it is compared with this moment. `stored`: names that code stores to."""
        value = self.value()
        self._identity, self._node = identity(value), self._contents.node(value)
        self._is_class = issubclass(type(value), type)
        self._names = tuple(attributes_of(value) or ())
        self.watch(stored)

    def begin(self, stored: set[str]) -> None:
        """The same, before any test has changed it."""
        self.note(stored)
        self._first, self._first_node = self._identity, self._node

    def watch(self, stored: set[str]) -> None:
        """Of a class most attributes are what they were: to compare all of them takes long."""
        if self._is_class and self._node is not None:
            parts = self._node.identities()[len(self._names) :]
            pairs = zip(self._names, parts, strict=True)
            self._watched = tuple((name, part) for name, part in pairs if name in stored)

    def is_torn_down(self) -> bool:
        """Whether it is the value of a fixture that was torn down."""
        return type(self.place) is _ValueOf and self.value() is MISSING

    def is_quiet(self) -> bool:
        """Whether it is a class to which no code stores, as far as is known."""
        node = self._node
        return self._is_class and node is not None and not node.inner and not self._watched

    def may_differ(self, stored: set[str]) -> bool:
        """Whether something may be stored in it or its name, and it is not one of the quiet."""
        return self.name in stored if self._node is None else not self.is_quiet()

    def size(self) -> int:
        """The number of attributes that were noted."""
        return len(self._names)

    def is_same(self) -> bool:
        """Whether it is as it was noted."""
        value = self.place.get(self.name, MISSING)
        if identity(value) != self._identity:
            return False
        if self._node is None:
            return True
        if not self._is_class:
            return self._contents.is_same(value, self._node)
        members = namespace_of(value)
        if len(members) != len(self._names):
            return False
        for name, part in self._watched:
            if identity(members.get(name, MISSING)) != part:
                return False
        number = len(self._names)
        return all(
            self._contents.is_same(members.get(self._names[at - number]), inner)
            for at, inner in self._node.inner
        )

    def is_as_before(self) -> bool:
        """Whether it is as it was before the first test."""
        value = self.value()
        return identity(value) == self._first and (
            self._first_node is None or self._contents.is_same(value, self._first_node)
        )

    def changed_names(self) -> set[str]:
        """The attributes of an object or class that are there, or hold, something else than was
        noted. Its own name where that is not known.
        """
        value, node, number = self.value(), self._node, len(self._names)
        attributes = attributes_of(value) if identity(value) == self._identity else None
        if attributes is None or node is None or len(node.parts) != 2 * number:
            return {self.name}
        before = dict(zip(self._names, node.identities()[number:], strict=True))
        now = {name: identity(part) for name, part in [*attributes.items()]}
        changed = {name for name in {*before, *now} if before.get(name) != now.get(name)}
        for position, inner in node.inner:
            name = self._names[position - number] if position >= number else self.name
            if name not in changed and not self._contents.is_same(attributes[name], inner):
                changed |= self._contents.changed_names(attributes[name], inner) or {name}
        return changed or {self.name}


class WorkingFolder:
    """The working folder of the process, which every relative path starts from."""

    def __init__(self) -> None:
        self._getcwd = os.getcwd
        self._first = self._path = ""
        self._writer: Owner | None = None
        """Who left another one than the first test found."""

    def begin(self) -> None:
        """The first test begins."""
        self._first = self._path = self._current()

    def end(self, owner: Owner) -> None:
        """A test, or the set-up of a fixture, is over."""
        if self._writer is not None:
            owner.rests.add(self._writer)
        path = self._current()
        if path != self._path:
            self._path, self._writer = path, None if path == self._first else owner
            if self._writer is not None:
                owner.left.add(self)

    def origin(self) -> tuple[str, str]:
        """As `Holder.origin`."""
        return "", "getcwd"

    def _current(self) -> str:
        try:
            return self._getcwd()
        except OSError:  # it was removed
            return ""


def _stored_by_unittest(value: Any) -> set[str]:
    """The attributes that unittest stores in a class of tests when it is torn down."""
    case = getattr(sys.modules.get("unittest.case"), "TestCase", None)
    if case is None or not issubclass(type(value), type) or case not in classes_of(value):
        return set()
    function = getattr(namespace_of(case).get("doClassCleanups"), "__func__", None)
    return stores_of(function.__code__).names if type(function) is FunctionType else set()


class States:
    """The holders of one process."""

    def __init__(self, path: Callable[[str], str | None]) -> None:
        self._path = path
        self._contents = Contents(self._is_own)
        self._holders: dict[tuple[int, str], Holder] = {}
        """By identity of the place, and name."""
        self._places: list[Place] = []
        """Those, so that no other one gets their identity."""
        self._by_value: dict[int, Holder] = {}
        self._by_name: dict[str, list[Holder]] = {}
        """By the names, of their own and of what a class defines, that code may store to."""
        self._stored: set[str] = set()
        """The names that code stores to."""
        self._naming: dict[int, tuple[Holder, ...]] = {}
        """Number of a code object → what it names."""
        self._changing: set[int] = set()
        """Numbers of code that may change what it names."""
        self._storing_only: dict[int, set[str]] = {}
        """Of these the ones that change nothing but what has these names."""
        self._compared: dict[int, tuple[Holder, ...]] | None = None
        """The same without what nothing changes, as far as is known; None: to be found again."""
        self._quiet: list[Holder] | None = None
        """The classes to which no code stores; None: they are to be found again."""
        self._members: list[Mapping[str, Any]] = []
        """What these define, …"""
        self._size = 0
        """… and how much that was."""
        self._has_begun = False
        """Whether a test has begun."""
        self._changed: set[Holder] = set()
        """Those that have a writer."""
        self._folder = WorkingFolder()
        self.submodules: set[tuple[str, str]] = set()
        """(file of code, module of the repository that it has as an attribute of another one)."""
        self.looked_at: set[int] = set()
        """Identities of the code of which is known what it names."""

    def _is_own(self, value: Any) -> bool:
        """Whether a module, or the module of a class, is a file of the repository."""
        if not issubclass(type(value), ModuleType):
            name = _module_of(value)
            value = sys.modules.get(name) if type(name) is str else None
            if type(value) is not ModuleType:
                return False
        file = module_namespace(value).get("__file__")
        return type(file) is str and self._path(file) is not None

    # what code names

    def look(self, number: int, code: CodeType, space: Mapping[str, Any]) -> None:
        """Code starts for the first time, so it has changed nothing yet."""
        stores = stores_of(code)
        self._note_stored(stores.names)
        named: dict[Holder, None] = {}
        namespaces = {identity(space): space}
        todo = [space]
        for names in todo:
            for name in code.co_names:
                value = names.get(name, MISSING)
                if value is MISSING and names is space:
                    value = sys.modules.get(name, MISSING)
                if issubclass(type(value), ModuleType):
                    inner = module_namespace(value)
                    if identity(inner) in namespaces:
                        continue
                    namespaces[identity(inner)] = inner
                    if self._is_own(value):
                        todo.append(inner)
                        if names is not space:
                            self.submodules.add((code.co_filename, inner["__file__"]))
                    elif inner.get("__name__") in sys.stdlib_module_names:
                        named.update(dict.fromkeys(self._of_library(inner, code.co_names)))
                elif value is not MISSING and not is_reserved(name):
                    named.update(dict.fromkeys(self._named(names, name, value, stores.owners)))
        if named:
            self._naming[number] = tuple(named)
            if self._compared is not None:
                self._compare(self._compared, number, named)
            for holder in named:
                holder.namers.add(number)
            if stores.may_change:
                self._changing.add(number)
                if stores.only_names:
                    self._storing_only[number] = stores.names

    def _named(
        self, place: Mapping[str, Any], name: str, value: Any, owners: set[str]
    ) -> Iterator[Holder]:
        if type(value) is FunctionType:
            attributes = value.__dict__
            if name in owners or not all(map(is_reserved, attributes)):
                yield self._holder(_AttributesOf(value), identity(value), name, attributes)
            yield from self._outer_variables(value)
            yield from self._environment(value)
            if self._contents.parts(value) is None and name not in self._stored:
                return
        elif issubclass(type(value), type) and not self._is_own(value):
            return
        yield self._holder(place, identity(place), name, value)

    def _of_library(self, space: Mapping[str, Any], names: Iterable[str]) -> Iterator[Holder]:
        """What is stored in a module of the standard library: `sys.path`, `os.environ`."""
        for name in names:
            value = space.get(name)
            if type(value) in CONTAINERS or value is environ:
                yield self._holder(space, identity(space), name, value)
            elif type(value) is FunctionType:
                yield from self._environment(value)

    def _environment(self, function: FunctionType) -> Iterator[Holder]:
        """The variables of the environment, where a function of `os` names them: `os.getenv`."""
        if function.__globals__ is _OS:
            names = function.__code__.co_names
            if any(_OS.get(name) is environ for name in names):
                yield self._holder(_OS, identity(_OS), "environ", environ)

    def _outer_variables(self, function: FunctionType, levels: int = 3) -> Iterator[Holder]:
        """Those of a function, and of functions that they have: decorators wrap one another."""
        cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=False)
        for name, cell in cells:
            value = cell_contents(cell)
            if type(value) is FunctionType and levels:
                yield from self._outer_variables(value, levels - 1)
            elif not is_reserved(name):
                yield self._holder(_Cell(cell), identity(cell), name, value)

    def _holder(self, place: Place, where: int, name: str, value: Any) -> Holder:
        key = where, name
        holder = self._holders.get(key)
        if holder is None:
            self._places.append(place)
            holder = self._holders[key] = self._same_object(value) or self._new(place, name, value)
        return holder

    def _same_object(self, value: Any) -> Holder | None:
        """The holder that has the same object under another name."""
        other = self._by_value.get(identity(value))
        return other if type(value) not in PLAIN and other and other.value() is value else None

    def _new(self, place: Place, name: str, value: Any) -> Holder:
        holder = self._by_value[identity(value)] = Holder(place, name, self._contents)
        holder.begin(self._stored)
        self._quiet = None
        for part in (name, *(namespace_of(value) if issubclass(type(value), type) else ())):
            self._by_name.setdefault(part, []).append(holder)
        return holder

    def _note_stored(self, names: set[str]) -> None:
        new = names - self._stored
        self._stored |= new
        for name in new:
            for holder in self._by_name.get(name, ()):
                holder.watch(self._stored)
                self._forget()

    def _forget(self) -> None:
        """What must be compared is to be found again."""
        self._compared = self._quiet = None

    def _of(self, executed: set[int]) -> set[Holder]:
        """The holders that code names and that must be compared."""
        if self._compared is None:
            self._compared = {}
            for number, named in [*self._naming.items()]:
                self._compare(self._compared, number, named)
        holders: set[Holder] = set()
        for number in self._compared.keys() & executed:
            holders.update(self._compared[number])
        return holders

    def _compare(
        self, compared: dict[int, tuple[Holder, ...]], number: int, named: Iterable[Holder]
    ) -> None:
        holders = tuple(holder for holder in named if holder.may_differ(self._stored))
        if holders:
            compared[number] = holders

    def _resized(self) -> list[Holder]:
        """Of the classes that are not compared those that have more members, or fewer: most
        programs have many classes, and change none.
        """
        if self._quiet is None:
            self._quiet = [holder for holder in {*self._holders.values()} if holder.is_quiet()]
            self._members = [namespace_of(holder.value()) for holder in self._quiet]
            self._size = sum(holder.size() for holder in self._quiet)
        if sum(map(len, self._members)) == self._size:
            return []
        resized = [holder for holder in self._quiet if not holder.is_same()]
        self._quiet = None
        return resized

    # what tests do

    def begin(self) -> None:
        """A test begins. Before the first one the environment is as all tests find it: code that
        names it may start when a fixture has changed it.
        """
        if not self._has_begun:
            self._has_begun = True
            self._folder.begin()
            self._holder(_OS, identity(_OS), "environ", environ)

    def shared(self, place: Place, name: str = "") -> Holder | None:
        """What tests share without naming it; None where nothing can be stored in it."""
        value = place.get(name, MISSING)
        holder = self._same_object(value)
        if holder is None and self._contents.parts(value) is not None:
            holder = self._new(place, name, value)
        return holder

    def fixture(self, fixturedef: Any) -> Holder | None:
        """The value of a fixture of wider scope. Those of plugins are no business of ours."""
        code = getattr(fixturedef.func, "__code__", None)
        if type(code) is not CodeType or self._path(code.co_filename) is None:
            return None
        return self.shared(_ValueOf(fixturedef))

    def set_up(self, executed: Iterable[int]) -> None:
        """The set-up of a test is over: what it put back depends on no earlier test."""
        for holder in [*self._changed]:
            if not holder.namers.isdisjoint(executed) and holder.is_as_before():
                self._written(holder, None)

    def end(
        self,
        owner: Owner,
        executed: set[int],
        shared: Iterable[Holder],
        memoized: Callable[[set[int]], tuple[set[str], set[int]]],
    ) -> None:
        """A test, or the set-up of a fixture, is over. `executed`: numbers of code; `memoized`: of
        these, the names in which functions store what they compute, and the numbers of these
        functions.
        """
        used = {*shared}
        if self._changed:
            for holder in self._changed:
                if holder in used or not holder.namers.isdisjoint(executed):
                    owner.rests.add(holder.writer)
        self._folder.end(owner)
        owner.rests.discard(owner)
        used.update(self._of(executed), self._resized())
        for holder in used:
            if holder.is_same():
                continue
            if holder.is_torn_down() or holder.is_as_before():
                self._written(holder, None)
            elif self._is_memoized(holder, executed, *memoized(executed)):
                self._written(holder, holder.writer)
            else:
                self._written(holder, owner)

    def _is_memoized(
        self, holder: Holder, executed: set[int], names: set[str], functions: set[int]
    ) -> bool:
        """Whether only functions changed it that store what they compute: on these rests who calls
        them (`pytest_kl.memoization`).
        """
        ignored = _stored_by_unittest(holder.value())
        changed = {
            name for name in holder.changed_names() if not is_reserved(name) and name not in ignored
        }
        if changed and holder.name not in names and not changed <= names:
            return False
        others = (executed & self._changing & holder.namers) - functions
        changed.add(holder.name)
        return not changed - {holder.name} or all(
            number in self._storing_only and changed.isdisjoint(self._storing_only[number])
            for number in others
        )

    def _written(self, holder: Holder, owner: Owner | None) -> None:
        holder.writer = owner
        before = holder.may_differ(self._stored), holder.is_quiet()
        holder.note(self._stored)
        if before != (holder.may_differ(self._stored), holder.is_quiet()) or holder.is_quiet():
            self._forget()
        if owner is None:
            self._changed.discard(holder)
        else:
            self._changed.add(holder)
            owner.left.add(holder)
