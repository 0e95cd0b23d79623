"""Chains: `a.b.c` as a root name and the attributes after it, whatever node of the tree says it."""

from __future__ import annotations

import ast
import re

from kl_hooks.code.frames import Node

Chain = tuple[str, str]
"""(root name, attributes joined by dots or empty)."""
_DOTTED = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")
_WRAPPERS = frozenset(
    {"Optional", "Annotated", "Final", "ClassVar", "Required", "NotRequired", "ReadOnly", "Type", "type"}
)  # a class has the members of its instances
_VAGUE = frozenset({"Any", "Union", "Type", "Callable", "Literal", "LiteralString", "Never", "NoReturn", "TypeAlias"})
"""Names in annotations that say nothing of the class."""


def chain(node: Node) -> Chain | None:
    """The chain that a Name or Attribute is; None for anything that starts with something else than a name."""
    parts: list[str] = []
    while node.__class__ is ast.Attribute:
        parts.append(node.attr)
        node = node.value
    if node.__class__ is not ast.Name:
        return None
    parts.reverse()
    return node.id, ".".join(parts)


def base_chain(node: Node) -> Chain | None:
    """The chain of a class's base, `Base[int]` and all."""
    return chain(node.value if node.__class__ is ast.Subscript else node)


def annotated(node: Node) -> Chain | None:
    """The class that an annotation names, if it names one; `X | None`, `Optional[X]`, `Annotated[X, …]`, "X" do."""
    for _ in range(4):
        cls = node.__class__
        if cls is ast.Constant and node.value.__class__ is str:
            return dotted(node.value)
        if cls is ast.BinOp and node.op.__class__ is ast.BitOr:
            node = node.left if _nothing(node.right) else node.right if _nothing(node.left) else None
        elif cls is ast.Subscript:
            outer = chain(node.value)
            if outer is None:
                return None
            last = outer[1].rpartition(".")[2] or outer[0]
            if last == "Union" and node.slice.__class__ is ast.Tuple:
                some = [one for one in node.slice.elts if not _nothing(one)]
                node = some[0] if len(some) == 1 else None
                continue
            if last not in _WRAPPERS:
                return outer if last not in _VAGUE else None
            node = node.slice.elts[0] if node.slice.__class__ is ast.Tuple and node.slice.elts else node.slice
        else:
            break
    found = chain(node) if node is not None else None
    return found if found is None or (found[1].rpartition(".")[2] or found[0]) not in _VAGUE else None


def dotted(text: str) -> Chain | None:
    """The chain that a text spells, such as an annotation in quotes."""
    if len(text) > 200 or _DOTTED.fullmatch(text) is None:
        return None
    root, _, rest = text.partition(".")
    return root, rest


def _nothing(node: Node) -> bool:
    return node.__class__ is ast.Constant and node.value is None
