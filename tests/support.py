"""A real repository that kl is used in, with a home of its own, and the ways to run `kl` there.

`Checkout.kl` calls the program's entry point in this process, which takes a third of the time of
starting Python. `Checkout.kl_process` starts a process, for what only a process can show: signals,
encodings, interpreter options.
"""

from __future__ import annotations

import gc
import hashlib
import os
import pkgutil
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import types
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import IO, Any

import click
import pytest

import kl_hooks
from kl_hooks.__main__ import main
from kl_hooks.clock import FixedClock
from kl_hooks.evidence.ledger import Entry, recent
from kl_hooks.evidence.provenance import CI
from kl_hooks.git.repository import GitSettings
from kl_hooks.model.actors import AGENTS
from kl_hooks.store.postgres import Address
from kl_hooks.store.state import State
from kl_hooks.workspace import Workspace, _team_address, open_workspace
from tests.forked_pytest import AT_START, COMMAND, run_forked
from tests.team_server import create_repository

HERE = Path(__file__).absolute().parent.parent
NOW = 1_800_000_000_000_000
KL = (sys.executable, "-P", "-m", "kl_hooks")
FOREIGN = ("GIT_", "KL_", "PYTEST_", "XDIST_", "PRE_COMMIT")
"""Beginnings of variables that the world around the tests may have set."""
WHO = ("CI", "BUILD_NUMBER", *(name for name, *_ in (*AGENTS, *CI)))
"""Variables that state who runs this: an agent or a job would not be taken for a person."""
_GIT_SETTINGS = (
    "[user]\nname = Ada\nemail = ada@example.org\n[init]\ndefaultBranch = main\n[maintenance]\nauto"
    " = false\n"
)
"""Without maintenance: to find that there is nothing to do takes two fifths of a commit's time."""
_NUMBERS = count()
INNER = "PYTEST_DEBUG_TEMPROOT"
"""Set by us for every pytest that a test starts: below this it makes folders, and removes those of
earlier runs.
"""


@dataclass(frozen=True)
class Checkout:
    """A working tree, and what can be done in it."""

    root: Path

    @property
    def state(self) -> Path:
        """The state directory; it need not be there."""
        return Path(self.git("rev-parse", "--path-format=absolute", "--git-common-dir")) / "kl"

    def write(self, name: str, text: str) -> Path:
        """A file, folders included."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def git(self, *args: str, ok: bool = True, cwd: Path | None = None) -> str:
        """Plain git, as a person would call it."""
        done = subprocess.run(
            ["git", *args], cwd=cwd or self.root, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0 or not ok, (args, done.stdout, done.stderr)
        return done.stdout.strip()

    def commit(self, message: str = "change") -> str:
        """Commits everything; the new commit's id."""
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        # a ref that was just written is a file of its own
        stored = self.root / ".git" / "refs" / "heads" / "main"
        on_main = (
            stored.exists()
            and (self.root / ".git" / "HEAD").read_text("utf-8") == "ref: refs/heads/main\n"
        )
        return stored.read_text("utf-8").strip() if on_main else self.git("rev-parse", "HEAD")

    def kl(
        self,
        *args: str,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        input: str = "",
    ) -> Done:
        """Run `kl ARGS` in this process, with `input` on stdin; nothing of it outlives the call."""
        only_process = [name for name in env or () if name.startswith(AT_START)]
        assert not only_process, (
            f"{only_process} take effect when a process starts. Use kl_process."
        )
        return run_in_process(args, cwd or self.root, {**os.environ, **(env or {})}, input)

    def kl_process(
        self, *args: str, env: Mapping[str, str] | None = None, cwd: Path | None = None, **more: Any
    ) -> Done:
        """Run `kl ARGS` in a process of its own; `more` goes to `subprocess.run`."""
        return run([*KL, *args], cwd or self.root, env, **more)

    def pytest(self, *args: str, env: Mapping[str, str] | None = None) -> Done:
        """pytest with the plugin, in a process of its own."""
        return run_pytest(
            ("-p", "pytest_kl.plugin", *args), self.root, {**os.environ, **(env or {})}
        )

    def workspace(self, now: int = NOW, folder: Path | None = None) -> Workspace:
        """The workspace as a command of this process would open it, at a time that does not
        move.
        """
        return open_workspace(folder or self.root, clock=FixedClock(now), environ=dict(os.environ))

    def edit(self, *statements: str) -> None:
        """Edit the database of evidence and records behind kl's back, as its owner can."""
        with self.workspace().store.writing() as db:
            for statement in statements:
                db.execute(statement)

    def stored(self) -> bytes:
        """All that is in that database: the bytes of the file, or the rows on the server."""
        with self.workspace().store.reading() as db:
            assert db is not None
            if db.dialect == "sqlite":
                return (self.state / "kl.db").read_bytes()
            names = db.rows(
                "SELECT tablename FROM pg_tables WHERE schemaname = 'kl' AND rowsecurity"
            )
            return repr([db.rows(f"SELECT * FROM {name}") for (name,) in names]).encode()

    def entries(self, limit: int = 1000) -> list[Entry]:
        """What the ledger holds, newest first, without taking anything in."""
        with self.workspace().store.reading() as db:
            return recent(db, limit, everything=True) if db else []


Done = subprocess.CompletedProcess[str]


def run(command: list[str], cwd: Path, env: Mapping[str, str] | None = None, **more: Any) -> Done:
    """A process with text in and out; undecodable bytes are escaped."""
    return subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, **(env or {})},
        capture_output=True,
        text=True,
        errors="backslashreplace",
        check=False,
        timeout=120,
        **more,
    )


def run_pytest(
    args: Sequence[str],
    cwd: Path,
    env: Mapping[str, str],
    timeout: float = 120,
    forked: bool = True,
) -> Done:
    """`python -m pytest ARGS` with exactly this environment; `forked`: see
    `tests.forked_pytest`.
    """
    done = run_forked(args, cwd, env, timeout) if forked else None
    return done or subprocess.run(
        [*COMMAND, *args],
        cwd=cwd,
        env=env,
        capture_output=True,
        text=True,
        errors="backslashreplace",
        check=False,
        timeout=timeout,
    )


TEMPLATES: list[Path] = []
"""The folder where repositories are stored to be copied; the session's fixture sets it."""


def run_in_process(
    args: Sequence[str], cwd: Path, environ: Mapping[str, str], input: str = ""
) -> Done:
    """Call the entry point of `kl` with this folder, environment and stdin; return what a process
    would have left.
    """
    with ExitStack() as stack:
        out, err = (stack.enter_context(tempfile.TemporaryFile()) for _ in range(2))
        given = stack.enter_context(tempfile.TemporaryFile())
        given.write(input.encode())
        given.seek(0)
        for context in (_interpreter_state(), _module_state(), _environment(cwd, environ)):
            stack.enter_context(context)
        stack.enter_context(_standard_streams(given, out, err))
        sys.argv[:] = ["kl", *args]
        try:
            main()
        except SystemExit as end:
            code = end.code
        assert isinstance(code, int)
        sys.stdout.flush()
        sys.stderr.flush()
        return Done(["kl", *args], code, _text(out), _text(err))


def _text(file: IO[bytes]) -> str:
    """Decode like `subprocess.run(text=True, errors="backslashreplace")`."""
    file.seek(0)
    text = file.read().decode("utf-8", "backslashreplace")
    return text.replace("\r\n", "\n").replace("\r", "\n")


@contextmanager
def _standard_streams(*files: IO[bytes]) -> Iterator[None]:
    """Put files in the place of descriptors 0, 1 and 2, so that processes that kl starts use them
    too.
    """
    streams = sys.stdin, sys.stdout, sys.stderr
    for stream in streams[1:]:
        stream.flush()
    saved = [os.dup(number) for number in range(3)]
    try:
        for number, file in enumerate(files):
            os.dup2(file.fileno(), number)
        with (
            open(0, encoding="utf-8", closefd=False) as sys.stdin,
            open(1, "w", encoding="utf-8", closefd=False) as sys.stdout,
            open(
                2, "w", 1, encoding="utf-8", errors="backslashreplace", closefd=False
            ) as sys.stderr,
        ):
            yield
    finally:
        sys.stdin, sys.stdout, sys.stderr = streams
        for number, handle in enumerate(saved):
            os.dup2(handle, number)
            os.close(handle)


@contextmanager
def _environment(cwd: Path, environ: Mapping[str, str]) -> Iterator[None]:
    """Change into `cwd`, and set the variables; the temporary folder is looked up again, as in a
    new process.
    """
    before, folder, temporary = dict(os.environ), os.open(".", os.O_RDONLY), tempfile.tempdir
    try:
        os.chdir(cwd)
        _set_variables(environ)
        tempfile.tempdir = None
        yield
    finally:
        _set_variables(before)
        tempfile.tempdir = temporary
        os.fchdir(folder)
        os.close(folder)


def _set_variables(wanted: Mapping[str, str]) -> None:
    for name in os.environ.keys() - wanted.keys():
        del os.environ[name]
    os.environ.update(
        {name: value for name, value in wanted.items() if os.environ.get(name) != value}
    )


@contextmanager
def _interpreter_state() -> Iterator[None]:
    """Restore what a command may set in the interpreter: arguments, paths, collector, signal
    handlers, filters.
    """
    argv, path, threshold = list(sys.argv), list(sys.path), gc.get_threshold()
    handlers = {number: signal.getsignal(number) for number in signal.valid_signals()}
    try:
        with warnings.catch_warnings():
            # of pytest-xdist's threads, not of kl's
            warnings.filterwarnings("ignore", ".*fork", DeprecationWarning)
            yield
    finally:
        gc.unfreeze()
        gc.set_threshold(*threshold)
        sys.argv[:], sys.path[:] = argv, path
        for number, handler in handlers.items():
            if handler is not None and signal.getsignal(number) is not handler:
                signal.signal(number, handler)


@contextmanager
def _module_state() -> Iterator[None]:
    """Restore the variables of kl's modules that code may change, and empty its caches: a process
    starts without.
    """
    variables = [(module, name, module[name]) for module, name in _rebound()]
    contents = [(value, value.copy()) for value in _containers()]
    _clear_caches()
    try:
        yield
    finally:
        for module, name, value in variables:
            module[name] = value
        for value, before in contents:
            if value != before:
                value.clear()
                (value.extend if isinstance(value, list) else value.update)(before)
        _clear_caches()


def _clear_caches() -> None:
    for cached in _caches():
        cached.cache_clear()


@cache
def _modules() -> tuple[types.ModuleType, ...]:
    """All modules of the package, imported now: one that a command imports first would not be
    restored.
    """
    found = pkgutil.walk_packages(kl_hooks.__path__, "kl_hooks.")
    return tuple(import_module(one.name) for one in found if "._shipped" not in one.name)


@cache
def _caches() -> tuple[Any, ...]:
    from kl_hooks.index.embedders import _load_wordllama

    values = (value for module in _modules() for value in vars(module).values())
    caches = {id(value): value for value in values if hasattr(value, "cache_clear")}
    # the model of an installed package, which no test changes: to load it takes 0.3 s
    caches.pop(id(_load_wordllama), None)
    return tuple(caches.values())


@cache
def _rebound() -> tuple[tuple[dict[str, Any], str], ...]:
    """The namespaces and names that a `global` statement assigns to."""
    statements = [
        (vars(module), found[1])
        for module in _modules()
        for found in re.finditer(
            r"^ +global (.+)$", Path(str(module.__file__)).read_text("utf-8"), re.MULTILINE
        )
    ]
    return tuple(
        (namespace, name.strip()) for namespace, names in statements for name in names.split(",")
    )


@cache
def _containers() -> tuple[Any, ...]:
    """The dictionaries, lists and sets that are variables of a module, or attributes of a
    command.
    """
    variables = [item for module in _modules() for item in vars(module).items()]
    attributes = [
        item
        for _, value in variables
        if isinstance(value, click.Command)
        for item in vars(value).items()
    ]
    found = (value for name, value in variables + attributes if not name.startswith("__"))
    return tuple({id(value): value for value in found if type(value) in (dict, list, set)}.values())


def catch_ignored_signals() -> None:
    """Catch each signal that this process was started to ignore (by `nohup`, or behind a shell's
    `&`), and do nothing.

    It stays without effect here, and what is started from here has the default again: an ignored
    signal is inherited, a caught one is not (POSIX, `exec`).
    """
    for number in (
        signal.SIGHUP,
        signal.SIGINT,
        signal.SIGQUIT,
        signal.SIGTERM,
        signal.SIGUSR1,
        signal.SIGUSR2,
    ):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda *_: None)


def isolate(patch: pytest.MonkeyPatch, home: Path, url: str = "") -> None:
    """This process, and what it starts, has an empty home and nothing of the world around in its
    environment.

    `url`: the server on which its repositories have their stores; empty: in each clone. A pytest
    that a test starts loads the plugins named with `-p` only: to load all that are installed takes
    a second.
    """
    for name in os.environ.keys() - {INNER}:
        if name.startswith(FOREIGN) or name in WHO:
            patch.delenv(name)
    home.mkdir(parents=True, exist_ok=True)
    settings = {
        "HOME": str(home),
        "GIT_CONFIG_GLOBAL": str(home / "gitconfig"),
        "GIT_CONFIG_NOSYSTEM": "1",
        "PYTHONPATH": str(HERE),
        "LC_ALL": "C.UTF-8",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }
    for name, value in settings.items():
        patch.setenv(name, value)
    for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR"):
        patch.delenv(name, raising=False)
    (home / "gitconfig").write_text(_GIT_SETTINGS)
    if url:
        _use_server(url, home, patch)


def _use_server(url: str, home: Path, patch: pytest.MonkeyPatch) -> None:
    """Each clone of a test has a store of its own, as in SQLite: a repository on the server.

    The first one is in git's configuration, where processes find it; the others are known in this
    process.
    """
    names = dict[Path, str]()

    def make() -> str:
        name = f"test{next(_NUMBERS)}"
        create_repository(url, name)
        return name

    first = make()
    with (home / "gitconfig").open("a") as file:
        file.write(f"[kl]\nstore = {url}\nstoreRepository = {first}\n")

    def address(state: State, asked: GitSettings | None) -> Address | None:
        found = _team_address(state, asked)
        if not found or found.repository != first:
            return found
        if state.directory not in names:
            names[state.directory] = make() if names else first
        return found._replace(repository=names[state.directory])

    patch.setattr("kl_hooks.workspace._team_address", address)


def checkout(folder: Path, files: Mapping[str, str] | None = None, *, kl: bool = True) -> Checkout:
    """A repository with one commit of `files`; with `.kl/` where `kl` is true."""
    assert "GIT_CONFIG_GLOBAL" in os.environ, (
        "the fixture `home` is missing: whose settings would git read?"
    )
    made = Checkout(folder)

    def build() -> None:
        made.git("init", "-q")
        made.write(".gitignore", "__pycache__/\n.pytest_cache/\n")
        if kl:
            made.write(".kl/README.md", "Here.\n")
        for name, text in (files or {}).items():
            made.write(name, text)
        made.commit("first")

    from_template(folder, ("checkout", kl, *(files or {}).items()), build, dict(os.environ))
    return made


def from_template(
    folder: Path, key: tuple[object, ...], build: Callable[[], None], environ: Mapping[str, str]
) -> None:
    """Let `build` make a repository in `folder`, or copy the one that it made for the same `key`
    and git settings.

    A copy takes a third of the time of the git commands. Files keep their times; what else the
    index knows of them is brought up to date, so that git and kl find them unchanged without
    reading them.
    """
    folder.mkdir(parents=True, exist_ok=True)
    settings = Path(environ.get("GIT_CONFIG_GLOBAL", os.devnull))
    variables = sorted(
        item for item in environ.items() if item[0].startswith("GIT_") and item[1] != str(settings)
    )
    known = repr((key, variables, settings.read_text("utf-8") if settings.exists() else ""))
    template = TEMPLATES[0] / hashlib.sha256(known.encode()).hexdigest()[:16] if TEMPLATES else None
    if template is None or any(folder.iterdir()):
        build()
    elif template.exists():
        shutil.copytree(template, folder, symlinks=True, dirs_exist_ok=True)
        subprocess.run(
            ["git", "update-index", "-q", "--refresh"], cwd=folder, env=environ, check=True
        )
    else:
        build()
        shutil.copytree(folder, template, symlinks=True)


def sql(database: Path, *statements: str) -> None:
    """Edits a database behind kl's back."""
    import sqlite3

    with closing(sqlite3.connect(database)) as raw, raw:
        for statement in statements:
            raw.execute(statement)
