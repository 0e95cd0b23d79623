"""Problem: something wrong in a file that a person wrote, with its place; gathered, so that all are shown at once."""

from __future__ import annotations

from typing import NamedTuple


class Problem(NamedTuple):
    """One thing wrong at one place. Line and column count from 1; 0 means the file as a whole."""

    path: str
    line: int
    column: int
    message: str
    hint: str = ""

    def __str__(self) -> str:
        path = self.path.replace("\n", "\\n")  # a name with a line end must not begin a line of its own
        place = f"{path}:{self.line}:{self.column}" if self.line else path
        return f"{place}: {self.message}" + (f" {self.hint}" if self.hint else "")
