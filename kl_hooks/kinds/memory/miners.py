"""Miners: patterns in receipts, commits and transcripts of agents. Deterministic, no model. Pure.

In receipts work in progress is no error: a failure counts where it was committed, or seen in two
runs. A test that is new in the commit that made it pass is no regression: it counts only if it had
passed before. What is below a threshold is not lost: it counts as soon as more is seen, as long as
the receipts are read.

A transcript was written by an agent, or is what an agent was shown: it is redacted, and nothing of
it is trusted. Values of environment variables are never read, only their names. Output of tools is
never a statement: whoever can write a file could plant one. Nor is what a code block or a quotation
holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import PurePosixPath
from typing import Final

from kl_hooks.clock import micros
from kl_hooks.evidence.commits import LoggedCommit
from kl_hooks.evidence.ledger import Entry
from kl_hooks.evidence.sources.transcript import Message, ToolCall, Transcript
from kl_hooks.kinds.memory.patterns import Pattern, Sighting, day_session, identity
from kl_hooks.kinds.shell import Command, simple_commands
from kl_hooks.model.definitions import NamedTuple, lazy_pattern
from kl_hooks.model.receipt import REFUTES, Receipt
from kl_hooks.model.text import one_line

_COMMAND_CUT: Final = 120
"""Characters of a command in a pattern."""
_MESSAGE_CUT: Final = 140
"""Characters of a failure's message in a pattern."""

_TRIVIAL_COMMANDS: Final = frozenset(
    (
        "ls",
        "ll",
        "la",
        "dir",
        "cd",
        "pwd",
        "echo",
        "printf",
        "cat",
        "head",
        "tail",
        "less",
        "more",
        "bat",
        "wc",
        "sort",
        "uniq",
        "cut",
        "tr",
        "tee",
        "which",
        "type",
        "whereis",
        "whoami",
        "id",
        "date",
        "true",
        "false",
        "test",
        "[",
        ":",
        "sleep",
        "clear",
        "history",
        "env",
        "printenv",
        "export",
        "set",
        "unset",
        "alias",
        "man",
        "help",
        "file",
        "stat",
        "du",
        "df",
        "ps",
        "top",
        "kill",
        "find",
        "fd",
        "grep",
        "rg",
        "ag",
        "sed",
        "awk",
        "tree",
        "touch",
        "mkdir",
        "rmdir",
        "rm",
        "cp",
        "mv",
        "ln",
        "chmod",
        "chown",
        "open",
        "xdg-open",
        "vi",
        "vim",
        "nano",
        "emacs",
        "code",
        "hostname",
        "uname",
        "basename",
        "dirname",
        "realpath",
        "readlink",
        "diff",
        "cmp",
        "xargs",
        "exit",
        "seq",
        "yes",
        "jobs",
        "fg",
        "bg",
        "wait",
        "source",
        ".",
        "hexdump",
        "xxd",
        "od",
        "nl",
        "column",
        "jq",
        "yq",
    )
)
"""Commands that only look around, or move files about."""
_TRIVIAL_VERBS: Final = {
    "git": frozenset(
        (
            "status",
            "log",
            "diff",
            "show",
            "branch",
            "add",
            "commit",
            "checkout",
            "switch",
            "restore",
            "stash",
            "fetch",
            "pull",
            "push",
            "blame",
            "remote",
            "rev-parse",
            "ls-files",
            "ls-tree",
            "cat-file",
            "tag",
            "reflog",
            "config",
            "describe",
            "shortlog",
            "grep",
            "init",
            "clone",
            "merge",
            "rebase",
            "reset",
        )
    ),
    "kl": frozenset(
        (
            "run",
            "status",
            "doctor",
            "evidence",
            "claim",
            "context",
            "memory",
            "decision",
            "graph",
            "knowledge",
            "arch",
            "verify",
            "init",
        )
    ),
    "pip": frozenset(("list", "show", "freeze")),
    "npm": frozenset(("ls", "list")),
    "docker": frozenset(("ps", "images", "logs")),
    "gh": frozenset(("pr", "issue", "run", "auth")),
}
"""The same, by the first argument."""
_TRIVIAL_OPTIONS: Final = frozenset({"--version", "-V", "--help", "-h", "version", "help"})
"""A command with one of these as its only argument is trivial."""
TEST_SOURCES: Final = ("pytest", "junit")
_SUCCEEDS_IN_SESSIONS: Final = 2
"""`Shell command succeeds`: exit status 0 in so many sessions."""
_FAILS_IN_A_ROW: Final = 2
"""`Shell command fails repeatedly`: so many failures without a success between them."""
_RUNS_OF_A_RATE: Final = 6
"""`Command fails in half of its runs`: of so many runs at least …"""
_QUICK, _SLOW = 5_000_000, 60_000_000
"""Microseconds: `Command is quick and never fails` (each run), `Command takes more than a minute`
(the median).
"""
_RUNS_OF_A_DURATION: Final = 5
_ERROR_CLASSES: Final = (
    # the first that fits; words of exceptions, HTTP statuses and messages of the C library
    ("rate limit", lazy_pattern(r"rate.?limit|too many requests|\b429\b", re.IGNORECASE)),
    (
        "token limit",
        lazy_pattern(r"(?:context|token).{0,20}(?:limit|length|exceed|too long)", re.IGNORECASE),
    ),
    ("timeout", lazy_pattern(r"time(?:d)?.?out|deadline exceeded", re.IGNORECASE)),
    (
        "authentication",
        lazy_pattern(
            r"unauthori[sz]ed|authenticat|permission denied|forbidden|\b40[13]\b", re.IGNORECASE
        ),
    ),
    ("memory", lazy_pattern(r"out of memory|memoryerror|cannot allocate|\boom\b", re.IGNORECASE)),
    (
        "network",
        lazy_pattern(
            r"connection (?:refused|reset|error|aborted)|unreachable|name resolution|dns",
            re.IGNORECASE,
        ),
    ),
)
"""Class of an error → the messages that name it."""
_PASSES_IN_SESSIONS: Final = 2
"""`Test passes`: in so many sessions, after a failure. A test that never failed teaches nothing."""
_WRITES_IN_A_SESSION: Final = 2
"""`File is modified repeatedly in sessions`: commits (or edits of an agent) that wrote it within
one session …
"""
_WRITES_IN_SESSIONS: Final = 2
"""… and so many such sessions …"""
_MOST_FILES: Final = 5
"""… if it is among so many that were written most: in a lively repository nearly every file is
written often.
"""
_LARGEST_COMMIT: Final = 30
"""A commit that touches more files is a move or a formatter, and no sign of work on any one of
them.
"""
_LARGEST_FIX: Final = 12
"""The same for a commit that made something pass."""
_FIX_IMPORTANCE: Final = 60
_INTERRUPTED: Final = frozenset({129, 130, 131, 137, 141, 143})
"""128 + SIGHUP, SIGINT, SIGQUIT, SIGKILL, SIGPIPE, SIGTERM: somebody stopped the command, which is
no failure of it.
"""
_GENERATED: Final = frozenset(
    (
        "package-lock.json",
        "yarn.lock",
        "pnpm-lock.yaml",
        "poetry.lock",
        "uv.lock",
        "Cargo.lock",
        "Gemfile.lock",
        "go.sum",
        "composer.lock",
        "Pipfile.lock",
        "MEMORY.md",
        ".gitignore",
        "VERSION",
    )
)
"""Names of files that are written often because a tool or a habit writes them."""
# and the fragments that towncrier, scriv and changesets put together, in the folders of their
# documentation
_CHANGELOG: Final = lazy_pattern(
    r"(?:^|/)(?:(?:change(?:s|log)|history|news|releases?(?:[-_]notes)?)(?:\.(?:md|rst|txt|adoc))?$"
    r"|(?:changelog\.d|changes\.d|news\.d|newsfragments|\.changes|\.changeset)/"
    r"|(?:news|changes|changelogs?)/[^/]+\.(?:md|rst|txt|feature|bugfix|doc|removal|misc)$)",
    re.IGNORECASE,
)
"""Changelogs, by the names that projects give them."""
_DOCUMENTS: Final = (".md", ".rst", ".txt", ".adoc")
_COMMAND: Final = "command:"


class _Step(NamedTuple):
    """One outcome of a test or a command."""

    entry: Entry
    session: str
    outcome: str
    message: str = ""
    """Of a failure."""
    duration: int = 0
    """Microseconds; 0: unknown."""

    @property
    def bad(self) -> bool:
        return self.outcome in REFUTES

    def sighting(self, proof: str, session: str = "") -> Sighting:
        """Return the step as a sighting in the session of its run, or in that of another one."""
        return Sighting(session or self.session, self.entry.id, proof, self.entry.receipt.ended)


class _Fix(NamedTuple):
    """A failure, the pass after it, and the commit in between."""

    subject: str
    failed: _Step
    passed: _Step
    commit: LoggedCommit


def receipt_patterns(entries: Sequence[Entry], commits: Sequence[LoggedCommit]) -> list[Pattern]:
    """Return the patterns of receipts and commits in any order, those seen in most sessions first.

    Imported receipts are omitted: no evidence binds them to this repository.
    """
    own = sorted(
        (one for one in entries if not one.origin.startswith("imported")), key=lambda one: one.seq
    )
    by_run = {one.receipt.run: one.receipt for one in own}
    complete = [
        (one, _session_of(one.receipt, by_run)) for one in own if one.receipt.result.get("complete")
    ]
    log = sorted(commits, key=lambda one: (one.at, one.sha))
    commands = _command_steps(complete)
    tests = _test_steps(complete)
    # files that commits change often are no knowledge: git shows them, and no reviewer approves it
    fixes = _fix_patterns({**tests, **commands}, log)
    return _merge_same([*_command_patterns(commands), *_test_patterns(tests), *fixes])


def _test_steps(runs: Sequence[tuple[Entry, str]]) -> dict[str, list[_Step]]:
    """Return subject → its steps, for every test that failed in one of the runs (oldest first, with
    their sessions).
    """
    tests = [
        (_Step(entry, session, one.outcome, str(one.detail.get("message") or "")), one.subject)
        for entry, session in runs
        if entry.receipt.source in TEST_SOURCES
        for one in entry.receipt.evidence
        if one.kind == "TestResult"
    ]
    steps_of: dict[str, list[_Step]] = {
        subject: [] for subject in sorted({subject for step, subject in tests if step.bad})
    }
    for step, subject in tests:
        if subject in steps_of and (step.outcome == "passed" or step.bad):
            steps_of[subject].append(step)
    return steps_of


def _command_steps(runs: Sequence[tuple[Entry, str]]) -> dict[str, list[_Step]]:
    """Return subject → its steps, for commands that are not trivial, without runs that were
    stopped.
    """
    steps_of: dict[str, list[_Step]] = {}
    for entry, session in runs:
        for fact in entry.receipt.evidence if entry.receipt.source == "command" else ():
            is_command = fact.kind == "ExitCode" and fact.subject.startswith(_COMMAND)
            if is_command and fact.detail.get("exit") not in _INTERRUPTED:
                same = (other for other in entry.receipt.evidence if other.subject == fact.subject)
                output = "\n".join(str(other.detail.get("tail") or "") for other in same)
                if fact.outcome in REFUTES:
                    message = _error_line(output)
                else:
                    message = ""
                steps_of.setdefault(fact.subject, []).append(
                    _Step(entry, session, fact.outcome, message, fact.duration_us)
                )
    return {
        subject: steps
        for subject, steps in steps_of.items()
        if not is_trivial(subject.removeprefix(_COMMAND))
    }


def _error_line(output: str) -> str:
    """Return the last line of a command's output that names an error, else its last line."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line.lower() or "exception" in line.lower()]
    return (errors or lines or [""])[-1]


def _command_patterns(steps: Mapping[str, Sequence[_Step]]) -> Iterator[Pattern]:
    for subject, history in steps.items():
        command = cut(subject.removeprefix(_COMMAND))
        passes = tuple(step.sighting("ExitCode") for step in history if step.outcome == "passed")
        if passes:
            enough = len({one.session for one in passes}) >= _SUCCEEDS_IN_SESSIONS
            yield Pattern(f"Shell command succeeds: {command}", "best_practice", passes, enough)
        failures = tuple(step.sighting("ExitCode") for step in history if step.outcome == "failed")
        if len(failures) > 1:
            streaks = [
                len(list(same))
                for outcome, same in groupby(step.outcome for step in history)
                if outcome == "failed"
            ]
            enough = max(streaks) >= _FAILS_IN_A_ROW
            yield Pattern(
                f"Shell command fails repeatedly: {command}", "failure_mode", failures, enough
            )
        yield from _classed_failures(command, history)
        yield from _rates_and_durations(command, history, passes, failures)


def _classed_failures(command: str, history: Sequence[_Step]) -> Iterator[Pattern]:
    """Yield a pattern for each class of error that a command failed with; once may be an
    accident.
    """
    classes: dict[str, list[Sighting]] = {}
    for step in history:
        name = next(
            (name for name, pattern in _ERROR_CLASSES if step.bad and pattern.search(step.message)),
            "",
        )
        if name:
            classes.setdefault(name, []).append(step.sighting("ExitCode"))
    for name, sightings in classes.items():
        text = f"Command fails with an error of the class {name}: {command}"
        yield Pattern(text, "failure_mode", tuple(sightings), len(sightings) >= _FAILS_IN_A_ROW)


def _rates_and_durations(
    command: str,
    history: Sequence[_Step],
    passes: tuple[Sighting, ...],
    failures: tuple[Sighting, ...],
) -> Iterator[Pattern]:
    """Yield what the rate of failures and the durations of a command teach. No numbers: the words
    are the identity.
    """
    if len(history) >= _RUNS_OF_A_RATE and 2 * len(failures) >= len(history) and passes:
        yield Pattern(
            f"Command fails in half of its runs or more: {command}", "anti_pattern", failures, True
        )
    durations = sorted(step.duration for step in history if step.duration and not step.bad)
    if len(durations) < _RUNS_OF_A_DURATION:
        return
    if not failures and durations[-1] < _QUICK:
        yield Pattern(f"Command is quick and never fails: {command}", "best_practice", passes, True)
    if durations[len(durations) // 2] > _SLOW:
        yield Pattern(
            f"Command takes more than a minute: {command}", "performance_insight", passes, True
        )


def cut(command: str) -> str:
    """Return a command as a pattern shows it."""
    # longer than the escapes of any command: cut below
    line = one_line(command, len(command) * 10 + 1)
    if len(line) <= _COMMAND_CUT:
        return line
    return line[:_COMMAND_CUT] + "…"


def _test_patterns(steps: Mapping[str, Sequence[_Step]]) -> Iterator[Pattern]:
    """Yield a pattern for each test that failed and then passed, with every pass after its first
    failure.
    """
    for subject, history in steps.items():
        first = next(at for at, step in enumerate(history) if step.bad)
        passes = tuple(step.sighting("TestResult") for step in history[first:] if not step.bad)
        if passes:
            enough = (
                not history[-1].bad and len({one.session for one in passes}) >= _PASSES_IN_SESSIONS
            )
            yield Pattern(
                f"Test passes: {one_line(subject.removeprefix('test:'), 300)}",
                "fact",
                passes,
                enough,
            )


def _write_patterns(writes: Iterable[tuple[str, Sighting]]) -> list[Pattern]:
    """Return a pattern for each file that a session wrote more than once; one sighting for each
    such session.
    """
    by_file: dict[str, dict[str, list[Sighting]]] = {}
    for path, sighting in writes:
        if not _is_generated(path):
            by_file.setdefault(path, {}).setdefault(sighting.session, []).append(sighting)
    often = {
        path: tuple(
            sightings[-1]
            for sightings in sessions.values()
            if len(sightings) >= _WRITES_IN_A_SESSION
        )
        for path, sessions in by_file.items()
    }
    enough = [path for path, sightings in often.items() if len(sightings) >= _WRITES_IN_SESSIONS]
    most = sorted(
        enough, key=lambda path: (-len(often[path]), -sum(map(len, by_file[path].values())), path)
    )
    return [
        Pattern(
            f"File is modified repeatedly in sessions: {path}",
            "pattern",
            sightings,
            path in most[:_MOST_FILES],
        )
        for path, sightings in often.items()
        if sightings
    ]


def _is_generated(path: str) -> bool:
    """Return True for a file that a tool or a habit writes."""
    return (
        PurePosixPath(path).name in _GENERATED
        or path.startswith(".kl/")
        or bool(_CHANGELOG.search(path))
    )


def _fix_patterns(
    steps: Mapping[str, Sequence[_Step]], commits: Sequence[LoggedCommit]
) -> Iterator[Pattern]:
    """Yield a pattern for each commit (oldest first) that made something pass."""
    by_commit: dict[str, list[_Fix]] = {}
    for subject, history in steps.items():
        for fix in _fixes(subject, history, commits):
            by_commit.setdefault(fix.commit.sha, []).append(fix)
    for fixes in by_commit.values():
        # Only those of the first run after the commit: later runs would change the words, and so
        # the memory.
        first = min(fix.passed.entry.seq for fix in fixes)
        of_first = (fix for fix in fixes if fix.passed.entry.seq == first)
        yield _fix_pattern(sorted(of_first, key=lambda fix: fix.subject))


def _fixes(
    subject: str, history: Sequence[_Step], commits: Sequence[LoggedCommit]
) -> Iterator[_Fix]:
    """Yield each point where failures end in a pass because of a commit that can be named."""
    passed_before = False
    failures = list[_Step]()
    for step in history:
        if step.bad:
            failures.append(step)
            continue
        if failures:
            commit = _fixing_commit(failures[-1], step, commits)
        else:
            commit = None
        settled = len(failures) >= _FAILS_IN_A_ROW or (
            failures and not failures[-1].entry.receipt.dirty
        )
        file = subject.removeprefix("test:").partition("::")[0]
        if commit and settled and (passed_before or file not in commit.files):
            yield _Fix(subject, failures[-1], step, commit)
        passed_before = True
        failures = []


def _fixing_commit(
    failed: _Step, passed: _Step, commits: Sequence[LoggedCommit]
) -> LoggedCommit | None:
    """Return the commit whose parent failed and whose content passed.

    Nothing else will do: of two commits nobody knows which one it was, and other worktrees and
    branches write into the same store.
    """
    bad = failed.entry.receipt
    good = passed.entry.receipt
    if (
        good.tree is None
        or bad.head is None
        or (good.tree, good.tree_all) == (bad.tree, bad.tree_all)
    ):
        return None
    after = (c for c in commits if bad.head in c.parents and c.tree in (good.tree, good.tree_all))
    return next((c for c in after if 0 < len(_sources(c)) <= _LARGEST_FIX), None)


def _sources(commit: LoggedCommit) -> list[str]:
    """Return the files of a commit that can be a fix: no tests, no documents, nothing generated."""
    return [
        path
        for path in commit.files
        if not (_is_generated(path) or path.endswith(_DOCUMENTS) or _is_test(path))
    ]


def _is_test(path: str) -> bool:
    *folders, name = path.split("/")
    return (
        name.startswith(("test_", "conftest."))
        or "_test." in name
        or bool({"test", "tests"} & set(folders))
    )


def _fix_pattern(fixes: Sequence[_Fix]) -> Pattern:
    first = fixes[0]
    commit = fixes[0].commit
    why = one_line(first.failed.message, _MESSAGE_CUT)
    parts = (fix.subject.partition(":") for fix in fixes)
    names = [f"`{cut(name)}`" if kind == "command" else name for kind, _, name in parts]
    good = first.passed.entry.receipt
    # where the content that passed had more than the commit, that may have been what fixed it
    is_own = (good.tree_all or good.tree) == commit.tree
    text = (
        f"{'Fixed by' if is_own else 'Passed after'} commit {commit.sha[:8]}"
        f" ({one_line(commit.subject, 100)}), which changed "
        f"{_shorten(_sources(commit))}: {_shorten(names)} failed" + (f" with: {why}" if why else "")
    )
    if first.subject.startswith("test:"):
        proof = "TestResult"
    else:
        proof = "ExitCode"
    # one session found the fix, whoever saw the failure
    sightings = (first.failed.sighting(proof, first.passed.session), first.passed.sighting(proof))
    return Pattern(text, "discovery", sightings, True, _FIX_IMPORTANCE, untrusted=True)


_SHORTEST_STATEMENT, _LONGEST_STATEMENT = 16, 400
"""Characters of a statement."""
_FEWEST_WORDS: Final = 4
_MENTIONS_OF_SETTING: Final = 2
"""A settings file must be opened so often, with an edit among them."""
_MOST_OUTPUT: Final = 20_000
"""Characters of a failed call's output that are searched for names of variables."""
_WRITERS: Final = frozenset(
    ("edit", "write", "multiedit", "notebookedit", "apply_patch", "str_replace", "create_file")
)
_SETTINGS: Final = (".toml", ".yaml", ".yml", ".ini", ".cfg", ".conf", ".properties", ".json")
_COMMON_VARIABLES: Final = frozenset(
    ("PATH", "HOME", "USER", "PWD", "SHELL", "TERM", "LANG", "TMPDIR")
)

_STATED: Final = lazy_pattern(
    r"(?:^|(?<=[.!?] ))\W{0,6}(?:(?:I|we)(?:'ve| have)?(?: just| also)? learn(?:ed|t) that|"
    r"(?:note(?: to self)?|important|remember|lessons?(?:"
    r" learned)?|gotcha|caveat|til)\*{0,2}:\*{0,2})"
    r"\s+(?=\S)",
    re.IGNORECASE,
)
_ABOUT_SESSION: Final = lazy_pattern(
    r"(?:i'll|i will|i'm|i am|let me|let's|we'll|now |next|first,|then |this (?:is|was)"
    r" (?:done|fixed)|done|ok)\b",
    re.IGNORECASE,
)
"""Beginnings of a sentence about the session, not about the repository."""
# a KeyError may name any key: only one with an underscore in capitals is taken for a variable
_MISSING: Final = lazy_pattern(
    r"(?:environment variable|env(?:ironment)? var)s? [`'\"]?([A-Z][A-Z0-9_]{2,60})\b"
    r"|KeyError: ['\"]([A-Z][A-Z0-9]*_[A-Z0-9_]{1,60})['\"]"
    r"|\b([A-Z][A-Z0-9]*_[A-Z0-9_]{1,60})[`'\"]? (?:is not set|is not defined|must be set|is"
    r" required|unset)"
)
_GIVEN: Final = lazy_pattern(r"(?:^|[;&|]\s*|export |env )((?:[A-Z][A-Z0-9_]{2,60}=\S*\s+)+)\S")
_ASSIGNED: Final = lazy_pattern(r"([A-Z][A-Z0-9_]{2,60})=")
_ENDPOINT: Final = lazy_pattern(
    r"https?://(?:localhost|127\.0\.0\.1|\[::1\])(?::[0-9]{1,5})?(?:/[\w./{}-]{0,100})?"
)


def transcript_patterns(transcripts: Sequence[Transcript]) -> list[Pattern]:
    """Return the patterns of transcripts, those seen in most sessions first."""
    patterns = [
        one for each in transcripts for one in (*_stated(each), *_fixed(each), *_configured(each))
    ]
    writes = (
        (path, _sighting(each, did.at, "EvidenceGraph"))
        for each in transcripts
        for did, path in _writes(each)
    )
    return _merge_same([*patterns, *_write_patterns(writes)])


def _sighting(transcript: Transcript, moment: str, proof: str = "AgentAssertion") -> Sighting:
    return Sighting(
        f"agent:{transcript.session}", f"transcript:{transcript.session}", proof, moment
    )


def _pattern(
    transcript: Transcript,
    moment: str,
    text: str,
    category: str,
    importance: int = 50,
    failures: Sequence[str] = (),
) -> Pattern:
    """`failures`: when each call failed that what was learned would have saved."""
    sighting = _sighting(transcript, moment)
    if failures:
        seconds = _seconds(failures[0], moment)
        sighting = sighting._replace(failed=len(failures), seconds=seconds)
    sightings = (sighting,)
    return Pattern(text, category, sightings, True, importance, untrusted=True, source="transcript")


def _seconds(began: str, ended: str) -> int:
    """Whole seconds between two times of a transcript; 0 where one of them is none."""
    try:
        return max(micros(ended) - micros(began), 0) // 1_000_000
    except ValueError:
        return 0


def _stated(transcript: Transcript) -> Iterator[Pattern]:
    for item in transcript.items:
        if isinstance(item, Message):
            yield from (
                _pattern(transcript, item.at, text, "discovery") for text in statements(item.text)
            )


def statements(text: str) -> Iterator[str]:
    """Yield what follows `I learned that …`, `Note: …`, `Important: …`, each on one line."""
    fenced = False
    for line in text.split("\n"):
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        elif not fenced and not line.lstrip().startswith(">"):
            yield from _statements_of_line(line)


def _statements_of_line(line: str) -> Iterator[str]:
    """Yield each statement of a line: one ends where the next begins."""
    begins = list(_STATED.finditer(line))
    ends = [*(begin.start() for begin in begins), len(line)][1:]
    for begin, end in zip(begins, ends, strict=True):
        statement = line[begin.end() : end].strip().strip("*_ ").strip()
        long_enough = _SHORTEST_STATEMENT <= len(statement) <= _LONGEST_STATEMENT
        few = len(statement.split()) < _FEWEST_WORDS
        if (
            long_enough
            and not few
            and not statement.endswith("?")
            and not _ABOUT_SESSION.match(statement)
        ):
            yield statement[0].upper() + statement[1:]


def _writes(transcript: Transcript) -> Iterator[tuple[ToolCall, str]]:
    """Yield the calls that wrote a file of the repository, with its path."""
    for item in transcript.items:
        if isinstance(item, ToolCall):
            path = relative(item.path, transcript.folder)
        else:
            path = ""
        if (
            isinstance(item, ToolCall)
            and path
            and not item.failed
            and item.name.lower() in _WRITERS
        ):
            yield item, path


def relative(path: str, folder: str) -> str:
    """Return the path from the folder worked in; empty for one outside of it."""
    if folder:
        inside = path.removeprefix(folder.rstrip("/") + "/")
    else:
        inside = path
    if inside.startswith(("/", "~")) or ".." in PurePosixPath(inside).parts:
        return ""
    return inside


def _fixed(transcript: Transcript) -> Iterator[Pattern]:
    """Yield commands that failed, and passed after files were edited, or with more words."""
    failed: dict[str, ToolCall] = {}
    edited: dict[str, list[str]] = {}
    failures: dict[str, list[str]] = {}
    # by id(): a call holds the map of its arguments, so it can't be hashed
    writes = {id(did): path for did, path in _writes(transcript)}
    for item in transcript.items:
        if not isinstance(item, ToolCall):
            continue
        if id(item) in writes:
            for files in edited.values():
                files.append(writes[id(item)])
        command = item.command
        if not command or is_trivial(command):
            continue
        if item.failed:
            failed[command], edited[command] = item, []
            failures.setdefault(command, []).append(item.at)
        elif command not in failed:
            unedited = [other for other, files in edited.items() if not files]
            if former := next(
                (other for other in reversed(unedited) if _is_extended(other, command)), ""
            ):
                del edited[former]
                error = one_line(
                    _error_line(failed.pop(former).result) or "no output", _MESSAGE_CUT
                )
                text = (
                    f"`{cut(_masked(former))}` failed with: {error}; "
                    f"`{cut(_masked(command))}` passed"
                )
                times = failures.pop(former)
                yield _pattern(transcript, item.at, text, "discovery", _FIX_IMPORTANCE, times)
        else:
            times = failures.pop(command)
            files = list(dict.fromkeys(edited.pop(command)))
            bad = failed.pop(command)
            if files:
                error = one_line(_error_line(bad.result) or "no output", _MESSAGE_CUT)
                named = _shorten(files)
                text = f"`{cut(command)}` failed with: {error}; it passed after {named} was edited"
                yield _pattern(transcript, item.at, text, "discovery", _FIX_IMPORTANCE, times)


def _is_extended(command: str, other: str) -> bool:
    """Return True where `other` is the same command with more words: an option, a variable."""
    following = iter(_words_of(other))
    in_order = all(word in following for word in _words_of(command))
    return in_order and len(other.split()) > len(command.split())


def _words_of(line: str) -> list[str]:
    """Return the words of a command line; what is quoted, such as a message, is one."""
    return [word for command in simple_commands(line) for word in command.words]


def _masked(command: str) -> str:
    """Return a command without the values of variables."""
    return re.sub(r"\b([A-Z][A-Z0-9_]{2,60})=\S*", r"\1=…", command)


def _configured(transcript: Transcript) -> Iterator[Pattern]:
    """Yield environment variables, local endpoints and settings files of the project."""
    calls = [item for item in transcript.items if isinstance(item, ToolCall)]
    for item in calls:
        for text in _configuration(item):
            failures = (item.at,) if item.failed else ()
            yield _pattern(transcript, item.at, text, "fact", failures=failures)
    opened = [path for item in calls if (path := relative(item.path, transcript.folder))]
    for path in dict.fromkeys(path for _, path in _writes(transcript)):
        often = opened.count(path) >= _MENTIONS_OF_SETTING
        if often and path.endswith(_SETTINGS) and not _is_generated(path):
            yield _pattern(transcript, "", f"Configuration is in {path}", "fact")


def _configuration(call: ToolCall) -> Iterator[str]:
    if call.failed:
        for names in _MISSING.findall(call.result[:_MOST_OUTPUT]):
            yield f"Environment variable {''.join(names)} must be set"
        return
    if call.command and not is_trivial(call.command):
        command = _masked(call.command)
        for name in _given(call.command):
            yield f"Environment variable {name} is set for `{cut(command)}`"
    if "curl" in call.command and (endpoint := _ENDPOINT.search(call.command)):
        yield f"API endpoint: {endpoint[0]}"


def _given(command: str) -> list[str]:
    names = [name for part in _GIVEN.findall(command) for name in _ASSIGNED.findall(part)]
    return [name for name in dict.fromkeys(names) if name not in _COMMON_VARIABLES]


def _merge_same(patterns: Iterable[Pattern]) -> list[Pattern]:
    """Return each memory's pattern once, with the sightings of all; those seen in most sessions
    first.
    """
    by_identity: dict[str, list[Pattern]] = {}
    for pattern in patterns:
        by_identity.setdefault(identity(pattern.text), []).append(pattern)
    merged = {key: _merged(same) for key, same in by_identity.items()}
    return [
        merged[key] for key in sorted(merged, key=lambda key: (-len(merged[key].sessions), key))
    ]


def _merged(same: Sequence[Pattern]) -> Pattern:
    sightings = tuple(dict.fromkeys(seen for one in same for seen in one.sightings))
    enough = any(one.enough for one in same)
    untrusted = any(one.untrusted for one in same)
    return same[0]._replace(sightings=sightings, enough=enough, untrusted=untrusted)


def _shorten(names: Sequence[str], most: int = 3) -> str:
    """Return `a, b, c and 4 more`."""
    shown = ", ".join(one_line(name, 120) for name in names[:most])
    if len(names) > most:
        return f"{shown} and {len(names) - most} more"
    return shown


def _session_of(receipt: Receipt, by_run: Mapping[str, Receipt]) -> str:
    """Return `agent:<its ID>`, or `2026-11-22/3f9a1c`: a day and a short hash of the producer,
    which names nobody.

    A run that another run started belongs to that one's session.
    """
    root = receipt
    runs_seen = {receipt.run}
    # `seen`: a parent is what a receipt states, and nothing keeps two from naming each other
    while root.parent and root.parent not in runs_seen and root.parent in by_run:
        root = by_run[root.parent]
        runs_seen.add(root.run)
    named = root.environment.get("session") or receipt.environment.get("session")
    if isinstance(named, str) and named:
        return f"agent:{named}"
    return day_session(root.started, root.producer)


def is_trivial(command: str) -> bool:
    """Return True where nothing is learned from any part of a command line."""
    return all(map(_is_trivial_part, simple_commands(command)))


def _is_trivial_part(command: Command) -> bool:
    arguments = command.words[1:]
    if command.name in ("", *_TRIVIAL_COMMANDS) or (
        len(arguments) == 1 and arguments[0] in _TRIVIAL_OPTIONS
    ):
        return True
    return command.verb in _TRIVIAL_VERBS.get(command.name, ()) or (
        not command.verb and command.name in _TRIVIAL_VERBS
    )
