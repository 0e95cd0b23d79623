"""From the frames of a file to what it uses, and to its outline: all that other files need to know
of it.

Both are plain JSON:
    uses     expression → [symbol, relation, line, symbol, relation, line, …]; a symbol by its
    position among the
             file's symbols, a relation by its position in RELATIONS
    outline  {"defs": name → prefix of its Id, "names": name → expression, "bases": class →
    expressions,
              "types": field or function → expression of what it is or returns, "stars":
              expressions, "all": names or null}
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Sequence
from typing import Any, Final

from kl_hooks.code.scanner.expressions import (
    DEFINED,
    IMPORTED,
    INSTANCE,
    RESULT,
    SAME_CLASS,
    STARRED,
    SUPER,
    UNKNOWN,
    UNRESOLVED,
    is_anonymous,
    with_attributes,
)
from kl_hooks.code.scanner.parser import WORD, Outline
from kl_hooks.code.scanner.visitor import Frame, Node, annotated, chain

# plus names that no statement binds: the import system sets them, and the compiler `__class__` in
# methods
_BUILTINS: Final = frozenset(dir(builtins)) | {"__file__", "__path__", "__class__", "__builtins__"}


def expression_of(frame: Frame, scope: Frame, root: str, attributes: str) -> str:
    """The expression for a chain as the frame's code sees it; `UNKNOWN` where nothing is known."""
    base = root_expression(frame, scope, root)
    if not attributes:
        if is_anonymous(base):
            return UNKNOWN
        return base
    if not base:
        return base
    return with_attributes(base, attributes)


def root_expression(frame: Frame, scope: Frame, root: str) -> str:
    """The expression for the root of a chain: a name, the result of a call, or something else
    (`UNKNOWN`).
    """
    if root.endswith("()"):
        return _result(frame, scope, root[:-2])
    if root:
        return _name_expression(frame, scope, root)
    return UNKNOWN


def _name_expression(frame: Frame, scope: Frame | None, name: str) -> str:
    """What a name refers to in a scope."""
    if (
        frame.home is not frame
        and name in frame.stores
        and name not in frame.names
        and frame.kind != "block"
    ):
        return UNKNOWN  # an argument of a lambda, or of a comprehension
    first = True
    while scope is not None:
        if name in scope.globals and scope.outer is not None:
            scope, first = _module(scope), True
            continue
        # names of a class body are not visible in the functions inside it (Python's execution
        # model)
        if name not in scope.nonlocals and (first or scope.kind != "class"):
            expression = table(scope).get(name)
            if expression is not None:
                return expression
        scope, first = scope.outer.home if scope.outer else None, False
    if name in _BUILTINS:
        return UNKNOWN
    return f"{STARRED if _module(frame).stars else UNRESOLVED}{name}"


def table(scope: Frame) -> dict[str, str]:
    """Name → what it refers to, of all names that a scope binds itself."""
    if scope.table is None:
        scope.table = bindings = dict.fromkeys(scope.stores, UNKNOWN)
        # later ones win: a store alone means nothing known, an import names its origin, a
        # definition is here
        bindings.update(scope.binds)
        bindings.update(_defined(scope))
        if scope.kind == "function":
            owner = owner_class(scope)
            # a static method is given no instance: its first argument is one like any other
            if scope.receiver and owner and not _marked(scope, "staticmethod"):
                bindings[scope.receiver] = f"{INSTANCE}{qualified(owner)}"
            _add_instances(scope, bindings)
    return scope.table


def qualified(frame: Frame) -> str:
    """The dotted name of what a frame defines, without its module's."""
    return frame.ids[0].partition(":")[2].partition(".")[2]


def owner_class(scope: Frame) -> Frame | None:
    """The class that a function is a method of."""
    outer = scope.outer.home if scope.outer else None
    if outer is not None and outer.kind == "class":
        return outer
    return None


def kids(scope: Frame) -> list[Frame]:
    """What a scope defines, in blocks too."""
    inner_scopes: list[Frame] = []
    for kid in scope.kids:
        inner_scopes += kids(kid) if kid.kind == "block" else [kid]
    return inner_scopes


def _defined(scope: Frame) -> dict[str, str]:
    defined: dict[str, str] = {}
    for kid in kids(scope):
        if kid.kind == "field" and scope.kind == "function":
            continue
        for name, identifier in zip(dict.fromkeys(kid.names), kid.ids, strict=False):
            defined[name] = DEFINED + identifier.partition(":")[2].partition(".")[2]
    return defined


def _add_instances(scope: Frame, bindings: dict[str, str]) -> None:
    """The local names that are, wherever they are stored to, instances of one class, or other names
    of one object.

    In the order in which they come, so that a later one may be made of an earlier one.
    """
    chains_by_name: dict[str, list[tuple[str, str]]] = {}
    for name, root, attributes in scope.typed:
        if not name.startswith("self."):
            chains_by_name.setdefault(name, []).append((root, attributes))
    elsewhere = _rebound(scope)
    for name, chains in chains_by_name.items():
        if name in elsewhere:
            continue
        classes = {candidate for candidate in chains if candidate[0] != "None"}
        # every store must have been understood: `for x in …` or `del x` counts among stores, but
        # has no class
        if len(classes) == 1 and len(chains) == scope.stores.count(name):
            bindings[name] = instance(scope, *classes.pop())


def _rebound(scope: Frame) -> frozenset[str]:
    """The names that functions inside store to by `nonlocal`."""
    rebound = frozenset[str]()
    for kid in scope.kids:
        rebound |= kid.nonlocals | (_rebound(kid) if kid.kids else frozenset())
    return rebound


def instance(scope: Frame, root: str, attributes: str) -> str:
    """The expression for an instance of the class that a chain names, seen from a scope."""
    if not root:
        return UNKNOWN
    if root.startswith("="):  # the same as another name
        expression = _name_expression(scope, scope, root[1:])
        if expression[:1] in (UNKNOWN, UNRESOLVED, SUPER):
            return UNKNOWN
        if not attributes:
            return expression
        return with_attributes(expression, attributes)
    if scope.table is None:
        table(scope)
    if root == "Self":
        if scope.kind == "function":
            owner = owner_class(scope)
        elif scope.kind == "class":
            owner = scope
        else:
            owner = None
        if owner is None:
            return UNKNOWN
        return f"{INSTANCE}{qualified(owner)}"
    return _made(scope, scope, root, attributes)


def _made(frame: Frame, scope: Frame, root: str, attributes: str) -> str:
    """The expression for what calling a chain gives."""
    if (
        not attributes
        and root == scope.receiver
        and scope.kind == "function"
        and _marked(scope, "classmethod")
    ):
        return root_expression(frame, scope, root)
    called = expression_of(frame, scope, root, attributes)
    if called and called[0] != UNRESOLVED:
        return f"{RESULT}{called}>"
    return UNKNOWN


def _result(frame: Frame, scope: Frame, called: str) -> str:
    root, _, attributes = called.partition(".")
    if called == "super":
        function: Frame | None = scope
        while function is not None and owner_class(function) is None:
            if function.outer:
                function = function.outer.home
            else:
                function = None
        if function is not None:
            owner = owner_class(function)
        else:
            owner = None
        if owner is None:
            return UNKNOWN
        return f"{SUPER}{qualified(owner)}"
    return _made(frame, scope, root, attributes)


def _module(scope: Frame) -> Frame:
    while scope.outer is not None:
        scope = scope.outer
    return scope


def _marked(scope: Frame, decorator: str) -> bool:
    return any(d.__class__ is ast.Name and d.id == decorator for d in scope.node.decorator_list)


_KEEPING: Final = frozenset(
    {
        "abstractmethod",
        "cache",
        "cached_property",
        "classmethod",
        "final",
        "getter",
        "lru_cache",
        "overload",
        "override",
        "property",
        "staticmethod",
        "wraps",
    }
)
"""Decorators after which a call, or for a property a look, still gives what the function returns.
"""


def _return_expression(frame: Frame) -> str:
    """The expression for what a function returns; `UNKNOWN` without an annotation, or if a
    decorator may change it.
    """
    node = frame.node
    # calling an async function gives a coroutine, whatever its annotation names
    if (
        node.returns is None
        or node.__class__ is not ast.FunctionDef
        or not all(map(_keeps, node.decorator_list))
    ):
        return UNKNOWN
    root, attributes = annotated(node.returns) or ("", "")
    # a type parameter may be any class (PEP 695)
    if any(parameter.name == root for parameter in getattr(node, "type_params", ())):
        return UNKNOWN
    if "Self" in (root, attributes):
        owner = owner_class(frame)
        if owner is None:
            return UNKNOWN
        return f"{SAME_CLASS}{qualified(owner)}"
    outer = frame.outer
    if outer is None:
        return UNKNOWN
    return instance(outer.home, root, attributes)


def _is_setter(node: Node) -> bool:
    """True for the setter or deleter of a property: its annotation is not what the property
    gives.
    """
    return any(
        d.__class__ is ast.Attribute and d.attr in ("setter", "deleter")
        for d in node.decorator_list
    )


def _keeps(decorator: Node) -> bool:
    decorator_chain = chain(decorator.func if decorator.__class__ is ast.Call else decorator)
    return (
        decorator_chain is not None
        and (decorator_chain[1].rpartition(".")[2] or decorator_chain[0]) in _KEEPING
    )


RELATIONS: Final = ("references", "calls", "inherits")
INHERITS: Final = RELATIONS.index("inherits")


def uses_of(frames: Sequence[Frame], places: dict[str, int]) -> dict[str, list[int]]:
    """What is used where. `places`: Id → place among the file's symbols."""
    uses: dict[str, list[int]] = {}
    for frame in frames:
        owner = places[(frame.ids or frame.home.ids)[0]]
        home = frame.home
        around = _around(frame)
        head = frame.head
        # an assignment with a lambda or a comprehension has names that its scope does not have: no
        # cache
        own = frame.home is frame or not frame.stores
        hidden = _hidden(uses, frame, around, owner) if head else ()
        for number, (root, attributes, line, code) in enumerate(frame.uses):
            scope = around if number < head else home
            if number < head and (root in hidden or (root, attributes) in hidden):
                continue
            if own:
                base = scope.cache.get(root)
            else:
                base = root_expression(frame, scope, root)
            if base is None:
                base = scope.cache[root] = root_expression(frame, scope, root)
            if base:
                if attributes:
                    expression = with_attributes(base, attributes)
                elif is_anonymous(base):
                    continue  # the instance itself, not one of its names
                else:
                    expression = base
                flat = uses.get(expression)
                if flat is None:
                    uses[expression] = [owner, code, line]
                else:
                    flat += (owner, code, line)
            else:
                for name in attributes.split(".") if attributes else ():
                    uses.setdefault(UNRESOLVED + name, []).extend((owner, code, line))
    return uses


def _hidden(uses: dict[str, list[int]], frame: Frame, around: Frame, owner: int) -> set[Any]:
    """Notes the bases of a class; returns the uses before a body that are no more than that: bases,
    and `[T]`.
    """
    for root, attributes, line in frame.bases:
        expression = expression_of(frame, around, root, attributes)
        for used in (
            [expression]
            if expression
            else [UNRESOLVED + name for name in attributes.split(".") if name]
        ):
            uses.setdefault(used, []).extend((owner, INHERITS, line))
    hidden: set[Any] = {(root, attributes) for root, attributes, _ in frame.bases}
    return hidden | {parameter.name for parameter in getattr(frame.node, "type_params", ())}


def _around(frame: Frame) -> Frame:
    if frame.outer is None:
        return frame
    return frame.outer.home


def outline_of(frames: Sequence[Frame], identifiers: Iterable[str]) -> Outline:
    """What other files need to know. `identifiers`: those of the file's symbols, for a module
    called `_`.
    """
    module = frames[0]
    defs: dict[str, str] = {}
    for identifier in identifiers:
        prefix, _, name = identifier.partition(":")
        if prefix != "namespace":
            defs.setdefault(name.partition(".")[2], prefix)
    bases: dict[str, list[str]] = {}
    for frame in frames:
        if frame.kind == "class" and frame.node.bases:
            scope = _around(frame)
            named = [expression_of(frame, scope, root, rest) for root, rest, _ in frame.bases]
            resolved = [base if _is_name(base) else "" for base in named]
            bases[qualified(frame)] = [*resolved, *[""] * (len(frame.node.bases) - len(resolved))]
    return {
        "defs": defs,
        "names": dict(module.binds),
        "bases": bases,
        "types": _types(frames),
        "stars": module.stars,
        "all": _exported(module.node),
    }


def _is_name(expression: str) -> bool:
    """True for what a name leads to: defined here, imported, or brought by a star import."""
    return expression[:1] in (DEFINED, IMPORTED, STARRED)


def _types(frames: Sequence[Frame]) -> dict[str, str]:
    """Field, attribute of `self`, or function → what it is, or returns; omitted where that is not
    one throughout.
    """
    types_of: dict[str, set[str]] = {}
    for frame in frames:
        if frame.home is not frame:
            continue
        if frame.kind == "function":
            owner = owner_class(frame)
        else:
            owner = None
        for name, root, attributes in frame.typed:
            if root == "None":
                continue
            if frame.kind != "function" and not name.startswith("self."):
                if frame.kind == "class":
                    key = f"{qualified(frame)}.{name}"
                else:
                    key = name
            elif owner is not None and name.startswith("self."):
                key = f"{qualified(owner)}.{name[5:]}"
            else:
                continue
            types_of.setdefault(key, set()).add(instance(frame, root, attributes))
        for name in frame.globals:
            if name in frame.stores:  # a function with `global` may rebind it to anything
                types_of.setdefault(name, set()).add("")
        if frame.kind == "function" and not (frame.node.decorator_list and _is_setter(frame.node)):
            types_of.setdefault(qualified(frame), set()).add(
                _return_expression(frame) if frame.node.returns is not None else ""
            )
    return {
        name: types.pop() for name, types in types_of.items() if len(types) == 1 and "" not in types
    }


def _exported(tree: Any) -> list[str] | None:
    """The names in `__all__`, None where it is not there or not a plain list."""
    names: list[str] | None = None
    for node in tree.body:
        if not isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign) or node.value is None:
            continue
        if isinstance(node, ast.Assign):
            targets = node.targets
        else:
            targets = [node.target]
        if not any(t.__class__ is ast.Name and t.id == "__all__" for t in targets):
            continue
        if node.value.__class__ not in (ast.List, ast.Tuple):
            return None
        exported = [
            e.value
            for e in node.value.elts
            if e.__class__ is ast.Constant and e.value.__class__ is str
        ]
        if len(exported) != len(node.value.elts):
            return None
        if node.__class__ is ast.AugAssign:
            names = [*(names or []), *exported]
        else:
            names = exported
    return names


def words_of(imports: Iterable[Sequence[Any]], uses: Iterable[str], outline: Outline) -> str:
    """Every identifier in a file's imports and expressions, once: a name that is not there is not
    used.
    """
    texts = [text for row in imports for text in row[:2]]
    texts += [*uses, *outline["names"].values(), *outline["types"].values(), *outline["stars"]]
    texts += [one for some in outline["bases"].values() for one in some]
    return " ".join(sorted(set(WORD.findall("\n".join(texts)))))
