"""The templates for CI, run as a runner would on a small repository with a real history and real
test runs.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from kl_hooks.shipped import form
from tests.arch.shop import DRIFT, FILES, LAYERS, MANIFEST, ORDER
from tests.support import HERE, Checkout, checkout, isolate

from . import gitlab
from .github import ACTION, Event, Runner

TEST = "from shop.core import order\n\n\ndef test_total() -> None:\n    assert order.total() == 1\n"
SETTINGS = '[tool.pytest.ini_options]\npythonpath = ["src"]\ntestpaths = ["tests"]\n'
IGNORED = "__pycache__/\n.pytest_cache/\n"
WORKFLOW = form("ci/github-workflow.yml")
FORK = {"head": {"repo": {"full_name": "stranger/shop"}}}
"""The part of a payload that shows that the commits are from somebody else's repository."""
RECORDED = sys.version_info >= (3, 12)
"""Whether what tests execute is recorded; else no changed symbol is assessed, and that is stated.
"""
NOT_RECORDED = "no run with executed symbols was recorded"


def annotated(place: str, symbol: str, verdict: str, reason: str = "") -> str:
    """How the annotation of a changed symbol begins."""
    verdict, reason = (verdict, reason) if RECORDED else ("not assessed", NOT_RECORDED)
    title = f"title=A changed symbol is {verdict}"
    return f"::error file={place},{title}::{symbol} is {verdict}: {reason}"


FAILED_TEST = annotated(
    "tests/test_order.py,line=4",
    "tests.test_order.test_total",
    "stale",
    "tests/test_order.py::test_total failed in run ",
)


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Checkout]:
    """The shop on `main`; on `drift` an import across layers; on `loose` the rule is changed and a
    test fails.

    `refs/pull/1/merge` and `refs/pull/2/merge` are what GitHub checks out for them.
    """
    folder = tmp_path_factory.mktemp("ci")
    with pytest.MonkeyPatch.context() as patch:
        isolate(patch, folder / "home")
        made = checkout(
            folder / "origin",
            {
                **FILES,
                MANIFEST: LAYERS,
                "tests/test_order.py": TEST,
                "pyproject.toml": SETTINGS,
                ".gitignore": IGNORED,
            },
        )
        for number, branch in enumerate(("drift", "loose"), 1):
            made.git("checkout", "-q", "-b", branch, "main")
            if branch == "drift":
                made.write(ORDER, DRIFT)
            else:
                made.write(MANIFEST, LAYERS.replace("may_depend_on: []", "may_depend_on: [web]"))
                made.write("tests/test_order.py", TEST.replace("== 1", "== 2"))
            made.commit(f"Count {branch} orders")
            made.git("checkout", "-q", "-b", f"pull-{number}", "main")
            made.git("merge", "-q", "--no-ff", "-m", f"Merge {branch} into main", branch)
            made.git("update-ref", f"refs/pull/{number}/merge", "HEAD")
        made.git("checkout", "-q", "main")
        made.git("branch", "-q", "-D", "pull-1", "pull-2")
        yield made


def pushed(origin: Checkout) -> Event:
    head = origin.git("rev-parse", "main")
    return Event("push", head, "refs/heads/main", {"head_commit": {"message": "Sum the orders"}})


def pull_request(origin: Checkout, number: int, title: str, fork: bool = False) -> Event:
    head: dict[str, Any] = FORK if fork else {"head": {"repo": {"full_name": "ada/shop"}}}
    sha = origin.git("rev-parse", f"refs/pull/{number}/merge")
    return Event(
        "pull_request",
        sha,
        f"refs/pull/{number}/merge",
        {"pull_request": {"title": title, **head}},
        "main",
    )


def runs_in(receipts: Path) -> int:
    """How many test runs an export of receipts has."""
    lines = map(json.loads, receipts.read_text("utf-8").splitlines())
    return sum(one.get("source") == "pytest" for one in lines)


def blocking(report: Path) -> list[dict[str, Any]]:
    """The entries of a code quality report that fail the check."""
    return [
        one
        for one in json.loads(report.read_text("utf-8"))
        if one["check_name"] != "arch/unassigned"
        and (RECORDED or one["check_name"] != "proof/not-assessed")
    ]


@pytest.mark.slow
def test_a_workflow_passes_clean_content_and_fails_an_import_across_layers(
    origin: Checkout, tmp_path: Path
) -> None:
    runner = Runner(tmp_path, origin, dict(os.environ))
    clean = runner.start(WORKFLOW, pushed(origin))
    assert (clean["kl"].result, clean["code-scanning"].result) == ("success", "success"), clean[
        "kl"
    ].log
    assert runner.shell.installed == ["--editable . pytest kl-hooks[report]"]
    assert runner.restored == []
    assert list(runner.caches) == ["kl-Linux-3.13-1-1"]
    assert "proven (inferred)" in clean["kl"].summary
    assert "```mermaid\nflowchart" in clean["kl"].summary
    reports = runner.artifacts["kl-reports-3.13"]
    assert {path.name for path in reports.iterdir()} == {
        "context.md",
        "junit.xml",
        "kl.sarif",
        "receipts.jsonl",
        "report.html",
        "summary.md",
        "tests.mmd",
    }
    assert "```mermaid\n%%{init" in clean["kl"].summary
    assert '"passed on this content" : 1\n```' in clean["kl"].summary
    page = (reports / "report.html").read_text("utf-8")
    assert '"viewer":"anonymous"' in page and '"change":null' in page
    assert str(tmp_path) not in page
    assert runs_in(reports / "receipts.jsonl") == 1

    # a title is text, whatever is in it
    title = (
        'Speed up the order page"; touch pwned; $(touch pwned) `touch pwned` ${{ github.token }}'
    )
    drift = runner.start(WORKFLOW, pull_request(origin, 1, title))
    job, reports = drift["kl"], runner.artifacts["kl-reports-3.13"]
    assert [name for name, outcome in job.steps.items() if outcome == "failure"] == [
        "Check the layers"
    ]
    assert f"::error file={ORDER},line=2,title=core must not import web::" in job.log
    assert not list(tmp_path.rglob("pwned"))
    assert runner.restored == ["kl-Linux-3.13-1-1"]
    assert runs_in(reports / "receipts.jsonl") == 2, "the run of main came with the cache"
    assert list(runner.caches) == ["kl-Linux-3.13-1-1"], "pull requests write no cache"
    assert drift["code-scanning"].result == "success"
    proof = json.loads((reports / "proof.sarif").read_text("utf-8"))["runs"][0]["results"]
    assert [NOT_RECORDED in row["message"]["text"] for row in proof] == [True] * (not RECORDED)
    assert "title=kl verify" not in job.log, "a test executed each changed symbol, and passed"
    (found,) = json.loads((reports / "kl.sarif").read_text("utf-8"))["runs"][0]["results"]
    assert found["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == ORDER
    page = (reports / "report.html").read_text("utf-8")
    assert '"change":{"base":' in page and ORDER in page and str(tmp_path) not in page
    context = (reports / "context.md").read_text("utf-8")
    assert context in job.summary
    assert "src/shop/web/page.py" in context, "of the title"
    assert context.index("core must not import web") < context.index("## code")


@pytest.mark.slow
def test_a_push_proves_its_content_in_every_clone(origin: Checkout, tmp_path: Path) -> None:
    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    runner = Runner(tmp_path / "runner", origin, dict(os.environ))
    assert runner.start(WORKFLOW, pushed(origin))["publish"].result == "skipped", (
        "only who asked for it"
    )
    runner.variables, runner.secrets = (
        {"KL_PUBLISH": "true"},
        {"KL_SIGNING_KEY": key.read_text().rstrip("\n")},
    )
    done = runner.start(WORKFLOW, pushed(origin))["publish"]
    assert done.result == "success" and "written and signed" in done.log, done.log
    fork = runner.start(WORKFLOW, pull_request(origin, 2, "x", fork=True))
    assert (fork["publish"].result, fork["code-scanning"].result) == ("skipped", "skipped")
    assert FAILED_TEST in fork["kl"].log, "what is not proven, at its line"
    assert fork["kl"].steps["Annotate what is not proven"] == "success", "verify.mode is not block"
    # the queue tests what main will have, with the rules of its base; a re-run is one more receipt
    # of the same content
    merge = origin.git("commit-tree", "main^{tree}", "-p", "main", "-p", "drift", "-m", "queued")
    queued = Event(
        "merge_group",
        merge,
        "refs/heads/gh-readonly-queue/main/pr-1",
        {"merge_group": {"base_sha": origin.git("rev-parse", "main^{commit}")}},
    )
    queue = runner.start(WORKFLOW, queued)
    assert (queue["kl"].result, queue["publish"].result) == ("success", "skipped"), queue["kl"].log
    again = runner.start(WORKFLOW, pushed(origin))["publish"]
    assert again.result == "success" and "written and signed" in again.log, again.log
    assert not list((tmp_path / "runner").rglob("temp/key"))
    origin.git("clone", "-q", str(origin.root), str(tmp_path / "bob"))
    bob = Checkout(tmp_path / "bob")
    assert bob.kl("sync", "--pull").returncode == 0
    assert bob.kl("verify").returncode == 1
    assert bob.kl("trust", "add", "github", "--key", f"{key}.pub", "--role", "ci").returncode == 0
    assert (
        "proven (verified by CI github)"
        in bob.kl("verify", "--require", "verified", "--from", "ci").stdout
    )
    bob.write(ORDER, DRIFT)
    assert bob.kl("verify", "--from", "ci").returncode == 1, "one line of tested code is changed"


@pytest.mark.slow
@pytest.mark.skipif(not RECORDED, reason="what is never exercised is known from CPython 3.12 on")
@pytest.mark.share()
def test_two_jobs_of_a_matrix_verify_and_a_policy_fails_what_is_not_proven(
    origin: Checkout, tmp_path: Path
) -> None:
    origin.git("clone", "-q", str(origin.root), str(tmp_path / "origin"))
    made = Checkout(tmp_path / "origin")
    made.write(".kl/config.yaml", "verify: {mode: block}\n")
    made.commit("Block what is not proven")
    base = made.git("rev-parse", "HEAD")
    made.git("checkout", "-q", "-b", "more")
    made.write(ORDER, (made.root / ORDER).read_text() + "\n\ndef tax():\n    return 2\n")
    # a change that asks for less is judged by the rules of its base
    made.write(".kl/config.yaml", "verify: {mode: advise}\n")
    made.commit("Add a tax")
    made.git("checkout", "-q", "-b", "pull", "main")
    made.git("merge", "-q", "--no-ff", "-m", "Merge more into main", "more")
    made.git("update-ref", "refs/pull/1/merge", "HEAD")

    loaded = yaml.load(WORKFLOW, yaml.BaseLoader)
    unproven = "Annotate what is not proven"
    asked = ("Install", "Test, and record the run", unproven, "Summary", "Keep the reports")
    kl = loaded["jobs"]["kl"]
    kl["steps"] = [
        one
        for one in kl["steps"]
        if one.get("name", "Keep the state").startswith((*asked, "Keep the state"))
    ]
    workflow = yaml.dump(loaded, sort_keys=False).replace("'3.13'", "'3.12'\n        - '3.13'", 1)
    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    runner = Runner(tmp_path / "runner", made, dict(os.environ))
    runner.variables, runner.secrets = {"KL_PUBLISH": "true"}, {"KL_SIGNING_KEY": key.read_text()}
    stranger = runner.start(workflow, pull_request(made, 1, "Add a tax", fork=True))
    assert stranger["kl"].steps[unproven] == "failure" and stranger["publish"].result == "skipped"
    annotation = annotated(f"{ORDER},line=5", "shop.core.order.tax", "never exercised")
    assert stranger["kl"].log.count(annotation) == 2, "each job annotates the symbol"

    done = runner.start(
        workflow, Event("push", base, "refs/heads/main", {"head_commit": {"message": "x"}})
    )
    assert (done["kl"].result, done["publish"].result) == ("success", "success"), done[
        "publish"
    ].log
    assert "written and signed" in done["publish"].log, done["publish"].log
    assert done["publish"].log.count("  pytest  1 result") == 2, "a run of each job"
    made.git("clone", "-q", "-b", "main", str(made.root), str(tmp_path / "bob"))
    bob = Checkout(tmp_path / "bob")
    bob.kl("trust", "add", "github", "--key", f"{key}.pub", "--role", "ci")
    assert bob.kl("sync", "--pull").returncode == 0
    assert "proven (verified by CI github)" in bob.kl("verify", "--require", "verified").stdout, (
        "two interpreters"
    )

    # the same policy in GitLab; its jobs leave receipts by their interpreter, and one job publishes
    # those of both
    job, reports = form("ci/gitlab-ci.yml"), ".kl-ci/reports"
    lab = gitlab.Runner(tmp_path / "lab", made, dict(os.environ))
    request = {
        "CI_PIPELINE_SOURCE": "merge_request_event",
        "CI_MERGE_REQUEST_DIFF_BASE_SHA": base,
        "CI_MERGE_REQUEST_TITLE": "Tax",
        "CI_DEFAULT_BRANCH": "main",
        "KL_PYTHON": "3.12",
    }
    refused = lab.start(job, made.git("rev-parse", "more"), request)
    assert (
        refused and not refused.passed and "never exercised shop.core.order.tax" in refused.log
    ), refused
    assert (refused.artifacts / reports / "receipts-3.12.jsonl").is_file()
    [shown] = blocking(refused.reports["codequality"])
    assert (shown["check_name"], shown["location"]) == (
        "proof/never-exercised",
        {"path": ORDER, "lines": {"begin": 5}},
    )
    cure = "no recorded test executed it. hint: it needs a test"
    assert shown["description"] == f"shop.core.order.tax is never exercised: {cure}"


@pytest.mark.slow
@pytest.mark.sweep
def test_the_action_fails_loosened_rules_and_failing_tests(
    origin: Checkout, tmp_path: Path
) -> None:
    steps = yaml.load(WORKFLOW, yaml.BaseLoader)["jobs"]["kl"]["steps"][:2]
    own = {
        "uses": f"{ACTION}@v0.2.0",
        "id": "kl",
        "with": {"command": "pytest --kl-strict -q -p no:cacheprovider"},
    }
    outputs = {
        name: f"${{{{ steps.kl.outputs.{name} }}}}" for name in ("reports", "sarif", "package")
    }
    job = {"permissions": {"contents": "read"}, "outputs": outputs, "steps": [*steps, own]}
    workflow = yaml.dump({"on": ["push", "pull_request"], "permissions": {}, "jobs": {"kl": job}})
    runner = Runner(tmp_path, origin, dict(os.environ))
    # of a stranger: nothing of the job needs more than to read
    run = runner.start(workflow, pull_request(origin, 2, "Count loose orders", fork=True))["kl"]
    assert run.result == "failure"
    assert runner.shell.installed == [f"{HERE}[report]"], "the version of kl is the action's"
    gates = [
        "Test, and record the run",
        "Check the layers",
        "Verify that exactly this content was tested",
    ]
    assert [name for name, outcome in run.steps.items() if outcome == "failure"] == [*gates, ACTION]
    assert f"::error file={MANIFEST},line=5" in run.log
    assert "core may now import web" in run.log
    assert FAILED_TEST in run.log
    reports = runner.artifacts["kl-reports"]
    page = (reports / "report.html").read_text("utf-8")
    assert '"viewer":"anonymous"' in page and '"change":{"base":' in page
    assert '"failing" : 1\n```' in run.summary
    context = (reports / "context.md").read_text("utf-8")
    assert context.index("test_total") < context.index("## code"), "what fails is first"
    assert run.outputs == {
        "reports": str(tmp_path / "temp/kl/reports"),
        "sarif": str(tmp_path / "temp/kl/reports/kl.sarif"),
        "package": context.split()[3],
    }
    assert runner.caches == {}
    # a push of main passes, and saves the state
    assert runner.start(workflow, pushed(origin))["kl"].result == "success"
    assert list(runner.caches) == ["kl-Linux-kl-reports-2-1"]


@pytest.mark.slow
def test_a_gitlab_job_passes_clean_content_and_fails_an_import_across_layers(
    origin: Checkout, tmp_path: Path
) -> None:
    job = form("ci/gitlab-ci.yml")
    runner = gitlab.Runner(tmp_path, origin, dict(os.environ))
    main, drift = origin.git("rev-parse", "main"), origin.git("rev-parse", "drift")
    pushed = {
        "CI_COMMIT_BRANCH": "main",
        "CI_DEFAULT_BRANCH": "main",
        "CI_COMMIT_TITLE": "Sum the orders",
    }
    clean = runner.start(job, main, pushed)
    assert clean and clean.passed, clean
    assert runner.start(job, main, pushed, "kl-publish") is None, "only who asked for it"
    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    key.chmod(0o644)
    protected = {
        "KL_PUBLISH": "true",
        "KL_SIGNING_KEY": str(key),
        "KL_PUSH_URL": origin.root.as_uri(),
    }
    published = runner.start(job, main, pushed | protected, "kl-publish")
    assert published and published.passed and "written and signed" in published.log, published
    assert not (tmp_path / "kl-key").exists()
    origin.git("clone", "-q", str(origin.root), str(tmp_path / "bob"))
    bob = Checkout(tmp_path / "bob")
    bob.kl("trust", "add", "gitlab", "--key", f"{key}.pub", "--role", "ci")
    assert bob.kl("sync", "--pull").returncode == 0
    assert (
        "proven (verified by CI gitlab)"
        in bob.kl("verify", "--require", "verified", "--from", "ci").stdout
    )
    bob.write("README.md", "More.\n")
    bob.commit("a document")
    assert "transferred (inferred by CI gitlab) from run" in bob.kl("verify", "--from", "ci").stdout
    runner._jobs = 1  # what the next jobs need is the first one's
    assert blocking(clean.reports["codequality"]) == []

    branch = runner.start(
        job,
        drift,
        {
            "CI_PIPELINE_SOURCE": "merge_request_event",
            "CI_MERGE_REQUEST_DIFF_BASE_SHA": main,
            "CI_MERGE_REQUEST_TITLE": "Speed $(touch pwned) `touch pwned`",
            "CI_DEFAULT_BRANCH": "main",
        },
    )
    assert branch and not branch.passed
    total = "proven          shop.core.order.total: 1 test passed"
    if not RECORDED:
        total = f"not assessed    shop.core.order.total: {NOT_RECORDED}"
    assert total in branch.log, "each changed symbol"
    assert "core must not import web" in branch.log
    assert "proven (inferred)" in branch.log, "all gates are run"
    (found,) = blocking(branch.reports["codequality"])
    assert found["location"] == {"path": ORDER, "lines": {"begin": 2}}
    assert found.keys() == {"description", "check_name", "fingerprint", "severity", "location"}
    (suite,) = ElementTree.parse(branch.reports["junit"]).getroot()
    assert suite.get("tests") == "1"
    assert not list(tmp_path.rglob("pwned"))
    stored = branch.artifacts / ".kl-ci/reports"
    assert runs_in(stored / "receipts-3.13.jsonl") == 2, "the run of main came with the cache"
    assert "## violation" in (stored / "context.md").read_text("utf-8")
    page = (stored / "report.html").read_text("utf-8")
    assert '"viewer":"anonymous"' in page and '"change":{"base":' in page
    assert str(tmp_path) not in page
    # the run of the merge request is not in the cache: main's next job has its own run of before,
    # and its new one
    again = runner.start(job, main, pushed)
    assert again and again.passed, again
    assert runs_in(again.artifacts / ".kl-ci/reports/receipts-3.13.jsonl") == 2


def test_forks_get_no_job_that_writes_and_a_summary_is_cut(
    origin: Checkout, tmp_path: Path
) -> None:
    loaded = yaml.load(WORKFLOW, yaml.BaseLoader)
    kl, scanning = loaded["jobs"]["kl"], loaded["jobs"]["code-scanning"]
    assert kl["permissions"] == {"contents": "read"}
    assert [key for key, value in scanning["permissions"].items() if value == "write"] == [
        "security-events"
    ]
    # of the first job only what leaves an output, of the second nothing but its condition
    kl["steps"] = [
        {"id": "install", "run": "true"},
        {"id": "layers", "run": 'echo "sarif=true" >> "$GITHUB_OUTPUT"'},
    ]
    kl["steps"] += [
        {
            "run": (
                'mkdir -p "$RUNNER_TEMP/kl/reports"; seq 200000 >'
                ' "$RUNNER_TEMP/kl/reports/context.md"'
            )
        }
    ]
    steps = yaml.load(WORKFLOW, yaml.BaseLoader)["jobs"]["kl"]["steps"]
    kl["steps"] += [step for step in steps if step.get("name") == "Summary"]
    scanning["steps"] = []
    runner = Runner(tmp_path, origin, dict(os.environ))
    workflow = yaml.dump(loaded, sort_keys=False)  # jobs in their order
    runs = runner.start(workflow, pull_request(origin, 1, "Drift", fork=True))
    assert runs["code-scanning"].result == "skipped"
    assert 899_000 < len(runs["kl"].summary.encode()) < 901_000
    assert runs["kl"].summary.endswith("(cut; the artifact has all of it)\n")
    assert (
        runner.start(workflow, pull_request(origin, 1, "Drift"))["code-scanning"].result
        == "success"
    )
