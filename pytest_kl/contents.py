"""What an object holds, so that two moments of it can be compared: by identity, to some depth, and
so that no object lives longer.

Runs no code of the program: containers and attributes are read by the methods of built-in types.
"""

from __future__ import annotations

import logging
import os
import random
import sys
from _thread import LockType
from abc import ABC
from array import array
from collections import deque
from collections.abc import (
    Callable,
    Iterable,
    Iterator,
    Mapping,
    MutableMapping,
    MutableSequence,
    MutableSet,
    Sequence,
)
from contextlib import suppress
from contextvars import ContextVar
from datetime import tzinfo
from enum import EnumType
from functools import cmp_to_key, lru_cache, partial
from io import (
    BufferedRandom,
    BufferedReader,
    BufferedWriter,
    BytesIO,
    FileIO,
    StringIO,
    TextIOWrapper,
)
from itertools import count
from marshal import dumps
from operator import attrgetter, itemgetter, methodcaller
from re import Match
from struct import Struct, calcsize
from threading import RLock, local
from types import (
    BuiltinFunctionType,
    CellType,
    ClassMethodDescriptorType,
    CodeType,
    FrameType,
    FunctionType,
    GetSetDescriptorType,
    MappingProxyType,
    MemberDescriptorType,
    MethodDescriptorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
    SimpleNamespace,
    TracebackType,
    WrapperDescriptorType,
)
from typing import Any, Final, ParamSpec, TypeVar
from weakref import WeakKeyDictionary, ref

from kl_hooks.model.definitions import NamedTuple, lazy_pattern
from pytest_kl.registered import Subclasses

PLAIN: Final = frozenset((str, bytes, int, float, bool, complex, type(None)))
MISSING: Final = object()
identity: Final = object.__hash__
"""`id` would raise an audit event for each object."""
namespace_of: Final = type.__dict__["__dict__"].__get__
classes_of: Final = type.__dict__["__mro__"].__get__
_module_of: Final = type.__dict__["__module__"].__get__
_base_of: Final = type.__dict__["__base__"].__get__
_size_of: Final = type.__dict__["__basicsize__"].__get__


class _Moment(int):
    """What is in an object that can't be read is never what it was."""


_lseek, _pread, _fstat = os.lseek, os.pread, os.fstat
_HERE: Final = os.SEEK_CUR
_LASTING: Final = PLAIN | {_Moment, FunctionType, BuiltinFunctionType, type, ModuleType}
_LEVELS: Final = 3
"""An object of a module, its attributes, and the items of these."""
_WITHOUT_REFERENCES: Final = 2
"""The version of marshal's format: in newer ones bytes depend on how many refer to an object."""
_MOST_BYTES: Final = 100_000
"""Of a larger content no digest is compared: to read so much takes half a millisecond."""
_MOST_MEMORY: Final = 1_000_000
"""The same of an array, whose memory is at hand."""
_MOST_PARTS: Final = 500
"""Of a larger container nothing but its own parts is compared."""
_MOST_NODES: Final = 40
"""What has more of them is compared to a lesser depth; however deep where the process is compared,
…"""
_MOST_INSIDE: Final = 1_000
"""… if it has no more than these."""
_STANDARD: Final = sys.stdlib_module_names
_ATTRIBUTES: Final = {SimpleNamespace, local, MutableMapping, MutableSequence, MutableSet}
"""Types of the standard library whose objects hold what a program stores in them."""
environ: Final = os.environ
_CHANGED_BY_US: Final = frozenset(map(environ.encodekey, ("PYTEST_CURRENT_TEST", "KL_SYMBOLS_OF")))
"""Variables of the environment that pytest and we set for each test."""
_FILE: Final = BytesIO.__mro__[-2]
"""The class of all files: they are iterators, too."""
_moments: Final = count()

Parts = Callable[[Any], list[Any] | None]
CACHED: Final = type(lru_cache(len))
"""The type of functions whose results `functools` stores."""
_cache_info: Final = CACHED.cache_info
RANDOM: Final = random.Random
"""Generators of random numbers; their state is in C."""
_state_of_random: Final = RANDOM.__mro__[1].getstate  # type: ignore[attr-defined]
MANAGER: Final = logging.Manager
"""What knows all loggers by their names."""
_OF_LOGGER: Final = vars(logging.Logger("")).keys() | {"_cache"}
"""The attributes that each logger has."""
_PYTEST: Final = "_pytest."


class Node(NamedTuple):
    """What an object holds."""

    parts: list[Any]
    """The parts themselves where these are constants, classes and functions, which live long; else
    their identities, so that they live no longer than without us.
    """
    itself: bool
    inner: tuple[tuple[int, Node], ...]
    """(place in `parts`, what that part holds)."""
    digest: int | None = None
    """Of what is deeper inside."""
    is_cut: bool = False
    """Whether objects are inside whose parts are not compared."""

    def identities(self) -> list[int]:
        """Of the parts."""
        if self.itself:
            return list(map(identity, self.parts))
        return self.parts


def _digest_of(value: Any) -> int | None:
    """A number that changes with anything that is in a container; None where there are objects of
    other types than those of constants and containers (`marshal`, which runs no code of these), and
    where all together is too large to be read at each test.
    """
    if type(value) not in _FOLLOWED:
        return None
    try:
        content = dumps(value, _WITHOUT_REFERENCES)
    except ValueError:
        return None
    return hash(content) if len(content) <= _MOST_BYTES else None


Inside = dict[int, list[Any]]
"""Identity of an object → its parts, as `_key` makes them."""


def _key(part: Any) -> Any:
    """By which parts are compared: what was made to be compared is another object each time."""
    return part if type(part) in PLAIN else identity(part)


def _differing_names(attributes: Mapping[str, Any] | None, before: list[Any]) -> set[str]:
    """The attributes of an object that were other ones; an empty name where it has none."""
    if attributes is None:
        return {""}
    now = {name: _key(part) for name, part in [*attributes.items()]}
    number = len(before) // 2
    earlier = dict(zip(before[:number], before[number:], strict=False))
    return {name for name in now.keys() | earlier.keys() if now.get(name) != earlier.get(name)} or {
        ""
    }


class _TooLarge(Exception):
    """It has too many nodes."""


def _of_dict(value: Any) -> list[Any]:
    return [*dict.keys(value), *dict.values(value)]


def _of_function(value: FunctionType) -> list[Any] | None:
    """The defaults in which something can be stored; None where there is none. Its outer variables
    are holders of their own: other functions have them, too.
    """
    defaults = (*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values())
    return [default for default in defaults if type(default) in CONTAINERS] or None


def cell_contents(cell: CellType) -> Any:
    """What a variable of an outer function has; MISSING where it has nothing yet."""
    try:
        return cell.cell_contents
    except ValueError:
        return MISSING


def _of_environment(value: os._Environ[str]) -> list[Any]:
    variables: Any = object.__getattribute__(value, "_data")
    names = [name for name in variables if name not in _CHANGED_BY_US]
    return [*names, *(variables[name] for name in names)]


def _of_buffer(value: Any, kind: Any) -> list[Any]:
    try:
        return [kind.getvalue(value), kind.tell(value)]
    except ValueError:  # it is closed
        return []


def _layers_of(value: Any) -> list[Any]:
    """An open file and those that it reads by, to that of the system. ValueError where it is detached."""
    layers = [value]
    for kind, below in _BELOW.items():
        if kind in classes_of(type(layers[-1])):
            layers.append(below(layers[-1]))
    return layers


def _of_file(value: Any) -> list[Any]:
    """Where an open file is, and what it has; nothing of one that only writes: who reads what it
    wrote opens it by its name.

    One that reads and writes is never what it was: to ask it for its place would write what waits,
    which a test may look at. Neither is a file that code of a program is part of.
    """
    try:
        *layers, lowest = _layers_of(value)
        if type(lowest) is BytesIO:
            return _of_buffer(lowest, BytesIO)
        if type(lowest) is not FileIO or any(type(layer) not in _BELOW for layer in layers[1:]):
            return [_Moment(next(_moments))]
        if not FileIO.readable(lowest):
            return []
        if FileIO.writable(lowest):
            return [_Moment(next(_moments))]
        number = FileIO.fileno(lowest)
        place = _lseek(number, 0, _HERE)
    except (OSError, ValueError):
        return []  # it is closed, or has no place
    place_of = next(
        (_PLACE_OF[kind] for kind in classes_of(type(value)) if kind in _PLACE_OF), None
    )
    try:
        return [place_of(value) if place_of else place, *_of_descriptor(number)]
    except OSError:  # a loop reads its lines
        return [_Moment(next(_moments))]


def _of_descriptor(number: int) -> list[int]:
    """What a file has: its size, and a digest or when it was changed last."""
    try:
        state = _fstat(number)
        if state.st_size <= _MOST_BYTES:
            return [state.st_size, hash(_pread(number, state.st_size, 0))]
    except OSError:
        return []
    return [state.st_size, state.st_mtime_ns]


def _of_cache(value: Any) -> list[Any]:
    """Whether something is stored."""
    return [_cache_info(value)[3] > 0]


def _of_loggers(value: Any) -> list[Any]:
    """What was set of loggers. One that is as it was made is as good as none. pytest has handlers
    of its own while a test runs.
    """
    own: dict[str, Any] = object.__getattribute__(value, "__dict__")
    parts: list[Any] = [own.get("_disable")]
    loggers = own.get("loggerDict")
    if type(loggers) is not dict:
        return parts
    for logger in (own.get("root"), *dict.values(loggers)):
        state = attributes_of(logger) or {}
        further = sorted(state.keys() - _OF_LOGGER)
        if further:
            # what is in them is not looked at: a logger refers to whatever a program has
            parts += [state.get("name"), *further, *(_key(state[name]) for name in further)]
        if not (
            state.get("level")
            or state.get("handlers")
            or state.get("filters")
            or state.get("disabled")
            or not state.get("propagate", True)
        ):
            continue
        parts += [state.get(key) for key in ("name", "level", "disabled", "propagate")]
        parts += state.get("filters") or ()
        for handler in state.get("handlers") or ():
            if not str(_module_of(type(handler))).startswith(_PYTEST):
                settings = attributes_of(handler) or {}
                parts += [handler, settings.get("level"), settings.get("formatter")]
    return parts


def _of_member(value: Any) -> list[Any] | None:
    """The value of a member of an enumeration, where something can be stored in it."""
    content = (attributes_of(value) or {}).get("_value_")
    return [content] if type(content) in CONTAINERS else None


def _of_context(value: ContextVar[Any]) -> list[Any]:
    """What it has in the context that all tests share, be it its default."""
    try:
        return [value.get()]
    except LookupError:
        return []


def _of_reference(value: ref[Any]) -> list[Any]:
    """What it refers to, which lives no longer for that, and the attributes of an object."""
    referent = ref.__call__(value)
    if referent is None:
        return [0]
    is_object = type(referent) is not FunctionType and not issubclass(type(referent), type)
    attributes = (attributes_of(referent) if is_object else None) or {}
    return [identity(referent), *attributes, *map(_key, [*attributes.values()])]


def _of_nothing_known(value: Any) -> list[Any]:
    """It is never what it was."""
    return [_Moment(next(_moments))]


def _of_memory(value: Any) -> list[Any]:
    """A digest of what is in memory that others may write; of much memory it is never what it was,
    nor where it was released or has items that can't be shown.
    """
    with (
        suppress(BufferError, NotImplementedError, TypeError, ValueError),
        memoryview(value) as view,
    ):
        if view.nbytes <= _MOST_MEMORY:
            return [hash(view.tobytes())]
        if view.readonly:
            return [view.nbytes]
    return _of_nothing_known(value)


_RLOCK: Final = type(RLock())
_BELOW: Final[Mapping[type, Callable[[Any], Any]]] = {
    TextIOWrapper: TextIOWrapper.__dict__["buffer"].__get__,
    BufferedReader: BufferedReader.__dict__["raw"].__get__,
    BufferedWriter: BufferedWriter.__dict__["raw"].__get__,
    BufferedRandom: BufferedRandom.__dict__["raw"].__get__,
}
"""Class of an open file → what gives the one that it reads by."""
_PLACE_OF: Final = {kind: kind.tell for kind in (TextIOWrapper, BufferedReader, BufferedRandom)}
FILES: Final = frozenset((*_BELOW, FileIO))
_COMPUTED: Final[Mapping[type, frozenset[str]]] = {logging.Logger: frozenset({"_cache"})}
"""Class → the attributes in which it stores what it has computed."""
_BUILT_IN: Final[Mapping[type, Parts]] = {
    **dict.fromkeys(FILES, _of_file),
    bytearray: lambda value: [bytes(value)],
    array: lambda value: [array.tobytes(value)],
    LockType: lambda value: [value.locked()],
    ContextVar: _of_context,
    ref: _of_reference,
    memoryview: _of_memory,
    # its text alone shows how often it is locked
    _RLOCK: lambda value: [_RLOCK.__repr__(value)],
    CACHED: _of_cache,
    MANAGER: _of_loggers,
    Subclasses: Subclasses.read,
    dict: _of_dict,
    list: lambda value: [*list.__iter__(value)],
    tuple: lambda value: [*tuple.__iter__(value)],
    set: lambda value: [*set.__iter__(value)],
    frozenset: lambda value: [*frozenset.__iter__(value)],
    deque: lambda value: [*deque.__iter__(value)],
    FunctionType: _of_function,
    MethodType: lambda value: [value.__self__],
    StringIO: lambda value: _of_buffer(value, StringIO),
    BytesIO: lambda value: _of_buffer(value, BytesIO),
    type(environ): _of_environment,
    # it compiles itself at its first use, and is the same then
    type(lazy_pattern("")): lambda value: [],
}


CONTAINERS: Final = (dict, list, set, deque)
"""In which something can be stored."""
_STATES_OF_LIBRARY: Final = frozenset((bool, int, *CONTAINERS, StringIO, BytesIO, *FILES))
_FOLLOWED: Final = frozenset((*CONTAINERS, tuple, frozenset))
_INSIDE_OF_LIBRARY: Final = _FOLLOWED | {StringIO, BytesIO, *FILES}
"""What is looked into of objects of the standard library, which refer to one another."""


def _attributes_of_local(value: local) -> Any:
    """What an object has in this thread (`threading.local`). Where the thread has not used it yet, a
    subclass of the program is set up for it by that, as by the first use in a test.
    """
    try:
        return local.__getattribute__(value, "__dict__")
    except Exception:  # its own `__init__` failed: a test that uses it sees that
        return None


def _dictionary_of(kind: type) -> Callable[[Any], Any] | None:
    """What gives the dictionary of an object of this type; None where it has none."""
    if local in classes_of(kind):
        return _attributes_of_local
    for base in classes_of(kind):
        descriptor = namespace_of(base).get("__dict__")
        if descriptor is not None:
            if type(descriptor) is GetSetDescriptorType:
                return descriptor.__get__
            return None
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
    if type(attributes) is dict:
        return attributes
    return None


def module_namespace(module: ModuleType) -> Mapping[str, Any]:
    """What a module has. A lazy one (`importlib.util.LazyLoader`) is loaded by any other access."""
    names: Mapping[str, Any] = object.__getattribute__(module, "__dict__")
    return names


def is_reserved(name: str) -> bool:
    """Whether the interpreter and its library store there, such as `__annotations__` or
    `__slotnames__` when they are asked for (lexical analysis, reserved classes of identifiers).
    """
    return name.startswith("__") and name.endswith("__")


def _is_of_the_language(name: str, owner: type) -> bool:
    """Whether the interpreter or its library stores in this attribute of a class: `enum` computes
    members that are combined of others (`_value2member_map_`; its documentation, "Supported
    _sunder_ names").
    """
    is_of_enum = name[:1] == name[-1:] == "_" and issubclass(type(owner), EnumType)
    return is_reserved(name) or is_of_enum


def _of_slots(value: Any, slots: Iterable[Callable[[Any], Any]]) -> Iterator[Any]:
    for slot in slots:
        try:
            yield slot(value)
        except AttributeError:  # it has no value
            yield MISSING


def _is_iterator(classes: Iterable[type]) -> bool:
    """Whether objects advance without a trace: what they are at is in C."""
    advance = next((namespace_of(one).get("__next__") for one in classes if _has_next(one)), None)
    return type(advance) is WrapperDescriptorType and _FILE not in classes


_POINTER: Final = calcsize("P")
_ABC_DATA: Final = type(ABC.__dict__["_abc_impl"])
"""What an abstract class knows of its subclasses; these are compared by themselves."""
_KEY: Final = type(cmp_to_key(max))
_NOTHING_STORED: Final[frozenset[type]] = frozenset(
    {
        *(
            object,
            local,
            Match,
            property,
            staticmethod,
            classmethod,
            slice,
            partial,
            Struct,
            tzinfo,
        ),
        *(itemgetter, attrgetter, methodcaller, TypeVar, ParamSpec, MappingProxyType),
        *(CellType, CodeType, FrameType, TracebackType, ModuleType, FunctionType, MethodType),
        *(BuiltinFunctionType, WrapperDescriptorType, MethodDescriptorType, MethodWrapperType),
        *(ClassMethodDescriptorType, GetSetDescriptorType, MemberDescriptorType),
        *(_ABC_DATA, _KEY),
    }
)
"""Types in C whose objects stay what they are, or whose parts are attributes that are read: what
stores nothing, by the documentation of each.
"""


_CONSTANTS: Final = (
    *(("zoneinfo", "ZoneInfo"), ("typing", "TypeAliasType"), ("typing", "TypeVarTuple")),
    *(("_csv", "Dialect"), ("_ctypes", "CFuncPtr"), ("types", "CapsuleType")),
)
"""The same of modules that may not be loaded, or of newer Pythons."""


def _is_opaque(classes: Sequence[type]) -> bool:
    """Whether objects hold what can't be read without asking them, such as a connection to a
    database: a part of their memory is no attribute, and it is not known to stay as it is.
    """
    return any(map(_has_hidden_state, classes))


def _has_hidden_state(kind: type) -> bool:
    if kind in _NOTHING_STORED or kind in _BUILT_IN or kind in PLAIN:
        return False
    if issubclass(kind, BaseException) or any(
        kind is getattr(sys.modules.get(module), name, None) for module, name in _CONSTANTS
    ):
        return False
    members = namespace_of(kind)
    attributes = sum(type(member) is MemberDescriptorType for member in members.values())
    attributes += ("__dict__" in members) + ("__weakref__" in members)
    base = _base_of(kind) or object
    if _size_of(kind) <= _size_of(base) + attributes * _POINTER:
        return False
    # who can be changed has no hash of its own value (Python's reference, `object.__hash__`)
    hashed, compared = members.get("__hash__", MISSING), members.get("__eq__")
    if hashed is not None and hashed is not MISSING and compared is not None:
        return False
    # of installed packages only what shows itself that it can be changed: they have many types
    is_of_python = str(_module_of(kind)).partition(".")[0] in _STANDARD
    return is_of_python or hashed is None


def _has_next(kind: type) -> bool:
    return "__next__" in namespace_of(kind)


def _is_of_library(kind: type) -> bool:
    """Whether a class is one of the standard library, and not made to hold what others store."""
    module = str(_module_of(kind)).partition(".")[0]
    classes = classes_of(kind)
    return (
        module in _STANDARD
        and _ATTRIBUTES.isdisjoint(classes)
        and _BUILT_IN.keys().isdisjoint(classes)
    )


def _public(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Those that are no business of their class alone, such as what it has computed once; of the
    others flags, numbers and containers: an event is set, a semaphore counts, a message has headers.
    """
    return {
        name: value
        for name, value in [*attributes.items()]
        if name[:1] != "_" or type(value) in _STATES_OF_LIBRARY
    }


def _reader(kind: type) -> Parts | None:
    """How objects of a class are read; None where nothing can be stored in them.

    How far an iterator is can't be read, nor what is in C: it is never what it was.
    """
    classes = classes_of(kind)
    if issubclass(type(kind), EnumType):
        return _of_member
    if str(_module_of(kind)).startswith(_PYTEST):
        return None
    if _is_iterator(classes):
        return lambda _: [next(_moments)]
    base = next((_BUILT_IN[one] for one in classes if one in _BUILT_IN), None)
    ignored = frozenset[str]().union(*(_COMPUTED.get(one, ()) for one in classes))
    if base is None and _is_opaque(classes):
        # an array of an installed package has all in its memory; a class of Python may run code to
        # show it (PEP 688)
        is_of_python = str(_module_of(classes[-2])).partition(".")[0] in _STANDARD
        runs_code = any(
            type(namespace_of(one).get("__buffer__")) is FunctionType for one in classes
        )
        base = _of_nothing_known if is_of_python or runs_code else _of_memory
    of_library = _is_of_library(kind)
    members = [
        slot
        for cls in classes
        for name, slot in namespace_of(cls).items()
        if type(slot) is MemberDescriptorType and not (of_library and name[:1] == "_")
    ]
    slots = [slot.__get__ for slot in members]
    dictionary = _dictionary_of(kind)

    def read(value: Any) -> list[Any]:
        if dictionary is not None:
            attributes = dictionary(value)
        else:
            attributes = None
        if type(attributes) is not dict:
            attributes = {}
        if ignored:
            attributes = {name: attributes[name] for name in attributes if name not in ignored}
        return [
            *_of_dict(_public(attributes) if of_library else attributes),
            *((base(value) or ()) if base is not None else ()),
            *_of_slots(value, slots),
        ]

    if base or slots or dictionary:
        return read
    return None


class Contents:
    """Reads objects; how, is decided once for each type."""

    def __init__(self, is_own: Callable[[Any], bool]) -> None:
        self._is_own = is_own
        """Whether the repository has a class."""
        self._unseeded: dict[int, Any] = {}
        """Identities of generators of random numbers that nobody seeded, with references."""
        self._readers: WeakKeyDictionary[type, Parts | None] = WeakKeyDictionary()
        self._libraries: WeakKeyDictionary[type, bool] = WeakKeyDictionary()
        """Whether a class is one of the standard library."""
        self._own_kinds: WeakKeyDictionary[type, bool] = WeakKeyDictionary()

    def parts(self, value: Any) -> list[Any] | None:
        """What an object holds; None where nothing can be stored in it, or where nobody knows."""
        kind = type(value)
        if kind in PLAIN:
            return None
        reader = _BUILT_IN.get(kind)
        if reader is not None:
            return reader(value)
        if issubclass(kind, type):
            if not self._is_own(value):
                return None
            members = namespace_of(value)
            return [*members.keys(), *members.values()]
        try:
            reader = self._readers[kind]
        except KeyError:
            is_random = RANDOM in classes_of(kind)
            reader = self._readers[kind] = self._of_random if is_random else _reader(kind)
        if reader is not None:
            return reader(value)
        return None

    def _of_random(self, value: Any) -> list[Any]:
        """The state; that of a generator which nobody seeded can't be relied on."""
        if identity(value) in self._unseeded:
            return [0]
        return [hash(_state_of_random(value))]

    def seeded(self, value: Any, is_random: bool) -> None:
        """A generator of random numbers gets a state; `is_random`: another one each time."""
        key = identity(value)
        unseeded = self._unseeded
        if not is_random:
            unseeded.pop(key, None)
        elif key not in unseeded:
            with suppress(TypeError):  # it can't be referred to
                unseeded[key] = ref(value, lambda _: unseeded.pop(key, None))

    def is_opaque(self, node: Node | None) -> bool:
        """Whether it has parts that can't be read without asking them."""
        if node is None:
            return False
        is_own = node.itself and any(type(part) is _Moment for part in node.parts)
        return is_own or any(self.is_opaque(inner) for _, inner in node.inner)

    def node(self, value: Any) -> Node | None:
        """What an object and its parts hold."""
        # a short list of nodes is deep, and has few of them
        for levels in (_MOST_NODES, *range(_LEVELS, 0, -1)):
            try:
                return self._node(value, levels, {})
            except _TooLarge:
                pass
        return self._node(value, 0, {})

    def _node(
        self, value: Any, levels: int, nodes: dict[int, Any], only_containers: bool = False
    ) -> Node | None:
        """`nodes`: what has been looked at, by identity. `only_containers`: it is part of an object
        of the standard library: a logger refers to all others.
        """
        parts = self.parts(value)
        if parts is None:
            return None
        is_class = not nodes and issubclass(type(value), type)
        nodes[identity(value)] = value
        if len(nodes) > _MOST_NODES and levels:
            raise _TooLarge
        if is_class:
            attributes = None
        else:
            attributes = self._public_attributes(value)
        only_containers = only_containers or bool(attributes)
        if not levels or len(parts) > _MOST_PARTS:
            return self._of_digest(value, parts)
        inner = []
        members = len(parts) // 2
        for position, part in enumerate(parts):
            kind = type(part)
            if kind in PLAIN or identity(part) in nodes or issubclass(kind, type | ModuleType):
                continue
            if only_containers and kind not in _INSIDE_OF_LIBRARY:
                continue
            # nobody names the methods of a class; else functions are looked at where they are named
            if kind is FunctionType:
                if not is_class:
                    continue
            elif is_class and (
                _is_of_the_language(parts[position - members], value) or self._is_definition(kind)
            ):
                continue
            node = self._node(part, levels - 1, nodes, only_containers)
            if node is not None:
                inner.append((position, node))
        is_fixed = type(value) in (tuple, frozenset) or (attributes is not None and not attributes)
        if not inner and is_fixed:
            return None
        is_cut = any(node.is_cut for _, node in inner)
        if all(type(part) in _LASTING for part in parts):
            return Node(parts, True, tuple(inner), is_cut=is_cut)
        return Node(list(map(identity, parts)), False, tuple(inner), is_cut=is_cut)

    def inside(self, value: Any) -> Inside:
        """What is inside of an object, however deep: objects of the repository's classes, and
        containers. Nothing where there are more than `_MOST_INSIDE`.
        """
        inside: Inside = {}
        waiting = [value]
        for member in waiting:
            kind = type(member)
            is_followed = kind in _FOLLOWED or (kind not in PLAIN and self._is_own_kind(kind))
            parts = self.parts(member) if is_followed else None
            if parts is None or identity(member) in inside:
                continue
            inside[identity(member)] = list(map(_key, parts))
            waiting += parts
            if len(inside) > _MOST_INSIDE:
                return {}
        return inside

    def _is_own_kind(self, kind: type) -> bool:
        """Whether objects of a class are followed: it is of the repository, and no iterator, which
        never is what it was.
        """
        try:
            return self._own_kinds[kind]
        except KeyError:
            is_class = issubclass(kind, type)
            is_own = not is_class and self._is_own(kind) and not _is_iterator(classes_of(kind))
            self._own_kinds[kind] = is_own
            return is_own

    def names_inside(self, value: Any, before: Inside) -> set[str] | None:
        """The attributes that differ of what is inside now and was before; an empty name where it
        is no attribute. None where nothing is known.
        """
        after = self.inside(value)
        differing = {key for key in before.keys() & after.keys() if before[key] != after[key]}
        if not differing:
            return set() if after or not before else None
        names = set[str]()
        visited = set[int]()
        waiting = [value]
        while waiting:
            member = waiting.pop()
            key = identity(member)
            if key in visited or key not in after:
                continue
            visited.add(key)
            waiting += self.parts(member) or ()
            if key in differing:
                names |= _differing_names(attributes_of(member), before[key])
        return names

    def _of_digest(self, value: Any, parts: list[Any]) -> Node | None:
        """Of what is too large, or too deep inside, its own parts; and a digest of all that is in
        them, where these are containers and constants alone.
        """
        if type(value) in (tuple, frozenset) and all(type(part) in PLAIN for part in parts):
            return None
        if all(type(part) in _LASTING for part in parts):
            return Node(parts, True, ())
        digest = _digest_of(value)
        return Node(list(map(identity, parts)), False, (), digest, is_cut=digest is None)

    def _public_attributes(self, value: Any) -> Mapping[str, Any] | None:
        """Of an object of the standard library; None for any other one. Without them nothing can be
        stored in it, but in its parts.
        """
        kind = type(value)
        if kind in _BUILT_IN or not self._is_of_library(kind) or _is_iterator(classes_of(kind)):
            return None
        return _public(attributes_of(value) or {})

    def _is_definition(self, kind: type) -> bool:
        """Whether it is a descriptor of the standard library: what a class defines by it stays."""
        has_get = any("__get__" in namespace_of(one) for one in classes_of(kind))
        return has_get and self._is_of_library(kind)

    def _is_of_library(self, kind: type) -> bool:
        try:
            return self._libraries[kind]
        except KeyError:
            self._libraries[kind] = is_of_library = _is_of_library(kind)
            return is_of_library

    def is_same(self, value: Any, node: Node) -> bool:
        """Whether an object has the same parts as when it was noted."""
        parts = self.parts(value)
        if parts is None or (parts if node.itself else list(map(identity, parts))) != node.parts:
            return False
        if node.digest is not None and node.digest != _digest_of(value):
            return False
        # no generator: this is called for each object of each test
        for position, inner in node.inner:  # noqa: SIM110
            if not self.is_same(parts[position], inner):
                return False
        return True

    def changed_names(self, value: Any, node: Node) -> set[str]:
        """The innermost attributes that hold something else than was noted, of an object that has
        attributes alone and still the same ones; else none.
        """
        attributes = attributes_of(value)
        before = node.identities()
        number = len(before) // 2
        if attributes is None or [*map(identity, attributes)] != before[:number]:
            return set()
        names = [*attributes]
        pairs = zip(names, before[number:], strict=False)
        if len(before) != 2 * len(names) or issubclass(type(value), type):
            return set()
        changed = {name for name, part in pairs if identity(attributes[name]) != part}
        for position, inner in node.inner:
            name = names[position - number]
            if name not in changed and not self.is_same(attributes[name], inner):
                changed |= self.changed_names(attributes[name], inner) or {name}
        return changed
