"""Public suites as kinds of edits: packages as their authors published them, downloaded once.

The edits are made from their source, the same ones for the same seed: what must not change a
verdict, mutants of what the package defines, slips that only an import shows, set-up functions,
members of classes that are added or renamed, and files that tests read.
"""

from __future__ import annotations

import ast
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

from bench.downloads import sdist
from bench.edits.kinds import Edit, Kind
from bench.measure import ROOT
from bench.proof_quality import CLASSES, mutants_of
from bench.repositories import cache_folder

_MUTANTS: Final = {"function": 4}
"""How many of a class; of the others one."""
_RAISES: Final = "raise RuntimeError('edit')\n"
_SLIPS: Final = {
    "annotation": "\n\ndef later_(x: MissingName):\n    return x\n",
    "base": "\n\nclass Later_(MissingBase):\n    pass\n",
    "decorator": "\n\n@missing_decorator\ndef later_(x):\n    return x\n",
    "compiler": "\n\ndef later_(x):\n    return await x\n",
}
_MEMBERS: Final = {
    "attribute": "later_ = 1\n",
    "method": "def later_(self):\n    return 1\n",
    "special method": "def __bool__(self):\n    return False\n",
}
"""What is added to the end of a class."""


@dataclass(frozen=True, slots=True)
class Suite:
    """A package with tests that need nothing but pytest and other packages of this list."""

    name: str
    requirement: str
    source: str
    """The folder of the package."""
    omitted: tuple[str, ...] = ()
    """Tests that need what is not installed."""
    needs: tuple[str, ...] = ()
    """Others of the list, whose source is on its path."""
    tests: tuple[str, ...] = ("tests/**/test_*.py", "testing/**/test_*.py")
    """Globs of its files of tests."""
    data: tuple[str, ...] = ()
    """Files that tests read."""
    starts_processes: bool = False
    """Whether tests start processes: what these read nobody knows, so that not all harmless edits
    keep the verdict.
    """


SUITES: Final = (
    Suite(
        "itsdangerous",
        "itsdangerous==2.2.0"
        " --hash=sha256:e0050c0b7da1eea53ffaf149c0cfbb5c6e2e2b69c4bef22c81fa6eb73e5f6173",
        "src/itsdangerous",
        ("tests/test_itsdangerous/test_timed.py", "tests/test_itsdangerous/test_url_safe.py"),
    ),
    Suite(
        "pluggy",
        "pluggy==1.6.0"
        " --hash=sha256:7dcc130b76258d33b90f61b658791dede3486c3e6bfb003ee5c9bfb396dd22f3",
        "src/pluggy",
    ),
    Suite(
        "markupsafe",
        "MarkupSafe==3.0.2"
        " --hash=sha256:ee55d3edf80167e48ea11a923c7386f4669df67d7994554387f84e7d8b0a2bf0",
        "src/markupsafe",
    ),
    Suite(
        "cachetools",
        "cachetools==5.5.2"
        " --hash=sha256:1a661caa9175d26759571b2e19580f9d6393969e5dfca11fdb1f947a23e640d4",
        "src/cachetools",
    ),
    Suite(
        "idna",
        "idna==3.10 --hash=sha256:12f65c9b470abda6dc35cf8e63cc574b1c52b11df2c86030af0ac09b01b13ea9",
        "idna",
    ),
    Suite(
        "jinja2",
        "Jinja2==3.1.6"
        " --hash=sha256:0137fb05990d35f1275a587e9aee6d56da821fc83491a0fb838183be43f66d6d",
        "src/jinja2",
        ("tests/test_async.py", "tests/test_async_filters.py"),
        ("markupsafe",),
    ),
    Suite(
        # of 8.2 and 8.3 the tests of pagers fail now and then, also without kl
        "click",
        "click==8.1.8"
        " --hash=sha256:ed53c9d8990d83c2a27deae68e4ee337473f6330c040a31d4225c9574d16096a",
        "src/click",
        ("tests/test_basic.py",),
        starts_processes=True,
    ),
    Suite(
        "mistune",
        "mistune==3.1.4"
        " --hash=sha256:b5a7f801d389f724ec702840c11d8fc48f2b33519102fc7ee739e8177b672164",
        "src/mistune",
        data=("tests/fixtures/footnotes.txt", "tests/fixtures/include/text.md"),
    ),
    Suite(
        "voluptuous",
        "voluptuous==0.15.2"
        " --hash=sha256:6ffcab32c4d3230b4d2af3a577c87e1908a714a11f6f95570456b1849b0279aa",
        "voluptuous",
        tests=("voluptuous/tests/tests.py",),
        data=("voluptuous/tests/tests.md",),
    ),
)


def unpacked(suite: Suite) -> Path | None:
    """The folder of its content, downloaded if it is not there; None where pip can't."""
    folder = cache_folder() / "suites" / suite.name
    inside = [path for path in folder.glob("*/") if (path / "PKG-INFO").exists()]
    if inside:
        return inside[0]
    try:
        return sdist(suite.requirement, folder)
    except subprocess.CalledProcessError as problem:
        print(f"  {suite.name} is omitted: {problem.stderr[-200:]}", file=sys.stderr)
        return None


def suite_kinds(seed: int = 1) -> Iterator[Kind]:
    """The kinds of all suites that are there."""
    folders = {suite.name: unpacked(suite) for suite in SUITES}
    for suite in SUITES:
        folder = folders[suite.name]
        needs = [folders[name] for name in suite.needs]
        if folder and all(needs):
            parts = ("{root}/src", *(f"{path}/src" for path in needs), str(ROOT))
            yield from _kinds(suite, folder, ":".join(parts), random.Random(f"{seed}{suite.name}"))


def _kinds(suite: Suite, folder: Path, path: str, dice: random.Random) -> Iterator[Kind]:
    files_of_tests = _files_of_tests(folder, suite)
    modules = {
        file.relative_to(folder).as_posix(): file.read_text(encoding="utf-8")
        for file in sorted((folder / suite.source).rglob("*.py"))
        if file.stat().st_size < 60_000  # idna's tables
        and file not in files_of_tests
    }
    edits = {
        "harmless": tuple(_harmless(folder, modules, dice)),
        "mutants": tuple(_mutants(modules, dice)),
        "slips": tuple(
            Edit(name, {dice.choice([*modules]): ["", text]}) for name, text in _SLIPS.items()
        ),
        "set-up": tuple(_set_up(folder, suite, dice)),
        "classes": tuple(_class_edits(modules, dice)),
        "data": tuple(Edit(data, {data: ["", "\nMore.\n"]}) for data in suite.data),
    }
    for name, some in filter(itemgetter(1), edits.items()):
        yield Kind(
            f"{name} of {suite.name}",
            f"suites: {name}",
            dict.fromkeys(suite.omitted, ""),
            some,
            common=True,
            environ={"PYTHONPATH": path},
            harmless=name == "harmless" and not suite.starts_processes,
            source=folder,
        )


def _harmless(folder: Path, modules: dict[str, str], dice: random.Random) -> Iterator[Edit]:
    """Thirteen changes that people make without changing what tests execute."""
    readme = next(path.name for path in sorted(folder.glob("README*")))
    changes = next((path.name for path in sorted(folder.glob("CH*")) if path.is_file()), "CHANGES")
    module = dice.choice([path for path, text in modules.items() if "\n\n\ndef " in text])
    more: dict[str, Any] = {readme: ["", "\nMore.\n"]}
    side = (("checkout", "-q", "-b", "side"),)
    main = (("checkout", "-q", "main"), ("commit", "-q", "--allow-empty", "-m", "main"))
    yield Edit("README, not committed", more, dirty=True)
    yield Edit("README", more)
    yield Edit("changelog", {changes: ["", "\nMore.\n"]})
    yield Edit("docs", {"docs/more.rst": "More\n====\n"})
    yield Edit("CI", {".github/workflows/more.yml": "on: push\n"})
    yield Edit("amend", git=(("commit", "-q", "--amend", "-m", "Another message"),))
    yield Edit(
        "rebase", more, before=side, git=(*main, ("checkout", "-q", "side"), ("rebase", "main"))
    )
    yield Edit("merge", more, before=side, git=(*main, ("merge", "-q", "--no-edit", "side")))
    yield Edit("cherry-pick", more, before=side, git=(*main, ("cherry-pick", "side")))
    yield Edit("revert", {module: ["", _RAISES]}, git=(("revert", "--no-edit", "HEAD"),))
    yield Edit("comment", {module: ["", "# more\n"]})
    yield Edit("unused function", {module: ["", "\n\ndef later_(x):\n    return x\n"]})
    project = (folder / "pyproject.toml").read_text(encoding="utf-8")
    if '\nversion = "' in project:
        yield Edit(
            "version in pyproject.toml",
            {"pyproject.toml": project.replace("\nversion = ", '\nversion = "9" # ', 1)},
        )
    else:
        yield Edit("table of a tool", {"pyproject.toml": ["", "\n[tool.of_nobody]\nx = 1\n"]})


def _mutants(modules: dict[str, str], dice: random.Random) -> Iterator[Edit]:
    drawn = [mutant for path, text in modules.items() for mutant in mutants_of(path, text)]
    dice.shuffle(drawn)
    for kind in CLASSES:
        some = [mutant for mutant in drawn if mutant.kind == kind]
        for mutant in some[: _MUTANTS.get(kind, 1)]:
            yield Edit(f"{kind}: {mutant.path} {mutant.name}", {mutant.path: mutant.text})


def _files_of_tests(folder: Path, suite: Suite) -> list[Path]:
    return [path for pattern in suite.tests for path in sorted(folder.glob(pattern))]


def _set_up(folder: Path, suite: Suite, dice: random.Random) -> Iterator[Edit]:
    tests = [path.relative_to(folder).as_posix() for path in _files_of_tests(folder, suite)]
    path = dice.choice([path for path in tests if path not in suite.omitted])
    for name in ("setup_module", "teardown_module", "setUpModule"):
        yield Edit(name, {path: ["", f"\n\ndef {name}():\n    {_RAISES}"]})
    fixture = f"import pytest\n\n\n@pytest.fixture(autouse=True)\ndef broken_():\n    {_RAISES}"
    yield Edit("autouse fixture", {path: ["", f"\n\n{fixture}"]})
    yield Edit("new test", {path: ["", "\n\ndef test_new_():\n    assert False\n"]})


def _class_edits(modules: dict[str, str], dice: random.Random) -> Iterator[Edit]:
    """Members that are added to classes, a method and a function that are renamed."""
    classes = [
        (path, node)
        for path, text in modules.items()
        for node in ast.parse(text).body
        if isinstance(node, ast.ClassDef) and node.body[0].lineno > node.lineno
    ]
    for name, member in _MEMBERS.items():
        path, node = dice.choice(classes)
        yield Edit(f"{name}: {path} {node.name}", {path: _with_member(modules[path], node, member)})
    methods = [
        (path, f"{owner.name}.{node.name}", node)
        for path, owner in classes
        for node in owner.body
        if isinstance(node, ast.FunctionDef)
    ]
    functions = [
        (path, node.name, node)
        for path, text in modules.items()
        for node in ast.parse(text).body
        if isinstance(node, ast.FunctionDef)
    ]
    for kind, definitions in (("method", methods), ("function", functions)):
        path, name, definition = dice.choice(definitions)
        renamed = _renamed(modules[path], definition)
        yield Edit(f"{kind} renamed: {path} {name}", {path: renamed})


def _with_member(text: str, node: ast.ClassDef, member: str) -> str:
    lines, indent = text.splitlines(keepends=True), " " * node.body[0].col_offset
    added = "".join(f"{indent}{line}" for line in member.splitlines(keepends=True))
    return "".join([*lines[: node.end_lineno], "\n", added, *lines[node.end_lineno :]])


def _renamed(text: str, node: ast.FunctionDef) -> str:
    lines = text.splitlines(keepends=True)
    header = lines[node.lineno - 1]
    lines[node.lineno - 1] = re.sub(rf"\bdef {node.name}\b", f"def {node.name}_later_", header)
    return "".join(lines)
