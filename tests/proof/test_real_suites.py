"""Plain pytest proves packages that nobody here wrote: what their suites omit is not called
missing.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from bench.downloads import sdist
from tests.whole.h11 import environment

pytestmark = [pytest.mark.net, pytest.mark.slow]

SUITES = {
    # a file for a newer Python is ignored by a conftest.py
    "attrs==26.1.0 --hash=sha256:d03ceb89cb322a8fd706d4fb91940737b6642aa36998fe130a9bc96c985eff32": (
        ("cloudpickle",),
        ("tests/conftest.py", r"(suppress_health_check=)", r"max_examples=5, \1"),
    ),
    # methods made by setattr, a module-level skip; the first 200 of 6,000 methods that were written
    # by a program
    "idna==3.20 --hash=sha256:a7db850025b95ded1eae8a46181a1a6c56c92c96f0e2b005d9ff8dc0210cab44": (
        (),
        ("tests/test_idna_uts46.py", r"(?s)    def test_uts46_3\d\d\(.*", ""),
    ),
    "iniconfig==2.3.1 --hash=sha256:67f4b9c50da0dedf52af349e7749a80a9057a5031199791b906c3bb3ae878960": (
        (),
        None,
    ),
    # classes that inherit their tests
    "itsdangerous==2.2.0 --hash=sha256:e0050c0b7da1eea53ffaf149c0cfbb5c6e2e2b69c4bef22c81fa6eb73e5f6173": (
        ("freezegun", "python-dateutil", "six"),
        None,
    ),
    # unittest and subtests; without a class that takes half the time
    "more-itertools==11.2.1 --hash=sha256:cbf08fd0af284dc69718b9b76a8e6203df624d70209ea511e4219d350c856f63": (
        (),
        ("tests/test_recipes.py", r"(?ms)^class PrimeFunctionTests.*?(?=^class )", ""),
    ),
    # scripts and examples named like tests
    "pluggy==1.7.0 --hash=sha256:d1eaa46ebb595891b860ab086b4d09c8588af65ebd4361b8e8f4bb8920b90ba8": (
        (),
        None,
    ),
}
"""The sdist's pin → what its tests import besides; file, pattern and replacement that make them
take less time.
"""


@pytest.mark.parametrize("pin", SUITES, ids=lambda pin: pin.partition("=")[0])
@pytest.mark.share("iniconfig")
def test_a_plain_run_proves_the_suite_of(pin: str, tmp_path: Path) -> None:
    root, site = sdist(pin, tmp_path / "sdist"), tmp_path / "site"
    environ = environment(tmp_path)
    environ["PYTHONPATH"] = f"{root / 'src'}:{root}:{site}:{environ['PYTHONPATH']}"
    needs, shorter = SUITES[pin]
    if needs:
        pip = (
            sys.executable,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--no-deps",
            "--target",
            str(site),
        )
        subprocess.run([*pip, *needs], check=True, capture_output=True)
    if shorter:
        path, pattern, text = shorter
        made, found = re.subn(pattern, text, (root / path).read_text(encoding="utf-8"), count=1)
        assert found
        (root / path).write_text(made, encoding="utf-8")

    def run(*argv: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            argv, cwd=root, env=environ, capture_output=True, text=True, check=False
        )

    (root / ".kl").mkdir()
    (root / ".kl" / "README.md").write_text("Here.\n", encoding="utf-8")
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "Import")):
        assert run("git", *words).returncode == 0
    done = run(
        sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "pytest_kl.plugin"
    )
    reported = json.loads(
        run(sys.executable, "-P", "-m", "kl_hooks", "verify", "--format", "json").stdout
    )
    if (
        done.returncode
    ):  # a patch release of Python that the suite itself fails on, such as attrs' on 3.11.2
        assert not reported["accepted"] and "tests failed" in " ".join(reported["reasons"]), (
            done.stdout[-2000:]
        )
    else:
        assert reported["accepted"], reported["reasons"]
    assert reported["missing"] == []
