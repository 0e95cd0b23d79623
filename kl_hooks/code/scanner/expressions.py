"""Expressions: what a name refers to where it is used, as far as one file shows. One short text
each:

    =Parser.feed        what this file defines under that name
    @pkg.mod:name       what is imported (leading dots: a relative import)
    ^Parser             an instance of a class of this file, or the class itself: `self`, `cls`
    <Parser             the same, but looked up from its bases on: `super()`
    ~EXPRESSION>        an instance of the class that the expression names, or what the function is annotated to return
    &Parser             an instance of the class that a method returning `Self` is called on
    *name               a name that only a star import can have brought
    ?name               an attribute of something unknown, or a name that nothing here binds

Attributes that are still to be followed come after a bar: `@pkg.mod:Parser|feed`. The scanner
writes these texts, the facts of a file hold them, and the resolver reads them: nobody else knows
how they are spelled.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from kl_hooks.model.definitions import NamedTuple

DEFINED: Final = "="
IMPORTED: Final = "@"
INSTANCE: Final = "^"
SUPER: Final = "<"
RESULT: Final = "~"
SAME_CLASS: Final = "&"
STARRED: Final = "*"
UNRESOLVED: Final = "?"
UNKNOWN: Final = ""
"""Instead of an expression: the name is bound here to something unknown."""


class Ref(NamedTuple):
    """An expression, decoded."""

    kind: str
    module: str
    """Of an import: the module, with leading dots where it is relative."""
    path: str
    """The name it starts with, empty for an imported module; of a RESULT the expression of what is
    called.
    """
    attributes: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The expression."""
        if self.module and self.path:
            root = f"{self.module}:{self.path}"
        else:
            root = self.module or self.path
        if self.kind == RESULT:
            head = f"{self.kind}{root}>"
        else:
            head = f"{self.kind}{root}"
        if not self.attributes:
            return head
        return with_attributes(head, ".".join(self.attributes))

    @property
    def root_name(self) -> str:
        """The last name before the attributes."""
        return (self.path or self.module).rpartition(".")[2]

    @property
    def import_base(self) -> tuple[str, int]:
        """The name of an imported module without its leading dots, and how many these are."""
        name = self.module.lstrip(".")
        return name, len(self.module) - len(name)


@lru_cache(maxsize=50_000)  # the files of a repository use the same names over and over
def decode(expression: str) -> Ref:
    """The parts of an expression that is not empty."""
    kind = expression[0]
    module = ""
    if kind == RESULT:
        # expressions are nested (`~~=f>|read>`): the last `>` closes the outermost one
        end = expression.rindex(">")
        path = expression[1:end]
        attributes = expression[end + 2 :]
    else:
        path, _, attributes = expression[1:].partition("|")
        if kind == IMPORTED:
            module, _, path = path.partition(":")
    return Ref(kind, module, path, tuple(attributes.split(".")) if attributes else ())


def imported(module: str, name: str = "") -> str:
    """The expression for a module, or for a name that is imported from it."""
    if name:
        return f"{IMPORTED}{module}:{name}"
    return f"{IMPORTED}{module}"


def with_attributes(expression: str, attributes: str) -> str:
    """An expression with more attributes (joined by dots) after it."""
    if "|" not in expression:
        return f"{expression}|{attributes}"
    return (
        f"{expression}{'.' if '|' in expression[expression.rfind('>') + 1 :] else '|'}{attributes}"
    )


def last_part(expression: str) -> str:
    """The last name of an expression."""
    ref = decode(expression)
    if ref.attributes:
        return ref.attributes[-1]
    return ref.root_name


def is_anonymous(expression: str) -> bool:
    """True for an instance or what `self` is: which has no name of its own, so that nothing can
    link to it.
    """
    return (
        expression[:1] in (RESULT, INSTANCE, SUPER)
        and "|" not in expression[expression.rfind(">") + 1 :]
    )


def used_expressions(expression: str, attributes: Sequence[str]) -> list[str]:
    """The expressions that a use is counted under. `attributes`: the names after its root, all that
    is known where the root is unknown.
    """
    if not expression:
        return [UNRESOLVED + name for name in attributes]
    if is_anonymous(expression):
        return []  # the instance itself, not one of its names
    return [expression]
