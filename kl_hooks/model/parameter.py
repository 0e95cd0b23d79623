"""Parameters: what an interface (a command, a tool, a route, the Python API) has to know about a
field of a request, stated once, beside the field.

A request is a NamedTuple: a class of it is made in a tenth of the time of a frozen dataclass, and
every command pays for those that it imports (ADR-0070). A field that people and programs may set is
annotated: `turn: Annotated[int, Parameter("Of a loop of work and review.", bounds=(1, 1000))] = 0`.
Fields without it are set by the program alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Final, NewType, get_args, get_origin, get_type_hints

from kl_hooks.errors import UsageProblem
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.text import one_line, suggest_spelling

REQUIRED: Final[Any] = object()
"""Default of a field that must be given, where one before it need not be."""
InputFile = NewType("InputFile", str)
"""A file or folder whose content an operation reads. Before the operation runs, the policy is asked
whether whoever asks may see it: what is read would be printed, or stored under no rule.
"""
STDIN: Final = "-"
"""In place of a file: what comes from stdin."""


class Parameter(NamedTuple):
    """How one field of a request is described, and what it takes."""

    help: str
    """A sentence, for people and agents alike."""
    choices: tuple[str, ...] = ()
    """Empty: any text."""
    bounds: tuple[int, int] | None = None
    """Least and most of a whole number."""
    name: str = ""
    """Its public name where it is not that of the field: `pin` of the field `pins`, which may
    be given several times.
    """
    metavar: str = ""
    """In place of its value in help."""
    default: str = ""
    """What happens without it, where this is more than the default of the field."""
    is_default_shown: bool = False
    """Whether help prints the default of the field."""
    argument: str = ""
    """Its name in the usage line of a command, where it is no option; `NAME...` takes several
    words.
    """
    aliases: tuple[str, ...] = ()
    """Former names, which are read and shown nowhere."""
    is_clamped: bool = False
    """Whether a number outside of the bounds is taken as the nearest one."""
    is_free: bool = False
    """Whether the operation itself reads its value, in other spellings too, and reports all that is
    wrong at once: in commands, choices and bounds describe it.
    """
    spellings: tuple[str, ...] = ()
    """Other words that are read for its choices, and shown to programs."""
    is_personal: bool = False
    """Whether people set it, and no tool has it."""
    is_hidden: bool = False
    """Whether help omits it."""
    is_read_from_stdin: bool = False
    """Whether a command reads it from stdin where it is `-` or not given."""
    is_option: bool = False
    """Whether a command has an option of it although it must be given."""
    short: str = ""
    """Another name of its option: `-q`."""
    is_json: bool = False
    """Whether programs may give any JSON value for it, which is read as its text."""
    flags: tuple[str, ...] = ()
    """Help of the first choices, where a command has a flag for each in place of an option."""


class RequestField(NamedTuple):
    """A field of a request that people and programs may set."""

    name: str
    """Of the field."""
    value_type: type
    """`str`, `int`, `bool`, `tuple`: of texts, or `dict`: of texts by name."""
    default: Any
    """Of a required field `REQUIRED`."""
    parameter: Parameter
    is_input: bool = False
    """Whether its texts are names of files that are read: an `InputFile`."""

    @property
    def is_required(self) -> bool:
        """Whether it must be given."""
        return self.default is REQUIRED

    @property
    def is_flag(self) -> bool:
        """Whether it is true where it is given; else a bool is given as true or false."""
        return self.value_type is bool and self.default is False

    @property
    def public_name(self) -> str:
        """Its name in commands, tools and programs, in words with `_`."""
        return self.parameter.name or self.name

    @property
    def names(self) -> tuple[str, ...]:
        """Each name by which it is read, the public one first."""
        return tuple(dict.fromkeys((self.public_name, self.name, *self.parameter.aliases)))

    def clamped(self, value: Any) -> Any:
        """The value, or the nearest one within its bounds where it takes that instead."""
        if not (self.parameter.is_clamped and self.parameter.bounds):
            return value
        least, most = self.parameter.bounds
        return min(max(value, least), most)

    def check(self, value: Any) -> None:
        """UsageProblem for a value that it does not take."""
        bounds = self.parameter.bounds
        choices = self.parameter.choices
        place = self.public_name
        is_list = self.value_type is tuple and isinstance(value, tuple | list)
        # bool is a subclass of int: `true` would pass as 1
        is_of_type = is_list or type(value) is self.value_type
        texts = value if is_list else ()
        if not is_of_type or not all(isinstance(text, str) for text in texts):
            raise UsageProblem(f"takes {self._taken()}, not {value!r:.40}.", place=place)
        if bounds and not self.parameter.is_clamped and not bounds[0] <= value <= bounds[1]:
            raise UsageProblem(f"takes {self._taken()}, not {value}.", place=place)
        wrong = [
            text for text in (value if is_list else (value,)) if choices and text not in choices
        ]
        if wrong:
            raise UsageProblem(f"takes {', '.join(choices)}, not {wrong[0][:40]!r}.", place=place)

    def read(self, text: str) -> Any:
        """Return the value that a text means: of several texts those between commas and
        spaces. UsageProblem for one that it does not take.
        """
        text = text.strip()
        value: Any = text
        if self.value_type is tuple:
            value = tuple(text.replace(",", " ").split())
        elif self.value_type is int:
            # nine digits: more are no number that any field takes, and slow to read
            if not (text.isascii() and text.isdecimal() and len(text) <= 9):
                taken = f"takes {self._taken()}, not {text[:40]!r}."
                raise UsageProblem(taken, place=self.public_name)
            value = int(text)
        self.check(value)
        return value

    def _taken(self) -> str:
        bounds = self.parameter.bounds
        if bounds:
            return f"{bounds[0]} to {bounds[1]}"
        return {str: "a text", int: "a whole number", bool: "true or false"}.get(
            self.value_type, "a list of texts"
        )


@cache
def fields_of(request_type: type) -> tuple[RequestField, ...]:
    """Return the fields of a request that people and programs may set, in their order."""
    hints = get_type_hints(request_type, include_extras=True)
    return tuple(_fields(request_type, hints))


def _fields(request_type: type, hints: Mapping[str, Any]) -> Iterable[RequestField]:
    for name, hint in hints.items():
        if get_origin(hint) is not Annotated:
            continue
        value_type, parameter = get_args(hint)[:2]
        default = request_type._field_defaults.get(name, REQUIRED)  # type: ignore[attr-defined]
        is_input = InputFile in (value_type, *get_args(value_type))
        yield RequestField(name, _plain_type(value_type), default, parameter, is_input)


def _plain_type(hint: Any) -> type:
    """The type of a hint; of `int | None`, where None is not given, `int`."""
    if isinstance(hint, UnionType):
        hint = next(part for part in get_args(hint) if part is not NoneType)
    if hint is InputFile:
        return str
    plain: type = get_origin(hint) or hint
    return plain


def values_of(request_type: type, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of fields, by field, from options by either name; what is empty was not
    given.

    UsageProblem for a name that no field has, and for a value that its field does not take.
    """
    by_name = {name: field for field in fields_of(request_type) for name in field.names}
    values: dict[str, Any] = {}
    for name, value in options.items():
        if name not in by_name:
            raise UsageProblem(
                f'"{one_line(name, 60)}" is no option.', hint=suggest_spelling(name, by_name)
            )
        if value in (None, "", (), [], 0, False):
            continue
        field = by_name[name]
        field.check(value)
        values[field.name] = tuple(value) if field.value_type is tuple else field.clamped(value)
    return values
