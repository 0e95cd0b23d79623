"""Where else a name may be taken out of a module at run time: by attribute, by a string, by a keyword."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Mapping

from kl_hooks.code.imports import Known, file_links
from kl_hooks.code.modules import plain_name
from kl_hooks.code.rewriting.near import any_of
from kl_hooks.code.rewriting.parsed import parsed
from kl_hooks.code.rewriting.taking import Importing, Taken, taken
from kl_hooks.model.ids import split


class Elsewhere:
    """Files that were asked already, and who reaches what."""

    def __init__(self, known: Known, importers: Callable[[], Mapping[str, Iterable[str]]]) -> None:
        """`importers`: gives file → the files that import it."""
        self._known, self._importers = known, importers
        self._taken: dict[str, Taken | None] = {}
        self._reaching: dict[str, set[str]] = {}

    def line(self, path: str, content: bytes, module: str, name: str) -> int:
        """The line where a file may take `name` from a module (its dotted name); 0 where it surely does not.

        It may where it reaches the module, by imports or because it says what the module is called.
        """
        last = module.rpartition(".")[2]
        if not path.endswith(".py"):
            return _shown(content, re.escape(last.encode()), re.escape(name.encode()))
        if path not in self._reached_by(module) and not any_of([last]).search(content):
            return 0
        if path not in self._taken:
            tree = parsed(content)
            self._taken[path] = taken(tree, lambda *node: self._module(path, *node)) if tree else None
        found = self._taken[path]
        if found is None:
            return _line(content, any_of([name]))
        # a program that minds its own paths may import the module by the last part of its name
        places = found.get(name, {}).items()
        return min((line for owner, line in places if owner is None or owner.rpartition(".")[2] == last), default=0)

    def _reached_by(self, module: str) -> set[str]:
        """The files that import a module or a package above it, and those that import them."""
        if module not in self._reaching:
            parts, importers = module.split("."), self._importers()
            above = [".".join(parts[:count]) for count in range(1, len(parts) + 1)]
            todo = [path for name in above for path, _ in self._known.called(name)]
            seen = set(todo)
            while todo:
                new = set(importers.get(todo.pop(), ())) - seen
                seen |= new
                todo += new
            self._reaching[module] = seen
        return self._reaching[module]

    def _module(self, path: str, node: Importing, alias: ast.alias) -> str | None:
        """See `taken`."""
        if isinstance(node, ast.Import):
            return alias.name if alias.asname else alias.name.partition(".")[0]
        base = node.module or ""
        if not node.level and not self._inside(base):
            return base
        for link in file_links(path, [(base, alias.name, node.level, 0, "import", "")], self._known):
            target = plain_name(split(link.target)[1])
            if target.endswith(f".{alias.name}") and self._known.called(target):
                return target
        return None

    def _inside(self, name: str) -> bool:
        top = name.partition(".")[0]
        return bool(self._known.called(top)) or self._known.inside(top)


def _shown(content: bytes, module: bytes, name: bytes) -> int:
    """The line of a text that is no program where it names both together, or shows a program that imports it."""
    found = _line(content, re.compile(rb"\b%s[.:]%s\b" % (module, name)))
    importing = re.compile(rb"^[ \t>.]*(?:from|import)\b[^\n]*\b%s\b" % module, re.MULTILINE)
    return found or (_line(content, re.compile(rb"\b%s\b" % name)) if importing.search(content) else 0)


def _line(content: bytes, sought: re.Pattern[bytes]) -> int:
    found = sought.search(content)
    return content.count(b"\n", 0, found.start()) + 1 if found else 0
