"""What a run omits by its arguments is written down, and a whole run is not called a part."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.pytest_kl.recorded import only, repository, run_pytest

PASSES = "def test_one():\n    assert True\n"
FILES = {
    "tests/test_a.py": PASSES,
    "tests/deep/test_b.py": PASSES,
    "tests/helper.py": "",
    "extra/check_c.py": PASSES,
    "build/test_d.py": PASSES,
    "pytest.ini": "[pytest]\n",
}


def omitted(
    folder: Path, *args: str, files: dict[str, str] = FILES, where: str = ".", **env: str
) -> Any:
    repo = repository(folder / "r", files)
    run_pytest(repo / where, *args, env=env)
    return only(repo).opening["selection"].get("left_out")


WHOLE = [
    [],
    ["."],
    ["tests"],
    ["tests", "extra"],
    ["tests/test_a.py", "tests/deep"],
    ["--ignore=docs"],
    ["./tests/"],
]


@pytest.mark.parametrize("args", WHOLE, ids=" ".join)
@pytest.mark.share(3)
def test_all_of_them(tmp_path: Path, args: list[str]) -> None:
    assert omitted(tmp_path, *args) is None


PARTS = [
    (["tests/test_a.py"], ["tests/deep/test_b.py"]),
    (["tests/deep"], ["tests/test_a.py"]),
    (["extra"], ["tests/deep/test_b.py", "tests/test_a.py"]),
    (["tests/test_a.py::test_one", "tests/deep"], ["tests/test_a.py"]),
    (["--ignore=tests/deep"], ["tests/deep/test_b.py"]),
    (["--ignore-glob=*_b.py"], ["tests/deep/test_b.py"]),
    (["--pyargs", "json"], ["tests/deep/test_b.py", "tests/test_a.py"]),
]


@pytest.mark.parametrize(("args", "missing"), PARTS, ids=str)
@pytest.mark.share(3)
def test_a_part_of_them(tmp_path: Path, args: list[str], missing: list[str]) -> None:
    # how many an option ignores that the configuration of every run may have as well
    ignored = {"ignored": len(missing)} if args[0].startswith("--ignore") else {}
    assert omitted(tmp_path, *args) == {"files": len(missing), "first": missing, **ignored}


def test_arguments_from_the_environment_and_from_a_folder_below(tmp_path: Path) -> None:
    found = omitted(tmp_path / "a", PYTEST_ADDOPTS="--ignore=tests/deep")
    assert found == {"files": 1, "first": ["tests/deep/test_b.py"], "ignored": 1}
    assert omitted(tmp_path / "b", where="tests/deep") == {"files": 1, "first": ["tests/test_a.py"]}
    no_ini = {name: text for name, text in FILES.items() if name != "pytest.ini"}
    assert omitted(tmp_path / "c", "tests/deep", files=no_ini) == {
        "files": 1,
        "first": ["tests/test_a.py"],
    }


def test_what_testpaths_omit_is_none_of_the_project(tmp_path: Path) -> None:
    files = {**FILES, "pytest.ini": "[pytest]\ntestpaths = tests/d*\n"}
    assert omitted(tmp_path / "a", files=files) is None
    assert omitted(tmp_path / "b", "tests/deep", files=files) is None
    assert omitted(tmp_path / "c", "tests/test_a.py", files=files) == {
        "files": 1,
        "first": ["tests/deep/test_b.py"],
    }


def test_another_idea_of_what_a_test_is(tmp_path: Path) -> None:
    repo = repository(tmp_path / "r", FILES)
    (tmp_path / "mine.ini").write_text("[pytest]\npython_files = test_a.py\n")
    run_pytest(
        repo,
        "-c",
        str(tmp_path / "mine.ini"),
        "--rootdir=.",
        "-o",
        "python_files=test_a.py",
        "-o",
        "kl=true",
    )
    selection = only(repo).opening["selection"]
    assert selection["overridden"] == ["python_files=test_a.py"]
    assert selection["config_file"] == str(tmp_path / "mine.ini")


EXAMPLES = {
    "tests/test_a.py": PASSES,
    "src/shop.py": '"""\n>>> 1 + 1\n2\n"""\n',
    "src/plain.py": '"""No example."""\n',
    "src/__main__.py": '"""\n>>> 1 + 1\n2\n"""\n',
    "setup.py": '"""\n>>> 1 + 1\n2\n"""\nimport setuptools\n',
    "docs/guide.rst": ">>> 1 + 1\n2\n",
    "docs/other.rst": "text\n",
}


def test_files_with_examples_are_omitted_where_they_are_collected(tmp_path: Path) -> None:
    assert omitted(tmp_path / "a", "tests", files={**EXAMPLES, "pytest.ini": "[pytest]\n"}) is None
    ini = "[pytest]\naddopts = --doctest-modules --doctest-glob=*.rst\n"
    files = {**EXAMPLES, "pytest.ini": ini}
    first = ["docs/guide.rst", "src/shop.py"]
    assert omitted(tmp_path / "b", "tests", files=files) == {"files": 2, "first": first}
    assert omitted(tmp_path / "c", "tests", "src", files=files) == {"files": 1, "first": first[:1]}
    assert omitted(tmp_path / "d", ".", files=files) is None
