"""`python -m pytest` as a fork of a process that has imported pytest and kl: a third of the time of
starting Python.

A process of its own as before: arguments, folder, environment, descriptors, exit code and the way
it ends are those of `python -m pytest`. What an interpreter reads when it starts (`PYTHON…`,
locale) belongs to the process that is forked: there is one for each set of such variables.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

HERE: Final = str(Path(__file__).absolute().parent.parent)
COMMAND: Final = (sys.executable, "-m", "pytest")
AT_START: Final = ("PYTHON", "LC_", "LANG", "TZ")
"""Beginnings of variables that the interpreter or the C library reads when a process starts."""
_USUAL: Final = {"PYTHONPATH": HERE, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUNBUFFERED": "1"}
"""With other `PYTHON…` variables than these a process is started."""
_NUMBER: Final = struct.Struct("!i")
_SERVERS: Final[dict[tuple[tuple[str, str], ...], list[Server]]] = {}
"""Such variables → the processes that wait to be forked: one answers one thread at a time."""
_IMPORTED: Final = (
    "execnet",
    "importlib.metadata._adapters",
    "kl_hooks.evidence.capture",
    "kl_hooks.evidence.distributions",
    "kl_hooks.evidence.journal",
    "kl_hooks.evidence.private",
    "kl_hooks.git.files",
    "kl_hooks.plugins",
    "kl_hooks.proof.execution",
    "kl_hooks.store.sqlite",
    "kl_hooks.workspace",
    "packaging.requirements",
    "pdb",
    "pytest_kl.children",
    "pytest_kl.memoization",
    "pytest_kl.reads",
    "pytest_kl.recorder",
    "pytest_kl.states",
    "sqlite3",
    "sysconfig",
)
"""What the plugin imports in nearly every run, or pytest to know the version of pluggy. pytest
rewrites the module of a plugin, which is `pytest_kl.plugin`: that one is left to it.
"""


class Server:
    """The process that is forked, and the socket to ask it."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        self._socket, other = socket.socketpair()
        with other:
            self._process = subprocess.Popen(
                [
                    sys.executable,
                    "-c",
                    f"from tests.forked_pytest import serve; serve({other.fileno()})",
                ],
                cwd="/",
                env={"PATH": os.environ["PATH"], **variables},
                pass_fds=[other.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                start_new_session=True,
            )

    def run(
        self,
        args: Sequence[str],
        cwd: Path,
        env: Mapping[str, str],
        files: list[int],
        timeout: float,
    ) -> int:
        """Run pytest on these three descriptors; the exit code, negative for a signal.
        TimeoutExpired.
        """
        request = json.dumps([args, str(cwd), dict(env)]).encode("utf-8", "surrogateescape")
        socket.send_fds(self._socket, [_NUMBER.pack(len(request))], files)
        self._socket.sendall(request)
        pid = _number(self._socket)
        self._socket.settimeout(timeout)
        try:
            return os.waitstatus_to_exitcode(_number(self._socket))
        except TimeoutError:
            os.kill(pid, signal.SIGKILL)
            self._socket.settimeout(None)
            _number(self._socket)
            raise subprocess.TimeoutExpired([*COMMAND, *args], timeout) from None
        finally:
            self._socket.settimeout(None)

    def close(self) -> None:
        """End the process."""
        self._socket.close()
        self._process.wait()


def run_forked(
    args: Sequence[str], cwd: Path, env: Mapping[str, str], timeout: float
) -> subprocess.CompletedProcess[str] | None:
    """Run `python -m pytest ARGS`; None where the environment asks for an interpreter of its
    own.
    """
    at_start = {name: value for name, value in env.items() if name.startswith(AT_START)}
    unusual = [
        name
        for name in at_start
        if name.startswith("PYTHON") and _USUAL.get(name) != at_start[name]
    ]
    # with autoload pytest rewrites all modules of kl's distribution, which it can't where they are
    # imported already
    if (
        unusual
        or at_start.get("PYTHONPATH") != HERE
        or env.get("PYTEST_DISABLE_PLUGIN_AUTOLOAD") != "1"
    ):
        return None
    key = tuple(sorted(at_start.items()))
    waiting = _SERVERS.setdefault(key, [])
    try:
        server = waiting.pop()
    except IndexError:
        server = Server(at_start)
    with (
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as err,
        Path(os.devnull).open() as nothing,
    ):
        try:
            code = server.run(
                args, cwd, env, [nothing.fileno(), out.fileno(), err.fileno()], timeout
            )
        finally:
            waiting.append(server)
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(
                file.read()
                .decode("utf-8", "backslashreplace")
                .replace("\r\n", "\n")
                .replace("\r", "\n")
            )
        return subprocess.CompletedProcess([*COMMAND, *args], code, *texts)


def end_servers() -> None:
    """End all processes that were started to be forked."""
    while _SERVERS:
        for server in _SERVERS.popitem()[1]:
            server.close()


def serve(descriptor: int) -> None:
    """Fork for each request, until the other end closes; comes back in no process but the forked
    ones' pytest.
    """
    import atexit
    import gc
    import importlib
    import runpy
    import threading

    import pytest  # noqa: F401
    from _pytest.config import default_plugins

    for name in (*(f"_pytest.{one}" for one in default_plugins), *_IMPORTED):
        importlib.import_module(name)
    from kl_hooks.plugins import BUILT_IN

    for name in BUILT_IN:
        importlib.import_module(name)
    assert threading.active_count() == 1  # a fork copies the calling thread only
    gc.freeze()  # else the first collection of each fork writes to, and so copies, every page
    connection = socket.socket(fileno=descriptor)
    while True:
        head, files, *_ = socket.recv_fds(connection, _NUMBER.size, 3)
        if not head:
            os._exit(0)
        args, cwd, env = json.loads(
            _exactly(connection, _NUMBER.unpack(head)[0]).decode("utf-8", "surrogateescape")
        )
        pid = os.fork()
        if not pid:
            break
        for file in files:
            os.close(file)
        connection.sendall(_NUMBER.pack(pid))
        connection.sendall(_NUMBER.pack(os.waitpid(pid, 0)[1]))
    connection.close()
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    # else kl digests the whole folder of our tests, in each run and in each verdict about it
    for name in ("tests.forked_pytest", "tests"):
        del sys.modules[name]
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    tempfile.tempdir = None
    sys.path[0] = cwd
    sys.argv[:] = ["-m", *args]
    sys.orig_argv[:] = [*COMMAND, *args]
    try:
        runpy._run_module_as_main("pytest")  # type: ignore[attr-defined]  # what `python -m` calls
    except SystemExit as end:
        if not isinstance(end.code, int):
            raise
        # as the interpreter ends, but for clearing all modules: that writes to, and so copies,
        # every page
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(end.code)


def _number(connection: socket.socket) -> int:
    return int(_NUMBER.unpack(_exactly(connection, _NUMBER.size))[0])


def _exactly(connection: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        part = connection.recv(size - len(found))
        assert part, "the process that is forked has ended"
        found += part
    return found
