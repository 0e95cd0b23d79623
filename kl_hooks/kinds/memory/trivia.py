"""Commands that nothing is learned from: they look around, move files about, or ask for a version. Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import Final

from kl_hooks.kinds.memory.thresholds import TRIVIAL_COMMANDS, TRIVIAL_OPTIONS, TRIVIAL_VERBS

_SHELLS: Final = frozenset(("sh", "bash", "zsh", "dash", "ksh", "fish"))
_AROUND: Final = frozenset(("env", "sudo", "time", "nice", "nohup", "command", "exec"))
_BETWEEN: Final = frozenset(("&&", "||", ";", "|", "&", "|&"))
_ASSIGNED: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=.*", re.DOTALL)
_VALUE_OPTIONS: Final = frozenset(("-C", "-c", "--root"))


def trivial(command: str) -> bool:
    """True where every part of a command line is trivial; a line that can't be read is judged by its first word."""
    parts = list(_parts(command, depth=3))
    return all(_trivial(words) for words in parts)


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


def _trivial(words: Sequence[str]) -> bool:
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
