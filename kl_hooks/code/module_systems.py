"""The interface of module systems: which file an import means, in a language that names its modules
by their paths.

Python's modules have dotted names of their own: `kl_hooks.code.modules` decides them, and the
linker asks it itself. Every other language answers through `ModuleSystem`. It looks at the
repository through a `FileView` only, so that whatever an answer depends on is recorded, and an edit
links again exactly the files whose answers it may change (ADR-0026).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple, Protocol, TypeVar
from urllib.parse import quote, unquote

T = TypeVar("T")

PATH_LEVEL: Final = -1
"""The level in an import row of these languages: what is imported is no dotted name, and decides
none.
"""
WHOLE: Final = "*="
"""Instead of an imported name: what the module exports as a whole (`require`, `export =`)."""


class ImportTarget(NamedTuple):
    """What an import means: a file, and a module inside of it."""

    path: str
    within: str = ""
    """The dotted name of a module that is written inside the file, as Rust's `mod`; empty for the
    file's own.
    """


class FileView(Protocol):
    """The files of the repository, as far as a module system may look. Every answer is recorded."""

    def is_file(self, path: str) -> bool:
        """Return whether a source or configuration file has this path."""

    def settings(self, path: str) -> Mapping[str, str]:
        """Return what a configuration file states, by name; nothing for no such file."""

    def packages(self, name: str) -> Sequence[str]:
        """Return the configuration files that name a package so, by path."""

    def once(self, question: tuple[str, ...], work_out: Callable[[], T]) -> T:
        """Return the answer to a question, which is worked out the first time that it is asked.

        `work_out` depends on nothing but `question` and the answers of this view, and does not
        ask the same again. What it looked at is recorded each time.
        """


class ModuleSystem(Protocol):
    """How a language finds the module that an import means."""

    constructor: str
    """The method that is called for a class; empty where there is none."""

    def find(self, specifier: str, importer: str, view: FileView) -> ImportTarget | None:
        """Return what `specifier` means in the file `importer`; None outside of the repository."""

    def outside(self, specifier: str, importer: str) -> str:
        """Return the name of a module that the repository does not have."""


def encoded(specifier: str) -> str:
    """A specifier as it can be part of an expression: without the signs that expressions use."""
    return quote(specifier, safe="/.@#*+,=-_!$&'();[]{} ")


def decoded(specifier: str) -> str:
    """The specifier again."""
    return unquote(specifier)
