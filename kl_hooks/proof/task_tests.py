"""The tests that a task should know, those that it names and those that fail now and have to do
with it, and what these executed.

A failing test of another subject is none of them, however its message reads: the test must execute
something that the task names, or something that the work at hand changed since the test passed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from kl_hooks.code.query.lookup import symbols_by_id
from kl_hooks.evidence.claims import current_claims
from kl_hooks.evidence.ingestion import sync_evidence
from kl_hooks.evidence.ledger import Entry, entries_of_tree, here_first, recent
from kl_hooks.evidence.provenance import worktree_state
from kl_hooks.evidence.trust import observation
from kl_hooks.git.repository import git_in
from kl_hooks.git.worktree import changed_files, tree_of_revision
from kl_hooks.model.claim import OLDER_TREE, Claim, tier, tier_words
from kl_hooks.model.definitions import lazy_pattern
from kl_hooks.model.package import Candidate, symbol_candidate
from kl_hooks.model.receipt import REFUTES
from kl_hooks.model.symbol import is_test_path, split_id
from kl_hooks.model.text import one_line
from kl_hooks.proof.facts import VALID
from kl_hooks.proof.failing import FailingTest, failing_tests
from kl_hooks.proof.failures import changed_since_pass
from kl_hooks.proof.symbol_tests import suspects

if TYPE_CHECKING:
    from kl_hooks.model.package import Task
    from kl_hooks.workspace import Workspace

_RECENT_RUNS: Final = 10
"""Runs that are looked at for the newest outcome of a test, besides those of this content."""
_MOST_FAILING: Final = 10
"""Where more tests fail a suite fails as a whole, and no test is a better hint than the others."""
_OF_NAMED: Final = "executed by the failing test and by few others"
"""Of what a test executed that the task names."""
_CALLED: Final = 5
"""Rarest symbols of the source that are offered of each group of tests."""
_EXECUTED: Final = 30
"""Rarest symbols that are looked at, the tests' own helpers among them."""
_NAMED: Final = 3
"""Failing tests whose executed symbols are offered."""
_WORD: Final = lazy_pattern(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_OF_TESTS: Final = frozenset({"test", "tests", "spec", "conftest", "init"})
"""Parts of names that name no subject."""
_SHORTEST: Final = 4
"""Letters of a word that names something by itself."""
_SHORTEST_MESSAGE: Final = 12
"""Characters of a failure's message that a task quotes, and not by chance."""


def find_tests(ws: Workspace, task: Task, limit: int) -> list[Candidate]:
    """The failing tests that have to do with a task, then the tests that it names, whatever their
    outcome.

    A test that passes is no item: it is counted at the code that it calls (`proof.symbol_tests`).
    """
    sync_evidence(ws)
    leading = _leading_tests(ws, task)
    failing = {f"test:{test.test}" for test in leading}
    named = [subject for name in task.signals.tests if (subject := f"test:{name}") not in failing]
    return [*map(_failing_candidate, leading), *_named_candidates(ws, named)][:limit]


def _leading_tests(ws: Workspace, task: Task) -> list[FailingTest]:
    """The failing tests that have to do with a task: those that it names something of, then those
    that the work at hand may have broken.
    """
    failing = failing_tests(ws)
    named = [test for test in failing if _is_named(test, task)]
    others = [test for test in failing if test not in named]
    if len(others) > _MOST_FAILING:
        return named
    return named + _changed_at_work(ws, others)


def _is_named(test: FailingTest, task: Task) -> bool:
    """Whether a task names a test, its file, its failure, or something that it executed."""
    signals = task.signals
    function = test.test.partition("[")[0]
    if test.test in signals.tests or function in signals.tests:
        return True
    frame = str(test.failure.detail.get("frame") or "")
    files = {*test.symbols.values(), function.partition("::")[0], frame.partition("::")[0]} - {""}
    asked = [*signals.paths, *task.paths, *(path for path, _ in signals.frames)]
    if any(
        path == file or path.endswith(f"/{file}") or file.endswith(f"/{path}")
        for path in asked
        for file in files
    ):
        return True
    message = str(test.failure.detail.get("message") or "").partition("\n")[0].strip()
    if len(message) >= _SHORTEST_MESSAGE and message in task.text:
        return True
    wanted = {name.rpartition(".")[2] for name in (*signals.symbols, *task.names)}
    words = {*signals.keywords, *(part for name in wanted for part in _parts(name))}
    return any(name in wanted or _is_in(name, words) for name in _names(test, files))


def _names(test: FailingTest, files: Collection[str]) -> Iterator[str]:
    """The names of what a test executed, of the files that are in, and of the test itself."""
    yield from test.test.partition("[")[0].split("::")[1:]
    yield str(test.failure.detail.get("exception") or "").rpartition(".")[2]
    for symbol in test.symbols:
        yield from split_id(symbol)[1].split(".")[-2:]
    yield from (PurePosixPath(path).stem for path in files)


def _parts(name: str) -> list[str]:
    return [part.lower() for part in _WORD.findall(name)]


def _is_in(name: str, words: Collection[str]) -> bool:
    """Whether all parts of a name that name a subject are among these words."""
    parts = [part for part in _parts(name) if part not in _OF_TESTS]
    return max(map(len, parts), default=0) >= _SHORTEST and all(part in words for part in parts)


def _changed_at_work(ws: Workspace, tests: Sequence[FailingTest]) -> list[FailingTest]:
    """Those that rest on something that changed since they passed, in a file that is not committed
    as it is, or that the upstream does not have so.
    """
    if not tests:
        return []
    changed = changed_since_pass(ws, [test.test for test in tests])
    if not any(changed.values()):
        return []
    files = _files_at_work(ws)
    return [
        test
        for test in tests
        if any(test.symbols.get(symbol) in files for symbol in changed.get(test.test, ()))
    ]


def _files_at_work(ws: Workspace) -> Collection[str]:
    if ws.repo is None:
        return ()
    # 1: nothing in common; 128: no upstream, no commit
    shared = git_in(ws.repo, "merge-base", "HEAD", "@{upstream}", ok=(0, 1, 128)).split()
    tree = tree_of_revision(ws.repo, shared[0].decode("ascii") if shared else "HEAD")
    if not tree:
        return ()
    return changed_files(ws.repo, tree) or {}


def find_executed(ws: Workspace, task: Task, limit: int) -> list[Candidate]:
    """Return what tests executed that the task names, then what the failing tests did that have to
    do with it.

    The symbols of the source alone, those first that the fewest other tests execute. The score of
    each is by how many tenths of the best score it is lifted where code is ranked.
    """
    named = task.signals.tests
    failing = [test.test for test in _leading_tests(ws, task) if test.test not in named]
    # where a suite fails as a whole, no test is a better hint than the others
    if len(failing) <= _MOST_FAILING:
        failing = failing[:_NAMED]
    else:
        failing = []
    reasons: dict[str, str] = {}
    failed = f"executed by {', '.join(failing)}, which failed lately"
    for tests, reason in ((named, _OF_NAMED), (failing, failed)):
        for suspect in suspects(ws, tests)[:_EXECUTED]:
            reasons.setdefault(suspect.symbol, reason)
    with ws.store.reading("graph") as graph:
        if graph is not None and reasons:
            symbols = symbols_by_id(graph, reasons)
        else:
            symbols = {}
    shown: dict[str, int] = {}
    rows = []
    for name, reason in reasons.items():
        symbol = symbols.get(name)
        if symbol is None or is_test_path(symbol.path) or shown.setdefault(reason, 0) >= _CALLED:
            continue
        shown[reason] += 1
        score = 5 if reason == _OF_NAMED else 2
        rows.append(symbol_candidate(symbol, reason)._replace(score=score))
    return rows[:limit]


def _failing_candidate(test: FailingTest) -> Candidate:
    receipt = test.entry.receipt
    subject = f"test:{test.test}"
    outcome = f"{test.failure.outcome}; run {receipt.run[:8]} of {receipt.ended[:10]}"
    message = one_line(str(test.failure.detail.get("message") or ""), 300)
    if test.verdict.reason:
        since = f"not run since: {one_line(test.verdict.reason)}"
    else:
        since = ""
    return Candidate(
        id=subject,
        kind="failing test",
        title=test.test,
        text="\n".join(filter(None, (outcome, message, since))),
        summary=f"{outcome} {message}".rstrip(),
        path=test.test.partition("::")[0],
        tier=tier([observation(receipt, test.failure, test.entry.origin)]),
        freshness="current" if test.verdict.state == VALID else OLDER_TREE,
        reasons=("a test that fails now and executes what the task is about",),
    )


def _named_candidates(ws: Workspace, subjects: Sequence[str]) -> Iterator[Candidate]:
    """The newest observation of each test that a task names."""
    with ws.store.reading() as db:
        if db is None or not subjects:
            return
        trees = worktree_state(ws.repo).trees
        # fewer than all claims look at: a task needs the newest results, and a run may have 20,000
        runs = [
            *entries_of_tree(db, trees),
            *recent(db, _RECENT_RUNS, "pytest"),
            *recent(db, 1, "junit"),
        ]
        entries = {entry.seq: entry for entry in runs}
        newest = [entries[seq] for seq in sorted(entries, reverse=True)]
        claims = {
            claim.about: claim for claim in current_claims(ws, db, newest, trees, set(subjects))
        }
    by_content = here_first(newest, trees)
    for subject in subjects:
        candidate = _named_candidate(subject, by_content, claims.get(subject), trees)
        if candidate:
            yield candidate


def _named_candidate(
    subject: str, entries: Iterable[Entry], claim: Claim | None, trees: Sequence[str]
) -> Candidate | None:
    """The newest observation of a test: its outcome, where, and what supports it."""
    results = (
        (entry, evidence)
        for entry in entries
        for evidence in entry.receipt.evidence
        if evidence.subject == subject
    )
    entry, evidence = next(results, (None, None))
    if entry is None or evidence is None:
        return None
    if claim and evidence.outcome not in REFUTES:
        agreeing = [support for support in claim.support if support.speaks == "for"]
        run = f"run {agreeing[0].observation.run[:8]} of {agreeing[0].at[:10]}"
        outcome = f"passed; {', '.join(tier_words(claim.tier.word, claim.freshness))}, {run}"
        observers = sorted({support.observation.observer for support in agreeing})
        detail = f"seen by {', '.join(observers)}"
        level = claim.tier
        freshness = claim.freshness
    else:
        outcome = f"{evidence.outcome}; run {entry.receipt.run[:8]} of {entry.receipt.ended[:10]}"
        detail = one_line(str(evidence.detail.get("message") or ""), 300)
        level = tier([observation(entry.receipt, evidence, entry.origin)])
        is_here = {entry.receipt.tree, entry.receipt.tree_all} & set(trees)
        freshness = "current" if is_here else OLDER_TREE
    nodeid = subject.removeprefix("test:")
    return Candidate(
        id=subject,
        kind="evidence",
        title=nodeid,
        text=outcome + (f"\n{detail}" if detail else ""),
        summary=f"{outcome} {detail}".rstrip(),
        path=nodeid.partition("::")[0],
        tier=level,
        freshness=freshness,
        reasons=("a test that the task names",),
    )
