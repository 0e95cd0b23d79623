"""The entry: help, typing errors, colours, broken pipes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from kl_hooks.cli.main import COMMANDS, KINDS
from kl_hooks.cli.main import kl as main
from tests.support import Checkout, Done, run_in_process

ROOT = Path(__file__).resolve().parents[2]
RUNBOOK = """name: runbook
plural: runbooks
prefix: RUN
purpose: What to do when something is down.
statuses: [draft, current]
fields:
  - {name: steps, type: lines, section: Steps, says: "What to do."}
"""


def kl(*argv: str, cwd: Path, **more: str) -> Done:
    environ = {k: v for k, v in os.environ.items() if not k.startswith(("KL_", "GIT_"))}
    return run_in_process(argv, cwd, environ | more)


def test_help_shows_about_ten_commands_and_imports_none(tmp_path: Path) -> None:
    code = (
        "import sys; from kl_hooks.cli.main import run; run(['--help']); "
        "print([m for m in sys.modules if m.startswith('kl_hooks.cli.')])"
    )
    environ = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=environ,
        capture_output=True,
        text=True,
        check=True,
    )
    *text, modules = done.stdout.strip().splitlines()
    shown = [
        line.split()[0]
        for line in text
        if line.startswith("  ") and line.split()[0] in COMMANDS | KINDS
    ]
    assert shown[:2] == ["init", "doctor"] and 8 <= len(shown) <= 14
    assert modules == str([f"kl_hooks.cli.{name}" for name in ("groups", "main")])


@pytest.mark.parametrize(
    ("argv", "printed"),
    [
        (("contex", "x"), "Did you mean 'context'?"),
        (("evidence", "shw"), "Did you mean 'show'?"),
        (("status", "--formt", "json"), "No such option"),
        (("status", "--format", "yaml"), "is not one of"),
        (("--root", "no-such-folder", "status"), "does not exist"),
        (("claim", "add"), "Missing argument"),
        (
            ("context", "x", "--budjet", "3"),
            "Usage: kl context [OPTIONS] TASK\nTry 'kl context --help'",
        ),
    ],
)
def test_usage_error_is_exit_2_with_a_hint(
    argv: tuple[str, ...], printed: str, tmp_path: Path
) -> None:
    done = kl(*argv, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert printed in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("group", [(), ("arch",), ("graph",), ("decision",), ("evidence",)])
def test_a_group_without_a_command_prints_its_help(group: tuple[str, ...], tmp_path: Path) -> None:
    help_, bare = kl(*group, "--help", cwd=tmp_path), kl(*group, cwd=tmp_path)
    # a click before 8.2 has it on stdout, with 0
    assert (bare.returncode, bare.stdout, bare.stderr) in [
        (2, "", help_.stdout),
        (0, help_.stdout, ""),
    ]


def test_an_option_may_come_from_the_environment(tmp_path: Path) -> None:
    assert "is not one of" in kl("status", cwd=tmp_path, KL_STATUS_FORMAT="yaml").stderr
    assert "is not one of" in kl("context", "x", cwd=tmp_path, KL_CONTEXT_FORMAT="yaml").stderr


def test_an_internal_error_is_exit_4_with_a_report(tmp_path: Path) -> None:
    code = (
        "import sys, click; from kl_hooks.cli import main\n"
        "@click.command()\n"
        "def broken(): raise ZeroDivisionError('by design')\n"
        "sys.exit(main.run_safely(broken, [], {}))"
    )
    environ = os.environ | {"PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)}
    argv = [sys.executable, "-c", code]
    done = subprocess.run(
        argv, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 4
    assert "internal error (a bug of kl): ZeroDivisionError: by design" in done.stderr
    (report,) = tmp_path.glob("kl-crash-*.txt")
    assert str(report) in done.stderr
    assert "Traceback" in report.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("argv", "expected"), [(["arch", "check", "--staged"], 0), (["arch", "check"], 4)]
)
def test_an_internal_error_costs_nobody_a_commit(
    argv: list[str], expected: int, tmp_path: Path
) -> None:
    code = (
        "import sys, click; from kl_hooks.cli import main\n"
        "@click.command(context_settings={'ignore_unknown_options': True})\n"
        "@click.argument('words', nargs=-1)\n"
        "def broken(words): raise ZeroDivisionError\n"
        f"sys.exit(main.run_safely(broken, {argv!r}, {{}}))"
    )
    environ = os.environ | {"PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)}
    argv = [sys.executable, "-c", code]
    done = subprocess.run(
        argv, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == expected
    assert "internal error" in done.stderr


def test_a_reader_that_has_seen_enough_is_no_error(tmp_path: Path) -> None:
    environ = os.environ | {"PYTHONPATH": str(ROOT)}
    shell = f"'{sys.executable}' -m kl_hooks --help | head -n 1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", shell],
        cwd=tmp_path,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    assert done.stdout.startswith("Usage: kl")


def test_a_broken_pipe_is_not_the_code_of_a_finding(tmp_path: Path) -> None:
    code = (
        "import sys, click; from kl_hooks.cli import main\n"
        "@click.command()\n"
        "def talks():\n"
        "    for _ in range(5_000): click.echo('word ' * 10)\n"
        "sys.exit(main.run_safely(talks, [], {}))"
    )
    shell = f"'{sys.executable}' -c \"{code}\" | head -n 1; exit ${{PIPESTATUS[0]}}"
    environ = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        ["bash", "-c", shell],
        cwd=tmp_path,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (141, "")


def test_a_folder_full_of_look_alikes_is_not_imported(tmp_path: Path) -> None:
    for name in ("click", "yaml", "pluggy", "json", "sqlite3"):
        (tmp_path / f"{name}.py").write_text(
            f"raise SystemExit('{name} of the checkout ran')\n", encoding="utf-8"
        )
    script = [
        sys.executable,
        "-c",
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); sys.path.append(''); "
        "from kl_hooks.__main__ import main; sys.argv = ['kl', '--version']; main()",
    ]
    clean = [sys.executable, "-P", "-m", "kl_hooks", "--version"]
    for argv in (clean, [script[0], "-P", *script[1:]]):
        environ = os.environ | {"PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            argv, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False
        )
        assert "of the checkout ran" not in done.stderr + done.stdout


HOSTILE = (
    "\x1b]52;c;ZXZpbA==\x07",
    "\u202egnp",
    "a\nkl: fake",
    "\x9b31m",
    "\r\x08",
    "A" * 100_000,
    "\udcff\udcfe",
)


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: ascii(text[:9]))
@pytest.mark.parametrize(
    "argv",
    [
        ("status",),
        ("graph",),
        (),
        ("claim", "show"),
        ("evidence", "list", "--source"),
        ("evidence", "list", "--limit"),
        ("evidence", "import", "junit", "x.xml", "--tree"),
        ("claim", "list", "--about"),
        ("graph", "search"),
        ("--root",),
        ("context", "x", "--now"),
        ("arch", "check", "--at"),
        ("verify", "--at"),
    ],
    ids=" ".join,
)
@pytest.mark.share(4)
def test_what_an_argument_holds_reaches_no_terminal(
    tmp_path: Path, argv: tuple[str, ...], text: str
) -> None:
    subprocess.run(["git", "init", "-q", "."], cwd=tmp_path, check=True)
    (tmp_path / ".kl").mkdir()
    (tmp_path / "x.xml").write_text("<testsuite/>")
    done = kl(*argv, text, cwd=tmp_path, HOME=str(tmp_path / "home"))
    assert done.returncode in (0, 1, 2, 3), done.stderr
    printed = done.stdout + done.stderr
    assert [sign for sign in printed if sign != "\n" and not sign.isprintable()] == []
    assert "\nkl: fake" not in printed and "internal error" not in printed
    assert max(map(len, printed.splitlines()), default=0) <= 1100


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_are_nobody_listening_and_no_fault(tmp_path: Path, closed: str) -> None:
    subprocess.run(["git", "init", "-q", "."], cwd=tmp_path, check=True)
    environ = os.environ | {"PYTHONPATH": str(ROOT), "HOME": str(tmp_path / "home")}
    for argv, code in (
        ("init", 0),
        ("status", 0),
        ("run -- echo hello", 0),
        ("arch check", 0),
        ("nonsense", 2),
    ):
        command = f"exec {sys.executable} -m kl_hooks {argv} {closed}"
        done = subprocess.run(
            ["sh", "-c", command], cwd=tmp_path, env=environ, capture_output=True, check=False
        )
        assert done.returncode == code, (argv, done.stderr)
        assert b"internal error" not in done.stderr
    for path in (tmp_path / ".git/kl").rglob("*"):
        assert not path.is_file() or b"hello\n" not in path.read_bytes(), path


def test_a_folder_that_was_removed(tmp_path: Path) -> None:
    command = f"mkdir gone; cd gone; rmdir ../gone; exec {sys.executable} -P -m kl_hooks status"
    environ = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=tmp_path,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, "the current folder was removed" in done.stderr) == (3, True)


TEXT_ONLY = {
    "kl run",
    "kl commits record",
    "kl tool",
    "kl help",
    "kl mcp",
    "kl serve",
    "kl commits trailer",
}
"""Commands without `--format json`: they pass through, print one line for people, or have a form of
their own.
"""


def leaves(
    command: click.Command, name: str, above: click.Context | None
) -> Iterator[tuple[str, click.Command]]:
    context = click.Context(command, info_name=name, parent=above)
    if not isinstance(command, click.Group):
        yield context.command_path, command
        return
    with context:
        children = [
            (child, command.get_command(context, child)) for child in command.list_commands(context)
        ]
    for child, found in children:
        assert found is not None, child
        if not found.hidden:
            yield from leaves(found, child, context)


def test_all_speak_json(repo: Checkout, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(repo.root)
    silent = {
        path
        for path, command in leaves(main, "kl", None)
        if not any("--format" in p.opts for p in command.params)
    }
    assert silent == TEXT_ONLY


def test_help_lists_all_commands_or_explains_one(repo: Checkout) -> None:
    repo.write(".kl/kinds/runbook.yaml", RUNBOOK)
    listed = {
        line.split()[0]
        for line in repo.kl("help", "all").stdout.splitlines()
        if line.startswith("  ")
    }
    assert {*COMMANDS, *KINDS, "runbook"} <= listed
    for words in ((), ("graph",), ("graph", "refs"), ("decision", "new"), ("context", "why")):
        assert repo.kl("help", *words).stdout == repo.kl(*words, "--help").stdout, words
    assert "Did you mean 'graph'?" in repo.kl("help", "grph").stderr
    assert "kl status has no commands" in repo.kl("help", "status", "x").stderr


def test_a_removed_verb_is_read_for_one_more_release(repo: Checkout) -> None:
    made = repo.kl("memory", "new", "Pin the clock in tests.")
    assert made.stderr == "kl: kl memory new will be removed. Use: kl memory add\n"
    name = made.stdout.split()[0]
    assert "Use: kl memory approve --checked" in repo.kl("memory", "verify", name).stderr
    done = repo.kl("memory", "approve", name, "--checked")
    assert (done.returncode, done.stdout.split("  ")[1]) == (
        0,
        "approved, confirmed today, verified",
    )
    shown = repo.kl("memory", "--help").stdout
    assert not [verb for verb in ("new", "verify", "promote") if f"\n  {verb} " in shown]


@pytest.mark.parametrize(
    ("old", "now"),
    [
        (("evidence", "list", "--limit", "2"), ("evidence", "list", "--top", "2")),
        (("graph", "search", "x", "--file", "a.py"), ("graph", "search", "x", "--about", "a.py")),
        (("memory", "configure", "--top-k", "3"), ("memory", "configure", "--top", "3")),
        (("interview", "--max-questions", "2"), ("interview", "--top", "2")),
        (("context", "critical", "--max-items", "2"), ("context", "critical", "--top", "2")),
        (
            ("outcome", "capture", "x", "--dry-run", "--task-id", "T-1"),
            ("outcome", "capture", "x", "--dry-run", "--task", "T-1"),
        ),
        (("guide", "list", "--group", "templates"), ("guide", "list", "--topic", "templates")),
    ],
    ids=lambda argv: " ".join(argv[:2]),
)
def test_an_older_spelling_of_an_option_is_read_and_not_shown(
    old: tuple[str, ...], now: tuple[str, ...], repo: Checkout
) -> None:
    repo.write("a.py", "x = 1\n")
    first, second = repo.kl(*old), repo.kl(*now)
    assert (first.returncode, first.stdout, first.stderr) == (0, second.stdout, second.stderr)
    spelling = next(word for word in old if word.startswith("--") and word not in now)
    assert spelling not in repo.kl(*[word for word in now[:2] if word != "x"], "--help").stdout


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("kl gra", "graph"),
        ("kl graph dep", "dependents"),
        ("kl memory appr", "approve"),
        ("kl graph refs --unr", "--unresolved"),
    ],
)
def test_a_shell_completes_commands_and_options(words: str, found: str, repo: Checkout) -> None:
    environ = {
        "_KL_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split()) - 1),
    }
    done = repo.kl(env=environ)
    assert (done.returncode, done.stdout) == (0, f"plain,{found}\n")


def test_a_command_that_another_one_replaces_runs_and_is_in_no_help(repo: Checkout) -> None:
    listed = repo.kl("knowledge", "--help").stdout
    assert "  stats " in listed and "  status " not in listed and "  search " not in listed
    assert repo.kl("knowledge", "status").returncode == 0
