"""Records anchored to what a task names: by path, by symbol, in a diff, in a stack trace."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support import Checkout

CART = (
    "class Basket:\n    def add(self, line):\n        return line\n\n\n"
    "def total(basket):\n    return basket.add(1)\n"
)
DIFF = (
    "diff --git a/src/shop/cart.py b/src/shop/cart.py\n--- a/src/shop/cart.py\n+++"
    " b/src/shop/cart.py\n@@ -1 +1 @@\n-x\n+y\n"
)
TRACE = (
    'Traceback (most recent call last):\n  File "/app/src/shop/cart.py", line 3, in add\n    return'
    " line\nKeyError: 1\n"
)


@pytest.fixture
def shop(repo: Checkout) -> Checkout:
    for name in ("cart", "stock"):
        repo.write(
            f"src/shop/{name}.py", CART if name == "cart" else "def count():\n    return 1\n"
        )
    repo.write("src/shop/__init__.py", "")
    repo.commit()
    return repo


def decided(repo: Checkout, title: str, governs: str) -> str:
    """An accepted decision whose words do not mention what it governs."""
    made = repo.kl(
        "decision", "new", title, "--context", "c", "--decision", "d", "--governs", governs
    )
    assert made.returncode == 0, made.stderr
    identifier = made.stdout.split()[0]
    repo.kl("decision", "accept", identifier)
    return identifier


def package(repo: Checkout, task: str) -> dict[str, Any]:
    return dict(json.loads(repo.kl("context", task, "--budget", "6000", "--format", "json").stdout))


def given(repo: Checkout, task: str) -> list[str]:
    return [str(one["id"]) for one in package(repo, task)["items"]]


@pytest.mark.slow
@pytest.mark.requirement("A24", "A31")
def test_records_come_with_a_task_that_names_what_they_are_about(shop: Checkout) -> None:
    by_path = decided(shop, "Alpha", "src/shop/cart.py")
    by_type = decided(shop, "Beta", "type:shop.cart.Basket")
    elsewhere = decided(shop, "Gamma", "src/shop/stock.py")
    failure = shop.kl("failure", "record", "Delta", "--file", "src/shop/cart.py").stdout.split()[0]
    memory = shop.kl("memory", "add", "Epsilon.", "--about", "src/shop/cart.py").stdout.split()[0]
    shop.commit()
    for task in (
        "edit src/shop/cart.py",
        "refactor Basket",
        "shop.cart.Basket",
        DIFF,
        TRACE,
        "rename cart.Basket.add",
    ):
        found = given(shop, task)
        assert {by_path, by_type, failure, memory} <= set(found), (task, found)
        assert elsewhere not in found
    assert given(shop, "refactor Basket").index(by_type) < given(shop, "refactor Basket").index(
        by_path
    )
    items = {one["id"]: one for one in package(shop, "edit src/shop/cart.py")["items"]}
    assert any(
        "governs src/shop/cart.py, and the task names src/shop/cart.py" in r
        for r in items[by_path]["reasons"]
    )
    assert "DO NOT REPEAT" in items[failure]["text"]


def test_the_governed_symbols_come_too(shop: Checkout) -> None:
    made = decided(shop, "Alpha", "src/shop/stock.py")
    decided(shop, "Beta", "type:shop.cart.Basket")
    items = {one["id"]: one for one in package(shop, "edit src/shop/stock.py")["items"]}
    assert f"governed by {made}" in items["function:shop.stock.count"]["reasons"]
    assert "type:shop.cart.Basket" in given(shop, "look at src/shop/cart.py")


def test_a_record_that_is_about_a_file_governs_none_of_its_symbols(shop: Checkout) -> None:
    failure = shop.kl("failure", "record", "Delta", "--file", "src/shop/stock.py").stdout.split()[0]
    shop.commit()
    items = {one["id"]: one for one in package(shop, "edit src/shop/stock.py")["items"]}
    reasons = items["function:shop.stock.count"]["reasons"]
    assert f"{failure} is about its file" in reasons
    assert not [reason for reason in reasons if "governed by" in reason]


@pytest.mark.slow
def test_the_nearest_three_are_given_and_the_rest_counted(shop: Checkout) -> None:
    far = [decided(shop, f"Far {n}", place) for n, place in enumerate(("src/", "src", "src/shop/"))]
    near = [
        decided(shop, f"Near {n}", place)
        for n, place in enumerate(("src/shop/cart.py", "type:shop.cart.Basket"))
    ]
    shop.commit()
    made = package(shop, "edit src/shop/cart.py")
    decisions = [one["id"] for one in made["items"] if one["kind"] == "decision"]
    assert set(decisions) == {*near, far[2]}
    assert made["omitted"]["anchored further away"] == 2
    omitted = shop.kl("context", "why", made["package_id"]).stdout.splitlines()
    assert {line.strip() for line in omitted if line.strip() in far} == set(far[:2])
    assert (
        "2 anchored further away"
        in shop.kl("context", "edit src/shop/cart.py", "--budget", "6000").stdout
    )
    shown = shop.kl("context", "edit src/shop/cart.py", "--budget", "6000").stdout
    assert shown.index(near[0]) < shown.index(far[2])


def test_a_pattern_governs_what_it_matches(shop: Checkout) -> None:
    made = decided(shop, "Alpha", "src/shop/*.py")
    assert made in given(shop, "edit src/shop/cart.py")


def test_what_is_proposed_or_disproven_is_anchored_to_nothing(shop: Checkout) -> None:
    made = shop.kl(
        "decision",
        "new",
        "Alpha",
        "--context",
        "c",
        "--decision",
        "d",
        "--governs",
        "src/shop/cart.py",
    )
    memory = shop.kl("memory", "add", "Epsilon.", "--about", "src/shop/cart.py").stdout.split()[0]
    shop.kl("memory", "disprove", memory, "--reason", "no")
    assert not {made.stdout.split()[0], memory} & set(given(shop, "edit src/shop/cart.py"))
