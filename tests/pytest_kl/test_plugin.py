"""The entry point: when it opens, under which names, and that a project which did not ask for it
never notices it.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kl_hooks.code.query.session import refresh_graph
from kl_hooks.workspace import open_workspace

from .recorded import PLUGIN, environment, only, recorded, repository, run_pytest

REPO = Path(__file__).parents[2]
TEST = {"test_x.py": "def test_a(): pass\n"}
IN_ONE_PROCESS = {
    *("pytest_kl.failures", "pytest_kl.interference", "pytest_kl.recorder"),
    "kl_hooks.proof.execution",
}
IN_A_WORKER = {"pytest_kl.failures", "pytest_kl.interference"}


def everything(folder: Path) -> set[str]:
    """Every file below a folder."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def no_git(folder: Path) -> dict[str, str]:
    """An environment in which starting git leaves a file behind."""
    (folder / "bin").mkdir()
    fake = folder / "bin" / "git"
    fake.write_text(f"#!/bin/sh\necho called >> {folder}/called\nexit 1\n", encoding="utf-8")
    fake.chmod(0o755)
    return {"PATH": f"{folder / 'bin'}:/usr/bin:/bin", "HOME": str(folder / "home")}


@pytest.mark.parametrize("args", [(), ("-v",), ("-n", "2")])
def test_where_there_is_no_kl_directory_nothing_is_printed_started_or_made(
    tmp_path: Path, args: list[str]
) -> None:
    project = repository(tmp_path / "p", TEST, kl=False)
    before = everything(tmp_path)
    done = run_pytest(project, *args, "-p", "no:cacheprovider", env=(env := no_git(tmp_path)))
    plain = run_pytest(project, *args, "-p", "no:cacheprovider", env=env, plugin=())
    assert done.returncode == plain.returncode == 0
    assert "kl:" not in done.stdout + done.stderr
    assert [line for line in done.stdout.splitlines() if " in " not in line][-3:] == [
        line for line in plain.stdout.splitlines() if " in " not in line
    ][-3:]
    assert everything(tmp_path) - before == {"bin", "bin/git"}


def test_loading_the_plugin_imports_nothing_of_kl(tmp_path: Path) -> None:
    show = (
        "import sys; print(sorted(m for m in sys.modules if m.split('.')[0] in ('kl_hooks', 'yaml',"
        " 'click')))"
    )
    conftest = {"conftest.py": f"def pytest_sessionfinish():\n    {show}\n"}
    project = repository(tmp_path, {**TEST, **conftest}, kl=False)
    assert "[]" in run_pytest(project, "-s", forked=False).stdout


def test_a_recorded_run_imports_nothing_heavy(tmp_path: Path) -> None:
    heavy = ("yaml", "click", "libcst", "grimp", "rich", "diskcache", "sqlite3", "networkx")
    show = f"import sys; print('heavy', sorted(m for m in {heavy} if m in sys.modules))"
    conftest = {"conftest.py": f"def pytest_sessionfinish():\n    {show}\n"}
    project = repository(tmp_path, {**TEST, **conftest})
    assert "heavy []" in run_pytest(project, "-s", forked=False).stdout
    assert only(project).result["verdict"] == "passed"


@pytest.mark.skipif(sys.version_info < (3, 12), reason="symbols are recorded from 3.12 on")
@pytest.mark.parametrize(("args", "names"), [((), IN_ONE_PROCESS), (("-n", "1"), IN_A_WORKER)])
def test_what_records_is_imported_before_the_first_conftest(
    tmp_path: Path, args: tuple[str, ...], names: set[str]
) -> None:
    # of the worker, not of its controller
    conftest = (
        "import os, sys\nif 'PYTEST_XDIST_WORKER' in os.environ or '-n' not in sys.argv:\n"
        f"    open({str(tmp_path / 'seen')!r}, 'w').write(' '.join(sys.modules))\n"
    )
    project = repository(tmp_path / "p", {**TEST, "conftest.py": conftest})
    run_pytest(project, *args, forked=False)
    seen = {*(tmp_path / "seen").read_text(encoding="utf-8").split()}
    assert seen & (IN_ONE_PROCESS | IN_A_WORKER) == names


@pytest.mark.skipif(sys.version_info < (3, 12), reason="symbols are recorded from 3.12 on")
@pytest.mark.parametrize(
    ("folder", "is_early"), [("src", False), (".venv/lib/python3/site-packages", True)]
)
def test_what_records_is_not_imported_early_where_it_is_tested(
    tmp_path: Path, folder: str, is_early: bool
) -> None:
    # a file that is loaded before the recording counts as executed by who imports it
    sources = (REPO / "pytest_kl").glob("*.py")
    files = {f"{folder}/pytest_kl/{path.name}": path.read_text("utf-8") for path in sources}
    conftest = (
        "import sys\nimport pytest_kl\n"
        f"assert {folder!r} in pytest_kl.__file__ and 'pytest_kl.tracer' in sys.modules\n"
        f"assert ('pytest_kl.recorder' in sys.modules) is {is_early}\n"
    )
    project = repository(tmp_path, {**TEST, **files, "conftest.py": conftest})
    path = f"{project / folder}:{REPO}"
    done = run_pytest(project, "test_x.py", env={"PYTHONPATH": path}, forked=False)
    assert done.returncode == 0, done.stdout + done.stderr


def output_without_module(folder: Path, name: str, error: str, *args: str) -> str:
    """What pytest prints where the import of a module of ours raises an error; it must pass."""
    broken = (
        "import sys\n\n\nclass Broken:\n    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == {name!r}:\n            raise {error}(name)\n\n\n"
        "sys.meta_path.insert(0, Broken())\n"
    )
    project = repository(folder, {**TEST, "broken.py": broken})
    env = {"PYTHONPATH": f"{project}:{REPO}"}
    done = run_pytest(project, "-p", "broken", *args, env=env, forked=False)
    assert (done.returncode, "1 passed" in done.stdout) == (0, True), done.stdout + done.stderr
    return done.stdout


@pytest.mark.skipif(sys.version_info < (3, 12), reason="symbols are recorded from 3.12 on")
def test_an_import_of_ours_that_fails_ends_no_tests(tmp_path: Path) -> None:
    output = output_without_module(tmp_path, "kl_hooks.proof.read_trace", "ImportError")
    assert "recording stopped" in output


def test_where_the_selection_fails_all_tests_run(tmp_path: Path) -> None:
    name = "kl_hooks.proof.audit"
    output = output_without_module(tmp_path, name, "RuntimeError", "--kl-impacted")
    assert f"kl: no test is deselected (RuntimeError: {name})" in output


@pytest.mark.skipif(sys.version_info < (3, 12), reason="symbols are recorded from 3.12 on")
def test_a_recorded_run_beside_a_graph_makes_no_manager_of_plugins(tmp_path: Path) -> None:
    show = (
        "atexit.register(lambda: print('loaded', [name for name in ('kl_hooks.plugins', 'kl_hooks.store.sqlite')"
        " if name in sys.modules]))"
    )
    conftest = {"conftest.py": f"import atexit\nimport sys\n\n{show}\n"}
    project = repository(tmp_path, {**TEST, **conftest})
    refresh_graph(open_workspace(project))
    # the graph was read, for names of modules
    assert "loaded ['kl_hooks.store.sqlite']" in run_pytest(project, "-s", forked=False).stdout


@pytest.mark.once
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pytest.ini", "[pytest]\nkl = {}\n"),
        ("tox.ini", "[pytest]\nkl = {}\n"),
        ("setup.cfg", "[tool:pytest]\nkl = {}\n"),
        ("pyproject.toml", "[tool.pytest.ini_options]\nkl = {}\n"),
        *(
            [("pyproject.toml", "[tool.pytest]\nkl = {}\n"), ("pytest.toml", "[pytest]\nkl = {}\n")]
            if pytest.version_tuple >= (9, 0)
            else []
        ),
    ],
)
@pytest.mark.share(3)
def test_the_ini_option_decides_in_every_file_that_pytest_reads(
    tmp_path: Path, name: str, text: str
) -> None:
    on = repository(tmp_path / "on", {**TEST, name: text.format("true")}, kl=False)
    off = repository(tmp_path / "off", {**TEST, name: text.format("false")})
    assert run_pytest(on).returncode == run_pytest(off).returncode == 0
    assert len(recorded(on)) == 1
    assert recorded(off) == []


@pytest.mark.once
@pytest.mark.parametrize(
    ("kl", "args", "count"),
    [
        (True, ["--no-kl"], 0),
        (False, ["--kl"], 1),
        (False, ["--kl-strict"], 1),
        (True, ["--kl-strict", "--no-kl"], 0),
        (True, ["--help"], 0),
        (True, ["--fixtures"], 0),
        (True, ["--markers"], 0),
        (True, ["--cache-show"], 0),
        (True, ["-p", "no:kl"], 0),
        (True, ["-p", "no:terminal"], 1),
        (True, ["-p", "no:cacheprovider"], 1),
        (True, ["--capture=no"], 1),
        (True, ["-p", "no:xdist", "-p", "no:rerunfailures"], 1),
        (True, ["-p", "pytest_kl.plugin"], 1),
        (True, ["-n", "2"], 1),
        (True, ["-qq"], 1),
    ],
)
@pytest.mark.share(4)
def test_options_and_neighbours_leave_at_most_one_record(
    tmp_path: Path, kl: bool, args: list[str], count: int
) -> None:
    repository(tmp_path, TEST, kl=kl)
    done = run_pytest(tmp_path, *args)
    assert done.returncode == 0, done.stdout + done.stderr
    runs = recorded(tmp_path)
    assert len(runs) == count
    assert all(
        run.result["verdict"] == "passed" and run.verdicts == {"test_x.py::test_a": "passed"}
        for run in runs
    )


@pytest.fixture(scope="module")
def bytecode(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where pytest stores the modules of plugins that it rewrites, which takes seconds for ours."""
    return tmp_path_factory.mktemp("bytecode")


ENTRY_POINT = "[pytest11]\nkl = pytest_kl.plugin\n"


@pytest.mark.parametrize(
    ("args", "env", "conftest"),
    [
        ((), {}, ""),
        (PLUGIN, {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}, ""),
        (PLUGIN, {}, ""),
        (("-p", "kl"), {}, ""),
        (("-p", "kl", *PLUGIN), {}, ""),
        ((), {"PYTEST_PLUGINS": "pytest_kl.plugin"}, ""),
        ((), {}, "pytest_plugins = ['pytest_kl.plugin']\n"),
    ],
)
@pytest.mark.share(3)
def test_an_entry_point_and_a_name_together_record_once(
    tmp_path: Path, bytecode: Path, args: tuple[str, ...], env: dict[str, str], conftest: str
) -> None:
    site = tmp_path / "site" / "kl_test-1.dist-info"
    site.mkdir(parents=True)
    (site / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: kl-test\nVersion: 1\n", encoding="utf-8"
    )
    (site / "entry_points.txt").write_text(ENTRY_POINT, encoding="utf-8")
    project = repository(
        tmp_path / "p", {**TEST, **({"conftest.py": conftest} if conftest else {})}
    )
    path = {
        "PYTHONPATH": f"{environment({})['PYTHONPATH']}:{site.parent}",
        "PYTHONDONTWRITEBYTECODE": "",
        "PYTHONPYCACHEPREFIX": str(bytecode),
    }
    done = run_pytest(
        project, env={**path, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "", **env}, plugin=args
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert only(project).verdicts == {"test_x.py::test_a": "passed"}


def test_a_repository_inside_a_recorded_one_is_another(tmp_path: Path) -> None:
    outer = repository(tmp_path, TEST)
    inner = repository(outer / "vendored", TEST, kl=False)
    assert run_pytest(inner).returncode == 0
    assert recorded(outer) == recorded(inner) == []


def test_a_kl_directory_that_is_a_link_is_not_ours(tmp_path: Path) -> None:
    project = repository(tmp_path / "p", TEST, kl=False)
    (tmp_path / "elsewhere").mkdir()
    (project / ".kl").symlink_to(tmp_path / "elsewhere")
    assert run_pytest(project).returncode == 0
    assert recorded(project) == []


def test_a_folder_below_the_kl_directory_is_recorded_in_its_repository(tmp_path: Path) -> None:
    repository(tmp_path, {"a/b/test_x.py": TEST["test_x.py"]})
    assert run_pytest(tmp_path / "a" / "b").returncode == 0
    assert only(tmp_path).verdicts == {"a/b/test_x.py::test_a": "passed"}


def test_pytest_runs_without_the_rest_of_kl_where_nothing_is_recorded(tmp_path: Path) -> None:
    code = (
        "import sys, pytest; sys.modules['kl_hooks'] = None; sys.exit(pytest.main(['-p',"
        " 'pytest_kl.plugin']))"
    )
    project = repository(tmp_path, TEST, kl=False)
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=project, env=environment({}), check=False
    )
    assert done.returncode == 0
