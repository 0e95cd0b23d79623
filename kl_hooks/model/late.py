"""Patterns that are compiled when they are first used: most commands need few of those in the modules they import."""

from __future__ import annotations

from re import compile as _compile
from typing import TYPE_CHECKING, Any

__all__ = ["late"]

if TYPE_CHECKING:
    from re import compile as late
else:

    class late:
        """A pattern in waiting: the first method that is asked for compiles it, and is as quick from then on."""

        def __init__(self, pattern: str | bytes, flags: int = 0) -> None:
            self._written = pattern, flags

        def __getattr__(self, name: str) -> Any:
            found = getattr(_compile(*self._written), name)
            setattr(self, name, found)
            return found
