"""`kl status` and `kl verify`: what is there in plain words, and a proof that states what it does
not prove.
"""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from kl_hooks.store import sqlite
from kl_hooks.store.sqlite import SqliteDatabase, open_sqlite
from tests.support import Checkout, checkout

TEST = "from helper import X\n\n\ndef test_x():\n    assert X == 1\n"


@pytest.mark.slow
def test_a_pass_beside_untracked_files_is_reported_as_one(repo: Checkout) -> None:
    repo.write("test_x.py", TEST)
    repo.commit("the test, without what it needs")
    repo.write("helper.py", "X = 1\n")
    assert repo.pytest("-q").returncode == 0
    done = repo.kl("verify")
    assert "passed on this content, with untracked files in the working tree" in done.stdout
    assert "These files are not committed." in done.stdout
    assert json.loads(repo.kl("verify", "--format", "json").stdout)["untracked"] is True
    assert (
        "passed on this content, with untracked files in the working tree"
        in repo.kl("status").stdout
    )
    repo.commit("and what it needs")
    done = repo.kl("verify")
    assert done.returncode == 0
    assert "passed on exactly this content" in done.stdout, "it ran with the files of this commit"
    assert json.loads(repo.kl("status", "--format", "json").stdout)["proof"]["untracked"] is False


def test_a_command_opens_a_database_once_to_read_it(
    repo: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.kl("decision", "new", "Prices are whole numbers")
    repo.kl("status")  # brings everything up to date
    opened = list[str]()

    def counted(path: Path, *, write: bool, busy_ms: int) -> SqliteDatabase:
        opened.append(f"{path.name}{' to write' if write else ''}")
        return open_sqlite(path, write=write, busy_ms=busy_ms)

    monkeypatch.setattr(sqlite, "open_sqlite", counted)
    assert repo.kl("decision", "list").returncode == 0
    assert "kl.db" in opened
    assert [name for name in {*opened} if opened.count(name) > 1] == []


@pytest.mark.parametrize("command", ["status", "verify"])
def test_git_is_asked_once_for_all_files_that_configure_tests(
    repo: Checkout, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    repo.write("tests/test_x.py", "def test_x():\n    pass\n")
    for folder in ("", "tests/", "tools/"):
        for name in ("pytest.ini", "tox.ini", "setup.cfg", "pyproject.toml"):
            repo.write(f"{folder}{name}", "")
    repo.commit()
    repo.write("tests/test_x.py", "def test_x():\n    assert True\n")
    repo.kl("status")  # brings everything up to date
    started = list[list[str]]()

    start = subprocess.Popen.__init__

    def counted(self: Any, words: list[str], *rest: Any, **options: Any) -> None:
        started.append(words)
        start(self, words, *rest, **options)

    monkeypatch.setattr(subprocess.Popen, "__init__", counted)
    assert repo.kl(command).returncode in (0, 1)
    verbs = Counter(word for words in started for word in words if word in ("cat-file", "ls-files"))
    # the tree of what is on disk, and what the commit before configures
    assert verbs == {"cat-file": 2, "ls-files": 1}


def test_files_that_were_edited_are_read_together(
    repo: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"part_{number}" for number in range(9)]
    for name in names:
        repo.write(f"{name}.py", f"def {name}():\n    return 1\n\n\nclass Of_{name}:\n    pass\n")
    imports = "".join(f"from {name} import {name}\n" for name in names)
    calls = "".join(f"    assert {name}()\n" for name in names)
    repo.write("test_x.py", f"{imports}\n\ndef test_x():\n{calls}")
    repo.commit()
    assert repo.pytest("-q").returncode == 0
    start = subprocess.Popen.__init__

    def started(edited: list[str]) -> int:
        """How many times git reads contents where these files were edited."""
        commands = list[str]()

        def counted(self: Any, words: list[str], *rest: Any, **options: Any) -> None:
            commands.extend(word for word in words if word == "cat-file")
            start(self, words, *rest, **options)

        for name in edited:
            repo.write(f"{name}.py", f"def {name}():\n    return 1\n\n\nclass Other:\n    x = 1\n")
        repo.kl("verify")
        with monkeypatch.context() as patch:
            patch.setattr(subprocess.Popen, "__init__", counted)
            repo.kl("verify")
        return len(commands)

    assert started(names[:2]) == started(names) > 0


def answers(repo: Checkout) -> set[bool]:
    """Whether the tests are proven, as reported by everybody who can be asked."""
    plain = json.loads(repo.kl("verify", "--format", "json").stdout)["proven"]
    tier = json.loads(repo.kl("status", "--format", "json").stdout)["proof"]["tier"]
    tool = json.loads(repo.kl("tool", "verify", "{}").stdout)["result"]["proven"]
    return {plain, repo.kl("verify", "--at", "HEAD").returncode == 0, tier != "guessed", tool}


@pytest.mark.slow
def test_a_scratch_test_that_was_removed_does_not_make_a_tree_unprovable(repo: Checkout) -> None:
    repo.write("tests/test_x.py", "def test_x():\n    pass\n")
    repo.commit("the tests")
    scratch = repo.write("tests/test_scratch.py", "def test_try():\n    assert 0\n")
    assert repo.pytest("-q").returncode == 1
    assert answers(repo) == {False}
    assert "not proven: run " in repo.kl("verify").stdout
    scratch.unlink()
    done = repo.kl("verify")
    assert done.returncode == 1
    assert "not proven: a test that failed on this content has not passed since\n" in done.stdout
    assert repo.pytest("-q").returncode == 0
    assert answers(repo) == {True}
    assert "tests/test_scratch.py::test_try failed in run" in repo.kl("verify").stdout
    scratch.write_text("def test_try():\n    assert 0\n")
    done = repo.kl("verify")
    assert done.returncode == 1, "it is here again, and failed"
    assert "a test that failed on this content has not passed since" in done.stdout
    assert repo.kl("verify", "--at", "HEAD").returncode == 0


@pytest.mark.slow
def test_a_failure_of_a_test_in_a_file_that_is_still_here_counts(repo: Checkout) -> None:
    repo.write(
        "tests/test_x.py",
        "from pathlib import Path\n\n\ndef test_x():\n    assert not Path('y').exists()\n",
    )
    repo.write("tests/test_z.py", "def test_z():\n    pass\n")
    repo.commit("the tests")
    other = repo.write("y", "y\n")
    assert repo.pytest("-q").returncode == 1
    other.unlink()
    assert repo.pytest("-q", "tests/test_z.py").returncode == 0
    assert answers(repo) == {False}
    assert "a test that failed on this content has not passed since" in repo.kl("verify").stdout
    assert repo.pytest("-q").returncode == 0
    assert answers(repo) == {True}


def test_verify_without_a_repository_is_no_proof(home: Path, tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    done = Checkout(tmp_path / "plain").kl("verify")
    assert (done.returncode, done.stdout) == (3, "")
    assert "not a git repository" in done.stderr


def test_status_counts_files_that_no_scanner_reads_where_they_are_many(repo: Checkout) -> None:
    for number in range(11):
        repo.write(f"part_{number}.py", "")
    repo.write("web/cart.kt", "class Ledger\n")
    assert json.loads(repo.kl("status", "--format", "json").stdout)["unread"] == {}
    repo.write("web/view.kts", "")
    assert "  code      2 files not assessed, no scanner reads Kotlin (2)\n" in (
        repo.kl("status").stdout
    )


def test_status_counts_in_plain_words(repo: Checkout) -> None:
    assert "  evidence  1 receipt (commits: 1), 1 commit\n" in repo.kl("status").stdout
    repo.kl("run", "--", "true")
    repo.kl("run", "--", "true")
    assert "3 receipts (command: 2, commits: 1), 1 commit\n" in repo.kl("status").stdout


def test_status_before_the_first_commit(home: Path, tmp_path: Path) -> None:
    made = checkout(tmp_path / "new")
    made.git("update-ref", "-d", "HEAD")
    assert "   main no commit yet" in made.kl("status").stdout.splitlines()[0]


def test_an_approved_memory_is_beside_no_evidence_and_not_beside_nothing(
    home: Path, tmp_path: Path
) -> None:
    new = checkout(tmp_path / "new")
    new.git("update-ref", "-d", "HEAD")
    assert new.kl("memory", "add", "Indent with tabs").returncode == 0
    shown = new.kl("status").stdout
    assert "  evidence  none yet\n  memories  1 approved, 0 waiting" in shown
    assert "nothing yet" not in shown


def test_a_source_without_evidence_is_not_no_evidence(repo: Checkout) -> None:
    repo.kl("run", "--", "true")
    assert repo.kl("evidence", "list", "--source", "pyt").stdout == (
        "no evidence of source 'pyt'. See: kl evidence list\n"
    )


def test_status_states_what_is_stored_what_waits_and_what_no_longer_holds(repo: Checkout) -> None:
    assert "records" not in repo.kl("status").stdout
    printed = ("--context", "Two clocks drift apart.", "--decision", "One clock is read.")
    assert repo.kl("decision", "new", "Read one clock", *printed).returncode == 0
    repo.write("src/names.py", "def feed(name):\n    return name\n")
    read = {
        "session_id": "s1",
        "cwd": str(repo.root),
        "tool_name": "Read",
        "tool_input": {"file_path": "src/names.py"},
    }
    reported = json.dumps({**read, "tool_response": "def feed(name):\n    return name\n"})
    repo.kl("finding", "add", "--hook", input=reported)
    shown = repo.kl("status").stdout
    assert "  records   1 decision, 1 finding\n" in shown
    assert "  waiting   1 decision proposed. See: kl decision list --status proposed\n" in shown
    repo.write("src/names.py", "def feed(name):\n    return name.strip()\n")
    repo.kl("decision", "accept", "ADR-0001")
    shown = repo.kl("status").stdout
    assert "  records   1 decision, 1 finding (1 stale)\n" in shown
    assert "waiting   " not in shown
    plain = json.loads(repo.kl("status", "--format", "json").stdout)
    assert plain["records"] == {"decision": {"accepted": 1}, "finding": {"stale": 1}}
    assert plain["waiting"] == {}


def test_a_record_that_cannot_be_read_is_reported_beside_the_status(repo: Checkout) -> None:
    repo.write(".kl/knowledge/decisions/ADR-0001-x.md", "---\nid: [\n---\n")
    done = repo.kl("status")
    assert done.returncode == 0
    assert "ADR-0001-x.md" in done.stderr
    assert done.stdout.startswith(f"{repo.root}   main ")


def test_a_manifest_with_mistakes_is_reported_instead_of_an_old_verdict(repo: Checkout) -> None:
    repo.write("x.py", "")
    repo.write(".kl/architecture.yaml", "layers: [{name: x, paths: [x.py]}]\n")
    assert repo.kl("arch", "check").returncode == 0
    assert "layers    clean at the last check" in repo.kl("status").stdout
    repo.write(".kl/architecture.yaml", "layrs: [{name: x, paths: [x.py]}]\n")
    assert (
        "layers    .kl/architecture.yaml has mistakes. See: kl arch check\n"
        in repo.kl("status").stdout
    )
    plain = json.loads(repo.kl("status", "--format", "json").stdout)
    assert (plain["manifest"], plain["manifest_mistakes"]) == (True, True)


@pytest.mark.slow
def test_parameters_that_hold_a_clock_do_not_make_more_tests(repo: Checkout) -> None:
    mark = "@pytest.mark.parametrize('at', [time.time_ns(), 2])"
    repo.write(
        "test_x.py", f"import time\n\nimport pytest\n\n\n{mark}\ndef test_x(at):\n    pass\n"
    )
    for args in ((), (), ("-k", "2]")):
        assert repo.pytest("-q", *args).returncode == 0
    assert json.loads(repo.kl("status", "--format", "json").stdout)["counts"]["tests"] == 2
    assert "2 tests" in repo.kl("status").stdout


def test_a_commit_that_skipped_the_hook_has_no_check_record(tmp_path: Path, home: Path) -> None:
    repo = checkout(tmp_path / "repo", {"shop/__init__.py": "", "shop/a.py": "X = 1\n"})
    manifest = "version: 1\nlayers:\n  - name: shop\n    paths: [shop]\n"
    repo.write(".kl/architecture.yaml", manifest)
    repo.commit("without any hook yet")
    assert "no check record" not in repo.kl("status").stdout
    repo.kl("hooks", "install")
    for text in ("X = 2\n", "X = 3\n"):
        repo.write("shop/a.py", text)
        repo.git("add", "-A")
        repo.kl("arch", "check", "--staged")  # as the hook does
        repo.git("commit", "-q", "--no-verify", "-m", "checked")
    assert "no check record" not in repo.kl("status").stdout
    repo.write("shop/a.py", "X = 4\n")
    repo.git("commit", "-q", "--no-verify", "-am", "skipped")
    sha = repo.git("rev-parse", "HEAD").strip()
    short = f"no check record, made without the hook: {sha[:7]}. hint: kl arch check --at {sha[:7]}"
    assert short in repo.kl("status").stdout
    assert json.loads(repo.kl("status", "--format", "json").stdout)["unchecked_commits"] == [sha]
    assert repo.kl("arch", "check", "--at", sha[:7]).returncode == 0
    assert "no check record" not in repo.kl("status").stdout
    repo.write("shop/a.py", "X = 5\n")
    repo.git("commit", "-q", "--no-verify", "-am", "pushed")
    repo.git("update-ref", "refs/remotes/origin/main", "HEAD")
    assert "no check record" not in repo.kl("status").stdout  # the remote's checks are its own
