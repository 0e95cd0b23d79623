"""Several tests of one recorded name: redaction replaced the parameters by which they differ."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from kl_hooks.evidence.shared_names import may_be_shared, reports_all_cases
from tests.proof.test_gate_union import made
from tests.pytest_kl.recorded import environment, git, repository, run_pytest
from tests.support import run_in_process

DURATIONS = ("P18Y9M4DT11H9M8S", "P3Y6M4DT12H30M5S", "P1DT2H3M4S")
"""ISO 8601 durations, as the tests of isodate have them: random words to redaction."""
TESTS = f"""import pytest
from lib import accepts

@pytest.mark.parametrize(
    "text,expectation,form,alternative",
    [(text, [text], "P%P", None) for text in {DURATIONS!r}],
)
def test_parse(text, expectation, form, alternative):
    assert accepts(text)

def test_other():
    pass
"""
FILES = {
    "lib.py": "def accepts(text):\n    return True\n",
    "test_parse.py": TESTS,
    "pytest.ini": "[pytest]\n",
}
FUNCTION = "test_parse.py::test_parse"
FIRST = f"{FUNCTION}[{DURATIONS[0]}-expectation0-P%P-None]"


@pytest.fixture
def proven(tmp_path: Path) -> Path:
    """A repository in which all tests passed, and one of three that share a name fails since."""
    if sys.version_info < (3, 12):
        pytest.skip("executed symbols are recorded from Python 3.12 on")
    folder = repository(tmp_path / "repo", FILES)
    assert run_pytest(folder).returncode == 0
    (folder / "lib.py").write_text(
        f"def accepts(text):\n    return text != {DURATIONS[1]!r}\n", encoding="utf-8"
    )
    git(folder, "commit", "-qam", "edit")
    return folder


def verify(folder: Path) -> tuple[int, str]:
    done = run_in_process(["verify"], folder, environment({}))
    return done.returncode, done.stdout


OMITTED = f"{FUNCTION}[{DURATIONS[1]}-expectation1-P%P-None]"


@pytest.mark.parametrize(
    ("selection", "added"),
    [
        ((FIRST,), ""),
        (("-k", f"{DURATIONS[0]} or test_other"), ""),
        ((), f"--deselect={OMITTED}"),
        ((), f"-k{DURATIONS[0]}"),
    ],
)
@pytest.mark.share(2)
def test_the_pass_of_one_test_is_none_of_others_that_have_its_name(
    proven: Path, selection: tuple[str, ...], added: str
) -> None:
    assert "[redacted:" in verify(proven)[1], "the name is recorded as others' too"
    environ = {"PYTEST_ADDOPTS": added} if added else {}
    assert run_pytest(proven, *selection, env=environ).returncode == 0
    code, text = verify(proven)
    assert code == 1, text
    if not added:
        assert f"hint: pytest {FUNCTION}\n" in text
    assert ("share a redacted name" in text) == (FIRST in selection or added.startswith("-k"))
    # nor is it one of a later content
    (proven / "README.md").write_text("more\n", encoding="utf-8")
    git(proven, "add", "-A")
    git(proven, "commit", "-qm", "a page")
    assert verify(proven)[0] == 1


def test_the_command_of_the_hint_settles_it(proven: Path) -> None:
    assert run_pytest(proven, FUNCTION).returncode == 1
    code, text = verify(proven)
    assert (code, "1 failing" in text) == (1, True), text
    # a pass of another test of the name does not end the failure
    assert run_pytest(proven, FIRST).returncode == 0
    code, text = verify(proven)
    assert (code, "did not pass since" in text) == (1, True), text
    listed = run_in_process(["claim", "list", "--format", "json"], proven, environment({}))
    claims = [claim["text"] for claim in json.loads(listed.stdout)["claims"]]
    assert claims == ["Test passes: test_parse.py::test_other"]
    (proven / "lib.py").write_text("def accepts(text):\n    return bool(text)\n", encoding="utf-8")
    assert run_pytest(proven, FUNCTION).returncode == 0
    assert verify(proven)[0] == 0


def test_selected_by_what_changed_all_tests_of_the_name_run(proven: Path) -> None:
    done = run_pytest(proven, "--kl-impacted")
    assert (done.returncode, "1 failed, 2 passed, 1 deselected" in done.stdout) == (1, True)
    (proven / "lib.py").write_text("def accepts(text):\n    return bool(text)\n", encoding="utf-8")
    assert run_pytest(proven, "--kl-impacted", "--kl-audit=off").returncode == 0
    assert verify(proven)[0] == 0


def test_names_that_others_may_have() -> None:
    assert may_be_shared("test:a.py::t[[redacted:random]-1]")
    assert may_be_shared("test:a.py::t[<A object at 0x7f00aa>]")
    assert not may_be_shared("test:a.py::t[redacted at 0x1]")


@pytest.mark.parametrize(
    ("selection", "is_whole"),
    [
        ({}, True),
        ({"args": ["a.py::t"], "left_out": {"files": 1}}, True),
        ({"args": ["a.py::t[1]"], "left_out": {"files": 1}}, False),
        ({"keyword": "x", "deselected": 1}, False),
        ({"deselected": 1, "impacted": True}, True),
        ({"dropped": 1}, False),
    ],
)
def test_runs_that_report_all_cases(selection: dict[str, object], is_whole: bool) -> None:
    assert reports_all_cases(made("a1", selection=selection).receipt) is is_whole
