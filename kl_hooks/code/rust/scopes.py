"""What a name means where it is used in Rust: the scopes of a file, and the expressions of their
names.

A path is followed by the linker, module by module, as the compiler does: its expression is a root
(`crate`, `self`, `super`, a crate, something of this file) and the names after it. Names are looked
up when all of a file was walked, since items are known above their definition.
"""

from __future__ import annotations

from typing import Final

from kl_hooks.code.module_systems import FIELD, MACRO, decoded, encoded
from kl_hooks.code.rust.modules import CRATE, IN_SCOPE, SELF, SUPER
from kl_hooks.code.scanner.expressions import (
    DEFINED,
    IMPORTED,
    INSTANCE,
    RESULT,
    UNKNOWN,
    UNRESOLVED,
    imported,
    used_expressions,
    with_attributes,
)
from kl_hooks.model.definitions import NamedTuple

_DEEP: Final = 16
"""Bindings of bindings that are followed."""
PRELUDE: Final = frozenset(
    {"AsMut", "AsRef", "Box", "Clone", "Copy", "Debug", "Default", "DoubleEndedIterator"}
    | {"Drop", "Eq", "Err", "ExactSizeIterator", "Extend", "Fn", "FnMut", "FnOnce", "From"}
    | {"FromIterator", "Hash", "Into", "IntoIterator", "Iterator", "None", "Ok", "Option"}
    | {"Ord", "PartialEq", "PartialOrd", "Result", "Send", "Sized", "Some", "String", "Sync"}
    | {"ToOwned", "ToString", "TryFrom", "TryInto", "Unpin", "Vec", "drop"}
)
"""Names that every module has (`std::prelude`)."""
STANDARD_MACROS: Final = frozenset(
    {"assert", "assert_eq", "assert_ne", "cfg", "column", "compile_error", "concat", "dbg"}
    | {"debug_assert", "debug_assert_eq", "debug_assert_ne", "env", "eprint", "eprintln"}
    | {"file", "format", "format_args", "include", "include_bytes", "include_str", "line"}
    | {"matches", "module_path", "option_env", "panic", "print", "println", "stringify"}
    | {"thread_local", "todo", "unimplemented", "unreachable", "vec", "write", "writeln"}
)


class Chain(NamedTuple):
    """A path or a chain of fields and calls, as written."""

    kind: str
    """`name` of a value, `type` (the root of a path, or a type), `token` (a word in a macro's
    arguments), `macro`, `use` (the path of a `use`), `module` (`crate`, `self`, `super`), `owner`
    (what `self` is), `result` of a call or of a type, `unknown`.
    """
    root: str = ""
    """The first name; of a `module` its names, as `super.super`."""
    called: Chain | None = None
    """What is called, or the type; of `result` and `owner`."""
    attributes: tuple[str, ...] = ()

    def part(self, name: str) -> Chain:
        """A field or method of it."""
        return self._replace(attributes=(*self.attributes, name))

    def field(self, name: str) -> Chain:
        """A field of it, where that is all that is meant."""
        return self.part(f"{name}{FIELD}")


class Binding(NamedTuple):
    """What a name means: an expression, or a chain that is looked up in a scope."""

    expression: str = UNKNOWN
    chain: Chain | None = None
    scope: Scope | None = None
    is_parameter: bool = False
    """Whether it is a type parameter: the chain is its trait."""
    is_imported: bool = False
    """Whether a `use` binds it."""


UNKNOWN_BINDING: Final = Binding()


class Scope:
    """Names that are visible in a part of a file."""

    __slots__ = ("globs", "is_module", "module", "outer", "prefix", "types", "values")

    def __init__(
        self, outer: Scope | None, prefix: str, module: str, is_module: bool = False
    ) -> None:
        self.outer = outer
        self.prefix = prefix
        """Before the names of what is defined here, in IDs: `tests.`, `f.<locals>.`."""
        self.module = module
        """The dotted name of the inline module around; empty for the file's own."""
        self.is_module = is_module
        """Whether names outside are not visible."""
        self.values: dict[str, Binding] = {}
        self.types: dict[str, Binding] = {}
        self.globs: list[Chain] = []

    def inner(self, prefix: str = "") -> Scope:
        """A scope inside of it."""
        return Scope(self, prefix or self.prefix, self.module)

    def lookup(self, name: str, is_type: bool) -> Binding | None:
        """What a name means here; None where nothing binds it."""
        scope: Scope | None = self
        while scope is not None:
            binding = (scope.types if is_type else scope.values).get(name)
            if binding is not None:
                return binding
            scope = None if scope.is_module else scope.outer
        return None

    def is_local(self, name: str) -> bool:
        """Whether a value of this name is bound between here and the module."""
        scope: Scope | None = self
        while scope is not None and not scope.is_module:
            if name in scope.values:
                return True
            scope = scope.outer
        return False

    def glob_scope(self) -> Scope | None:
        """The innermost scope with a glob import; None where there is none."""
        scope: Scope | None = self
        while scope is not None:
            if scope.globs:
                return scope
            scope = None if scope.is_module else scope.outer
        return None


def expression_of(scope: Scope, chain: Chain | None, depth: int = 0) -> str:
    """The expression for a chain; `UNKNOWN` where nothing is known of its root."""
    if chain is None or depth > _DEEP:
        return UNKNOWN
    if chain.kind == "module":
        return _module_expression(scope, chain)
    base = _root_expression(scope, chain, depth)
    if not chain.attributes or not base:
        return base
    return with_attributes(base, ".".join(chain.attributes))


def _module_expression(scope: Scope, chain: Chain) -> str:
    roots = chain.root.split(".")
    names = list(chain.attributes)
    if roots[0] == CRATE:
        base = imported(CRATE)
    elif roots[0] == "":  # `::name`: a crate
        if not names:
            return UNKNOWN
        base = imported(encoded(f"::{names.pop(0)}"))
    else:
        if scope.module:
            inside = scope.module.split(".")
        else:
            inside = []
        above = roots.count(SUPER)
        names = [*inside[: max(len(inside) - above, 0)], *names]
        levels = above - len(inside)
        base = imported(encoded("::".join([SUPER] * levels)) if levels > 0 else SELF)
    if names:
        return with_attributes(base, ".".join(names))
    return base


def _root_expression(scope: Scope, chain: Chain, depth: int) -> str:
    if chain.kind in ("result", "owner"):
        called = expression_of(scope, chain.called, depth + 1)
        if not called or called[0] == UNRESOLVED:
            return UNKNOWN
        if chain.called is not None and _is_parameter(scope, chain.called):
            return called
        if chain.kind == "owner" and called[0] == DEFINED and "|" not in called:
            return INSTANCE + called[1:]
        return f"{RESULT}{called}>"
    if chain.kind == "unknown":
        return UNKNOWN
    if chain.kind == "use":
        return _use_root(scope, chain, depth)
    if chain.kind == "macro":
        name = f"{chain.root}{MACRO}"
    else:
        name = chain.root
    binding = scope.lookup(name, chain.kind == "type")
    if binding is None and chain.kind in ("macro", "token"):
        binding = scope.lookup(chain.root, True)
    if binding is not None:
        return _bound(scope, binding, depth)
    return _unbound(scope, chain)


def _is_parameter(scope: Scope, chain: Chain) -> bool:
    """Whether a chain is the name of a type parameter."""
    if chain.kind != "type" or chain.attributes:
        return False
    binding = scope.lookup(chain.root, True)
    return binding is not None and binding.is_parameter


def _bound(scope: Scope, binding: Binding, depth: int) -> str:
    if binding.chain is None:
        return binding.expression
    expression = expression_of(binding.scope or scope, binding.chain, depth + 1)
    if binding.is_parameter:
        if expression[:1] in (UNKNOWN, UNRESOLVED):
            return UNKNOWN
        return f"{RESULT}{expression}>"
    if binding.is_imported:
        return _as_one_name(expression)
    return expression


def _as_one_name(expression: str) -> str:
    """The expression of an imported name: using it is no use of what its path leads through."""
    if expression[:1] not in (DEFINED, IMPORTED) or "|" not in expression or "<" in expression:
        return expression
    head, _, attributes = expression.partition("|")
    names = attributes.split(".")
    if head[0] == DEFINED:
        names = [*head[1:].split("."), *names]
        specifier = SELF
    else:
        module, _, name = head[1:].partition(":")
        # the name in an inline module stays one name: a crate's is looked for by its end
        specifier, names = decoded(module), [*filter(None, [name]), *names]
    return imported(encoded("::".join([specifier, *names[:-1]])), names[-1])


def _use_root(scope: Scope, chain: Chain, depth: int) -> str:
    """The root of the path of a `use`: an item in scope, or a crate."""
    binding = scope.lookup(chain.root, True)
    if binding is None:
        return _in_scope(scope, chain.root)
    is_itself = (
        binding.chain is not None
        and binding.chain.kind == "use"
        and binding.chain.root == chain.root
    )
    if is_itself:  # `use log::log`
        return imported(encoded(f"::{chain.root}"))
    return _bound(scope, binding, depth)


def _in_scope(scope: Scope, name: str) -> str:
    """A name that a glob import brought, or a crate."""
    return imported(IN_SCOPE, _in_module(scope, name))


def _in_module(scope: Scope, name: str) -> str:
    """A name in the module around, as the file's own module would write it."""
    if scope.module:
        return f"{scope.module}.{name}"
    return name


def _unbound(scope: Scope, chain: Chain) -> str:
    if chain.kind == "type" and chain.attributes:
        return _in_scope(scope, chain.root)
    if chain.kind == "macro" and chain.root in STANDARD_MACROS:
        return UNKNOWN
    is_upper = chain.root[:1].isupper()
    if chain.kind == "token" and not is_upper:
        return UNKNOWN  # a word of the macro's own, as a field's name
    if chain.kind == "macro":
        return imported(SELF, _in_module(scope, f"{chain.root}{MACRO}"))
    source = scope.glob_scope()
    if source is None:
        if chain.root in PRELUDE:
            return UNKNOWN
        return f"{UNRESOLVED}{chain.root}"
    if source.is_module:
        return imported(SELF, _in_module(scope, chain.root))
    base = expression_of(source, source.globs[-1])
    if base:
        return with_attributes(base, chain.root)
    return UNKNOWN


def uses_of_chain(scope: Scope, chain: Chain, is_call: bool) -> list[str]:
    """The expressions that a use of a chain is counted under."""
    if chain.kind in ("name", "token") and not chain.attributes and not is_call:
        binding = scope.lookup(chain.root, False)
        if binding is not None and binding.chain is not None and binding.chain.kind != "use":
            return []  # the name of a local value: what it was made of was used where it was made
    attributes = [name.removesuffix(FIELD) for name in chain.attributes]
    return used_expressions(expression_of(scope, chain), attributes)
