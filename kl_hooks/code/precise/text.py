"""Places, signatures and docstrings of a file as libcst keeps it: every space, every comment."""

from __future__ import annotations

import re
from typing import Any

from kl_hooks.code.decoded import LONGEST
from kl_hooks.code.signature import tidy
from kl_hooks.model.canonical import replace_surrogates

_LINE_END = re.compile(r"\r\n|\r|\n")


class Source:
    """The text of a module and where its nodes stand in it."""

    def __init__(self, module: Any, positions: Any) -> None:
        self.module = module
        self._positions = positions
        self._lines = _LINE_END.split(module.code.removeprefix("\ufeff"))
        self.count = max(len(self._lines) - (self._lines[-1] == ""), 1)
        """How many lines there are; an empty file has one."""

    def place(self, node: Any) -> tuple[int, int, int, int]:
        """(line, column, end line, end column); lines count from 1, columns in characters from 0."""
        there = self._positions[node]
        return there.start.line, there.start.column, there.end.line, there.end.column

    def statement(self, node: Any) -> str:
        """The source of a node on one line; of a longer one the first line and `…`."""
        line, column, end_line, end_column = self.place(node)
        if line == end_line:
            return shown(self._lines[line - 1][column:end_column])
        return shown(self._lines[line - 1][column:].rstrip()) + " …"


def header(source: Source, node: Any) -> str:
    """The head of a class or function up to its colon: decorators, comments and line ends taken out of the tree."""
    import libcst

    class Plain(libcst.CSTTransformer):
        def leave_Comment(self, original_node: Any, updated_node: Any) -> Any:
            return libcst.RemoveFromParent()

        def leave_SimpleWhitespace(self, original_node: Any, updated_node: Any) -> Any:
            return updated_node.with_changes(value=" " if updated_node.value else "")

    nothing = libcst.SimpleStatementSuite([libcst.Pass()], leading_whitespace=libcst.SimpleWhitespace(""))
    alone = node.with_changes(body=nothing, decorators=(), leading_lines=(), lines_after_decorators=())
    text = libcst.Module([]).code_for_node(alone.visit(Plain()))
    return shown(tidy(text.rstrip().removesuffix(":pass").encode("utf-8", "replace")).decode())


def doc_line(node: Any) -> str:
    """The first line of a module's, class's or function's docstring, or empty."""
    text = node.get_docstring(clean=False)
    if not text:
        return ""
    return shown(str(replace_surrogates(text.lstrip().partition("\n")[0].rstrip())).replace("\0", ""))


def shown(text: str) -> str:
    """At most `LONGEST` characters, `…` where it was cut."""
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
