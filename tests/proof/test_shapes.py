"""Every way in which a test can be dropped without failing: none of them is proven, and the reason
is named.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from tests.support import Checkout

TWO = "def test_one():\n    assert True\n\n\ndef test_two():\n    assert True\n"
FILES = {"tests/test_a.py": TWO, "tests/sub/test_b.py": "def test_three():\n    assert True\n"}
HOOK = "def pytest_{0}:\n    {1}\n"
NO_CALL = (
    "import pytest\n\n\n@pytest.hookimpl(tryfirst=True)\ndef pytest_pyfunc_call(pyfuncitem):\n   "
    " return True\n"
)


def verdict(repo: Checkout, *options: str) -> Any:
    """What `kl verify` states, as JSON; its exit code agrees."""
    done = repo.kl("verify", "--format", "json", *options)
    reported = json.loads(done.stdout)
    assert done.returncode == (0 if reported["accepted"] else 1), done.stderr
    return reported


def missing(repo: Checkout, *options: str) -> dict[str, str]:
    reported = verdict(repo, *options)
    assert not reported["accepted"]
    return {one["name"]: one["reason"] for one in reported["missing"]}


def files(repo: Checkout, written: Mapping[str, str]) -> None:
    for name, text in written.items():
        repo.write(name, text)
    repo.commit("change")


SHAPES: dict[str, tuple[dict[str, str], tuple[str, ...], str]] = {
    "collection_finish": (
        {"conftest.py": HOOK.format("collection_finish(session)", "del session.items[1:]")},
        (),
        "tests/test_a.py",
    ),
    "pycollect_makeitem": (
        {
            "conftest.py": HOOK.format(
                "pycollect_makeitem(name)", "return [] if name == 'test_two' else None"
            )
        },
        (),
        "tests/test_a.py::test_two",
    ),
    "collect_ignore": (
        {"tests/conftest.py": "collect_ignore = ['test_a.py']\n"},
        (),
        "tests/test_a.py",
    ),
    "collect_ignore_glob": (
        {"tests/conftest.py": "collect_ignore_glob = ['sub']\n"},
        (),
        "tests/sub/test_b.py",
    ),
    "ignore_collect": (
        {
            "conftest.py": HOOK.format(
                "ignore_collect(collection_path)", "return 'test_a.' in str(collection_path)"
            )
        },
        (),
        "tests/test_a.py",
    ),
    "narrowed testpaths": (
        {"pytest.ini": "[pytest]\ntestpaths = tests/sub\n"},
        (),
        "tests/test_a.py",
    ),
    "narrowed python_files": (
        {"pytest.ini": "[pytest]\npython_files = *_a.py\n"},
        (),
        "tests/sub/test_b.py",
    ),
    "narrowed python_functions": (
        {"tox.ini": "[pytest]\npython_functions=*one *three\n"},
        (),
        "tests/test_a.py::test_two",
    ),
    "norecursedirs": (
        {"setup.cfg": "[tool:pytest]\nnorecursedirs = sub\n"},
        (),
        "tests/sub/test_b.py",
    ),
    "another folder": (
        {"tests/sub/pytest.ini": "[pytest]\n"},
        ("--rootdir=tests/sub", "tests/sub"),
        "tests/test_a.py",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.share(3)
def test_what_is_dropped_is_not_proven(repo: Checkout, name: str) -> None:
    written, args, lost = SHAPES[name]
    files(repo, FILES)
    files(repo, written)
    assert repo.pytest("-q", *args).returncode == 0, "pytest itself is content"
    found = missing(repo)
    assert lost in found
    if "." in (where := next(iter(written))) and where.endswith((".ini", ".cfg")) and not args:
        assert where in found[lost]
        assert "since HEAD^" in found[lost]
    assert lost in repo.kl("verify").stdout


def test_a_configuration_file_nearer_than_the_roots_is_named(repo: Checkout) -> None:
    nearer = {"tests/pytest.ini": "[pytest]\npython_files = *_b.py\n"}
    files(repo, {**FILES, "pytest.ini": "[pytest]\n", **nearer})
    assert repo.pytest("-q", "tests").returncode == 0
    assert "tests/pytest.ini is nearer than pytest.ini" in missing(repo)["tests/test_a.py"]


def test_a_part_of_the_project_is_proven_together_with_the_rest(repo: Checkout) -> None:
    marks = (
        "import pytest\n\n\n@pytest.mark.{0}\ndef test_x():\n    pass\n\n\ndef test_y():\n   "
        " pass\n"
    )
    markers = "[pytest]\nmarkers =\n    db: slow\n"
    files(
        repo, {"tests/test_a.py": marks.format("db"), "sub/test_b.py": TWO, "pytest.ini": markers}
    )
    assert repo.pytest("-q", "-m", "db").returncode == 0
    assert missing(repo).keys() == {"tests/test_a.py::test_y", "sub/test_b.py"}
    assert repo.pytest("-q", "-m", "not db").returncode == 0
    reported = verdict(repo)
    assert (reported["accepted"], reported["tier"], len(reported["runs"])) == (True, "inferred", 2)
    assert "together" in repo.kl("verify").stdout


def test_a_selection_leaves_files_whole_of_which_it_omitted_nothing(repo: Checkout) -> None:
    """As in projects whose `addopts` omit slow tests: only these are missing, and running them
    proves the rest.
    """
    cases = "import pytest\n\n\n@pytest.mark.parametrize('n', [1, 2])\ndef test_n(n):\n    pass\n"
    slow = (
        "import pytest\n\n\n@pytest.mark.db\ndef test_x():\n    pass\n\n\ndef test_y():\n    pass\n"
    )
    settings = "[pytest]\nmarkers =\n    db: slow\naddopts = -m 'not db'\n"
    files(repo, {"tests/test_n.py": cases, "tests/test_slow.py": slow, "pytest.ini": settings})
    assert repo.pytest("-q").returncode == 0
    assert missing(repo) == {"tests/test_slow.py::test_x": "not reported"}
    assert repo.pytest("-q", "-m", "db", "tests/test_slow.py").returncode == 0
    assert verdict(repo)["accepted"]


def test_folders_prove_what_they_hold_together(repo: Checkout) -> None:
    files(repo, FILES)
    assert repo.pytest("-q", "tests/sub").returncode == 0
    assert missing(repo).keys() == {"tests/test_a.py"}
    assert (
        repo.pytest("-q", "tests/test_a.py::test_one", "tests/test_a.py::test_two").returncode == 0
    )
    assert missing(repo)["tests/test_a.py"] == "only a part of it ran", (
        "a case of a parameter may be left out"
    )
    assert repo.pytest("-q", "tests/test_a.py").returncode == 0
    assert verdict(repo)["accepted"]


def test_a_hook_that_calls_nothing_is_no_proof(repo: Checkout) -> None:
    files(repo, {**FILES, "conftest.py": NO_CALL})
    assert repo.pytest("-q").returncode == 0
    (reason,) = verdict(repo)["reasons"]
    assert (
        "conftest.py replaces how tests are called (pytest_pyfunc_call); 3 passed without being"
        " called" in reason
    )
    assert repo.pytest("-q", "-n", "2", "-p", "xdist").returncode == 0
    assert "3 passed without being called" in verdict(repo)["reasons"][0], "the workers tell it"


RUNNER = """import asyncio
import inspect


def pytest_pyfunc_call(pyfuncitem):
    if inspect.iscoroutinefunction(pyfuncitem.obj):
        asyncio.run(pyfuncitem.obj())
        return True
"""


def test_a_hook_that_runs_coroutines_is_no_trouble(repo: Checkout) -> None:
    files(
        repo,
        {
            "conftest.py": RUNNER,
            "test_a.py": "async def test_one():\n    assert True\n\n\ndef test_two():\n    pass\n",
        },
    )
    assert repo.pytest("-q").returncode == 0
    assert verdict(repo)["accepted"]


SKIPPER = """import pytest


def pytest_collection_modifyitems(items):
    for item in items:
        if item.name == "test_two":
            item.add_marker(pytest.mark.skip(reason="later"))


@pytest.fixture
def needs():
    pytest.skip("not here")
"""


def test_skips_from_outside_a_file_are_noted_and_new_ones_are_not_proven(repo: Checkout) -> None:
    own = (
        "import pytest\n\n\n@pytest.mark.skip\ndef test_own():\n    pass\n\n\ndef"
        " test_far(needs):\n    pass\n"
    )
    old = "import pytest\n\n\n@pytest.fixture\ndef needs():\n    pass\n"
    files(repo, {**FILES, "tests/test_c.py": own, "conftest.py": old})
    assert repo.pytest("-q").returncode == 0
    assert verdict(repo)["notes"] == []
    files(repo, {"conftest.py": SKIPPER})
    assert repo.pytest("-q").returncode == 0
    found = missing(repo)
    assert found.keys() == {"tests/test_a.py::test_two", "tests/test_c.py::test_far"}
    assert "now conftest.py makes it skipped" in found["tests/test_c.py::test_far"]
    repo.write("README.md", "Hello.\n")
    repo.commit("the next content")
    assert repo.pytest("-q").returncode == 0
    reported = verdict(repo)
    assert reported["accepted"], "what has been so is so"
    assert "2 tests skipped or expected to fail from outside their files" in reported["notes"][0]


def test_files_that_are_no_tests_are_excluded_by_a_setting_of_the_trusted_commit(
    repo: Checkout,
) -> None:
    files(repo, {**FILES, "tests/conftest.py": "collect_ignore = ['test_a.py']\n"})
    files(repo, {".kl/config.yaml": "version: 1\nverify:\n  exclude: ['tests/test_a.py']\n"})
    assert repo.pytest("-q").returncode == 0
    reported = verdict(repo)
    assert reported["accepted"]
    assert reported["notes"] == [
        "verify.exclude in .kl/config.yaml changed since HEAD^: added tests/test_a.py"
    ]
    assert "tests/test_a.py" in missing(repo, "--trust-ref", "HEAD^")
    assert verdict(repo, "--trust-ref", "HEAD")["notes"] == []
    assert repo.kl("verify", "--trust-ref", "nowhere").returncode == 2


def test_what_cannot_be_known_is_not_assessed(repo: Checkout) -> None:
    never = "".join(f"    def test_never{n or ''}():\n        pass\n\n" for n in range(5))
    text = f"import sys\n\nif sys.platform == 'none':\n{never}\ndef test_one():\n    pass\n"
    skipped = (
        "import pytest\n\npytest.skip('not here', allow_module_level=True)\n\n\ndef test_x():\n   "
        " pass\n"
    )
    files(
        repo,
        {"tests/test_a.py": text, "tests/test_b.py": skipped, "tests/test_helpers.py": "X = 1\n"},
    )
    assert repo.pytest("-q").returncode == 0
    reported = verdict(repo)
    assert reported["accepted"]
    assert (
        len(reported["not_assessed"]) == 5
        and "tests/test_a.py::test_never" in reported["not_assessed"]
    )
    # folded: where most of them are, and how to see all
    line = (
        "  note: 5 tests not assessed, 5 in tests/test_a.py: kl verify --format json lists them\n"
    )
    assert line in repo.kl("verify").stdout


def test_a_file_for_another_python_is_not_assessed_unless_that_is_new(repo: Checkout) -> None:
    condition = "if sys.version_info < (99,):\n    collect_ignore.extend(['test_a.py'])\n"
    ignoring = f"import sys\n\ncollect_ignore = []\n{condition}"
    files(repo, FILES)
    files(repo, {"tests/conftest.py": ignoring})
    assert repo.pytest("-q").returncode == 0
    assert missing(repo).keys() == {"tests/test_a.py"}
    files(repo, {"README.md": "Hello.\n"})
    assert repo.pytest("-q").returncode == 0
    assert verdict(repo)["not_assessed"] == [
        "tests/test_a.py (a conftest.py ignores it under a condition)"
    ]
    assert missing(repo, "--trust-ref", "HEAD~2").keys() == {"tests/test_a.py"}


WEAKER: dict[str, tuple[dict[str, str], tuple[str, ...], dict[str, str]]] = {
    "asserts are not run": (
        {"tests/test_a.py": "def test_one():\n    assert False\n"},
        ("--assert=plain",),
        {"PYTHONOPTIMIZE": "1"},
    ),
    "no conftest": (
        {
            "conftest.py": (
                "import pytest\n\n@pytest.fixture(autouse=True)\ndef check():\n    assert False\n"
            )
        },
        ("--noconftest",),
        {},
    ),
    "conftest above is cut off": (
        {
            "conftest.py": (
                "import pytest\n\n@pytest.fixture(autouse=True)\ndef check():\n    assert False\n"
            )
        },
        ("--confcutdir=tests",),
        {},
    ),
    "warnings are no errors": (
        {
            "pytest.ini": "[pytest]\nfilterwarnings = error\n",
            "tests/test_a.py": "import warnings\n\ndef test_one():\n    warnings.warn('old')\n",
        },
        ("-W", "ignore"),
        {},
    ),
    "no warnings plugin": (
        {
            "pytest.ini": "[pytest]\nfilterwarnings = error\n",
            "tests/test_a.py": "import warnings\n\ndef test_one():\n    warnings.warn('old')\n",
        },
        ("-p", "no:warnings"),
        {},
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", WEAKER)
@pytest.mark.share(2)
def test_checks_that_were_switched_off_by_an_option_prove_nothing(
    repo: Checkout, name: str
) -> None:
    written, args, environ = WEAKER[name]
    files(repo, {**FILES, **written})
    assert repo.pytest("-q").returncode == 1
    assert repo.pytest("-q", *args, env=environ).returncode == 0, "pytest itself is content"
    assert not verdict(repo)["accepted"], "it proves nothing, and takes no failure back"
    assert "otherwise than configured" in repo.kl("verify").stdout


def test_parts_whose_tests_change_their_names_are_not_the_whole(repo: Checkout) -> None:
    text = "import time, pytest\n\n@pytest.mark.parametrize('x', [str(time.time_ns()), 'bad'])\n"
    files(repo, {"tests/test_a.py": text + "def test_one(x):\n    assert x != 'bad'\n"})
    for _ in range(2):
        assert repo.pytest("-q", "-k", "not bad").returncode == 0
    assert not verdict(repo)["accepted"]


@pytest.mark.sweep
def test_a_run_that_was_refused_is_no_baseline(repo: Checkout) -> None:
    files(repo, FILES)
    assert repo.pytest("-q").returncode == 0
    files(repo, {"pytest.ini": "[pytest]\npython_files = *_b.py\n"})
    assert repo.pytest("-q").returncode == 0
    assert "tests/test_a.py" in missing(repo)
    files(repo, {"notes.txt": "one more commit\n"})
    assert repo.pytest("-q").returncode == 0
    assert "tests/test_a.py" in missing(repo)


@pytest.mark.parametrize(
    ("name", "text", "args"),
    [
        ("scripts/tool.py", "raise ImportError('no such thing')\n", ("scripts/tool.py",)),
        ("src/shop.py", '"""\n>>> 1 + 1\n3\n"""\n', ("--doctest-modules", "src")),
    ],
)
@pytest.mark.share(2)
def test_a_failure_of_what_only_an_option_made_a_test_is_settled_by_a_complete_run(
    repo: Checkout, name: str, text: str, args: tuple[str, ...]
) -> None:
    files(repo, {**FILES, name: text})
    assert repo.pytest("-q", *args).returncode in (1, 2)
    assert not verdict(repo)["accepted"]
    assert repo.pytest("-q").returncode == 0
    reported = verdict(repo)
    assert reported["accepted"] and any(name in note for note in reported["notes"])
