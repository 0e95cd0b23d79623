"""The catalogue: each name, plural and prefix once; where two files share one, neither is taken.

Opening a repository: finds, and creates nothing.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from kl_hooks.clock import FixedClock
from kl_hooks.errors import EnvironmentProblem, UsageProblem
from kl_hooks.kinds.plugin import kl_kinds
from kl_hooks.workspace import build_catalog, find_kl_root, open_workspace

RISK = "name: {name}\nplural: {plural}\nprefix: {prefix}\npurpose: x\nstatuses: [open]\n"


def kind(root: Path, file: str, name: str, plural: str, prefix: str) -> None:
    folder = root / ".kl/kinds"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / file).write_text(RISK.format(name=name, plural=plural, prefix=prefix))


@pytest.mark.parametrize(
    "other",
    [
        ("risk", "perils", "PERIL"),
        ("peril", "risks", "PERIL"),
        ("peril", "perils", "RISK"),
        ("risks", "xs", "PERIL"),
    ],
)
def test_two_files_of_one_name_take_nothing_from_each_other(
    tmp_path: Path, other: tuple[str, str, str]
) -> None:
    kind(tmp_path, "risk.yaml", "risk", "risks", "RISK")
    kind(tmp_path, "aaa.yaml", *other)
    kind(tmp_path, "good.yaml", "good", "goods", "GOOD")
    found = build_catalog(tmp_path, [])
    assert list(found.kinds) == ["good"]
    assert [one.path for one in found.problems] == [".kl/kinds/aaa.yaml", ".kl/kinds/risk.yaml"]
    for one in found.problems:
        assert "aaa.yaml" in str(one) and "risk.yaml" in str(one)


def test_a_file_takes_no_name_from_kl(tmp_path: Path) -> None:
    kind(tmp_path, "mine.yaml", "memory", "mine", "MINE")
    ours = list(kl_kinds())
    found = build_catalog(tmp_path, ours)
    assert list(found.kinds.values()) == ours
    (problem,) = found.problems
    assert problem.path == ".kl/kinds/mine.yaml" and "from kl" in problem.message


def test_what_is_installed_and_does_not_fit_together_is_refused(tmp_path: Path) -> None:
    first, *_ = kl_kinds()
    with pytest.raises(UsageProblem, match="is there twice"):
        build_catalog(tmp_path, [first, first])


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin"}


def git(folder: Path, *args: str) -> None:
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    subprocess.run(["git", *identity, *args], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    folder.mkdir()
    git(folder, "init", "-q")
    return folder.resolve()


def everything(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*"))


def test_the_root_is_gits_and_nothing_is_created(repo: Path, environ: dict[str, str]) -> None:
    (repo / "deep" / "er").mkdir(parents=True)
    before = everything(repo)
    ws = open_workspace(repo / "deep" / "er", environ=environ, clock=FixedClock(7))
    assert (ws.root, ws.initialized, ws.clock.now()) == (repo, False, 7)
    assert ws.state.directory == repo / ".git" / "kl"
    with ws.store.reading() as db:
        assert db is None
    assert everything(repo) == before
    assert not Path(environ["HOME"]).exists()


def test_without_git_the_folder_with_a_kl_folder_is_the_root(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    (tmp_path / "plain" / ".kl").mkdir(parents=True)
    (tmp_path / "plain" / "sub").mkdir()
    ws = open_workspace(tmp_path / "plain" / "sub", environ=environ)
    assert ws.root == find_kl_root(tmp_path / "plain" / "sub") == tmp_path / "plain"
    assert ws.repo is None
    assert ws.state.directory.is_relative_to(environ["HOME"])


def test_worktrees_share_the_evidence_and_have_a_graph_each(
    repo: Path, environ: dict[str, str]
) -> None:
    git(repo, "commit", "-q", "--allow-empty", "-m", "one")
    git(repo, "worktree", "add", "-q", str(repo.parent / "other"))
    here, there = (
        open_workspace(place, environ=environ) for place in (repo, repo.parent / "other")
    )
    assert here.state.database == there.state.database
    assert here.state.graph != there.state.graph
    assert there.root == repo.parent / "other"


def test_another_place_comes_from_the_environment_or_gits_configuration(
    repo: Path, environ: dict[str, str]
) -> None:
    git(repo, "config", "kl.state", str(repo.parent / "configured"))
    assert open_workspace(repo, environ=environ).state.directory == repo.parent / "configured"
    named = environ | {"KL_STATE": str(repo.parent / "named")}
    assert open_workspace(repo, environ=named).state.directory == repo.parent / "named"


def test_a_state_directory_that_git_tracks_is_refused(repo: Path, environ: dict[str, str]) -> None:
    (repo / "state").mkdir()
    (repo / "state" / "kl.db").write_bytes(b"came with the clone")
    git(repo, "add", ".")
    with pytest.raises(EnvironmentProblem, match="part of the repository"):
        open_workspace(repo, environ=environ | {"KL_STATE": str(repo / "state")})
