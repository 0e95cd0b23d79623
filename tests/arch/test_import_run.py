"""Set-ups of import-linter that chance wrote: imported, they have the verdict that lint-imports
itself gives.
"""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kl_hooks.arch.check import run_check
from kl_hooks.arch.importers import find_config, import_config
from tests.arch.shop import MANIFEST, opened
from tests.git.repos import make, write

PARTS = [f"{top}.{name}" for top in ("red", "blue") for name in ("a", "b", "c", "d")]
LEAVES = [*PARTS, *(f"{part}.{leaf}" for part in PARTS for leaf in ("x", "y")), "red", "blue"]


def project(chance: random.Random) -> dict[str, str]:
    """Two packages below `src` whose modules import each other in every way there is."""
    files: dict[str, str] = {}
    for name in LEAVES:
        package = name.count(".") < 2
        path = "src/" + name.replace(".", "/") + ("/__init__.py" if package else ".py")
        lines = []
        for target in chance.sample(LEAVES, chance.choice((0, 0, 1, 1, 2))):
            above, _, last = target.rpartition(".")
            ways = [
                f"import {target}",
                f"def f():\n    import {target}",
                f"from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import {target}",
            ]
            lines.append(chance.choice([*ways, f"from {above} import {last}"] if above else ways))
        files[path] = "\n".join([*lines, "import json", ""])
    return files


def contract(chance: random.Random) -> dict[str, Any]:
    """A contract of a type and over modules that chance took."""
    some = chance.sample(PARTS, 4)
    kinds: list[dict[str, Any]] = [
        {
            "type": "layers",
            "layers": [some[0], chance.choice((" | ", " : ")).join(some[1:3]), f"({some[3]})"],
        },
        {
            "type": "layers",
            "layers": ["a", "b", "(nowhere)", "c"],
            "containers": ["red", "blue"],
            "exhaustive": chance.random() < 0.3,
            "exhaustive_ignores": ["d"],
        },
        {"type": "layers", "layers": chance.sample(["red", "blue"], 2)},
        {
            "type": "forbidden",
            "source_modules": some[:1],
            "forbidden_modules": some[1:2],
            "allow_indirect_imports": chance.random() < 0.5,
            "as_packages": chance.random() < 0.5,
        },
        {"type": "forbidden", "source_modules": some[:2], "forbidden_modules": ["json"]},
        {"type": "independence", "modules": some[:2]},
        {"type": "protected", "protected_modules": some[:1], "allowed_importers": some[1:]},
        {"type": "acyclic_siblings", "ancestors": ["red"], "depth": chance.choice((0, 1))},
    ]
    made = chance.choice(kinds)
    if chance.random() < 0.3:
        made |= {
            "ignore_imports": [f"{some[0]}.** -> {some[1]}.**"],
            "unmatched_ignore_imports_alerting": "none",
        }
    return made


def toml(contracts: list[dict[str, Any]], **session: Any) -> str:
    tables = [("[tool.importlinter]", session)]
    tables += [
        ("[[tool.importlinter.contracts]]", {"name": f"C{n}", **one})
        for n, one in enumerate(contracts)
    ]
    return "\n".join(
        "\n".join([head, *(f"{key} = {json.dumps(value)}" for key, value in table.items())])
        for head, table in tables
    )


def lint_imports(folder: Path) -> set[str]:
    """The contracts that import-linter itself finds broken."""
    call = (
        "from importlinter.cli import lint_imports; raise SystemExit(lint_imports(no_cache=True))"
    )
    environ = {**os.environ, "PYTHONPATH": str(folder / "src"), "COLUMNS": "200"}
    done = subprocess.run(
        [sys.executable, "-c", call],
        cwd=folder,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert re.search(r"Contracts: \d+ kept", done.stdout), done.stdout + done.stderr
    return set(re.findall(r"^(C\d+) BROKEN", done.stdout, re.MULTILINE))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.share(2)
def test_the_verdict_is_that_of_lint_imports(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    contracts = [contract(chance) for _ in range(25)]
    session = {
        "root_packages": ["red", "blue"],
        "include_external_packages": True,
        "exclude_type_checking_imports": seed % 2 == 1,
    }
    folder = tmp_path / "shop"
    make(folder, {**project(chance), "pyproject.toml": toml(contracts, **session)})
    found = import_config(opened(folder))
    assert found.left == () and find_config(opened(folder)) == "pyproject.toml"
    write(folder, {MANIFEST: found.manifest_text()})
    verdict, _ = run_check(opened(folder))
    assert verdict is not None
    broken = lint_imports(folder)
    stored = {one.name for one in found.contracts}
    assert {one.contract for one in verdict.contracts} == broken & stored
    if found.layers:
        (layered,) = {f"C{n}" for n in range(25)} - stored
        assert bool(verdict.violations) == (layered in broken)
    assert 3 < len(broken) < 25, "chance should write some of both"
    assert all(step.path and step.lines for one in verdict.contracts for step in one.chain)


def test_a_root_package_that_is_elsewhere_is_omitted_and_reported(tmp_path: Path) -> None:
    rule = {"type": "forbidden", "source_modules": ["red.a"], "forbidden_modules": ["red.b"]}
    text = toml([rule], root_packages=["red", "numpy"])
    make(tmp_path / "shop", {**project(random.Random(1)), "pyproject.toml": text})
    found = import_config(opened(tmp_path / "shop"))
    assert found.left == ('the root package "numpy": it is not in this repository',)
    assert [one.root_packages for one in found.contracts] == [("red",)]


def test_the_order_in_which_set_ups_are_found(tmp_path: Path) -> None:
    folder = tmp_path / "shop"
    make(
        folder,
        {
            "tach.toml": "",
            "pyproject.toml": "[tool.ruff]\n",
            "setup.cfg": "[x]\nimportlinter = 1\n",
        },
    )
    assert find_config(opened(folder)) == "tach.toml"
    write(folder, {"pyproject.toml": "[tool.importlinter]\nroot_package = 'a'\n"})
    assert find_config(opened(folder)) == "pyproject.toml"
    write(folder, {".importlinter": "[importlinter]\nroot_package = a\n"})
    assert find_config(opened(folder)) == ".importlinter"
