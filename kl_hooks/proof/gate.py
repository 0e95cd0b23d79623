"""The gate: is there complete, passing test evidence for exactly this content?

`judge` reads the facts, of runs of this content first, then of other contents whose results are
valid here. `proof.content_proof` decides.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any, Final

from kl_hooks.evidence.flaky import FlakyPasses
from kl_hooks.evidence.ingestion import Snapshot, newest_first
from kl_hooks.evidence.ledger import Entry, newest_before, selection_limits
from kl_hooks.evidence.provenance import is_document, worktree_state
from kl_hooks.evidence.trust import environment_key, why_not_hard
from kl_hooks.git.files import tree_contains
from kl_hooks.git.objects import object_id
from kl_hooks.git.repository import Repository
from kl_hooks.git.worktree import STAGED
from kl_hooks.model.claim import Tier
from kl_hooks.model.receipt import Receipt
from kl_hooks.model.symbol import split_id
from kl_hooks.model.text import name_list
from kl_hooks.proof.configured_selection import OMITTED_FILES
from kl_hooks.proof.content_policy import expected_of_content
from kl_hooks.proof.content_proof import Proof, prove
from kl_hooks.proof.content_runs import NAMED, ContentFacts, by_configuration, first_of
from kl_hooks.proof.expected_tests import Expected
from kl_hooks.proof.other_runs import OtherRun, environments_of, other_runs, runs_of_content
from kl_hooks.proof.proven_tests import ProvenTests
from kl_hooks.proof.read_rules import unrecorded_reads
from kl_hooks.proof.test_names import TestNames
from kl_hooks.store.database import Database
from kl_hooks.workspace import Workspace

NOTHING_TRACKED: Final = "the content tree is empty: git tracks no file yet"
_EARLIER: Final = 5
"""How many earlier complete runs are looked at for what they reported."""
_SEE_KEYS: Final = "see: kl trust list, kl sync --pull"


def judge(
    ws: Workspace,
    seen: Snapshot,
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
    entries = seen.of_tree(trees)
    if seen.unread:
        return entries, _not_assessed(seen)
    if ws.repo and trees and trees[0] == object_id(ws.repo.object_format, b"tree", b""):
        # before the first `git add` every repository has this tree, whatever its files
        return entries, Proof(Tier.GUESSED, None, (NOTHING_TRACKED,))
    strength = ws.settings.verified_requires
    if ws.repo is None:
        facts = ContentFacts(entries, seen.parents(entries), trees, lost_until=seen.lost_until)
        return entries, prove(facts, strength)
    # nobody wrote the tree of the index to git, and its files are staged
    tree = STAGED if staged else trees[0] if committed else None
    expected = cache(
        partial(
            expected_of_content,
            ws,
            ws.repo,
            trees,
            tree or "",
            rev=rev,
            base=base,
            trust_ref=trust_ref,
        )
    )
    here = runs_of_content(seen, entries, environments_of(ws.repo, tree))
    facts = facts_of_content(ws.repo, seen, trees, tree, expected, here)
    own_facts = replace(facts, entries=[entry for entry in facts.entries if _is_of(entry, origin)])
    proof = prove(facts, strength)
    if origin and not proof.failed:
        proof = _proof_by_origin(own_facts, strength)
    runs: list[OtherRun] = []
    if transfer and trees and proof.tier < Tier.INFERRED:
        compared = other_runs(ws, ws.repo, seen, trees, tree)
        runs = [
            _by_configuration(run, expected) for run in compared if _is_of(run.original, origin)
        ]
    used_runs: Sequence[OtherRun] = ()
    all_facts = own_facts
    for used_runs in _runs_to_use(runs):
        all_facts = _with_other_runs(seen, own_facts, used_runs)
        # what ran on this very content comes first, and a failure there counts whatever ran
        # elsewhere (ADR-0029)
        proof = proof if proof.failed else prove(all_facts, strength)
        if proof.tier >= Tier.INFERRED:
            break
    if used_runs and origin:
        # that a CI ran this very content is what makes its word enough for `verified`
        proof = replace(proof, tier=min(proof.tier, Tier.INFERRED))
    proof = _with_notes(proof, [*here.values(), *used_runs])
    originals = [run.original for run in used_runs]
    proof = _without_flaky(ws, seen.db, proof, [*own_facts.entries, *originals])
    if seen.lost and proof.tier < Tier.INFERRED and not proof.failed:
        return entries, _not_assessed(seen)
    losses = [f"{loss}: only runs after that count" for loss in seen.lost]
    if tree is None:
        losses += _new_untracked_files(ws.repo, proof, own_facts, trees)
    not_compared = (*_untrusted(seen, trees), *_not_valid([*here.values(), *runs]))
    return entries, replace(
        proof,
        notes=(*losses, *proof.notes, *_unrecorded_reads(seen, proof, own_facts, used_runs)),
        not_compared=not_compared,
        tests=ProvenTests.of(all_facts),
    )


def facts_of_content(
    repo: Repository,
    seen: Snapshot,
    trees: Sequence[str],
    tree: str | None,
    expected: Callable[[], Expected],
    here: Mapping[str, OtherRun],
) -> ContentFacts:
    """What the runs of a content itself showed, as far as it is valid for what is installed now.

    `tree`: as `git.worktree.changed_files` takes it. `here`: the sound runs of the content, by ID.
    """
    entries = seen.of_tree(trees)
    facts = ContentFacts(
        entries,
        seen.parents(entries),
        trees,
        path_exists=_path_exists(repo, tree or ""),
        expected=expected,
        earlier_runs=partial(_earlier_runs, seen.db, expected),
        lost_until=seen.lost_until,
    )
    return _with_environment(facts, here)


def _new_untracked_files(
    repo: Repository, proof: Proof, own_facts: ContentFacts, trees: Sequence[str]
) -> list[str]:
    """The files on disk that no commit has and that the proving runs did not have either: pytest
    would read them, and a push does not take them along.
    """
    runs = [run.receipt for run in own_facts.entries if run.receipt.run in proof.runs]
    if proof.tier < Tier.INFERRED or any(run.tree_all == trees[-1] for run in runs):
        return []
    names = [name for name in worktree_state(repo).untracked if not is_document(name)]
    if not names:
        return []
    verb = "is untracked, and was" if len(names) == 1 else "are untracked, and were"
    return [f"{name_list(names, NAMED)} {verb} not there when the tests ran"]


def _unrecorded_reads(
    seen: Snapshot, proof: Proof, own_facts: ContentFacts, runs: Iterable[OtherRun]
) -> list[str]:
    """Changed files beside a verdict by runs of other contents, of which no event shows who reads
    them.
    """
    used = {transfer.run for transfer in proof.transfers}
    own = [executed for entry in own_facts.entries if (executed := seen.executed(entry))]
    paths = {
        path
        for run in runs
        if run.entry.receipt.run in used and run.executed is not None
        for path in unrecorded_reads(run.executed, run.changes, own)
    }
    if not paths:
        return []
    verb = "changed; files that C libraries open, or that are only probed, are not recorded"
    return [f"{name_list(sorted(paths), NAMED)} {verb}"]


def _not_assessed(seen: Snapshot) -> Proof:
    """The answer where evidence is missing."""
    reasons = tuple(f"not assessed: {gap}" for gap in seen.gaps)
    return Proof(Tier.GUESSED, None, reasons, gaps=seen.gaps)


def _runs_to_use(runs: Sequence[OtherRun]) -> Iterator[list[OtherRun]]:
    """The runs of other contents (newest first) of which a result is valid; then also those of
    which it is known what must run again, down to a complete one: whatever that did not report was
    never recorded.
    """
    valid_runs = [run for run in runs if run.valid]
    if valid_runs:
        yield valid_runs
    compared = (
        at
        for at, run in enumerate(runs)
        if run.is_compared and not selection_limits(run.original.receipt.selection)
    )
    end = next(compared, len(runs))
    known = [run for at, run in enumerate(runs) if run.valid or (at <= end and run.is_compared)]
    if len(known) > len(valid_runs):
        yield known


def _is_of(entry: Entry, origin: str) -> bool:
    """Whether a run has this kind of origin; any has the empty one."""
    return entry.origin.startswith(f"{origin}:" if origin else "")


def _by_configuration(run: OtherRun, expected: Callable[[], Expected]) -> OtherRun:
    """A run without the limits that the configuration sets for every run."""
    if not selection_limits(run.original.receipt.selection):
        return run
    return replace(
        run,
        entry=_omitting_unchanged(by_configuration(run.entry, expected()), run.changes.changes),
        original=by_configuration(run.original, expected()),
    )


def _omitting_unchanged(entry: Entry, changes: Mapping[str, object]) -> Entry:
    """The same, where the configuration omits nothing of changed files: they may have tests that
    were never asked.
    """
    selection = entry.receipt.selection
    if OMITTED_FILES not in selection or not changes:
        return entry
    files = [path for path in selection[OMITTED_FILES] or () if path not in changes]
    return replace(
        entry, receipt=replace(entry.receipt, selection={**selection, OMITTED_FILES: files})
    )


def _proof_by_origin(facts: ContentFacts, strength: str) -> Proof:
    """What the runs that a trusted key of a CI signed prove: one of this content is enough."""
    proof = prove(facts, strength)
    if not facts.entries:
        reason = f"no trusted key of a CI signed a run of this content ({_SEE_KEYS})"
        return replace(proof, reasons=(reason,))
    return replace(proof, tier=Tier.VERIFIED) if proof.tier >= Tier.INFERRED else proof


def _with_environment(facts: ContentFacts, here: Mapping[str, OtherRun]) -> ContentFacts:
    """The facts without results that rest on what was installed otherwise. `here`: the runs of the
    content, by ID.
    """
    outdated = {run.entry.id: run for run in here.values() if run.stale}
    entries = [
        outdated[entry.id].entry if entry.id in outdated else entry for entry in facts.entries
    ]
    return replace(facts, entries=entries, other_runs=outdated)


def _with_notes(proof: Proof, runs: Iterable[OtherRun]) -> Proof:
    """What is proven, with one note for each cause why environments of its runs could not be
    compared.
    """
    runs_by_cause: dict[str, dict[str, None]] = {}
    for run in runs:
        name = run.entry.receipt.run
        if run.not_compared and name in proof.runs:
            runs_by_cause.setdefault(run.not_compared, {})[name[:8]] = None
    notes = (
        f"run{'' if len(names) == 1 else 's'} {first_of([*names], len(names))}: {cause}"
        for cause, names in runs_by_cause.items()
    )
    return replace(proof, notes=(*proof.notes, *notes))


def _with_other_runs(
    seen: Snapshot, facts: ContentFacts, valid_runs: Sequence[OtherRun]
) -> ContentFacts:
    """The facts with what runs of other contents showed that is valid here."""
    entries = newest_first([*facts.entries, *(run.entry for run in valid_runs)])
    return replace(
        facts,
        entries=entries,
        parents=seen.parents(entries),
        other_runs={**facts.other_runs, **{run.entry.id: run for run in valid_runs}},
    )


def _not_valid(runs: Iterable[OtherRun]) -> Iterator[str]:
    """Runs of which nothing is valid here, and why."""
    for run in runs:
        if run.why_not and not run.is_compared:
            yield f"run {run.entry.receipt.run[:8]}: {run.why_not}"


def _untrusted(seen: Snapshot, trees: Sequence[str]) -> Iterator[str]:
    """Runs of a content that are out of notes and count for nothing, and why."""
    for entry in seen.untrusted(trees):
        receipt = entry.receipt
        if receipt.evidence:
            why = why_not_hard(receipt, receipt.evidence[0], entry.origin)
            yield f"run {receipt.run[:8]}: {why}"


def _without_flaky(
    ws: Workspace, db: Database | None, proof: Proof, entries: Sequence[Entry]
) -> Proof:
    """What is proven, with the flaky tests named whose passes count for nothing; nothing, where no
    other passed.
    """
    if proof.tier < Tier.INFERRED:
        return proof
    receipts = [entry.receipt for entry in entries if entry.receipt.run in proof.runs]
    flaky = FlakyPasses(ws, db, TestNames(ws, db).pairs)
    words: dict[str, str] = {}
    is_other_passed = False
    for receipt in receipts:
        for result in receipt.evidence:
            name = split_id(result.subject)[1]
            if result.outcome == "flaky":
                words[name] = f"{name} (passed on a rerun)"
            elif result.outcome == "passed" and (why := flaky.why(name, receipt)):
                words[name] = f"{name} ({why.removeprefix('flaky: ')})"
            elif result.outcome == "passed" and name not in words:
                is_other_passed = True
    flaky_tests = tuple(words[name] for name in sorted(words))
    if not flaky_tests or is_other_passed:
        return replace(proof, flaky=flaky_tests)
    reasons = (f"only flaky tests passed: {name_list(flaky_tests, NAMED)}", *proof.reasons)
    return replace(proof, tier=Tier.GUESSED, run=None, runs=(), reasons=reasons, flaky=flaky_tests)


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
    result, environment = header["result"], header["environment"]
    if not result.get("complete") or result.get("verdict") != "passed":
        return False
    if header["tree"] == like.tree:
        return False
    is_same = environment_key(replace(like, environment=environment)) == environment_key(like)
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
