"""From nodes of the tree to chains: paths, types, and expressions whose root is a name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kl_hooks.code.rust.scopes import Chain
from kl_hooks.code.scanner import trees

if TYPE_CHECKING:
    from tree_sitter import Node

_LONGEST_CHAIN: Final = 12
"""Links of a chain of calls that are followed."""
_ROOTS: Final = frozenset({"crate", "self", "super"})
_WRAPPERS: Final = frozenset(
    {"Arc", "Box", "Cow", "ManuallyDrop", "MutexGuard", "Option", "Pin", "Rc", "Ref", "RefMut"}
    | {"Result", "RwLockReadGuard", "RwLockWriteGuard"}
)
"""Types of the standard library whose methods are mostly those of their last type but errors."""
_WRAPPING: Final = frozenset(
    {"Arc::new", "Box::new", "Err", "Ok", "Pin::new", "Rc::new", "Some", "Box::pin"}
)
_UNWRAPPING: Final = frozenset(
    {"as_deref", "as_deref_mut", "as_mut", "as_ref", "clone", "expect", "to_owned", "unwrap"}
    | {"unwrap_or", "unwrap_or_default", "unwrap_or_else"}
)
"""Methods of those types that give what is inside."""
NAMES: Final = frozenset({"identifier", "type_identifier", "field_identifier"})
_TRANSPARENT: Final = frozenset(
    {"await_expression", "parenthesized_expression", "reference_expression", "try_expression"}
    | {"unary_expression"}
)


def text_of(node: Node | None) -> str:
    """The source of a node; of a raw identifier the name alone."""
    return trees.text_of(node).removeprefix("r#")


def names_of(node: Node | None) -> list[str]:
    """The names of a path, an empty one first for a leading `::`; nothing for what is no path."""
    names: list[str] = []
    while node is not None:
        kind = node.type
        if kind in NAMES or kind in _ROOTS:
            names.append(text_of(node))
            break
        if kind == "metavariable" and text_of(node) == "$crate":
            names.append("crate")
            break
        if kind in ("scoped_identifier", "scoped_type_identifier"):
            names.append(text_of(node.child_by_field_name("name")))
            path = node.child_by_field_name("path")
            if path is None:
                names.append("")
            node = path
        elif kind == "generic_type":
            node = node.child_by_field_name("type")
        elif kind == "generic_function":
            node = node.child_by_field_name("function")
        elif kind == "bracketed_type":
            node = next(iter(node.named_children), None)
        elif kind == "qualified_type":  # `<T as Shop>::total`
            node = node.child_by_field_name("alias")
        elif kind in ("reference_type", "generic_type_with_turbofish"):
            node = node.child_by_field_name("type")
        else:
            return []
    names.reverse()
    return names


def path_chain(names: list[str], is_type: bool = False, kind: str = "name") -> Chain | None:
    """The chain of a path; None for none."""
    if not names:
        return None
    if names == ["self"]:
        return Chain("name", "self")
    if names[0] in ("crate", "self", "super", ""):
        count = 1
        while names[count : count + 1] == ["super"]:
            count += 1
        return Chain("module", ".".join(names[:count]), None, tuple(names[count:]))
    if len(names) > 1 or is_type:
        kind = "use" if kind == "use" else "type"
    return Chain(kind, names[0], None, tuple(names[1:]))


def type_chain(node: Node | None) -> Chain | None:
    """The chain of the name of a type; None where that is not one type."""
    while node is not None:
        kind = node.type
        if kind == "generic_type":
            names = names_of(node)
            arguments = node.child_by_field_name("type_arguments")
            if names and names[-1] in _WRAPPERS and arguments is not None:
                types = [part for part in arguments.named_children if part.type != "lifetime"]
                node = types[0] if types else None
                continue
            return path_chain(names, is_type=True)
        if kind == "reference_type":
            node = node.child_by_field_name("type")
        elif kind in ("abstract_type", "dynamic_type"):
            node = node.child_by_field_name("trait")
        elif kind in ("bounded_type", "bracketed_type", "parenthesized_type"):
            node = next(iter(node.named_children), None)
        elif kind in ("type_identifier", "scoped_type_identifier", "identifier"):
            return path_chain(names_of(node), is_type=True)
        else:
            return None
    return None


def instance(chain: Chain | None) -> Chain | None:
    """The chain of what has a type."""
    if chain is not None:
        return Chain("result", "", chain)
    return None


def chain_of(node: Node | None, depth: int = 0) -> Chain | None:
    """The chain that an expression is; None where its root is no name."""
    fields: list[str] = []
    while node is not None:
        kind = node.type
        if kind in ("identifier", "self", "scoped_identifier", "metavariable"):
            return _with(path_chain(names_of(node)), fields)
        if kind == "field_expression":
            field = node.child_by_field_name("field")
            if field is None or field.type != "field_identifier":
                return None
            fields.append(text_of(field))
            node = node.child_by_field_name("value")
        elif kind in _TRANSPARENT:
            node = next((child for child in node.named_children if _is_value(child)), None)
        elif kind == "generic_function":
            node = node.child_by_field_name("function")
        elif kind == "struct_expression":
            named = path_chain(names_of(node.child_by_field_name("name")), is_type=True)
            return _with(instance(named), fields)
        elif kind == "call_expression":
            if depth >= _LONGEST_CHAIN:
                return None
            inside = _unwrapped(node)
            if inside is None:
                called = chain_of(node.child_by_field_name("function"), depth + 1)
                if called is not None:
                    return _with(Chain("result", "", called), fields)
                return None
            node = inside
        else:
            return None
    return None


def _is_value(node: Node) -> bool:
    return node.type not in ("mutable_specifier", "line_comment", "block_comment")


def _unwrapped(call: Node) -> Node | None:
    """What a call of the standard library only wraps or unwraps; None for any other call."""
    function = call.child_by_field_name("function")
    if function is None:
        return None
    if function.type == "field_expression":
        if text_of(function.child_by_field_name("field")) in _UNWRAPPING:
            return function.child_by_field_name("value")
        return None
    if "::".join(names_of(function)) in _WRAPPING:
        arguments = call.child_by_field_name("arguments")
        if arguments is not None:
            values = arguments.named_children
        else:
            values = []
        if len(values) == 1:
            return values[0]
        return None
    return None


def _with(chain: Chain | None, fields: list[str]) -> Chain | None:
    if chain is None or not fields:
        return chain
    return chain._replace(attributes=(*chain.attributes, *reversed(fields)))
