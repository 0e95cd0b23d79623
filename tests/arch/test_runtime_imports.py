"""Imports that only recorded test runs show: reported, and violations where the manifest asks for
it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.support import Checkout, checkout

MANIFEST = """version: 1
layers:
  - name: core
    paths: [src/core/]
    may_depend_on: []
  - name: plugins
    paths: [src/plugins/]
    may_depend_on: below
"""
FILES = {
    ".kl/architecture.yaml": MANIFEST,
    "pytest.ini": "[pytest]\npythonpath = src\n",
    "src/core/__init__.py": "",
    "src/core/load.py": (
        "import importlib\ndef load(name):\n    return importlib.import_module(f'plugins.{name}')\n"
    ),
    "src/plugins/__init__.py": "",
    "src/plugins/price.py": "from core import load\n",
    "tests/test_load.py": (
        "from core.load import load\ndef test_load():\n    assert load('price')\n"
    ),
}
RULE = "core must not import plugins (layer rule, .kl/architecture.yaml:5)"


@pytest.fixture
def shop(tmp_path: Path, home: object) -> Checkout:
    """A run recorded that `core` loads a plugin by a computed name."""
    repo = checkout(tmp_path / "shop", FILES)
    assert repo.pytest("--kl-symbols=on").returncode == 0
    return repo


def test_a_check_that_forbids_them_states_that_no_run_shows_any(tmp_path: Path, home: Path) -> None:
    repo = checkout(tmp_path / "shop", FILES)
    assert "runtime-only" not in repo.kl("arch", "check").stderr
    repo.write(".kl/architecture.yaml", MANIFEST + "runtime_imports: forbid\n")
    assert repo.pytest("--kl-symbols=off").returncode == 0
    done = repo.kl("arch", "check")
    why = "runtime-only imports were not looked at: runtime_imports: no recorded run has executed"
    assert done.returncode == 0 and why in done.stderr, done


@pytest.mark.skipif(sys.version_info < (3, 12), reason="recorded from CPython 3.12 on")
def test_a_runtime_only_import_is_reported_and_is_a_violation_where_the_manifest_asks_for_it(
    shop: Checkout,
) -> None:
    done = shop.kl("arch", "check")
    assert (
        done.returncode == 0
        and f"core.load imports plugins.price at run time only: {RULE}" in done.stderr
    ), done
    assert shop.kl("arch", "check", "--staged").stderr == "", (
        "a gate that only reports opens no database"
    )
    shown = shop.kl("graph", "show", "core.load").stdout
    assert "runtime-only   " in shown and "core.load imports plugins.price  (run " in shown, shown
    plain = json.loads(shop.kl("graph", "show", "plugins.price", "--format", "json").stdout)
    assert [(one["source"], one["target"]) for one in plain["runtime_imports"]] == [
        ("core.load", "plugins.price")
    ]
    shop.write(".kl/architecture.yaml", MANIFEST + "runtime_imports: forbid\n")
    done = shop.kl("arch", "check", "--format", "json")
    found = json.loads(done.stdout)["violations"]
    assert done.returncode == 1 and [one["imported"] for one in found] == ["plugins.price"], found
    assert {one["method"] for one in found} == {"runtime-only import"}
    shop.commit("Forbidden")
    assert shop.kl("arch", "check", "--staged").returncode == 1
    shop.write(".kl/architecture.yaml", MANIFEST + "runtime_imports: ignore\n")
    loosened = shop.kl("arch", "check", "--trust-ref", "HEAD")
    shown = loosened.stdout + loosened.stderr
    assert (
        loosened.returncode == 1 and "imports that only test runs show are no violations" in shown
    ), shown
    # a statement shows it: then it is the ordinary violation alone
    shop.write(".kl/architecture.yaml", MANIFEST)
    shop.write(
        "src/core/load.py", FILES["src/core/load.py"] + "def more():\n    import plugins.price\n"
    )
    done = shop.kl("arch", "check")
    assert done.returncode == 1 and "run time only" not in done.stderr, done


@pytest.mark.skipif(sys.version_info < (3, 12), reason="recorded from CPython 3.12 on")
def test_what_a_module_loads_at_run_time_is_one_warning(tmp_path: Path, home: Path) -> None:
    test = FILES["tests/test_load.py"] + "    assert load('tax')\n"
    files = {**FILES, "src/plugins/tax.py": "", "tests/test_load.py": test}
    repo = checkout(tmp_path / "shop", files)
    assert repo.pytest("--kl-symbols=on").returncode == 0
    (line,) = [text for text in repo.kl("arch", "check").stderr.splitlines() if "run time" in text]
    assert "(layer rule, .kl/architecture.yaml:5): plugins.price, plugins.tax; runtime-only" in line
