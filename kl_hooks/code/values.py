"""What the expressions of `code.scopes` stand for, once they are followed."""

from __future__ import annotations

from typing import Final, NamedTuple

CLASSES: Final = frozenset({"type", "interface"})
FUNCTIONS: Final = frozenset({"function", "method"})


class Value(NamedTuple):
    """What an expression stands for, part by part."""

    sort: str
    """`module`, `package` (a namespace without a file), `symbol`, `instance` of a class, `attribute` of `self`
    without a symbol of its own, or `external`."""
    module: str
    name: str = ""
    """Dotted, within the module."""
    prefix: str = ""
    """Of a symbol's Id."""
    returned: bool = False
    """True where a function's annotation was believed on the way."""

    @property
    def id(self) -> str:
        """The Id of a symbol."""
        return f"{self.prefix}:{self.module}.{self.name}"


class Resolved(NamedTuple):
    """The symbols that an expression passes, the last one last, and the names at which it could not be followed."""

    symbols: tuple[Value, ...]
    lost: tuple[str, ...]
    beyond: bool = False
    """True where it goes on to what has no symbol, here or outside: the last symbol is passed, not meant."""


EXTERNAL: Final = Value("external", "")
NOTHING: Final = Resolved((), ())


def split(expression: str) -> tuple[str, str]:
    """The root of an expression and the attributes after it."""
    if expression[0] == "~":
        end = expression.rindex(">") + 1
        return expression[:end], expression[end + 1 :]
    root, _, rest = expression.partition("|")
    return root, rest


def last_name(root: str) -> str:
    """The name by which something is missed."""
    return root.rstrip(">").replace(":", ".").replace("|", ".").rpartition(".")[2].lstrip("@=^<~")
