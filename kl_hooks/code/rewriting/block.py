"""The `if TYPE_CHECKING:` block of a file: found or made, with what it needs, and imports put at its end (libcst)."""

from __future__ import annotations

import ast
import sys
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.code.rewriting.names import binds

if TYPE_CHECKING:
    import libcst as cst

_NAME: Final = "TYPE_CHECKING"
_WIDE: Final = 88
"""Columns that an import from typing may take with one more name in it."""


class Unfixable(Exception):
    """This edit can't be made; the text says why, as a clause."""


def with_block(module: cst.Module, tree: ast.Module, moved: list[cst.SimpleStatementLine]) -> cst.Module:
    """The module with `moved` under `if TYPE_CHECKING:`. Raises Unfixable. `tree`: the file as it was."""
    body: list[Any] = list(module.body)
    usable = _usable(tree)
    place = next((n for n, node in enumerate(body) if usable and _is_block(node)), None)
    if place is not None:
        block = body[place]
        body[place] = block.with_changes(body=block.body.with_changes(body=[*block.body.body, *moved]))
    else:
        if not usable:
            _import_name(module, body)
        _insert_block(body, moved)
    if not any(_imports(node, "__future__", "annotations") for node in body):
        if any("annotations" in binds(node) for node in ast.walk(tree)):
            raise Unfixable("something in the file is called annotations, as what it would have to import is")
        _insert(body, 1 if _is_docstring(body[0] if body else None) else 0, "from __future__ import annotations")
    return module.with_changes(body=body)


def _usable(tree: ast.Module) -> bool:
    """True if the name means what it says; Unfixable where the file calls something else so."""
    binding = [node for node in ast.walk(tree) if _NAME in binds(node)]
    flags = [node for node in tree.body if isinstance(node, ast.Assign) and ast.unparse(node) == f"{_NAME} = False"]
    if len(binding) == len(flags) == 1:
        return True
    if len(binding) == 1 and any(node is binding[0] and _means_it(node) for node in tree.body):
        return True
    if binding:
        raise Unfixable(f"something in the file is called {_NAME} that is not typing's")
    return False


def _means_it(node: ast.stmt) -> bool:
    if isinstance(node, ast.ImportFrom):
        typing = node.module in ("typing", "typing_extensions")
        return typing and any(alias.name == _NAME and alias.asname in (None, _NAME) for alias in node.names)
    return False


def _is_block(node: Any) -> bool:
    import libcst as cst

    named = isinstance(node, cst.If) and isinstance(node.test, cst.Name) and node.test.value == _NAME
    return named and isinstance(node.body, cst.IndentedBlock)


def _import_name(module: cst.Module, body: list[Any]) -> None:
    """Adds `from typing import TYPE_CHECKING`, to an import from typing where there is one with room."""
    import libcst as cst

    end = _end_of_imports(body)
    for place in range(end):
        node = body[place]
        if _imports(node, "typing") and len(node.body) == 1 and not node.body[0].lpar:
            alias = cst.ImportAlias(cst.Name(_NAME), comma=cst.Comma(whitespace_after=cst.SimpleWhitespace(" ")))
            longer = node.with_changes(body=[node.body[0].with_changes(names=[alias, *node.body[0].names])])
            if len(module.code_for_node(longer.with_changes(leading_lines=())).rstrip()) <= _WIDE:
                body[place] = longer
                return
    _insert(body, _place_of_typing(body[:end]), f"from typing import {_NAME}")


def _place_of_typing(section: list[Any]) -> int:
    """Where an import from typing stands among sorted ones: after those of Python's own library that sort before."""
    first = next(
        (n for n, node in enumerate(section) if not _is_docstring(node) and not _imports(node, "__future__")), None
    )
    if first is None:
        return len(section)
    own = [n for n in range(first, len(section)) if _module(section[n]).partition(".")[0] in sys.stdlib_module_names]
    before = [n for n in own if not _is_from(section[n]) or _module(section[n]) < "typing"]
    return before[-1] + 1 if before else own[0] if own else first


def _insert_block(body: list[Any], moved: list[cst.SimpleStatementLine]) -> None:
    import libcst as cst

    named = [
        n
        for n, node in enumerate(body)
        if _imports(node, "typing", _NAME) or _imports(node, "typing_extensions", _NAME) or _assigns(node)
    ]
    place = max([_end_of_imports(body), *(n + 1 for n in named[:1])])
    block = cst.If(test=cst.Name(_NAME), body=cst.IndentedBlock(body=moved), leading_lines=[_blank()])
    body.insert(place, block)
    _space(body, place + 1)


def _insert(body: list[Any], place: int, text: str) -> None:
    """A new statement; a blank line parts it from a neighbour of another group, if one did or if it comes first."""
    import libcst as cst

    node: Any = cst.parse_statement(text)
    before, after = (body[n] if 0 <= n < len(body) else None for n in (place - 1, place))
    beside = [other for other in (before, after) if _own(other) and "__future__" not in text]
    if before is not None and before not in beside:
        node = node.with_changes(leading_lines=[_blank()])
    body.insert(place, node)
    if after is None:
        return
    if (
        after in beside and before not in beside
    ):  # it comes first of its group: what stood above the group goes above it
        body[place] = node.with_changes(leading_lines=[_blank()] if before is not None else [])
        lines = list(after.leading_lines)
        while lines and lines[0].comment is None:
            lines.pop(0)
        body[place + 1] = after.with_changes(leading_lines=lines)
    elif after not in beside and not ("__future__" in text and _imports(after, "__future__")):
        _space(body, place + 1)


def _space(body: list[Any], place: int) -> None:
    """At least one blank line above a statement."""
    if place < len(body) and not any(line.comment is None for line in body[place].leading_lines):
        body[place] = body[place].with_changes(leading_lines=[_blank(), *body[place].leading_lines])


def _blank() -> cst.EmptyLine:
    import libcst as cst

    return cst.EmptyLine(indent=False)


def _end_of_imports(body: list[Any]) -> int:
    """How many statements the file begins with that are its docstring or imports."""
    return next(
        (n for n, node in enumerate(body) if not (_module(node) or (n == 0 and _is_docstring(node)))), len(body)
    )


def _own(node: Any) -> bool:
    return _module(node).partition(".")[0] in sys.stdlib_module_names and _module(node) != "__future__"


def _module(node: Any) -> str:
    """The first module that an import statement names (dots for a relative one); empty for anything else."""
    import libcst as cst

    small = node.body[0] if isinstance(node, cst.SimpleStatementLine) and len(node.body) == 1 else None
    if isinstance(small, cst.Import):
        return small.names[0].evaluated_name
    if not isinstance(small, cst.ImportFrom):
        return ""
    dotted = cst.Module([]).code_for_node(small.module) if small.module else ""
    return "." * len(small.relative) + dotted


def _is_from(node: Any) -> bool:
    import libcst as cst

    return isinstance(node.body[0], cst.ImportFrom)


def _imports(node: Any, module: str, name: str = "") -> bool:
    """True for `from module import …`, with `name` under its own name if one is given; no star."""
    import libcst as cst

    small = next(iter(node.body), None) if isinstance(node, cst.SimpleStatementLine) else None
    if not isinstance(small, cst.ImportFrom) or isinstance(small.names, cst.ImportStar) or _module(node) != module:
        return False
    return not name or any(alias.evaluated_name == name and alias.asname is None for alias in small.names)


def _assigns(node: Any) -> bool:
    import libcst as cst

    return (
        isinstance(node, cst.SimpleStatementLine) and cst.Module([]).code_for_node(node.body[0]) == f"{_NAME} = False"
    )


def _is_docstring(node: Any) -> bool:
    import libcst as cst

    if not isinstance(node, cst.SimpleStatementLine) or not isinstance(node.body[0], cst.Expr):
        return False
    return isinstance(node.body[0].value, cst.SimpleString | cst.ConcatenatedString)
