"""The imports of one file after modules got new names: the same text, with the new names in it.
Pure.

Import statements are edited at the places that `ast` gives, so that every other byte stays as it is
(why not libcst: ADR-0027). `import a.b` binds `a`, and its uses `a.b.c` are edited too, where
nothing else in the file binds `a`. What can't be edited surely is left, with the reason.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Final

from kl_hooks.code.scanner.parser import encoding_of
from kl_hooks.model.definitions import NamedTuple, lazy_pattern

_FROM: Final = lazy_pattern(rb"from(?:[ \t\f\\\r\n]+|(?=\.))(\.*)([^\W\d][\w.]*)?(?=[ \t\f\\\r\n])")
_NAMED: Final = (
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.ExceptHandler,
    ast.MatchAs,
    ast.MatchStar,
)
_Edit = tuple[int, int, str]
"""Start and end as offsets into the source, and the new text."""


@dataclass(frozen=True, slots=True)
class ModuleNames:
    """Which modules there were, and what they are called now."""

    modules: Collection[str]
    """Dotted names before."""
    renamed: Callable[[str], str]
    """Dotted name before → after; of what is in a module, by the module."""
    moved: str
    """The name of the folder or module that was moved, before."""


class RewrittenImports(NamedTuple):
    """A file with new names in its imports."""

    content: bytes
    imports: int
    """Statements that changed."""
    left: tuple[tuple[int, str], ...]
    """(line, reason) of what still has an old name."""


def rewrite_moved_imports(
    content: bytes, before: str, after: str, names: ModuleNames, *, is_package: bool
) -> RewrittenImports:
    """Rewrite the imports of a file, whose own module was `before` and is `after`.

    `is_package`: it is an `__init__.py`. A file that is not UTF-8 or does not parse is left as a
    whole.
    """
    try:
        # the offsets of a tree are those of UTF-8
        if encoding_of(content) == "utf-8":
            tree = ast.parse(content)
        else:
            tree = None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        tree = None
    if tree is None:
        reason = "the file does not parse, or is not UTF-8"
        mentioned = names.moved.rpartition(".")[2].encode() in content
        return RewrittenImports(content, 0, ((1, reason),) if mentioned else ())
    rewriter = _Rewriter(content, before, after, names, is_package)
    rewriter.statements(tree)
    return rewriter.result(tree)


class _Rewriter:
    """Gathers the edits of one file."""

    def __init__(
        self, content: bytes, before: str, after: str, names: ModuleNames, is_package: bool
    ) -> None:
        self._content, self._names = content, names
        self._package = before if is_package else before.rpartition(".")[0]
        self._package_now = after if is_package else after.rpartition(".")[0]
        # offsets of ast ignore a byte order mark
        self._mark = len(content) - len(content.removeprefix(b"\xef\xbb\xbf"))
        self._starts = [self._mark]
        for line in content[self._mark :].splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))
        self._edits: list[_Edit] = []
        self._left: list[tuple[int, str]] = []
        self._imports = 0

    def statements(self, tree: ast.Module) -> None:
        """Gather the edits of all import statements, and of the names that `import a.b` binds."""
        roots = dict[str, int]()
        for node in ast.walk(tree):
            count = len(self._edits)
            if isinstance(node, ast.ImportFrom):
                self._from_import(node)
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    if alias.asname is None:
                        roots.setdefault(alias.name.partition(".")[0], node.lineno)
                    if (new := self._names.renamed(alias.name)) != alias.name:
                        start = self._offset(alias.lineno, alias.col_offset)
                        self._edits.append((start, start + len(alias.name.encode()), new))
            self._imports += len(self._edits) > count
        self._uses(tree, roots)

    def _from_import(self, node: ast.ImportFrom) -> None:
        if node.level:
            base = _parent(self._package, node.level - 1)
        else:
            base = ""
        module = ".".join(part for part in (base, node.module or "") if part)
        now = self._names.renamed(module)
        aliases = []
        for alias in node.names:
            full = f"{module}.{alias.name}"
            if full in self._names.modules:
                new = self._names.renamed(full)
            else:
                new = ""
            if new and new != f"{now}.{alias.name}":
                aliases.append((alias, new))
        places = {new.rpartition(".")[0] for _, new in aliases} - {now}
        if places and (len(node.names) > 1 or len(places) > 1):
            self._left.append((node.lineno, "other names share the statement"))
            return
        self._module(node, places.pop() if places else now)
        for alias, new in aliases:
            name = new.rpartition(".")[2]
            if name != alias.name:
                if alias.asname:
                    alias_text = ""
                else:
                    alias_text = f" as {alias.name}"
                start = self._offset(alias.lineno, alias.col_offset)
                self._edits.append((start, start + len(alias.name.encode()), name + alias_text))

    def _module(self, node: ast.ImportFrom, wanted: str) -> None:
        """Edit the module of `from … import`, if it does not mean `wanted` as it is written."""
        if node.level:
            base = _parent(self._package_now, node.level - 1)
        else:
            base = ""
        written = ".".join(part for part in (base, node.module or "") if part)
        if written == wanted and (base or not node.level):
            return
        start = self._offset(node.lineno, node.col_offset)
        text = _FROM.match(self._content, start)
        dots, name = (text[1], text[2] or b"") if text else (b"", b"?")
        if text is None or len(dots) != node.level or name.decode() != (node.module or ""):
            self._left.append((node.lineno, "its module is written over several lines"))
            return
        if node.level:
            new = _relative(self._package_now, wanted)
        else:
            new = wanted
        self._edits.append((text.start(1), text.end(2) if text[2] else text.end(1), new))

    def _uses(self, tree: ast.Module, roots: dict[str, int]) -> None:
        """Edit `a.b.c` where `import a.b` binds `a`."""
        others = {name: line for name, line in _other_bindings(tree) if name in roots}
        edits: dict[int, tuple[int, str]] = {}
        for node in _chains(tree):
            dotted = _dotted(node)
            root = dotted.partition(".")[0]
            if root in roots:
                new = self._names.renamed(dotted)
            else:
                new = dotted
            if new == dotted:
                continue
            if root in others:
                reason = f"{root} is bound at line {others[root]} too"
                self._left.append((node.lineno, reason))
                continue
            start = self._offset(node.lineno, node.col_offset)
            end = self._offset(node.end_lineno or 0, node.end_col_offset or 0)
            if self._content[start:end] != dotted.encode():
                self._left.append((node.lineno, f"{dotted} is written over several lines"))
                continue
            # `a.b.c` holds `a.b` and `a`: the shortest that has a new name is edited
            edits[start] = min(edits.get(start, (end, new)), (end, new))
        self._edits += [(start, end, new) for start, (end, new) in edits.items()]

    def result(self, tree: ast.Module) -> RewrittenImports:
        """The file with all edits, and what still has an old name."""
        content = self._content
        for start, end, text in sorted(set(self._edits), reverse=True):
            content = content[:start] + text.encode() + content[end:]
        name = re.compile(rf"(?<![\w.]){re.escape(self._names.moved)}(?!\w)")
        strings = (node for node in ast.walk(tree) if isinstance(node, ast.Constant))
        for node in strings:
            if isinstance(node.value, str) and name.search(node.value):
                self._left.append((node.lineno, "a string names it"))
        return RewrittenImports(content, self._imports, tuple(sorted(set(self._left))))

    def _offset(self, line: int, column: int) -> int:
        return self._starts[line - 1] + column


def _parent(package: str, levels: int) -> str:
    """The package so many levels above; empty above the top."""
    parts = package.split(".")
    return ".".join(parts[: max(len(parts) - levels, 0)])


def _relative(package: str, wanted: str) -> str:
    """How a module of `package` imports `wanted` relatively; its whole name where they have no
    package in common.
    """
    here = package.split(".")
    there = wanted.split(".")
    common = 0
    while common < min(len(here), len(there)) and here[common] == there[common]:
        common += 1
    if not common:
        return wanted
    return "." * (len(here) - common + 1) + ".".join(there[common:])


def _chains(tree: ast.AST) -> Iterator[ast.Attribute | ast.Name]:
    """The dotted names of a tree, each at its full length and at each shorter one."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) or (isinstance(node, ast.Attribute) and _dotted(node)):
            yield node


def _dotted(node: ast.expr) -> str:
    """`a.b.c`; empty for what is not only names."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        value = _dotted(node.value)
        if not value:
            return ""
        return f"{value}.{node.attr}"
    return ""


def _other_bindings(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """(name, line) of everything but `import a.b` that binds a name anywhere in a file."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id, node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno
        elif isinstance(node, _NAMED) and node.name:
            yield node.name, node.lineno
        elif isinstance(node, ast.MatchMapping) and node.rest:
            yield node.rest, node.lineno
        elif isinstance(node, ast.ImportFrom | ast.Import):
            for alias in node.names:
                if alias.asname or isinstance(node, ast.ImportFrom):
                    yield alias.asname or alias.name, node.lineno
