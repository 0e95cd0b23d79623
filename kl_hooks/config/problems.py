"""The exception that carries every problem of a file at once."""

from __future__ import annotations

from collections.abc import Sequence

from kl_hooks.errors import UsageProblem
from kl_hooks.model.problem import Problem


class Problems(UsageProblem):
    """A file that a person wrote can't be used as it is: exit 2. `problems` has each with its place."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(sorted(set(problems)))
        super().__init__(f"{len(self.problems)} problems")

    def __str__(self) -> str:
        lines = [str(problem) for problem in self.problems]
        if len(lines) == 1:
            return lines[0]
        return "\n".join([f"{len(lines)} problems:", *lines])
