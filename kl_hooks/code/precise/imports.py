"""Import rows (see `code.scan`) from libcst's nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kl_hooks.code.precise.names import last_name

if TYPE_CHECKING:
    from kl_hooks.code.precise.text import Source

DYNAMIC = ("import_module", "__import__")
"""The functions that import by name."""


def import_rows(node: Any, how: str, source: Source) -> list[list[Any]]:
    """`[module, name, level, line, how, statement]` for everything that an import statement imports."""
    import libcst
    from libcst.helpers import get_full_name_for_node

    line, _, end_line, _ = source.place(node)

    def text(short: str) -> str:
        return source.statement(node) if line == end_line else short

    if isinstance(node, libcst.Import):
        names = [get_full_name_for_node(alias.name) or "" for alias in node.names]
        return [[name, "", 0, line, how, text(f"import {name}")] for name in names]
    module = get_full_name_for_node(node.module) or "" if node.module is not None else ""
    start = "." * len(node.relative) + module
    if isinstance(node.names, libcst.ImportStar):
        manner = "star import" if how == "import" else how
        return [[module, "*", len(node.relative), line, manner, text(f"from {start} import *")]]
    found = [get_full_name_for_node(alias.name) or "" for alias in node.names]
    return [[module, name, len(node.relative), line, how, text(f"from {start} import {name}")] for name in found]


def dynamic_row(node: Any, source: Source, importers: set[str]) -> list[list[Any]]:
    """The row of `importlib.import_module("a.b")` or `__import__("a.b")` with a literal name; else none.

    `importers`: what such functions are called in the file.
    """
    if last_name(node.func) not in importers or not _plain(node.func):
        return []
    if last_name(node.func) == "__import__":
        line, text = source.place(node)[0], source.statement(node)
        return [[*row, line, "dynamic import", text] for row in _dunder(node)]
    positional = [arg.value for arg in node.args if arg.keyword is None and arg.star != "**"]
    named = {arg.keyword.value: arg.value for arg in node.args if arg.keyword is not None}
    name = _literal(positional[0] if positional else named.get("name"))
    parts = name.lstrip(".").split(".")
    if not all(part.isidentifier() for part in parts):
        return []
    dots, module = len(name) - len(name.lstrip(".")), ".".join(parts)
    if dots:
        package = positional[1] if len(positional) > 1 else named.get("package")
        given = _literal(package)
        if given:
            above = given.split(".")
            dots, module = 0, ".".join([*above[: len(above) - dots + 1], module])
        elif last_name(package) != "__package__" or not _plain(package, attribute=False):
            return []
    return [[module, "", dots, source.place(node)[0], "dynamic import", source.statement(node)]]


def _dunder(node: Any) -> list[tuple[str, str, int]]:
    """`(module, name, level)` of `__import__(module, globals, locals, fromlist, level)`, where these are literal."""
    import libcst

    order = iter(("name", "globals", "locals", "fromlist", "level"))
    given: dict[str, Any] = {}
    for arg in node.args:
        key = arg.keyword.value if arg.keyword else "" if arg.star == "**" else next(order, "")
        given[key] = libcst.Name("_") if arg.star else arg.value
    if not isinstance(given.get("name"), libcst.SimpleString | libcst.ConcatenatedString):
        return []
    module, written = _literal(given["name"]), given.get("level", libcst.Integer("0"))
    if not isinstance(written, libcst.Integer) or not all(part.isidentifier() for part in module.split(".") if module):
        return []
    level = int(written.evaluated_value)
    wanted = given.get("fromlist")
    items = [one.value for one in wanted.elements] if isinstance(wanted, libcst.List | libcst.Tuple) else []
    names = [name for name in map(_literal, items) if name]
    return [(module, name, level) for name in names if module or level] or ([(module, "", level)] if module else [])


def _plain(node: Any, attribute: bool = True) -> bool:
    import libcst

    return isinstance(node, libcst.Name) or (attribute and isinstance(node, libcst.Attribute))


def _literal(node: Any) -> str:
    """The value of a text literal, or empty."""
    import libcst

    if not isinstance(node, libcst.SimpleString | libcst.ConcatenatedString):
        return ""
    value = node.evaluated_value
    return value if isinstance(value, str) else ""
