"""`--changed A...B`: everything of B is judged, and what stands in files that the range changes is reported."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Final

from kl_hooks.arch.source import WORKTREE, repository
from kl_hooks.arch.verdict import Verdict
from kl_hooks.git import files
from kl_hooks.git.files import Entry
from kl_hooks.git.ranges import commit_of, merge_base
from kl_hooks.model.manifest import BASELINE, MANIFEST
from kl_hooks.workspace.open import Workspace

_RANGE: Final = re.compile(r"(.*?)(\.{2,3})(.*)", re.DOTALL)
_SUFFIXES: Final = (".py", MANIFEST, BASELINE)


@dataclass(frozen=True, slots=True)
class Range:
    """What a range asks for."""

    text: str
    """As it was written."""
    source: str
    """What is judged: `worktree`, or the id of a commit."""
    before: str
    """The commit that it starts from."""
    paths: frozenset[str]
    """The files that differ; of a rename both names."""


def changed(ws: Workspace, text: str) -> Range:
    """The range in `text`: `A...B` since the two parted, `A..B` between them, `A` since it parted, to the work tree.

    A side left out is HEAD. UsageProblem for what is no commit.
    """
    repo = repository(ws)
    found = _RANGE.fullmatch(text)
    if found is None:
        source, before = WORKTREE, merge_base(repo, commit_of(repo, text), commit_of(repo, "HEAD"))
        now = files.worktree(repo, _SUFFIXES)
    else:
        first, source = (commit_of(repo, rev or "HEAD") for rev in (found[1], found[3]))
        before = first if found[2] == ".." else merge_base(repo, first, source)
        now = files.at(repo, source, _SUFFIXES)
    return Range(text, source, before, frozenset(_differing(files.at(repo, before, _SUFFIXES), now)))


def _differing(before: Collection[Entry], now: Collection[Entry]) -> set[str]:
    old, new = ({entry.path: entry.blob for entry in entries} for entries in (before, now))
    return {path for path in old.keys() | new.keys() if old.get(path) != new.get(path)}


def narrowed(verdict: Verdict, asked: Range) -> tuple[Verdict, int]:
    """The verdict on the changed files, and how many findings elsewhere are left out.

    Of a contract a chain stays that has a step in a changed file; so does what keeps contracts from being judged.

    Nothing is left out where the manifest or the baseline itself changed: what it forbids now it forbids everywhere.
    """
    if asked.paths & {MANIFEST, BASELINE}:
        return verdict, 0
    kept = replace(
        verdict,
        violations=tuple(one for one in verdict.violations if one.path in asked.paths),
        accepted=tuple(one for one in verdict.accepted if one.path in asked.paths),
        contracts=tuple(
            one
            for one in verdict.contracts
            if not one.chain or any(step.path in asked.paths for step in (*one.chain, *one.also))
        ),
        problems=tuple(one for one in verdict.problems if one.path in asked.paths | verdict.stopping),
    )
    return kept, _blocking(verdict) - _blocking(kept)


def within(verdict: Verdict, folder: str) -> Verdict:
    """The verdict on the files in a folder (from the repository's root, `/` at its end; empty: everything)."""

    def inside(path: str) -> bool:
        return path.startswith(folder) or path in (MANIFEST, BASELINE)

    return replace(
        verdict,
        violations=tuple(one for one in verdict.violations if inside(one.path)),
        accepted=tuple(one for one in verdict.accepted if inside(one.path)),
        contracts=tuple(
            one for one in verdict.contracts if not one.chain or any(inside(x.path) for x in (*one.chain, *one.also))
        ),
        problems=tuple(one for one in verdict.problems if inside(one.path) or one.path in verdict.stopping),
        unassigned=tuple(path for path in verdict.unassigned if inside(path)),
    )


def _blocking(verdict: Verdict) -> int:
    return len(verdict.violations) + len(verdict.contracts) + len(verdict.problems)
