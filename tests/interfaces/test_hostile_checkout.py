"""A checkout that somebody else made, archive and `.git` included, runs no code of his in any
command.

`git` itself would run what its configuration names, and Python what lies beside a script.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from tests.interfaces.canaries import AGENT, planted
from tests.interfaces.commands import Call, calls
from tests.support import Checkout

FAST: Final = frozenset(
    ("status", "arch check", "graph search", "context TASK", "verify", "doctor")
)
"""Commands that each run of the tests calls; `-m slow` calls all."""
_PERSONAL: Final = ("agents hook", "mcp", "serve", "init")
_MODULES: Final = ("json", "click", "yaml", "kl_hooks", "sitecustomize", "usercustomize", "pluggy")
_SETTINGS: Final = (
    ("core.fsmonitor", "{evil}"),
    ("core.sshCommand", "{evil}"),
    ("core.pager", "{evil}"),
    ("core.editor", "{evil}"),
    ("core.askPass", "{evil}"),
    ("core.hooksPath", "{hooks}"),
    ("diff.external", "{evil}"),
    ("diff.evil.command", "{evil}"),
    ("diff.evil.textconv", "{evil}"),
    ("filter.evil.clean", "{evil}"),
    ("filter.evil.smudge", "{evil}"),
    ("filter.evil.process", "{evil}"),
    ("merge.evil.driver", "{evil}"),
    ("gpg.program", "{evil}"),
    ("gpg.ssh.program", "{evil}"),
    ("log.showSignature", "true"),
    ("credential.helper", "{evil}"),
    ("alias.log", "!{evil}"),
    ("alias.status", "!{evil}"),
    ("protocol.ext.allow", "always"),
    ("kl.plugins", "evil_plugin"),
)
_HOOKS: Final = ("post-index-change", "post-checkout", "pre-commit", "reference-transaction")


def make_hostile(repo: Checkout, mark: Path) -> None:
    """Write into a checkout all that runs code of whoever made it, if somebody lets it."""
    script = f"#!/bin/sh\necho ran >> {mark}\n"
    hooks = repo.root / "hooks"
    hooks.mkdir()
    evil = repo.root / "evil.sh"
    for path in (evil, *(hooks / name for name in _HOOKS)):
        path.write_text(script, "utf-8")
        path.chmod(0o755)
    code = f"open({str(mark)!r}, 'a').write('imported')\n"
    for name in (*_MODULES, "evil_plugin", "conftest", "setup"):
        repo.write(f"{name}.py", code)
        repo.write(f"src/{name}.py", code)
    repo.write(".gitattributes", "*.py filter=evil diff=evil merge=evil\n*.md diff=evil\n")
    repo.write(
        ".importlinter",
        "[importlinter]\nroot_package = src\ncontract_types =\n    evil: evil_plugin.Contract\n",
    )
    for name, value in _SETTINGS:
        repo.git("config", name, value.format(evil=evil, hooks=hooks))


@pytest.fixture
def mark(tmp_path: Path) -> Path:
    return tmp_path / "ran"


def called(repo: Checkout, call: Call, mark: Path) -> str:
    """Run a command in a process of its own; return what is wrong with it."""
    done = repo.kl_process(*call.argv, env=AGENT, input=call.input)
    wrong = "ran foreign code" if mark.exists() else ""
    mark.unlink(missing_ok=True)
    if "Traceback" in done.stderr:
        wrong = f"{wrong} {done.stderr[-600:]}"
    return f"kl {' '.join(call.argv)}: {wrong}" if wrong else ""


def tried(tmp_path: Path, mark: Path, names: frozenset[str]) -> tuple[int, list[str]]:
    """Call these commands (none: all) once in a hostile checkout; return how many, and what is
    wrong.
    """
    canaries = planted(tmp_path)
    first_calls = [
        call
        for call in calls(canaries, first_only=True)
        if (not names or call.interface in names) and call.interface not in _PERSONAL
    ]
    make_hostile(canaries.repo, mark)
    wrong = [text for call in first_calls if (text := called(canaries.repo, call, mark))]
    print(f"{len(first_calls)} commands")
    return len(first_calls), wrong


def test_git_alone_runs_what_the_checkout_names(repo: Checkout, mark: Path) -> None:
    make_hostile(repo, mark)
    repo.git("status", ok=False)
    assert mark.exists()


def test_no_foreign_code_runs_in_the_commands_of_each_day(
    tmp_path: Path, home: Path, mark: Path
) -> None:
    number, wrong = tried(tmp_path, mark, FAST)
    assert not wrong, "\n".join(wrong)
    assert number == len(FAST)


@pytest.mark.slow
@pytest.mark.share()
def test_no_foreign_code_runs_in_any_command(tmp_path: Path, home: Path, mark: Path) -> None:
    number, wrong = tried(tmp_path, mark, frozenset())
    assert not wrong, "\n".join(wrong)
    assert number >= 70
