"""`kl arch fix`: violating imports that can be removed or moved without changing what the program does.

An edit is made only where the file itself does not need the import (`code.rewrite.import_use`) and where nothing
else in the repository can notice: no file takes the name from there, and no module that would no longer be imported
does anything but define. Everything else is left, with the reason.
"""

from __future__ import annotations

import ast
import difflib
import io
import os
import re
import stat
import tempfile
import tokenize
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from kl_hooks.arch.baseline import match_baseline, read_baseline
from kl_hooks.arch.content import WORKTREE, load_content, utc_day
from kl_hooks.arch.import_survey import Survey, survey_imports
from kl_hooks.arch.layer_check import violations
from kl_hooks.arch.layers import THROUGH_METHOD, covers, is_through, layer_lookup
from kl_hooks.arch.manifest import load_manifest
from kl_hooks.arch.packages import NON_PRODUCT_NAMES
from kl_hooks.arch.report import problems_to_list, violation_to_dict
from kl_hooks.code.modules import ModuleIndex, file_links, plain_name
from kl_hooks.code.rewrite.edit import edit_imports
from kl_hooks.code.rewrite.import_use import (
    LIBRARIES,
    NEEDED,
    NOTED,
    UNUSED,
    Importing,
    Need,
    Source,
    Taken,
    attribute_uses,
    need,
)
from kl_hooks.code.rewrite.side_effects import first_side_effect
from kl_hooks.code.rewrite.source_text import any_of, parsed
from kl_hooks.errors import UsageProblem
from kl_hooks.git import files
from kl_hooks.git.repository import Repository
from kl_hooks.graph.algorithms import components
from kl_hooks.model.manifest import BASELINE, MANIFEST, Manifest, Violation
from kl_hooks.model.problem import Problem
from kl_hooks.model.symbol import Link, split_id
from kl_hooks.model.text import one_line, safe_text
from kl_hooks.workspace import Workspace


class _NameUse:
    """Files that were asked already, and who reaches what."""

    def __init__(self, known: ModuleIndex, importers: Callable[[], Mapping[str, Iterable[str]]]) -> None:
        """`importers`: gives file → the files that import it."""
        self._known, self._importers = known, importers
        self._taken: dict[str, Taken | None] = {}
        self._reaching: dict[str, set[str]] = {}

    def line(self, path: str, content: bytes, module: str, name: str) -> int:
        """Return the line where a file may use `name` of a module (its dotted name); 0 where it surely does not.

        It may where it reaches the module, by imports or because it has the name of the module in it.
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
            # it does not parse, so any mention counts
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
"""Methods of imports that run when the module is imported."""
_READS_ANNOTATIONS = re.compile(rb"\b(get_type_hints|get_annotations|eval_str|__annotations__)\b")

_PAGES: Final = (".md", ".rst", ".txt")
"""Endings of files whose examples may be run as doctests."""

_Row = Sequence[Any]
"""An import as the scanner stores it."""
_ImportEdge = tuple[str, str]
"""(importing file, imported file)"""


class _Repository:
    """The repository around the imports that may go. Reads sources as they are asked for, each once."""

    def __init__(self, survey: Survey) -> None:
        self._survey = survey
        self._file = {module: path for path, module in survey.modules.items()}
        self._trees: dict[str, ast.Module | None] = {}
        self._known = survey.known()
        self._evaluates_nothing: dict[str, bool] = {}
        self._elsewhere = _NameUse(self._known, lambda: self._importers)

    def taken_elsewhere(self, path: str, name: str) -> str:
        """Who else imports or uses `name` of the file `path`, as a clause; empty for nobody."""
        word, owner = name.encode(), plain_name(self._survey.modules[path])
        for other, content in self._contents.items():
            # `*`: a star import takes a name without writing it
            if other == path or (word not in content and b"*" not in content):
                continue
            line = self._asks(other, path, name) or self._elsewhere.line(other, content, owner, name)
            if line:
                return f"{other}:{line} may import {name} from here"
        return ""

    def _asks(self, other: str, path: str, name: str) -> int:
        """The line where a file imports `name` (or everything) from another; 0: it does not."""
        target = f"namespace:{self._survey.modules[path]}"
        for row in self._survey.facts.get(other, {}).get("imports", ()):
            if row[1] in (name, "*") and any(link.target == target for link in file_links(other, [row], self._known)):
                return int(row[3])
        return 0

    def edge(self, path: str, row: _Row) -> _ImportEdge | None:
        """The files at both ends of an import; None where what it imports has no source here."""
        links = file_links(path, [row], self._known)
        file = self._file.get(split_id(links[0].target)[1]) if links else None
        return (path, file) if file else None

    def staying(self, path: str, going: Sequence[_Row]) -> set[_ImportEdge | None]:
        """What a file still imports, when it is imported itself, without these rows."""
        rows = [row for row in self._survey.facts.get(path, {}).get("imports", ()) if row not in going]
        return {self.edge(path, row) for row in rows if row[4] in _AT_ONCE}

    def unsafe(self, going: Iterable[_ImportEdge]) -> dict[_ImportEdge, str]:
        """Return those of these imports without which the program may run differently, each with the reason."""
        removed = set(going)
        graph = self._graph(removed)
        cycles = [set(one) for one in components(sorted(graph), _without_parents(graph)) if len(one) > 1]
        return {edge: reason for edge in sorted(removed) if (reason := self._unsafe(edge, graph, cycles))}

    def _unsafe(self, edge: _ImportEdge, graph: Mapping[str, list[str]], cycles: list[set[str]]) -> str:
        path, target = edge
        if self._survey.modules.get(target) is None:
            return "what it imports has no source in this repository"
        reached = _closure(target, graph)
        for cycle in cycles:
            if cycle & reached:
                some = " and ".join(sorted(cycle)[:2])
                return f"{some} import each other, and this import may decide which comes first"
        taking = min(reached & self._whole.keys(), default="")
        if taking:
            return f"{taking} takes everything of {self._whole[taking]}, and what that is depends on earlier imports"
        for file in sorted(reached - _closure(path, graph)):
            line, what = self._side_effect(file)
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
            if other in self._survey.index.errors:  # it can't be parsed
                direct = direct or whole.encode() in content
            if other.endswith(".py") and not direct and last.encode() in content:
                line = self._elsewhere.line(other, content, package, last)
                if line:
                    return f"{other}:{line} may use {package.rpartition('.')[2]}.{last} because it is imported here"
        return ""

    def evaluator(self, path: str) -> str:
        """Who outside the file may look at its annotations at run time, as a clause."""
        for other, content in self._contents.items():
            found = _READS_ANNOTATIONS.search(content) if other.endswith(".py") and not _is_no_product(other) else None
            if found and other != path:
                line = content.count(b"\n", 0, found.start()) + 1
                return f"{other}:{line} looks at annotations at run time ({found[1].decode()})"
        users, seen = [path], {path}
        while users:
            for user in self._importers.get(users.pop(), ()):
                library = self._library(user)
                if library and not _is_no_product(user):
                    return f"{user} imports it and {library}, which may evaluate its annotations at run time"
                # a package passes on what its __init__ imports: who imports that may be the one who evaluates
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

    def _graph(self, removed: Collection[_ImportEdge]) -> dict[str, list[str]]:
        """File → the files that are imported with it, packages above them (and above itself) included."""
        found = {}
        for path, targets in self._direct.items():
            ends = {path, *(to for to in targets if (path, to) not in removed)}
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
        if path not in self._evaluates_nothing:
            self._evaluates_nothing[path] = not any(map(self._library, _closure(path, self._imports)))
        return self._evaluates_nothing[path]

    def _library(self, path: str) -> str:
        """A library imported by a file that evaluates annotations at run time."""
        rows = self._survey.facts.get(path, {}).get("imports", ())
        return next((top for row in rows if not row[2] and (top := row[0].partition(".")[0]) in LIBRARIES), "")

    def _side_effect(self, path: str) -> tuple[int, str]:
        if path not in self._trees:
            # CPython parses no source with a NUL in it: a file that can't be had counts as one that can't be read
            self._trees[path] = parsed(self._contents.get(path, b"\0"))
        tree = self._trees[path]
        rows = self._survey.facts.get(path, {}).get("imports", ())
        inside = {name for row in rows for name in _names(row) if self._in_repository(path, row)}
        try:
            return first_side_effect(tree, inside) if tree else (0, "it can't be read")
        except RecursionError:
            return 0, "it is nested too deeply"

    def _in_repository(self, path: str, row: _Row) -> bool:
        return any(split_id(link.target)[1] in self._file for link in file_links(path, [row], self._known))


def _import_rows(survey: Survey, violation: Violation) -> list[_Row]:
    """The rows of a file's imports (see `code.scanner.imports`) that a violation is about."""
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


def _names(row: _Row) -> set[str]:
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


def _is_no_product(path: str) -> bool:
    """True for tests and what else is not the product."""
    return path.split("/")[0] in NON_PRODUCT_NAMES or path.rpartition("/")[2].startswith(("test_", "conftest"))


class Refused(Exception):
    """The file is left alone; the text is the reason, a clause."""


def on_disk(top: Path, path: str, stored: bytes) -> bytes:
    """Return the bytes of a file on disk, which must be the text that was judged. Raises Refused."""
    content = _read(top, path)
    # with core.autocrlf git stores LF where the file on disk has CRLF
    if content.replace(b"\r\n", b"\n") != stored.replace(b"\r\n", b"\n"):
        raise Refused("the file changed meanwhile, or git keeps it in another form")
    return content


def replace_files(top: Path, path: str, before: bytes, after: bytes, aside: Path) -> None:
    """Replace a file whose content is still `before`. Raises Refused.

    `aside`: git's own folder, where the new text is made: what a killed writer leaves there is in nobody's way. Where
    that is another file system, the new text is made beside the file.
    """
    # once more: the file may have been saved while others were judged
    if _read(top, path) != before:
        raise Refused("the file changed meanwhile")
    place = top / path
    try:
        try:
            _by_way_of(aside, place, after)
        except OSError:
            _by_way_of(place.parent, place, after)
    except OSError as problem:
        raise Refused(f"the file can't be written ({problem.strerror or problem})") from problem


def _by_way_of(folder: Path, place: Path, after: bytes) -> None:
    handle, temporary = tempfile.mkstemp(prefix=f".{place.name[:40]}.", dir=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(after)
            file.flush()
            os.fsync(file.fileno())  # else a crash after the rename can leave an empty file (ext4, delayed allocation)
        # mkstemp() gives 0600, whatever the umask: without this a script would lose its x
        Path(temporary).chmod(stat.S_IMODE(place.stat().st_mode))
        Path(temporary).replace(place)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _read(top: Path, path: str) -> bytes:
    place = top / path
    try:
        # lstat() sees a link at the end of the path only; resolve() one in a folder above it too
        if not stat.S_ISREG(place.lstat().st_mode) or place.resolve() != top.resolve() / path:
            raise Refused("a symbolic link leads to the file")
        return place.read_bytes()
    except OSError as problem:
        raise Refused(f"the file can't be read ({problem.strerror or problem})") from problem


_ENFORCED = "only annotations use it, and the manifest enforces imports for type checkers too"
_CHAIN = "it is a chain of imports, each of them allowed"


@dataclass(frozen=True, slots=True)
class _Change:
    """One file, before and after."""

    path: str
    before: bytes
    after: bytes


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What `kl arch fix` did, or would do."""

    changes: tuple[_Change, ...]
    fixed: tuple[tuple[Violation, str], ...]
    """Each with `moved` or `dropped`."""
    left: tuple[tuple[Violation, str], ...]
    """Each with the reason, a clause."""


def _apply_fixes(manifest: Manifest, survey: Survey, found: Sequence[Violation], write: bool) -> _Outcome:
    """Move and remove imports among `found`, in the files on disk if `write`. The survey is one of the working tree."""
    around = _Repository(survey)
    plan = _Plan(manifest, survey, around)
    for violation in found:
        plan.look(violation)
    plan.settle()
    changes = _rewrite(plan, survey, write)
    fixed, left = [], []
    for violation in found:
        reasons = [plan.left[key] for key in plan.keys[violation] if key in plan.left]
        kinds = {plan.going[key].kind for key in plan.keys[violation] if key in plan.going}
        if kinds and not reasons:
            fixed.append((violation, "moved" if NOTED in kinds else "dropped"))
        else:
            left.append((violation, reasons[0] if reasons else _unfixable(violation)))
    return _Outcome(tuple(changes), tuple(fixed), tuple(left))


def _unfixable(violation: Violation) -> str:
    if is_through(violation.method):
        return f"it leads through {violation.method.removeprefix(THROUGH_METHOD)}, in no layer"
    return _CHAIN


_Key = tuple[str, tuple[object, ...]]
"""(path, row)"""


class _Plan:
    """Which imports go, and why the others don't."""

    def __init__(self, manifest: Manifest, survey: Survey, around: _Repository) -> None:
        self._manifest, self._survey, self._around = manifest, survey, around
        self._sources: dict[str, Source | None] = {}
        self.going: dict[_Key, Need] = {}
        self.left: dict[_Key, str] = {}
        self.keys: dict[Violation, list[_Key]] = {}

    def look(self, violation: Violation) -> None:
        """Decide about the imports behind a violation."""
        path = violation.path
        self.keys[violation] = [(path, tuple(row)) for row in _import_rows(self._survey, violation)]
        for key in self.keys[violation]:
            try:
                wanted = self._need(path, key[1])
                reason = wanted.reason or self._outside(path, wanted)
            except RecursionError:
                wanted, reason = Need(NEEDED), "the file is nested too deeply"
            if reason:
                self.left[key] = reason
            else:
                self.going[key] = wanted

    def _need(self, path: str, row: _Row) -> Need:
        if path not in self._sources:
            content = self.content(path)
            tree = parsed(content)
            self._sources[path] = Source(path, content, tree, self._around.trusted(path)) if tree else None
        source = self._sources[path]
        return need(source, row) if source else Need(NEEDED, "the file can't be read")

    def content(self, path: str) -> bytes:
        """The text of a file as it was judged; a NUL where it can't be had any more."""
        return self._survey.read([path]).get(path, b"\0")

    def _outside(self, path: str, wanted: Need) -> str:
        if wanted.kind == NOTED and self._manifest.type_checking_imports != "ignore":
            return _ENFORCED
        taken = self._around.taken_elsewhere(path, wanted.name)
        return taken or (self._around.evaluator(path) if wanted.kind == NOTED else "")

    def settle(self) -> None:
        """Leave those imports whose absence could be noticed; repeated, since each one that stays can keep others."""
        # ends: each round that does not return takes at least one import out of `going`
        while True:
            self._keep_together()
            rows: dict[str, list[_Row]] = {}
            for path, row in self.going:
                rows.setdefault(path, []).append(list(row))
            staying = {path: self._around.staying(path, some) for path, some in rows.items()}
            edges = {key: self._around.edge(*key) for key in self.going}
            lost = {key: "what it imports has no source in this repository" for key, edge in edges.items() if not edge}
            unsafe = self._around.unsafe(edge for key, edge in edges.items() if edge and edge not in staying[key[0]])
            lost |= {key: unsafe[edge] for key, edge in edges.items() if edge in unsafe}
            if not lost:
                return
            for key, reason in lost.items():
                del self.going[key]
                self.left[key] = reason

    def _keep_together(self) -> None:
        """Where one name of a violation has to stay, the others that come from the same module may as well."""
        for keys in self.keys.values():
            reason = next((self.left[key] for key in keys if key in self.left), "")
            for key in keys if reason else ():
                self.going.pop(key, None)
                self.left.setdefault(key, reason)

    def rows(self, path: str, kind: str) -> list[_Row]:
        """The imports of one file that are moved (`NOTED`) or removed (`UNUSED`)."""
        return [list(row) for (where, row), wanted in self.going.items() if where == path and wanted.kind == kind]

    def refuse(self, path: str, reason: str, rows: Collection[_Row] | None = None) -> None:
        """Leave some imports of a file (None: all) as they are after all."""
        for key in [key for key in self.going if key[0] == path and (rows is None or list(key[1]) in rows)]:
            del self.going[key]
            self.left[key] = reason


def _rewrite(plan: _Plan, survey: Survey, write: bool) -> list[_Change]:
    """The changed files. Where an import can't be edited, the rest is judged again before anything is written."""
    repo = survey.content.repo
    changes: list[_Change] = []
    while plan.going:
        edited, refused = list[_Change](), False
        for path in sorted({path for path, _ in plan.going}):
            try:
                before = on_disk(repo.top, path, plan.content(path))
            except Refused as problem:
                plan.refuse(path, str(problem))
                continue
            # nothing is written before every file is edited: an import that can't be edited may need others to stay
            after, left = edit_imports(before, plan.rows(path, NOTED), plan.rows(path, UNUSED))
            edited.append(_Change(path, before, after))
            for row, reason in left:
                plan.refuse(path, reason, [list(row)])
                refused = True
        if not refused:
            changes = edited
            break
        plan.settle()
    return [change for change in changes if change.before != change.after and _written(plan, repo, change, write)]


def _written(plan: _Plan, repo: Repository, change: _Change, write: bool) -> bool:
    try:
        if write:
            replace_files(repo.top, change.path, change.before, change.after, repo.git_dir)
    except Refused as problem:
        plan.refuse(change.path, str(problem))
        return False
    return True


class _NoSources:
    """The survey without its sources: what is fixed needs no suggestion."""

    index = None

    def __init__(self, survey: Survey) -> None:
        self.statement = survey.statement

    def kind(self, link: Link) -> str:
        """Not asked here."""
        return "needed"

    def read(self, paths: Sequence[str]) -> Mapping[str, bytes]:
        """Nothing."""
        return {}


@dataclass(frozen=True, slots=True)
class FixResult:
    """What `kl arch fix` did, with what it could not judge."""

    outcome: _Outcome
    unread: tuple[Problem, ...]
    """Governed files that could not be read."""
    notes: tuple[str, ...]
    accepted: int = 0
    """Violations that the baseline accepts, left alone."""
    has_manifest: bool = True

    @property
    def clean(self) -> bool:
        """True where nothing is left to fix."""
        return not self.outcome.left and not self.unread

    def lines(self, *, written: bool) -> list[str]:
        """The lines to print; `written`: this was no dry run."""
        lines = [line for change in self.outcome.changes for line in _diff(change)]
        lines += [""] if lines else []
        for one, manner in self.outcome.fixed:
            lines.append(_row(f"{'' if written else 'would be '}{manner}", one))
        for one, reason in self.outcome.left:
            lines += [_row("not fixed", one), f"  {'':<{_COLUMN}} {one_line(reason, 200)}"]
        lines += [one_line(str(problem), 400) for problem in self.unread]
        lines += [""] if lines else []
        baseline = (
            f" ({self.accepted} accepted in baseline; fix them too: kl arch fix --accepted)" if self.accepted else ""
        )
        return [*lines, _closing(self.outcome, written) + baseline]

    def to_dict(self, *, written: bool) -> dict[str, Any]:
        """Return the result as `--format json` prints it."""
        return {
            "schema": _SCHEMA,
            "written": written,
            "accepted": self.accepted,
            "files": [{"path": change.path, "diff": list(_diff(change))} for change in self.outcome.changes],
            "fixed": [{**violation_to_dict(one), "manner": manner} for one, manner in self.outcome.fixed],
            "left": [{**violation_to_dict(one), "reason": reason} for one, reason in self.outcome.left],
            "problems": problems_to_list(self.unread),
        }


def fix_violations(ws: Workspace, paths: Sequence[str], write: bool, accepted: bool = False) -> FixResult:
    """Fix the violations on disk in these files and folders (none: all).

    What an exception of the manifest or the baseline accepts is left alone; `accepted`: the latter is fixed too.
    `paths` are from the repository's root. Raises ManifestProblems, UsageProblem (no such file), EnvironmentProblem.
    """
    seen = load_content(ws, WORKTREE)
    if seen.manifest is None:
        return FixResult(_Outcome((), (), ()), (), (), has_manifest=False)
    manifest = load_manifest(ws.state.cache, MANIFEST, seen.manifest)
    found = survey_imports(ws, seen)
    asked = _asked(paths, found.modules)
    layer_of = layer_lookup(manifest.layers)
    unread = [p for p in found.unread if p.path in asked and layer_of(p.path) is not None]
    links = found.links_under(manifest)
    # of the whole repository: the baseline counts imports and pairs renames, so it is never matched with a part
    breaking = tuple(violations(manifest, links, found.modules, _NoSources(found), utc_day(ws)))
    known: tuple[Violation, ...] = ()
    if seen.baseline is not None and not accepted:
        modules = {plain_name(name) for name in found.modules.values()}
        matched = match_baseline(read_baseline(BASELINE, seen.baseline), breaking, modules)
        breaking, known = matched.new, matched.accepted
    outcome = _apply_fixes(manifest, found, [one for one in breaking if one.path in asked], write)
    return FixResult(outcome, tuple(unread), found.notes, sum(one.path in asked for one in known))


def _asked(paths: Sequence[str], modules: Collection[str]) -> set[str]:
    """The Python files that are named, or in a folder that is."""
    if not paths:
        return set(modules)
    found: set[str] = set()
    for path in paths:
        some = {file for file in modules if path in ("", ".") or covers(path, file)}
        if not some:
            from difflib import get_close_matches

            near = get_close_matches(path, sorted(modules), 1)
            hint = f"Did you mean {near[0]}?" if near else "Give Python files of this repository, or folders."
            raise UsageProblem("no Python file of this repository is there.", place=path, hint=hint)
        found |= some
    return found


_SCHEMA: Final = "kl.arch.fix/2"
_COLUMN: Final = 34


def _row(manner: str, one: Violation) -> str:
    place = safe_text(f"{one.path}:{one.line}")
    return f"  {place:<{_COLUMN}} {manner}: {one_line(one.statement, 100)}  ({one.source_layer} -> {one.target_layer})"


def _closing(outcome: _Outcome, written: bool) -> str:
    fixed, left = len(outcome.fixed), len(outcome.left)
    if not fixed:
        return f"nothing to fix, {left} left: see kl arch check" if left else "clean: nothing to fix"
    files = f"in {_count(len(outcome.changes), 'file')}"
    if not written:
        return (
            f"{_count(fixed, 'violation')} could be fixed {files}, {left} left. Nothing was written: kl arch fix does"
        )
    return f"{_count(fixed, 'violation')} fixed {files}, {left} left" + (": see kl arch check" if left else "")


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def _diff(change: _Change) -> Iterator[str]:
    """A unified diff, without line endings (which never change)."""
    before, after = (_decoded(content).splitlines() for content in (change.before, change.after))
    for line in difflib.unified_diff(before, after, f"a/{change.path}", f"b/{change.path}", lineterm=""):
        yield safe_text(line)


def _decoded(content: bytes) -> str:
    try:
        # a source may name its encoding in its first two lines (PEP 263)
        encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
    except SyntaxError:
        encoding = "utf-8"
    return content.decode(encoding, "backslashreplace").replace("\r\n", "\n")
