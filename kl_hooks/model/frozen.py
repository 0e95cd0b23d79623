"""Frozen dataclasses with slots, made in a fifth of the time that `dataclasses` takes for one.

A command of kl is a new process and makes some forty such classes before it does anything. `dataclasses` writes six
functions for each as text and compiles them; here only `__init__` is, the others are the same for all classes. What a
class does and says is the same (tests hold the two side by side), and so is what a type checker sees.
"""

from __future__ import annotations

from dataclasses import MISSING, Field, FrozenInstanceError, fields
from dataclasses import dataclass as _dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass"]

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from dataclasses import dataclass
else:

    def dataclass(cls: type | None = None, /, *, frozen=False, slots=False, order=False) -> Any:
        """As `dataclasses.dataclass`; quick for those that are frozen and have slots."""
        if not (frozen and slots):
            return _dataclass(cls, frozen=frozen, slots=slots, order=order)
        return lambda cls: _made(cls, order)


def _made(cls: type, order: bool) -> type:
    made: type = _dataclass(slots=True, init=False, repr=False, eq=False)(cls)
    known = fields(made)
    compared = _values([one.name for one in known if one.compare])
    own = {
        "__init__": _init(made, known),
        "__repr__": _repr([one.name for one in known if one.repr]),
        "__eq__": lambda self, other: compared(self) == compared(other) if _alike(self, other) else NotImplemented,
        "__hash__": lambda self: hash(compared(self)),
        "__setattr__": _refuse,
        "__delattr__": _refuse,
        "__reduce__": _reduce(_values([one.name for one in known])),
    }
    if order:
        own["__lt__"] = lambda self, other: compared(self) < compared(other) if _alike(self, other) else NotImplemented
        own["__le__"] = lambda self, other: compared(self) <= compared(other) if _alike(self, other) else NotImplemented
    for name, method in own.items():
        if name not in cls.__dict__:
            setattr(made, name, method)
    return made


def _alike(one: object, other: object) -> bool:
    return other.__class__ is one.__class__


def _values(names: Sequence[str]) -> Callable[[Any], tuple[Any, ...]]:
    """A function that gives the values of these fields."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda one: tuple(getattr(one, name) for name in names)


def _init(made: type, known: Sequence[Field[Any]]) -> Any:
    """`__init__`, which sets slots past `__setattr__`."""
    space: dict[str, Any] = {"MISSING": MISSING}
    heads, lines = ["self"], []
    for one in known:
        name, head, value = one.name, one.name, one.name
        space[f"_set_{name}"] = getattr(made, name).__set__
        if one.default is not MISSING:
            head, space[f"_of_{name}"] = f"{name}=_of_{name}", one.default
        elif one.default_factory is not MISSING:
            head, space[f"_of_{name}"] = f"{name}=MISSING", one.default_factory
            value = f"_of_{name}() if {name} is MISSING else {name}"
        heads.append(head)
        lines.append(f"_set_{name}(self, {value})")
    if hasattr(made, "__post_init__"):
        lines.append("self.__post_init__()")
    exec("\n    ".join([f"def __init__({', '.join(heads)}):", *(lines or ["pass"])]), space)
    return space["__init__"]


def _repr(names: Sequence[str]) -> Any:
    return lambda self: f"{type(self).__qualname__}({', '.join(f'{n}={getattr(self, n)!r}' for n in names)})"


def _refuse(self: object, name: str, *value: object) -> None:
    raise FrozenInstanceError(f"cannot {'assign to' if value else 'delete'} field {name!r}")


def _reduce(values: Callable[[Any], tuple[Any, ...]]) -> Any:
    """For `copy` and `pickle`: made again of its values."""
    return lambda self: (self.__class__, values(self))
