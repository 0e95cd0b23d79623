"""What the controller of xdist executes counts for the tests that its workers run."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.support import checkout

SETTINGS = "def settings():\n    return 'first'\n"
BY = {
    "the environment": (
        "import os\n\nimport shop\n\n\ndef pytest_configure(config):\n"
        "    if not hasattr(config, 'workerinput'):\n"
        "        os.environ['SHOP'] = shop.settings()\n",
        "import os\n\n\ndef test_settings():\n    assert os.environ['SHOP'] == 'first'\n",
    ),
    "the input of the workers": (
        "import shop\n\n\ndef pytest_configure_node(node):\n"
        "    node.workerinput['shop'] = shop.settings()\n",
        "def test_settings(request):\n    assert request.config.workerinput['shop'] == 'first'\n",
    ),
}


@pytest.mark.skipif(sys.version_info < (3, 12), reason="symbols are recorded from 3.12 on")
@pytest.mark.parametrize("way", BY)
def test_a_change_of_what_the_controller_executes_makes_the_tests_run_again(
    tmp_path: Path, home: Path, way: str
) -> None:
    conftest, tests = BY[way]
    files = {
        "pytest.ini": "[pytest]\npythonpath = .\naddopts = -p xdist.plugin -n 1\n",
        "shop.py": SETTINGS + "\n\ndef unused():\n    return 1\n",
        "conftest.py": conftest,
        "test_settings.py": tests,
    }
    repo = checkout(tmp_path / "shop", files=files)
    assert repo.pytest("-q").returncode == 0
    assert repo.kl("verify").returncode == 0
    repo.write("shop.py", SETTINGS + "\n\ndef unused():\n    return 22\n")
    repo.commit()
    assert repo.kl("verify").returncode == 0, "nothing executes it"
    repo.write("shop.py", SETTINGS.replace("first", "second"))
    repo.commit()
    assert repo.kl("verify").returncode == 1
    assert repo.pytest("-q", "--kl-impacted").returncode == 1
