"""pytest's configuration read as data: which files, classes and functions are tests. Nothing is imported or run."""

from __future__ import annotations

import configparser
import fnmatch
import shlex
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

NAMES: Final = (
    "pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg",
)  # fmt: skip
"""Files that may configure pytest, in the order in which pytest looks (9.0; earlier ones do not know the first two)."""
KEYS: Final = ("testpaths", "python_files", "python_classes", "python_functions", "norecursedirs")
LARGEST: Final = 1_000_000
"""Bytes of a configuration file that is read."""


class PytestConfig(NamedTuple):
    """What a test is, as pytest has it."""

    path: str = ""
    """The file that says so, from the repository's root; empty: pytest's defaults."""
    testpaths: tuple[str, ...] = ()
    python_files: tuple[str, ...] = ("test_*.py", "*_test.py")
    python_classes: tuple[str, ...] = ("Test",)
    python_functions: tuple[str, ...] = ("test",)
    norecursedirs: tuple[str, ...] = (
        "*.egg", ".*", "_darcs", "build", "CVS", "dist", "node_modules", "venv", "{arch}",
    )  # fmt: skip

    @property
    def folder(self) -> str:
        """The folder that its paths start from; empty: the repository's root."""
        return self.path.rpartition("/")[0]

    def collects(self, path: str) -> bool:
        """Whether plain `pytest` in its folder looks for tests in this file (a path from the repository's root)."""
        if self.folder and not path.startswith(f"{self.folder}/"):
            return False
        inside = path[len(self.folder) + 1 :] if self.folder else path
        folders, _, name = inside.rpartition("/")
        if self.testpaths and not any(below(inside, pattern) for pattern in self.testpaths):
            return False
        if any(_fits(part, f"/{path}", self.norecursedirs) for part in folders.split("/") if part):
            return False
        return _fits(name, f"/{path}", self.python_files)


def _fits(name: str, whole: str, patterns: Iterable[str]) -> bool:
    """pytest's rule: a pattern with a slash is for the path, any other one for the name."""
    return any(
        fnmatch.fnmatchcase(whole, f"*/{one}") if "/" in one else fnmatch.fnmatchcase(name, one) for one in patterns
    )


def matches(name: str, options: Iterable[str]) -> bool:
    """pytest's rule for classes and functions: a prefix, or a glob."""
    return any(
        name.startswith(one) or (any(sign in one for sign in "*?[") and fnmatch.fnmatchcase(name, one))
        for one in options
    )


def below(path: str, pattern: str) -> bool:
    """Whether a path, or a folder that it is in, matches a glob: `*` stays within a name, `**` is any folders.

    Takes time in proportion to both, whatever the pattern: configuration comes with the repository.
    """
    wanted = [part for part in pattern.split("/") if part not in ("", ".")]
    places = _with_empty({0}, wanted)
    for part in path.split("/"):
        if len(wanted) in places:
            return True
        moved = {at for at in places if wanted[at] == "**"}
        moved |= {at + 1 for at in places if wanted[at] != "**" and fnmatch.fnmatchcase(part, wanted[at])}
        places = _with_empty(moved, wanted)
    return len(wanted) in places


def _with_empty(places: set[int], wanted: Sequence[str]) -> set[int]:
    """These places in a pattern and those that are reached without a further name, because `**` may be none."""
    found = set(places)
    for at in sorted(places):
        while at < len(wanted) and wanted[at] == "**":
            at += 1
            found.add(at)
    return found


def configurations(
    paths: Iterable[str], read: Callable[[str], bytes | None]
) -> tuple[dict[str, PytestConfig], list[str]]:
    """Folder → its configuration, and in words which files could not be read. `paths`: of all files of a content.

    Of several files in one folder pytest takes the first that configures it.
    """
    found: dict[str, PytestConfig] = {}
    unread: list[str] = []
    for path in sorted((p for p in paths if p.rpartition("/")[2] in NAMES), key=_precedence):
        folder = path.rpartition("/")[0]
        if folder in found:
            continue
        content = read(path)
        try:
            table = _table(path.rpartition("/")[2], content) if content is not None else None
            if table is not None:
                found[folder] = _config(path, table)
        except (ValueError, configparser.Error, RecursionError) as problem:
            unread.append(f"{path} can't be read ({type(problem).__name__})")
    return found, unread


def _precedence(path: str) -> tuple[str, int]:
    folder, _, name = path.rpartition("/")
    return folder, NAMES.index(name)


def governing(configs: Mapping[str, PytestConfig], path: str) -> PytestConfig:
    """The configuration that decides about a file: the root's where there is one, else the nearest above the file."""
    if "" in configs:
        return configs[""]
    folder = path.rpartition("/")[0]
    while folder:
        if folder in configs:
            return configs[folder]
        folder = folder.rpartition("/")[0]
    return PytestConfig()


def _table(name: str, content: bytes) -> Mapping[str, Any] | None:
    """What a file says to pytest; None where it does not configure it. ValueError for one that can't be read."""
    if len(content) > LARGEST:
        raise ValueError("too large")
    text = content.decode("utf-8-sig")
    if name.endswith(".toml"):
        return _toml(name, tomllib.loads(text))
    parser = configparser.RawConfigParser(strict=False, allow_no_value=True, comment_prefixes=("#", ";"))
    parser.read_string(text)
    section = "tool:pytest" if name == "setup.cfg" else "pytest"
    if parser.has_section(section):
        return dict(parser.items(section))
    return {} if name in ("pytest.ini", ".pytest.ini") else None


def _toml(name: str, document: Mapping[str, Any]) -> Mapping[str, Any] | None:
    if name != "pyproject.toml":
        table = document.get("pytest")
        return table if isinstance(table, dict) else {}
    tool = document.get("tool")
    table = tool.get("pytest") if isinstance(tool, dict) else None
    if not isinstance(table, dict):
        return None
    options = table.get("ini_options")
    own = {key: value for key, value in table.items() if key != "ini_options"}
    return own or (options if isinstance(options, dict) else None)


def _config(path: str, table: Mapping[str, Any]) -> PytestConfig:
    given = {key: words for key in KEYS if (words := _words(table.get(key))) is not None}
    return PytestConfig(path, **given)


def _words(value: object) -> tuple[str, ...] | None:
    """A list, or text as a shell would split it; None where the option is not given."""
    if isinstance(value, str):
        return tuple(shlex.split(value))
    return tuple(str(one) for one in value) if isinstance(value, list) else None


def difference(now: PytestConfig, before: PytestConfig) -> str:
    """In words what two configurations say differently: `testpaths, python_files in pytest.ini`."""
    changed = ", ".join(key for key in KEYS if getattr(now, key) != getattr(before, key))
    return f"{changed} in {now.path or 'no configuration file'}" if changed else ""
