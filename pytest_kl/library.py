"""Which names of a module of the standard library are settings: a function of the module stores
there what it is called with (`logging.setLoggerClass`, `shutil.register_unpack_format`). What
functions store else they have computed, such as a cache.

Asked only of names that differ: to look at one function takes up to a millisecond.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from opcode import opmap, opname
from types import CodeType, FunctionType
from typing import Any, Final

from pytest_kl.contents import CONTAINERS, identity
from pytest_kl.reads import inner_codes
from pytest_kl.stores import Analysis

_STORES_ITEM: Final = opmap["STORE_SUBSCR"]
_STORES_GLOBAL: Final = opmap["STORE_GLOBAL"]
_RETURNS: Final = frozenset(number for name, number in opmap.items() if name == "RETURN_VALUE")
_PADDING: Final = opname.index("CACHE")
_LOADS_CONSTANT: Final = opmap["LOAD_CONST"]


class SettingNames:
    """The settings of modules, each looked for once."""

    def __init__(self) -> None:
        self._analysis = Analysis(lambda _: None)
        self._answers: dict[tuple[int, str], bool] = {}

    def is_setting(self, space: Mapping[str, Any], name: str) -> bool:
        """Whether a function of the module with this namespace sets the name, or an item of it."""
        key = identity(space), name
        if key not in self._answers:
            self._answers[key] = any(
                self._hands(code, space, name) or _registers(code, space, name)
                for code in _functions_naming(space, name)
            )
        return self._answers[key]

    def is_computed(self, space: Mapping[str, Any], name: str) -> bool:
        """Whether functions of the module alone store to the name, and none of them sets it."""
        codes = _functions_naming(space, name)
        is_stored = any(_STORES_GLOBAL in code.co_code[::2] for code in codes)
        return is_stored and not self.is_setting(space, name)

    def _hands(self, code: CodeType, space: Mapping[str, Any], name: str) -> bool:
        try:
            stores = self._analysis.of(code, space)
        except Exception:  # bytecode that is not understood
            return False
        return stores is not None and any(place[0] == f"g:{name}" for place in stores.handed)


def _functions_naming(space: Mapping[str, Any], name: str) -> Iterator[CodeType]:
    """Those inside of others, too: hypothesis has one that runs at each garbage collection and
    stores when.
    """
    for value in [*space.values()]:
        if type(value) is FunctionType:
            yield from (code for code in inner_codes(value.__code__) if name in code.co_names)


def _registers(code: CodeType, space: Mapping[str, Any], name: str) -> bool:
    """Whether the name has a container, and it is a public function that stores items by a key and
    returns nothing: to store them is what it is for.
    """
    if type(space.get(name)) not in CONTAINERS:
        return False
    function = space.get(code.co_name)
    is_public = code.co_name[:1] != "_" and getattr(function, "__code__", None) is code
    return is_public and _STORES_ITEM in code.co_code[::2] and not _returns_something(code)


def _returns_something(code: CodeType) -> bool:
    text = code.co_code
    before = (_LOADS_CONSTANT, 0)
    for operation, argument in zip(text[::2], text[1::2], strict=True):
        if operation in _RETURNS and before[0] != _LOADS_CONSTANT:
            return True
        if operation != _PADDING:
            before = operation, argument
    return False
