"""What a process has for all of its code, and what a test may leave changed there: definitions of
installed modules, loaded modules, settings of the library, and names of the repository by ways that
name them nowhere (`globals()`, `vars`, `exec`).

What is there is compared, however it was stored. To compare everything takes a millisecond or two.
So it is done after the first tests, then as often as it takes a hundredth of the time, and after
the last test: each of the tests since the last time may have changed what differs.

Runs no code of the program, and refers to definitions and constants alone: no other object lives
longer. Tests replace what they like, so everything that is needed is bound before the first of
them.
"""

from __future__ import annotations

import builtins
import sys
import time
from abc import ABCMeta
from collections.abc import Callable, Iterator, Mapping
from enum import EnumType
from importlib.machinery import PathFinder
from operator import is_, itemgetter
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    MethodDescriptorType,
    MethodType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any, Final

from kl_hooks.model.definitions import NamedTuple
from pytest_kl.contents import (
    CONTAINERS,
    MISSING,
    PLAIN,
    attributes_of,
    identity,
    is_reserved,
    module_namespace,
    namespace_of,
)
from pytest_kl.library import SettingNames
from pytest_kl.reads import file_of
from pytest_kl.registered import Registrations, Subclasses
from pytest_kl.settings import Settings

_module_of: Final = type.__dict__["__module__"].__get__
_name_of: Final = type.__dict__["__name__"].__get__
_FREE: Final = 2
"""So many comparisons are made whatever they take, …"""
_SHARE: Final = 100
"""… and then one takes this part of the time since the last one."""
_BUILTINS: Final = vars(builtins)
_METHODS: Final = (FunctionType, MethodType)
_DEFINITIONS: Final = (PLAIN - {type(None)}) | {
    *(FunctionType, BuiltinFunctionType, MethodDescriptorType, WrapperDescriptorType, type),
    *(property, classmethod, staticmethod),
}
"""The types of what a library defines. What it computes when it is asked first begins as None."""
_MOST_ITEMS: Final = 400
"""A larger container is a table of the library."""
_MOST_BYTES: Final = 100_000
"""A larger array of bytes is not compared."""
_NOT_COMPARED: Final[Mapping[str, frozenset[str]]] = {
    "linecache": frozenset(("cache",)),
    # filled by inspect.getmodule(), which pytest calls to show a failure
    "inspect": frozenset(("modulesbyfile",)),
    # `last_type`: pytest stores there how a test failed, until the next one begins
    "sys": frozenset(("path_importer_cache", "modules", "last_type")),
    "posix": frozenset(("environ",)),
    "nt": frozenset(("environ",)),
    # how often importlib.invalidate_caches() was called
    "_frozen_importlib_external._NamespacePath": frozenset(("_epoch",)),
}
"""Modules and classes of the standard library → public names in which they store what they
compute, and those that are compared elsewhere.
"""
_NONE: Final = frozenset[str]()
_STANDARD: Final = sys.stdlib_module_names
_TOOLS: Final = frozenset(
    ("_pytest", "pytest", "pluggy", "py", "xdist", "coverage", "pytest_kl", "kl_hooks")
)
"""What runs the tests, and records them, has a state of its own for each test."""


class Difference(NamedTuple):
    """What is not as it was at the last comparison."""

    owner: Any
    """The module or class of the repository that has the name; None: the process."""
    name: str
    """Of what the process has: `time.time`, `locale.setlocale`."""
    is_as_before: bool
    """Whether it is again as it was before the first test."""
    is_inside: bool = False
    """Whether the name has the same object as before, and what it has inside differs."""


class _Values:
    """What some names of a namespace have."""

    __slots__ = ("_all", "_first", "_get", "_names", "_space", "_values")

    def __init__(self, space: Mapping[str, Any], names: list[str]) -> None:
        self._space, self._names = space, names
        # of a single name it would give no tuple
        self._all = (*names, *names[:1])
        self._get: Any = itemgetter(*self._all) if names else lambda _: ()
        self._values: tuple[Any, ...] = self._get(space)
        self._first: dict[str, int] = {}
        """Name that had another value since the first test → the identity of its first one."""

    def is_same(self) -> bool:
        """Whether nothing differs from the last time."""
        try:
            return all(map(is_, self._get(self._space), self._values))
        except KeyError:  # one was deleted
            return False

    def compare(self) -> Iterator[tuple[str, bool]]:
        """(name, whether it has what it had first), of those that differ from the last time."""
        before = self._values
        self._values = tuple(self._space.get(name, MISSING) for name in self._all)
        for name, old, new in zip(self._names, before, self._values, strict=False):
            if old is not new:
                first = self._first.setdefault(name, identity(old))
                yield name, identity(new) == first


class _OwnNames:
    """The names of a module or class of the repository: what they have is compared by identity."""

    __slots__ = ("_first", "_identities", "_names", "_owner", "_space")

    def __init__(self, owner: Any, space: Mapping[str, Any]) -> None:
        self._owner, self._space = owner, space
        self._names, self._identities = [*space], [*map(identity, space.values())]
        self._first: dict[str, int] = {}
        """As in `_Values`."""

    def is_same(self) -> bool:
        """Whether nothing differs from the last time."""
        return [*map(identity, self._space.values())] == self._identities

    def compare(self) -> Iterator[Difference]:
        """What differs from the last time. A name that is new, and that no code stores to by its name,
        is mostly one that code has made up to keep what it generated.
        """
        last = dict(zip(self._names, self._identities, strict=True))
        names = dict(self._space)
        self._names, self._identities = [*names], [*map(identity, names.values())]
        for name, old in last.items():
            value = names.get(name, MISSING)
            # a module that is imported is bound in its package
            is_module = issubclass(type(value), ModuleType)
            if identity(value) != old and not is_reserved(name) and not is_module:
                first = self._first.setdefault(name, old)
                yield Difference(self._owner, name, identity(value) == first)


class _Functions:
    """The code and defaults of the functions of a module or class of the repository."""

    __slots__ = ("_first", "_functions", "_label", "_states")

    def __init__(self, label: str, functions: list[FunctionType]) -> None:
        self._label, self._functions = label, functions
        self._first = self._states = [*map(_state_of_function, functions)]

    def is_same(self) -> bool:
        """Whether nothing differs from the last time."""
        return [*map(_state_of_function, self._functions)] == self._states

    def compare(self) -> Iterator[tuple[str, bool]]:
        """(name, whether it is as it was first), of those that differ from the last time."""
        before = self._states
        self._states = [*map(_state_of_function, self._functions)]
        everything = zip(self._functions, before, self._states, self._first, strict=True)
        for function, last, now, first in everything:
            if last != now:
                yield f"{self._label}.{function.__name__}.__code__", now == first


def _state_of_function(function: FunctionType) -> tuple[CodeType, int, int]:
    # code that is equal does the same
    return (
        function.__code__,
        identity(function.__defaults__),
        identity(function.__kwdefaults__),
    )


class _Container:
    """A list, dictionary, set or array of bytes that is there for everybody."""

    __slots__ = ("_first", "_items", "_value", "is_table", "name")

    def __init__(self, name: str, value: Any, is_table: bool) -> None:
        """`is_table`: what is added to it by others than the repository was computed, or is
        registered once.
        """
        self.name, self._value, self.is_table = name, value, is_table
        self._first = self._items = self._read()

    def _entries(self) -> list[Any]:
        value = self._value
        return [*value, *value.values()] if isinstance(value, dict) else [*value]

    def _read(self) -> list[int]:
        if isinstance(self._value, bytearray):
            return [hash(bytes(self._value))]
        entries = [*map(identity, self._entries())]
        if isinstance(self._value, set):
            entries.sort()
        return entries

    def is_same(self) -> bool:
        """Whether nothing differs from the last time."""
        return self._read() == self._items

    def compare(self, is_harmless: Callable[[Any], bool]) -> bool | None:
        """Whether what differs from the last time is as it was first. None where all that was added
        `is_harmless`, and nothing else differs.
        """
        before, self._items = self._items, self._read()
        if isinstance(self._value, bytearray):
            return self._items == self._first
        earlier = frozenset(before)
        added = [entry for entry in self._entries() if identity(entry) not in earlier]
        is_only_more = [item for item in self._items if item in earlier] == before
        if is_only_more and added and all(map(is_harmless, added)):
            if self._first == before:
                self._first = self._items
            return None
        return self._items == self._first


class _OfLibrary(NamedTuple):
    """What a module of the standard library keeps beside its definitions."""

    label: str
    space: Mapping[str, Any]
    values: _Values
    """The names that it has for something else than a definition, …"""
    containers: Mapping[str, _Container]
    """… private containers, …"""
    objects: Mapping[str, _Values]
    """… and of the objects that it has, the attributes that are constants or functions."""

    @classmethod
    def of(cls, label: str, space: Mapping[str, Any]) -> _OfLibrary:
        """Of the module with this namespace."""
        containers: dict[str, _Container] = {}
        objects: dict[str, _Values] = {}
        names: list[str] = []
        for name, value in [*space.items()]:
            kind = type(value)
            if is_reserved(name) or kind in _DEFINITIONS or issubclass(kind, type | ModuleType):
                continue
            if kind in CONTAINERS:
                if name[:1] == "_" and len(value) <= _MOST_ITEMS:
                    containers[name] = _Container(f"{label}.{name}", value, is_table=False)
                continue
            names.append(name)
            attributes = attributes_of(value)
            if attributes is not None and _home_of(kind).partition(".")[0] in _STANDARD:
                fixed = [
                    key for key, member in [*attributes.items()] if type(member) in _DEFINITIONS
                ]
                objects |= {name: _Values(attributes, fixed)} if fixed else {}
        return cls(label, space, _Values(space, names), containers, objects)


class Process:
    """What one process has for all of its code."""

    def __init__(self, is_own: Callable[[Any], bool]) -> None:
        """`is_own`: whether a module is a file of the repository."""
        self._is_own = is_own
        self._clock, self._loaded = time.perf_counter, sys.modules
        self._modules: dict[str, int] = {}
        """Name → identity: of the last comparison, …"""
        self._first_modules: dict[str, int] = {}
        """… and before the first test."""
        self._first_path: list[str] = []
        """`sys.path` then."""
        self._seen: set[int] = set()
        """Identities of the namespaces of modules that are compared."""
        self._libraries: list[tuple[str, Mapping[str, Any], _Values]] = []
        """(label, namespace of its module, definitions) of modules and classes."""
        self._used: set[int] = set()
        """Identities of classes of libraries that are compared, and of modules that have them."""
        self._with_tables: set[int] = set()
        """Identities of installed modules of which containers are compared."""
        self._own: list[_OwnNames] = []
        self._functions: list[_Functions] = []
        self._containers: list[_Container] = []
        self._settings = Settings()
        self._registrations = Registrations()
        self.subclasses = Subclasses()
        """Of the classes of the repository."""
        self._setting_names = SettingNames()
        self._of_libraries: list[_OfLibrary] = []
        """What modules of the standard library keep that the repository uses."""
        self._names: frozenset[str] = frozenset()
        """Those of builtins, which all code has: of the last comparison, …"""
        self._first_names: frozenset[str] = frozenset()
        """… and before the first test."""
        self._has_begun = False
        self._number = 0
        self._last = self._cost = self._more = 0.0

    def begin(self) -> None:
        """The first test begins."""
        started = self._clock()
        self._has_begun = True
        self._first_names = self._names = _names_added()
        modules = dict(self._loaded)
        self._first_modules = self._modules = _modules_of(modules)
        self._first_path = [*sys.path]
        for name, module in modules.items():
            self._add(name, module)
        self._settings.begin()
        self._last = self._clock()
        self._cost = self._last - started

    def is_due(self) -> bool:
        """Whether a comparison may be made now."""
        is_cheap = self._clock() - self._last >= _SHARE * self._cost
        return self._has_begun and (self._number < _FREE or is_cheap)

    def compare(self) -> list[Difference]:
        """What differs from the last comparison."""
        if not self._has_begun:
            return []
        started = self._clock()
        self._number += 1
        differences = [*self._differences()]
        self._last = self._clock()
        self._cost = self._last - started + self._more
        self._more = 0.0
        return differences

    def takes_longer(self, compare: Callable[..., None], *args: Any) -> None:
        """Compare something else at the same time: it counts as a part of the next comparison."""
        started = self._clock()
        compare(*args)
        self._more = self._clock() - started

    def _differences(self) -> Iterator[Difference]:
        for own in self._own:
            if not own.is_same():
                yield from own.compare()
        for label, space, definitions in self._libraries:
            if definitions.is_same():
                continue
            for name, is_first in definitions.compare():
                if not self._setting_names.is_computed(space, name):
                    yield Difference(None, f"{label}.{name}", is_first)
        for functions in self._functions:
            if not functions.is_same():
                for name, is_first in functions.compare():
                    yield Difference(None, name, is_first)
        for container in self._containers:
            if not container.is_same():
                is_harmless = self._is_foreign if container.is_table else self._is_of_new_library
                is_as_before = container.compare(is_harmless)
                if is_as_before is not None:
                    yield Difference(None, container.name, is_as_before)
        before, self._names = self._names, _names_added()
        for name in sorted(before ^ self._names):
            is_first = (name in self._names) == (name in self._first_names)
            yield Difference(None, f"builtins.{name}", is_first)
        yield from self._of_library()
        for name, is_first in self._settings.compare():
            yield Difference(None, name, is_first)
        yield from self._of_abstract_classes()
        yield from self._of_modules()

    # what there is

    def _of_modules(self) -> Iterator[Difference]:
        modules = dict(self._loaded)
        before, self._modules = self._modules, _modules_of(modules)
        for name, module in modules.items():
            if name not in before and self._modules[name]:
                self._add(name, module)
        for name in before.keys() | self._modules.keys():
            old, new = before.get(name), self._modules.get(name)
            is_imported = old is None and name not in self._first_modules and new != 0
            if is_imported and self._takes_place_of_another(name, modules[name]):
                yield Difference(None, f"sys.modules.{name}", is_as_before=False)
            elif old != new and not is_imported:
                first = self._first_modules.get(name)
                yield Difference(None, f"sys.modules.{name}", new == first)

    def _takes_place_of_another(self, name: str, module: Any) -> bool:
        """Whether a module of the repository was imported by a name by which the path of before the
        first test finds another file: a later import gets this one.
        """
        file = file_of(module)
        if file is None or "." in name or not self._is_own(module):
            return False
        try:
            found = PathFinder.find_spec(name, self._first_path)
        except Exception:  # whatever a hook of the program raises
            return False
        return found is not None and found.origin not in (None, file)

    def _of_library(self) -> Iterator[Difference]:
        """What is set of the standard library by its functions, or of its objects."""
        is_setting = self._setting_names.is_setting
        for state in self._of_libraries:
            for name, is_first in () if state.values.is_same() else state.values.compare():
                if is_setting(state.space, name):
                    yield Difference(None, f"{state.label}.{name}", is_first)
            for name, container in state.containers.items():
                if container.is_same():
                    continue
                is_first = bool(container.compare(lambda _: False))
                if is_setting(state.space, name):
                    yield Difference(None, container.name, is_first)
            for name, attributes in state.objects.items():
                for attribute, is_first in () if attributes.is_same() else attributes.compare():
                    yield Difference(None, f"{state.label}.{name}.{attribute}", is_first)

    def _of_abstract_classes(self) -> Iterator[Difference]:
        for owner, classes in self._registrations.compare():
            module, name = self._loaded.get(_home_of(owner)), _name_of(owner)
            if module is not None and self._is_own(module):
                yield Difference(module, name, is_as_before=False, is_inside=True)
            elif not all(map(self._is_foreign, classes)):
                label = f"{_home_of(owner)}.{name}.register"
                yield Difference(None, label, is_as_before=False)

    def _is_of_new_library(self, value: Any) -> bool:
        """Whether an object is of a library that was imported since the last comparison: numpy
        registers functions in `copyreg.dispatch_table`.
        """
        name = _home_of(value) or _home_of(type(value))
        module = self._loaded.get(name)
        return module is not None and name not in self._modules and not self._is_own(module)

    def _is_foreign(self, value: Any) -> bool:
        """Whether an object is no definition of the repository."""
        module = self._loaded.get(_home_of(value) or _home_of(type(value)))
        return module is None or not self._is_own(module)

    def _add(self, name: str, module: object) -> None:
        """A module is loaded. Of a library its classes are compared where the repository uses it:
        there are thousands.
        """
        package = name.partition(".")[0]
        if package in _TOOLS or not issubclass(type(module), ModuleType):
            return
        space = module_namespace(module)  # type: ignore[arg-type]
        if identity(space) in self._seen:
            return
        self._seen.add(identity(space))
        # most of what a module has is a definition: each further look is at the rest alone
        others = [item for item in [*space.items()] if type(item[1]) not in _DEFINITIONS]
        self._registrations.add([kind for _, kind in others if issubclass(type(kind), ABCMeta)])
        if self._is_own(module):
            self._add_own(name, module, space)  # type: ignore[arg-type]
            self._use(space)
            return
        self._add_definitions(name, space, space)
        if package in _STANDARD:
            omitted = _NOT_COMPARED.get(name, _NONE)
            self._containers += [
                _Container(f"{name}.{key}", value, is_table=False)
                for key, value in others
                if type(value) in CONTAINERS
                and key[:1] != "_"
                and key not in omitted
                and len(value) <= _MOST_ITEMS
            ]

    def _add_own(self, name: str, module: ModuleType, space: Mapping[str, Any]) -> None:
        """A module of the repository, and the classes that it defines."""
        classes = [
            value for value in [*space.values()] if _is_class(value) and _module_of(value) == name
        ]
        self.subclasses.add(classes)
        self._own.append(_OwnNames(module, space))
        self._own += [_OwnNames(value, namespace_of(value)) for value in classes]
        members = {f"{name}.{_name_of(value)}": namespace_of(value) for value in classes}
        for label, names in {name: space, **members}.items():
            functions = [
                value
                for value in [*names.values()]
                if type(value) is FunctionType
                and value.__module__ == name
                # not a wrapper that is compiled when it is called first, as those of networkx are
                and value.__code__.co_qualname == value.__qualname__
            ]
            if functions:
                self._functions.append(_Functions(label, functions))
        self._containers += [
            _Container(f"{name}.{key}", value, is_table=False)
            for key, value in [*space.items()]
            if type(value) is bytearray and len(value) <= _MOST_BYTES
        ]
        # the members of an enumeration are there as long as their class
        self._containers += [
            _Container(f"{name}.{_name_of(value)}.{key}", attributes, is_table=False)
            for value in classes
            if issubclass(type(value), EnumType)
            for key, member in [*namespace_of(value).get("_member_map_", {}).items()]
            if type(attributes := attributes_of(member)) is dict
        ]

    def _add_definitions(
        self, label: str, module_space: Mapping[str, Any], space: Mapping[str, Any]
    ) -> None:
        omitted = _NOT_COMPARED.get(label, _NONE)
        names = [
            name
            for name, value in [*space.items()]
            if type(value) in _DEFINITIONS and name[:2] != "__" and name not in omitted
        ]
        if names:
            self._libraries.append((label, module_space, _Values(space, names)))

    def _use(self, space: Mapping[str, Any]) -> None:
        """The classes of a library that a module of the repository has, or that are in a module
        which it has.
        """
        for value in [*space.values()]:
            if issubclass(type(value), type):
                self._add_class(value)
            if not issubclass(type(value), ModuleType):
                self._add_tables(self._loaded.get(_home_of(value)))
            elif not self._is_own(value):
                self._add_tables(value)
                for inner in self._with_submodules(value):
                    for member in [*inner.values()]:
                        if issubclass(type(member), type):
                            self._add_class(member)

    def _add_tables(self, module: object) -> None:
        """The containers of an installed module that the repository uses, and of those of the same
        package that define what it has.
        """
        if not issubclass(type(module), ModuleType):
            return
        package = str(module_namespace(module).get("__name__")).partition(".")[0]  # type: ignore[arg-type]
        if package in _STANDARD:
            self._add_of_library(module)  # type: ignore[arg-type]
        if package in _STANDARD or package in _TOOLS:
            return
        homes = {_home_of(value) for value in [*module_namespace(module).values()]}  # type: ignore[arg-type]
        inner = (self._loaded.get(home) for home in homes if home.partition(".")[0] == package)
        for other in (module, *inner):
            is_module = issubclass(type(other), ModuleType)
            if not is_module or identity(other) in self._with_tables or self._is_own(other):
                continue
            self._with_tables.add(identity(other))
            space = module_namespace(other)  # type: ignore[arg-type]
            self._containers += [
                _Container(f"{space.get('__name__')}.{key}", value, type(value) in (dict, set))
                for key, value in [*space.items()]
                if type(value) in CONTAINERS and not is_reserved(key) and len(value) <= _MOST_ITEMS
            ]

    def _add_of_library(self, module: ModuleType) -> None:
        """What a module of the standard library keeps to itself."""
        if identity(module) not in self._with_tables:
            self._with_tables.add(identity(module))
            space = module_namespace(module)
            self._of_libraries.append(_OfLibrary.of(str(space.get("__name__")), space))

    def _with_submodules(self, module: ModuleType) -> list[Mapping[str, Any]]:
        """The namespace of a module; of a package of the standard library also what is in it:
        `import http.client` binds `http`.
        """
        space = module_namespace(module)
        if identity(space) in self._used:
            return []
        self._used.add(identity(space))
        name = str(space.get("__name__"))
        if name.partition(".")[0] in _TOOLS:
            return []
        inner = [
            module_namespace(other)
            for other_name, other in [*self._loaded.items()]
            if name in _STANDARD
            and other_name.startswith(f"{name}.")
            and issubclass(type(other), ModuleType)
        ]
        return [space, *inner]

    def _add_class(self, value: type) -> None:
        name = _module_of(value)
        module = self._loaded.get(name) if type(name) is str else None
        if identity(value) in self._used or not issubclass(type(module), ModuleType):
            return
        self._used.add(identity(value))
        if self._is_own(module) or str(name).partition(".")[0] in _TOOLS:
            return
        label = f"{name}.{_name_of(value)}"
        self._add_definitions(label, module_namespace(module), namespace_of(value))  # type: ignore[arg-type]


def _names_added() -> frozenset[str]:
    """The names of builtins. One of them keeps what an interactive session printed last
    (`sys.displayhook`), as examples in docstrings do.
    """
    return frozenset(
        name for name, value in [*_BUILTINS.items()] if name != "_" or type(value) in _METHODS
    )


def _is_class(value: Any) -> bool:
    return issubclass(type(value), type)


def _home_of(value: Any) -> str:
    """The module that defines a function or class; empty for anything else."""
    kind = type(value)
    if kind is FunctionType or kind is BuiltinFunctionType:
        name = value.__module__
    elif issubclass(kind, type):
        name = _module_of(value)
    else:
        return ""
    if type(name) is str:
        return name
    return ""


def _modules_of(modules: Mapping[str, Any]) -> dict[str, int]:
    """Name → identity; 0 for what is there instead of a module."""
    return {
        name: identity(module) if issubclass(type(module), ModuleType) else 0
        for name, module in modules.items()
    }
