"""`.pre-commit-hooks.yaml`: both runners take it, and what it starts exists."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from kl_hooks.cli.main import kl

MANIFEST = Path(__file__).parents[2] / ".pre-commit-hooks.yaml"
HOOKS: list[dict[str, Any]] = yaml.safe_load(MANIFEST.read_text())


@pytest.mark.parametrize("tool", ["pre-commit", "prek"])
def test_the_runners_find_it_valid(tool: str) -> None:
    command = [str(Path(sys.executable).parent / tool), "validate-manifest", str(MANIFEST)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (
        done.returncode,
        done.stderr.replace("success: All manifests are valid", "").strip(),
    ) == (0, "")


def test_ids_are_the_ones_we_promised() -> None:
    assert [hook["id"] for hook in HOOKS] == [
        "kl-init",
        "kl-check",
        "kl-check-push",
        "kl-record-commit",
        "kl-verify",
        "kl-knowledge-check",
    ]


@pytest.mark.parametrize("hook", HOOKS, ids=lambda hook: str(hook["id"]))
def test_each_hook(hook: dict[str, Any]) -> None:
    assert hook["stages"], "without stages a hook runs at every one of them"
    assert (hook["pass_filenames"], hook["require_serial"], hook["always_run"]) == (
        False,
        True,
        True,
    )
    assert hook["minimum_pre_commit_version"] == "3.2.0", "unquoted, YAML makes a number of it"
    program, *args = shlex.split(hook["entry"])
    assert program == "kl"
    shown = CliRunner().invoke(kl, [*args, "--help"])
    assert shown.exit_code == 0, shown.output
    assert hook["id"] not in ("kl-verify", "kl-init") or hook["verbose"] is True
    assert hook["id"] != "kl-init" or hook["stages"] == ["manual"]
