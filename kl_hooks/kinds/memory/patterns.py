"""Patterns: what mining finds, how patterns become one memory, and what must be seen before one is proposed. Pure.

What is below a threshold is not forgotten: it counts as soon as more is seen, as long as the receipts are read.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from kl_hooks.kinds.memory.kind import KIND
from kl_hooks.model.canonical import digest
from kl_hooks.model.receipt import Receipt
from kl_hooks.model.text import one_line
from kl_hooks.records.repository import identity_digest
from kl_hooks.store.redaction import redact

# what must be seen                                  sessions, times
SUCCEEDS_IN_SESSIONS: Final = 2
"""`Shell command succeeds`: exit 0 in this many sessions."""
FAILS_IN_A_ROW: Final = 2
"""`Shell command fails repeatedly`: this many failures without a success between them."""
TEST_PASSES_IN_SESSIONS: Final = 2
"""`Test passes`: passed in this many sessions, after it had failed. A test that never failed says nothing."""
WRITES_IN_A_SESSION: Final = 2
"""`File is modified repeatedly in sessions`: commits (or edits of an agent) that wrote it, within one session …"""
WRITES_IN_SESSIONS: Final = 2
"""… and in this many sessions …"""
MOST_FILES: Final = 5
"""… if it is among so many that were written in most sessions, and most often."""
LARGEST_COMMIT: Final = 30
"""A commit that touches more files says nothing about any one of them (a move, a formatter)."""
LARGEST_FIX: Final = 12
"""The same for a commit that made something pass."""
MENTIONS_OF_SETTING: Final = 2
"""A configuration file that an agent opens: this often, with an edit among them."""
SHORTEST_STATEMENT: Final = 16
LONGEST_STATEMENT: Final = 400
"""Characters of an explicit statement."""

COMMAND_CUT: Final = 120
"""Characters of a command in a pattern."""
MESSAGE_CUT: Final = 140
"""Characters of a failure's message in a pattern."""

MOST_NEW: Final = 20
"""Candidates made at once, those seen in most sessions first; the others wait for the next receipts."""
COMMANDS_LOOKED_AT: Final = 500
RUNS_LOOKED_AT: Final = 80
COMMITS_LOOKED_AT: Final = 500
"""The newest receipts and commits that are looked at."""

TRIVIAL_COMMANDS: Final = frozenset((
    "ls", "ll", "la", "dir", "cd", "pwd", "echo", "printf", "cat", "head", "tail", "less", "more", "bat", "wc",
    "sort", "uniq", "cut", "tr", "tee", "which", "type", "whereis", "whoami", "id", "date", "true", "false", "test",
    "[", ":", "sleep", "clear", "history", "env", "printenv", "export", "set", "unset", "alias", "man", "help",
    "file", "stat", "du", "df", "ps", "top", "kill", "find", "fd", "grep", "rg", "ag", "sed", "awk", "tree",
    "touch", "mkdir", "rmdir", "rm", "cp", "mv", "ln", "chmod", "chown", "open", "xdg-open", "vi", "vim", "nano",
    "emacs", "code", "hostname", "uname", "basename", "dirname", "realpath", "readlink", "diff", "cmp", "xargs",
    "exit", "seq", "yes", "jobs", "fg", "bg", "wait", "source", ".", "hexdump", "xxd", "od", "nl", "column", "jq",
    "yq",
))  # fmt: skip
"""Words that only look around, or move files about: nothing is learned from them."""
TRIVIAL_VERBS: Final = {
    "git": frozenset((
        "status", "log", "diff", "show", "branch", "add", "commit", "checkout", "switch", "restore", "stash",
        "fetch", "pull", "push", "blame", "remote", "rev-parse", "ls-files", "ls-tree", "cat-file", "tag", "reflog",
        "config", "describe", "shortlog", "grep", "init", "clone", "merge", "rebase", "reset",
    )),
    "kl": frozenset((
        "run", "status", "doctor", "evidence", "claim", "context", "memory", "decision", "graph", "knowledge",
        "arch", "verify", "init",
    )),
    "pip": frozenset(("list", "show", "freeze")),
    "npm": frozenset(("ls", "list")),
    "docker": frozenset(("ps", "images", "logs")),
    "gh": frozenset(("pr", "issue", "run", "auth")),
}  # fmt: skip
"""The same, by the first argument."""
TRIVIAL_OPTIONS: Final = frozenset({"--version", "-V", "--help", "-h", "version", "help"})
"""A command with one of these as its only argument."""
INTERRUPTED: Final = frozenset({129, 130, 131, 137, 141, 143})
"""Exit codes of a command that somebody stopped: no failure of its own."""
GENERATED: Final = (
    "package-lock.json", "yarn.lock", "pnpm-lock.yaml", "poetry.lock", "uv.lock", "Cargo.lock", "Gemfile.lock",
    "go.sum", "composer.lock", "Pipfile.lock", "CHANGELOG.md", "CHANGES.md", "CHANGELOG", "MEMORY.md", ".gitignore",
    "VERSION",
    "go.sum", "composer.lock", "Pipfile.lock", "CHANGELOG.md", "CHANGES.md", "CHANGELOG", "MEMORY.md", ".gitignore",
    "VERSION",
)  # fmt: skip
"""Names of files that are written often because a tool or a habit writes them."""


IMPORTANCE: Final = 50
"""Of what nobody has weighed yet, in percent."""


@dataclass(frozen=True, slots=True)
class Sighting:
    """One time that a pattern was seen."""

    session: str
    """See `sessions.session_of`."""
    receipt: str
    """Id of the receipt it stands in; of a transcript `transcript:<session>`."""
    proof: str
    """Class of the evidence: `ExitCode`, `TestResult`, `EvidenceGraph`, `AgentAssertion`."""
    at: str
    """ISO 8601."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern and where it was seen."""

    pattern: str
    category: str
    sightings: tuple[Sighting, ...]
    enough: bool
    """False: below the thresholds. It is proposed to nobody, but reinforces a memory that is there already."""
    importance: int = IMPORTANCE
    untrusted: bool = False
    """Its words are not ours: they come from an agent, or from what an agent was shown."""
    source: str = "receipts"

    @property
    def key(self) -> str:
        """What it is known by."""
        return identity(self.pattern)

    @property
    def sessions(self) -> tuple[str, ...]:
        """Each session once, in the order in which they saw it."""
        return tuple(dict.fromkeys(one.session for one in self.sightings))


def identity(pattern: str) -> str:
    """Two patterns are the same memory where this is equal."""
    return " ".join(pattern.split()).casefold()


def by_sessions(found: Iterable[Pattern]) -> list[Pattern]:
    """Those seen in most sessions first; of equal ones in the order of their text."""
    return sorted(found, key=lambda one: (-len(one.sessions), one.key))


def merge_same(found: Iterable[Pattern]) -> list[Pattern]:
    """One of each pattern, with the sightings of all."""
    by_key: dict[str, list[Pattern]] = {}
    for one in found:
        by_key.setdefault(one.key, []).append(one)
    return [_merged(same) for same in by_key.values()]


def _merged(same: Sequence[Pattern]) -> Pattern:
    first = same[0]
    sightings = tuple(dict.fromkeys(seen for one in same for seen in one.sightings))
    enough, untrusted = any(one.enough for one in same), any(one.untrusted for one in same)
    return Pattern(first.pattern, first.category, sightings, enough, first.importance, untrusted, first.source)


def shorten(names: Sequence[str], most: int = 3) -> str:
    """`a, b, c and 4 more`."""
    shown = ", ".join(one_line(name, 120) for name in names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown


def id_of(pattern: str) -> str:
    """`MEM-3f9a1c2b`: the same for the same words, whatever the case and the space around them, in every clone."""
    return f"{KIND.prefix}-{identity_digest(KIND, {'pattern': redact(pattern)})}"


def title_of(pattern: str) -> str:
    """The first line that says something, short."""
    return next((one_line(line, 120) for line in redact(pattern).splitlines() if line.strip()), "")


def session_of(receipt: Receipt, by_run: Mapping[str, Receipt]) -> str:
    """`agent:<its id>`, or `2026-11-22/3f9a1c` (a day, and a short hash of who made it run: it names nobody).

    A run that another one started belongs to the session of that one.
    """
    root = _root_run(receipt, by_run)
    told = root.environment.get("session") or receipt.environment.get("session")
    if isinstance(told, str) and told:
        return f"agent:{told}"
    return day_session(root.started, root.producer)


def day_session(at: str, who: str) -> str:
    """The session of somebody's day."""
    return f"{at[:10]}/{digest('who/1', who)[:6]}"


def _root_run(receipt: Receipt, by_run: Mapping[str, Receipt]) -> Receipt:
    seen = {receipt.run}
    while receipt.parent and receipt.parent not in seen and receipt.parent in by_run:
        receipt = by_run[receipt.parent]
        seen.add(receipt.run)
    return receipt


_SHELLS: Final = frozenset(("sh", "bash", "zsh", "dash", "ksh", "fish"))
_AROUND: Final = frozenset(("env", "sudo", "time", "nice", "nohup", "command", "exec"))
_BETWEEN: Final = frozenset(("&&", "||", ";", "|", "&", "|&"))
_ASSIGNED: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=.*", re.DOTALL)
_VALUE_OPTIONS: Final = frozenset(("-C", "-c", "--root"))


def is_trivial(command: str) -> bool:
    """True where every part of a command line is trivial; a line that can't be read is judged by its first word."""
    parts = list(_parts(command, depth=3))
    return all(_is_trivial_part(words) for words in parts)


def _parts(command: str, depth: int) -> Iterator[list[str]]:
    """The simple commands of a line, what shells are given with `-c` included."""
    for words in _split(command):
        words = _unwrapped(words)
        inner = _given_to_shell(words)
        if inner is not None and depth:
            yield from _parts(inner, depth - 1)
        elif words:
            yield words


def _split(command: str) -> Iterator[list[str]]:
    try:
        lexer = shlex.shlex(command, posix=True, punctuation_chars=";&|")
        lexer.whitespace_split, lexer.commenters = True, ""
        words = list(lexer)
    except ValueError:
        words = command.split()
    part: list[str] = []
    for word in words:
        if word in _BETWEEN:
            yield part
            part = []
        else:
            part.append(word)
    yield part


def _unwrapped(words: Sequence[str]) -> list[str]:
    """Without what only stands around a command: `env A=1`, `sudo`, `time`, `timeout 60`."""
    rest = list(words)
    while rest:
        name = PurePosixPath(rest[0]).name
        if _ASSIGNED.fullmatch(rest[0]) or (name in _AROUND and len(rest) > 1):
            rest = rest[1:]
        elif name == "timeout" and len(rest) > 2:
            rest = rest[2:]
        else:
            return rest
    return rest


def _given_to_shell(words: Sequence[str]) -> str | None:
    if len(words) < 3 or PurePosixPath(words[0]).name not in _SHELLS:
        return None
    at = next((i for i, word in enumerate(words[1:-1], 1) if word.startswith("-") and word.endswith("c")), None)
    return words[at + 1] if at else None


def _is_trivial_part(words: Sequence[str]) -> bool:
    name = PurePosixPath(words[0]).name
    arguments = list(words[1:])
    if name in TRIVIAL_COMMANDS or (len(arguments) == 1 and arguments[0] in TRIVIAL_OPTIONS):
        return True
    return name in TRIVIAL_VERBS and _verb(arguments) in TRIVIAL_VERBS[name] | {""}


def _verb(arguments: Sequence[str]) -> str:
    """The first argument that is neither an option nor the value of one."""
    skip = False
    for word in arguments:
        if skip or word in _VALUE_OPTIONS:
            skip = not skip
        elif not word.startswith("-"):
            return word
    return ""
