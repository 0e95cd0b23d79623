"""The scanner of Rust: one file's bytes in, facts out.

The facts are those of every scanner (`kl_hooks.code.scanner.python` describes them), so that one
linker resolves all languages. Where a part of a file is no syntax, the rest is read, and the error
reports it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.code.module_systems import FIELD, MACRO, decoded, extension_word
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
    PARTIAL,
    Facts,
    Outline,
    shortened,
)
from kl_hooks.code.scanner.source import RUST, Source
from kl_hooks.code.scanner.trees import (
    defined_names,
    field_words,
    guarded_facts,
    import_rows,
    other_names,
    symbol_rows,
    texts_with_names,
    word_rows,
)
from kl_hooks.model.definitions import lazy_pattern

if TYPE_CHECKING:
    from tree_sitter import Node

_NAME: Final = lazy_pattern(r"[^\W\d]\w*")


def scan_rust(content: bytes, path: str, module: str) -> Facts:
    """The facts of a Rust file."""
    return guarded_facts(content, lambda: _facts(content, module))


def _facts(content: bytes, module: str) -> Facts:
    tree, _ = parse(content, "rust")
    root = tree.root_node
    walked = walk(root, content)
    source = Source(content, literals_of(root, "rust"), RUST)
    symbols, places, groups = symbol_rows(
        walked.declarations,
        (module, _inner_doc(root)),
        source,
        lambda group: (group[0], _signature(group[0], source), _doc_of(group)),
    )
    uses = _uses(walked, places)
    outline = _outline(walked)
    imports = import_rows(walked.imports, content)
    attributes = {
        str(place): texts for place, group in enumerate(groups, 1) if (texts := _marks(group))
    }
    return {
        "error": error_in_part(root) or _unread_macro(walked),
        "symbols": symbols,
        "words": ["", *(field_words(group, source) for group in groups)],
        "imports": imports,
        "decorators": attributes,
        "uses": uses,
        "outline": outline,
        "names": _names(imports, uses, outline),
        "text": word_rows(content, symbols, groups, RUST),
    }


def _unread_macro(walked: Walked) -> str:
    """The macro whose items are unknown, as an error of facts: one may be an import."""
    if walked.unread_macro is None:
        return ""
    row, column = walked.unread_macro.start_point
    return f"{row + 1}:{column + 1}: macros nest too deeply, {PARTIAL}"


def _marks(group: Sequence[Declaration]) -> list[str]:
    """The attributes of a symbol, and the traits that it is a part of: `impl fmt::Display`."""
    attributes = [_attribute(node) for node in group[0].before if node.type == "attribute_item"]
    traits = [f"impl {declaration.trait}" for declaration in group if declaration.trait]
    return [*attributes, *(shortened(text.encode()) for text in dict.fromkeys(traits))]


def _attribute(node: Node) -> str:
    return shortened(" ".join(text_of(node).split()).encode())


# -- symbols


def _signature(declaration: Declaration, source: Source) -> str:
    start = declaration.node.start_byte
    end = declaration.node.end_byte
    if declaration.body is not None:
        return source.one_line(start, declaration.body.start_byte).rstrip("{( ")
    if declaration.prefix == "field":
        return source.first_line(start, end)
    return source.one_line(start, end).rstrip(";,").rstrip()


def _doc_of(group: Sequence[Declaration]) -> str:
    """The first documentation of declarations with one ID."""
    return next(filter(None, (_doc(declaration.before) for declaration in group)), "")


def _doc(before: Sequence[Node]) -> str:
    """The first line of the documentation among what is before an item."""
    for node in before:
        marked = node.child_by_field_name("outer") is not None
        if node.type != "attribute_item" and not marked:
            continue
        if node.type == "attribute_item":
            text = _doc_attribute(node)
        else:
            text = text_of(node)
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
    if attribute is not None:
        value = attribute.child_by_field_name("value")
    else:
        value = None
    if attribute is None or value is None or text_of(attribute.named_children[0]) != "doc":
        return ""
    return text_of(value).strip('"')


_COMMENT_SIGNS: Final = lazy_pattern(r"^\s*(?://[/!]|/\*[*!]|\*(?!/))? ?|\*/\s*$")


def _first_line(comment: str) -> str:
    for line in comment.splitlines():
        text = _COMMENT_SIGNS.sub("", line).strip()
        if text:
            if len(text) <= LONGEST:
                return text
            return f"{text[: LONGEST - 1]}…"
    return ""


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
            if use.owner >= 0:
                owner = places[use.owner]
            else:
                owner = 0
        for expression in uses_of_chain(use.scope, use.chain, use.relation == CALLS):
            uses.setdefault(expression, []).extend((owner, use.relation, use.line))
    return uses


def _outline(walked: Walked) -> Outline:
    names = (
        (name, bound if isinstance(bound, str) else expression_of(*bound))
        for name, bound in walked.names.items()
    )
    functions = {
        declaration.name for declaration in walked.declarations if declaration.prefix in _FUNCTIONS
    }
    outline: Outline = {
        "defs": defined_names(walked.declarations) | _hidden_fields(walked, functions),
        "names": other_names(names),
        "bases": {
            name: [_name_expression(scope, chain) for scope, chain in chains]
            for name, chains in walked.bases.items()
        },
        "types": _types(walked, functions),
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
    if walked.macros:
        outline["macros"] = walked.macros
    if walked.modules:
        outline["settings"] = {MODULES: json.dumps(walked.modules, ensure_ascii=False)}
    return outline


_FUNCTIONS: Final = ("function", "method")


def _hidden_fields(walked: Walked, functions: Collection[str]) -> dict[str, str]:
    """The fields that are named as a method is, under names of their own."""
    return {
        f"{declaration.name}{FIELD}": declaration.prefix
        for declaration in walked.declarations
        if declaration.prefix == "field" and declaration.name in functions
    }


def _types(walked: Walked, functions: Collection[str]) -> dict[str, str]:
    types = {}
    for name, sources in walked.types.items():
        if name.removesuffix(FIELD) not in functions:
            name = name.removesuffix(FIELD)
        expressions = {expression_of(scope, chain) for scope, chain in sources}
        if len(expressions) == 1:
            expression = expressions.pop()
        else:
            expression = UNKNOWN
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


def _names(imports: Sequence[Sequence[Any]], uses: Mapping[str, Any], outline: Outline) -> str:
    """Every identifier in a file's imports and expressions, once, and the types it extends."""
    text = decoded("\n".join(texts_with_names(imports, uses, outline)))
    extended = {
        extension_word(last_part(expression)) for expression in outline.get("extended", {}).values()
    }
    macros = {extension_word(f"{name}{MACRO}") for name in outline.get("macros", {})}
    return " ".join(sorted({*_NAME.findall(text), *extended, *macros}))
