"""Mends what can be mended without a change of meaning: unused imports go, those of annotations alone are moved."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from kl_hooks.arch.fixing.around import Around, Row, rows_of
from kl_hooks.arch.fixing.replace import Refused, on_disk, replace
from kl_hooks.arch.survey import Survey
from kl_hooks.arch.unassigned import THROUGH, is_through
from kl_hooks.code.rewriting.child import Job, rewrite_apart
from kl_hooks.code.rewriting.need import KEPT, NOTED, UNUSED, Need, Source, need
from kl_hooks.code.rewriting.parsed import parsed
from kl_hooks.git.repository import Repository
from kl_hooks.model.manifest import Manifest, Violation

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


def fix(manifest: Manifest, survey: Survey, found: Sequence[Violation], write: bool) -> Outcome:
    """Moves and drops imports among `found`, in the files on disk if `write`. The survey is one of the work tree."""
    around = Around(survey)
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
        return f"it leads through {violation.method.removeprefix(THROUGH)}, in no layer"
    return _CHAIN


_Key = tuple[str, tuple[object, ...]]
"""(path, row)"""


class _Plan:
    """Which imports go, and why the others don't."""

    def __init__(self, manifest: Manifest, survey: Survey, around: Around) -> None:
        self._manifest, self._survey, self._around = manifest, survey, around
        self._sources: dict[str, Source | None] = {}
        self.going: dict[_Key, Need] = {}
        self.left: dict[_Key, str] = {}
        self.keys: dict[Violation, list[_Key]] = {}

    def look(self, violation: Violation) -> None:
        """Takes in the imports behind a violation."""
        path = violation.path
        self.keys[violation] = [(path, tuple(row)) for row in rows_of(self._survey, violation)]
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

    def job(self, path: str, content: bytes) -> Job:
        """What is to be done in one file."""
        mine = [(list(row), wanted.kind) for (where, row), wanted in self.going.items() if where == path]
        moves, drops = (tuple(row for row, kind in mine if kind == wanted) for wanted in (NOTED, UNUSED))
        return Job(content, moves, drops)

    def refuse(self, path: str, reason: str, rows: Collection[Row] | None = None) -> None:
        """Leaves some imports of a file (None: all) as they are after all."""
        for key in [key for key in self.going if key[0] == path and (rows is None or list(key[1]) in rows)]:
            del self.going[key]
            self.left[key] = reason


def _rewrite(plan: _Plan, survey: Survey, write: bool) -> list[Change]:
    """The changed files. What libcst refuses stays, and then the rest is looked at again before anything is written."""
    repo = survey.content.repo
    changes: list[Change] = []
    while plan.going:
        jobs = {}
        for path in sorted({path for path, _ in plan.going}):
            try:
                jobs[path] = plan.job(path, on_disk(repo.top, path, plan.content(path)))
            except Refused as problem:
                plan.refuse(path, str(problem))
        done = rewrite_apart(jobs)
        refused = [(path, row, reason) for path, one in done.items() for row, reason in one.left]
        for path, row, reason in refused:
            plan.refuse(path, reason, [list(row)])
        if not refused:
            changes = [Change(path, jobs[path].content, one.content) for path, one in done.items()]
            break
        plan.settle()
    return [change for change in changes if change.before != change.after and _written(plan, repo, change, write)]


def _written(plan: _Plan, repo: Repository, change: Change, write: bool) -> bool:
    try:
        if write:
            replace(repo.top, change.path, change.before, change.after, repo.git_dir)
    except Refused as problem:
        plan.refuse(change.path, str(problem))
        return False
    return True
