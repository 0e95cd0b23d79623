"""Recall: commits name packages, and are compared with what these contained; figures of `kl
stats`.
"""

from __future__ import annotations

import json
import re
import subprocess

import pytest

from kl_hooks.context.recall import (
    Comparison,
    SourceUse,
    Touched,
    _to_json,
    compare,
    package_statistics,
    recall_statistics,
    suggested_weights,
)
from tests.support import Checkout

PRICE = (
    '"""Prices."""\n\n\ndef total(prices):\n    return sum(prices)\n\n\ndef tax(price):\n    return'
    " price\n"
)
TASK = "round the total of prices"


def shop(repo: Checkout) -> Checkout:
    repo.write("src/shop/price.py", PRICE)
    repo.write("src/shop/other.py", "def unrelated_helper():\n    return 1\n")
    assert repo.kl("hooks", "install", "--only", "commit-msg").returncode == 0
    assert repo.kl("memory", "add", "Totals are rounded.", "--about", "src/shop/").returncode == 0
    repo.commit("shop")
    return repo


def package(repo: Checkout, task: str = TASK) -> str:
    return str(json.loads(repo.kl("context", task, "--format", "json").stdout)["package_id"])


def git_error(repo: Checkout, *args: str) -> str:
    done = subprocess.run(
        ["git", *args], cwd=repo.root, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done
    return done.stderr


def trailers(repo: Checkout) -> list[str]:
    return repo.git("log", "-1", "--format=%(trailers:key=Kl-Package,valueonly)").split()


def recall(repo: Checkout) -> dict[str, object]:
    found: dict[str, object] = json.loads(repo.kl("stats", "recall", "--format", "json").stdout)
    return found


@pytest.mark.requirement("A63", "E11")
def test_a_commit_is_compared_with_the_package_that_it_names(repo: Checkout) -> None:
    shop(repo)
    assert trailers(repo) == [], "there was no package"
    made = package(repo)
    assert repo.kl("commits", "trailer").stdout == f"Kl-Package: {made}\n"
    repo.write("src/shop/price.py", PRICE.replace("sum(prices)", "round(sum(prices), 2)"))
    repo.write("src/shop/new.py", "x = 1\n")
    sha = repo.commit("Round totals\n\nThe cents differed.")
    assert trailers(repo) == [made]
    assert repo.kl("commits", "trailer").stdout == "", "it belongs to the commit now"
    found = recall(repo)
    assert (
        found["packages"],
        found["files"],
        found["files_found"],
        found["symbols"],
        found["symbols_found"],
    ) == (
        1,
        1,
        1,
        1,
        1,
    )
    (one,) = found["compared"]  # type: ignore[misc]
    assert (one["commit"], one["package"], one["files"], one["missing"]) == (
        sha,
        made,
        ["src/shop/price.py"],
        [],
    )
    assert found["sources"]["code"]["recall"] == 100  # type: ignore[index]
    repo.git("commit", "-q", "--amend", "-m", f"Round totals again\n\nKl-Package: {made}")
    again = recall(repo)
    assert (again["packages"], again["files"]) == (1, 1), "the amended commit is the same work"
    text = repo.kl("stats", "recall").stdout
    assert (
        "1 package contained 100 % (1 of 1) of the files and 100 % (1 of 1) of the symbols" in text
    )
    memory = json.loads(repo.kl("memory", "list", "--format", "json").stdout)["records"][0]["id"]
    assert "given 1, helped 1" in repo.kl("memory", "show", memory).stdout
    explained = repo.kl("context", TASK, "--explain").stdout
    assert "  utility 0.000" in explained and "helped in 1 task\n" in explained
    assert "  utility 0" not in repo.kl("context", TASK, "--explain", "--profile", "rrf").stdout


def test_symbols_of_typescript_are_compared(repo: Checkout) -> None:
    shop(repo)
    cart = "export class Cart {\n  total(): number {\n    return 1\n  }\n}\n"
    repo.write("web/cart.ts", cart)
    repo.commit("A cart")
    package(repo, "The Cart has the wrong total")
    repo.write("web/cart.ts", cart.replace("return 1", "return 2"))
    repo.commit("Sum the lines")
    statistics = recall(repo)
    assert (statistics["symbols"], statistics["symbols_found"]) == (1, 1)


def test_what_is_missing_is_named_and_what_is_not_known_is_counted(repo: Checkout) -> None:
    shop(repo)
    made = package(repo, "unrelated helper")
    repo.write("src/shop/price.py", PRICE.replace("price\n", "price * 2\n"))
    repo.commit(f"Tax\n\nKl-Package: cp-aaaaaaaaaaaa\nkl-package: {made}")
    assert trailers(repo) == ["cp-aaaaaaaaaaaa", made], "what is there already is not added"
    package(repo, "another task: making it reads the commits")
    with repo.workspace().store.reading() as db:
        assert db is not None and db.rows("SELECT COUNT(*) FROM package_recall") == [(2,)]
    found = recall(repo)
    assert (found["packages"], found["unknown"], found["files_found"]) == (1, 1, 0)
    shown = repo.kl("stats", "recall").stdout
    assert "missing: src/shop/price.py" in shown and "1 package not compared" in shown
    assert "contained 0 % (0 of 1) of the files and 0 % (0 of 1) of the symbols" in shown


def test_messages_that_are_empty_or_git_s_own_get_no_trailer(
    repo: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop(repo)
    made = package(repo)
    repo.write("a.txt", "a\n")
    repo.git("add", "-A")
    monkeypatch.setenv("GIT_EDITOR", "true")
    assert "Aborting commit due to empty commit message" in git_error(repo, "commit", "-v")
    monkeypatch.setenv("GIT_EDITOR", "sed -i '1s/^/With an editor/'")
    repo.git("commit", "-q", "-v")
    assert repo.git("log", "-1", "--format=%B").splitlines() == [
        "With an editor",
        "",
        f"Kl-Package: {made}",
    ]
    repo.git("checkout", "-q", "-b", "side", "HEAD~1")
    repo.write("b.txt", "b\n")
    repo.commit("Side")
    assert trailers(repo) == [made], "it was made on that commit"
    repo.git("checkout", "-q", "main")
    package(repo)
    repo.git("cherry-pick", "--no-commit", "side")
    repo.git("commit", "-q", "-m", "Picked")
    repo.git("reset", "-q", "--hard", "HEAD~1")
    repo.git("merge", "-q", "--no-ff", "-m", "Merge side", "side")
    assert trailers(repo) == []


def test_it_is_installed_by_its_name_only_and_an_earlier_hook_still_decides(repo: Checkout) -> None:
    hook = repo.root / ".git/hooks/commit-msg"
    assert repo.kl("hooks", "install").returncode == 0
    assert not hook.exists() and "commit-msg" not in repo.kl("hooks", "status").stdout
    hook.write_text(
        '#!/bin/sh\ngrep -q refused "$1" && exit 1\nprintf \'\\nChange-Id: I1\\n\' >>"$1"\n'
    )
    hook.chmod(0o755)
    before = hook.read_text()
    assert repo.kl("hooks", "install", "--only", "commit-msg").returncode == 0
    assert f"installed  {hook}" in repo.kl("hooks", "status").stdout
    assert repo.kl("hooks", "install").stdout.count("unchanged") == 4
    repo.write("src/shop/price.py", PRICE)
    repo.commit("Prices")
    made = package(repo)
    repo.write("a.txt", "a\n")
    repo.git("add", "-A")
    assert git_error(repo, "commit", "-q", "-m", "refused") == ""
    repo.commit("Fine")
    assert repo.git("log", "-1", "--format=%B").splitlines()[-2:] == [
        "Change-Id: I1",
        f"Kl-Package: {made}",
    ]
    assert repo.kl("hooks", "uninstall").returncode == 0
    assert hook.read_text() == before


def test_a_hook_that_fails_blocks_no_commit(repo: Checkout) -> None:
    shop(repo)
    package(repo)
    (repo.state / "events.jsonl").write_bytes(b"\xff{}\nno json\n")
    hook = repo.root / ".git/hooks/commit-msg"
    hook.write_text(hook.read_text().replace("commits trailer", "commits unknown"))
    repo.write("a.txt", "a\n")
    repo.commit("Fine")
    assert trailers(repo) == []


def test_a_package_compared_with_what_was_touched() -> None:
    touched = Touched(frozenset({"a.py", "b.py"}), frozenset({("a.py", "A.go"), ("b.py", "f")}))
    items = [
        ["symbol", "method:pkg.a.A.go", ["a.py"], ["code"]],
        ["symbol", "function:pkg.c.f", ["c.py"], ["code", "trace"]],
        ["memory", "MEM-1", ["b.py", "d.py"], ["records"]],
        ["decision", "ADR-1", ["src/"], ["records"]],
    ]
    assert compare("s", "cp-1", "now", touched, items) == Comparison(
        "s",
        "cp-1",
        "now",
        True,
        ("a.py", "b.py"),
        (),
        2,
        1,
        {"code": SourceUse(2, 1, 1), "records": SourceUse(2, 1, 1), "trace": SourceUse(1, 0, 0)},
    )
    found = recall_statistics(
        [compare("s", "cp-1", "now", touched, items[:2]), Comparison("t", "cp-2", "now")]
    )
    assert (found["packages"], found["unknown"], found["files"], found["files_found"]) == (
        1,
        1,
        2,
        1,
    )
    assert found["sources"]["trace"] == {
        "items": 1,
        "touched": 0,
        "files": 0,
        "recall": 0,
        "utility": 0,
    }
    assert recall_statistics([])["sources"] == {}


@pytest.mark.requirement("A63", "A64", "B14")
def test_figures_of_packages(repo: Checkout) -> None:
    repo.write("src/shop/price.py", PRICE)
    repo.commit()
    assert "no package was delivered here" in repo.kl("stats").stderr
    for task in (TASK, TASK, "zzzz qqqq"):
        repo.kl("context", task, "--budget", "6000", env={"KL_AGENT": "bot", "KL_SESSION": "s1"})
    found = json.loads(repo.kl("stats", "--format", "json").stdout)
    assert (found["schema"], found["packages"], found["hits"], found["misses"]) == (
        "kl.stats/1",
        3,
        2,
        1,
    )
    assert (found["agents"], found["sessions"]) == ({"bot": 3}, 1)
    assert found["sources"]["code"]["asked"] == 3 and found["sources"]["code"]["results"] > 0
    assert found["kinds"].keys() >= {"file", "symbol"} and 0 < found["budget_percent"] < 100
    text = repo.kl("stats").stdout
    assert "packages  3 from " in text and "1 without a hit, in 1 session of agents" in text
    assert "% of the budget" in text and "\ncode " in text
    assert json.loads(repo.kl("stats", "--days", "1", "--format", "json").stdout)["packages"] == 3


def test_events_of_an_earlier_version_are_counted_as_far_as_they_go() -> None:
    old = {
        "event": "context_assembly",
        "created_at": "2026-01-02T00:00:00Z",
        "context_chars": 10,
        "assembly_ms": 7,
    }
    found = package_statistics(
        [old, {"event": "policy_decision"}, {**old, "created_at": "2026-03-01T00:00:00Z"}]
    )
    assert (found["packages"], found["first"], found["budget_percent"], found["median_ms"]) == (
        2,
        "2026-01-02T00:00:00Z",
        None,
        7,
    )
    assert package_statistics([old], since="2026-02-01")["packages"] == 0
    assert package_statistics([])["slowest_ms"] is None


def test_weights_follow_from_what_commits_touched_within_bounds_and_only_where_asked_for(
    repo: Checkout,
) -> None:
    def use(items: int, touched: int) -> SourceUse:
        return SourceUse(items, touched, touched)

    sources = {
        "records": use(4, 3),
        "pages": use(4, 0),
        "commits": use(2, 1),
        "code": use(9, 9),
        "rare": use(1, 1),
    }
    many = [
        Comparison(f"{n}" * 40, f"cp-{n}", "", True, ("a.py",), (), 0, 0, sources)
        for n in range(10)
    ]
    uses = {
        name: (counts["items"], counts["touched"])
        for name, counts in recall_statistics(many)["sources"].items()
    }
    assert suggested_weights(10, uses) == {
        "records": 115,
        "pages": 80,
        "commits": 102,
    }
    assert suggested_weights(9, uses) == {}
    shop(repo)
    with repo.workspace().store.writing() as db, db.transaction():
        rows = [(one.sha, one.package, _to_json(one)) for one in many]
        db.many("INSERT INTO package_recall (sha, package, body) VALUES (?, ?, ?)", rows)
    text = repo.kl("stats", "recall").stdout
    assert (
        "suggested weights: commits 102 %, pages 80 %, records 115 % (source_weights in"
        " .kl/config.yaml applies them)" in text
    )
    before = repo.kl("context", TASK, "--explain").stdout
    assert "% here" not in before
    repo.write(".kl/config.yaml", "version: 1\nsource_weights:\n  records: 115\n  commits: 100\n")
    after = repo.kl("context", TASK, "--explain").stdout
    assert "records weighs 115 % here" in after and "weighs 100 %" not in after
    (old,), (new,) = (re.findall(r"records (0\.\d+)", one)[:1] for one in (before, after))
    assert round(float(new) / float(old), 2) == 1.15
    assert repo.kl("context", TASK, "--explain").stdout == after


def test_a_file_that_the_policy_hides_is_in_no_statistics_of_an_agent(repo: Checkout) -> None:
    shop(repo)
    repo.write("plans/merger.py", "def merge():\n    return 1\n")
    repo.commit("plans")
    package(repo)
    repo.write("plans/merger.py", "def merge():\n    return 2\n")
    repo.write("src/shop/price.py", PRICE.replace("sum(prices)", "round(sum(prices), 2)"))
    repo.commit("Round totals")
    assert "plans/merger.py" in repo.kl("stats", "recall").stdout
    rule = "deny: {paths: ['plans/**'], actors: [agent]}"
    repo.write(".kl/policy.yaml", f"version: 1\nrules:\n  - name: plans\n    {rule}\n")
    for shape in ("text", "json"):
        done = repo.kl("stats", "recall", "--format", shape, env={"KL_AGENT": "bot"})
        assert "merger" not in done.stdout + done.stderr and "withheld" in done.stdout
