"""A hook at the end of the session that judges all tests together."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.support import checkout

SYMBOLS = pytest.mark.skipif(sys.version_info < (3, 12), reason="symbols are recorded from 3.12 on")
SHOP = (
    "CALLED = set()\nHANDLERS = {'buy': 1, 'sell': 2}\n\n\ndef call(name):\n"
    "    CALLED.add(name)\n    return HANDLERS[name]\n"
)
CHECK = (
    "import shop\n\n\n{decorator}def pytest_sessionfinish(session):\n{before}"
    "    if set(shop.HANDLERS) - shop.CALLED:\n        session.{attribute} = 1\n"
)
WRAPPER = {"decorator": "@pytest.hookimpl(wrapper=True)\n", "before": "    yield\n"}
CHECKS = {
    "hook": CHECK.format(decorator="", before="", attribute="exitstatus"),
    "wrapper": "import pytest\n" + CHECK.format(**WRAPPER, attribute="exitstatus"),
    "summary": CHECK.format(decorator="", before="", attribute="exitstatus")
    .replace("sessionfinish(session)", "terminal_summary(terminalreporter)")
    .replace("session.exit", "terminalreporter._session.exit"),
    "helper": (
        "import shop\n\n\nclass Check:\n    def end(self, session):\n"
        "        if set(shop.HANDLERS) - shop.CALLED:\n            session.exitstatus = 1\n"
        "\n\ndef pytest_sessionfinish(session):\n    Check().end(session)\n"
    ),
}
TEST = "import shop\n\n\ndef test_{name}():\n    assert shop.call('{name}')\n"


@pytest.mark.parametrize("name", CHECKS)
def test_only_a_complete_run_counts(tmp_path: Path, home: Path, name: str) -> None:
    files = {
        "pytest.ini": "[pytest]\npythonpath = .\n",
        "shop.py": SHOP,
        "conftest.py": CHECKS[name],
        "test_buy.py": TEST.format(name="buy"),
        "test_sell.py": TEST.format(name="sell"),
    }
    repo = checkout(tmp_path / "shop", files=files)
    assert repo.pytest("-q").returncode == 0
    assert repo.kl("verify").returncode == 0
    repo.git("rm", "-q", "test_sell.py")
    repo.commit()
    assert repo.kl("verify").returncode == 1
    assert repo.pytest("-q", "--kl-impacted").returncode == 1


def test_a_part_of_the_tests_is_none_of_a_whole(tmp_path: Path, home: Path) -> None:
    files = {
        "conftest.py": (
            "import os\n\n\ndef pytest_sessionfinish(session):\n"
            "    if session.testscollected > 1:\n        session.exitstatus = 1\n"
        ),
        "test_shop.py": "def test_a():\n    pass\n\n\ndef test_b():\n    pass\n",
    }
    repo = checkout(tmp_path / "shop", files=files)
    for test in ("test_a", "test_b"):
        assert repo.pytest("-q", f"test_shop.py::{test}").returncode == 0
    verified = repo.kl("verify")
    assert verified.returncode == 1
    assert "conftest.py judges all tests together, and only a part ran" in verified.stdout


@SYMBOLS
def test_a_hook_that_only_reads_the_status_changes_nothing(tmp_path: Path, home: Path) -> None:
    files = {
        "conftest.py": (
            "def pytest_sessionfinish(session):\n    print('ended', session.exitstatus)\n"
        ),
        "shop.py": "def price():\n    return 1\n",
        "test_shop.py": "def test_a():\n    pass\n",
    }
    repo = checkout(tmp_path / "shop", files=files)
    assert repo.pytest("-q").returncode == 0
    repo.write("shop.py", "def price():\n    return 22\n")
    repo.commit()
    assert repo.kl("verify").returncode == 0
