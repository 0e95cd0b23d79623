"""The door of `code`: its tables, the scanner for Python, and the symbols it offers to a task."""

from __future__ import annotations

from collections.abc import Sequence

from kl_hooks.hookspecs import Retriever, Scanner, Schema, hookimpl


@hookimpl
def kl_schema() -> Schema:
    """Facts by content, files, symbols, and what modules are named by."""
    from kl_hooks.code.tables import CODE, LISTED, RENAMED, SAID, USES

    return Schema("code", "graph", (CODE, USES, SAID, LISTED, RENAMED))


@hookimpl
def kl_scanners() -> Sequence[Scanner]:
    """Python, by the standard library's parser."""
    from kl_hooks.code.guarded import VERSION, imports_guarded, scan_guarded

    return [Scanner("python", (".py",), VERSION, scan_guarded, imports_guarded)]


@hookimpl
def kl_retrievers() -> Sequence[Retriever]:
    """`symbols`: what is defined here and bears the task's words."""
    from kl_hooks.code.retrieve import find_symbols

    return [Retriever("symbols", 100, find_symbols)]
