"""Patterns in receipts and commits: commands, tests, files and fixes. Deterministic, no model. Pure.

Work in progress is no error: a failure counts where it was committed, or seen in two runs. A test that came with
the commit that made it pass is no regression: it counts only if it had passed before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from kl_hooks.evidence.commits import LoggedCommit
from kl_hooks.evidence.ledger import Entry
from kl_hooks.kinds.memory.patterns import (
    COMMAND_CUT,
    FAILS_IN_A_ROW,
    GENERATED,
    INTERRUPTED,
    LARGEST_COMMIT,
    LARGEST_FIX,
    MESSAGE_CUT,
    MOST_FILES,
    SUCCEEDS_IN_SESSIONS,
    TEST_PASSES_IN_SESSIONS,
    WRITES_IN_A_SESSION,
    WRITES_IN_SESSIONS,
    Pattern,
    Sighting,
    by_sessions,
    day_session,
    is_trivial,
    merge_same,
    session_of,
    shorten,
)
from kl_hooks.model.receipt import REFUTES, Evidence, Receipt
from kl_hooks.model.text import one_line


@dataclass(frozen=True, slots=True)
class _Step:
    """One outcome of a subject."""

    entry: Entry
    outcome: str
    message: str = ""
    """Of a failure."""

    @property
    def bad(self) -> bool:
        """True for a failure."""
        return self.outcome in REFUTES


def _test_steps(entries: Sequence[Entry]) -> dict[str, list[_Step]]:
    """Subject → its steps, for every test that failed in one of the runs (oldest first). Incomplete runs left out."""
    whole = [entry for entry in entries if entry.receipt.result.get("complete")]
    failed = {one.subject for entry in whole for one in _tests(entry) if one.outcome in REFUTES}
    found: dict[str, list[_Step]] = {subject: [] for subject in sorted(failed)}
    for entry in whole:
        for one in _tests(entry):
            if one.subject in failed and (one.outcome == "passed" or one.outcome in REFUTES):
                found[one.subject].append(_Step(entry, one.outcome, str(one.detail.get("message") or "")))
    return found


def _command_steps(entries: Sequence[Entry]) -> dict[str, list[_Step]]:
    """The same for commands that are not trivial. Its message is the last line of the output that names an error."""
    found = {}
    for command, runs in _runs_of(entries).items():
        if any(outcome in REFUTES for _, outcome in runs) and not is_trivial(command):
            subject = f"command:{command}"
            found[subject] = [_Step(entry, outcome, _tail(entry, subject)) for entry, outcome in runs]
    return found


def _tests(entry: Entry) -> Iterator[Evidence]:
    return (one for one in entry.receipt.evidence if one.kind == "TestResult")


def _tail(entry: Entry, subject: str) -> str:
    lines = [
        line.strip()
        for one in entry.receipt.evidence
        if one.subject == subject
        for line in str(one.detail.get("tail") or "").splitlines()
        if line.strip()
    ]
    telling = [line for line in lines if "error" in line.lower() or "exception" in line.lower()]
    return (telling or lines or [""])[-1]


PREFIX = "command:"


def _command_patterns(entries: Sequence[Entry], by_run: Mapping[str, Receipt]) -> list[Pattern]:
    """What the runs of commands show, oldest first in `entries`."""
    found: list[Pattern] = []
    for command, runs in _runs_of(entries).items():
        if not is_trivial(command):
            found += _succeeds(command, runs, by_run)
            found += _fails(command, runs, by_run)
    return found


def _runs_of(entries: Iterable[Entry]) -> dict[str, list[tuple[Entry, str]]]:
    """Command line → its runs with their outcome, in the order of `entries`. Stopped and incomplete ones left out."""
    found: dict[str, list[tuple[Entry, str]]] = {}
    for entry in entries:
        for one in entry.receipt.evidence:
            whole = one.kind == "ExitCode" and one.subject.startswith(PREFIX) and entry.receipt.result.get("complete")
            if whole and one.detail.get("exit") not in INTERRUPTED:
                found.setdefault(one.subject.removeprefix(PREFIX), []).append((entry, one.outcome))
    return found


def cut(command: str) -> str:
    """A command as a pattern shows it."""
    line = one_line(command, len(command) * 10 + 1)
    return line if len(line) <= COMMAND_CUT else line[:COMMAND_CUT] + "…"


def _succeeds(command: str, runs: Sequence[tuple[Entry, str]], by_run: Mapping[str, Receipt]) -> list[Pattern]:
    seen = tuple(_sighting(entry, by_run) for entry, outcome in runs if outcome == "passed")
    enough = len({one.session for one in seen}) >= SUCCEEDS_IN_SESSIONS
    return [Pattern(f"Shell command succeeds: {cut(command)}", "best_practice", seen, enough)] if seen else []


def _fails(command: str, runs: Sequence[tuple[Entry, str]], by_run: Mapping[str, Receipt]) -> list[Pattern]:
    seen = tuple(_sighting(entry, by_run) for entry, outcome in runs if outcome == "failed")
    enough = _longest_streak([outcome for _, outcome in runs]) >= FAILS_IN_A_ROW
    text = f"Shell command fails repeatedly: {cut(command)}"
    return [Pattern(text, "failure_mode", seen, enough)] if len(seen) > 1 else []


def _longest_streak(outcomes: Sequence[str]) -> int:
    longest = row = 0
    for outcome in outcomes:
        row = row + 1 if outcome == "failed" else 0
        longest = max(longest, row)
    return longest


def _sighting(entry: Entry, by_run: Mapping[str, Receipt]) -> Sighting:
    return Sighting(session_of(entry.receipt, by_run), entry.id, "ExitCode", entry.receipt.ended)


def _file_patterns(commits: Sequence[LoggedCommit]) -> list[Pattern]:
    """What commits show, oldest first. A session is the day of one author."""
    writes = (
        (path, Sighting(day_session(one.at, one.author), one.receipt or one.sha, "EvidenceGraph", one.at))
        for one in commits
        if len(one.files) <= LARGEST_COMMIT
        for path in one.files
    )
    return write_patterns(writes)


def write_patterns(writes: Iterable[tuple[str, Sighting]]) -> list[Pattern]:
    """A pattern for each file that was written more than once in a session; one sighting for each such session.

    Only those written most are worth a person's time: in a lively repository nearly every file is written often.
    """
    by_file: dict[str, dict[str, list[Sighting]]] = {}
    for path, seen in writes:
        if not is_generated(path):
            by_file.setdefault(path, {}).setdefault(seen.session, []).append(seen)
    often = {path: _often(sessions) for path, sessions in by_file.items()}
    enough = [path for path, seen in often.items() if len(seen) >= WRITES_IN_SESSIONS]
    most = sorted(enough, key=lambda path: (-len(often[path]), -sum(map(len, by_file[path].values())), path))
    return [
        Pattern(f"File is modified repeatedly in sessions: {path}", "pattern", seen, path in most[:MOST_FILES])
        for path, seen in often.items()
        if seen
    ]


def _often(sessions: Mapping[str, Sequence[Sighting]]) -> tuple[Sighting, ...]:
    """The last write of each session that wrote it more than once."""
    return tuple(seen[-1] for seen in sessions.values() if len(seen) >= WRITES_IN_A_SESSION)


def is_generated(path: str) -> bool:
    """True for a file that a tool or a habit writes: it says nothing about the work."""
    return PurePosixPath(path).name in GENERATED or path.startswith(".kl/")


def _test_patterns(steps: Mapping[str, Sequence[_Step]], by_run: Mapping[str, Receipt]) -> list[Pattern]:
    """`Test passes: …` for tests that failed and then passed, a sighting for each pass after the first failure."""
    found = []
    for subject, history in steps.items():
        first = next((at for at, step in enumerate(history) if step.bad), len(history))
        seen = tuple(
            Sighting(session_of(step.entry.receipt, by_run), step.entry.id, "TestResult", step.entry.receipt.ended)
            for step in history[first:]
            if not step.bad
        )
        if seen:
            enough = not history[-1].bad and len({one.session for one in seen}) >= TEST_PASSES_IN_SESSIONS
            text = f"Test passes: {one_line(subject.removeprefix('test:'), 300)}"
            found.append(Pattern(text, "fact", seen, enough))
    return found


IMPORTANCE: Final = 60
_DOCUMENTS: Final = (".md", ".rst", ".txt", ".adoc")


@dataclass(frozen=True, slots=True)
class _Fix:
    """Something that failed, passed, and the commit in between."""

    subject: str
    failed: _Step
    passed: _Step
    commit: LoggedCommit


def _fix_patterns(
    steps: Mapping[str, Sequence[_Step]], commits: Sequence[LoggedCommit], by_run: Mapping[str, Receipt]
) -> list[Pattern]:
    """One pattern for each commit that made something pass. `commits` oldest first."""
    by_commit: dict[str, list[_Fix]] = {}
    for subject, history in steps.items():
        for fix in _fixes(subject, history, commits):
            by_commit.setdefault(fix.commit.sha, []).append(fix)
    return [_fix_pattern(_of_first_run(fixes), by_run) for fixes in by_commit.values()]


def _fixes(subject: str, history: Sequence[_Step], commits: Sequence[LoggedCommit]) -> Iterator[_Fix]:
    """Each place where failures end in a pass by a commit that can be named."""
    passed_before, row = False, list[_Step]()
    for step in history:
        if step.bad:
            row.append(step)
            continue
        commit = _fixing_commit(row[-1], step, commits) if row else None
        if commit and _is_settled(row) and (passed_before or not _is_new_test(subject, commit)):
            yield _Fix(subject, row[-1], step, commit)
        passed_before, row = True, []


def _is_settled(row: Sequence[_Step]) -> bool:
    """More than work in progress."""
    return len(row) >= FAILS_IN_A_ROW or not row[-1].entry.receipt.dirty


def _is_new_test(subject: str, commit: LoggedCommit) -> bool:
    return subject.removeprefix("test:").partition("::")[0] in commit.files


def _fixing_commit(failed: _Step, passed: _Step, commits: Sequence[LoggedCommit]) -> LoggedCommit | None:
    """The commit that was made on top of the one that failed, and holds the content that passed.

    Nothing else will do: of two commits nobody knows which one it was, and other worktrees and branches write into the
    same store.
    """
    bad, good = failed.entry.receipt, passed.entry.receipt
    if good.tree is None or bad.head is None or (good.tree, good.tree_all) == (bad.tree, bad.tree_all):
        return None
    after = (c for c in commits if bad.head in c.parents and c.tree in (good.tree, good.tree_all))
    return next((c for c in after if 0 < len(_sources(c)) <= LARGEST_FIX), None)


def _sources(commit: LoggedCommit) -> list[str]:
    """The files of a commit that can have mended something: no tests, no documents, nothing generated."""
    return [path for path in commit.files if not (is_generated(path) or path.endswith(_DOCUMENTS) or _is_test(path))]


def _is_test(path: str) -> bool:
    *folders, name = path.split("/")
    return name.startswith(("test_", "conftest.")) or "_test." in name or bool({"test", "tests"} & set(folders))


def _of_first_run(fixes: Sequence[_Fix]) -> list[_Fix]:
    """Those seen in the first run after the commit: what later runs add would only change the words."""
    first = min(fix.passed.entry.seq for fix in fixes)
    return sorted((fix for fix in fixes if fix.passed.entry.seq == first), key=lambda fix: fix.subject)


def _fix_pattern(fixes: Sequence[_Fix], by_run: Mapping[str, Receipt]) -> Pattern:
    first, commit = fixes[0], fixes[0].commit
    names = [_name(fix.subject) for fix in fixes]
    files = _sources(commit)
    why = one_line(first.failed.message, MESSAGE_CUT)
    text = (
        f"Fixed by commit {commit.sha[:8]} ({one_line(commit.subject, 100)}), which changed {shorten(files)}: "
        f"{shorten(names)} failed" + (f" with: {why}" if why else "")
    )
    session = session_of(first.passed.entry.receipt, by_run)  # one session found the fix, whoever saw the failure
    seen = tuple(
        Sighting(session, step.entry.id, _proof(first), step.entry.receipt.ended)
        for step in (first.failed, first.passed)
    )
    return Pattern(text, "discovery", seen, True, IMPORTANCE, untrusted=True)


def _proof(fix: _Fix) -> str:
    return "TestResult" if fix.subject.startswith("test:") else "ExitCode"


def _name(subject: str) -> str:
    kind, _, name = subject.partition(":")
    return f"`{cut(name)}`" if kind == "command" else name


TESTS = ("pytest", "junit")


def receipt_patterns(entries: Sequence[Entry], commits: Sequence[LoggedCommit]) -> list[Pattern]:
    """Every pattern that the receipts and the commits show, those seen in most sessions first.

    Any order in: they are put into the order of the store. Receipts that were imported are left out: nothing proves
    where they came from.
    """
    own = sorted((one for one in entries if not one.origin.startswith("imported")), key=lambda one: one.seq)
    by_run = {one.receipt.run: one.receipt for one in own}
    log = sorted(commits, key=lambda one: (one.at, one.sha))
    commands = [one for one in own if one.receipt.source == "command"]
    tests = _test_steps([one for one in own if one.receipt.source in TESTS])
    return by_sessions(
        merge_same(
            [
                *_command_patterns(commands, by_run),
                *_test_patterns(tests, by_run),
                *_file_patterns(log),
                *_fix_patterns({**tests, **_command_steps(commands)}, log, by_run),
            ]
        )
    )
