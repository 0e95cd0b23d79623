"""Approved memories age as claims do: by what they rested on when somebody approved them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support import Checkout, checkout

CART = "def total():\n    return tax()\ndef tax():\n    return 1\n"
KNOWN = "Totals have the tax in them"


@pytest.fixture
def shop(tmp_path: Path, home: Path) -> Checkout:
    shop = checkout(tmp_path / "shop", {"cart.py": CART, "rates.txt": "1\n"})
    assert (
        shop.kl(
            "memory", "add", f"{KNOWN}, by `cart.tax`.", "--about", "function:cart.total"
        ).returncode
        == 0
    )
    assert shop.kl("memory", "add", "Nobody reads these rates.", "--about", "rates.txt").stdout
    assert shop.kl("memory", "add", "Totals are in euros.").returncode == 0
    shop.commit()
    return shop


def given(shop: Checkout) -> str:
    return shop.kl("memory", "inject").stdout


def test_a_memory_is_stale_from_the_change_on_until_it_is_approved_again(shop: Checkout) -> None:
    assert KNOWN in given(shop) and "rates" in given(shop)
    shop.write("cart.py", CART.replace("return 1", "return 2"))
    sha = shop.commit()
    assert KNOWN not in given(shop) and "euros" in given(shop) and "rates" in given(shop)
    assert KNOWN not in shop.kl("context", "change the tax in cart.total").stdout
    health = json.loads(shop.kl("knowledge", "health", "--format", "json").stdout)
    ((memory, reason),) = [
        (one["id"], one["reason"]) for one in health["found"] if one["sort"] == "stale"
    ]
    assert f"stale since {sha[:7]}: tax in cart.py changed; " in reason
    assert f"kl memory approve {memory}" in reason
    assert f"It is stale: since {sha[:7]}" in shop.kl("memory", "show", memory).stdout
    assert shop.kl("memory", "approve", memory).returncode == 0
    assert KNOWN in given(shop)
    shop.write("rates.txt", "2\n")
    assert "rates" not in given(shop)
    shop.write("rates.txt", "1\n")
    assert "rates" in given(shop), "as it was approved"


def test_a_candidate_rests_on_the_files_as_they_are_when_it_is_approved(shop: Checkout) -> None:
    text = "Totals call the tax."
    added = ("memory", "add", text, "--about", "function:cart.total")
    assert shop.kl(*added, env={"KL_AGENT": "bot"}).returncode == 0
    (candidate,) = json.loads(
        shop.kl("memory", "list", "--status", "candidate", "--format", "json").stdout
    )["records"]
    shop.write("cart.py", CART.replace("return tax()", "return tax() + 0"))
    assert shop.kl("memory", "approve", candidate["id"]).returncode == 0
    assert text in given(shop)
    shop.write("cart.py", CART)
    assert text not in given(shop)
