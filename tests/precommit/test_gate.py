"""The gate without the command line: the same verdict, output and exit code, with few modules
imported.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import Checkout, Done, checkout, isolate

OLD_HOOKS = Path(__file__).parent / "hooks_860b4b5"
LAYERS = """\
version: 1
layers:
  - {name: core, paths: [shop/core/], may_depend_on: []}
  - {name: cli, paths: [shop/cli/], may_depend_on: [core]}
"""
FILES = {
    ".kl/architecture.yaml": LAYERS,
    ".kl/config.yaml": "version: 1\n",
    "shop/__init__.py": "",
    "shop/core/__init__.py": "A = 1\n",
    "shop/cli/__init__.py": "from shop.core import A\n",
}
BROKEN = {"shop/core/__init__.py": "import shop.cli\n"}
CALL = (
    "import sys; from kl_hooks.__main__ import main\ntry: main()\nexcept SystemExit as end: code ="
    " end.code\nsys.stdout.flush(); sys.stderr.write('MODULES ' + ' '.join(sys.modules) + '\\n');"
    " sys.exit(code)"
)
COMMAND = {"KL_ARCH_CHECK_AT": ""}
"""A variable that means nothing and makes the click command run."""


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Checkout]:
    isolate(monkeypatch, tmp_path / "home")
    made = checkout(tmp_path / "shop", FILES)
    made.commit()
    yield made


def stage(repo: Checkout, files: dict[str, str]) -> None:
    for name, text in files.items():
        repo.write(name, text)
    repo.git("add", "-A")


def shown(done: Done) -> tuple[int, str, str]:
    return done.returncode, re.sub(r"in \d+\.\d\d s", "in N s", done.stdout), done.stderr


@pytest.mark.parametrize("quiet", [(), ("--quiet",)], ids=["", "quiet"])
@pytest.mark.parametrize(
    "files",
    [
        {},
        BROKEN,
        BROKEN | {".kl/baseline.json": '{"schema": "kl.baseline/1", "violations": []}'},
        {".kl/architecture.yaml": LAYERS.replace("may_depend_on: []", "may_depend_on: [cli]")},
        {".kl/architecture.yaml": LAYERS + "    paths: [x\n"},
        {".kl/architecture.yaml": LAYERS + "colour: red\n"},
        {".kl/architecture.yaml": LAYERS + "exceptions: [{from: core, to: cli}]\n"},
        {"shop/core/bad.py": "def (\n"},
        {".kl/baseline.json": "{"},
        {"shop/core/r\u00e4tsel.py": "import shop.cli\n"},
        {".kl/config.yaml": "version: 1\nnonsense: 3\n"},
    ],
    ids=[
        "clean",
        "broken",
        "baseline",
        "loosened",
        "no yaml",
        "bad key",
        "unused exception",
        "unparsed",
        "no json",
        "odd name",
        "odd config",
    ],
)
@pytest.mark.share(4)
def test_staged_is_judged_and_printed_as_by_the_command(
    shop: Checkout, files: dict[str, str], quiet: tuple[str, ...]
) -> None:
    stage(shop, files)
    assert shown(shop.kl("arch", "check", "--staged", *quiet)) == shown(
        shop.kl("arch", "check", "--staged", *quiet, env=COMMAND)
    )


@pytest.mark.parametrize("files", [{}, BROKEN], ids=["clean", "broken"])
def test_pushed_is_judged_and_printed_as_by_the_command(
    shop: Checkout, files: dict[str, str]
) -> None:
    before = shop.git("rev-parse", "HEAD")
    stage(shop, files)
    env = {"PRE_COMMIT_TO_REF": shop.commit(), "PRE_COMMIT_FROM_REF": before}
    mine, reference = (
        shop.kl("arch", "check", "--pushed", env={**env, **more}) for more in ({}, COMMAND)
    )
    assert shown(mine) == shown(reference)
    assert mine.returncode == len(files)


def test_commits_on_stdin_are_left_to_the_command(shop: Checkout) -> None:
    stage(shop, BROKEN)
    line = f"refs/heads/main {shop.commit()} refs/heads/main {'0' * 40}\n"
    shop.git("reset", "-q", "--hard", "HEAD^")
    done = shop.kl("arch", "check", "--pushed", input=line)
    assert (done.returncode, "core must not import cli" in done.stdout) == (1, True)


def test_no_manifest_is_reported_as_by_the_command(shop: Checkout) -> None:
    shop.git("rm", "-q", "--cached", ".kl/architecture.yaml")
    shop.git("commit", "-qm", "no rules")
    for args in (("--staged",), ("--staged", "--quiet")):
        mine = shop.kl("arch", "check", *args)
        assert shown(mine) == shown(shop.kl("arch", "check", *args, env=COMMAND))


def test_outside_a_repository_the_command_has_the_message(shop: Checkout, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    done = shop.kl("arch", "check", "--staged", cwd=tmp_path / "empty")
    assert (done.returncode, "not a git repository" in done.stderr) == (3, True)


@pytest.mark.parametrize(
    "args", [("--format", "json"), ("--trust-ref", "HEAD"), ("--list-unassigned",), ("--at", "x")]
)
def test_arguments_that_somebody_adds_still_work(shop: Checkout, args: tuple[str, ...]) -> None:
    done = shop.kl("arch", "check", "--staged", *args)
    assert done.returncode == (2 if "--at" in args else 0), done.stderr
    assert done.stdout.startswith("{") == ("json" in args)
    assert ("shop/__init__.py: in no layer" in done.stdout) == ("--list-unassigned" in args)


def test_variables_that_set_options_still_work(shop: Checkout) -> None:
    assert shop.kl(
        "arch", "check", "--staged", env={"KL_ARCH_CHECK_FORMAT": "json"}
    ).stdout.startswith("{")


def test_a_closed_pipe_ends_it_as_a_signal_would(shop: Checkout) -> None:
    stage(shop, BROKEN)
    script = f"{sys.executable} -P -m kl_hooks arch check --staged; echo $? >code"
    reader = subprocess.run(
        ["sh", "-c", f"({script}) | true"], cwd=shop.root, capture_output=True, check=False
    )
    assert (reader.stderr, (shop.root / "code").read_text().strip() in ("141", "1")) == (b"", True)


@pytest.mark.parametrize("args", [("--staged",), ("--staged", "--quiet"), ("--pushed",)])
def test_a_clean_commit_imports_few_modules(shop: Checkout, args: tuple[str, ...]) -> None:
    """A fact, not a time: what is imported is paid at every commit."""
    stage(shop, {"shop/core/more.py": "B = 2\n"})
    assert shop.kl("arch", "check").returncode == 0, "the manifest is compiled now"
    env = {**os.environ, "PRE_COMMIT_TO_REF": shop.git("rev-parse", "HEAD")}
    command = [sys.executable, "-P", "-c", CALL, "arch", "check", *args]
    done = subprocess.run(
        command, cwd=shop.root, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    modules = done.stderr.rpartition("MODULES ")[2].split()
    heavy = {
        "click",
        "libcst",
        "pytest",
        "grimp",
        "importlinter",
        "rich",
        "yaml",
        "diskcache",
        "kl_hooks.cli",
    }
    assert heavy.isdisjoint(modules)
    ours = sorted(name for name in modules if name.startswith("kl_hooks."))
    assert len(ours) <= 107, ours
    unneeded = {
        "kl_hooks.arch.suggestions",
        "kl_hooks.arch.manifest_parser",
        "kl_hooks.arch.formats",
    }
    assert unneeded.isdisjoint(ours)


def install_old_hooks(repo: Checkout) -> None:
    """Put the git hooks in place that commit 860b4b5 wrote, as it wrote them."""
    for source in OLD_HOOKS.iterdir():
        text = (
            source.read_text()
            .replace("@python@", f"'{sys.executable}'")
            .replace("@spool@", '"${0%/*}"/../kl/spool')
        )
        hook = repo.root / ".git/hooks" / source.name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(text.replace("@sum@", "0" * 64))
        hook.chmod(0o755)


def test_hooks_of_an_older_version_still_gate(shop: Checkout, tmp_path: Path) -> None:
    install_old_hooks(shop)
    shop.write("shop/core/__init__.py", BROKEN["shop/core/__init__.py"])
    shop.git("add", "-A")
    refused = subprocess.run(
        ["git", "commit", "-qm", "x"], cwd=shop.root, capture_output=True, text=True, check=False
    )
    assert refused.returncode == 1, refused.stderr
    assert "shop/core/__init__.py:1: core must not import cli" in refused.stdout + refused.stderr
    shop.git("commit", "-qm", "x", "--no-verify")
    remote = tmp_path / "remote.git"
    subprocess.run(["git", "init", "-q", "--bare", str(remote)], check=True)
    push = ["git", "push", "-q", str(remote), "HEAD:refs/heads/main"]
    refused = subprocess.run(push, cwd=shop.root, capture_output=True, text=True, check=False)
    assert refused.returncode == 1, refused.stderr
    assert "core must not import cli" in refused.stdout + refused.stderr
    stage(shop, {"shop/core/__init__.py": "A = 1\n"})
    shop.git("commit", "-qm", "fixed")
    shutil.rmtree(shop.root / ".git/hooks")
