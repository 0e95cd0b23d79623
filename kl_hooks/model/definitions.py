"""What modules define when they are imported, made without work that may never be needed: regular
expressions and named tuples.

Every command imports some 150 modules, and uses one in fifteen of their expressions and none of
their annotations (ADR-0111).
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping
from re import Pattern
from re import compile as _compile  # a suite may replace what `re` has while it is recorded
from typing import TYPE_CHECKING, Any, AnyStr, Final, Generic, cast

EMPTY: Final[Mapping[Any, Any]] = {}
"""The default of a part that maps something. As a `Mapping` it is not changed."""


class _LazyPattern(Generic[AnyStr]):
    """Looks like what `re.compile` gives. The functions of `re` don't take it, its methods do the
    same.
    """

    _compiled: Pattern[AnyStr] | None = None

    def __init__(self, text: AnyStr, flags: int) -> None:
        self._text: AnyStr = text
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        # asked for what the instance lacks: the first time for each method
        if name.startswith("_"):
            raise AttributeError(name)
        if self._compiled is None:
            self._compiled = _compile(self._text, self._flags)
        attribute = getattr(self._compiled, name)
        setattr(self, name, attribute)
        return attribute

    def __repr__(self) -> str:
        return f"lazy_pattern({self._text!r}, {self._flags})"

    def __reduce__(self) -> tuple[Any, ...]:
        return lazy_pattern, (self._text, self._flags)


def lazy_pattern(text: AnyStr, flags: int = 0) -> Pattern[AnyStr]:
    """The regular expression, compiled when one of its methods is first called: re.error is raised
    then.
    """
    return cast("Pattern[AnyStr]", _LazyPattern(text, flags))


# For type checkers it is that of `typing`, which compiles the text of each annotation
# (`ForwardRef`): two thirds of the time that it takes to make a type. They also refuse names that
# are not allowed in its body.
if TYPE_CHECKING:
    from typing import NamedTuple as NamedTuple
else:
    _NOT_COPIED = frozenset(("__module__", "__annotations__", "__classcell__"))
    """Of a body: what the tuple has already, or has from us."""

    class _MakesTuples(type):
        """Makes a named tuple of a class whose body annotates its fields."""

        def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> type:
            # from Python 3.14 on, unless `from __future__ import annotations` (PEP 749)
            if len(bases) > 1 or "__annotate_func__" in body:
                raise TypeError(f"{name}: another base, or annotations that are not postponed")
            fields = body.get("__annotations__", {})
            with_default = [field for field in fields if field in body]
            if with_default != list(fields)[len(fields) - len(with_default) :]:
                raise TypeError(f"{name}: a field without a default after one with a default")
            defaults = [body[field] for field in with_default]
            tuple_type = namedtuple(name, fields, defaults=defaults, module=body["__module__"])
            for attribute, value in body.items():
                if attribute not in fields and attribute not in _NOT_COPIED:
                    setattr(tuple_type, attribute, value)
            tuple_type.__annotations__ = fields
            return tuple_type

    NamedTuple = type.__new__(_MakesTuples, "NamedTuple", (), {"__module__": __name__})
