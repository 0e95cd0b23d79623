"""Verdict: what a check found, with what it could not look at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from kl_hooks.model.manifest import Manifest, Violation
from kl_hooks.model.problem import Problem

if TYPE_CHECKING:
    from kl_hooks.model.contract import Breach


@dataclass(frozen=True, slots=True)
class Judged:
    """What the contracts say about one content."""

    breaches: tuple[Breach, ...] = ()
    problems: tuple[Problem, ...] = ()
    """Files that keep contracts from being judged."""
    warnings: tuple[Problem, ...] = ()
    files: int = 0
    """Files of the packages that were looked at."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer of one check."""

    manifest: Manifest
    violations: tuple[Violation, ...]
    """What blocks: with a baseline, only what it does not accept."""
    problems: tuple[Problem, ...]
    """What keeps a governed file from being judged: it does not parse, or belongs to no layer (`exhaustive`)."""
    warnings: tuple[Problem, ...]
    files: int
    """Files that were judged."""
    source: str
    """`worktree`, `staged`, or the revision that was looked at."""
    unjudged: int = 0
    """Files of layers that could not be read."""
    accepted: tuple[Violation, ...] = ()
    """What the baseline accepts."""
    baseline: str = ""
    """Path of the baseline that was held against it; empty where there was none."""
    titles: Mapping[str, str] = field(default_factory=dict)
    """Record id → title, of the decisions behind the rules that were broken, where those records are known."""
    contracts: tuple[Breach, ...] = ()
    """How contracts of import-linter are broken."""
    unassigned: tuple[str, ...] = ()
    """The Python files that belong to no layer, by path; empty where the manifest has no layers."""
    loosened: tuple[Problem, ...] = ()
    """How the judged commits allow more than the rules before them: each with its place in the new rules."""
    trusted: str = ""
    """The revision whose rules are trusted: loosened rules block then."""
    invalid: bool = False
    """True where the rules themselves can't be used; `problems` says why, and nothing was judged."""
    stopping: frozenset[str] = frozenset()
    """The files (of `problems`) that keep contracts from being judged at all."""

    @property
    def clean(self) -> bool:
        """True where nothing blocks."""
        blocking = (self.violations, self.problems, self.contracts, self.trusted and self.loosened)
        return not any(blocking)

    def joined(self, judged: Judged) -> Verdict:
        """The verdict with what the contracts say."""
        known = {problem.path for problem in self.problems}
        stopping = {problem.path: problem for problem in judged.problems if problem.path not in known}
        better = {one.path: one for one in self.warnings if one.path in stopping}  # our own reason and place
        return replace(
            self,
            contracts=judged.breaches,
            stopping=frozenset(problem.path for problem in judged.problems),
            problems=(*self.problems, *(better.get(path, one) for path, one in stopping.items())),
            warnings=(*(one for one in self.warnings if one.path not in better), *judged.warnings),
            files=max(self.files, judged.files),
        )
