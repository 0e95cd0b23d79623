"""Claims that cite tests, in a repository in which pytest runs: what revives one, and what does
not.

Each case is a claim about a function that is edited; the tests run after the edit and pass.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support import Checkout, checkout

pytestmark = pytest.mark.skipif(sys.version_info < (3, 12), reason="symbols need sys.monitoring")

PRICES = "def price():\n    return 1\ndef other():\n    return 1\n"
HELPERS = "LIMIT = 9\ndef check(value, expected):\n    assert value == expected < LIMIT\n"
CONFTEST = "import pytest\n@pytest.fixture\ndef expected():\n    return 1\n"
TESTS = """\
from prices import price
from testing.helpers import check
EXPECTED = 1
def test_plain():
    assert price() == 1
def test_constant():
    assert price() == EXPECTED
def test_helper():
    check(price(), 1)
def test_fixture(expected):
    assert price() == expected
class TestPrice:
    expected = 1
    def test_method(self):
        assert price() == self.expected
"""
OTHERS = "from prices import other\ndef test_other():\n    assert other() == 1\n"
FILES = {
    "pyproject.toml": '[tool.pytest.ini_options]\npythonpath = ["."]\n',
    "prices.py": PRICES,
    "testing/__init__.py": "",
    "testing/conftest.py": CONFTEST,
    "testing/helpers.py": HELPERS,
    "testing/test_price.py": TESTS,
    "testing/test_other.py": OTHERS,
}
CITED = {
    "plain": "test_plain",
    "constant": "test_constant",
    "helper": "test_helper",
    "fixture": "test_fixture",
    "method": "TestPrice::test_method",
}


class Prices:
    """The repository; a claim for each of `CITED`, one that cites nothing, and one about another
    function.
    """

    def __init__(self, folder: Path) -> None:
        self.repo: Checkout = checkout(folder, FILES)
        self.run()
        self.ids = {
            name: self.claim(name, "function:prices.price", f"testing/test_price.py::{test}")
            for name, test in CITED.items()
        }
        self.ids["uncited"] = self.claim("uncited", "function:prices.price")
        self.ids["not executed"] = self.claim(
            "not executed", "function:prices.price", "testing/test_other.py::test_other"
        )

    def claim(self, text: str, about: str, *cited: str) -> str:
        support = [word for test in cited for word in ("--support", test)]
        done = self.repo.kl("claim", "add", text, "--about", about, *support)
        assert done.returncode == 0, done.stderr
        return done.stdout.split()[1]

    def run(self, *args: str, code: int = 0) -> None:
        done = self.repo.pytest("-q", "--kl-symbols=on", "-p", "no:cacheprovider", *args)
        assert done.returncode == code, done.stdout + done.stderr

    def edit(self, path: str, edits: Mapping[str, str]) -> None:
        text = (self.repo.root / path).read_text()
        for old, new in edits.items():
            assert old in text
            text = text.replace(old, new)
        self.repo.write(path, text)

    def states(self) -> dict[str, tuple[str, str, str]]:
        """Text of each claim → freshness, last reason, tier."""
        answer = json.loads(self.repo.kl("claim", "list", "--format", "json").stdout)
        return {
            one["text"]: (one["freshness"], one["reasons"][-1], one["tier"])
            for one in answer["claims"]
            if one["author"] != "auto"
        }


@pytest.fixture
def prices(tmp_path: Path, home: Path) -> Prices:
    return Prices(tmp_path / "prices")


@pytest.mark.slow
def test_a_test_that_was_rewritten_revives_no_claim(prices: Prices) -> None:
    """Each test states the new price, by its own words or by those of what it uses, and passes."""
    assert {state for state, _, _ in prices.states().values()} == {"current"}
    prices.edit("prices.py", {"price():\n    return 1": "price():\n    return 3"})
    prices.edit("testing/conftest.py", {"return 1": "return 3"})
    prices.edit("testing/helpers.py", {"value == expected": "value == expected + 2"})
    rewritten = {"price() == 1": "price() == 3", "EXPECTED = 1": "EXPECTED = 3"}
    prices.edit("testing/test_price.py", rewritten | {"expected = 1": "expected = 3"})
    prices.run()
    states = prices.states()
    assert {name for name, state in states.items() if state[0] == "older tree"} == states.keys()
    file, again = "testing/test_price.py", "if it still is so: kl claim confirm"
    uses = "changed, which the cited test testing/test_price.py::"
    assert {name: reason for name, (_, reason, _) in states.items() if name in CITED} == {
        "plain": f"stale: the cited test {file}::test_plain changed; {again} {prices.ids['plain']}",
        "constant": f"stale: EXPECTED in {file} {uses}test_constant uses; {again}"
        f" {prices.ids['constant']}",
        "helper": f"stale: check in testing/helpers.py {uses}test_helper uses; {again}"
        f" {prices.ids['helper']}",
        "fixture": f"stale: expected in testing/conftest.py {uses}test_fixture uses; {again}"
        f" {prices.ids['fixture']}",
        "method": f"stale: TestPrice in {file} {uses}TestPrice::test_method uses; {again}"
        f" {prices.ids['method']}",
    }
    package = prices.repo.kl("context", "change price in prices", "--budget", "6000").stdout
    assert "[inferred · current] claim:" not in package
    # a word settles it, and lifts no tier
    for name in states:
        done = prices.repo.kl("claim", "confirm", f"claim:{prices.ids[name]}")
        assert done.returncode == 0 and "  current  " in done.stdout, done.stderr
    after = prices.states()
    assert {state for state, _, _ in after.values()} == {"current"}
    assert {name: tier for name, (_, _, tier) in after.items()} == {
        name: tier for name, (_, _, tier) in states.items()
    }
    shown = prices.repo.kl("claim", "show", prices.ids["plain"]).stdout
    assert "confirmed  by " in shown
    prices.edit("prices.py", {"return 3": "return 4"})
    assert prices.states()["plain"][0] == "older tree", "it rests on what was confirmed"


@pytest.mark.slow
def test_a_test_that_is_as_it_was_revives_the_claims_that_cite_it(prices: Prices) -> None:
    """The same code in other words: what cites nothing, or a test that does not execute it, waits
    for a word.
    """
    assert {name: tier for name, (_, _, tier) in prices.states().items()} == {
        **dict.fromkeys(CITED, "inferred"),
        "uncited": "assumed",
        "not executed": "inferred",
    }
    prices.edit("prices.py", {"price():\n    return 1": "price():\n    return 2 - 1"})
    assert {name for name, state in prices.states().items() if state[0] == "older tree"} == {
        *prices.ids
    }
    # another test of the file, and what it uses, is nobody else's business
    prices.edit("testing/test_price.py", {"EXPECTED = 1\n": "import os\nEXPECTED = 1\nNEW = 2\n"})
    prices.edit(
        "testing/test_price.py",
        {"class TestPrice:": "def test_new():\n    assert os and NEW\nclass TestPrice:"},
    )
    prices.run()
    states = prices.states()
    assert {name for name, state in states.items() if state[0] == "current"} == {*CITED}
    assert "test_plain, which has not, passed in run " in states["plain"][1]
    assert states["uncited"][1].endswith(f"kl claim confirm {prices.ids['uncited']}")
    assert states["not executed"][0] == "older tree"


@pytest.mark.slow
def test_a_failing_cited_test_refutes_a_claim_and_nobody_confirms_it(prices: Prices) -> None:
    prices.edit("prices.py", {"price():\n    return 1": "price():\n    return 3"})
    prices.repo.commit()
    prices.run(code=1)
    states = prices.states()
    assert {name for name, state in states.items() if state[0] == "refuted"} == {*CITED}
    refuted = "refuted: testing/test_price.py::test_plain failed in run "
    assert states["plain"][1].startswith(refuted)
    assert states["plain"][2] == "assumed", "a test that failed supports nothing"
    listed = prices.repo.kl("claim", "list", "--stale").stdout
    assert f"{prices.ids['plain']}  refuted  plain\n" in listed and "valid" not in listed
    done = prices.repo.kl("claim", "confirm", prices.ids["plain"])
    assert done.returncode == 2 and refuted in done.stderr and "kl claim add" in done.stderr, (
        done.stderr
    )
    package = prices.repo.kl("context", "change price in prices", "--budget", "6000").stdout
    assert f"[refuted] claim:{prices.ids['plain']}" in package
    derived = prices.repo.kl("claim", "list", "--about", "test:testing/test_other.py::test_other")
    assert "current" in derived.stdout
    # what did not run again is transferred
    prices.edit("prices.py", {"return 3": "return 4"})
    derived = prices.repo.kl("claim", "list", "--about", "test:testing/test_other.py::test_other")
    assert "transferred" in derived.stdout


@pytest.mark.slow
def test_a_claim_that_a_cited_test_refutes_is_refuted_from_the_start(prices: Prices) -> None:
    prices.edit("prices.py", {"other():\n    return 1": "other():\n    return 2"})
    prices.run(code=1)
    cited = ["testing/test_price.py::test_plain", "testing/test_other.py::test_other"]
    words = ["claim", "add", "both are one", "--about", "file:prices.py"]
    words += [word for test in cited for word in ("--support", test)]
    answer = json.loads(prices.repo.kl(*words, "--format", "json").stdout)
    assert answer["freshness"] == "refuted"
    assert "testing/test_other.py::test_other failed in run" in answer["reasons"][-1]
    printed = prices.repo.kl(*words).stdout
    assert f"claim {answer['id']}  refuted  both are one\n" in printed
    assert "refuted: testing/test_other.py::test_other failed" in printed
    assert f"claim  {answer['id']}  refuted" in prices.repo.kl("knowledge", "search", "both").stdout


@pytest.mark.slow
def test_a_failure_that_ended_a_run_refutes_the_claims_that_cite_it(prices: Prices) -> None:
    """`pytest -x` stops there: that run has no end, so it is compared with no other content."""
    prices.edit("prices.py", {"price():\n    return 1": "price():\n    return 3"})
    prices.run("-x", "testing/test_price.py", code=1)
    states = prices.states()
    assert states["plain"][0] == "refuted"
    assert "test_plain failed in run" in states["plain"][1] and "changed" not in states["plain"][1]
    # nothing ran it on this content
    assert states["constant"][0] == "older tree"


@pytest.mark.slow
@pytest.mark.sweep
def test_an_agent_s_confirmation_is_worth_an_agent_s_word(prices: Prices) -> None:
    prices.edit("prices.py", {"price():\n    return 1": "price():\n    return 3"})
    call = ("tool", "--allow-write", "claim_confirm", json.dumps({"id": prices.ids["uncited"]}))
    done = prices.repo.kl(*call, env={"KL_AGENT": "bot"})
    assert done.returncode == 0, done.stderr
    assert prices.states()["uncited"][0] == "current"
    package = prices.repo.kl(
        "context", "change price in prices: uncited", "--budget", "6000"
    ).stdout
    assert f"[assumed · current · agent] claim:{prices.ids['uncited']}" in package
    assert "confirmed by agent:bot on " in package
    # a person's word on the same content takes its place, and an agent's adds nothing to that
    prices.repo.kl("claim", "confirm", prices.ids["uncited"])
    prices.repo.kl("claim", "confirm", prices.ids["uncited"], env={"KL_AGENT": "bot"})
    assert "agent:bot" not in prices.repo.kl("claim", "show", prices.ids["uncited"]).stdout
    assert prices.repo.kl("evidence", "verify").returncode == 0


@pytest.mark.slow
def test_a_parametrized_test_is_cited_by_its_function(tmp_path: Path, home: Path) -> None:
    text = (
        "import pytest\n@pytest.mark.parametrize('n', {})\ndef test_case(n):\n    assert n\n"
        "def test_other():\n    pass\n"
    )
    repo = checkout(tmp_path / "cases", {"test_a.py": text.format([1, 2])})
    assert repo.pytest("-q").returncode == 0
    repo.write("test_a.py", text.format([2, 3]))
    assert repo.pytest("-q").returncode == 0
    # a run of a part does not decide which cases there are
    assert repo.pytest("-q", "test_a.py::test_case[3]").returncode == 0

    def cite(test: str) -> tuple[list[str], str]:
        done = repo.kl(
            *("claim", "add", test, "--about", "file:test_a.py", "--support", test),
            *("--format", "json"),
        )
        return json.loads(done.stdout)["cites"] if done.stdout else [], done.stderr

    cases = ["test:test_a.py::test_case[2]", "test:test_a.py::test_case[3]"]
    assert cite("test_a.py::test_case") == (cases, "")
    cited, problem = cite("test_a.py::test_case[4]")
    assert not cited
    assert "Recorded are: test_a.py::test_case[2], test_a.py::test_case[3]" in problem
    assert "Cite a decision" in cite("test_a.py::test_none")[1]
