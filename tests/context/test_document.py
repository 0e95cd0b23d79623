"""Why: the score of what is in, the reason of what is out, and an honest answer about what nobody
named.
"""

from __future__ import annotations

from typing import Any

from kl_hooks.context.deliver import explain_items, explain_one
from kl_hooks.model.package import Omission

SHOWN: dict[str, Any] = {
    "package_id": "cp-3f9a1c20b7de",
    "items": [
        {
            "id": "function:b",
            "tier": "guessed",
            "form": "summary",
            "reasons": [],
            "score": {"total": 8196, "parts": {"near:commits": 8196}},
        },
        {
            "id": "function:a",
            "tier": "verified",
            "form": "full",
            "reasons": ["name matches", "x\x1b[1m"],
            "score": {"total": 1_021_310, "parts": {"symbols": 1_016_393, "tier": 4917}},
        },
    ],
    "omitted": {"expired": 1},
    "coverage": {"commits": "failed: locked", "symbols": "ok"},
    "searches": [],
    "quota": None,
}

OMISSIONS = [Omission("function:c", "expired")]


def test_items_are_explained_best_first_with_parts_and_reasons() -> None:
    assert explain_items(SHOWN) == [
        "1.021310  function:a  [verified, full]  symbols 1.016393  tier 0.004917",
        "          name matches",
        "          x\\x1b[1m",
        "0.008196  function:b  [guessed, summary]  near:commits 0.008196",
    ]


def test_why_something_is_in() -> None:
    assert explain_one(SHOWN, OMISSIONS, "function:b") == [
        "in cp-3f9a1c20b7de, 2 of 2 by score:",
        "0.008196  function:b  [guessed, summary]  near:commits 0.008196",
    ]


def test_why_something_was_omitted() -> None:
    assert explain_one(SHOWN, OMISSIONS, "function:c") == ["omitted from cp-3f9a1c20b7de: expired"]


def test_what_nobody_named_is_not_called_absent() -> None:
    assert explain_one(SHOWN, OMISSIONS, "function:d") == [
        "not in cp-3f9a1c20b7de: no retriever brought function:d. Asked: commits (failed: locked),"
        " symbols (ok)"
    ]
