"""What code stores to, as its bytecode shows at once: names of attributes and globals, and whether
it changes anything outside of itself.

A search for single operations, cheap enough for all code that starts; where a value comes from is
followed in `pytest_kl.stores`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from opcode import opmap, opname
from types import CodeType
from typing import Final, NamedTuple

from pytest_kl.stores import MUTATORS

_NAMED: Final = tuple(
    opmap[name] for name in ("STORE_ATTR", "DELETE_ATTR", "STORE_GLOBAL", "DELETE_GLOBAL")
)
_OUTSIDE: Final = opmap["STORE_DEREF"]
_CHANGING: Final = frozenset(
    number
    for name, number in opmap.items()
    if number in _NAMED or name in ("STORE_DEREF", "STORE_SUBSCR", "DELETE_SUBSCR", "STORE_SLICE")
)
_LOAD_FAST: Final = frozenset(
    number for name, number in opmap.items() if name.startswith("LOAD_FAST")
)
_METHOD_SHIFT: Final = {
    opmap[name]: shift
    for name, shift in (("LOAD_METHOD", 0), ("LOAD_ATTR", int(sys.version_info >= (3, 12))))
    if opmap.get(name, 256) < 256  # others are of the compiler alone
}
"""What loads a method → by how many bits its argument is shifted (documentation of dis)."""
_STORE_ATTR, _LOAD_GLOBAL, _CACHE = opmap["STORE_ATTR"], opmap["LOAD_GLOBAL"], opname.index("CACHE")
_EXTENDED: Final = opmap["EXTENDED_ARG"]
_BY_NAME: Final = frozenset(("setattr", "delattr"))


def stored_names(code: CodeType) -> set[str]:
    """The attributes, globals and variables of outer functions that code stores to."""
    names = {
        code.co_names[step.argument] for operation in _NAMED for step, _ in _pairs(code, operation)
    }
    if code.co_freevars and _OUTSIDE in code.co_code[::2]:
        names.update(code.co_freevars)
    if not _BY_NAME.isdisjoint(code.co_names):
        names.update(constant for constant in code.co_consts if type(constant) is str)
    return names


def attribute_owners(code: CodeType) -> set[str]:
    """The globals of which code stores an attribute."""
    return {
        code.co_names[before.argument >> 1]
        for _, before in _pairs(code, _STORE_ATTR)
        if before.operation == _LOAD_GLOBAL
    }


def may_change(code: CodeType) -> bool:
    """Whether code stores to something, or calls a method that changes a container. Of a local
    variable it is mostly one of its own: pytest's rewritten assertions have such lists.
    """
    if not _CHANGING.isdisjoint(code.co_code[::2]):
        return True
    return not MUTATORS.isdisjoint(code.co_names) and any(
        before.operation not in _LOAD_FAST
        and code.co_names[step.argument >> _METHOD_SHIFT[load]] in MUTATORS
        for load in _METHOD_SHIFT
        for step, before in _pairs(code, load)
    )


class _Step(NamedTuple):
    operation: int
    argument: int


def _pairs(code: CodeType, operation: int) -> Iterator[tuple[_Step, _Step]]:
    """Each such operation, and the one before."""
    text = code.co_code
    operations = text[::2]
    at = operations.find(operation)
    while at >= 0:
        before = at - 1
        while before > 0 and operations[before] in (_CACHE, _EXTENDED):
            before -= 1
        yield _step(text, at), _step(text, max(before, 0))
        at = operations.find(operation, at + 1)


def _step(text: bytes, at: int) -> _Step:
    argument = text[2 * at + 1]
    if at and text[2 * at - 2] == _EXTENDED:
        argument |= text[2 * at - 1] << 8
    return _Step(text[2 * at], argument)
