"""`kl arch fix` from end to end: surveys the work tree, mends what is asked for, says what was done."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from kl_hooks.arch.baseline.accepted import match
from kl_hooks.arch.baseline.read import read_baseline
from kl_hooks.arch.check import violations
from kl_hooks.arch.fixing.fix import Outcome, fix
from kl_hooks.arch.kept import load_manifest
from kl_hooks.arch.paths import covers, owner
from kl_hooks.arch.run import day
from kl_hooks.arch.source import WORKTREE, content
from kl_hooks.arch.survey import Survey, survey
from kl_hooks.code.modules import plain_name
from kl_hooks.errors import UsageProblem
from kl_hooks.model.manifest import BASELINE, MANIFEST, Violation
from kl_hooks.model.problem import Problem
from kl_hooks.model.symbol import Link
from kl_hooks.workspace.open import Workspace


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
class Mended:
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


def mend(ws: Workspace, paths: Sequence[str], write: bool, accepted: bool = False) -> Mended | None:
    """Fixes the work tree's violations in these files and folders (none: all); None without a manifest.

    What an exception of the manifest or the baseline accepts is left alone; `accepted`: the latter is fixed too.
    `paths` are from the repository's root. Raises ManifestProblems, UsageProblem (no such file), EnvironmentProblem.
    """
    seen = content(ws, WORKTREE)
    if seen.manifest is None:
        return None
    manifest = load_manifest(ws.state.cache, MANIFEST, seen.manifest)
    found = survey(ws, seen)
    asked = _asked(paths, found.modules)
    layer_of = owner(manifest.layers)
    unread = [p for p in found.unread if p.path in asked and layer_of(p.path) is not None]
    links = found.links_under(manifest)
    breaking = tuple(violations(manifest, links, found.modules, Statements(found), day(ws)))
    known: tuple[Violation, ...] = ()
    if seen.baseline is not None and not accepted:
        modules = {plain_name(name) for name in found.modules.values()}
        matched = match(read_baseline(BASELINE, seen.baseline), breaking, modules)
        breaking, known = matched.new, matched.accepted
    outcome = fix(manifest, found, [one for one in breaking if one.path in asked], write)
    return Mended(outcome, tuple(unread), found.notes, sum(one.path in asked for one in known))


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
