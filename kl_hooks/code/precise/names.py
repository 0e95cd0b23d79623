"""What a definition that libcst found is called and which sort of symbol it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Found:
    """A definition."""

    kind: str
    """`class`, `function`, `field` or `alias`."""
    name: str
    """Qualified within its module."""
    node: Any
    in_class: bool
    """True if it stands in the body of a class."""


def sort_of(one: Found) -> str:
    """The part of its Id before the colon."""
    if one.kind == "class":
        bases = [arg.value for arg in one.node.bases]
        metaclasses = [arg.value for arg in one.node.keywords if arg.keyword and arg.keyword.value == "metaclass"]
        return "interface" if {last_name(b) for b in bases + metaclasses} & {"Protocol", "ABC", "ABCMeta"} else "type"
    if one.kind == "function":
        if not one.in_class:
            return "function"
        return "property" if any(_makes_property(d.decorator) for d in one.node.decorators) else "method"
    return "type" if one.kind == "alias" else "field"


def is_overload(one: Found) -> bool:
    """True for a function under `@overload`."""
    return one.kind == "function" and any(last_name(d.decorator) == "overload" for d in one.node.decorators)


def last_name(node: Any) -> str:
    """`c` of `a.b.c`, `c(…)` and `c[…]`; empty for anything else."""
    import libcst

    while isinstance(node, libcst.Subscript | libcst.Call):
        node = node.value if isinstance(node, libcst.Subscript) else node.func
    if isinstance(node, libcst.Attribute):
        return node.attr.value
    return node.value if isinstance(node, libcst.Name) else ""


def local_names(scopes: Any, node: Any, around: Any) -> list[str]:
    """The qualified names that libcst gives to what `node` binds in the scope of `around`; `?` if it gives none."""
    from libcst.metadata import QualifiedNameSource

    found = scopes[around].get_qualified_names_for(node)
    return sorted(one.name for one in found if one.source is QualifiedNameSource.LOCAL) or ["?"]


def _makes_property(decorator: Any) -> bool:
    import libcst

    name = last_name(decorator)
    accessor = isinstance(decorator, libcst.Attribute) and name in ("setter", "getter", "deleter")
    return name.endswith("property") or accessor
