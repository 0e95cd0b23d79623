"""The places that use a name, and which of them may mean a symbol.

The graph's resolver leads every place that has the name in its syntax to the symbol, to another
definition, out of the repository, or nowhere. The last ones are possible uses, in the order of what
their receiver is likely to be.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Final

from kl_hooks.code.file_facts import Outlines
from kl_hooks.code.languages import is_file_module
from kl_hooks.code.linker import CLASSES, EXTERNAL, Resolver, Value
from kl_hooks.code.modules import ModuleIndex
from kl_hooks.code.name_index import files_mentioning
from kl_hooks.code.query.lookup import (
    MEMBERS,
    class_closure,
    class_ids,
    symbols_by_id,
    symbols_of_id,
)
from kl_hooks.code.query.occurrences import (
    CALLS,
    CHANGES,
    MODULE,
    READS,
    Occurrence,
    Source,
    UseKind,
    expression,
    occurrences,
    read_source,
    receiver_expression,
    value_expression,
)
from kl_hooks.code.query.receivers import Hints
from kl_hooks.code.scanner.references import expression_of
from kl_hooks.git.files import FileEntry
from kl_hooks.model.definitions import NamedTuple, lazy_pattern
from kl_hooks.model.symbol import FILE_SIGN, FilePath, NodeId, is_test_path, split_id
from kl_hooks.store.database import chunks, placeholders

if TYPE_CHECKING:
    from kl_hooks.code.query.session import Graph
    from kl_hooks.model.symbol import Link, Symbol
    from kl_hooks.store.database import Rows


class Certainty(StrEnum):
    """How certain it is that a place means a symbol, the most certain first."""

    RESOLVED = "resolved"
    LIKELY = "likely"
    """The receiver is likely to be of its class, a base or a subclass."""
    SIMILAR = "similar"
    """Nothing is known of the receiver, but it is named after the class."""
    POSSIBLE = "possible"
    """Nothing is known of the receiver."""
    ELSEWHERE = "elsewhere"
    """It is another definition of that name, or the receiver is of another type."""


_LOCAL_NAME: Final = "a local name"
OUTSIDE: Final = "outside of the repository"
_OTHER_TYPE: Final = "another type"

_WORDS: Final = lazy_pattern(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_LONGEST: Final = 120
"""Characters of a line of source that are shown."""
_RECEIVER: Final = 40
_ORDER: Final = tuple(Certainty)


class Site(NamedTuple):
    """A place that uses a name."""

    path: FilePath
    line: int
    kind: UseKind
    certainty: Certainty
    owner: NodeId
    """The symbol around it."""
    scope: str
    """Its dotted name in the module; empty for the module itself."""
    receiver: str
    """What is before the dot, as written; empty for a plain name."""
    types: tuple[str, ...]
    """What the receiver is likely to be: `Slot (annotation)`; or what the name means elsewhere."""
    text: str
    """The line of source, shortened."""
    link_line: int
    """The line of the graph's link for this use."""

    @property
    def is_test(self) -> bool:
        """Whether it is in a test file."""
        return is_test_path(self.path)

    @property
    def is_unknown(self) -> bool:
        """Whether nothing is known of the receiver."""
        return self.certainty == Certainty.POSSIBLE


class Target(NamedTuple):
    """What is looked for."""

    name: str
    """As it is written where it is used."""
    ids: frozenset[str]
    """The symbols that are meant: `C` and `C.__init__`."""
    paths: tuple[str, ...]
    """The files that define it: they need not mention it elsewhere."""
    owner: str = ""
    """The dotted name of the class that it is a member of; empty: it is none."""


def sites(graph: Graph, target: Target, kinds: Collection[UseKind]) -> list[Site]:
    """The places whose syntax has the name, of these kinds, the most certain first; each line once
    for every kind.
    """
    finder = _SiteFinder(graph, target)
    every_site = [
        site
        for path, content in _contents(graph, target)
        for site in finder.in_file(path, content, kinds)
    ]
    unique = {
        (site.path, site.line, site.kind, site.certainty): site for site in reversed(every_site)
    }
    return sorted(unique.values(), key=_rank)


def _rank(site: Site) -> tuple[int, bool, str, int, str]:
    return (_ORDER.index(site.certainty), site.is_test, site.path, site.line, site.kind)


def _resembles(receiver: str, owner: str) -> bool:
    """Whether a receiver is named after a class: `slot`, `self.slots[0]` of `Slot`."""
    words = {word.lower().rstrip("s") for word in _WORDS.findall(owner)}
    return any(word.lower().rstrip("s") in words for word in _WORDS.findall(receiver))


def _contents(graph: Graph, target: Target) -> Iterator[tuple[str, bytes]]:
    """The files that may use the name, by path."""
    mentions = files_mentioning(graph.db, [target.name])
    paths = {
        path
        for path, words in mentions.items()
        if target.name in words.split() and not is_file_module(path)
    }
    entries: list[FileEntry] = []
    for batch in chunks(sorted(paths.union(target.paths))):
        sql = f"SELECT path, blob FROM files WHERE path IN ({placeholders(batch)})"
        entries += [FileEntry(path, blob, "100644") for path, blob in graph.db.rows(sql, batch)]
    name = target.name.encode()
    for entry, content in graph.read([entry for entry in entries if entry.blob.isalnum()]):
        # an identifier may be written in another form of Unicode than Python compares
        if name in content or not name.isascii() or not content.isascii():
            yield entry.path, content


class _SiteFinder:
    """Decides on the uses of one name in one state of the repository."""

    def __init__(self, graph: Graph, target: Target) -> None:
        self._target = target
        self._modules: dict[str, str] = dict(graph.db.rows("SELECT path, module FROM files"))
        index = ModuleIndex(self._modules)
        self._resolver = Resolver(index, Outlines(graph.db, {}).of)
        self._family = _Family(graph.db, target.owner)

    def in_file(self, path: str, content: bytes, kinds: Collection[UseKind]) -> Iterator[Site]:
        """Yield the uses of these kinds in a file."""
        source = read_source(content)
        if source is None:
            return
        hints = Hints()
        for occurrence in occurrences(source, self._target.name):
            if occurrence.kind in kinds:
                yield self._site(path, source, occurrence, hints)

    def _site(self, path: str, source: Source, occurrence: Occurrence, hints: Hints) -> Site:
        module = self._modules[path]
        if occurrence.receiver is None:
            decide = self._name
        else:
            decide = self._attribute
        certainty, types = decide(module, occurrence, hints)
        receiver = _receiver_text(occurrence)
        if certainty == Certainty.POSSIBLE and _resembles(receiver, self._family.name):
            certainty = Certainty.SIMILAR
        owner = _owner(occurrence, module)
        name = split_id(owner)[1]
        return Site(
            FilePath(path),
            occurrence.line,
            UseKind.READ if self._is_own_method(module, occurrence) else occurrence.kind,
            certainty,
            owner,
            name[len(module) + 1 :] if name != module else "",
            receiver,
            types,
            _line_text(source.lines, occurrence.line),
            occurrence.link_line,
        )

    def _is_own_method(self, module: str, occurrence: Occurrence) -> bool:
        """Whether a method that is named like one that changes containers is one of a class of the
        repository, and no container's: all its bases are of the repository, too.
        """
        if not occurrence.method:
            return False
        written = value_expression(occurrence, self._target.name)
        if written:
            value = self._resolver.value_of(written, module)
        else:
            value = None
        owner = self._resolver.class_of(value)
        if owner is None or owner is EXTERNAL or not self._resolver.has_own_bases(owner):
            return False
        method = self._resolver.part_of(owner, occurrence.method)
        return method is not None and method.sort == "symbol"

    def _name(
        self, module: str, occurrence: Occurrence, hints: Hints
    ) -> tuple[Certainty, tuple[str, ...]]:
        """Decide on a plain name."""
        frame = occurrence.frame
        scope = occurrence.scope
        written = expression_of(frame, scope, self._target.name, "")
        if not written:
            return Certainty.ELSEWHERE, (_LOCAL_NAME,)
        return self._meaning(self._resolver.value_of(written, module))

    def _meaning(self, value: Value | None) -> tuple[Certainty, tuple[str, ...]]:
        """Decide by what a whole expression is."""
        if value is None:
            return Certainty.POSSIBLE, ()
        if value is EXTERNAL:
            return Certainty.ELSEWHERE, (OUTSIDE,)
        if value.sort == "symbol" and value.id in self._target.ids:
            return Certainty.RESOLVED, ()
        return Certainty.ELSEWHERE, (_shown(value),)

    def _attribute(
        self, module: str, occurrence: Occurrence, hints: Hints
    ) -> tuple[Certainty, tuple[str, ...]]:
        """Decide on an attribute by what its receiver is."""
        if occurrence.kind == UseKind.KEYWORD:
            return self._keyword(module, occurrence)
        receiver = receiver_expression(occurrence)
        if receiver:
            value = self._resolver.value_of(receiver, module)
        else:
            value = None
        if value is EXTERNAL:
            return Certainty.ELSEWHERE, (OUTSIDE,)
        if value is not None and value.sort in ("module", "package"):
            return self._meaning(self._resolver.part_of(value, self._target.name))
        instance = self._resolver.class_of(value)
        if instance is EXTERNAL:
            return Certainty.ELSEWHERE, (OUTSIDE,)
        if instance is not None:
            certainty = self._by_class(instance)
            return certainty, () if certainty == Certainty.RESOLVED else (instance.name,)
        return self._by_hints(module, occurrence, hints)

    def _keyword(self, module: str, occurrence: Occurrence) -> tuple[Certainty, tuple[str, ...]]:
        """`Slot(closing=…)` sets a field of a class whose fields are its arguments."""
        called = expression(occurrence.frame, occurrence.scope, occurrence.receiver)
        if called:
            value = self._resolver.value_of(called, module)
        else:
            value = None
        is_class = value is not None and value.sort == "symbol" and value.prefix in CLASSES
        if value is not None and is_class and self._family.has(_dotted(value)):
            return Certainty.LIKELY, (f"{value.name} (constructor)",)
        return Certainty.ELSEWHERE, ("an argument",)

    def _by_class(self, receiver: Value) -> Certainty:
        """Decide by the class of a receiver that the resolver is certain of."""
        owner = _dotted(receiver)
        member = self._resolver.part_of(receiver, self._target.name)
        if member is not None and member is not EXTERNAL and member.sort == "symbol":
            if member.id in self._target.ids:
                return Certainty.RESOLVED
            return self._by_other_member(owner)
        if receiver.sort == "above" and self._family.has(owner):
            return Certainty.ELSEWHERE  # `super()` of its own methods
        return self._family.certainty(owner)

    def _by_other_member(self, owner: str) -> Certainty:
        """Decide where the class of the receiver defines or inherits another member of that name:
        what is looked for may override it.
        """
        if owner in self._family.bases:
            return Certainty.LIKELY
        if owner not in self._family.subclasses and self._family.shares_subclass(owner):
            return Certainty.LIKELY
        # a protocol needs no subclass: whatever has its methods implements it (PEP 544)
        if self._family.is_interface(owner):
            return Certainty.POSSIBLE
        return Certainty.ELSEWHERE

    def _by_hints(
        self, module: str, occurrence: Occurrence, hints: Hints
    ) -> tuple[Certainty, tuple[str, ...]]:
        """Decide by what a receiver is likely to be."""
        certainties = set[Certainty]()
        types = list[str]()
        for hint in hints.of(occurrence.scope, occurrence.receiver):
            if hint.expression:
                value = self._resolver.value_of(hint.expression, module)
            else:
                value = None
            owner = self._resolver.class_of(value)
            if owner is None or owner is EXTERNAL:
                continue
            is_related = self._family.certainty(_dotted(owner)) != Certainty.ELSEWHERE
            certainties.add(Certainty.LIKELY if is_related else Certainty.ELSEWHERE)
            types.append(f"{owner.name} ({hint.basis})")
        shown = tuple(dict.fromkeys(types))
        if not certainties:
            return Certainty.POSSIBLE, ()
        if certainties == {Certainty.ELSEWHERE}:
            return Certainty.ELSEWHERE, (_OTHER_TYPE, *shown)
        return Certainty.LIKELY, shown


class _Family:
    """The classes around the one whose member is looked for, by dotted names."""

    def __init__(self, db: Rows, owner: str) -> None:
        self._db, self._owner = db, owner
        self.name = owner.rpartition(".")[2]
        """Of the class alone; empty for none."""

    @cached_property
    def bases(self) -> frozenset[str]:
        """Its bases and theirs."""
        return self._closure(self._owner, incoming=False)

    @cached_property
    def subclasses(self) -> frozenset[str]:
        """Its subclasses and theirs."""
        return self._closure(self._owner, incoming=True)

    def has(self, name: str) -> bool:
        """Whether a class is the one, or a subclass of it."""
        return bool(self._owner) and (name == self._owner or name in self.subclasses)

    def is_interface(self, name: str) -> bool:
        """Whether a class is a protocol or an abstract base class."""
        return bool(self._owner) and bool(symbols_of_id(self._db, f"interface:{name}"))

    def certainty(self, name: str) -> Certainty:
        """How certain an attribute without a symbol of its own is the class's, for an instance of
        the class `name`.
        """
        if not self._owner:
            return Certainty.ELSEWHERE
        if self.has(name):
            return Certainty.RESOLVED
        if name in self.bases or self.shares_subclass(name):
            return Certainty.LIKELY
        return Certainty.ELSEWHERE

    def shares_subclass(self, name: str) -> bool:
        """Whether an instance of `name` may be one of the class, too: a mixin's `self`."""
        return not self.subclasses.isdisjoint(self._closure(name, incoming=True))

    def _closure(self, name: str, *, incoming: bool) -> frozenset[str]:
        if not name:
            return frozenset()
        related = class_closure(self._db, class_ids(name), incoming=incoming)
        return frozenset(split_id(identifier)[1] for identifier in related)


def _dotted(value: Value) -> str:
    return f"{value.module}.{value.name}"


def _shown(value: Value) -> str:
    if value.sort == "symbol":
        return value.id
    return f"{value.module}.{value.name}".rstrip(".")


def _owner(occurrence: Occurrence, module: str) -> NodeId:
    """The Id of the symbol around an occurrence, as links of the graph name it."""
    frame = occurrence.frame
    # `self.x: int` in a method makes a field, but it is the method that assigns it
    if frame.scope == "function" or not frame.ids:
        ids = frame.home.ids
    else:
        ids = frame.ids
    prefix, name = split_id(ids[0])
    return NodeId(f"{prefix}:{module}{name.removeprefix(MODULE)}")


def _receiver_text(occurrence: Occurrence) -> str:
    if occurrence.receiver is None:
        return ""
    text = ast.unparse(occurrence.receiver)
    if len(text) <= _RECEIVER:
        return text
    return f"{text[: _RECEIVER - 1]}…"


def _line_text(lines: Sequence[str], line: int) -> str:
    """A line of source without secrets, shortened."""
    from kl_hooks.store.redaction import redact_or_omit

    if 0 < line <= len(lines):
        text = " ".join(lines[line - 1].split())
    else:
        text = ""
    text = redact_or_omit(text, "python")
    if len(text) <= _LONGEST:
        return text
    return f"{text[: _LONGEST - 1]}…"


class PossibleUses(NamedTuple):
    """The uses of a name that no link of the graph leads to the symbol."""

    possible: tuple[Site, ...]
    """Those that may mean it, the likeliest first."""
    elsewhere: tuple[Site, ...]
    """Those that mean something else, as far as is known."""


_ALL_USES: Final = READS | CHANGES


def target_of(graph: Graph, symbol: Symbol) -> Target | None:
    """What to look for where a symbol is used; None for what has no name in code of its own."""
    prefix, dotted = split_id(symbol.id)
    owner, _, name = dotted.rpartition(".")
    # what uses look like is known of Python alone; elsewhere the unresolved links name them
    if prefix not in (*MEMBERS, *CLASSES, "function") or FILE_SIGN in dotted:
        return None
    if name == "__init__":
        ids = frozenset({symbol.id, *class_ids(owner)})
        return Target(owner.rpartition(".")[2], ids, (symbol.path,))
    if name.startswith("__") and name.endswith("__"):
        return None  # Python itself calls it, without its name
    # the Id of a member does not show whether it is one of a class
    is_member = prefix in MEMBERS and bool(symbols_by_id(graph.db, class_ids(owner)))
    return Target(name, frozenset({symbol.id}), (symbol.path,), owner if is_member else "")


def possible_uses(
    graph: Graph, symbol: Symbol, resolved: Sequence[Link], *, calls: bool
) -> PossibleUses:
    """The uses of a symbol's name beside the links that lead to it; `calls`: only what calls it, of
    a property what reads it.
    """
    target = target_of(graph, symbol)
    if target is None:
        return PossibleUses((), ())
    is_property = split_id(symbol.id)[0] == "property"
    if calls and not is_property:
        kinds = CALLS
    else:
        kinds = _ALL_USES
    positions = {(link.path, link.line) for link in resolved}
    unlinked = [
        site for site in sites(graph, target, kinds) if (site.path, site.link_line) not in positions
    ]
    return PossibleUses(
        tuple(site for site in unlinked if site.certainty != Certainty.ELSEWHERE),
        tuple(site for site in unlinked if site.certainty == Certainty.ELSEWHERE),
    )
