"""The resolver of the expressions of `scanner.expressions`, through the outlines of all files.

Nothing is guessed: what can't be followed to a definition is reported as unresolved, by the name where it stopped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Generic, NamedTuple, TypeVar

from kl_hooks.code.modules import ModuleIndex, absolute, plain_name
from kl_hooks.code.scanner.expressions import (
    DEFINED,
    IMPORTED,
    INSTANCE,
    RESULT,
    SAME_CLASS,
    STARRED,
    SUPER,
    UNRESOLVED,
    Ref,
    decode,
)  # fmt: skip
from kl_hooks.code.scanner.parser import Outline

CLASSES: Final = frozenset({"type", "interface"})
FUNCTIONS: Final = frozenset({"function", "method"})


class Value(NamedTuple):
    """What an expression refers to, part by part."""

    sort: str
    """`module`, `package` (a namespace without a file), `symbol`, `instance` of a class, `attribute` of `self`
    without a symbol of its own, or `external`."""
    module: str
    name: str = ""
    """Dotted, within the module."""
    prefix: str = ""
    """Of a symbol's Id."""
    returned: bool = False
    """True where a function's annotation was believed on the way."""

    @property
    def id(self) -> str:
        """The Id of a symbol."""
        return f"{self.prefix}:{self.module}.{self.name}"


class Resolved(NamedTuple):
    """The symbols that an expression passes, the last one last, and the names at which it could not be followed."""

    symbols: tuple[Value, ...]
    lost: tuple[str, ...]
    beyond: bool = False
    """True where it goes on to what has no symbol, here or outside: the last symbol is passed, not meant."""


_SORTS: Final = {DEFINED: "symbol", INSTANCE: "instance", SAME_CLASS: "instance", SUPER: "above"}
EXTERNAL: Final = Value("external", "")
NOTHING: Final = Resolved((), ())
STARS: Final = "*"
"""Instead of a name of a module: its star imports."""
ALL: Final = "__all__"


T = TypeVar("T")


def linearize(own: T, orders: Sequence[Sequence[T]]) -> list[T]:
    """The class, then its bases and theirs; `orders`: those of the bases, in the order of the bases.

    Where there is no such order (Python would refuse the class) each is taken the first time it comes.
    """
    # the merge of C3, Python's method resolution order since 2.3: next is a head that is in no tail
    left = [list(order) for order in [*orders, [order[0] for order in orders if order]] if order]
    made = [own]
    while left:
        tails = {one for order in left for one in order[1:]}
        head = next((order[0] for order in left if order[0] not in tails), None)
        if head is None:
            rest = [one for order in left for one in order]
            return [*made, *dict.fromkeys(one for one in rest if one not in made)]
        made.append(head)
        left = [others for order in left if (others := [one for one in order if one != head])]
    return list(dict.fromkeys(made))


_DEEP: Final = 24
"""Steps through re-exports and types of types, after which nobody could follow."""


Consulted = str | tuple[str, str]
"""What an answer depends on: a name of a module (module, name); whether there is a module, by its name; whether there
is one below a name, by that name with a dot after it. The name `*` means the star imports of a module."""


class _Answer(Generic[T]):
    """A remembered answer, and what was consulted for it: other answers only as long as they are being worked out."""

    __slots__ = ("consulted", "done", "value")

    def __init__(self, value: T) -> None:
        self.value, self.done = value, False
        self.consulted: set[Consulted | _Answer[Any]] = set()


class Resolver:
    """Answers for one state of the repository; remembers what it was asked, and records what it consulted for that."""

    def __init__(self, known: ModuleIndex, outline: Callable[[str], Outline | None]) -> None:
        """`outline`: module → its outline, None for one that has none (it does not parse)."""
        self._known, self._outline = known, outline
        self._orders: dict[tuple[str, str], _Answer[list[tuple[str, str]]]] = {}
        self._values: dict[tuple[str, Ref], _Answer[Value | None]] = {}
        self._consulted: list[Consulted | _Answer[Any]] = []

    def consulted(self, module: str) -> set[Consulted]:
        """What the answers since the last call depend on, without the names of `module` itself."""
        found, self._consulted = _flat(self._consulted), []
        seen = {one for one in found if isinstance(one, _Answer)}
        waiting = [*seen]  # answers in a cycle
        while waiting:
            more = waiting.pop().consulted
            found |= more
            new = {one for one in more if isinstance(one, _Answer)} - seen
            seen |= new
            waiting += new
        return {one for one in found if one.__class__ is str or (one.__class__ is tuple and one[0] != module)}

    def module_of(self, path: str) -> str:
        """The module that a file is."""
        return self._known.module_of(path)

    def find(self, name: str, importer: str) -> str | None:
        """The module that an import of this name means in the file `importer`."""
        self._consulted.append(name)
        return self._known.find(name, importer)

    def resolve(self, expression: str, module: str) -> Resolved:
        """What an expression of a module leads to; nothing for what lies outside of the repository."""
        ref = decode(expression)
        names = ref.attributes
        if ref.kind == UNRESOLVED:
            return Resolved((), (ref.path, *names))
        value = self._value(Ref(ref.kind, ref.module, ref.path) if names else ref, module, 0)
        if value is EXTERNAL:
            return NOTHING
        if value is None:  # the expression of what is called is a use by itself
            return Resolved((), names if ref.kind == RESULT else (ref.root_name, *names))
        # step by step, since each symbol that is passed on the way gets a link of its own
        passed = [value] if value.sort == "symbol" else []
        for place, name in enumerate(names):
            value = self._attribute(value, name, 0)
            if value is None:
                return Resolved(tuple(passed), names[place:])
            if value is EXTERNAL:
                return Resolved(tuple(passed), (), True)
            if value.sort == "symbol":
                passed.append(value)
        return Resolved(tuple(passed), (), value.sort != "symbol")

    def member(self, module: str, name: str, attribute: str, above: bool = False) -> Value | None:
        """An attribute of a class, its own or inherited; `above`: from its bases on."""
        for where, owner in self._order(module, name)[1 if above else 0 :]:
            outline = self._outline(where)
            key = f"{owner}.{attribute}"
            self._consulted.append((where, key))
            if outline is not None and key in outline["defs"]:
                return Value("symbol", where, key, outline["defs"][key])
            if outline is not None and key in outline["types"]:
                return Value("attribute", where, key)
        return None

    def _root(self, ref: Ref, module: str, deep: int) -> Value | None:
        if deep > _DEEP:
            return None
        if ref.kind == IMPORTED:
            return self._imported(ref, module, deep)
        outline = self._outline(module)
        if ref.kind == STARRED:
            return self._starred(module, outline, ref.path, deep, {(module, ref.path)})
        if ref.kind == RESULT:
            return self._made(decode(ref.path), module, deep + 1)
        self._consulted.append((module, ref.path))
        prefix = outline["defs"].get(ref.path) if outline is not None else None
        return Value(_SORTS[ref.kind], module, ref.path, prefix) if prefix is not None else None

    def _value(self, ref: Ref, module: str, deep: int) -> Value | None:
        key = (module, ref)
        answer = self._values.get(key)
        if answer is None:
            outer, self._consulted = self._consulted, []
            answer = self._values[key] = _Answer(None)  # whoever comes back here goes in a cycle
            value = self._root(ref, module, deep)
            for name in ref.attributes:
                if value is None or value is EXTERNAL:
                    break
                value = self._attribute(value, name, deep)
            answer.value, answer.consulted, answer.done = value, _flat(self._consulted), True
            self._consulted = outer
        self._consulted.append(answer)
        return answer.value

    def _made(self, called: Ref, module: str, deep: int) -> Value | None:
        """What calling something gives: an instance of a class, or what a function is annotated to return."""
        value = self._value(called, module, deep)
        if value is None or value is EXTERNAL or value.prefix not in FUNCTIONS:
            found = self._class(value, deep)
            return Value("instance", found.module, found.name) if found is not None and found is not EXTERNAL else found
        typed = self._type(value)
        made = self._value(typed, value.module, deep + 1) if typed else None
        # `-> Self` is the class that the method is called on, not the one that defines it (PEP 673)
        if typed and typed.kind == SAME_CLASS and called.attributes:
            owner = self._value(called._replace(attributes=called.attributes[:-1]), module, deep)
            if owner is not None and (owner.sort == "instance" or owner.prefix in CLASSES):
                made = Value("instance", owner.module, owner.name)
        # EXTERNAL is compared by identity: a copy of it with `returned` would no longer be recognized
        return made if made is None or made is EXTERNAL else made._replace(returned=True)

    def _class(self, value: Value | None, deep: int) -> Value | None:
        """The class that something is, by itself or as another name of one (`X = Y`)."""
        while value is not None and value is not EXTERNAL and not (value.sort == "symbol" and value.prefix in CLASSES):
            typed = self._type(value) if value.sort in ("symbol", "attribute") else None
            if typed is None or typed.kind not in (DEFINED, IMPORTED, STARRED) or deep > _DEEP:
                return None
            deep += 1
            value = self._value(typed, value.module, deep)
        return value

    def _type(self, value: Value) -> Ref | None:
        """What a field or attribute is, or a function returns; None if nobody knows."""
        outline = self._outline(value.module)
        self._consulted.append((value.module, value.name))
        typed = outline["types"].get(value.name) if outline is not None else None
        return decode(typed) if typed else None

    def _attribute(self, value: Value, name: str, deep: int) -> Value | None:
        found = self._part(value, name, deep)
        return (
            found._replace(returned=True) if value.returned and found is not None and found is not EXTERNAL else found
        )

    def _part(self, value: Value, name: str, deep: int) -> Value | None:
        if value.sort == "module":
            return self._lookup(value.module, name, deep, set())
        if value.sort == "package":
            return self._module(f"{value.module}.{name}", "")
        if value.sort in ("instance", "above"):
            if name == "__class__":
                return value
            return self.member(value.module, value.name, name, value.sort == "above")
        if value.prefix in CLASSES:
            return self.member(value.module, value.name, name)
        # an attribute of a function is not one of what calling it returns
        typed = self._type(value) if deep <= _DEEP and value.prefix not in FUNCTIONS else None
        found = self._value(typed, value.module, deep + 1) if typed else None
        if found is None or found is EXTERNAL:
            return found
        return self._attribute(found, name, deep + 1)

    def _imported(self, ref: Ref, module: str, deep: int) -> Value | None:
        path, name = self._known.path_of(module), ref.path
        inside = path.endswith("/__init__.py") or path == "__init__.py"
        base = absolute(*ref.import_base, module, inside)
        if base is None:
            return EXTERNAL
        found = self._module(base, path)
        if found is EXTERNAL or found is None or not name:
            return found
        if found.sort == "package":
            return self._module(f"{base}.{name}", path)
        if found.module == module:  # `from . import x` in a package: what is being bound is a module below
            below = self.find(f"{base}.{name}", path)
            if below is not None:
                return Value("module", below)
        return self._lookup(found.module, name, deep + 1, set())

    def _module(self, name: str, importer: str) -> Value | None:
        found = self.find(name, importer)
        if found is not None:
            return Value("module", found)
        self._consulted.append(f"{name}.")
        return Value("package", name) if self._known.inside(name) else EXTERNAL

    def _lookup(self, module: str, name: str, deep: int, seen: set[tuple[str, str]]) -> Value | None:
        """A name of a module as other files see it: defined there, imported there, a submodule, or star-imported."""
        if (module, name) in seen or deep > _DEEP:
            return None
        seen.add((module, name))
        self._consulted.append((module, name))
        outline = self._outline(module)
        if outline is not None:
            if name in outline["defs"]:
                return Value("symbol", module, name, outline["defs"][name])
            expression = outline["names"].get(name)
            if expression is not None:
                return self._imported(decode(expression), module, deep + 1)
        below = self.find(f"{plain_name(module)}.{name}", self._known.path_of(module))
        if below is not None:
            return Value("module", below)
        return self._starred(module, outline, name, deep, seen)

    def _starred(
        self, module: str, outline: Outline | None, name: str, deep: int, seen: set[tuple[str, str]]
    ) -> Value | None:
        outside = False
        self._consulted.append((module, STARS))
        for star in outline["stars"] if outline is not None else ():
            source = self._imported(decode(star), module, deep)
            if source is None or source.sort != "module":
                outside = outside or source is EXTERNAL
                continue
            theirs = self._outline(source.module)
            self._consulted.append((source.module, ALL))
            listed = theirs["all"] if theirs is not None else None
            # as `import *` does: `__all__`, else all names without a leading underscore (language reference, 7.11)
            if name in listed if listed is not None else not name.startswith("_"):
                found = self._lookup(source.module, name, deep + 1, seen)
                if found is not None:
                    return found
        return EXTERNAL if outside else None

    def _order(self, module: str, name: str) -> list[tuple[str, str]]:
        """The classes of the repository in which an attribute of a class is looked for, in Python's order."""
        key = (module, name)
        answer = self._orders.get(key)
        if answer is None:
            outer, self._consulted = self._consulted, []
            answer = self._orders[key] = _Answer([key])  # a class can't be its own base
            answer.value = linearize(key, [self._order(*base) for base in self._bases(module, name)])
            answer.consulted, answer.done = _flat(self._consulted), True
            self._consulted = outer
        self._consulted.append(answer)
        return answer.value

    def _bases(self, module: str, name: str) -> list[tuple[str, str]]:
        outline = self._outline(module)
        self._consulted.append((module, name))
        found = []
        for base in outline["bases"].get(name, ()) if outline is not None else ():
            value = self._class(self._value(decode(base), module, 1), 1) if base else None
            if value is not None and value is not EXTERNAL and (value.module, value.name) != (module, name):
                found.append((value.module, value.name))
        return found


def _flat(consulted: Iterable[Consulted | _Answer[Any]]) -> set[Consulted | _Answer[Any]]:
    """The same with what is behind answers; an answer that is being worked out stays."""
    found = set(consulted)
    for one in [one for one in found if one.__class__ is _Answer and one.done]:
        found.discard(one)
        found |= one.consulted
    return found
