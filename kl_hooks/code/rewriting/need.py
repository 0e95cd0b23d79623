"""What an import at the top of a file is needed for there: nothing, annotations only, or the running program. Pure."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final

from kl_hooks.code.rewriting.evaluators import evaluator, reader_of, special
from kl_hooks.code.rewriting.names import Mentions
from kl_hooks.code.rewriting.near import lines_with, near

UNUSED: Final = "unused"
NOTED: Final = "annotations"
KEPT: Final = "kept"
_KEEP_COMMENT = re.compile(rb"#.*?(noqa(?!:)|noqa:[^#]*F401|nopycln|isort:\s*skip|import-side-effect)", re.I)


@dataclass(frozen=True, slots=True)
class Need:
    """What one imported name is needed for."""

    kind: str
    """`unused`, `annotations`, or `kept`: it has to stay as it is."""
    reason: str = ""
    """Why it is kept: a clause such as `it is used at run time (line 7)`."""
    name: str = ""
    """The name that it binds."""


@dataclass(slots=True)
class Source:
    """One parsed file, ready to be asked."""

    path: str
    content: bytes
    tree: ast.Module
    trusted: Collection[str] = ()
    """Names imported from modules of the repository that keep away from libraries which evaluate annotations."""
    readers: str | None = None
    """Who may read the annotations of this file at run time, once that was asked; empty: nobody."""

    def mentions(self, name: str) -> Mentions:
        """What the file says about a name, in strings and comments too."""
        return Mentions(name, ast.walk(self.tree), self.content.decode("utf-8", "replace"))

    def mentions_in_code(self, name: str) -> Mentions:
        """What its code itself says, sooner: from the statements where the name stands."""
        return Mentions(name, near([self.tree], lines_with(self.content, [name])))

    @property
    def lazy_annotations(self) -> bool:
        """True where the file has `from __future__ import annotations`."""
        return any(
            isinstance(node, ast.ImportFrom) and node.module == "__future__" and node.names[0].name == "annotations"
            for node in self.tree.body
        )


def need(source: Source, row: Sequence[Any]) -> Need:
    """What the thing imported by `row` (see `code.imports_found`) is needed for, libraries that look in counted."""
    found = mention(source, row)
    reason = _evaluated(source, found.name, row[1] or row[0]) if found.kind == NOTED else ""
    return Need(KEPT, reason, found.name) if reason else found


def mention(source: Source, row: Sequence[Any]) -> Need:
    """What mentions the thing imported by `row` in its file; who evaluates annotations at run time is not asked."""
    module, name, how = row[0], row[1], row[4]
    if how != "import":
        return Need(KEPT, _MANNERS.get(how, f"it is a {how}"))
    found = statement(source.tree, row)
    if found is None:
        return Need(KEPT, "it does not stand by itself at the top level of the file")
    alias = next(alias for alias in found.names if alias.name == (name or module))
    bound = alias.asname or alias.name.partition(".")[0]
    # what the code does with it is the better reason, and holds whatever a comment says
    reason = _bound_twice_or_used(source.mentions_in_code(bound), bound) or _marked(source, found, alias)
    if reason:
        return Need(KEPT, reason, bound)
    said = source.mentions(bound)
    reason = _spoken_of(said) or _answered(source.tree)
    return Need(KEPT if reason else NOTED if said.noted else UNUSED, reason, bound)


_MANNERS: Final = {
    "lazy import": "it is imported inside a function, when that runs",
    "dynamic import": "it is imported by its name at run time",
    "star import": "it imports everything, so who uses what can't be told",
    "type-checking import": "only type checkers see it, and the manifest enforces such imports too",
}


def statement(tree: ast.Module, row: Sequence[Any]) -> ast.Import | ast.ImportFrom | None:
    """The import statement at the top level of a file that `row` was read from, if it has its lines to itself."""
    module, name, level, line, *_ = row
    found = None
    for node in tree.body:
        if node.lineno <= line <= (node.end_lineno or node.lineno):
            if found is not None or node.lineno != line:
                return None  # two statements on a line
            found = node
    if isinstance(found, ast.Import) and not name and any(alias.name == module for alias in found.names):
        return found
    if isinstance(found, ast.ImportFrom) and (found.module or "", found.level) == (module, level):
        return found if any(alias.name == name for alias in found.names) else None
    return None


def _marked(source: Source, node: ast.Import | ast.ImportFrom, alias: ast.alias) -> str:
    if source.path.rpartition("/")[2] == "__init__.py":
        return "it stands in an __init__.py, where others may take it from"
    if alias.asname == alias.name:
        return f"`{alias.name} as {alias.name}` offers it to others"
    if sum(other.name == alias.name for other in node.names) > 1:
        return "the statement imports it twice"
    lines = source.content.splitlines()[node.lineno - 1 : node.end_lineno]
    found = next((match for line in lines if (match := _KEEP_COMMENT.search(line))), None)
    return f"a comment asks to leave it ({found[1].decode('ascii', 'replace')})" if found else ""


def _bound_twice_or_used(code: Mentions, bound: str) -> str:
    if code.bound > 1:
        return f"something else in the file is called {bound} too"
    return f"it is used at run time (line {code.used})" if code.used else ""


def _spoken_of(said: Mentions) -> str:
    if said.string:
        return f"a string names it (line {said.string})"
    return f"the file looks at its own names (line {said.looks})" if said.looks else ""


def _answered(tree: ast.Module) -> str:
    """Who answers for names that the module has not, so that one that went would be another thing, not missing."""
    found = next((n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "__getattr__"), None)
    return f"the module's __getattr__ would answer in its place (line {found.lineno})" if found else ""


def _evaluated(source: Source, bound: str, original: str) -> str:
    if special(source.tree, bound, original):
        return "dataclasses look for it in annotations at run time"
    if source.readers is None:
        adding = not source.lazy_annotations
        source.readers = evaluator(source.tree) or reader_of(source.tree, source.trusted, adding)
    return source.readers
