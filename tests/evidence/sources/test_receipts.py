"""Receipts as lines: the same after a round trip, refused when edited."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kl_hooks.evidence.sources.receipts import read_lines, to_lines
from kl_hooks.hookspecs import FileOfEvidence
from kl_hooks.model.problem import Problem
from tests.model.test_receipt import RECEIPT


def read(text: str) -> list[Any]:
    return list(read_lines(FileOfEvidence("r.jsonl", text.encode(), "me", "2026-01-01", None)))


def test_round_trip() -> None:
    (line,) = to_lines([RECEIPT])
    assert read(f"\n{line}\n\n") == [RECEIPT]


def edited(change: Any) -> str:
    plain = RECEIPT.to_dict()
    change(plain)
    return json.dumps(plain)


EDITS = {
    "its evidence was edited": lambda p: p["evidence"][0].update(outcome="passed"),
    "its hash is not its id": lambda p: p.update(tree="9" * 40),
    "schema": lambda p: p.update(schema="kl.receipt/9"),
    "not a receipt": lambda p: p.pop("run"),
}


@pytest.mark.parametrize("reason", EDITS)
def test_an_edited_line_is_refused_with_its_place(reason: str) -> None:
    found = read("\n" + edited(EDITS[reason]))
    assert isinstance(found[0], Problem)
    assert reason in str(found[0])
    assert str(found[0]).startswith("r.jsonl:2:1: refused")


@pytest.mark.parametrize(
    "line", ["nonsense", "[]", "null", "{}", "[" * 5000, '{"schema": "kl.receipt/1"}']
)
def test_nonsense_is_refused_and_the_rest_read(line: str) -> None:
    (good,) = to_lines([RECEIPT])
    found = read(f"{line}\n{good}")
    assert isinstance(found[0], Problem)
    assert found[1] == RECEIPT
