"""The walk over a file's tree: what it defines, imports, and uses.

It goes with a stack of its own, since generated code nests deeper than Python's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.code.module_systems import FIELD, MACRO, MODULE, WRITTEN_PATH, encoded
from kl_hooks.code.rust.modules import MOD
from kl_hooks.code.rust.paths import (
    NAMES,
    chain_of,
    instance,
    names_of,
    path_chain,
    text_of,
    type_chain,
)
from kl_hooks.code.rust.scopes import UNKNOWN_BINDING, Binding, Chain, Scope
from kl_hooks.code.scanner.expressions import DEFINED, imported
from kl_hooks.code.scanner.grammars import parse_part
from kl_hooks.code.scanner.source import Span
from kl_hooks.code.scanner.trees import line_of
from kl_hooks.model.definitions import NamedTuple

if TYPE_CHECKING:
    from tree_sitter import Node, Tree

REFERENCES: Final = 0
CALLS: Final = 1
INHERITS: Final = 2
"""As in `scanner.references.RELATIONS`."""
_MOST_READINGS: Final = 8
"""How often all of a file may be read again, as the arguments of macros in macros."""
_LONGEST_USE: Final = 8
"""Names of `use` that begin with names of `use`, that are followed."""
_LONGEST_PREFIX: Final = 400
"""Characters before a name: what is deeper inside of functions gets no ID."""
_BEFORE: Final = frozenset({"attribute_item", "line_comment", "block_comment"})
_TYPES: Final = {
    "struct_item": "type",
    "union_item": "type",
    "enum_item": "type",
    "type_item": "type",
    "associated_type": "type",
    "trait_item": "interface",
}


@dataclass(slots=True)
class Declaration:
    """Something that has a name, at one place."""

    prefix: str
    name: str
    """Dotted, within the file."""
    node: Node
    """All of it, but for its attributes."""
    body: Node | None
    """What its signature ends before."""
    before: list[Node] = field(default_factory=list)
    """Its attributes and the comments before it."""
    trait: str = ""
    """As written, of a member of an `impl` of one."""
    has_own_kids: bool = False
    """Whether its hash omits the functions and types inside, which have hashes of their own."""

    @property
    def start(self) -> Node:
        """Where its line begins."""
        return self.node

    @property
    def code_span(self) -> Span:
        """From its attributes on."""
        attributes = (node.start_byte for node in self.before if node.type == "attribute_item")
        return next(attributes, self.node.start_byte), self.node.end_byte

    @property
    def text_start(self) -> int:
        """Where its attributes and comments begin."""
        return min([self.node.start_byte, *(node.start_byte for node in self.before)])


class Use(NamedTuple):
    """A chain that is used, before its root is looked up."""

    scope: Scope
    chain: Chain
    owner: int | str
    """The number of the declaration around it, -1 for the module; or the name of one."""
    relation: int
    line: int


Typed = tuple[Scope, Chain | None]


@dataclass(slots=True)
class Walked:
    """What a file holds, by the tree alone."""

    module: Scope
    declarations: list[Declaration] = field(default_factory=list)
    uses: list[Use] = field(default_factory=list)
    imports: list[list[Any]] = field(default_factory=list)
    """Import rows; the last place is the statement's node."""
    names: dict[str, Typed | str] = field(default_factory=dict)
    """Dotted name → what a `use` or `mod` binds it to."""
    modules: dict[str, str] = field(default_factory=dict)
    """Dotted name of a `mod name;` → `#[path]`."""
    globs: dict[str, list[Typed]] = field(default_factory=dict)
    """Inline module, empty for the file's own → what `use path::*` names."""
    bases: dict[str, list[Typed]] = field(default_factory=dict)
    types: dict[str, list[Typed]] = field(default_factory=dict)
    owners: dict[str, Typed] = field(default_factory=dict)
    """Dotted name of a type with an `impl` here → the type."""
    macros: dict[str, str] = field(default_factory=dict)
    """Macro that other files may call → its dotted name."""
    trees: list[Tree] = field(default_factory=list)
    """Of items in the arguments of macros: their nodes live as long as these."""
    unread_macro: Node | None = None
    """A macro whose arguments were not read as items, since macros nest too deeply."""


class _Place(NamedTuple):
    """Where the walk is."""

    scope: Scope
    owner: int | str = -1
    """As in `Use`."""
    owner_type: str = ""
    """The dotted name of the type whose members it is directly among."""
    trait: str = ""
    """As written, of the `impl` that it is directly in."""


class Walker:
    """Walks one file."""

    def __init__(self, root: Node, content: bytes) -> None:
        self.content = content
        self.trees: list[Tree] = []
        """Of items in the arguments of macros."""
        self.reread_bytes = 0
        """How much was read for these."""
        self.walked = Walked(Scope(None, "", "", is_module=True))
        self.before: dict[int, list[Node]] = {}
        """Node → attributes and comments right before it."""
        self.paths: dict[tuple[str, str, tuple[str, ...]], tuple[Scope, Node]] = {}
        """(inline module, root, names but the last) of paths that are written where they are
        used.
        """
        self._stack: list[tuple[Node, _Place]] = []
        self.push_items(root, _Place(self.walked.module))

    def walk(self) -> Walked:
        """Walk all of it."""
        stack = self._stack
        while stack:
            node, place = stack.pop()
            handler = _HANDLERS.get(node.type)
            if handler is not None:
                handler(self, node, place)
            elif node.named_child_count:
                stack += [(child, place) for child in node.named_children]
        for (module, root, names), (scope, node) in self.paths.items():
            # what begins with a name that is bound was imported where that was
            is_module = root.partition(".")[0] in ("crate", "self", "super", "")
            if is_module or scope.lookup(root, True) is None:
                specifier = "::".join(_in_file([*root.split("."), *names], module))
                if not specifier:  # `::name`
                    continue
                row = [specifier, "", -1, line_of(node), WRITTEN_PATH, node]
                self.walked.imports.append(row)
        return self.walked

    # -- helpers

    def push(self, node: Node | None, place: _Place) -> None:
        """Walk a node later."""
        if node is not None:
            self._stack.append((node, place))

    def push_fields(self, node: Node, fields: tuple[str, ...], place: _Place) -> None:
        """Walk some parts of a node later."""
        for name in fields:
            self.push(node.child_by_field_name(name), place)

    def items(self, node: Node | None) -> Iterator[Node]:
        """What is inside a node; notes the attributes and comments before each."""
        pending: list[Node] = []
        for child in node.named_children if node is not None else ():
            if child.type in _BEFORE:
                pending.append(child)
                continue
            if pending:
                self.before[child.id] = pending
                pending = []
            yield child

    def push_items(self, node: Node | None, place: _Place) -> None:
        """Walk the items or members in a node later."""
        for child in self.items(node):
            self._stack.append((child, place))

    def use(
        self,
        chain: Chain | None,
        relation: int,
        node: Node,
        place: _Place,
        is_imported: bool = False,
    ) -> None:
        """Note a use. `is_imported`: a statement imports it, so that it has a row."""
        if chain is None:
            return
        self.walked.uses.append(Use(place.scope, chain, place.owner, relation, line_of(node)))
        if not is_imported and chain.attributes and chain.kind in ("module", "type"):
            path = (place.scope.module, chain.root, chain.attributes[:-1])
            # of several uses the first one in the file
            if path not in self.paths or node.start_byte < self.paths[path][1].start_byte:
                self.paths[path] = (place.scope, node)

    def use_field(self, names: list[str], field_name: Node | None, place: _Place) -> None:
        """Note that a field is named with its type, in a literal or a pattern. `names`: the path
        of the type.
        """
        whole = instance(path_chain(names, is_type=True))
        if whole is not None and field_name is not None and field_name.type in _FIELD_NAMES:
            self.use(whole.field(text_of(field_name)), REFERENCES, field_name, place)

    def declare(
        self, prefix: str, name: str, node: Node, body: Node | None = None, own: bool = False
    ) -> int:
        """Note a declaration; returns its number."""
        before = self.before.get(node.id, [])
        self.walked.declarations.append(
            Declaration(prefix, name, node, body, before, has_own_kids=own)
        )
        return len(self.walked.declarations) - 1

    def note_type(self, name: str, scope: Scope, chain: Chain | None) -> None:
        """Note what a field is or a function returns."""
        self.walked.types.setdefault(name, []).append((scope, chain))

    def bind_type_parameters(self, node: Node, scope: Scope, place: _Place) -> None:
        """Bind the type parameters of a declaration, and walk what constrains them."""
        parameters = node.child_by_field_name("type_parameters")
        for parameter in parameters.named_children if parameters is not None else ():
            name = text_of(parameter.child_by_field_name("name"))
            if parameter.type == "const_parameter":
                scope.values[name] = UNKNOWN_BINDING
            elif name:
                bounds = parameter.child_by_field_name("bounds")
                scope.types[name] = Binding(
                    chain=_bound_of(bounds), scope=scope.outer, is_parameter=True
                )
            for key in ("bounds", "type", "default_type"):
                self.push(parameter.child_by_field_name(key), place)
        for child in node.named_children:
            if child.type == "where_clause":
                _bind_predicates(child, scope)
                self.push(child, place)

    def bind_pattern(self, pattern: Node | None, place: _Place, source: Typed) -> None:
        """Bind the names of a pattern in the place's scope; what it was made of is looked up in
        the scope of `source`.
        """
        if pattern is not None:
            waiting = [(pattern, source[1])]
        else:
            waiting = []
        while waiting:
            node, chain = waiting.pop()
            kind = node.type
            if kind in ("identifier", "shorthand_field_identifier"):
                name = text_of(node)
                if name[:1].isupper():  # a constant or a variant
                    self.use(Chain("name", name), REFERENCES, node, place)
                else:
                    place.scope.values[name] = Binding(chain=chain, scope=source[0])
            elif kind in ("tuple_struct_pattern", "struct_pattern"):
                waiting += self._parts(node, chain, place)
            elif kind in ("mut_pattern", "ref_pattern", "reference_pattern", "captured_pattern"):
                waiting += [(child, chain) for child in node.named_children]
            elif kind in ("scoped_identifier", "range_pattern", "macro_invocation", "const_block"):
                self.push(node, place)
            elif kind not in ("remaining_field_pattern", "mutable_specifier"):
                waiting += [(child, None) for child in node.named_children]

    def _parts(
        self, node: Node, chain: Chain | None, place: _Place
    ) -> list[tuple[Node, Chain | None]]:
        """The patterns in a pattern with a path, each with what it is bound to."""
        named = node.child_by_field_name("type")
        names = names_of(named)
        path = path_chain(names, is_type=node.type == "struct_pattern")
        if named is not None:
            self.use(path, REFERENCES, named, place)
        parts: list[tuple[Node, Chain | None]] = []
        for child in node.named_children:
            if named is not None and child.id == named.id:
                continue
            if node.type == "tuple_struct_pattern":
                parts.append((child, chain if names[-1:] in (["Some"], ["Ok"]) else None))
            elif child.type == "field_pattern":
                name = child.child_by_field_name("name")
                whole = instance(path)
                if whole is not None:
                    bound = whole.part(text_of(name))
                else:
                    bound = None
                self.use_field(names, name, place)
                inner = child.child_by_field_name("pattern") or name
                if inner is not None:
                    parts.append((inner, bound))
        return parts


_FIELD_NAMES: Final = ("field_identifier", "identifier", "shorthand_field_identifier")


def _bound_of(bounds: Node | None) -> Chain | None:
    """The trait that a type parameter has, where it is one alone but for those of the language."""
    chains = [
        chain
        for bound in (bounds.named_children if bounds is not None else ())
        if (chain := type_chain(bound)) is not None and chain.root not in _MARKERS
    ]
    if len(chains) == 1:
        return chains[0]
    return None


_MARKERS: Final = frozenset(
    {"Clone", "Copy", "Debug", "Default", "Eq", "Hash", "Ord", "PartialEq", "PartialOrd"}
    | {"Send", "Sized", "Sync", "Unpin"}
)


def _bind_predicates(clause: Node, scope: Scope) -> None:
    for predicate in clause.named_children:
        left, bounds = (predicate.child_by_field_name(key) for key in ("left", "bounds"))
        if left is not None and left.type == "type_identifier":
            binding = scope.types.get(text_of(left))
            chain = _bound_of(bounds)
            if binding is not None and binding.chain is None and chain is not None:
                scope.types[text_of(left)] = binding._replace(chain=chain)


# -- items


def _skip(walker: Walker, node: Node, place: _Place) -> None:
    return


def _name(node: Node) -> str:
    return text_of(node.child_by_field_name("name"))


def _dotted(node: Node, place: _Place) -> str:
    """The dotted name of an item or member."""
    if place.owner_type:
        return f"{place.owner_type}.{_name(node)}"
    return f"{place.scope.prefix}{_name(node)}"


def _function(walker: Walker, node: Node, place: _Place) -> None:
    name = _name(node)
    body = node.child_by_field_name("body")
    dotted = _dotted(node, place)
    if not place.owner_type:
        place.scope.values[name] = Binding(f"{DEFINED}{dotted}")
    owner = place.owner
    if name and len(dotted) <= _LONGEST_PREFIX:
        if place.owner_type:
            prefix = "method"
        else:
            prefix = "function"
        owner = walker.declare(prefix, dotted, node, body)
        walker.walked.declarations[owner].trait = place.trait
    scope = place.scope.inner(f"{dotted}.<locals>.")
    inner = _Place(scope, owner)
    walker.bind_type_parameters(node, scope, inner)
    returned = node.child_by_field_name("return_type")
    walker.note_type(dotted, scope, instance(type_chain(returned)))
    walker.push(returned, inner)
    _parameters(walker, node, inner)
    if body is not None:
        _block(walker, body, inner)


def _parameters(walker: Walker, node: Node, inner: _Place) -> None:
    parameters = node.child_by_field_name("parameters")
    for parameter in parameters.named_children if parameters is not None else ():
        if parameter.type == "self_parameter":
            own = Chain("owner", "", Chain("type", "Self"))
            inner.scope.values["self"] = Binding(chain=own)
        elif parameter.type == "parameter":
            typed = parameter.child_by_field_name("type")
            pattern = parameter.child_by_field_name("pattern")
            source = (inner.scope, instance(type_chain(typed)))
            if pattern is not None and pattern.type == "self":
                inner.scope.values["self"] = Binding(chain=source[1])
            else:
                walker.bind_pattern(pattern, inner, source)
            walker.push(typed, inner)
        else:
            walker.bind_pattern(parameter, inner, (inner.scope, None))


def _type(walker: Walker, node: Node, place: _Place) -> None:
    """A struct, enum, union, trait or another name of a type."""
    name = _name(node)
    dotted = _dotted(node, place)
    kind = node.type
    prefix = _TYPES[kind]
    if not place.owner_type:
        place.scope.types[name] = Binding(f"{DEFINED}{dotted}")
        place.scope.values.setdefault(name, Binding(f"{DEFINED}{dotted}"))
    body = node.child_by_field_name("body")
    if body is not None and "ordered" not in body.type:
        ends_before = body
    else:
        ends_before = None
    owner = walker.declare(prefix, dotted, node, ends_before, kind == "trait_item")
    scope = place.scope.inner()
    scope.types["Self"] = Binding(f"{DEFINED}{dotted}")
    inner = _Place(scope, owner)
    walker.bind_type_parameters(node, scope, inner)
    if kind == "trait_item":
        _supertraits(walker, node, dotted, inner)
        walker.push_items(body, _Place(scope, owner, dotted))
    elif kind in ("type_item", "associated_type"):
        aliased = node.child_by_field_name("type")
        walker.push(aliased, inner)
        walker.push(node.child_by_field_name("bounds"), inner)
        chain = type_chain(aliased)
        if chain is not None:
            walker.walked.bases.setdefault(dotted, []).append((scope, chain))
    elif body is not None:
        walker.push_items(body, _Place(scope, owner, dotted))


def _supertraits(walker: Walker, node: Node, dotted: str, inner: _Place) -> None:
    bounds = node.child_by_field_name("bounds")
    for bound in bounds.named_children if bounds is not None else ():
        chain = type_chain(bound)
        if chain is not None:
            walker.walked.bases.setdefault(dotted, []).append((inner.scope, chain))
            walker.use(chain, INHERITS, bound, inner)
        for arguments in bound.named_children:
            if arguments.type == "type_arguments":
                walker.push(arguments, inner)


def _field(walker: Walker, node: Node, place: _Place) -> None:
    dotted = _dotted(node, place)
    owner = walker.declare("field", dotted, node)
    typed = node.child_by_field_name("type")
    walker.note_type(f"{dotted}{FIELD}", place.scope, instance(type_chain(typed)))
    walker.push(typed, _Place(place.scope, owner))


def _variant(walker: Walker, node: Node, place: _Place) -> None:
    dotted = _dotted(node, place)
    owner = walker.declare("field", dotted, node)
    walker.note_type(dotted, place.scope, instance(Chain("type", "Self")))
    inner = _Place(place.scope, owner)
    body = node.child_by_field_name("body")
    for part in body.named_children if body is not None else ():
        # a field of a variant has no ID of its own
        walker.push(part.child_by_field_name("type") or part, inner)
    walker.push(node.child_by_field_name("value"), inner)


def _constant(walker: Walker, node: Node, place: _Place) -> None:
    name = _name(node)
    dotted = _dotted(node, place)
    if not place.owner_type and name:
        place.scope.values[name] = Binding(f"{DEFINED}{dotted}")
    owner = place.owner
    if name and name != "_" and ".<locals>." not in dotted:
        owner = walker.declare("field", dotted, node)
    typed = node.child_by_field_name("type")
    walker.note_type(dotted, place.scope, instance(type_chain(typed)))
    inner = _Place(place.scope.inner(f"{dotted}.<locals>."), owner)
    walker.push(typed, inner)
    walker.push(node.child_by_field_name("value"), inner)


def _impl(walker: Walker, node: Node, place: _Place) -> None:
    typed = node.child_by_field_name("type")
    trait = node.child_by_field_name("trait")
    names = _owner_names(typed)
    if names:
        dotted = f"{place.scope.prefix}{names[-1]}"
    else:
        dotted = ""
    scope = place.scope.inner()
    header = _Place(scope, dotted or place.owner)
    walker.bind_type_parameters(node, scope, header)
    chain = path_chain(names, is_type=True)
    scope.types["Self"] = Binding(chain=chain, scope=scope)
    walker.push(typed, header)
    if trait is not None:
        trait_chain = type_chain(trait)
        walker.use(trait_chain, INHERITS, trait, header)
        for part in trait.named_children:
            if part.type == "type_arguments":
                walker.push(part, header)
        if dotted and trait_chain is not None:
            walker.walked.bases.setdefault(dotted, []).append((scope, trait_chain))
    if dotted and chain is not None:
        walker.walked.owners.setdefault(dotted, (scope, chain))
    inner = _Place(scope, place.owner, dotted, " ".join(text_of(trait).split()))
    walker.push_items(node.child_by_field_name("body"), inner)


_PRIMITIVES: Final = {
    "array_type": "array",
    "function_type": "fn",
    "never_type": "never",
    "pointer_type": "pointer",
    "tuple_type": "tuple",
    "unit_type": "unit",
}
"""What has no name of its own → the name that rustdoc gives it."""


def _owner_names(node: Node | None) -> list[str]:
    """The path of the type that an `impl` is about."""
    while node is not None:
        kind = node.type
        if kind in ("reference_type", "dynamic_type", "abstract_type"):
            node = node.child_by_field_name("type") or node.child_by_field_name("trait")
        elif kind == "array_type" and node.child_by_field_name("length") is None:
            return ["slice"]
        elif kind in _PRIMITIVES:
            return [_PRIMITIVES[kind]]
        elif kind == "primitive_type":
            return [text_of(node)]
        elif kind == "macro_invocation":
            node = node.child_by_field_name("macro")
        elif names := names_of(node):
            return names
        else:
            node = next(iter(node.named_children), None)
    return []


def _module(walker: Walker, node: Node, place: _Place) -> None:
    name = _name(node)
    body = node.child_by_field_name("body")
    scope = place.scope
    if not name:
        return
    dotted = f"{scope.prefix}{name}"
    if body is None:
        # in a function it would be found by the function's name, which nobody writes
        if ".<locals>." not in dotted:
            _file_module(walker, node, dotted, place)
        return
    scope.types[name] = Binding(f"{DEFINED}{dotted}")
    owner = walker.declare("namespace", dotted, node, body, own=True)
    inner = Scope(scope, f"{dotted}.", dotted, is_module=True)
    walker.push_items(body, _Place(inner, owner))


def _file_module(walker: Walker, node: Node, dotted: str, place: _Place) -> None:
    expression = imported(encoded(f"{MOD}::{dotted}"))
    place.scope.types[_name(node)] = Binding(expression)
    written = [text for text in map(_path_attribute, walker.before.get(node.id, ())) if text]
    walked = walker.walked
    walked.modules[dotted] = path = written[0] if written else ""
    walked.names[f"{dotted}{MODULE}"] = expression
    if path:
        specifier = f"{MOD}::{dotted}={path}"
    else:
        specifier = f"{MOD}::{dotted}"
    walked.imports.append([specifier, "", -1, line_of(node), "import", node])


def _path_attribute(node: Node) -> str:
    """The path in `#[path = "…"]`; empty for anything else."""
    if node.type == "attribute_item":
        attribute = next(iter(node.named_children), None)
    else:
        attribute = None
    if attribute is None or not attribute.named_children:
        return ""
    value = attribute.child_by_field_name("value")
    if text_of(attribute.named_children[0]) != "path" or value is None:
        return ""
    return text_of(value)[1:-1]


def _macro_definition(walker: Walker, node: Node, place: _Place) -> None:
    name = _name(node)
    dotted = f"{place.scope.prefix}{name}"
    place.scope.values[f"{name}{MACRO}"] = Binding(f"{DEFINED}{dotted}")
    if name and ".<locals>." not in dotted:
        walker.walked.macros.setdefault(name, dotted)
    rules = [child for child in node.named_children if child.type == "macro_rule"]
    owner = walker.declare("function", dotted, node, rules[0] if rules else None)
    for rule in rules:
        walker.push(rule.child_by_field_name("right"), place._replace(owner=owner, owner_type=""))


def _foreign(walker: Walker, node: Node, place: _Place) -> None:
    walker.push_items(node.child_by_field_name("body"), place)


def _extern_crate(walker: Walker, node: Node, place: _Place) -> None:
    name = _name(node)
    alias = text_of(node.child_by_field_name("alias")) or name
    if name == "self":
        chain = Chain("module", "crate")
    else:
        chain = Chain("module", "", None, (name,))
        walker.walked.imports.append([f"::{name}", "", -1, line_of(node), "import", node])
    _bind_use(walker, alias, chain, node, place)


# -- use


def _use(walker: Walker, node: Node, place: _Place) -> None:
    argument = node.child_by_field_name("argument")
    waiting: list[tuple[Node | None, list[str]]] = [(argument, [])]
    while waiting:
        part, before = waiting.pop()
        if part is None:
            continue
        kind = part.type
        if kind == "scoped_use_list":
            path = part.child_by_field_name("path")
            names = [*before, *names_of(path)]
            if path is None and not before:
                names = [""]
            waiting.append((part.child_by_field_name("list"), names))
        elif kind == "use_list":
            waiting += [(child, before) for child in reversed(part.named_children)]
        elif kind == "use_wildcard":
            path = next(iter(part.named_children), None)
            _glob(walker, [*before, *names_of(path)], part, node, place)
        elif kind == "use_as_clause":
            alias = text_of(part.child_by_field_name("alias"))
            names = _use_names(before, part.child_by_field_name("path"))
            _use_name(walker, names, alias, part, node, place)
        else:
            names = _use_names(before, part)
            _use_name(walker, names, names[-1] if names else "", part, node, place)


def _use_names(before: list[str], path: Node | None) -> list[str]:
    names = names_of(path)
    if before and names == ["self"]:  # `use cart::{self}`
        return before
    return [*before, *names]


def _use_name(
    walker: Walker, names: list[str], alias: str, part: Node, node: Node, place: _Place
) -> None:
    chain = path_chain(names, kind="use")
    if chain is None or not alias:
        return
    if chain.kind == "name":  # `use cart as basket`
        chain = chain._replace(kind="use")
    _use_row(walker, names[:-1], names[-1], part, node, place)
    _bind_use(walker, alias, chain, part, place)


def _bind_use(walker: Walker, alias: str, chain: Chain, node: Node, place: _Place) -> None:
    scope = place.scope
    if alias != "_":
        binding = Binding(chain=chain, scope=scope, is_imported=True)
        scope.values.setdefault(alias, binding)
        scope.types.setdefault(alias, binding)
        scope.values.setdefault(f"{alias}{MACRO}", binding)
        if scope.is_module:
            walker.walked.names[f"{scope.prefix}{alias}"] = (scope, chain)
    walker.use(chain, REFERENCES, node, place, is_imported=True)


def _glob(walker: Walker, names: list[str], part: Node, node: Node, place: _Place) -> None:
    chain = path_chain(names, kind="use") or Chain("module", "crate")
    if chain.kind == "name":
        chain = Chain("use", chain.root) if chain.root != "self" else Chain("module", "self")
    scope = place.scope
    scope.globs.append(chain)
    if scope.is_module:
        walker.walked.globs.setdefault(scope.module, []).append((scope, chain))
    _use_row(walker, names, "*", part, node, place)


def _use_row(
    walker: Walker, names: list[str], name: str, part: Node, node: Node, place: _Place
) -> None:
    """A row of what is imported, as the file's own module would write it."""
    names = _in_file(names, place.scope.module)
    manner = "star import" if name == "*" else "import"
    if not names:
        names, name = [name], ""
    walker.walked.imports.append(["::".join(names), name, -1, line_of(part), manner, node])


def _in_file(names: list[str], module: str) -> list[str]:
    """A path in an inline module as the file's own module would write it."""
    inside = module.split(".") if module else []
    if names[:1] == ["self"]:
        return ["self", *inside, *names[1:]]
    while inside and names[:1] == ["super"]:
        inside.pop()
        names = names[1:]
        if names[:1] != ["super"]:
            names = ["self", *inside, *names]
    return names


# -- statements and expressions


def _block(walker: Walker, node: Node, place: _Place) -> None:
    """The statements of a block, in order: a `let` is visible after it, and hides what it is named
    like.
    """
    if place.scope.is_module or not place.scope.prefix.endswith(".<locals>."):
        place = place._replace(scope=place.scope.inner(f"{place.scope.prefix}<locals>."))
    next_place = place._replace(scope=place.scope.inner(), owner_type="")
    for statement in walker.items(node):
        if statement.type == "let_declaration":
            next_place = _let(walker, statement, next_place)
        else:
            walker.push(statement, next_place)


def _let(walker: Walker, node: Node, place: _Place) -> _Place:
    """Bind the names of a `let`; returns the place after it."""
    typed = node.child_by_field_name("type")
    value = node.child_by_field_name("value")
    pattern = node.child_by_field_name("pattern")
    walker.push_fields(node, ("type", "value", "alternative"), place)
    chain = instance(type_chain(typed)) if typed is not None else chain_of(value)
    after = place
    if any(place.scope.is_local(name) for name in _bound_names(pattern)):
        after = place._replace(scope=place.scope.inner())
    walker.bind_pattern(pattern, after, (place.scope, chain))
    return after


def _bound_names(pattern: Node | None) -> Iterator[str]:
    waiting = [pattern] if pattern is not None else []
    while waiting:
        node = waiting.pop()
        if node.type in ("identifier", "shorthand_field_identifier"):
            yield text_of(node)
        waiting += node.named_children


def _conditional(walker: Walker, node: Node, place: _Place) -> None:
    """`if` and `while`: what a `let` in the condition binds is visible in the body."""
    walker.push(node.child_by_field_name("alternative"), place)
    inner = place._replace(scope=place.scope.inner())
    waiting = [node.child_by_field_name("condition")]
    while waiting:
        part = waiting.pop()
        if part is None:
            continue
        if part.type == "let_chain":
            waiting += part.named_children
        elif part.type == "let_condition":
            value = part.child_by_field_name("value")
            walker.push(value, place)
            pattern = part.child_by_field_name("pattern")
            walker.bind_pattern(pattern, inner, (place.scope, chain_of(value)))
        else:
            walker.push(part, inner)
    walker.push_fields(node, ("consequence", "body"), inner)


def _for(walker: Walker, node: Node, place: _Place) -> None:
    inner = place._replace(scope=place.scope.inner())
    walker.push(node.child_by_field_name("value"), place)
    walker.bind_pattern(node.child_by_field_name("pattern"), inner, (place.scope, None))
    walker.push(node.child_by_field_name("body"), inner)


def _match(walker: Walker, node: Node, place: _Place) -> None:
    value = node.child_by_field_name("value")
    body = node.child_by_field_name("body")
    walker.push(value, place)
    source = (place.scope, chain_of(value))
    for arm in body.named_children if body is not None else ():
        if arm.type != "match_arm":
            continue
        inner = place._replace(scope=place.scope.inner())
        pattern = arm.child_by_field_name("pattern")
        if pattern is not None:
            condition = pattern.child_by_field_name("condition")
        else:
            condition = None
        for part in pattern.named_children if pattern is not None else ():
            if condition is None or part.id != condition.id:
                walker.bind_pattern(part, inner, source)
        walker.push(condition, inner)
        walker.push(arm.child_by_field_name("value"), inner)


def _closure(walker: Walker, node: Node, place: _Place) -> None:
    inner = place._replace(scope=place.scope.inner())
    _parameters(walker, node, inner)
    walker.push_fields(node, ("return_type", "body"), inner)


def _identifier(walker: Walker, node: Node, place: _Place) -> None:
    walker.use(Chain("name", text_of(node)), REFERENCES, node, place)


def _type_identifier(walker: Walker, node: Node, place: _Place) -> None:
    walker.use(Chain("type", text_of(node)), REFERENCES, node, place)


def _path(walker: Walker, node: Node, place: _Place, relation: int = REFERENCES) -> None:
    names = names_of(node)
    is_type = node.type == "scoped_type_identifier"
    walker.use(path_chain(names, is_type), relation, node, place)
    waiting = [node]
    while waiting:  # the types in `Vec::<Line>::new`
        part = waiting.pop()
        for child in part.named_children:
            if child.type in ("scoped_identifier", "scoped_type_identifier", "generic_type"):
                waiting.append(child)
            elif child.type in ("type_arguments", "bracketed_type"):
                walker.push(child, place)
    if not names:
        walker.use(_unknown(text_of(node.child_by_field_name("name"))), relation, node, place)


def _unknown(name: str) -> Chain:
    return Chain("unknown", "", None, (name,))


def _member(walker: Walker, node: Node, place: _Place, relation: int = REFERENCES) -> None:
    chain = chain_of(node)
    last = node.child_by_field_name("field") or node
    if chain is None:
        if last.type == "field_identifier":
            walker.use(_unknown(text_of(last)), relation, last, place)
        walker.push(node.child_by_field_name("value"), place)
        return
    names = chain.attributes
    if names and relation == REFERENCES:
        walker.use(chain._replace(attributes=names[:-1]).field(names[-1]), relation, last, place)
    else:
        walker.use(chain, relation, last, place)
    inner: Node | None = node
    while inner is not None and inner.type == "field_expression":
        inner = inner.child_by_field_name("value")
    if inner is not None and inner.type not in ("identifier", "self"):
        walker.push(inner, place)


def _call(walker: Walker, node: Node, place: _Place) -> None:
    called = node.child_by_field_name("function")
    if called is not None and called.type == "generic_function":
        walker.push(called.child_by_field_name("type_arguments"), place)
        called = called.child_by_field_name("function")
    if called is not None and called.type == "identifier":
        walker.use(Chain("name", text_of(called)), CALLS, called, place)
    elif called is not None and called.type == "scoped_identifier":
        _path(walker, called, place, CALLS)
    elif called is not None and called.type == "field_expression":
        _member(walker, called, place, CALLS)
    else:
        walker.push(called, place)
    walker.push(node.child_by_field_name("arguments"), place)


def _struct_expression(walker: Walker, node: Node, place: _Place) -> None:
    name = node.child_by_field_name("name")
    names = names_of(name)
    if name is not None:
        walker.use(path_chain(names, is_type=True), REFERENCES, name, place)
    body = node.child_by_field_name("body")
    for part in body.named_children if body is not None else ():
        if part.type == "shorthand_field_initializer":
            for word in part.named_children:
                walker.use_field(names, word, place)
                walker.push(word, place)
        else:
            field_name = part.child_by_field_name("field")
            walker.use_field(names, field_name, place)
            for child in part.named_children:
                if field_name is None or child.id != field_name.id:
                    walker.push(child, place)


# -- macros


def _macro_call(walker: Walker, node: Node, place: _Place) -> None:
    macro = node.child_by_field_name("macro")
    names = names_of(macro)
    chain = path_chain(names) if len(names) > 1 else None
    if len(names) == 1:
        chain = Chain("macro", names[0])
    walker.use(chain, CALLS, node, place)
    for child in node.named_children:
        if child.type == "token_tree":
            items = _items_in(walker, node, child)
            if items is not None:
                walker.push_items(items, place)
            else:
                walker.push(child, place)


_ITEMS: Final = frozenset(
    {"attribute_item", "block_comment", "const_item", "empty_statement", "enum_item"}
    | {"foreign_mod_item", "function_item", "impl_item", "line_comment", "macro_definition"}
    | {"macro_invocation", "mod_item", "static_item", "struct_item", "trait_item", "type_item"}
    | {"union_item", "use_declaration"}
)


def _items_in(walker: Walker, call: Node, arguments: Node) -> Node | None:
    """The items in the arguments of a macro that is called where an item may be, as
    `cfg_if_std! { mod io; }`; None where they are none. What the macro makes of them is unknown,
    most hand them on.
    """
    outer = call.parent
    if outer is not None and outer.type == "expression_statement":
        outer = outer.parent
    is_among_items = outer is not None and outer.type in ("source_file", "declaration_list")
    if not is_among_items or arguments.children[0].type != "{":
        return None
    walker.reread_bytes += arguments.end_byte - arguments.start_byte
    if walker.reread_bytes > _MOST_READINGS * len(walker.content):
        walker.walked.unread_macro = walker.walked.unread_macro or call
        return None
    tree = parse_part(walker.content, "rust", arguments)
    walker.trees.append(tree)
    root = tree.root_node
    kinds = {child.type for child in root.named_children}
    if root.has_error or not kinds <= _ITEMS or kinds <= {"macro_invocation"}:
        return None
    return root


def _token_tree(walker: Walker, node: Node, place: _Place) -> None:
    """The arguments of a macro: no syntax, but paths, calls and fields are written as anywhere."""
    tokens = node.children
    place = place._replace(owner_type="")
    index = 0
    while index < len(tokens):
        token = tokens[index]
        if token.type == "token_tree":
            walker.push(token, place)
            index += 1
        elif token.type in _WORDS:
            is_field = index > 0 and tokens[index - 1].type == "."
            index = _token_path(walker, tokens, index, is_field, place)
        else:
            index += 1


_WORDS: Final = NAMES | {"self", "super", "crate", "metavariable"}


def _token_path(
    walker: Walker, tokens: list[Node], index: int, is_field: bool, place: _Place
) -> int:
    """Note a path or chain in a macro's arguments; returns the place after it."""
    first = tokens[index]
    names = names_of(first)
    index += 1
    while _types(tokens, index) == ("::", True) and names:
        names.append(text_of(tokens[index + 1]))
        index += 2
    if _kind(tokens, index) == "!" and _kind(tokens, index + 1) == "token_tree":
        chain = Chain("macro", names[0]) if len(names) == 1 else path_chain(names)
        walker.use(chain, CALLS, first, place)
        return index + 1
    is_call = _is_call(tokens, index)
    if names[-1:] and names[-1][:1].isupper() and _kind(tokens, index) == "token_tree":
        for field_name in _fields_in(tokens[index]):
            walker.use_field(names, field_name, place)
    # what is called is a function: `assert_eq!(largest(x), 2)`; other words may be the macro's own
    is_function = is_call and len(names) == 1 and names[0][:1].islower()
    chain = path_chain(names, kind="name" if is_function else "token")
    if is_field:
        chain = _unknown(names[-1]) if names else None
    walker.use(chain, CALLS if is_call else REFERENCES, first, place)
    while chain is not None:
        if is_call:
            walker.push(tokens[index], place)
            index += 1
            chain = Chain("result", "", chain)
        if _types(tokens, index) != (".", True):
            break
        last = tokens[index + 1]
        whole, name = chain, text_of(last)
        chain = whole.part(name)
        index += 2
        is_call = _is_call(tokens, index)
        if is_call:
            walker.use(chain, CALLS, last, place)
        else:
            walker.use(whole.field(name), REFERENCES, last, place)
    return index


def _fields_in(arguments: Node) -> Iterator[Node]:
    """The names before a colon in `Cart { total: 1, lines }`, as in a literal."""
    tokens = arguments.children
    if tokens[0].type != "{":
        return
    for index in range(1, len(tokens) - 1):
        is_first = tokens[index - 1].type in ("{", ",")
        if is_first and tokens[index].type in NAMES and tokens[index + 1].type in (":", ",", "}"):
            yield tokens[index]


def _kind(tokens: list[Node], index: int) -> str:
    if index < len(tokens):
        return tokens[index].type
    return ""


def _types(tokens: list[Node], index: int) -> tuple[str, bool]:
    """A sign, and whether a name comes after it."""
    return _kind(tokens, index), _kind(tokens, index + 1) in NAMES


def _is_call(tokens: list[Node], index: int) -> bool:
    return _kind(tokens, index) == "token_tree" and tokens[index].children[0].type == "("


Handler = Callable[[Walker, "Node", _Place], None]
_HANDLERS: Final[dict[str, Handler]] = {
    "line_comment": _skip,
    "block_comment": _skip,
    "attribute_item": _skip,
    "inner_attribute_item": _skip,
    "string_literal": _skip,
    "raw_string_literal": _skip,
    "lifetime": _skip,
    "label": _skip,
    "visibility_modifier": _skip,
    "self": _skip,
    "crate": _skip,
    "super": _skip,
    "token_tree_pattern": _skip,
    "function_item": _function,
    "function_signature_item": _function,
    "struct_item": _type,
    "union_item": _type,
    "enum_item": _type,
    "type_item": _type,
    "associated_type": _type,
    "trait_item": _type,
    "field_declaration": _field,
    "enum_variant": _variant,
    "const_item": _constant,
    "static_item": _constant,
    "impl_item": _impl,
    "mod_item": _module,
    "foreign_mod_item": _foreign,
    "macro_definition": _macro_definition,
    "extern_crate_declaration": _extern_crate,
    "use_declaration": _use,
    "block": _block,
    "if_expression": _conditional,
    "while_expression": _conditional,
    "for_expression": _for,
    "match_expression": _match,
    "closure_expression": _closure,
    "identifier": _identifier,
    "type_identifier": _type_identifier,
    "scoped_identifier": _path,
    "scoped_type_identifier": _path,
    "field_expression": _member,
    "call_expression": _call,
    "struct_expression": _struct_expression,
    "macro_invocation": _macro_call,
    "token_tree": _token_tree,
}


def walk(root: Node, content: bytes) -> Walked:
    """Walk the tree of a file."""
    walker = Walker(root, content)
    walked = walker.walk()
    walked.trees = walker.trees
    for row in walked.imports:
        row[0] = _from_module(row[0], walked.module)
    return walked


def _from_module(specifier: str, module: Scope) -> str:
    """A specifier that begins with an item of the file, from the file's module on; one that begins
    with a name that a `use` binds, as that has it.
    """
    for _ in range(_LONGEST_USE):
        root, separator, names_after = specifier.partition("::")
        binding = module.types.get(root)
        if binding is None or root in ("", MOD):
            return specifier
        chain = binding.chain
        if chain is None:
            return f"self::{specifier}"
        if chain.kind == "use" and chain.root == root:
            return specifier
        names = [*chain.root.split("."), *chain.attributes]
        specifier = "::".join(names) + separator + names_after
    return specifier
