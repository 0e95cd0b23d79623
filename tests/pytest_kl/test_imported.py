"""What was imported is the content that the receipt names, or the run is no evidence for it."""

from __future__ import annotations

import os
import py_compile
import shutil
import subprocess
import sys
import zipfile
import zipimport
from collections import Counter
from collections.abc import Mapping
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from kl_hooks.evidence.provenance import worktree_state
from kl_hooks.git.repository import find_repository
from pytest_kl import imported
from pytest_kl.imported import Content, Observer, report, summarize

from .recorded import environment, git, only, recorded, repository, run_pytest, shown

PROJECT = '[build-system]\nrequires = ["setuptools"]\n[project]\nname = "shop"\n'


def content_of(top: Path) -> Content:
    """The content of a repository, as a run sees it at its start."""
    repo = find_repository(top)
    assert repo is not None
    return Content.of(repo, worktree_state(repo).listing)


def module(name: str, file: Path | str | None, loader: Any = None) -> ModuleType:
    """A module as the import system leaves it in `sys.modules`."""
    made = ModuleType(name)
    if file is not None:
        spec = ModuleSpec(name, loader, origin=str(file))
        spec.has_location = True
        made.__spec__, made.__file__, made.__loader__ = spec, str(file), loader
    return made


def put(path: Path, text: str = "x = 1\n") -> Path:
    """A file with its folders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


FLAT, SRC = (
    {"shop/__init__.py": "", "shop/cart.py": "x = 1\n"},
    {"src/shop/__init__.py": "", "src/shop/cart.py": "x = 1\n"},
)
SITE = "venv/lib/python3/site-packages/"
OLD = "x = 'of yesterday'\n"
CASES: dict[str, tuple[dict[str, str], str, str, str, list[str], str]] = {
    # name: files of the tree, module, its file (from the top; @: in site-packages), its text,
    # sys.path, what it is
    "in place": (SRC, "shop.cart", "src/shop/cart.py", "x = 1\n", ["src"], "in_place"),
    "test module in place": (
        {"tests/test_a.py": "x = 1\n"},
        "test_a",
        "tests/test_a.py",
        "x = 1\n",
        ["tests"],
        "in_place",
    ),
    "untracked, in place": ({}, "new", "new.py", OLD, [""], "in_place"),
    "installed copy, same content": (SRC, "shop.cart", "@shop/cart.py", "x = 1\n", [], "same"),
    "src layout, older copy": (SRC, "shop.cart", "@shop/cart.py", OLD, [], "different"),
    "flat layout, older copy": (FLAT, "shop.cart", "@shop/cart.py", OLD, [], "different"),
    "same size, other bytes": (SRC, "shop.cart", "@shop/cart.py", "x = 2\n", [], "different"),
    "copy in .venv/ below the root": (
        SRC,
        "shop.cart",
        ".venv/lib/site-packages/shop/cart.py",
        OLD,
        [],
        "different",
    ),
    "copy in an environment nobody ignored": (
        SRC,
        "shop.cart",
        "e/site-packages/shop/cart.py",
        OLD,
        [],
        "different",
    ),
    "third party in such an environment": (
        SRC,
        "attr",
        "e/site-packages/attr.py",
        OLD,
        ["e/site-packages"],
        "",
    ),
    "copy in build/": (SRC, "shop.cart", "build/lib/shop/cart.py", OLD, [], "different"),
    "other worktree": (SRC, "shop.cart", "../other/src/shop/cart.py", OLD, [], "different"),
    "other worktree, unusual root": (
        {"backend/app/main.py": ""},
        "app.main",
        "../other/backend/app/main.py",
        OLD,
        [],
        "different",
    ),
    "root on sys.path": (
        {"backend/app/main.py": ""},
        "app.main",
        "../x/app/main.py",
        OLD,
        ["backend"],
        "different",
    ),
    "root from the project file": (
        {
            "pyproject.toml": PROJECT + '[tool.setuptools]\npackage-dir = {"" = "code"}\n',
            "code/shop/__init__.py": "",
        },
        "shop",
        "@shop/__init__.py",
        OLD,
        [],
        "different",
    ),
    "project below the top": (
        {
            "packages/a/pyproject.toml": PROJECT,
            "packages/a/a/__init__.py": "",
            "packages/a/a/b.py": "",
        },
        "a.b",
        "@a/b.py",
        OLD,
        [],
        "different",
    ),
    "single module named as the project": (
        {"pyproject.toml": PROJECT, "shop.py": ""},
        "shop",
        "@shop.py",
        OLD,
        [],
        "different",
    ),
    "single module of py_modules": (
        {"setup.py": "setup(name='x', py_modules=['six'])", "six.py": ""},
        "six",
        "@six.py",
        OLD,
        [],
        "different",
    ),
    "member of a namespace package": (
        {"src/google/shop/__init__.py": "", "src/google/shop/cart.py": ""},
        "google.shop.cart",
        "@google/shop/cart.py",
        OLD,
        [],
        "different",
    ),
    "another member of that namespace": (
        {"src/google/shop/__init__.py": ""},
        "google.protobuf",
        "@google/protobuf/__init__.py",
        OLD,
        [],
        "",
    ),
    "another member of an old namespace": (
        {
            "src/zope/__init__.py": "__import__('pkg_resources').declare_namespace(__name__)\n",
            "src/zope/shop.py": "",
        },
        "zope.interface",
        "@zope/interface/__init__.py",
        OLD,
        [],
        "",
    ),
    "module that the checkout lost": (SRC, "shop.old", "@shop/old.py", OLD, [], "missing"),
    "package that the checkout lost": (SRC, "shop.a.b", "@shop/a/b.py", OLD, [], "missing"),
    "lost, in .venv/ below the root": (
        SRC,
        "shop.old",
        ".venv/lib/site-packages/shop/old.py",
        OLD,
        [],
        "missing",
    ),
    "generated": (SRC, "shop._version", "src/shop/_version.py", OLD, ["src"], "generated"),
    "generated, installed copy": (SRC, "shop._version", "@shop/_version.py", OLD, [], "generated"),
    "compiled": (
        FLAT,
        "shop.fast",
        "shop/fast.cpython-313-x86_64-linux-gnu.so",
        OLD,
        [],
        "compiled",
    ),
    "compiled from a file of the tree": (
        SRC,
        "shop.cart",
        "@shop/cart.abi3.so",
        OLD,
        [],
        "compiled",
    ),
    "plugin from another folder": (FLAT, "shop.plugin", "@shop_plugin/plugin.py", OLD, ["."], ""),
    "third party": (SRC, "attr", "@attr/__init__.py", OLD, [], ""),
    "suffix alone": (
        {"src/foo/__init__.py": "", "src/foo/attr.py": ""},
        "attr",
        "@attr.py",
        OLD,
        [""],
        "",
    ),
    "tests/yaml.py": ({"tests/yaml.py": ""}, "yaml", "@yaml/__init__.py", OLD, [""], ""),
    "tests/yaml.py on sys.path": (
        {"tests/yaml.py": ""},
        "yaml",
        "@yaml/__init__.py",
        OLD,
        ["tests"],
        "different",
    ),
    "examples/requests.py": (
        {"examples/requests.py": ""},
        "requests",
        "@requests/__init__.py",
        OLD,
        [""],
        "",
    ),
    "docs/conf.py": ({"docs/conf.py": ""}, "conf", "@conf.py", OLD, [""], ""),
    "top-level utils.py": ({**SRC, "utils.py": ""}, "utils", "@utils.py", OLD, ["src"], ""),
    "vendored copy": (
        {"shop/__init__.py": "", "shop/_vendor/six.py": ""},
        "six",
        "@six.py",
        OLD,
        [""],
        "",
    ),
    "vendored project": (
        {"third_party/six/setup.py": "setup(name='six')", "third_party/six/six.py": ""},
        "six",
        "@six.py",
        OLD,
        [],
        "",
    ),
    "project in test data": (
        {"tests/data/pyproject.toml": PROJECT, "tests/data/src/shop/__init__.py": ""},
        "shop",
        "@shop/__init__.py",
        OLD,
        [],
        "",
    ),
    "conftest from above": ({"conftest.py": ""}, "conftest", "../conftest.py", OLD, [""], ""),
    "standard library": (
        {"src/json/__init__.py": ""},
        "json",
        "../lib/json/__init__.py",
        OLD,
        ["src"],
        "",
    ),
    "stray tests package": (
        {"tests/__init__.py": "", "tests/a.py": ""},
        "tests.a",
        "@tests/a.py",
        OLD,
        [],
        "",
    ),
    "top is a package itself": (
        {"__init__.py": "", **FLAT},
        "shop.cart",
        "@shop/cart.py",
        OLD,
        [],
        "different",
    ),
    "no file": (SRC, "shop.cart", "", "", [], ""),
}


@pytest.mark.parametrize("case", CASES)
def test_where_a_module_belongs(tmp_path: Path, case: str) -> None:
    files, name, file, text, path, expected = CASES[case]
    top = repository(
        tmp_path / "repo", {".gitignore": "_version.py\n.venv/\nbuild/\n*.so\n", **files}
    )
    where = Path(os.path.normpath(top / file.replace("@", f"../{SITE}"))) if file else None
    if where is not None and file not in files:
        put(where, text)
    content = content_of(top)
    found = report(
        Content.unpacked(content.packed()),
        {name: module(name, where)},
        [str(top / one) for one in path],
    )
    repo = find_repository(top)
    assert repo is not None
    reported, reasons = summarize(content, repo, [found])
    lists = ("different", "missing", "generated")
    kinds = {
        key: reported[key] if isinstance(reported[key], int) else len(reported[key])
        for key in (*lists, "in_place", "same", "compiled")
    }
    assert [key for key, number in kinds.items() if number] == ([expected] if expected else [])
    assert bool(reasons) is (expected in ("different", "missing"))
    if reasons:
        assert reasons[0].startswith(f"{name} was imported from {where}")
        assert "; hint: " in reasons[0]


def test_nothing_is_read_for_modules_in_place_and_little_for_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"m{number}" for number in range(20)]
    top = repository(
        tmp_path / "repo", {f"src/shop/{name}.py": f"{name} = 1\n" for name in names} | SRC
    )
    asked: Counter[tuple[str, str]] = Counter()

    def counted(name: str) -> None:
        original = getattr(imported, name)

        def call(file: Any, *args: Any) -> Any:
            asked[name, str(file)] += 1
            return original(file, *args)

        monkeypatch.setattr(imported, name, call)

    for name in ("_stat", "FileIO", "realpath", "islink"):
        counted(name)
    content = content_of(top)
    installed = {
        f"shop.{name}": put(tmp_path / SITE / f"shop/{name}.py", f"{name} = 1\n") for name in names
    }
    here = {f"shop.{name}": top / f"src/shop/{name}.py" for name in names}
    foreign = {f"other.{name}": put(tmp_path / SITE / f"other/{name}.py") for name in names}

    def modules(files: Mapping[str, Path]) -> dict[str, ModuleType]:
        return {name: module(name, file) for name, file in files.items()}

    found = report(content, modules(here | foreign), [])
    assert found["in_place"] == 20
    assert {name for name, _ in asked} == {"realpath", "islink"}
    assert sum(number for (name, _), number in asked.items() if name == "realpath") <= 2
    asked.clear()
    found = report(content, modules(installed), [])
    assert found["counts"]["same"] == 20
    assert set(asked.values()) == {1}
    assert sum(number for (name, _), number in asked.items() if name == "FileIO") <= 2 * 20


def test_symbolic_links_zips_and_files_that_were_removed(tmp_path: Path) -> None:
    top = repository(tmp_path / "repo", SRC | {"src/shop/a.py": "", "src/shop/b.py": "b = 1\n"})
    (tmp_path / "link").symlink_to(top / "src", target_is_directory=True)
    archive = tmp_path / "shop.zip"
    with zipfile.ZipFile(archive, "w") as made:
        made.writestr("shop/a.py", "")
        made.writestr("shop/b.py", OLD)
    loader = zipimport.zipimporter(str(archive / "shop"))
    modules = {
        "shop.cart": module("shop.cart", tmp_path / "link/shop/cart.py"),
        "shop.a": module("shop.a", archive / "shop/a.py", loader),
        "shop.b": module("shop.b", archive / "shop/b.py", loader),
        "shop": module("shop", tmp_path / "gone/shop/__init__.py"),
    }
    found = report(content_of(top), modules, [])
    assert found["in_place"] == 1
    assert found["same"] == [["shop.a"]]
    assert [one[0] for one in found["different"]] == ["shop.b"]
    assert found["unknown"] == [["shop", "src/shop/__init__.py", "FileNotFoundError"]]


def test_odd_items_in_sys_modules_run_no_code_and_break_nothing(tmp_path: Path) -> None:
    class Loads(ModuleType):
        def __getattribute__(self, name: str) -> Any:
            raise AssertionError("touched")

    class Library:
        """As cffi's: it has no `__dict__`, and claims to be a module."""

        __slots__ = ()
        __class__ = ModuleType  # type: ignore[assignment]

    lazy = Loads("shop.lazy")
    assert isinstance(Library(), ModuleType)
    modules = {
        "a": None,
        "b": object(),
        3: module("x", None),
        "shop.lazy": lazy,
        "c": module("c", None),
        "d.lib": Library(),
    }
    top = repository(tmp_path, SRC)
    assert report(content_of(top), modules, [])["in_place"] == 0  # type: ignore[arg-type]
    assert Observer(lambda: 1 / 0).report() is None  # type: ignore[arg-type, return-value]


TESTS = {
    ".gitignore": "__pycache__/\n.pytest_cache/\n_version.py\n.venv/\n",
    "pyproject.toml": PROJECT,
    "src/shop/__init__.py": "",
    "src/shop/cart.py": "def total(): return 3\n",
    "tests/test_cart.py": (
        "from shop.cart import total\ndef test_total(): assert total() == 3\ndef test_b(): pass\n"
    ),
}
BROKEN = "raise RuntimeError('this was never imported')\n"


def installed(folder: Path, files: Mapping[str, str]) -> dict[str, str]:
    """A folder of packages as an installer leaves it, and the environment in which it is found."""
    for name, text in files.items():
        put(folder / name, text)
    return {
        "PYTHONPATH": os.pathsep.join([str(folder), str(Path(imported.__file__).parent.parent)])
    }


@pytest.mark.parametrize("workers", ["0", "2"])
@pytest.mark.share(2)
def test_a_suite_that_passes_on_another_worktree_is_no_evidence_here(
    tmp_path: Path, workers: str
) -> None:
    other = repository(tmp_path / "other", TESTS)
    git(other, "worktree", "add", "-q", str(tmp_path / "repo"))
    put(tmp_path / "repo/src/shop/cart.py", BROKEN)
    git(tmp_path / "repo", "commit", "-qam", "broken")
    env = installed(other / "src", {})
    done = run_pytest(tmp_path / "repo", "-n", workers, env=env)
    assert done.returncode == 0
    run = only(tmp_path / "repo")
    assert run.result["verdict"] == "inconclusive"
    file = other / "src/shop/cart.py"
    why = f"shop.cart was imported from {file}, which differs from src/shop/cart.py"
    assert (
        f"kl: no evidence of success: {why}; hint: pip install -e . in this checkout" in done.stdout
    )
    reported = shown(tmp_path / "repo", run.id)["environment"]["imported"]
    assert reported["different"] == [
        {"module": "shop.cart", "path": "src/shop/cart.py", "file": str(file)}
    ]
    assert (reported["same"], reported["same_first"]) == (1, ["shop"])
    assert reported["in_place"] == 1
    again = run_pytest(tmp_path / "repo", "-n", workers, env=installed(tmp_path / "repo/src", {}))
    assert "this was never imported" in again.stdout


def test_installed_copies_count_and_are_noted(tmp_path: Path) -> None:
    project = repository(tmp_path / "repo", TESTS)
    copies = {
        name.removeprefix("src/"): text for name, text in TESTS.items() if name.startswith("src/")
    }
    env = installed(tmp_path / SITE, {**copies, "shop/_version.py": "v = 1\n"})
    py_compile.compile(str(put(tmp_path / "old.py")), str(tmp_path / SITE / "shop/fast.pyc"))
    put(
        project / "tests/test_cart.py",
        TESTS["tests/test_cart.py"] + "import shop._version, shop.fast\n",
    )
    done = run_pytest(project, env=env)
    assert "recorded as passed" in done.stdout
    assert "was imported from" not in done.stdout
    run = only(project)
    reported = run.end["environment"]["imported"]
    assert (reported["same"], reported["same_first"], reported["compiled"]) == (
        2,
        ["shop", "shop.cart"],
        1,
    )
    assert (reported["generated"], reported["different"], reported["missing"]) == (
        ["shop._version"],
        [],
        [],
    )
    text = kl_show(project, run.id)
    assert (
        "2 installed copies, same content (shop, shop.cart), 1 compiled module was not compared"
        in text
    )
    assert "generated: shop._version" in text


def kl_show(folder: Path, run: str) -> str:
    """`kl evidence show` for people."""
    command = [sys.executable, "-m", "kl_hooks", "evidence", "show", run]
    return subprocess.run(
        command, cwd=folder, env=environment({}), capture_output=True, text=True, check=True
    ).stdout


def test_a_module_that_the_checkout_does_not_have_any_more_is_named(tmp_path: Path) -> None:
    files = {**TESTS, "tests/test_old.py": "import shop.old\n\n\ndef test_a(): pass\n"}
    project = repository(tmp_path / "repo", files)
    env = installed(
        tmp_path / SITE,
        {"shop/__init__.py": "", "shop/cart.py": TESTS["src/shop/cart.py"], "shop/old.py": ""},
    )
    done = run_pytest(project, env=env)
    assert "recorded as inconclusive" in done.stdout
    file = tmp_path / SITE / "shop/old.py"
    assert (
        f"shop.old was imported from {file}: this checkout has no src/shop/old.py; hint: pip"
        " install -e ." in done.stdout
    )
    assert only(project).end["environment"]["imported"]["missing"][0]["module"] == "shop.old"


def test_a_comparison_that_fails_is_no_evidence_and_changes_no_outcome(tmp_path: Path) -> None:
    fault = """
import pytest
@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    import pytest_kl.imported
    def broken(*args): raise RuntimeError("our fault")
    pytest_kl.imported.report = broken
"""
    project = repository(
        tmp_path, {"tests/test_a.py": "def test_a(): pass\n", "conftest.py": fault}
    )
    done = run_pytest(project)
    assert done.returncode == 0
    assert "recorded as inconclusive" in done.stdout
    assert only(project).result["reasons"] == ["imported modules could not be compared"]


def test_a_suite_that_replaces_sys_modules_and_open_is_compared_all_the_same(
    tmp_path: Path,
) -> None:
    mocks = """
import builtins, sys
def test_replaces():
    import shop.cart
    def refuse(*args, **kwargs): raise AssertionError("mocked")
    builtins.open = refuse
    sys.modules = {}
"""
    project = repository(tmp_path / "repo", {**TESTS, "tests/test_mock.py": mocks})
    env = installed(
        tmp_path / SITE, {"shop/__init__.py": "", "shop/cart.py": "total = lambda: 3\n"}
    )
    run_pytest(project, "-p", "no:cacheprovider", env=env)
    assert "shop.cart was imported from" in only(project).why


def test_git_is_asked_nothing_more_unless_a_file_is_absent(tmp_path: Path) -> None:
    project = repository(tmp_path / "repo", TESTS)
    log = tmp_path / "git.log"
    put(
        tmp_path / "bin/git", f'#!/bin/sh\necho "$@" >> {log}\nexec {shutil.which("git")} "$@"\n'
    ).chmod(0o755)
    env = {"PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    calls = []
    for more in ({}, {"shop/_version.py": ""}):
        copies = installed(
            tmp_path / SITE,
            {"shop/__init__.py": "", "shop/cart.py": TESTS["src/shop/cart.py"], **more},
        )
        if more:
            put(project / "tests/test_cart.py", "import shop._version\n\n\ndef test_a(): pass\n")
            git(project, "commit", "-qam", "more")
        log.unlink(missing_ok=True)
        # without it: what was edited since the last green run is another question, asked after a
        # commit
        (project / ".git/kl/graph/main.green.json").unlink(missing_ok=True)
        assert run_pytest(project, env=env | copies).returncode == 0
        calls.append(log.read_text().splitlines())
    assert not any("check-ignore" in one for one in calls[0])
    assert sum("check-ignore" in one for one in calls[1]) == 1
    assert len(calls[1]) == len(calls[0]) + 1
    assert [run.result["verdict"] for run in recorded(project)] == ["passed", "passed"]


def test_bytecode_that_git_ignores_is_no_content(tmp_path: Path) -> None:
    project = repository(tmp_path / "repo", {**TESTS, ".gitignore": "__pycache__/\n*.pyc\n"})
    source = put(tmp_path / "old.py")
    py_compile.compile(str(source), str(project / "src/shop/old.pyc"))
    py_compile.compile(str(source), str(project / "src/alone.pyc"))
    put(project / "tests/test_cart.py", "import alone, shop.old\ndef test_old(): pass\n")
    env = installed(project / "src", {})
    done = run_pytest(project, env=env)
    assert (
        "kl: no evidence of success: alone was imported from src/alone.pyc (and 1 more module),"
        " bytecode without source that git ignores; hint: rm src/alone.pyc" in done.stdout
    )
    run = only(project)
    assert run.result["verdict"] == "inconclusive"
    assert [one["module"] for one in run.end["environment"]["imported"]["sourceless"]] == [
        "alone",
        "shop.old",
    ]
    # bytecode that is tracked is content
    clear_spool(project)
    git(project, "add", "-A", "-f")
    assert "recorded as passed" in run_pytest(project, env=env).stdout


def clear_spool(project: Path) -> None:
    for path in (project / ".git" / "kl" / "spool").iterdir():
        path.unlink()
