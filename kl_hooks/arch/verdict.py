"""Verdict: what a check found, with what it could not look at."""

from __future__ import annotations

from dataclasses import dataclass

from kl_hooks.model.manifest import Manifest, Violation
from kl_hooks.model.problem import Problem


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer of one check."""

    manifest: Manifest
    violations: tuple[Violation, ...]
    problems: tuple[Problem, ...]
    """What keeps a governed file from being judged: it does not parse, or belongs to no layer (`exhaustive`)."""
    warnings: tuple[Problem, ...]
    files: int
    """Files that were judged."""
    source: str
    """`worktree`, `staged`, or the revision that was looked at."""
    unjudged: int = 0
    """Files of layers that could not be read."""

    @property
    def clean(self) -> bool:
        """True where nothing blocks."""
        return not self.violations and not self.problems
