"""Task: what is asked, with the signals read from it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Signals:
    """What a task's words point at; all in the order of the text, each once."""

    keywords: tuple[str, ...] = ()
    """Lower-case words longer than two letters, stop words left out; at most 15."""
    symbols: tuple[str, ...] = ()
    """Names that look like code: `PascalCase`, `snake_case`, `dotted.names`; at most 10."""
    failures: tuple[str, ...] = ()
    """Words such as `error` or `broken`, with the code name beside them; at most 10."""
    paths: tuple[str, ...] = ()
    """Words that look like a file, such as `src/a.py`; at most 10."""


@dataclass(frozen=True, slots=True)
class Task:
    """A request for context."""

    text: str
    signals: Signals
