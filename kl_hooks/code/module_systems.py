"""The interface of module systems: which file an import means, in a language that names its modules
by their paths.

Python's modules have dotted names of their own: `kl_hooks.code.modules` decides them, and the
linker asks it itself. Every other language answers through `ModuleSystem`. It looks at the
repository through a `FileView` only, so that whatever an answer depends on is recorded, and an edit
links again exactly the files whose answers it may change (ADR-0026).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Protocol, TypeVar
from urllib.parse import quote, unquote

from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.symbol import Link

T = TypeVar("T")

PATH_LEVEL: Final = -1
"""The level in an import row of these languages: what is imported is no dotted name, and decides
none.
"""
PACKAGE_FILES: Final = ("package.json", "Cargo.toml")
"""The configuration files that name packages."""
MODULE: Final = "::"
"""After an exported name: the module of this name, where a value may have the same."""
FIELD: Final = "-"
"""After the name of a field: the field is meant, where a method may have the same name."""
MACRO: Final = "!"
"""After the name of a macro, where it has names of its own."""
WRITTEN_PATH: Final = "path"
"""The manner in an import row of what no statement imports: a whole path is written where it is
used (`crate::cart::total()`).
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
    has_extensions: bool
    """Whether a file may give members to a type of another one."""

    def split(self, specifier: str) -> tuple[str, tuple[str, ...]]:
        """Return the part of a specifier that `find` knows, and the names that are followed from
        there, each exported by what is named before.
        """

    def find(self, specifier: str, importer: str, view: FileView) -> ImportTarget | None:
        """Return what a part of a specifier means in the file `importer`; None outside of the
        repository.
        """

    def imported_file(self, specifier: str, name: str, importer: str, view: FileView) -> str | None:
        """Return the file that the import of a name from a module leads to, by files alone; None
        outside of the repository.
        """

    def root_of(self, path: str, view: FileView) -> str:
        """Return the module that hands on all macros of the package that a file is part of; the
        file itself where the language has none.
        """

    def settings_of(self, rows: Iterable[Sequence[Any]]) -> Mapping[str, str]:
        """Return what a source file states about imports of others, by its import rows, as
        `FileView.settings` has it.
        """

    def otherwise(self, specifier: str, name: str) -> str:
        """Return the specifier that is meant where what `specifier` means has no such name; empty
        where that is nothing.
        """

    def outside(self, specifier: str, importer: str) -> str:
        """Return the name of a module that the repository does not have."""


class ListedFiles:
    """A `FileView` of a list of files: nobody asks later what an answer depended on."""

    def __init__(
        self, sources: Iterable[str], settings_by_path: Mapping[str, Mapping[str, str]]
    ) -> None:
        """`settings_by_path`: what the configuration files state, by their paths."""
        self._settings = settings_by_path
        self._paths = {*sources, *settings_by_path}
        self._packages: dict[str, list[str]] = {}
        for path in sorted(settings_by_path):
            if path.rpartition("/")[2] in PACKAGE_FILES:
                name = settings_by_path[path].get("name", "")
                self._packages.setdefault(name, []).append(path)
        self._answers: dict[tuple[str, ...], Any] = {}

    def is_file(self, path: str) -> bool:
        """See `FileView`."""
        return path in self._paths

    def settings(self, path: str) -> Mapping[str, str]:
        """See `FileView`."""
        return self._settings.get(path, {})

    def packages(self, name: str) -> Sequence[str]:
        """See `FileView`."""
        return self._packages.get(name, ())

    def once(self, question: tuple[str, ...], work_out: Callable[[], T]) -> T:
        """See `FileView`."""
        if question not in self._answers:
            self._answers[question] = work_out()
        answer: T = self._answers[question]
        return answer


def path_links(
    path: str, rows: Iterable[Sequence[Any]], system: ModuleSystem, view: FileView
) -> list[Link]:
    """The import Links of a file whose module is named by its path, as `modules.file_links`."""
    links_by_place: dict[tuple[str, int, str], Link] = {}
    for specifier, imported_name, _, line, manner, _ in rows:
        name = system.imported_file(specifier, imported_name, path, view)
        if name is None and manner == WRITTEN_PATH:
            continue
        if name is None:
            name = system.outside(specifier, path)
        if name != path:
            if manner == WRITTEN_PATH:
                method = "import"
            else:
                method = manner
            link = Link(
                f"namespace:{path}", "imports", f"namespace:{name}", path, line, method, 100
            )
            links_by_place.setdefault((name, line, manner), link)
    return sorted(links_by_place.values(), key=lambda link: (link.line, link.target, link.method))


def encoded(specifier: str) -> str:
    """A specifier as it can be part of an expression: without the signs that expressions use."""
    return quote(specifier, safe="/.@#*+,=-_!$&'();[]{} ")


def decoded(specifier: str) -> str:
    """The specifier again."""
    return unquote(specifier)


_EXTENDED: Final = "impl:"


def extension_word(name: str) -> str:
    """The word in the name index of a file that gives members to a type of another file."""
    return f"{_EXTENDED}{name}"
