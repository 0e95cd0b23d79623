"""Problems in files that people wrote, each with its place; gathered, so that all are shown at
once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kl_hooks.errors import UsageProblem
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.text import OwnText, one_line


class MissingField(OwnText):
    """The message that a field is missing. `field`: its name, for a command that knows its
    option.
    """

    field: str

    def __new__(cls, field: str) -> MissingField:
        """Return the message about a field of this name."""
        message = super().__new__(cls, f'"{field}" is missing.')
        message.field = field
        return message


class Problem(NamedTuple):
    """One mistake at one place. Line and column count from 1; 0 means the file as a whole."""

    path: str
    line: int
    column: int
    message: str
    hint: str = ""

    def __str__(self) -> str:
        # a name with a line end must not begin a line of its own
        path = self.path.replace("\n", "\\n")
        if self.line:
            place = f"{path}:{self.line}:{self.column}"
        else:
            place = path
        return f"{place}: {self.message}" + (f" {self.hint}" if self.hint else "")


_LONGEST: Final = 1000
"""Characters of one problem: it may quote the file, which must not begin a line of its own."""


class Problems(UsageProblem):
    """A file that a person wrote can't be used as it is: exit 2. `problems` has each with its
    place.
    """

    def __init__(self, problems: Sequence[Problem]) -> None:
        # a set: one mistake may be met in two ways; Problem's fields are in the order of sorting
        self.problems = tuple(sorted(set(problems)))
        super().__init__(f"{len(self.problems)} problems")

    def __str__(self) -> str:
        lines = [one_line(str(problem), _LONGEST) for problem in self.problems]
        if len(lines) == 1:
            return lines[0]
        return "\n".join([f"{len(lines)} problems:", *lines])
