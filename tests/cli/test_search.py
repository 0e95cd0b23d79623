"""`kl search` from outside: documents, records and code in one list, and nothing that may not be shown."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support import Checkout

AGENT = {"CLAUDECODE": "1"}


@pytest.fixture
def shop(repo: Checkout) -> Checkout:
    repo.write("src/shop/refund.py", '"""Refunds."""\n\n\ndef refund_order(order):\n    """Give the money back."""\n')
    repo.write("docs/refunds.md", "# Refunds\n\nHow money comes back.\n\n## Partial refunds\n\nCall `refund_order`.\n")
    repo.write("docs/private/refunds.md", "# Private refunds\n\nThe refund of the boss.\n")
    repo.write("README.md", "# Shop\n\nSells things.\n")
    repo.kl("decision", "new", "Refund within a day", "--context", "c", "--decision", "Each refund is paid in a day.")
    repo.kl("decision", "accept", "ADR-0001")
    repo.commit()
    return repo


def ask(repo: Checkout, *args: str, env: dict[str, str] | None = None) -> dict[str, Any]:
    done = repo.kl("search", *args, "--format", "json", env=env)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.requirement("D20", "E3")
def test_documents_records_and_code_are_one_list(shop: Checkout) -> None:
    found = ask(shop, "how do I refund an order", "--explain")
    assert found["counts"] == {"document": 3, "record": 1, "code": 2}
    assert found["total"] == 6 and len(found["results"]) == 6
    by_id = {one["id"]: one for one in found["results"]}
    assert by_id.keys() >= {"ADR-0001", "function:shop.refund.refund_order", "file:docs/refunds.md#L7-L7"}
    passage = by_id["file:docs/refunds.md#L7-L7"]
    assert passage["heading"] == ["Partial refunds"] and passage["title"] == "Refunds › Partial refunds"
    start, end = passage["snippet"]["matches"][0]
    assert (passage["line"], passage["snippet"]["text"][start:end]) == (7, "refund_order")
    scores = [one["score"] for one in found["results"]]
    assert scores == sorted(scores, reverse=True) and scores[0] == 1
    assert all(one["parts"]["bm25"] > 0 for one in found["results"])
    assert ask(shop, "refund", "--kind", "record")["counts"] == {"record": 1}
    assert {one["kind"] for one in ask(shop, "refund", "--collection", "repository")["results"]} == {"document"}
    text = shop.kl("search", "refund", "--top-k", "2", "--explain")
    assert " 1  1.00  docs/refunds.md:1  Refunds" in text.stdout and "score: bm25" in text.stdout
    assert "the first 2 of 6" in text.stderr


def test_what_matches_nothing_and_what_is_unknown_are_stated(shop: Checkout) -> None:
    assert "no matches for: zebra" in shop.kl("search", "zebra").stdout
    assert ask(shop, "?!")["results"] == []
    wrong = shop.kl("search", "refund", "--collection", "runbook")
    assert wrong.returncode == 2 and "is no collection" in wrong.stderr


@pytest.mark.requirement("D20")
def test_a_denied_document_is_neither_listed_nor_counted(shop: Checkout) -> None:
    before = ask(shop, "refund", env=AGENT)
    assert any("private" in one["id"] for one in before["results"])
    for rule in ("paths: [docs/private]", "paths: [docs/private/**], kinds: [page]"):
        shop.write(".kl/policy.yaml", f"version: 1\nrules:\n  - name: private\n    deny: {{{rule}, actors: [agent]}}\n")
        after = ask(shop, "refund boss private", env=AGENT)
        assert not any("private" in json.dumps(one) for one in after["results"])
        assert after["counts"]["document"] == before["counts"]["document"] - 1
    shop.write(".kl/policy.yaml", "version: 1\nrules:\n  - name: code\n    deny: {paths: [src]}\n")
    assert ask(shop, "refund", env=AGENT)["counts"]["code"] == 0
