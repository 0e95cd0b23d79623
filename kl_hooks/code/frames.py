"""Frame: a scope or an assignment of one file, with the text of its code and what was found in it.

Every scope (module, class, function) and every class-level or module-level assignment is a Frame. `walk` fills them,
`digests` makes content hashes of their texts, `symbols` makes symbols of them.
"""

from __future__ import annotations

import ast
from typing import Any

Node = Any
"""An ast node. Its class is asked at run time; naming the classes would buy a cast per line."""


class Frame:
    """A scope or an assignment, and what was found in it."""

    __slots__ = (
        "checking", "full", "globals", "imports", "kids", "kind", "lazy", "names", "node", "outer", "own", "prefix",
        "receiver", "scope", "text",
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
        self.kids: list[Frame] = []
        self.imports: list[list[Any]] = []
        self.text: list[str] = []
        self.own = b""
        """Digest of what is its own: a class or module without the functions and classes defined in it."""
        self.full = b""
        """Digest with everything inside."""


def docstring_of(node: Node) -> str | None:
    """The docstring of a module, class or function as written, or None."""
    if not node.body or node.body[0].__class__ is not ast.Expr:
        return None
    value = node.body[0].value
    if value.__class__ is ast.Constant and value.value.__class__ is str:
        return str(value.value)
    return None
