"""What single nodes of a tree of TypeScript or JavaScript mean, wherever they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kl_hooks.code.scanner.trees import text_of

if TYPE_CHECKING:
    from tree_sitter import Node

FUNCTIONS: Final = frozenset(
    {"arrow_function", "function_expression", "function", "generator_function"}
)
"""The nodes of functions in expressions."""


def required_module(call: Node) -> str:
    """The specifier of `require("x")` and `import("x")`; empty for any other call."""
    called = call.child_by_field_name("function")
    if called is None or called.type not in ("import", "identifier"):
        return ""
    if called.type == "identifier" and text_of(called) != "require":
        return ""
    arguments = call.child_by_field_name("arguments")
    first = arguments.named_children[:1] if arguments is not None else ()
    if first and first[0].type == "string":
        return string_value(first[0])
    return ""


def string_value(node: Node) -> str:
    """What a string literal holds, escapes as they are."""
    return text_of(node)[1:-1]
