"""Frame: a scope or an assignment of one file, with the text of its code and what was found in it.

Every scope (module, class, function) and every class-level or module-level assignment is a Frame. `walk` fills them,
`digests` makes content hashes of their texts, `symbols` makes symbols of them.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from kl_hooks.code.imports_found import DYNAMIC

Node = Any
"""An ast node. Its class is asked at run time; naming the classes would buy a cast per line."""


class Frame:
    """A scope or an assignment, and what was found in it."""

    __slots__ = (
        "bases", "binds", "cache", "checking", "dynamic", "full", "globals", "head", "home", "ids", "imports",
        "kids", "kind", "lazy", "names", "node", "nonlocals", "outer", "own", "prefix", "receiver", "scope",
        "stars", "stores", "table", "text", "typed", "uses",
    )  # fmt: skip

    def __init__(self, kind: str, node: Node, names: list[str], outer: Frame | None, checking: bool) -> None:
        self.kind = kind
        """`module`, `class`, `function`, `field`, `alias`, or `block`: the inside of `if TYPE_CHECKING:`."""
        self.node = node
        self.names = names
        """What it binds in the scope around it: one name, several for `a, b = 1, 2`, none for module and block."""
        self.outer = outer
        self.scope: str = kind if kind in ("module", "class", "function") else outer.scope if outer else "module"
        self.lazy: bool = kind == "function" or (outer is not None and outer.lazy)
        self.checking = checking
        self.prefix = ""
        """What stands before the names bound in it: `Outer.`, `outer.<locals>.`."""
        self.receiver = ""
        """Inside a method: the name of its first argument."""
        self.globals: frozenset[str] = frozenset()
        self.nonlocals: frozenset[str] = frozenset()
        self.home: Frame = self if self.scope == kind or outer is None else outer.home
        """The scope whose names it sees: its own, or for a field and a block that of what is around it."""
        self.kids: list[Frame] = []
        self.imports: list[list[Any]] = []
        self.dynamic: set[str] = outer.dynamic if outer is not None else set(DYNAMIC)
        """The names, in this file, of the functions that import by name."""
        self.uses: list[tuple[str, str, int, int]] = []
        """(root name, attributes joined by dots, line, place in `RELATIONS`). A chain that starts with the result of a
        call has the root `a.b()`, one that starts with something else an empty one."""
        self.head = 0
        """How many of the uses stand before its body (decorators, bases, arguments): those see the scope around it."""
        self.bases: list[tuple[str, str, int]] = []
        """(root name, attributes, line) of each base of a class."""
        self.stores: list[str] = []
        """Names that are stored to, once for each time."""
        self.typed: list[tuple[str, str, str]] = []
        """(name or `self` attribute, root name and attributes of the class it is an instance of)."""
        self.binds: list[tuple[str, str]] = []
        """(name, what it is imported from), in the spelling of `code.uses`."""
        self.stars: list[str] = []
        """Modules of its star imports, in the same spelling."""
        self.ids: list[str] = []
        """The Ids of what it defines, for a module called `_`; none for a block."""
        self.cache: dict[str, str] = {}
        """Name → what it stands for when it is used in this scope, once asked for."""
        self.table: dict[str, str] | None = None
        """Name → what it stands for, of the names that this scope binds; once asked for."""
        self.text: list[str] = []
        self.own = b""
        """Digest of what is its own: a class or module without the functions and classes defined in it."""
        self.full = b""
        """Digest with everything inside."""


def release(frames: Sequence[Frame]) -> None:
    """Lets go of frames that nobody needs any more, and so of their tree: they hold each other, and nobody looks for
    such circles while files are read.
    """
    for frame in frames:
        del frame.home, frame.outer


def docstring_of(node: Node) -> str | None:
    """The docstring of a module, class or function as written, or None."""
    if not node.body or node.body[0].__class__ is not ast.Expr:
        return None
    value = node.body[0].value
    if value.__class__ is ast.Constant and value.value.__class__ is str:
        return str(value.value)
    return None
