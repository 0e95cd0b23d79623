"""Third-party plugins: installed, named by the user, and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kl_hooks.errors import EnvironmentProblem, UsageProblem
from kl_hooks.plugins import BUILT_IN, manager
from kl_hooks.store.redaction import configure_redaction, redact, redact_value
from kl_hooks.workspace import open_workspace

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


@pytest.mark.parametrize("broken", [False, True])
@pytest.mark.share("True")
def test_a_plugin_that_is_missing_disables_what_needs_it_and_nothing_else(
    repo: Path, installed: Path, tmp_path: Path, broken: bool
) -> None:
    site = installed if broken else tmp_path / "nowhere"
    (installed / "codenames.py").write_text("import no_such_module\n")
    (repo / ".kl" / "architecture.yaml").write_text(
        "version: 1\nlayers:\n  - {name: a, paths: [a.py]}\n"
    )
    (repo / "a.py").write_text("A = 1\n")
    subprocess.run(["git", "-C", str(repo), "config", "kl.plugins", "codenames"], check=True)
    reason = "can't be imported: ModuleNotFoundError" if broken else "is not installed"
    missing = f"plugins: plugin 'codenames' {reason}"
    (repo / "test_a.py").write_text("def test_a(): assert True\n")
    git = ["git", "-C", str(repo), "-c", "user.name=a", "-c", "user.email=a@b.example"]
    subprocess.run([*git, "add", "-A"], check=True)
    subprocess.run([*git, "commit", "-qm", "first"], check=True)
    # they need no plugin; of what is redacted nothing is recorded
    for command in (
        ["config"],
        ["arch", "check"],
        ["knowledge", "check"],
        ["run", "--", "sh", "-c", "echo the bluebird flies"],
        ["commits", "record"],
        ["evidence", "list"],
    ):
        done = kl(repo, site, *command)
        assert (done.returncode, "Traceback" in done.stderr) == (0, False), (command, done.stderr)
        assert (missing in done.stderr) is (command[0] != "commits")
    # a run of tests that is not recorded is known to be missing: it may have failed
    judged = kl(repo, site, "verify")
    assert (judged.returncode, "could not be recorded" in judged.stdout) == (1, False)
    ran = kl(repo, site, "run", "--", sys.executable, "-m", "pytest", "-q", "test_a.py")
    assert (ran.returncode, f"kl: not recorded - {missing}" in ran.stdout) == (0, True)
    judged = kl(repo, site, "verify")
    assert (judged.returncode, "could not be recorded" in judged.stdout) == (3, True), judged
    examined = kl(repo, site, "doctor")
    assert examined.stdout.count(f"'codenames' {reason}") == 1
    assert "kl config names the place" in examined.stdout
    assert "ok      layers" in examined.stdout
    # they write, or show texts that the plugin may redact
    for command in (["remember", "a", "b"], ["memory", "add", "x"], ["context", "a"]):
        done = kl(repo, site, *command)
        assert done.returncode == 3 and missing in done.stderr, (command, done)
    # an agent is shown nothing
    for command in (["memory", "list"], ["verify"], ["tool", "memory_search", '{"query": "a"}']):
        done = kl(repo, site, *command, KL_AGENT="bot")
        assert done.returncode != 0 and missing in done.stderr + done.stdout, (command, done)
    written = [path for path in repo.rglob("*") if path.is_file()]
    assert not any(b"bluebird" in path.read_bytes() for path in written)
    assert list((repo / ".git" / "kl" / "spool").glob("*.jsonl")) == []


def test_a_text_is_not_redacted_in_part_where_a_plugin_is_missing(
    repo: Path,
) -> None:
    name_it(repo.parent / "home" / ".config" / "kl" / "config.yaml")
    try:
        open_workspace(repo, environ={"HOME": str(repo.parent / "home")})
        for text in ("harmless", "the bluebird flies"):
            with pytest.raises(EnvironmentProblem, match="'codenames' is not installed"):
                redact(text)
        with pytest.raises(EnvironmentProblem):
            redact_value({"a": ["harmless"]})
    finally:
        configure_redaction()
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
