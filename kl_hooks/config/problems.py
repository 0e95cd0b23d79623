"""The exception that carries every problem of a file at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kl_hooks.errors import UsageProblem
from kl_hooks.model.problem import Problem
from kl_hooks.model.text import one_line

_LONGEST: Final = 1000
"""Characters of one problem: it may quote what the file says, which must not begin a line of its own."""


class Problems(UsageProblem):
    """A file that a person wrote can't be used as it is: exit 2. `problems` has each with its place."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(sorted(set(problems)))
        super().__init__(f"{len(self.problems)} problems")

    def __str__(self) -> str:
        lines = [one_line(str(problem), _LONGEST) for problem in self.problems]
        if len(lines) == 1:
            return lines[0]
        return "\n".join([f"{len(lines)} problems:", *lines])
