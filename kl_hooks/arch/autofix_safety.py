"""Whether an import can be removed from a file without anybody noticing: the rest of the repository is asked."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

from kl_hooks.arch.import_survey import Survey
from kl_hooks.arch.packages import NON_PRODUCT_NAMES
from kl_hooks.code.modules import ModuleIndex, file_links, plain_name
from kl_hooks.code.rewrite.attribute_use import Importing, Taken, attribute_uses
from kl_hooks.code.rewrite.import_use import LIBRARIES
from kl_hooks.code.rewrite.side_effects import first_side_effect
from kl_hooks.code.rewrite.source_text import any_of, parsed
from kl_hooks.git import files
from kl_hooks.graph.algorithms import components
from kl_hooks.model.manifest import Violation
from kl_hooks.model.symbol import split_id


class _NameUse:
    """Files that were asked already, and who reaches what."""

    def __init__(self, known: ModuleIndex, importers: Callable[[], Mapping[str, Iterable[str]]]) -> None:
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
            self._taken[path] = attribute_uses(tree, lambda *node: self._module(path, *node)) if tree else None
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
        """See `attribute_uses`."""
        if isinstance(node, ast.Import):
            return alias.name if alias.asname else alias.name.partition(".")[0]
        base = node.module or ""
        if not node.level and not self._inside(base):
            return base
        for link in file_links(path, [(base, alias.name, node.level, 0, "import", "")], self._known):
            target = plain_name(split_id(link.target)[1])
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


_AT_ONCE: Final = ("import", "star import")
"""Manners of imports that run when the module is imported."""
_PEEK = re.compile(rb"\b(get_type_hints|get_annotations|eval_str|__annotations__)\b")

_PAGES: Final = (".md", ".rst", ".txt")
"""Endings of files whose examples may be run as doctests."""

Row = Sequence[Any]
"""An import as the source says it: see `code.imports_found`."""
ImportEdge = tuple[str, str]
"""(importing file, imported file)"""


class RepositoryContext:
    """The repository around the imports that may go. Reads sources as they are asked for, each once."""

    def __init__(self, survey: Survey) -> None:
        self._survey = survey
        self._file = {module: path for path, module in survey.modules.items()}
        self._trees: dict[str, ast.Module | None] = {}
        self._known = survey.known()
        self._kept_away: dict[str, bool] = {}
        self._elsewhere = _NameUse(self._known, lambda: self._importers)

    def taken_elsewhere(self, path: str, name: str) -> str:
        """Who else takes `name` from the file `path`, as a clause; empty where nobody does."""
        word, owner = name.encode(), plain_name(self._survey.modules[path])
        for other, content in self._contents.items():
            if other == path or (word not in content and b"*" not in content):
                continue
            line = self._asks(other, path, name) or self._elsewhere.line(other, content, owner, name)
            if line:
                return f"{other}:{line} may take {name} from here"
        return ""

    def _asks(self, other: str, path: str, name: str) -> int:
        """The line where a file imports `name` (or everything) from another; 0: it does not."""
        target = f"namespace:{self._survey.modules[path]}"
        for row in self._survey.facts.get(other, {}).get("imports", ()):
            if row[1] in (name, "*") and any(link.target == target for link in file_links(other, [row], self._known)):
                return int(row[3])
        return 0

    def edge(self, path: str, row: Row) -> ImportEdge | None:
        """The files at both ends of an import; None where what it imports has no source here."""
        links = file_links(path, [row], self._known)
        file = self._file.get(split_id(links[0].target)[1]) if links else None
        return (path, file) if file else None

    def staying(self, path: str, going: Sequence[Row]) -> set[ImportEdge | None]:
        """What a file still imports, when it is imported itself, without these rows."""
        rows = [row for row in self._survey.facts.get(path, {}).get("imports", ()) if row not in going]
        return {self.edge(path, row) for row in rows if row[4] in _AT_ONCE}

    def unsafe(self, going: Iterable[ImportEdge]) -> dict[ImportEdge, str]:
        """Those of these imports without which the program may run otherwise, each with the reason as a clause."""
        gone = set(going)
        graph = self._graph(gone)
        circles = [set(one) for one in components(sorted(graph), _without_parents(graph)) if len(one) > 1]
        return {edge: reason for edge in sorted(gone) if (reason := self._unsafe(edge, graph, circles))}

    def _unsafe(self, edge: ImportEdge, graph: Mapping[str, list[str]], circles: list[set[str]]) -> str:
        path, target = edge
        if self._survey.modules.get(target) is None:
            return "what it imports has no source in this repository"
        reached = _closure(target, graph)
        for circle in circles:
            if circle & reached:
                some = " and ".join(sorted(circle)[:2])
                return f"{some} import each other, and this import may decide which comes first"
        taking = min(reached & self._whole.keys(), default="")
        if taking:
            return f"{taking} takes everything of {self._whole[taking]}, and what that is depends on earlier imports"
        for file in sorted(reached - _closure(path, graph)):
            line, what = self._disturbance(file)
            if what:
                return f"importing {file} does more than define (line {line}: {what}), and it might no longer happen"
        return self._submodule(path, target)

    def _submodule(self, path: str, target: str) -> str:
        """Who uses `package.module` although only others import that module."""
        package, dot, last = (whole := plain_name(self._survey.modules[target])).rpartition(".")
        if not dot:
            return ""
        for other, content in self._contents.items():
            direct = other == path or target in self._direct.get(other, ())
            if other in self._survey.ready.errors:  # it can't be parsed
                direct = direct or whole.encode() in content
            if other.endswith(".py") and not direct and last.encode() in content:
                line = self._elsewhere.line(other, content, package, last)
                if line:
                    return f"{other}:{line} may use {package.rpartition('.')[2]}.{last} because it is imported here"
        return ""

    def evaluator(self, path: str) -> str:
        """Who outside the file may look at its annotations at run time, as a clause."""
        for other, content in self._contents.items():
            found = _PEEK.search(content) if other.endswith(".py") and not _aside(other) else None
            if found and other != path:
                line = content.count(b"\n", 0, found.start()) + 1
                return f"{other}:{line} looks at annotations at run time ({found[1].decode()})"
        users, seen = [path], {path}
        while users:
            for user in self._importers.get(users.pop(), ()):
                library = self._library(user)
                if library and not _aside(user):
                    return f"{user} imports it and {library}, which may evaluate its annotations at run time"
                if user.endswith("/__init__.py") and user not in seen:
                    seen.add(user)
                    users.append(user)
        return ""

    def trusted(self, path: str) -> set[str]:
        """The names of a file that come from modules of this repository which evaluate no annotations."""
        found: set[str] = set()
        for row in self._survey.facts.get(path, {}).get("imports", ()):
            files = [self._file.get(split_id(link.target)[1]) for link in file_links(path, [row], self._known)]
            if files and all(file and self._plain(file) for file in files):
                found |= _names(row)
        return found

    @cached_property
    def _contents(self) -> Mapping[str, bytes]:
        content = self._survey.content
        pages = content.read(files.worktree_files(content.repo, _PAGES, content.look))
        shown = {entry.path: text for entry, text in pages if b"import" in text}
        return {**self._survey.read(sorted(entry.path for entry in content.entries)), **shown}

    @cached_property
    def _direct(self) -> dict[str, set[str]]:
        """File → the files that it names in imports which run with it."""
        found: dict[str, set[str]] = {path: set() for path in self._survey.modules}
        for link in self._survey.links:
            file = self._file.get(split_id(link.target)[1])
            if file and link.method in _AT_ONCE:
                found[link.path].add(file)
        return found

    @cached_property
    def _whole(self) -> dict[str, str]:
        """File → a package (its `__init__.py`) of which it takes everything when it is imported."""
        found = {}
        for path in self._survey.modules:
            for row in self._survey.facts.get(path, {}).get("imports", ()):
                edge = self.edge(path, row) if row[1] == "*" and row[4] in _AT_ONCE else None
                if edge and edge[1].endswith("/__init__.py"):
                    found[path] = edge[1]
        return found

    @cached_property
    def _imports(self) -> dict[str, list[str]]:
        return self._graph(set())

    def _graph(self, gone: Collection[ImportEdge]) -> dict[str, list[str]]:
        """File → the files that are imported with it, packages above them (and above itself) included."""
        found = {}
        for path, targets in self._direct.items():
            ends = {path, *(to for to in targets if (path, to) not in gone)}
            found[path] = sorted((ends | {above for end in ends for above in self._above(end)}) - {path})
        return found

    def _above(self, path: str) -> list[str]:
        """The `__init__.py` files of the packages that a file is in."""
        parts = plain_name(self._survey.modules[path]).split(".")
        files = (self._file.get(".".join(parts[:count])) for count in range(1, len(parts)))
        return [file for file in files if file]

    @cached_property
    def _importers(self) -> dict[str, list[str]]:
        found: dict[str, set[str]] = defaultdict(set)
        for link in self._survey.links:
            file = self._file.get(split_id(link.target)[1])
            if file:
                found[file].add(link.path)
        return {path: sorted(users) for path, users in found.items()}

    def _plain(self, path: str) -> bool:
        """True if a file, with all that it imports, keeps away from libraries that evaluate annotations."""
        if path not in self._kept_away:
            self._kept_away[path] = not any(map(self._library, _closure(path, self._imports)))
        return self._kept_away[path]

    def _library(self, path: str) -> str:
        """A library imported by a file that evaluates annotations at run time."""
        rows = self._survey.facts.get(path, {}).get("imports", ())
        return next((top for row in rows if not row[2] and (top := row[0].partition(".")[0]) in LIBRARIES), "")

    def _disturbance(self, path: str) -> tuple[int, str]:
        if path not in self._trees:
            self._trees[path] = parsed(self._contents.get(path, b"\0"))
        tree = self._trees[path]
        rows = self._survey.facts.get(path, {}).get("imports", ())
        inside = {name for row in rows for name in _names(row) if self._in_repository(path, row)}
        try:
            return first_side_effect(tree, inside) if tree else (0, "it can't be read")
        except RecursionError:
            return 0, "it is nested too deeply"

    def _in_repository(self, path: str, row: Row) -> bool:
        return any(split_id(link.target)[1] in self._file for link in file_links(path, [row], self._known))


def import_rows(survey: Survey, violation: Violation) -> list[Row]:
    """The rows of a file's imports (see `code.imports_found`) that a violation is about."""
    known = survey.known()
    rows = survey.facts.get(violation.path, {}).get("imports", ())
    here = [row for row in rows if row[3] == violation.line and row[4] == violation.method]
    return [
        row
        for row in here
        if any(
            plain_name(split_id(one.target)[1]) == violation.imported
            for one in file_links(violation.path, [row], known)
        )
    ]


def _names(row: Row) -> set[str]:
    """The names that a row may bind: its own, and one given with `as`."""
    name = str(row[1] or row[0])
    renamed = re.findall(rf"\b{re.escape(name)}\s+as\s+(\w+)", str(row[5]))
    return {*renamed, name.partition(".")[0]}


def _closure(start: str, graph: Mapping[str, Iterable[str]]) -> set[str]:
    seen, todo = {start}, [start]
    while todo:
        new = [to for to in graph.get(todo.pop(), ()) if to not in seen]
        seen.update(new)
        todo += new
    return seen


def _without_parents(graph: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """Without imports of a package by what is in it: a package always comes before what is in it."""
    return {
        path: [to for to in targets if not (to.endswith("/__init__.py") and path.startswith(to[: -len("__init__.py")]))]
        for path, targets in graph.items()
    }


def _aside(path: str) -> bool:
    """True for tests and what else is not the product."""
    return path.split("/")[0] in NON_PRODUCT_NAMES or path.rpartition("/")[2].startswith(("test_", "conftest"))
