"""The scanner of TypeScript, TSX and JavaScript: one file's bytes in, facts out.

The facts are those of every scanner (`kl_hooks.code.scanner.python` describes them), so that one
linker resolves all languages. A module is named by its path, so names come after `#`. Where a part
of a file is no syntax, the rest is read, and the error reports it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.code.scanner.expressions import DEFINED, IMPORTED, STARRED, is_anonymous
from kl_hooks.code.scanner.grammars import first_error, literals_of, parse
from kl_hooks.code.scanner.parser import (
    Facts,
    Outline,
    shortened,
)
from kl_hooks.code.scanner.source import Source
from kl_hooks.code.scanner.trees import (
    TEST,
    defined_names,
    field_words,
    guarded_facts,
    import_rows,
    other_names,
    symbol_rows,
    text_of,
    texts_with_names,
    word_rows,
)
from kl_hooks.code.typescript.blocks import BlockReader
from kl_hooks.code.typescript.scopes import expression_of, uses_of_chain
from kl_hooks.code.typescript.walk import CALLS, Declaration, Walked, walk
from kl_hooks.model.definitions import lazy_pattern

if TYPE_CHECKING:
    from tree_sitter import Node

_NAME: Final = lazy_pattern(r"[^\W\d$][\w$]*|\$[\w$]*")


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
    walked = walk(root, grammar == "javascript", BlockReader(root))
    literals = literals_of(root, grammar)
    source = Source(content, [*literals, *((*span, "comment") for span in comments)])
    symbols, places, groups = symbol_rows(
        walked.declarations, (module, ""), source, lambda group: _described(group, source)
    )
    uses = _uses(walked, places)
    outline = _outline(walked)
    imports = import_rows(walked.imports, content)
    decorators = {
        str(place): [f"@{_decorator(node)}" for node in group[0].decorators]
        for place, group in enumerate(groups, 1)
        if group[0].decorators
    }
    return {
        "error": first_error(root, content, comments),
        "symbols": symbols,
        "words": ["", *(field_words(group, source) for group in groups)],
        "imports": imports,
        "decorators": decorators,
        "uses": uses,
        "outline": outline,
        "names": _names(imports, uses, outline),
        "text": word_rows(content, symbols, groups),
    }


def _decorator(node: Node) -> str:
    return shortened(" ".join(text_of(node).removeprefix("@").split()).encode())


def _described(group: Sequence[Declaration], source: Source) -> tuple[Declaration, str, str]:
    """The implementation among overloads, its signature, and the first documentation of all."""
    shown = next((declaration for declaration in group if not declaration.is_overload), group[0])
    docs = (source.doc(declaration.node.start_byte) for declaration in group)
    return shown, _signature(shown, source), next(filter(None, docs), "")


def _signature(declaration: Declaration, source: Source) -> str:
    start = declaration.start.start_byte
    if declaration.body is not None:
        text = source.one_line(start, declaration.body.start_byte)
        return text.removesuffix("{").rstrip()
    if declaration.is_overload or declaration.prefix in ("method", "function"):
        text = source.one_line(start, declaration.node.end_byte)
        return text.rstrip(";,").rstrip()
    return source.first_line(start, declaration.node.end_byte)


def _uses(walked: Walked, places: Sequence[int]) -> dict[str, list[int]]:
    uses: dict[str, list[int]] = {}
    for use in walked.uses:
        owner = places[use.owner] if use.owner >= 0 else 0
        for expression in uses_of_chain(use.scope, use.chain, use.relation == CALLS):
            uses.setdefault(expression, []).extend((owner, use.relation, use.line))
    return uses


def _outline(walked: Walked) -> Outline:
    names = (
        (name, exported if isinstance(exported, str) else expression_of(*exported))
        for name, exported in walked.exports.items()
    )
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
        "defs": defined_names(
            declaration for declaration in walked.declarations if declaration.prefix != TEST
        ),
        "names": other_names(names),
        "bases": bases,
        "types": types,
        "stars": list(dict.fromkeys(walked.stars)),
        "all": None,
    }


def _name_expression(expression: str) -> str:
    if expression[:1] in (DEFINED, IMPORTED, STARRED) and not is_anonymous(expression):
        return expression
    return ""


def _names(imports: Sequence[Sequence[Any]], uses: Mapping[str, Any], outline: Outline) -> str:
    """Every identifier in a file's imports and expressions, once."""
    texts = texts_with_names(imports, uses, outline)
    return " ".join(sorted(set(_NAME.findall("\n".join(texts)))))
