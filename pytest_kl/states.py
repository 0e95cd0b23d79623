"""What tests leave behind for later ones: in globals, classes, and values of fixtures.

A *holder* is something that outlives a test and that code names: a global of the repository, the
class of a test, the value of a fixture of wider scope. What it holds is compared at the end of each
test that executed code which names it, so it does not matter how something is stored there. Who
changed it last is its *writer*; a later test that names it rests on what the writer executed. A
holder that is again as it was before the first test has none.
"""

from __future__ import annotations

import logging
import os
import random
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import cached_property
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, Final, Protocol, cast
from weakref import ref

from pytest_kl.contents import (
    CACHED,
    CONTAINERS,
    MISSING,
    PLAIN,
    Contents,
    Inside,
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
from pytest_kl.memoization import gets
from pytest_kl.operations import has_text, stores_of
from pytest_kl.process import Difference as ProcessDifference
from pytest_kl.process import Process
from pytest_kl.reads import RESET, SHARED, STATES, STORED, TOUCHED

_module_of: Final = type.__dict__["__module__"].__get__
_name_of: Final = type.__dict__["__name__"].__get__
_qualname_of: Final = type.__dict__["__qualname__"].__get__


_OS: Final = module_namespace(os)
_ANNOTATIONS: Final = "__annotations__"
_ADDED: Final = frozenset((_ANNOTATIONS, "__annotations_cache__", "__slotnames__"))
"""What a class gets when it is asked for annotations, and has none; its objects are copied
(`copyreg`).
"""
_UNNAMED: Final = "()"
"""At the end of the name of what tests reach by other ways than this name: a fixture, a cache."""
_METHODS: Final = (BuiltinFunctionType, MethodType)
_LOGGING: Final = module_namespace(logging)
_RANDOM: Final = module_namespace(random)


_MOST_INSIDE: Final = 10_000
"""So many objects that are deep inside of others are compared with the process; that takes 20 ms."""
_MOST_RESULTS: Final = 20
"""So many results of a function are compared."""
SUBCLASSES: Final = "__subclasses__"
"""The name by which code asks for the classes that are made of one."""
Memoized = Callable[[set[int]], tuple[set[str], set[int]]]
"""Gives what of executed code stores what it computes: the names, and numbers of the functions."""
SEEDS, LOGS = "seeds", "logs"
"""What functions of the library do with what it has for the whole process."""


def watched_code() -> dict[CodeType, str]:
    """The code of these functions. pytest itself sets loggers around each test, so what sets them
    is none.
    """
    generator = _RANDOM["Random"]
    logger = _LOGGING["Logger"]
    functions = {
        SEEDS: (generator.seed, generator.setstate),
        LOGS: (
            *(logger.isEnabledFor, logger.getEffectiveLevel, logger.hasHandlers),
            _LOGGING["Manager"].getLogger,
        ),
    }
    return {
        function.__code__: name
        for name, group in functions.items()
        for function in group
        if type(function) is FunctionType
    }


class Owner(Protocol):
    """A test, or the set-up of a fixture."""

    is_fixture: bool
    rests: set[Any]
    """The owners that left behind what it uses."""
    left: set[Any]
    """The holders that it left changed."""
    reads: set[int]
    """Numbers of what it read: of states, too."""
    shared: set[Any]
    """The holders that it uses without naming them."""
    resets: set[Any]
    """The holders that it set anew before it used them."""


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

    def __init__(self, fixturedef: Any, code: CodeType) -> None:
        self._fixturedef = fixturedef
        self.file: str = code.co_filename
        self.name = f"{fixturedef.argname}{_UNNAMED}"

    def get(self, name: str, default: Any) -> Any:
        """The value."""
        return (getattr(self._fixturedef, "cached_result", None) or (default,))[0]


class _Of:
    """An object that tests reach by other ways than a name."""

    def __init__(self, value: Any, name: str, file: str = "") -> None:
        self._value = value
        self.name = name
        self.file = file

    def get(self, name: str, default: Any) -> Any:
        """It is always the same."""
        return self._value


class _Unowned:
    """An object that is somewhere else; it lives no longer for us where it can be referred to."""

    def __init__(self, value: Any, name: str, file: str) -> None:
        self._value: Callable[[], Any]
        try:
            self._value = ref(value)
        except TypeError:  # a list, a dictionary
            self._value = lambda: value
        self.name = name
        self.file = file

    def get(self, name: str, default: Any) -> Any:
        """The object, as long as there is one."""
        value = self._value()
        return default if value is None else value


class Holder:
    """Something that outlives tests, and who changed it last."""

    __slots__ = (
        "_contents",
        "_first",
        "_first_inside",
        "_first_node",
        "_identity",
        "_inside",
        "_is_class",
        "_names",
        "_node",
        "_watched",
        "name",
        "namers",
        "numbers",
        "place",
        "writer",
    )

    def __init__(self, place: Place, name: str, contents: Contents) -> None:
        self.place = place
        self.name = name
        self._contents = contents
        self.writer: Owner | None = None
        self.namers: set[int] = set()
        """Numbers of the code that names it."""
        self.numbers: dict[str, int] = {}
        """By the sort of the read (`pytest_kl.reads`)."""
        self._identity = self._first = 0
        self._is_class = False
        self._names: tuple[str, ...] = ()
        """Of its attributes."""
        self._watched: tuple[tuple[str, int], ...] = ()
        """Of a class: those that some code stores to, with their identities."""
        self._node: Node | None = None
        self._first_node: Node | None = None
        self._first_inside: Inside = {}
        self._inside: Inside = {}
        """What is deeper inside than the node shows."""

    def value(self) -> Any:
        """What is there now."""
        return self.place.get(self.name, MISSING)

    def origin(self) -> tuple[str, str]:
        """The file that has it, and its name there; no file of what the library has."""
        if type(self.place) is not dict:
            return getattr(self.place, "file", ""), getattr(self.place, "name", self.name)
        name = self.name
        file = self.place.get("__file__")
        if not name:  # the class of a test
            value = self.value()
            name = _name_of(value)
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
        self._first = self._identity
        self._first_node = self._node

    def is_cut(self) -> bool:
        """Whether more is inside than is compared at each test."""
        return self._node is not None and self._node.is_cut

    def begin_inside(self) -> int:
        """What is deeper inside is compared with this moment. The number of objects."""
        self._inside = self._first_inside = self._contents.inside(self.value())
        return len(self._inside)

    def names_inside(self) -> set[str] | None:
        """The attributes inside that differ from the last time, as `Contents.names_inside`; from now
        on they are compared with this moment.
        """
        value = self.value()
        names = self._contents.names_inside(value, self._inside)
        self._inside = self._contents.inside(value)
        return names

    def watch(self, stored: set[str]) -> None:
        """Of a class most attributes are what they were: to compare all of them takes long."""
        if self._is_class and self._node is not None:
            parts = self._node.identities()[len(self._names) :]
            pairs = zip(self._names, parts, strict=True)
            self._watched = tuple((name, part) for name, part in pairs if name in stored)

    def is_torn_down(self) -> bool:
        """Whether it is the value of a fixture that was torn down, or an object that died."""
        return type(self.place) in (_ValueOf, _Unowned) and self.value() is MISSING

    def is_quiet(self) -> bool:
        """Whether it is a class to which no code stores, as far as is known."""
        node = self._node
        return self._is_class and node is not None and not node.inner and not self._watched

    def may_differ(self, stored: set[str]) -> bool:
        """Whether something may be stored in it or its name, and it is not one of the quiet."""
        if self._node is None:
            return self.name in stored
        return not self.is_quiet()

    def is_empty(self) -> bool:
        """Whether a cache has nothing."""
        return self._node is not None and self._node.parts == [False]

    def is_opaque(self) -> bool:
        """Whether a part of what is there now can't be read."""
        return self._contents.is_opaque(self._contents.node(self.value()))

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
        is_same = identity(value) == self._first and (
            self._first_node is None or self._contents.is_same(value, self._first_node)
        )
        return is_same and (
            not self._first_inside or self._contents.inside(value) == self._first_inside
        )

    def changed_names(self) -> set[str]:
        """The attributes of an object or class that are there, or hold, something else than was
        noted. Its own name where that is not known.
        """
        value = self.value()
        node = self._node
        name_count = len(self._names)
        if identity(value) == self._identity:
            attributes = attributes_of(value)
        else:
            attributes = None
        if attributes is None or node is None or len(node.parts) != 2 * name_count:
            return {self.name}
        noted_identities = dict(zip(self._names, node.identities()[name_count:], strict=True))
        identities = {name: identity(part) for name, part in [*attributes.items()]}
        changed = {
            name
            for name in {*noted_identities, *identities}
            if noted_identities.get(name) != identities.get(name)
        }
        for position, inner in node.inner:
            if position >= name_count:
                name = self._names[position - name_count]
            else:
                name = self.name
            if name not in changed and not self._contents.is_same(attributes[name], inner):
                changed |= self._contents.changed_names(attributes[name], inner) or {name}
        return changed or {self.name}

    def is_only_asked(self) -> bool:
        """Whether nothing differs of a class but what the interpreter or its library adds when
        somebody asks for it, or copies an object.
        """
        if not self._is_class:
            return False
        changed = self.changed_names()
        annotations = namespace_of(self.value()).get(_ANNOTATIONS)
        is_filled = _ANNOTATIONS in changed and (type(annotations) is not dict or annotations)
        return changed <= _ADDED.difference(self._names) and not is_filled


class WorkingFolder:
    """The working folder of the process, which every relative path starts from."""

    def __init__(self) -> None:
        self._getcwd = os.getcwd
        self._first = self._path = ""
        self._writer: Owner | None = None
        """Who left another one than the first test found."""
        self.numbers: dict[str, int] = {}
        """As of a holder."""

    def begin(self) -> None:
        """The first test begins."""
        self._first = self._path = self._current()

    def end(self, owner: Owner) -> bool:
        """A test, or the set-up of a fixture, is over: whether it found another one than the first
        test.
        """
        is_other = self._writer is not None
        if self._writer is not None:
            owner.rests.add(self._writer)
        path = self._current()
        if path != self._path:
            self._path = path
            self._writer = None if path == self._first else owner
            if self._writer is not None:
                owner.left.add(self)
        return is_other

    def origin(self) -> tuple[str, str]:
        """As `Holder.origin`."""
        return "", "getcwd"

    def is_as_before(self) -> bool:
        """As `Holder.is_as_before`."""
        return self._current() == self._first

    def _current(self) -> str:
        try:
            return self._getcwd()
        except OSError:  # it was removed
            return ""


class ProcessState:
    """Something that the process has for all of its code; all tests use it."""

    __slots__ = ("_is_as_before", "_name", "numbers", "writers")

    def __init__(self, name: str) -> None:
        self._name = name
        self._is_as_before = True
        self.writers: tuple[Owner, ...] = ()
        """Those of which one changed it last."""
        self.numbers: dict[str, int] = {}
        """As of a holder."""

    def change(self, writers: tuple[Owner, ...], is_as_before: bool) -> None:
        """One of these changed it."""
        self._is_as_before = is_as_before
        self.writers = () if is_as_before else writers

    def origin(self) -> tuple[str, str]:
        """As `Holder.origin`."""
        return "", self._name

    def is_as_before(self) -> bool:
        """As `Holder.is_as_before`."""
        return self._is_as_before


def _stored_by_unittest(value: Any) -> set[str]:
    """The attributes that unittest stores in a class of tests when it is torn down."""
    case = getattr(sys.modules.get("unittest.case"), "TestCase", None)
    if case is None or not issubclass(type(value), type) or case not in classes_of(value):
        return set()
    function = getattr(namespace_of(case).get("doClassCleanups"), "__func__", None)
    if type(function) is FunctionType:
        return stores_of(function.__code__).names
    return set()


def _class_of_method(code: CodeType, space: Mapping[str, Any]) -> type | None:
    """The class whose body defines a function, or a function in a method: what executes it gets the
    class's attributes by its first argument. None where it is defined elsewhere.
    """
    own: Any = None
    names = space
    for part in code.co_qualname.split("."):
        value = names.get(part)
        if not issubclass(type(value), type):
            break
        own, names = value, namespace_of(value)
    return cast("type | None", own)


class _OwnClasses:
    """The classes of the repository that classes are made of; each class is asked about once."""

    def __init__(self, is_own: Callable[[Any], bool]) -> None:
        self._is_own = is_own
        self._known: dict[int, tuple[ref[type], frozenset[int]]] = {}
        """Identity of a class → a reference to it, and the identities of those that are the
        repository's. No dictionary of classes: a metaclass may have a hash of its own.
        """

    def of(self, kind: type) -> tuple[type, ...]:
        """Of a class and its bases those of the repository."""
        reference, own = self._known.get(identity(kind), (None, frozenset()))
        if reference is None or reference() is not kind:
            own = frozenset(identity(base) for base in classes_of(kind) if self._is_own(base))
            self._known[identity(kind)] = ref(kind), own
        return tuple(base for base in classes_of(kind) if identity(base) in own) if own else ()


class Submodules:
    """The modules that code has as attributes of packages: an import binds them there, wherever that
    is.
    """

    def __init__(self) -> None:
        self.own: set[tuple[str, str]] = set()
        """(file of code, module of the repository)."""
        self.outside: set[tuple[str, str]] = set()
        """(file of code, full name of another module): `xml.dom.minidom`."""

    def note_outside(self, code: CodeType, package: Mapping[str, Any]) -> None:
        """Note those of a package outside of the repository that code names."""
        packages = [package]
        for names in packages:
            if "__path__" not in names:
                continue
            for name in code.co_names:
                module = names.get(name)
                if not issubclass(type(module), ModuleType):
                    continue
                inner = module_namespace(cast("ModuleType", module))
                full_name = inner.get("__name__")
                if full_name == f"{names.get('__name__')}.{name}":
                    self.outside.add((code.co_filename, full_name))
                    packages.append(inner)


class States:
    """The holders of one process."""

    def __init__(
        self,
        path: Callable[[str], str | None],
        read: Callable[[str, str], int] = lambda sort, place: -1,
    ) -> None:
        self._path, self._read = path, read
        self._contents = Contents(self._is_own)
        self._own_classes = _OwnClasses(self._is_own)
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
        self._stored_values: set[Holder] = set()
        """Those that functions changed which store what they compute, …"""
        self._getters: dict[int, set[Holder]] | None = None
        """… by the numbers of the code that names them; None: they are to be found again."""
        self._caches: dict[str, list[Holder]] = {}
        """Functions whose results `functools` stores, by their names."""
        self._results: dict[int, list[Holder]] = {}
        """Number of a function that stores what it computes → what it returned."""
        self._folder = WorkingFolder()
        self._process = Process(self._is_own)
        self._process_states: dict[str, ProcessState] = {}
        self._changed_states: set[ProcessState] = set()
        """Those that have writers."""
        self._since_comparison: list[tuple[Owner, set[int]]] = []
        """Who ran since the process was compared last, and numbers of the code that they executed."""
        self._cut: list[Holder] = []
        """Those of which more is inside than is compared at each test, …"""
        self._inside = 0
        """… and how much that is."""
        self._random = self._of_interpreter(_RANDOM["_inst"], "random")
        self._contents.seeded(_RANDOM["_inst"], True)
        self._random.begin(self._stored)
        self._loggers = self._of_interpreter(_LOGGING["Logger"].manager, f"logging{_UNNAMED}")
        self._subclasses = self._of_interpreter(self._process.subclasses, SUBCLASSES)
        self.submodules = Submodules()
        self.looked_at: set[int] = set()
        """Identities of the code of which is known what it names."""

    def _of_interpreter(self, value: Any, name: str) -> Holder:
        """The holder for what a module of the library has in the whole process."""
        place = _Of(value, name)
        self._places.append(place)
        return self._new(place, name, value)

    def _is_own(self, value: Any) -> bool:
        """Whether a module, or the module of a class, is a file of the repository."""
        if not issubclass(type(value), ModuleType):
            name = _module_of(value)
            if type(name) is str:
                value = sys.modules.get(name)
            else:
                value = None
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
        for name in self._caches.keys() & set(code.co_names) if self._caches else ():
            if gets(code, name):
                named.update(dict.fromkeys(self._caches[name]))
        asked = dict.fromkeys((*code.co_names, *stores.named))
        if SUBCLASSES in code.co_names or has_text(code.co_consts, SUBCLASSES):
            named[self._subclasses] = None
            values = [space.get(name) for name in code.co_names]
            classes = [value for value in values if issubclass(type(value), type)]
            self._process.subclasses.add(cast("list[type]", classes))
        for names in todo:
            for name in asked:
                value = names.get(name, MISSING)
                if value is MISSING and names is space:
                    value = sys.modules.get(name, MISSING)
                if value is MISSING:
                    if name in stores.names and not is_reserved(name):  # it is not there yet
                        named[self._holder(names, identity(names), name, value)] = None
                elif issubclass(type(value), ModuleType):
                    inner = module_namespace(value)
                    if identity(inner) in namespaces:
                        continue
                    namespaces[identity(inner)] = inner
                    if self._is_own(value):
                        todo.append(inner)
                        if names is not space:
                            self.submodules.own.add((code.co_filename, inner["__file__"]))
                    else:
                        self.submodules.note_outside(code, inner)
                        if inner.get("__name__") in sys.stdlib_module_names:
                            named.update(dict.fromkeys(self._of_library(inner, code.co_names)))
                elif type(value) is CACHED and not gets(code, name):
                    continue  # it only clears it
                elif not is_reserved(name):
                    named.update(dict.fromkeys(self._named(names, name, value, stores.owners)))
                    named.update(dict.fromkeys(self.classes(value)))
        named.update(dict.fromkeys(self._of_method(code, space, asked)))
        if named:
            self._name(number, named)
            if stores.may_change:
                self._changing.add(number)
                if stores.only_names:
                    self._storing_only[number] = stores.names

    def _of_method(
        self, code: CodeType, space: Mapping[str, Any], asked: Iterable[str]
    ) -> Iterator[Holder]:
        """The classes that code of a method gets by its first argument: its own, and those in
        it.
        """
        own = _class_of_method(code, space)
        if own is None:
            return
        yield from self.classes(own)
        for cls in self._own_classes.of(own):
            for member in map(namespace_of(cls).get, asked):
                if issubclass(type(member), type):
                    yield from self.classes(member)

    def classes(self, value: Any) -> Iterator[Holder]:
        """The classes of the repository whose attributes code gets by an object, or by a class: its
        own, their bases, and the metaclass with its bases.
        """
        kind = type(value)
        if kind in PLAIN:
            return
        classes = self._own_classes.of(kind)
        if issubclass(kind, type):
            classes = (*self._own_classes.of(value), *classes)
        for own in classes:
            module = sys.modules.get(_module_of(own))
            if module is None:
                continue
            # a class that a function made lives no longer than what the function gave
            *outer, name = _qualname_of(own).split(".")
            space = module_namespace(module)
            for part in outer:
                owner = space.get(part)
                space = namespace_of(owner) if issubclass(type(owner), type) else {}
            if space.get(name) is own and not outer:
                yield self._holder(space, identity(space), name, own)
            elif space.get(name) is own:
                yield self._same_object(own) or self._of_nested(own, module)

    def _of_nested(self, own: type, module: ModuleType) -> Holder:
        """A class in a class, as a place of state."""
        file = module_namespace(module).get("__file__")
        place = _Of(own, _qualname_of(own), file if type(file) is str else "")
        return self._holder(place, identity(place), place.name, own)

    def _name(self, number: int, named: Iterable[Holder]) -> None:
        """Code with this number names these, too."""
        self._naming[number] = tuple(dict.fromkeys((*self._naming.get(number, ()), *named)))
        if self._compared is not None:
            self._compare(self._compared, number, self._naming[number])
        for holder in self._naming[number]:
            holder.namers.add(number)
            if holder in self._stored_values:
                self._getters = None

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
        elif self._is_of_random(value):
            yield self._random
            return
        elif type(value) is MethodType and not issubclass(type(value.__self__), type | ModuleType):
            # several methods may share an object that has no name itself
            function = value.__func__
            file = function.__code__.co_filename if type(function) is FunctionType else ""
            yield self._without_name(value.__self__, name, file)
        elif issubclass(type(value), _LOGGING["Logger"]):
            yield self._loggers  # what is set of others decides about it, too
            if type(value) is _LOGGING["Logger"]:
                return
        yield self._holder(place, identity(place), name, value)

    @staticmethod
    def _is_of_random(value: Any) -> bool:
        """Whether it is a function of `random` with the generator that all programs share."""
        return type(value) in _METHODS and value.__self__ is _RANDOM["_inst"]

    def _of_library(self, space: Mapping[str, Any], names: Iterable[str]) -> Iterator[Holder]:
        """What is stored in a module of the standard library: `sys.path`, `os.environ`."""
        for name in names:
            value = space.get(name)
            if type(value) in CONTAINERS or value is environ:
                yield self._holder(space, identity(space), name, value)
            elif self._is_of_random(value):
                yield self._random
            elif space is _LOGGING:
                yield self._loggers
            elif type(value) is FunctionType:
                yield from self._environment(value)

    def _environment(self, function: FunctionType) -> Iterator[Holder]:
        """The variables of the environment, where a function of `os` names them: `os.getenv`; the
        loggers for a function of `logging`.
        """
        if function.__globals__ is _LOGGING:
            yield self._loggers
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

    def _without_name(self, value: Any, name: str, file: str) -> Holder:
        """The holder for an object that code gets from a function, or by a method of it."""
        holder = self._same_object(value)
        if holder is None:
            place = _Unowned(value, name, file)
            self._places.append(place)
            holder = self._new(place, name, value)
        return holder

    def _same_object(self, value: Any) -> Holder | None:
        """The holder that has the same object under another name."""
        if value is not MISSING:
            other = self._by_value.get(identity(value))
        else:
            other = None
        if type(value) not in PLAIN and other and other.value() is value:
            return other
        return None

    def _new(self, place: Place, name: str, value: Any) -> Holder:
        holder = Holder(place, name, self._contents)
        if value is not MISSING:
            self._by_value[identity(value)] = holder
        holder.begin(self._stored)
        if holder.is_cut() and self._inside < _MOST_INSIDE:
            self._inside += holder.begin_inside()
            self._cut.append(holder)
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

    # what has no name in the code that uses it

    def cache(
        self, value: Any, name: str, file: str, looked_at: Iterable[tuple[int, CodeType]]
    ) -> Holder:
        """A function whose results `functools` stores. `looked_at`: numbers of code that was looked
        at before its module was there.
        """
        place = _Of(value, f"{name}{_UNNAMED}", file)
        self._places.append(place)
        holder = self._same_object(value) or self._new(place, name, value)
        self._caches.setdefault(name, []).append(holder)
        if not holder.is_empty():
            self._store(holder)
        for number, code in looked_at:
            if name in code.co_names and gets(code, name):
                self._name(number, (holder,))
        return holder

    def result(self, function: int, code: CodeType, value: Any, caches: Iterable[Holder]) -> None:
        """What a function returns that stores what it computes: what is stored in it from now on is
        no result of the function. `function`: its number; `caches`: where `functools` stores it.
        """
        results = self._results.setdefault(function, [])
        if len(results) >= _MOST_RESULTS or self._contents.node(value) is None:
            return
        # not by the name of the function, which means what it computes
        holder = self._without_name(value, f"{code.co_name}{_UNNAMED}", code.co_filename)
        if holder in results:
            return
        results.append(holder)
        # who gets the value runs the function, or names its cache
        numbers = {function}
        for cache in caches:
            self._caches[cache.name.removesuffix(_UNNAMED)].append(holder)
            numbers |= cache.namers
        for number in numbers:
            self._name(number, (holder,))

    def cleared(self, owner: Owner, value: Any, executed: Set[int] | None) -> None:
        """A cache is cleared. `executed`: before that, in the set-up of this test; None: not in its
        set-up.
        """
        holder = self._by_value.get(identity(value))
        if holder is None:
            return
        self.note(owner, holder, TOUCHED)
        owner.shared.add(holder)
        if executed is not None and holder.namers.isdisjoint(executed):
            self._reset(owner, holder)

    def seeded(self, owner: Owner | None, value: Any, is_random: bool) -> None:
        """A generator of random numbers is seeded now; `is_random`: nobody knows with what."""
        holder = self._by_value.get(identity(value))
        if holder is not None and owner is not None:
            self.note(owner, holder, TOUCHED)
            if holder.is_same():
                self._reset(owner, holder)
            owner.shared.add(holder)
        self._contents.seeded(value, is_random)

    def _reset(self, owner: Owner, holder: Holder) -> None:
        owner.resets.add(holder)
        self.note(owner, holder, RESET)

    def share(self, owner: Owner, holder: Holder) -> None:
        """A test shares this with others: its class, or the value of a fixture."""
        owner.shared.add(holder)
        self.note(owner, holder, STORED)
        if holder not in self._stored_values:
            self.note(owner, holder, SHARED)

    def logs(self, owner: Owner) -> None:
        """A logger is asked."""
        if self._loggers not in owner.shared:
            self.note(owner, self._loggers, STORED)
            owner.shared.add(self._loggers)

    def moves(self, owner: Owner) -> None:
        """The working folder is changed."""
        self._note(owner, self._folder.numbers, TOUCHED, self._folder.origin())

    def note(self, owner: Owner, holder: Holder, sort: str) -> None:
        """A test uses a state that tests share; `sort`: as in `pytest_kl.reads`."""
        number = holder.numbers.get(sort)
        if number is None:
            self._note(owner, holder.numbers, sort, holder.origin())
        elif number >= 0:
            owner.reads.add(number)

    def _note(
        self, owner: Owner, numbers: dict[str, int], sort: str, origin: tuple[str, str]
    ) -> None:
        file, name = origin
        path = (self._path(file) if file else "") or ""
        number = numbers[sort] = self._read(sort, f"{path}:{name}")
        if number >= 0:
            owner.reads.add(number)

    def _store(self, holder: Holder | None, removed: Holder | None = None) -> None:
        if holder is not None and holder not in self._stored_values:
            self._stored_values.add(holder)
            self._getters = None
        elif removed in self._stored_values:
            self._stored_values.discard(removed)
            self._getters = None

    def _note_stored_values(self, owner: Owner, executed: set[int]) -> None:
        """What earlier tests computed, and code of this one names."""
        if self._getters is None:
            self._getters = {}
            for holder in self._stored_values:
                for number in holder.namers:
                    self._getters.setdefault(number, set()).add(holder)
        for number in self._getters.keys() & executed:
            for holder in self._getters[number] - owner.resets:
                self.note(owner, holder, STORED)

    # what tests do

    def begin(self) -> None:
        """A test begins. Before the first one the environment is as all tests find it: code that
        names it may start when a fixture has changed it.
        """
        if not self._has_begun:
            self._has_begun = True
            self._folder.begin()
            self._holder(_OS, identity(_OS), "environ", environ)
            self._process.begin()
            self._process.subclasses.grow()
            for holder in (self._random, self._loggers, self._subclasses):
                holder.begin(self._stored)

    def shared(self, place: Place, name: str = "") -> Holder | None:
        """What tests share without naming it; None where nothing can be stored in it."""
        value = place.get(name, MISSING)
        holder = self._same_object(value)
        if holder is None and self._contents.parts(value) is not None:
            holder = self._new(place, name, value)
        return holder

    def of_test_class(self, own: type) -> list[Holder]:
        """What the tests of a class share: its attributes, and those of the classes that it is made
        of.
        """
        holder = self.shared({"": own})
        return [*([holder] if holder is not None else ()), *self.classes(own)]

    def fixture(self, fixturedef: Any) -> list[Holder]:
        """The value of a fixture of wider scope, and its classes. Those of plugins are no business
        of ours.
        """
        code = getattr(fixturedef.func, "__code__", None)
        if type(code) is not CodeType or self._path(code.co_filename) is None:
            return []
        place = _ValueOf(fixturedef, code)
        value = place.get("", MISSING)
        holder = self.shared(place)
        return [*([holder] if holder is not None else ()), *self.classes(value)]

    def check(self, owner: Owner, values: Iterable[Holder]) -> None:
        """Values of fixtures are compared before the last of their tests tears them down."""
        for holder in values:
            if not holder.is_torn_down() and not holder.is_same():
                owner.left.add(holder)

    def places(self, holder: Holder | WorkingFolder | ProcessState) -> set[tuple[str, str]]:
        """(path, name) of a holder: of the modules of the repository that have its value, too, by
        whatever name. At the end of a run.
        """
        origins = {holder.origin()}
        if isinstance(holder, Holder):
            value = holder.value()
        else:
            value = MISSING
        is_named = not any(name.endswith(_UNNAMED) for _, name in origins)
        if is_named and type(value) not in PLAIN and value is not MISSING:
            origins |= self._places_of_values.get(identity(value), set())
        return {((self._path(file) if file else "") or "", name) for file, name in origins}

    def further_numbers(self) -> dict[int, set[int]]:
        """Number of the read of a state → those of the same state by its other places."""
        further: dict[int, set[int]] = {}
        for holder in {*self._holders.values()}:
            for sort, number in holder.numbers.items():
                places = (f"{path}:{name}" for path, name in self.places(holder))
                numbers = {self._read(sort, place) for place in places} - {number, -1}
                if numbers:
                    further[number] = numbers
        return further

    @cached_property
    def _places_of_values(self) -> dict[int, set[tuple[str, str]]]:
        """Identity of a value → (file, name) of the modules that have it."""
        places: dict[int, set[tuple[str, str]]] = {}
        for module in [*sys.modules.values()]:
            if not issubclass(type(module), ModuleType) or not self._is_own(module):
                continue
            names = module_namespace(module)
            for name, value in [*names.items()]:
                if type(value) not in PLAIN and not is_reserved(name):
                    places.setdefault(identity(value), set()).add((names["__file__"], name))
        return places

    def set_up(self, owner: Owner, executed: Iterable[int]) -> None:
        """The set-up of a test is over: what it put back depends on no earlier test."""
        for holder in [*self._changed]:
            if not holder.namers.isdisjoint(executed) and holder.is_as_before():
                self._put_back(owner, holder)

    def _put_back(self, owner: Owner, holder: Holder) -> None:
        """A test made a state again what it was before the first one: later tests lose what was
        left there.
        """
        if holder in self._changed:
            self.note(owner, holder, TOUCHED)
        self._written(holder, None)

    def end(
        self,
        owner: Owner,
        executed: set[int],
        shared: Iterable[Holder],
        memoized: Memoized,
    ) -> None:
        """A test, or the set-up of a fixture, is over. `executed`: numbers of code; `memoized`: of
        these, the names in which functions store what they compute, and the numbers of these
        functions.
        """
        used = {*shared}
        if not self._subclasses.namers.isdisjoint(executed):
            self._compare_subclasses([*(earlier for earlier, _ in self._since_comparison), owner])
        for holder in self._changed - owner.resets:
            if holder in used or not holder.namers.isdisjoint(executed):
                owner.rests.add(holder.writer)
                self.note(owner, holder, STATES)
        if self._stored_values:
            self._note_stored_values(owner, executed)
        if self._folder.end(owner):
            self._note(owner, self._folder.numbers, STATES, self._folder.origin())
        for state in self._changed_states:
            owner.rests.update(state.writers)
            self._note(owner, state.numbers, STATES, state.origin())
        owner.rests.discard(owner)
        used.update(self._of(executed), self._resized())
        for holder in used:
            if holder.is_same():
                continue
            if holder.is_only_asked():
                holder.note(self._stored)
                continue
            if holder.is_torn_down():
                self._written(holder, None)
            elif holder.is_as_before():
                self._put_back(owner, holder)
            elif self._is_memoized(holder, executed, *memoized(executed)):
                self._written(holder, holder.writer)
                self._store(holder)
            else:
                self._written(holder, owner)
        self._since_comparison.append((owner, executed))
        # while a fixture is set up, pytest has settings of its own: filters of warnings
        if not owner.is_fixture and self._process.is_due():
            self.compare_process(memoized)

    def compare_process(self, memoized: Memoized) -> None:
        """Find what the tests since the last time have changed for the whole process. After the last
        test, too.
        """
        ran, self._since_comparison = self._since_comparison, []
        owners = [owner for owner, _ in ran]
        # what the set-up of a fixture changes for its tests is torn down after them
        fixtures = [owner for owner in owners if owner.is_fixture]
        writers = tuple(fixtures or owners)
        self._compare_subclasses(owners)
        self._process.takes_longer(self._compare_inside, ran, memoized)
        differences = self._process.compare()
        self._follow_subclasses()
        for difference in differences:
            if difference.owner is not None:
                self._change_name(difference, writers)
                continue
            name = difference.name
            state = self._process_states.setdefault(name, ProcessState(name))
            state.change(writers, difference.is_as_before)
            if difference.is_as_before:
                self._changed_states.discard(state)
                continue
            self._changed_states.add(state)
            for owner in writers:
                owner.left.add(state)

    def _change_name(self, difference: ProcessDifference, writers: tuple[Owner, ...]) -> None:
        """What a name of the repository has is another object. Mostly that was seen before, as code
        names it.
        """
        name, owner = difference.name, difference.owner
        is_module = issubclass(type(owner), ModuleType)
        # an attribute that code stores to by its name is compared where code names the class
        if not is_module and (name in self._stored or name in _stored_by_unittest(owner)):
            return
        self._note_stored({name})
        space = module_namespace(owner if is_module else sys.modules.get(_module_of(owner), os))
        global_name = name if is_module else _name_of(owner)
        is_named = (identity(space), global_name) in self._holders
        value = space.get(global_name, MISSING)
        holder = self._holder(space, identity(space), global_name, value)
        if is_named and holder.is_same() and not difference.is_inside:
            return
        self._written_by_some(holder, () if difference.is_as_before else writers)

    def _compare_inside(self, ran: Sequence[tuple[Owner, set[int]]], memoized: Memoized) -> None:
        """What is deep inside of what code names: to look at each test takes long."""
        for holder in self._cut:
            names = holder.names_inside()
            if names is not None and not names:
                continue
            users = [
                (owner, executed)
                for owner, executed in ran
                if not holder.namers.isdisjoint(executed)
            ]
            stored = {name for _, executed in users for name in memoized(executed)[0]}
            if names and names <= stored:
                self._store(holder)
            else:
                self._written_by_some(holder, [owner for owner, _ in users])

    def _compare_subclasses(self, writers: Sequence[Owner]) -> None:
        """Who makes a class names nothing that shows it to others: any of these may have."""
        holder = self._subclasses
        if not holder.is_same():
            self._written_by_some(holder, () if holder.is_as_before() else writers)
        self._follow_subclasses()

    def _follow_subclasses(self) -> None:
        """Those of more classes, from now on."""
        if self._process.subclasses.grow():
            if self._subclasses in self._changed:
                self._subclasses.note(self._stored)
            else:
                self._subclasses.begin(self._stored)

    def _written_by_some(self, holder: Holder, writers: Sequence[Owner]) -> None:
        """One of these tests changed it, nobody knows which; none: it is as before the first."""
        self._written(holder, writers[-1] if writers else None)
        for writer in writers:
            writer.left.add(holder)
            if writer is not writers[-1]:
                writers[-1].rests.add(writer)

    def _is_memoized(
        self, holder: Holder, executed: set[int], names: set[str], functions: set[int]
    ) -> bool:
        """Whether only functions changed it that store what they compute: on these rests who calls
        them (`pytest_kl.memoization`).
        """
        ignored = _stored_by_unittest(holder.value())
        # a library may compute `__pydantic_validator__` when somebody asks for it
        changed = {
            name
            for name in holder.changed_names() - ignored
            if name in self._stored or not is_reserved(name)
        }
        if changed and holder.name not in names and not changed <= names:
            return False
        others = (executed & self._changing & holder.namers) - functions
        changed.add(holder.name)
        is_memoized = not changed - {holder.name} or all(
            number in self._storing_only and changed.isdisjoint(self._storing_only[number])
            for number in others
        )
        # what is in a database was not computed by what connected to it
        return is_memoized and not holder.is_opaque()

    def _written(self, holder: Holder, owner: Owner | None) -> None:
        holder.writer = owner
        self._store(None, holder)
        before = holder.may_differ(self._stored), holder.is_quiet()
        holder.note(self._stored)
        if before != (holder.may_differ(self._stored), holder.is_quiet()) or holder.is_quiet():
            self._forget()
        if owner is None:
            self._changed.discard(holder)
        else:
            self._changed.add(holder)
            owner.left.add(holder)
