"""Plain values that the body of a class binds, and the list of public names of a module.

Such a statement (`limit = 3`) calls nothing when the file is imported, and fails only where another
one does something with the name. Who gets no such value has the same import as before. What is not
surely of that kind is part of the rest of a body, which executes anything.

Pure: one file's bytes in, facts out.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Final

from kl_hooks.code.scanner.parser import parse_tree
from kl_hooks.model.definitions import EMPTY, NamedTuple, lazy_pattern

ALL: Final = "__all__"
"""The list of public names of a module, which only `import *` reads by itself (The Python Language
Reference, 7.11).
"""
_IDENTIFIER: Final = lazy_pattern(r"[^\W\d]\w*")
_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Definition = _Function | ast.ClassDef
_SIGNS: Final = (ast.USub, ast.UAdd)


class Assignment(NamedTuple):
    """A name that a body binds to a plain value, by one statement."""

    annotation: str = ""
    value: str = ""
    is_immutable: bool = True
    """Whether it is a constant, or a tuple of them."""


class Body(NamedTuple):
    """What the body of a module or class executes, but for definitions and docstrings."""

    assignments: Mapping[str, Assignment] = EMPTY
    """Name → its value, in the order of the statements."""
    other_statements: tuple[str, ...] = ()
    """All other statements."""
    is_plain: bool = True
    """Whether the other statements make and call nothing: constants, annotations."""


@lru_cache(maxsize=512)  # asked for each of the recorded runs
def bodies(content: bytes) -> Mapping[str, Body]:
    """`C` → the body of a class at the top or in one, empty for that of the module. Empty for
    source that can't be read.
    """
    try:
        tree = parse_tree(content)
        used = _names_used_by_import(tree)
        scopes = list(_bodies(tree, "", used))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    # of several classes of one name it is unknown which one a test gets
    number = Counter(scope for scope, _ in scopes)
    return {scope: body for scope, body in scopes if number[scope] == 1}


def changed_assignments(old: Body, new: Body) -> frozenset[str] | None:
    """The names whose value or presence differs; None where a body differs in more than these."""
    if old.other_statements != new.other_statements:
        return None
    common = old.assignments.keys() & new.assignments.keys()
    orders = [[name for name in body.assignments if name in common] for body in (old, new)]
    if orders[0] != orders[1]:
        return None
    # an import evaluates annotations (The Python Language Reference, 7.2.2; from 3.14 on only
    # who asks for them): another one may fail
    if any(
        assignment.annotation != old.assignments.get(name, Assignment()).annotation
        for name, assignment in new.assignments.items()
    ):
        return None
    return frozenset(
        name
        for name in old.assignments.keys() | new.assignments.keys()
        if old.assignments.get(name) != new.assignments.get(name)
    )


def _bodies(
    node: ast.Module | ast.ClassDef, scope: str, used: Counter[str]
) -> Iterator[tuple[str, Body]]:
    bound = Counter(_names_bound(node.body))
    assignments: dict[str, Assignment] = {}
    other_statements: list[str] = []
    is_plain = True
    for statement in node.body:
        if isinstance(statement, ast.ClassDef):
            if scope:
                name = f"{scope}.{statement.name}"
            else:
                name = statement.name
            yield from _bodies(statement, name, used)
        if isinstance(statement, _Definition | ast.Pass) or _is_text(statement):
            continue
        pair = _assignment(statement)
        own = Counter(_identifiers(statement))
        if pair and _is_alone(pair[0], bound, used, own) and _is_suitable(*pair, scope):
            assignments[pair[0]] = pair[1]
        else:
            other_statements.append(ast.dump(statement))
            is_plain = is_plain and (pair is not None or _makes_nothing(statement))
    yield scope, Body(assignments, tuple(other_statements), is_plain)


def _makes_nothing(statement: ast.stmt) -> bool:
    match statement:
        case ast.AnnAssign(target=ast.Name(), value=None):
            return True
    return False


def _is_alone(name: str, bound: Counter[str], used: Counter[str], own: Counter[str]) -> bool:
    """Whether a body binds a name once, and nothing but this statement uses it on import."""
    return bound[name] == 1 and used[name] == own[name]


def _is_suitable(name: str, assignment: Assignment, scope: str) -> bool:
    """Names with two underscores are asked by the interpreter, or mean another name in a class."""
    if scope:
        return not name.startswith("__")
    return name == ALL and not assignment.annotation


def _assignment(statement: ast.stmt) -> tuple[str, Assignment] | None:
    """The name that a statement binds to a plain value."""
    annotation = ""
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            pass
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
            annotation = ast.dump(statement.annotation)
        case _:
            return None
    if not _is_plain(value):
        return None
    return name, Assignment(annotation, ast.dump(value), is_immutable(value))


def _is_plain(node: ast.expr) -> bool:
    """Whether an expression is a constant or a display of constants, which can't fail."""
    match node:
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            return all(map(_is_plain, parts))
        case ast.Set(elts=parts):
            return all(map(is_immutable, parts))
        case ast.Dict(keys=keys, values=values):
            return all(key is not None and is_immutable(key) for key in keys) and all(
                map(_is_plain, values)
            )
    return is_immutable(node)


def is_immutable(node: ast.expr) -> bool:
    """Whether an expression is a constant, or a tuple of constants."""
    match node:
        case ast.Constant():
            return True
        case ast.UnaryOp(op=sign, operand=ast.Constant(value=int() | float() | complex())):
            return isinstance(sign, _SIGNS)
        case ast.Tuple(elts=parts):
            return all(map(is_immutable, parts))
    return False


# which names an import uses


def _names_used_by_import(tree: ast.Module) -> Counter[str]:
    """Identifiers in all that importing a file evaluates, annotations and texts included → how
    often.
    """
    used: Counter[str] = Counter()
    waiting: list[ast.AST] = [*tree.body]
    while waiting:
        node = waiting.pop()
        if isinstance(node, _Function):
            waiting += [*node.decorator_list, node.args, *filter(None, [node.returns])]
            waiting += getattr(node, "type_params", ())
        elif isinstance(node, ast.ClassDef):
            waiting += [statement for statement in node.body if not _is_text(statement)]
            waiting += [*node.decorator_list, *node.bases, *node.keywords]
            waiting += getattr(node, "type_params", ())
        elif not _is_text(node):
            used.update(_names_of(node))
            waiting += ast.iter_child_nodes(node)
    return used


def _identifiers(statement: ast.stmt) -> Iterator[str]:
    for node in ast.walk(statement):
        yield from _names_of(node)


def _names_of(node: ast.AST) -> Iterator[str]:
    """The names that a node loads, and those in texts: code may ask for an attribute by one."""
    match node:
        case ast.Name(id=name, ctx=ast.Load()) | ast.Attribute(attr=name):
            yield name
        case ast.Constant(value=str(text)):
            yield from _IDENTIFIER.findall(text)


def _names_bound(statements: Iterable[ast.stmt]) -> Iterator[str]:
    """The names that statements of a body bind themselves: targets, definitions, imports."""
    for statement in statements:
        if isinstance(statement, _Definition):
            yield statement.name
            continue
        for node in ast.walk(statement):
            match node:
                case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                    yield name
                case ast.alias(name=name, asname=asname):
                    yield asname or name.partition(".")[0]
                case ast.Global(names=names) | ast.Nonlocal(names=names):
                    yield from (*names, *names)
                case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
                    yield name
                case ast.AsyncFunctionDef(name=name):
                    yield name


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
