"""The walk over one file's syntax tree: what is defined where, what is imported, and what the code *says*.

Every scope (module, class, function) and every class-level or module-level assignment is a Frame. One pass over the
tree writes each node into the text of the frame that owns it, so that each node is visited once, however deeply
definitions are nested. From these texts `digests` makes the content hashes.

The text of a frame is our own: node name, then its fields in a fixed order, empty ones skipped; positions, comments,
layout, docstrings, the `u` of `u""` and how an f-string was cut into pieces are left out. `ast.dump` would not do:
it differs between Python 3.11, 3.12 and 3.13. The walk keeps its own stack, because source may be nested more deeply
than Python may recurse, and asks for the commonest node types first, because it is paid for every node of a repository.
"""

from __future__ import annotations

import ast
from typing import Any

from kl_hooks.code.imports_found import DYNAMIC, dynamic_import, import_rows

Node = Any
"""An ast node. Its class is asked at run time; naming the classes would buy a cast per line."""

_LEFT_OUT = frozenset({"ctx", "kind", "type_comment", "type_ignores"})
_STATEMENTS = frozenset({"body", "orelse", "finalbody", "handlers", "cases"})
_PLAIN: dict[type, tuple[str, tuple[tuple[str, str, bool], ...]]] = {}
"""Node class → its mark and (field, the field's mark, is a list of statements)."""
_LEAVES: dict[type, str] = {
    cls: "#" + cls.__name__
    for base in (ast.operator, ast.unaryop, ast.boolop, ast.cmpop)
    for cls in base.__subclasses__()
}
_ALIAS = getattr(ast, "TypeAlias", None)


class Frame:
    """A scope or an assignment, and what was found in it."""

    __slots__ = (
        "checking", "full", "globals", "imports", "kids", "kind", "lazy", "names", "node", "outer", "own", "prefix",
        "receiver", "scope", "text",
    )  # fmt: skip

    def __init__(self, kind: str, node: Node, names: list[str], outer: Frame | None, checking: bool) -> None:
        self.kind = kind
        """`module`, `class`, `function`, `field`, `alias`, or `block`: the inside of `if TYPE_CHECKING:`."""
        self.node = node
        self.names = names
        """What it binds in the scope around it: one name, several for `a, b = 1, 2`, none for module and block."""
        self.outer = outer
        self.scope: str = kind if kind in ("module", "class", "function") else outer.scope if outer else "module"
        self.lazy: bool = kind == "function" or (outer is not None and outer.lazy)
        self.checking = checking
        self.prefix = ""
        """What stands before the names bound in it: `Outer.`, `outer.<locals>.`."""
        self.receiver = ""
        """Inside a method: the name of its first argument."""
        self.globals: frozenset[str] = frozenset()
        self.kids: list[Frame] = []
        self.imports: list[list[Any]] = []
        self.text: list[str] = []
        self.own = b""
        """Digest of what is its own: a class or module without the functions and classes defined in it."""
        self.full = b""
        """Digest with everything inside."""


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
        _plain(node, stack, frame.text)
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


def docstring_of(node: Node) -> str | None:
    """The docstring of a module, class or function as written, or None."""
    if not node.body or node.body[0].__class__ is not ast.Expr:
        return None
    value = node.body[0].value
    if value.__class__ is ast.Constant and value.value.__class__ is str:
        return str(value.value)
    return None


def _walk(frame: Frame, stack: list[Any]) -> None:
    """Writes everything on the stack into the frame's text; inner frames are noted, not entered."""
    text = frame.text
    append, pop, push = text.append, stack.pop, stack.append
    Name, Attribute, Constant, Call, keyword, Expr = (
        ast.Name, ast.Attribute, ast.Constant, ast.Call, ast.keyword, ast.Expr,
    )  # fmt: skip
    special, plain = _SPECIAL.get, _plain
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
            append(f'"{value}' if value.__class__ is str and "\0" not in value else _constant(value))
        elif cls is Call:
            args, keywords, func = node.args, node.keywords, node.func
            append(f"({len(args)},{len(keywords)}")
            if args:
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


def _constant(value: object) -> str:
    cls = value.__class__
    if cls is str:
        words = str(value)
        return '"' + words if "\0" not in words else "%" + words.encode("utf-8", "surrogatepass").hex()
    if cls is int:
        return hex(value) if isinstance(value, int) else ""  # repr() of a huge int is refused
    if cls is complex:
        return f"j{getattr(value, 'imag', 0.0)!r}"
    return f"={value!r}"


def _plain(node: Node, stack: list[Any], text: list[str]) -> None:
    """Any node without a rule of its own: its mark, the marks of its fields that are not empty, their values."""
    known = _PLAIN.get(node.__class__)
    mark, fields = known if known is not None else _learn(node.__class__)
    text.append(mark)
    for field, field_mark, statements in fields:
        value = getattr(node, field, None)
        if value is None:
            continue
        cls = value.__class__
        if cls in _LEAVES:
            text.append(_LEAVES[cls])
        elif cls is list:
            if not value:
                continue
            text.append(field_mark)
            if statements:
                # An end mark instead of a length: what a class defines may not show in the text of the class.
                stack.append("}")
                stack.extend(reversed(value))
            else:
                text.append(str(len(value)))
                stack += value if None not in value else ["0" if item is None else item for item in value]
        else:
            text.append(field_mark)
            if cls is str or cls is int:
                text.append(str(value))
            else:
                stack.append(value)


def _learn(cls: type) -> tuple[str, tuple[tuple[str, str, bool], ...]]:
    names = [name for name in getattr(cls, "_fields", ()) if name not in _LEFT_OUT]
    made = ("#" + cls.__name__, tuple((name, "#" + name, name in _STATEMENTS) for name in names))
    _PLAIN[cls] = made
    return made


def _definition(frame: Frame, node: Node, stack: list[Any]) -> None:
    kind = "class" if node.__class__ is ast.ClassDef else "function"
    if frame.scope == "function":
        frame.text.append("#def")
    frame.kids.append(Frame(kind, node, [node.name], frame, frame.checking))


def _import(frame: Frame, node: Node, stack: list[Any]) -> None:
    frame.imports.extend(import_rows(node, frame.lazy, frame.checking))
    _plain(node, stack, frame.text)


def _assignment(frame: Frame, node: Node, stack: list[Any]) -> None:
    names = _bound(frame, node)
    if names:
        frame.text.append("#field")
        frame.kids.append(Frame("field", node, names, frame, frame.checking))
    else:
        _plain(node, stack, frame.text)


def _bound(frame: Frame, node: Node) -> list[str]:
    """The names of the fields that an assignment makes: class and module level, or `self.x: int` in a method."""
    targets = node.targets if node.__class__ is ast.Assign else [node.target]
    if frame.scope == "function":
        target = targets[0]
        ours = (
            node.__class__ is ast.AnnAssign and frame.receiver and target.__class__ is ast.Attribute
            and target.value.__class__ is ast.Name and target.value.id == frame.receiver
        )  # fmt: skip
        return [target.attr] if ours else []
    flat = [e for t in targets for e in (t.elts if t.__class__ in (ast.Tuple, ast.List) else [t])]
    return [t.id for t in flat if t.__class__ is ast.Name]


def _alias(frame: Frame, node: Node, stack: list[Any]) -> None:
    frame.text.append("#alias")
    frame.kids.append(Frame("alias", node, [node.name.id], frame, frame.checking))


def _if(frame: Frame, node: Node, stack: list[Any]) -> None:
    checking = _type_checking(node.test)
    if not checking:
        _plain(node, stack, frame.text)
        return
    seen, other = (node.body, node.orelse) if checking > 0 else (node.orelse, node.body)
    frame.text += ("#If", "#checking" if checking > 0 else "#unchecked")
    if seen:
        frame.kids.append(Frame("block", ast.Module(seen, []), [], frame, True))
    stack.append("}")
    stack.extend(reversed(other))


def _type_checking(test: Node) -> int:
    """1 for `TYPE_CHECKING` and `typing.TYPE_CHECKING`, -1 for `not` of it, else 0."""
    cls = test.__class__
    if cls is ast.Name:
        return int(test.id == "TYPE_CHECKING")
    if cls is ast.Attribute:
        return int(test.attr == "TYPE_CHECKING")
    return -_type_checking(test.operand) if cls is ast.UnaryOp and test.op.__class__ is ast.Not else 0


def _global(frame: Frame, node: Node, stack: list[Any]) -> None:
    frame.globals |= frozenset(node.names)
    _plain(node, stack, frame.text)


def _joined(frame: Frame, node: Node, stack: list[Any]) -> None:
    """An f-string: neighbouring pieces of plain text are one piece, empty ones none; Pythons cut them differently."""
    parts: list[Any] = []
    for value in node.values:
        if value.__class__ is not ast.Constant:
            parts.append(value)
        elif value.value:
            mark = _constant(value.value)
            if parts and parts[-1].__class__ is str:
                parts[-1] += mark[1:] if mark[0] == '"' else mark
            else:
                parts.append(mark)
    frame.text += ("#JoinedStr", str(len(parts)))
    stack.extend(parts)


_SPECIAL: dict[type, Any] = {
    ast.FunctionDef: _definition, ast.AsyncFunctionDef: _definition, ast.ClassDef: _definition,
    ast.Import: _import, ast.ImportFrom: _import, ast.Assign: _assignment, ast.AnnAssign: _assignment,
    ast.If: _if, ast.Global: _global, ast.JoinedStr: _joined,
}  # fmt: skip
if _ALIAS is not None:
    _SPECIAL[_ALIAS] = _alias
