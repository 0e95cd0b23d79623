"""What is reported about the environment and the selection: names, versions and digests, and no
value of a variable.
"""

from __future__ import annotations

from pathlib import Path

from .recorded import only, repository, run_pytest

TEST = {"test_x.py": "def test_a(): pass\n"}


def test_lock_files_local_plugins_and_distributions_are_named(tmp_path: Path) -> None:
    files = {
        "uv.lock": "one\n",
        "conftest.py": "",
        "helper/__init__.py": "",
        "helper/more.py": "",
        **TEST,
    }
    repository(tmp_path, files)
    args = ["-p", "helper.more", "-o", "pythonpath=."]
    assert run_pytest(tmp_path, *args).returncode == 0
    first = only(tmp_path).opening["environment"]
    assert first["local_plugins"].keys() == {"conftest.py", "helper/more.py"}
    assert first["locks"].keys() == {"uv.lock"}
    assert {"pytest-xdist", "pytest-rerunfailures"} <= first["plugins"].keys()
    assert first["python"].count(".") == 2


def test_the_same_environment_is_described_in_the_same_words(tmp_path: Path) -> None:
    from .recorded import recorded

    repository(tmp_path, {"conftest.py": "", **TEST})
    for _ in range(2):
        assert run_pytest(tmp_path).returncode == 0
    (tmp_path / "conftest.py").write_text("# edited\n", encoding="utf-8")
    assert run_pytest(tmp_path).returncode == 0
    first, second, third = (run.opening["environment"] | {"pid": 0} for run in recorded(tmp_path))
    assert first == second != third


def test_no_value_of_a_variable_is_stored_that_is_not_asked_for(tmp_path: Path) -> None:
    repository(tmp_path, TEST)
    env = {
        "SOMETHING": "only-the-tests-business",
        "GITHUB_ACTIONS": "true",
        "GITHUB_RUN_ID": "77",
        "CLAUDECODE": "1",
    }
    assert run_pytest(tmp_path, env=env).returncode == 0
    run = only(tmp_path)
    assert b"only-the-tests-business" not in run.path.read_bytes()
    assert run.opening["environment"]["ci"] == "github:77"
    assert run.opening["environment"]["agent"] == "claude-code"
    assert run.opening["producer"] == "ci:github:77"


def test_options_in_force_are_on_record_wherever_they_come_from(tmp_path: Path) -> None:
    repository(
        tmp_path, {"pytest.ini": "[pytest]\naddopts = -m 'not slow'\nmarkers = slow\n", **TEST}
    )
    assert run_pytest(tmp_path, "--maxfail=3", env={"PYTEST_ADDOPTS": "-k test_a"}).returncode == 0
    selection = only(tmp_path).opening["selection"]
    assert (selection["markers"], selection["keyword"], selection["maxfail"]) == (
        "not slow",
        "test_a",
        3,
    )
    assert selection["addopts"] == ["-m", "not slow", "-k test_a"]
    assert selection["args"][-1] == "--maxfail=3"
