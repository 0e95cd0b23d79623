"""Starting kl: nothing of the repository being looked at is imported, and Ctrl-C is no traceback at
any moment.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kl_hooks import __main__ as entry

HERE = Path(__file__).resolve().parents[2]
CONSOLE = "import sys; sys.argv = ['kl', 'status']; from kl_hooks.__main__ import main; main()"
SHADOWS = (
    "click",
    "yaml",
    "sqlite3",
    "json",
    "pathlib",
    "re",
    "pluggy",
    "subprocess",
    "dataclasses",
    "typing",
    "enum",
)


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A repository whose modules are called like ours and Python's, at the top and in `src`."""
    for folder in (tmp_path / ".git", tmp_path / "src"):
        folder.mkdir()
    for name in SHADOWS:
        for folder in (tmp_path, tmp_path / "src"):
            (folder / f"{name}.py").write_text(
                "raise SystemExit('the code of the repository was run')\n"
            )
    return tmp_path


@pytest.mark.parametrize("path", [".", "src", "{top}", "{top}/src", "src:{ours}:."])
@pytest.mark.parametrize("start", ["module", "console script"])
@pytest.mark.share(3)
def test_no_module_of_the_repository_is_imported(hostile: Path, start: str, path: str) -> None:
    given = path.format(top=hostile, ours=HERE)
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(hostile),
        "PYTHONPATH": f"{HERE}:{given}",
        "PYTHONNOUSERSITE": "1",
    }
    how = ["-m", "kl_hooks", "status"] if start == "module" else ["-P", "-c", CONSOLE]
    done = subprocess.run(
        [sys.executable, *how], cwd=hostile, env=env, capture_output=True, text=True, check=False
    )
    assert "the code of the repository was run" not in done.stderr
    # the .git is an empty folder
    assert (done.returncode, done.stderr.startswith("kl: ")) == (3, True), done.stderr


def test_what_else_is_on_the_path_stays(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("repo/.git", "repo/src", "repo/.venv/lib", "elsewhere", "repository"):
        (tmp_path / name).mkdir(parents=True)
    top = tmp_path / "repo"
    stored = [
        str(HERE),
        str(tmp_path / "elsewhere"),
        str(top / ".venv/lib"),
        str(tmp_path / "repository"),
        "/nowhere",
    ]
    monkeypatch.setattr(sys, "path", ["", str(top), str(top / "src"), *stored])
    monkeypatch.setenv(
        "PYTHONPATH", os.pathsep.join([str(top / "src"), str(tmp_path / "repository"), str(HERE)])
    )
    monkeypatch.chdir(top / "src")
    entry._forget_the_checkout()
    assert sys.path == [
        str(top),
        *stored,
    ]  # a folder that is neither the current one nor of PYTHONPATH: installed


def test_without_a_current_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    monkeypatch.setattr(sys, "path", ["/a", "", "/b"])
    entry._forget_the_checkout()
    assert sys.path == ["/a", "/b"]


def test_ctrl_c_while_modules_are_imported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(entry, "_forget_the_checkout", interrupted)
    with pytest.raises(SystemExit) as end:
        entry.main()
    assert end.value.code == 130
    assert capsys.readouterr().err == "kl: interrupted.\n"


ENDING = """
import atexit, os, sys, threading, time
from kl_hooks import __main__ as entry

def main():
    {body}
    sys.exit(3)

entry.main = main
try:
    entry.console()
except SystemExit:
    print("left to Python")
    raise
"""


def ended(body: str, *options: str, stdout: int = subprocess.PIPE) -> tuple[int, str]:
    """The exit code and the output of a process whose command does `body`."""
    argv = [sys.executable, *options, "-c", ENDING.format(body=body)]
    env = {
        name: value
        for name, value in os.environ.items()
        if name not in ("PYTHONUNBUFFERED", "PYTHONDEVMODE")
    }
    env |= {"PYTHONPATH": str(HERE)}
    done = subprocess.run(
        argv, env=env, stdout=stdout, stderr=subprocess.DEVNULL, text=True, check=False
    )
    return done.returncode, done.stdout


def test_the_process_ends_at_once_and_loses_nothing() -> None:
    assert ended("print('x' * 1_000_000)") == (3, "x" * 1_000_000 + "\n")
    assert ended("atexit.register(print, 'last words')") == (3, "last words\n")


@pytest.mark.parametrize(
    "body",
    [
        "threading.Thread(target=lambda: (time.sleep(0.3), print('done'))).start()",
        "sys.settrace(lambda *_: None)",
        "sys.setprofile(lambda *_: None)",
        "sys.exit('a message')",
        "sys.exit()",
    ],
)
def test_who_has_more_to_do_with_the_process_is_not_cut_short(body: str) -> None:
    code, printed = ended(body)
    assert "left to Python" in printed
    assert ("done" in printed) == ("Thread" in body)
    assert code == {"sys.exit('a message')": 1, "sys.exit()": 0}.get(body, 3)


def test_a_profiler_gets_its_numbers() -> None:
    code, printed = ended("pass", "-X", "dev")
    assert (code, printed) == (3, "left to Python\n")
    profiled = [sys.executable, "-m", "cProfile", "-m", "kl_hooks", "--version"]
    done = subprocess.run(
        profiled, env={**os.environ, "PYTHONPATH": str(HERE)}, capture_output=True, text=True
    )
    assert "function calls" in done.stdout


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")  # noqa: PTH110
def test_an_output_that_can_not_be_written_is_reported_as_by_python() -> None:
    with open("/dev/full", "w") as full:  # noqa: PTH123
        code, _ = ended("print('x'); globals().update(print=len)", stdout=full.fileno())
    assert code == 120
