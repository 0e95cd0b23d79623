"""Scopes: what a name stands for where it is used, as far as one file can say.

The answer is an *expression*, one short text:
    =Parser.feed        what this file defines under that name
    @pkg.mod:name       what is imported (leading dots: a relative import)
    ^Parser             an instance of a class of this file, or the class itself: `self`, `cls`
    <Parser             the same, but looked up from its bases on: `super()`
    ~EXPRESSION>        an instance of the class that the expression names, or what the function says it returns
    &Parser             an instance of the class that a method returning `Self` is called on
    *name               a name that only a star import can have brought
    ?name               an attribute of something unknown, or a name that nothing here binds
Attributes that are still to be followed stand after a bar: `@pkg.mod:Parser|feed`.
"""

from __future__ import annotations

import ast
import builtins
from typing import Final

from kl_hooks.code.frames import Frame

UNKNOWN: Final = ""
"""What a name stands for that is bound here, to nobody knows what."""
_BUILTINS: Final = frozenset(dir(builtins)) | {"__file__", "__path__", "__class__", "__builtins__"}


def spell(frame: Frame, scope: Frame, root: str, rest: str) -> str:
    """The expression for a chain as the frame's code sees it; `UNKNOWN` where nothing can be said."""
    found = stands_for(frame, scope, root)
    if not rest:
        return UNKNOWN if nameless(found) else found
    return joined(found, rest) if found else found


def joined(expression: str, rest: str) -> str:
    """An expression with more attributes after it."""
    tail = expression[expression.rfind(">") + 1 :]
    return f"{expression}{'.' if '|' in tail else '|'}{rest}"


def nameless(expression: str) -> bool:
    """True for an instance or what `self` is: a thing without a name of its own, so that nothing can link to it."""
    return expression[:1] in ("~", "^", "<") and "|" not in expression[expression.rfind(">") + 1 :]


def stands_for(frame: Frame, scope: Frame, root: str) -> str:
    """The expression for the root of a chain: a name, the result of a call, or something else (`UNKNOWN`)."""
    return _result(frame, scope, root[:-2]) if root.endswith("()") else bound(frame, scope, root) if root else UNKNOWN


def bound(frame: Frame, scope: Frame | None, name: str) -> str:
    """What a name stands for in a scope."""
    if frame.home is not frame and name in frame.stores and name not in frame.names and frame.kind != "block":
        return UNKNOWN  # an argument of a lambda, or of a comprehension
    first = True
    while scope is not None:
        if name in scope.globals and scope.outer is not None:
            scope, first = _module(scope), True
            continue
        if name not in scope.nonlocals and (first or scope.kind != "class"):
            found = table(scope).get(name)
            if found is not None:
                return found
        scope, first = scope.outer.home if scope.outer else None, False
    if name in _BUILTINS:
        return UNKNOWN
    return f"*{name}" if _module(frame).stars else f"?{name}"


def table(scope: Frame) -> dict[str, str]:
    """Name → what it stands for, of all names that a scope binds itself."""
    if scope.table is None:
        scope.table = made = dict.fromkeys(scope.stores, UNKNOWN)
        made.update(scope.binds)
        made.update(_defined(scope))
        if scope.kind == "function":
            owner = owner_class(scope)
            if scope.receiver and owner and not _marked(scope, "staticmethod"):
                made[scope.receiver] = f"^{qualified(owner)}"
            _add_instances(scope, made)
    return scope.table


def qualified(frame: Frame) -> str:
    """The dotted name of what a frame defines, without its module's."""
    return frame.ids[0].partition(":")[2].partition(".")[2]


def owner_class(scope: Frame) -> Frame | None:
    """The class that a function is a method of."""
    outer = scope.outer.home if scope.outer else None
    return outer if outer is not None and outer.kind == "class" else None


def kids(scope: Frame) -> list[Frame]:
    """What a scope defines, in blocks too."""
    found: list[Frame] = []
    for kid in scope.kids:
        found += kids(kid) if kid.kind == "block" else [kid]
    return found


def _defined(scope: Frame) -> dict[str, str]:
    made: dict[str, str] = {}
    for kid in kids(scope):
        if kid.kind == "field" and scope.kind == "function":
            continue
        for name, identifier in zip(dict.fromkeys(kid.names), kid.ids, strict=False):
            made[name] = "=" + identifier.partition(":")[2].partition(".")[2]
    return made


def _add_instances(scope: Frame, made: dict[str, str]) -> None:
    """The local names that are, wherever they are stored to, instances of one class, or other names of one thing.

    In the order in which they come, so that a later one may be made of an earlier one.
    """
    seen: dict[str, list[tuple[str, str]]] = {}
    for name, root, rest in scope.typed:
        if not name.startswith("self."):
            seen.setdefault(name, []).append((root, rest))
    elsewhere = _rebound(scope)
    for name, found in seen.items():
        if name in elsewhere:
            continue
        classes = {one for one in found if one[0] != "None"}
        if len(classes) == 1 and len(found) == scope.stores.count(name):
            made[name] = instance(scope, *classes.pop())


def _rebound(scope: Frame) -> frozenset[str]:
    """The names that functions inside store to by `nonlocal`."""
    found = frozenset[str]()
    for kid in scope.kids:
        found |= kid.nonlocals | (_rebound(kid) if kid.kids else frozenset())
    return found


def instance(scope: Frame, root: str, rest: str) -> str:
    """The expression for an instance of the class that a chain names, seen from a scope."""
    if not root:
        return UNKNOWN
    if root.startswith("="):  # the same as another name
        found = bound(scope, scope, root[1:])
        return (joined(found, rest) if rest else found) if found[:1] not in ("", "?", "<") else UNKNOWN
    if scope.table is None:
        table(scope)
    if root == "Self":
        owner = owner_class(scope) if scope.kind == "function" else scope if scope.kind == "class" else None
        return f"^{qualified(owner)}" if owner is not None else UNKNOWN
    return _made(scope, scope, root, rest)


def _made(frame: Frame, scope: Frame, root: str, rest: str) -> str:
    """The expression for what calling a chain gives."""
    if not rest and root == scope.receiver and scope.kind == "function" and _marked(scope, "classmethod"):
        return stands_for(frame, scope, root)
    found = spell(frame, scope, root, rest)
    return f"~{found}>" if found and found[0] != "?" else UNKNOWN


def _result(frame: Frame, scope: Frame, called: str) -> str:
    root, _, rest = called.partition(".")
    if called == "super":
        function: Frame | None = scope
        while function is not None and owner_class(function) is None:
            function = function.outer.home if function.outer else None
        owner = owner_class(function) if function is not None else None
        return f"<{qualified(owner)}" if owner is not None else UNKNOWN
    return _made(frame, scope, root, rest)


def _module(scope: Frame) -> Frame:
    while scope.outer is not None:
        scope = scope.outer
    return scope


def _marked(scope: Frame, decorator: str) -> bool:
    return any(d.__class__ is ast.Name and d.id == decorator for d in scope.node.decorator_list)
