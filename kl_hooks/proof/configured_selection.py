"""What `addopts` in pytest's own configuration omits: it defines what the whole is.

A run whose options omit just that is complete. What was typed, set in the environment or done by a
hook omits something else, and limits the run.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from fnmatch import fnmatch
from functools import lru_cache
from typing import Any, Final, NoReturn

from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.text import name_list
from kl_hooks.proof.pytest_config import PytestConfig

_NAMED: Final = 3
"""How many files a note names."""
OMITTED_FILES: Final = "omitted_files"
"""The key in the selection of a run that is complete by its configuration: files of which `-m`,
`-k` or `--deselect` omit tests; None where there are too many to be named. Never stored.
"""
CONFIGURED: Final = "configured"
"""The key in such a selection that means that its `addopts` omit what they may. Never stored."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ValueError(message)


def _parser() -> argparse.ArgumentParser:
    """The options of pytest that omit tests, and its short ones, so that `-ra` is no value of
    another one.
    """
    parser = _Parser(add_help=False, allow_abbrev=False)
    parser.add_argument("-m", dest="markers", default="")
    parser.add_argument("-k", dest="keyword", default="")
    for option in ("deselect", "ignore", "ignore-glob"):
        parser.add_argument(f"--{option}", action="append", default=[])
    parser.add_argument("--doctest-modules", action="store_true")
    parser.add_argument("--doctest-glob", action="append", default=[])
    parser.add_argument("--import-mode", default="prepend")
    for flag in "vqsxlhV":
        parser.add_argument(f"-{flag}", action="count")
    for option in "rpcoWn":
        parser.add_argument(f"-{option}", action="append")
    return parser


@lru_cache(maxsize=64)
def _parsed(addopts: tuple[str, ...]) -> argparse.Namespace:
    """ValueError for options that pytest refuses. Many files ask for the same."""
    return _parser().parse_known_args(list(addopts))[0]


def collects_doctests(addopts: Sequence[str]) -> bool:
    """Whether these options make doctests of modules tests."""
    try:
        return bool(_parsed(tuple(addopts)).doctest_modules)
    except ValueError:
        return False


def import_mode(addopts: Sequence[str]) -> str:
    """How these options let pytest import test files: `prepend`, `append` or `importlib`."""
    try:
        return str(_parsed(tuple(addopts)).import_mode)
    except ValueError:
        return "prepend"


def doctest_globs(addopts: Sequence[str]) -> tuple[str, ...]:
    """The names of the texts whose examples pytest collects; by default `test*.txt`."""
    try:
        options = _parsed(tuple(addopts))
    except ValueError:
        return ()
    if "no:doctest" in (options.p or ()):
        return ()
    return tuple(options.doctest_glob) or ("test*.txt",)


class ConfiguredSelection(NamedTuple):
    """The part of `addopts` that omits tests."""

    path: str = ""
    """The configuration file."""
    markers: str = ""
    keyword: str = ""
    deselect: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    ignore_glob: tuple[str, ...] = ()

    @classmethod
    def of(cls, config: PytestConfig) -> ConfiguredSelection:
        """That of a configuration; nothing for options that can't be read."""
        try:
            options = _parsed(tuple(config.addopts))
        except ValueError:
            return cls(config.path)
        return cls(
            config.path,
            options.markers,
            options.keyword,
            tuple(options.deselect),
            tuple(options.ignore),
            tuple(options.ignore_glob),
        )

    @property
    def omits(self) -> tuple[object, ...]:
        """What decides whether two configurations omit the same."""
        return self[1:]

    def ignores(self, path: str) -> bool:
        """Whether a file (from the root, where pytest is started) is not collected."""
        is_inside = any(
            f"{path}/".startswith(f"{place.removesuffix('/')}/") for place in self.ignore
        )
        return is_inside or any(fnmatch(f"/{path}", f"/{glob}") for glob in self.ignore_glob)

    def complete(self, selection: Mapping[str, Any]) -> Mapping[str, Any]:
        """The selection of a run, without the limits that the configuration sets for every run."""
        in_force = (
            str(selection.get("markers") or ""),
            str(selection.get("keyword") or ""),
            *(tuple(selection.get(key) or ()) for key in ("deselect", "ignore", "ignore_glob")),
        )
        if not any(self.omits):
            return selection
        if in_force != self.omits:
            return {**selection, CONFIGURED: True}
        complete = {**selection, "markers": "", "keyword": "", CONFIGURED: True}
        omitted = selection.get("left_out")
        if isinstance(omitted, Mapping) and omitted.get("files") == omitted.get("ignored"):
            complete["left_out"] = None
        number = selection.get("deselected")
        if number and number == selection.get("deselected_by_options"):
            complete |= {"deselected": 0, OMITTED_FILES: selection.get("deselected_files")}
        return complete

    def words(self) -> str:
        """`-m 'not slow'`; empty where no option omits tests of a file."""
        if self.markers:
            options = [f"-m {self.markers!r}"]
        else:
            options = []
        if self.keyword:
            options += [f"-k {self.keyword!r}"]
        options += [f"--deselect {name}" for name in self.deselect]
        return ", ".join(options)

    def notes(self, ignored: Sequence[str]) -> list[str]:
        """What is omitted, for a person. `ignored`: the expected files among it."""
        notes = []
        if ignored:
            notes.append(f"addopts in {self.path} ignores {name_list(ignored, _NAMED)}")
        if words := self.words():
            notes.append(f"addopts in {self.path} deselects tests: {words}")
        return notes
