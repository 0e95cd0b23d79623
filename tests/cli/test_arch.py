"""`kl arch check` as people and programs see it: text, JSON, exit codes."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from kl_hooks.cli.main import run
from tests.arch.shop import DRIFT, MANIFEST, ORDER, shop
from tests.cli.conftest import Call
from tests.git.repos import commit, sh, write
from tests.support import Checkout

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
        "1 violation\n",
        f"{ORDER}:2: core must not import web (layer rule, {MANIFEST}:5, ADR-0004)\n",
        (
            "    from shop.web import page\n                         ^^^^  (lazy import)\n    hint:"
            " pass it in"
        ),
        "ID 0fb0e36cee763a0f#1; core may import: (nothing)",
        "hint: to accept today's violations",
        'kl arch allow shop.core.order shop.web.page --until 30d --reason "..."',
    ):
        assert part in out, part


def test_staged_at_and_json(kl: Kl) -> None:
    write(Path.cwd(), {ORDER: DRIFT})
    assert kl("arch", "check", "--staged")[0] == 0
    commit(Path.cwd(), "drift")
    assert kl("arch", "check", "--at", "HEAD~1")[0] == 0
    code, out, _ = kl("arch", "check", "--at", "HEAD", "--format", "json")
    value = json.loads(out)
    assert (code, value["schema"], value["clean"], value["source"]) == (
        1,
        "kl.arch.check/3",
        False,
        "HEAD",
    )
    assert [(v["path"], v["line"]) for v in value["violations"]] == [(ORDER, 2)]


def test_what_is_pushed_comes_from_pre_commit_or_git(
    kl: Kl, monkeypatch: pytest.MonkeyPatch
) -> None:
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
    environ = {
        "HOME": str(tmp_path),
        "PATH": "/usr/bin:/bin",
        "PYTHONPATH": str(Path(__file__).parents[2]),
    }
    for shas, expected in (([good], 0), ([good, bad], 1), (["0" * 40], 0)):
        lines = "".join(f"refs/heads/x {sha} refs/heads/x {'0' * 40}\n" for sha in shas)
        call = [sys.executable, "-m", "kl_hooks", "arch", "check", "--pushed"]
        done = subprocess.run(
            call, input=lines, env=environ, capture_output=True, text=True, check=False
        )
        assert done.returncode == expected, done.stdout + done.stderr


@pytest.mark.requirement("A49")
def test_no_manifest_is_one_line_and_exit_0(kl: Kl) -> None:
    sh(Path.cwd(), "rm", "-q", "--cached", MANIFEST)
    code, out, _ = kl("arch", "check", "--staged")
    assert (code, out.count("\n")) == (0, 1)
    assert "in what is staged - " in out and "The one on disk is not in git there." in out
    Path(MANIFEST).unlink()
    line = (
        "no .kl/architecture.yaml in this repository - nothing to enforce. Create one with: kl"
        " init\n"
    )
    assert kl("arch", "check") == (0, line, "")
    code, out, _ = kl("arch", "check", "--format", "json")
    assert code == 0 and json.loads(out)["manifest"] is None and json.loads(out)["clean"] is True


def test_a_bad_manifest_is_exit_2_with_every_place(kl: Kl) -> None:
    write(Path.cwd(), {MANIFEST: "layers:\n  - nam: a\n  - name: b\n    paths: [/x]\nextra: 1\n"})
    code, out, err = kl("arch", "check")
    assert (code, out) == (2, "")
    assert err.splitlines()[0] == "kl: 3 problems:"
    assert [line.split(": ")[0] for line in err.splitlines()[1:]] == [
        f"{MANIFEST}:2:5",
        f"{MANIFEST}:4:13",
        f"{MANIFEST}:5:1",
    ]


def test_warnings_are_on_stderr_and_do_not_block(kl: Kl) -> None:
    more = "  - name: old\n    paths: [src/shop/wib/]\n"
    write(Path.cwd(), {MANIFEST: Path(MANIFEST).read_text() + more})
    code, out, err = kl("arch", "check")
    assert code == 0 and out.startswith("clean")
    assert (
        'warning: .kl/architecture.yaml: layer "old" matches no file (paths: src/shop/wib/).'
        " Closest: src/shop/web/." in err
    )


def test_usage_error(kl: Kl, tmp_path: Path) -> None:
    assert kl("arch", "check", "--staged", "--at", "HEAD")[0] == 2
    assert kl("arch", "check", "--at", "nowhere")[0] == 2
    (tmp_path / "plain").mkdir()
    code, _, err = kl("--root", str(tmp_path / "plain"), "arch", "check")
    assert code == 3 and "not a git repository" in err


def test_a_path_is_read_from_where_one_is(in_shop: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("src/shop")
    code, out, _ = in_shop("arch", "explain", "core/order.py")
    assert code == 0 and out.startswith(f"{ORDER}\n  module   shop.core.order\n")
    assert in_shop("arch", "explain", "shop.core.order")[1] == out


def test_layers_json_and_what_is_not_there(in_shop: Call) -> None:
    found = json.loads(in_shop("arch", "explain", "web", "--format", "json")[1])
    assert (found["schema"], found["kind"], found["layer"]) == ("kl.arch.explain/1", "layer", "web")
    code, _, err = in_shop("arch", "explain", "wbe")
    assert code == 2 and 'Did you mean "web"?' in err
    Path(MANIFEST).unlink()
    assert "nothing to explain" in in_shop("arch", "explain", "web")[1]


def test_a_file_that_is_no_python_is_not_called_missing(in_shop: Call) -> None:
    Path("tool").write_text("#!/usr/bin/env python3\nimport shop.core\n")
    code, _, err = in_shop("arch", "explain", "tool")
    assert (code, err) == (
        2,
        (
            'kl: kl arch explain: "tool" is there, but not judged. Files that kl reads are called'
            " *.py, *.ts, *.js, *.rs and the like.\n"
        ),
    )


def test_ascii_in_the_c_locale_and_boxes_in_a_utf_8_one(
    in_shop: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path(ORDER).write_text(DRIFT)
    monkeypatch.setenv("LC_ALL", "C")
    code, plain, _ = in_shop("arch", "show")
    assert code == 0 and plain.isascii() and "  | core | -x> web 1 NEW  order.py:2\n" in plain
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    assert "  │ core │ ─x▶ web 1 NEW  order.py:2\n" in in_shop("arch", "show")[1]


def test_json_and_no_manifest(in_shop: Call) -> None:
    found = json.loads(in_shop("arch", "show", "--format", "json")[1])
    assert found["schema"] == "kl.arch.show/1" and [layer["name"] for layer in found["layers"]] == [
        "web",
        "core",
    ]
    assert found["arrows"] == [
        {
            "from": "web",
            "to": "core",
            "allowed": True,
            "imports": 1,
            "new": [],
            "baseline": [],
            "excepted": 0,
        }
    ]
    Path(MANIFEST).unlink()
    assert "nothing to show" in in_shop("arch", "show")[1]
    assert json.loads(in_shop("arch", "show", "--format", "json")[1])["layers"] == []


def test_colour_states_what_the_words_state(in_shop: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    Path(ORDER).write_text(DRIFT)
    monkeypatch.setenv("LC_ALL", "C")
    plain = in_shop("arch", "show")[1]
    assert "\x1b" not in plain, "no terminal, no colours"
    monkeypatch.setenv("FORCE_COLOR", "1")
    coloured = in_shop("arch", "show")[1]
    assert "  | core | \x1b[31m-x> web 1 NEW  order.py:2\x1b[0m\n" in coloured
    assert " \x1b[31mno: 1 new\x1b[0m\n" in coloured
    assert (
        coloured.replace("\x1b[31m", "").replace("\x1b[0m", "") == plain
        and "  -x> violation" in coloured
    )
    assert in_shop("arch", "baseline", "write")[0] == 0
    assert "\x1b[33m-x> web 1 baseline" in in_shop("arch", "show")[1]
    assert "\x1b" not in in_shop("arch", "show", "--format", "json")[1]
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in in_shop("arch", "show")[1]


def test_an_agent_is_shown_no_diff_and_no_fact_of_a_denied_file(repo: Checkout) -> None:
    repo.write("src/shop/__init__.py", "")
    repo.write("src/shop/price.py", "RATE = 1\n")
    repo.write("src/shop/secret.py", "from shop.price import RATE as SECRET\n")
    assert repo.kl("init", "--yes").returncode == 0
    rule = '{paths: ["src/shop/secret.py"], actors: [agent]}'
    move = ("arch", "mv", "src/shop/price.py", "src/shop/rate.py", "--imports", "--dry-run")
    explain = ("arch", "explain", "src/shop/secret.py")
    assert "SECRET" in repo.kl(*move).stdout and "shop.secret" in repo.kl(*explain).stdout
    for effect in ("deny", "redact"):
        repo.write(".kl/policy.yaml", f"version: 1\nrules:\n  - name: own\n    {effect}: {rule}\n")
        shown = repo.kl(*move, env={"KL_AGENT": "bot"})
        assert shown.returncode == 1 and "b/src/shop/secret.py" not in shown.stdout
        assert "SECRET" not in shown.stdout + shown.stderr
        explained = repo.kl(*explain, env={"KL_AGENT": "bot"})
        assert explained.returncode == (2 if effect == "deny" else 0), explained.stderr
        assert "shop.secret" not in explained.stdout
        whole = repo.kl("arch", "explain", "src/shop/price.py", env={"KL_AGENT": "bot"})
        assert whole.returncode == 0 and "shop.secret" not in whole.stdout, whole.stderr
