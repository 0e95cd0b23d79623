"""Third-party plugins: installed, named by the user, and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kl_hooks.errors import UsageProblem
from kl_hooks.plugins import BUILT_IN, manager

ROOT = Path(__file__).resolve().parents[1]
PLUGIN = """
from kl_hooks.hookspecs import hookimpl
print("the plugin was imported")
@hookimpl
def kl_redact():
    return [("codename", lambda text: text.replace("bluebird", "[redacted:codename]"))]
"""


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A folder like site-packages with one plugin in it, installed under the name `codenames`."""
    site = tmp_path / "site"
    info = site / "codenames-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "codenames.py").write_text(PLUGIN, encoding="utf-8")
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: codenames\nVersion: 1.0\n", encoding="utf-8"
    )
    (info / "entry_points.txt").write_text("[kl]\ncodenames = codenames\n", encoding="utf-8")
    return site


def kl(repo: Path, site: Path, *argv: str, **more: str) -> subprocess.CompletedProcess[str]:
    environ = {k: v for k, v in os.environ.items() if not k.startswith(("KL_", "GIT_", "XDG_"))}
    environ |= {
        "HOME": str(repo.parent / "home"),
        "PYTHONPATH": f"{ROOT}{os.pathsep}{site}",
        **more,
    }
    argv = (sys.executable, "-m", "kl_hooks", *argv)
    return subprocess.run(argv, cwd=repo, env=environ, capture_output=True, text=True, check=False)


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    (folder / ".kl").mkdir(parents=True)
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    return folder


def name_it(config: Path) -> None:
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text("plugins: [codenames]\n", encoding="utf-8")


def tail_of(repo: Path, site: Path) -> str:
    kl(repo, site, "run", "--", "sh", "-c", "echo the bluebird flies; exit 1")
    return kl(repo, site, "evidence", "list", "--format", "json").stdout


def test_an_installed_plugin_that_nobody_named_is_not_imported(repo: Path, installed: Path) -> None:
    assert "the plugin was imported" not in kl(repo, installed, "status").stdout
    assert "bluebird flies" in tail_of(repo, installed)


def test_a_plugin_that_the_user_named_takes_part_from_the_first_write(
    repo: Path, installed: Path
) -> None:
    name_it(repo.parent / "home" / ".config" / "kl" / "config.yaml")
    seen = tail_of(repo, installed)
    assert "the plugin was imported" in seen
    assert "[redacted:codename] flies" in seen
    assert not [
        p
        for p in (repo / ".git" / "kl").rglob("*")
        if p.is_file() and b"bluebird" in p.read_bytes()
    ]


def test_a_plugin_that_only_the_repository_names_is_not_imported_and_doctor_reports_it(
    repo: Path, installed: Path
) -> None:
    name_it(repo / ".kl" / "config.yaml")
    assert "the plugin was imported" not in kl(repo, installed, "status").stdout
    assert "codenames" in kl(repo, installed, "doctor").stdout


def test_a_named_plugin_that_is_not_installed_is_a_usage_error(repo: Path, tmp_path: Path) -> None:
    name_it(repo.parent / "home" / ".config" / "kl" / "config.yaml")
    done = kl(repo, tmp_path / "nowhere", "evidence", "list")
    assert done.returncode == 2
    assert "'codenames' is not installed" in done.stderr
    with pytest.raises(UsageProblem):
        manager(["codenames"])


def test_kl_trace_prints_every_call(repo: Path, tmp_path: Path) -> None:
    assert (
        "kl_schema"
        in kl(repo, tmp_path, "run", "--", "true", KL_TRACE="1").stderr
        + kl(repo, tmp_path, "evidence", "list", KL_TRACE="1").stderr
    )


def test_the_built_in_entry_points_are_in_the_packages_they_name() -> None:
    assert [name for name, _ in manager().list_name_plugin()] == list(BUILT_IN)
