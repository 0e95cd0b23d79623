"""Paths as people type them, from where they stand, turned into paths from the repository's root."""

from __future__ import annotations

import os
from pathlib import Path

from kl_hooks.errors import UsageProblem


def from_top(path: str, top: Path) -> str:
    """A path as it was typed, from the repository's root; empty for the root. UsageProblem where it leads out."""
    for here in (Path(os.path.abspath(path)), Path(path).resolve()):  # noqa: PTH100
        for base in (top, top.resolve()):
            if here.is_relative_to(base):
                found = here.relative_to(base).as_posix()
                return "" if found == "." else found
    raise UsageProblem("is not in this repository.", place=path, hint=f"The repository is {top}.")
