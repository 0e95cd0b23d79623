"""What a receiver may be where the resolver is not certain: `book` in `book.rename()`.

The resolver follows a name only where it is of one class wherever it is assigned. Here every hint
counts: an annotation, each class that it is made of, `isinstance`. So these are likely types, and
no links of the graph.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any, Final

from kl_hooks.code.scanner.references import instance, owner_class
from kl_hooks.code.scanner.visitor import Frame, base_chain, chain
from kl_hooks.model.definitions import NamedTuple

ANNOTATION: Final = "annotation"
CONSTRUCTOR: Final = "constructor"
_CLASS_TEST: Final = "isinstance"

_TRANSPARENT: Final = frozenset(
    {"Optional", "Union", "Annotated", "Final", "ClassVar", "Type", "type", "Awaitable"}
)
"""What an annotation may be wrapped in and still be of the class inside."""
_CONTAINERS: Final = frozenset(
    {"list", "List", "set", "Set", "frozenset", "FrozenSet", "tuple", "Tuple", "deque"}
    | {"Sequence", "Collection", "Iterable", "Iterator", "Generator", "MutableSequence"}
    | {"AsyncIterable", "AsyncIterator", "AsyncGenerator", "MutableSet"}
)
"""Containers whose first argument is what a loop over them gives."""


class Hint(NamedTuple):
    """One reason for which a receiver is likely to be of a class."""

    expression: str
    """The instance, as the graph's resolver reads it."""
    basis: str
    """`annotation`, `constructor` or `isinstance`."""


class Hints:
    """The hints of one file, each function read once."""

    def __init__(self) -> None:
        self._by_frame: dict[int, dict[str, list[Hint]]] = {}

    def of(self, scope: Frame, receiver: Any) -> list[Hint]:
        """The hints about a receiver that is a name, or an attribute of `self`."""
        if receiver is not None:
            receiver_chain = chain(receiver)
        else:
            receiver_chain = None
        if receiver_chain is None:
            return []
        root, attributes = receiver_chain
        if not attributes:
            return self._of_name(scope, root)
        owner = _method_around(scope)
        if owner is None or root != owner.receiver or "." in attributes:
            return []
        class_frame = owner_class(owner)
        if class_frame is None:
            return []
        return self._of_attribute(class_frame, attributes)

    def _of_name(self, scope: Frame, name: str) -> list[Hint]:
        while scope.kind == "function":
            hints = self._of_frame(scope).get(name)
            if hints:
                return list(dict.fromkeys(hints))
            if scope.outer is None:
                break
            scope = scope.outer.home
        return []

    def _of_attribute(self, class_frame: Frame, attribute: str) -> list[Hint]:
        hints = list(self._of_frame(class_frame).get(attribute, ()))
        for kid in class_frame.kids:
            if kid.kind == "function":
                hints += self._of_frame(kid).get(f"self.{attribute}", ())
        return list(dict.fromkeys(hints))

    def _of_frame(self, frame: Frame) -> dict[str, list[Hint]]:
        hints = self._by_frame.get(id(frame))
        if hints is None:
            hints = self._by_frame[id(frame)] = {}
            for name, hint in _hints_in(frame, hints):
                hints.setdefault(name, []).append(hint)
        return hints


def _method_around(scope: Frame) -> Frame | None:
    """The method that a scope is, or is in."""
    while scope.kind == "function":
        if owner_class(scope) is not None:
            return scope
        if scope.outer is None:
            return None
        scope = scope.outer.home
    return None


def _hints_in(frame: Frame, hints: dict[str, list[Hint]]) -> Iterator[tuple[str, Hint]]:
    """(name, or `self.` attribute; hint) of a function's or class's own statements.

    `hints`: those until now, for names that are assigned from others.
    """
    node = frame.node
    elements: dict[str, list[Hint]] = {}
    if frame.kind == "function":
        arguments = node.args
        for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
            if argument.annotation is not None:
                yield from _annotated(frame, argument.arg, argument.annotation, elements)
    for part in _own_nodes(node):
        if isinstance(part, ast.AnnAssign):
            name = _name_of(frame, part.target)
            if name:
                yield from _annotated(frame, name, part.annotation, elements)
        elif isinstance(part, ast.Assign):
            for target in part.targets:
                name = _name_of(frame, target)
                if name:
                    yield from ((name, hint) for hint in _assigned(frame, part.value, hints))
        elif isinstance(part, ast.NamedExpr):
            for hint in _assigned(frame, part.value, hints):
                yield part.target.id, hint
        elif isinstance(part, ast.Call):
            yield from _class_test(frame, part)
        elif isinstance(part, ast.For | ast.AsyncFor | ast.comprehension):
            container = _name_of(frame, part.iter)
            element = _name_of(frame, part.target)
            if container and element:
                yield from ((element, hint) for hint in elements.get(container, ()))


def _own_nodes(node: Any) -> Iterator[ast.AST]:
    """The nodes of a body, in the order of the source, without those of inner definitions."""
    stack: list[ast.AST] = list(reversed(node.body))
    while stack:
        part = stack.pop()
        if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        yield part
        stack += reversed(list(ast.iter_child_nodes(part)))


def _name_of(frame: Frame, target: Any) -> str:
    """The name that is assigned to, `self.` and the attribute for one of the instance."""
    if isinstance(target, ast.Name):
        return target.id
    if (
        isinstance(target, ast.Attribute)
        and isinstance(target.value, ast.Name)
        and frame.receiver
        and target.value.id == frame.receiver
    ):
        return f"self.{target.attr}"
    return ""


def _annotated(
    frame: Frame, name: str, annotation: Any, elements: dict[str, list[Hint]]
) -> Iterator[tuple[str, Hint]]:
    for root, attributes in _annotation_classes(annotation):
        yield name, Hint(instance(frame.home, root, attributes), ANNOTATION)
    for element in _element_annotations(annotation):
        elements.setdefault(name, []).extend(
            Hint(instance(frame.home, root, attributes), ANNOTATION)
            for root, attributes in _annotation_classes(element)
        )


def _annotation_classes(node: Any) -> Iterator[tuple[str, str]]:
    """The classes that an annotation names, each as a chain; those of both sides of a union."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        try:
            node = ast.parse(node.value.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return
        if isinstance(node, ast.Constant):
            return
    if isinstance(node, ast.BinOp):
        yield from _annotation_classes(node.left)
        yield from _annotation_classes(node.right)
    elif isinstance(node, ast.Subscript):
        head = chain(node.value)
        if head:
            last = head[1].rpartition(".")[2] or head[0]
        else:
            last = ""
        if last in _TRANSPARENT:
            if isinstance(node.slice, ast.Tuple):
                parts = node.slice.elts
            else:
                parts = [node.slice]
            for part in parts[:1] if last == "Annotated" else parts:
                yield from _annotation_classes(part)
        elif head is not None:
            yield head
    else:
        named = chain(node)
        if named is not None:
            yield named


def _element_annotations(node: Any) -> Iterator[Any]:
    """The annotations of what a loop over something of this annotation gives."""
    if isinstance(node, ast.Subscript):
        head = chain(node.value)
        if head:
            last = head[1].rpartition(".")[2] or head[0]
        else:
            last = ""
        if last in _CONTAINERS:
            yield node.slice.elts[0] if isinstance(node.slice, ast.Tuple) else node.slice


def _assigned(frame: Frame, value: Any, hints: dict[str, list[Hint]]) -> Iterator[Hint]:
    if isinstance(value, ast.Await):
        value = value.value
    if isinstance(value, ast.IfExp):
        yield from _assigned(frame, value.body, hints)
        yield from _assigned(frame, value.orelse, hints)
    elif isinstance(value, ast.BoolOp):
        for operand in value.values:
            yield from _assigned(frame, operand, hints)
    elif isinstance(value, ast.Call):
        called = chain(value.func)
        if called is not None:
            yield Hint(instance(frame.home, *called), CONSTRUCTOR)
    else:
        name = _name_of(frame, value)
        # a copy: `x = x` would add to the list that is being read
        yield from tuple(hints.get(name, ()))


def _class_test(frame: Frame, call: ast.Call) -> Iterator[tuple[str, Hint]]:
    """`isinstance(name, Class)`."""
    is_test = isinstance(call.func, ast.Name) and call.func.id == "isinstance"
    if not is_test or len(call.args) != 2:
        return
    name = _name_of(frame, call.args[0])
    for tested in _classes(call.args[1]) if name else ():
        named = base_chain(tested)
        if named is not None:
            yield name, Hint(instance(frame.home, *named), _CLASS_TEST)


def _classes(node: Any) -> Iterator[Any]:
    if isinstance(node, ast.Tuple):
        for element in node.elts:
            yield from _classes(element)
    elif isinstance(node, ast.BinOp):
        yield from _classes(node.left)
        yield from _classes(node.right)
    else:
        yield node
