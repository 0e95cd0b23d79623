"""The walk over one file's syntax tree: what is defined where, what is imported, and what the code *says*.

One pass writes every node into the text of the frame that owns it, so that each node is visited once, however deeply
definitions are nested. The walk keeps its own stack, because source may be nested more deeply than Python may recurse,
and asks for the commonest node types first, because it is paid for every node of a repository.
"""

from __future__ import annotations

import ast
from typing import Any

from kl_hooks.code.frames import Frame, Node, docstring_of
from kl_hooks.code.imports_found import DYNAMIC, dynamic_import
from kl_hooks.code.node_text import constant, plain
from kl_hooks.code.rules import RULES


def walk(tree: ast.Module) -> list[Frame]:
    """All frames of a file, the module first, every frame after the one around it."""
    frames = [Frame("module", tree, [], None, False)]
    for frame in frames:  # grows while it is walked
        _enter(frame)
        frames.extend(frame.kids)
    return frames


def _enter(frame: Frame) -> None:
    """Puts a frame's own parts on a stack, sets what its inside needs to know, and walks."""
    node, outer = frame.node, frame.outer
    stack: list[Any] = []
    if frame.kind == "block":
        assert outer is not None
        frame.prefix, frame.receiver, frame.globals = outer.prefix, outer.receiver, outer.globals
        stack.extend(reversed(node.body))
    elif frame.kind in ("field", "alias"):
        plain(node, stack, frame.text)
    else:
        _enter_scope(frame, node, outer, stack)
    _walk(frame, stack)


def _enter_scope(frame: Frame, node: Node, outer: Frame | None, stack: list[Any]) -> None:
    stack.extend(reversed(node.body))
    if docstring_of(node) is not None:
        stack.pop()
    if outer is None:
        return
    name = frame.names[0]
    qualified = name if name in outer.globals else outer.prefix + name
    frame.prefix = f"{qualified}." if frame.kind == "class" else f"{qualified}.<locals>."
    frame.text += ("#" + node.__class__.__name__, name)
    for field in ("decorator_list", "bases", "keywords", "type_params"):
        items = getattr(node, field, None)
        if items:
            frame.text += ("#" + field, str(len(items)))
            stack.extend(items)
    if frame.kind == "function":
        positional = node.args.posonlyargs or node.args.args
        frame.receiver = positional[0].arg if positional and outer.scope == "class" else ""
        stack.append(node.args)
        if node.returns is not None:
            frame.text.append("#returns")
            stack.append(node.returns)


def _walk(frame: Frame, stack: list[Any]) -> None:
    """Writes everything on the stack into the frame's text; inner frames are noted, not entered."""
    text = frame.text
    append, pop, push = text.append, stack.pop, stack.append
    Name, Attribute, Constant, Call, keyword, Expr = (
        ast.Name, ast.Attribute, ast.Constant, ast.Call, ast.keyword, ast.Expr,
    )  # fmt: skip
    special = RULES.get
    while stack:
        node = pop()
        cls = node.__class__
        if cls is Name:
            append(node.id)
        elif cls is str:
            append(node)
        elif cls is Attribute:
            append(".")
            append(node.attr)
            push(node.value)
        elif cls is Constant:
            value = node.value
            append(f'"{value}' if value.__class__ is str and "\0" not in value else constant(value))
        elif cls is Call:
            args, keywords, func = node.args, node.keywords, node.func
            append(f"({len(args)},{len(keywords)}")
            if args or keywords:
                stack += args
                called = func.__class__
                if (func.id if called is Name else func.attr if called is Attribute else "") in DYNAMIC:
                    frame.imports += dynamic_import(node)
            if keywords:
                stack += keywords
            push(func)
        elif cls is keyword:
            append("#keyword")
            append(node.arg or "**")
            push(node.value)
        elif cls is Expr:
            append(";")
            push(node.value)
        else:
            rule = special(cls)
            if rule is None:
                plain(node, stack, text)
            else:
                rule(frame, node, stack)
