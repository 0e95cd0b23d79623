"""The gate: is there complete, passing test evidence for exactly this content? `judge` reads, `proof` decides."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from kl_hooks.evidence.ledger import Entry
from kl_hooks.evidence.weight import observation, vouching
from kl_hooks.git.files import holds
from kl_hooks.git.repository import Repository
from kl_hooks.git.treehash import object_id
from kl_hooks.model.ids import split
from kl_hooks.model.outcome import REFUTES
from kl_hooks.model.receipt import Receipt
from kl_hooks.model.tier import Tier, tier
from kl_hooks.proof.snapshot import Snapshot
from kl_hooks.workspace.open import Workspace


@dataclass(frozen=True, slots=True)
class Proof:
    """The answer, with the run that gives it and the reasons."""

    tier: Tier
    """Of "the tests pass on this tree": guessed where nothing proves it."""
    run: str | None
    """The newest run that proves it."""
    reasons: tuple[str, ...]
    failed: str = ""
    """`newest`: the newest run of this content failed; `earlier`: what failed has not passed since; else empty."""
    notes: tuple[str, ...] = ()
    """Those of the reasons that matter where the content is proven too."""


NOTHING_TRACKED: Final = "the content tree is empty: git tracks no file yet"


def judge(ws: Workspace, seen: Snapshot, trees: Sequence[str], committed: bool = False) -> tuple[list[Entry], Proof]:
    """The receipts of a content (newest first), and what they prove: nothing where some of the evidence is missing.

    `trees`: its tree ids. `committed`: it is a tree in git, not the files as they are now.
    """
    entries = seen.of_tree(trees)
    if missing := seen.gaps:
        return entries, Proof(Tier.GUESSED, None, tuple(f"not assessed: {one}" for one in missing))
    if ws.repo and trees and trees[0] == object_id(ws.repo.object_format, b"tree", b""):
        # before the first `git add` every repository has this tree, whatever lies beside it
        return entries, Proof(Tier.GUESSED, None, (NOTHING_TRACKED,))
    parents = seen.parents(entries)
    there = _there(ws.repo, trees[0] if committed else "") if ws.repo else lambda path: True
    return entries, proof(entries, parents, ws.settings.verified_requires, trees, there)


def _there(repo: Repository, tree: str) -> Callable[[str], bool]:
    """Whether a path is in this tree; without one: whether it is on disk."""

    @cache
    def there(path: str) -> bool:
        if tree:
            return holds(repo, tree, path)
        try:
            return os.path.lexists(repo.top / path)
        except ValueError:
            return True

    return there


_LIMITS: Final = {
    "keyword": "-k", "markers": "-m", "lf": "--lf", "collect_only": "--collect-only", "setup_only": "--setup-only",
    "setup_plan": "--setup-plan", "overridden": "-o", "config_file": "-c",
}  # fmt: skip
_NAMED: Final = 3
"""How many tests or files a reason names."""


def selected(receipt: Receipt) -> str:
    """In words how a run was limited to a part of its tests; empty: it was not, as far as it can be seen."""
    selection = receipt.selection
    words = [f"{option} {_shown(selection[key])}" for key, option in _LIMITS.items() if selection.get(key)]
    if selection.get("deselected"):
        words.append(f"{selection['deselected']} tests deselected")
    if selection.get("dropped"):
        words.append(f"{selection['dropped']} tests taken out by a plugin or a conftest.py")
    left_out = selection.get("left_out")
    if isinstance(left_out, Mapping) and left_out.get("files"):
        words.append(f"{left_out['files']} test files left out: {_some(left_out.get('first'), left_out['files'])}")
    return ", ".join(words)


def with_untracked(entries: Sequence[Entry], run: str | None, tree: str | None) -> bool:
    """True if this run, on the tracked files of `tree`, had untracked files beside them: no commit holds those."""
    return any(
        e.receipt.run == run and e.receipt.tree == tree and e.receipt.tree_all not in (None, tree) for e in entries
    )


def _shown(value: object) -> str:
    return ", ".join(map(repr, value)) if isinstance(value, list) else repr(value)


def _some(names: object, number: object) -> str:
    listed = [str(name) for name in names[:_NAMED]] if isinstance(names, list | tuple) else []
    more = number - len(listed) if isinstance(number, int) else 0
    return ", ".join(listed) + (f" and {more} more" if more > 0 else "")


def proof(
    entries: Sequence[Entry],
    parents: Mapping[str, Entry],
    rule: str = "independent",
    trees: Sequence[str] = (),
    holds: Callable[[str], bool] = lambda path: True,
) -> Proof:
    """What the receipts of one tree (newest first) prove about its tests.

    `trees`: the ids that the content has, where a run with untracked files beside it must not count for it alone.
    `holds`: whether a path from the repository's root is in this content; where it can't be told, it is.
    """
    runs = [e for e in entries if e.receipt.source in ("pytest", "junit")]
    problems = [_problem(entry) or _more_than(entry.receipt, trees) for entry in runs]
    good = [entry for entry, problem in zip(runs, problems, strict=True) if not problem]
    failing, beside = _failing(runs, good), _without(runs, good, trees)
    past = [(test, run) for test, run in failing if run in beside and not holds(test.partition("::")[0])]
    left = set(past)
    failing = [one for one in failing if one not in left]
    reasons = [f"run {e.receipt.run[:8]}: {why}" for e, why in zip(runs, problems, strict=True) if why]
    reasons += [f"{test} failed in run {run[:8]}, and did not pass since" for test, run in failing[:_NAMED]]
    if len(failing) > _NAMED:
        reasons.append(f"{len(failing) - _NAMED} more tests failed, and did not pass since")
    notes = tuple(f"{test} failed in run {run[:8]}; its file was untracked, and is gone" for test, run in past[:_NAMED])
    reasons += notes
    newest = bool(runs) and problems[0].startswith("tests failed")
    if failing or newest:
        more = not newest or _more_than(runs[0].receipt, trees)
        return Proof(Tier.GUESSED, None, tuple(reasons), "earlier" if more else "newest")
    seen = [observation(e.receipt, e.receipt.evidence[0], e.origin) for e in good]
    for entry in good:
        parent = parents.get(entry.receipt.parent or "")
        if parent:
            saw = vouching(parent.receipt, entry.receipt)
            seen += [observation(parent.receipt, one, parent.origin) for one in saw]
    return Proof(tier(seen, rule), good[0].receipt.run if good else None, tuple(reasons), notes=notes)


def _without(runs: Sequence[Entry], good: Sequence[Entry], trees: Sequence[str]) -> set[str]:
    """The runs of more than this content that a good run of just this content came after.

    Just this: the untracked files of that run are known too. A failed test of such a run may be gone with its file.
    """
    last = next((at for at, one in enumerate(runs) if one in good and one.receipt.tree_all), len(runs))
    return {one.receipt.run for one in runs[last:] if _more_than(one.receipt, trees)}


def _failing(runs: Sequence[Entry], good: Sequence[Entry]) -> list[tuple[str, str]]:
    """The tests whose last word in these runs (newest first) is a failure, each with the run that said so.

    The content is the same, so a failed test that a later run does not even mention was left out of that run. A skip
    says nothing but in a good run; what was imported, or ran while files changed, takes no failure back. A file that
    could not be collected is settled by a word of any test in it.
    """
    last: dict[str, tuple[str, str]] = {}
    whole = {entry.id for entry in good}
    for entry in runs:
        weak = entry.origin.startswith("imported") or entry.receipt.moved
        words: dict[str, tuple[str, str]] = {}
        for one in entry.receipt.evidence:
            bad = one.outcome in REFUTES
            if one.subject in last or (not bad and (weak or (one.outcome == "skipped" and entry.id not in whole))):
                continue
            if not (bad and any(known.startswith(f"{one.subject}::") for known in last)):
                words[one.subject] = (one.outcome, entry.receipt.run)
        last.update(words)
    return [(split(subject)[1], run) for subject, (outcome, run) in sorted(last.items()) if outcome in REFUTES]


def _more_than(receipt: Receipt, trees: Sequence[str]) -> str:
    """Why a run of more than this content says nothing about it alone: tests may have needed the untracked files."""
    if not trees or receipt.tree_all in (None, receipt.tree, *trees):
        return ""
    told = receipt.environment.get("untracked")
    if not isinstance(told, Mapping):
        return "untracked files were there when it ran"
    names = [str(name) for name in told.get("first") or ()]
    if not names:
        return ""
    return f"untracked files were there when it ran: {_some(names, told.get('files'))}"


def _problem(entry: Entry) -> str:
    receipt = entry.receipt
    if receipt.result.get("verdict") == "failed":
        bad = {k: v for k, v in (receipt.result.get("counts") or {}).items() if v and k in ("failed", "error")}
        return "tests failed: " + ", ".join(f"{v} {k}" for k, v in sorted(bad.items()))
    sample = next((e for e in receipt.evidence if e.outcome == "passed"), None)
    if sample is None:
        return "nothing passed"
    weak = observation(receipt, sample, entry.origin).why_not
    return weak or (f"only a selection ran ({selected(receipt)})" if selected(receipt) else "")
