"""Names of symbols in records: what the graph knows becomes an ID, and what it does not is
named.
"""

from __future__ import annotations

import json

import pytest

from tests.support import Checkout

CART = "class Cart:\n    def total(self) -> int:\n        return 1\n\n\nclass Basket:\n    pass\n"
DECISION = ("--context", "Two of them.", "--decision", "One.")
FILE = "shop/cart.py"


@pytest.fixture
def shop(repo: Checkout) -> Checkout:
    repo.write("shop/__init__.py", "")
    repo.write(FILE, CART)
    repo.write("shop/other.py", "class Basket:\n    pass\n")
    assert repo.kl("init", "--yes").returncode == 0
    repo.commit()
    return repo


def governed(shop: Checkout, decision: str = "ADR-0001") -> list[str]:
    shown = shop.kl("decision", "show", decision, "--format", "json").stdout
    names: list[str] = json.loads(shown)["fields"]["governs"]
    return names


@pytest.mark.requirement("A21")
def test_the_name_of_one_symbol_becomes_its_id_and_links_to_it(shop: Checkout) -> None:
    done = shop.kl("decision", "new", "One cart", *DECISION, "--governs", "Cart", "--governs", FILE)
    assert done.returncode == 0 and "nothing here" not in done.stderr
    assert governed(shop) == ["type:shop.cart.Cart", FILE]
    assert "adr_governs in adr:ADR-0001" in shop.kl("graph", "show", "Cart").stdout
    done = shop.kl("decision", "edit", "ADR-0001", "--governs", "Cart.total")
    assert done.returncode == 0, done.stderr
    assert governed(shop) == ["method:shop.cart.Cart.total"]


def test_a_memory_about_a_name_is_about_the_symbol(shop: Checkout) -> None:
    added = shop.kl(
        "memory", "add", "Carts are never empty.", "--about", "Cart", "--format", "json"
    )
    memory = json.loads(added.stdout)
    assert (
        memory["fields"]["about"] == ["type:shop.cart.Cart"] and "nothing here" not in added.stderr
    )
    shop.kl("memory", "edit", memory["id"], "--about", "Cart.total", "--about", FILE)
    shown = json.loads(shop.kl("memory", "show", memory["id"], "--format", "json").stdout)
    assert shown["fields"]["about"] == ["method:shop.cart.Cart.total", FILE]


def test_an_ambiguous_name_is_refused_with_its_candidates_and_nothing_is_written(
    shop: Checkout,
) -> None:
    done = shop.kl("decision", "new", "One basket", *DECISION, "--governs", "Basket")
    assert done.returncode == 2
    assert "type:shop.cart.Basket" in done.stderr and "type:shop.other.Basket" in done.stderr
    assert not list((shop.root / ".kl/knowledge/decisions").glob("ADR-*"))


@pytest.mark.parametrize("name", ["Carrt", "type:shop.cart.Carrt", "shop/planned.py"])
def test_a_name_that_means_nothing_is_recorded_noted_and_named_by_the_check(
    shop: Checkout, name: str
) -> None:
    assert shop.kl("graph", "build").returncode == 0
    done = shop.kl("decision", "new", "One cart", *DECISION, "--governs", name)
    bare = name.rpartition(":")[2]
    assert f"nothing here has this name: {bare}. It was recorded all the same." in done.stderr
    check = shop.kl("knowledge", "check")
    assert f"there is no {bare} yet." in check.stderr, "a proposed decision is checked, too"
    shop.kl("decision", "reject", "ADR-0001")
    assert "there is no" not in shop.kl("knowledge", "check").stderr


def test_a_name_that_is_too_long_for_a_file_is_a_name_of_nothing(shop: Checkout) -> None:
    name = "x" * 300
    new = ("decision", "new", "Long", *DECISION, "--governs", name)
    for command in (new, ("memory", "add", "Carts are never empty.", "--about", name)):
        done = shop.kl(*command)
        assert done.returncode == 0, done.stderr[-200:]
        assert "nothing here has this name" in done.stderr
    page = ".kl/knowledge/decisions/ADR-0001-long.md"
    text = (shop.root / page).read_text()
    shop.write(page, f"{text}\nSee [that]({name}.md) and `{name}/{name}.py`.\n")
    listed = shop.kl("decision", "list")
    assert "ADR-0001" in listed.stdout and "may be old" not in listed.stderr
    asked = shop.kl("context", f"make shop/{name}.py faster")
    assert asked.returncode == 0 and "failed" not in asked.stderr


def test_what_is_hidden_from_an_agent_is_as_absent_in_the_answers_to_names(shop: Checkout) -> None:
    rule = f"{{name: cart, deny: {{paths: ['{FILE}'], actors: [agent]}}}}"
    shop.write(".kl/policy.yaml", f"version: 1\nrules:\n  - {rule}\n")
    shop.write("shop/other.py", "class Basket:\n    pass\n\n\nclass CART:\n    pass\n")

    def decide(name: str) -> tuple[int, str]:
        new = ("decision", "new", "One", *DECISION, "--governs", name)
        done = shop.kl(*new, env={"KL_AGENT": "bot"})
        return done.returncode, done.stderr.replace(name, "NAME")

    # of two the one that is shown, also where the hidden one fits better
    assert decide("Basket")[0] == decide("Cart")[0] == 0
    assert governed(shop) == ["type:shop.other.Basket"]
    assert governed(shop, "ADR-0002") == ["type:shop.other.CART"]
    hidden, absent = decide("total"), decide("totem")
    assert hidden[1] == absent[1].replace("0004", "0003") and "nothing here has" in hidden[1]
    assert decide("type:shop.cart.Cart")[0] == 0
    assert "nothing here" not in decide("type:shop.cart.Carrt")[1]


def test_whoever_names_ids_and_paths_does_not_wait_for_a_graph(shop: Checkout) -> None:
    ws = shop.workspace()
    ws.state.graph.unlink(missing_ok=True)
    for name in (FILE, "type:shop.cart.Carrt"):
        done = shop.kl("decision", "new", "One", *DECISION, "--governs", name)
        assert done.returncode == 0 and "nothing here" not in done.stderr
    with shop.workspace().store.reading("graph") as db:
        assert db is None or not db.rows("SELECT 1 FROM files")


@pytest.mark.requirement("A21")
def test_the_answer_to_a_new_decision_states_that_nobody_is_given_it_yet(shop: Checkout) -> None:
    done = shop.kl("decision", "new", "One cart", *DECISION)
    assert (
        "is given to nobody until a person accepts it: kl decision accept ADR-0001" in done.stderr
    )
    shop.kl("decision", "accept", "ADR-0001")
    later = shop.kl("decision", "new", "Two carts", *DECISION, "--supersedes", "ADR-0001")
    assert "ADR-0001 stays in force until a person accepts ADR-0002" in later.stderr
