"""`kl verify` after changes that no test executes or reads: in real repositories, with recorded
runs of pytest.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from kl_hooks.evidence.ingestion import sync_evidence
from tests.evidence.making import leave_run
from tests.support import Checkout, checkout

RESULTS = [("test_x.py::test_a", "passed", 5), ("test_x.py::test_b", "passed", 5)]
FILES = {
    "test_x.py": "def test_a(): pass\ndef test_b(): pass\n",
    "src/a.py": "",
    "CHANGES.rst": "none\n",
    "data.json": "{}",
    "pyproject.toml": "[tool.pytest.ini_options]\naddopts = ''\n",
    "docs/guide.txt": "text\n",
}


def proven(tmp_path: Path, results: Any = RESULTS, **files: str) -> Checkout:
    """A repository with a recorded run of its content."""
    made = checkout(
        tmp_path / "repo",
        {**FILES, **{name.replace("__", "."): text for name, text in files.items()}},
    )
    leave_run(made.workspace(), results)
    sync_evidence(made.workspace())
    return made


def verdict(repo: Checkout, *args: str) -> Any:
    return json.loads(repo.kl("verify", "--format", "json", *args).stdout)


def test_documentation_that_no_test_reads_changes_nothing(tmp_path: Path, home: Path) -> None:
    repo = proven(tmp_path)
    run = verdict(repo)["run"]
    repo.write("CHANGES.rst", "more\n")
    repo.write("docs/new.md", "more\n")
    repo.write(".kl/note.txt", "more\n")
    done = repo.kl("verify")
    words = (
        f"transferred (inferred) from run {run[:8]}: all 2 tests executed nothing that"
        " changed; 0 ran here"
    )
    assert (done.returncode, words in done.stdout) == (0, True), done.stdout
    repo.commit()
    found = verdict(repo)
    assert (found["schema"], found["accepted"], found["transferred"]) == (
        "kl.verify/6",
        True,
        [{"run": run, "valid": 2, "total": 2}],
    )
    assert verdict(repo, "--at", "HEAD")["accepted"]
    # the index, with other files on disk
    repo.write("src/a.py", "X = 1\n")
    assert (verdict(repo)["accepted"], verdict(repo, "--staged")["accepted"]) == (False, True)
    repo.git("add", "-A")
    assert not verdict(repo, "--staged")["accepted"]
    # a dirty working tree was never written to git: its receipt names what differs from HEAD
    leave_run(repo.workspace(), RESULTS)
    repo.write("CHANGES.rst", "again\n")
    repo.commit()
    assert verdict(repo)["accepted"]
    repo.git("commit", "-q", "--amend", "--allow-empty", "-m", "other words")
    assert verdict(repo)["accepted"]


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        (
            "data.json",
            "{1}",
            "data.json changed, and which files the tests opened was not recorded",
        ),
        ("src/a.py", "X = 1\n", "src/a.py changed, and no executed symbols were recorded"),
        (
            "pyproject.toml",
            "[tool.pytest.ini_options]\naddopts = '-q'\n",
            "configuration in pyproject.toml changed",
        ),
        ("requirements.txt", "x\n", "recorded it without the installed distributions"),
    ],
)
def test_what_can_not_be_compared_is_not_transferred(
    name: str, text: str, reason: str, tmp_path: Path, home: Path
) -> None:
    repo = proven(tmp_path)
    repo.write(name, text)
    repo.commit()
    found = verdict(repo)
    assert (found["accepted"], [reason in one for one in found["not_compared"]]) == (
        False,
        [True],
    ), found


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        (
            {"test_x__py": "def test_a(): open('CHANGES.rst')\ndef test_b(): pass\n"},
            "test_x.py names 'CHANGES.rst'",
        ),
        ({"test_x__py": "def test_a(): '*.rst'\ndef test_b(): pass\n"}, "test_x.py names '.rst'"),
        (
            {"pytest__ini": "[pytest]\naddopts = --doctest-glob=*.rst\n"},
            "pytest.ini makes tests of documentation",
        ),
    ],
)
def test_documentation_that_a_test_may_read_is_no_documentation(
    files: dict[str, str], reason: str, tmp_path: Path, home: Path
) -> None:
    repo = proven(tmp_path, **files)
    repo.write("CHANGES.rst", "more\n")
    found = verdict(repo)
    assert (found["accepted"], reason in str(found["not_compared"])) == (False, True), found


def test_a_failure_that_holds_counts_until_the_test_passes(tmp_path: Path, home: Path) -> None:
    repo = proven(tmp_path)
    leave_run(repo.workspace(), [RESULTS[0], ("test_x.py::test_b", "failed", 5)])
    assert not verdict(repo)["accepted"]
    repo.write("CHANGES.rst", "more\n")
    done = repo.kl("verify")
    assert (done.returncode, "test_x.py::test_b failed in run" in done.stdout) == (1, True)
    leave_run(repo.workspace(), [RESULTS[1]], selection={"keyword": "b"})
    assert verdict(repo)["accepted"]


def test_what_is_only_advised_blocks_nothing(tmp_path: Path, home: Path) -> None:
    repo = checkout(tmp_path / "repo", FILES)
    assert [repo.kl("verify", *args).returncode for args in ((), ("--advise",))] == [1, 0]
    repo.write(".kl/config.yaml", "verify: {mode: advise}\n")
    assert "advice only" in repo.kl("verify").stdout
    repo.write(".kl/config.yaml", "verify: {mode: block}\n")
    assert [repo.kl("verify", *args).returncode for args in ((), ("--advise",))] == [1, 1]
    github = repo.kl("verify", "--format", "github").stdout
    assert github.startswith("::error title=The content is not proven::tree ")
    assert json.loads(repo.kl("verify", "--format", "sarif").stdout)["runs"][0]["results"][0][
        "ruleId"
    ]
    repo.write(".kl/config.yaml", "verify: {mode: loud}\n")
    assert repo.kl("verify").returncode == 2


@pytest.mark.skipif(
    sys.version_info < (3, 12), reason="executed symbols are recorded from Python 3.12 on"
)
def test_the_tests_that_an_edit_reaches_are_enough(tmp_path: Path, home: Path) -> None:
    repo = checkout(
        tmp_path / "repo",
        {
            "shop.py": (
                "def total(items):\n    return sum(items)\ndef empty(items):\n    return not"
                " items\n"
            ),
            "test_shop.py": (
                "import shop\ndef test_total():\n    assert shop.total([1]) == 1\n"
                "def test_empty():\n    assert shop.empty([])\n"
            ),
        },
    )
    assert repo.pytest("-q").returncode == 0
    run = verdict(repo)["run"]
    repo.write(
        "shop.py", (repo.root / "shop.py").read_text().replace("not items", "len(items) == 0")
    )
    done = repo.kl("verify")
    assert "not proven: 1 test must run again" in done.stdout
    assert "hint: pytest test_shop.py::test_empty\n" in done.stdout
    assert repo.kl("proof", "impacted", "--format", "pytest").stdout == "test_shop.py::test_empty\n"
    assert "shop.empty: shop.empty changed" in repo.kl("verify", "--require", "proven").stdout
    tested = repo.pytest("-q", "--kl-impacted", "-n", "2", "-p", "xdist")
    assert "1 passed" in tested.stdout, tested.stdout
    found = verdict(repo, "--require", "proven")
    assert (found["accepted"], found["transferred"], found["ran"]) == (
        True,
        [{"run": run, "valid": 1, "total": 2}],
        1,
    )
    assert [(one["symbol"], one["state"]) for one in found["symbols"]] == [
        ("function:shop.empty", "proven")
    ]
    repo.commit()
    assert "; 1 ran here" in repo.kl("verify").stdout
    # green before and after the change: the change reaches it all the same
    reached = repo.kl("proof", "impacted", "--changed", "HEAD~1...HEAD")
    assert reached.stdout.startswith(
        "test_shop.py::test_empty: shop.empty changed\n1 test to run;"
    ), reached
    assert "1 passed" in repo.pytest("-q", "--kl-impacted=HEAD~1...HEAD").stdout
    done = repo.pytest("-q", "--kl-impacted", "--kl-audit=off")
    assert (
        done.returncode,
        "kl: nothing had to run: 2 earlier results are valid\n" in done.stdout,
    ) == (
        0,
        True,
    ), done.stdout
    assert "no evidence of success" not in done.stdout
    done = repo.kl("verify", "--changed", "HEAD", "--paths", "nosuch")
    assert (done.returncode, "--paths nosuch: no file has this path" in done.stderr) == (2, True)
    assert repo.kl("verify", "--changed", "HEAD", "--paths", "./").returncode == 0
    assert repo.pytest("-q", "--kl-impacted", "test_shop.py").returncode == 4
    rows = repo.kl("proof", "tests", "shop.empty").stdout
    assert "passed" in rows and "test_shop.py::test_empty  valid" in rows
    assert "function:shop.total" in repo.kl("proof", "symbols", "test_total").stdout
    assert repo.kl("proof", "tests", "nothing.here").returncode == 2
    # several runs of other contents are counted together: each of their tests once
    repo.write("test_new.py", "def test_new():\n    pass\n")
    repo.commit()
    assert "1 passed" in repo.pytest("-q", "--kl-impacted", "--kl-audit=off").stdout
    words = repo.kl("verify").stdout
    assert ": all 2 tests executed nothing that changed; 1 ran here" in words, words


def test_a_moved_test_must_run_again_and_is_named_where_its_content_is_unique(
    tmp_path: Path, home: Path
) -> None:
    tests = {
        "tests/test_one.py": (
            "def test_a(): assert 1\nclass TestOld:\n    def test_m(self): assert 2\n"
        ),
        "tests/test_two.py": "def test_same(): pass\n",
        "tests/test_three.py": "def test_same(): pass\n",
    }
    repo = checkout(tmp_path / "repo", {**FILES, **tests})
    names = [
        "one.py::test_a",
        "one.py::TestOld::test_m",
        "two.py::test_same",
        "three.py::test_same",
    ]
    leave_run(
        repo.workspace(), [*RESULTS, *((f"tests/test_{name}", "passed", 5) for name in names)]
    )
    (repo.root / "tests/new").mkdir()
    for name in ("one", "two", "three"):
        repo.git("mv", f"tests/test_{name}.py", f"tests/new/test_{name}.py")
    repo.write("tests/new/test_one.py", tests["tests/test_one.py"].replace("TestOld", "TestNew"))
    plain = json.loads(repo.kl("proof", "impacted", "--format", "json").stdout)
    assert {one["test"]: one["reason"] for one in plain["tests"] if "/new/" in one["test"]} == {
        "tests/new/test_one.py::test_a": "not recorded yet; it was tests/test_one.py::test_a",
        "tests/new/test_one.py::TestNew::test_m": (
            "not recorded yet; it was tests/test_one.py::TestOld::test_m"
        ),
        **dict.fromkeys(
            [f"tests/new/test_{name}.py::test_same" for name in ("two", "three")],
            "not recorded yet",
        ),
    }
    assert not verdict(repo)["accepted"]


CHANGING_NAMES = """
import pytest, shop
class Price:
    def __init__(self, value):
        self.value = value
@pytest.mark.parametrize("price", [Price(1), Price(2)], ids=object.__repr__)
def test_total(price):
    assert shop.total([price.value]) == price.value
@pytest.mark.parametrize("n", [1, 2], ids="opt1_params1{}-opt2_params11-args11-<t".format)
def test_redacted(n):
    assert shop.total([n]) == (0 if n == shop.WRONG else n)
@pytest.mark.slow
def test_slow():
    assert shop.total([]) == 0
"""


@pytest.mark.skipif(
    sys.version_info < (3, 12), reason="executed symbols are recorded from Python 3.12 on"
)
@pytest.mark.sweep
def test_impacted_tests_end_whatever_the_tests_are_called(tmp_path: Path, home: Path) -> None:
    files = {
        "lib/__init__.py": "from lib.core import total\n",
        "shop.py": "from lib import total\nWRONG = 1\n",
        "lib/core.py": "def total(items):\n    return sum(items)\n",
        "test_shop.py": CHANGING_NAMES,
        "pytest.ini": "[pytest]\nmarkers = slow\n",
    }
    repo = checkout(tmp_path / "repo", files)
    # the commit before has no such option, so what it omits is expected
    repo.write("pytest.ini", "[pytest]\naddopts = -m 'not slow'\nmarkers = slow\n")
    # two tests of one redacted name: that one failed is not hidden by the other, which passed later
    assert "1 failed, 3 passed, 1 deselected" in repo.pytest("-q").stdout
    assert "1 failed, 1 passed" in repo.pytest("-q", "--kl-impacted").stdout
    assert "test_redacted[[redacted" in (done := repo.kl("verify")).stdout, done.stdout
    repo.write("shop.py", "from lib import total\nWRONG = 0\n")
    repo.write("lib/core.py", "def total(items):\n    return sum(items, 0)\n")
    assert "4 passed" in repo.pytest("-q", "--kl-impacted").stdout
    # whatever their objects' addresses are now
    assert "4 tests deselected" in (done := repo.pytest("-q", "--kl-impacted")).stdout, done.stdout
    done = repo.kl("verify")
    assert "test_shop.py::test_slow: not reported" in done.stdout, done.stdout
    hint = "hint: addopts deselect tests (-m 'not slow'): pytest -m '' test_shop.py::test_slow\n"
    assert hint in done.stdout, done.stdout
    left = "test_shop.py::test_slow: not recorded yet; addopts may deselect it: -m 'not slow'"
    assert left in repo.kl("proof", "impacted").stdout
    assert repo.pytest("-q", "-m", "", "test_shop.py::test_slow").returncode == 0
    # what pytest makes of a file is known only where it was run as a whole
    assert (
        "addopts deselect tests (-m 'not slow'): pytest -m '' test_shop.py\n"
        in repo.kl("verify").stdout
    )
    assert repo.pytest("-q", "-m", "", "test_shop.py").returncode == 0
    assert verdict(repo)["accepted"]
    # a name that a module hands on is what it was defined as
    rows = repo.kl("proof", "tests", "lib.total", "--top", "2")
    assert (rows.stdout.count("\n"), "these are the first 2 of" in rows.stderr) == (2, True), (
        rows.stdout + rows.stderr
    )


def test_what_did_not_run_is_transferred_and_a_run_can_be_asked_for(
    tmp_path: Path, home: Path
) -> None:
    repo = proven(tmp_path)
    assert repo.kl("verify", "--require", "ran").returncode == 0
    assert (verdict(repo)["state"], verdict(repo)["proven"]) == ("proven", True)
    repo.write("CHANGES.rst", "more\n")
    repo.commit()
    answer = verdict(repo)
    assert (answer["state"], answer["accepted"], answer["proven"]) == ("transferred", True, False)
    assert "proven" not in repo.kl("verify").stdout
    assert "transferred (inferred) from run" in repo.kl("status").stdout
    asked = repo.kl("verify", "--require", "ran")
    assert (asked.returncode, "hint: run pytest" in asked.stdout) == (1, True)
    # the repository's settings may ask for it below a folder
    repo.write(".kl/config.yaml", "version: 1\nverify:\n  paths:\n    src/: {require: ran}\n")
    repo.commit()
    assert repo.kl("verify").returncode == 0, "nothing below src/ changed"
    leave_run(repo.workspace(), RESULTS)
    assert repo.kl("verify").returncode == 0


def test_a_pass_on_a_rerun_is_no_clean_pass(tmp_path: Path, home: Path) -> None:
    repo = proven(tmp_path, [RESULTS[0], ("test_x.py::test_b", "flaky", 5)])
    answer = repo.kl("verify")
    words = "proven (inferred) except flaky test_x.py::test_b (passed on a rerun)"
    assert (answer.returncode, words in answer.stdout) == (0, True), answer.stdout
    (tmp_path / "other").mkdir()
    alone = proven(tmp_path / "other", [(name, "flaky", 5) for name, _, _ in RESULTS])
    assert alone.kl("verify").returncode == 1


@pytest.mark.skipif(
    sys.version_info < (3, 12), reason="executed symbols are recorded from Python 3.12 on"
)
def test_what_only_an_older_run_shows_is_transferred_and_a_part_is_not_cited_as_the_whole(
    tmp_path: Path, home: Path
) -> None:
    tests = "import app\nfor number in [1]:\n    def test_loop():\n        assert app.f()\n"
    repo = checkout(
        tmp_path / "repo",
        {
            "app.py": "def f():\n    return 1\n",
            "test_a.py": f"{tests}def test_f():\n    assert app.f()\n",
            "test_b.py": "import app\ndef test_b():\n    assert app.f()\n",
        },
    )
    assert repo.pytest("-q").returncode == 0
    older = verdict(repo)["run"]
    repo.write("app.py", "def f():\n    return 1 + 0\n")
    for tests in (["test_a.py::test_f", "test_a.py::test_loop"], ["test_b.py"]):
        assert repo.pytest("-q", *tests).returncode == 0
    # each test ran here, but that test_a.py has no others is known from the older run alone
    answer = verdict(repo)
    assert (answer["state"], answer["ran"], len(answer["runs"])) == ("transferred", 3, 2), answer
    assert answer["transferred"] == [{"run": older, "valid": 0, "total": 3}]
    words = f"from run {older[:8]}: it shows which tests the files have; all 3 ran here"
    assert words in (done := repo.kl("verify")).stdout, done.stdout
    assert repo.kl("verify", "--require", "ran").returncode == 1
    assert repo.pytest("-q", "test_a.py").returncode == 0
    answer = verdict(repo, "--require", "ran")
    together = f"runs {', '.join(run[:8] for run in answer['runs'])} passed together"
    for command in ("verify", "status"):
        assert together in (done := repo.kl(command)).stdout, done.stdout
    assert (answer["state"], older in answer["runs"], len(answer["runs"])) == ("proven", False, 3)


@pytest.mark.skipif(
    sys.version_info < (3, 12), reason="executed symbols are recorded from Python 3.12 on"
)
def test_reasons_are_what_changed_since_a_test_passed_and_no_edit_that_was_undone(
    tmp_path: Path, home: Path
) -> None:
    repo = checkout(
        tmp_path / "repo",
        {
            "app.py": "def f():\n    return 1\ndef g():\n    return 2\n",
            "test_a.py": (
                "import app\ndef test_f():\n    assert app.f()\ndef test_g():\n    assert app.g()\n"
            ),
        },
    )
    assert repo.pytest("-q").returncode == 0
    repo.write(
        "app.py",
        "def f():\n    return boom()\ndef g():\n    return 2\ndef boom():\n    raise ValueError\n",
    )
    assert repo.pytest("-q", "--kl-impacted", "--kl-audit=off").returncode == 1
    repo.write("app.py", "RATE = 3\ndef f():\n    return 1 + 1\ndef g():\n    return 2\n")
    # the newest run is a failing part; what it did not run was recorded before
    answer = verdict(repo)
    assert answer["missing"] == [
        {"name": "test_a.py::test_f", "reason": "app.f changed"},
        {"name": "test_a.py::test_g", "reason": "the body of app changed"},
    ]
    assert (answer["tests"]["rerun"], answer["tests"]["never"]) == (2, 0)
    impacted = json.loads(repo.kl("proof", "impacted", "--format", "json").stdout)["tests"]
    assert [test["reason"] for test in impacted] == ["app.f changed", "the body of app changed"]
