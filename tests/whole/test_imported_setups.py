"""Set-ups of real projects, imported: the verdict is that of the tool they were written for, clean
and broken.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from bench.downloads import sdist
from kl_hooks.arch.check import run_check
from kl_hooks.arch.importers import import_config
from kl_hooks.arch.layer_check import Verdict
from kl_hooks.model.manifest import MANIFEST
from tests.arch.shop import opened
from tests.arch.test_importers import CASES, paths
from tests.git.repos import make, sh, write

pytestmark = [pytest.mark.net, pytest.mark.slow]

PROJECTS = {
    "import_linter-2.16": (
        (
            "import-linter==2.16"
            " --hash=sha256:c5bd0d38bdef46c7251120266b3bf72662bc8cd989a8fe461499936e12e8c6fa"
        ),
        "src/importlinter/domain/fields.py",
        "import importlinter.cli",
        {"Layered architecture"},
    ),
    "usethis-0.22.0": (
        (
            "usethis==0.22.0"
            " --hash=sha256:1c29ef12ea4f0fc9d1920b7cfd9431c716dd88a57bfd2ad35a5acb5e1fcd6f95"
        ),
        "src/usethis/errors.py",
        "import usethis._core.badge",
        {"usethis"},
    ),
    "kedro-1.7.0": (
        (
            "kedro==1.7.0"
            " --hash=sha256:50b654c0f6ec79c465bc913c1680ea6ad35fff287160262dce7f9d4c1bdbd493"
        ),
        "kedro/config/__init__.py",
        "import kedro.runner",
        {
            "CLI > Context > Library, Runner > Extras > IO & Pipeline",
            "Config cannot import Runner et al",
        },
    ),
}
"""Folder of the sdist → its pin, a file, an import that must not be there, the contracts that it
breaks at least.
"""


def environment(folder: Path) -> dict[str, str]:
    """Ours, with packages of the project's source instead of installed ones."""
    places = [str(folder / "src"), str(folder)]
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(places),
        "HOME": str(folder.parent),
        "COLUMNS": "200",
    }


@pytest.fixture(scope="module", params=PROJECTS)
def project(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sdist as a repository with one commit."""
    folder = sdist(PROJECTS[request.param][0], tmp_path_factory.mktemp("sdist"))
    for path in (folder, *folder.rglob("*")):
        # root keeps foreign owners, git refuses them
        os.chown(path, os.getuid(), os.getgid(), follow_symlinks=False)
    make(folder)
    sh(folder, "add", "-A")
    sh(folder, "commit", "-qm", "Import")
    return folder


def theirs(folder: Path) -> set[str]:
    """Names of the contracts that lint-imports itself finds broken, its exit code compared with
    them.
    """
    call = (
        "from importlinter.cli import lint_imports; raise SystemExit(lint_imports(no_cache=True))"
    )
    done = subprocess.run(
        [sys.executable, "-c", call],
        cwd=folder,
        env=environment(folder),
        capture_output=True,
        text=True,
        check=False,
    )
    broken = set(re.findall(r"^(.*?) BROKEN", done.stdout, re.MULTILINE))
    assert done.returncode == bool(broken), done.stdout + done.stderr
    assert "kept" in done.stdout, done.stdout + done.stderr
    return broken


def ours(folder: Path, source: str = "worktree") -> Verdict:
    found, _ = run_check(opened(folder), source)
    assert found is not None
    return found


@pytest.mark.share("import_linter-2.16")
def test_the_verdict_is_that_of_lint_imports(project: Path) -> None:
    _, path, statement, expected = PROJECTS[project.name]
    found = import_config(opened(project))
    assert found.left == ()
    write(project, {MANIFEST: found.manifest_text()})
    assert theirs(project) == set() and ours(project).clean
    before = (project / path).read_text(encoding="utf-8")
    write(project, {path: f"{before}\n{statement}\n"})
    broken = {one.contract for one in ours(project).contracts}
    assert broken == theirs(project) and broken >= expected
    sh(project, "add", "-A")
    write(project, {path: before})
    assert theirs(project) == set() and ours(project).clean
    assert {one.contract for one in ours(project, "staged").contracts} == broken


@pytest.fixture(scope="module")
def tach(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("tach")
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "install",
            "-q",
            "--only-binary",
            ":all:",
            "--target",
            str(place),
            "tach==0.35.3",
        ],
        check=True,
    )
    return place


EACH = """\
import os, sys
from tach.start import start
for folder in sys.argv[1:]:
    if os.fork():
        os.wait()
        continue
    os.chdir(folder)
    os.dup2(os.open("tach.json", os.O_CREAT | os.O_WRONLY), 1)
    sys.argv[1:] = ["check", "--output", "json"]
    break
else:
    os._exit(0)
start()
"""
"""tach in each of some folders: most of its time is Python's start and its imports."""


def tach_reports(tach: Path, *folders: Path) -> list[list[tuple[str, int]]]:
    """Where tach itself finds errors in each of these."""
    environ = {**os.environ, "PYTHONPATH": str(tach), "HOME": str(folders[0].parent)}
    subprocess.run(
        [sys.executable, "-c", EACH, *map(str, folders)],
        env=environ,
        capture_output=True,
        check=True,
    )
    found = []
    for folder in folders:
        rows = [
            row["Located"]
            for row in json.loads((folder / "tach.json").read_text("utf-8"))
            if "Located" in row
        ]
        found.append(
            sorted(
                {
                    (row["file_path"], row["line_number"])
                    for row in rows
                    if row["severity"] == "Error"
                }
            )
        )
    return found


@pytest.fixture(scope="module")
def table(tach: Path, tmp_path_factory: pytest.TempPathFactory) -> list[list[tuple[str, int]]]:
    """What tach reports of each of `CASES`."""
    folders = []
    for config, files, _ in CASES:
        content = {path: text.decode() for path, text in paths(files).items()}
        folders.append(tmp_path_factory.mktemp("shop"))
        make(folders[-1], {**content, "tach.toml": "exclude = []\n" + config})
    return tach_reports(tach, *folders)


@pytest.mark.parametrize("number", range(len(CASES)))
@pytest.mark.share()
def test_the_table_of_tach_s_rules_is_tach_s(
    table: list[list[tuple[str, int]]], number: int
) -> None:
    assert table[number] == CASES[number][2]


REAL = """\
source_roots = ["src"]
layers = ["doors", "rules", "ground"]
[[modules]]
path = "importlinter.cli"
layer = "doors"
depends_on = []
[[modules]]
path = "importlinter.contracts"
layer = "rules"
depends_on = []
[[modules]]
path = "importlinter.application"
layer = "rules"
depends_on = ["importlinter.domain"]
[[modules]]
path = "importlinter.domain"
layer = "ground"
depends_on = []
[[modules]]
path = "importlinter.configuration"
utility = true
depends_on = ["importlinter.application", "importlinter.adapters"]
[[modules]]
path = "importlinter.adapters"
unchecked = true
"""
"""Rules of tach for the source of a real project, some of them broken by it."""


@pytest.mark.parametrize("project", ["import_linter-2.16"], indirect=True)
@pytest.mark.share()
def test_a_set_up_of_tach_over_a_real_project(project: Path, tach: Path) -> None:
    write(project, {"tach.toml": REAL})
    write(project, {MANIFEST: import_config(opened(project), "tach.toml").manifest_text()})
    found = {(one.path, one.line) for one in ours(project).violations}
    assert found and [sorted(found)] == tach_reports(tach, project)
