"""Stop notes: which tests an agent runs before it stops, where no run has proven what it
changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from kl_hooks.evidence.executed import test_path
from kl_hooks.model.text import counted, name_list
from kl_hooks.proof.impacted import Group
from kl_hooks.proof.other_runs import pytest_arguments

if TYPE_CHECKING:
    from kl_hooks.proof.impacted import Impacted

_FILES: Final = 3
"""Files that are named of those that imports lead from."""
_ARGUMENTS: Final = 5
"""Tests or files in a command."""


def impact_lines(tests: Sequence[Impacted]) -> Iterator[str]:
    """Yield a line for each group of impacted tests, the surest first, with what runs them."""
    known_tests = [test.test for test in tests if test.group is Group.KNOWN]
    nearby_tests = [test.test for test in tests if test.group is Group.IMPORTS]
    if known_tests:
        yield f"{counted(len(known_tests), 'test')} must run: {_command(known_tests)}"
    if nearby_tests:
        files = list(dict.fromkeys(map(test_path, nearby_tests)))
        yield (
            f"{counted(len(nearby_tests), 'test')} of {counted(len(files), 'file')} may "
            f"reach it by imports and {'was' if len(nearby_tests) == 1 else 'were'} never "
            f"recorded, nearest: {name_list(files, _FILES)}"
        )


def _command(tests: Sequence[str]) -> str:
    """The command that runs these tests: by name, else by file, else by what kl knows of them."""
    arguments = pytest_arguments(tests)
    if len(arguments) > _ARGUMENTS:
        arguments = sorted(dict.fromkeys(map(test_path, tests)))
    if len(arguments) > _ARGUMENTS:
        return "pytest --kl-impacted --kl-unrecorded=none"
    return f"pytest {' '.join(arguments)}"
