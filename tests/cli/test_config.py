"""`kl config`: effective settings, and where each comes from."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support import Checkout


def rows(repo: Checkout, **environ: str) -> dict[str, tuple[object, str]]:
    done = repo.kl("config", "--format", "json", env=environ)
    assert done.returncode == 0
    plain = json.loads(done.stdout)
    assert plain["schema"] == "kl.config/1"
    return {row["name"]: (row["value"], row["source"]) for row in plain["settings"]}


def test_each_setting_names_the_source_that_decides(repo: Checkout, tmp_path: Path) -> None:
    repo.write(
        ".kl/config.yaml",
        "version: 1\nbudget: 5000\nmemory_top_k: 9\nreviewers: [bot]\nmaintain: daily\n",
    )
    own = tmp_path / "home/kl/config.yaml"
    own.parent.mkdir(parents=True)
    own.write_text("memory_top_k: 4\nsignificance: 60\n", encoding="utf-8")
    repo.git("config", "kl.reviewers", "bot other")
    found = rows(repo, XDG_CONFIG_HOME=str(tmp_path / "home"), KL_CONTEXT_BUDGET="3000")
    assert found["budget"] == (5000, ".kl/config.yaml:2")
    # the repository's 9 is looser, so it is refused
    assert found["memory_top_k"] == (4, f"{own}:1")
    assert found["significance"] == (60, f"{own}:2")
    assert found["reviewers"] == (["bot"], "git config kl.reviewers, .kl/config.yaml:4")
    assert found["maintain"] == ("off", "default")
    assert found["verified_requires"] == ("independent", "default")
    assert found["KL_CONTEXT_BUDGET"] == ("3000", "environment")
    assert found["root"] == (str(repo.root), "current folder")


def test_state_and_root_come_from_the_environment_and_the_command_line(
    repo: Checkout, tmp_path: Path
) -> None:
    done = repo.kl("--root", str(repo.root), "config", env={"KL_STATE": str(tmp_path / "state")})
    lines = {line.split()[0]: line for line in done.stdout.splitlines()}
    assert lines["root"].endswith("command line (--root)")
    assert (
        lines["state"].endswith("environment (KL_STATE)")
        and str(tmp_path / "state") in lines["state"]
    )


def test_a_setting_that_is_refused_is_reported(repo: Checkout) -> None:
    repo.write(".kl/config.yaml", "maintain: daily\n")
    done = repo.kl("config")
    assert "ignored" in done.stderr and "git config kl.maintain daily" in done.stderr
