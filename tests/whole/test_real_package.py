"""A real package's own suite: every verdict equals the one in pytest's JUnit file, and the main job
works on it.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from bench.downloads import sdist
from tests.support import run_in_process
from tests.whole.h11 import PIN, environment, fetch

pytestmark = [pytest.mark.net, pytest.mark.slow]
INICONFIG = (
    "iniconfig==2.3.1"
    " --hash=sha256:67f4b9c50da0dedf52af349e7749a80a9057a5031199791b906c3bb3ae878960"
)


class Checkout:
    """h11 as a git repository with kl set up."""

    def __init__(self, folder: Path) -> None:
        self.environ = environment(folder)
        self.root = fetch(folder)
        self.run("git", "init", "-q", "-b", "main")
        self.run("git", "add", ".")
        self.run("git", "commit", "-qm", "Import")
        self.kl("init", "--yes")
        self.run("git", "add", ".")
        self.run("git", "commit", "-qm", "Set up kl")

    def run(self, *argv: str, code: int = 0) -> str:
        done = subprocess.run(
            argv, cwd=self.root, env=self.environ, capture_output=True, text=True, check=False
        )
        assert done.returncode == code, (argv, done.returncode, done.stdout, done.stderr)
        return done.stdout

    def kl(self, *argv: str, code: int = 0) -> str:
        done = run_in_process(argv, self.root, self.environ)
        assert done.returncode == code, (argv, done.returncode, done.stdout, done.stderr)
        return done.stdout

    def json(self, *argv: str, code: int = 0) -> Any:
        return json.loads(self.kl(*argv, "--format", "json", code=code))

    def pytest(self, *argv: str, code: int = 0) -> str:
        switch = [] if _installed() else ["-p", "pytest_kl.plugin"]
        return self.run(sys.executable, "-m", "pytest", "-q", *switch, *argv, code=code)


def _installed() -> bool:
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        return distribution("kl-hooks") is not None
    except PackageNotFoundError:
        return False


@pytest.fixture(scope="module")
def h11(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    return Checkout(tmp_path_factory.mktemp("h11"))


@pytest.mark.parametrize("how", [(), ("-n", "2")], ids=["serial", "two workers"])
@pytest.mark.share("serial")
def test_every_verdict_equals_pytests_own_junit_file(h11: Checkout, how: tuple[str, ...]) -> None:
    h11.pytest("--junitxml=../report.xml", *how)
    (receipt,) = h11.json("evidence", "list", "--source", "pytest", "--limit", "1")["receipts"]
    ours = {e["subject"]: e["outcome"] for e in receipt["evidence"]}
    cases = ElementTree.parse(h11.root.parent / "report.xml").getroot().iter("testcase")
    theirs = Counter("passed" if not len(case) else case[0].tag for case in cases)
    assert len(ours) == theirs.total() == 78
    assert Counter(ours.values()) == theirs == Counter(passed=78)
    h11.kl("evidence", "import", "junit", "../report.xml", "--tree", receipt["tree"])
    (imported,) = h11.json("evidence", "list", "--source", "junit", "--limit", "1")["receipts"]
    assert {e["subject"]: e["outcome"] for e in imported["evidence"]} == ours, "test by test"
    assert receipt["result"]["verdict"] == "passed"


@pytest.mark.parametrize("pin", [PIN, INICONFIG], ids=lambda pin: pin.partition("=")[0])
@pytest.mark.share("iniconfig")
def test_recording_changes_nothing_about_a_run(pin: str, h11: Checkout, tmp_path: Path) -> None:
    root = h11.root if pin == PIN else sdist(pin, tmp_path / "sdist")
    environ = {
        **h11.environ,
        "PYTHONPATH": f"{root / 'src'}{os.pathsep}{h11.environ['PYTHONPATH']}",
    }
    if pin != PIN:
        (root / ".kl").mkdir()
        for words in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "Import")):
            subprocess.run(["git", *words], cwd=root, env=environ, check=True)

    def run(*args: str) -> tuple[list[str], Any]:
        known = set((root / ".git" / "kl").rglob("*"))
        report, data = tmp_path / "coverage.json", {"COVERAGE_FILE": str(tmp_path / "data")}
        more = (
            "-p",
            "no:cacheprovider",
            "-p",
            "pytest_cov",
            f"--cov={root}",
            f"--cov-report=json:{report}",
        )
        argv = [sys.executable, "-m", "pytest", "-v", *args, *more]
        done = subprocess.run(
            argv, cwd=root, env=environ | data, capture_output=True, text=True, check=False
        )
        lines = (re.sub(r" in \d.*s |0x\w+|=+", "", line) for line in done.stdout.splitlines())
        shown = [line for line in lines if not line.startswith(("kl: ", "plugins: "))]
        # blocked, and loaded by its other name all the same, nothing is written
        assert bool(set((root / ".git" / "kl").rglob("*")) - known) is ("--kl-symbols=on" in args)
        files = json.loads(report.read_text(encoding="utf-8"))["files"]
        return [str(done.returncode), *shown], {
            name: one["executed_lines"] for name, one in files.items()
        }

    plugin = () if _installed() else ("-p", "pytest_kl.plugin")
    without = run("-p", "no:kl", *plugin)
    assert without[0][0] == "0" and without[1], without[0][-5:]
    assert run(*plugin, "--kl-symbols=on", "--kl-symbols-subprocess") == without


@pytest.mark.sweep
def test_evidence_of_a_dirty_run_holds_for_the_commit_that_follows(h11: Checkout) -> None:
    path = h11.root / "h11" / "_version.py"
    path.write_text(path.read_text(encoding="utf-8") + "\nCHANGED = True\n", encoding="utf-8")
    h11.kl("verify", code=1)
    h11.pytest()
    h11.run("git", "commit", "-qam", "Add a constant")
    proven = h11.json("verify")
    assert proven["proven"] is True
    assert proven["tree"] == h11.run("git", "rev-parse", "HEAD^{tree}").strip()


@pytest.mark.sweep
def test_a_second_way_of_running_makes_it_verified_and_it_is_cited(h11: Checkout) -> None:
    h11.pytest()
    plugin = [] if _installed() else ["-p", "pytest_kl.plugin"]
    h11.kl("run", "--", sys.executable, "-m", "pytest", "-q", *plugin, "-p", "xdist", "-n", "2")
    assert h11.json("verify", "--require", "verified")["tier"] == "verified"
    subject = "test:h11/tests/test_receivebuffer.py::test_receivebuffer"
    (claim,) = h11.json("claim", "list", "--about", subject)["claims"]
    assert (claim["tier"], claim["freshness"]) == ("verified", "current")
    package = h11.json(
        "context",
        "h11/tests/test_receivebuffer.py::test_receivebuffer: what does it promise?",
        *("--budget", "6000"),
    )
    cited = {item["id"]: item for item in package["items"]}
    about = h11.json("context", "the receive buffer returns whole lines", "--budget", "6000")
    (buffer,) = [item for item in about["items"] if item["id"] == "file:h11/_receivebuffer.py"]
    assert buffer["proof"].endswith("passed, verified")
    assert not [item for item in about["items"] if item["id"].startswith("test:")]
    item = cited[subject]
    assert item["tier"] == "verified"
    runs = {one["id"]: one["run"] for one in h11.json("evidence", "list")["receipts"]}
    assert any(runs[s["receipt"]][:8] in item["text"] for s in claim["support"]), (
        "the item names the run"
    )
    assert package["budget"]["used"] <= package["budget"]["total"]


def test_an_import_against_the_layers_is_blocked_and_named(h11: Checkout) -> None:
    assert h11.json("arch", "check")["clean"] is True
    path = h11.root / "h11" / "_util.py"
    before = path.read_text(encoding="utf-8")
    path.write_text(before + "\nfrom ._connection import Connection\n", encoding="utf-8")
    h11.run("git", "add", "-A")
    found = h11.json("arch", "check", "--staged", code=1)
    (violation,) = found["violations"]
    assert (violation["path"], violation["line"]) == ("h11/_util.py", before.count("\n") + 2)
    assert violation["rule"].startswith(".kl/architecture.yaml:")
    h11.run("git", "checkout", "-q", "HEAD", "--", "h11/_util.py")
    assert h11.json("arch", "check", "--staged")["clean"] is True
