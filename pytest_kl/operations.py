"""What code stores to, as its bytecode shows at once: names of attributes and globals, and whether
it changes anything outside of itself.

A search for single operations, cheap enough for all code that starts; where a value comes from is
followed in `pytest_kl.stores`.
"""

from __future__ import annotations

from collections.abc import Iterator
from opcode import opmap, opname
from types import CodeType
from typing import Final

from kl_hooks.model.definitions import NamedTuple
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
_ITEMS: Final = frozenset(
    number for number in _CHANGING if number not in _NAMED and number != _OUTSIDE
)
_LOAD_FAST: Final = frozenset(
    number for name, number in opmap.items() if name.startswith("LOAD_FAST")
)
_LOAD_ATTR, _STORE_ATTR, _LOAD_GLOBAL = (
    opmap[name] for name in ("LOAD_ATTR", "STORE_ATTR", "LOAD_GLOBAL")
)
_CACHE: Final = opname.index("CACHE")
_EXTENDED: Final = opmap["EXTENDED_ARG"]
_BY_NAME: Final = frozenset(("setattr", "delattr"))


class Stores(NamedTuple):
    """What code stores to."""

    names: set[str]
    """Attributes, globals and variables of outer functions."""
    owners: set[str]
    """The globals of which it stores an attribute."""
    may_change: bool
    """Whether it stores to anything but variables, or calls a method that changes a container. Of a
    local variable it is mostly one of its own: pytest's rewritten assertions have such lists.
    """
    only_names: bool
    """Whether all it changes is what has one of `names`."""
    named: frozenset[str] = frozenset()
    """The names in texts by which it may store: `setattr(app, "LIMIT", 4)`."""


def stores_of(code: CodeType) -> Stores:
    """What code stores to, in one look at its text: CPython makes a copy of it each time."""
    text = code.co_code
    named = code.co_names
    operations = text[::2]
    names = set[str]()
    owners = set[str]()
    for operation in _NAMED:
        for step, before in _pairs(text, operations, operation):
            names.add(named[step.argument])
            if before.operation == _LOAD_GLOBAL and operation == _STORE_ATTR:
                owners.add(named[before.argument >> 1])
    if code.co_freevars and _OUTSIDE in operations:
        names.update(code.co_freevars)
    texts = frozenset[str]()
    if not _BY_NAME.isdisjoint(named):
        constants = [constant for constant in code.co_consts if type(constant) is str]
        texts = frozenset(text.rpartition(".")[2] for text in constants if text.isprintable())
        names.update(constants, texts)
    mutates = not MUTATORS.isdisjoint(named) and any(
        # the lowest bit marks a method (documentation of dis)
        before.operation not in _LOAD_FAST and named[step.argument >> 1] in MUTATORS
        for step, before in _pairs(text, operations, _LOAD_ATTR)
    )
    may_change = mutates or not _CHANGING.isdisjoint(operations)
    by_name = MUTATORS.isdisjoint(named) and _BY_NAME.isdisjoint(named)
    only_names = by_name and _ITEMS.isdisjoint(operations)
    return Stores(names, owners, may_change, only_names, texts)


def loads_attribute(code: CodeType, name: str) -> bool:
    """Whether code asks something for this attribute, or has a text of this name, for `getattr` or
    the like.
    """
    inner = [constant for constant in code.co_consts if type(constant) is tuple]
    if any(has_text(constants, name) for constants in (code.co_consts, *inner)):
        return True
    if name not in code.co_names:
        return False
    text = code.co_code
    return any(
        code.co_names[step.argument >> 1] == name for step, _ in _pairs(text, text[::2], _LOAD_ATTR)
    )


def has_text(constants: tuple[object, ...], text: str) -> bool:
    """Whether a text is among the constants of code."""
    # the types first: with `python -bb` a text can't be compared with bytes
    return any(type(constant) is str and constant == text for constant in constants)


class _Step(NamedTuple):
    operation: int
    argument: int


def _pairs(text: bytes, operations: bytes, operation: int) -> Iterator[tuple[_Step, _Step]]:
    """Each such operation, and the one before."""
    offset = operations.find(operation)
    while offset >= 0:
        before = offset - 1
        while before > 0 and operations[before] in (_CACHE, _EXTENDED):
            before -= 1
        yield _step(text, offset), _step(text, max(before, 0))
        offset = operations.find(operation, offset + 1)


def _step(text: bytes, index: int) -> _Step:
    argument = text[2 * index + 1]
    if index and text[2 * index - 2] == _EXTENDED:
        argument |= text[2 * index - 1] << 8
    return _Step(text[2 * index], argument)
