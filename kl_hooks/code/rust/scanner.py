"""The scanner of Rust: one file's bytes in, facts out.

The facts are those of every scanner (`kl_hooks.code.scanner.python` describes them), so that one
linker resolves all languages. Where a part of a file is no syntax, the rest is read, and the error
reports it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.code.module_systems import decoded, extension_word
from kl_hooks.code.rust.modules import MODULES
from kl_hooks.code.rust.paths import text_of
from kl_hooks.code.rust.scopes import Chain, Scope, expression_of, uses_of_chain
from kl_hooks.code.rust.walk import CALLS, Declaration, Walked, walk
from kl_hooks.code.scanner.expressions import (
    DEFINED,
    IMPORTED,
    UNKNOWN,
    UNRESOLVED,
    is_anonymous,
    last_part,
)
from kl_hooks.code.scanner.grammars import error_in_part, literals_of, parse
from kl_hooks.code.scanner.parser import (
    LONGEST,
    Facts,
    Outline,
    shortened,
)
from kl_hooks.code.scanner.source import RUST, Source, Span, words_by_symbol
from kl_hooks.code.scanner.symbols import combined_digest, secret_lines
from kl_hooks.code.scanner.trees import digests_of, guarded_facts, import_rows, line_of
from kl_hooks.model.symbol import FILE_SIGN, last_name

if TYPE_CHECKING:
    from tree_sitter import Node

_APART: Final = frozenset({"type", "interface", "function", "method", "namespace"})
"""Symbols whose code is theirs: the words of a field are its owner's, and the hash of the trait or
module around a symbol omits these.
"""
_NAME: Final = re.compile(r"[^\W\d]\w*")


def scan_rust(content: bytes, path: str, module: str) -> Facts:
    """The facts of a Rust file."""
    return guarded_facts(content, lambda: _facts(content, module))


def _facts(content: bytes, module: str) -> Facts:
    tree, _ = parse(content, "rust")
    root = tree.root_node
    walked = walk(root, content)
    source = Source(content, literals_of(root, "rust"), RUST)
    symbols, places, groups = _symbol_rows(walked, source, module, _inner_doc(root))
    uses = _uses(walked, places)
    outline = _outline(walked)
    imports = import_rows(walked.imports, content)
    attributes = {
        str(place): texts for place, group in enumerate(groups, 1) if (texts := _marks(group))
    }
    return {
        "error": error_in_part(root),
        "symbols": symbols,
        "words": ["", *(_field_words(group, source) for group in groups)],
        "imports": imports,
        "decorators": attributes,
        "uses": uses,
        "outline": outline,
        "names": _names(imports, uses, outline),
        "text": _texts(content, symbols, groups),
    }


def _marks(group: Sequence[Declaration]) -> list[str]:
    """The attributes of a symbol, and the traits that it is a part of: `impl fmt::Display`."""
    attributes = [_attribute(node) for node in group[0].before if node.type == "attribute_item"]
    traits = [f"impl {declaration.trait}" for declaration in group if declaration.trait]
    return [*attributes, *(shortened(text.encode()) for text in dict.fromkeys(traits))]


def _attribute(node: Node) -> str:
    return shortened(" ".join(text_of(node).split()).encode())


# -- symbols


def _symbol_rows(
    walked: Walked, source: Source, module: str, doc: str
) -> tuple[list[list[Any]], list[int], list[list[Declaration]]]:
    """The symbols' rows, the place of each declaration among them, and the declarations of each row
    but the module's. What has one ID (a `cfg` each, several `impl`) is one symbol.
    """
    numbers_by_id: dict[str, list[int]] = {}
    declarations = walked.declarations
    for number in sorted(range(len(declarations)), key=lambda n: declarations[n].node.start_byte):
        declaration = declarations[number]
        identifier = f"{declaration.prefix}:{module}{FILE_SIGN}{declaration.name}"
        numbers_by_id.setdefault(identifier, []).append(number)
    digests, module_digest = _digests(walked, source)
    lines = max(source.content.count(b"\n") + (not source.content.endswith(b"\n")), 1)
    whole = combined_digest([module_digest])
    rows: list[list[Any]] = [[f"namespace:{module}", 1, lines, f"module {module}", doc, whole]]
    places = [0] * len(declarations)
    groups: list[list[Declaration]] = []
    for identifier, numbers in numbers_by_id.items():
        group = [declarations[number] for number in numbers]
        for number in numbers:
            places[number] = len(rows)
        rows.append(
            [
                identifier,
                line_of(group[0].node),
                group[0].node.end_point[0] + 1,
                _signature(group[0], source),
                next(filter(None, (_doc(declaration.before) for declaration in group)), ""),
                combined_digest([digests[number] for number in numbers]),
            ]
        )
        groups.append(group)
    return rows, places, groups


def _signature(declaration: Declaration, source: Source) -> str:
    start, end = declaration.node.start_byte, declaration.node.end_byte
    if declaration.body is not None:
        return source.one_line(start, declaration.body.start_byte).rstrip("{( ")
    if declaration.prefix == "field":
        return source.first_line(start, end)
    return source.one_line(start, end).rstrip(";,").rstrip()


def _doc(before: Sequence[Node]) -> str:
    """The first line of the documentation among what is before an item."""
    for node in before:
        marked = node.child_by_field_name("outer") is not None
        if node.type != "attribute_item" and not marked:
            continue
        text = _doc_attribute(node) if node.type == "attribute_item" else text_of(node)
        line = _first_line(text)
        if line:
            return line
    return ""


def _inner_doc(root: Node) -> str:
    """The first line of the documentation of a module: `//!`."""
    for node in root.named_children:
        if node.type not in ("line_comment", "block_comment", "inner_attribute_item"):
            return ""
        if node.child_by_field_name("inner") is not None:
            line = _first_line(text_of(node))
            if line:
                return line
    return ""


def _doc_attribute(node: Node) -> str:
    """The text of `#[doc = "…"]`."""
    attribute = next(iter(node.named_children), None)
    value = attribute.child_by_field_name("value") if attribute is not None else None
    if attribute is None or value is None or text_of(attribute.named_children[0]) != "doc":
        return ""
    return text_of(value).strip('"')


_COMMENT_SIGNS: Final = re.compile(r"^\s*(?://[/!]|/\*[*!]|\*(?!/))? ?|\*/\s*$")


def _first_line(comment: str) -> str:
    for line in comment.splitlines():
        text = _COMMENT_SIGNS.sub("", line).strip()
        if text:
            return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
    return ""


# -- content hashes


def _digests(walked: Walked, source: Source) -> tuple[list[bytes], bytes]:
    """The hash of each declaration, and of the module."""
    declarations = walked.declarations
    apart = sorted(
        {_span(declaration) for declaration in declarations if declaration.prefix in _APART}
    )
    spans = [(_span(declaration), declaration.has_own_kids) for declaration in declarations]
    return digests_of(spans, apart, source)


def _span(declaration: Declaration) -> Span:
    return declaration.first_byte, declaration.node.end_byte


# -- uses and outline


def _uses(walked: Walked, places: Sequence[int]) -> dict[str, list[int]]:
    place_of = {
        declaration.name: place
        for declaration, place in zip(walked.declarations, places, strict=True)
        if declaration.prefix in ("type", "interface")
    }
    uses: dict[str, list[int]] = {}
    for use in walked.uses:
        if isinstance(use.owner, str):
            owner = place_of.get(use.owner, 0)
        else:
            owner = places[use.owner] if use.owner >= 0 else 0
        for expression in uses_of_chain(use.scope, use.chain, use.relation == CALLS):
            uses.setdefault(expression, []).extend((owner, use.relation, use.line))
    return uses


def _outline(walked: Walked) -> Outline:
    defs: dict[str, str] = {}
    for declaration in walked.declarations:
        # of a type and a value of one name, which importers get together, the type has the members
        known = defs.get(declaration.name)
        if known is None or known in ("field", "function"):
            defs[declaration.name] = declaration.prefix
    names = {}
    for name, bound in walked.names.items():
        expression = bound if isinstance(bound, str) else expression_of(*bound)
        if expression[:1] in (DEFINED, IMPORTED) and expression != f"{DEFINED}{name}":
            names[name] = expression
    outline: Outline = {
        "defs": defs,
        "names": names,
        "bases": {
            name: [_name_expression(scope, chain) for scope, chain in chains]
            for name, chains in walked.bases.items()
        },
        "types": _types(walked),
        "stars": _star_expressions(walked.globs.get("", ())),
        "all": None,
    }
    globs = {within: _star_expressions(rows) for within, rows in walked.globs.items() if within}
    extended = {
        name: expression
        for name, (scope, chain) in walked.owners.items()
        if (expression := _name_expression(scope, chain)) and expression != f"{DEFINED}{name}"
    }
    if globs:
        outline["globs"] = globs
    if extended:
        outline["extended"] = extended
    if walked.modules:
        outline["settings"] = {MODULES: json.dumps(walked.modules, ensure_ascii=False)}
    return outline


def _types(walked: Walked) -> dict[str, str]:
    types = {}
    for name, sources in walked.types.items():
        expressions = {expression_of(scope, chain) for scope, chain in sources}
        expression = expressions.pop() if len(expressions) == 1 else UNKNOWN
        if expression and expression[0] != UNRESOLVED:
            types[name] = expression
    return types


def _star_expressions(rows: Iterable[tuple[Scope, Chain | None]]) -> list[str]:
    expressions = (expression_of(scope, chain) for scope, chain in rows)
    return list(dict.fromkeys(text for text in expressions if text[:1] in (DEFINED, IMPORTED)))


def _name_expression(scope: Scope, chain: Chain | None) -> str:
    expression = expression_of(scope, chain)
    if expression[:1] in (DEFINED, IMPORTED) and not is_anonymous(expression):
        return expression
    return ""


# -- words


def _field_words(group: Sequence[Declaration], source: Source) -> str:
    """The identifiers in the code of a field; empty for what has words of its own."""
    if group[0].prefix in _APART:
        return ""
    codes = (source.code(*_span(declaration)) for declaration in group)
    return " ".join(sorted({word for code in codes for word in _NAME.findall(code)}))


def _texts(
    content: bytes, symbols: Sequence[Sequence[Any]], groups: Sequence[Sequence[Declaration]]
) -> list[list[Any]]:
    """The words of the source by symbol; see `scanner.symbols.source_words`."""
    regions = [(0, len(content) + 1, 0, 0)]
    owners = {0: ("", "")}
    for place, group in enumerate(groups, 1):
        for declaration in group:
            if declaration.prefix not in _APART:
                continue
            node, body = declaration.node, declaration.body
            start = min([node.start_byte, *(part.start_byte for part in declaration.before)])
            code = body.start_byte if body is not None else node.end_byte
            regions.append((start, node.end_byte, code, place))
            outer = declaration.name.rpartition(".")[0]
            owner = outer.rpartition(".")[2] if declaration.prefix == "method" else ""
            owners[place] = (last_name(symbols[place][0]), owner)
    regions.sort(key=lambda region: (region[0], -region[1]))
    words = words_by_symbol(content, regions, secret_lines(content, ""), RUST)
    return [[place, *owners[place], words[place]] for place in sorted(words)]


def _names(imports: Sequence[Sequence[Any]], uses: Mapping[str, Any], outline: Outline) -> str:
    """Every identifier in a file's imports and expressions, once, and the types it extends."""
    texts = [text for row in imports for text in row[:2]]
    texts += [*uses, *outline["names"].values(), *outline["types"].values(), *outline["stars"]]
    texts += [text for texts_of in outline.get("globs", {}).values() for text in texts_of]
    texts += [base for bases in outline["bases"].values() for base in bases]
    extended = {
        extension_word(last_part(expression)) for expression in outline.get("extended", {}).values()
    }
    return " ".join(sorted({*_NAME.findall(decoded("\n".join(texts))), *extended}))
