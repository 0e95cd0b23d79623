"""What the scanners that read a tree of tree-sitter share: which files are read, and the rows of
symbols, imports and words that are made of what a walk over the tree noted.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from kl_hooks.code.scanner.expressions import DEFINED, IMPORTED
from kl_hooks.code.scanner.grammars import is_minified
from kl_hooks.code.scanner.parser import (
    LARGEST,
    MINIFIED,
    Facts,
    Outline,
    statement,
    too_large_facts,
    unreadable_facts,
)
from kl_hooks.code.scanner.source import Lexicon, Source, Span, words_by_symbol
from kl_hooks.code.scanner.symbols import combined_digest, secret_lines
from kl_hooks.model.definitions import lazy_pattern
from kl_hooks.model.symbol import FILE_SIGN, last_name

if TYPE_CHECKING:
    from tree_sitter import Node

_APART: Final = frozenset({"type", "interface", "function", "method", "property", "namespace"})
"""Symbols whose code is theirs: the words of a field are its owner's, and the hash of the class,
trait or module around a symbol omits these.
"""
TEST: Final = "test"
"""The prefix of a test in a block, which is no definition that others can use."""
_WORD: Final = lazy_pattern(r"[^\W\d]\w*")


class Declared(Protocol):
    """Something that has a name at one place, as a walk notes it."""

    prefix: str
    name: str
    """Dotted, within the file."""
    node: Node
    body: Node | None
    """What its signature ends before."""
    has_own_kids: bool
    """Whether its hash omits the symbols inside, which have hashes of their own."""

    @property
    def start(self) -> Node:
        """Where its line begins."""

    @property
    def code_span(self) -> Span:
        """What its hash is made of."""

    @property
    def text_start(self) -> int:
        """Where its words begin."""


_D = TypeVar("_D", bound=Declared)


def text_of(node: Node | None) -> str:
    """The source of a node."""
    if node is None or node.text is None:
        return ""
    return str(node.text, "utf-8", "replace")


def line_of(node: Node) -> int:
    """The line of a node, from 1."""
    return int(node.start_point[0]) + 1


def guarded_facts(content: bytes, read: Callable[[], Facts]) -> Facts:
    """What `read` gives of a file; an error as facts where the file is too large, minified, or more
    than the scanner copes with.
    """
    if len(content) > LARGEST:
        return too_large_facts()
    if is_minified(content):
        return unreadable_facts(f"0:0: {MINIFIED}")
    try:
        return read()
    except (LookupError, ValueError, AttributeError, TypeError, RecursionError) as problem:
        return unreadable_facts(
            f"0:0: our reader could not cope with it ({type(problem).__name__}: {problem})"
        )


# -- symbols


def symbol_rows(
    declarations: Sequence[_D],
    module: tuple[str, str],
    source: Source,
    described: Callable[[Sequence[_D]], tuple[_D, str, str]],
) -> tuple[list[list[Any]], list[int], list[list[_D]]]:
    """The symbols' rows, the place of each declaration among them, and the declarations of each row
    but the module's, the one that the row shows first. What has one ID is one symbol.

    `module`: its name and documentation; `described`: (declaration that is shown, signature,
    documentation) of the declarations with one ID, in their order in the file.
    """
    name, doc = module
    digests, module_digest = _digests(declarations, source)
    lines = max(source.content.count(b"\n") + (not source.content.endswith(b"\n")), 1)
    whole = combined_digest([module_digest])
    rows: list[list[Any]] = [[f"namespace:{name}", 1, lines, f"module {name}", doc, whole]]
    places = [0] * len(declarations)
    groups: list[list[_D]] = []
    for identifier, numbers in _numbers_by_id(declarations, name):
        group = [declarations[number] for number in numbers]
        for number in numbers:
            places[number] = len(rows)
        shown, signature, doc_of_symbol = described(group)
        rows.append(
            [
                identifier,
                line_of(shown.start),
                shown.node.end_point[0] + 1,
                signature,
                doc_of_symbol,
                combined_digest([digests[number] for number in numbers]),
            ]
        )
        groups.append([shown, *(declaration for declaration in group if declaration is not shown)])
    return rows, places, groups


def _numbers_by_id(declarations: Sequence[Declared], module: str) -> list[tuple[str, list[int]]]:
    """(ID, numbers of its declarations), in the order of the file."""

    def position(number: int) -> int:
        return declarations[number].start.start_byte

    numbers_by_id: dict[str, list[int]] = {}
    for number, declaration in enumerate(declarations):
        sign = "::" if declaration.prefix == TEST else FILE_SIGN
        identifier = f"{declaration.prefix}:{module}{sign}{declaration.name}"
        numbers_by_id.setdefault(identifier, []).append(number)
    for numbers in numbers_by_id.values():
        numbers.sort(key=position)
    return sorted(numbers_by_id.items(), key=lambda group: position(group[1][0]))


def _digests(declarations: Sequence[Declared], source: Source) -> tuple[list[bytes], bytes]:
    """The hash of each declaration, and of the module."""
    apart = sorted(
        {declaration.code_span for declaration in declarations if declaration.prefix in _APART}
    )
    digests = [
        source.digest(
            _without(declaration.code_span, apart)
            if declaration.has_own_kids
            else [declaration.code_span]
        )
        for declaration in declarations
    ]
    return digests, source.digest(_without((0, len(source.content)), apart))


def _without(span: Span, apart: Sequence[Span]) -> list[Span]:
    """A span without what has a hash of its own."""
    start, end = span
    spans = []
    for first, last in apart[bisect_left(apart, (start, 0)) :]:
        if first >= end:
            break
        if first >= start and last <= end and (first, last) != span:
            spans.append((start, first))
            start = last
    return [*spans, (start, end)]


# -- imports and names


def import_rows(imports: Sequence[Sequence[Any]], content: bytes) -> list[list[Any]]:
    """The rows of imports in the order of the file, with the statement in the place of its node."""
    lines = content.split(b"\n")
    rows = sorted(imports, key=lambda row: (row[3], row[5].start_byte, row[0], row[1]))
    return [
        [
            *values,
            statement(
                lines, line_of(node), node.start_point[1], node.end_point[0] + 1, node.end_point[1]
            ),
        ]
        for *values, node in rows
    ]


def defined_names(declarations: Iterable[Declared]) -> dict[str, str]:
    """Dotted name → prefix of its ID."""
    prefixes: dict[str, str] = {}
    for declaration in declarations:
        # of a type and a value of one name, which importers get together, the type has the members
        if prefixes.get(declaration.name, "field") in ("field", "function"):
            prefixes[declaration.name] = declaration.prefix
    return prefixes


def other_names(expressions: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Name → expression of each (name, expression) that leads to a symbol of another name."""
    return {
        name: expression
        for name, expression in expressions
        if expression[:1] in (DEFINED, IMPORTED) and expression != f"{DEFINED}{name}"
    }


def texts_with_names(
    imports: Iterable[Sequence[Any]], uses: Iterable[str], outline: Outline
) -> list[str]:
    """The texts of a file's facts that hold the names which it mentions."""
    texts = [text for row in imports for text in row[:2]]
    texts += [*uses, *outline["names"].values(), *outline["types"].values(), *outline["stars"]]
    texts += [star for stars in outline.get("globs", {}).values() for star in stars]
    texts += [base for bases in outline["bases"].values() for base in bases]
    return texts


# -- words


def field_words(group: Sequence[Declared], source: Source) -> str:
    """The identifiers in the code of a field; empty for what has words of its own."""
    # the words of a test are its module's
    if group[0].prefix in (*_APART, TEST):
        return ""
    codes = (source.code(*declaration.code_span) for declaration in group)
    return " ".join(sorted({word for code in codes for word in _WORD.findall(code)}))


def word_rows(
    content: bytes,
    symbols: Sequence[Sequence[Any]],
    groups: Sequence[Sequence[Declared]],
    lexicon: Lexicon | None = None,
) -> list[list[Any]]:
    """The words of the source by symbol; see `scanner.symbols.source_words`."""
    regions = [(0, len(content) + 1, 0, 0)]
    owners = {0: ("", "")}
    for place, group in enumerate(groups, 1):
        for declaration in group:
            if declaration.prefix not in _APART:
                continue
            end = declaration.node.end_byte
            if declaration.body is not None:
                body = declaration.body.start_byte
            else:
                body = end
            regions.append((declaration.text_start, end, body, place))
            outer = declaration.name.rpartition(".")[0]
            is_member = declaration.prefix in ("method", "property")
            if is_member:
                owner = outer.rpartition(".")[2]
            else:
                owner = ""
            owners[place] = (last_name(symbols[place][0]), owner)
    regions.sort(key=lambda region: (region[0], -region[1]))
    words = words_by_symbol(content, regions, secret_lines(content, ""), lexicon)
    return [[place, *owners[place], words[place]] for place in sorted(words)]
