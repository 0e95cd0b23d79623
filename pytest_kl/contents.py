"""What an object holds, so that two moments of it can be compared: by identity, to some depth, and
so that no object lives longer.

Runs no code of the program: containers and attributes are read by the methods of built-in types.
"""

from __future__ import annotations

import sys
from collections import UserDict, UserList, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import EnumType
from threading import local
from types import (
    BuiltinFunctionType,
    CellType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
    SimpleNamespace,
)
from typing import Any, Final, NamedTuple
from weakref import WeakKeyDictionary

PLAIN: Final = frozenset((str, bytes, int, float, bool, complex, type(None)))
MISSING: Final = object()
identity: Final = object.__hash__
"""`id` would raise an audit event for each object."""
namespace_of: Final = type.__dict__["__dict__"].__get__
_classes_of: Final = type.__dict__["__mro__"].__get__
_module_of: Final = type.__dict__["__module__"].__get__
_LASTING: Final = PLAIN | {FunctionType, BuiltinFunctionType, type, ModuleType}
_LEVELS: Final = 3
"""An object of a module, its attributes, and the items of these."""
_MOST_PARTS: Final = 500
"""Of a larger container nothing but its own parts is compared."""
_MOST_NODES: Final = 40
"""What has more of them is compared to a lesser depth."""
_STANDARD: Final = sys.stdlib_module_names
_ATTRIBUTES: Final = (SimpleNamespace, local, UserDict, UserList)
"""Types of the standard library that hold what a program stores in them."""

Parts = Callable[[Any], list[Any] | None]


class Node(NamedTuple):
    """What an object holds."""

    parts: list[Any]
    """The parts themselves where these are constants, classes and functions, which live long; else
    their identities, so that they live no longer than without us.
    """
    itself: bool
    inner: tuple[tuple[int, Node], ...]
    """(place in `parts`, what that part holds)."""

    def identities(self) -> list[int]:
        """Of the parts."""
        return list(map(identity, self.parts)) if self.itself else self.parts


class _TooLarge(Exception):
    """It has too many nodes."""


def _of_dict(value: Any) -> list[Any]:
    return [*dict.keys(value), *dict.values(value)]


def _of_function(value: FunctionType) -> list[Any] | None:
    """The defaults in which something can be stored; None where there is none. Its outer variables
    are holders of their own: other functions have them, too.
    """
    defaults = (*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values())
    return [default for default in defaults if type(default) in _CONTAINERS] or None


def cell_contents(cell: CellType) -> Any:
    """What a variable of an outer function has; MISSING where it has nothing yet."""
    try:
        return cell.cell_contents
    except ValueError:
        return MISSING


_BUILT_IN: Final[Mapping[type, Parts]] = {
    dict: _of_dict,
    list: lambda value: [*list.__iter__(value)],
    tuple: lambda value: [*tuple.__iter__(value)],
    set: lambda value: [*set.__iter__(value)],
    frozenset: lambda value: [*frozenset.__iter__(value)],
    deque: lambda value: [*deque.__iter__(value)],
    FunctionType: _of_function,
    MethodType: lambda value: [value.__self__],
}


_CONTAINERS: Final = (dict, list, set, deque)


def _dictionary_of(kind: type) -> Callable[[Any], Any] | None:
    """What gives the dictionary of an object of this type; None where it has none."""
    for base in _classes_of(kind):
        descriptor = namespace_of(base).get("__dict__")
        if descriptor is not None:
            return descriptor.__get__ if type(descriptor) is GetSetDescriptorType else None
    return None


def attributes_of(value: Any) -> Mapping[str, Any] | None:
    """The attributes of an object, or what a class defines; None where it has none."""
    kind = type(value)
    if issubclass(kind, type):
        names: Mapping[str, Any] = namespace_of(value)
        return names
    if kind in PLAIN or kind in _BUILT_IN or kind is ModuleType:
        return None
    dictionary = _dictionary_of(kind)
    attributes = dictionary(value) if dictionary else None
    return attributes if type(attributes) is dict else None


def module_namespace(module: ModuleType) -> Mapping[str, Any]:
    """What a module has. A lazy one (`importlib.util.LazyLoader`) is loaded by any other access."""
    names: Mapping[str, Any] = object.__getattribute__(module, "__dict__")
    return names


def is_reserved(name: str) -> bool:
    """Whether the interpreter and its library store there, such as `__annotations__` or
    `__slotnames__` when they are asked for (lexical analysis, reserved classes of identifiers).
    """
    return name.startswith("__") and name.endswith("__")


def _of_slots(value: Any, slots: Iterable[Callable[[Any], Any]]) -> Iterator[Any]:
    for slot in slots:
        try:
            yield slot(value)
        except AttributeError:  # it has no value
            yield MISSING


def _reader(kind: type) -> Parts | None:
    """How objects of a class are read; None where they hold nothing, or nobody knows what."""
    classes = _classes_of(kind)
    base = next((_BUILT_IN[one] for one in classes if one in _BUILT_IN), None)
    module = str(_module_of(kind)).partition(".")[0]
    if issubclass(type(kind), EnumType) or (
        module in _STANDARD and base is None and kind not in _ATTRIBUTES
    ):
        return None
    members = [slot for cls in classes for slot in namespace_of(cls).values()]
    slots = [slot.__get__ for slot in members if type(slot) is MemberDescriptorType]
    dictionary = _dictionary_of(kind)

    def read(value: Any) -> list[Any]:
        attributes = dictionary(value) if dictionary is not None else None
        return [
            *(_of_dict(attributes) if type(attributes) is dict else ()),
            *((base(value) or ()) if base is not None else ()),
            *_of_slots(value, slots),
        ]

    return read if base or slots or dictionary else None


class Contents:
    """Reads objects; how, is decided once for each type."""

    def __init__(self, is_own: Callable[[Any], bool]) -> None:
        self._is_own = is_own
        """Whether the repository has a class."""
        self._readers: WeakKeyDictionary[type, Parts | None] = WeakKeyDictionary()

    def parts(self, value: Any) -> list[Any] | None:
        """What an object holds; None where nothing can be stored in it, or where nobody knows."""
        kind = type(value)
        if kind in PLAIN:
            return None
        reader = _BUILT_IN.get(kind)
        if reader is not None:
            return reader(value)
        if issubclass(kind, type):
            if issubclass(kind, EnumType) or not self._is_own(value):
                return None
            members = namespace_of(value)
            return [*members.keys(), *members.values()]
        try:
            reader = self._readers[kind]
        except KeyError:
            reader = self._readers[kind] = _reader(kind)
        return reader(value) if reader is not None else None

    def node(self, value: Any) -> Node | None:
        """What an object and its parts hold."""
        for levels in range(_LEVELS, 0, -1):
            try:
                return self._node(value, levels, {})
            except _TooLarge:
                pass
        return self._node(value, 0, {})

    def _node(self, value: Any, levels: int, nodes: dict[int, Any]) -> Node | None:
        """`nodes`: what has been looked at, by identity."""
        parts = self.parts(value)
        if parts is None:
            return None
        is_class = not nodes and issubclass(type(value), type)
        nodes[identity(value)] = value
        if len(nodes) > _MOST_NODES and levels:
            raise _TooLarge
        inner, members = [], len(parts) // 2
        for at, part in enumerate(parts if levels and len(parts) <= _MOST_PARTS else ()):
            kind = type(part)
            if kind in PLAIN or identity(part) in nodes or issubclass(kind, type | ModuleType):
                continue
            # nobody names the methods of a class; else functions are looked at where they are named
            if kind is FunctionType:
                if not is_class:
                    continue
            elif is_class and is_reserved(parts[at - members]):
                continue
            node = self._node(part, levels - 1, nodes)
            if node is not None:
                inner.append((at, node))
        if not inner and type(value) in (tuple, frozenset):
            return None
        if all(type(part) in _LASTING for part in parts):
            return Node(parts, True, tuple(inner))
        return Node(list(map(identity, parts)), False, tuple(inner))

    def is_same(self, value: Any, node: Node) -> bool:
        """Whether an object has the same parts as when it was noted."""
        parts = self.parts(value)
        if parts is None or (parts if node.itself else list(map(identity, parts))) != node.parts:
            return False
        # no generator: this is called for each object of each test
        for at, inner in node.inner:  # noqa: SIM110
            if not self.is_same(parts[at], inner):
                return False
        return True
