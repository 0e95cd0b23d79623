"""The folders that pytest puts on `sys.path`, in its order, and what a bare name means by them."""

from __future__ import annotations

from pathlib import Path

import pytest

from kl_hooks.proof.import_folders import (
    END,
    PREPEND,
    Visit,
    import_paths,
    is_imported_by_pytest,
    meanings,
    root_folder,
    top_modules,
    visits,
)
from kl_hooks.proof.pytest_config import PytestConfig, PytestConfigs
from tests.pytest_kl.recorded import run_pytest

DEFAULT = PytestConfig()
NOTE = """
import os, sys
TOP = os.path.dirname(os.path.abspath(os.environ["PWD_OF_TEST"] + "/x"))
folders = [os.path.relpath(folder, TOP) for folder in sys.path if folder.startswith(TOP)]
with open(os.environ["NOTES"], "a") as notes:
    print(os.path.relpath(__file__, TOP), folders[0] if {prepend} else folders[-1], file=notes)
def test(): pass
"""
LAYOUTS = {
    "folders and files by name": (
        "c_test.py a/test_a.py a/x/test_x.py b/test_b.py tests/test_t.py tests/j/q/test_q.py",
        "[pytest]",
    ),
    "conftest files": (
        "conftest.py a/conftest.py a/test_a.py a/x/conftest.py a/x/test_x.py tests/conftest.py"
        " tests/k/conftest.py tests/k/test_k.py tests/a/conftest.py other/sub/conftest.py",
        "[pytest]",
    ),
    "packages": (
        "tests/__init__.py tests/conftest.py tests/test_a.py tests/sub/__init__.py"
        " tests/sub/test_b.py tests/free/test_c.py deep/x/__init__.py deep/x/test_d.py",
        "[pytest]",
    ),
    "where it starts": (
        "conftest.py z/conftest.py z/unit/conftest.py z/unit/testing/conftest.py"
        " z/unit/test_z.py a/conftest.py a/test_a.py c/test_c.py",
        "[pytest]\ntestpaths = z/unit a",
    ),
    "other names": ("a/check_a.py b/test_b.py", "[pytest]\npython_files = check_*.py"),
    "ignored": (
        "a/test_a.py b/test_b.py build/test_c.py c/test_d.py",
        "[pytest]\naddopts = --ignore=a\nnorecursedirs = c",
    ),
    "modules with examples": ("a/one.py b/test_b.py", "[pytest]\naddopts = --doctest-modules"),
}


ORDERS = [("prepend", name) for name in LAYOUTS] + [
    # with several `conftest.py` of this mode pytest refuses the second, unless they are in packages
    ("append", name)
    for name in ("packages", "other names", "ignored", "modules with examples")
]


@pytest.mark.parametrize(("mode", "name"), ORDERS)
def test_the_order_is_that_of_pytest(tmp_path: Path, mode: str, name: str) -> None:
    paths, config = LAYOUTS[name]
    top = tmp_path / "top"
    for path in paths.split():
        (top / path).parent.mkdir(parents=True, exist_ok=True)
        text = (
            "" if path.endswith("__init__.py") else NOTE.replace("{prepend}", str(mode == PREPEND))
        )
        (top / path).write_text(text)
    (top / "pytest.ini").write_text(f"{config}\n")
    notes = tmp_path / "notes"
    variables = {"NOTES": str(notes), "PWD_OF_TEST": str(top)}
    done = run_pytest(top, f"--import-mode={mode}", "-p", "no:cacheprovider", env=variables)
    assert done.returncode == 0, done.stdout
    configs = PytestConfigs.of(["pytest.ini"], lambda path: (top / path).read_bytes())
    visited = visits(set(paths.split()), configs.for_file)
    imported = [line.split() for line in notes.read_text().splitlines()]
    if mode == PREPEND:
        expected = [[path, folder or "."] for path, folder in visited]
    else:
        on_path = list(dict.fromkeys(folder or "." for _, folder in visited))
        expected = [[path] for path, _ in visited]
        assert list(dict.fromkeys(folder for _, folder in imported)) == on_path
        imported = [row[:1] for row in imported]
    assert imported == expected


def test_the_mode_importlib_leaves_the_path_as_it_is() -> None:
    for options in (["--import-mode=importlib"], ["--import-mode", "importlib"]):
        config = DEFAULT._replace(addopts=tuple(options))
        assert visits({"a/test_a.py", "conftest.py"}, lambda path, config=config: config) == []
        assert not is_imported_by_pytest("a/test_a.py", config)
    assert is_imported_by_pytest("a/test_a.py", DEFAULT)
    assert not is_imported_by_pytest("a/helper.py", DEFAULT)


def test_a_file_of_a_namespace_is_imported_from_a_folder_of_the_path() -> None:
    config = DEFAULT._replace(has_namespaces=True, pythonpath=("src",))
    paths = {"src/shop/tests/test_a.py", "other/test_b.py"}
    assert visits(paths, lambda path: config) == [
        Visit("other/test_b.py", "other"),
        Visit("src/shop/tests/test_a.py", "src"),
    ]
    assert visits(paths, lambda path: config._replace(has_namespaces=False))[1].folder == (
        "src/shop/tests"
    )


def test_the_root_of_a_file_is_above_its_packages() -> None:
    packages = {"a", "a/b", "c", "x-y", "x-y/z"}
    assert root_folder("a/b/test_a.py", packages) == ""
    assert root_folder("d/c/test_a.py", packages) == "d/c"
    assert root_folder("c/d/test_a.py", packages) == "c/d"
    # no import has such a name
    assert root_folder("x-y/z/test_a.py", packages) == "x-y"


def test_configured_paths_start_at_the_folder_of_the_configuration() -> None:
    config = PytestConfig("sub/pytest.ini", pythonpath=("src", ".", "../lib", "../../out"))
    assert import_paths(config) == ("sub/src", "sub", "lib")
    assert import_paths(PytestConfig("pytest.ini", pythonpath=(".",))) == ("",)


def test_the_modules_of_a_folder_are_its_files_and_folders() -> None:
    paths = [
        "a/b.py",
        "a/b/__init__.py",
        "a/c/d.py",
        "a/e-f.py",
        "g.py",
        "a/h/i.py",
        "a/h/__init__.py",
    ]
    assert top_modules(paths, {"", "a"}) == {
        "a": {"": "a/"},
        "b": {"a": "a/b/__init__.py"},
        "c": {"a": "a/c/"},
        "g": {"": "g.py"},
        "h": {"a": "a/h/__init__.py"},
    }


VISITED = [Visit("a/test_a.py", "a"), Visit("b/test_b.py", "b"), Visit("a/test_z.py", "a")]


def test_a_name_means_the_file_of_the_first_folder() -> None:
    holders = {"a": "a/helper.py", "b": "b/helper.py"}
    first, second, third = (path for path, _ in VISITED)
    assert meanings("helper", holders, VISITED, "", "prepend") == {
        first: "a/helper.py",
        second: "b/helper.py",
        third: "a/helper.py",
        END: "a/helper.py",
    }
    assert {*meanings("helper", holders, VISITED, "", "append").values()} == {"a/helper.py"}
    only_b = {"b": "b/helper.py"}
    assert meanings("helper", only_b, VISITED, "", "prepend")[first] == ""
    assert meanings("helper", only_b, VISITED, "src/helper.py", "prepend") == {
        first: "src/helper.py",
        second: "b/helper.py",
        third: "b/helper.py",
        END: "b/helper.py",
    }
    by_base = meanings("helper", only_b, VISITED, "src/helper.py", "append")
    assert {*by_base.values()} == {"src/helper.py"}


def test_a_folder_without_init_is_a_package_only_where_nothing_else_is() -> None:
    holders = {"a": "a/helper/", "b": "b/helper.py"}
    assert meanings("helper", holders, VISITED, "", "prepend")[END] == "b/helper.py"
    holders = {"a": "a/helper/", "b": "b/helper/"}
    assert meanings("helper", holders, VISITED, "", "prepend")[END] == "a/helper/ b/helper/"


def test_conftest_is_the_last_one_that_was_loaded() -> None:
    holders = {"a": "a/conftest.py", "b": "b/conftest.py"}
    visited = [Visit("a/conftest.py", "a"), Visit("b/conftest.py", "b"), Visit("a/test_a.py", "a")]
    assert meanings("conftest", holders, visited, "", "prepend")["a/test_a.py"] == "b/conftest.py"
