"""Blocks of tests as vitest, jest, mocha and Node's own runner have them: `it("…", …)` in
`describe("…", …)`.

A block is called as the reports of vitest call it: `Cart > has a total`. What a call means is
decided by what its name is bound to: an import from a runner, or nothing in the file, as where a
runner sets it as a global.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kl_hooks.code.scanner.trees import text_of
from kl_hooks.code.typescript.nodes import FUNCTIONS, required_module
from kl_hooks.model.definitions import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tree_sitter import Node

    from kl_hooks.code.typescript.scopes import Scope

BETWEEN: Final = " > "
"""Between the titles of a block and of those around it."""
_TEST: Final = "test"
_GROUP: Final = "group"
_SORTS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("it", "test", "specify", "fit", "xit", "xtest"), _TEST),
    **dict.fromkeys(("describe", "suite", "context", "fdescribe", "xdescribe"), _GROUP),
}
"""The functions of runners, by the names that they export or set as globals."""
_RUNNERS: Final = frozenset(
    {"vitest", "@jest/globals", "node:test", "bun:test", "mocha", "@playwright/test", "ava"}
)
_LONGEST: Final = 200
"""Characters of a title."""
_LONGEST_CHAIN: Final = 12
"""Members and calls up to the name of a function: generated code has chains of thousands."""


class Block(NamedTuple):
    """A block of tests, or a test."""

    title: str
    """Its own, as written in the source."""
    is_test: bool


class BlockReader:
    """Finds the blocks of one file among its calls."""

    def __init__(self, root: Node) -> None:
        self._sorts = dict(_SORTS)
        """Name in this file → what its call begins."""
        # beforehand: the walk comes to the end of a file first
        for statement in root.named_children:
            if statement.type == "export_statement":
                statement = statement.child_by_field_name("declaration") or statement
            if statement.type == "import_statement":
                self._read_import(statement)
            elif statement.type in ("lexical_declaration", "variable_declaration"):
                for declarator in statement.named_children:
                    self._read_variable(declarator)
            else:
                self._bind(text_of(statement.child_by_field_name("name")), "")

    def _read_import(self, statement: Node) -> None:
        source = statement.child_by_field_name("source")
        is_runner = source is not None and text_of(source)[1:-1] in _RUNNERS
        for clause in statement.named_children:
            for part in clause.named_children if clause.type == "import_clause" else ():
                if part.type == "identifier":  # `import test from "node:test"`
                    self._bind(text_of(part), _TEST if is_runner else "")
                for item in part.named_children if part.type == "named_imports" else ():
                    original = item.child_by_field_name("name")
                    local = item.child_by_field_name("alias") or original
                    self._bind(
                        text_of(local), _SORTS.get(text_of(original), "") if is_runner else ""
                    )

    def _read_variable(self, declarator: Node) -> None:
        """`const test = require("node:test")`, `const { it } = require("mocha")`, and what a runner
        makes: `const test = base.extend({…})`.
        """
        pattern = declarator.child_by_field_name("name")
        root = _root(declarator.child_by_field_name("value"))
        specifier = required_module(root) if root is not None else ""
        for name, original in _bound_names(pattern):
            if specifier in _RUNNERS:
                sort = _SORTS.get(original, _TEST)
            elif root is not None and root.type == "identifier":
                sort = self._sorts.get(text_of(root), "")
            else:
                sort = ""
            self._bind(name, sort)

    def _bind(self, name: str, sort: str) -> None:
        if sort:
            self._sorts[name] = sort
        else:
            self._sorts.pop(name, None)

    def block(self, call: Node, scope: Scope) -> Block | None:
        """The block that a call begins; None for any other call."""
        arguments = call.child_by_field_name("arguments")
        if arguments is None or arguments.named_child_count < 2 or arguments.type != "arguments":
            return None
        parts = [part for part in arguments.named_children if part.type != "comment"]
        if len(parts) < 2 or not any(part.type in FUNCTIONS for part in parts[1:]):
            return None
        name, sort = self._head(call.child_by_field_name("function"))
        if not sort or _is_local(name, scope):
            return None
        return Block(_title(parts[0]), sort == _TEST)

    def _head(self, called: Node | None) -> tuple[str, str]:
        """The name of the function that is called, and what it begins: of `it.each(rows)` and
        `describe.skip` that of the first name.
        """
        is_group = False
        for _ in range(_LONGEST_CHAIN):
            if called is None or called.type not in ("call_expression", "member_expression"):
                break
            if called.type == "call_expression":
                called = called.child_by_field_name("function")
            else:
                member = text_of(called.child_by_field_name("property"))
                if member == "step":  # a part of a test of Playwright
                    return "", ""
                is_group |= member == "describe"
                called = called.child_by_field_name("object")
        if called is None or called.type != "identifier":
            return "", ""
        name = text_of(called)
        sort = self._sorts.get(name, "")
        return name, _GROUP if sort and is_group else sort


def _root(value: Node | None) -> Node | None:
    """What a chain of members and calls begins with: a name, or the call of `require`."""
    for _ in range(_LONGEST_CHAIN):
        is_chain = value is not None and value.type in ("call_expression", "member_expression")
        if value is None or not is_chain or required_module(value):
            return value
        key = "function" if value.type == "call_expression" else "object"
        value = value.child_by_field_name(key)
    return None


def _bound_names(pattern: Node | None) -> list[tuple[str, str]]:
    """(name here, name where it is from) of each name that a pattern binds."""
    if pattern is None:
        return []
    if pattern.type == "identifier":
        return [(text_of(pattern), text_of(pattern))]
    names = []
    for part in pattern.named_children:
        if part.type == "shorthand_property_identifier_pattern":
            names.append((text_of(part), text_of(part)))
        elif part.type == "pair_pattern":
            value = part.child_by_field_name("value")
            names.append((text_of(value), text_of(part.child_by_field_name("key"))))
    return names


def _is_local(name: str, scope: Scope) -> bool:
    """Whether the name is a parameter, or bound in a function around."""
    around: Scope | None = scope
    while around is not None and around.outer is not None:
        if name in around.values:
            return True
        around = around.outer
    return False


def _title(node: Node) -> str:
    """A title as written, on one line, without its quotes."""
    text = text_of(node)
    if node.type in ("string", "template_string"):
        text = text[1:-1]
    return " ".join(text.split())[:_LONGEST]
