"""What is released: contents of the wheel, its metadata, and one version everywhere."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import kl_hooks
from pytest_kl.plugin import folder_to_record
from tests.support import Checkout
from tools import release

ROOT = Path(__file__).parents[2]
VERSION = kl_hooks.__version__


def test_a_wheel_has_what_git_tracks_of_the_packages_and_nothing_else() -> None:
    tracked = [
        "kl_hooks/a.py",
        "hooks/pre-push",
        "templates/x/y.md",
        "tests/test_a.py",
        "bench/b.py",
    ]
    names = [
        "kl_hooks/a.py",
        "kl_hooks/_shipped/hooks/pre-push",
        "kl_hooks/_shipped/templates/x/y.md",
        "kl_hooks-1.dist-info/METADATA",
    ]
    assert release.wheel_difference(names, tracked) == (frozenset(), frozenset())
    wrong = release.wheel_difference([*names[1:], "tests/test_a.py"], tracked)
    assert wrong.lines("w") == ["w: lacks kl_hooks/a.py", "w: has tests/test_a.py"]


def test_an_sdist_builds_the_wheel_and_has_no_file_that_git_lacks() -> None:
    tracked = ["kl_hooks/a.py", "pyproject.toml", "README.md", "LICENSE", "docs/a.md"]
    names = [f"kl_hooks-1/{path}" for path in (*tracked, "PKG-INFO")]
    assert release.sdist_difference(names, tracked) == (frozenset(), frozenset())
    wrong = release.sdist_difference([*names[1:], "kl_hooks-1/secret.env"], tracked)
    assert wrong.lines("s") == ["s: lacks kl_hooks/a.py", "s: has secret.env"]


def test_every_file_that_the_wheel_needs_is_tracked() -> None:
    tracked = release.tracked_files()
    for folder in release.SHIPPED:
        assert any(path.startswith(folder) for path in tracked), folder


def test_hatch_ships_the_same_folders() -> None:
    targets = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"][
        "targets"
    ]
    wheel = targets["wheel"]
    shipped = {f"{name}/": f"{name}/" for name in wheel["packages"]}
    shipped |= {f"{name}/": f"{place}/" for name, place in wheel["force-include"].items()}
    assert shipped == release.SHIPPED


def test_the_version_is_one_everywhere() -> None:
    plugin = json.loads((ROOT / "templates/agents/claude/.claude-plugin/plugin.json").read_text())
    assert plugin["version"] == VERSION
    for path, pattern in (
        ("action.yml", r"kl-hooks/kl@v([\d.]+\d)"),
        ("docs/ci.md", r"kl-hooks/kl@v([\d.]+\d)"),
        ("docs/pre-commit.md", r"rev: v([\d.]+\d)"),
        ("docs/install.md", r"rev: v([\d.]+\d)"),
    ):
        stated = re.findall(pattern, (ROOT / path).read_text(encoding="utf-8"))
        assert stated and set(stated) == {VERSION}, path
    headings = re.findall(r"^## \[([^]]+)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert headings[:2] == ["Unreleased", VERSION]


def test_every_dependency_has_a_lower_bound_and_those_of_users_an_upper_one() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for text in project["dependencies"]:
        operators = {bound.operator for bound in Requirement(text).specifier}
        assert ">=" in operators, text
        assert "<" in operators or text.startswith("packaging"), text  # its versions are years


def test_only_what_is_committed_is_released(
    repo: Checkout, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(release, "ROOT", repo.root)
    monkeypatch.setattr(sys, "argv", ["release", "--output", str(repo.root / "dist")])
    assert release.uncommitted_files() == []
    repo.write("new.py", "")
    assert release.main() == 1
    assert "new.py" in capsys.readouterr().out
    assert not (repo.root / "dist").exists()


def test_a_key_that_nobody_trusts_here_is_refused_before_anything_is_built(
    repo: Checkout, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(release, "ROOT", repo.root)
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=":")
    key = tmp_path / "key"
    assert release.signing_problem("").startswith("no key")
    assert "can't read" in release.signing_problem(str(key))
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    assert "is not trusted here: kl trust add" in release.signing_problem(str(key))
    assert repo.kl("trust", "add", "release", "--key", f"{key}.pub").returncode == 0
    assert release.signing_problem(str(key)) == ""


def test_on_windows_kl_ends_with_one_line() -> None:
    code = "import sys; sys.platform = 'win32'; from kl_hooks.__main__ import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == "kl: Windows is not supported. Use WSL 2, or another POSIX system.\n"


def test_on_windows_a_test_run_is_not_recorded(
    pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = {"kl": True}.get
    assert folder_to_record(pytestconfig, asked) is not None
    monkeypatch.setattr(sys, "platform", "win32")
    assert folder_to_record(pytestconfig, asked) is None
