"""What tests start is apart from the world around them, and from other runs of this suite."""

from __future__ import annotations

import gc
import os
import re
import signal
import sys
import tempfile
import threading
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kl_hooks.records import sync
from kl_hooks.store import redaction

from .conftest import TESTS, pytest_ignore_collect
from .pytest_kl.recorded import environment, repository, run_pytest
from .support import HERE, WHO, Checkout, _caches, _containers, isolate, run
from .whole import h11

WHERE = "def test_where(tmp_path): print('at', tmp_path)"


def test_a_pytest_that_a_test_starts_has_its_folders_where_no_other_run_has(
    tmp_path: Path, repo: Checkout, inner: Path
) -> None:
    project = repository(tmp_path / "project", {"test_where.py": WHERE})
    repo.write("test_where.py", WHERE)
    for done in (run_pytest(project, "-s"), repo.pytest("-s")):
        assert f"at {inner}/" in done.stdout, done.stdout + done.stderr
    assert h11.environment(tmp_path)["PYTEST_DEBUG_TEMPROOT"] == str(inner)


def test_nothing_else_of_the_world_around_reaches_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_ADDOPTS", "--no-such-option")
    done = run_pytest(repository(tmp_path / "project", {"test_where.py": WHERE}))
    assert done.returncode == 0, done.stdout + done.stderr


def test_whoever_runs_the_tests_is_a_person_in_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in WHO:
        monkeypatch.setenv(name, "1")
    isolate(monkeypatch, tmp_path / "home")
    assert not os.environ.keys() & set(WHO)
    assert not environment({}).keys() & set(WHO)


def test_a_command_in_this_process_answers_as_one_in_its_own(repo: Checkout) -> None:
    shell = 'echo out; echo "err" >&2; cat; printf "%s" "$KL_AGENT"; exit 3'
    for args, code, given in (
        (("--version",), 0, ""),
        (("status", "--format", "json"), 0, ""),
        (("claim", "add"), 2, ""),
        (("verify",), 1, ""),
        (("--root", "no-such-folder", "status"), 2, ""),
        (("tool", "objective_list", "-"), 0, '{"limit": 3}'),
        (("run", "--", "sh", "-c", shell), 3, "größte\r\n"),
    ):
        inside = repo.kl(*args, env={"KL_AGENT": "bot"}, input=given)
        process = repo.kl_process(*args, env={"KL_AGENT": "bot"}, input=given)
        assert (inside.returncode, inside.stdout) == (code, process.stdout), args
        assert without_ids(inside.stderr) == without_ids(process.stderr), args
        assert process.returncode == code


def without_ids(text: str) -> str:
    return re.sub(r"\b[0-9a-f]{8,}\b", "ID", text)


@pytest.mark.sweep
def test_nothing_of_a_command_in_this_process_outlives_it(repo: Checkout) -> None:
    repo.kl("status")  # imports what it needs
    before = state()
    assert (
        repo.kl(
            "run", "--", "true", env={"SOME_TOKEN": "a1B2c3D4e5", "KL_AGENT": "bot"}, cwd=repo.root
        ).returncode
        == 0
    )
    assert repo.kl("graph", "build").returncode == 0
    assert repo.kl("nonsense", input="x").returncode == 2
    repo.write(
        ".kl/kinds/runbook.yaml", "name: runbook\nprefix: RUN\npurpose: Steps.\nstatuses: [open]\n"
    )
    assert repo.kl("runbook", "list").returncode == 0
    assert state() == before
    repo.git("clean", "-q", "-f", ".kl/kinds")
    assert repo.kl("runbook", "list").stderr == repo.kl_process("runbook", "list").stderr


def state() -> list[object]:
    """What a command could leave in this process."""
    gc.collect()
    return [
        dict(os.environ),
        Path.cwd(),
        list(sys.argv),
        list(sys.path),
        sys.stdin,
        sys.stdout,
        sys.stderr,
        gc.get_threshold(),
        gc.get_freeze_count(),
        list(warnings.filters),
        tempfile.tempdir,
        threading.active_count(),
        [signal.getsignal(number) for number in sorted(signal.valid_signals())],
        [(number, os.fstat(number).st_ino) for number in range(256) if is_open(number)],
        redaction._added,
        redaction._hidden,
        dict(sync._FAILURES),
        [one.cache_info() for one in _caches()],
        repr(_containers()),
    ]


def is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def test_what_tests_start_heeds_a_signal_that_this_process_was_started_to_ignore(
    repo: Checkout,
) -> None:
    ask = "import signal; print(signal.getsignal(signal.SIGHUP).name)"
    line = f"from tests.support import *; {{}}subprocess.run([sys.executable, '-c', {ask!r}])"
    for call, expected in (("", "SIG_IGN\n"), ("catch_ignored_signals(); ", "SIG_DFL\n")):
        ignoring = [
            "sh",
            "-c",
            'trap "" HUP; exec "$@"',
            "sh",
            sys.executable,
            "-c",
            line.format(call),
        ]
        assert run(ignoring, HERE).stdout == expected


def test_a_variable_that_takes_effect_at_the_start_of_a_process_needs_one(repo: Checkout) -> None:
    with pytest.raises(
        AssertionError, match=re.escape("['PYTHONHASHSEED'] take effect when a process starts")
    ):
        repo.kl("status", env={"PYTHONHASHSEED": "1"})
    assert repo.kl_process("status", env={"PYTHONHASHSEED": "1"}).returncode == 0


def test_a_run_of_what_each_interpreter_may_answer_otherwise_imports_no_other_file() -> None:
    def is_imported(name: str, marks: str) -> bool:
        config: Any = SimpleNamespace(option=SimpleNamespace(markexpr=marks))
        return pytest_ignore_collect(TESTS / name, config) is None

    again = "not slow and not once"
    assert not is_imported("git/test_hooks.py", again)
    assert is_imported("git/test_hooks.py", "not slow") and is_imported("git/test_hooks.py", "")
    # of a folder that runs once, and yet on each interpreter
    assert is_imported("cli/test_main.py", again)
    assert is_imported("store/test_values.py", again) and is_imported("git/__init__.py", again)
