"""The walk over one file's syntax tree: what is defined where, what is imported, and the text of
the code.

Every scope (module, class, function) and every class-level or module-level assignment is a `Frame`.
One pass writes every node into the text of the frame that owns it, so that each node is visited
once, however deeply definitions are nested; it also notes which names are used, stored to and bound
(`scanner.references` makes sense of those). The walk keeps its own stack, because source may be
nested more deeply than Python may recurse, and asks for the commonest node types first, because it
is paid for every node of a repository.

The text of a node is a mark, then its fields in a fixed order, empty ones skipped; positions,
comments, layout and the `u` of `u""` are omitted. `ast.dump` would not do: it differs between
Python 3.11, 3.12 and 3.13. No mark is an identifier, so the identifiers of a text can be
distinguished from its marks.
"""

from __future__ import annotations

import ast
from ast import Attribute, Call, Constant, Expr, Load, Name, keyword
from collections.abc import Sequence
from typing import Any

from kl_hooks.code.scanner.expressions import imported
from kl_hooks.code.scanner.imports import DYNAMIC, import_rows, type_checking
from kl_hooks.model.definitions import lazy_pattern

_LITERAL = lazy_pattern(r"(\.*)([^\W\d]\w*(?:\.[^\W\d]\w*)*)")

Node = Any
"""An ast node. Its class is asked at run time; naming the classes would buy a cast per line."""


class Frame:
    """A scope or an assignment, and what was found in it."""

    __slots__ = (
        "bases",
        "binds",
        "cache",
        "checking",
        "dynamic",
        "full",
        "globals",
        "head",
        "home",
        "ids",
        "imports",
        "kids",
        "kind",
        "lazy",
        "names",
        "node",
        "nonlocals",
        "outer",
        "own",
        "prefix",
        "receiver",
        "scope",
        "stars",
        "stores",
        "table",
        "text",
        "typed",
        "uses",
    )

    def __init__(
        self, kind: str, node: Node, names: list[str], outer: Frame | None, checking: bool
    ) -> None:
        self.kind = kind
        """`module`, `class`, `function`, `field`, `alias`, or `block`: the inside of `if
        TYPE_CHECKING:`.
        """
        self.node = node
        self.names = names
        """What it binds in the scope around it: one name, several for `a, b = 1, 2`, none for
        module and block.
        """
        self.outer = outer
        self.scope: str = "module"
        if kind in ("module", "class", "function"):
            self.scope = kind
        elif outer:
            self.scope = outer.scope
        self.lazy: bool = kind == "function" or (outer is not None and outer.lazy)
        self.checking = checking
        self.prefix = ""
        """The prefix of the names bound in it: `Outer.`, `outer.<locals>.`."""
        self.receiver = ""
        """Inside a method: the name of its first argument."""
        self.globals: frozenset[str] = frozenset()
        self.nonlocals: frozenset[str] = frozenset()
        self.home: Frame = self if self.scope == kind or outer is None else outer.home
        """The scope whose names it sees: its own, or for a field and a block that of what is around
        it.
        """
        self.kids: list[Frame] = []
        self.imports: list[list[Any]] = []
        self.dynamic: set[str] = outer.dynamic if outer is not None else set(DYNAMIC)
        """The names, in this file, of the functions that import by name."""
        self.uses: list[tuple[str, str, int, int]] = []
        """(root name, attributes joined by dots, line, place in `RELATIONS`). A chain that starts
        with the result of a call has the root `a.b()`, one that starts with something else an empty
        one."""
        self.head = 0
        """How many of the uses come before its body (decorators, bases, arguments): those see the
        scope around it.
        """
        self.bases: list[tuple[str, str, int]] = []
        """(root name, attributes, line) of each base of a class."""
        self.stores: list[str] = []
        """Names that are stored to, once for each time."""
        self.typed: list[tuple[str, str, str]] = []
        """(name or `self` attribute, root name and attributes of the class it is an instance of).
        """
        self.binds: list[tuple[str, str]] = []
        """(name, what it is imported from), in the spelling of `code.scanner.expressions`."""
        self.stars: list[str] = []
        """Modules of its star imports, in the same spelling."""
        self.ids: list[str] = []
        """The Ids of what it defines, for a module called `_`; none for a block."""
        self.cache: dict[str, str] = {}
        """Name → what it refers to when it is used in this scope, once asked for."""
        self.table: dict[str, str] | None = None
        """Name → what it refers to, of the names that this scope binds; once asked for."""
        self.text: list[str] = []
        self.own = b""
        """Digest of what is its own: a class or module without the functions and classes defined in
        it.
        """
        self.full = b""
        """Digest with everything inside."""


def release(frames: Sequence[Frame]) -> None:
    """Releases frames that nobody needs any more, and so of their tree: they hold each other, and
    nobody looks for such cycles while files are read.
    """
    for frame in frames:
        del frame.home, frame.outer


def docstring(node: Node) -> str | None:
    """The docstring of a module, class or function as written, or None."""
    if not node.body or node.body[0].__class__ is not ast.Expr:
        return None
    value = node.body[0].value
    if value.__class__ is ast.Constant and value.value.__class__ is str:
        return str(value.value)
    return None


Chain = tuple[str, str]
"""(root name, attributes joined by dots or empty)."""
_DOTTED = lazy_pattern(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")
# a class has the members of its instances
_WRAPPERS = frozenset(
    {
        "Optional",
        "Annotated",
        "Final",
        "ClassVar",
        "Required",
        "NotRequired",
        "ReadOnly",
        "Type",
        "type",
    }
)
_VAGUE = frozenset(
    {
        "Any",
        "Union",
        "Type",
        "Callable",
        "Literal",
        "LiteralString",
        "Never",
        "NoReturn",
        "TypeAlias",
    }
)
"""Names in annotations that are no class."""


def chain(node: Node) -> Chain | None:
    """The chain that a Name or Attribute is; None for anything that starts with something else than
    a name.
    """
    parts: list[str] = []
    while node.__class__ is ast.Attribute:
        parts.append(node.attr)
        node = node.value
    if node.__class__ is not ast.Name:
        return None
    parts.reverse()
    return node.id, ".".join(parts)


def base_chain(node: Node) -> Chain | None:
    """The chain of a class's base, `Base[int]` and all."""
    return chain(node.value if node.__class__ is ast.Subscript else node)


def annotated(node: Node) -> Chain | None:
    """The class that an annotation names, if it names one; `X | None`, `Optional[X]`, `Annotated[X,
    …]`, "X" do.
    """
    for _ in range(4):
        cls = node.__class__
        if cls is ast.Constant and node.value.__class__ is str:
            return dotted(node.value)
        if cls is ast.BinOp and node.op.__class__ is ast.BitOr:
            # of `X | Y` (PEP 604) neither is certain; with None there is one class left
            if _nothing(node.right):
                node = node.left
            elif _nothing(node.left):
                node = node.right
            else:
                node = None
        elif cls is ast.Subscript:
            outer = chain(node.value)
            if outer is None:
                return None
            last = outer[1].rpartition(".")[2] or outer[0]
            if last == "Union" and node.slice.__class__ is ast.Tuple:
                classes = [element for element in node.slice.elts if not _nothing(element)]
                if len(classes) == 1:
                    node = classes[0]
                else:
                    node = None
                continue
            if last not in _WRAPPERS:
                if last not in _VAGUE:
                    return outer
                return None
            if node.slice.__class__ is ast.Tuple and node.slice.elts:
                node = node.slice.elts[0]
            else:
                node = node.slice
        else:
            break
    class_chain = chain(node) if node is not None else None
    if class_chain is None or (class_chain[1].rpartition(".")[2] or class_chain[0]) not in _VAGUE:
        return class_chain
    return None


def dotted(text: str) -> Chain | None:
    """The chain that a text spells, such as an annotation in quotes."""
    if len(text) > 200 or _DOTTED.fullmatch(text) is None:
        return None
    root, _, attributes = text.partition(".")
    return root, attributes


def _nothing(node: Node) -> bool:
    return node.__class__ is ast.Constant and node.value is None


def _note_import(frame: Frame, node: Node) -> None:
    """The names that an import statement binds."""
    if node.__class__ is ast.Import:
        for alias in node.names:
            frame.binds.append(
                (alias.asname, imported(alias.name)) if alias.asname else _top(alias.name)
            )
        return
    module = "." * node.level + (node.module or "")
    if module in ("importlib", "builtins"):
        frame.dynamic.update(
            alias.asname for alias in node.names if alias.asname and alias.name in DYNAMIC
        )
    for alias in node.names:
        if alias.name == "*":
            frame.stars.append(imported(module))
        else:
            frame.binds.append((alias.asname or alias.name, imported(module, alias.name)))


def _top(dotted: str) -> tuple[str, str]:
    top = dotted.partition(".")[0]
    return top, imported(top)


def _note_importer(frame: Frame, node: Node) -> None:
    """`load = importlib.import_module`: another name of what imports by name."""
    value = node.value
    if (value.id if value.__class__ is ast.Name else value.attr) in frame.dynamic:
        if node.__class__ is ast.Assign:
            targets = node.targets
        else:
            targets = [node.target]
        frame.dynamic.update(target.id for target in targets if target.__class__ is ast.Name)


def _note_bases(frame: Frame, node: Node) -> None:
    """The bases of a class that are names."""
    for base in node.bases:
        class_chain = base_chain(base)
        if class_chain is not None:
            frame.bases.append((*class_chain, base.lineno))


def _note_parameters(frame: Frame, node: Node) -> None:
    """The classes that a function's annotated arguments are instances of."""
    args = node.args
    # without vararg and kwarg: `*rest: C` is a tuple, `**more: C` a dict, and neither is a C
    for arg in (*args.posonlyargs, *args.args, *args.kwonlyargs):
        if arg.annotation is not None:
            _typed(frame, arg.arg, annotated(arg.annotation))
            _note_quoted(frame, arg.annotation)
    if node.returns is not None:
        _note_quoted(frame, node.returns)


def _note_assignment(frame: Frame, node: Node) -> None:
    """`x = Class(…)`, `x: Class`, and the same of `self.x`: what x is an instance of."""
    for target in node.targets if node.__class__ is ast.Assign else [node.target]:
        if target.__class__ is ast.Tuple or target.__class__ is ast.List:
            for element in target.elts:
                if (
                    element.__class__ is ast.Attribute
                    and element.value.__class__ is ast.Name
                    and element.value.id == frame.receiver
                ):
                    _typed(frame, f"self.{element.attr}", None)
        else:
            _note(frame, target, node)


def _note_field(frame: Frame, node: Node) -> None:
    """The same for a field: what its name, in the scope around it, is an instance of."""
    outer = frame.outer
    assert outer is not None
    if node.__class__ is ast.Assign and (
        len(node.targets) > 1 or node.targets[0].__class__ is not ast.Name
    ):
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
        _note_quoted(frame, node.annotation)
        _typed(frame, name, annotated(node.annotation))
    elif node.value.__class__ is ast.Constant and node.value.value is None:
        # `self.x = None` until the real value comes: an assignment to be counted, but no class
        _typed(frame, name, ("None", ""))
    elif node.value.__class__ is ast.Call:
        _typed(frame, name, chain(node.value.func))
    else:
        value_chain = chain(node.value)
        if value_chain is not None:
            _typed(frame, name, (f"={value_chain[0]}", value_chain[1]))
        elif name.startswith("self.") or frame.scope != "function":
            _typed(frame, name, None)


def _note_handler(frame: Frame, node: Node) -> None:
    """`except Class as x`: what x is an instance of."""
    if node.name and node.type is not None:
        _typed(frame, node.name, chain(node.type))


def _note_with(frame: Frame, node: Node) -> None:
    """`with make(…) as x`: x is what the `__enter__` of the result returns."""
    for item in node.items:
        if item.optional_vars.__class__ is ast.Name and item.context_expr.__class__ is ast.Call:
            callee = chain(item.context_expr.func)
            if callee is not None:
                if callee[1]:
                    called = f"{callee[0]}.{callee[1]}()"
                else:
                    called = f"{callee[0]}()"
                _typed(frame, item.optional_vars.id, (called, "__enter__"))


def _note_quoted(frame: Frame, annotation: Node) -> None:
    """The class that an annotation in quotes names, as a use: the walk sees no more than a
    string.
    """
    if annotation.__class__ is ast.Constant and annotation.value.__class__ is str:
        class_chain = dotted(annotation.value)
        if class_chain is not None:
            frame.uses.append((*class_chain, annotation.lineno, 0))


def _typed(frame: Frame, name: str, type_chain: tuple[str, str] | None) -> None:
    frame.typed.append((name, *(type_chain or ("", ""))))


def share(block: Frame, home: Frame) -> None:
    """What a block binds is bound in the scope around it."""
    block.stores = home.stores
    block.typed = home.typed
    block.binds = home.binds
    block.stars = home.stars


_OMITTED = frozenset({"ctx", "kind", "type_comment", "type_ignores"})
_STATEMENTS = frozenset({"body", "orelse", "finalbody", "handlers", "cases"})
_Known = tuple[str, tuple[tuple[str, str, bool], ...]]
_PLAIN: dict[type, _Known] = {}
"""Node class → its mark and (field, the field's mark, is a list of statements)."""
# operators have no fields: the name of the class is all there is to write
_LEAVES: dict[type, str] = {
    cls: "#" + cls.__name__
    for base in (ast.operator, ast.unaryop, ast.boolop, ast.cmpop)
    for cls in base.__subclasses__()
}


def constant(value: object) -> str:
    """The text of a literal's value; equal texts mean equal values of one type."""
    cls = value.__class__
    if cls is str:
        words = str(value)
        # the pieces of a text are joined by NUL before they are hashed (symbols.set_digests): none
        # may hold one
        if "\0" not in words:
            return '"' + words
        return "%" + words.encode("utf-8", "surrogatepass").hex()
    if cls is int:
        # repr() of a huge int is refused
        if not isinstance(value, int):
            return ""
        return hex(value)
    if cls is complex:
        return f"j{getattr(value, 'imag', 0.0)!r}"
    return f"={value!r}"


def plain(node: Node, stack: list[Any], text: list[str]) -> None:
    """Any node without a rule of its own: its mark, the marks of its fields that are not empty,
    their values.
    """
    mark_and_fields = _PLAIN.get(node.__class__)
    mark, fields = mark_and_fields if mark_and_fields is not None else _learn(node.__class__)
    text.append(mark)
    for field, field_mark, statements in fields:
        value = getattr(node, field, None)
        if value is None:
            continue
        cls = value.__class__
        if cls is list:
            if not value:
                continue
            text.append(field_mark)
            if statements:
                # An end mark instead of a length: what a class defines may not show in the text of
                # the class.
                stack.append("}")
                stack += value[::-1]
            else:
                text.append(str(len(value)))
                # None is the key of `**x` in a dict, and the default of a keyword argument that has
                # none
                stack += (
                    value
                    if None not in value
                    else ["0" if item is None else item for item in value]
                )
        elif cls in _LEAVES:
            text.append(_LEAVES[cls])
        else:
            text.append(field_mark)
            if cls is str or cls is int:
                text.append(str(value))
            else:
                stack.append(value)


def _learn(cls: type) -> _Known:
    names = [name for name in getattr(cls, "_fields", ()) if name not in _OMITTED]
    mark_and_fields: _Known = (
        "#" + cls.__name__,
        tuple((name, "#" + name, name in _STATEMENTS) for name in names),
    )
    _PLAIN[cls] = mark_and_fields
    return mark_and_fields


def _definition(frame: Frame, node: Node, stack: list[Any]) -> None:
    if node.__class__ is ast.ClassDef:
        kind = "class"
    else:
        kind = "function"
    if frame.scope == "function":
        # in a function only: its hash covers where its inner definitions are, that of a class or
        # module must not
        frame.text.append("#def")
    frame.kids.append(Frame(kind, node, [node.name], frame, frame.checking))


def _import(frame: Frame, node: Node, stack: list[Any]) -> None:
    frame.imports.extend(import_rows(node, frame.lazy, frame.checking))
    _note_import(frame, node)
    plain(node, stack, frame.text)


def _assignment(frame: Frame, node: Node, stack: list[Any]) -> None:
    names = _bound(frame, node)
    if node.value.__class__ is ast.Attribute or node.value.__class__ is ast.Name:
        _note_importer(frame, node)
    if names:
        frame.text.append("#field")
        frame.kids.append(Frame("field", node, names, frame, frame.checking))
    else:
        _note_assignment(frame, node)
        plain(node, stack, frame.text)


def _bound(frame: Frame, node: Node) -> list[str]:
    """The names of the fields that an assignment makes: class and module level, or `self.x: int` in
    a method.
    """
    if frame.scope == "function":
        return _of_receiver(node, frame.receiver)
    return _bound_names(node)


def _bound_names(node: Any) -> list[str]:
    """The plain names that an assignment binds."""
    if node.__class__ is ast.Assign:
        targets = node.targets
    else:
        targets = [node.target]
    flat = [e for t in targets for e in (t.elts if t.__class__ in (ast.Tuple, ast.List) else [t])]
    return [t.id for t in flat if t.__class__ is ast.Name]


def _of_receiver(node: Node, receiver: str) -> list[str]:
    if not isinstance(node, ast.AnnAssign) or not isinstance(node.target, ast.Attribute):
        return []
    owner = node.target.value
    if isinstance(owner, ast.Name) and owner.id == receiver:
        return [node.target.attr]
    return []


def _alias(frame: Frame, node: Node, stack: list[Any]) -> None:
    frame.text.append("#alias")
    frame.kids.append(Frame("alias", node, [node.name.id], frame, frame.checking))


def _if(frame: Frame, node: Node, stack: list[Any]) -> None:
    checking = type_checking(node.test)
    if not checking:
        plain(node, stack, frame.text)
        return
    checked, other = (node.body, node.orelse) if checking > 0 else (node.orelse, node.body)
    frame.text += ("#If", "#checking" if checking > 0 else "#unchecked")
    if checked:
        # ast.Module as something with a body, which is all that _enter needs of a block
        frame.kids.append(Frame("block", ast.Module(checked, []), [], frame, True))
    stack.append("}")
    stack.extend(reversed(other))


def _global(frame: Frame, node: Node, stack: list[Any]) -> None:
    frame.globals |= frozenset(node.names)
    plain(node, stack, frame.text)


def _nonlocal(frame: Frame, node: Node, stack: list[Any]) -> None:
    frame.nonlocals |= frozenset(node.names)
    plain(node, stack, frame.text)


def _stored(frame: Frame, node: Node, stack: list[Any]) -> None:
    """An argument, `except … as name`, `case … as name`: its name is a plain string, and is stored
    to.
    """
    for field in ("arg", "name", "rest"):
        name = getattr(node, field, None)
        if name:
            frame.stores.append(name)
    plain(node, stack, frame.text)


def _handler(frame: Frame, node: Node, stack: list[Any]) -> None:
    _note_handler(frame, node)
    _stored(frame, node, stack)


def _with(frame: Frame, node: Node, stack: list[Any]) -> None:
    _note_with(frame, node)
    plain(node, stack, frame.text)


def _joined(frame: Frame, node: Node, stack: list[Any]) -> None:
    """An f-string: neighbouring pieces of plain text are one piece, empty ones none; Pythons cut
    them differently.
    """
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
    ast.FunctionDef: _definition,
    ast.AsyncFunctionDef: _definition,
    ast.ClassDef: _definition,
    ast.Import: _import,
    ast.ImportFrom: _import,
    ast.Assign: _assignment,
    ast.AnnAssign: _assignment,
    ast.If: _if,
    ast.Global: _global,
    ast.Nonlocal: _nonlocal,
    ast.JoinedStr: _joined,
    ast.arg: _stored,
    # no AsyncWith: annotations of async functions such as `__aenter__` are not followed
    # (docs/code-graph.md)
    ast.ExceptHandler: _handler,
    ast.With: _with,
    ast.MatchAs: _stored,
    ast.MatchStar: _stored,
    ast.MatchMapping: _stored,
}
if hasattr(ast, "TypeAlias"):  # Python 3.12
    RULES.update({ast.TypeAlias: _alias})


def walk(tree: ast.Module) -> list[Frame]:
    """All frames of a file, the module first, every frame after the one around it."""
    frames = [Frame("module", tree, [], None, False)]
    for frame in frames:  # grows while it is walked
        _enter(frame)
        frames.extend(frame.kids)
    return frames


def _enter(frame: Frame) -> None:
    """Puts a frame's own parts on a stack, sets what its inside needs to know, and walks."""
    node = frame.node
    outer = frame.outer
    stack: list[Any] = []
    if frame.kind == "block":
        assert outer is not None
        frame.prefix = outer.prefix
        frame.receiver = outer.receiver
        frame.globals = outer.globals
        share(frame, outer.home)
        stack.extend(reversed(node.body))
    elif frame.kind in ("field", "alias"):
        _note_field(frame, node)
        plain(node, stack, frame.text)
    else:
        if outer is not None:
            _walk_head(frame, node, outer)
        stack.extend(reversed(node.body))
        # a docstring is no code: another wording leaves the content hash as it is
        if docstring(node) is not None:
            stack.pop()
    _walk(frame, stack)


def _walk_head(frame: Frame, node: Node, outer: Frame) -> None:
    """What comes before the body of a class or function; its names are those of the scope around
    it.
    """
    stack: list[Any] = []
    name = frame.names[0]
    if name in outer.globals:
        qualified = name
    else:
        qualified = outer.prefix + name
    frame.prefix = f"{qualified}." if frame.kind == "class" else f"{qualified}.<locals>."
    frame.text += ("#" + node.__class__.__name__, name)
    # type_params: since Python 3.12 (PEP 695)
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
        _note_bases(frame, node)
    _walk(frame, stack)
    frame.head = len(frame.uses)
    if frame.kind == "function":
        _note_parameters(frame, node)


def _walk(frame: Frame, stack: list[Any]) -> None:
    """Writes everything on the stack into the frame's text, and what names are used; inner frames
    are noted only.

    A chain such as `a.b.c` is visited at once: one use, and in the text what its nodes would have
    written one by one.
    """
    # local variables: this loop runs for every node of a repository
    text = frame.text
    use = frame.uses.append
    append = text.append
    pop = stack.pop
    push = stack.append
    special = RULES.get
    while stack:
        node = pop()
        cls = node.__class__
        code = 0
        if cls is Call:
            args = node.args
            keywords = node.keywords
            func = node.func
            append(f"({len(args)},{len(keywords)}")
            stack += (*args, *keywords)
            cls = func.__class__
            if cls is not Name and cls is not Attribute:
                push(func)
                continue
            if (args or keywords) and (func.id if cls is Name else func.attr) in frame.dynamic:
                frame.imports += _dynamic_import(node)
            node, code = func, 1
        if cls is Name:
            name = node.id
            append(name)
            if node.ctx.__class__ is Load:
                use((name, "", node.lineno, code))
            else:
                frame.stores.append(name)
        elif cls is str:
            append(node)
        elif cls is Attribute:
            # lineno is where a chain over several lines starts
            name = node.attr
            line = node.end_lineno
            text += (".", name)
            node = node.value
            while node.__class__ is Attribute:
                text += (".", node.attr)
                name = f"{node.attr}.{name}"
                node = node.value
            if node.__class__ is Name:
                append(node.id)
                use((node.id, name, line, code))
            else:
                push(node)
                use((result_root(node), name, line, code))
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


def _dynamic_import(node: ast.Call) -> list[list[Any]]:
    """The rows of a call of something in `DYNAMIC` with a literal name, such as
    `importlib.import_module("a.b")`.

    A relative name counts only with `__package__` or a literal package as second argument,
    `__import__` with a level only if that is a literal: otherwise it is unknown. Literal names in a
    `fromlist` are rows of their own.
    """
    named = [*node.args[:1], *(k.value for k in node.keywords if k.arg == "name")]
    first = named[0] if named else None
    if not isinstance(first, ast.Constant) or not isinstance(first.value, str):
        return []
    place = (node.col_offset, node.end_lineno, node.end_col_offset)
    func = node.func
    if (func.id if isinstance(func, ast.Name) else getattr(func, "attr", "")) == "__import__":
        return [[*row, node.lineno, "dynamic import", place] for row in _dunder(node, first.value)]
    literal = _LITERAL.fullmatch(first.value)
    if literal is None:
        return []
    dots = len(literal[1])
    module = literal[2]
    if dots:
        package_arguments = [
            *node.args[1:2],
            *(k.value for k in node.keywords if k.arg == "package"),
        ]
        if package_arguments:
            package = package_arguments[0]
        else:
            package = None
        if isinstance(package, ast.Constant) and isinstance(package.value, str):
            above = package.value.split(".")
            module, dots = ".".join([*above[: len(above) - dots + 1], module]), 0
        elif not (isinstance(package, ast.Name) and package.id == "__package__"):
            return []
    return [[module, "", dots, node.lineno, "dynamic import", place]]


def _dunder(node: ast.Call, module: str) -> list[tuple[str, str, int]]:
    """`[module, name, level]` of `__import__(module, globals, locals, fromlist, level)`."""
    arguments = dict(
        zip(("name", "globals", "locals", "fromlist", "level"), node.args, strict=False)
    )
    arguments |= {k.arg: k.value for k in node.keywords if k.arg}
    try:
        if "level" in arguments:
            level = ast.literal_eval(arguments["level"])
        else:
            level = 0
    except ValueError:
        return []
    literal = _LITERAL.fullmatch(module)
    if (
        type(level) is not int
        or level < 0
        or not (literal or (level and not module))
        or (literal and literal[1])
    ):
        return []
    wanted = arguments.get("fromlist")
    if isinstance(wanted, ast.List | ast.Tuple):
        items = wanted.elts
    else:
        items = []
    names = [
        one.value
        for one in items
        if isinstance(one, ast.Constant) and isinstance(one.value, str) and one.value
    ]
    return [(module, name, level) for name in names] or ([(module, "", level)] if module else [])


def result_root(node: Node) -> str:
    """The root of a chain that starts with the result of a call, `a.b()`; empty for anything else
    without a name.
    """
    if node.__class__ is ast.Call:
        callee = chain(node.func)
    else:
        callee = None
    if callee is None:
        return ""
    if callee[1]:
        return f"{callee[0]}.{callee[1]}()"
    return f"{callee[0]}()"
