"""The walk over a file's tree: what it defines, imports, exports and uses.

It goes with a stack of its own, since generated code nests deeper than Python's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.code.module_systems import WHOLE, encoded
from kl_hooks.code.scanner.expressions import DEFINED, INSTANCE, UNKNOWN, imported
from kl_hooks.code.scanner.source import Span
from kl_hooks.code.scanner.trees import TEST, line_of, text_of
from kl_hooks.code.typescript.blocks import BETWEEN
from kl_hooks.code.typescript.nodes import FUNCTIONS, required_module, string_value
from kl_hooks.code.typescript.scopes import UNKNOWN_BINDING, Binding, Chain, Scope
from kl_hooks.model.definitions import NamedTuple

if TYPE_CHECKING:
    from tree_sitter import Node

    from kl_hooks.code.typescript.blocks import Block, BlockReader

REFERENCES: Final = 0
CALLS: Final = 1
INHERITS: Final = 2
"""As in `scanner.references.RELATIONS`."""
_LONGEST_CHAIN: Final = 12
"""Links of a chain of calls that are followed."""
_LONGEST_PREFIX: Final = 400
"""Characters before a name: what is deeper inside of functions gets no Id."""
_STATIC: Final = frozenset({"static"})
_CLASSES: Final = frozenset({"class", "class_declaration", "abstract_class_declaration"})
_SAME_TYPE: Final = frozenset(
    {"Awaited", "NonNullable", "Partial", "Promise", "PromiseLike", "Readonly", "Required"}
)
"""Types of the language after which a member of their argument is meant."""


@dataclass(slots=True)
class Declaration:
    """Something that has a name, at one place."""

    prefix: str
    name: str
    """Dotted, within the file."""
    node: Node
    """All of it, with `export` and decorators."""
    start: Node
    """Where its line begins: without decorators."""
    body: Node | None
    """What its signature ends before."""
    decorators: list[Node] = field(default_factory=list)
    has_own_kids: bool = False
    """Whether its hash omits the functions and classes inside, which have hashes of their own."""
    is_overload: bool = False

    @property
    def code_span(self) -> Span:
        """All of it."""
        return self.node.start_byte, self.node.end_byte

    @property
    def text_start(self) -> int:
        """Where it begins."""
        return self.node.start_byte


class Use(NamedTuple):
    """A chain that is used, before its root is looked up."""

    scope: Scope
    chain: Chain
    owner: int
    relation: int
    line: int


@dataclass(slots=True)
class Walked:
    """What a file holds, by the tree alone."""

    module: Scope
    declarations: list[Declaration] = field(default_factory=list)
    uses: list[Use] = field(default_factory=list)
    imports: list[list[Any]] = field(default_factory=list)
    """Import rows; the last place is the statement's node."""
    exports: dict[str, tuple[Scope, Chain] | str] = field(default_factory=dict)
    """Name → what it means."""
    stars: list[str] = field(default_factory=list)
    bases: dict[str, list[tuple[Scope, Chain | None]]] = field(default_factory=dict)
    types: dict[str, list[tuple[Scope, Chain | None]]] = field(default_factory=dict)


class _Place(NamedTuple):
    """Where the walk is."""

    scope: Scope
    owner: int
    """The declaration around it; -1 for the module."""
    in_class: str = ""
    """The dotted name of the class whose body it is directly in."""
    is_lazy: bool = False
    """Whether it runs later, if at all: inside a function."""
    titles: str = ""
    """Those of the blocks of tests around it, each with what comes between it and the next."""


_Step = tuple["Node", _Place]


class Walker:
    """Walks one file."""

    def __init__(self, root: Node, is_javascript: bool, blocks: BlockReader) -> None:
        self.walked = Walked(Scope(None, "", "", is_function=True))
        self.is_javascript = is_javascript
        self.declared: set[str] = set()
        """The names of all declarations."""
        self.blocks = blocks
        self._stack: list[_Step] = [(root, _Place(self.walked.module, -1))]

    def walk(self) -> Walked:
        """Walk all of it."""
        handlers = _HANDLERS
        stack = self._stack
        while stack:
            node, place = stack.pop()
            handler = handlers.get(node.type)
            if handler is None:
                for child in node.named_children:
                    stack.append((child, place))
            else:
                handler(self, node, place)
        return self.walked

    # -- helpers

    def push(self, node: Node | None, place: _Place) -> None:
        """Walk a node later."""
        if node is not None:
            self._stack.append((node, place))

    def push_children(self, node: Node, place: _Place) -> None:
        """Walk what is inside a node later."""
        for child in node.named_children:
            self._stack.append((child, place))

    def use(self, chain: Chain, relation: int, node: Node, place: _Place) -> None:
        """Note a use."""
        self.walked.uses.append(Use(place.scope, chain, place.owner, relation, line_of(node)))

    def declare(self, declaration: Declaration) -> int:
        """Note a declaration; returns its number."""
        self.walked.declarations.append(declaration)
        self.declared.add(declaration.name)
        return len(self.walked.declarations) - 1

    def bind_type_parameters(self, node: Node, scope: Scope, place: _Place) -> None:
        """Bind the type parameters of a declaration, and walk what constrains them."""
        parameters = node.child_by_field_name("type_parameters")
        if parameters is None:
            return
        for parameter in parameters.named_children:
            name = parameter.child_by_field_name("name")
            if name is not None:
                scope.types[text_of(name)] = UNKNOWN_BINDING
            for key in ("constraint", "value"):
                self.push(parameter.child_by_field_name(key), place._replace(scope=scope))

    def bind_pattern(
        self, pattern: Node, scope: Scope, source: Chain | None, place: _Place
    ) -> Iterator[tuple[str, Node, Chain | None]]:
        """(name, node, the chain that it means) of all names that a pattern binds; walks its
        defaults.
        """
        waiting: list[tuple[Node, Chain | None]] = [(pattern, source)]
        while waiting:
            node, chain = waiting.pop()
            kind = node.type
            if kind in ("identifier", "shorthand_property_identifier_pattern"):
                name = text_of(node)
                if kind != "identifier":
                    chain = _attribute(chain, name)
                yield name, node, chain
            elif kind in ("assignment_pattern", "object_assignment_pattern"):
                left = node.child_by_field_name("left")
                self.push(node.child_by_field_name("right"), place)
                if left is not None:
                    waiting.append((left, chain))
            elif kind == "pair_pattern":
                key = node.child_by_field_name("key")
                value = node.child_by_field_name("value")
                inner = None
                if key is not None and key.type == "property_identifier":
                    inner = _attribute(chain, text_of(key))
                elif key is not None:
                    self.push(key, place)
                if value is not None:
                    waiting.append((value, inner))
            elif kind == "object_pattern":
                waiting += [(child, chain) for child in node.named_children]
            elif kind in ("array_pattern", "rest_pattern"):
                waiting += [(child, None) for child in node.named_children]


def _attribute(chain: Chain | None, name: str) -> Chain | None:
    if chain is None:
        return None
    return chain._replace(attributes=(*chain.attributes, name))


def member_name(node: Node | None) -> str:
    """The name of a property or method as IDs have it; empty for one that is computed."""
    if node is None:
        return ""
    text = text_of(node)
    if node.type in ("property_identifier", "private_property_identifier", "identifier", "number"):
        if "." not in text:
            return text
        return ""
    if node.type == "string":
        inner = text[1:-1]
        if inner.replace("-", "").replace("_", "").replace("$", "").isalnum():
            return inner
        return ""
    if node.type == "computed_property_name" and text.startswith("[Symbol."):
        return f"[{text[len('[Symbol.') : -1]}]"
    return ""


# -- chains


def chain_of(node: Node | None, depth: int = 0) -> Chain | None:
    """The chain that an expression is; None where its root is no name."""
    attributes: list[str] = []
    while node is not None:
        kind = node.type
        if kind == "identifier":
            return Chain("name", text_of(node), None, tuple(reversed(attributes)))
        if kind in ("this", "super"):
            return Chain(kind, "", None, tuple(reversed(attributes)))
        if kind in ("member_expression", "nested_identifier"):
            name = node.child_by_field_name("property")
            attributes.append(text_of(name))
            node = node.child_by_field_name("object")
        elif kind in _TRANSPARENT:
            node = next(iter(node.named_children), None)
        elif kind in ("call_expression", "new_expression"):
            if depth >= _LONGEST_CHAIN:
                return None
            if kind == "call_expression":
                key = "function"
            else:
                key = "constructor"
            called = node.child_by_field_name(key)
            specifier = required_module(node)
            if specifier:
                return Chain("required", specifier, None, tuple(reversed(attributes)))
            inner = chain_of(called, depth + 1)
            if inner is None:
                return None
            return Chain("result", "", inner, tuple(reversed(attributes)))
        elif kind in ("as_expression", "type_assertion"):
            typed = type_chain(node.named_children[-1 if kind == "as_expression" else 0])
            if typed is None:  # `as const`
                return None
            return typed._replace(attributes=tuple(reversed(attributes)))
        else:
            return None
    return None


_TRANSPARENT: Final = frozenset(
    {"parenthesized_expression", "non_null_expression", "await_expression", "satisfies_expression"}
)


def type_name(node: Node) -> Chain | None:
    """The chain of the name of a type."""
    if node.type == "type_identifier":
        return Chain("type", text_of(node))
    if node.type in ("nested_type_identifier", "nested_identifier", "member_expression"):
        parts = text_of(node).replace(" ", "").split(".")
        return Chain("type", parts[0], None, tuple(parts[1:]))
    if node.type == "identifier":
        return Chain("type", text_of(node))
    return None


def type_chain(node: Node | None) -> Chain | None:
    """The chain of what has a type, for an annotation; None where that is not one class."""
    while node is not None:
        kind = node.type
        if kind in ("type_annotation", "parenthesized_type", "readonly_type"):
            node = next(iter(node.named_children), None)
        elif kind == "generic_type":
            name = node.child_by_field_name("name")
            if name is None:
                return None
            arguments = node.child_by_field_name("type_arguments")
            if text_of(name) in _SAME_TYPE and arguments is not None:
                node = next(iter(arguments.named_children), None)
            else:
                node = name
        elif kind == "union_type":
            parts = [part for part in _union(node) if part.type != "literal_type"]
            node = parts[0] if len(parts) == 1 else None
        elif kind == "type_query":
            return chain_of(next(iter(node.named_children), None))
        elif kind == "this_type":
            return Chain("this")
        else:
            name_chain = type_name(node)
            if name_chain is not None:
                return Chain("result", "", name_chain)
            return None
    return None


def _union(node: Node) -> list[Node]:
    """The parts of a union, but `undefined`."""
    parts = []
    waiting = [node]
    while waiting:
        part = waiting.pop()
        if part.type == "union_type":
            waiting += part.named_children
        elif text_of(part) not in ("undefined", "null"):
            parts.append(part)
    return parts


# -- handlers


def _skip(walker: Walker, node: Node, place: _Place) -> None:
    return


def _identifier(walker: Walker, node: Node, place: _Place) -> None:
    walker.use(Chain("name", text_of(node)), REFERENCES, node, place)


def _type_identifier(walker: Walker, node: Node, place: _Place) -> None:
    chain = type_name(node)
    if chain is not None:
        walker.use(chain, REFERENCES, node, place)


def _member(walker: Walker, node: Node, place: _Place, relation: int = REFERENCES) -> None:
    chain = chain_of(node)
    last = node.child_by_field_name("property") or node
    if chain is None:
        # the name of an attribute of something unknown
        name = text_of(last)
        walker.use(Chain("unknown", "", None, (name,)), relation, last, place)
        walker.push(node.child_by_field_name("object"), place)
        return
    walker.use(chain, relation, last, place)
    inner: Node | None = node
    while inner is not None and inner.type == "member_expression":
        inner = inner.child_by_field_name("object")
    if inner is not None and inner.type not in ("identifier", "this", "super"):
        walker.push(inner, place)


def _call(walker: Walker, node: Node, place: _Place) -> None:
    if node.type == "new_expression":
        key = "constructor"
    else:
        key = "function"
    called = node.child_by_field_name(key)
    specifier = required_module(node)
    if specifier:
        manner = "import"
        if called is not None and called.type == "import":
            if _is_in_type(node):
                manner = "type-checking import"
            else:
                manner = "dynamic import"
        elif place.is_lazy:
            manner = "lazy import"
        walker.walked.imports.append([specifier, "", -1, line_of(node), manner, node])
    elif called is not None and called.type == "identifier":
        walker.use(Chain("name", text_of(called)), CALLS, called, place)
    elif called is not None and called.type == "member_expression":
        _member(walker, called, place, CALLS)
    elif called is not None and called.type == "super":
        walker.use(Chain("super", "", None, ("constructor",)), CALLS, called, place)
    else:
        walker.push(called, place)
    walker.push(node.child_by_field_name("type_arguments"), place)
    block = walker.blocks.block(node, place.scope)
    if block is not None:
        place = _inside(walker, block, node, place)
    walker.push(node.child_by_field_name("arguments"), place)


def _inside(walker: Walker, block: Block, node: Node, place: _Place) -> _Place:
    """Where the function of a block of tests is: what a test uses is used by the test."""
    title = f"{place.titles}{block.title}"
    if not block.is_test:
        return place._replace(titles=f"{title}{BETWEEN}")
    return place._replace(owner=walker.declare(Declaration(TEST, title, node, node, None)))


_TYPES: Final = frozenset(
    {
        "type_query",
        "type_annotation",
        "type_arguments",
        "type_alias_declaration",
        "union_type",
        "intersection_type",
        "array_type",
        "lookup_type",
        "index_type_query",
        "conditional_type",
        "constraint",
        "default_type",
        "parenthesized_type",
        "readonly_type",
        "rest_type",
        "optional_type",
        "tuple_type",
        "generic_type",
        "function_type",
        "extends_type_clause",
        "implements_clause",
        "type_predicate",
        "template_type",
        "mapped_type_clause",
        "object_type",
    }
)
"""The nodes that a type is directly in."""


def _is_in_type(call: Node) -> bool:
    """Whether `import("m")` is part of a type; the `typeof` of one as a value is none that anybody
    writes, but what the grammar makes of `f<typeof import("m")>()`.
    """
    part = call
    node = call.parent
    while node is not None and node.type in ("member_expression", "subscript_expression"):
        part, node = node, node.parent
    if node is None:
        return False
    if node.type == "unary_expression":
        return any(child.type == "typeof" for child in node.children)
    if node.type in ("as_expression", "satisfies_expression"):
        return bool(node.named_children[-1] == part)
    return node.type in _TYPES


def _jsx_element(walker: Walker, node: Node, place: _Place) -> None:
    name = node.child_by_field_name("name")
    for child in node.named_children:
        if name is None or child.id != name.id:
            walker.push(child, place)
    if name is None:
        return
    chain = chain_of(name)
    # a name in lower case is an element of the page (JSX)
    if chain is not None and (chain.attributes or not chain.root[:1].islower()):
        walker.use(chain, CALLS, name, place)


def _assignment(walker: Walker, node: Node, place: _Place) -> None:
    left = node.child_by_field_name("left")
    right = node.child_by_field_name("right")
    if walker.is_javascript and left is not None and left.type == "member_expression":
        _assigned_member(walker, left, right, node, place)
    walker.push(left, place)
    walker.push(right, place)


def _assigned_member(
    walker: Walker, left: Node, right: Node | None, node: Node, place: _Place
) -> None:
    """`module.exports = …`, `exports.x = …`, and a field that a method sets on `this`."""
    chain = chain_of(left)
    value = chain_of(right)
    if chain is None:
        return
    if chain.kind == "name" and (
        (chain.root == "module" and chain.attributes[:1] == ("exports",)) or chain.root == "exports"
    ):
        names = chain.attributes[1 if chain.root == "module" else 0 :]
        exports = walker.walked.exports
        if len(names) == 1 and value is not None:
            exports[names[0]] = (place.scope, value)
        elif not names and value is not None:
            exports[WHOLE] = exports["default"] = (place.scope, value)
        elif not names and right is not None and right.type == "object":
            for pair in right.named_children:
                if pair.type == "shorthand_property_identifier":
                    exports[text_of(pair)] = (place.scope, Chain("name", text_of(pair)))
                elif pair.type == "pair":
                    name = member_name(pair.child_by_field_name("key"))
                    value = chain_of(pair.child_by_field_name("value"))
                    if name and value is not None:
                        exports[name] = (place.scope, value)
    elif chain.kind == "this" and len(chain.attributes) == 1:
        receiver = place.scope.receiver
        if receiver[:1] == INSTANCE:
            name = f"{receiver[1:]}.{chain.attributes[0]}"
            if name not in walker.declared:
                walker.declare(Declaration("field", name, node, node, None))
            walker.walked.types.setdefault(name, []).append((place.scope, value))


def _decorators(node: Node) -> list[Node]:
    return [child for child in node.children if child.type == "decorator"]


def _begin(node: Node) -> Node:
    """The first part of a declaration that is no decorator."""
    return next((child for child in node.children if child.type != "decorator"), node)


def _function_scope(
    walker: Walker, node: Node, place: _Place, prefix: str, receiver: str, owner: int
) -> None:
    """Bind the parameters of a function and walk it."""
    scope = Scope(place.scope, prefix, receiver, is_function=True)
    inner = _Place(scope, owner, "", True, place.titles)
    walker.bind_type_parameters(node, scope, inner)
    single = node.child_by_field_name("parameter")
    if single is not None:
        scope.values[text_of(single)] = UNKNOWN_BINDING
    parameters = node.child_by_field_name("parameters")
    for parameter in parameters.named_children if parameters is not None else ():
        _parameter(walker, parameter, scope, inner)
    walker.push(node.child_by_field_name("return_type"), inner)
    body = node.child_by_field_name("body")
    if body is not None and body.type == "statement_block":
        walker.push_children(body, inner)
    else:
        walker.push(body, inner)


def _parameter(walker: Walker, parameter: Node, scope: Scope, inner: _Place) -> None:
    if parameter.type == "comment":
        walker.push(parameter, inner)
        return
    pattern = parameter.child_by_field_name("pattern")
    typed = parameter.child_by_field_name("type")
    if pattern is None and parameter.type not in ("required_parameter", "optional_parameter"):
        pattern = parameter
    chain = type_chain(typed) if typed is not None else None
    if pattern is not None and pattern.type != "this":
        for name, _, source in walker.bind_pattern(pattern, scope, chain, inner):
            scope.values[name] = Binding(chain=source)
    walker.push(typed, inner)
    walker.push(parameter.child_by_field_name("value"), inner)
    for decorator in _decorators(parameter):
        walker.push(decorator, inner)


def _anonymous_function(walker: Walker, node: Node, place: _Place) -> None:
    is_arrow = node.type == "arrow_function"
    receiver = place.scope.receiver if is_arrow else UNKNOWN
    name = node.child_by_field_name("name")
    outer = place
    if name is not None and not is_arrow:
        scope = Scope(place.scope, place.scope.prefix, receiver)
        scope.values[text_of(name)] = UNKNOWN_BINDING
        outer = place._replace(scope=scope)
    _function_scope(walker, node, outer, _locals(walker, place), receiver, place.owner)


def _locals(walker: Walker, place: _Place) -> str:
    """The prefix of what is defined inside a function of the declaration around."""
    if place.owner < 0 or walker.walked.declarations[place.owner].prefix == TEST:
        return "<locals>."
    return f"{walker.walked.declarations[place.owner].name}.<locals>."


def _statement(node: Node) -> Node:
    """The declaration with `export` and `declare`."""
    parent = node.parent
    while parent is not None and parent.type in ("export_statement", "ambient_declaration"):
        node, parent = parent, parent.parent
    return node


def _bind(scope: Scope, name: str, dotted: str, *, value: bool, type_: bool) -> None:
    binding = Binding(DEFINED + dotted)
    if value:
        scope.values[name] = binding
    if type_:
        scope.types[name] = binding


def _bind_exported(
    walker: Walker, statement: Node, name: str, place: _Place, *, value: bool, type_: bool
) -> None:
    """Bind a declaration, and export it where its statement does so by default."""
    dotted = place.scope.prefix + name
    _bind(place.scope, name, dotted, value=value, type_=type_)
    if _is_default(statement):
        walker.walked.exports["default"] = DEFINED + dotted


def _is_default(statement: Node) -> bool:
    return statement.type == "export_statement" and any(
        child.type == "default" for child in statement.children
    )


def _name_in(node: Node, statement: Node) -> str:
    """The name of a declaration; `default` for one without that is exported so."""
    name = node.child_by_field_name("name")
    if name is not None:
        return text_of(name)
    if _is_default(statement):
        return "default"
    return ""


def _function(walker: Walker, node: Node, place: _Place) -> None:
    statement = _statement(node)
    name = _name_in(node, statement)
    if not name or len(place.scope.prefix) > _LONGEST_PREFIX:
        _anonymous_function(walker, node, place)
        return
    dotted = place.scope.prefix + name
    _bind_exported(walker, statement, name, place, value=True, type_=False)
    body = node.child_by_field_name("body")
    owner = walker.declare(
        Declaration("function", dotted, statement, statement, body, is_overload=body is None)
    )
    returns = node.child_by_field_name("return_type")
    walker.walked.types.setdefault(dotted, []).append(
        (place.scope, _returned(node, returns, place.scope))
    )
    _function_scope(walker, node, place, f"{dotted}.<locals>.", UNKNOWN, owner)


def _returned(node: Node, returns: Node | None, scope: Scope) -> Chain | None:
    """What a function is annotated to return; None for one of its type parameters."""
    chain = type_chain(returns)
    parameters = node.child_by_field_name("type_parameters")
    if chain is None or parameters is None or chain.called is None:
        return chain
    names = {
        text_of(parameter.child_by_field_name("name")) for parameter in parameters.named_children
    }
    if chain.called.root in names:
        return None
    return chain


def _class(walker: Walker, node: Node, place: _Place) -> None:
    name, statement = _class_declaration(node)
    own_name = text_of(node.child_by_field_name("name"))
    if not name:  # a class in an expression has no name that others see
        walker.push_children(node, place)
        return
    dotted = place.scope.prefix + name
    _bind_exported(walker, statement, name, place, value=True, type_=True)
    body = node.child_by_field_name("body")
    decorators = _decorators(node)
    if statement is not node:
        decorators = [*_decorators(statement), *decorators]
    owner = walker.declare(
        Declaration(
            "type",
            dotted,
            statement,
            _begin(_begin(statement) if _begin(statement).type in _CLASSES else statement),
            body,
            decorators,
            has_own_kids=True,
        )
    )
    scope = Scope(place.scope, f"{dotted}.", f"{INSTANCE}{dotted}")
    if own_name and own_name != name:  # `const Outer = class Inner`: `Inner` is known inside of it
        _bind(scope, own_name, dotted, value=True, type_=True)
    inner = _Place(scope, owner, dotted, place.is_lazy)
    walker.bind_type_parameters(node, scope, inner)
    for decorator in decorators:
        walker.push(decorator, place._replace(owner=owner))
    for heritage in node.children:
        if heritage.type == "class_heritage":
            _heritage(walker, heritage, dotted, inner)
    if body is not None:
        for member in body.children:
            if member.is_named:
                walker.push(member, inner)


def _class_declaration(node: Node) -> tuple[str, Node]:
    """The name of a class as others see it, empty for none, and all of its declaration. One in an
    expression has the name of the variable that it is assigned to.
    """
    declarator = node.parent
    if declarator is None or declarator.type != "variable_declarator":
        statement = _statement(node)
        return _name_in(node, statement), statement
    pattern = declarator.child_by_field_name("name")
    variables = declarator.parent
    is_name = pattern is not None and pattern.type == "identifier"
    is_alone = variables is not None and _only(variables)
    if variables is not None and is_alone:
        whole = _statement(variables)
    else:
        whole = declarator
    return text_of(pattern) if is_name else "", whole


def _heritage(walker: Walker, heritage: Node, dotted: str, place: _Place) -> None:
    bases = walker.walked.bases.setdefault(dotted, [])
    clauses = [
        child
        for child in heritage.named_children
        if child.type in ("extends_clause", "implements_clause")
    ]
    if not clauses:  # JavaScript's grammar has the expression alone
        for child in heritage.named_children:
            _base(walker, child, chain_of(child), bases, place)
    for clause in clauses:
        for child in clause.named_children:
            if child.type == "type_arguments":
                walker.push(child, place)
            elif clause.type == "extends_clause":
                _base(walker, child, chain_of(child), bases, place)
            else:
                _type_base(walker, child, bases, place)


def _base(
    walker: Walker,
    node: Node,
    chain: Chain | None,
    bases: list[tuple[Scope, Chain | None]],
    place: _Place,
) -> None:
    if chain is not None and chain.kind == "name":
        walker.use(chain, INHERITS, node, place)
        bases.append((place.scope, chain))
    else:
        walker.push(node, place)
        bases.append((place.scope, None))


def _type_base(
    walker: Walker, node: Node, bases: list[tuple[Scope, Chain | None]], place: _Place
) -> None:
    """A type that a class implements, or an interface extends."""
    name = node
    if node.type == "generic_type":
        name = node.child_by_field_name("name") or node
        walker.push(node.child_by_field_name("type_arguments"), place)
    chain = type_name(name)
    if chain is None:
        walker.push(node, place)
        bases.append((place.scope, None))
        return
    walker.use(chain, INHERITS, name, place)
    bases.append((place.scope, chain))


def _interface(walker: Walker, node: Node, place: _Place) -> None:
    statement = _statement(node)
    name = text_of(node.child_by_field_name("name"))
    dotted = place.scope.prefix + name
    _bind_exported(walker, statement, name, place, value=False, type_=True)
    body = node.child_by_field_name("body")
    owner = walker.declare(Declaration("interface", dotted, statement, statement, body))
    scope = Scope(place.scope, f"{dotted}.", f"{INSTANCE}{dotted}")
    inner = _Place(scope, owner, dotted, place.is_lazy)
    walker.bind_type_parameters(node, scope, inner)
    bases = walker.walked.bases.setdefault(dotted, [])
    for clause in node.named_children:
        if clause.type in ("extends_type_clause", "extends_clause"):
            for child in clause.named_children:
                _type_base(walker, child, bases, inner)
    if body is not None:
        walker.push_children(body, inner)


def _type_alias(walker: Walker, node: Node, place: _Place) -> None:
    statement = _statement(node)
    name = text_of(node.child_by_field_name("name"))
    dotted = place.scope.prefix + name
    _bind(place.scope, name, dotted, value=False, type_=True)
    owner = walker.declare(Declaration("type", dotted, statement, statement, None))
    scope = Scope(place.scope, f"{dotted}.", UNKNOWN)
    inner = _Place(scope, owner, "", place.is_lazy)
    walker.bind_type_parameters(node, scope, inner)
    value = node.child_by_field_name("value")
    if value is None:
        return
    bases: list[tuple[Scope, Chain | None]] = []
    parts = [value]
    while parts:
        part = parts.pop()
        if part.type == "intersection_type":
            parts += reversed(part.named_children)
        elif part.type == "object_type":
            walker.push_children(part, inner._replace(in_class=dotted))
        else:
            walker.push(part, inner)
            typed = type_chain(part)
            if typed is not None and typed.kind == "result":
                bases.append((scope, typed.called))
    if bases:
        walker.walked.bases[dotted] = bases


def _enum(walker: Walker, node: Node, place: _Place) -> None:
    statement = _statement(node)
    name = text_of(node.child_by_field_name("name"))
    dotted = place.scope.prefix + name
    _bind(place.scope, name, dotted, value=True, type_=True)
    body = node.child_by_field_name("body")
    owner = walker.declare(Declaration("type", dotted, statement, statement, body))
    inner = _Place(Scope(place.scope, f"{dotted}.", UNKNOWN), owner, "", place.is_lazy)
    for member in body.named_children if body is not None else ():
        key = member
        if member.type == "enum_assignment":
            key = member.child_by_field_name("name") or member
        member_text = member_name(key)
        if member_text:
            number = walker.declare(
                Declaration("field", f"{dotted}.{member_text}", member, member, None)
            )
            inner.scope.values[member_text] = Binding(f"{DEFINED}{dotted}.{member_text}")
            walker.push(member.child_by_field_name("value"), inner._replace(owner=number))
        elif member.type == "comment":
            walker.push(member, inner)


def _namespace(walker: Walker, node: Node, place: _Place) -> None:
    name_node = node.child_by_field_name("name")
    body = node.child_by_field_name("body")
    if name_node is None or name_node.type == "string":
        # `declare module "x"`: about what is outside; its names are none of this file's
        scope = Scope(place.scope, "<locals>.", UNKNOWN, is_function=True)
        walker.push(body, place._replace(scope=scope))
        return
    statement = _statement(node)
    names = text_of(name_node).replace(" ", "").split(".")
    prefix = place.scope.prefix
    scope = place.scope
    owner = place.owner
    for name in names:
        dotted = prefix + name
        _bind(scope, name, dotted, value=True, type_=True)
        owner = walker.declare(
            Declaration("namespace", dotted, statement, statement, body, has_own_kids=True)
        )
        prefix = f"{dotted}."
        scope = Scope(scope, prefix, UNKNOWN, is_function=True)
    if body is not None:
        walker.push_children(body, _Place(scope, owner, "", place.is_lazy))


def _block(walker: Walker, node: Node, place: _Place) -> None:
    scope = Scope(place.scope, place.scope.prefix, place.scope.receiver)
    walker.push_children(node, place._replace(scope=scope, in_class=""))


def _catch(walker: Walker, node: Node, place: _Place) -> None:
    scope = Scope(place.scope, place.scope.prefix, place.scope.receiver)
    inner = place._replace(scope=scope)
    parameter = node.child_by_field_name("parameter")
    if parameter is not None:
        for name, _, _ in walker.bind_pattern(parameter, scope, None, inner):
            scope.values[name] = UNKNOWN_BINDING
    walker.push(node.child_by_field_name("body"), inner)


def _for_in(walker: Walker, node: Node, place: _Place) -> None:
    scope = Scope(place.scope, place.scope.prefix, place.scope.receiver)
    inner = place._replace(scope=scope)
    left = node.child_by_field_name("left")
    if node.child_by_field_name("kind") is not None and left is not None:
        for name, _, _ in walker.bind_pattern(left, scope, None, inner):
            scope.values[name] = UNKNOWN_BINDING
    else:
        walker.push(left, inner)
    walker.push(node.child_by_field_name("right"), inner)
    walker.push(node.child_by_field_name("body"), inner)


def _variables(walker: Walker, node: Node, place: _Place) -> None:
    is_var = node.type == "variable_declaration"
    if is_var:
        scope = place.scope.function()
    else:
        scope = place.scope
    for declarator in node.named_children:
        if declarator.type == "variable_declarator":
            _variable(walker, declarator, node, scope, place)
        else:
            walker.push(declarator, place)


def _variable(walker: Walker, declarator: Node, node: Node, scope: Scope, place: _Place) -> None:
    pattern = declarator.child_by_field_name("name")
    typed = declarator.child_by_field_name("type")
    value = declarator.child_by_field_name("value")
    if pattern is None:
        return
    if typed is not None:
        source = type_chain(typed)
    else:
        source = chain_of(value)
    is_symbol = scope.is_function and "<locals>" not in scope.prefix
    is_single = pattern.type == "identifier"
    kind = value.type if value is not None else ""
    if is_single and is_symbol and kind in _CLASSES:
        walker.push(typed, place)
        walker.push(value, place)
        return
    statement = _statement(node)
    owner = place.owner
    for name, _, chain in walker.bind_pattern(pattern, scope, source, place):
        if not is_symbol:
            scope.values[name] = Binding(chain=chain)
            continue
        dotted = scope.prefix + name
        is_required = chain is not None and _is_required(chain)
        if is_required:
            scope.values[name] = Binding(chain=chain)
        else:
            _bind(scope, name, dotted, value=True, type_=False)
        is_function = is_single and kind in FUNCTIONS
        if is_function and value is not None:
            body = value.child_by_field_name("body")
        else:
            body = None
        start = statement if _only(node) else declarator
        prefix = "function" if is_function else "field"
        owner = walker.declare(Declaration(prefix, dotted, start, start, body))
        if is_function and value is not None:
            returned = _returned(value, value.child_by_field_name("return_type"), scope)
            walker.walked.types.setdefault(dotted, []).append((scope, returned))
        else:
            walker.walked.types.setdefault(dotted, []).append((scope, chain))
    inner = place._replace(owner=owner)
    walker.push(typed, inner)
    if value is None:
        return
    if is_single and is_symbol and kind in FUNCTIONS:
        name = text_of(pattern)
        _function_scope(
            walker, value, inner, f"{scope.prefix}{name}.<locals>.", scope.receiver, owner
        )
    else:
        walker.push(value, inner)


def _is_required(chain: Chain) -> bool:
    return chain.kind == "required"


def _only(node: Node) -> bool:
    declarators = [child for child in node.named_children if child.type == "variable_declarator"]
    return len(declarators) == 1


def _method(walker: Walker, node: Node, place: _Place) -> None:
    name = member_name(node.child_by_field_name("name"))
    words = {child.type for child in node.children}
    is_static = not _STATIC.isdisjoint(words)
    if not place.in_class or not name:
        # a method of an object, or one whose name is computed
        walker.push(node.child_by_field_name("name"), place)
        if place.in_class:
            receiver = place.scope.receiver
        else:
            receiver = UNKNOWN
        _function_scope(walker, node, place, _locals(walker, place), receiver, place.owner)
        return
    dotted = f"{place.in_class}.{name}"
    if words & {"get", "set"}:
        prefix = "property"
    else:
        prefix = "method"
    body = node.child_by_field_name("body")
    owner = walker.declare(
        Declaration(
            prefix, dotted, node, _begin(node), body, _decorators(node), is_overload=body is None
        )
    )
    receiver = f"{DEFINED if is_static else INSTANCE}{place.in_class}"
    returned = _returned(node, node.child_by_field_name("return_type"), place.scope)
    if "set" not in words:
        walker.walked.types.setdefault(dotted, []).append((place.scope, returned))
    for decorator in _decorators(node):
        walker.push(decorator, place._replace(owner=owner))
    if name == "constructor":
        _parameter_properties(walker, node, place)
    _function_scope(
        walker, node, place._replace(owner=owner), f"{dotted}.<locals>.", receiver, owner
    )


def _parameter_properties(walker: Walker, node: Node, place: _Place) -> None:
    """`constructor(private cart: Cart)` declares a field."""
    parameters = node.child_by_field_name("parameters")
    for parameter in parameters.named_children if parameters is not None else ():
        kinds = {child.type for child in parameter.children}
        if kinds & {"accessibility_modifier", "readonly", "override_modifier"}:
            name = text_of(parameter.child_by_field_name("pattern"))
            dotted = f"{place.in_class}.{name}"
            walker.declare(Declaration("field", dotted, parameter, parameter, None))
            typed = type_chain(parameter.child_by_field_name("type"))
            walker.walked.types.setdefault(dotted, []).append((place.scope, typed))


def _field(walker: Walker, node: Node, place: _Place) -> None:
    key = node.child_by_field_name("name") or node.child_by_field_name("property")
    name = member_name(key)
    typed = node.child_by_field_name("type")
    value = node.child_by_field_name("value")
    if not place.in_class or not name:
        walker.push(key, place)
        walker.push(typed, place)
        walker.push(value, place)
        return
    dotted = f"{place.in_class}.{name}"
    is_function = value is not None and value.type in FUNCTIONS
    if value is not None and is_function:
        body = value.child_by_field_name("body")
    else:
        body = None
    prefix = "method" if is_function else "field"
    owner = walker.declare(Declaration(prefix, dotted, node, _begin(node), body, _decorators(node)))
    inner = place._replace(owner=owner, in_class="")
    if typed is not None:
        chain = type_chain(typed)
    else:
        chain = chain_of(value)
    if is_function and value is not None:
        chain = _returned(value, value.child_by_field_name("return_type"), place.scope)
    walker.walked.types.setdefault(dotted, []).append((place.scope, chain))
    for child in (*_decorators(node), typed):
        walker.push(child, inner)
    if is_function and value is not None:
        is_static = any(child.type == "static" for child in node.children)
        receiver = f"{DEFINED if is_static else INSTANCE}{place.in_class}"
        _function_scope(walker, value, inner, f"{dotted}.<locals>.", receiver, owner)
    else:
        walker.push(value, inner)


def _object_type(walker: Walker, node: Node, place: _Place) -> None:
    walker.push_children(node, place._replace(in_class=""))


def _function_type(walker: Walker, node: Node, place: _Place) -> None:
    scope = Scope(place.scope, place.scope.prefix, place.scope.receiver)
    inner = place._replace(scope=scope, in_class="")
    walker.bind_type_parameters(node, scope, inner)
    parameters = node.child_by_field_name("parameters")
    for parameter in parameters.named_children if parameters is not None else ():
        _parameter(walker, parameter, scope, inner)
    walker.push(node.child_by_field_name("return_type"), inner)
    walker.push(node.child_by_field_name("type"), inner)


def _binding_type(walker: Walker, node: Node, place: _Place) -> None:
    """`infer T`, and `[K in keyof T]`: binds a type."""
    name = node.child_by_field_name("name")
    if name is None and node.type == "infer_type":
        name = next(iter(node.named_children), None)
    if name is not None:
        place.scope.types.setdefault(text_of(name), UNKNOWN_BINDING)
    for child in node.named_children:
        if name is None or child.id != name.id:
            walker.push(child, place)


def _conditional_type(walker: Walker, node: Node, place: _Place) -> None:
    scope = Scope(place.scope, place.scope.prefix, place.scope.receiver)
    walker.push_children(node, place._replace(scope=scope, in_class=""))


def _type_query(walker: Walker, node: Node, place: _Place) -> None:
    """`typeof cart.lines`: a value, in a type."""
    for child in node.named_children:
        walker.push(child, place)


# -- imports and exports


def _import(walker: Walker, node: Node, place: _Place) -> None:
    source = node.child_by_field_name("source")
    is_type = any(child.type in ("type", "typeof") for child in node.children)
    module = walker.walked.module
    rows = walker.walked.imports

    def add(specifier: str, name: str, is_type_only: bool) -> None:
        if is_type_only:
            manner = "type-checking import"
        else:
            manner = "import"
        rows.append([specifier, name, -1, line_of(node), manner, node])

    for child in node.named_children:
        if child.type == "import_require_clause":  # `import x = require("y")`
            source = child.child_by_field_name("source")
            name = next((part for part in child.named_children if part.type == "identifier"), None)
            if source is not None and name is not None:
                add(string_value(source), "", is_type)
                _bind_import(module, text_of(name), imported(encoded(string_value(source)), WHOLE))
            return
    if source is None:
        return
    specifier = string_value(source)
    clause = next((child for child in node.named_children if child.type == "import_clause"), None)
    if clause is None:
        add(specifier, "", is_type)
        return
    target = encoded(specifier)
    for part in clause.named_children:
        if part.type == "identifier":
            add(specifier, "default", is_type)
            _bind_import(module, text_of(part), imported(target, "default"))
        elif part.type == "namespace_import":
            name = next((inner for inner in part.named_children), None)
            add(specifier, "", is_type)
            _bind_import(module, text_of(name), imported(target))
        elif part.type == "named_imports":
            for item in part.named_children:
                if item.type != "import_specifier":
                    continue
                original = item.child_by_field_name("name")
                alias = item.child_by_field_name("alias") or original
                is_type_item = is_type or any(c.type in ("type", "typeof") for c in item.children)
                add(specifier, _export_name(original), is_type_item)
                _bind_import(module, text_of(alias), imported(target, _export_name(original)))
            if not part.named_children:
                add(specifier, "", is_type)


def _export_name(node: Node | None) -> str:
    if node is not None and node.type == "string":
        return string_value(node)
    return text_of(node)


def _bind_import(module: Scope, name: str, expression: str) -> None:
    module.values[name] = module.types[name] = Binding(expression)


def _import_alias(walker: Walker, node: Node, place: _Place) -> None:
    """`import A = B.C`."""
    parts = node.named_children
    if len(parts) < 2:
        return
    chain = chain_of(parts[-1])
    if chain is None:
        return
    walker.use(chain, REFERENCES, parts[-1], place)
    name = text_of(parts[0])
    place.scope.values[name] = Binding(chain=chain)
    place.scope.types[name] = Binding(chain=chain._replace(kind="type"))
    if not place.scope.prefix and _statement(node).type == "export_statement":
        walker.walked.exports[name] = (place.scope, chain)


def _export(walker: Walker, node: Node, place: _Place) -> None:
    for decorator in _decorators(node):
        if node.child_by_field_name("declaration") is None:
            walker.push(decorator, place)
    declaration = node.child_by_field_name("declaration")
    if declaration is not None:
        walker.push(declaration, place)
        return
    source = node.child_by_field_name("source")
    value = node.child_by_field_name("value")
    if source is not None:
        _export_from(walker, node, source)
        return
    if value is not None:
        _export_value(walker, node, value, place)
        return
    words = {child.type for child in node.children}
    for child in node.named_children:
        if child.type == "export_clause":
            for item in child.named_children:
                _export_item(walker, item, place)
        elif "=" in words:  # `export = cart`
            chain = chain_of(child)
            if chain is not None:
                walker.walked.exports[WHOLE] = (place.scope, chain)
                walker.walked.exports["default"] = (place.scope, chain)
            walker.push(child, place)
        elif child.type != "identifier":
            walker.push(child, place)


def _export_item(walker: Walker, item: Node, place: _Place) -> None:
    original = item.child_by_field_name("name")
    if original is None:
        return
    alias = item.child_by_field_name("alias") or original
    chain = Chain("export", text_of(original))
    if place.scope.prefix:  # of a namespace
        return
    walker.walked.exports[_export_name(alias)] = (place.scope, chain)
    walker.use(chain, REFERENCES, original, place)


def _export_from(walker: Walker, node: Node, source: Node) -> None:
    specifier = string_value(source)
    target = encoded(specifier)
    is_type = any(child.type == "type" for child in node.children)
    manner = "type-checking import" if is_type else "import"
    walked = walker.walked
    clause = next((child for child in node.named_children if child.type == "export_clause"), None)
    namespace = next(
        (child for child in node.named_children if child.type == "namespace_export"), None
    )
    if clause is not None:
        for item in clause.named_children:
            original = item.child_by_field_name("name")
            if original is None:
                continue
            alias = item.child_by_field_name("alias") or original
            walked.exports[_export_name(alias)] = imported(target, _export_name(original))
            walked.imports.append(
                [specifier, _export_name(original), -1, line_of(node), manner, node]
            )
        if not clause.named_children:
            walked.imports.append([specifier, "", -1, line_of(node), manner, node])
        return
    if namespace is not None:
        name = next(iter(namespace.named_children), None)
        walked.exports[_export_name(name)] = imported(target)
        walked.imports.append([specifier, "", -1, line_of(node), manner, node])
        return
    walked.stars.append(imported(target))
    walked.imports.append(
        [specifier, "*", -1, line_of(node), manner if is_type else "star import", node]
    )


def _export_value(walker: Walker, node: Node, value: Node, place: _Place) -> None:
    """`export default …`."""
    chain = chain_of(value)
    if value.type == "identifier" and chain is not None:
        chain = chain._replace(kind="export")
        walker.walked.exports["default"] = (place.scope, chain)
        walker.use(chain, REFERENCES, value, place)
        return
    if value.type in _CLASSES:
        walker.push(value, place)
        return
    is_function = value.type in FUNCTIONS
    if is_function:
        body = value.child_by_field_name("body")
    else:
        body = None
    owner = walker.declare(
        Declaration("function" if is_function else "field", "default", node, node, body)
    )
    walker.walked.exports["default"] = f"{DEFINED}default"
    walker.walked.types.setdefault("default", []).append((place.scope, chain))
    walker.push(value, place._replace(owner=owner))


Handler = Callable[[Walker, "Node", _Place], None]
_HANDLERS: Final[dict[str, Handler]] = {
    "comment": _skip,
    "string": _skip,
    "regex": _skip,
    "identifier": _identifier,
    "shorthand_property_identifier": _identifier,
    "type_identifier": _type_identifier,
    "nested_type_identifier": _type_identifier,
    "member_expression": _member,
    "call_expression": _call,
    "new_expression": _call,
    "jsx_opening_element": _jsx_element,
    "jsx_self_closing_element": _jsx_element,
    "jsx_closing_element": _skip,
    "assignment_expression": _assignment,
    "function_declaration": _function,
    "generator_function_declaration": _function,
    "function_signature": _function,
    "function_expression": _anonymous_function,
    "generator_function": _anonymous_function,
    "arrow_function": _anonymous_function,
    "class_declaration": _class,
    "abstract_class_declaration": _class,
    "class": _class,
    "interface_declaration": _interface,
    "type_alias_declaration": _type_alias,
    "enum_declaration": _enum,
    "internal_module": _namespace,
    "module": _namespace,
    "statement_block": _block,
    "switch_body": _block,
    "for_statement": _block,
    "class_static_block": _block,
    "catch_clause": _catch,
    "for_in_statement": _for_in,
    "lexical_declaration": _variables,
    "variable_declaration": _variables,
    "method_definition": _method,
    "method_signature": _method,
    "abstract_method_signature": _method,
    "public_field_definition": _field,
    "field_definition": _field,
    "property_signature": _field,
    "object_type": _object_type,
    "object": _object_type,
    "function_type": _function_type,
    "constructor_type": _function_type,
    "call_signature": _function_type,
    "construct_signature": _function_type,
    "conditional_type": _conditional_type,
    "infer_type": _binding_type,
    "mapped_type_clause": _binding_type,
    "type_query": _type_query,
    "import_statement": _import,
    "import_alias": _import_alias,
    "export_statement": _export,
}


def walk(root: Node, is_javascript: bool, blocks: BlockReader) -> Walked:
    """Walk a file's tree."""
    return Walker(root, is_javascript, blocks).walk()
