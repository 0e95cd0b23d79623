"""Native git hooks: they do their work, harm nobody's, and leave no trace when they are removed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import kl_hooks
from kl_hooks.errors import EnvironmentProblem, UsageProblem
from kl_hooks.git.hooks import HOOK_NAMES, hook_states, install_hooks, uninstall_hooks
from kl_hooks.git.repository import Repository
from tests.git.repos import CLEAN, commit, fingerprint, make, opened, sh, write

TOOLS = Path(sys.executable).parent

RULES = ".kl/architecture.yaml"


@pytest.fixture
def repo(tmp_path: Path) -> Iterator[Repository]:
    made = make(
        tmp_path / "r",
        {"a.py": "1\n", ".kl/config.yaml": "version: 1\n", RULES: "version: 1\nlayers: []\n"},
    )
    shutil.rmtree(made.git_dir / "hooks", ignore_errors=True)
    spool(made).mkdir(parents=True)
    yield made
    assert not list((made.common_dir / "hooks").glob(".*")), "no temporary file is left"


def spool(repo: Repository) -> Path:
    return repo.common_dir / "kl" / "spool"


def noted(repo: Repository) -> int:
    file = spool(repo) / "commits"
    return file.read_text().count("commit\n") if file.exists() else 0


def script(path: Path, text: str, mode: int = 0o755) -> bytes:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(mode)
    return path.read_bytes()


def fake_python(folder: Path, code: int = 0, line: str = "") -> str:
    """An interpreter that writes its last arguments and its environment down."""
    path = folder / "it's a folder" / "python"
    script(
        path,
        'echo "$4 $5 $6 to=$PRE_COMMIT_TO_REF from=$PRE_COMMIT_FROM_REF"'
        f' >>"{folder}/calls"\n{line}\nexit {code}',
    )
    return str(path)


def calls(folder: Path) -> list[str]:
    return (folder / "calls").read_text().splitlines() if (folder / "calls").exists() else []


def put(repo: Repository, *names: str, python: str = sys.executable) -> list[str]:
    return [done.action for done in install_hooks(repo, names, python, spool(repo))]


def states(repo: Repository) -> list[str]:
    return [hook.state for hook in hook_states(repo)]


def try_commit(
    repo: Repository, message: str = "try", **env: str
) -> subprocess.CompletedProcess[str]:
    command = ["git", "commit", "-q", "--allow-empty", "-m", message]
    return subprocess.run(
        command, cwd=repo.top, env=CLEAN | env, capture_output=True, text=True, check=False
    )


# post-commit


def test_a_commit_is_noted_without_starting_a_program(repo: Repository) -> None:
    assert put(repo, "post-commit") == ["installed"]
    commit(repo.top, "one")
    assert noted(repo) == 1
    bare = subprocess.run(
        ["/bin/sh", ".git/hooks/post-commit"], cwd=repo.top, env={"PATH": "/nowhere"}, check=False
    )
    assert (bare.returncode, noted(repo)) == (0, 2)


def test_noted_in_worktrees_subfolders_and_after_a_move(repo: Repository, tmp_path: Path) -> None:
    put(repo, "post-commit")
    sh(repo.top, "worktree", "add", "-q", str(tmp_path / "w"))
    commit(tmp_path / "w", "in a worktree")
    (repo.top / "sub").mkdir()
    sh(repo.top / "sub", "commit", "-q", "--allow-empty", "-m", "in a subfolder")
    assert noted(repo) == 2
    sh(repo.top, "worktree", "remove", str(tmp_path / "w"))
    repo.top.rename(tmp_path / "moved")
    commit(tmp_path / "moved", "moved")
    assert noted(opened(tmp_path / "moved")) == 3
    repo.top.mkdir()
    (tmp_path / "moved").rename(repo.top)


@pytest.mark.fault(
    "working tree state",
    promised="commits of every kind are noted",
    injected="rebase, cherry-pick, --no-verify",
)
def test_noted_for_rebase_cherry_pick_and_no_verify(repo: Repository) -> None:
    put(repo, "post-commit")
    first = commit(repo.top, "base")
    write(repo.top, {"x": "1\n"})
    picked = commit(repo.top, "x")
    sh(repo.top, "reset", "-q", "--hard", first)
    sh(repo.top, "cherry-pick", picked)
    sh(repo.top, "commit", "-q", "--allow-empty", "--no-verify", "-m", "unchecked")
    assert noted(repo) == 4


def test_a_spool_elsewhere_has_an_absolute_path(repo: Repository, tmp_path: Path) -> None:
    elsewhere = tmp_path / 'it\'s $(here) \\ "there"'
    elsewhere.mkdir()
    install_hooks(repo, ["post-commit"], sys.executable, elsewhere)
    commit(repo.top, "one")
    assert (elsewhere / "commits").read_text() == "commit\n"


@pytest.mark.parametrize("harm", ["no folder", "a folder in its place", "a file in the way"])
def test_trouble_with_the_spool_is_silent(repo: Repository, harm: str) -> None:
    put(repo, "post-commit")
    if harm == "a folder in its place":
        (spool(repo) / "commits").mkdir()
    else:
        spool(repo).rmdir()
        if harm == "a file in the way":
            spool(repo).write_text("")
    done = try_commit(repo)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


# beside what is there


def test_the_hook_that_was_there_runs_as_before_and_comes_back_as_it_was(
    repo: Repository, tmp_path: Path
) -> None:
    hooks = repo.git_dir / "hooks"
    record = f'echo "$# $1 $2" >>{tmp_path}/ran; cat >>{tmp_path}/ran'
    for name in HOOK_NAMES:
        script(hooks / name, record, 0o750)
    os.utime(hooks / "post-commit", (1, 1))
    before = fingerprint(hooks)
    python = fake_python(tmp_path)
    assert put(repo, python=python) == ["installed"] * 3
    assert put(repo, python=python) == ["unchanged"] * 3
    commit(repo.top, "one")
    sh(tmp_path, "init", "-q", "--bare", "remote.git")
    sh(repo.top, "push", "-q", str(tmp_path / "remote.git"), "main", "HEAD:refs/heads/two")
    sha = sh(repo.top, "rev-parse", "HEAD")
    ran = (tmp_path / "ran").read_text()
    assert ran.startswith("0  \n0  \n2 ")
    for target in ("main", "two"):
        assert (
            f"refs/heads/main {sha} refs/heads/{target} {'0' * 40}\n" in ran
            or f"HEAD {sha} refs/heads/{target}" in ran
        )
    assert noted(repo) == 1
    assert [done.action for done in uninstall_hooks(repo)] == ["restored"] * 3
    assert fingerprint(hooks) == before
    assert uninstall_hooks(repo) == []


def test_uninstall_leaves_nothing(repo: Repository) -> None:
    put(repo)
    assert [done.action for done in uninstall_hooks(repo)] == ["removed"] * 3
    assert list((repo.git_dir / "hooks").iterdir()) == []
    assert states(repo) == ["missing"] * 3


def test_a_linked_hook_is_chained_and_comes_back_as_a_link(
    repo: Repository, tmp_path: Path
) -> None:
    write(repo.top, {"tools/mine": f"#!/bin/sh\necho ran >>{tmp_path}/ran\n"})
    (repo.top / "tools/mine").chmod(0o755)
    (repo.git_dir / "hooks").mkdir()
    (repo.git_dir / "hooks/post-commit").symlink_to("../../tools/mine")
    put(repo, "post-commit")
    commit(repo.top, "one")
    assert ((tmp_path / "ran").read_text(), noted(repo)) == ("ran\n", 1)
    uninstall_hooks(repo)
    assert (repo.git_dir / "hooks/post-commit").readlink() == Path("../../tools/mine")
    assert "kl git hook" not in (repo.top / "tools/mine").read_text()


def test_a_hook_that_git_would_not_run_is_not_run_by_us_either(
    repo: Repository, tmp_path: Path
) -> None:
    script(repo.git_dir / "hooks/post-commit", f"touch {tmp_path}/ran", 0o644)
    put(repo, "post-commit")
    commit(repo.top, "one")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("code", [0, 1, 7])
def test_the_other_hooks_answer_counts(repo: Repository, tmp_path: Path, code: int) -> None:
    script(repo.git_dir / "hooks/pre-commit", f"exit {code}")
    put(repo, "pre-commit", python=fake_python(tmp_path))
    done = subprocess.run([".git/hooks/pre-commit"], cwd=repo.top, env=CLEAN, check=False)
    assert done.returncode == code
    assert len(calls(tmp_path)) == (code == 0)


def test_what_somebody_edited_is_not_touched(repo: Repository) -> None:
    put(repo, "post-commit")
    path = repo.git_dir / "hooks/post-commit"
    path.write_text(path.read_text() + "echo mine\n")
    before = path.read_bytes()
    assert states(repo)[0] == "edited"
    assert put(repo, "post-commit") == ["kept"]
    assert [done.action for done in uninstall_hooks(repo)] == ["kept"]
    assert path.read_bytes() == before


def test_two_hooks_to_keep_are_one_too_many(repo: Repository) -> None:
    script(repo.git_dir / "hooks/post-commit", "echo one")
    put(repo, "post-commit")
    script(repo.git_dir / "hooks/post-commit", "echo two")
    before = fingerprint(repo.git_dir / "hooks")
    assert put(repo, "post-commit") == ["refused"]
    assert [done.action for done in uninstall_hooks(repo)] == ["kept"]
    assert fingerprint(repo.git_dir / "hooks") == before
    (repo.git_dir / "hooks/post-commit").unlink()
    assert [done.action for done in uninstall_hooks(repo)] == ["restored"]


def test_hooks_that_start_hooks_come_to_an_end(repo: Repository) -> None:
    script(repo.git_dir / "hooks/post-commit", "git commit -q --allow-empty --amend -m again")
    put(repo, "post-commit")
    done = try_commit(repo)
    assert done.returncode == 0
    assert noted(repo) == 8
    assert try_commit(repo, KL_HOOK_DEPTH="x y").returncode == 0


def test_names_and_folders_that_cannot_be(repo: Repository) -> None:
    with pytest.raises(UsageProblem, match="'pre-comit' is no git hook"):
        put(repo, "post-commit", "pre-comit")
    assert states(repo) == ["missing"] * 3
    (repo.git_dir / "hooks").write_text("a file")
    with pytest.raises(EnvironmentProblem, match="can't be written"):
        put(repo)
    (repo.git_dir / "hooks").unlink()


# core.hooksPath


def test_husky_is_shown_what_to_add_and_never_edited(repo: Repository) -> None:
    put(repo, "post-commit")
    write(repo.top, {".husky/_/post-commit": "wrapper\n", ".husky/post-commit": "npm test\n"})
    sh(repo.top, "config", "core.hooksPath", ".husky/_")
    before = fingerprint(repo.top)
    assert states(repo) == ["inert", "missing", "missing"]
    done = install_hooks(repo, [], sys.executable, spool(repo))
    assert {d.action for d in done} == {"inert"}
    assert done[0].reason.endswith("add to .husky/post-commit: kl commits record")
    assert fingerprint(repo.top) == before
    write(repo.top, {".husky/post-commit": "npm test\nkl commits record\n"})
    assert states(repo)[0] == "called"
    assert [d.action for d in uninstall_hooks(repo)] == ["removed"]


def test_a_folder_of_the_person_or_none_at_all_is_left_alone(
    repo: Repository, tmp_path: Path
) -> None:
    (tmp_path / "mine").mkdir()
    for path, line in ((tmp_path / "mine", "add to"), (Path("/dev/null"), "git config --unset")):
        sh(repo.top, "config", "core.hooksPath", str(path))
        done = install_hooks(repo, [], sys.executable, spool(repo))
        assert {d.action for d in done} == {"inert"}
        assert line in done[0].reason
    assert not any((tmp_path / "mine").iterdir())


def test_a_folder_inside_git_is_used(repo: Repository) -> None:
    sh(repo.top, "config", "core.hooksPath", ".git/my-hooks")
    assert put(repo, "post-commit") == ["installed"]
    commit(repo.top, "one")
    assert noted(repo) == 1
    assert states(repo)[0] == "installed"
    assert [d.action for d in uninstall_hooks(repo)] == ["removed"]


def test_a_hooks_folder_that_is_a_link_into_the_tree_is_not_ours(repo: Repository) -> None:
    (repo.top / "githooks").mkdir()
    (repo.git_dir / "hooks").symlink_to("../githooks")
    assert put(repo) == ["inert"] * 3
    assert not any((repo.top / "githooks").iterdir())


# the gates


def test_pre_commit_asks_kl(repo: Repository, tmp_path: Path) -> None:
    put(repo, "pre-commit", python=fake_python(tmp_path))
    assert try_commit(repo).returncode == 0
    assert calls(tmp_path) == ["arch check --staged to= from="]


@pytest.mark.parametrize(
    ("code", "blocked", "line"),
    [
        (1, True, ""),
        (2, True, ""),
        (3, True, ""),
        (130, True, ""),
        (4, False, "is not blocked"),
        (69, False, "has no working kl"),
        (139, False, "is not blocked"),
    ],
)
def test_findings_block_a_commit_and_an_internal_error_does_not(
    repo: Repository, tmp_path: Path, code: int, blocked: bool, line: str
) -> None:
    put(repo, "pre-commit", python=fake_python(tmp_path, code))
    done = try_commit(repo)
    assert (done.returncode != 0) == blocked
    assert line in done.stderr
    assert bool(done.stderr) == bool(line)


def test_an_interpreter_that_was_removed(repo: Repository, tmp_path: Path) -> None:
    put(repo, python=fake_python(tmp_path))
    shutil.rmtree(tmp_path / "it's a folder")
    done = try_commit(repo)
    assert (done.returncode, noted(repo)) == (0, 1)
    assert done.stderr.count("\n") == 1
    assert "it's a folder/python is gone" in done.stderr
    assert "kl hooks install" in done.stderr
    assert states(repo) == ["installed", "broken", "broken"]
    assert put(repo) == ["unchanged", "updated", "updated"]


def test_an_interpreter_without_kl(repo: Repository, tmp_path: Path) -> None:
    script(tmp_path / "python", f'exec "{sys.executable}" -I -S "$@"')
    put(repo, "pre-commit", python=str(tmp_path / "python"))
    done = try_commit(repo)
    assert done.returncode == 0
    assert done.stderr.count("\n") == 1
    assert "python has no working kl" in done.stderr


def test_an_interpreter_with_kl(repo: Repository) -> None:
    put(repo, "pre-commit")
    done = try_commit(repo, PYTHONPATH=str(Path(kl_hooks.__file__).parent.parent))
    assert "has no working kl" not in done.stderr


def test_a_clean_commit_and_push_are_silent_and_drift_is_not(
    repo: Repository, tmp_path: Path
) -> None:
    layers = (
        "layers:\n- {name: a, paths: [a.py]}\n- {name: b, paths: [b.py]}\n- {name: c, paths:"
        " [gone.py]}\n"
    )
    put(repo)
    write(repo.top, {".kl/architecture.yaml": layers, "b.py": "1\n"})
    sh(repo.top, "add", "-A")
    done = try_commit(repo)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    sh(tmp_path, "init", "-q", "--bare", "remote.git")
    push = ["git", "push", "-q", str(tmp_path / "remote.git"), "HEAD"]
    done = subprocess.run(
        push, cwd=repo.top, env=CLEAN, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    write(repo.top, {"a.py": "import b\n"})
    sh(repo.top, "add", "-A")
    done = try_commit(repo)
    assert done.returncode == 1 and "a.py:1: a must not import b" in done.stdout + done.stderr


def test_skip_and_branches_from_before_kl(repo: Repository, tmp_path: Path) -> None:
    put(repo, "pre-commit", python=fake_python(tmp_path, 1))
    done = try_commit(repo, SKIP="other,kl-check")
    assert (done.returncode, "SKIP" in done.stderr) == (0, True)
    shutil.rmtree(repo.top / ".kl")
    assert try_commit(repo).returncode == 0
    assert calls(tmp_path) == []


def test_without_rules_no_program_is_started(repo: Repository, tmp_path: Path) -> None:
    sh(tmp_path, "init", "-q", "--bare", "remote.git")
    push = ("push", "-q", str(tmp_path / "remote.git"), "HEAD:main")
    sh(repo.top, *push)
    put(repo, "pre-commit", "pre-push", python=fake_python(tmp_path))
    sh(repo.top, "rm", "-q", RULES)
    for _ in range(3):
        assert try_commit(repo).returncode == 0
    sh(repo.top, *push)
    asked = [one.split()[2] for one in calls(tmp_path)]
    assert asked == [
        "--staged",
        "--pushed",
    ], "their removal, and a push onto a commit that has some"
    assert try_commit(repo).returncode == 0
    sh(repo.top, *push)
    assert len(calls(tmp_path)) == 2
    write(repo.top, {RULES: "layers: []\n"})
    sh(repo.top, "add", RULES)
    (repo.top / RULES).unlink()
    assert try_commit(repo).returncode == 0
    assert len(calls(tmp_path)) == 3, "staged, and not on disk"
    (repo.git_dir / "HEAD").rename(repo.git_dir / "HEAD~")
    hook = subprocess.run(
        [repo.common_dir / "hooks/pre-commit"], cwd=repo.top, env=CLEAN, check=False
    )
    assert (hook.returncode, len(calls(tmp_path))) == (0, 4), "where git can't answer kl is asked"


def test_pre_push_holds_each_commit_that_is_pushed(repo: Repository, tmp_path: Path) -> None:
    sh(tmp_path, "init", "-q", "--bare", "remote.git")
    sh(repo.top, "remote", "add", "o", str(tmp_path / "remote.git"))
    put(repo, "pre-push", python=fake_python(tmp_path))
    first = sh(repo.top, "rev-parse", "HEAD")
    sh(repo.top, "push", "-q", "o", "main", "main:again")
    second = commit(repo.top, "second")
    sh(repo.top, "push", "-q", "o", "main")
    sh(repo.top, "push", "-q", "o", ":again")
    assert calls(tmp_path) == [
        f"arch check --pushed to={first} from=",
        f"arch check --pushed to={second} from={first}",
    ]
    for code in (1, 4):
        put(repo, "pre-push", python=fake_python(tmp_path, code))
        commit(repo.top, "third")
        refused = subprocess.run(
            ["git", "push", "-q", "o", "main"],
            cwd=repo.top,
            env=CLEAN,
            check=False,
            capture_output=True,
        )
        assert refused.returncode != 0
    sh(repo.top, "push", "-q", "o", "main", SKIP="kl-check-push")
    assert sh(tmp_path / "remote.git", "rev-parse", "main") == sh(repo.top, "rev-parse", "HEAD")


# pre-commit and prek, in any order


CONFIG = """\
default_install_hook_types: [pre-commit, post-commit]
repos:
- repo: local
  hooks:
  - {id: seen, name: seen, language: system, entry: sh -c 'echo seen >>SEEN', always_run: true,
     pass_filenames: false, stages: [pre-commit, post-commit]}
"""


def tool(repo: Repository, name: str, *args: str) -> None:
    env = CLEAN | {
        "PRE_COMMIT_HOME": str(repo.top.parent / "pc"),
        "PREK_HOME": str(repo.top.parent / "prek"),
    }
    subprocess.run(
        [str(TOOLS / name), *args], cwd=repo.top, env=env, check=True, capture_output=True
    )


def hosted_commit(repo: Repository) -> tuple[int, int, int]:
    """(exit code, times their hooks ran, times ours did) of one commit."""
    seen, before = repo.top / "SEEN", noted(repo)
    seen.write_text("")
    home = str(repo.top.parent)
    done = try_commit(repo, PRE_COMMIT_HOME=f"{home}/pc", PREK_HOME=f"{home}/prek")
    ran = seen.read_text().count("seen")
    return done.returncode, ran, noted(repo) - before


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pre-commit", "prek"])
@pytest.mark.parametrize("ours_first", [True, False])
@pytest.mark.share(3)
def test_beside_pre_commit_in_any_order(repo: Repository, name: str, ours_first: bool) -> None:
    write(repo.top, {".pre-commit-config.yaml": CONFIG, ".git/info/exclude": "SEEN\n.husky\n"})
    commit(repo.top, "config")
    hooks = repo.git_dir / "hooks"
    script(hooks / "post-commit", "echo mine >>.git/mine")
    before = fingerprint(hooks)
    if ours_first:
        put(repo, "post-commit", "pre-commit", python=fake_python(repo.top.parent))
        tool(repo, name, "install")
    else:
        tool(repo, name, "install")
        put(repo, "post-commit", "pre-commit", python=fake_python(repo.top.parent))
    for again in (["install"], ["install", "--hook-type", "post-commit"]):
        assert hosted_commit(repo) == (0, 2, 1)
        assert states(repo)[:2] == ["installed", "installed"]
        tool(repo, name, *again)
        put(repo, "post-commit", "pre-commit", python=fake_python(repo.top.parent))
    assert (hooks / "post-commit.kl-chained").exists()
    assert len(calls(repo.top.parent)) == 2
    if ours_first:
        tool(repo, name, "uninstall")
        assert hosted_commit(repo) == (0, 0, 1)
        uninstall_hooks(repo)
    else:
        uninstall_hooks(repo)
        assert hosted_commit(repo) == (0, 2, 0)
        tool(repo, name, "uninstall")
    assert hosted_commit(repo) == (0, 0, 0)
    assert fingerprint(hooks) == before
    assert (repo.git_dir / "mine").read_text() == "mine\n" * 4


def test_pre_commit_uninstalled_under_us(repo: Repository) -> None:
    write(repo.top, {".pre-commit-config.yaml": CONFIG})
    tool(repo, "pre-commit", "install")
    put(repo, "post-commit")
    (repo.git_dir / "hooks/post-commit").unlink()
    assert states(repo)[0] == "missing"
    assert put(repo, "post-commit") == ["installed"]
    assert sorted(p.name for p in (repo.git_dir / "hooks").iterdir()) == [
        "post-commit",
        "pre-commit",
    ]
