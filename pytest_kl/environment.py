"""What is recorded before the first test: the environment, what was asked for, and what the
arguments omit.
"""

from __future__ import annotations

import glob
import hashlib
import os
import sys
from collections.abc import Iterable, Iterator
from fnmatch import fnmatch
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from kl_hooks.git.repository import Repository
from kl_hooks.git.worktree import FileListing
from kl_hooks.model.definitions import lazy_pattern
from kl_hooks.model.doctests import has_examples
from kl_hooks.model.receipt import FACT_CLASSES
from pytest_kl.typed_options import typed_options

LOCKS = (
    "uv.lock",
    "poetry.lock",
    "pdm.lock",
    "pylock.toml",
    "Pipfile.lock",
    "requirements.txt",
    "requirements-dev.txt",
    "constraints.txt",
    "conda-lock.yml",
    "pixi.lock",
)
"""Files at the root that pin the installed packages."""
NARROWING = {
    **{
        name: name
        for name in ("keyword", "lf", "stepwise", "deselect", "ignore", "ignore_glob", "maxfail")
    },
    "markexpr": "markers",
    "collectonly": "collect_only",
    "setuponly": "setup_only",
    "setupplan": "setup_plan",
}
"""pytest's name of an option, and ours."""
_HEADER = lazy_pattern(r"(?m)^(Name|Version): *(\S.*?)\r?$")
OVERRIDES = ("python_files", "python_classes", "python_functions", "testpaths", "norecursedirs")
"""Settings that define what a test is: `-o` on the command line makes another project of it."""
NAMED = 3
"""How many are named."""


def environment_of(config: pytest.Config, root: Path) -> dict[str, Any]:
    """`{"pid", "facts", "pytest", "plugins", "local_plugins", "locks", "way", "rootdir"}`, each
    where there is any.

    `plugins` maps an installed distribution to its version, `local_plugins` a conftest or plugin
    file below `root` to 16 digits of its digest, `locks` a lock file to the same; `way` is how the
    tests are run (`execution_mode`); `rootdir` is pytest's, where it is not `root`. `pid`: the
    process in which pytest runs; where `kl run` started that very process, its exit status is
    pytest's.
    """
    environment: dict[str, Any] = {
        "pid": os.getpid(),
        "facts": sorted(FACT_CLASSES),
        "pytest": pytest.__version__,
        "plugins": dict(
            _name_and_version(dist) for _, dist in config.pluginmanager.list_plugin_distinfo()
        ),
        "local_plugins": _local_plugins(config, root),
        "locks": {name: digest for name in LOCKS if (digest := _file_digest(root / name))},
        "way": execution_mode(config),
    }
    if (rootdir := config.rootpath.resolve()) != root:
        environment["rootdir"] = str(
            rootdir.relative_to(root) if rootdir.is_relative_to(root) else rootdir
        )
    return {key: value for key, value in environment.items() if value}


def execution_mode(config: pytest.Config) -> dict[str, Any]:
    """`{"distributed": workers}`, 0 for one process; where tests are shuffled also `random_order`
    and `seed`.

    Read from the options of pytest-xdist, pytest-randomly and pytest-random-order, as they are in
    force.
    """
    plugins = config.pluginmanager
    # xdist turns `-n 4` into four `popen` in `tx`; with `-n 0` or `--dist no` the tests run in this
    # process
    if config.getoption("dist", "no") != "no":
        workers = config.getoption("tx", None)
    else:
        workers = None
    # `3*popen` are three
    counts = [str(spec).partition("*")[0] for spec in workers or ()]
    mode: dict[str, Any] = {
        "distributed": sum(int(count) if count.isdecimal() else 1 for count in counts)
    }
    if plugins.hasplugin("randomly") and config.getoption("randomly_reorganize", False):
        seed = config.getoption("randomly_seed", None)
        # "default" and "last" are words for a seed not chosen yet
        mode |= {
            "random_order": "pytest-randomly",
            "seed": seed if isinstance(seed, int) else None,
        }
    elif plugins.hasplugin("random_order") and _random_order(config):
        seed = str(config.getoption("random_order_seed", "")).removeprefix("default:")
        mode |= {"random_order": "pytest-random-order", "seed": seed}
    return mode


def _random_order(config: pytest.Config) -> bool:
    """Whether pytest-random-order shuffles: asked for as such, or by a bucket or a seed (its own
    rule).
    """
    asked = [
        str(config.getoption(name, "default:"))
        for name in ("random_order_bucket", "random_order_seed")
    ]
    enabled = bool(config.getoption("random_order_enabled", False))
    return enabled or not all(value.startswith("default:") for value in asked)


def _name_and_version(dist: Any) -> tuple[str, str]:
    # importlib.metadata parses the whole file, README included, with `email`: 65 ms for 47
    # packages, this takes 32
    head = (dist.read_text("METADATA") or "").partition("\n\n")[0]
    headers = dict(_HEADER.findall(head))
    if len(headers) == 2:
        return headers["Name"], headers["Version"]
    return str(dist.project_name), str(dist.version)


def _local_plugins(config: pytest.Config, root: Path) -> dict[str, str]:
    digests = {}
    for plugin in config.pluginmanager.get_plugins():
        if isinstance(plugin, ModuleType):
            file = plugin.__file__
        else:
            file = None
        if file and (path := Path(file)).is_relative_to(root) and (digest := _file_digest(path)):
            digests[path.relative_to(root).as_posix()] = digest
    return dict(sorted(digests.items()))


def _file_digest(path: Path) -> str | None:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    except OSError:
        return None


def selection_of(
    config: pytest.Config, repo: Repository | None, listing: FileListing
) -> dict[str, Any]:
    """`{"args", …}`: what was typed, what configuration and environment added, and the options that
    narrow the run.

    Options show their value in force, so it makes no difference whether `-k` is from the command
    line, a file or PYTEST_ADDOPTS. `left_out`: test files of the project that the arguments omit;
    `overridden`: `-o` for what a test is; `config_file`: `-c` with a file from outside the
    repository; `weakened`: see there. `listing`: what git listed of the repository. Plain values;
    secrets in them are redacted by whoever writes them down.
    """
    selection: dict[str, Any] = {"args": [str(arg) for arg in config.invocation_params.args]}
    added = [str(arg) for arg in config.getini("addopts")]
    if environment_addopts := os.environ.get("PYTEST_ADDOPTS"):
        added.append(environment_addopts)
        # it is no part of the content, as the configuration is
        selection["environment_addopts"] = environment_addopts
    if added:
        selection["addopts"] = added
    for option, ours in NARROWING.items():
        value = config.getoption(option, None)
        if value:
            selection[ours] = (
                value if isinstance(value, bool | int | str) else [str(one) for one in value]
            )
    overridden = [
        one
        for one in config.getoption("override_ini", None) or ()
        if one.partition("=")[0] in OVERRIDES
    ]
    if overridden:
        selection["overridden"] = overridden
    if config.inipath and config.getoption("inifilename", None):
        config_file = config.inipath.resolve()
    else:
        config_file = None
    if config_file and repo and not config_file.is_relative_to(repo.top.resolve()):
        selection["config_file"] = str(config.inipath)
    if config.getoption("kl_impacted", None) is not None:
        selection["impacted"] = True
    if weaker := weakened(config):
        selection["weakened"] = weaker
    if missing := omitted_test_files(config, repo, listing):
        selection["left_out"] = missing
    return selection


def weakened(config: pytest.Config) -> list[str]:
    """What was typed, or set in the environment, with which tests may pass that fail as configured.

    Options in the configuration are part of the content, and are not listed.
    """
    typed = [str(arg) for arg in config.invocation_params.args]
    typed += (os.environ.get("PYTEST_ADDOPTS") or "").split()
    weakening = []
    if sys.flags.optimize:
        weakening.append("python -O: assert statements are not run")
    if "--noconftest" in typed:
        weakening.append("--noconftest")
    weakening += [arg for arg in typed if arg.partition("=")[0] == "--confcutdir"]
    weakening += typed_options(config)
    # only where the content makes warnings errors is an ignored warning a check that did not count
    # (ADR-0017)
    if any(str(line).lstrip().startswith("error") for line in config.getini("filterwarnings")):
        configured = " ".join(str(arg) for arg in config.getini("addopts"))
        ignored = [str(one) for one in config.getoption("pythonwarnings", None) or ()]
        weakening += [
            f"-W {one}" for one in ignored if not one.startswith("error") and one not in configured
        ]
        if "no:warnings" in " ".join(typed):
            weakening.append("-p no:warnings")
    return weakening


def omitted_test_files(
    config: pytest.Config, repo: Repository | None, listing: FileListing
) -> dict[str, Any] | None:
    """`{"files", "first", "ignored"}`; None where nothing is omitted, judged by arguments and
    `--ignore`. `ignored`: how many `--ignore` and `--ignore-glob` alone omit.

    The project's test files are those that `python_files` fits, and those with examples that its
    options collect: below `testpaths` where there are any, else under the folder of pytest's
    configuration file, else in the whole repository.
    """
    if repo is None or not _may_omit_files(config, repo):
        return None
    if not listing.listing:  # git failed: then nobody knows that it was all of them
        return {"files": 1, "first": ["(not known: git did not list the files)"]}
    start = config.invocation_params.dir
    # an argument that names a test in a file covers no file as a whole
    asked = [_real(start / arg) for arg in config.args if "::" not in arg and not arg.endswith("]")]
    ignored = [start / str(path) for path in config.getoption("ignore", None) or ()]
    globs = [str(start / str(path)) for path in config.getoption("ignore_glob", None) or ()]
    missing: list[str] = []
    by_options = 0
    for name, path in _project_files(config, repo, listing):
        is_asked = _below(path, asked)
        is_ignored = _below(path, ignored) or any(fnmatch(str(path), glob) for glob in globs)
        if (is_ignored or not is_asked) and _has_tests(config, path):
            missing.append(name)
            by_options += is_asked
    if not missing:
        return None
    omitted: dict[str, Any] = {"files": len(missing), "first": missing[:NAMED]}
    return omitted | ({"ignored": by_options} if by_options else {})


def _project_folder(config: pytest.Config, repo: Repository) -> Path:
    """The folder whose tests are the project's."""
    return _real(config.inipath.parent if config.inipath else repo.top)


def _may_omit_files(config: pytest.Config, repo: Repository) -> bool:
    if config.getoption("ignore", None) or config.getoption("ignore_glob", None):
        return True
    source = config.args_source
    if source is pytest.Config.ArgsSource.INVOCATION_DIR:
        return _real(config.invocation_params.dir) != _project_folder(config, repo)
    return source is pytest.Config.ArgsSource.ARGS


def _project_files(
    config: pytest.Config, repo: Repository, listing: FileListing
) -> Iterator[tuple[str, Path]]:
    """The project's files that pytest looks into: name from the repository's top, and real path."""
    top = _real(repo.top)
    folder = _project_folder(config, repo)
    wanted = [
        _real(Path(found))
        for pattern in config.getini("testpaths")
        for found in glob.iglob(str(folder / pattern), recursive=True)  # noqa: PTH207 (may be absolute, as pytest has it)
    ]
    doctests = _doctest_patterns(config)
    patterns = [*config.getini("python_files"), *doctests]
    endings = [".py", *(os.path.splitext(pattern)[1] for pattern in doctests)]  # noqa: PTH122 (globs)
    closed = config.getini("norecursedirs")
    # a set: git lists a path in conflict once for each stage
    for name in sorted(set(listing.paths(endings))):
        path = top / name
        # a name that ends in `/` is another repository
        if name.endswith("/") or not _fits(path, patterns):
            continue
        # git lists a tracked file also after it was deleted on disk
        if not _below(path, wanted or [folder]) or not path.exists():
            continue
        if path.is_relative_to(folder):
            parts = path.relative_to(folder).parts[:-1]
        else:
            parts = ()
        if not any(fnmatch(part, pattern) for part in parts for pattern in closed):
            yield name, path


def _doctest_patterns(config: pytest.Config) -> list[str]:
    """Names of the files of which pytest collects examples."""
    if not config.pluginmanager.hasplugin("doctest"):
        return []
    texts = [str(glob) for glob in config.getoption("doctestglob", None) or ("test*.txt",)]
    return [*texts, *(["*.py"] if config.getoption("doctestmodules", False) else [])]


def _has_tests(config: pytest.Config, path: Path) -> bool:
    """Whether a file that pytest looks into surely has tests by its name, or has examples."""
    if path.suffix == ".py" and _fits(path, config.getini("python_files")):
        return True
    try:
        content = path.read_bytes()
    except OSError:
        return False
    return has_examples(path.as_posix(), content)


def _real(path: Path) -> Path:
    # not Path.resolve, which raises RuntimeError for a loop of links before CPython 3.13
    return Path(os.path.realpath(path))


def _fits(path: Path, patterns: Iterable[str]) -> bool:
    # pytest's rule for python_files: a pattern with a slash is for the path, any other one for the
    # name
    return any(
        fnmatch(str(path), f"*/{one}") if "/" in one else fnmatch(path.name, one)
        for one in patterns
    )


def _below(path: Path, folders: Iterable[Path]) -> bool:
    return any(path == one or one in path.parents for one in folders)
