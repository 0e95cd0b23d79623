"""What a name means where it is used: the scopes of a file, and the expressions of their names.

A scope is filled while the tree is walked. Names are looked up when all of it was walked, since
functions and classes are known above their definition.
"""

from __future__ import annotations

from typing import Final

from kl_hooks.code.module_systems import WHOLE, encoded
from kl_hooks.code.scanner.expressions import (
    DEFINED,
    INSTANCE,
    RESULT,
    SUPER,
    UNKNOWN,
    UNRESOLVED,
    imported,
    used_expressions,
    with_attributes,
)
from kl_hooks.model.definitions import NamedTuple

_DEEP: Final = 12
"""Results of results that are followed."""


class Chain(NamedTuple):
    """A dotted expression as written: `cart.lines`, `new Cart().add`, `this.total`."""

    kind: str
    """`name`, `type` (the name of one), `export` (a name of either), `this`, `super`, `result` of a
    call, of `new` or of a type (what has that type), `required` (a module), or `unknown`.
    """
    root: str = ""
    """The first name; of `required` the specifier."""
    called: Chain | None = None
    """What is called, or the type; of `result`."""
    attributes: tuple[str, ...] = ()


class Binding(NamedTuple):
    """What a name means: an expression, or a chain that is looked up in its scope."""

    expression: str = UNKNOWN
    chain: Chain | None = None


UNKNOWN_BINDING: Final = Binding()


class Scope:
    """Names that are visible in a part of a file."""

    __slots__ = ("is_function", "outer", "prefix", "receiver", "types", "values")

    def __init__(
        self, outer: Scope | None, prefix: str, receiver: str, is_function: bool = False
    ) -> None:
        self.outer = outer
        self.prefix = prefix
        """Before the names of what is defined here, in Ids: empty, `Cart.` or `f.<locals>.`."""
        self.receiver = receiver
        """The expression of `this`; empty where that is unknown."""
        self.is_function = is_function
        self.values: dict[str, Binding] = {}
        self.types: dict[str, Binding] = {}

    def function(self) -> Scope:
        """The scope that `var` binds in."""
        scope = self
        while not scope.is_function and scope.outer is not None:
            scope = scope.outer
        return scope

    def lookup(self, name: str, is_type: bool) -> tuple[Binding, Scope] | None:
        """What a name means here, and the scope that binds it; None where nothing does."""
        scope: Scope | None = self
        while scope is not None:
            binding = (scope.types if is_type else scope.values).get(name)
            if binding is not None:
                return binding, scope
            scope = scope.outer
        return None


def expression_of(scope: Scope, chain: Chain | None, depth: int = 0) -> str:
    """The expression for a chain; `UNKNOWN` where nothing is known of its root."""
    if chain is None or depth > _DEEP:
        return UNKNOWN
    base = _root_expression(scope, chain, depth)
    if not chain.attributes or not base:
        return base
    return with_attributes(base, ".".join(chain.attributes))


def _root_expression(scope: Scope, chain: Chain, depth: int) -> str:
    if chain.kind == "this":
        return scope.receiver
    if chain.kind == "super":
        if scope.receiver[:1] in (INSTANCE, DEFINED):
            return SUPER + scope.receiver[1:]
        return UNKNOWN
    if chain.kind == "result":
        called = expression_of(scope, chain.called, depth + 1)
        if not called or called[0] == UNRESOLVED:
            return UNKNOWN
        return f"{RESULT}{called}>"
    if chain.kind == "required":
        return imported(encoded(chain.root), WHOLE)
    if chain.kind == "unknown":
        return UNKNOWN
    answer = scope.lookup(chain.root, chain.kind == "type")
    if answer is None and chain.kind == "export":
        answer = scope.lookup(chain.root, True)
    if answer is None:
        return f"{UNRESOLVED}{chain.root}"
    binding, where = answer
    if binding.chain is not None:
        return expression_of(where, binding.chain, depth + 1)
    return binding.expression


def uses_of_chain(scope: Scope, chain: Chain, is_call: bool) -> list[str]:
    """The expressions that a use of a chain is counted under."""
    if chain.kind == "name" and not chain.attributes and not is_call:
        answer = scope.lookup(chain.root, False)
        if answer is not None and answer[0].chain is not None:
            return []  # the name of a local value: what it was made of was used where it was made
    return used_expressions(expression_of(scope, chain), chain.attributes)
