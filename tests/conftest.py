"""Shared fixtures of the whole suite."""

from __future__ import annotations

import compileall
import gc
import os
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.forked_pytest import end_servers
from tests.support import HERE, INNER, TEMPLATES, Checkout, catch_ignored_signals, checkout, isolate

pytest_plugins = ["pytester"]

# No deadline: a busy machine is no failure. `pytest --hypothesis-profile=thorough` takes minutes per test.
settings.register_profile("few", deadline=None, max_examples=10)
settings.register_profile("ci", deadline=None, max_examples=25)
settings.register_profile("thorough", deadline=None, max_examples=400)
settings.load_profile("ci")

MEMORY = Path("/dev/shm")
FREE_BYTES = 6 << 30


def pytest_configure(config: pytest.Config) -> None:
    """Put temporary directories on the file system in memory, if it has 6 GiB free.

    Git and SQLite flush to the disk at every step: on a virtual disk that was 60 % of the CPU time of tests/kinds.
    """
    if config.option.basetemp or INNER in os.environ or not os.access(MEMORY, os.W_OK):
        return
    size = os.statvfs(MEMORY)
    if size.f_bavail * size.f_frsize >= FREE_BYTES:
        os.environ[INNER] = str(MEMORY)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Compile the packages once: with PYTHONDONTWRITEBYTECODE every process that a test starts would do it again."""
    if not hasattr(session.config, "workerinput"):
        for package in ("kl_hooks", "pytest_kl"):
            compileall.compile_dir(HERE / package, quiet=2)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Without the garbage collector: it took a third of the time that collecting the tests takes, in every worker."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the slow tests first: at the end of a run one process would wait for the other that has a slow one."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


@pytest.fixture(scope="session", autouse=True)
def inner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where every pytest that a test starts has its folders.

    pytest removes what runs before it have left: beside ours that is the whole of another run of this suite, which
    takes minutes, at the end of whichever test starts a pytest first.
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
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home, for this process and for those it starts."""
    isolate(monkeypatch, tmp_path / "home")
    return tmp_path / "home"


@pytest.fixture
def repo(tmp_path: Path, home: Path) -> Checkout:
    """A repository with one commit that kl is used in."""
    return checkout(tmp_path / "repo")
