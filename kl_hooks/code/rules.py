"""The nodes that the walk treats in their own way: definitions, imports, fields, `if TYPE_CHECKING:`, f-strings."""

from __future__ import annotations

import ast
from typing import Any

from kl_hooks.code.bindings import note_assignment, note_handler, note_import, note_importer, note_with
from kl_hooks.code.frames import Frame, Node
from kl_hooks.code.imports_found import bound_names, import_rows, type_checking
from kl_hooks.code.node_text import constant, plain


def _definition(frame: Frame, node: Node, stack: list[Any]) -> None:
    kind = "class" if node.__class__ is ast.ClassDef else "function"
    if frame.scope == "function":
        frame.text.append("#def")
    frame.kids.append(Frame(kind, node, [node.name], frame, frame.checking))


def _import(frame: Frame, node: Node, stack: list[Any]) -> None:
    frame.imports.extend(import_rows(node, frame.lazy, frame.checking))
    note_import(frame, node)
    plain(node, stack, frame.text)


def _assignment(frame: Frame, node: Node, stack: list[Any]) -> None:
    names = _bound(frame, node)
    if node.value.__class__ is ast.Attribute or node.value.__class__ is ast.Name:
        note_importer(frame, node)
    if names:
        frame.text.append("#field")
        frame.kids.append(Frame("field", node, names, frame, frame.checking))
    else:
        note_assignment(frame, node)
        plain(node, stack, frame.text)


def _bound(frame: Frame, node: Node) -> list[str]:
    """The names of the fields that an assignment makes: class and module level, or `self.x: int` in a method."""
    if frame.scope == "function":
        return _of_receiver(node, frame.receiver)
    return bound_names(node)


def _of_receiver(node: Node, receiver: str) -> list[str]:
    if not isinstance(node, ast.AnnAssign) or not isinstance(node.target, ast.Attribute):
        return []
    owner = node.target.value
    return [node.target.attr] if isinstance(owner, ast.Name) and owner.id == receiver else []


def _alias(frame: Frame, node: Node, stack: list[Any]) -> None:
    frame.text.append("#alias")
    frame.kids.append(Frame("alias", node, [node.name.id], frame, frame.checking))


def _if(frame: Frame, node: Node, stack: list[Any]) -> None:
    checking = type_checking(node.test)
    if not checking:
        plain(node, stack, frame.text)
        return
    seen, other = (node.body, node.orelse) if checking > 0 else (node.orelse, node.body)
    frame.text += ("#If", "#checking" if checking > 0 else "#unchecked")
    if seen:
        frame.kids.append(Frame("block", ast.Module(seen, []), [], frame, True))
    stack.append("}")
    stack.extend(reversed(other))


def _global(frame: Frame, node: Node, stack: list[Any]) -> None:
    frame.globals |= frozenset(node.names)
    plain(node, stack, frame.text)


def _nonlocal(frame: Frame, node: Node, stack: list[Any]) -> None:
    frame.nonlocals |= frozenset(node.names)
    plain(node, stack, frame.text)


def _stored(frame: Frame, node: Node, stack: list[Any]) -> None:
    """An argument, `except … as name`, `case … as name`: its name is a plain string, and is stored to."""
    for field in ("arg", "name", "rest"):
        name = getattr(node, field, None)
        if name:
            frame.stores.append(name)
    plain(node, stack, frame.text)


def _handler(frame: Frame, node: Node, stack: list[Any]) -> None:
    note_handler(frame, node)
    _stored(frame, node, stack)


def _with(frame: Frame, node: Node, stack: list[Any]) -> None:
    note_with(frame, node)
    plain(node, stack, frame.text)


def _joined(frame: Frame, node: Node, stack: list[Any]) -> None:
    """An f-string: neighbouring pieces of plain text are one piece, empty ones none; Pythons cut them differently."""
    parts: list[Any] = []
    for value in node.values:
        if value.__class__ is not ast.Constant:
            parts.append(value)
        elif value.value:
            mark = constant(value.value)
            if parts and parts[-1].__class__ is str:
                parts[-1] += mark[1:] if mark[0] == '"' else mark
            else:
                parts.append(mark)
    frame.text += ("#JoinedStr", str(len(parts)))
    stack.extend(parts)


RULES: dict[type, Any] = {
    ast.FunctionDef: _definition, ast.AsyncFunctionDef: _definition, ast.ClassDef: _definition,
    ast.Import: _import, ast.ImportFrom: _import, ast.Assign: _assignment, ast.AnnAssign: _assignment,
    ast.If: _if, ast.Global: _global, ast.Nonlocal: _nonlocal, ast.JoinedStr: _joined, ast.arg: _stored,
    ast.ExceptHandler: _handler, ast.With: _with,
    ast.MatchAs: _stored, ast.MatchStar: _stored, ast.MatchMapping: _stored,
}  # fmt: skip
if hasattr(ast, "TypeAlias"):  # Python 3.12
    RULES[ast.TypeAlias] = _alias
