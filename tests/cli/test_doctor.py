"""`kl doctor`: names what is wrong, with its place and the next step."""

from __future__ import annotations

import shutil

import pytest

from tests.support import KL, Checkout, run, sql


def test_every_problem_of_the_settings_is_named_with_its_place(repo: Checkout) -> None:
    repo.write(".kl/config.yaml", "version: 1\nbudgt: 5\nplugin: x\n")
    done = repo.kl("doctor")
    assert done.returncode == 1
    assert '.kl/config.yaml:2:1: unknown key "budgt". Did you mean "budget"?' in done.stdout
    assert '.kl/config.yaml:3:1: unknown key "plugin".' in done.stdout
    assert done.stdout.count("fix: edit .kl/config.yaml") == 2


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


@pytest.mark.parametrize("harm", ["DROP TABLE receipt", "DELETE FROM schema_step", "DROP TABLE schema_step"])
def test_a_store_whose_tables_do_not_fit_is_damaged_and_not_our_bug(repo: Checkout, harm: str) -> None:
    assert repo.kl("run", "--", "true").returncode == 0
    assert repo.kl("evidence", "list").returncode == 0
    sql(repo.state / "kl.db", harm)
    for command in (("status",), ("evidence", "list"), ("verify",), ("decision", "list")):
        done = repo.kl(*command)
        assert done.returncode == 3, (command, done.stdout, done.stderr)
        assert "Keep it for a look: mv kl.db kl.db.damaged" in done.stderr
    done = repo.kl("doctor")
    assert done.returncode == 1
    assert f"fix: keep the file for a look, then move it away: mv {repo.state}/kl.db" in done.stdout
