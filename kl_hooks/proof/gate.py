"""The gate: is there complete, passing test evidence for exactly this content?

`judge` reads the facts; `proof.gate_verdict` decides.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any, Final

from kl_hooks.evidence.flaky import FlakyPasses
from kl_hooks.evidence.ledger import Entry, newest_before, recent, selection_limits
from kl_hooks.evidence.provenance import worktree_state
from kl_hooks.evidence.snapshot import Snapshot
from kl_hooks.evidence.trust import IMPORTED, environment_key
from kl_hooks.git.files import files_at, staged_files, tree_contains
from kl_hooks.git.objects import object_id
from kl_hooks.git.repository import Repository
from kl_hooks.git.worktree import STAGED, scan_worktree
from kl_hooks.model.claim import Tier
from kl_hooks.model.receipt import Receipt
from kl_hooks.proof.content_policy import expected_of_content
from kl_hooks.proof.content_proof import IMPORT_REPORT, Proof, prove
from kl_hooks.proof.content_runs import ContentFacts
from kl_hooks.proof.expected_tests import Expected
from kl_hooks.proof.gate_verdict import GateFacts, decide, for_environment, not_assessed
from kl_hooks.proof.left_behind import compared_runs
from kl_hooks.proof.other_runners import REPORTED
from kl_hooks.proof.other_runs import environments_of
from kl_hooks.proof.repeated_failures import results_of_content
from kl_hooks.proof.test_names import TestNames
from kl_hooks.proof.variables import variable_notes, variables_of_shell
from kl_hooks.store.database import Database
from kl_hooks.workspace import Workspace

NOTHING_TRACKED: Final = "the content tree is empty: git tracks no file yet"
_PYTHON: Final = (".py",)
_EARLIER: Final = 5
"""How many earlier complete runs are looked at for what they reported."""
_REPORTS: Final = 10
"""How many reports of other runners are."""


def judge(
    ws: Workspace,
    snapshot: Snapshot,
    trees: Sequence[str],
    committed: bool = False,
    *,
    rev: str = "",
    trust_ref: str = "",
    base: str = "",
    transfer: bool = True,
    staged: bool = False,
    origin: str = "",
) -> tuple[list[Entry], Proof]:
    """The receipts of a content (newest first), and what they prove: nothing where some of the
    evidence is missing.

    `trees`: its tree ids. `committed`: it is a tree in git (of `rev`, where that is known), not the
    files as they are now. `trust_ref`: the commit whose `verify.exclude` counts instead of the
    content's own. `base`: the commit before the judged ones; without it the parent. `transfer`:
    whether results of other contents count that are valid here. `staged`: it is the tree that a
    commit would make of the index. `origin`: `ci` counts only runs that a trusted key of a CI
    signed, and one of them of this content is enough for `verified`; a failure counts whoever saw
    it.
    """
    entries = snapshot.of_tree(trees)
    if snapshot.unread:
        return entries, not_assessed(snapshot.gaps)
    if ws.repo is None or not trees:
        content = ContentFacts(
            entries, snapshot.parents(entries), trees, lost_until=snapshot.lost_until
        )
        return entries, prove(content, ws.settings.verified_requires)
    if trees[0] == object_id(ws.repo.object_format, b"tree", b""):
        # before the first `git add` every repository has this tree, whatever its files
        return entries, Proof(Tier.GUESSED, None, (NOTHING_TRACKED,))
    # nobody wrote the tree of the index to git, and its files are staged
    if staged:
        tree = STAGED
    elif committed:
        tree = trees[0]
    else:
        tree = None
    policy = partial(expected_of_content, rev=rev, base=base, trust_ref=trust_ref)
    expected = cache(partial(policy, ws, ws.repo, trees, tree or ""))
    content = facts_of_content(ws.repo, snapshot, trees, tree, expected)
    facts = _gate_facts(ws, ws.repo, snapshot, content, tree)
    if not transfer:
        facts = facts._replace(other_runs=tuple)
    proof = decide(facts._replace(origin=origin))
    if not proof.run and not proof.stale and not content.runs and not _has_python(ws.repo, tree):
        proof = proof._replace(first_step=IMPORT_REPORT.format(tree=trees[0]))
    return entries, proof


def _has_python(repo: Repository, tree: str | None) -> bool:
    """Whether a file is Python. `tree`: as `git.worktree.changed_files` takes it."""
    if tree is None:
        return any(path.endswith(_PYTHON) for path in scan_worktree(repo).listing.paths(_PYTHON))
    if tree == STAGED:
        return bool(staged_files(repo, _PYTHON))
    return bool(files_at(repo, tree, _PYTHON))


def _gate_facts(
    ws: Workspace, repo: Repository, snapshot: Snapshot, content: ContentFacts, tree: str | None
) -> GateFacts:
    """What the verdict on a content may ask. `tree`: where its files are; None: the working
    tree.
    """
    names = TestNames(ws, snapshot.db)
    content = content._replace(current_name=names.current)
    environments = environments_of(ws, repo, tree)
    own_runs = results_of_content(snapshot, content.entries, content.trees, environments)
    return GateFacts(
        for_environment(content, own_runs.values()),
        own_runs=list(own_runs.values()),
        other_runs=partial(compared_runs, ws, repo, snapshot, content.trees, tree, own_runs),
        parents=snapshot.parents,
        strength=ws.settings.verified_requires,
        executed=snapshot.executed,
        why_flaky=FlakyPasses(ws, snapshot.db, names.pairs).why,
        untracked=partial(_untracked, repo) if tree is None else tuple,
        variable_notes=partial(variable_notes, ws) if tree is None else lambda runs: (),
        variables_of_shell=variables_of_shell if tree is None else lambda runs: {},
        untrusted=snapshot.untrusted(content.trees),
        losses=tuple(map(str, snapshot.lost)),
    )


def facts_of_content(
    repo: Repository,
    snapshot: Snapshot,
    trees: Sequence[str],
    tree: str | None,
    expected: Callable[[], Expected],
) -> ContentFacts:
    """What the runs of a content itself showed. `tree`: as `git.worktree.changed_files` takes
    it.
    """
    entries = snapshot.of_tree(trees)
    return ContentFacts(
        entries,
        snapshot.parents(entries),
        trees,
        path_exists=_path_exists(repo, tree or ""),
        expected=expected,
        earlier_runs=partial(_earlier_runs, snapshot.db, expected),
        lost_until=snapshot.lost_until,
        reports=partial(_reports, snapshot.db),
    )


def _reports(db: Database | None) -> list[Entry]:
    """The newest reports of other runners that were imported here: not those of other people, who
    may run more than is run here.
    """
    entries = recent(db, _REPORTS, REPORTED) if db is not None else ()
    return [entry for entry in entries if not entry.origin.startswith(IMPORTED)]


def _untracked(repo: Repository) -> Sequence[str]:
    return worktree_state(repo).untracked


def _earlier_runs(
    db: Database | None, expected: Callable[[], Expected], entry: Entry
) -> list[Entry]:
    """The newest complete runs of other contents before this one, in its environment."""
    runs: list[Entry] = []
    is_complete = partial(_is_complete, like=entry.receipt, expected=expected)
    while db and len(runs) < _EARLIER:
        run = newest_before(db, runs[-1].seq if runs else entry.seq, is_complete)
        if run is None:
            break
        runs.append(run)
    return runs


def _is_complete(
    header: Mapping[str, Any], like: Receipt, expected: Callable[[], Expected]
) -> bool:
    """Whether a run was complete, limited by nothing, and made in the environment of another one;
    from its header.
    """
    result = header["result"]
    environment = header["environment"]
    if not result.get("complete") or result.get("verdict") != "passed":
        return False
    if header["tree"] == like.tree:
        return False
    is_same = environment_key(like._replace(environment=environment)) == environment_key(like)
    if not is_same or environment.get("rootdir"):
        return False
    selection = header["selection"]
    if not selection_limits(selection):
        return True
    return not selection_limits(expected().configured.complete(selection))


def _path_exists(repo: Repository, tree: str) -> Callable[[str], bool]:
    """Whether a path is in this tree; without one: whether it is on disk."""

    @cache
    def path_exists(path: str) -> bool:
        if tree:
            return tree_contains(repo, tree, path)
        # of a name with NUL `lexists` answers False instead of raising, and an absent file would
        # end a failure
        return "\0" in path or os.path.lexists(repo.top / path)

    return path_exists
