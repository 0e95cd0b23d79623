"""Check an edit before it is made: does an import that it adds cross a layer? Nothing is recorded
or changed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from typing import TYPE_CHECKING, Final

from kl_hooks.model.definitions import NamedTuple, lazy_pattern

if TYPE_CHECKING:
    from kl_hooks.git.files import FileEntry
    from kl_hooks.model.manifest import Violation
    from kl_hooks.workspace import Workspace


class Edit(NamedTuple):
    """The content of a file before and after an edit."""

    path: str
    """From the repository's root."""
    before: str
    """Empty for a new file."""
    after: str


def added_imports(edit: Edit) -> list[int]:
    """Return the lines (from 1) of the imports in the new content that the old one does not have.

    No line where either does not parse: an edit that is one of several may leave a file broken. Of
    a language whose scanner is not installed no line either.
    """
    if _has_the_same_imports(edit):
        return []
    imports_of = _imports if edit.path.endswith(".py") else partial(_scanned_imports, edit.path)
    try:
        before = {key for key, _ in imports_of(edit.before)}
        return [line for key, line in imports_of(edit.after) if key not in before]
    # ValueError: a NUL in the source, before CPython 3.12
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []


def may_import(path: str) -> bool:
    """Whether a file of this name may have imports that are checked."""
    if path.endswith(".py"):
        return True
    from kl_hooks.code.languages import is_source

    return is_source(path)


_NAMES: Final = lazy_pattern(r"[\s,(]*[\w*][\s\w.,*]*([);#].*)?")
"""A line of Python that may name what an import over several lines imports."""
_MARKS: Final = ("import", '"""', "'''", "\\")
"""Without one of these a line of Python begins no import, and turns no text into code."""
_NAMES_ELSEWHERE: Final = lazy_pattern(r"[\s,{}]*[\w$*][\s\w$,{}*#]*((//|;).*)?")
_MARKS_ELSEWHERE: Final = (
    *("import", "export", "from", "require", "use", "mod", "crate", "::"),
    *('"', "'", "`", "/*", "*/"),
)
"""The same of TypeScript, JavaScript and Rust, where a path is an import wherever it is written."""


def _has_the_same_imports(edit: Edit) -> bool:
    """Return True where the changed lines alone show that no import is added: most edits need no
    parser.

    No word `import`, no line that could be a name among others in brackets, and nothing that could
    turn text into code.
    """
    old = edit.before.split("\n")
    new = edit.after.split("\n")
    start = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False)))
    old, new = old[start:][::-1], new[start:][::-1]
    end = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False)))
    old, new = old[end:], new[end:]
    is_python = edit.path.endswith(".py")
    marks, names = (_MARKS, _NAMES) if is_python else (_MARKS_ELSEWHERE, _NAMES_ELSEWHERE)
    risky = any(mark in line for line in (*old, *new) for mark in marks)
    return not risky and not any(names.fullmatch(line) for line in new)


def _scanned_imports(path: str, source: str) -> Iterator[tuple[tuple[str, str, str], int]]:
    """Yield ((specifier, name, manner), line) of every import of a file that a scanner reads.
    SyntaxError where it is not whole.
    """
    from kl_hooks.code.languages import own_scanners, scanner_of

    scanner = scanner_of(path, own_scanners())
    if scanner is None:
        return
    facts = scanner.scan(source.encode("utf-8", "surrogateescape"), path, path)
    if facts["error"]:
        raise SyntaxError(facts["error"])
    for specifier, name, _, line, manner, *_ in facts["imports"]:
        yield (specifier, name, manner), line


def _imports(source: str) -> Iterator[tuple[tuple[int, str, str], int]]:
    """Yield ((level, module, name), line) of every import of a file."""
    if "import" not in source:
        return
    for node in _statements(ast.parse(source).body):
        if isinstance(node, ast.Import):
            yield from (((0, one.name, ""), node.lineno) for one in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (
                ((node.level, node.module or "", one.name), node.lineno) for one in node.names
            )


def _statements(body: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """Yield the statements of a block and of those in it: an expression holds no import, and is
    most of a tree.
    """
    for node in body:
        yield node
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            inner = getattr(node, name, ())
            if isinstance(inner, list):
                yield from _statements(inner)


def new_violations(ws: Workspace, edits: Sequence[Edit]) -> tuple[list[Violation], dict[str, str]]:
    """Return the violations that the imports added by these edits would be, and the titles of their
    decisions.

    What an exception or the baseline accepts is none. Raises as `run_check`.
    """
    from kl_hooks.git.files import FileEntry
    from kl_hooks.git.objects import object_id
    from kl_hooks.model.manifest import MANIFEST

    lines = {edit.path: set(added_imports(edit)) for edit in edits}
    if ws.repo is None or not any(lines.values()) or not (ws.root / MANIFEST).is_file():
        return [], {}
    from kl_hooks.arch.content import Content, decision_titles, load_content, utc_day
    from kl_hooks.arch.import_survey import survey_imports
    from kl_hooks.arch.layer_check import judge
    from kl_hooks.arch.manifest import load_manifest

    @dataclass(frozen=True)
    class Edited(Content):
        """A content in which some files are as they will be."""

        texts: Mapping[str, bytes] | None = None

        def read(self, wanted: Sequence[FileEntry]) -> Iterator[tuple[FileEntry, bytes]]:
            texts = self.texts or {}
            yield from ((entry, texts[entry.path]) for entry in wanted if entry.path in texts)
            yield from super().read([entry for entry in wanted if entry.path not in texts])

    content_now = load_content(ws)
    if content_now.manifest is None:
        return [], {}
    texts = {edit.path: edit.after.encode("utf-8", "surrogateescape") for edit in edits}
    entries = {entry.path: entry for entry in content_now.entries}
    for path, text in texts.items():
        # by its blob: the index of imports is cached by content
        entries[path] = FileEntry(path, object_id(ws.repo.object_format, b"blob", text), "100644")
    content = Edited(
        content_now.repo,
        content_now.source,
        tuple(entries[path] for path in sorted(entries)),
        content_now.manifest,
        content_now.baseline,
        content_now.look,
        content_now.before,
        texts=texts,
    )
    manifest = load_manifest(ws.state.cache, MANIFEST, content_now.manifest)
    survey = survey_imports(ws, content, manifest)
    places = {(path, line) for path, some in lines.items() for line in some}
    verdict = judge(manifest, survey, utc_day(ws), content_now.source, places)
    if content_now.baseline is not None:
        from kl_hooks.arch.baseline import apply_baseline

        verdict, _ = apply_baseline(verdict, content_now.baseline, survey.modules)
    crossing = [one for one in verdict.violations if (one.path, one.line) in places]
    return crossing, decision_titles(content_now, {one.decision for one in crossing})
