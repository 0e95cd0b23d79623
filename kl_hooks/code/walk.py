"""The walk over one file's syntax tree: what is defined where, what is imported, and what the code *says*.

One pass writes every node into the text of the frame that owns it, so that each node is visited once, however deeply
definitions are nested; it also notes which names are used, stored to and bound (`code.uses` makes sense of those).
The walk keeps its own stack, because source may be nested more deeply than Python may recurse, and asks for the
commonest node types first, because it is paid for every node of a repository.
"""

from __future__ import annotations

import ast
from ast import Attribute, Call, Constant, Expr, Load, Name, keyword
from typing import Any

from kl_hooks.code.bindings import note_bases, note_field, note_parameters, share
from kl_hooks.code.chains import chain
from kl_hooks.code.frames import Frame, Node, docstring_of
from kl_hooks.code.imports_found import dynamic_import
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
        share(frame, outer.home)
        stack.extend(reversed(node.body))
    elif frame.kind in ("field", "alias"):
        note_field(frame, node)
        plain(node, stack, frame.text)
    else:
        if outer is not None:
            _walk_head(frame, node, outer)
        stack.extend(reversed(node.body))
        if docstring_of(node) is not None:
            stack.pop()
    _walk(frame, stack)


def _walk_head(frame: Frame, node: Node, outer: Frame) -> None:
    """What stands before the body of a class or function; its names are those of the scope around it."""
    stack: list[Any] = []
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
    else:
        note_bases(frame, node)
    _walk(frame, stack)
    frame.head = len(frame.uses)
    if frame.kind == "function":
        note_parameters(frame, node)


def _walk(frame: Frame, stack: list[Any]) -> None:
    """Writes everything on the stack into the frame's text, and what names are used; inner frames are noted only.

    A chain such as `a.b.c` is taken in one go: one use, and in the text what its nodes would have written one by one.
    """
    text, use = frame.text, frame.uses.append
    append, pop, push, special = text.append, stack.pop, stack.append, RULES.get
    while stack:
        node = pop()
        cls = node.__class__
        how = 0
        if cls is Call:
            args, keywords, func = node.args, node.keywords, node.func
            append(f"({len(args)},{len(keywords)}")
            stack += (*args, *keywords)
            cls = func.__class__
            if cls is not Name and cls is not Attribute:
                push(func)
                continue
            if (args or keywords) and (func.id if cls is Name else func.attr) in frame.dynamic:
                frame.imports += dynamic_import(node)
            node, how = func, 1
        if cls is Name:
            name = node.id
            append(name)
            if node.ctx.__class__ is Load:
                use((name, "", node.lineno, how))
            else:
                frame.stores.append(name)
        elif cls is str:
            append(node)
        elif cls is Attribute:
            name, line = node.attr, node.end_lineno
            text += (".", name)
            node = node.value
            while node.__class__ is Attribute:
                text += (".", node.attr)
                name = f"{node.attr}.{name}"
                node = node.value
            if node.__class__ is Name:
                append(node.id)
                use((node.id, name, line, how))
            else:
                push(node)
                use((_result(node), name, line, how))
        elif cls is Constant:
            value = node.value
            append(f'"{value}' if value.__class__ is str and "\0" not in value else constant(value))
        elif cls is keyword:
            text += ("#keyword", node.arg or "**")
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


def _result(node: Node) -> str:
    """The root of a chain that starts with the result of a call, `a.b()`; empty for other things without a name."""
    found = chain(node.func) if node.__class__ is ast.Call else None
    return "" if found is None else f"{found[0]}.{found[1]}()" if found[1] else f"{found[0]}()"
