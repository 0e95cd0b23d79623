"""A failing test stays known until it passes or is removed, across runs of parts of the suite; a
package begins with those that have to do with its task.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kl_hooks.model.package import Signals, Task
from kl_hooks.proof import test_names
from kl_hooks.proof.facts import NOT_ASSESSED, VALID
from kl_hooks.proof.failing import failing_tests
from kl_hooks.proof.task_tests import _leading_tests, find_tests
from tests.evidence.making import executed_sets, leave_run
from tests.support import Checkout, checkout

AREA, FREIGHT = "tests/test_alpha.py::test_area", "tests/test_beta.py::test_freight"
FILES = {
    "alpha.py": "def area(w, h):\n    return w * h\n",
    "beta.py": "def freight(weight):\n    return weight * 2\n",
    "tests/test_alpha.py": "import alpha\n\ndef test_area():\n    assert alpha.area(2, 3) == 6\n",
    "tests/test_beta.py": "import beta\n\ndef test_freight():\n    assert beta.freight(2) == 4\n",
    "README.md": "Boxes.\n",
    "pyproject.toml": '[tool.pytest.ini_options]\npythonpath = ["."]\n',
}
PASSED, FAILED = (AREA, "passed", 5), (AREA, "failed", 5)
OTHER = (FREIGHT, "passed", 5)
PLACES = {
    "function:alpha.area": "alpha.py",
    "function:tests.test_alpha.test_area": "tests/test_alpha.py",
}
SYMBOLS = executed_sets({AREA: dict.fromkeys(PLACES, "call")}, PLACES)


@pytest.fixture
def repo(tmp_path: Path, home: Path) -> Checkout:
    return checkout(tmp_path / "boxes", FILES)


def run(repo: Checkout, *results: tuple[str, str, int], **more: Any) -> str:
    return leave_run(repo.workspace(), list(results), **more)


def failing(repo: Checkout) -> list[tuple[str, str]]:
    return [(test.test, test.verdict.state) for test in failing_tests(repo.workspace())]


def task(text: str, **signals: Any) -> Task:
    return Task(text, Signals(**signals))


def test_what_failed_is_known_after_runs_of_other_tests_until_it_passes(repo: Checkout) -> None:
    first = run(repo, FAILED, OTHER)
    for _ in range(12):
        run(repo, OTHER, selection={"args": ["tests/test_beta.py"], "keyword": "x"})
    assert failing(repo) == [(AREA, VALID)]
    assert failing_tests(repo.workspace())[0].run == first
    repo.write("alpha.py", "def area(w, h):\n    return h * w\n")
    assert failing(repo) == [(AREA, NOT_ASSESSED)], "nobody knows what it executed"
    run(repo, PASSED, selection={"args": ["tests/test_alpha.py"], "keyword": "x"})
    assert failing(repo) == []


def test_a_weak_pass_and_a_skip_in_a_part_end_no_failure(repo: Checkout) -> None:
    run(repo, FAILED, OTHER)
    run(repo, PASSED, selection={"weakened": ["skip"]})
    run(repo, (AREA, "skipped", 5), selection={"args": ["tests/test_alpha.py"], "keyword": "x"})
    assert failing(repo) == [(AREA, VALID)]
    run(repo, (AREA, "skipped", 5), OTHER)
    assert failing(repo) == []


def test_a_test_that_was_removed_fails_no_more_and_a_renamed_one_has_its_name(
    repo: Checkout,
) -> None:
    run(repo, FAILED, (FREIGHT, "failed", 5), executed=SYMBOLS)
    (repo.root / "tests/test_beta.py").unlink()
    assert [name for name, _ in failing(repo)] == [AREA]
    text = FILES["tests/test_alpha.py"]
    repo.write("tests/test_alpha.py", text.replace("test_area", "test_product"))
    assert [name for name, _ in failing(repo)] == ["tests/test_alpha.py::test_product"]
    run(repo, ("tests/test_alpha.py::test_product", "passed", 5))
    assert failing(repo) == []
    repo.write("tests/test_alpha.py", text + "\n\ndef test_more():\n    pass\n")
    assert [name for name, _ in failing(repo)] == [AREA], "it is back"
    repo.write("tests/test_alpha.py", "import alpha\n")
    assert failing(repo) == []


def test_the_sources_of_two_runs_are_compared_once_for_all_failing_tests(
    repo: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"test_{number}" for number in range(9)]
    repo.write("tests/test_many.py", "".join(f"def {name}(): ...\n" for name in names))
    repo.commit("many tests")
    run(repo, *((f"tests/test_many.py::{name}", "failed", 5) for name in names))
    compared: list[Any] = []
    moved = test_names.moved_tests
    monkeypatch.setattr(test_names, "moved_tests", lambda *a: compared.append(a) or moved(*a))
    (repo.root / "tests/test_many.py").unlink()
    assert failing(repo) == []
    assert len(compared) == 1


def test_a_file_that_is_collected_again_fails_no_more(repo: Checkout) -> None:
    run(repo, ("tests/test_alpha.py", "error", 0), OTHER)
    assert failing(repo) == [("tests/test_alpha.py", VALID)]
    run(repo, OTHER)
    assert failing(repo) == [("tests/test_alpha.py", VALID)]
    run(repo, PASSED)
    assert failing(repo) == []


def test_a_failure_of_another_content_does_not_count_where_a_pass_is_valid(repo: Checkout) -> None:
    run(repo, PASSED, OTHER)
    repo.git("checkout", "-qb", "work")
    repo.write("alpha.py", "def area(w, h):\n    return w + h\n")
    repo.commit()
    run(repo, FAILED)
    repo.git("checkout", "-q", "-")
    assert failing(repo) == [], "it passed on this very content"
    repo.write("README.md", "Boxes and crates.\n")
    assert failing(repo) == [], "documentation that no test reads makes the pass no less valid"
    run(repo, PASSED)
    repo.git("checkout", "-q", "README.md")
    repo.git("checkout", "-q", "work")
    assert failing(repo) == [(AREA, VALID)], "it fails on this very content, whatever passed since"


@pytest.mark.parametrize(
    "asked",
    [
        task("change it", symbols=("alpha.area",)),
        task("change it", keywords=("area",)),
        task("change it", keywords=("alpha",)),
        task("change it", paths=("alpha.py",)),
        task("change it", frames=(("/home/x/boxes/alpha.py", 2),)),
        task("change it", tests=(AREA,)),
        task("why 'assert 5 == (2 * 3)'?"),
        Task("change it", Signals(), names=("alpha.area",)),
        Task("change it", Signals(), paths=("tests/test_alpha.py",)),
    ],
    ids=lambda asked: str(asked.signals)[8:30] if isinstance(asked, Task) else "",
)
def test_a_failing_test_that_the_task_names_something_of_leads(repo: Checkout, asked: Task) -> None:
    message = {AREA: {"message": "assert 5 == (2 * 3)\n +  where 5"}}
    run(repo, FAILED, OTHER, executed=SYMBOLS, details=message)
    (candidate,) = find_tests(repo.workspace(), asked, 20)
    assert (candidate.id, candidate.kind, candidate.freshness) == (
        f"test:{AREA}",
        "failing test",
        "current",
    )


@pytest.mark.parametrize(
    "asked",
    [
        task("change the freight", keywords=("freight",), symbols=("beta.freight",)),
        task("run all tests", keywords=("run", "all", "tests", "test", "assert")),
        task("change it", paths=("beta.py", "docs/alpha.md")),
        task("write a haiku about spring", keywords=("write", "haiku", "spring")),
    ],
    ids=lambda asked: asked.text,
)
def test_a_failing_test_of_another_subject_does_not_lead(repo: Checkout, asked: Task) -> None:
    details = {AREA: {"message": "haiku: freight is not spring"}}
    run(repo, FAILED, OTHER, executed=SYMBOLS, details=details)
    assert find_tests(repo.workspace(), asked, 20) == []
    assert [name for name, _ in failing(repo)] == [AREA]


def test_what_the_work_at_hand_may_have_broken_leads_whatever_the_task_is(repo: Checkout) -> None:
    other = task("change the freight", symbols=("beta.freight",))

    def leading() -> list[str]:
        return [test.test for test in _leading_tests(repo.workspace(), other)]

    run(repo, PASSED, OTHER, executed=SYMBOLS)
    changed = executed_sets(
        {AREA: dict.fromkeys(PLACES, "call")}, PLACES, {"function:alpha.area": "f" * 16}
    )
    repo.write("alpha.py", "def area(w, h):\n    return w + h\n")
    run(repo, FAILED, executed=changed)
    assert leading() == [AREA]
    repo.commit()
    assert leading() == [], "committed: no work at hand"
    origin = repo.root.parent / "origin.git"
    repo.git("init", "-q", "--bare", str(origin))
    repo.git("push", "-q", str(origin), "HEAD~1:refs/heads/main")
    repo.git("remote", "add", "origin", str(origin))
    repo.git("fetch", "-q", "origin")
    repo.git("branch", "-q", "--set-upstream-to", "origin/main")
    assert leading() == [AREA], "committed, and not pushed"
    many = [(f"tests/test_alpha.py::test_{n}", "failed", 5) for n in range(11)]
    run(repo, *many)
    assert leading() == [], "where everything fails no test is a hint"


def test_a_test_that_the_task_names_is_an_item_also_where_it_passed(repo: Checkout) -> None:
    run(repo, PASSED, OTHER)
    asked = task("see", tests=(AREA,), keywords=("area", "freight"))
    (candidate,) = find_tests(repo.workspace(), asked, 20)
    assert (candidate.kind, candidate.path, candidate.freshness) == (
        "evidence",
        "tests/test_alpha.py",
        "current",
    )
    assert "passed; inferred, current, run " in candidate.text


def test_status_counts_what_fails_and_a_package_begins_with_it(repo: Checkout) -> None:
    run(repo, FAILED, OTHER)
    run(repo, OTHER, selection={"args": ["tests/test_beta.py"], "keyword": "x"})
    out = repo.kl("status").stdout
    assert f"\n  failing   1 test: {AREA}\n" in out
    (row,) = json.loads(repo.kl("status", "--format", "json").stdout)["failing"]
    assert (row["test"], row["state"]) == (AREA, VALID)
    package = repo.kl("context", "change alpha.area").stdout
    assert package.index("## failing test") < package.index("## code")
    assert "failing test" not in repo.kl("context", "change beta.freight").stdout
    repo.write("README.md", "All boxes.\n")
    repo.write("alpha.py", "def area(w, h):\n    return h * w\n")
    out = repo.kl("status").stdout
    # nobody knows whether it still does
    assert f"\n  failed    1 test must run again: {AREA} (" in out and "  failing" not in out
    run(repo, PASSED, OTHER)
    out = repo.kl("status").stdout
    assert "\n  failing" not in out and "\n  failed" not in out


def test_without_a_store_nothing_fails(tmp_path: Path, home: Path) -> None:
    assert failing(checkout(tmp_path / "plain", FILES, kl=False)) == []
