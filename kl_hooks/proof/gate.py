"""The gate: is there complete, passing test evidence for exactly this content? `judge` reads,
`proof` decides.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.clock import iso
from kl_hooks.config.settings import SETTINGS_FILE, verify_exclude
from kl_hooks.errors import UsageProblem
from kl_hooks.evidence.flaky import FlakyPasses
from kl_hooks.evidence.ingestion import Snapshot, newest_first, snapshot
from kl_hooks.evidence.integrity import Rollback, ledger_writer, read_marks, rollbacks
from kl_hooks.evidence.ledger import Entry, newest_before, selection_limits
from kl_hooks.evidence.provenance import agent, producer, worktree_state
from kl_hooks.evidence.trust import (
    ATTESTED,
    contradiction,
    environment_key,
    observation,
    outer_failure,
    parent_confirmation,
    why_not_hard,
)
from kl_hooks.git.files import tree_contains
from kl_hooks.git.objects import object_id
from kl_hooks.git.repository import Repository
from kl_hooks.git.run import GitFailed
from kl_hooks.git.worktree import STAGED, differing_paths, tree_of_revision
from kl_hooks.model.claim import Observation, Tier, tier
from kl_hooks.model.problem import Problems
from kl_hooks.model.receipt import REFUTES, Receipt
from kl_hooks.model.symbol import split_id
from kl_hooks.model.text import counted, name_list
from kl_hooks.proof.expected_tests import (
    Expected,
    Missing,
    PytestConfig,
    Reported,
    content_source,
    expected_tests,
)
from kl_hooks.proof.other_runs import (
    OtherRun,
    Transfer,
    addopts_limits,
    other_runs,
    pytest_command,
    unsettled,
)
from kl_hooks.proof.test_names import TestNames
from kl_hooks.store.database import Database
from kl_hooks.workspace import Workspace, require_setup

if TYPE_CHECKING:
    from kl_hooks.records.events import Event

NOTHING_TRACKED: Final = "the content tree is empty: git tracks no file yet"
_LIMIT_OPTIONS: Final = {
    "keyword": "-k",
    "markers": "-m",
    "lf": "--lf",
    "collect_only": "--collect-only",
    "setup_only": "--setup-only",
    "setup_plan": "--setup-plan",
    "overridden": "-o",
    "config_file": "-c",
}
_NOTHING_RUN: Final = ("collect_only", "setup_only", "setup_plan")
_SWITCHED_OFF: Final = frozenset({"skipped", "xfailed", "xpassed"})
_REMOVED: Final = "its file was untracked, and is removed"
_NO_TEST: Final = "no configuration makes it a test"
_EARLIER: Final = 5
"""How many earlier complete runs are looked at for what they reported."""
_FAILED: Final = "tests failed"
_NAMED: Final = 3
"""How many tests, files or directories a line names."""
_LOOK_BACK: Final = 20
"""Passing runs among which the newest proven content is looked for."""
_TREES: Final = 5
"""Contents that are judged: each costs what `kl verify` costs."""
_LISTED: Final = 100
"""Paths in a JSON answer."""
_WHOM: Final = "see: kl trust list, kl sync --pull"
STORE: Final = "store"
ACCEPTED: Final = "accepted"
"""An Event of this name, about `STORE`, accepts a store that lost receipts as it is."""


@dataclass(frozen=True, slots=True)
class Proof:
    """The answer, with the run that gives it and the reasons."""

    tier: Tier
    """Of "the tests pass on this tree": guessed without evidence."""
    run: str | None
    """The newest run that proves it, by itself or with others."""
    reasons: tuple[str, ...]
    failed: str = ""
    """`newest`: the newest run of this content failed; `earlier`: what failed has not passed since;
    else empty.
    """
    missing: tuple[Missing, ...] = ()
    """Tests that are expected and that no good run of this content reported, in the environment
    that comes closest.
    """
    not_assessed: tuple[str, ...] = ()
    """Tests and files of which source alone can't show whether pytest collects them."""
    notes: tuple[str, ...] = ()
    """What is worth knowing, and changes nothing."""
    runs: tuple[str, ...] = ()
    """All runs that prove it; together, where each of them was limited to a part."""
    together: bool = False
    transfers: tuple[Transfer, ...] = ()
    """The runs of other contents among them."""
    ran: int = 0
    """Tests that ran on this content itself."""
    stale: str = ""
    """The run of another content with the most valid results, where some are not valid any more."""
    command: str = ""
    """The pytest command that would prove the content; empty: it is proven, or running tests does
    not help.
    """
    not_compared: tuple[str, ...] = ()
    """Runs of other contents whose results can't be transferred, and why."""
    flaky: tuple[str, ...] = ()
    """Tests among them whose pass is none: `test_a.py::test_b (failed in 2 of 6 runs (10% to
    70%))`.
    """

    @property
    def except_flaky(self) -> str:
        """` except flaky test_a.py::test_b (…)`; empty where all that passed counts."""
        return f" except flaky {name_list(self.flaky, _NAMED)}" if self.flaky else ""

    @property
    def state(self) -> str:
        """`proven`: this content ran. `transferred`: it did not, or not all of it; what other
        contents showed is valid for it. `not proven`.
        """
        if self.tier < Tier.INFERRED:
            return "not proven"
        return "transferred" if self.transfers else "proven"

    @property
    def transfer_text(self) -> str:
        """`from run 5d1e0a77: 208 of 211 tests executed nothing that changed; 3 ran here`; may be
        empty.
        """
        if not self.transfers:
            return ""
        first = max(self.transfers, key=lambda transfer: transfer.valid)
        which = "all" if first.valid == first.total else f"{first.valid} of"
        others = len(self.transfers) - 1
        more = f" and {counted(others, 'more run')}" if others else ""
        return (
            f"from run {first.run[:8]}{more}: {which} {first.total} tests executed nothing that"
            f" changed; {self.ran} ran here"
        )


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
    if missing := seen.gaps:
        return entries, Proof(Tier.GUESSED, None, tuple(f"not assessed: {one}" for one in missing))
    if ws.repo and trees and trees[0] == object_id(ws.repo.object_format, b"tree", b""):
        # before the first `git add` every repository has this tree, whatever its files
        return entries, Proof(Tier.GUESSED, None, (NOTHING_TRACKED,))
    parents = seen.parents(entries)
    repo, db = ws.repo, seen.db
    if repo is None:
        return entries, proof(entries, parents, ws.settings.verified_requires, trees)

    @cache
    def expected() -> Expected:
        return _expected(
            ws, repo, at or "", trust_ref or base or _parent(repo, rev, trees), trust_ref
        )

    # nobody wrote the tree of the index to git, and its files are staged
    at = STAGED if staged else trees[0] if committed else None

    def earlier_runs(entry: Entry) -> list[Entry]:
        return _earlier_runs(db, entry) if db else []

    there = _path_exists(repo, at or "")
    rule = ws.settings.verified_requires
    direct = proof(entries, parents, rule, trees, there, expected, earlier_runs)
    untrusted = _untrusted(seen, trees)
    found, some = (
        direct,
        [one for one in entries if one.origin.startswith(f"{origin}:" if origin else "")],
    )
    if origin and not direct.failed:
        found = proof(some, parents, rule, trees, there, expected, earlier_runs)
        if not some:
            found = replace(
                found, reasons=(f"no trusted key of a CI signed a run of this content ({_WHOM})",)
            )
        found = replace(found, tier=Tier.VERIFIED) if found.tier >= Tier.INFERRED else found
    # what ran on this very content comes first, and a failure there counts whatever ran elsewhere
    # (ADR-0029)
    if not transfer or not trees or found.tier >= Tier.INFERRED or found.failed:
        return entries, replace(_without_flaky(ws, db, found, some), not_compared=untrusted)
    found_runs = other_runs(ws, repo, seen, trees, at)
    found_runs = [
        one for one in found_runs if one.original.origin.startswith(f"{origin}:" if origin else "")
    ]
    others = [one for one in found_runs if not one.why_not]
    notes = [
        *untrusted,
        *(f"run {one.entry.receipt.run[:8]}: {one.why_not}" for one in found_runs if one.why_not),
    ]
    if not others:
        return entries, replace(found, not_compared=tuple(notes))
    both = newest_first([*some, *(one.entry for one in others)])
    parents = seen.parents(both)
    found = proof(
        both,
        parents,
        rule,
        trees,
        there,
        expected,
        earlier_runs,
        {one.entry.id: one for one in others},
    )
    found = _without_flaky(ws, db, found, [*some, *(one.original for one in others)])
    # that a CI ran this very content is what makes its word enough for `verified`
    found = replace(found, tier=min(found.tier, Tier.INFERRED)) if origin else found
    return entries, replace(found, not_compared=tuple(notes))


def _untrusted(seen: Snapshot, trees: Sequence[str]) -> tuple[str, ...]:
    """Runs of a content that are out of notes and count for nothing, and why."""
    some = [one for one in seen.untrusted(trees) if one.receipt.evidence]
    whys = (why_not_hard(one.receipt, one.receipt.evidence[0], one.origin) for one in some)
    return tuple(f"run {one.receipt.run[:8]}: {why}" for one, why in zip(some, whys, strict=True))


def _without_flaky(
    ws: Workspace, db: Database | None, found: Proof, entries: Sequence[Entry]
) -> Proof:
    """What is proven, with the flaky tests named whose passes count for nothing; nothing, where no
    other passed.
    """
    if found.tier < Tier.INFERRED:
        return found
    receipts = [entry.receipt for entry in entries if entry.receipt.run in found.runs]
    flaky = FlakyPasses(ws, db, TestNames(ws, db).pairs)
    names: dict[str, str] = {}
    others = False
    for receipt in receipts:
        for result in receipt.evidence:
            name = split_id(result.subject)[1]
            if result.outcome == "flaky":
                names[name] = f"{name} (passed on a rerun)"
            elif result.outcome == "passed" and (why := flaky.why(name, receipt)):
                names[name] = f"{name} ({why.removeprefix('flaky: ')})"
            others = others or (result.outcome == "passed" and name not in names)
    listed = tuple(names[name] for name in sorted(names))
    if not listed or others:
        return replace(found, flaky=listed)
    reasons = (f"only flaky tests passed: {name_list(listed, _NAMED)}", *found.reasons)
    return replace(found, tier=Tier.GUESSED, run=None, runs=(), reasons=reasons, flaky=listed)


def verdict(ws: Workspace) -> dict[str, Any]:
    """Return the answer for the files as they are now, for programs. Raises as
    `evidence.ingestion.snapshot`.
    """
    trees = worktree_state(ws.repo).trees
    with snapshot(ws) as seen:
        _, found = judge(ws, seen, trees)
        near = nearest(ws, seen, trees, None) if found.run is None else None
    return {
        "tree": trees[0] if trees else None,
        "tier": found.tier.word,
        "state": found.state,
        "proven": found.state == "proven",
        "run": found.run,
        "reasons": list(found.notes if found.run else found.reasons),
        "transferred": [one.to_dict() for one in found.transfers],
        "command": found.command,
        "flaky": list(found.flaky),
        "assessed": bool(trees) and not seen.gaps,
        **seen.to_dict(),
        "nearest": near.to_dict() if near else None,
    }


def _parent(repo: Repository, rev: str, trees: Sequence[str]) -> str:
    """The commit before the content: of a commit its first parent, of edited files HEAD. Empty for
    none.
    """
    if not rev and tree_of_revision(repo, "HEAD") != trees[0]:
        return "HEAD" if tree_of_revision(repo, "HEAD") else ""
    before = f"{rev or 'HEAD'}^"
    return before if tree_of_revision(repo, before) else ""


def _expected(ws: Workspace, repo: Repository, tree: str, before: str, trust_ref: str) -> Expected:
    """The tests of the content, and how `verify.exclude` differs from the commit before it."""
    source = content_source(repo, tree)
    older = content_source(repo, before) if before else None
    now = verify_exclude(SETTINGS_FILE, source.text(SETTINGS_FILE))
    notes: list[str] = []
    was = now
    try:
        was = (
            verify_exclude(f"{before}:{SETTINGS_FILE}", older.text(SETTINGS_FILE)) if older else now
        )
    except Problems as problem:
        # settings that somebody asked to trust, and that can't be read, must not be replaced by the
        # content's own
        if trust_ref:
            raise
        # a commit that repairs the settings must be provable
        notes.append(
            f"verify.exclude of {_label(before)} can't be read and was not compared:"
            f" {problem.problems[0]}"
        )
    trusted = was if trust_ref else now
    found = expected_tests(ws, repo, source, older, _label(before), trusted)
    return replace(found, notes=(*notes, *_exclude_notes(now, was, before, trust_ref)))


def _label(rev: str) -> str:
    return rev[:12] if len(rev) >= 40 else rev


def _exclude_notes(now: Sequence[str], was: Sequence[str], label: str, trust_ref: str) -> list[str]:
    added, removed = [one for one in now if one not in was], [one for one in was if one not in now]
    words = [f"added {', '.join(added)}"] * bool(added) + [f"removed {', '.join(removed)}"] * bool(
        removed
    )
    if not words:
        return []
    counts = f"; that of {trust_ref} counts" if trust_ref else ""
    return [
        f"verify.exclude in {SETTINGS_FILE} changed since {_label(label)}:"
        f" {'; '.join(words)}{counts}"
    ]


def _is_complete(header: Mapping[str, Any], like: Receipt) -> bool:
    """Whether a run was complete, limited by nothing, and made in the environment of another one;
    from its header.
    """
    result, environment = header["result"], header["environment"]
    if (
        not result.get("complete")
        or result.get("verdict") != "passed"
        or header["tree"] == like.tree
    ):
        return False
    same = environment_key(replace(like, environment=environment)) == environment_key(like)
    return same and not selection_limits(header["selection"]) and not environment.get("rootdir")


def _earlier_runs(db: Database, entry: Entry) -> list[Entry]:
    """The newest complete runs of other contents before this one, in its environment."""
    found: list[Entry] = []
    complete = partial(_is_complete, like=entry.receipt)
    while len(found) < _EARLIER and (
        one := newest_before(db, found[-1].seq if found else entry.seq, complete)
    ):
        found.append(one)
    return found


def _path_exists(repo: Repository, tree: str) -> Callable[[str], bool]:
    """Whether a path is in this tree; without one: whether it is on disk."""

    @cache
    def there(path: str) -> bool:
        if tree:
            return tree_contains(repo, tree, path)
        # of a name with NUL `lexists` answers False instead of raising, and an absent file would
        # end a failure
        return "\0" in path or os.path.lexists(repo.top / path)

    return there


def selection_words(receipt: Receipt) -> str:
    """In words how a run was limited to a part of its tests; empty: it was not, as far as it can be
    seen.
    """
    found = selection_limits(receipt.selection)
    values = {
        key: ", ".join(map(repr, one)) if isinstance(one, list) else repr(one)
        for key, one in found.items()
    }
    words = [f"{option} {values[key]}" for key, option in _LIMIT_OPTIONS.items() if key in values]
    if "deselected" in found:
        words.append(f"{counted(found['deselected'], 'test')} deselected")
    if "dropped" in found:
        words.append(f"{counted(found['dropped'], 'test')} taken out by a plugin or a conftest.py")
    if omitted := found.get("left_out"):
        words.append(
            f"{omitted['files']} test files omitted:"
            f" {_first_of(omitted.get('first'), omitted['files'])}"
        )
    return ", ".join(words)


def had_untracked_files(entries: Sequence[Entry], run: str | None, tree: str | None) -> bool:
    """True if this run, on the tracked files of `tree`, ran with untracked files, which no commit
    contains.
    """
    return any(
        e.receipt.run == run and e.receipt.tree == tree and e.receipt.tree_all not in (None, tree)
        for e in entries
    )


def _first_of(names: object, number: object) -> str:
    listed = [str(name) for name in names[:_NAMED]] if isinstance(names, list | tuple) else []
    return name_list(listed, _NAMED, number if isinstance(number, int) else 0)


def proof(
    entries: Sequence[Entry],
    parents: Mapping[str, Entry],
    rule: str = "independent",
    trees: Sequence[str] = (),
    holds: Callable[[str], bool] = lambda path: True,
    expected: Callable[[], Expected] | None = None,
    earlier_runs: Callable[[Entry], Sequence[Entry]] = lambda entry: (),
    elsewhere: Mapping[str, OtherRun] | None = None,
) -> Proof:
    """What the receipts of one tree (newest first) prove about its tests.

    `trees`: the ids that the content has, where a run with untracked files must not count for it
    alone. `holds`: whether a path from the repository's root is in this content; where that is
    unknown, it is. `expected`: the tests that the content has; without it a run counts for what it
    reported. `earlier_runs`: the complete runs of other contents before one, in the same
    environment, newest first. `elsewhere`: the entries among them that are of other contents, by
    ID.
    """
    elsewhere = elsewhere or {}
    runs = [e for e in entries if e.receipt.source in ("pytest", "junit")]
    problems = [_problem(entry, parents) or _more_than(entry.receipt, trees) for entry in runs]
    able = [entry for entry, problem in zip(runs, problems, strict=True) if not problem]
    good = [entry for entry in able if not selection_limits(entry.receipt.selection)]
    limited = {
        entry.id: f"only a selection ran ({words})"
        for entry in able
        if (words := selection_words(entry.receipt))
    }
    # a run of another content is no part by choice: what of it is not valid is named as missing
    limited |= dict.fromkeys(elsewhere, "")
    problems = [
        problem or limited.get(entry.id, "") for entry, problem in zip(runs, problems, strict=True)
    ]
    problems = [
        problem if entry.id not in elsewhere or problem.startswith(_FAILED) else ""
        for entry, problem in zip(runs, problems, strict=True)
    ]
    failing, more_than_content = _failing(runs, good), _with_untracked(runs, good, trees)
    first_good = next((at for at, one in enumerate(runs) if one in good), len(runs))
    followed = {one.receipt.run for one in runs[first_good + 1 :]}
    past = [
        (test, run)
        for test, run in failing
        if run in more_than_content and not holds(test.partition("::")[0])
    ]
    failing = [one for one in failing if one not in set(past)]
    others = _no_tests([one for one in failing if one[1] in followed], expected)
    failing = [one for one in failing if one not in set(others)]
    reasons = _reasons(runs, problems, failing, past)
    newest = bool(runs) and problems[0].startswith(_FAILED)
    if failing or newest:
        more = not newest or _more_than(runs[0].receipt, trees)
        return Proof(Tier.GUESSED, None, tuple(reasons), "earlier" if more else "newest")
    notes = [note for entry in able for note in _notes(entry, parents)]
    covered = (
        _covered(able, good, expected, earlier_runs, elsewhere)
        if able and expected
        else _Covered(good)
    )
    found = sorted([*covered.alone, *covered.parts], key=lambda entry: -entry.seq)
    # that a run was limited is no reason against it where it is part of what proves the content
    parts = {f"run {entry.receipt.run[:8]}: {limited.get(entry.id)}" for entry in covered.parts}
    names = tuple(entry.receipt.run for entry in found)
    return Proof(
        tier([*_observations(covered.alone, parents), *covered.jointly], rule),
        names[0] if names else None,
        (*(reason for reason in reasons if reason not in parts), *covered.reasons),
        "",
        covered.missing,
        covered.not_assessed,
        (
            *_failures(past, _REMOVED),
            *_failures(others, _NO_TEST),
            *covered.notes,
            *dict.fromkeys(notes),
        ),
        names,
        bool(covered.parts) and not covered.alone,
        *_transfers(found, elsewhere),
        _run_of_most(elsewhere) if covered.missing else "",
        _command(covered.missing, able, elsewhere) if covered.missing else "",
    )


def _command(
    missing: Sequence[Missing], runs: Sequence[Entry], elsewhere: Mapping[str, OtherRun]
) -> str:
    """What runs the missing tests; the project's `addopts` deselect none of them."""
    command = pytest_command((one.name for one in missing), _impacted(elsewhere))
    undoing = addopts_limits(runs[0].receipt.selection)[1] if runs else ""
    return f"pytest {undoing}{command.removeprefix('pytest')}" if undoing else command


def _impacted(elsewhere: Mapping[str, OtherRun]) -> str:
    return "pytest --kl-impacted" if any(one.valid for one in elsewhere.values()) else "pytest"


def _run_of_most(elsewhere: Mapping[str, OtherRun]) -> str:
    some = [one for one in elsewhere.values() if one.valid]
    return max(some, key=lambda one: one.valid).entry.receipt.run if some else ""


def _transfers(
    runs: Sequence[Entry], elsewhere: Mapping[str, OtherRun]
) -> tuple[tuple[Transfer, ...], int]:
    """The runs of other contents among those that prove a content, and how many tests ran on the
    content itself.
    """
    some = [elsewhere[one.id] for one in runs if one.id in elsewhere]
    own = {
        one.subject for entry in runs if entry.id not in elsewhere for one in entry.receipt.evidence
    }
    return tuple(
        Transfer(one.entry.receipt.run, one.valid, len(one.verdicts), one.entry.origin)
        for one in some
    ), len(own)


def _reasons(
    runs: Sequence[Entry],
    problems: Sequence[str],
    failing: Sequence[tuple[str, str]],
    past: Sequence[tuple[str, str]],
) -> list[str]:
    """Why runs do not count, and which tests failed."""
    reasons = [
        f"run {e.receipt.run[:8]}: {why}" for e, why in zip(runs, problems, strict=True) if why
    ]
    reasons += [
        f"{test} failed in run {run[:8]}, and did not pass since" for test, run in failing[:_NAMED]
    ]
    if len(failing) > _NAMED:
        reasons.append(
            f"{counted(len(failing) - _NAMED, 'more test')} failed, and did not pass since"
        )
    return reasons + _failures(past, _REMOVED)


def _failures(some: Sequence[tuple[str, str]], why: str) -> list[str]:
    """Failures that count no more, and why: worth knowing where the content is proven too."""
    return [f"{test} failed in run {run[:8]}; {why}" for test, run in some[:_NAMED]]


def _no_tests(
    failing: Sequence[tuple[str, str]], expected: Callable[[], Expected] | None
) -> list[tuple[str, str]]:
    """Failures in files that no configuration collects: a script named on the command line, a
    doctest asked for once.

    A file that pytest's own defaults take for tests is never one, whatever the configuration is
    today.
    """
    # pytest's defaults, not today's configuration: narrowing that must not settle a failure
    # (ADR-0017)
    found = [one for one in failing if not PytestConfig().collects(one[0].partition("::")[0])]
    if not found or expected is None:
        return []
    wanted = expected().files
    return [one for one in found if one[0].partition("::")[0] not in wanted]


def _observations(runs: Sequence[Entry], parents: Mapping[str, Entry]) -> Iterator[Observation]:
    """One for each execution, and one more look at it where the process that started it saw it end
    well.
    """
    for entry in runs:
        # any piece of evidence: what makes runs independent is in the receipt, equal for all of its
        # tests
        yield observation(entry.receipt, entry.receipt.evidence[0], entry.origin)
        if parent := parents.get(entry.receipt.parent or ""):
            for one in parent_confirmation(parent.receipt, entry.receipt):
                # with the run of the child: two processes that watched one execution observed it
                # once (ADR-0017)
                yield replace(
                    observation(parent.receipt, one, parent.origin), run=entry.receipt.run
                )


def _notes(entry: Entry, parents: Mapping[str, Entry]) -> Iterator[str]:
    """What is worth knowing of a good run: who else saw it, what surrounds it, and tests that
    others switched off.
    """
    name, receipt = f"run {entry.receipt.run[:8]}", entry.receipt
    if entry.origin.startswith(ATTESTED):
        yield f"{name}: signed by the key {entry.origin.partition(':')[2]}"
    if parent := parents.get(receipt.parent or ""):
        if around := outer_failure(parent.receipt, receipt):
            yield f"{name}: {around}"
        elif parent_confirmation(parent.receipt, receipt):
            yield f"{name}: exit status seen by the parent"
    outside = [
        one for one in receipt.evidence if one.detail.get("by") and one.outcome in _SWITCHED_OFF
    ]
    if outside:
        places = sorted({str(one.detail["by"]) for one in outside})
        where = _first_of(places, len(places))
        yield (
            f"{name}: {counted(len(outside), 'test')} skipped or expected to fail from outside"
            f" their files ({where})"
        )
    replaced = receipt.selection.get("replaced_hooks")
    if isinstance(replaced, list | tuple) and replaced:
        yield f"{name}: run with hooks of this repository: {_first_of(replaced, len(replaced))}"


@dataclass(frozen=True, slots=True)
class _Covered:
    """What the good runs report of what is expected."""

    alone: Sequence[Entry] = ()
    """Runs that report everything, each by itself."""
    parts: Sequence[Entry] = ()
    """Runs that report everything together with others of their environment."""
    jointly: tuple[Observation, ...] = ()
    """One for each environment whose runs report everything only together."""
    missing: tuple[Missing, ...] = ()
    not_assessed: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()


def _covered(
    able: Sequence[Entry],
    good: Sequence[Entry],
    expected: Callable[[], Expected],
    earlier_runs: Callable[[Entry], Sequence[Entry]],
    elsewhere: Mapping[str, OtherRun],
) -> _Covered:
    """Judges the union of the runs of each environment; where none is complete, the one that misses
    least is named.
    """
    wanted = expected()
    alone: list[Entry] = []
    groups: dict[tuple[str, ...], list[Entry]] = {}
    for entry in able:
        if entry.receipt.source != "pytest":  # a report file names tests as its writer likes
            alone += [entry] if entry in good else []
            continue
        groups.setdefault(environment_key(entry.receipt), []).append(entry)
    parts: list[Entry] = []
    jointly: list[Observation] = []
    open_: tuple[str, ...] = ()
    nearest: tuple[Missing, ...] | None = None
    for some in groups.values():
        own = [entry for entry in some if entry.id not in elsewhere]
        before = earlier_runs(own[-1] if own else some[0])
        missing, unsure = _missing(wanted, some, before, elsewhere)
        if missing:
            nearest = missing if nearest is None or len(missing) < len(nearest) else nearest
            continue
        open_ = open_ or unsure
        whole = [e for e in some if e in good and not _missing(wanted, [e], before, elsewhere)[0]]
        alone += whole
        if not whole:
            parts += some
            first = some[0].receipt
            # parts of one whole are one observation, however each was run: only an environment
            # differs (ADR-0017)
            jointly.append(replace(observation(first, first.evidence[0], some[0].origin), way=""))
    if alone or parts:
        return _Covered(alone, parts, tuple(jointly), (), open_, wanted.notes)
    lost = nearest or ()
    return _Covered(
        missing=lost, not_assessed=open_, notes=wanted.notes, reasons=tuple(_named_missing(lost))
    )


def _missing(
    wanted: Expected,
    runs: Sequence[Entry],
    before: Sequence[Entry],
    elsewhere: Mapping[str, OtherRun],
) -> tuple[tuple[Missing, ...], tuple[str, ...]]:
    reported = Reported(wanted.root)
    for entry in runs:
        reported.add(entry.receipt, selection_limits(entry.receipt.selection))
    others = [elsewhere[entry.id] for entry in runs if entry.id in elsewhere]
    stale = unsettled(others, runs, reported.ids, reported.whole) if others else {}
    lost = tuple(Missing(name, why.reason) for name, why in sorted(stale.items()))
    reported.unchanged += [one.whole for one in others]
    missing, unsure = wanted.assess(reported.close())
    missing = (*lost, *(one for one in missing if not _named_by(one.name, stale)))
    for at, one in enumerate(before):
        missing += tuple(_since(wanted, reported, runs, one, newest=not at))
    if not missing and not reported.everything and not wanted.files.keys() & reported.tests.keys():
        missing = (
            Missing(
                runs[0].receipt.run[:8],
                "only a selection ran, of tests that no configuration names",
            ),
        )
    return missing, unsure


def _named_by(name: str, stale: Iterable[str]) -> bool:
    """Whether a test, or one of a file, is among the stale ones: then it is named already, with the
    better reason.
    """
    return any(one == name or one.startswith((f"{name}::", f"{name}[")) for one in stale)


def _since(
    wanted: Expected, reported: Reported, runs: Sequence[Entry], before: Entry, newest: bool
) -> Iterator[Missing]:
    """What a complete run of another content reported, and these runs omitted or (the newest) newly
    switched off.

    More than one is looked at, because the run before may itself be one that left tests out and
    proved nothing.
    """
    name = f"run {before.receipt.run[:8]}"
    earlier = Reported(wanted.root)
    earlier.add(before.receipt, {})
    for path in sorted(earlier.tests.keys() & wanted.others):
        if path not in reported.tests and PytestConfig().collects(path):
            yield Missing(path, f"{name} reported it, and no configuration names it any more")
    mine = [entry.receipt for entry in runs]
    # without a change of the repository's plugins a skip from outside is as it was when the test
    # last passed
    if not newest or all(
        one.environment.get("local_plugins") == before.receipt.environment.get("local_plugins")
        for one in mine
    ):
        return
    passed = {one.subject for one in before.receipt.evidence if one.outcome == "passed"}
    ran = {one.subject for receipt in mine for one in receipt.evidence if one.outcome == "passed"}
    for one in (one for receipt in mine for one in receipt.evidence):
        # one that was skipped all along is no loss: many projects skip slow tests in a conftest.py
        # (ADR-0017)
        if one.detail.get("by") and one.outcome in _SWITCHED_OFF and one.subject in passed - ran:
            yield Missing(
                split_id(one.subject)[1],
                f"it passed in {name}, and now {one.detail['by']} makes it {one.outcome}",
            )


def _named_missing(missing: Sequence[Missing]) -> Iterator[str]:
    for one in missing[:_NAMED]:
        yield f"{one.name}: {one.reason}"
    if len(missing) > _NAMED:
        more = len(missing) - _NAMED
        were = "test or file was" if more == 1 else "tests or files were"
        yield f"{more} more {were} expected and not reported"


def _with_untracked(runs: Sequence[Entry], good: Sequence[Entry], trees: Sequence[str]) -> set[str]:
    """The runs of more than this content before a good run of just this content.

    Just this: the untracked files of that run are known too. A failed test of such a run may be
    removed with its file.
    """
    # tree_all is empty where untracked files were not looked at: such a run can't show that they
    # are removed
    last = next(
        (at for at, one in enumerate(runs) if one in good and one.receipt.tree_all), len(runs)
    )
    return {one.receipt.run for one in runs[last:] if _more_than(one.receipt, trees)}


def _failing(runs: Sequence[Entry], good: Sequence[Entry]) -> list[tuple[str, str]]:
    """The tests whose last result in these runs (newest first) is a failure, each with its run.

    The content is the same, so a failed test that a later run does not even mention was omitted
    there. A skip means nothing but in a good run; what was imported, or ran while files changed,
    settles no failure. A file that could not be collected is settled by a word of any test in it.
    """
    last: dict[str, tuple[str, str]] = {}
    whole = {entry.id for entry in good}
    for entry in runs:
        receipt = entry.receipt
        weak = (
            entry.origin.startswith("imported")
            or receipt.moved
            or bool(receipt.selection.get("weakened"))
        )
        words: dict[str, tuple[str, str]] = {}
        for one in entry.receipt.evidence:
            bad = one.outcome in REFUTES
            if one.subject in last or (
                not bad and (weak or (one.outcome == "skipped" and entry.id not in whole))
            ):
                continue
            if not (bad and any(known.startswith(f"{one.subject}::") for known in last)):
                words[one.subject] = (one.outcome, receipt.run)
        last.update(words)
    return [
        (split_id(subject)[1], run)
        for subject, (outcome, run) in sorted(last.items())
        if outcome in REFUTES
    ]


def _more_than(receipt: Receipt, trees: Sequence[str]) -> str:
    """Why a run of more than this content is no evidence for it alone: tests may have needed the
    untracked files.
    """
    if not trees or receipt.tree_all in (None, receipt.tree, *trees):
        return ""
    untracked = receipt.environment.get("untracked")
    if not isinstance(untracked, Mapping):
        return "untracked files were there when it ran"
    names = [str(name) for name in untracked.get("first") or ()]
    return (
        f"untracked files were there when it ran: {_first_of(names, untracked.get('files'))}"
        if names
        else ""
    )


def _problem(entry: Entry, parents: Mapping[str, Entry]) -> str:
    """Why a run does not count, whatever it was asked to run; empty where it does."""
    receipt = entry.receipt
    if receipt.result.get("verdict") == "failed":
        bad = {
            k: v
            for k, v in (receipt.result.get("counts") or {}).items()
            if v and k in ("failed", "error")
        }
        return f"{_FAILED}: " + ", ".join(f"{v} {k}" for k, v in sorted(bad.items()))
    sample = next((e for e in receipt.evidence if e.outcome == "passed"), None)
    if sample is None:
        return "nothing passed"
    if weak := observation(receipt, sample, entry.origin).why_not:
        return weak
    parent = parents.get(receipt.parent or "")
    if parent and (against := contradiction(parent.receipt, receipt)):
        return against
    if weakened := receipt.selection.get("weakened"):
        return f"weaker than configured: {', '.join(map(str, weakened))}"
    if facts := receipt.selection.get("not_called"):
        known = facts if isinstance(facts, Mapping) else {}
        what = f"{known.get('by')} replaces how tests are called (pytest_pyfunc_call)"
        number = known.get("tests")
        return (
            f"{what}; {number} passed without being called: {_first_of(known.get('first'), number)}"
        )
    listed = [_LIMIT_OPTIONS[key] for key in _NOTHING_RUN if receipt.selection.get(key)]
    return f"no test was run ({', '.join(listed)})" if listed else ""


@dataclass(frozen=True, slots=True)
class Nearest:
    """A proven content, and what differs from it."""

    run: str
    tree: str
    paths: tuple[str, ...]
    """All of them, sorted."""

    def to_dict(self) -> dict[str, Any]:
        """As in JSON answers."""
        return {
            "run": self.run,
            "tree": self.tree,
            "paths": list(self.paths[:_LISTED]),
            "total": len(self.paths),
        }

    def __str__(self) -> str:
        """`only CHANGELOG.rst and .kl/ (2 files) differ from the proven content of run
        5d1e0a77`.
        """
        of = f"the proven content of run {self.run[:8]}"
        places = _places(self.paths)
        if not places:
            return f"no tracked file differs from {of}; untracked files or their number do"
        if len(places) > _NAMED:
            return f"{len(self.paths)} files differ from {of}: {name_list(places, _NAMED)}"
        last = places[-1]
        named = f"{', '.join(places[:-1])} and {last}" if len(places) > 1 else last
        return f"only {named} {'differs' if len(self.paths) == 1 else 'differ'} from {of}"


def nearest(
    ws: Workspace, seen: Snapshot, trees: Sequence[str], other: str | None
) -> Nearest | None:
    """The newest proven content whose objects git has, against the content with these tree IDs.

    `other`: the tree to compare with; None: what is on disk. None where nothing was proven, or git
    has no answer.
    """
    if ws.repo is None or seen.gaps:
        return None
    left = _TREES
    for tree in _passing(seen, trees):
        if not left:
            break
        try:
            paths = differing_paths(ws.repo, tree, other)
        except GitFailed:
            return None
        if paths is None:
            continue
        # here, not above: a content whose objects git does not have costs one short question, not a
        # judgment
        left -= 1
        try:
            found = judge(ws, seen, (tree,), committed=True, transfer=False)[1]
        except UsageProblem:  # the settings of that content are invalid; another one may be proven
            continue
        if found.tier >= Tier.INFERRED and found.run:
            return Nearest(found.run, tree, tuple(paths))
    return None


def _passing(seen: Snapshot, besides: Sequence[str]) -> list[str]:
    """The tree IDs of the newest passing runs of tests, newest first, but for these."""
    # the header is canonical JSON, with no space after a colon, so its text can be matched
    sql = (
        "SELECT tree_all, tree FROM receipt WHERE source IN ('pytest', 'junit')"
        ' AND header LIKE \'%"verdict":"passed"%\' ORDER BY seq DESC LIMIT ?'
    )
    waiting = (one.receipt for one in seen.waiting if one.receipt.result.get("verdict") == "passed")
    rows = [
        *((one.tree_all, one.tree) for one in waiting),
        *(seen.db.rows(sql, (_LOOK_BACK,)) if seen.db else ()),
    ]
    return [
        tree
        for tree in dict.fromkeys(tree for row in rows for tree in row)
        if tree and tree not in besides
    ]


def _places(paths: Sequence[str]) -> list[str]:
    """The files at the top, and the directories there, with the number of files where it is more
    than one.
    """
    count = Counter(path.partition("/")[0] for path in paths)
    tops = [(path, *path.partition("/")[:2]) for path in paths]
    names = (
        f"{top}/ ({count[top]} files)" if slash and count[top] > 1 else path
        for path, top, slash in tops
    )
    return list(dict.fromkeys(names))


def accept(ws: Workspace, reason: str) -> list[Rollback]:
    """Take the store as it is from now on, with an Event that has the reason. Raises as
    `Store.writing`.
    """
    from kl_hooks.records.events import Event, insert_events
    from kl_hooks.store.redaction import redact

    require_setup(ws)
    with ledger_writer(ws, accept=True) as db:
        lost = rollbacks(db, read_marks(ws))
        by = f"agent:{name}" if (name := agent(ws.environ)) else producer(ws.environ)
        body = {"reason": redact(reason), "by": redact(by), "lost": [one.to_dict() for one in lost]}
        if lost:
            insert_events(db, [Event(ACCEPTED, STORE, by, body)], iso(ws.clock.now()))
    return lost


def accepted(ws: Workspace) -> list[Event]:
    """The Events that accepted a store after it lost receipts, oldest first."""
    from kl_hooks.records.events import list_events

    return list_events(ws, STORE, ACCEPTED)
