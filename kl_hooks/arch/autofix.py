"""`kl arch fix`: violating imports that can be moved under `if TYPE_CHECKING:` without changing
what the program does.

An import is moved only where nothing but annotations of its file needs it
(`code.import_edits.need`) and where nothing else in the repository can notice: no file takes the
name from there, and no module that would no longer be imported does anything but define.
Everything else is left, with the reason; an import that nothing uses too, for ruff removes those.
"""

from __future__ import annotations

import difflib
import os
import re
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from kl_hooks.arch.baseline import apply_baseline
from kl_hooks.arch.content import WORKTREE, load_content, utc_day
from kl_hooks.arch.import_survey import Survey, bound_names, paths_by_module, survey_imports
from kl_hooks.arch.layer_check import judge
from kl_hooks.arch.layers import THROUGH_METHOD, covers, is_through, layer_lookup
from kl_hooks.arch.manifest import load_manifest
from kl_hooks.arch.packages import is_product
from kl_hooks.arch.report import problems_to_list, violation_to_dict
from kl_hooks.code.import_edits import (
    LIBRARIES,
    NOTED,
    Unfixable,
    Uses,
    any_of,
    first_side_effect,
    move_imports,
    need,
    parsed,
)
from kl_hooks.code.languages import is_file_module
from kl_hooks.code.modules import plain_name
from kl_hooks.code.scanner.parser import lines_of
from kl_hooks.errors import UsageProblem
from kl_hooks.git import files
from kl_hooks.graph.algorithms import components
from kl_hooks.model.definitions import NamedTuple, lazy_pattern
from kl_hooks.model.manifest import MANIFEST, Manifest, Violation
from kl_hooks.model.problem import Problem
from kl_hooks.model.symbol import split_id
from kl_hooks.model.text import counted, one_line, safe_text
from kl_hooks.store.files import write_atomic
from kl_hooks.workspace import Workspace

_AT_ONCE: Final = ("import", "star import")
"""Methods of imports that run when the module is imported."""
_READS_ANNOTATIONS = lazy_pattern(rb"\b(get_type_hints|get_annotations|eval_str|__annotations__)\b")
_ImportEdge = tuple[str, str]  # (importing file, imported file)
_ENFORCED: Final = (
    "only annotations use it, and the manifest enforces imports for type checkers too"
)
_REMOVED_BY_RUFF: Final = "nothing uses it here: remove it, as ruff check --select F401 --fix does"


class _Repository:
    """The repository around the imports that may be moved. Reads sources as they are asked for,
    each once.
    """

    def __init__(self, survey: Survey) -> None:
        self._survey, self._file = survey, paths_by_module(survey.modules)
        self._uses: dict[str, Uses | None] = {}
        self._effects: dict[str, tuple[int, str]] = {}
        self._reaching: dict[str, set[str]] = {}
        self._importers: dict[str, set[str]] = {path: set() for path in survey.modules}
        self._direct: dict[str, set[str]] = {path: set() for path in survey.modules}
        """File → the files that it names in imports which run with it."""
        self._whole: dict[str, str] = {}
        """File → a package (its `__init__.py`) of which it takes everything when it is imported."""
        for link in survey.links:
            file = self._file.get(split_id(link.target)[1])
            if file:
                self._importers[file].add(link.path)
                if link.method in _AT_ONCE:
                    self._direct[link.path].add(file)
                if link.method == "star import" and file.endswith("/__init__.py"):
                    self._whole[link.path] = file

    def imported_file(self, path: str, row: Sequence[Any]) -> str:
        """The file that an import of a file leads to; empty where what it imports has no source
        here.
        """
        return self._file.get(self._survey.target(path, row), "")

    def taken_elsewhere(self, path: str, name: str) -> str:
        """Who else imports or uses `name` of the file `path`, as a clause; empty for nobody."""
        module = self._survey.modules[path]
        for other, content in self._contents.items():
            # `*`: a star import takes a name without writing it
            if other == path or (name.encode() not in content and b"*" not in content):
                continue
            line = self._import_line(other, module, name) or self._use_line(
                other, plain_name(module), name
            )
            if line:
                return f"{other}:{line} may import {name} from here"
        return ""

    def _import_line(self, path: str, module: str, name: str) -> int:
        """The line where a file imports `name` (or everything) from a module; 0: it does not."""
        last = plain_name(module).rpartition(".")[2]
        for row in self._survey.rows(path):
            # a program that minds its own paths may import the module by the last part of its name
            is_meant = row[1] == name and row[0].rpartition(".")[2] == last
            if is_meant or (row[1] in (name, "*") and self._survey.target(path, row) == module):
                return int(row[3])
        return 0

    def _use_line(self, path: str, module: str, name: str) -> int:
        """The line where a file may use `name` of a module (its dotted name); 0 where it surely
        does not.

        It may where it reaches the module, by imports or because it has the name of the module in
        it, and has the name as an attribute, a keyword or in a string.
        """
        content = self._contents[path]
        last = module.rpartition(".")[2]
        if not path.endswith(".py"):
            line_of_use = _line(
                content, rb"\b%s[.:]%s\b" % (re.escape(last.encode()), re.escape(name.encode()))
            )
            importing = rb"^[ \t>.]*(?:from|import)\b[^\n]*\b%s\b" % re.escape(last.encode())
            return line_of_use or (
                _line(content, any_of([name]).pattern) if _line(content, importing) else 0
            )
        if path not in self._reached_by(module) and not any_of([last]).search(content):
            return 0
        if path not in self._uses:
            tree = parsed(content)
            self._uses[path] = Uses(tree) if tree else None
        uses = self._uses[path]
        # where the file does not parse, any mention counts
        if uses:
            return uses.members.get(name, 0)
        return _line(content, any_of([name]).pattern)

    def _reached_by(self, module: str) -> set[str]:
        """The files that import a module or a package above it, and those that import them."""
        if module not in self._reaching:
            above = (module.split(".")[: count + 1] for count in range(module.count(".") + 1))
            starts = [
                path for name in above for path, _ in self._survey.known().called(".".join(name))
            ]
            self._reaching[module] = _closure(starts, self._importers)
        return self._reaching[module]

    def unsafe(self, removed: Collection[_ImportEdge]) -> dict[_ImportEdge, str]:
        """Return those of these imports without which the program may run differently, each with
        the reason.
        """
        graph = dict[str, list[str]]()
        ordered = dict[str, list[str]]()
        for path, targets in self._direct.items():
            ends = {path, *(to for to in targets if (path, to) not in removed)}
            graph[path] = sorted(
                (ends | {above for end in ends for above in self._above(end)}) - {path}
            )
            # a package always comes before what is in it
            parents = set(self._above(path))
            ordered[path] = [to for to in graph[path] if to not in parents]
        cycles = [set(one) for one in components(sorted(ordered), ordered) if len(one) > 1]
        return {
            edge: reason
            for edge in sorted(removed)
            if (reason := self._unsafe(edge, graph, cycles))
        }

    def _unsafe(
        self, edge: _ImportEdge, graph: Mapping[str, list[str]], cycles: list[set[str]]
    ) -> str:
        path, target = edge
        reached = _closure([target], graph)
        for cycle in cycles:
            if cycle & reached:
                cycle_members = " and ".join(sorted(cycle)[:2])
                return (
                    f"{cycle_members} import each other, and this import may decide which "
                    "comes first"
                )
        taking = min(reached & self._whole.keys(), default="")
        if taking:
            return (
                f"{taking} takes everything of {self._whole[taking]}, and what that is depends on"
                " earlier imports"
            )
        for file in sorted(reached - _closure([path], graph)):
            line, what = self._side_effect(file)
            if what:
                return (
                    f"importing {file} does more than define (line {line}: {what}), and it might no"
                    " longer happen"
                )
        return self._submodule(path, target)

    def _submodule(self, path: str, target: str) -> str:
        """Who uses a module of a package (`shop.cart`) although only others import that module."""
        package, dot, last = plain_name(self._survey.modules[target]).rpartition(".")
        for other, content in self._contents.items() if dot else ():
            direct = other == path or target in self._direct.get(other, ())
            if other in self._survey.index.errors:  # it can't be parsed
                direct = direct or plain_name(self._survey.modules[target]).encode() in content
            if other.endswith(".py") and not direct and last.encode() in content:
                line = self._use_line(other, package, last)
                if line:
                    return (
                        f"{other}:{line} may use {package.rpartition('.')[2]}.{last} because it is"
                        " imported here"
                    )
        return ""

    def evaluator(self, path: str) -> str:
        """Who outside the file may look at its annotations at run time, as a clause."""
        for other, content in self._contents.items():
            reader_match = _READS_ANNOTATIONS.search(content)
            if reader_match and other != path and other.endswith(".py") and is_product(other):
                line = content.count(b"\n", 0, reader_match.start()) + 1
                return (
                    f"{other}:{line} looks at annotations at run time ({reader_match[1].decode()})"
                )
        # a package passes on what its __init__ imports: who imports that may be the one who
        # evaluates
        passing = {
            one: users
            for one, users in self._importers.items()
            if one == path or one.endswith("/__init__.py")
        }
        for user in sorted(_closure([path], passing) - {path}):
            tops = (row[0].partition(".")[0] for row in self._survey.rows(user) if not row[2])
            library = next((top for top in tops if top in LIBRARIES), "")
            if library and is_product(user):
                return (
                    f"{user} imports it and {library}, which may evaluate its annotations at run"
                    " time"
                )
        return ""

    @cached_property
    def _contents(self) -> Mapping[str, bytes]:
        content = self._survey.content
        # their examples may be run as doctests
        pages = content.read(
            files.worktree_files(content.repo, (".md", ".rst", ".txt"), content.look)
        )
        shown = {entry.path: text for entry, text in pages if b"import" in text}
        return {**self._survey.read(sorted(entry.path for entry in content.entries)), **shown}

    def _above(self, path: str) -> list[str]:
        """The `__init__.py` files of the packages that a file is in."""
        parts = plain_name(self._survey.modules[path]).split(".")
        init_files = (self._file.get(".".join(parts[:count])) for count in range(1, len(parts)))
        return [file for file in init_files if file]

    def _side_effect(self, path: str) -> tuple[int, str]:
        if path not in self._effects:
            # CPython parses no source with a NUL in it: a file that can't be had counts as one that
            # can't be read
            tree = parsed(self._contents.get(path, b"\0"))
            rows = [row for row in self._survey.rows(path) if self.imported_file(path, row)]
            inside = {name for row in rows for name in bound_names(row)}
            try:
                if tree:
                    self._effects[path] = first_side_effect(tree, inside)
                else:
                    self._effects[path] = (0, "it can't be read")
            except RecursionError:
                self._effects[path] = 0, "it is nested too deeply"
        return self._effects[path]


def _line(content: bytes, pattern: bytes) -> int:
    """The line of the first match, 0 for none."""
    match = re.search(pattern, content, re.MULTILINE)
    if not match:
        return 0
    return content.count(b"\n", 0, match.start()) + 1


def _closure(starts: Iterable[str], graph: Mapping[str, Iterable[str]]) -> set[str]:
    todo = list(dict.fromkeys(starts))
    closure = set(todo)
    while todo:
        new = set(graph.get(todo.pop(), ())) - closure
        closure |= new
        todo += new
    return closure


def on_disk(top: Path, path: str, stored: bytes) -> bytes:
    """Return the bytes of a file on disk, which must be the text that was judged.

    Raises Unfixable.
    """
    content = _read(top, path)
    # with core.autocrlf git stores LF where the file on disk has CRLF
    if content.replace(b"\r\n", b"\n") != stored.replace(b"\r\n", b"\n"):
        raise Unfixable("the file changed meanwhile, or git keeps it in another form")
    return content


def replace_files(top: Path, path: str, before: bytes, after: bytes, aside: Path) -> None:
    """Replace a file whose content is still `before`. Raises Unfixable.

    `aside`: git's own folder, where the new text is made: what a killed writer leaves there is in
    nobody's way. Where that is another file system, the new text is made beside the file.
    """
    # once more: the file may have been saved while others were judged
    if _read(top, path) != before:
        raise Unfixable("the file changed meanwhile")
    place = top / path
    failed = ""
    for folder in (aside, place.parent):
        new = folder / f".{place.name[:40]}.{os.urandom(8).hex()}"
        try:
            write_atomic(new, after)
            # its mode is our own: without this a script would lose its x
            new.chmod(stat.S_IMODE(place.stat().st_mode))
            new.replace(place)
        except OSError as problem:
            new.unlink(missing_ok=True)
            failed = problem.strerror or str(problem)
        else:
            return
    raise Unfixable(f"the file can't be written ({failed})")


def _read(top: Path, path: str) -> bytes:
    place = top / path
    try:
        # lstat() sees a link at the end of the path only; resolve() one in a folder above it too
        if not stat.S_ISREG(place.lstat().st_mode) or place.resolve() != top.resolve() / path:
            raise Unfixable("a symbolic link leads to the file")
        return place.read_bytes()
    except OSError as problem:
        raise Unfixable(f"the file can't be read ({problem.strerror or problem})") from problem


class _Plan:
    """Which violations are fixed, and why the others aren't."""

    def __init__(self, manifest: Manifest, survey: Survey, violations: Iterable[Violation]) -> None:
        self._manifest, self._survey, self._around = manifest, survey, _Repository(survey)
        self.going: list[Violation] = []
        """Those that are moved."""
        self.left: dict[Violation, str] = {}
        """Each with the reason, a clause."""
        self._edges: dict[Violation, _ImportEdge] = {}
        for violation in violations:
            try:
                self._judge(violation)
                self.going.append(violation)
            except Unfixable as problem:
                self.left[violation] = str(problem)
            except RecursionError:
                self.left[violation] = "the file is nested too deeply"
        self._settle()

    def _judge(self, violation: Violation) -> None:
        """Raises Unfixable where an import behind a violation has to stay as it is."""
        path = violation.path
        around = self._around
        on_line = [row for row in self._survey.rows(path) if row[3] == violation.line]
        meant = (violation.method, violation.imported)
        rows = [
            row for row in on_line if (row[4], plain_name(self._survey.target(path, row))) == meant
        ]
        if not rows:
            if is_through(violation.method):
                raise Unfixable(
                    f"it leads through {violation.method.removeprefix(THROUGH_METHOD)}, in no layer"
                )
            raise Unfixable("it is a chain of imports, each of them allowed")
        if is_file_module(path):
            raise Unfixable("imports of Python alone are moved")
        source = self._survey.source(path)
        if source is None:
            raise Unfixable("the file can't be read")
        kinds = set[str]()
        for row in rows:
            wanted = need(source, row)
            enforced = wanted.kind == NOTED and self._manifest.type_checking_imports != "ignore"
            reason = (
                wanted.reason
                or (_ENFORCED if enforced else "")
                or around.taken_elsewhere(path, wanted.name)
            )
            reason = reason or (around.evaluator(path) if wanted.kind == NOTED else "")
            self._edges[violation] = (path, around.imported_file(path, row))
            if reason or not self._edges[violation][1]:
                raise Unfixable(reason or "what it imports has no source in this repository")
            kinds.add(wanted.kind)
        if len(rows) < len(on_line):
            raise Unfixable("other imports share its line")
        if NOTED not in kinds:
            raise Unfixable(_REMOVED_BY_RUFF)

    def _settle(self) -> None:
        """Leave those imports whose absence could be noticed; repeated, since each one that stays
        can keep others.
        """
        while True:
            lines = {(one.path, one.line) for one in self.going}
            staying = {
                (path, self._around.imported_file(path, row))
                for path in {path for path, _ in lines}
                for row in self._survey.rows(path)
                if (path, row[3]) not in lines and row[4] in _AT_ONCE
            }
            unsafe = self._around.unsafe({self._edges[one] for one in self.going} - staying)
            self._leave(
                {one: unsafe[self._edges[one]] for one in self.going if self._edges[one] in unsafe}
            )
            if not unsafe:
                return

    def _leave(self, reasons: Mapping[Violation, str]) -> None:
        """Leave some imports as they are after all."""
        self.left.update(reasons)
        self.going = [one for one in self.going if one not in reasons]

    def edit(self, write: bool) -> list[FileChange]:
        """Return the changed files, written if `write`. What can't be edited is left."""
        repo = self._survey.content.repo
        refused = {"": ""}
        # nothing is written before every file is edited: an import that can't be edited may need
        # others to stay
        while refused:
            changes = list[FileChange]()
            refused = dict[str, str]()
            for path in sorted({violation.path for violation in self.going}):
                lines = {violation.line for violation in self.going if violation.path == path}
                try:
                    before = on_disk(repo.top, path, self._survey.read([path]).get(path, b"\0"))
                    changes.append(FileChange(path, before, move_imports(before, lines)))
                except Unfixable as problem:
                    refused[path] = str(problem)
            self._leave({one: refused[one.path] for one in self.going if one.path in refused})
            self._settle()
        for change in changes if write else ():
            try:
                replace_files(repo.top, change.path, change.before, change.after, repo.git_dir)
            except Unfixable as problem:
                self._leave({one: str(problem) for one in self.going if one.path == change.path})
        return [change for change in changes if any(one.path == change.path for one in self.going)]


class FileChange(NamedTuple):
    """One file, before and after."""

    path: str
    before: bytes
    after: bytes

    def diff(self) -> Iterator[str]:
        """A unified diff, without line endings (which never change)."""
        old, new = (
            [line.decode("utf-8", "replace") for line in lines_of(one)]
            for one in (self.before, self.after)
        )
        for line in difflib.unified_diff(old, new, f"a/{self.path}", f"b/{self.path}", lineterm=""):
            yield safe_text(line)


class FixResult(NamedTuple):
    """What `kl arch fix` did, or would do, with what it could not judge."""

    changes: tuple[FileChange, ...] = ()
    fixed: tuple[Violation, ...] = ()
    """Imports that are under `if TYPE_CHECKING:` now."""
    left: tuple[tuple[Violation, str], ...] = ()
    """Each with the reason, a clause."""
    unread: tuple[Problem, ...] = ()
    """Governed files that could not be read."""
    notes: tuple[str, ...] = ()
    accepted: int = 0
    """Violations that the baseline accepts, left alone."""
    has_manifest: bool = True

    @property
    def clean(self) -> bool:
        """True where nothing is left to fix."""
        return not self.left and not self.unread

    def lines(self, *, written: bool) -> list[str]:
        """The lines to print; `written`: this was no dry run."""
        lines = [line for change in self.changes for line in change.diff()]
        if lines:
            lines += [""]
        manner = "moved" if written else "would be moved"
        lines += [_row(manner, violation) for violation in self.fixed]
        for violation, reason in self.left:
            lines += [_row("not fixed", violation), f"  {'':<{_COLUMN}} {one_line(reason, 200)}"]
        lines += [one_line(str(problem), 400) for problem in self.unread]
        if lines:
            lines += [""]
        if self.accepted:
            accepted_text = (
                f" ({self.accepted} accepted in baseline; fix them too: kl arch fix --accepted)"
            )
        else:
            accepted_text = ""
        return [*lines, self._summary(written) + accepted_text]

    def _summary(self, written: bool) -> str:
        fixed = len(self.fixed)
        left = len(self.left)
        if not fixed:
            if not left:
                return "clean: nothing to fix"
            return f"nothing to fix, {left} left: see kl arch check"
        done = "fixed" if written else "could be fixed"
        next_step = ""
        if not written:
            next_step = ". Nothing was written: kl arch fix does"
        elif left:
            next_step = ": see kl arch check"
        return (
            f"{counted(fixed, 'violation')} {done} in {counted(len(self.changes), 'file')}, {left}"
            f" left{next_step}"
        )

    def to_dict(self, *, written: bool) -> dict[str, Any]:
        """Return the result as `--format json` prints it."""
        return {
            "written": written,
            "accepted": self.accepted,
            "files": [
                {"path": change.path, "diff": list(change.diff())} for change in self.changes
            ],
            "fixed": [{**violation_to_dict(one), "manner": "moved"} for one in self.fixed],
            "left": [{**violation_to_dict(one), "reason": reason} for one, reason in self.left],
            "problems": problems_to_list(self.unread),
        }


_COLUMN: Final = 34


def _row(manner: str, violation: Violation) -> str:
    place = safe_text(f"{violation.path}:{violation.line}")
    return (
        f"  {place:<{_COLUMN}} {manner}: {one_line(violation.statement, 100)}  "
        f"({violation.source_layer} -> {violation.target_layer})"
    )


def fix_violations(
    ws: Workspace, paths: Sequence[str], write: bool, accepted: bool = False
) -> FixResult:
    """Fix the violations on disk in these files and folders (none: all).

    What an exception of the manifest or the baseline accepts is left alone; `accepted`: the latter
    is fixed too. `paths` are from the repository's root. Raises ManifestProblems, UsageProblem (no
    such file), EnvironmentProblem.
    """
    content = load_content(ws, WORKTREE)
    if content.manifest is None:
        return FixResult(has_manifest=False)
    manifest = load_manifest(ws.state.cache, MANIFEST, content.manifest)
    survey = survey_imports(ws, content, manifest)
    asked = _asked(paths, survey.modules)
    # of the whole repository: the baseline counts imports and pairs renames, so it is never matched
    # with a part
    verdict = judge(manifest, survey, utc_day(ws), WORKTREE, ())
    if content.baseline is not None and not accepted:
        verdict, _ = apply_baseline(verdict, content.baseline, survey.modules)
    asked_violations = [violation for violation in verdict.violations if violation.path in asked]
    plan = _Plan(manifest, survey, asked_violations)
    changes = plan.edit(write)
    governed = layer_lookup(manifest.layers)
    return FixResult(
        tuple(changes),
        tuple(violation for violation in asked_violations if violation in plan.going),
        tuple(
            (violation, plan.left[violation])
            for violation in asked_violations
            if violation in plan.left
        ),
        tuple(
            problem for problem in survey.unread if problem.path in asked and governed(problem.path)
        ),
        survey.notes,
        sum(violation.path in asked for violation in verdict.accepted),
    )


def _asked(paths: Sequence[str], modules: Collection[str]) -> set[str]:
    """The source files that are named, or in a folder that is."""
    files = set() if paths else set(modules)
    for path in paths:
        files_of_path = {file for file in modules if path in ("", ".") or covers(path, file)}
        if not files_of_path:
            near = difflib.get_close_matches(path, sorted(modules), 1)
            if near:
                hint = f"Did you mean {near[0]}?"
            else:
                hint = "Give source files of this repository, or folders."
            raise UsageProblem("no source file of this repository is there.", place=path, hint=hint)
        files |= files_of_path
    return files
