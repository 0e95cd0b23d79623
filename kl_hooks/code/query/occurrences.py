"""Where one file uses a name, and how: called, read, written, in an annotation.

The graph's links hold what a use means; they do not hold whether an attribute is read or written.
That is read from the source when somebody asks, in the few files that mention the name.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Any, Final

from kl_hooks.code.scanner.parser import parse_tree
from kl_hooks.code.scanner.references import expression_of, root_expression
from kl_hooks.code.scanner.symbols import set_ids
from kl_hooks.code.scanner.visitor import Chain, Frame, result_root, walk
from kl_hooks.model.definitions import NamedTuple

MODULE: Final = "_"
"""The module that a file is scanned as: Ids get their module's name afterwards."""


class UseKind(StrEnum):
    """How a place uses a name."""

    READ = "read"
    CALL = "call"
    DECORATOR = "decorator"
    ANNOTATION = "annotation"
    ISINSTANCE = "isinstance"
    BASE = "base"
    EXCEPT = "except"
    CONTENT = "content"
    """Its value is changed in place: `self.jobs.append(job)`, `self.jobs[key] = job`."""
    WRITE = "write"
    UPDATE = "update"
    """It is read and written: `+=`."""
    DELETE = "delete"
    KEYWORD = "keyword"
    """It is the name of an argument: `Slot(closing=…)`."""
    DECLARATION = "declaration"


CHANGES: Final = frozenset({UseKind.CONTENT})
"""Kinds that change the value of a name in place."""
WRITES: Final = frozenset(
    {UseKind.WRITE, UseKind.UPDATE, UseKind.DELETE, UseKind.KEYWORD, UseKind.DECLARATION}
)
"""Kinds that bind it to something else."""
READS: Final = frozenset(UseKind) - CHANGES - WRITES | {UseKind.UPDATE}
"""Kinds that look at its value."""
CALLS: Final = frozenset({UseKind.CALL, UseKind.DECORATOR})

_MUTATORS: Final = frozenset(
    {"append", "appendleft", "extend", "extendleft", "insert", "rotate", "reverse", "sort"}
    | {"pop", "popleft", "popitem", "remove", "discard", "clear", "add", "update", "setdefault"}
    | {"difference_update", "intersection_update", "symmetric_difference_update"}
)
"""Methods that change a container of the standard library."""
_BY_NAME: Final = {
    "getattr": UseKind.READ,
    "hasattr": UseKind.READ,
    "setattr": UseKind.WRITE,
    "delattr": UseKind.DELETE,
}
_CLASS_TESTS: Final = frozenset({"isinstance", "issubclass"})
_SHARED_ROLES: Final = frozenset(
    {UseKind.ANNOTATION, UseKind.ISINSTANCE, UseKind.BASE, UseKind.EXCEPT}
)
"""Roles that the elements of a tuple, a union or a subscript share."""
_GROUPS: Final = (ast.Tuple, ast.List, ast.BinOp, ast.Subscript, ast.Starred)


class Occurrence(NamedTuple):
    """One use of a name."""

    line: int
    column: int
    link_line: int
    """The line that the graph gives a link of this use: the end of its chain."""
    kind: UseKind
    frame: Frame
    """The scope or assignment around it."""
    scope: Frame
    """The scope whose names it sees."""
    receiver: Any
    """The syntax tree before the dot; None for a plain name."""
    method: str = ""
    """The method that is called on its value, where one of a container has that name."""


class Source(NamedTuple):
    """A file that was read to look at the uses of names in it."""

    tree: ast.Module
    frames: Sequence[Frame]
    lines: Sequence[str]


def read_source(content: bytes) -> Source | None:
    """The syntax of a file; None for one that Python's parser refuses."""
    try:
        tree = parse_tree(content)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    frames = walk(tree)
    set_ids(frames, MODULE)
    return Source(tree, frames, content.decode("utf-8", "replace").splitlines())


def occurrences(source: Source, name: str) -> list[Occurrence]:
    """All uses of a name in a file, by line."""
    unsorted = _Finder(source.frames, name).occurrences(source.tree)
    return sorted(unsorted, key=lambda occurrence: occurrence[:2])


def receiver_expression(occurrence: Occurrence) -> str:
    """What is before the dot, as the graph's resolver reads it; empty where that is unknown."""
    return expression(occurrence.frame, occurrence.scope, occurrence.receiver)


def value_expression(occurrence: Occurrence, name: str) -> str:
    """What an occurrence of a name is as a whole, as the graph's resolver reads it."""
    frame = occurrence.frame
    scope = occurrence.scope
    if occurrence.receiver is None:
        return expression_of(frame, scope, name, "")
    root, attributes = _chain(occurrence.receiver)
    if not root:
        return ""
    return expression_of(frame, scope, root, f"{attributes}.{name}".strip("."))


def expression(frame: Frame, scope: Frame, node: Any) -> str:
    """What a name, a chain of attributes or a call is, as the graph's resolver reads it."""
    root, attributes = _chain(node)
    if not root:
        return ""
    if attributes:
        return expression_of(frame, scope, root, attributes)
    return root_expression(frame, scope, root)


def _chain(node: Any) -> Chain:
    """The chain that a tree is, from a name or the result of a call on; else an empty root."""
    attributes: list[str] = []
    while isinstance(node, ast.Attribute):
        attributes.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name):
        root = node.id
    else:
        root = result_root(node)
    return root, ".".join(reversed(attributes))


class _Visit(NamedTuple):
    """A node to look at, and its role in what is around it."""

    node: ast.AST
    frame: Frame
    scope: Frame
    role: UseKind | None = None
    chain_end: int = 0
    """The last line of the chain of attributes that it is the beginning of."""
    method: str = ""
    """The method that is called on it, where one of a container has that name."""


class _Finder:
    """Walks a tree with a stack of its own: source may be nested deeper than Python recurses."""

    def __init__(self, frames: Sequence[Frame], name: str) -> None:
        self._name = name
        self._module = frames[0]
        self._frame_of = {id(frame.node): frame for frame in frames if frame.kind != "block"}

    def occurrences(self, tree: ast.Module) -> Iterator[Occurrence]:
        """Yield the uses in no promised order."""
        stack = [_Visit(tree, self._module, self._module)]
        while stack:
            visit = stack.pop()
            node = visit.node
            if isinstance(node, ast.Attribute):
                if node.attr == self._name:
                    yield self._occurrence(visit, node.end_lineno or node.lineno, node.value)
            elif isinstance(node, ast.Name):
                if node.id == self._name:
                    yield self._occurrence(visit, node.lineno, None)
            elif isinstance(node, ast.Call):
                yield from self._in_arguments(visit, node)
            elif isinstance(node, ast.Constant):
                stack += self._quoted(visit, node)
            stack += self._parts(visit)

    def _occurrence(self, visit: _Visit, line: int, receiver: Any) -> Occurrence:
        node: Any = visit.node
        link_line = visit.chain_end or line
        kind = _kind(node, visit.role)
        column = node.end_col_offset or 0
        return Occurrence(
            line, column, link_line, kind, visit.frame, visit.scope, receiver, visit.method
        )

    def _in_arguments(self, visit: _Visit, node: ast.Call) -> Iterator[Occurrence]:
        """`setattr(slot, "closing", …)` and `Slot(closing=…)`."""
        function = node.func
        if isinstance(function, ast.Name):
            kind = _BY_NAME.get(function.id)
        else:
            kind = None
        if kind and len(node.args) > 1:
            named = node.args[1]
            if isinstance(named, ast.Constant) and named.value == self._name:
                yield self._at(visit, named, kind, node.args[0])
        for keyword in node.keywords:
            if keyword.arg == self._name:
                yield self._at(visit, keyword, UseKind.KEYWORD, function)

    def _at(self, visit: _Visit, node: Any, kind: UseKind, receiver: Any) -> Occurrence:
        line = node.lineno
        return Occurrence(line, node.col_offset, line, kind, visit.frame, visit.scope, receiver)

    def _quoted(self, visit: _Visit, node: ast.Constant) -> list[_Visit]:
        """The tree of an annotation in quotes."""
        if visit.role != UseKind.ANNOTATION or not isinstance(node.value, str):
            return []
        if self._name not in node.value:
            return []
        try:
            inner = ast.parse(node.value.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return []
        for part in ast.walk(inner):
            if hasattr(part, "lineno"):
                ast.copy_location(part, node)
        return [visit._replace(node=inner)]

    def _parts(self, visit: _Visit) -> Iterator[_Visit]:
        """The nodes inside a node."""
        node = visit.node
        frame = self._frame_of.get(id(node))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            if frame is not None and frame.outer is not None:
                yield from self._in_definition(node, frame, frame.outer.home)
            return
        if frame is not None:  # an assignment that makes a field
            visit = visit._replace(frame=frame, scope=frame.home)
        if isinstance(node, ast.Attribute):
            end = visit.chain_end or node.end_lineno or node.lineno
            if visit.role == UseKind.CALL and node.attr in _MUTATORS:
                method = node.attr
            else:
                method = ""
            role = UseKind.CONTENT if method else None
            yield visit._replace(node=node.value, role=role, chain_end=end, method=method)
            return
        for child, role in _children(node, visit.role):
            yield visit._replace(node=child, role=role, chain_end=0, method="")

    def _in_definition(self, node: Any, frame: Frame, around: Frame) -> Iterator[_Visit]:
        for decorator in node.decorator_list:
            yield _Visit(decorator, frame, around, UseKind.DECORATOR)
        if isinstance(node, ast.ClassDef):
            yield from (_Visit(base, frame, around, UseKind.BASE) for base in node.bases)
            yield from (_Visit(keyword, frame, around) for keyword in node.keywords)
        else:
            yield _Visit(node.args, frame, around)
            if node.returns is not None:
                yield _Visit(node.returns, frame, around, UseKind.ANNOTATION)
        yield from (_Visit(child, frame, frame) for child in node.body)


def _kind(node: Any, role: UseKind | None) -> UseKind:
    if isinstance(node.ctx, ast.Store):
        if role in (UseKind.UPDATE, UseKind.DECLARATION):
            return role
        return UseKind.WRITE
    if isinstance(node.ctx, ast.Del):
        return UseKind.DELETE
    return role or UseKind.READ


def _children(node: Any, role: UseKind | None) -> Iterator[tuple[ast.AST, UseKind | None]]:
    """(child, its role) of a node that is no definition and no attribute."""
    if isinstance(node, ast.Call):
        yield from _of_call(node)
    elif isinstance(node, ast.arg):
        if node.annotation is not None:
            yield node.annotation, UseKind.ANNOTATION
    elif isinstance(node, ast.AnnAssign):
        yield node.annotation, UseKind.ANNOTATION
        yield node.target, None if node.value is not None else UseKind.DECLARATION
        if node.value is not None:
            yield node.value, None
    elif isinstance(node, ast.AugAssign):
        yield node.target, UseKind.UPDATE
        yield node.value, None
    elif isinstance(node, ast.ExceptHandler):
        if node.type is not None:
            yield node.type, UseKind.EXCEPT
        yield from ((child, None) for child in node.body)
    elif isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
        yield node.value, UseKind.CONTENT
        yield node.slice, None
    else:
        if role in _SHARED_ROLES and isinstance(node, _GROUPS):
            shared = role
        else:
            shared = None
        yield from ((child, shared) for child in ast.iter_child_nodes(node))


def _of_call(node: ast.Call) -> Iterator[tuple[ast.AST, UseKind | None]]:
    function = node.func
    yield function, UseKind.CALL
    is_test = isinstance(function, ast.Name) and function.id in _CLASS_TESTS
    for place, argument in enumerate(node.args):
        yield argument, UseKind.ISINSTANCE if is_test and place == 1 else None
    yield from ((keyword, None) for keyword in node.keywords)
