"""`kl verify` and `kl status` where a content is proven in part, or nearly: the counts first, then
what to do.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support import Checkout, checkout

SOURCE = "def add(a, b):\n    return a + b\n\n\ndef unused():\n    return 0\n"
TESTS = "from alpha import add\n\n\n" + "".join(
    f"def test_{name}():\n    assert add({number}, 1) == {number + 1}\n\n\n"
    for number, name in enumerate(("one", "two", "three"))
)
records_symbols = pytest.mark.skipif(
    sys.version_info < (3, 12), reason="symbols are recorded by sys.monitoring of 3.12"
)


@pytest.fixture
def repo(tmp_path: Path, home: Path) -> Checkout:
    return checkout(tmp_path / "repo", {"alpha.py": SOURCE, "test_alpha.py": TESTS})


def plain(repo: Checkout, *args: str) -> Any:
    return json.loads(repo.kl("verify", "--format", "json", *args).stdout)


@pytest.mark.fault(
    "killed process",
    promised="the test that was running counts for nothing",
    injected="SIGKILL of pytest",
)
def test_a_test_that_was_running_when_its_process_was_killed_must_run_again(
    repo: Checkout,
) -> None:
    assert repo.pytest().returncode == 0
    killed = "import os\n\n\ndef test_hang():\n    os._exit(9)\n"
    repo.write("test_hang.py", killed)
    repo.commit()
    assert repo.pytest().returncode == 9
    done = repo.kl("verify")
    run = next(e for e in repo.entries() if e.receipt.source == "pytest").receipt.run[:8]
    assert done.returncode == 1
    assert f"test_hang.py::test_hang: was running when run {run} was killed" in done.stdout
    assert "fix the failing tests" not in done.stdout + repo.kl("status").stdout
    assert "hint: pytest" in done.stdout
    assert plain(repo)["missing"][0]["name"] == "test_hang.py::test_hang"
    # it runs through the next time, with all others
    repo.write(
        "test_hang.py", killed.replace("os._exit(9)", "if os.environ.get('HANG'): os._exit(9)")
    )
    repo.commit()
    assert repo.pytest(env={"HANG": "1"}).returncode == 9
    assert repo.kl("verify").returncode == 1
    assert repo.pytest().returncode == 0
    assert repo.kl("verify").returncode == 0


@records_symbols
def test_results_that_are_all_stale_are_named_with_what_changed(repo: Checkout) -> None:
    assert repo.pytest().returncode == 0
    repo.write("alpha.py", SOURCE.replace("a + b", "b + a"))
    done = repo.kl("verify")
    assert done.returncode == 1
    assert "not proven: 3 tests must run again: alpha.add changed" in done.stdout
    assert "no evidence" not in done.stdout
    assert "hint: pytest test_alpha.py::test_one" in done.stdout
    assert "3 tests must run again: alpha.add changed" in repo.kl("status").stdout
    # one that was never recorded does not run again
    repo.write("test_new.py", "def test_new(): pass\n")
    repo.commit()
    shown = repo.kl("status").stdout
    assert "not proven: 3 tests must run again" in shown
    assert "3 must run again; 1 never recorded" in shown
    assert repo.pytest().returncode == 0
    assert repo.kl("verify").returncode == 0


@pytest.mark.local_database
def test_a_complete_run_after_a_loss_proves_its_content(repo: Checkout) -> None:
    assert repo.pytest().returncode == 0
    assert repo.kl("verify").returncode == 0
    shutil.rmtree(repo.state)
    done = repo.kl("verify")
    assert (done.returncode, "not assessed: this store had" in done.stdout) == (1, True)
    assert "hint: put the newer kl.db back, or run pytest" in done.stdout
    assert repo.pytest().returncode == 0
    for _ in range(2):
        done = repo.kl("verify")
        assert (done.returncode, "proven (inferred)" in done.stdout) == (0, True), done.stdout
        assert "note: this store had" in done.stdout
        assert plain(repo)["state"] == "proven"
    # a failure is one, whatever was lost
    repo.write("test_alpha.py", TESTS.replace("== 1", "== 7"))
    assert repo.pytest().returncode == 1
    assert "failed on this content" in repo.kl("verify").stdout


@pytest.mark.local_database
def test_a_run_of_before_a_loss_does_not_count(repo: Checkout) -> None:
    assert repo.pytest().returncode == 0
    assert repo.kl("verify").returncode == 0
    older = repo.root.parent / "older.db"
    shutil.copy(repo.state / "kl.db", older)
    assert repo.pytest("-p", "no:cacheprovider").returncode == 0
    assert repo.kl("verify").returncode == 0
    shutil.copy(older, repo.state / "kl.db")
    assert "not assessed: this store had" in repo.kl("verify").stdout
    assert repo.pytest("-k", "one").returncode == 0
    assert repo.kl("verify").returncode == 1, "a part after the loss, the rest before it"
    assert repo.pytest("-k", "not one").returncode == 0
    assert repo.kl("verify").returncode == 0


def test_a_failing_suite_states_what_of_it_is_proven(repo: Checkout) -> None:
    repo.write(
        "test_more.py",
        "import pytest\n\n\n@pytest.mark.parametrize('n', [1, 2, 3])\ndef test_n(n):\n    "
        "assert n != 2\n",
    )
    repo.commit()
    assert repo.pytest("-x").returncode == 1
    done = repo.kl("verify")
    assert (
        "  0 of 6 tests proven here; 1 failing; 4 passed in a run that does not count; 1 "
        "never recorded\n" in done.stdout
    )
    assert repo.pytest().returncode == 1
    done = repo.kl("verify")
    assert (done.returncode, "  5 of 6 tests proven here; 1 failing\n" in done.stdout) == (1, True)
    assert "5 of 6 tests proven here; 1 failing\n" in repo.kl("status").stdout
    counts = {"total": 6, "proven": 5, "transferred": 0, "known_failures": 0, "failing": 1}
    counts |= {"running": 0, "unfinished": 0, "rerun": 0, "never": 0, "uncollected_files": 0}
    found = plain(repo)
    assert (found["schema"], found["tests"]) == ("kl.verify/6", counts)
    assert json.loads(repo.kl("status", "--format", "json").stdout)["proof"]["tests"] == counts


@records_symbols
def test_transferred_tests_are_counted_apart(repo: Checkout) -> None:
    assert repo.pytest().returncode == 0
    repo.write("test_more.py", "def test_new():\n    pass\n\n\ndef test_newer():\n    pass\n")
    repo.commit()
    done = repo.kl("verify")
    words = "  0 of 5 tests proven here, 3 transferred; 2 never recorded\n"
    assert (done.returncode, words in done.stdout) == (1, True), done.stdout
    assert repo.pytest("test_more.py::test_new").returncode == 0
    assert (
        "  1 of 5 tests proven here, 3 transferred; 1 never recorded\n" in repo.kl("verify").stdout
    )
    assert repo.pytest("test_more.py").returncode == 0
    assert "proven here" not in repo.kl("verify").stdout
    assert plain(repo)["tests"] == {"total": 5, "proven": 2, "transferred": 3} | dict.fromkeys(
        (
            "known_failures",
            "failing",
            "running",
            "unfinished",
            "rerun",
            "never",
            "uncollected_files",
        ),
        0,
    )


SLOW = (
    "import pytest\n\n\n@pytest.mark.slow\ndef test_slow():\n    pass\n\n\ndef "
    "test_fast():\n    pass\n"
)
ADDOPTS = "[pytest]\nmarkers = slow\naddopts = -ra --ignore-glob '*integration*.py' -m 'not slow'\n"


def test_what_addopts_may_omit_is_not_named_as_the_reason(tmp_path: Path, home: Path) -> None:
    files = {"pytest.ini": ADDOPTS, "test_slow.py": SLOW, "test_b.py": "def test_b():\n    pass\n"}
    repo = checkout(tmp_path / "repo", files)
    repo.git("commit", "-q", "--allow-empty", "-m", "another")
    for arguments in (["test_slow.py"], ["-k", "fast"]):
        assert repo.pytest(*arguments).returncode == 0
        assert "\nhint: pytest test_b.py\n" in repo.kl("verify").stdout, arguments
    # where nobody accepted it, it is
    repo.write("pytest.ini", ADDOPTS.replace("not slow", "not slow and not other"))
    repo.commit()
    assert repo.pytest("test_slow.py").returncode == 0
    out = repo.kl("verify").stdout
    assert (
        "hint: addopts deselect tests (" in out and "-m 'not slow and not other'): pytest " in out
    )


def test_what_addopts_omits_is_no_part_of_the_whole(tmp_path: Path, home: Path) -> None:
    repo = checkout(
        tmp_path / "repo",
        {
            "pytest.ini": ADDOPTS,
            "test_slow.py": SLOW,
            "test_integration.py": "def test_network():\n    assert False\n",
        },
    )
    repo.git("commit", "-q", "--allow-empty", "-m", "another")
    assert repo.pytest().returncode == 0
    done = repo.kl("verify")
    assert (done.returncode, "proven (inferred)" in done.stdout) == (0, True), done.stdout
    assert "  note: addopts in pytest.ini ignores test_integration.py\n" in done.stdout
    assert "  note: addopts in pytest.ini deselects tests: -m 'not slow'\n" in done.stdout
    # it is no licence to omit more
    repo.write("test_slow.py", f"{SLOW}\n\ndef test_third():\n    pass\n")
    repo.commit()
    assert repo.pytest("-k", "not third").returncode == 0
    assert repo.kl("verify").returncode == 1
    assert repo.pytest("--ignore", "test_slow.py").returncode == 5
    assert repo.pytest("--deselect", "test_slow.py::test_third").returncode == 0
    assert repo.kl("verify").returncode == 1
    assert repo.pytest().returncode == 0
    assert repo.kl("verify").returncode == 0
    # a hook that deselects more, under cover of the configuration
    repo.write(
        "conftest.py",
        "def pytest_collection_modifyitems(items, config):\n"
        "    out = [item for item in items if item.name == 'test_third']\n"
        "    items[:] = [item for item in items if item not in out]\n"
        "    config.hook.pytest_deselected(items=out)\n",
    )
    repo.commit()
    assert repo.pytest().returncode == 0
    assert repo.kl("verify").returncode == 1


def test_addopts_that_changed_omit_nothing(tmp_path: Path, home: Path) -> None:
    repo = checkout(tmp_path / "repo", {"test_slow.py": SLOW.replace("@pytest.mark.slow\n", "")})
    repo.write("pytest.ini", "[pytest]\naddopts = --deselect test_slow.py::test_slow\n")
    repo.commit()
    assert repo.pytest().returncode == 0
    done = repo.kl("verify")
    assert (done.returncode, "test_slow.py::test_slow: not reported" in done.stdout) == (1, True)
    assert "note: addopts in pytest.ini omits other tests since HEAD^" in done.stdout
    repo.git("commit", "-q", "--allow-empty", "-m", "another")
    assert repo.kl("verify").returncode == 0, "the commit before it has them as well"
    assert repo.kl("verify", "--trust-ref", "HEAD~2").returncode == 1
    # a branch is compared with the commit where it parted from the remote's default branch
    repo.git("update-ref", "refs/remotes/origin/main", "HEAD~2")
    repo.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main")
    assert repo.kl("verify").returncode == 1


FAILING = "def test_good():\n    pass\n\n\ndef test_bad():\n    assert 1 == 2\n"
ADDRESS = """\
import pytest

def test_bad():
    raise ValueError(f"… {object()!r}")

@pytest.mark.parametrize("name", ["a b", "c"])
def test_names(name):
    pass
"""


def known(repo: Checkout, *tests: str, until: str = "2099-01-01") -> None:
    entries = "".join(
        f"    - {{test: '{test}', reason: later, until: {until}}}\n" for test in tests
    )
    repo.write(".kl/config.yaml", f"verify:\n  known_failures:\n{entries}")
    repo.commit()


def test_what_is_proposed_and_suggested_can_be_copied(tmp_path: Path, home: Path) -> None:
    repo = checkout(tmp_path / "repo", {"test_x.py": ADDRESS})
    assert repo.pytest().returncode == 1
    proposal = repo.kl("verify", "--propose-known-failures").stdout
    assert '      reason: "ValueError: … <object object at 0x>"\n' in proposal
    suggestion = repo.kl("proof", "why", "test_names").stderr
    assert suggestion.endswith("'test_x.py::test_names[a b]', 'test_x.py::test_names[c]'\n")
    done = repo.kl("report", "-o", "absent/report.html")
    assert (done.returncode, done.stderr.endswith("No such file or directory.\n")) == (3, True)


def test_known_failures_count_until_their_end(tmp_path: Path, home: Path) -> None:
    repo = checkout(tmp_path / "repo", {"test_x.py": FAILING})
    assert repo.pytest().returncode == 1
    done = repo.kl("verify", "--propose-known-failures")
    assert done.returncode == 0
    assert '    - test: "test_x.py::test_bad"\n      reason: "assert 1 == 2"\n' in done.stdout
    repo.write(".kl/config.yaml", done.stdout)
    repo.commit()
    assert repo.pytest().returncode == 1
    done = repo.kl("verify")
    assert (
        done.returncode,
        "proven (inferred) but for 1 known failure (until " in done.stdout,
    ) == (
        0,
        True,
    ), done.stdout
    assert "note: known failure test_x.py::test_bad was added since HEAD^" in done.stdout
    assert plain(repo)["known_failures"][0]["test"] == "test_x.py::test_bad"
    assert "nothing to propose" in repo.kl("verify", "--propose-known-failures").stdout
    # a change can't add one for itself
    done = repo.kl("verify", "--trust-ref", "HEAD^")
    assert (done.returncode, "is not in" in done.stdout) == (1, True), done.stdout
    repo.git("commit", "-q", "--allow-empty", "-m", "another")
    assert repo.kl("verify", "--trust-ref", "HEAD^").returncode == 0
    # another failure counts
    repo.write("test_x.py", FAILING.replace("pass", "assert 0"))
    assert repo.pytest().returncode == 1
    assert "1 known to fail; 1 failing" in repo.kl("verify").stdout
    # one that passes is named
    repo.write("test_x.py", FAILING.replace("1 == 2", "1 == 1"))
    assert repo.pytest().returncode == 0
    done = repo.kl("verify")
    assert (done.returncode, "but for" in done.stdout) == (0, False)
    assert "known failure test_x.py::test_bad passes: remove it from .kl/config.yaml" in done.stdout
    # an entry that ended counts no more
    repo.write("test_x.py", FAILING)
    known(repo, "test_x.py::test_bad", until="2020-01-01")
    assert repo.pytest().returncode == 1
    done = repo.kl("verify")
    assert (done.returncode, "ended on 2020-01-01" in done.stdout) == (1, True)


def test_wrong_known_failures_are_all_named(tmp_path: Path, home: Path) -> None:
    repo = checkout(tmp_path / "repo", {"test_x.py": FAILING})
    repo.write(
        ".kl/config.yaml",
        "verify:\n  known_failures:\n    - {test: a, reason: b, until: tomorrow}\n    - "
        "{test: a}\n",
    )
    done = repo.kl("verify")
    assert done.returncode == 2
    assert '.kl/config.yaml:3:35: "until" is "tomorrow", not a day.' in done.stderr
    assert '.kl/config.yaml:4:7: a known failure without "reason".' in done.stderr


def test_a_file_that_was_not_collected_since_it_could_not_be_is_run_again_by_impacted(
    repo: Checkout,
) -> None:
    broken = "import os\n\nif os.environ.get('BROKEN'):\n    raise RuntimeError('no server')\n\n\n"
    repo.write("test_server.py", f"{broken}def test_a():\n    pass\n\n\ndef test_b():\n    pass\n")
    repo.commit()
    assert repo.pytest().returncode == 0
    # a run that the error ends, and one that goes on to its end
    for options in ((), ("--continue-on-collection-errors",)):
        assert repo.pytest(*options, env={"BROKEN": "1"}).returncode != 0
        assert "test_server.py can't be collected (run" in repo.kl("verify").stdout
        listed = repo.kl("proof", "impacted", "--format", "pytest").stdout.split()
        assert listed == ["test_server.py"]
        done = repo.pytest("-q", "--kl-impacted", "--kl-audit=off")
        assert "2 passed, 3 deselected" in done.stdout, done.stdout
        # results after the failure settle it, here as in the gate
        assert repo.kl("verify").returncode == 0
        assert "0 tests to run" in repo.kl("proof", "impacted").stdout


def test_an_excluded_file_is_not_run_by_impacted_and_its_failure_does_not_count(
    repo: Checkout,
) -> None:
    repo.write("test_hang.py", "def test_hang():\n    assert False\n")
    repo.write(".kl/config.yaml", "verify:\n  exclude: [test_hang.py]\n")
    repo.commit()
    done = repo.pytest("--kl-impacted")
    assert (done.returncode, "test_hang" in done.stdout) == (0, False), done.stdout
    assert repo.kl("verify").returncode == 0
    assert repo.pytest().returncode == 1
    done = repo.kl("verify")
    assert (done.returncode, "but for" in done.stdout) == (0, False), done.stdout


def test_init_proposes_to_exclude_what_addopts_ignores(tmp_path: Path, home: Path) -> None:
    files = {"pytest.ini": ADDOPTS, "test_slow.py": SLOW, "test_integration.py": SLOW}
    repo = checkout(tmp_path / "repo", files, kl=False)
    assert repo.kl("init").returncode == 0
    text = (repo.root / ".kl" / "config.yaml").read_text()
    assert '    - "test_integration.py"\n' in text and "test_slow.py" not in text


DOCTEST = 'def add(a, b):\n    """Add.\n\n    >>> add(1, 2)\n    3\n    """\n    return a + b\n'


def test_a_doctest_that_is_not_collected_any_more_is_missing(tmp_path: Path, home: Path) -> None:
    ini = "[pytest]\naddopts = --doctest-modules\n"
    repo = checkout(
        tmp_path / "repo",
        {"alpha.py": DOCTEST, "test_x.py": "def test_x(): pass\n", "pytest.ini": ini},
    )
    assert repo.pytest().returncode == 0
    assert repo.kl("verify").returncode == 0
    repo.write("pytest.ini", "[pytest]\n")
    repo.commit()
    assert repo.pytest().returncode == 0
    done = repo.kl("verify")
    assert (done.returncode, "alpha.py::alpha.add: run" in done.stdout) == (1, True), done.stdout
    # without its examples it is no test any more
    repo.write("alpha.py", DOCTEST.replace(">>> ", ""))
    repo.commit()
    assert repo.pytest().returncode == 0
    assert repo.kl("verify").returncode == 0


def test_a_doctest_that_was_asked_for_once_is_not_expected(tmp_path: Path, home: Path) -> None:
    repo = checkout(tmp_path / "repo", {"alpha.py": DOCTEST, "test_x.py": "def test_x(): pass\n"})
    assert repo.pytest("--doctest-modules").returncode == 0
    assert repo.kl("verify").returncode == 0
    repo.write("alpha.py", f"{DOCTEST}\n\nX = 1\n")
    repo.commit()
    assert repo.pytest().returncode == 0
    assert repo.kl("verify").returncode == 0


@records_symbols
def test_new_examples_in_docstrings_are_expected(tmp_path: Path, home: Path) -> None:
    ini = "[pytest]\naddopts = --doctest-modules\n"
    scripts = {
        "setup.py": '"""\n>>> 1 + 1\n3\n"""\nimport setuptools\n',
        "pkg/__main__.py": DOCTEST,
    }
    repo = checkout(
        tmp_path / "repo",
        {
            "alpha.py": DOCTEST,
            "test_x.py": "def test_x(): pass\n",
            "pytest.ini": ini,
        },
    )
    for path, text in scripts.items():
        repo.write(path, text)
    repo.commit()
    assert repo.pytest().returncode == 0
    repo.write("alpha.py", f"{DOCTEST}# a comment\n")
    repo.commit()
    assert repo.pytest("alpha.py").returncode == 0
    assert repo.kl("verify").returncode == 0
    repo.write("pkg/more.py", DOCTEST.replace("3", "4"))
    repo.commit()
    done = repo.kl("verify")
    assert (done.returncode, "pkg/more.py: no complete run" in done.stdout) == (1, True), (
        done.stdout
    )
    # another file ran, not this one
    assert repo.pytest("test_x.py").returncode == 0
    assert repo.kl("verify").returncode == 1
    repo.write("pkg/more.py", DOCTEST)
    repo.commit()
    assert repo.pytest("pkg/more.py").returncode == 0
    assert repo.kl("verify").returncode == 0


@records_symbols
def test_an_example_that_a_decorator_hides_is_not_expected(tmp_path: Path, home: Path) -> None:
    hidden = 'def hide(function):\n    return len\n\n\n@hide\ndef f():\n    """\n    >>> 1\n    2\n    """\n'
    repo = checkout(
        tmp_path / "repo",
        {
            "alpha.py": hidden,
            "test_x.py": "def test_x(): pass\n",
            "pytest.ini": "[pytest]\naddopts = --doctest-modules\n",
        },
    )
    assert repo.pytest().returncode == 0
    assert repo.kl("verify").returncode == 0
    # the file differs, its docstrings do not
    repo.write("alpha.py", f"{hidden}# a comment\n")
    repo.commit()
    done = repo.kl("verify")
    assert (done.returncode, "alpha.py: no" in done.stdout) == (0, False), done.stdout
    repo.write("alpha.py", hidden.replace("2", "3"))
    repo.commit()
    assert repo.kl("verify").returncode == 1
