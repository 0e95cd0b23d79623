"""Claims that somebody made: stale when what they rest on changes, current again by what they cite
or by somebody's word.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.evidence.making import leave_run
from tests.proof.recorded import run_program
from tests.support import NOW, Checkout, checkout

CART = """\
RATE = 1
class Cart:
    size = 1
    def add(self):
        return self.size
def total():
    return tax() + RATE
def tax():
    return 1
def unused():
    return 0
"""
TESTS = """\
from cart import Cart, total
def test_total():
    return total()
def test_add():
    return Cart().add()
"""
TOTAL = "function:cart.total"


class Shop:
    """A repository with two tests, in which claims are made."""

    def __init__(self, folder: Path) -> None:
        self.repo: Checkout = checkout(
            folder, {"cart.py": CART, "test_cart.py": TESTS, "rates.txt": "1\n"}
        )
        self.runs = 0

    def run(self, outcome: str = "passed") -> None:
        """The tests run on what is on disk, a second after the last run."""
        self.runs += 1
        files = {path.name: path.read_text() for path in sorted(self.repo.root.glob("*.py"))}
        executed, ends = run_program(files)
        results = [(name, outcome, 5) for name in ends if "::" in name]
        leave_run(self.repo.workspace(NOW + self.runs * 1_000_000), results, executed=executed)

    def claim(self, text: str, about: str, *more: str) -> None:
        done = self.repo.kl("claim", "add", text, "--about", about, *more)
        assert done.returncode == 0, done.stderr

    def edit(self, old: str, new: str, path: str = "cart.py") -> None:
        text = (self.repo.root / path).read_text()
        assert old in text
        self.repo.write(path, text.replace(old, new))

    def now(self) -> dict[str, tuple[str, str]]:
        """Text of each claim that was made → freshness, last reason."""
        found = json.loads(self.repo.kl("claim", "list", "--all", "--format", "json").stdout)[
            "claims"
        ]
        return {
            one["text"]: (one["freshness"], one["reasons"][-1])
            for one in found
            if one["author"] != "auto"
        }

    def ids(self) -> dict[str, str]:
        """Text of each claim that was made → its ID."""
        claims = json.loads(self.repo.kl("claim", "list", "--all", "--format", "json").stdout)
        return {one["text"]: one["id"] for one in claims["claims"] if one["author"] != "auto"}

    def stale(self) -> set[str]:
        return {text for text, (freshness, _) in self.now().items() if freshness == "older tree"}


@pytest.fixture
def shop(tmp_path: Path, home: Path) -> Shop:
    return Shop(tmp_path / "shop")


@pytest.mark.requirement("A16")
def test_a_claim_is_stale_from_the_change_on_and_current_by_a_later_green_run(shop: Shop) -> None:
    shop.run()
    shop.claim("adds the tax", TOTAL, "--support", "test_cart.py::test_total")
    assert shop.now()["adds the tax"] == (
        "current",
        "nothing that it rests on has changed since it was made",
    )
    shop.edit("def unused", "# a comment\ndef unused")
    shop.repo.commit()
    assert not shop.stale()
    shop.edit("tax() + RATE", "RATE + tax()")
    assert (
        shop.now()["adds the tax"][1]
        == "stale: total in cart.py changed; re-verify: pytest test_cart.py::test_total"
    )
    sha = shop.repo.commit()
    stale = (
        f"stale since {sha[:7]}: total in cart.py changed; re-verify: pytest"
        " test_cart.py::test_total"
    )
    for _ in range(2):
        assert shop.now()["adds the tax"] == ("older tree", stale), "reading makes nothing fresh"
    assert (
        f"stale: inferred on an older tree  adds the tax\n{'':<18}{stale}\n"
        in shop.repo.kl("claim", "list").stdout
    )
    status = shop.repo.kl("status").stdout
    assert "  claims    1 of 1 asserted claim stale: kl claim list --stale\n" in status
    assert shop.repo.kl("claim", "list", "--stale").stdout.count("adds the tax") == 1
    package = shop.repo.kl("context", "why does cart.total add the tax", "--budget", "6000").stdout
    assert "claim inferred, stale" in package and stale in package
    shop.run("failed")
    refuted = shop.now()["adds the tax"]
    assert refuted[0] == "refuted"
    assert refuted[1].startswith("refuted: test_cart.py::test_total failed in run ")
    listed = shop.repo.kl("claim", "list", "--stale").stdout
    assert "  refuted  adds the tax\n" in listed and "valid" not in listed
    shop.run()
    # it failed and passed on one content: that it passed shows nothing
    assert shop.now()["adds the tax"] == ("older tree", stale)
    assert (
        "not proven: 1 of 1 changed symbols"
        in shop.repo.kl("verify", "--require", "proven", "--changed", "HEAD~1").stdout
    )
    assert "only flaky tests passed" in shop.repo.kl("verify").stdout
    shop.edit("RATE + tax()", "(RATE + tax())*1")
    shop.run()
    fresh = shop.now()["adds the tax"]
    assert fresh[0] == "current" and fresh[1].startswith(
        f"total in cart.py changed in {sha[:7]}, and test_cart.py::test_total, which has "
        "not, passed"
    )
    assert "  claims    " not in shop.repo.kl("status").stdout
    shop.edit("(RATE + tax())*1", "RATE + tax()")
    shop.edit("RATE + tax()", "tax() - RATE")
    assert shop.stale() == {"adds the tax"}
    shop.edit("tax() - RATE", "tax() + RATE")
    shop.run()
    assert shop.now()["adds the tax"] == (
        "current",
        "nothing that it rests on has changed since it was made",
    )


def test_a_claim_rests_on_what_it_names_and_on_the_tests_that_it_cites(shop: Shop) -> None:
    shop.run()
    shop.claim("symbol", TOTAL)
    shop.claim("calls `tax`, as `cart.Cart` does", TOTAL)
    shop.claim("class", "type:cart.Cart")
    shop.claim("module", "namespace:cart")
    shop.claim("file", "file:cart.py")
    shop.claim("data", "rates.txt")
    shop.claim("test", "test:test_cart.py::test_add")
    shop.claim("cited", "layer:core", "--support", "test_cart.py::test_total")
    assert (
        "is not in the files here"
        in shop.repo.kl("claim", "add", "?", "--about", "function:cart.nothing").stderr
    )
    assert (
        shop.repo.kl(
            "claim", "add", "?", "--about", TOTAL, "--support", "test_cart.py::test_no"
        ).returncode
        == 2
    )
    whole = {"module", "file"}
    names = "calls `tax`, as `cart.Cart` does"
    for old, new, path, expected in (
        (
            "def tax():\n    return 1",
            "def tax():\n    return 2",
            "cart.py",
            {names, "cited", *whole},
        ),
        ("return self.size", "return 1", "cart.py", {names, "class", *whole}),
        ("size = 1", "size = 2", "cart.py", {names, "class", *whole}),
        ("RATE = 1", "RATE = 2", "cart.py", {"cited", *whole}),
        ("def total():", "def total(x=0):", "cart.py", {"symbol", names, "cited", *whole}),
        ("def unused():\n    return 0\n", "", "cart.py", whole),
        ("return Cart().add()", "return Cart()", "test_cart.py", {"test"}),
        ("1", "2", "rates.txt", {"data"}),
    ):
        before = (shop.repo.root / path).read_text()
        shop.edit(old, new, path)
        assert shop.stale() == expected, old
        shop.repo.write(path, before)
    assert shop.now()["?"] == ("not assessed", "nobody has observed it")
    shop.repo.git("mv", "cart.py", "basket.py")
    shop.repo.commit()
    # the tests can't import it any more; what it defines is the same in the only file with that
    # content
    assert shop.stale() == {"cited"}
    shop.repo.write("basket.py", "def (\n")
    assert shop.now()["symbol"] == (
        "older tree",
        (
            f"stale since {shop.repo.git('rev-parse', 'HEAD')[:7]}: total in cart.py was removed; "
            f"if it still is so: kl claim confirm {shop.ids()['symbol']}"
        ),
    )
    shop.repo.write("cart.py", "def (\n")
    assert shop.now()["symbol"][0] == "not assessed"
    assert shop.now()["symbol"][1].startswith("not assessed: cart.py can't be read: ")


def test_a_cited_test_that_was_renamed_or_removed_is_no_command_to_run(shop: Shop) -> None:
    shop.run()
    shop.claim("cited", TOTAL, "--support", "test_cart.py::test_total")
    shop.edit("tax() + RATE", "RATE + tax()")
    shop.edit("def test_total", "def test_sum", "test_cart.py")
    assert shop.now()["cited"][1].endswith("re-verify: pytest test_cart.py::test_sum")
    states = shop.repo.kl("verify", "--require", "proven").stdout
    assert "cart.test_sum: it has not run yet" in states and "needs a test" not in states, states
    assert "hint: pytest test_cart.py::test_sum\n" in states and "test_total" not in states, states
    shop.run()
    assert shop.now()["cited"][0] == "current"
    shop.edit("def test_sum():\n    return total()\n", "", "test_cart.py")
    assert "no test takes its place; if it still is so: " in shop.now()["cited"][1]
    assert shop.repo.kl("claim", "confirm", shop.ids()["cited"]).returncode == 0
    assert shop.now()["cited"][0] == "current", "it cites what is there no more no more"


def test_a_run_from_before_the_claim_does_not_make_it_current(shop: Shop) -> None:
    shop.edit("tax() + RATE", "RATE + tax()")
    files = {"cart.py": (shop.repo.root / "cart.py").read_text(), "test_cart.py": TESTS}
    before = shop.repo.workspace(1_600_000_000_000_000)
    leave_run(before, [("test_cart.py::test_total", "passed", 5)], executed=run_program(files)[0])
    shop.edit("RATE + tax()", "tax() + RATE")
    shop.claim("adds the tax", TOTAL, "--support", "test_cart.py::test_total")
    shop.edit("tax() + RATE", "RATE + tax()")
    assert shop.stale() == {"adds the tax"}
    shop.run()
    assert not shop.stale()


def test_history_that_was_rewritten_takes_the_date_of_the_change_and_nothing_else(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FILTER_BRANCH_SQUELCH_WARNING", "1")
    shop.repo.commit()
    shop.claim("adds the tax", TOTAL)
    shop.edit("tax() + RATE", "RATE + tax()")
    shop.repo.commit()
    shop.repo.git("filter-branch", "-f", "--msg-filter", "sed s/change/other/", "HEAD")
    shop.repo.git("update-ref", "-d", "refs/original/refs/heads/main", ok=False)
    shop.repo.git("update-ref", "-d", "refs/original/refs/heads/master", ok=False)
    shop.repo.git("reflog", "expire", "--expire=now", "--all")
    shop.repo.git("gc", "-q", "--prune=now")
    assert shop.now()["adds the tax"] == (
        "older tree",
        (
            "stale: total in cart.py changed; if it still is so: kl claim confirm"
            f" {shop.ids()['adds the tax']}"
        ),
    )


def test_a_short_id_of_a_decision_finds_claims_however_they_name_it(shop: Shop) -> None:
    shop.repo.kl("decision", "new", "Cents", "--context", "c", "--decision", "d")
    shop.claim("one", "ADR-1")
    shop.claim("two", "adr:ADR-0001")
    for about in ("ADR-1", "adr-0001", "ADR-0001", "adr:ADR-0001", "adr:ADR-1"):
        found: Any = json.loads(
            shop.repo.kl("claim", "list", "--about", about, "--format", "json").stdout
        )
        assert {one["text"] for one in found["claims"]} == {"one", "two"}, about


def test_a_claim_about_what_is_not_there_is_not_assessed(shop: Shop) -> None:
    about = ("--about", "function:cart.subtotal")
    assert shop.repo.kl("claim", "add", "adds up, as `cart.total` does", *about).returncode == 0
    freshness, reason = shop.now()["adds up, as `cart.total` does"]
    assert (freshness, "function:cart.subtotal was not in the files" in reason) == (
        "not assessed",
        True,
    )
    assert shop.repo.kl("claim", "list", "--stale").stdout.strip() == "no claim is stale."
