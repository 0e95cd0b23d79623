"""What a function gives to who calls it, as far as its annotation and its decorators tell."""

from __future__ import annotations

import ast
from typing import Final

from kl_hooks.code.chains import annotated, chain
from kl_hooks.code.frames import Frame, Node
from kl_hooks.code.scopes import UNKNOWN, instance, owner_class, qualified

KEEPING: Final = frozenset(
    {
        "abstractmethod", "cache", "cached_property", "classmethod", "final", "getter", "lru_cache", "overload",
        "override", "property", "staticmethod", "wraps",
    }
)  # fmt: skip
"""Decorators after which a call, or for a property a look, still gives what the function returns."""


def returned(frame: Frame) -> str:
    """The expression for what a function returns; `UNKNOWN` if it does not say, or if a decorator may change it."""
    node = frame.node
    if node.returns is None or node.__class__ is not ast.FunctionDef or not all(map(_keeps, node.decorator_list)):
        return UNKNOWN
    root, rest = annotated(node.returns) or ("", "")
    if any(parameter.name == root for parameter in getattr(node, "type_params", ())):
        return UNKNOWN
    if "Self" in (root, rest):
        owner = owner_class(frame)
        return f"&{qualified(owner)}" if owner is not None else UNKNOWN
    outer = frame.outer
    return instance(outer.home, root, rest) if outer is not None else UNKNOWN


def is_setter(node: Node) -> bool:
    """True for the setter or deleter of a property: it says nothing about what the property gives."""
    return any(d.__class__ is ast.Attribute and d.attr in ("setter", "deleter") for d in node.decorator_list)


def _keeps(decorator: Node) -> bool:
    found = chain(decorator.func if decorator.__class__ is ast.Call else decorator)
    return found is not None and (found[1].rpartition(".")[2] or found[0]) in KEEPING
