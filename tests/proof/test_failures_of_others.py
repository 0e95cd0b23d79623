"""A failure that other tests may have caused is ended by no pass of the test alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import checkout

from .test_gate_union import FAILED, PART, A, B, made, names, prove

INI = "[pytest]\npythonpath = .\n"
CLOSING = "class Database:\n    def close(self):\n        self.is_open = False\n"
FIXTURE = (
    "import pytest\nfrom database import Database\n\n\n"
    '@pytest.fixture(scope="session")\ndef database():\n'
    "    database = Database()\n    yield database\n    database.close()\n"
)
LEFT = (
    "class Connection:\n    def __del__(self):\n        self.end()\n"
    "    def end(self):\n        pass\n"
)
TESTS = {
    "fixture of the session": {
        "pytest.ini": INI,
        "database.py": CLOSING,
        "conftest.py": FIXTURE,
        "test_a.py": "def test_uses(database):\n    assert database\n",
        "test_z.py": "def test_other():\n    pass\n",
    },
    "set-up of a module": {
        "pytest.ini": INI,
        "database.py": CLOSING,
        "test_z.py": (
            "from database import Database\n\n\ndef teardown_module():\n    if USED:\n"
            "        Database().close()\n\n\nUSED = []\n\n\ndef test_uses():\n    USED.append(1)\n"
            "\n\ndef test_other():\n    pass\n"
        ),
    },
    "object that is collected later": {
        "pytest.ini": f"{INI}filterwarnings = error\n",
        "database.py": LEFT.replace("end", "close"),
        "test_a.py": (
            "from database import Connection\n\n\ndef test_uses():\n"
            "    connection = Connection()\n    connection.itself = connection\n"
        ),
        "test_z.py": "import gc\n\n\ndef test_other():\n    gc.collect()\n",
    },
}


@pytest.mark.parametrize("name", TESTS)
def test_the_test_alone_passes_and_proves_nothing(tmp_path: Path, home: Path, name: str) -> None:
    repo = checkout(tmp_path / "shop", files=TESTS[name])
    assert repo.pytest("-q").returncode == 0
    assert repo.kl("verify").returncode == 0
    source = (repo.root / "database.py").read_text()
    for right in ("self.is_open = False", "pass"):
        source = source.replace(right, "raise RuntimeError('still in use')")
    repo.write("database.py", source)
    repo.commit()
    failed = repo.pytest("-q")
    assert failed.returncode == 1
    assert "test_other" in failed.stdout
    assert repo.pytest("-q", "--lf").returncode == 0
    verified = repo.kl("verify")
    assert verified.returncode == 1
    assert "test_z.py::test_other failed in run" in verified.stdout
    assert "by what other tests may have left" in verified.stdout
    assert repo.pytest("-q").returncode == 1


def test_what_ends_it_is_a_run_of_all_tests() -> None:
    bad = made("a1", *A[1:], *B, f"{A[0]}=error", result=FAILED)
    evidence = tuple(
        result._replace(detail={"of_others": "yes"}) if result.outcome == "error" else result
        for result in bad.receipt.evidence
    )
    bad = bad._replace(receipt=bad.receipt._replace(evidence=evidence))
    alone = made("a3", A[0], selection=PART)
    assert prove(alone, bad).failed == "earlier"
    assert names(prove(alone, made("a2", *A, *B), bad)) == ["a2"]
    assert names(prove(made("a3", *A, *B), bad)) == ["a3"]
    own = made("a1", *A[1:], *B, f"{A[0]}=error", result=FAILED)
    assert prove(alone, own).failed == "", "its own failure is ended by a pass of the test"
