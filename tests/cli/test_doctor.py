"""`kl doctor`: names what is wrong, with its place and the next step."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support import KL, Checkout, checkout, run, sql


def test_every_problem_of_the_settings_is_named_with_its_place(repo: Checkout) -> None:
    repo.write(".kl/config.yaml", "version: 1\nbudgt: 5\nplugin: x\n")
    done = repo.kl("doctor")
    assert done.returncode == 1
    assert '.kl/config.yaml:2:1: unknown key "budgt". Did you mean "budget"?' in done.stdout
    assert '.kl/config.yaml:3:1: unknown key "plugin".' in done.stdout
    assert done.stdout.count("fix: edit .kl/config.yaml") == 2


def test_a_mistake_in_the_layers_is_fixed_in_their_file(repo: Checkout) -> None:
    repo.write(".kl/architecture.yaml", "layrs: []\n")
    done = repo.kl("doctor")
    assert done.returncode == 1
    assert (
        'unknown key "layrs". Did you mean "layers"?' in done.stdout
        and "missing" not in done.stdout
    )
    assert "fix: edit .kl/architecture.yaml\n" in done.stdout


@pytest.mark.parametrize("inside", ["file", "file/x", "file/x/y"])
def test_a_state_directory_that_can_be_made_nowhere(
    repo: Checkout, tmp_path: Path, inside: str
) -> None:
    (tmp_path / "file").write_text("")
    done = repo.kl("doctor", env={"KL_STATE": str(tmp_path / inside)})
    assert done.returncode == 1
    assert (
        f"wrong   store        {tmp_path / 'file'} is not a folder; captures go to another spool."
        in done.stdout
    )
    assert "fix: export KL_STATE=FOLDER" in done.stdout


@pytest.mark.both_databases
def test_a_state_directory_below_one_that_takes_no_folders(repo: Checkout) -> None:
    done = repo.kl("doctor", env={"KL_STATE": "/proc/kl-state"})
    assert done.returncode == 1
    assert "wrong   store        /proc/kl-state can't be made" in done.stdout
    assert "fix: export KL_STATE=FOLDER" in done.stdout


@pytest.mark.local_database
def test_looking_at_a_state_directory_that_can_be_made_makes_none(
    repo: Checkout, tmp_path: Path
) -> None:
    place = tmp_path / "new/state"
    done = repo.kl("doctor", env={"KL_STATE": str(place)})
    assert "remark  store        no evidence yet" in done.stdout
    assert (
        sorted(one.name for one in tmp_path.iterdir() if one.name.startswith(("new", ".kl"))) == []
    )


def test_a_cache_that_can_be_made_nowhere(repo: Checkout) -> None:
    done = repo.kl("doctor", env={"XDG_CACHE_HOME": "/proc"})
    assert "remark  folders      /proc: can't make a file: " in done.stdout
    assert "export XDG_CACHE_HOME=FOLDER" in done.stdout
    assert "folders" not in repo.kl("doctor").stdout


@pytest.mark.slow
@pytest.mark.both_databases
@pytest.mark.fault(
    "read-only place",
    promised="named, with the fix",
    injected="a read-only mount",
)
def test_a_file_system_that_is_mounted_read_only(repo: Checkout) -> None:
    inside = (
        'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" && cd "$1" && shift && exec "$@"'
    )
    mounted = ["unshare", "-rm", "sh", "-c", inside, "sh", str(repo.root)]
    if shutil.which("unshare") is None or run([*mounted, "true"], repo.root, None).returncode:
        pytest.skip("this machine lets nobody mount anything")
    for first in (("doctor",), ("evidence", "list")):  # before there is a store, and with one
        assert repo.kl(*first).returncode == 0
        done = run([*mounted, *KL, "doctor"], repo.root, None)
        assert done.returncode == 1
        assert f"{repo.state} is on a file system that is mounted read-only" in done.stdout, (
            done.stdout + done.stderr
        )
        assert "fix: export KL_STATE=FOLDER" in done.stdout
    assert "evidence  1 receipt" in run([*mounted, *KL, "status"], repo.root, None).stdout


def test_a_kind_that_is_wrong_is_named_with_its_place(repo: Checkout) -> None:
    repo.write(
        ".kl/kinds/risk.yaml", "name: risk\nprefix: RISK\npurpose: x\nstatuses: [open]\nnme: x\n"
    )
    done = repo.kl("doctor")
    assert (done.returncode, done.stdout.count(".kl/kinds/risk.yaml:5:1")) == (1, 1), done.stdout
    assert "fix: edit .kl/kinds/risk.yaml" in done.stdout
    assert "risk.yaml" not in done.stderr


@pytest.mark.local_database
@pytest.mark.parametrize(
    "harm", ["DROP TABLE receipt", "DELETE FROM schema_step", "DROP TABLE schema_step"]
)
@pytest.mark.share(3)
def test_a_store_whose_tables_do_not_fit_is_damaged_and_not_our_bug(
    repo: Checkout, harm: str
) -> None:
    assert repo.kl("run", "--", "true").returncode == 0
    assert repo.kl("evidence", "list").returncode == 0
    sql(repo.state / "kl.db", harm)
    for command in (("status",), ("evidence", "list"), ("verify",), ("decision", "list")):
        done = repo.kl(*command)
        assert done.returncode == 3, (command, done.stdout, done.stderr)
        assert "Keep it for a look: mv kl.db kl.db.damaged" in done.stderr
    done = repo.kl("doctor")
    assert done.returncode == 1
    assert (
        f"fix: copy the file if you want to examine it, then move it away: mv {repo.state}/kl.db"
        in done.stdout
    )


def a_file(path: Path) -> None:
    path.write_text("x")


def a_link(path: Path) -> None:
    path.symlink_to("nowhere")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "put", "states"),
    [
        (".git/kl/kl.db", os.mkfifo, "is no regular file, where kl stores a file."),
        (".git/kl", a_file, "is a file, where kl stores a folder."),
        (".git/kl", a_link, "is a link that leads nowhere, where kl stores a folder."),
        (".git/kl/spool", a_file, "is a file, where kl stores a folder."),
        (".git/kl/graph", a_file, "is a file, where kl stores a folder."),
        (".git/kl/graph/main.db", Path.mkdir, "is a folder, where kl stores a file."),
        (".git/kl/store.lock", Path.mkdir, "is a folder, where kl stores a file."),
        (".git/kl/store.lock", os.mkfifo, "is no regular file, where kl stores a file."),
        (".kl/knowledge", a_file, "is a file, where kl stores a folder."),
    ],
)
@pytest.mark.share(3)
def test_what_is_where_kl_keeps_something_else_is_named(
    repo: Checkout, name: str, put: Callable[[Path], None], states: str
) -> None:
    assert repo.kl("graph", "build").returncode == 0
    assert repo.kl("evidence", "list").returncode == 0
    path = repo.root / name
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    put(path)
    done = repo.kl("doctor")
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"{path} {states}" in done.stdout
    assert f"fix: mv {path} {path}.aside" in done.stdout
    assert "chown" not in done.stdout
    path.rename(f"{path}.aside")
    assert "where kl keeps" not in repo.kl("doctor").stdout


def test_a_damaged_index_of_git_is_named_with_the_way_to_a_new_one(repo: Checkout) -> None:
    index = repo.root / ".git/index"
    index.write_text("broken")
    done = repo.kl("doctor")
    assert done.returncode == 1
    assert "index file smaller than expected" in done.stdout
    fix = f"mv {index} {index}.damaged; git reset -q"
    assert f"fix: {fix}   (then stage again" in done.stdout
    assert run(["sh", "-c", fix], repo.root).returncode == 0
    assert "smaller" not in repo.kl("doctor").stdout
    assert repo.git("status", "--porcelain") == ""


def test_a_set_up_that_git_ignores_is_named_with_the_rule(tmp_path: Path, home: Path) -> None:
    """Some projects ignore `.*`: the gate of a commit would see no manifest."""
    repo = checkout(
        tmp_path / "repo", {".gitignore": "build\n.*\n", "shop.py": "X = 1\n"}, kl=False
    )
    assert (
        "  ignored .kl/ by .gitignore:2 (.*): commits would not have it." in repo.kl("init").stdout
    )
    done = repo.kl("doctor")
    assert (
        done.returncode == 1
        and "ignored by .gitignore:2 (.*): commits and clones don't have it." in done.stdout
    )
    assert "echo '!/.kl/' >> .gitignore" in done.stdout
    repo.write(".gitignore", "build\n.*\n!/.kl/\n")
    assert "ignored" not in repo.kl("doctor").stdout


def test_an_agent_sees_that_something_is_wrong_and_nothing_of_a_denied_file(
    repo: Checkout,
) -> None:
    repo.write(".kl/kinds/payroll.yaml", "name: payroll\nsalary: 1\n")
    rule = '{paths: [".kl/kinds/**"], actors: [agent]}'
    repo.write(".kl/policy.yaml", f"version: 1\nrules:\n  - name: own\n    deny: {rule}\n")
    agent = {"KL_AGENT": "bot"}
    assert "salary" in repo.kl("doctor").stdout
    for shape in ("text", "json"):
        shown = repo.kl("doctor", "--format", shape, env=agent)
        assert shown.returncode == 1
        assert "salary" not in shown.stdout and "payroll" not in shown.stdout + shown.stderr
    listed = repo.kl("memory", "list", env=agent)
    assert listed.returncode == 0 and "payroll" not in listed.stderr, listed.stderr
    assert "payroll" in repo.kl("memory", "list").stderr
