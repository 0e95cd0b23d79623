"""`kl arch check` as people and programs see it: text, JSON, exit codes."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from kl_hooks.cli.main import run
from tests.arch.shop import DRIFT, MANIFEST, ORDER, shop
from tests.git.repos import commit, sh, write

Kl = Callable[..., tuple[int, str, str]]


@pytest.fixture
def kl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Kl:
    """Runs `kl ARGS…` in the shop and gives exit code, stdout and stderr."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("PRE_COMMIT", raising=False)
    monkeypatch.chdir(shop(tmp_path / "shop"))
    monkeypatch.setattr("sys.stdin", io.StringIO(""))

    def call(*args: str) -> tuple[int, str, str]:
        code = run(args)
        out, err = capsys.readouterr()
        return code, out, err

    return call


@pytest.mark.requirement("A49")
def test_clean_is_one_line_and_exit_0(kl: Kl) -> None:
    code, out, err = kl("arch", "check")
    assert (code, err) == (0, "")
    assert out.startswith("clean: checked 4 files, 2 layers in ") and out.count("\n") == 1
    assert out.endswith(" s from the working tree; 2 files in no layer (--list-unassigned)\n")


@pytest.mark.requirement("A48", "A49")
def test_drift_names_line_rule_decision_and_a_suggested_fix(kl: Kl) -> None:
    write(Path.cwd(), {ORDER: DRIFT})
    code, out, _ = kl("arch", "check")
    assert code == 1
    for part in (
        "1 violation\n", f"{ORDER}:2: core must not import web (layer rule, {MANIFEST}:5, ADR-0004)\n",
        "    from shop.web import page\n                         ^^^^  (lazy import)\n    hint: pass it in",
        "ID 0fb0e36cee763a0f#1; core may import: (nothing)", "hint: to accept today's violations",
        'kl arch allow shop.core.order shop.web.page --until 30d --reason "..."',
    ):  # fmt: skip
        assert part in out, part


def test_staged_at_and_json(kl: Kl) -> None:
    write(Path.cwd(), {ORDER: DRIFT})
    assert kl("arch", "check", "--staged")[0] == 0
    commit(Path.cwd(), "drift")
    assert kl("arch", "check", "--at", "HEAD~1")[0] == 0
    code, out, _ = kl("arch", "check", "--at", "HEAD", "--format", "json")
    value = json.loads(out)
    assert (code, value["schema"], value["clean"], value["source"]) == (1, "kl.arch.check/2", False, "HEAD")
    assert [(v["path"], v["line"]) for v in value["violations"]] == [(ORDER, 2)]


def test_what_is_pushed_comes_from_pre_commit_or_git(kl: Kl, monkeypatch: pytest.MonkeyPatch) -> None:
    write(Path.cwd(), {ORDER: DRIFT})
    bad = commit(Path.cwd(), "drift")
    write(Path.cwd(), {ORDER: "x = 1\n"})
    good = commit(Path.cwd(), "mended")
    assert kl("arch", "check", "--pushed")[0] == 0
    monkeypatch.setenv("PRE_COMMIT_TO_REF", bad)
    assert kl("arch", "check", "--pushed")[0] == 1
    monkeypatch.setenv("PRE_COMMIT_TO_REF", good)
    assert kl("arch", "check", "--pushed")[0] == 0


def test_git_s_own_pre_push_lines(kl: Kl, tmp_path: Path) -> None:
    import subprocess
    import sys

    write(Path.cwd(), {ORDER: DRIFT})
    bad = commit(Path.cwd(), "drift")
    good = sh(Path.cwd(), "rev-parse", "HEAD~1")
    environ = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "PYTHONPATH": str(Path(__file__).parents[2])}
    for shas, expected in (([good], 0), ([good, bad], 1), (["0" * 40], 0)):
        lines = "".join(f"refs/heads/x {sha} refs/heads/x {'0' * 40}\n" for sha in shas)
        call = [sys.executable, "-m", "kl_hooks", "arch", "check", "--pushed"]
        done = subprocess.run(call, input=lines, env=environ, capture_output=True, text=True, check=False)
        assert done.returncode == expected, done.stdout + done.stderr


@pytest.mark.requirement("A49")
def test_no_manifest_is_one_line_and_exit_0(kl: Kl) -> None:
    sh(Path.cwd(), "rm", "-q", "--cached", MANIFEST)
    code, out, _ = kl("arch", "check", "--staged")
    assert (code, out.count("\n")) == (0, 1)
    assert "in what is staged - " in out and "The one on disk is not in git there." in out
    Path(MANIFEST).unlink()
    line = "no .kl/architecture.yaml in this repository - nothing to enforce. Create one with: kl init\n"
    assert kl("arch", "check") == (0, line, "")
    code, out, _ = kl("arch", "check", "--format", "json")
    assert code == 0 and json.loads(out)["manifest"] is None and json.loads(out)["clean"] is True


def test_a_bad_manifest_is_exit_2_with_every_place(kl: Kl) -> None:
    write(Path.cwd(), {MANIFEST: "layers:\n  - nam: a\n  - name: b\n    paths: [/x]\nextra: 1\n"})
    code, out, err = kl("arch", "check")
    assert (code, out) == (2, "")
    assert err.splitlines()[0] == "kl: 3 problems:"
    assert [line.split(": ")[0] for line in err.splitlines()[1:]] == [
        f"{MANIFEST}:2:5", f"{MANIFEST}:4:13", f"{MANIFEST}:5:1",
    ]  # fmt: skip


def test_warnings_are_on_stderr_and_do_not_block(kl: Kl) -> None:
    more = "  - name: old\n    paths: [src/shop/wib/]\n"
    write(Path.cwd(), {MANIFEST: Path(MANIFEST).read_text() + more})
    code, out, err = kl("arch", "check")
    assert code == 0 and out.startswith("clean")
    assert (
        'warning: .kl/architecture.yaml: layer "old" matches no file (paths: src/shop/wib/). Closest: src/shop/web/.'
        in err
    )


def test_usage_error(kl: Kl, tmp_path: Path) -> None:
    assert kl("arch", "check", "--staged", "--at", "HEAD")[0] == 2
    assert kl("arch", "check", "--at", "nowhere")[0] == 2
    (tmp_path / "plain").mkdir()
    code, _, err = kl("--root", str(tmp_path / "plain"), "arch", "check")
    assert code == 3 and "not a git repository" in err
