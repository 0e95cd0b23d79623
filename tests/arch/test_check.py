"""A check from end to end on real repositories: what is looked at, what blocks, what is only a
remark.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kl_hooks.arch.check import run_check
from kl_hooks.arch.content import STAGED, WORKTREE, content_name, pushed_commits
from kl_hooks.arch.layer_check import Verdict
from kl_hooks.arch.layers import ManifestProblems
from kl_hooks.clock import FixedClock, micros
from kl_hooks.errors import EnvironmentProblem, UsageProblem
from kl_hooks.git import run
from kl_hooks.store.spool import pending_spools, read_spool
from kl_hooks.workspace import open_workspace
from tests.arch.shop import DRIFT, LAYERS, MANIFEST, ORDER, opened, shop
from tests.git.repos import commit, fingerprint, sh, write


def verdict(folder: Path, source: str = WORKTREE) -> Verdict:
    found, _ = run_check(opened(folder), source)
    assert found is not None
    return found


def lines(found: Verdict) -> list[str]:
    return [
        f"{v.path}:{v.line} {v.source_layer} -> {v.target_layer}: {v.statement}"
        for v in found.violations
    ]


BROKEN = [f"{ORDER}:2 core -> web: from shop.web import page"]


def test_a_clean_shop_is_clean_everywhere(tmp_path: Path) -> None:
    folder = shop(tmp_path / "shop")
    for source in (WORKTREE, STAGED, "HEAD"):
        found = verdict(folder, source)
        assert (found.clean, found.files, found.warnings, found.source) == (True, 4, (), source)


def test_each_source_is_judged_by_its_own_content(tmp_path: Path) -> None:
    folder = shop(tmp_path / "shop")
    write(folder, {ORDER: DRIFT})
    assert lines(verdict(folder)) == BROKEN
    assert verdict(folder, STAGED).clean
    sh(folder, "add", ORDER)
    write(folder, {ORDER: "x = 1\n"})
    assert verdict(folder).clean
    assert lines(verdict(folder, STAGED)) == BROKEN
    assert verdict(folder, "HEAD").clean
    sh(folder, "commit", "-q", "-m", "drift")
    assert lines(verdict(folder, "HEAD")) == BROKEN and verdict(folder, "HEAD~1").clean


def test_the_manifest_is_that_of_the_same_content(tmp_path: Path) -> None:
    folder = shop(tmp_path / "shop")
    write(
        folder,
        {ORDER: DRIFT, MANIFEST: LAYERS.replace("may_depend_on: []", "may_depend_on: [web]")},
    )
    assert verdict(folder).clean
    sh(folder, "add", ORDER)
    assert lines(verdict(folder, STAGED)) == BROKEN
    sh(folder, "add", "-A")
    assert verdict(folder, STAGED).clean


def test_a_suggested_fix_is_found_in_the_source(tmp_path: Path) -> None:
    folder = shop(tmp_path / "shop")
    write(
        folder,
        {
            ORDER: (
                "from shop.web.page import Page\n\n\ndef total(page: Page) -> int:\n    return 1\n"
            )
        },
    )
    sh(folder, "add", "-A")
    write(folder, {ORDER: "from shop.web.page import Page\n\nx = Page()\n"})
    assert verdict(folder).violations[0].suggested_fix.startswith("pass it in")
    assert (
        verdict(folder, STAGED)
        .violations[0]
        .suggested_fix.startswith("only annotations use it here")
    )


def test_untracked_files_are_seen_in_the_working_tree_only(tmp_path: Path) -> None:
    folder = shop(tmp_path / "shop")
    write(folder, {"src/shop/core/new.py": "import shop.web.page\n"})
    assert [v.path for v in verdict(folder).violations] == ["src/shop/core/new.py"]
    assert verdict(folder, STAGED).clean


def test_a_file_that_does_not_parse_blocks_and_the_others_are_checked(tmp_path: Path) -> None:
    folder = shop(tmp_path / "shop")
    write(
        folder,
        {"src/shop/web/page.py": "def f(:\n", ORDER: DRIFT, "tests/test_order.py": "def g(:\n"},
    )
    found = verdict(folder)
    assert [(p.path, p.line, p.column) for p in found.problems] == [("src/shop/web/page.py", 1, 7)]
    assert "can't be parsed: invalid syntax" in found.problems[0].message
    assert lines(found) == BROKEN and (found.files, found.unjudged) == (3, 1)
    assert [p.path for p in found.warnings] == ["tests/test_order.py"]


def test_files_outside_any_layer_block_only_where_all_must_belong(tmp_path: Path) -> None:
    folder = shop(tmp_path / "shop")
    write(folder, {MANIFEST: LAYERS + "exhaustive: true\n"})
    assert [p.path for p in verdict(folder).problems] == [
        "src/shop/__init__.py",
        "tests/test_order.py",
    ]


def test_no_manifest_is_no_verdict(tmp_path: Path) -> None:
    folder = shop(tmp_path / "shop")
    sh(folder, "rm", "-q", MANIFEST)
    verdict, (remark,) = run_check(opened(folder), STAGED)
    assert verdict is None and "removed since HEAD: nothing is forbidden any more" in remark
    assert run_check(opened(folder), "HEAD")[0] is not None


def test_a_bad_manifest_never_passes(tmp_path: Path) -> None:
    folder = shop(tmp_path / "shop", {MANIFEST: "layers: []\n"})
    for source in (WORKTREE, STAGED, "HEAD"):
        with pytest.raises(ManifestProblems, match=r"architecture.yaml:1:9"):
            run_check(opened(folder), source)


def test_a_manifest_that_is_a_link_out_is_refused(tmp_path: Path) -> None:
    folder = shop(tmp_path / "shop")
    (tmp_path / "loose.yaml").write_text(LAYERS)
    (folder / MANIFEST).unlink()
    (folder / MANIFEST).symlink_to(tmp_path / "loose.yaml")
    with pytest.raises(UsageProblem, match="leads out of the repository"):
        run_check(opened(folder))


def test_expired_exceptions_by_the_workspace_s_clock(tmp_path: Path) -> None:
    rule = "exceptions: [{from: shop.core.order, to: shop.web.page, until: 2027-01-31}]\n"
    folder = shop(tmp_path / "shop", {ORDER: DRIFT, MANIFEST: LAYERS + rule})
    for moment, clean in (("2027-01-31T23:59:59", True), ("2027-02-01", False)):
        ws = open_workspace(
            folder, clock=FixedClock(micros(moment)), environ={"HOME": str(tmp_path)}
        )
        found, _ = run_check(ws)
        assert found is not None and found.clean is clean


def test_no_such_revision_and_no_repository(tmp_path: Path) -> None:
    with pytest.raises(UsageProblem, match="not a revision"):
        run_check(opened(shop(tmp_path / "shop")), "nowhere")
    (tmp_path / "plain" / ".kl").mkdir(parents=True)
    with pytest.raises(EnvironmentProblem, match="not a git repository"):
        run_check(opened(tmp_path / "plain"))


def test_a_branch_called_staged_is_a_revision(tmp_path: Path) -> None:
    folder = shop(tmp_path / "shop")
    sh(folder, "branch", "staged")
    write(folder, {ORDER: DRIFT})
    sh(folder, "add", "-A")
    assert verdict(folder, content_name("staged")).clean and not verdict(folder, STAGED).clean


def test_each_check_leaves_validator_evidence_for_its_tree(tmp_path: Path) -> None:
    folder = shop(tmp_path / "shop")
    write(folder, {ORDER: DRIFT})
    sh(folder, "add", "-A")
    ws = opened(folder)
    run_check(ws, STAGED)
    (path,) = pending_spools(ws.state.spool)
    opening, fact, end = read_spool(path).records
    assert opening["tree"] == sh(folder, "write-tree")
    assert (fact["class"], fact["subject"], fact["outcome"]) == (
        "Validator",
        "check:arch",
        "failed",
    )
    assert fact["found"] == [f"{ORDER}:2 core -> web"]
    assert end["result"]["exit"] == 1


def test_the_verdict_needs_no_store(tmp_path: Path) -> None:
    folder = shop(tmp_path / "shop")
    write(folder, {ORDER: DRIFT})
    ws = opened(folder)
    run_check(ws)
    ws.state.graph.write_bytes(b"version https://git-lfs" * 100)
    found, _ = run_check(opened(folder))
    assert found is not None and lines(found) == BROKEN
    assert ws.state.graph.read_bytes().startswith(b"SQLite format 3"), (
        "what is derived was built again"
    )


def test_a_graph_that_can_not_be_opened_is_a_remark(tmp_path: Path) -> None:
    folder = shop(tmp_path / "shop")
    write(folder, {ORDER: DRIFT})
    ws = opened(folder)
    run_check(ws)
    ws.state.graph.unlink()
    ws.state.graph.mkdir()
    shutil.rmtree(ws.state.cache)
    found, remarks = run_check(opened(folder))
    assert found is not None and lines(found) == BROKEN
    assert any("files were read anew" in remark for remark in remarks)


def test_the_verdict_needs_no_state_directory(tmp_path: Path) -> None:
    folder = shop(tmp_path / "shop")
    (folder / ".git" / "kl").write_text("in the way")
    found, remarks = run_check(opened(folder))
    assert found is not None and found.clean
    assert remarks != []


def test_a_repository_without_kl_is_left_as_it_was(tmp_path: Path) -> None:
    folder = shop(tmp_path / "shop")
    sh(folder, "rm", "-rq", ".kl")
    before = fingerprint(folder)
    assert run_check(opened(folder)) == (None, [])
    assert fingerprint(folder) == before


def test_a_check_changes_nothing_but_the_state_directory(tmp_path: Path) -> None:
    folder = shop(tmp_path / "shop")
    write(folder, {ORDER: DRIFT, "new.py": "x = 1\n"})
    before = fingerprint(folder)
    for source in (WORKTREE, STAGED, "HEAD"):
        run_check(opened(folder), source)
    after = {path: facts for path, facts in fingerprint(folder).items() if "/.git/kl" not in path}
    changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    assert changed <= {str(folder / ".git")}


def test_nothing_of_the_repository_is_run(tmp_path: Path) -> None:
    canary = "import pathlib\npathlib.Path('canary').write_text('ran')\n"
    planted = dict.fromkeys(
        ("click.py", "yaml.py", "src/shop/core/__init__.py", "conftest.py", "setup.py"), canary
    )
    folder = shop(tmp_path / "shop", planted)
    environ = {
        "HOME": str(tmp_path),
        "PATH": "/usr/bin:/bin",
        "PYTHONPATH": str(Path(__file__).parents[2]),
    }
    done = subprocess.run(
        [sys.executable, "-m", "kl_hooks", "arch", "check"],
        cwd=folder,
        env=environ,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert not list(tmp_path.rglob("canary"))


def test_at_commit_time_no_heavy_library_is_imported(tmp_path: Path) -> None:
    folder = shop(tmp_path / "shop", {".kl/config.yaml": "version: 1\n"})
    code = (
        "import sys, json; from kl_hooks.cli.main import run; code = run(['arch', 'check',"
        " '--staged']);print(json.dumps([code, sorted({name.partition('.')[0] for name in"
        " sys.modules})]))"
    )
    environ = {
        "HOME": str(tmp_path),
        "PATH": "/usr/bin:/bin",
        "PYTHONPATH": str(Path(__file__).parents[2]),
    }
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", code],
            cwd=folder,
            env=environ,
            capture_output=True,
            text=True,
            check=False,
        )
    exit_code, modules = json.loads(done.stdout.splitlines()[-1])
    assert exit_code == 0
    assert {"yaml", "libcst", "grimp", "rich", "pytest", "mcp", "diskcache", "importlinter"} & set(
        modules
    ) == set()


def test_what_is_pushed() -> None:
    a, b, removed = "a" * 40, "b" * 40, "0" * 40
    assert pushed_commits(
        {"PRE_COMMIT_TO_REF": a}, [f"refs/heads/x {b} refs/heads/x {removed}"]
    ) == {a: ""}
    assert pushed_commits({"PRE_COMMIT_TO_REF": a, "PRE_COMMIT_FROM_REF": b}, []) == {a: b}
    assert pushed_commits(
        {},
        [
            f"refs/heads/x {b} r {removed}",
            f"y {a} r {b}",
            f"z {a} r {b}",
            f"(delete) {removed} r {a}",
        ],
    ) == {
        b: "",
        a: b,
    }
    assert pushed_commits({}, [f"(delete) {removed} refs/heads/x {a}"]) == {}
    assert pushed_commits({}, []) == {"HEAD": ""}


def test_a_revision_is_judged_with_its_commit_s_tree(tmp_path: Path) -> None:
    folder = shop(tmp_path / "shop")
    write(folder, {ORDER: DRIFT})
    sha = commit(folder, "drift")
    ws = opened(folder)
    run_check(ws, sha)
    (path,) = pending_spools(ws.state.spool)
    assert read_spool(path).records[0]["tree"] == sh(folder, "rev-parse", f"{sha}^{{tree}}")


@pytest.mark.parametrize("name", [MANIFEST, ".kl"])
@pytest.mark.parametrize("source", [STAGED, "HEAD"])
def test_a_manifest_behind_a_link_opens_no_gate(tmp_path: Path, name: str, source: str) -> None:
    folder = shop(tmp_path / "shop")
    (folder / name).rename(folder / "real")
    (folder / name).symlink_to("../real" if "/" in name else "real")
    write(folder, {ORDER: DRIFT})
    commit(folder, "drift")
    assert lines(verdict(folder)) == BROKEN
    with pytest.raises(UsageProblem, match="a link in") as refused:
        run_check(opened(folder), source)
    assert refused.value.place == name


def test_a_file_too_large_to_read_is_a_problem_and_costs_nothing(tmp_path: Path) -> None:
    folder = shop(tmp_path / "shop")
    with (folder / "src/shop/core/large.py").open("wb") as file:
        file.truncate(1 << 40)
    found = verdict(folder)
    assert [(p.path, "could not be read" in p.message) for p in found.problems] == [
        ("src/shop/core/large.py", True)
    ]
    (folder / "src/shop/core/large.py").unlink()
    with (folder / MANIFEST).open("ab") as file:
        file.truncate(1 << 40)
    with pytest.raises(ManifestProblems, match="too many"):
        run_check(opened(folder))


@pytest.mark.parametrize(("source", "most"), [(STAGED, 6), (WORKTREE, 6)])
def test_few_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, most: int
) -> None:
    """Beside the two that open the repository: what there is, its content, and where the evidence
    belongs.
    """
    folder = shop(tmp_path / "shop")
    verdict(folder, source)
    write(folder, {ORDER: "x = 1\n"})
    sh(folder, "add", ORDER)
    ws, started = opened(folder), list[str]()
    real = run.executable
    monkeypatch.setattr(run, "executable", lambda: started.append("git") or real())
    found, remarks = run_check(ws, source)
    assert found is not None and found.clean and remarks == []
    assert len(started) <= most
