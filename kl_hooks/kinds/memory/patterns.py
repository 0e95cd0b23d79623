"""Patterns: what mining finds, which patterns are one memory, and which commands teach nothing. Pure."""

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

IMPORTANCE: Final = 50
"""Of a memory that nobody rated yet, in percent."""
COMMAND_CUT: Final = 120
"""Characters of a command in a pattern."""
MESSAGE_CUT: Final = 140
"""Characters of a failure's message in a pattern."""

_TRIVIAL_COMMANDS: Final = frozenset((
    "ls", "ll", "la", "dir", "cd", "pwd", "echo", "printf", "cat", "head", "tail", "less", "more", "bat", "wc",
    "sort", "uniq", "cut", "tr", "tee", "which", "type", "whereis", "whoami", "id", "date", "true", "false", "test",
    "[", ":", "sleep", "clear", "history", "env", "printenv", "export", "set", "unset", "alias", "man", "help",
    "file", "stat", "du", "df", "ps", "top", "kill", "find", "fd", "grep", "rg", "ag", "sed", "awk", "tree",
    "touch", "mkdir", "rmdir", "rm", "cp", "mv", "ln", "chmod", "chown", "open", "xdg-open", "vi", "vim", "nano",
    "emacs", "code", "hostname", "uname", "basename", "dirname", "realpath", "readlink", "diff", "cmp", "xargs",
    "exit", "seq", "yes", "jobs", "fg", "bg", "wait", "source", ".", "hexdump", "xxd", "od", "nl", "column", "jq",
    "yq",
))  # fmt: skip
"""Commands that only look around, or move files about."""
_TRIVIAL_VERBS: Final = {
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
_TRIVIAL_OPTIONS: Final = frozenset({"--version", "-V", "--help", "-h", "version", "help"})
"""A command with one of these as its only argument is trivial."""
_SHELLS: Final = frozenset(("sh", "bash", "zsh", "dash", "ksh", "fish"))
_WRAPPERS: Final = frozenset(("env", "sudo", "time", "nice", "nohup", "command", "exec"))
_SEPARATORS: Final = frozenset(("&&", "||", ";", "|", "&", "|&"))
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=.*", re.DOTALL)
_VALUE_OPTIONS: Final = frozenset(("-C", "-c", "--root"))


@dataclass(frozen=True, slots=True)
class Sighting:
    """One time that a pattern was seen."""

    session: str
    """As `session_of` names it."""
    receipt: str
    """ID of a receipt; of a transcript `transcript:<session>`."""
    proof: str
    """Class of the evidence: `ExitCode`, `TestResult`, `EvidenceGraph`, `AgentAssertion`."""
    at: str
    """ISO 8601."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern and where it was seen."""

    text: str
    category: str
    sightings: tuple[Sighting, ...]
    enough: bool
    """False below the thresholds: no candidate is made, but a memory that exists is reinforced."""
    importance: int = IMPORTANCE
    untrusted: bool = False
    """Its words are not ours: they come from an agent, or from what an agent was shown."""
    source: str = "receipts"

    @property
    def sessions(self) -> tuple[str, ...]:
        """Each session once, in the order in which they saw it."""
        return tuple(dict.fromkeys(one.session for one in self.sightings))


def identity(text: str) -> str:
    """Return what makes two patterns the same memory: the words, whatever the case and the space around them."""
    return " ".join(text.split()).casefold()


def id_of(text: str) -> str:
    """Return `MEM-3f9a1c2b`: the same for the same `identity`, in every clone."""
    return f"{KIND.prefix}-{identity_digest(KIND, {'pattern': redact(text)})}"


def title_of(text: str) -> str:
    """Return the first line that is not blank, short."""
    return next((one_line(line, 120) for line in redact(text).splitlines() if line.strip()), "")


def merge_same(found: Iterable[Pattern]) -> list[Pattern]:
    """Return each memory's pattern once, with the sightings of all; those seen in most sessions first."""
    by_identity: dict[str, list[Pattern]] = {}
    for one in found:
        by_identity.setdefault(identity(one.text), []).append(one)
    merged = {key: _merged(same) for key, same in by_identity.items()}
    return [merged[key] for key in sorted(merged, key=lambda key: (-len(merged[key].sessions), key))]


def _merged(same: Sequence[Pattern]) -> Pattern:
    first = same[0]
    sightings = tuple(dict.fromkeys(seen for one in same for seen in one.sightings))
    enough, untrusted = any(one.enough for one in same), any(one.untrusted for one in same)
    return Pattern(first.text, first.category, sightings, enough, first.importance, untrusted, first.source)


def shorten(names: Sequence[str], most: int = 3) -> str:
    """Return `a, b, c and 4 more`."""
    shown = ", ".join(one_line(name, 120) for name in names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown


def session_of(receipt: Receipt, by_run: Mapping[str, Receipt]) -> str:
    """Return `agent:<its ID>`, or `2026-11-22/3f9a1c`: a day and a short hash of the producer, which names nobody.

    A run that another run started belongs to that one's session.
    """
    root, seen = receipt, {receipt.run}
    while root.parent and root.parent not in seen and root.parent in by_run:
        root = by_run[root.parent]
        seen.add(root.run)
    named = root.environment.get("session") or receipt.environment.get("session")
    return f"agent:{named}" if isinstance(named, str) and named else day_session(root.started, root.producer)


def day_session(at: str, who: str) -> str:
    """Return the session of a producer's day."""
    return f"{at[:10]}/{digest('who/1', who)[:6]}"


def is_trivial(command: str) -> bool:
    """Return True where nothing is learned from any part of a command line."""
    return all(_is_trivial_part(words) for words in _parts(command, depth=3))


def _parts(command: str, depth: int) -> Iterator[list[str]]:
    """Yield the simple commands of a line, those of `sh -c '…'` included."""
    for part in _split(command):
        words = _unwrapped(part)
        inner = _shell_script(words)
        if inner is not None and depth:
            yield from _parts(inner, depth - 1)
        elif words:
            yield words


def _split(command: str) -> Iterator[list[str]]:
    try:
        lexer = shlex.shlex(command, posix=True, punctuation_chars=";&|")
        lexer.whitespace_split, lexer.commenters = True, ""
        words = list(lexer)
    except ValueError:  # an open quotation: its first word decides
        words = command.split()
    part: list[str] = []
    for word in words:
        if word in _SEPARATORS:
            yield part
            part = []
        else:
            part.append(word)
    yield part


def _unwrapped(words: Sequence[str]) -> list[str]:
    """Return a command without `env A=1`, `sudo`, `time`, `timeout 60` in front of it."""
    rest = list(words)
    while rest:
        name = PurePosixPath(rest[0]).name
        if _ASSIGNMENT.fullmatch(rest[0]) or (name in _WRAPPERS and len(rest) > 1):
            rest = rest[1:]
        elif name == "timeout" and len(rest) > 2:
            rest = rest[2:]
        else:
            return rest
    return rest


def _shell_script(words: Sequence[str]) -> str | None:
    if len(words) < 3 or PurePosixPath(words[0]).name not in _SHELLS:
        return None
    at = next((i for i, word in enumerate(words[1:-1], 1) if word.startswith("-") and word.endswith("c")), None)
    return words[at + 1] if at else None


def _is_trivial_part(words: Sequence[str]) -> bool:
    name, arguments = PurePosixPath(words[0]).name, words[1:]
    if name in _TRIVIAL_COMMANDS or (len(arguments) == 1 and arguments[0] in _TRIVIAL_OPTIONS):
        return True
    return name in _TRIVIAL_VERBS and _verb(arguments) in _TRIVIAL_VERBS[name] | {""}


def _verb(arguments: Sequence[str]) -> str:
    """Return the first argument that is neither an option nor the value of one."""
    skip = False
    for word in arguments:
        if skip or word in _VALUE_OPTIONS:
            skip = not skip
        elif not word.startswith("-"):
            return word
    return ""
