"""Replay: past commits as tasks, seen from their parents only."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kl_hooks.context.replay import KL, METHODS, Replay, difference, find_tasks, losses, mean, scrub
from kl_hooks.git.repository import Repository
from tests.support import Checkout, checkout

START = {
    "src/shop/price.py": (
        "def round_total(cents):\n    return cents\n\n\ndef tax(cents):\n    return cents // 5\n"
    ),
    "src/shop/mail.py": (
        "def send_mail(to):\n    return to\n\n\nclass Letter:\n    def body(self):\n       "
        " return 1\n"
    ),
    "tests/test_price.py": "def test_round():\n    pass\n",
}


@pytest.fixture
def repo(tmp_path: Path, home: Path) -> Checkout:
    made = checkout(tmp_path / "shop", START, kl=False)
    made.write(
        "src/shop/price.py",
        START["src/shop/price.py"].replace("return cents\n", "return round(cents)\n"),
    )
    made.commit(
        "Round the total of a checkout half up (#12)\n\nIn src/shop/price.py; see"
        " https://example.org/12"
    )
    made.write("src/shop/mail.py", START["src/shop/mail.py"].replace("return 1", "return 2"))
    made.commit("The body of a letter greets the customer politely")
    made.write("tests/test_price.py", "def test_round():\n    assert True\n")
    made.commit("A test of rounding that checks more than before")
    made.write("README.md", "text\n")
    made.commit("Describe the shop in a few more words")
    return made


def repository(made: Checkout) -> Repository:
    found = made.workspace().repo
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ("Fix rounding (#12)", "Fix rounding"),
        ("Revert 1a2b3c4d5e and a/b/c.py and setup.py", "Revert and and"),
        ("See https://example.org/x\n\nSigned-off-by: Ada <a@example.org>", "See"),
        ("Keep dotted.names and snake_case", "Keep dotted.names and snake_case"),
    ],
)
def test_what_only_the_author_knows_is_scrubbed(message: str, text: str) -> None:
    assert scrub(message) == text


def test_tasks_are_commits_that_change_existing_source(repo: Checkout) -> None:
    tasks = find_tasks(repository(repo), 100, 100, 0)
    assert sorted(task.text.splitlines()[0] for task in tasks) == [
        "Round the total of a checkout half up",
        "The body of a letter greets the customer politely",
    ]
    assert not any("price.py" in task.text or "12" in task.text for task in tasks)
    assert find_tasks(repository(repo), 100, 1, 3) == find_tasks(repository(repo), 100, 1, 3)


def test_the_answer_is_what_the_commit_changed(repo: Checkout) -> None:
    tasks = find_tasks(repository(repo), 100, 100, 0)
    replay = Replay(repository(repo), "shop")
    done = {min(one.task.files): one for one in map(replay.replay, tasks)}
    price, mail = done["src/shop/price.py"], done["src/shop/mail.py"]
    assert {one.rpartition(".")[2] for one in price.symbols} == {"round_total"}
    assert {one.rpartition(".")[2] for one in mail.symbols} == {"body"}
    assert (price.named, mail.named) == (False, True)
    assert mail.results.keys() == set(METHODS)
    assert mail.results[KL].recall == {1: 1.0, 5: 1.0, 10: 1.0}
    assert mail.results[KL].delivered[1000] == (1.0, 1.0)
    assert mail.results["history"].recall[10] == 0.0, (
        "the commit itself is not in the history of its parent"
    )
    assert losses([price, mail]) == []
    assert mean([price, mail], KL).recall[10] == 1.0
    assert difference([price, mail], "history", 10, 0) == (1.0, 1.0, 1.0)


def test_commits_in_typescript_and_rust_are_tasks_too(tmp_path: Path, home: Path) -> None:
    files = {
        "web/cart.ts": "import { round } from './price'\nexport class Cart {\n"
        "  total(): number {\n    return round(1)\n  }\n}\n",
        "web/price.ts": "export function round(n: number) {\n  return n\n}\n",
        "web/price.test.ts": "it('rounds', () => {})\n",
        "src/lib.rs": "pub mod letters {\n    pub fn greet() -> u8 {\n        1\n    }\n}\n",
        "Cargo.toml": '[package]\nname = "shop"\n',
        "package.json": "{}\n",
    }
    shop = checkout(tmp_path / "shop", files, kl=False)
    shop.write("web/cart.ts", files["web/cart.ts"].replace("round(1)", "round(2)"))
    shop.write("web/price.test.ts", "it('rounds half up', () => {})\n")
    shop.commit("Totals of the cart in cart.ts are rounded twice")
    shop.write("src/lib.rs", files["src/lib.rs"].replace("1", "2"))
    shop.commit("The letters greet politely at last")
    repo = repository(shop)
    replayed = [Replay(repo, "shop").replay(task) for task in find_tasks(repo, 100, 100, 0)]
    assert {replayed_task.task.text: replayed_task.symbols for replayed_task in replayed} == {
        "Totals of the cart in are rounded twice": {"method:web/cart.ts#Cart.total"},
        "The letters greet politely at last": {"function:src/lib.rs#letters.greet"},
    }
    assert [replayed_task.task.tests for replayed_task in replayed if replayed_task.task.tests] == [
        {"web/price.test.ts"}
    ]
    assert all(replayed_task.results[KL].recall[1] == 1.0 for replayed_task in replayed)
    assert all(
        replayed_task.results[KL].delivered[1000] == (1.0, 1.0) for replayed_task in replayed
    )
    code = Replay(repo, "shop").code("HEAD")
    assert code.importers(["web/price.ts"]) == {"web/price.ts": {"web/cart.ts"}}
    assert code.outermost(["Cart", "total"]) == {"Cart": ["web/cart.ts"]}
    assert code.definitions(["total", "greet"]) == {
        "total": ["web/cart.ts"],
        "greet": ["src/lib.rs"],
    }


def test_the_command(repo: Checkout, tmp_path: Path) -> None:
    before = repo.git("status", "--porcelain", "--ignored")
    done = repo.kl("context", "replay", "--last", "50")
    assert done.returncode == 0, done.stderr
    assert (
        "All tasks: 2 tasks\n" in done.stdout and "The message names none: 1 task\n" in done.stdout
    )
    assert "  kl context        100.0%  100.0%  100.0%   100.0%   100.0% 100.0%" in done.stdout
    assert "Fewer than 30 tasks: differences between the rows may be chance." in done.stdout
    assert "not among the first ten of kl context in 0 of 2 tasks" in done.stdout
    assert "than BM25" not in done.stdout, "no interval for a handful of tasks"
    assert repo.git("status", "--porcelain", "--ignored") == before
    shown = json.loads(
        repo.kl("context", "replay", "--repo", str(repo.root), "--format", "json").stdout
    )
    assert (shown["schema"], shown["briefs"]) == ("kl.replay/3", [])
    assert shown["groups"][0]["methods"][KL]["R@10"] == 1.0
    assert shown["losses"] == []


def test_briefs_of_past_commits_are_graded_by_files_and_by_the_test_file(
    tmp_path: Path, home: Path
) -> None:
    files = {
        **START,
        "tests/test_price.py": (
            "from shop.price import round_total\n\n\ndef test_round():\n    round_total(1)\n"
        ),
        "tests/test_mail.py": "def test_mail():\n    pass\n",
    }
    made = checkout(tmp_path / "shop", files, kl=False)
    price, test = "src/shop/price.py", "tests/test_price.py"
    made.write(price, files[price].replace("return cents\n", "return round(cents)\n"))
    made.write(test, f"{files[test]}    assert True\n")
    made.commit("Let round_total round the cents half up")
    done = made.kl("context", "replay", "--briefs", "--format", "json")
    assert done.returncode == 0, done.stderr
    small, large = json.loads(done.stdout)["briefs"]
    assert (small["tokens"], large["tokens"]) == (500, 1000)
    for figures in (small, large):
        assert (figures["tasks"], figures["tasks_with_tests"]) == (1, 1)
        assert (figures["file_recall"], figures["symbol_recall"]) == (1.0, 1.0)
        assert figures["test_file_named"] == 1.0
        assert figures["file_precision"] == round(1 / figures["files_named"], 4)
    table = made.kl("context", "replay", "--briefs").stdout
    assert "The brief that a prompt brings: 1 task, of which 1 changed a test file" in table
    assert not (made.root / ".kl").exists(), "the checkout of the parent is a temporary one"


def test_a_task_that_begins_so_is_pointed_out(repo: Checkout) -> None:
    done = repo.kl("context", "replay", "failed", "requests")
    assert done.returncode == 2
    assert "kl context -- replay failed requests" in done.stderr


def test_a_repository_without_a_task(tmp_path: Path, home: Path) -> None:
    made = checkout(tmp_path / "empty", {"a.txt": "1\n"}, kl=False)
    done = made.kl("context", "replay")
    assert done.returncode == 0
    assert "no commit here is a task" in done.stderr
