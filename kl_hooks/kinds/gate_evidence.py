"""What the receipts of a content show of a gate's demands: commands that ran, and the coverage that
a run of the tests measured.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Final

from kl_hooks.evidence.ledger import Entry
from kl_hooks.evidence.measured_coverage import MeasuredCoverage
from kl_hooks.evidence.trust import IMPORTED
from kl_hooks.model.definitions import NamedTuple

_LINTERS: Final[Mapping[str, tuple[str, ...]]] = {
    "ruff": ("check",),
    "flake8": (),
    "pylint": (),
    "pycodestyle": (),
    "eslint": (),
    "golangci-lint": ("run",),
    "cargo": ("clippy",),
    "pre-commit": ("run",),
    "prek": ("run",),
    "make": ("lint",),
    "just": ("lint",),
    "tox": ("lint",),
    "nox": ("lint",),
    "npm": ("lint",),
    "lint": (),
}
"""Program → the word that one of its arguments must be."""
_HARMLESS_OPTIONS: Final = frozenset(
    {"-q", "--quiet", "-s", "--silent", "-v", "--verbose", "-a", "--all", "--all-files", "-e", "--"}
)
"""Options that change only what is printed, or that name all files or an environment. With any
other one a linter may end with 0 whatever it finds: `--exit-zero`, `--version`, `--select`.
"""
_ENVIRONMENTS: Final = ("tox", "nox")
"""Programs of which `-e` names an environment."""
_LAUNCHERS: Final[Mapping[str, tuple[str, ...]]] = {
    "uv": ("run",),
    "poetry": ("run",),
    "pdm": ("run",),
    "hatch": ("run",),
    "pipenv": ("run",),
    "uvx": (),
    "pipx": ("run",),
    "npx": (),
    "env": (),
}
"""Programs that start the program that their next argument names, after this word."""
_REPORTS: Final = ("report", "json", "xml", "html", "lcov")
"""Commands of coverage.py that judge the total."""
_FAIL_UNDER: Final = "--fail-under"


class GateEvidence(NamedTuple):
    """What the receipts of one content show."""

    tests_pass: bool
    """It is proven or transferred."""
    commands: Mapping[str, bool]
    """Command → whether its last run on this content ended with 0."""
    coverage: MeasuredCoverage | None

    @property
    def linters(self) -> dict[str, bool]:
        """The commands that ran a linter as nothing but its name shows."""
        return {line: is_clean for line, is_clean in self.commands.items() if _is_linter(line)}

    def outcome_of(self, command: str) -> bool | None:
        """Whether the last run of just this command ended with 0; None: it did not run."""
        wanted = _words(command)
        runs = (passed for line, passed in self.commands.items() if _words(line) == wanted)
        return next(runs, None)

    @property
    def coverage_reports(self) -> list[tuple[str, float, bool]]:
        """Command, the percentage below which it fails, and whether it passed."""
        reports = ((line, _report_limit(line), passed) for line, passed in self.commands.items())
        return [(line, limit, passed) for line, limit, passed in reports if limit is not None]

    @classmethod
    def of(cls, tests_pass: bool, entries: Iterable[Entry]) -> GateEvidence:
        """Read the receipts of a content (newest first)."""
        # a content that changed under way, or a receipt of another store, is no evidence here
        # (ADR-0003, ADR-0006)
        sound = [
            entry
            for entry in entries
            if not entry.receipt.moved and not entry.origin.startswith(IMPORTED)
        ]
        commands: dict[str, bool] = {}
        for entry in sound:
            for evidence in entry.receipt.evidence if entry.receipt.source == "command" else ():
                if evidence.kind == "ExitCode":
                    # the newest comes first, and decides
                    command = evidence.subject.removeprefix("command:")
                    commands.setdefault(command, evidence.outcome == "passed")
        tests = [entry for entry in sound if entry.receipt.source == "pytest"]
        measured = [
            measured_coverage
            for entry in tests
            if (measured_coverage := MeasuredCoverage.of(entry.receipt))
        ]
        # of all tests before of a part of them
        coverage = next((one for one in measured if not one.is_part), None)
        return cls(tests_pass, commands, coverage or next(iter(measured), None))


def _is_linter(command: str) -> bool:
    """Whether a recorded command runs a linter: the program that it starts is one, and is asked to
    lint.
    """
    program, arguments = _program(command)
    words = _LINTERS.get(program)
    return words is not None and (not words or any(word in arguments for word in words))


def doubtful_option(command: str) -> str:
    """An option of a linter with which it may end with 0 whatever it finds; empty: it has none."""
    program, arguments = _program(command)
    if program in _ENVIRONMENTS:
        harmless = _HARMLESS_OPTIONS
    else:
        harmless = _HARMLESS_OPTIONS - {"-e"}
    options = (word for word in arguments if word.startswith("-"))
    return next((option for option in options if option not in harmless), "")


def _words(command: str) -> Sequence[str]:
    try:
        return shlex.split(command)
    except ValueError:
        return [command]


def _report_limit(command: str) -> float | None:
    """The percentage below which a recorded `coverage report` fails; None for any other command."""
    program, arguments = _program(command)
    if program != "coverage" or not arguments or arguments[0] not in _REPORTS:
        return None
    for position, argument in enumerate(arguments):
        option, has_value, value = argument.partition("=")
        if option == _FAIL_UNDER:
            if has_value:
                text = value
            else:
                text = "".join(arguments[position + 1 : position + 2])
            try:
                return float(text)
            except ValueError:
                return None
    return None


def _program(command: str) -> tuple[str, Sequence[str]]:
    """The name of the program that a command line starts, behind launchers such as `uv run` and
    `python -m`, and its arguments; empty where the line can't be read.
    """
    try:
        words = shlex.split(command)
    except ValueError:
        return "", ()
    while words:
        program, words = PurePosixPath(words[0]).name, words[1:]
        if program.startswith("python") and words[:1] == ["-m"]:
            words = words[1:]
            continue
        launched = _LAUNCHERS.get(program)
        if launched is None or words[: len(launched)] != list(launched):
            return program, words
        words = words[len(launched) :]
        while words and (words[0].startswith("-") or "=" in words[0]):
            words = words[1:]
    return "", ()
