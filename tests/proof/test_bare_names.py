"""A test file or `conftest.py` that comes or goes changes what `import helper` means for others."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.pytest_kl.recorded import repository

from .test_left_behind import commit as commit_files
from .test_left_behind import impacted, record, verify

pytestmark = pytest.mark.skipif(
    sys.version_info < (3, 12), reason="symbols are recorded from 3.12 on"
)
PLAIN = "def test_plain(): pass\n"
LATE = "def test_b():\n    import helper\n    assert helper.WHO\n"
EARLY = "import helper\ndef test_b(): assert helper.WHO\n"
IN_VAIN = "try:\n    import helper\nexcept ImportError:\n    helper = None\ndef test_b(): assert not helper\n"
BY_TEXT = "import importlib\ndef test_b(): assert importlib.import_module('helper').WHO\n"
BY_NAME_OF_DATA = (
    "import importlib\ndef test_b(): assert importlib.import_module('hel' + 'per').WHO\n"
)
BY_LIBRARY = "import pydoc\ndef test_b(): assert pydoc.locate('hel' + 'per').WHO\n"
BY_MADE_CODE = (
    "def test_b():\n    made = {}\n    exec('import helper', made)\n    assert made['helper'].WHO\n"
)
IN_VAIN_BY_DATA = (
    "from importlib.util import find_spec\ndef test_b(): assert find_spec('hel' + 'per') is None\n"
)
HELPER = "WHO = 1\n"
B = {"b/test_b.py::test_b"}


def commit(folder: Path, files: dict[str, str | None]) -> None:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        if text is None:
            (folder / path).unlink()
    commit_files(folder, {path: text for path, text in files.items() if text is not None})


EDITS: dict[str, tuple[dict[str, str], dict[str, str | None], set[str]]] = {
    "a folder before": (
        {"b/helper.py": HELPER, "b/test_b.py": LATE, "z/helper.py": HELPER},
        {"z/test_z.py": PLAIN},
        B,
    ),
    "a folder before, by a text": (
        {"b/helper.py": HELPER, "b/test_b.py": BY_TEXT, "z/helper.py": HELPER},
        {"z/test_z.py": PLAIN},
        B,
    ),
    "a folder before, by a name of data": (
        {"b/helper.py": HELPER, "b/test_b.py": BY_NAME_OF_DATA, "z/helper.py": HELPER},
        {"z/test_z.py": PLAIN},
        B,
    ),
    "a folder before, by a name that a library gets": (
        {"b/helper.py": HELPER, "b/test_b.py": BY_LIBRARY, "z/helper.py": HELPER},
        {"z/test_z.py": PLAIN},
        B,
    ),
    "a folder before, by made code": (
        {"b/helper.py": HELPER, "b/test_b.py": BY_MADE_CODE, "z/helper.py": HELPER},
        {"z/test_z.py": PLAIN},
        B,
    ),
    "who comes first imports another by a text": (
        {"b/helper.py": HELPER, "b/test_b.py": LATE, "a/helper.py": HELPER},
        {"a/test_a.py": "OTHER = __import__('helper')\n" + PLAIN},
        B,
    ),
    "what data looked for in vain": (
        {"a/helper.py": HELPER, "b/test_b.py": IN_VAIN_BY_DATA},
        {"a/test_a.py": PLAIN},
        B,
    ),
    "who comes first imports another": (
        {"b/helper.py": HELPER, "b/test_b.py": LATE, "a/helper.py": HELPER},
        {"a/test_a.py": "import helper\n" + PLAIN},
        B,
    ),
    "who was there and comes first imports another": (
        {"b/helper.py": HELPER, "b/test_b.py": LATE, "a/helper.py": HELPER, "a/test_a.py": PLAIN},
        {"a/test_a.py": "import helper\n" + PLAIN},
        B,
    ),
    "a folder is gone": (
        {"a/helper.py": HELPER, "a/test_a.py": PLAIN, "b/test_b.py": EARLY},
        {"a/test_a.py": None},
        B,
    ),
    "a folder becomes a package": (
        {"a/helper.py": HELPER, "a/test_a.py": PLAIN, "b/test_b.py": EARLY},
        {"a/__init__.py": ""},
        {*B, "a/test_a.py::test_plain"},
    ),
    "what was looked for in vain": (
        {"a/helper.py": HELPER, "b/test_b.py": IN_VAIN},
        {"a/test_a.py": PLAIN},
        B,
    ),
    "what was looked for in vain by another file": (
        {"a/helper.py": HELPER, "b/test_b.py": IN_VAIN, "test_c.py": "def test_c(): pass\n"},
        {"conftest.py": "", "a/conftest.py": ""},
        {*B, "test_c.py::test_c"},
    ),
    "conftest by its name": (
        {
            "tests/conftest.py": "def make(): return 1\n",
            "tests/k/test_k.py": "from conftest import make\ndef test_k(): assert make()\n",
            "tests/l/test_l.py": PLAIN,
        },
        {"tests/j/conftest.py": ""},
        {"tests/k/test_k.py::test_k"},
    ),
    "a module of the library": (
        {"b/test_b.py": PLAIN, "z/colorsys.py": ""},
        {"z/test_z.py": PLAIN},
        {"b/test_b.py::test_plain"},
    ),
}
HARMLESS: dict[str, tuple[dict[str, str], dict[str, str | None]]] = {
    "a test file beside others": (
        {"b/helper.py": HELPER, "b/test_b.py": EARLY, "a/test_a.py": PLAIN, "a/helper.py": HELPER},
        {"b/test_c.py": PLAIN, "a/test_0.py": PLAIN},
    ),
    "a folder of which nobody imports": (
        {"b/helper.py": HELPER, "b/test_b.py": EARLY, "z/tool.py": HELPER},
        {"z/test_z.py": PLAIN, "y/test_y.py": PLAIN, "y/own.py": HELPER},
    ),
    "beside code that is imported from above": (
        {
            "b/test_b.py": "import shop.helper\n" + PLAIN,
            "shop/helper.py": HELPER,
            "conftest.py": "",
        },
        {"shop/test_shop.py": PLAIN},
    ),
    "beside a package that the configuration has on the path": (
        {
            "pytest.ini": "[pytest]\npythonpath = src\n",
            "src/helper/__init__.py": HELPER,
            "b/test_b.py": EARLY,
        },
        {"src/helper/test_helper.py": PLAIN},
    ),
    "beside a package that is on the path by code": (
        {
            "plugin.py": "import sys\nsys.path.insert(0, 'src')\n",
            "pytest.ini": "[pytest]\naddopts = -p plugin\npythonpath = .\n",
            "src/shop/__init__.py": HELPER,
            "src/shop/cart.py": HELPER,
            "b/test_b.py": "import shop.cart\n" + PLAIN,
        },
        {"src/shop/test_cart.py": PLAIN},
    ),
    "beside a folder that is on the path by code": (
        {
            "plugin.py": "import sys\nsys.path.insert(0, 'src')\n",
            "pytest.ini": "[pytest]\naddopts = -p plugin\npythonpath = .\n",
            "src/shop/cart.py": HELPER,
            "b/test_b.py": "import shop.cart\n" + PLAIN,
        },
        {"src/test_cart.py": PLAIN},
    ),
    "a folder on the path before others need it": (
        {
            "tests/helper.py": HELPER,
            "tests/test_z.py": EARLY,
            "tests/m/test_m.py": PLAIN,
        },
        {"tests/a_test.py": PLAIN},
    ),
    "the path stays as it is": (
        {
            "pytest.ini": "[pytest]\naddopts = --import-mode=importlib\npythonpath = b\n",
            "b/helper.py": HELPER,
            "b/test_b.py": EARLY,
            "z/helper.py": HELPER,
        },
        {"z/test_z.py": PLAIN},
    ),
    "the last on the path": (
        {
            "pytest.ini": "[pytest]\naddopts = --import-mode=append\n",
            "b/helper.py": HELPER,
            "b/test_b.py": EARLY,
            "z/helper.py": HELPER,
            "z/colorsys.py": "",
        },
        {"z/test_z.py": PLAIN},
    ),
    "conftest where nobody imports it": (
        {"tests/conftest.py": "", "tests/k/test_k.py": PLAIN},
        {"tests/j/conftest.py": "", "tests/j/test_j.py": PLAIN},
    ),
}


@pytest.mark.parametrize("name", EDITS)
def test_who_may_import_another_file_by_a_name_must_run_again(tmp_path: Path, name: str) -> None:
    files, edit, stale = EDITS[name]
    folder = repository(tmp_path / "program", {"pytest.ini": "[pytest]\n", **files})
    assert record(folder) == 0
    assert verify(folder) == 0
    commit(folder, edit)
    assert verify(folder) == 1
    assert {test for test in impacted(folder) if test.partition("::")[0] not in edit} == stale
    # once they ran on this content, it is known how they end
    assert (record(folder, "--kl-impacted") == 0) == (verify(folder) == 0)


@pytest.mark.parametrize("name", HARMLESS)
def test_what_nobody_imports_reaches_nobody(tmp_path: Path, name: str) -> None:
    files, edit = HARMLESS[name]
    folder = repository(tmp_path / "program", {"pytest.ini": "[pytest]\n", **files})
    assert record(folder) == 0
    commit(folder, edit)
    assert {test for test in impacted(folder) if test.partition("::")[0] not in edit} == set()
    assert record(folder, "--kl-impacted") == 0
    assert verify(folder) == 0
