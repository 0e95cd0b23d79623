"""A document is stale where code that it names was changed, moved or removed after it was
written.
"""

from __future__ import annotations

import json

import pytest

from tests.support import Checkout

CODE = """def total(a):
    return a


def refund(a):
    return -a


def cancel(a):
    return 0


def keep_all(a):
    return a
"""


@pytest.mark.requirement("D43")
def test_a_document_is_stale_where_the_code_that_it_names_changed(repo: Checkout) -> None:
    repo.write("src/shop/basket.py", CODE)
    repo.write(
        "docs/basket.md",
        "# Basket\n\nCall `total`, `shop.basket.refund`, `cancel` or `keep_all`;"
        " never `numpy`, `sys.refund` or `shop.cancel`.\n",
    )
    repo.commit()
    assert "no document is stale" in repo.kl("document", "list", "--stale").stdout
    # total is changed, refund moved, cancel removed; of keep_all only a comment is new
    changed = "def total(a):\n    return a + 1\n\n\ndef keep_all(a):  # so\n    return a\n"
    repo.write("src/shop/basket.py", changed)
    repo.write("src/shop/money.py", "def refund(a):\n    return -a\n")
    repo.commit()
    shown = json.loads(repo.kl("document", "show", "docs/basket.md", "--format", "json").stdout)
    assert [(one["written"], one["symbol"], one["state"]) for one in shown["mentions"]] == [
        ("cancel", "", "removed"),
        ("keep_all", "function:shop.basket.keep_all", ""),
        ("shop.basket.refund", "", "removed"),
        ("total", "function:shop.basket.total", "changed"),
    ]
    assert "total (src/shop/basket.py) was changed" in repo.kl("document", "list", "--stale").stdout
    assert (
        "[stale: cancel (no such symbol) was removed]"
        in repo.kl("search", "call", "--freshness").stdout
    )
    repo.write("docs/basket.md", "# Basket\n\nCall `total` or `refund`.\n")
    # not committed: as it is now
    assert "no document is stale" in repo.kl("document", "list", "--stale").stdout
    repo.commit()
    assert "no document is stale" in repo.kl("document", "list", "--stale").stdout
    (repo.root / "src/shop/money.py").rename(repo.root / "src/shop/cash.py")
    repo.commit()
    assert "refund (src/shop/cash.py) was moved" in repo.kl("document", "list", "--stale").stdout
