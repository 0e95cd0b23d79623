"""Recognizes functions that store what they compute, so that a later test gets it without a call.

By `functools`, or by themselves: they store to something that outlives the call, and branch on
reading it (`stores`), or store a `global`. Bytecode is read at the first call: parsing the source
costs more than the import does. What only collects, such as a list that a function appends to, is
not recognized.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, lru_cache
from opcode import opmap
from types import BuiltinFunctionType, CodeType, FrameType, FunctionType, ModuleType
from typing import Any, Final
from weakref import ref

from kl_hooks.model.definitions import NamedTuple
from pytest_kl.stores import (
    ANY,
    ENTRY_POINTS,
    MUTATORS,
    RESULT,
    UNCERTAIN,
    UNKNOWN,
    Analysis,
    Place,
)

_CACHED: Final = type(lru_cache(len))
_CLEAR: Final = _CACHED.cache_clear
_FUNCTION: Final = 0x1
_SUSPENDING: Final = 0x20 | 0x80 | 0x200
_IMMUTABLE: Final = frozenset((str, bytes, int, float, bool, complex, type(None)))
_CLEARS: Final = frozenset(("cache_clear", "cache_info", "cache_parameters"))


def _opcodes(*parts: str) -> frozenset[int]:
    return frozenset(
        number for name, number in opmap.items() if all(part in name for part in parts)
    )


_PADDING = opmap.get("CACHE", 0)
_EXTENDED = opmap["EXTENDED_ARG"]
_LOAD_ATTR = opmap["LOAD_ATTR"]
_LOAD_GLOBAL = opmap["LOAD_GLOBAL"]
_STORE_GLOBAL = opmap["STORE_GLOBAL"]
_POP_TOP = opmap["POP_TOP"]
_STORING: Final = frozenset(
    opmap[name]
    for name in ("STORE_ATTR", "STORE_SUBSCR", "STORE_DEREF", "DELETE_ATTR", "DELETE_SUBSCR")
)
_CALLING: Final = _opcodes("CALL")
_BRANCH: Final = _opcodes("JUMP", "IF")


def may_store(code: CodeType) -> bool:
    """Whether a function may store something and branch on it: most have none of the operations,
    and a search in bytes is cheap.
    """
    if code.co_flags & (_FUNCTION | _SUSPENDING) != _FUNCTION:
        return False
    operations = code.co_code[::2]
    if _STORE_GLOBAL in operations:
        return True
    stores = not _STORING.isdisjoint(operations) or (
        # a call without a use of its result, or a method that changes its object
        not _CALLING.isdisjoint(operations) and _POP_TOP in operations
    )
    if not stores and MUTATORS.isdisjoint(code.co_names) and not (code.co_freevars):
        return False
    return (
        code.co_name in ENTRY_POINTS
        or not _BRANCH.isdisjoint(operations)
        or bool(code.co_exceptiontable)
    )


class Decisions:
    """Which functions store what they compute; asked at the first call of each."""

    def __init__(self, path: Callable[[str], str | None]) -> None:
        self._analysis = Analysis(path)

    def decide(self, code: CodeType, frame: FrameType) -> Decision | None:
        """None for a function that stores nothing for later calls, or does not look there first."""
        if code.co_argcount:
            first = frame.f_locals.get(code.co_varnames[0], UNKNOWN)
        else:
            first = UNKNOWN
        try:
            stores = self._analysis.of(code, frame.f_globals, first=first)
        except Exception:  # bytecode that is not understood
            stores = None
        if stores is None:
            return Decision(frozenset(), ())
        asked = stores.asked
        roots = stores.roots
        names = frozenset(self._names(stores.written, asked, frame))
        if not roots and not names:
            return None
        arguments = tuple(sorted(root[2:] for root in roots if root.startswith("a:")))
        return Decision(
            names,
            () if names or len(arguments) < len(roots) else arguments,
            frozenset(
                step.removeprefix("g:")
                for place in asked - stores.handed
                for step in place
                if step not in UNCERTAIN and not step.startswith(("a:", "f:", "m:"))
            ),
            frozenset(
                place[0].removeprefix("f:")
                for place in asked - stores.handed
                if place[0].startswith("f:")
            ),
            _globals_alone(stores.written),
        )

    def _names(
        self, written: frozenset[Place], asked: frozenset[Place], frame: FrameType
    ) -> Iterator[str]:
        """Under which others get what is stored. A global that is only called, such as the subject
        of a test, or whose result is stored to, is none; neither is a module that others have, too.
        """
        for place in written:
            if not place[0].startswith("g:") or (len(place) > 1 and place not in asked):
                continue
            if ANY in place or RESULT in place:
                continue
            name = place[0][2:]
            if not isinstance(frame.f_globals.get(name), ModuleType):
                yield name


class Decision(NamedTuple):
    """A function that stores what it computes."""

    names: frozenset[str]
    """The globals that it stores to."""
    arguments: tuple[str, ...]
    """The arguments that it stores in; empty where it stores elsewhere, too."""
    computed: frozenset[str] = frozenset()
    """The globals and attributes in which it stores what it computes, not what it is called with.
    """
    variables: frozenset[str] = frozenset()
    """The variables of outer functions in which it does."""
    rebinds: frozenset[str] = frozenset()
    """The globals to which it assigns, where it stores nowhere else."""


def _globals_alone(written: Iterable[Place]) -> frozenset[str]:
    if all(len(place) == 1 and place[0].startswith("g:") for place in written):
        return frozenset(place[0].removeprefix("g:") for place in written)
    return frozenset()


def values_of(names: Iterable[str], frame: FrameType) -> dict[str, Any]:
    """Global → what it has before a call that may assign to it."""
    return {name: frame.f_globals.get(name, UNKNOWN) for name in names}


def is_assigned(before: Mapping[str, Any], frame: FrameType) -> bool:
    """Whether a call has assigned to one of these globals something that was not there.
    `before`: as `values_of`.

    Where it has not, the next call finds what this one found, and computes it again. Once edited
    code assigns something else there, the test that runs it leaves that changed (`pytest_kl.states`).
    """
    return any(frame.f_globals.get(name, UNKNOWN) is not value for name, value in before.items())


def lives_of(arguments: Iterable[str], frame: FrameType) -> list[Callable[[], Any]] | None:
    """References to the objects in which a call stores; None where one of them can't be followed,
    or lives as long as the process.
    """
    values = frame.f_locals
    references: list[Callable[[], Any]] = []
    for name in arguments:
        value = values.get(name)
        if type(value) in _IMMUTABLE:
            continue
        if isinstance(value, type | ModuleType | FunctionType):
            return None
        try:
            references.append(ref(value))
        except TypeError:
            return None
    return references


def names_asked(
    code: CodeType, frame: FrameType, namespaces: Iterable[Mapping[str, Any]]
) -> Iterator[str]:
    """The names under which others get what a method stores that the interpreter calls where it
    finds no value: of an item those of its object, in the modules of the repository.
    """
    if code.co_name not in ENTRY_POINTS:
        return
    values = [frame.f_locals.get(name) for name in code.co_varnames[: code.co_argcount]]
    if code.co_name == "__get__" and len(values) > 1:
        kind = type(values[1])
        for base in type.__dict__["__mro__"].__get__(kind):
            own = type.__dict__["__dict__"].__get__(base)
            yield from (name for name, value in list(own.items()) if value is values[0])
    elif code.co_name == "__getattr__" and values and type(values[-1]) is str:
        yield values[-1]
    elif code.co_name == "__missing__" and values:
        for namespace in namespaces:
            yield from (name for name, value in list(namespace.items()) if value is values[0])


def _steps(code: CodeType) -> Iterator[tuple[int, int]]:
    """(operation, argument), after two placeholders for what comes before the first."""
    yield from ((-1, 0), (-1, 0))
    high_bits = 0
    text = code.co_code
    for operation, arg in zip(text[::2], text[1::2], strict=True):
        if operation == _PADDING:
            continue
        arg |= high_bits
        if operation == _EXTENDED:
            high_bits = arg << 8
        else:
            high_bits = 0
        if operation != _EXTENDED:
            yield operation, arg


def gets(code: CodeType, name: str) -> bool:
    """Whether code that has this name may get the value behind it: not what only clears the
    cache.
    """
    if _CLEARS.isdisjoint(code.co_names):
        return True
    steps = list(_steps(code))
    for (operation, arg), (following, detail) in zip(steps, [*steps[1:], (-1, 0)], strict=True):
        # the lowest bit marks a method, or a call (documentation of dis)
        if operation not in (_LOAD_ATTR, _LOAD_GLOBAL) or code.co_names[arg >> 1] != name:
            continue
        if following != _LOAD_ATTR or code.co_names[detail >> 1] not in _CLEARS:
            return True
    return False


def cleared(function: object, argument: object) -> Any:
    """The cache that a call clears; None where it is no such call."""
    if function is _CLEAR:
        return argument
    if type(function) is BuiltinFunctionType and function.__name__ == _CLEAR.__name__:
        if type(function.__self__) is _CACHED:
            return function.__self__
        return None
    return None


def cached_functions(namespace: Mapping[str, Any]) -> Iterator[tuple[CodeType, str, Any]]:
    """The functions of a module, and of its classes, whose results `functools` stores; each with
    the name it has there, and what stores them; None where that is an object of its class.

    Runs no code of the module: types are compared, not asked.
    """
    module = namespace.get("__name__")
    for name, value in list(namespace.items()):
        if issubclass(type(value), type):
            own = type.__dict__["__dict__"].__get__(value)
            if own.get("__module__") == module:
                for inner, member in list(own.items()):
                    yield from _cached(member, inner)
        else:
            yield from _cached(value, name)


def _cached(value: Any, name: str) -> Iterator[tuple[CodeType, str, Any]]:
    kind = type(value)
    function = None
    if kind in (staticmethod, classmethod):
        value = value.__func__
        kind = type(value)
    elif kind is property:
        value = value.fget
        kind = type(value)
    if kind is _CACHED:
        function = value.__wrapped__
    elif kind is cached_property:
        function = value.func
    if type(function) is FunctionType:
        yield function.__code__, name, value if kind is _CACHED else None
