"""Executed symbols that travel: what a run of CI proves for contents that nobody ran, and what
forged sets do not.
"""

from __future__ import annotations

import json
import sys
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given

from kl_hooks.evidence.executed import NEWEST_SHARED, Executed, executed_to_dict
from kl_hooks.evidence.snapshot import snapshot
from kl_hooks.git import notes
from kl_hooks.git.notes import own_ref, read_lines, refs_of, rows_of, write_blobs, write_tree
from kl_hooks.git.repository import git_in
from kl_hooks.model.canonical import canonical
from kl_hooks.model.receipt import Receipt
from kl_hooks.sharing import shared_symbols as subject
from kl_hooks.sharing.notes import import_notes
from kl_hooks.store.state import prepare_state
from tests.evidence.making import executed_sets, leave_run
from tests.evidence.test_claims import run
from tests.evidence.test_executed import ONE, anything
from tests.support import Checkout

from .test_notes_and_keys import clones, keys, trust, verdict  # noqa: F401 (fixtures)

FILES = {
    "calc.py": "def add(a, b):\n    return a + b\n\n\ndef sub(a, b):\n    return a - b\n",
    "test_calc.py": "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n",
    "README.md": "Sums.\n",
    ".gitignore": "__pycache__/\n.pytest_cache/\n",
}


def published(ci: Checkout, key: Path) -> None:
    """A real run of the tests of a CI, and its evidence at the server."""
    for name, text in FILES.items():
        ci.write(name, text)
    ci.commit("sums")
    ci.git("push", "-q", "origin", "HEAD")
    prepare_state(ci.workspace().state)
    done = ci.pytest("-q", "-p", "no:cacheprovider", "--kl-symbols=on")
    assert "1 passed" in done.stdout, done
    done = ci.kl("sync", "--sign", str(key))
    assert (done.returncode, "pushed" in done.stdout) == (0, True), done


def edited(repo: Checkout, name: str, text: str) -> None:
    """HEAD of the server with one file changed, committed."""
    repo.git("reset", "-q", "--hard", "origin/HEAD")
    repo.write(name, text)
    repo.commit(f"edit {name}")


@pytest.mark.skipif(sys.version_info < (3, 12), reason="recorded from CPython 3.12 on")
def test_a_run_of_ci_counts_where_nothing_changed_that_its_tests_executed(
    clones: Callable[[str], Checkout],  # noqa: F811
    keys: dict[str, Path],  # noqa: F811
) -> None:
    ci, bob = clones("ci"), clones("bob")
    published(ci, keys["ci"])
    assert bob.kl("hooks", "install", "--only", "post-commit", "--sync", "origin").returncode == 0
    bob.git("pull", "-q")
    assert verdict(bob).startswith("not proven"), "nobody is trusted yet"
    trust(bob, keys["ci"])
    assert verdict(bob, "--require", "verified", "--from", "ci") == "proven (verified by CI github)"

    edited(bob, "README.md", "More sums.\n")
    assert verdict(bob).startswith("transferred (inferred by CI github) from run "), verdict(bob)
    edited(bob, "calc.py", FILES["calc.py"].replace("a - b", "a - b - 0"))
    assert "all 1 tests executed nothing that changed" in verdict(bob, "--from", "ci")
    assert verdict(bob, "--from", "ci", "--require", "verified").startswith("not proven"), (
        "it did not run just this"
    )
    rows = bob.kl("verify", "--changed", "HEAD^...HEAD", "--require", "proven").stdout
    assert "never exercised calc.sub" in rows, rows

    edited(bob, "calc.py", FILES["calc.py"].replace("a + b", "a + b + 0"))
    done = bob.kl("verify")
    assert (done.returncode, "calc.add changed" in done.stdout) == (1, True), done
    assert "calc.add" in bob.kl("proof", "impacted").stdout

    edited(bob, "README.md", "Other sums.\n")
    assert bob.kl("trust", "revoke", "github").returncode == 0
    assert verdict(bob).startswith("not proven"), (
        "sets of a key that counts no more transfer nothing"
    )


@pytest.mark.skipif(sys.version_info < (3, 12), reason="recorded from CPython 3.12 on")
def test_sets_that_no_trusted_receipt_names_transfer_nothing(
    clones: Callable[[str], Checkout],  # noqa: F811
    keys: dict[str, Path],  # noqa: F811
) -> None:
    ci, bob = clones("ci"), clones("bob")
    published(ci, keys["ci"])
    assert bob.kl("sync", "--pull").returncode == 0
    bob.git("pull", "-q")
    trust(bob, keys["ci"])
    edited(bob, "calc.py", FILES["calc.py"].replace("a + b", "a + b + 0"))
    repo = bob.workspace().repo
    assert repo
    [(ref, commit, *_)] = refs_of(repo, subject._SORT)
    [folder] = rows_of(repo, commit)
    ids = [one for _, one in rows_of(repo, commit, folder=folder).values()]
    parts = [json.loads(one or b"") for one in subject.read_blobs(repo, ids)]
    with bob.workspace().store.reading() as db:
        assert db
        [header] = [
            json.loads(row[0])
            for row in db.rows("SELECT header FROM receipt WHERE source = 'pytest'")
        ]
    receipt = run().receipt._replace(
        run=header["run"], ended=header["ended"], environment=header["environment"]
    )
    assert subject.read_shared(repo, receipt), "as it came"

    def forged(change: Callable[[list[list[object]]], object], name: str = folder) -> bool:
        """Whether anything is believed of a ref with the changed parts."""
        some = json.loads(json.dumps(parts))
        some = change(some) or some
        rows = write_blobs(
            repo, [one if isinstance(one, bytes) else canonical(one) for one in some]
        )
        tree = write_tree(repo, {f"{n:05}": ("blob", one) for n, one in enumerate(rows)})
        top = write_tree(repo, {name: ("tree", tree)})
        bob.git("update-ref", ref, bob.git("commit-tree", "-m", "x", top))
        return subject.read_shared(repo, receipt) is not None

    tests = next(at for at, one in enumerate(parts) if one[0] == "tests")
    file = next(at for at, one in enumerate(parts) if one[:2] == ["file", "calc.py"])
    changes: dict[str, Callable[[list[list[object]]], object]] = {
        "executes nothing": lambda some: some[tests].__setitem__(2, []),
        "another hash": lambda some: some[file][2][0].__setitem__(1, "0" * 16),  # type: ignore[index]
        "no file": lambda some: some.pop(file) and None,
        "no tests": lambda some: some.pop(tests) and None,
        "a part twice": lambda some: some.append(some[file]),
        "another run": lambda some: some[0].__setitem__(1, "f" * 32),
        "two runs": lambda some: some.append(some[0]),
        "a file that was not opened": lambda some: some.append(["opened", {"x": ""}]),
        "no JSON": lambda some: [b"{" * 5000],
        "no list": lambda some: [b"7", b"null", b"{}"],
        "empty": lambda some: some.clear(),
        "a bomb": lambda some: [zlib.decompress(zlib.compress(b"[" + b" " * 1_000_000 + b"]"))],
    }
    for name, change in changes.items():
        assert not forged(change), name
        assert bob.kl("verify").returncode == 1, name
    assert not forged(lambda some: None, "20200101000000-" + folder.partition("-")[2]), (
        "under another name"
    )
    assert forged(lambda some: None)
    assert bob.kl("verify").returncode == 1, "a changed line of tested code, with the true sets"
    # a link, a folder and a submodule in place of a part
    bob.git("update-ref", ref, "HEAD")
    assert subject.read_shared(repo, receipt) is None
    # with the ref removed there is nothing to judge by: not assessed, never valid
    bob.git("update-ref", "-d", ref)
    assert "no executed symbols were recorded" in bob.kl("verify").stdout


@given(anything())
def test_parts_give_back_what_was_recorded(one: Executed) -> None:
    plain = json.loads(canonical(executed_to_dict(one)))
    parts = subject._parts(plain)
    assert canonical(subject._plain([json.loads(part) for part in parts])) == canonical(plain)


def named(one: Executed, number: int = 0) -> tuple[Receipt, Executed]:
    """A receipt that vouches for sets."""
    own = replace(one, run=f"{number:032x}")
    ended = f"2026-11-23T10:{number // 60:02}:{number % 60:02}.000000Z"
    return run().receipt._replace(
        run=own.run, ended=ended, environment={"executed": {"digest": own.digest}}
    ), own


def test_the_newest_runs_stay_and_two_writers_of_one_name_are_merged(repo: Checkout) -> None:
    git = repo.workspace().repo
    assert git
    made = [named(ONE, number) for number in range(NEWEST_SHARED + 3)]
    subject._write(git, "first", made[:-1])
    subject._write(git, "other", made[-1:])
    notes._merge(
        git,
        own_ref(subject._SORT, "first"),
        git_in(git, "rev-parse", own_ref(subject._SORT, "other")).decode().strip(),
    )
    subject._write(git, "first", made[-1:])
    known = subject._known(git, "first")
    assert known == {one.digest for _, one in made[3:]}
    assert subject.read_shared(git, made[-1][0]) == made[-1][1]
    assert subject.read_shared(git, made[0][0]) is None, "older than the newest of this writer"
    # of all runs of the same sets only their names differ
    repo.git("update-ref", "-d", own_ref(subject._SORT, "other"))
    assert (
        len(repo.git("rev-list", "--objects", "--all", "--in-commit-order").splitlines())
        < 5 * NEWEST_SHARED
    )


def test_what_is_too_large_or_looks_like_a_secret_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    receipt, executed = named(ONE)
    assert subject._withheld(executed, receipt) == ""
    assert "not those" in subject._withheld(replace(executed, recorder="other"), receipt)
    secret = named(
        replace(ONE, incomplete={"a": "password=hunter2hunter2 token ghp_" + "a1B2" * 9})
    )
    assert "secret" in subject._withheld(secret[1], secret[0])
    monkeypatch.setattr(subject, "_MOST_PACKED", 10)
    assert "more than 10 bytes" in subject._withheld(executed, receipt)


def test_a_job_with_the_key_publishes_what_another_executed(
    clones: Callable[[str], Checkout],  # noqa: F811
    tmp_path: Path,
) -> None:
    tests, publish = clones("tests"), clones("publish")
    nodeid = "test_calc.py::test_add"
    sets = executed_sets({nodeid: {"function:calc.add": "call"}}, {"function:calc.add": "calc.py"})
    leave_run(tests.workspace(), [(nodeid, "passed", 5)], executed=sets)
    file = tmp_path / "receipts.jsonl"
    assert tests.kl("evidence", "export", "--executed", "-o", str(file)).returncode == 0
    prepare_state(publish.workspace().state)
    done = publish.kl("sync", "--push", "--receipts", str(file))
    assert (done.returncode, "1 run written" in done.stdout) == (0, True), done
    repo = publish.workspace().repo
    assert repo and len(refs_of(repo, subject._SORT)) == 1
    [tree] = read_lines(repo, refs_of(repo, "receipts")[0].name)
    assert tree == publish.git("rev-parse", "HEAD^{tree}")
    assert publish.kl("evidence", "import", "receipts", str(file)).returncode == 0, (
        "these lines are no receipts"
    )
    assert tests.kl("evidence", "export", "--executed", "--in-toto").returncode == 2
    with snapshot(publish.workspace()) as seen:
        assert all(seen.executed(one) is None for one in seen.recent(9)), (
            "imported, and nobody vouches for it"
        )


def test_the_sets_of_a_test_cost_35_bytes() -> None:
    names = [
        f"tests/unit/test_module_{i // 50}.py::TestCase{i // 10 % 5}::test_case_{i % 10}"
        for i in range(4_000)
    ]
    places = {
        f"function:package.module_{i // 20}.function_{i}": f"package/module_{i // 20}.py"
        for i in range(1600)
    }
    symbols = sorted(places)
    sets = {
        name: {symbols[(i // 50 * 20 + n * (1 + i % 7)) % 1600]: "call" for n in range(60)}
        for i, name in enumerate(names)
    }
    plain = json.loads(canonical(executed_to_dict(executed_sets(sets, places))))
    assert sum(len(zlib.compress(part)) for part in subject._parts(plain)) < 35 * len(names)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="recorded from CPython 3.12 on")
@pytest.mark.sweep
def test_shallow_and_partial_clones_have_the_evidence_and_a_million_lines_are_not_read(
    clones: Callable[[str], Checkout],  # noqa: F811
    keys: dict[str, Path],  # noqa: F811
    tmp_path: Path,
) -> None:
    ci = clones("ci")
    ci.commit("more")
    ci.git("push", "-q", "origin", "HEAD")
    published(ci, keys["ci"])
    server = tmp_path / "server.git"
    ci.git("-C", str(server), "config", "uploadpack.allowFilter", "true")
    for name, option in (("shallow", "--depth=1"), ("partial", "--filter=blob:none")):
        ci.git("clone", "-q", option, server.as_uri(), str(tmp_path / name))
        repo = Checkout(tmp_path / name)
        trust(repo, keys["ci"])
        assert "1 new run" in repo.kl("sync", "--pull").stdout, name
        assert (
            verdict(repo, "--require", "verified", "--from", "ci")
            == "proven (verified by CI github)"
        ), name
        repo.write("README.md", "More sums.\n")
        repo.commit("readme")
        assert verdict(repo).startswith("transferred (inferred by CI github)"), name
    # of a later commit neither has what CI ran on; the named command fetches it
    ci.write("calc.py", FILES["calc.py"].replace("a - b", "a - b - 0"))
    ci.commit("later")
    ci.git("push", "-q", "origin", "HEAD")
    for name, option in (("later-shallow", "--depth=1"), ("later-partial", "--filter=blob:none")):
        ci.git("clone", "-q", option, server.as_uri(), str(tmp_path / name))
        repo = Checkout(tmp_path / name)
        trust(repo, keys["ci"])
        assert repo.kl("sync", "--pull").returncode == 0
        shown = repo.kl("verify").stdout
        [fetch] = [
            row.rpartition(": git ")[2]
            for row in shown.splitlines()
            if "missing in this clone" in row
        ]
        repo.git(*fetch.split(), "-q")
        assert verdict(repo).startswith("transferred (inferred by CI github)"), (name, shown)
    git = repo.workspace().repo
    assert git
    [blob] = write_blobs(git, [b'{"schema":"kl.note/1"}\n' * 1_000_000])
    tree = write_tree(git, {"1" * 40: ("blob", blob)})
    commit = repo.git("commit-tree", "-m", "x", tree)
    for sort in ("receipts", "events", "executed"):
        repo.git("update-ref", f"refs/notes/kl-remote/origin/{sort}/evil", commit)
    assert read_lines(git, commit) == {}
    found = import_notes(repo.workspace())
    assert found.imported == 0 and any("not all of it was read" in one for one in found.remarks), (
        found
    )
