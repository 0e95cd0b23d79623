"""What the walk notes about names while it passes: what they are imported from, and of which class they are instances.

What a name is imported from is spelled `@module` or `@module:name`, leading dots for relative imports.
"""

from __future__ import annotations

import ast

from kl_hooks.code.chains import annotated, base_chain, chain, dotted
from kl_hooks.code.frames import Frame, Node
from kl_hooks.code.imports_found import DYNAMIC


def note_import(frame: Frame, node: Node) -> None:
    """The names that an import statement binds."""
    if node.__class__ is ast.Import:
        for alias in node.names:
            frame.binds.append((alias.asname, f"@{alias.name}") if alias.asname else _top(alias.name))
        return
    module = "@" + "." * node.level + (node.module or "")
    if module in ("@importlib", "@builtins"):
        frame.dynamic.update(alias.asname for alias in node.names if alias.asname and alias.name in DYNAMIC)
    for alias in node.names:
        if alias.name == "*":
            frame.stars.append(module)
        else:
            frame.binds.append((alias.asname or alias.name, f"{module}:{alias.name}"))


def _top(dotted: str) -> tuple[str, str]:
    top = dotted.partition(".")[0]
    return top, f"@{top}"


def note_importer(frame: Frame, node: Node) -> None:
    """`load = importlib.import_module`: another name of what imports by name."""
    value = node.value
    if (value.id if value.__class__ is ast.Name else value.attr) in frame.dynamic:
        targets = node.targets if node.__class__ is ast.Assign else [node.target]
        frame.dynamic.update(target.id for target in targets if target.__class__ is ast.Name)


def note_bases(frame: Frame, node: Node) -> None:
    """The bases of a class that are names."""
    for base in node.bases:
        found = base_chain(base)
        if found is not None:
            frame.bases.append((*found, base.lineno))


def note_parameters(frame: Frame, node: Node) -> None:
    """The classes that a function's annotated arguments are instances of."""
    args = node.args
    for arg in (*args.posonlyargs, *args.args, *args.kwonlyargs):
        if arg.annotation is not None:
            _typed(frame, arg.arg, annotated(arg.annotation))
            note_quoted(frame, arg.annotation)
    if node.returns is not None:
        note_quoted(frame, node.returns)


def note_assignment(frame: Frame, node: Node) -> None:
    """`x = Class(…)`, `x: Class`, and the same of `self.x`: what x is an instance of."""
    for target in node.targets if node.__class__ is ast.Assign else [node.target]:
        if target.__class__ is ast.Tuple or target.__class__ is ast.List:
            for one in target.elts:
                if (
                    one.__class__ is ast.Attribute
                    and one.value.__class__ is ast.Name
                    and one.value.id == frame.receiver
                ):
                    _typed(frame, f"self.{one.attr}", None)
        else:
            _note(frame, target, node)


def note_field(frame: Frame, node: Node) -> None:
    """The same for a field: what its name, in the scope around it, is an instance of."""
    outer = frame.outer
    assert outer is not None
    if node.__class__ is ast.Assign and (len(node.targets) > 1 or node.targets[0].__class__ is not ast.Name):
        for name in frame.names:
            _typed(outer, name, None)
    elif len(frame.names) == 1 and node.__class__ in (ast.Assign, ast.AnnAssign):
        _note(outer, node.targets[0] if isinstance(node, ast.Assign) else node.target, node)


def _note(frame: Frame, target: Node, node: Node) -> None:
    if target.__class__ is ast.Name:
        name = target.id
    elif target.__class__ is ast.Attribute and target.value.__class__ is ast.Name:
        if not frame.receiver or target.value.id != frame.receiver:
            return
        name = f"self.{target.attr}"
    else:
        return
    if node.__class__ is ast.AnnAssign:
        note_quoted(frame, node.annotation)
        _typed(frame, name, annotated(node.annotation))
    elif node.value.__class__ is ast.Constant and node.value.value is None:
        _typed(frame, name, ("None", ""))
    elif node.value.__class__ is ast.Call:
        _typed(frame, name, chain(node.value.func))
    else:
        found = chain(node.value)
        if found is not None:
            _typed(frame, name, (f"={found[0]}", found[1]))
        elif name.startswith("self.") or frame.scope != "function":
            _typed(frame, name, None)


def note_handler(frame: Frame, node: Node) -> None:
    """`except Class as x`: what x is an instance of."""
    if node.name and node.type is not None:
        _typed(frame, node.name, chain(node.type))


def note_with(frame: Frame, node: Node) -> None:
    """`with make(…) as x`: x is what the `__enter__` of the result returns."""
    for item in node.items:
        if item.optional_vars.__class__ is ast.Name and item.context_expr.__class__ is ast.Call:
            found = chain(item.context_expr.func)
            if found is not None:
                called = f"{found[0]}.{found[1]}()" if found[1] else f"{found[0]}()"
                _typed(frame, item.optional_vars.id, (called, "__enter__"))


def note_quoted(frame: Frame, annotation: Node) -> None:
    """The class that an annotation in quotes names, as a use: the walk sees no more than a string."""
    if annotation.__class__ is ast.Constant and annotation.value.__class__ is str:
        found = dotted(annotation.value)
        if found is not None:
            frame.uses.append((*found, annotation.lineno, 0))


def _typed(frame: Frame, name: str, found: tuple[str, str] | None) -> None:
    frame.typed.append((name, *(found or ("", ""))))


def share(block: Frame, home: Frame) -> None:
    """What a block binds is bound in the scope around it."""
    block.stores, block.typed, block.binds, block.stars = home.stores, home.typed, home.binds, home.stars
