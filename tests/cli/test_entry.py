"""Starting kl: nothing of the repository being looked at is imported, and Ctrl-C is no traceback at any moment."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kl_hooks import __main__ as entry

HERE = Path(__file__).resolve().parents[2]
CONSOLE = "import sys; sys.argv = ['kl', 'status']; from kl_hooks.__main__ import main; main()"
SHADOWS = ("click", "yaml", "sqlite3", "json", "pathlib", "re", "pluggy", "subprocess", "dataclasses", "typing", "enum")


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A repository whose modules are called like ours and Python's, at the top and in `src`."""
    for folder in (tmp_path / ".git", tmp_path / "src"):
        folder.mkdir()
    for name in SHADOWS:
        for folder in (tmp_path, tmp_path / "src"):
            (folder / f"{name}.py").write_text("raise SystemExit('the code of the repository was run')\n")
    return tmp_path


@pytest.mark.parametrize("path", [".", "src", "{top}", "{top}/src", "src:{ours}:."])
@pytest.mark.parametrize("start", ["module", "console script"])
def test_no_module_of_the_repository_is_imported(hostile: Path, start: str, path: str) -> None:
    given = path.format(top=hostile, ours=HERE)
    env = {"PATH": os.environ["PATH"], "HOME": str(hostile), "PYTHONPATH": f"{HERE}:{given}", "PYTHONNOUSERSITE": "1"}
    how = ["-m", "kl_hooks", "status"] if start == "module" else ["-P", "-c", CONSOLE]
    done = subprocess.run([sys.executable, *how], cwd=hostile, env=env, capture_output=True, text=True, check=False)
    assert "the code of the repository was run" not in done.stderr
    assert (done.returncode, done.stderr.startswith("kl: ")) == (3, True), done.stderr  # the .git is an empty folder


def test_what_else_is_on_the_path_stays(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("repo/.git", "repo/src", "repo/.venv/lib", "elsewhere", "repository"):
        (tmp_path / name).mkdir(parents=True)
    top = tmp_path / "repo"
    kept = [str(HERE), str(tmp_path / "elsewhere"), str(top / ".venv/lib"), str(tmp_path / "repository"), "/nowhere"]
    monkeypatch.setattr(sys, "path", ["", str(top), str(top / "src"), *kept])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(top / "src"), str(tmp_path / "repository"), str(HERE)]))
    monkeypatch.chdir(top / "src")
    entry._forget_the_checkout()
    assert sys.path == [str(top), *kept]  # a folder that is neither the current one nor of PYTHONPATH: an installation


def test_without_a_current_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    monkeypatch.setattr(sys, "path", ["/a", "", "/b"])
    entry._forget_the_checkout()
    assert sys.path == ["/a", "/b"]


def test_ctrl_c_while_modules_are_imported(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(entry, "_forget_the_checkout", interrupted)
    with pytest.raises(SystemExit) as end:
        entry.main()
    assert end.value.code == 130
    assert capsys.readouterr().err == "kl: interrupted.\n"
