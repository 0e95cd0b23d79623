"""What pytest's configuration files make a test, read as data from one content."""

from __future__ import annotations

import configparser
import fnmatch
import shlex
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

from kl_hooks.git.files import path_matches
from kl_hooks.model.definitions import NamedTuple

CONFIG_NAMES: Final = (
    "pytest.toml",
    ".pytest.toml",
    "pytest.ini",
    ".pytest.ini",
    "pyproject.toml",
    "tox.ini",
    "setup.cfg",
)
"""Files that may configure pytest, in the order in which pytest looks (9.0; earlier ones do not
know the first two).
"""
_CONFIG_KEYS: Final = (
    "testpaths",
    "python_files",
    "python_classes",
    "python_functions",
    "norecursedirs",
)
LARGEST_CONFIG: Final = 1_000_000
"""Bytes of a configuration file that is read."""


class PytestConfig(NamedTuple):
    """What a test is, as pytest has it."""

    path: str = ""
    """The configuration file, from the repository's root; empty: pytest's defaults."""
    testpaths: tuple[str, ...] = ()
    python_files: tuple[str, ...] = ("test_*.py", "*_test.py")
    python_classes: tuple[str, ...] = ("Test",)
    python_functions: tuple[str, ...] = ("test",)
    norecursedirs: tuple[str, ...] = (
        "*.egg",
        ".*",
        "_darcs",
        "build",
        "CVS",
        "dist",
        "node_modules",
        "venv",
        "{arch}",
    )
    addopts: tuple[str, ...] = ()
    """Options of every run."""
    pythonpath: tuple[str, ...] = ()
    """Folders that are put on `sys.path`, from the folder of the configuration."""
    has_namespaces: bool = False
    """Whether a test file in a package without `__init__.py` has its full name
    (`consider_namespace_packages`).
    """

    @property
    def folder(self) -> str:
        """The folder that its paths start from; empty: the repository's root."""
        return self.path.rpartition("/")[0]

    def collects(self, path: str) -> bool:
        """Whether plain `pytest` in its folder looks for tests in this file (a path from the
        repository's root).
        """
        return self.collects_by(path, self.python_files)

    def collects_by(self, path: str, patterns: Iterable[str]) -> bool:
        """The same of files with such names."""
        if self.folder and not path.startswith(f"{self.folder}/"):
            return False
        if self.folder:
            inside = path[len(self.folder) + 1 :]
        else:
            inside = path
        folders, _, name = inside.rpartition("/")
        if self.testpaths and not any(path_matches(inside, pattern) for pattern in self.testpaths):
            return False
        if any(_fits(part, f"/{path}", self.norecursedirs) for part in folders.split("/") if part):
            return False
        return _fits(name, f"/{path}", patterns)

    def difference(self, before: PytestConfig) -> str:
        """The keys that differ from another one: `testpaths, python_files in pytest.ini`."""
        keys = [key for key in _CONFIG_KEYS if getattr(self, key) != getattr(before, key)]
        if not keys:
            return ""
        return f"{', '.join(keys)} in {self.path or 'no configuration file'}"

    def wider(self, before: PytestConfig) -> PytestConfig:
        """The same, where names of classes and functions also count as tests if they did before."""
        return self._replace(
            python_classes=tuple(dict.fromkeys((*self.python_classes, *before.python_classes))),
            python_functions=tuple(
                dict.fromkeys((*self.python_functions, *before.python_functions))
            ),
        )


def _fits(name: str, whole: str, patterns: Iterable[str]) -> bool:
    """pytest's rule: a pattern with a slash is for the path, any other one for the name."""
    return any(
        fnmatch.fnmatchcase(whole, f"*/{one}") if "/" in one else fnmatch.fnmatchcase(name, one)
        for one in patterns
    )


def name_matches(name: str, options: Iterable[str]) -> bool:
    """pytest's rule for classes and functions: a prefix, or a glob."""
    return any(
        name.startswith(one)
        or (any(sign in one for sign in "*?[") and fnmatch.fnmatchcase(name, one))
        for one in options
    )


class PytestConfigs(NamedTuple):
    """The configurations of pytest that a content has."""

    by_folder: Mapping[str, PytestConfig]
    """Folder → its configuration; the root is the empty one."""
    unread: tuple[str, ...] = ()
    """In words which files could not be read."""

    @classmethod
    def of(cls, paths: Iterable[str], read: Callable[[str], bytes | None]) -> PytestConfigs:
        """Read those among the files of a content.

        Of several files in one folder pytest takes the first that configures it.
        """
        configs: dict[str, PytestConfig] = {}
        unread: list[str] = []
        parts = [(path.rpartition("/")[0], path.rpartition("/")[2], path) for path in paths]
        ranked = sorted(
            (folder, CONFIG_NAMES.index(name), name, path)
            for folder, name, path in parts
            if name in CONFIG_NAMES
        )
        for folder, _, name, path in ranked:
            if folder in configs:
                continue
            content = read(path)
            try:
                if content is not None:
                    table = pytest_table(name, content)
                else:
                    table = None
                if table is not None:
                    configs[folder] = _config_of(path, table)
            except (ValueError, configparser.Error, RecursionError) as problem:
                unread.append(f"{path} can't be read ({type(problem).__name__})")
        return cls(configs, tuple(unread))

    def for_file(self, path: str) -> PytestConfig:
        """The configuration that decides about a file: the root's where there is one, else the
        nearest above the file.
        """
        # plain `pytest` is started at the root, and takes that file; those in folders are for runs
        # started there
        if "" in self.by_folder:
            folder = ""
        else:
            folder = self._nearest_folder(path)
        return self.by_folder.get(folder, PytestConfig())

    def nearer_than_root(self, path: str) -> str:
        """The configuration file that pytest takes where it is started in the folder of a file, and
        not at the root; empty for none.
        """
        if "" in self.by_folder:
            folder = self._nearest_folder(path)
        else:
            folder = ""
        if not folder:
            return ""
        return self.by_folder[folder].path

    def _nearest_folder(self, path: str) -> str:
        """The nearest folder above a file that has a configuration; empty for the root, or for
        none.
        """
        folder = path.rpartition("/")[0]
        while folder and folder not in self.by_folder:
            folder = folder.rpartition("/")[0]
        return folder


def config_paths(path: str) -> Iterator[str]:
    """The files that may configure pytest for a file, whether they exist or not."""
    folders = path.split("/")[:-1]
    for depth in range(len(folders) + 1):
        yield from ("/".join([*folders[:depth], name]) for name in CONFIG_NAMES)


def _config_of(path: str, table: Mapping[str, Any]) -> PytestConfig:
    values = {key: _words(table.get(key)) for key in (*_CONFIG_KEYS, "addopts", "pythonpath")}
    words_of_keys = {key: words for key, words in values.items() if words is not None}
    has_namespaces = _is_on(table.get("consider_namespace_packages"))
    return PytestConfig(path, **words_of_keys, has_namespaces=has_namespaces)


def _is_on(value: object) -> bool:
    """A boolean, or a text that pytest takes for one (`_strtobool`)."""
    return value is True or str(value).lower() in ("y", "yes", "t", "true", "on", "1")


@lru_cache(maxsize=64)
def pytest_table(name: str, content: bytes) -> Mapping[str, Any] | None:
    """The table for pytest; None where a file does not configure pytest. ValueError for one that
    can't be read.

    Each recorded run asks for the same files, for each file of tests.
    """
    if len(content) > LARGEST_CONFIG:
        raise ValueError("too large")
    # editors on Windows write a byte order mark, which is no valid TOML to tomllib
    text = content.decode("utf-8-sig")
    if name.endswith(".toml"):
        return _toml(name, tomllib.loads(text))
    # Raw: pytest's own parser (iniconfig) knows no interpolation, and `%` is usual in log_format
    parser = configparser.RawConfigParser(
        strict=False, allow_no_value=True, comment_prefixes=("#", ";")
    )
    parser.read_string(text)
    if name == "setup.cfg":
        section = "tool:pytest"
    else:
        section = "pytest"
    if parser.has_section(section):
        return dict(parser.items(section))
    # pytest takes these even if they are empty; tox.ini and setup.cfg only with a section for it
    if name in ("pytest.ini", ".pytest.ini"):
        return {}
    return None


def _toml(name: str, document: Mapping[str, Any]) -> Mapping[str, Any] | None:
    if name != "pyproject.toml":
        table = document.get("pytest")
        if isinstance(table, dict):
            return table
        return {}
    tool = document.get("tool")
    if isinstance(tool, dict):
        table = tool.get("pytest")
    else:
        table = None
    if not isinstance(table, dict):
        return None
    # `[tool.pytest]` itself is read since pytest 9.0, `[tool.pytest.ini_options]` since 6.0
    options = table.get("ini_options")
    own = {key: value for key, value in table.items() if key != "ini_options"}
    return own or (options if isinstance(options, dict) else None)


def _words(value: object) -> tuple[str, ...] | None:
    """A list, or text as a shell would split it; None where the option is not given."""
    if isinstance(value, str):
        return tuple(shlex.split(value))
    if not isinstance(value, list):
        return None
    return tuple(str(one) for one in value)
