"""Results survive what git does to commits where the content or what their tests executed is the
same; nowhere else.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from kl_hooks.evidence.provenance import worktree_state
from kl_hooks.evidence.snapshot import snapshot
from kl_hooks.proof.facts import NOT_ASSESSED, VALID
from kl_hooks.proof.impact import Runs, content_of
from tests.evidence.making import leave_run
from tests.proof.recorded import run_program
from tests.support import NOW, Checkout, checkout

FILES = {
    "kxa.py": "K = 1\ndef f():\n    return K\ndef g():\n    return 2\n",
    "kxb.py": "from kxa import g\ndef h():\n    return g() + 1\n",
    "test_kxa.py": "from kxa import f\ndef test_f():\n    return f()\n",
    "test_kxb.py": "from kxb import h\ndef test_h():\n    return h()\n",
    "CHANGES.rst": "none\n",
}
EDITS = {
    "kxa.py": [
        FILES["kxa.py"],
        FILES["kxa.py"].replace("return K", "return K + 1"),
        FILES["kxa.py"].replace("K = 1", "K = 5"),
        "# note\n" + FILES["kxa.py"],
    ],
    "kxb.py": [
        FILES["kxb.py"],
        FILES["kxb.py"].replace("+ 1", "+ 3"),
        FILES["kxb.py"] + "def new():\n    return 1\n",
    ],
    "test_kxb.py": [FILES["test_kxb.py"], FILES["test_kxb.py"].replace("h()", "h() * 2")],
    "CHANGES.rst": ["one\n", "two\n"],
}


class World:
    """A repository, the runs that were recorded in it, and random operations on it."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.repo = checkout(folder, FILES)
        self.random = random.Random(seed)
        self.ends: dict[str, dict[str, str]] = {}
        """Run → test → how it ended."""
        self.trees: dict[str, set[str]] = {}
        """Content → the tests that ran on just that."""

    def files(self) -> dict[str, str]:
        return {path.name: path.read_text() for path in sorted(self.repo.root.glob("*.py"))}

    def record(self) -> None:
        executed, ends = run_program(self.files())
        results = [(name, "passed", 5) for name in ends if "::" in name]
        if results:
            run = leave_run(self.repo.workspace(), results, executed=executed)
            self.ends[run] = ends
            self.trees.setdefault(self.tree(), set()).update(name for name, _, _ in results)

    def tree(self) -> str:
        return content_of(self.repo.workspace()).trees[-1]

    def edit(self) -> None:
        path = self.random.choice(sorted(EDITS))
        self.repo.write(path, self.random.choice(EDITS[path]))

    def commit(self) -> None:
        self.repo.commit()

    def git(self, *args: str) -> None:
        """A command that may be refused, as a rebase with conflicts is: then everything is as
        before.
        """
        self.repo.git(*args, ok=False)
        for command in ("rebase", "cherry-pick", "merge", "revert"):
            self.repo.git(command, "--abort", ok=False)

    def amend(self) -> None:
        self.git("commit", "-q", "-a", "--amend", "--allow-empty", "-m", f"m{self.random.random()}")

    def switch(self) -> None:
        self.git(
            "switch",
            "-q",
            *self.random.choice((["-c", f"b{self.random.randrange(10**9)}"], ["-"], ["-"])),
        )

    def stash(self) -> None:
        self.git("stash", *self.random.choice((["-u", "-q"], ["pop", "-q"])))

    def rebase(self) -> None:
        self.git("rebase", "-q", "--autostash", "@{-1}")

    def cherry_pick(self) -> None:
        self.git("cherry-pick", "--allow-empty", "@{-1}")

    def squash(self) -> None:
        self.git("reset", "-q", "--soft", "HEAD~1")

    def move(self) -> None:
        names = [path.name for path in sorted(self.repo.root.glob("*.py"))]
        name = self.random.choice(names)
        self.git("mv", name, name.replace("kx", "ky") if "kx" in name else name.replace("ky", "kx"))

    def worktree(self) -> None:
        """What is valid here is valid in another working tree of the same commit, and the other way
        round.
        """
        other = self.repo.root.parent / f"other-{self.random.randrange(10**9)}"
        self.git("worktree", "add", "-q", "--detach", str(other))
        before, self.repo = self.repo, Checkout(other)
        try:
            self.check()
            self.random.choice((self.record, self.edit))()
            self.check()
        finally:
            self.repo = before
            self.git("worktree", "remove", "--force", str(other))

    def filter_history(self) -> None:
        """A file is removed from all commits, as git-filter-repo does it; there may be edits, then
        git refuses.
        """
        self.git(
            "filter-branch",
            "-f",
            "--index-filter",
            "git rm -q --cached --ignore-unmatch CHANGES.rst",
            "HEAD",
        )

    def filter_messages(self) -> None:
        self.git("filter-branch", "-f", "--msg-filter", "sed s/change/other/", "HEAD")

    def revert(self) -> None:
        self.git("revert", "--no-edit", "HEAD")

    def check(self) -> int:
        """No result is valid that would be another one; all of a content that ran are. How many are
        valid.
        """
        ws = self.repo.workspace()
        with snapshot(ws) as seen:
            results = Runs(ws, seen, content_of(ws)).results
        now = run_program(self.files())[1]
        valid = {name for name, one in results.items() if one.state == VALID}
        for name in valid:
            assert self.ends[results[name].run][name] == now.get(name), (
                name,
                results[name],
                self.files(),
            )
        assert self.trees.get(self.tree(), set()) <= valid
        return len(valid)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.share(2)
def test_results_survive_what_git_does_to_commits(
    seed: int, tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FILTER_BRANCH_SQUELCH_WARNING", "1")
    world = World(tmp_path / "repo", seed)
    operations: list[Callable[[], None]] = [
        world.edit,
        world.edit,
        world.commit,
        world.amend,
        world.switch,
        world.stash,
        world.rebase,
        world.cherry_pick,
        world.squash,
        world.move,
        world.record,
        world.worktree,
        world.revert,
        world.filter_history,
        world.filter_messages,
    ]
    world.record()
    assert world.check() == 2
    for _ in range(8):
        world.random.choice(operations)()
        world.check()


def test_a_rebase_onto_documentation_and_a_squash_lose_nothing(tmp_path: Path, home: Path) -> None:
    world = World(tmp_path / "repo", 0)
    repo: Checkout = world.repo
    repo.git("switch", "-q", "-c", "feature")
    repo.write("kxb.py", EDITS["kxb.py"][1])
    world.record()
    repo.commit()
    repo.write("kxb.py", EDITS["kxb.py"][2])
    repo.commit()
    repo.git("switch", "-q", "-")
    repo.write("CHANGES.rst", "more\n")
    repo.commit()
    repo.git("rebase", "-q", "HEAD", "feature")
    assert world.check() == 1, "h differs from what ran"
    repo.git("reset", "-q", "--soft", "HEAD~2")
    repo.write("kxb.py", EDITS["kxb.py"][1])
    repo.commit("squashed")
    assert world.check() == 2
    assert repo.kl("verify").returncode == 0


def test_every_operation_leaves_what_it_must(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FILTER_BRANCH_SQUELCH_WARNING", "1")
    world = World(tmp_path / "repo", 0)
    world.record()
    world.worktree()
    world.repo.write("kxb.py", EDITS["kxb.py"][1])
    world.repo.commit()
    assert world.check() == 1
    world.revert()
    assert world.check() == 2
    # every commit and every tree is another one, and what the tests executed is the same
    head, tree = world.repo.git("rev-parse", "HEAD"), world.repo.git("rev-parse", "HEAD^{tree}")
    world.filter_history()
    world.filter_messages()
    assert (
        world.repo.git("rev-parse", "HEAD") != head
        and world.repo.git("rev-parse", "HEAD^{tree}") != tree
    )
    assert world.check() == 2
    # as after a fresh clone of the rewritten repository: what the runs ran on is in git no more
    for name in world.repo.git("for-each-ref", "--format=%(refname)", "refs/original").split():
        world.repo.git("update-ref", "-d", name)
    world.repo.git("reflog", "expire", "--expire=now", "--all")
    world.repo.git("gc", "-q", "--prune=now")
    assert world.check() == 0
    impacted = world.repo.kl("proof", "impacted").stdout
    assert "the content it ran on is not in git any more" in impacted, impacted


@pytest.mark.fault(
    "clock jump",
    promised="the order of runs is that in which they were stored",
    injected="the clock is set back between runs",
)
def test_a_clock_that_goes_backwards_changes_no_order(tmp_path: Path, home: Path) -> None:
    world = World(tmp_path / "repo", 0)
    executed, ends = run_program(world.files())
    names = [name for name in ends if "::" in name]
    ws = world.repo.workspace()
    first = leave_run(ws, [(name, "passed", 5) for name in names], executed=executed)
    ahead = 4_000_000_000
    os.utime(ws.state.spool / f"{first}.jsonl", (ahead, ahead))
    leave_run(
        world.repo.workspace(NOW - 10**12),
        [(name, "failed", 5) for name in names],
        executed=executed,
    )
    done = world.repo.kl("verify")
    assert done.returncode == 1 and "2 failed" in done.stdout, done.stdout
    leave_run(world.repo.workspace(NOW - 2 * 10**12), [(names[0], "passed", 5)], executed=executed)
    assert f"{names[1]} failed" in world.repo.kl("verify").stdout


def test_what_can_not_be_known_is_not_assessed(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(tmp_path / "repo", 0)
    executed, ends = run_program(world.files())
    results = [(name, "passed", 5) for name in ends if "::" in name]

    def states() -> dict[str, tuple[str, str]]:
        ws = world.repo.workspace()
        with snapshot(ws) as seen:
            found = Runs(ws, seen, content_of(ws)).results
        return {name.partition("::")[2]: (one.state, one.reason) for name, one in found.items()}

    # of a newer version: its symbols can't be read, its outcomes can
    with monkeypatch.context() as patch:
        patch.setattr("kl_hooks.evidence.executed.EXECUTED_SCHEMA", "kl.executed/9")
        leave_run(world.repo.workspace(), results, executed=executed)
    assert {state for state, _ in states().values()} == {VALID}
    world.repo.write("kxa.py", EDITS["kxa.py"][1])
    why = "kxa.py changed, and no executed symbols were recorded"
    assert states() == dict.fromkeys(("test_f", "test_h"), (NOT_ASSESSED, why))
    assert world.repo.kl("verify").returncode == 1
    # symbols whose file is not known, and a file that has vanished since
    world.repo.write("kxa.py", FILES["kxa.py"])
    strange = {
        one.symbol: "nowhere.py"
        for one in executed.symbols
        if one.symbol.startswith("function:kxb")
    }
    leave_run(
        world.repo.workspace(),
        results,
        executed=replace(executed, places={**executed.places, **strange}),
    )
    (world.repo.root / "kxb.py").unlink()
    found = states()
    assert found["test_f"][0] == VALID and found["test_h"][0] != VALID, found
    world.repo.git("checkout", "-q", "--", "kxb.py")
    assert {state for state, _ in states().values()} == {VALID}
    # its commit is rewritten while a session runs: a content that is in git no more proves nothing
    # about another one
    world.repo.write("kxa.py", EDITS["kxa.py"][2])
    place = worktree_state(world.repo.workspace().repo)._replace(differences={})
    leave_run(
        world.repo.workspace(),
        [(name, "passed", 5) for name, _, _ in results],
        executed=executed,
        place=place,
    )
    world.repo.write("kxa.py", EDITS["kxa.py"][1])
    world.repo.git("commit", "-q", "-a", "--amend", "-m", "rewritten")
    assert VALID not in {state for name, (state, _) in states().items() if name == "test_f"}
    assert world.repo.kl("verify").returncode == 1


def test_claims_of_tests_know_when_they_are_stale_and_since_when(
    tmp_path: Path, home: Path
) -> None:
    world = World(tmp_path / "repo", 0)
    world.record()
    world.repo.write("CHANGES.rst", "more\n")
    world.repo.commit()
    world.repo.write("kxb.py", EDITS["kxb.py"][1])
    commit = world.repo.commit()
    world.repo.write("CHANGES.rst", "and more\n")
    world.repo.commit()
    claims = {
        one["text"]: one
        for one in json.loads(world.repo.kl("claim", "list", "--format", "json").stdout)["claims"]
    }
    fresh, stale = (
        claims[f"Test passes: test_kx{name}.py::test_{test}"]
        for name, test in (("a", "f"), ("b", "h"))
    )
    assert (
        fresh["freshness"],
        "nothing differs that the test executed" in fresh["reasons"][0],
    ) == ("transferred", True)
    command = "re-verify: pytest test_kxb.py::test_h"
    assert (stale["freshness"], stale["reasons"][-1]) == (
        "older tree",
        f"stale since {commit[:7]}: kxb.h changed; {command}",
    )
    done = world.repo.kl("status")
    status = done.stdout + done.stderr
    assert "predates your last edit to kxb.py" in status, status
    world.record()
    found = json.loads(world.repo.kl("claim", "list", "--format", "json").stdout)["claims"]
    assert {one["freshness"] for one in found} == {"current"}
