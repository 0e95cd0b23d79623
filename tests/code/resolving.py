"""Small repositories as tables of sources, and what the resolver makes of the uses in them."""

from __future__ import annotations

from textwrap import dedent

from kl_hooks.code.file_facts import named_facts
from kl_hooks.code.linker import Resolver, from_import_links, used_links
from kl_hooks.code.modules import ModuleIndex
from kl_hooks.code.scanner.python import Facts, scan_python

Row = tuple[str, str, str, int, str, int]


def rows(files: dict[str, str], path: str) -> list[Row]:
    """The links that the uses in one of the files give: (source, relation, target, line, method,
    percent).
    """
    facts, modules, resolver = _read(files)
    names = {
        row[0].partition(":")[2].rpartition(".")[2]
        for one in facts.values()
        for row in one["symbols"]
    }
    ids = [row[0] for row in facts[path]["symbols"]]
    return list(used_links(modules[path], ids, facts[path]["uses"], resolver, names.__contains__))


def taken(files: dict[str, str], path: str) -> list[Row]:
    """The links to what one of the files imports by name."""
    facts, modules, resolver = _read(files)
    return list(from_import_links(modules[path], facts[path]["imports"], resolver))


def called(files: dict[str, str], path: str) -> list[str]:
    """What is called in one of the files, sorted: an Id, or `name:x`; without constructors."""
    found = [row for row in rows(files, path) if row[1] == "calls" and row[4] != "constructor"]
    return sorted(row[2] for row in found)


def _read(files: dict[str, str]) -> tuple[dict[str, Facts], dict[str, str], Resolver]:
    facts = named_facts(
        {name: scan_python(dedent(text).encode(), name, "_") for name, text in files.items()}
    )
    assert not any(one["error"] for one in facts.values())
    modules = {name: one["symbols"][0][0].partition(":")[2] for name, one in facts.items()}
    outlines = {modules[name]: one["outline"] for name, one in facts.items()}
    return facts, modules, Resolver(ModuleIndex(modules), outlines.get)
