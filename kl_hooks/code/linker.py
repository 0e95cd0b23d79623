"""The links of files: expressions resolved through the outlines of all files, and what an edit
links again.

There are hundreds of thousands of them, so they are plain rows here: see `Row` in `graph.links`.
Nothing is guessed: what can't be followed to a definition is reported as unresolved, by the name
where it stopped.

While a file is linked, the resolver records all that it consults, what it did not find included
(ADR-0026). These keys are stored with the file, as numbers of 32 bits, and a change leads from its
own keys to exactly the files that have one of them. Where two keys have one number, a file is
linked in vain, and nothing worse.

Whether any symbol at all has a name is not recorded, since every unresolved attribute depends on
it: the name index finds the files that mention a name which has got its first symbol, or lost its
last one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar
from zlib import crc32

from kl_hooks.code import file_facts, name_index
from kl_hooks.code.file_facts import Outlines, facts_under
from kl_hooks.code.languages import is_file_module, module_system
from kl_hooks.code.module_systems import (
    FIELD,
    MACRO,
    MODULE,
    PACKAGE_FILES,
    PATH_LEVEL,
    WHOLE,
    ImportTarget,
    ModuleSystem,
    decoded,
    encoded,
    extension_word,
    path_links,
)
from kl_hooks.code.modules import ModuleIndex, absolute, file_links, plain_name
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
    imported,
    last_part,
)
from kl_hooks.code.scanner.parser import Outline
from kl_hooks.code.scanner.references import INHERITS, RELATIONS
from kl_hooks.graph import links
from kl_hooks.graph.links import Interned, Row
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.symbol import FILE_SIGN, Link, last_name
from kl_hooks.store.database import Rows, chunks, placeholders

if TYPE_CHECKING:
    from kl_hooks.code.scanner.parser import Facts
    from kl_hooks.store.database import Database


CLASSES: Final = frozenset({"type", "interface"})
FUNCTIONS: Final = frozenset({"function", "method"})


class Value(NamedTuple):
    """What an expression refers to, part by part."""

    sort: str
    """`module`, `package` (a namespace without a file), `symbol`, `instance` of a class,
    `attribute` of `self` without a symbol of its own, or `external`."""
    module: str
    name: str = ""
    """Dotted, within the module."""
    prefix: str = ""
    """Of a symbol's Id."""
    returned: bool = False
    """True where a function's annotation was believed on the way."""
    sign: str = "."
    """Between the module and the name in its Id."""

    @property
    def id(self) -> str:
        """The Id of a symbol."""
        return f"{self.prefix}:{self.module}{self.sign}{self.name}"


class Resolved(NamedTuple):
    """The symbols that an expression passes, the last one last, and the names at which it could not
    be followed.
    """

    symbols: tuple[Value, ...]
    lost: tuple[str, ...]
    beyond: bool = False
    """True where it goes on to what has no symbol, here or outside: the last symbol is passed, not
    meant.
    """


_SORTS: Final = {DEFINED: "symbol", INSTANCE: "instance", SAME_CLASS: "instance", SUPER: "above"}
EXTERNAL: Final = Value("external", "")
NOTHING: Final = Resolved((), ())
_STARS: Final = "*"
"""Instead of a name of a module: its star imports."""
_SETTINGS: Final = "settings:"
"""Instead of a name of a configuration file: what it states."""
_EXTENDED: Final = "extended:"
"""Instead of a module, before the name of a type: which files give members to a type of this name.
"""
_PACKAGE: Final = "package:"
"""Before the name of a package: which configuration files name one so."""
DEFAULT: Final = "default"
"""What `export default` exports."""
ALL: Final = "__all__"


T = TypeVar("T")


def linearize(own: T, orders: Sequence[Sequence[T]]) -> list[T]:
    """The class, then its bases and theirs; `orders`: those of the bases, in the order of the
    bases.

    Where there is no such order (Python would refuse the class) each is taken the first time it
    comes.
    """
    # the merge of C3, Python's method resolution order since 2.3: next is a head that is in no tail
    left = [list(order) for order in [*orders, [order[0] for order in orders if order]] if order]
    ordered = [own]
    while left:
        tails = {base for order in left for base in order[1:]}
        head = next((order[0] for order in left if order[0] not in tails), None)
        if head is None:
            unordered = [base for order in left for base in order]
            return [*ordered, *dict.fromkeys(base for base in unordered if base not in ordered)]
        ordered.append(head)
        left = [others for order in left if (others := [base for base in order if base != head])]
    return list(dict.fromkeys(ordered))


_MAX_DEPTH: Final = 24
"""Steps through re-exports and types of types that are followed."""


_Consulted = str | tuple[str, str]
"""What an answer depends on: a name of a module (module, name); whether there is a module, by its
name; whether there is one below a name, by that name with a dot after it. The name `*` means the
star imports of a module."""


_Part = tuple[str, str]
"""(module, dotted name of a module or type inside of its file, empty for the file's own)."""
_NONE: Final = ("", "")


class _Exporter(NamedTuple):
    """The part that exports a name, itself or through others whose exports it hands on."""

    part: _Part = _NONE
    """`_NONE`: none of the repository that is known."""
    is_outside: bool = False
    """Whether exports of a file outside of the repository are handed on."""


class _Macro(NamedTuple):
    """What the name of a macro means in a package."""

    root: str
    """The module that hands on the macros of the package."""
    symbol: Value | None


class _Answer(Generic[T]):
    """A remembered answer, and what was consulted for it: other answers only as long as they are
    being worked out.
    """

    __slots__ = ("consulted", "done", "value")

    def __init__(self, value: T) -> None:
        self.value, self.done = value, False
        self.consulted: set[_Consulted | _Answer[Any]] = set()


class Resolver:
    """Answers for one state of the repository; remembers what it was asked, and records what it
    consulted for that.
    """

    def __init__(
        self,
        modules: ModuleIndex,
        outline: Callable[[str], Outline | None],
        extending: Callable[[str], Iterable[str]] = lambda name: (),
    ) -> None:
        """`outline`: module → its outline, None for one that has none (it does not parse).

        `extending`: name of a type → the modules that give members to a type of another one that
        is named so.
        """
        self._known = modules
        self._outline = outline
        self._extending = extending
        self._orders: dict[tuple[str, str], _Answer[list[tuple[str, str]]]] = {}
        self._values: dict[tuple[str, Ref], _Answer[Value | None]] = {}
        self._consulted: list[_Consulted | _Answer[Any]] = []
        self._packages: dict[str, list[str]] | None = None
        self._once: dict[tuple[str, ...], _Answer[Any]] = {}
        self._exporters: dict[tuple[_Part, str], _Answer[_Exporter]] = {}
        self._macros: dict[tuple[str, str], _Answer[_Macro]] = {}
        self._stars: dict[_Part, _Answer[list[_Exporter]]] = {}

    def consulted(self, module: str) -> set[_Consulted]:
        """What the answers since the last call depend on, without the names of `module` itself."""
        consulted, self._consulted = _flat(self._consulted), []
        answers = {key for key in consulted if isinstance(key, _Answer)}
        waiting = [*answers]  # answers in a cycle
        while waiting:
            behind_answer = waiting.pop().consulted
            consulted |= behind_answer
            new = {key for key in behind_answer if isinstance(key, _Answer)} - answers
            answers |= new
            waiting += new
        return {
            key
            for key in consulted
            if key.__class__ is str or (key.__class__ is tuple and key[0] != module)
        }

    def module_of(self, path: str) -> str:
        """The module that a file is."""
        return self._known.module_of(path)

    def find(self, name: str, importer: str) -> str | None:
        """The module that an import of this name means in the file `importer`."""
        self._consulted.append(name)
        return self._known.find(name, importer)

    def is_file(self, path: str) -> bool:
        """Whether a source or configuration file has this path; see `FileView`."""
        self._consulted.append(path)
        return self._known.has_file(path)

    def settings(self, path: str) -> Mapping[str, str]:
        """What a configuration file states; see `FileView`."""
        self._consulted += [path, (path, _SETTINGS)]
        if self._known.has_file(path):
            outline = self._outline(path)
        else:
            outline = None
        return (outline.get("settings") if outline is not None else None) or {}

    def packages(self, name: str) -> Sequence[str]:
        """The configuration files that name a package so; see `FileView`."""
        self._consulted.append(f"{_PACKAGE}{name}")
        if self._packages is None:
            self._packages = {}
            for path in self._known.files_called(PACKAGE_FILES):
                settings = (self._outline(path) or {}).get("settings") or {}
                self._packages.setdefault(settings.get("name", ""), []).append(path)
        return self._packages.get(name, ())

    def once(self, question: tuple[str, ...], work_out: Callable[[], T]) -> T:
        """The answer to a question, worked out the first time; see `FileView`."""
        answer = self._once.get(question)
        if answer is None:
            outer, self._consulted = self._consulted, []
            answer = _Answer(work_out())
            answer.consulted, answer.done = set(self._consulted), True
            self._once[question], self._consulted = answer, outer
        self._consulted.append(answer)
        value: T = answer.value
        return value

    def resolve(self, expression: str, module: str) -> Resolved:
        """What an expression of a module leads to; nothing for what lies outside of the
        repository.
        """
        ref = decode(expression)
        names = ref.attributes
        if ref.kind == UNRESOLVED:
            return Resolved((), tuple(map(_plain, (ref.path, *names))))
        value = self._value(Ref(ref.kind, ref.module, ref.path) if names else ref, module, 0)
        if value is EXTERNAL:
            return NOTHING
        if value is None:  # the expression of what is called is a use by itself
            lost = names if ref.kind == RESULT else (ref.root_name, *names)
            return Resolved((), tuple(map(_plain, lost)))
        # step by step, since each symbol that is passed on the way gets a link of its own
        passed = [value] if value.sort == "symbol" else []
        if names and ref.path:
            passed += self._file_module(value)
        for place in range(len(names)):
            value = self._step(value, names, place, 0)
            if value is None:
                return Resolved(tuple(passed), tuple(map(_plain, names[place:])))
            if value is EXTERNAL:
                return Resolved(tuple(passed), (), True)
            if value.sort == "symbol":
                passed.append(value)
            elif place + 1 < len(names):
                passed += self._file_module(value)
        return Resolved(tuple(passed), (), value.sort != "symbol")

    def _file_module(self, value: Value) -> list[Value]:
        """The module that a file is where paths name modules, as what a path leads through."""
        if value.sort == "module" and self._sign(value.module) == FILE_SIGN:
            return [Value("symbol", value.module, "", "namespace", sign="")]
        return []

    def value_of(self, expression: str, module: str) -> Value | None:
        """What a whole expression of a module is: `EXTERNAL` for what lies outside of the
        repository, None where it can't be followed.
        """
        ref = decode(expression)
        if ref.kind == UNRESOLVED:
            return None
        return self._value(ref, module, 0)

    def class_of(self, value: Value | None) -> Value | None:
        """The class that a value is or is an instance of, or `super()` of: through fields and
        attributes that are always of one class. `EXTERNAL` and None as `value_of`.
        """
        for _ in range(_MAX_DEPTH):
            if value is None or value is EXTERNAL or value.sort in ("instance", "above"):
                return value
            if value.prefix in CLASSES:
                return value
            if value.sort not in ("symbol", "attribute") or value.prefix in FUNCTIONS:
                return None
            typed = self._type(value)
            if typed:
                value = self._value(typed, value.module, 0)
            else:
                value = None
        return None

    def has_own_bases(self, value: Value) -> bool:
        """Whether all bases of a class, and theirs, are classes of the repository."""
        return all(
            len(self._bases(module, name)) == self._number_of_bases(module, name)
            for module, name in self._order(value.module, value.name)
        )

    def _number_of_bases(self, module: str, name: str) -> int:
        outline = self._outline(module)
        if outline is None:
            return 0
        return len(outline["bases"].get(name, ()))

    def part_of(self, value: Value, name: str) -> Value | None:
        """An attribute of what an expression is, as `value_of`."""
        if value is EXTERNAL:
            return EXTERNAL
        return self._attribute(value, name, 0)

    def member(self, module: str, name: str, attribute: str, above: bool = False) -> Value | None:
        """An attribute of a class, its own or inherited; `above`: from its bases on."""
        for where, owner in self._order(module, name)[1 if above else 0 :]:
            outline = self._outline(where)
            key = f"{owner}.{attribute}"
            self._consulted.append((where, key))
            if attribute.endswith(FIELD):
                member = self._field(where, key, outline)
                if member is not None:
                    return member
            elif outline is not None and key in outline["defs"]:
                return self._symbol(where, key, outline["defs"][key])
            elif outline is not None and key in outline["types"]:
                return Value("attribute", where, key)
        return None

    def _field(self, module: str, key: str, outline: Outline | None) -> Value | None:
        """A field of a type, whatever else has its name."""
        name = _plain(key)
        self._consulted.append((module, name))
        if outline is None:
            return None
        if outline["defs"].get(key, outline["defs"].get(name)) == "field":
            return self._symbol(module, name, "field")
        return None

    def _root(self, ref: Ref, module: str, deep: int) -> Value | None:
        if deep > _MAX_DEPTH:
            return None
        if ref.kind == IMPORTED:
            return self._imported(ref, module, deep)
        outline = self._outline(module)
        if ref.kind == STARRED:
            return self._starred(module, outline, ref.path, deep, {(module, ref.path)})
        if ref.kind == RESULT:
            return self._made(decode(ref.path), module, deep + 1)
        self._consulted.append((module, ref.path))
        if outline is not None:
            prefix = outline["defs"].get(ref.path)
        else:
            prefix = None
        if prefix is None:
            return None
        return self._symbol(module, ref.path, prefix)._replace(sort=_SORTS[ref.kind])

    def _symbol(self, module: str, name: str, prefix: str) -> Value:
        return Value("symbol", module, name, prefix, False, self._sign(module))

    def _sign(self, module: str) -> str:
        # a dotted name may end as such a path does (`static.js`, of static/js.py)
        if self._known.path_of(module) == module and is_file_module(module):
            return FILE_SIGN
        return "."

    def constructor(self, value: Value) -> Value | None:
        """The method that is called where a class is."""
        if value.sign == FILE_SIGN:
            system = module_system(value.module)
            if system is not None:
                name = system.constructor
            else:
                name = ""
        else:
            name = "__init__"
        if name:
            return self.member(value.module, value.name, name)
        return None

    def _value(self, ref: Ref, module: str, deep: int) -> Value | None:
        key = (module, ref)
        answer = self._values.get(key)
        if answer is None:
            outer, self._consulted = self._consulted, []
            # a question that comes back here goes in a cycle
            answer = self._values[key] = _Answer(None)
            value = self._root(ref, module, deep)
            for place in range(len(ref.attributes)):
                if value is None or value is EXTERNAL:
                    break
                value = self._step(value, ref.attributes, place, deep)
            answer.value, answer.consulted, answer.done = value, _flat(self._consulted), True
            self._consulted = outer
        self._consulted.append(answer)
        return answer.value

    def _made(self, called: Ref, module: str, deep: int) -> Value | None:
        """What calling something gives: an instance of a class, or what a function is annotated to
        return.
        """
        value = self._value(called, module, deep)
        if value is None or value is EXTERNAL or value.prefix not in FUNCTIONS:
            owner_class = self._class(value, deep)
            if owner_class is not None and owner_class is not EXTERNAL:
                return Value("instance", owner_class.module, owner_class.name)
            return owner_class
        typed = self._type(value)
        if typed:
            typed_value = self._value(typed, value.module, deep + 1)
        else:
            typed_value = None
        # `-> Self` is the class that the method is called on, not the one that defines it (PEP 673)
        if typed and typed.kind == SAME_CLASS and called.attributes:
            owner = self._value(called._replace(attributes=called.attributes[:-1]), module, deep)
            if owner is not None and (owner.sort == "instance" or owner.prefix in CLASSES):
                typed_value = Value("instance", owner.module, owner.name)
        # EXTERNAL is compared by identity: a copy of it with `returned` would no longer be
        # recognized
        if typed_value is None or typed_value is EXTERNAL:
            return typed_value
        return typed_value._replace(returned=True)

    def _class(self, value: Value | None, depth: int) -> Value | None:
        """The class that something is, by itself or as another name of one (`X = Y`)."""
        while (
            value is not None
            and value is not EXTERNAL
            and not (value.sort == "symbol" and value.prefix in CLASSES)
        ):
            if value.sort in ("symbol", "attribute"):
                type_ref = self._type(value)
            else:
                type_ref = None
            if (
                type_ref is None
                or type_ref.kind not in (DEFINED, IMPORTED, STARRED)
                or depth > _MAX_DEPTH
            ):
                return None
            depth += 1
            value = self._value(type_ref, value.module, depth)
        return value

    def _type(self, value: Value) -> Ref | None:
        """What a field or attribute is, or a function returns; None if that is not known."""
        outline = self._outline(value.module)
        self._consulted.append((value.module, value.name))
        if outline is not None:
            typed = outline["types"].get(value.name)
        else:
            typed = None
        if value.prefix == "field" and value.sign == FILE_SIGN:
            field_name = f"{value.name}{FIELD}"
            self._consulted.append((value.module, field_name))
            if outline is not None:
                typed = outline["types"].get(field_name, typed)
        if not typed:
            return None
        return decode(typed)

    def _attribute(self, value: Value, name: str, deep: int) -> Value | None:
        part = self._part(value, name, deep)
        if value.returned and part is not None and part is not EXTERNAL:
            return part._replace(returned=True)
        return part

    def _step(self, value: Value, names: Sequence[str], place: int, deep: int) -> Value | None:
        """One of the names after a value. Where a name comes after it, of a module and a value of
        one name the module is meant, of a field and a method the field.
        """
        if place + 1 < len(names) and self._sign(value.module) == FILE_SIGN:
            if value.sort in ("instance", "above") or value.prefix == "field":
                part = self._attribute(value, f"{_plain(names[place])}{FIELD}", deep)
                if part is not None:
                    return part
            if value.prefix == "namespace":
                within = f"{value.name}."
            else:
                within = ""
            if value.sort == "module" or within:
                module = self._module_in(value.module, f"{within}{names[place]}", deep)
                if module is not None:
                    return module
        return self._attribute(value, names[place], deep)

    def _module_in(self, module: str, name: str, deep: int) -> Value | None:
        """The module that a file declares under a name, and keeps in a file of its own."""
        self._consulted.append((module, f"{name}{MODULE}"))
        outline = self._outline(module)
        if outline is not None:
            expression = outline["names"].get(f"{name}{MODULE}")
        else:
            expression = None
        if not expression or deep > _MAX_DEPTH:
            return None
        return self._value(decode(expression), module, deep + 1)

    def _part(self, value: Value, name: str, deep: int) -> Value | None:
        if value.sort == "module":
            if self._sign(value.module) == FILE_SIGN:
                return self._exported(value.module, name, deep)
            return self._lookup(value.module, name, deep, set())
        if value.sort == "package":
            return self._module(f"{value.module}.{name}", "")
        if value.sort in ("instance", "above"):
            if name == "__class__":
                return value
            return self.member(value.module, value.name, name, value.sort == "above")
        if value.prefix == "namespace":
            exported = self._exported(value.module, f"{value.name}.{name}", deep)
            return exported or self.member(value.module, value.name, name)
        if value.prefix in CLASSES:
            return self.member(value.module, value.name, name)
        # an attribute of a function is not one of what calling it returns
        if deep <= _MAX_DEPTH and value.prefix not in FUNCTIONS:
            typed = self._type(value)
        else:
            typed = None
        if typed:
            typed_value = self._value(typed, value.module, deep + 1)
        else:
            typed_value = None
        if typed_value is None or typed_value is EXTERNAL:
            return typed_value
        return self._attribute(typed_value, name, deep + 1)

    def _module_of_target(self, target: ImportTarget | None, deep: int) -> Value | None:
        if target is None:
            return EXTERNAL
        module = self._known.module_of(target.path)
        if target.within:
            return self._exported(module, target.within, deep + 1)
        return Value("module", module)

    def _imported_file(self, system: ModuleSystem, ref: Ref, path: str, deep: int) -> Value | None:
        """What is imported in a language that names modules by their paths."""
        root, names = system.split(decoded(ref.module))
        source = self._module_of_target(system.find(root, path, self), deep)
        if source is not None and ref.path == WHOLE and not names:
            if source is EXTERNAL:
                return EXTERNAL
            return self._exported(source.module, WHOLE, deep + 1) or source
        names = (*names, ref.path) if ref.path else names
        for place in range(len(names)):
            if source is None or source is EXTERNAL:
                break
            if place == 0:
                source = self._first(system, root, names, path, source, deep + 1)
            else:
                source = self._step(source, names, place, deep + 1)
        return source

    def _first(
        self,
        system: ModuleSystem,
        root: str,
        names: Sequence[str],
        path: str,
        source: Value,
        deep: int,
    ) -> Value | None:
        """The first name after the root of a specifier, or what it means otherwise."""
        value = self._step(source, names, 0, deep)
        is_path = len(names) > 1 and value is not None and value.prefix in FUNCTIONS
        if value is None or value is EXTERNAL or is_path:
            otherwise = system.otherwise(root, names[0])
            if otherwise:
                return self._module_of_target(system.find(otherwise, path, self), deep)
        return value

    def _exported(self, module: str, name: str, deep: int) -> Value | None:
        """A name of such a module as other files see it: exported under that name, or by a file
        whose exports it hands on. It is dotted for what a module inside of the file exports.
        """
        if deep > _MAX_DEPTH:
            return None
        within, _, last = name.rpartition(".")
        if last.endswith(MACRO):
            last = _plain(last)
            macro = self._macro(module, last)
            if macro is not None:
                self._consulted.append(macro)
                if macro.value.symbol is not None:
                    return macro.value.symbol
        answer = self._exporter((module, within), last)
        self._consulted.append(answer)
        exporter, within = answer.value.part
        if exporter:
            outline = self._outline(exporter)
        else:
            outline = None
        if outline is None:
            if answer.value.is_outside:
                return EXTERNAL
            return None
        key = _name_within(within, last)
        expression = outline["names"].get(key)
        if not expression and key not in outline["defs"]:
            expression = outline["names"].get(f"{key}{MODULE}")
        if expression:
            return self._value(decode(expression), exporter, deep + 1)
        if key in outline["defs"]:
            return self._symbol(exporter, key, outline["defs"][key])
        macro = self._macro_at_root(exporter, within, last)
        if macro is not None:
            return macro.value.symbol
        return None

    def _exporter(self, part: _Part, name: str) -> _Answer[_Exporter]:
        """Which part exports a name that `part` may hand on, by any number of `export * from`.

        Each part is looked at once for a name, whoever asks: parts that hand on each other's
        exports, a component of the graph of them, export the same.
        """
        from kl_hooks.graph.algorithms import components  # in Python no file hands on exports

        edges: dict[_Part, list[_Part]] = {}
        waiting = [part]
        while waiting:
            source = waiting.pop()
            if source not in edges and (source, name) not in self._exporters:
                edges[source] = self._handing_on(source, name)
                waiting += edges[source]
        unknown = {
            exporting_part: [source for source in sources if source in edges]
            for exporting_part, sources in edges.items()
        }
        for members in components([*unknown], unknown):
            answer = self._common_exporter(frozenset(members), name, edges)
            self._exporters.update(((member, name), answer) for member in members)
        return self._exporters[part, name]

    def _handing_on(self, part: _Part, name: str) -> list[_Part]:
        """The parts whose exports a part hands on where that decides what `name` is."""
        # `export *` hands on every name but these
        if name in (DEFAULT, WHOLE) or self._exports(part, name):
            return []
        return [source.part for source in self._star_sources(part).value if source.part != _NONE]

    def _exports(self, part: _Part, name: str) -> bool:
        module, within = part
        outline = self._outline(module)
        key = _name_within(within, name)
        if outline is None:
            return False
        names = outline["names"]
        if names.get(key) or key in outline["defs"] or names.get(f"{key}{MODULE}"):
            return True
        macro = self._macro_at_root(module, within, name)
        return macro is not None and macro.value.symbol is not None

    def _macro_at_root(self, module: str, within: str, name: str) -> _Answer[_Macro] | None:
        """The macro that a part hands on as the root of a package; None where it is no root."""
        if within:
            return None
        answer = self._macro(module, name)
        if answer is not None and answer.value.root == module:
            return answer
        return None

    def _macro(self, module: str, name: str) -> _Answer[_Macro] | None:
        """The macro that a name means in the package of a module; None where the language has none.

        Which of several is visible where depends on the order of the source, so that it must be
        the only one.
        """
        system = module_system(module)
        if system is None or not system.has_extensions:
            return None
        answer = self._macros.get((module, name))
        if answer is None:
            outer, self._consulted = self._consulted, [(_EXTENDED, f"{name}{MACRO}")]
            root = system.root_of(module, self)
            values = [
                self._symbol(defining, outline["macros"][name], "function")
                for defining in self._extending(f"{name}{MACRO}")
                if (outline := self._outline(defining)) and name in outline.get("macros", {})
                if system.root_of(defining, self) == root
            ]
            answer = _Answer(_Macro(root, values[0] if len(values) == 1 else None))
            answer.consulted, answer.done = _flat(self._consulted), True
            self._macros[module, name] = answer
            self._consulted = outer
        return answer

    def _common_exporter(
        self, members: Collection[_Part], name: str, edges: Mapping[_Part, Sequence[_Part]]
    ) -> _Answer[_Exporter]:
        """What parts export by a name that hand on each other's exports; what other parts export
        that they hand on is known.
        """
        # sorted: which of them is asked first decides nothing
        parts = sorted(members)
        consulted: set[_Consulted | _Answer[Any]] = set()
        for module, within in parts:
            key = _name_within(within, name)
            consulted |= {(module, key), (module, f"{key}{MODULE}")}
            if not within and (macro := self._macro(module, name)) is not None:
                consulted.add(macro)
        exporter = _Exporter()
        if self._exports(parts[0], name):  # then it hands on nothing, and is alone
            exporter = _Exporter(parts[0])
        elif name not in (DEFAULT, WHOLE):
            stars = [self._star_sources(part) for part in parts]
            sources = [source for part in parts for source in edges[part] if source not in members]
            answers = [self._exporters[source, name] for source in sources]
            consulted.update(stars, answers)
            exporting_parts = (
                answer.value.part for answer in answers if answer.value.part != _NONE
            )
            is_outside = any(answer.value.is_outside for answer in answers) or any(
                source.is_outside for star in stars for source in star.value
            )
            exporter = _Exporter(next(exporting_parts, _NONE), is_outside)
        answer = _Answer(exporter)
        answer.consulted, answer.done = consulted, True
        return answer

    def _star_sources(self, part: _Part) -> _Answer[list[_Exporter]]:
        """The parts, and whether any outside, that a part hands on the exports of."""
        answer = self._stars.get(part)
        if answer is None:
            module, within = part
            outer, self._consulted = self._consulted, [(module, _name_within(within, _STARS))]
            answer = self._stars[part] = _Answer([])  # what comes back here goes in a cycle
            outline: Outline = self._outline(module) or {}
            if within:
                stars = outline.get("globs", {}).get(within, [])
            else:
                stars = outline.get("stars", [])
            for star in stars:
                source = self._star_source(decode(star), module)
                if source is not None:
                    answer.value.append(source)
            answer.consulted, answer.done = set(self._consulted), True
            self._consulted = outer
        return answer

    def _star_source(self, star: Ref, module: str) -> _Exporter | None:
        """What hands on all its exports: a file, a module inside of one, an enum's variants."""
        if star.kind == IMPORTED and not star.attributes:
            source = self._imported(star, module, 0)
        else:
            source = self._value(star, module, 0)
        if source is EXTERNAL:
            return _Exporter(_NONE, True)
        if source is not None and source.sort == "module":
            return _Exporter((source.module, ""))
        if source is not None and (source.prefix == "namespace" or source.prefix in CLASSES):
            return _Exporter((source.module, source.name))
        return None

    def _imported(self, ref: Ref, module: str, deep: int) -> Value | None:
        path = self._known.path_of(module)
        name = ref.path
        system = module_system(path)
        if system is not None:
            return self._imported_file(system, ref, path, deep)
        inside = path.endswith("/__init__.py") or path == "__init__.py"
        base = absolute(*ref.import_base, module, inside)
        if base is None:
            return EXTERNAL
        source = self._module(base, path)
        if source is EXTERNAL or source is None or not name:
            return source
        if source.sort == "package":
            return self._module(f"{base}.{name}", path)
        if (
            source.module == module
        ):  # `from . import x` in a package: what is being bound is a module below
            below = self.find(f"{base}.{name}", path)
            if below is not None:
                return Value("module", below)
        return self._lookup(source.module, name, deep + 1, set())

    def _module(self, name: str, importer: str) -> Value | None:
        full_name = self.find(name, importer)
        if full_name is not None:
            return Value("module", full_name)
        self._consulted.append(f"{name}.")
        if not self._known.inside(name):
            return EXTERNAL
        return Value("package", name)

    def _lookup(
        self, module: str, name: str, deep: int, visited: set[tuple[str, str]]
    ) -> Value | None:
        """A name of a module as other files see it: defined there, imported there, a submodule, or
        star-imported.
        """
        if (module, name) in visited or deep > _MAX_DEPTH:
            return None
        visited.add((module, name))
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
        return self._starred(module, outline, name, deep, visited)

    def _starred(
        self,
        module: str,
        outline: Outline | None,
        name: str,
        deep: int,
        visited: set[tuple[str, str]],
    ) -> Value | None:
        outside = False
        self._consulted.append((module, _STARS))
        for star in outline["stars"] if outline is not None else ():
            source = self._imported(decode(star), module, deep)
            if source is None or source.sort != "module":
                outside = outside or source is EXTERNAL
                continue
            theirs = self._outline(source.module)
            self._consulted.append((source.module, ALL))
            if theirs is not None:
                listed = theirs["all"]
            else:
                listed = None
            # as `import *` does: `__all__`, else all names without a leading underscore (language
            # reference, 7.11)
            if name in listed if listed is not None else not name.startswith("_"):
                value = self._lookup(source.module, name, deep + 1, visited)
                if value is not None:
                    return value
        if outside:
            return EXTERNAL
        return None

    def _order(self, module: str, name: str) -> list[tuple[str, str]]:
        """The classes of the repository in which an attribute of a class is looked for, in Python's
        order.
        """
        key = (module, name)
        answer = self._orders.get(key)
        if answer is None:
            outer, self._consulted = self._consulted, []
            answer = self._orders[key] = _Answer([key])  # a class can't be its own base
            answer.value = linearize(
                key, [self._order(*base) for base in self._bases(module, name)]
            )
            answer.consulted, answer.done = _flat(self._consulted), True
            self._consulted = outer
        self._consulted.append(answer)
        return answer.value

    def _bases(self, module: str, name: str) -> list[tuple[str, str]]:
        outline = self._outline(module)
        self._consulted.append((module, name))
        if self._sign(module) == FILE_SIGN:
            bases = self._extensions(module, name)
        else:
            bases = []
        for base in outline["bases"].get(name, ()) if outline is not None else ():
            if base:
                value = self._class(self._value(decode(base), module, 1), 1)
            else:
                value = None
            if (
                value is not None
                and value is not EXTERNAL
                and (value.module, value.name) != (module, name)
            ):
                bases.append((value.module, value.name))
        return bases

    def _extensions(self, module: str, name: str) -> list[tuple[str, str]]:
        """The same type in the modules that give it members."""
        system = module_system(module)
        if system is None or not system.has_extensions:
            return []
        last = name.rpartition(".")[2]
        self._consulted.append((_EXTENDED, last))
        extensions = []
        for extending_module in self._extending(last):
            outline = self._outline(extending_module)
            for owner, expression in ((outline or {}).get("extended") or {}).items():
                if last_part(expression) != last or (extending_module, owner) == (module, name):
                    continue
                value = self._value(decode(expression), extending_module, 1)
                if value is not None and (value.module, value.name) == (module, name):
                    extensions.append((extending_module, owner))
        return extensions


def _plain(name: str) -> str:
    """A name without the sign of a field or a macro."""
    return name.removesuffix(FIELD).removesuffix(MACRO)


def _name_within(within: str, name: str) -> str:
    if within:
        return f"{within}.{name}"
    return name


def _flat(consulted: Iterable[_Consulted | _Answer[Any]]) -> set[_Consulted | _Answer[Any]]:
    """The same with what is behind answers; an answer that is being worked out stays."""
    flat = set(consulted)
    for answer in [answer for answer in flat if answer.__class__ is _Answer and answer.done]:
        flat.discard(answer)
        flat |= answer.consulted
    return flat


Outlined = Mapping[str, tuple[str, Outline]]
"""Path → module and outline of some files, which is empty where a file can't be read."""
_MANY: Final = 20
"""Changed keys from which on it takes longer to search for each than to compare all."""


def replace_consulted(db: Rows, batch: Mapping[str, bytes]) -> None:
    """Store path → keys of files, as `Keys` packs them, none for a removed file. Inside one
    transaction.
    """
    db.many("DELETE FROM consulted WHERE path = ?", [(path,) for path in sorted(batch)])
    db.many(
        "INSERT INTO consulted (path, keys) VALUES (?, ?)",
        sorted((p, keys) for p, keys in batch.items() if keys),
    )


class Keys(dict[_Consulted, bytes]):
    """Key → its number as four bytes; each is worked out once."""

    def __missing__(self, key: _Consulted) -> bytes:
        # not hash(): that of a text differs from process to process (PYTHONHASHSEED), and this is
        # stored
        number = crc32((key if isinstance(key, str) else ":".join(key)).encode()).to_bytes(
            4, "little"
        )
        self[key] = number
        return number

    def pack(self, keys: Iterable[_Consulted]) -> bytes:
        """The numbers of these keys as the database holds them."""
        return b"".join(sorted(map(self.__getitem__, keys)))


def _files_to_relink(db: Rows, before: Outlined, now: Outlined) -> list[str]:
    """The unchanged files whose links may be others, now that some files changed, were added or
    removed.

    The tables `files`, `symbols` and `said` are already up to date, and `consulted` still is as it
    was.
    """
    changed = before.keys() | now.keys()
    paths: set[str] = set()
    numbers = set(map(Keys().__getitem__, _changed_keys(db, before, now, changed)))
    if numbers:
        paths = {
            path
            for path, packed in db.rows("SELECT path, keys FROM consulted")
            if _any(numbers, packed)
        }
    names = set(_names_defined_or_not(db, before, now, changed))
    if names:
        mentions = name_index.files_mentioning(db, names)
        paths |= {path for path, words in mentions.items() if not names.isdisjoint(words.split())}
    return sorted(paths - changed)


def _any(numbers: Collection[bytes], packed: bytes) -> bool:
    if len(numbers) < _MANY:
        return any(number in packed for number in numbers)
    return any(packed[place : place + 4] in numbers for place in range(0, len(packed), 4))


def _changed_keys(
    db: Rows, before: Outlined, now: Outlined, changed: Collection[str]
) -> set[_Consulted]:
    keys: set[_Consulted] = {
        (module, name) for _, module, name, *_ in set(_entries(before)) ^ set(_entries(now))
    }
    files = {(path, module) for outlined in (before, now) for path, (module, _) in outlined.items()}
    for path, module in files:
        if before.get(path, ("",))[0] != now.get(path, ("",))[0]:
            package = plain_name(module)
            keys.add(package)
            while package := package.rpartition(".")[0]:
                if not _is_still_package(db, package, changed):
                    keys.add(f"{package}.")
    for outlined in (before, now):
        for _, outline in outlined.values():
            if name := (outline.get("settings") or {}).get("name"):
                keys.add(f"{_PACKAGE}{name}")
    return keys


def _entries(files: Outlined) -> Iterator[tuple[str, str, str, str, str]]:
    """All that outlines hold, one by one. Paths are among it: what an import means depends on where
    the file is.
    """
    for path, (module, outline) in files.items():
        parts: Mapping[str, Mapping[str, object] | None]
        parts = {part: outline.get(part) for part in ("defs", "names", "types", "bases")}  # type: ignore[misc]
        entries = [
            (part, key, value)
            for part, some in parts.items()
            for key, value in (some or {}).items()
        ]
        globs = outline.get("globs") or {}
        entries += [("globs", f"{within}.{_STARS}", texts) for within, texts in globs.items()]
        entries += [("stars", _STARS, outline.get("stars")), ("all", ALL, outline.get("all"))]
        if settings := outline.get("settings"):
            entries.append(("settings", _SETTINGS, settings))
        yield from ((path, module, key, part, str(value)) for part, key, value in entries)
        for owner, expression in (outline.get("extended") or {}).items():
            yield path, _EXTENDED, last_part(expression), owner, expression
        for name, dotted in (outline.get("macros") or {}).items():
            yield path, _EXTENDED, f"{name}{MACRO}", dotted, ""


def _is_still_package(db: Rows, package: str, changed: Collection[str]) -> bool:
    """True if there were modules below a name before, and still are (PEP 420): one of them is
    unchanged.
    """
    # one more than can have changed: of so many, one at least is unchanged, and a large package
    # need not be read
    sql = "SELECT path FROM files WHERE module >= ? AND module < ? LIMIT ?"
    # `/` comes right after `.`
    rows = db.rows(sql, (f"{package}.", f"{package}/", len(changed) + 1))
    return any(path not in changed for (path,) in rows)


def _names_defined_or_not(
    db: Rows, before: Outlined, now: Outlined, changed: Collection[str]
) -> Iterator[str]:
    """The names that got their first symbol, or lost their last one."""
    # the outline of a file that can't be read, so that its module has no symbol, is as empty as
    # that of an empty file
    empty = {
        module
        for outlined in (before, now)
        for module, outline in outlined.values()
        if not any(outline.values())
    }
    modules = {module for module, _ in before.values()} ^ {
        module for module, _ in now.values()
    } | empty
    names = {last_name(f"namespace:{module}") for module in modules}
    sql = "SELECT f.path FROM symbol_rows r JOIN files f ON f.number = r.file WHERE r.name = ?"
    for name in names | _defined(before) ^ _defined(now):
        if all(path in changed for (path,) in db.rows(sql, (name,))):
            yield name


def _defined(files: Outlined) -> set[str]:
    return {
        name.rpartition(".")[2]
        for _, outline in files.values()
        for name in outline.get("defs") or ()
    }


METHODS: Final = {
    DEFINED: ("same scope", 100),
    IMPORTED: ("import", 100),
    INSTANCE: ("self", 90),
    SUPER: ("super", 90),
    RESULT: ("instance", 80),
    STARRED: ("star import", 90),
}
"""Kind of an expression → how a link through it was found, and how sure that is (percent). An
instance may be one of a subclass that overrides the attribute; so may `self`."""
_RETURNED: Final = ("return annotation", 70)
"""The same of a part of what a function returns by its annotation."""
_NAME_ONLY: Final = "name only"
"""How a link to `name:x` was found: something named x is used, and nobody knows which."""

CONSTRUCTOR: Final = "constructor"
"""How a link to `__init__` was found: the class is called."""

Target = tuple[str, bool, str, int]
"""(target, whether it is what an expression means, method, confidence)."""


def _defined_links(
    path: str, rows: Sequence[Sequence[Any]], owner_ids: Mapping[str, str]
) -> Iterator[Row]:
    """file → namespace → class → method …; `rows`: the file's symbols, Ids with their module, the
    module first.

    `owner_ids`: dotted name → ID of the types that other files define and this one gives members.
    """
    # reversed: of two symbols with one dotted name (a class and a function) the first one stays
    by_name = {row[0].partition(":")[2]: row[0] for row in reversed(rows)}
    module = rows[0][0].partition(":")[2] if rows else ""
    for owner, identifier in owner_ids.items():
        by_name.setdefault(f"{module}{FILE_SIGN}{owner}", identifier)
    for identifier, line, *_ in rows:
        prefix, _, name = identifier.partition(":")
        if prefix == "namespace":
            yield f"file:{path}", "defines", identifier, line, "same scope", 100
        else:
            yield _owner(name, module, by_name), "defines", identifier, line, "same scope", 100


def _depending_links(path: str, imported: Iterable[Link], modules: ModuleIndex) -> Iterator[Row]:
    """file → each file of the repository that it imports, at the first line that does: records and
    pages name files, and the graph goes on from there.
    """
    first: dict[str, Link] = {}
    for link in imported:
        target = modules.path_of(link.target.partition(":")[2])
        if target and target != path:
            first.setdefault(target, link)
    for target, link in first.items():
        yield (
            f"file:{path}",
            "depends_on",
            f"file:{target}",
            link.line,
            link.method,
            link.confidence,
        )


_BY_PYTEST, _BY_ANOTHER_RUNNER = "pytest", "test"
RUNNERS: Final = (_BY_PYTEST, _BY_ANOTHER_RUNNER)
"""The methods of the links from tests to their functions."""


def test_links(tests: Sequence[Sequence[Any]]) -> Iterator[Row]:
    """test → the function that pytest, or another runner, calls for it; `tests`: see
    `code.file_facts.test_rows`.
    """
    for row in tests:
        method = _BY_PYTEST if ".py::" in row[0] else _BY_ANOTHER_RUNNER
        yield row[0], "calls", row[-1], row[1], method, 100


def from_import_links(
    module: str, rows: Iterable[Sequence[Any]], resolver: Resolver
) -> Iterator[Row]:
    """module → what it imports by name (`from m import f`): who renames that must touch this line,
    used or not.

    `rows`: the file's imports (see `code.scanner.imports`). What is a module has its link already.
    """
    yielded: set[tuple[str, int, str]] = set()
    for wanted, name, level, line, manner, _ in rows:
        if not name or name == "*":
            continue
        if level == PATH_LEVEL:
            source = encoded(wanted)
        else:
            source = "." * level + wanted
        resolved = resolver.resolve(imported(source, name), module)
        if (
            resolved.symbols
            and not resolved.lost
            and not resolved.beyond
            and resolved.symbols[-1].module != module
        ):
            target = resolved.symbols[-1].id
            if (target, line, manner) not in yielded:
                yielded.add((target, line, manner))
                yield f"namespace:{module}", "imports", target, line, manner, 100


def _owner(name: str, module: str, by_name: Mapping[str, str]) -> str:
    outer = name.rpartition(".")[0].removesuffix(".<locals>")
    while outer not in by_name and len(outer) > len(module):
        outer = outer.rpartition(".")[0].removesuffix(".<locals>")
    return by_name.get(outer, f"namespace:{module}")


def used_links(
    module: str,
    ids: Sequence[str],
    uses: Mapping[str, Sequence[int]],
    resolver: Resolver,
    defined: Callable[[str], bool],
) -> list[Row]:
    """The links of what a file uses, each once. `ids`: of the file's symbols, as `uses` counts
    them.

    `defined`: whether any symbol in the repository has a name; a use of one that none has is no
    link.
    """
    keys: set[tuple[str, str, str, int]] = set()
    rows: list[Row] = []
    for expression, flat in uses.items():
        # once for an expression, however many uses of it there are
        targets = list(
            _targets(expression, resolver.resolve(expression, module), resolver, defined)
        )
        if not targets:
            continue
        by_relation: dict[int, list[tuple[str, str, str, int]]] = {}
        numbers = iter(flat)
        for place, relation, line in zip(numbers, numbers, numbers, strict=True):
            source = ids[place]
            if relation not in by_relation:
                by_relation[relation] = _by(RELATIONS[relation], targets)
            for relation_name, target, method, confidence in by_relation[relation]:
                if relation == INHERITS and relation_name == "inherits":
                    relation_name = _inherits(source, target)
                key = (source, relation_name, target, line)
                if key not in keys:
                    keys.add(key)
                    rows.append((source, relation_name, target, line, method, confidence))
    return rows


def _by(relation: str, targets: Iterable[Target]) -> list[tuple[str, str, str, int]]:
    """(relation, target, method, confidence) of each link that a use makes: what is only passed is
    referred to.
    """
    return [
        (relation if meant else "references", target, method, confidence)
        for target, meant, method, confidence in targets
        if relation == "calls" or method != CONSTRUCTOR
    ]


def _targets(
    expression: str, resolved: Resolved, resolver: Resolver, defined: Callable[[str], bool]
) -> Iterator[Target]:
    method, confidence = METHODS.get(decode(expression).kind, (_NAME_ONLY, 0))
    end = len(resolved.symbols) - 1
    for place, value in enumerate(resolved.symbols):
        meant = place == end and not resolved.lost and not resolved.beyond
        if value.returned:
            method, confidence = _RETURNED
        yield value.id, meant, method, confidence
        if meant and value.prefix in CLASSES:
            initializer = resolver.constructor(value)
            if initializer is not None and initializer.sort == "symbol":
                # at most 90, as for self and super: a subclass may know better (docs/code-graph.md)
                yield initializer.id, True, CONSTRUCTOR, min(confidence, 90)
    for place, name in enumerate(resolved.lost):
        if defined(name):
            yield f"name:{name}", place == len(resolved.lost) - 1, _NAME_ONLY, 0


def _inherits(source: str, target: str) -> str:
    if target.startswith("interface:") and not source.startswith("interface:"):
        return "implements"
    return "inherits"


_AT_ONCE = 400


def relink(
    db: Database,
    removed: Collection[str],
    changed: Mapping[str, Facts],
    before: Outlined,
    targets: ModuleIndex,
    alone: bool,
) -> int:
    """Writes the links of `changed` files, and again those of others that they concern; returns how
    many others.

    `changed`: path → facts under its module; `before`: path → module and outline as they were, of
    what changed or was removed; `targets`: the modules of all files; `alone`: there are no other
    files. The tables `files`, `symbols` and `said` are as they are to be. In one transaction.
    """
    now = {path: (targets.module_of(path), facts["outline"]) for path, facts in changed.items()}
    linker = Linker(
        targets,
        Outlines(db, dict(now.values())).of,
        _Defined(db, whole=len(changed) > _AT_ONCE),
        Extending(db),
    )
    if alone:
        others = []
    else:
        others = _files_to_relink(db, before, now)
    # no rows of its own for a removed file: links of others to it stay in the rows of those others
    batch: dict[str, links.Columns] = dict.fromkeys(removed, ())
    consulted: dict[str, bytes] = dict.fromkeys(removed, b"")
    names = Interned(db)
    for path, facts in chain(changed.items(), _facts(db, others, targets)):
        batch[path] = links.columns_of_rows(linker.links_of(path, facts))
        consulted[path] = linker.consulted(path)
        if len(batch) >= _AT_ONCE:
            links.replace_columns(db, batch, names)
            batch = {}
    links.replace_columns(db, batch, names)
    replace_consulted(db, consulted)
    return len(others)


class Linker:
    """Makes the links of files, in one state of the repository, and records what they depend on."""

    def __init__(
        self,
        targets: ModuleIndex,
        outline: Callable[[str], Outline | None],
        defined: Callable[[str], bool],
        extending: Callable[[str], Iterable[str]],
    ) -> None:
        self._targets, self._defined = targets, defined
        self._resolver = Resolver(targets, outline, extending)
        self._keys = Keys()

    def links_of(self, path: str, facts: Facts) -> Iterator[links.Row]:
        """All links of one file."""
        module = self._targets.module_of(path)
        yield from _defined_links(path, facts["symbols"], self._owner_ids(module, facts))
        system = module_system(path)
        if system is None:
            imported = file_links(path, facts["imports"], self._resolver)
        else:
            imported = path_links(path, facts["imports"], system, self._resolver)
        for link in imported:
            yield link.source, link.relation, link.target, link.line, link.method, link.confidence
        yield from _depending_links(path, imported, self._targets)
        yield from from_import_links(module, facts["imports"], self._resolver)
        yield from test_links(facts["tests"])
        ids = [row[0] for row in facts["symbols"]]
        yield from used_links(module, ids, facts["uses"], self._resolver, self._defined)

    def _owner_ids(self, module: str, facts: Facts) -> dict[str, str]:
        """Dotted name → ID of the types of other files that this one gives members."""
        owner_ids = {}
        for owner, expression in (facts["outline"].get("extended") or {}).items():
            value = self._resolver.value_of(expression, module)
            if value is not None and value.sort == "symbol" and value.prefix in CLASSES:
                owner_ids[owner] = value.id
        return owner_ids

    def consulted(self, path: str) -> bytes:
        """The keys that the links of this file depend on, all of which were asked for since the
        last call.
        """
        return self._keys.pack(self._resolver.consulted(self._targets.module_of(path)))


def _facts(db: Database, paths: list[str], targets: ModuleIndex) -> Iterator[tuple[str, Facts]]:
    for batch in chunks(paths):
        keys = {
            path: (blob, scanner)
            for path, blob, scanner in db.rows(
                f"SELECT path, blob, scanner FROM files WHERE path IN ({placeholders(batch)})",
                batch,
            )
        }
        facts = file_facts.load(db, keys.values(), uses=True)
        for path in batch:
            if keys[path] in facts:
                yield path, facts_under(facts[keys[path]], targets.module_of(path), path)


class Extending:
    """Name of a type → the modules that give members to a type of another one named so."""

    def __init__(self, db: Rows) -> None:
        self._db = db
        self._modules: dict[str, list[str]] = {}

    def __call__(self, name: str) -> list[str]:
        if name not in self._modules:
            self._modules[name] = name_index.files_with(self._db, extension_word(name))
        return self._modules[name]


class _Defined:
    """Whether any symbol has a name."""

    def __init__(self, db: Database, whole: bool) -> None:
        self._db = db
        if whole:
            self._known = {row[0]: True for row in db.rows("SELECT DISTINCT name FROM symbol_rows")}
        else:
            self._known = {}
        self._whole = whole

    def __call__(self, name: str) -> bool:
        if name not in self._known and not self._whole:
            self._known[name] = bool(
                self._db.rows("SELECT 1 FROM symbol_rows WHERE name = ? LIMIT 1", (name,))
            )
        return self._known.get(name, False)
