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
"""The default of a part that maps something: nobody changes a `Mapping`."""


class _LazyPattern(Generic[AnyStr]):
    """Looks like what `re.compile` gives. The functions of `re` don't take it, its methods do the
    same.
    """

    def __init__(self, text: AnyStr, flags: int) -> None:
        self._text: AnyStr = text
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        # asked for a name that the instance lacks: the first time for each method
        attribute = getattr(self._compiled(), name)
        setattr(self, name, attribute)
        return attribute

    def _compiled(self) -> Pattern[AnyStr]:
        compiled: Pattern[AnyStr] | None = self.__dict__.get("compiled")
        if compiled is None:
            compiled = self.__dict__["compiled"] = _compile(self._text, self._flags)
        return compiled


def lazy_pattern(text: AnyStr, flags: int = 0) -> Pattern[AnyStr]:
    """The regular expression, compiled when one of its methods is first called: re.error is raised
    then.
    """
    return cast("Pattern[AnyStr]", _LazyPattern(text, flags))


# For type checkers it is that of `typing`, which compiles the text of each annotation
# (`ForwardRef`): two thirds of the time that it takes to make a type.
if TYPE_CHECKING:
    from typing import NamedTuple as NamedTuple
else:
    # what `namedtuple` has set already, and better
    _OF_THE_BODY = frozenset(("__module__", "__annotations__", "__classcell__"))

    class _MakesTuples(type):
        """Makes a named tuple of a class whose body annotates its fields."""

        def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> type:
            # from Python 3.14 on (PEP 649) only because each module has `annotations` of __future__
            fields = body.get("__annotations__", {})
            defaults = [body[field] for field in fields if field in body]
            made = namedtuple(name, fields, defaults=defaults, module=body["__module__"])
            for attribute, value in body.items():
                if attribute not in fields and attribute not in _OF_THE_BODY:
                    setattr(made, attribute, value)
            made.__annotations__ = fields
            return made

    NamedTuple = type.__new__(_MakesTuples, "NamedTuple", (), {"__module__": __name__})
