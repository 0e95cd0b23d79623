"""`kl doctor`: names what is wrong, with its place and the next step."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support import KL, Checkout, run


def test_every_problem_of_the_settings_is_named_with_its_place(repo: Checkout) -> None:
    repo.write(".kl/config.yaml", "version: 1\nbudgt: 5\nplugin: x\n")
    done = repo.kl("doctor")
    assert done.returncode == 1
    assert '.kl/config.yaml:2:1: unknown key "budgt". Did you mean "budget"?' in done.stdout
    assert '.kl/config.yaml:3:1: unknown key "plugin".' in done.stdout
    assert done.stdout.count("fix: edit .kl/config.yaml") == 2


def test_a_mistake_in_the_layers_is_mended_in_their_file(repo: Checkout) -> None:
    repo.write(".kl/architecture.yaml", "layrs: []\n")
    done = repo.kl("doctor")
    assert done.returncode == 1
    assert 'unknown key "layrs". Did you mean "layers"?' in done.stdout and "missing" not in done.stdout
    assert "fix: edit .kl/architecture.yaml\n" in done.stdout


@pytest.mark.parametrize("inside", ["file", "file/x", "file/x/y"])
def test_a_state_directory_that_can_be_made_nowhere(repo: Checkout, tmp_path: Path, inside: str) -> None:
    (tmp_path / "file").write_text("")
    done = repo.kl("doctor", env={"KL_STATE": str(tmp_path / inside)})
    assert done.returncode == 1
    assert f"wrong   store        {tmp_path / 'file'} is not a folder; captures go to another spool." in done.stdout
    assert "fix: export KL_STATE=FOLDER" in done.stdout


def test_a_state_directory_below_one_that_takes_no_folders(repo: Checkout) -> None:
    done = repo.kl("doctor", env={"KL_STATE": "/proc/kl-state"})
    assert done.returncode == 1
    assert "wrong   store        /proc/kl-state can't be made" in done.stdout
    assert "fix: export KL_STATE=FOLDER" in done.stdout


def test_looking_at_a_state_directory_that_can_be_made_makes_none(repo: Checkout, tmp_path: Path) -> None:
    place = tmp_path / "new/state"
    done = repo.kl("doctor", env={"KL_STATE": str(place)})
    assert "remark  store        no evidence yet" in done.stdout
    assert sorted(one.name for one in tmp_path.iterdir() if one.name.startswith(("new", ".kl"))) == []


def test_a_file_system_that_is_mounted_read_only(repo: Checkout) -> None:
    inside = 'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" && cd "$1" && shift && exec "$@"'
    mounted = ["unshare", "-rm", "sh", "-c", inside, "sh", str(repo.root)]
    if shutil.which("unshare") is None or run([*mounted, "true"], repo.root, None).returncode:
        pytest.skip("this machine lets nobody mount anything")
    for first in (("doctor",), ("evidence", "list")):  # before there is a store, and with one
        assert repo.kl(*first).returncode == 0
        done = run([*mounted, *KL, "doctor"], repo.root, None)
        assert done.returncode == 1
        assert f"{repo.state} is on a file system that is mounted read-only" in done.stdout, done.stdout + done.stderr
        assert "fix: export KL_STATE=FOLDER" in done.stdout
    assert "known     1 receipt" in run([*mounted, *KL, "status"], repo.root, None).stdout


def test_a_kind_that_is_wrong_is_named_with_its_place(repo: Checkout) -> None:
    repo.write(".kl/kinds/risk.yaml", "name: risk\nprefix: RISK\npurpose: x\nstatuses: [open]\nnme: x\n")
    done = repo.kl("doctor")
    assert (done.returncode, done.stdout.count(".kl/kinds/risk.yaml:5:1")) == (1, 1), done.stdout
    assert "fix: edit .kl/kinds/risk.yaml" in done.stdout
    assert "risk.yaml" not in done.stderr
