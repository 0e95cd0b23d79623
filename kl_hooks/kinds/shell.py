"""Command lines of a shell, split into their simple commands. Nothing is expanded or run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import Final

from kl_hooks.model.definitions import NamedTuple, lazy_pattern

_MAX_LENGTH: Final = 5_000
"""Characters of a command line that are looked at."""
_SHELLS: Final = frozenset(("sh", "bash", "zsh", "dash", "ksh", "fish"))
_WRAPPERS: Final = frozenset(("env", "sudo", "time", "nice", "nohup", "command", "exec"))
_ASSIGNMENT: Final = lazy_pattern(r"[A-Za-z_][A-Za-z0-9_]*=.*", re.DOTALL)
# their value is a word of its own: `git -C DIR`, `git -c KEY=VALUE`, `kl --root DIR`
_VALUE_OPTIONS: Final = frozenset(("-C", "-c", "--root"))
# not shlex: it reports a quoted `>` or `;` as the operator, and `2>&1` as three commands
_TOKEN: Final = lazy_pattern(
    r"(?P<redirection>(?:[0-9]+|&)?(?:>>|>[|&]?|<<<|<[&>]?))|(?P<end>[;&|()\n]+)"
    r"|(?P<word>(?:'[^']*'|\"(?:\\.|[^\"\\])*\"|\\.|[^\s;&|()<>])+)",
    re.DOTALL,
)
_QUOTED: Final = lazy_pattern(r"'([^']*)'|\"((?:\\.|[^\"\\])*)\"|\\(.)", re.DOTALL)
_FD: Final = lazy_pattern(r"[0-9]+|-")
_HERE_DOCUMENT: Final = lazy_pattern(
    r"<<-?[ \t]*(['\"]?)(\w+)\1([^\n]*)\n(?:.*\n)*?[ \t]*\2[ \t]*(?=\n|$)"
)


class Command(NamedTuple):
    """A simple command (POSIX, Shell Command Language 2.9.1), without what sets or wraps it: `A=1
    sudo timeout 60`.
    """

    words: list[str]
    written: list[str]
    """Files that its output is redirected to."""

    @property
    def name(self) -> str:
        """Its first word, without folders; empty where there is none."""
        if not self.words:
            return ""
        return PurePosixPath(self.words[0]).name

    @property
    def verb(self) -> str:
        """The first argument that is neither an option nor the value of one; empty where there is
        none.
        """
        skip = False
        for word in self.words[1:]:
            if skip or word in _VALUE_OPTIONS:
                skip = not skip
            elif not word.startswith("-"):
                return word
        return ""


def simple_commands(line: str, depth: int = 3) -> Iterator[Command]:
    """Yield the commands of a line, those of `sh -c '…'` included, to this depth; here-documents
    are skipped.
    """
    for words, written in _split(_HERE_DOCUMENT.sub(r"\3", line[:_MAX_LENGTH])):
        words = _unwrapped(words)
        if depth and (script := _shell_script(words)):
            yield from simple_commands(script, depth - 1)
            words = []
        yield Command(words, written)
    if len(line) > _MAX_LENGTH:  # so that nobody takes the rest, which is not read, for harmless
        yield Command(["…"], [])


def _split(line: str) -> Iterator[tuple[list[str], list[str]]]:
    words = list[str]()
    written = list[str]()
    redirection = ""
    for token in _TOKEN.finditer(line + "\n"):
        if token["end"]:
            yield words, written
            words = []
            written = []
            redirection = ""
        elif token["redirection"]:
            redirection = token["redirection"]
        else:
            word = _QUOTED.sub(lambda quoted: "".join(filter(None, quoted.groups())), token["word"])
            if not redirection:
                words.append(word)
            # `2>&1` names a descriptor, and no file is written in /dev/null
            elif (
                ">" in redirection
                and word != "/dev/null"
                and not (redirection.endswith("&") and _FD.fullmatch(word))
            ):
                written.append(word)
            redirection = ""


def _unwrapped(words: Sequence[str]) -> list[str]:
    words_left = list(words)
    while words_left:
        name = PurePosixPath(words_left[0]).name
        # alone, `env` and `time` are commands themselves
        if _ASSIGNMENT.fullmatch(words_left[0]) or (name in _WRAPPERS and len(words_left) > 1):
            words_left = words_left[1:]
        elif name == "timeout" and len(words_left) > 2:
            words_left = words_left[2:]
        else:
            return words_left
    return words_left


def _shell_script(words: Sequence[str]) -> str:
    if len(words) < 3 or PurePosixPath(words[0]).name not in _SHELLS:
        return ""
    # `-lc` and `-euc` too: options without a value may share one word (POSIX, Utility Syntax
    # Guidelines)
    option_position = next(
        (i for i, word in enumerate(words[1:-1], 1) if word.startswith("-") and word.endswith("c")),
        None,
    )
    if not option_position:
        return ""
    return words[option_position + 1]
