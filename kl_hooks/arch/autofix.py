"""`kl arch fix`: violating imports that can go or move without changing what the program does."""

from __future__ import annotations

import difflib
import io
import os
import stat
import tempfile
import tokenize
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from kl_hooks.arch.autofix_safety import RepositoryContext, Row, import_rows
from kl_hooks.arch.baseline import match_baseline, read_baseline
from kl_hooks.arch.content import WORKTREE, load_content, utc_day
from kl_hooks.arch.import_survey import Survey, survey_imports
from kl_hooks.arch.layer_check import violations
from kl_hooks.arch.layers import THROUGH_METHOD, covers, is_through, layer_lookup
from kl_hooks.arch.manifest import load_manifest
from kl_hooks.arch.report import problems_to_list, violation_to_dict
from kl_hooks.code.modules import plain_name
from kl_hooks.code.rewrite.edit import edit_imports
from kl_hooks.code.rewrite.import_use import KEPT, NOTED, UNUSED, Need, Source, need
from kl_hooks.code.rewrite.source_text import parsed
from kl_hooks.errors import UsageProblem
from kl_hooks.git.repository import Repository
from kl_hooks.model.manifest import BASELINE, MANIFEST, Manifest, Violation
from kl_hooks.model.problem import Problem
from kl_hooks.model.symbol import Link
from kl_hooks.model.text import one_line, safe_text
from kl_hooks.workspace import Workspace


class Refused(Exception):
    """The file is left alone; the text says why, as a clause."""


def on_disk(top: Path, path: str, stored: bytes) -> bytes:
    """The bytes of a file of the work tree, which must be the text that was judged. Raises Refused."""
    content = _read(top, path)
    if content.replace(b"\r\n", b"\n") != stored.replace(b"\r\n", b"\n"):
        raise Refused("the file changed meanwhile, or git keeps it in another form")
    return content


def replace_files(top: Path, path: str, before: bytes, after: bytes, aside: Path) -> None:
    """Writes `after` where `before` still stands. Raises Refused.

    `aside`: git's own folder, where the new text is made: what a killed writer leaves there is in nobody's way. Where
    that is another file system, the new text is made beside the file.
    """
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
            os.fsync(file.fileno())
        Path(temporary).chmod(stat.S_IMODE(place.stat().st_mode))
        Path(temporary).replace(place)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _read(top: Path, path: str) -> bytes:
    place = top / path
    try:
        if not stat.S_ISREG(place.lstat().st_mode) or place.resolve() != top.resolve() / path:
            raise Refused("a symbolic link leads to the file")
        return place.read_bytes()
    except OSError as problem:
        raise Refused(f"the file can't be read ({problem.strerror or problem})") from problem


_ENFORCED = "only annotations use it, and the manifest enforces imports for type checkers too"
_CHAIN = "it is a chain of imports, each of them allowed"


@dataclass(frozen=True, slots=True)
class Change:
    """One file, before and after."""

    path: str
    before: bytes
    after: bytes


@dataclass(frozen=True, slots=True)
class Outcome:
    """What `kl arch fix` did, or would do."""

    changes: tuple[Change, ...]
    fixed: tuple[tuple[Violation, str], ...]
    """Each with `moved` or `dropped`."""
    left: tuple[tuple[Violation, str], ...]
    """Each with the reason, a clause."""


def apply_fixes(manifest: Manifest, survey: Survey, found: Sequence[Violation], write: bool) -> Outcome:
    """Moves and drops imports among `found`, in the files on disk if `write`. The survey is one of the work tree."""
    around = RepositoryContext(survey)
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
    return Outcome(tuple(changes), tuple(fixed), tuple(left))


def _unfixable(violation: Violation) -> str:
    if is_through(violation.method):
        return f"it leads through {violation.method.removeprefix(THROUGH_METHOD)}, in no layer"
    return _CHAIN


_Key = tuple[str, tuple[object, ...]]
"""(path, row)"""


class _Plan:
    """Which imports go, and why the others don't."""

    def __init__(self, manifest: Manifest, survey: Survey, around: RepositoryContext) -> None:
        self._manifest, self._survey, self._around = manifest, survey, around
        self._sources: dict[str, Source | None] = {}
        self.going: dict[_Key, Need] = {}
        self.left: dict[_Key, str] = {}
        self.keys: dict[Violation, list[_Key]] = {}

    def look(self, violation: Violation) -> None:
        """Takes in the imports behind a violation."""
        path = violation.path
        self.keys[violation] = [(path, tuple(row)) for row in import_rows(self._survey, violation)]
        for key in self.keys[violation]:
            try:
                wanted = self._need(path, key[1])
                reason = wanted.reason or self._outside(path, wanted)
            except RecursionError:
                wanted, reason = Need(KEPT), "the file is nested too deeply"
            if reason:
                self.left[key] = reason
            else:
                self.going[key] = wanted

    def _need(self, path: str, row: Row) -> Need:
        if path not in self._sources:
            content = self.content(path)
            tree = parsed(content)
            self._sources[path] = Source(path, content, tree, self._around.trusted(path)) if tree else None
        source = self._sources[path]
        return need(source, row) if source else Need(KEPT, "the file can't be read")

    def content(self, path: str) -> bytes:
        """The text of a file as it was judged; a NUL where it can't be had any more."""
        return self._survey.read([path]).get(path, b"\0")

    def _outside(self, path: str, wanted: Need) -> str:
        if wanted.kind == NOTED and self._manifest.type_checking_imports != "ignore":
            return _ENFORCED
        taken = self._around.taken_elsewhere(path, wanted.name)
        return taken or (self._around.evaluator(path) if wanted.kind == NOTED else "")

    def settle(self) -> None:
        """Keeps those imports whose absence could be noticed; until none is left, since each one kept keeps others."""
        while True:
            self._keep_together()
            rows: dict[str, list[Row]] = {}
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

    def rows(self, path: str, kind: str) -> list[Row]:
        """The imports of one file that are moved (`NOTED`) or removed (`UNUSED`)."""
        return [list(row) for (where, row), wanted in self.going.items() if where == path and wanted.kind == kind]

    def refuse(self, path: str, reason: str, rows: Collection[Row] | None = None) -> None:
        """Leaves some imports of a file (None: all) as they are after all."""
        for key in [key for key in self.going if key[0] == path and (rows is None or list(key[1]) in rows)]:
            del self.going[key]
            self.left[key] = reason


def _rewrite(plan: _Plan, survey: Survey, write: bool) -> list[Change]:
    """The changed files. Where an import can't be edited, the rest is judged again before anything is written."""
    repo = survey.content.repo
    changes: list[Change] = []
    while plan.going:
        edited, refused = list[Change](), False
        for path in sorted({path for path, _ in plan.going}):
            try:
                before = on_disk(repo.top, path, plan.content(path))
            except Refused as problem:
                plan.refuse(path, str(problem))
                continue
            after, left = edit_imports(before, plan.rows(path, NOTED), plan.rows(path, UNUSED))
            edited.append(Change(path, before, after))
            for row, reason in left:
                plan.refuse(path, reason, [list(row)])
                refused = True
        if not refused:
            changes = edited
            break
        plan.settle()
    return [change for change in changes if change.before != change.after and _written(plan, repo, change, write)]


def _written(plan: _Plan, repo: Repository, change: Change, write: bool) -> bool:
    try:
        if write:
            replace_files(repo.top, change.path, change.before, change.after, repo.git_dir)
    except Refused as problem:
        plan.refuse(change.path, str(problem))
        return False
    return True


class Statements:
    """The survey without its sources: what is fixed needs no way out."""

    ready = None

    def __init__(self, survey: Survey) -> None:
        self.statement = survey.statement

    def kind(self, link: Link) -> str:
        """Not asked here."""
        return "kept"

    def read(self, paths: Sequence[str]) -> Mapping[str, bytes]:
        """Nothing."""
        return {}


@dataclass(frozen=True, slots=True)
class FixResult:
    """What came of it."""

    outcome: Outcome
    unread: tuple[Problem, ...]
    """Governed files that could not be read."""
    notes: tuple[str, ...]
    accepted: int = 0
    """Violations that the baseline accepts, left alone."""

    @property
    def clean(self) -> bool:
        """True where nothing is left to fix."""
        return not self.outcome.left and not self.unread


def fix_violations(ws: Workspace, paths: Sequence[str], write: bool, accepted: bool = False) -> FixResult | None:
    """Fixes the work tree's violations in these files and folders (none: all); None without a manifest.

    What an exception of the manifest or the baseline accepts is left alone; `accepted`: the latter is fixed too.
    `paths` are from the repository's root. Raises ManifestProblems, UsageProblem (no such file), EnvironmentProblem.
    """
    seen = load_content(ws, WORKTREE)
    if seen.manifest is None:
        return None
    manifest = load_manifest(ws.state.cache, MANIFEST, seen.manifest)
    found = survey_imports(ws, seen)
    asked = _asked(paths, found.modules)
    layer_of = layer_lookup(manifest.layers)
    unread = [p for p in found.unread if p.path in asked and layer_of(p.path) is not None]
    links = found.links_under(manifest)
    breaking = tuple(violations(manifest, links, found.modules, Statements(found), utc_day(ws)))
    known: tuple[Violation, ...] = ()
    if seen.baseline is not None and not accepted:
        modules = {plain_name(name) for name in found.modules.values()}
        matched = match_baseline(read_baseline(BASELINE, seen.baseline), breaking, modules)
        breaking, known = matched.new, matched.accepted
    outcome = apply_fixes(manifest, found, [one for one in breaking if one.path in asked], write)
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


SCHEMA: Final = "kl.arch.fix/1"
_COLUMN: Final = 34


def fix_lines(outcome: Outcome, unread: tuple[Problem, ...], written: bool, accepted: int = 0) -> list[str]:
    """The lines to print.

    `unread`: governed files that could not be read; `written`: this was no dry run; `accepted`: violations that the
    baseline accepts.
    """
    lines = [line for change in outcome.changes for line in _diff(change)]
    lines += [""] if lines else []
    for one, manner in outcome.fixed:
        lines.append(_row(f"{'' if written else 'would be '}{manner}", one))
    for one, reason in outcome.left:
        lines += [_row("not fixed", one), f"  {'':<{_COLUMN}} {one_line(reason, 200)}"]
    lines += [one_line(str(problem), 400) for problem in unread]
    lines += [""] if lines else []
    kept = f" ({accepted} accepted in baseline; fix them too: kl arch fix --accepted)" if accepted else ""
    return [*lines, _closing(outcome, written) + kept]


def _row(manner: str, one: Violation) -> str:
    place = safe_text(f"{one.path}:{one.line}")
    return f"  {place:<{_COLUMN}} {manner}: {one_line(one.statement, 100)}  ({one.source_layer} -> {one.target_layer})"


def _closing(outcome: Outcome, written: bool) -> str:
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


def _diff(change: Change) -> Iterator[str]:
    """A unified diff, without line endings (which never change)."""
    before, after = (_decoded(content).splitlines() for content in (change.before, change.after))
    for line in difflib.unified_diff(before, after, f"a/{change.path}", f"b/{change.path}", lineterm=""):
        yield safe_text(line)


def _decoded(content: bytes) -> str:
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
    except SyntaxError:
        encoding = "utf-8"
    return content.decode(encoding, "backslashreplace").replace("\r\n", "\n")


def fix_to_dict(outcome: Outcome, unread: tuple[Problem, ...], written: bool, accepted: int = 0) -> dict[str, Any]:
    """As `--format json` prints it."""
    return {
        "schema": SCHEMA,
        "written": written,
        "accepted": accepted,
        "files": [{"path": change.path, "diff": list(_diff(change))} for change in outcome.changes],
        "fixed": [{**violation_to_dict(one), "manner": manner} for one, manner in outcome.fixed],
        "left": [{**violation_to_dict(one), "reason": reason} for one, reason in outcome.left],
        "problems": problems_to_list(unread),
    }
