"""A file that can't be collected is named with the line that is wrong, and is no test."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.pytest_kl.recorded import environment, repository, run_pytest
from tests.support import run_in_process

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(sys, "monitoring"), reason="recorded from CPython 3.12 on"),
]

FILES = {
    "app.py": "def f():\n    return 1\n",
    "conftest.py": "",
    "test_a.py": "import app\ndef test_a():\n    assert app.f()\n",
    "test_b.py": "def test_b():\n    pass\n",
    "sub/test_c.py": "def test_c():\n    pass\n",
}
BROKEN = {
    "test_a.py": "\nimport app\nfrom app import nope\n",
    "test_b.py": "def test_b():\n    pass\n\ndef broken(:\n    pass\n",
    "sub/test_c.py": "import test_b\n",
}


def test_the_wrong_line_is_named_and_a_file_counts_as_no_test(tmp_path: Path) -> None:
    folder = repository(tmp_path / "broken", FILES)
    run_pytest(folder)
    for name, text in BROKEN.items():
        (folder / name).write_text(text, encoding="utf-8")
    before = run_in_process(["verify"], folder, environment({}))
    # the parser may count columns from 0
    assert "test_b.py::test_b: test_b.py can't be read: test_b.py:4:1" in before.stdout
    run_pytest(folder)
    done = run_in_process(["verify"], folder, environment({}))
    lines = [line for line in done.stdout.splitlines() if "can't be collected (" in line]
    assert done.returncode == 1 and "; 3 files can't be collected\n" in done.stdout
    assert [line.partition("): ")[2].partition(" '")[0] for line in lines] == [
        # a broken import of another file is wrong there
        "test_b.py:4:12: SyntaxError: invalid syntax",
        "test_a.py:3: ImportError: cannot import name",
        "test_b.py:4:12: SyntaxError: invalid syntax",
    ]
    answer = run_in_process(["verify", "--format", "json"], folder, environment({}))
    tests = json.loads(answer.stdout)["tests"]
    assert (tests["failing"], tests["uncollected_files"], tests["total"]) == (0, 3, 1)
    status = run_in_process(["status"], folder, environment({}))
    assert "  failing   3 files can't be collected: " in status.stdout


def test_what_is_recorded_of_a_failure_names_no_folder_of_this_machine(tmp_path: Path) -> None:
    files = {
        "helper.py": "raise RuntimeError(__file__)\n",
        "test_a.py": "import helper\n",
        "test_b.py": "def broken(:\n",
        "test_c.py": "def test_c():\n    open(__file__ + '.none')\n",
    }
    folder = repository(tmp_path / "failing", files)
    run_pytest(folder)
    run_pytest(folder, "test_c.py")
    rows = run_in_process(["evidence", "list", "--format", "json"], folder, environment({}))
    runs = [one["run"] for one in json.loads(rows.stdout)["receipts"] if one["source"] == "pytest"]
    details = {}
    for run in runs:
        show = ["evidence", "show", run, "--format", "json"]
        receipt = json.loads(run_in_process(show, folder, environment({})).stdout)
        details |= {row["subject"]: row for row in receipt["evidence"]}
    assert details["test:test_a.py"]["message"] == "RuntimeError: helper.py"
    assert details["test:test_a.py"]["at"] == "helper.py:1: RuntimeError: helper.py"
    assert details["test:test_b.py"]["message"].startswith('File "test_b.py", line 1')
    assert details["test:test_c.py::test_c"]["message"].endswith("'test_c.py.none'")
    assert str(tmp_path) not in json.dumps(details)
