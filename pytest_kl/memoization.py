"""Recognizes functions that store what they compute, so that a later test gets it without a call.

By `functools`, or by themselves: `if self._value is None: self._value = …`, `if key not in CACHE:
CACHE[key] = …`, a `global`. Bytecode is read, since a function must be known before its first call,
and parsing the source costs more than the import does. What only collects, such as a list that a
function appends to, is not recognized.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from functools import cached_property, lru_cache
from opcode import opmap
from types import CodeType, FunctionType
from typing import Any, Final

_CACHED: Final = type(lru_cache(len))
_FUNCTION: Final = 0x1
_SUSPENDING: Final = 0x20 | 0x80 | 0x200
_CLEARS: Final = frozenset(("cache_clear", "cache_info", "cache_parameters"))
_MAKERS: Final = frozenset(
    (
        "__init__",
        "__new__",
        "__post_init__",
        "__init_subclass__",
        "__set_name__",
        "__setattr__",
        "__setitem__",
    )
)
"""What these store in is new, or is what they are called for."""


def _opcodes(*parts: str) -> frozenset[int]:
    return frozenset(
        number for name, number in opmap.items() if all(part in name for part in parts)
    )


_PADDING, _EXTENDED = opmap.get("CACHE", 0), opmap["EXTENDED_ARG"]
_LOAD_ATTR, _LOAD_GLOBAL, _LOAD_DEREF = (
    opmap["LOAD_ATTR"],
    opmap["LOAD_GLOBAL"],
    opmap["LOAD_DEREF"],
)
_LOAD_METHOD = opmap.get("LOAD_METHOD", _LOAD_ATTR)  # of its own before CPython 3.12
_STORE_ATTR, _STORE_ITEM, _STORE_GLOBAL = (
    opmap["STORE_ATTR"],
    opmap["STORE_SUBSCR"],
    opmap["STORE_GLOBAL"],
)
_CONTAINS, _CONST = opmap["CONTAINS_OP"], opmap["LOAD_CONST"]
_FAST: Final = _opcodes("LOAD_FAST")
_TWO_FAST: Final = frozenset(number for name, number in opmap.items() if name.count("FAST") == 2)
"""What loads, or stores, a second one before: its argument has both, in four bits each."""
_BRANCH: Final = _opcodes("JUMP", "IF")
_LITERAL: Final = _opcodes("LOAD_CONST") | _opcodes("LOAD_SMALL_INT")
_EMPTY: Final = frozenset(opmap[f"BUILD_{sort}"] for sort in ("LIST", "MAP", "SET", "TUPLE"))
_ATTR_SHIFT: Final = int(sys.version_info >= (3, 12))
"""From CPython 3.12 on the lowest bit of LOAD_ATTR's argument marks a method (documentation of
dis).
"""


def memoizes(code: CodeType) -> tuple[str, ...] | None:
    """Whether a function stores what it computes and looks there first: the globals that it stores;
    None: it does not.

    An attribute counts where the same one of the same argument is looked at, and gets more than a
    constant.
    """
    if code.co_flags & (_FUNCTION | _SUSPENDING) != _FUNCTION or code.co_name in _MAKERS:
        return None
    operations = code.co_code[::2]
    stores = _STORE_ATTR in operations or _STORE_ITEM in operations
    if _STORE_GLOBAL not in operations and (not stores or _BRANCH.isdisjoint(operations)):
        return None  # most: these are searches in bytes
    steps = list(_steps(code))
    stored = tuple(
        sorted({code.co_names[arg] for operation, arg in steps if operation == _STORE_GLOBAL})
    )
    if (
        stored
        or _stores_attribute(code, steps)
        or (_STORE_ITEM in operations and _stores_item(code, steps))
    ):
        return stored
    return None


def _steps(code: CodeType) -> Iterator[tuple[int, int]]:
    """(operation, argument), after two placeholders for what comes before the first."""
    yield from ((-1, 0), (-1, 0))
    more, text = 0, code.co_code
    for operation, arg in zip(text[::2], text[1::2], strict=True):
        if operation == _PADDING:
            continue
        arg |= more
        more = arg << 8 if operation == _EXTENDED else 0
        if operation != _EXTENDED:
            yield operation, arg


def _argument(code: CodeType, step: tuple[int, int]) -> int:
    """The number of the argument of the function that a step loads last; -1 for none."""
    operation, arg = step
    number = (arg & 15 if operation in _TWO_FAST else arg) if operation in _FAST else -1
    return number if number < code.co_argcount + code.co_kwonlyargcount else -1


def _stores_attribute(code: CodeType, steps: list[tuple[int, int]]) -> bool:
    stored = set()
    for at, (operation, arg) in enumerate(steps):
        if operation == _STORE_ATTR and (owner := _argument(code, steps[at - 1])) >= 0:
            value, size = steps[at - 2]
            if value not in _LITERAL and (value not in _EMPTY or size):
                stored.add((owner, code.co_names[arg]))
    for at, (operation, arg) in enumerate(steps) if stored else ():
        owner = _argument(code, steps[at - 1])
        if operation == _LOAD_ATTR and (owner, code.co_names[arg >> _ATTR_SHIFT]) in stored:
            # looked at for a decision, which comes soon: `is None`, a walrus, a comparison
            if "AttributeError" in code.co_names or any(
                one in _BRANCH for one, _ in steps[at + 1 : at + 5]
            ):
                return True
        elif (
            operation == _CONST
            and type(code.co_consts[arg]) is str
            and (owner, code.co_consts[arg]) in stored
        ):
            return True  # hasattr(), getattr()
    return False


def _stores_item(code: CodeType, steps: list[tuple[int, int]]) -> bool:
    """Whether a key is looked for in, and a value stored in, a container that was there before the
    call.
    """
    own_variables = len({*code.co_varnames, *code.co_cellvars})
    loaded: dict[tuple[int, int], int] = {}
    looked: set[tuple[int, int]] = set()

    def place(at: int) -> tuple[int, int] | None:
        operation, arg = steps[at]
        if operation == _LOAD_ATTR:
            own = code.co_argcount and _argument(code, steps[at - 1]) == 0
            return (operation, arg >> _ATTR_SHIFT) if own else None
        if operation == _LOAD_GLOBAL:
            return operation, arg >> 1
        # the numbers of what an outer function has are the last ones
        return (operation, arg) if operation == _LOAD_DEREF and arg >= own_variables else None

    for at, (operation, arg) in enumerate(steps):
        if (one := place(at)) is not None:
            loaded[one] = loaded.get(one, 0) + 1
        asks = (
            operation in (_LOAD_ATTR, _LOAD_METHOD) and code.co_names[arg >> _ATTR_SHIFT] == "get"
        )
        if (operation == _CONTAINS or asks) and (one := place(at - 1)) is not None:
            looked.add(one)
    if "KeyError" in code.co_names:
        looked |= loaded.keys()
    return any(loaded[one] > 1 for one in looked)


def gets(code: CodeType, name: str) -> bool:
    """Whether code that has this name may get the value behind it: not what only clears the
    cache.
    """
    if _CLEARS.isdisjoint(code.co_names):
        return True
    steps = list(_steps(code))
    for (operation, arg), (following, detail) in zip(steps, [*steps[1:], (-1, 0)], strict=True):
        shift = _ATTR_SHIFT if operation == _LOAD_ATTR else 1
        if operation not in (_LOAD_ATTR, _LOAD_GLOBAL) or code.co_names[arg >> shift] != name:
            continue
        if following != _LOAD_ATTR or code.co_names[detail >> _ATTR_SHIFT] not in _CLEARS:
            return True
    return False


def cached_functions(namespace: Mapping[str, Any]) -> Iterator[tuple[CodeType, str]]:
    """The functions of a module, and of its classes, whose results `functools` stores; each with
    the name it has there.

    Runs no code of the module: types are compared, not asked.
    """
    module = namespace.get("__name__")
    for name, value in list(namespace.items()):
        if issubclass(type(value), type):
            own = type.__dict__["__dict__"].__get__(value)
            if own.get("__module__") == module:
                for inner, one in list(own.items()):
                    yield from _cached(one, inner)
        else:
            yield from _cached(value, name)


def _cached(value: Any, name: str) -> Iterator[tuple[CodeType, str]]:
    kind, function = type(value), None
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
        yield function.__code__, name
