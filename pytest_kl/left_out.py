"""Which test files of the project a run leaves out by its arguments: `pytest tests/test_a.py` is not `pytest`."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest

from kl_hooks.errors import EnvironmentProblem
from kl_hooks.git.files import list_paths
from kl_hooks.git.repository import Repository
from pytest_kl.message import short

NAMED = 3
"""How many are named."""


def left_out(config: pytest.Config, repo: Repository | None) -> dict[str, Any] | None:
    """`{"files", "first"}`; None where nothing is left out, as far as arguments and `--ignore` say.

    The project's test files are those that `python_files` fits, below `testpaths` where there are any, else below the
    folder of pytest's configuration file, else in the whole repository. Git is asked only if something may be missing.
    """
    if repo is None or not _may_leave_out(config, repo):
        return None
    asked = [_real(path) for path in _asked(config)]
    ignored = [_absolute(config, path) for path in config.getoption("ignore", None) or ()]
    globs = [str(_absolute(config, path)) for path in config.getoption("ignore_glob", None) or ()]
    try:
        project = list(_project(config, repo))
    except (EnvironmentProblem, OSError) as problem:  # then nobody can say that it was all of them
        return {"files": 1, "first": [f"(not known: {short(str(problem))})"]}
    missing = [
        name
        for name, path in project
        if not _below(path, asked) or _below(path, ignored) or any(fnmatch(str(path), one) for one in globs)
    ]
    return {"files": len(missing), "first": missing[:NAMED]} if missing else None


def base(config: pytest.Config, repo: Repository) -> Path:
    """The folder whose tests are the project's."""
    return config.inipath.parent if config.inipath else repo.top


def _may_leave_out(config: pytest.Config, repo: Repository) -> bool:
    if config.getoption("ignore", None) or config.getoption("ignore_glob", None):
        return True
    source = config.args_source
    if source is pytest.Config.ArgsSource.INVOCATION_DIR:
        return _real(config.invocation_params.dir) != _real(base(config, repo))
    return source is pytest.Config.ArgsSource.ARGS


def _asked(config: pytest.Config) -> Iterator[Path]:
    """The files and folders that are run as a whole; an argument that names a test in a file covers no file."""
    for arg in config.args:
        if "::" not in arg and not arg.endswith("]"):
            yield _absolute(config, arg)


def _absolute(config: pytest.Config, path: object) -> Path:
    return config.invocation_params.dir / str(path)


def _project(config: pytest.Config, repo: Repository) -> Iterator[tuple[str, Path]]:
    """The project's test files: name from the repository's top, and real path."""
    top, folder = _real(repo.top), _real(base(config, repo))
    wanted = [
        _real(Path(found))
        for pattern in config.getini("testpaths")
        for found in glob.iglob(str(folder / pattern), recursive=True)  # noqa: PTH207 (may be absolute, as pytest has it)
    ]
    patterns, closed = config.getini("python_files"), config.getini("norecursedirs")
    for name in list_paths(repo, (".py",)):
        path = top / name
        if not _below(path, wanted or [folder]) or not path.exists():
            continue
        parts = path.relative_to(folder).parts[:-1] if path.is_relative_to(folder) else ()
        if _fits(path, patterns) and not any(fnmatch(part, one) for part in parts for one in closed):
            yield name, path


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _fits(path: Path, patterns: Iterable[str]) -> bool:
    return any(fnmatch(str(path), f"*/{one}") if "/" in one else fnmatch(path.name, one) for one in patterns)


def _below(path: Path, folders: Iterable[Path]) -> bool:
    return any(path == one or one in path.parents for one in folders)
