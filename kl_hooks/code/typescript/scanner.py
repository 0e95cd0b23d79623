"""The scanner of TypeScript, TSX and JavaScript: one file's bytes in, facts out.

The facts are those of every scanner (`kl_hooks.code.scanner.python` describes them), so that one
linker resolves all languages. A module is named by its path, so names come after `#`. Where a part
of a file is no syntax, the rest is read, and the error reports it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.code.scanner.expressions import DEFINED, IMPORTED, STARRED, is_anonymous
from kl_hooks.code.scanner.grammars import first_error, literals_of, parse
from kl_hooks.code.scanner.parser import (
    Facts,
    Outline,
    shortened,
)
from kl_hooks.code.scanner.source import Source, Span, words_by_symbol
from kl_hooks.code.scanner.symbols import combined_digest, secret_lines
from kl_hooks.code.scanner.trees import digests_of, guarded_facts, import_rows, line_of
from kl_hooks.code.typescript.scopes import expression_of, uses_of_chain
from kl_hooks.code.typescript.walk import CALLS, Declaration, Walked, text_of, walk
from kl_hooks.model.symbol import FILE_SIGN, last_name

if TYPE_CHECKING:
    from tree_sitter import Node

_APART: Final = frozenset({"type", "interface", "function", "method", "property", "namespace"})
"""Symbols whose code is theirs: the words of a field are its owner's, and the hash of the class,
namespace or module around a symbol omits these.
"""
_NAME: Final = re.compile(r"[^\W\d$][\w$]*|\$[\w$]*")
_WORD: Final = re.compile(r"[^\W\d]\w*")


def scan_typescript(content: bytes, path: str, module: str) -> Facts:
    """The facts of a TypeScript file."""
    return guarded_facts(content, lambda: _facts(content, module, "typescript"))


def scan_tsx(content: bytes, path: str, module: str) -> Facts:
    """The facts of a TypeScript file with JSX."""
    return guarded_facts(content, lambda: _facts(content, module, "tsx"))


def scan_javascript(content: bytes, path: str, module: str) -> Facts:
    """The facts of a JavaScript file, with JSX or without."""
    return guarded_facts(content, lambda: _facts(content, module, "javascript"))


def _facts(content: bytes, module: str, grammar: str) -> Facts:
    tree, comments = parse(content, grammar)
    root = tree.root_node
    walked = walk(root, grammar == "javascript")
    literals = literals_of(root, grammar)
    source = Source(content, [*literals, *((*span, "comment") for span in comments)])
    symbols, places, groups = _symbol_rows(walked, source, module)
    uses = _uses(walked, places)
    outline = _outline(walked)
    imports = import_rows(walked.imports, content)
    decorators = {
        str(place): [f"@{_decorator(node)}" for node in group[0].decorators]
        for place, group in enumerate(groups, 1)
        if group[0].decorators
    }
    text = _texts(content, symbols, groups)
    return {
        "error": first_error(root, content, comments),
        "symbols": symbols,
        "words": ["", *(_field_words(group, source) for group in groups)],
        "imports": imports,
        "decorators": decorators,
        "uses": uses,
        "outline": outline,
        "names": _names(imports, uses, outline),
        "text": text,
    }


def _decorator(node: Node) -> str:
    return shortened(" ".join(text_of(node).removeprefix("@").split()).encode())


def _symbol_rows(
    walked: Walked, source: Source, module: str
) -> tuple[list[list[Any]], list[int], list[list[Declaration]]]:
    """The symbols' rows, the place of each declaration among them, and the declarations of each row
    but the module's.
    """
    groups_by_id: dict[str, list[int]] = {}
    for number, declaration in enumerate(walked.declarations):
        identifier = f"{declaration.prefix}:{module}{FILE_SIGN}{declaration.name}"
        groups_by_id.setdefault(identifier, []).append(number)
    ordered = sorted(
        groups_by_id.items(),
        key=lambda item: min(walked.declarations[n].start.start_byte for n in item[1]),
    )
    digests, module_digest = _digests(walked, source)
    lines = source.content.count(b"\n") + (not source.content.endswith(b"\n"))
    rows = [
        [
            f"namespace:{module}",
            1,
            max(lines, 1),
            f"module {module}",
            "",
            combined_digest([module_digest]),
        ]
    ]
    places = [0] * len(walked.declarations)
    groups: list[list[Declaration]] = []
    for identifier, numbers in ordered:
        numbers.sort(key=lambda number: walked.declarations[number].start.start_byte)
        group = [walked.declarations[number] for number in numbers]
        for number in numbers:
            places[number] = len(rows)
        chosen = next((one for one in group if not one.is_overload), group[0])
        doc = next(filter(None, (source.doc(one.node.start_byte) for one in group)), "")
        rows.append(
            [
                identifier,
                line_of(chosen.start),
                chosen.node.end_point[0] + 1,
                _signature(chosen, source),
                doc,
                combined_digest([digests[number] for number in numbers]),
            ]
        )
        groups.append([chosen, *(one for one in group if one is not chosen)])
    return rows, places, groups


def _signature(declaration: Declaration, source: Source) -> str:
    start = declaration.start.start_byte
    if declaration.body is not None:
        text = source.one_line(start, declaration.body.start_byte)
        return text.removesuffix("{").rstrip()
    if declaration.is_overload or declaration.prefix in ("method", "function"):
        text = source.one_line(start, declaration.node.end_byte)
        return text.rstrip(";,").rstrip()
    return source.first_line(start, declaration.node.end_byte)


def _digests(walked: Walked, source: Source) -> tuple[list[bytes], bytes]:
    """The hash of each declaration, and of the module."""
    declarations = walked.declarations
    apart = sorted(
        {_span(declaration) for declaration in declarations if declaration.prefix in _APART}
    )
    spans = [(_span(declaration), declaration.has_own_kids) for declaration in declarations]
    return digests_of(spans, apart, source)


def _span(declaration: Declaration) -> Span:
    return declaration.node.start_byte, declaration.node.end_byte


def _uses(walked: Walked, places: Sequence[int]) -> dict[str, list[int]]:
    uses: dict[str, list[int]] = {}
    for use in walked.uses:
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
    names: dict[str, str] = {}
    for name, exported in walked.exports.items():
        if isinstance(exported, str):
            expression = exported
        else:
            expression = expression_of(*exported)
        if expression[:1] in (DEFINED, IMPORTED) and expression != f"{DEFINED}{name}":
            names[name] = expression
    bases = {
        name: [_name_expression(expression_of(scope, chain)) for scope, chain in chains]
        for name, chains in walked.bases.items()
        if chains
    }
    types = {}
    for name, sources in walked.types.items():
        expressions = {expression_of(scope, chain) for scope, chain in sources if chain is not None}
        is_clear = len(expressions) == 1 and all(chain is not None for _, chain in sources)
        expression = expressions.pop() if is_clear else ""
        if expression and expression[0] != "?" and expression != f"{DEFINED}{name}":
            types[name] = expression
    return {
        "defs": defs,
        "names": names,
        "bases": bases,
        "types": types,
        "stars": list(dict.fromkeys(walked.stars)),
        "all": None,
    }


def _name_expression(expression: str) -> str:
    if expression[:1] in (DEFINED, IMPORTED, STARRED) and not is_anonymous(expression):
        return expression
    return ""


def _field_words(group: Sequence[Declaration], source: Source) -> str:
    """The identifiers in the code of a field; empty for what has words of its own."""
    if group[0].prefix in _APART:
        return ""
    codes = (source.code(*_span(declaration)) for declaration in group)
    return " ".join(sorted({word for code in codes for word in _WORD.findall(code)}))


def _texts(
    content: bytes, symbols: Sequence[Sequence[Any]], groups: Sequence[Sequence[Declaration]]
) -> list[list[Any]]:
    """The words of the source by symbol; see `scanner.symbols.source_words`."""
    regions = [(0, len(content) + 1, 0, 0)]
    owners = {0: ("", "")}
    for place, group in enumerate(groups, 1):
        for one in group:
            if one.prefix not in _APART:
                continue
            body = one.body.start_byte if one.body is not None else one.node.end_byte
            regions.append((one.node.start_byte, one.node.end_byte, body, place))
            outer = one.name.rpartition(".")[0]
            owner = outer.rpartition(".")[2] if one.prefix in ("method", "property") else ""
            owners[place] = (last_name(symbols[place][0]), owner)
    regions.sort(key=lambda region: (region[0], -region[1]))
    words = words_by_symbol(content, regions, secret_lines(content, ""))
    return [[place, *owners[place], words[place]] for place in sorted(words)]


def _names(imports: Sequence[Sequence[Any]], uses: Mapping[str, Any], outline: Outline) -> str:
    """Every identifier in a file's imports and expressions, once."""
    texts = [text for row in imports for text in row[:2]]
    texts += [*uses, *outline["names"].values(), *outline["types"].values(), *outline["stars"]]
    texts += [base for bases in outline["bases"].values() for base in bases]
    return " ".join(sorted(set(_NAME.findall("\n".join(texts)))))
