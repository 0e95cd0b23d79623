"""What `kl arch baseline` does with the work tree: looks, compares, and writes what was asked for."""

from __future__ import annotations

from dataclasses import dataclass

from kl_hooks.arch.baseline.accepted import Match, added, match
from kl_hooks.arch.baseline.file import Accepted, accept
from kl_hooks.arch.baseline.ratchet import write
from kl_hooks.arch.baseline.read import read_baseline
from kl_hooks.arch.kept import load_manifest
from kl_hooks.arch.run import day, judge
from kl_hooks.arch.source import WORKTREE, content
from kl_hooks.arch.survey import survey
from kl_hooks.arch.verdict import Verdict
from kl_hooks.code.modules import plain_name
from kl_hooks.errors import EnvironmentProblem, UsageProblem
from kl_hooks.model.manifest import BASELINE, MANIFEST
from kl_hooks.workspace.open import Workspace


@dataclass(frozen=True, slots=True)
class Look:
    """The work tree's violations beside the baseline on disk."""

    verdict: Verdict
    """Without the baseline: every violation is in it."""
    entries: tuple[Accepted, ...]
    """Of the baseline; none where there is none."""
    found: Match
    before: bytes | None
    """The file as it was read; None: there is none."""

    @property
    def today(self) -> tuple[Accepted, ...]:
        """The entries that accept exactly what is there."""
        return accept(self.verdict.violations)

    @property
    def added(self) -> tuple[Accepted, ...]:
        """What a baseline of today would accept in addition; a rename is no addition."""
        return added(self.found.today, self.today)

    @property
    def fixed(self) -> tuple[Accepted, ...]:
        """What the baseline accepts and nothing needs."""
        return added(self.found.needed, self.entries)


def look(ws: Workspace) -> Look:
    """The work tree as it is. ManifestProblems, BaselineProblems, UsageProblem for no manifest, EnvironmentProblem."""
    seen = content(ws)
    if seen.manifest is None:
        raise UsageProblem("is not there, so nothing is forbidden.", place=MANIFEST, hint="Create one with: kl init")
    manifest = load_manifest(ws.state.cache, MANIFEST, seen.manifest)
    entries = read_baseline(BASELINE, seen.baseline) if seen.baseline is not None else ()
    found = survey(ws, seen)
    verdict = judge(manifest, found, day(ws), WORKTREE, ())
    modules = {plain_name(name) for name in found.modules.values()}
    return Look(verdict, entries, match(entries, verdict.violations, modules), seen.baseline)


def rewrite(ws: Workspace, seen: Look, entries: tuple[Accepted, ...]) -> None:
    """Makes `entries` the baseline. Refuses where a governed file could not be judged, or the file has changed."""
    if seen.verdict.unjudged:
        first = seen.verdict.problems[0]
        hint = "Fix it first: a baseline must know every file."
        raise UsageProblem(first.message, place=f"{first.path}:{first.line}:{first.column}", hint=hint)
    if not write(ws, entries, seen.before):
        raise EnvironmentProblem("changed while it was looked at.", place=BASELINE, hint="Run this again.")
