"""Results rest on the installed distributions that their tests reach: a distribution with another
version makes these stale and no others, also where the content is the very same.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import create_autospec

import pytest

from kl_hooks.evidence import distributions as recorded
from kl_hooks.evidence.distributions import Distributions, Uses, read_folder, start_up
from kl_hooks.evidence.reach import Reach
from kl_hooks.evidence.reads import VARIABLES, Read, Reads
from kl_hooks.proof.installed import EnvironmentChanges, Environments, changes_since
from kl_hooks.proof.opened_bytes import BytesOnDisk
from kl_hooks.store.redaction import redact_value
from pytest_kl.distributions import Environment, _requirements
from tests.pytest_kl.recorded import environment, git, repository, run_pytest
from tests.support import run_in_process

needs_symbols = pytest.mark.skipif(
    not hasattr(sys, "monitoring"), reason="recorded from CPython 3.12 on"
)
FILES = {
    "app.py": "import leafdep\n\ndef version():\n    return leafdep.VERSION\n",
    "outer.py": "import middep\n\ndef version():\n    return middep.VERSION\n",
    "soft.py": "try:\n    import quick\nexcept ImportError:\n    quick = None\n",
    "test_leaf.py": "import app\n\ndef test_leaf():\n    assert app.version()\n",
    "test_middle.py": "import outer\n\ndef test_middle():\n    assert outer.version()\n",
    "test_soft.py": "import soft\n\ndef test_soft():\n    assert soft.quick in (None, "
    "soft.quick)\n",
    "test_plain.py": "def test_plain():\n    pass\n",
    "test_process.py": (
        "import subprocess, sys\n\ndef test_process():\n"
        "    subprocess.run([sys.executable, '-S', '-c', ''], check=True)\n"
    ),
    "requirements/base.txt": "leafdep>=1\n",
    "requirements-docs.txt": "unused==1\n",
}
ALL = {"test_leaf", "test_middle", "test_soft", "test_plain", "test_process"}


def install(
    site: Path, name: str, version: str, requires: Sequence[str] = (), module: str = ""
) -> None:
    """As pip leaves it: one distribution with one package."""
    for old in site.glob(f"{name}-*.dist-info"):
        shutil.rmtree(old)
    package = site / (module or name)
    package.mkdir(parents=True, exist_ok=True)
    imports = "".join(f"import {one}\n" for one in requires)
    (package / "__init__.py").write_text(f"{imports}VERSION = {version!r}\n", encoding="utf-8")
    metadata = site / f"{name}-{version}.dist-info"
    metadata.mkdir()
    lines = "".join(f"Requires-Dist: {one}>=0\n" for one in requires)
    text = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{lines}\n\nRequires-Dist: no"
    (metadata / "METADATA").write_text(text, encoding="utf-8")
    (metadata / "RECORD").write_text(f"{package.name}/__init__.py,sha256=x,1\n", encoding="utf-8")


def uninstall(site: Path, name: str) -> None:
    for place in (*site.glob(f"{name}-*.dist-info"), site / name):
        shutil.rmtree(place)


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder of distributions that the projects of these tests have on their path."""
    folder = tmp_path / "lib" / "site-packages"
    install(folder, "leafdep", "1.0")
    install(folder, "middep", "1.0", ["leafdep"])
    install(folder, "loose_plugin", "1.0", module="loosemodule")
    install(folder, "idle", "1.0")
    return folder


@pytest.fixture
def project(tmp_path: Path, site: Path) -> Path:
    conftest = (
        f"import sys\nfrom importlib import import_module\nsys.path.insert(0, {str(site)!r})\n"
        "import_module('loose' + 'module')\n"
    )
    return repository(tmp_path / "project", {**FILES, "conftest.py": conftest})


def impacted(folder: Path) -> dict[str, str]:
    done = run_in_process(["proof", "impacted", "--format", "json"], folder, environment({}))
    assert done.returncode == 0, done.stderr
    return {
        one["test"].partition("::")[2]: one["reason"] for one in json.loads(done.stdout)["tests"]
    }


def verify(folder: Path) -> dict[str, Any]:
    done = run_in_process(["verify", "--format", "json"], folder, environment({}))
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer | {"exit": done.returncode}


def shown_distributions(folder: Path, test: str) -> list[tuple[str, str]] | None:
    """As `kl proof why` shows them, in both forms."""
    asked = ("proof", "why", test)
    plain = json.loads(
        run_in_process([*asked, "--format", "json"], folder, environment({})).stdout
    )["distributions"]
    text = run_in_process(list(asked), folder, environment({})).stdout
    lines = [line for line in text.splitlines() if line.startswith("imports ")]
    names = [(one["name"], one["version"]) for one in plain or ()]
    words = ", ".join(f"{name} {version}" for name, version in names)
    assert lines == ([f"imports   {words}"] if names else [])
    return None if plain is None else names


def edit(folder: Path, path: str, text: str) -> None:
    git(folder, "checkout", "-q", ".")
    (folder / path).write_text(text, encoding="utf-8")


@needs_symbols
def test_an_upgrade_makes_the_tests_stale_that_reach_it_and_no_others(
    project: Path, site: Path
) -> None:
    run_pytest(project)
    assert verify(project)["state"] == "proven"
    imported = {
        "test_leaf": [("leafdep", "1.0")],
        "test_middle": [("leafdep", "1.0"), ("middep", "1.0")],
        "test_plain": [],
        "test_process": None,
    }
    assert {test: shown_distributions(project, test) for test in imported} == imported
    install(site, "leafdep", "2.0")
    why = "leafdep 1.0 → 2.0 is installed now"
    # what a test's processes load is not known
    stale = dict.fromkeys(("test_leaf", "test_middle", "test_process"), why)
    assert impacted(project) == stale
    answer = verify(project)
    assert (answer["exit"], answer["state"]) == (1, "not proven")
    assert {one["name"].partition("::")[2]: one["reason"] for one in answer["missing"]} == stale
    assert (answer["tests"]["proven"], answer["tests"]["rerun"]) == (2, 3)
    done = run_pytest(project, "--kl-impacted")
    assert "3 passed, 2 deselected" in done.stdout
    # each test ran on this content, with what it reaches as it is now
    answer = verify(project)
    assert (answer["exit"], answer["state"], answer["transferred"]) == (0, "proven", [])
    assert "not installed any more" not in str(impacted(project))


@needs_symbols
@pytest.mark.sweep
def test_a_failure_that_passed_since_is_none_after_an_upgrade_but_must_run(
    project: Path, site: Path
) -> None:
    fails = "import app\n\nif app.version() == '1.0':\n    raise RuntimeError('too old')\n\n\n"
    (project / "test_leaf.py").write_text(f"{fails}def test_leaf():\n    pass\n", encoding="utf-8")
    git(project, "commit", "-qam", "needs a newer one")
    install(site, "leafdep", "3.0")
    run_pytest(project)
    assert verify(project)["exit"] == 0
    install(site, "leafdep", "1.0")
    assert "1 error" in run_pytest(project).stdout
    assert "test_leaf.py can't be collected (run" in str(verify(project)["reasons"])
    install(site, "leafdep", "2.0")
    run_pytest(project)
    assert verify(project)["exit"] == 0
    # it passed with 2.0 after it failed; with the first run alone it would be as before the failure
    for version in ("4.0", "3.0"):
        install(site, "leafdep", version)
        answer = verify(project)
        assert answer["exit"] == 1
        assert "did not pass since" not in str(answer["reasons"])
        why = f"leafdep 2.0 → {version} is installed now"
        missing = {one["name"].partition("::")[2]: one["reason"] for one in answer["missing"]}
        assert missing["test_leaf"] == why
        assert impacted(project)["test_leaf"] == why
    assert "passed" in run_pytest(project, "--kl-impacted", "--kl-audit=off").stdout
    assert verify(project)["exit"] == 0
    assert impacted(project) == {}


@needs_symbols
def test_what_no_file_imports_counts_for_all_tests_and_what_was_never_loaded_for_none(
    project: Path, site: Path
) -> None:
    run_pytest(project)
    install(site, "idle", "2.0")
    assert impacted(project).keys() == {"test_process"}
    install(site, "idle", "1.0")
    install(site, "new", "1.0")
    assert impacted(project) == {}
    install(site, "quick", "1.0")
    found = dict.fromkeys(("test_soft", "test_process"), "quick is installed now")
    assert impacted(project) == found
    uninstall(site, "quick")
    uninstall(site, "middep")
    assert impacted(project).keys() == {"test_middle", "test_process"}
    install(site, "middep", "1.0", ["leafdep"])
    install(site, "loose_plugin", "1.1", module="loosemodule")
    assert impacted(project) == dict.fromkeys(ALL, "loose-plugin 1.0 → 1.1 is installed now")
    answer = verify(project)
    assert answer["exit"] == 1
    assert "loose-plugin 1.0 → 1.1 is installed now" in str(answer["missing"])


@needs_symbols
def test_requirements_count_for_the_tests_that_reach_what_they_exclude(project: Path) -> None:
    # what its processes open is not known, so any changed file may matter to it
    git(project, "rm", "-q", "test_process.py")
    git(project, "commit", "-qm", "no processes")
    run_pytest(project)
    edit(project, "requirements-docs.txt", "unused==2\nother\n")
    assert verify(project)["exit"] == 0
    edit(project, "requirements/base.txt", "leafdep>=1,<2  # as before\n")
    assert verify(project)["exit"] == 0
    edit(project, "requirements/base.txt", "leafdep==2.0\n")
    assert impacted(project) == dict.fromkeys(
        ("test_leaf", "test_middle"), "leafdep 1.0 → 2.0 is required (requirements/base.txt)"
    )
    assert verify(project)["exit"] == 1
    edit(project, "requirements/base.txt", "leafdep==2.0 ; python_version < '3'\nleafdep\n")
    assert verify(project)["exit"] == 0
    edit(project, "requirements/base.txt", "https://example.org/leafdep.tar.gz\n")
    assert impacted(project).keys() == ALL - {"test_process"}


@needs_symbols
def test_a_failure_with_another_version_is_no_flaky_test(project: Path, site: Path) -> None:
    text = "import app\n\ndef test_leaf():\n    assert app.version() == '2.0'\n"
    (project / "test_leaf.py").write_text(text, encoding="utf-8")
    git(project, "commit", "-qam", "another version")
    run_pytest(project)
    install(site, "leafdep", "2.0")
    run_pytest(project)
    done = run_in_process(["proof", "flaky"], project, environment({}))
    assert "test_leaf" not in done.stdout
    assert verify(project)["flaky"] == []


def test_a_run_elsewhere_is_not_compared_and_that_is_stated(
    project: Path, monkeypatch: pytest.MonkeyPatch, site: Path
) -> None:
    run_pytest(project)
    install(site, "leafdep", "2.0")
    monkeypatch.setattr("kl_hooks.proof.installed.machine", lambda: "another")
    monkeypatch.setattr("kl_hooks.proof.installed._machine", lambda: "another")
    answer = verify(project)
    assert answer["exit"] == 0
    assert "what is installed was not compared: it ran on another machine" in str(answer["notes"])


# what is recorded


def listing(folder: Path, names: Sequence[str]) -> Path:
    for name in names:
        (folder / name).mkdir(parents=True)
    return folder


def test_one_listing_has_the_versions(tmp_path: Path) -> None:
    names = ["PyYAML-6.0.2.dist-info", "yaml", "zope.event-5.0-py3.12.egg-info", "shop.egg-info"]
    listing(tmp_path, [*names, "a_b-1.dist-info", "a_b-2.dist-info"])
    (tmp_path / "six.py").touch()
    (tmp_path / "fast.cpython-313-x86_64-linux-gnu.so").touch()
    folder = read_folder(str(tmp_path))
    expected = {"pyyaml": "6.0.2", "zope-event": "5.0", "shop": "", "a-b": "1|2"}
    assert folder.versions == expected
    assert folder.modules == {"yaml", "six", "fast"}


def test_only_code_of_the_start_counts(tmp_path: Path) -> None:
    texts = {"paths.pth": "/srv/lib\n# import x\n", "code.pth": "/srv\nimport hook\n"}
    for name, text in {**texts, "sitecustomize.py": "x = 1\n"}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    found = start_up(read_folder(str(tmp_path)))
    assert {Path(path).name for path in found} == {"code.pth", "sitecustomize.py"}


def test_modules_belong_to_who_lists_their_files(tmp_path: Path) -> None:
    site = tmp_path / "site-packages"
    # a distribution of the same name lists another file
    install(site, "yaml", "9.9", module="other")
    install(site, "PyYAML", "6.0.2", module="yaml")
    install(site, "own", "1.0")
    install(site, "kl_hooks", "1.0")
    url = json.dumps({"url": (tmp_path / "repo").as_uri(), "dir_info": {"editable": True}})
    (site / "own-1.0.dist-info" / "direct_url.json").write_text(url, encoding="utf-8")
    alone = tmp_path / "alone.py"
    alone.write_text("x = 1\n", encoding="utf-8")
    rows = [("yaml", f"{site}/yaml/__init__.py"), ("own", f"{site}/own/__init__.py")]
    rows += [("alone", str(alone)), ("kl_hooks", f"{site}/kl_hooks/__init__.py")]
    cache = tmp_path / "cache.json"

    def record(started: float) -> Distributions:
        environment = Environment(str(tmp_path / "repo"), [str(site)], started)
        return environment.record(rows, [], cache)

    found = record(alone.stat().st_ctime + 1)
    assert found.versions == {"pyyaml": "6.0.2", str(alone): found.versions[str(alone)]}
    # no list of files is read again
    for metadata in site.glob("*.dist-info"):
        (metadata / "RECORD").unlink()
    assert record(alone.stat().st_ctime + 1) == found
    # what the run itself wrote is none of its environment
    assert record(alone.stat().st_ctime - 1).versions == {"pyyaml": "6.0.2"}
    alone.write_text("x = 2\n", encoding="utf-8")
    changes = changes_since(found, None)
    assert changes.installed == {str(alone): f"alone.py ({alone}) changed"}


def test_of_packages_the_first_two_levels_show_whose_they_are() -> None:
    names = [
        "numpy",
        "numpy.linalg",
        "numpy.linalg.deep",
        "google.cloud.storage",
        "google.cloud.storage.x",
    ]
    rows = [(name, f"/v/site-packages/{name.replace('.', '/')}.py") for name in names]
    rows += [("app", "/repo/app.py"), ("dep", "/repo/.venv/lib/site-packages/dep.py")]
    outside = [name for name, _ in Environment.outside_modules(rows, "/repo")]
    assert outside == ["numpy", "numpy.linalg", "google.cloud.storage", "dep"]


def test_what_starts_the_interpreter_is_compared(tmp_path: Path) -> None:
    site = listing(tmp_path / "site-packages", ["a-1.dist-info"])
    (site / "hook.pth").write_text("import hook\n", encoding="utf-8")
    (site / "own.pth").write_text("import own\n", encoding="utf-8")
    start = {**start_up(read_folder(str(site))), str(site / "own.pth"): ""}
    found = Distributions({"a": "1"}, (str(site),), recorded.machine(), start)
    assert changes_since(found, None).start == ""
    (site / "own.pth").write_text("import own2\n", encoding="utf-8")
    assert changes_since(found, None).start == ""
    (site / "sitecustomize.py").touch()
    assert "sitecustomize.py changed, which Python executes" in changes_since(found, None).start
    (site / "sitecustomize.py").unlink()
    (site / "hook.pth").unlink()
    assert "hook.pth changed" in changes_since(found, None).start
    shutil.rmtree(site)
    assert "environment was removed" in changes_since(found, None).not_compared
    assert "was not recorded" in changes_since(None, None).not_compared


def test_where_nothing_shows_what_a_test_reaches_it_rests_on_all() -> None:
    reach = Reach(Distributions({"a": "1", "b": "1"}), None)
    assert reach.of("t.py::t") == reach.always == {"a", "b"}
    assert reach.missing("t.py::t") == frozenset()
    other = Reach(Distributions({"a": "2", "c": "1"}), None)
    assert reach.differing(other, "t.py::t", "t.py::t") == ["a 1 → 2"]


def test_newer_runs_show_what_is_installed_where_no_folder_does() -> None:
    environments = Environments()
    runs = [({"a": "2"}, "ci:x"), ({"a": "1", "b": "1"}, "ci:x"), ({"a": "1"}, "local")]
    receipt: Any = SimpleNamespace(run="ab" * 16, environment={})
    found = [
        environments.changes_in_newer_runs(receipt, origin, Distributions(versions))
        for versions, origin in runs
    ]
    assert found == [{}, {"a": "a 1 → 2 in run abababab"}, {}]


def test_no_name_of_a_distribution_makes_its_version_a_secret() -> None:
    names = ("secretstorage", "password-strength", "django-api-token", "cachetools")
    versions = dict.fromkeys(names, "3.5.0")
    start = {"/home/ann/secret project/token.pth": "3f9a3f9a3f9a3f9a", "/home/ann/a.pth": ""}
    installed = Distributions(versions, ("/home/ann/site-packages",), "0" * 16, start)
    plain = redact_value({"distributions": installed.to_dict()})
    receipt: Any = SimpleNamespace(environment=plain)
    assert Distributions.of(receipt) == installed


def test_a_folder_whose_name_looks_like_a_secret_is_compared(tmp_path: Path) -> None:
    site = tmp_path / "v0.x.Xk2J8sd9Qw3Er5Ty7Ui9Op1As2Df4Gh6.lib" / "site-packages"
    assert redact_value(str(site)) != str(site)
    install(site, "leafdep", "1.0")
    (site / "sitecustomize.py").touch()
    run = Distributions(
        read_folder(str(site)).versions,
        (str(site),),
        recorded.machine(),
        start_up(read_folder(str(site))),
    )
    stored = redact_value({"distributions": run.to_dict()})
    receipt: Any = SimpleNamespace(environment=stored)
    read = Distributions.of(receipt)
    assert read is not None
    assert (read.folders, read.start, read.versions) == (run.folders, run.start, run.versions)
    assert changes_since(read, None) == EnvironmentChanges()
    uninstall(site, "leafdep")
    assert "not installed" in changes_since(read, None).installed["leafdep"]
    # as an earlier kl stored it
    stored["distributions"]["folders"] = [redact_value(str(site))]
    earlier = Distributions.of(receipt)
    assert "not recorded" in changes_since(earlier, None).not_compared
    stored["distributions"]["folders"].append("/usr/lib/python3/dist-packages")
    assert "not recorded" in changes_since(Distributions.of(receipt), None).not_compared


METADATA_TESTS = """\
import importlib.metadata as metadata
import pytest

def test_version():
    assert metadata.version("leafdep")

def test_none():
    with pytest.raises(metadata.PackageNotFoundError):
        metadata.version("Other_Dep")

def test_all():
    assert metadata.entry_points(group="app") == ()

def test_alone():
    pass
"""


@needs_symbols
@pytest.mark.slow
def test_who_reads_metadata_rests_on_it(project: Path, site: Path) -> None:
    for path in (*project.glob("test_*.py"), *project.glob("requirements*")):
        git(project, "rm", "-qr", path.name)
    (project / "test_a.py").write_text(METADATA_TESTS, encoding="utf-8")
    git(project, "add", "-A")
    git(project, "commit", "-q", "-m", "metadata")
    run_pytest(project)
    assert impacted(project) == {}
    install(site, "leafdep", "2.0")
    words = "leafdep 1.0 → 2.0 is installed now"
    assert impacted(project) == {"test_version": words, "test_all": words}
    install(site, "leafdep", "1.0")
    install(site, "other_dep", "1.0")
    words = "other-dep 1.0 is installed now"
    assert impacted(project) == {"test_none": words, "test_all": words}


@pytest.mark.parametrize(
    ("metadata", "file", "text"),
    [
        (
            "a-1.dist-info",
            "METADATA",
            "Name: a\n"
            "Requires-Dist: always\n"
            "Requires-Dist: extraordinary ; platform_version != 'extra'\n"
            "Requires-Dist: either ; python_version >= '3.8' or extra == 'dev'\n"
            "Requires-Dist: unclear ; os_name ~= 'posix'\n"
            "Requires-Dist: dev ; extra == 'dev'\n"
            "Requires-Dist: elsewhere ; sys_platform == 'win32'\n"
            "Requires-Dist: old ; python_version < '3'\n"
            "Requires-Dist: ???\n\nRequires-Dist: text\n",
        ),
        (
            "a.egg-info",
            "requires.txt",
            "always\n\n[:platform_version != 'extra']\nextraordinary\n"
            "[:python_version >= '3.8' or sys_platform == 'win32']\neither\n"
            "[:os_name ~= 'posix']\nunclear\n"
            "[dev]\ndev\n[dev:python_version > '3']\ndev\n[:sys_platform == 'win32']\nelsewhere\n",
        ),
    ],
)
def test_a_requirement_counts_where_its_marker_is_true_here(
    tmp_path: Path, metadata: str, file: str, text: str
) -> None:
    (tmp_path / metadata).mkdir()
    (tmp_path / metadata / file).write_text(text, encoding="utf-8")
    names = set(_requirements(str(tmp_path / metadata)))
    assert names == {"always", "extraordinary", "either", "unclear"}


def entry_of(distributions: Distributions | None, facts: Sequence[str] = ("reads",)) -> Any:
    plain = {"distributions": distributions.to_dict()} if distributions else {}
    environment = {"facts": list(facts), **plain}
    receipt = SimpleNamespace(run="ab" * 16, environment=environment)
    return SimpleNamespace(receipt=receipt, origin="local")


def test_what_a_run_recorded_of_each_class_of_facts() -> None:
    environments = Environments()
    facts, not_compared = environments.facts_of_run(entry_of(None), None)
    assert (facts.opened, facts.recorded, facts.reach) == (False, {"reads"}, None)
    assert "was not recorded" in not_compared
    traced: Any = SimpleNamespace(knows_opened=True, reads=object(), distributions=None)
    facts, _ = environments.facts_of_run(entry_of(None, ("reads", "distributions")), traced)
    # the facts of a class got lost
    assert (facts.opened, facts.recorded) == (True, {"reads"})
    too_many: Any = SimpleNamespace(knows_opened=False, reads=None, distributions=None)
    recorded = Distributions({"a": "1"}, machine="elsewhere")
    entry = entry_of(recorded, ("reads", "distributions"))
    facts, not_compared = environments.facts_of_run(entry, too_many)
    assert (facts.opened, facts.recorded) == (False, {"distributions"})
    assert facts.reach is not None and "another machine" in not_compared


def test_ignored_files_and_variables_are_compared_on_the_machine_of_the_run_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # the working tree now has a file, another listing and a variable that the run did not have
    disk = create_autospec(BytesOnDisk, instance=True)
    disk.differing.return_value = {"data.json": "data.json has other bytes on disk"}
    disk.appeared.return_value = frozenset({"local.ini"})
    disk.relisted.return_value = frozenset({"plugins/*"})
    monkeypatch.setenv("SHOP_DEBUG", "1")
    monkeypatch.delenv("SHOP_LANG", raising=False)
    looked_for = {Read(VARIABLES, "SHOP_DEBUG"), Read(VARIABLES, "SHOP_LANG")}
    files = {Read("SHOP_DEBUG"), Read("config", "SHOP_DEBUG")}
    reads = Reads(tests={"test_a.py::test_a": frozenset(looked_for | files)})
    executed: Any = SimpleNamespace(knows_opened=True, reads=reads, distributions=None)

    def shown(
        machine: str, executed: Any, disk: Any = disk
    ) -> tuple[set[str], set[str], set[str], set[str]]:
        entry = entry_of(Distributions({"a": "1"}, machine=machine))
        facts, _ = Environments(disk).facts_of_run(entry, executed)
        names = (facts.other_bytes, facts.appeared, facts.relisted, facts.variables)
        return tuple(map(set, names))  # type: ignore[return-value]

    tracked = {"data.json"}
    here = shown(recorded.machine(), executed)
    assert here == (tracked, {"local.ini"}, {"plugins/*"}, {"SHOP_DEBUG"})
    # what git has is the same on each machine
    assert shown("elsewhere", executed) == (tracked, set(), set(), set())
    # a commit is judged, not the working tree
    assert shown(recorded.machine(), executed, None) == (set(), set(), set(), set())
    # who looked for a variable was not recorded
    lost: Any = SimpleNamespace(knows_opened=True, reads=None, distributions=None)
    assert shown(recorded.machine(), lost)[3] == shown(recorded.machine(), None)[3] == set()


def test_on_the_very_content_no_newer_run_is_asked() -> None:
    environments = Environments()
    for versions, expected in (({"a": "2"}, {}), ({"a": "1"}, {"a": "a 1 → 2 in run abababab"})):
        entry = entry_of(Distributions(versions, machine="elsewhere"))
        own, _ = environments.facts_of_run(entry, None, is_own=True)
        facts, _ = environments.facts_of_run(entry, None)
        assert (own.installed, facts.installed) == ({}, expected)
    # a run without them is compared with none, and shows none
    assert environments.facts_of_run(entry_of(None), None)[0].installed == {}


def test_modules_without_a_distribution_are_compared_where_they_lie(tmp_path: Path) -> None:
    environments = Environments()
    receipt: Any = SimpleNamespace(run="ab" * 16, environment={})
    newest, other = ({"/srv/a.py": version} for version in ("files:1", "files:2"))
    environments.changes_in_newer_runs(receipt, "local", Distributions(newest))
    assert environments.changes_in_newer_runs(receipt, "local", Distributions(other)) == {}
    site = listing(tmp_path / "site-packages", ["a-1.dist-info"])
    hook, module = tmp_path / "hook.pth", tmp_path / "alone.py"
    for path in (hook, module):
        path.write_text("import x\n", encoding="utf-8")
    start = {str(hook): recorded.digest_of(str(hook))}
    version = {str(module): f"files:{recorded.digest_of(str(module))}"}
    before = Distributions(version, (str(site),), recorded.machine(), start)
    assert changes_since(before, None) == EnvironmentChanges()
    (site / "quick.py").touch()
    (site / "other.py").touch()
    uses = Uses(missing={"soft.py": ("quick", "slow")})
    assert changes_since(before, uses).added == {"quick": "quick is installed now"}
    module.unlink()
    hook.unlink()
    changes = changes_since(before, None)
    assert changes.installed == {str(module): f"alone.py ({module}) changed"}
    assert changes.start == f"{hook} changed, which Python executes when it starts"


@pytest.mark.parametrize("name", ["repo", "a repo", "repo#1", "50%?"])
def test_a_distribution_in_a_folder_of_any_name_is_the_repository_itself(
    tmp_path: Path, name: str
) -> None:
    site, folder = tmp_path / "site-packages", tmp_path / name
    install(site, "own", "1.0")
    plain = {"url": folder.as_uri(), "dir_info": {"editable": True}}
    (site / "own-1.0.dist-info" / "direct_url.json").write_text(json.dumps(plain), encoding="utf-8")
    rows = [("own", f"{site}/own/__init__.py")]
    installed = Environment(str(folder), [str(site)], 0.0)
    assert installed.record(rows, [], tmp_path / "cache.json").own == {"own", "kl-hooks"}
