"""A file that pytest only imports, to see that it has no test, is part of the suite."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.pytest_kl.recorded import environment, git, repository, run_pytest
from tests.support import run_in_process

FILES = {
    "app.py": "def f():\n    '''\n    >>> f()\n    1\n    '''\n    return 1\n",
    "helpers_test.py": "def helper():\n    return 1\n\n\ndef unused():\n    pass\n",
    "test_a.py": "import wsgiref\nimport app\n\n\ndef test_f():\n    assert app.f() == 1\n\n\n"
    "def test_scheme():\n    assert wsgiref.util.guess_scheme({}) == 'http'\n",
    "test_b.py": "import unittest\nimport wsgiref.util\n\n\nclass TestB(unittest.TestCase):\n"
    "    def test_b(self):\n        '''First.'''\n        assert self.shortDescription() == 'First.'\n",
    "pytest.ini": "[pytest]\naddopts = --doctest-modules\n",
}
IMPORTED = "no complete run imported it, as pytest does to collect it"
EDITS: dict[str, tuple[Mapping[str, str], str]] = {
    "nothing": ({}, ""),
    "a new test file without tests": (
        {"test_new.py": "import missing\n"},
        f"test_new.py: {IMPORTED}",
    ),
    "a new module of which the examples are asked": (
        {"extra.py": "import missing\n"},
        f"extra.py: {IMPORTED}",
    ),
    "what is executed at the import": (
        {"helpers_test.py": f"{FILES['helpers_test.py']}X = missing\n"},
        "must run again",
    ),
    "the body of a function": (
        {"helpers_test.py": FILES["helpers_test.py"].replace("return 1", "return 2")},
        "",
    ),
    "a comment": ({"helpers_test.py": f"# Helps.\n{FILES['helpers_test.py']}"}, ""),
    "a function that nothing names is removed": (
        {"helpers_test.py": FILES["helpers_test.py"].partition("\n\n\ndef unused")[0] + "\n"},
        "",
    ),
    "nothing is left": ({"helpers_test.py": ""}, ""),
    "a submodule that this file bound is imported no more": (
        {"test_b.py": FILES["test_b.py"].replace("import wsgiref.util\n", "")},
        "test_a.py::test_scheme: ",
    ),
    "the description of a case": (
        {"test_b.py": FILES["test_b.py"].replace("'''First.'''", "'''Second.'''")},
        "test_b.py::TestB::test_b: ",
    ),
    "assertions that are not rewritten": (
        {"test_a.py": f"'''PYTEST_DONT_REWRITE'''\n{FILES['test_a.py']}"},
        "test_a.py::test_f: ",
    ),
}


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(sys, "monitoring"), reason="recorded from CPython 3.12 on")
def test_what_is_executed_to_collect_tests_must_have_run(tmp_path: Path) -> None:
    folder = repository(tmp_path / "collected", FILES)
    run_pytest(folder)
    for name, (files, missing) in EDITS.items():
        for path, text in files.items():
            (folder / path).write_text(text, encoding="utf-8")
        git(folder, "add", "-A")
        done = run_in_process(["verify"], folder, environment({}))
        assert (done.returncode, missing in done.stdout) == (bool(missing), True), (
            name,
            done.stdout,
        )
        git(folder, "reset", "-q", "--hard")
    # a selection collects, and so imports, all files
    (folder / "helpers_test.py").write_text(f"{FILES['helpers_test.py']}X = 1\n", encoding="utf-8")
    assert run_in_process(["verify"], folder, environment({})).returncode == 1
    run_pytest(folder, "--kl-impacted")
    assert run_in_process(["verify"], folder, environment({})).returncode == 0


ORDER = {
    "app.py": "H = {}\n\n\ndef amount():\n    return 1\n\n\ndef put():\n    H['n'] = amount()\n\n\n"
    "def get():\n    return H.get('n', 1)\n",
    "test_a.py": "import app\n\n\ndef test_a():\n    app.put()\n",
    "test_b.py": "import app\n\n\ndef test_b():\n    assert app.get() == 1\n",
}


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(sys, "monitoring"), reason="recorded from CPython 3.12 on")
def test_a_file_that_comes_first_again_may_spoil_what_ran_without_it(tmp_path: Path) -> None:
    folder = repository(tmp_path / "order", ORDER)
    run_pytest(folder)
    git(folder, "mv", "test_a.py", "test_z.py")
    (folder / "app.py").write_text(
        ORDER["app.py"].replace("return 1", "return 2"), encoding="utf-8"
    )
    git(folder, "commit", "-qam", "Later")
    run_pytest(folder, "--kl-impacted")
    assert run_in_process(["verify"], folder, environment({})).returncode == 0
    git(folder, "mv", "test_z.py", "test_a.py")
    git(folder, "commit", "-qam", "First again")
    run_pytest(folder, "--kl-impacted")
    assert run_in_process(["verify"], folder, environment({})).returncode == 1
