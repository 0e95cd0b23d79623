"""Why the system refused a call in a folder is named from what the file system has left."""

from __future__ import annotations

import fcntl
import os
import shutil
import sqlite3
from collections.abc import Callable
from errno import EACCES, EDQUOT, EIO, ENOENT, ENOLCK, ENOSPC, EROFS
from pathlib import Path
from types import SimpleNamespace

import pytest

from bench.soak.preload import Call, build, variables
from kl_hooks.errors import EnvironmentProblem, StoreBusy
from kl_hooks.store import disk, spool
from kl_hooks.store.disk import Step, cause_of, refusal_in
from kl_hooks.store.sqlite import _translate
from kl_hooks.store.store import _os_errors_as_problems
from tests.support import KL, Checkout, run


def refusing(errno: int) -> Callable[..., None]:
    def refuse(*_: object) -> None:
        raise OSError(errno, os.strerror(errno))

    return refuse


def file_system(free_bytes: int, inodes: int, free_inodes: int) -> Callable[..., SimpleNamespace]:
    """A statvfs(3) of another file system."""
    return lambda _: SimpleNamespace(
        f_bavail=free_bytes, f_frsize=1, f_files=inodes, f_favail=free_inodes
    )


@pytest.mark.parametrize(
    ("errno", "space", "words"),
    [
        (ENOLCK, (9, 9, 9), "this file system has no locks (No locks available)"),
        (ENOSPC, (5000, 70, 0), "no inodes are free (No space left on device; 0 of 70 inodes, 5,"),
        (ENOSPC, (0, 70, 9), "the disk is full (No space left on device; 0 bytes free)"),
        # btrfs counts no inodes
        (ENOSPC, (0, 0, 0), "the disk is full (No space left on device; 0 bytes free)"),
        (EDQUOT, (5000, 70, 9), "your quota is used up (Disk quota exceeded; 5,000 bytes free)"),
        (EROFS, (9, 9, 9), "mounted read-only (Read-only file system)"),
        (EIO, (9, 9, 9), "the disk, or the connection to it, fails (Input/output error)"),
        (EACCES, (9, 9, 9), "Permission denied"),
        (ENOENT, (9, 9, 9), "No such file or directory"),
    ],
)
@pytest.mark.fault(
    "failing call",
    promised="the message names the cause and what to do",
    injected="the system's answer and what statvfs(3) reports are replaced",
)
def test_a_cause_is_named_from_what_is_left(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    errno: int,
    space: tuple[int, int, int],
    words: str,
) -> None:
    monkeypatch.setattr(os, "statvfs", file_system(*space))
    cause = cause_of(OSError(errno, os.strerror(errno)), tmp_path / "not" / "there")
    assert words in cause.words
    assert bool(cause.fix) is (errno not in (ENOENT, EROFS))
    with (
        pytest.raises(EnvironmentProblem) as reported,
        _os_errors_as_problems(tmp_path),
    ):
        refusing(errno)()
    assert f"can't be used: {cause.words}." in str(reported.value)


@pytest.mark.parametrize(
    ("module", "name", "step"),
    [
        (fcntl, "flock", Step.LOCK),
        (fcntl, "lockf", Step.LOCK),
        (os, "write", Step.WRITE),
        (os, "fsync", Step.SYNC),
        (disk, "sync_folder", Step.SYNC_FOLDER),
    ],
)
@pytest.mark.fault(
    "failing call",
    promised="kl doctor names the step that the folder refuses",
    injected="flock, lockf, write and fsync are replaced by ones that fail",
)
def test_each_step_is_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: object, name: str, step: Step
) -> None:
    assert refusal_in(tmp_path) is None
    monkeypatch.setattr(module, name, refusing(EIO))
    refusal = refusal_in(tmp_path)
    assert refusal is not None and refusal.step is step
    assert "Input/output error" in refusal.cause.words
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_takes_no_file() -> None:
    refusal = refusal_in(Path("/proc"))
    assert refusal is not None and refusal.step is Step.MAKE


@pytest.mark.parametrize("name", ["SQLITE_BUSY", "SQLITE_CANTOPEN", "SQLITE_IOERR_LOCK"])
@pytest.mark.fault(
    "no locks",
    promised="no other process is blamed",
    injected="lockf fails with ENOLCK",
)
def test_sqlite_names_no_other_process_where_the_file_system_is_the_cause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    error = sqlite3.OperationalError("database is locked")
    error.sqlite_errorname = name
    assert isinstance(_translate(error, tmp_path / "kl.db"), StoreBusy) is ("IOERR" not in name)
    monkeypatch.setattr(fcntl, "lockf", refusing(ENOLCK))
    problem = _translate(error, tmp_path / "kl.db")
    assert not isinstance(problem, StoreBusy)
    assert (
        f"can't be used: this file system has no locks (No locks available) (database is "
        f"locked, {name})" in str(problem)
    )


_WITHOUT_INODES = """
mount -t tmpfs -o size=20m,nr_inodes=400 none "$1" && cp -a "$2"/. "$1" && cd "$1" || exit 99
shift 2
while true > "full$i"; do i=$((i+1)); done 2>/dev/null
for words in "remember a b" "memory add Tabs_are_used_here" "doctor"; do "$@" $words 2>&1; echo "exit $?"; done
"""


@pytest.mark.slow
@pytest.mark.local_database
@pytest.mark.fault(
    "full disk",
    promised="nothing half-written; the message names the missing inodes",
    injected="a tmpfs of 400 inodes, filled",
)
def test_a_file_system_without_inodes(repo: Checkout, tmp_path: Path) -> None:
    repo.kl("evidence", "list")
    (tmp_path / "disk").mkdir()
    places = [str(tmp_path / "disk"), str(repo.root)]
    if shutil.which("unshare") is None:
        pytest.skip("there is no unshare")
    done = run(["unshare", "-rm", "sh", "-c", _WITHOUT_INODES, "sh", *places, *KL], repo.root)
    if done.returncode == 99 or "exit " not in done.stdout:
        pytest.skip("this machine lets nobody mount anything")
    remembered, added, examined = done.stdout.split("exit ")[:3]
    no_inodes = "no inodes are free (No space left on device; 0 of 400 inodes, "
    assert "another process" not in remembered and no_inodes in remembered
    assert f".md: can't be written: {no_inodes}" in added
    for place in (".git/kl/spool", ".kl"):
        assert f"disk/{place}: can't make a file: {no_inodes}" in examined
    assert "fix: remove files on it (df -i " in examined


@pytest.mark.fault(
    "no locks",
    promised="the command's own exit code is unchanged; one line names the cause",
    injected="flock fails with ENOLCK",
)
def test_what_records_names_the_cause(repo: Checkout, monkeypatch: pytest.MonkeyPatch) -> None:
    layers = "version: 1\nlayers:\n  - {name: all, paths: [./]}\n"
    repo.write(".kl/architecture.yaml", layers)
    assert repo.kl("init", "--yes").returncode == 0
    monkeypatch.setattr(spool, "flock", refusing(ENOLCK))
    for command in (("run", "--", "true"), ("arch", "check")):
        done = repo.kl(*command)
        cause = "not recorded: this file system has no locks (No locks available). See: kl doctor"
        assert done.returncode == 0 and cause in done.stderr, done


@pytest.mark.slow
@pytest.mark.local_database
@pytest.mark.fault(
    "no locks",
    promised="exit code 3 with the cause, no traceback",
    injected="a library before the C library refuses every lock",
)
def test_a_file_system_without_locks(repo: Checkout, tmp_path: Path) -> None:
    """Locks are refused to SQLite too, by a library that is loaded before the system's."""
    assert repo.kl("init", "--yes").returncode == 0
    assert repo.kl("remember", "a", "b").returncode == 0
    library = build(tmp_path)
    if library is None:
        pytest.skip("there is no C compiler, or no loader that takes it")
    no_locks = {**variables(library, Path("/"), Call.LOCK, ENOLCK), "KL_LOCK_WAIT": "0.5"}
    examined = repo.kl_process("doctor", env=no_locks).stdout
    assert "/.git/kl/spool: can't lock a file: this file system has no locks" in examined
    assert "fix: mount it with locks" in examined and "See: kl doctor" not in examined
    assert examined.count("wrong   store") == 1
    for command in (("remember", "a", "b"), ("verify",)):
        done = repo.kl_process(*command, env=no_locks)
        assert done.returncode == 3 and "this file system has no locks" in done.stderr, done
