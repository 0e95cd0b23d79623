"""The precise scanner for Python: the facts of one file as libcst sees them, by its own parser, scopes and positions.

It fills the same contract as `scan.scan_python` for definitions and imports and shares no code with it that looks at a
syntax tree. Content hashes and words stay empty: there is one definition of these, the fast scanner's walk.
"""

from __future__ import annotations

from typing import Any

from kl_hooks.code.parse import Facts
from kl_hooks.code.precise.names import Found, is_overload, sort_of
from kl_hooks.code.precise.text import Source, doc_line, header
from kl_hooks.code.symbols import namespace_signature


def scan_precise(content: bytes, path: str, module: str) -> Facts:
    """The facts of one Python file that CPython's parser accepts.

    Raises what libcst raises for what it can't read, RecursionError for what is nested too deeply for a visitor in
    Python; libcst may also end the process, so call it in one that may be lost (`precise_run`).
    """
    import libcst
    from libcst.metadata import MetadataWrapper, PositionProvider, ScopeProvider

    from kl_hooks.code.precise.visit import Visitor

    wrapper = MetadataWrapper(libcst.parse_module(content), unsafe_skip_copy=True)
    known = wrapper.resolve_many((PositionProvider, ScopeProvider))
    source = Source(wrapper.module, known[PositionProvider])
    visitor = Visitor(source, known[ScopeProvider])
    wrapper.module.visit(visitor)
    whole = [f"namespace:{module}", 1, source.count, namespace_signature(module), doc_line(wrapper.module), ""]
    rows = [whole, *_rows(visitor.found, source, module)]
    imports = sorted(visitor.imports, key=lambda row: (row[3], row[0], row[1]))
    return {"error": "", "symbols": rows, "words": ["" for _ in rows], "imports": imports}


def _rows(found: list[Found], source: Source, module: str) -> list[list[Any]]:
    """A row for each name: place and signature of its first definition that is no overload, the first docstring."""
    same: dict[str, list[Found]] = {}
    for one in found:
        same.setdefault(f"{sort_of(one)}:{module}.{one.name}", []).append(one)
    rows = []
    for name, all_of_it in same.items():
        chosen = next((one for one in all_of_it if not is_overload(one)), all_of_it[0])
        line, _, end_line, _ = source.place(chosen.node)
        definition = chosen.kind in ("class", "function")
        signature = header(source, chosen.node) if definition else source.statement(chosen.node)
        doc = next(filter(None, (doc_line(one.node) for one in all_of_it)), "") if definition else ""
        rows.append([name, line, end_line, signature, doc, ""])
    return rows
