"""Error and fix: what failed, and the commit after which it passed. Pure.

Work in progress is no error: a failure counts where it was committed, or seen in two runs. A test that came with the
commit that made it pass is no regression: it counts only if it had passed before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kl_hooks.evidence.commits import Logged
from kl_hooks.kinds.memory.mine_commands import cut
from kl_hooks.kinds.memory.mine_files import generated
from kl_hooks.kinds.memory.seen import Found, Sighting, named
from kl_hooks.kinds.memory.sessions import session_of
from kl_hooks.kinds.memory.thresholds import FAILS_IN_A_ROW, LARGEST_FIX, MESSAGE_CUT
from kl_hooks.kinds.memory.timeline import Step
from kl_hooks.model.receipt import Receipt
from kl_hooks.model.text import one_line

IMPORTANCE: Final = 60
_DOCUMENTS: Final = (".md", ".rst", ".txt", ".adoc")


@dataclass(frozen=True, slots=True)
class Fix:
    """Something that failed, passed, and the commit in between."""

    subject: str
    failed: Step
    passed: Step
    commit: Logged


def fix_patterns(
    steps: Mapping[str, Sequence[Step]], commits: Sequence[Logged], by_run: Mapping[str, Receipt]
) -> list[Found]:
    """One pattern for each commit that made something pass. `commits` oldest first."""
    by_commit: dict[str, list[Fix]] = {}
    for subject, history in steps.items():
        for fix in _fixes(subject, history, commits):
            by_commit.setdefault(fix.commit.sha, []).append(fix)
    return [_found(_of_first_run(fixes), by_run) for fixes in by_commit.values()]


def _fixes(subject: str, history: Sequence[Step], commits: Sequence[Logged]) -> Iterator[Fix]:
    """Each place where failures end in a pass by a commit that can be named."""
    passed_before, row = False, list[Step]()
    for step in history:
        if step.bad:
            row.append(step)
            continue
        commit = _between(row[-1], step, commits) if row else None
        if commit and _settled(row) and (passed_before or not _came_with(subject, commit)):
            yield Fix(subject, row[-1], step, commit)
        passed_before, row = True, []


def _settled(row: Sequence[Step]) -> bool:
    """More than work in progress."""
    return len(row) >= FAILS_IN_A_ROW or not row[-1].entry.receipt.dirty


def _came_with(subject: str, commit: Logged) -> bool:
    return subject.removeprefix("test:").partition("::")[0] in commit.files


def _between(failed: Step, passed: Step, commits: Sequence[Logged]) -> Logged | None:
    """The commit that was made on top of the one that failed, and holds the content that passed.

    Nothing else will do: of two commits nobody knows which one it was, and other worktrees and branches write into the
    same store.
    """
    bad, good = failed.entry.receipt, passed.entry.receipt
    if good.tree is None or bad.head is None or (good.tree, good.tree_all) == (bad.tree, bad.tree_all):
        return None
    after = (c for c in commits if bad.head in c.parents and c.tree in (good.tree, good.tree_all))
    return next((c for c in after if 0 < len(_sources(c)) <= LARGEST_FIX), None)


def _sources(commit: Logged) -> list[str]:
    """The files of a commit that can have mended something: no tests, no documents, nothing generated."""
    return [path for path in commit.files if not (generated(path) or path.endswith(_DOCUMENTS) or _is_test(path))]


def _is_test(path: str) -> bool:
    *folders, name = path.split("/")
    return name.startswith(("test_", "conftest.")) or "_test." in name or bool({"test", "tests"} & set(folders))


def _of_first_run(fixes: Sequence[Fix]) -> list[Fix]:
    """Those seen in the first run after the commit: what later runs add would only change the words."""
    first = min(fix.passed.entry.seq for fix in fixes)
    return sorted((fix for fix in fixes if fix.passed.entry.seq == first), key=lambda fix: fix.subject)


def _found(fixes: Sequence[Fix], by_run: Mapping[str, Receipt]) -> Found:
    first, commit = fixes[0], fixes[0].commit
    names = [_name(fix.subject) for fix in fixes]
    files = _sources(commit)
    why = one_line(first.failed.message, MESSAGE_CUT)
    text = (
        f"Fixed by commit {commit.sha[:8]} ({one_line(commit.subject, 100)}), which changed {named(files)}: "
        f"{named(names)} failed" + (f" with: {why}" if why else "")
    )
    session = session_of(first.passed.entry.receipt, by_run)  # one session found the fix, whoever saw the failure
    seen = tuple(
        Sighting(session, step.entry.id, _proof(first), step.entry.receipt.ended)
        for step in (first.failed, first.passed)
    )
    return Found(text, "discovery", seen, True, IMPORTANCE, untrusted=True)


def _proof(fix: Fix) -> str:
    return "TestResult" if fix.subject.startswith("test:") else "ExitCode"


def _name(subject: str) -> str:
    kind, _, name = subject.partition(":")
    return f"`{cut(name)}`" if kind == "command" else name
